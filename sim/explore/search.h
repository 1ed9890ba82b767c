/* SPDX-License-Identifier: MIT */
/*
 * A search, and what its rooms know of each other:
 *
 *   search.c      which graph comes next, which thread moves
 *   thread.c      the running thread and its next event
 *   operations.c  what that thread calls
 *   accesses.c    races, and memory that is gone
 *   revisits.c    reads and writes, and all the graphs they lead to
 *   random.c      or one of these, by dice
 *   estimate.c    how many there will be
 *   admission.c   sections and their order
 *   token.c       an execution as text
 *   trace.c       and in words
 *   arrange.c     in an order that reads well
 *   failure.c     what went wrong, the shortest way
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
	THREAD_HELD,	 /* the graph's next event needs another thread's first */
	THREAD_FRONTIER, /* wants to do something that is not in the graph */
	THREAD_BLOCKED,
	THREAD_ROUND, /* goes round in a loop that only reads, see thread.round */
	THREAD_UNTIL, /* does nothing until some word is written, see thread.until */
	THREAD_OUT_OF_TURN, /* goes no further: its run is no execution, or another one's */
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
	int early;    /* bounded waits that ended at once */
	int turn;     /* position when it came to explore_in_turn; -1 = not yet */
	uint64_t serials;
	int round;	  /* THREAD_ROUND: its first event of the last time round */
	int until;	  /* THREAD_UNTIL: the word's location */
	int unread_count; /* plain stores whose values are not known yet */
	struct {
		const void *word;
		int width;
		event_id event;
	} unread[MAX_UNREAD];
	int halves; /* of its words that its atomic operations are about: all, mostly */
	struct {
		uint64_t *word; /* NULL: none */
		int halves;
		const void *site;
	} late; /* a volatile store, which becomes an event when its value is there */
	struct arrival arrivals[MAX_HELD];
};

struct section {
	int thread, lock;
	enum admission admission;
	event_id doorway;
	int entered, left; /* events done at the time; -1 = not yet */
	clock_vector porf; /* at the entry */
};

/* One line of a trace. */
struct step {
	int thread;
	const char *what; /* instead of an event */
	const void *site;
	const void *address;
	size_t size;
	event_id event;	 /* INITIAL if it is none */
	event_id update; /* the writing half, if the event has one */
	int stale;	 /* read: how many later writes there were already */
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
	} pending; /* graphs yet to be explored, packed */

	/* The run that is going on. */
	struct memory *memory;
	struct thread threads[MAX_THREADS];
	struct thread *self; /* whose fiber runs; NULL outside */
	struct section sections[MAX_SECTIONS];
	int section_count;
	const void *site, *address; /* of what goes on now */
	char place[64];		    /* in words */
	bool replaying, stopped, dead, restart, tracing;
	int most_steps; /* of a thread; a run that takes more is left */
	bool cut;	/* and that has happened */

	bool at_random; /* one way at a time, by dice */
	uint64_t dice;
	int turn_of;		     /* whose event comes next; -1 = nobody's yet */
	uint64_t complete, repeated; /* runs; executions that came up again */
	int priority[MAX_THREADS];   /* options.depth: who has the highest moves */
	unsigned drops[MAX_DEPTH];   /* the turns at which that one gets the lowest */
	unsigned turns, most_turns;  /* of this run, of the longest */

	struct {
		double probes, sum, squares; /* their number, their weights */
		uint64_t runs;		     /* that they took */
		int child, pipe;	     /* who makes them; 0 = nobody */
	} estimate;

	const char *guide; /* the execution to be repeated, or NULL */
	char *record;	   /* the one being recorded, or NULL */
	size_t recorded;
	struct trace trace;

	struct search *outer; /* links searches that are not in use */
};

/* The innermost search: the one whose threads run. */
extern struct search *current_search;
extern const struct sim_engine search_engine;

/* The running thread. */
static inline int me(const struct search *s)
{
	return s->self->number;
}

/* The event that it did last. */
static inline const struct event *search_here(const struct search *s)
{
	return graph_before(&s->graph, event_name(me(s), s->self->position));
}

/* search.c */

/* What to do about a program that is too large. */
const char *search_smaller(const struct search *s);
/* A thread goes round, and the last values of what it reads would let it go on so. */
bool search_goes_round(struct search *s, int thread);
/* Keeps a graph for later. */
void search_push(struct search *s, struct graph *g);

/* Takes the one that was kept last; false if there is none. */
bool search_pop(struct search *s);
/* Runs the program as the graph says, and goes on from there. */
void search_run(struct search *s);

/* thread.c */

void search_pause(struct search *s, enum thread_state state);
/* Gives up the run, and on a fiber goes away for good. */
void search_stop(struct search *s);
/* The running thread has done enough. The others go on: one of them may be what it waits
 * for, or fail; but the run is no execution. */
void search_cut(struct search *s) __attribute__((noreturn));
/* Whether a thread's next event, which the graph has, can be done now. */
bool search_can_repeat(struct search *s, int thread);
/* What is in memory, `width` bytes. */
uint64_t search_peek(const void *p, int width);
/* A plain store's value is there once its thread comes back to us. */
void search_settle(struct search *s);
/* Whether a thread is in the middle of an atomic update. */
bool search_owes_write(struct search *s, int thread);
/*
 * Waits until the running thread may do its next event. Returns that event if
 * the graph has it already, NULL if the thread is to add it. A plain store is not
 * in tokens: which ones are events hangs on what was explored before.
 */
struct event *search_next_event(struct search *s, bool plain);
struct event *search_append(struct search *s, int thread, struct event event);
/* Of the writes to a word that this run has made again, those after a rank. */
int search_made_after(struct search *s, int location, int rank);
void search_note_event(struct search *s, event_id id, event_id update);
void search_note_plain(struct search *s, const char *what, const void *p, size_t size,
		       const void *site);

/* accesses.c */

/* To be called before the event is taken or added: it is the next one. */
struct cell *access_find(struct search *s, const void *p);
void access_atomic(struct search *s, struct cell *cell, bool write);
void access_plain(struct search *s, const char *p, size_t size, bool write,
		  const void *site);
const char *access_place(struct search *s, const void *p);

/* revisits.c: the running thread's next event, in the first of its ways. */

struct event *search_add_read(struct search *s, struct event event);
struct event *search_add_write(struct search *s, struct event event, bool exclusive);

/* random.c: with at_random. */

/* A number below n. */
unsigned random_below(struct search *s, unsigned n);
/* Before each run. */
void random_begin(struct search *s, uint64_t run);
/* Gives one of these the next turn; -1 if there is none. */
int random_thread(struct search *s, const bool *can_move);
/* Whether the running thread may do its next event, and then no more. */
bool random_takes_turn(struct search *s);
/* Whoever waits for this word looks again. */
void random_wake(struct search *s, int location);
/* Whether a complete graph is seen for the first time. */
bool random_is_new(struct search *s);
/* The chance that one more is, by Good and Turing: of those seen, the part that was
 * seen once. */
double random_unseen(const struct search *s);

/* estimate.c */

/* Between two runs, after so many: what the whole search will take. */
struct expected estimate_runs(struct search *s, uint64_t runs);
/* Nothing is known, and nobody looks ahead. */
void estimate_reset(struct search *s);

/* admission.c */

/* The running thread has just updated the word at p. */
void admission_doorway(struct search *s, const void *p);
/* Judges the order of all sections of a complete run. */
void admission_check(struct search *s);

/* token.c */

/* The thread that comes next; -1 if nothing says so. */
int token_thread(struct search *s);
/* The choice recorded for the event that comes now; 0 after the end. */
int token_choice(struct search *s);
void token_record(struct search *s, int thread, struct event *e);

/* trace.c */

void trace_add(struct trace *trace, struct step step);
/* Writes the steps, with source lines; returns a string to be freed. */
char *trace_print(const struct trace *trace, struct graph *g, struct memory *m);
/* What a step did, without where a value came from; and what is odd about it. */
void trace_print_step(FILE *out, const struct step *step, struct graph *g,
		      struct memory *m);
void trace_print_marks(FILE *out, const struct step *step, struct graph *g);

/* arrange.c */

/* What an execution asks of its reader: to believe in old values, to follow from
 * thread to thread, to read steps. The first that differs decides. */
struct cost {
	int old, switches, steps;
};
bool cost_is_less(struct cost a, struct cost b);
/* Puts the steps in the order that costs least, or nearly so. */
struct cost trace_arrange(struct trace *trace, struct graph *g);

/* failure.c */

/* Fills in `choices` and `trace` of a result, or calls `show`. */
void failure_describe(struct search *s);
/* Likewise; then looks on for a failure of the same kind that costs less. */
void failure_describe_shortest(struct search *s);

#endif /* EXPLORE_SEARCH_H */
