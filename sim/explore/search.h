/* SPDX-License-Identifier: MIT */
/*
 * A search, and the interfaces between its files:
 *
 *   search.c      which graph is next, which thread runs
 *   thread.c      the running thread and its next event
 *   operations.c  the operations that it calls
 *   accesses.c    data races, freed memory
 *   revisits.c    reads and writes, and the graphs that they lead to
 *   random.c      the same at random
 *   estimate.c    how many runs there will be
 *   admission.c   critical sections and their order
 *   token.c       an execution as a token
 *   trace.c       an execution as text
 *   arrange.c     orders the steps of a trace
 *   failure.c     records a failure, searches for a shorter one
 *
 * There may be several searches in a process, one inside a call of another.
 */
#ifndef EXPLORE_SEARCH_H
#define EXPLORE_SEARCH_H

#include "explore.h"
#include "memory.h"

#include <sim/seam.h>

#include <stdio.h>

enum { MAX_SECTIONS = 64, MAX_HELD = 8, MAX_UNREAD = 32, MAX_TRACE = 4096 };

enum thread_state {
	THREAD_READY,
	THREAD_HELD,	 /* its next event must wait for another thread's */
	THREAD_FRONTIER, /* its next event is not in the graph yet */
	THREAD_BLOCKED,
	THREAD_ROUND,	    /* in a loop that only reads: see thread.round */
	THREAD_UNTIL,	    /* idle until a word is written: see thread.until */
	THREAD_OUT_OF_TURN, /* stops: the run is no execution, or a symmetric one */
	THREAD_DONE,
};

struct arrival {
	const char *start;
	size_t size;
	int section;
	bool open;
};

struct thread {
	int number;
	struct sim_fiber *fiber;
	void *storage;
	enum thread_state state;
	int position; /* events done in this run */
	int early;    /* bounded waits that timed out at once */
	int turn;     /* position when it reached explore_in_turn; -1 = not yet */
	uint64_t serials;
	int round;	  /* THREAD_ROUND: first event of the last iteration */
	int until;	  /* THREAD_UNTIL: location of the word */
	int unread_count; /* plain stores whose values are not known yet */
	struct {
		const void *word;
		int width;
		event_id event;
	} unread[MAX_UNREAD];
	int halves; /* halves of words that its atomic operations access */
	struct {
		uint64_t *word; /* NULL: none */
		int halves;
		const void *site;
	} late; /* a volatile store, added when its value is known */
	struct arrival arrivals[MAX_HELD];
};

struct section {
	int thread, lock;
	enum admission admission;
	event_id doorway;
	int entered, left; /* events done then; -1 = not yet */
	clock_vector porf; /* at the entry */
};

/* A line of a trace. */
struct step {
	int thread;
	const char *what; /* instead of an event */
	const void *site;
	const void *address;
	size_t size;
	event_id event;	 /* INITIAL: no event */
	event_id update; /* write half, if the event has one */
	int stale;	 /* read: overwritten by so many writes */
};

struct trace {
	struct step steps[MAX_TRACE];
	int count;
};

struct search {
	const struct program *program;
	const struct options *options;
	struct result *result;

	struct graph graph, scratch;
	struct {
		unsigned char *bytes;
		size_t size, used;
	} pending; /* graphs to be explored, packed */

	/* The current run. */
	struct memory *memory;
	struct thread threads[MAX_THREADS];
	struct thread *self; /* running fiber's; NULL outside */
	struct section sections[MAX_SECTIONS];
	int section_count;
	const void *site, *address; /* of the current operation */
	char place[64];		    /* as text */
	bool replaying, stopped, dead, restart, tracing;
	int most_steps; /* limit for a thread; a longer run is cut */
	bool cut;	/* the run was cut */

	bool at_random; /* random executions */
	uint64_t dice;
	int turn_of;		     /* thread whose event is next; -1 = none yet */
	uint64_t complete, repeated; /* runs; executions seen before */
	int priority[MAX_THREADS];   /* options.depth: the highest runs */
	unsigned drops[MAX_DEPTH];   /* steps at which that becomes the lowest */
	unsigned turns, most_turns;  /* steps of this run, and of the longest */

	struct {
		double probes, sum, squares; /* number of probes, sums of weights */
		uint64_t runs;		     /* that the probes took */
		int child, pipe;	     /* process that makes the probes; 0 = none */
	} estimate;

	const char *guide; /* token to repeat, or NULL */
	char *record;	   /* token being recorded, or NULL */
	size_t recorded;
	struct trace trace;

	struct search *outer; /* next search that is not in use */
};

/* The innermost search: the one whose threads run. */
extern struct search *current_search;
extern const struct sim_engine search_engine;

/* The running thread. */
static inline int me(const struct search *s)
{
	return s->self->number;
}

/* Its last event. */
static inline const struct event *search_here(const struct search *s)
{
	return graph_before(&s->graph, event_name(me(s), s->self->position));
}

/* search.c */

/* A hint what to do about a program that is too large. */
const char *search_smaller(const struct search *s);
/* Whether a thread in a loop would stay there given the last values of what it reads. */
bool search_goes_round(struct search *s, int thread);
/* Pushes a graph to be explored later. */
void search_push(struct search *s, struct graph *g);

/* Pops the graph that was pushed last; false if there is none. */
bool search_pop(struct search *s);
/* Repeats the graph's events, then continues from there. */
void search_run(struct search *s);

/* thread.c */

void search_pause(struct search *s, enum thread_state state);
/* Abandons the run; does not return on a fiber. */
void search_stop(struct search *s);
/* Stops the running thread, which reached the limit of steps. The others continue: one of
 * them may be what it waits for, or may fail; but the run is no execution. */
void search_cut(struct search *s) __attribute__((noreturn));
/* Whether a thread's next event, which is in the graph, can be repeated now. */
bool search_can_repeat(struct search *s, int thread);
/* Reads `width` bytes of memory. */
uint64_t search_peek(const void *p, int width);
/* Adds the plain stores whose values are known now that their thread has yielded. */
void search_settle(struct search *s);
/* Whether a thread is between the two halves of an atomic update. */
bool search_owes_write(struct search *s, int thread);
/*
 * Waits until the running thread may do its next event. Returns that event if the graph
 * has it, NULL if the thread must add it. Plain stores are not in tokens: which of them
 * are events depends on what was explored before.
 */
struct event *search_next_event(struct search *s, bool plain);
struct event *search_append(struct search *s, int thread, struct event event);
/* The number of writes to a word above a rank that this run has repeated. */
int search_made_after(struct search *s, int location, int rank);
void search_note_event(struct search *s, event_id id, event_id update);
void search_note_plain(struct search *s, const char *what, const void *p, size_t size,
		       const void *site);

/* accesses.c */

/* Must be called before the event is repeated or added: the access belongs to the next
 * event. */
struct cell *access_find(struct search *s, const void *p);
void access_atomic(struct search *s, struct cell *cell, bool write);
void access_plain(struct search *s, const char *p, size_t size, bool write,
		  const void *site);
const char *access_place(struct search *s, const void *p);

/* revisits.c: adds the running thread's next event, in the first of its ways. */

struct event *search_add_read(struct search *s, struct event event);
struct event *search_add_write(struct search *s, struct event event, bool exclusive);

/* random.c: with at_random. */

/* A random number below n. */
unsigned random_below(struct search *s, unsigned n);
/* Before each run. */
void random_begin(struct search *s, uint64_t run);
/* Chooses the thread for the next step; -1 if there is none. */
int random_thread(struct search *s, const bool *can_move);
/* Whether the running thread may do its next event; the permission is used up. */
bool random_takes_turn(struct search *s);
/* Threads that wait for this word read it again. */
void random_wake(struct search *s, int location);
/* Whether a complete graph is seen for the first time. */
bool random_is_new(struct search *s);
/* The probability that the next graph is new, after Good and Turing: the share of graphs
 * seen once. */
double random_unseen(const struct search *s);

/* estimate.c */

/* Between two runs, after `runs`: the estimate for the whole search. */
struct expected estimate_runs(struct search *s, uint64_t runs);
/* Clears the estimate and ends the process that makes probes. */
void estimate_reset(struct search *s);

/* admission.c */

/* The running thread has just updated the word at p. */
void admission_doorway(struct search *s, const void *p);
/* Judges the order of all sections of a complete run. */
void admission_check(struct search *s);

/* token.c */

/* The thread that the token gives for the next step; -1 if it gives none. */
int token_thread(struct search *s);
/* The choice that the token gives for this event; 0 after its end. */
int token_choice(struct search *s);
void token_record(struct search *s, int thread, struct event *e);

/* trace.c */

void trace_add(struct trace *trace, struct step step);
/* Formats the steps, with source lines; returns a string to be freed. */
char *trace_print(const struct trace *trace, struct graph *g, struct memory *m);
/* What a step did, without where its value came from; and what is unusual about it. */
void trace_print_step(FILE *out, const struct step *step, struct graph *g,
		      struct memory *m);
void trace_print_marks(FILE *out, const struct step *step, struct graph *g);

/* arrange.c */

/* The cost of reading an execution: overwritten values, switches between threads, steps.
 * Compared in this order. */
struct cost {
	int old, switches, steps;
};
bool cost_is_less(struct cost a, struct cost b);
/* Sorts the steps into the order with the least cost, or nearly. */
struct cost trace_arrange(struct trace *trace, struct graph *g);

/* failure.c */

/* Sets `choices` and `trace` of a result, or calls `show`. */
void failure_describe(struct search *s);
/* Likewise; then searches for a failure of the same kind that costs less. */
void failure_describe_shortest(struct search *s);

#endif /* EXPLORE_SEARCH_H */
