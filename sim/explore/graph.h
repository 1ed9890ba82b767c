/* SPDX-License-Identifier: MIT */
/*
 * An execution as a graph: what every thread did, which write each read took
 * its value from (rf), and in which order the writes to a word came (mo). The
 * memory models are predicates on such graphs; nothing here knows how graphs
 * are enumerated (search.c) or what runs in them.
 *
 * weak is RC11 (Lahav et al., PLDI 2017) with the release sequences of C++20:
 * coherence by happens-before, atomicity of read-modify-writes, no cycle of
 * program order and reads-from, and acyclic psc. tso is x86-TSO and sc is
 * sequential consistency, both on top of weak.
 */
#ifndef EXPLORE_GRAPH_H
#define EXPLORE_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	MAX_THREADS = 8,
	MAX_STEPS = 240,     /* events of one thread */
	MAX_LOCATIONS = 160, /* words that are accessed atomically */
	MAX_WRITES = 200,    /* to one word */
};

enum model { MODEL_WEAK, MODEL_TSO, MODEL_SC };

/* How many events of each thread lie in some prefix of the execution. */
typedef uint8_t clock_vector __attribute__((vector_size(MAX_THREADS)));

static inline clock_vector clock_join(clock_vector a, clock_vector b)
{
	clock_vector later = (clock_vector)(a > b);

	return (a & later) | (b & ~later);
}

/* True if every component of a is at most that of b. */
static inline bool clock_within(clock_vector a, clock_vector b)
{
	return (uint64_t)(clock_vector)(a > b) == 0;
}

/* An event by thread and index; or the initial value of a word. */
typedef uint16_t event_id;
enum { INITIAL = 0xffff };

static inline event_id event_name(int thread, int index)
{
	return (event_id)(thread << 8 | index);
}

static inline int event_thread(event_id id)
{
	return id >> 8;
}

static inline int event_index(event_id id)
{
	return id & 0xff;
}

static inline bool event_within(event_id id, clock_vector prefix)
{
	return event_index(id) < prefix[event_thread(id)];
}

enum event_kind { EVENT_READ, EVENT_WRITE, EVENT_FENCE, EVENT_CHOICE };

/* The operation that an event is (part of). */
enum operation {
	OP_LOAD,
	OP_STORE,
	OP_PLAIN_STORE, /* to a word that is also accessed atomically */
	OP_EXCHANGE,
	OP_ADD,
	OP_SUB,
	OP_AND,
	OP_OR,
	OP_XOR,
	OP_NAND,
	OP_CAS,
	OP_AWAIT_EQ,
	OP_AWAIT_NE,
	OP_AWAIT_CHANGE,
	OP_AWAIT_CAS,
	OP_AWAIT_EQ_RMW,
	OP_AWAIT_NE_RMW,
	OP_AWAIT_QUIET, /* until a round is over, whatever the value */
	OP_ASSUME_EQ,	/* otherwise this is no execution */
	OP_ASSUME_CAS,
	OP_ASSUME_NE_RMW,
	OP_FENCE,
	OP_CHOICE,
	OP_EARLY, /* choice: a bounded wait ends now */
};

/*
 * Rounds. Where nobody can move, and some wait, a round is over: whatever it
 * did is settled, and seen by all. In the next one everybody who waits looks
 * again; for some, whose patience is over, that look is the last.
 */
enum look {
	LOOK_FIRST,
	LOOK_AGAIN, /* the wait began in an earlier round */
	LOOK_LAST,  /* likewise, and a settled write ends it, whatever its value */
};

enum { NO_LOCATION = 0xff };

struct event {
	uint8_t kind;
	uint8_t operation;
	uint8_t order;	 /* enum sim_order; of a fence enum sim_fence */
	uint8_t failure; /* order when nothing is written; OP_CAS */
	uint8_t location;
	bool exclusive; /* the reading or the writing half of one atomic update */
	bool blocked;	/* a wait that this value does not end */
	uint8_t waits; /* read: a loop that was seen to wait, see graph_waits; 0 = none */
	uint8_t look;  /* read: enum look */
	event_id from; /* read: where the value comes from */
	uint16_t rank; /* write: place in mo, from 1 */
	uint32_t stamp; /* order in which the search added events */
	uint64_t value;
	uint64_t expected; /* what OP_CAS and OP_AWAIT_* compare with */
	const void *site;
	clock_vector hb;	 /* happens before, or is, this event */
	clock_vector porf;	 /* program order and reads-from, likewise */
	clock_vector pass;	 /* write: what an acquirer of it learns */
	clock_vector released;	 /* hb of the thread's last release fence */
	clock_vector unacquired; /* learnt by relaxed reads, for a fence to come */
	clock_vector seen;	 /* seen for good, though not by happens-before */
};

struct graph {
	int threads;
	int locations; /* names in use are below this */
	uint8_t tired; /* threads that look for the last time in this round; bits */
	clock_vector settled; /* what was there when this round began */
	uint32_t stamps;
	uint16_t writes;
	uint16_t fences; /* that psc cares for */
	bool overflow;	 /* too many seq_cst accesses and fences to check */
	uint8_t length[MAX_THREADS];
	uint16_t written[MAX_LOCATIONS];
	uint64_t initial[MAX_LOCATIONS];	/* the same in all graphs of a search */
	event_id mo[MAX_LOCATIONS][MAX_WRITES]; /* rank 1 first */
	struct event events[MAX_THREADS][MAX_STEPS];
};

static inline struct event *graph_event(struct graph *g, event_id id)
{
	return &g->events[event_thread(id)][event_index(id)];
}

static inline event_id graph_write_at(const struct graph *g, int location, int rank)
{
	return rank == 0 ? INITIAL : g->mo[location][rank - 1];
}

static inline int graph_rank(struct graph *g, event_id write)
{
	return write == INITIAL ? 0 : graph_event(g, write)->rank;
}

/* The rank that a read or write of a location stands at. */
static inline int event_rank(struct graph *g, const struct event *e)
{
	return e->kind == EVENT_WRITE ? e->rank : graph_rank(g, e->from);
}

static inline uint64_t graph_value(struct graph *g, int location, event_id write)
{
	return write == INITIAL ? g->initial[location] : graph_event(g, write)->value;
}

/*
 * Loops that wait, learnt while a program runs: the values that, read where the loop
 * reads, only lead back to where it was. Entry 0 is not used.
 */
enum { MAX_WAITS = 256, MAX_WAITED = 8 };
struct learnt_wait {
	int count;
	uint64_t values[MAX_WAITED];
};
extern struct learnt_wait graph_waits[MAX_WAITS];

extern const struct event graph_blank; /* before a thread's first */

void graph_clear(struct graph *g, int threads);

/* The last event of a thread; a blank one if it has done nothing yet. */
const struct event *graph_last(const struct graph *g, int thread);

/* The event before one that may not exist yet; likewise. */
static inline const struct event *graph_before(const struct graph *g, event_id id)
{
	int index = event_index(id);

	return index == 0 ? &graph_blank : &g->events[event_thread(id)][index - 1];
}

/* What an operation does on reading a value. */
struct outcome {
	bool ends;   /* not a wait, or a wait that is over */
	bool writes; /* and an exclusive write follows */
};
static inline bool graph_assumes(const struct event *e)
{
	return e->operation >= OP_ASSUME_EQ && e->operation <= OP_ASSUME_NE_RMW;
}
struct outcome graph_outcome(enum operation operation, uint64_t expected, uint64_t value);
/* And on reading from a write, in this round. */
struct outcome graph_read_outcome(struct graph *g, const struct event *e, event_id from);
/* And on reading a value, in whatever round. */
struct outcome graph_value_outcome(const struct event *e, uint64_t value);

/*
 * Each of these fills in an event that is to come last in its thread. The
 * caller has set kind, operation, orders, location, expected and site. A read
 * is given its write; a write is given its value and, if it is exclusive, the
 * read that it belongs to, and is then put in its place by graph_insert.
 */
void graph_set_read(struct graph *g, int thread, struct event *e, event_id from);
void graph_set_write(struct graph *g, int thread, struct event *e,
		     const struct event *exclusive_read);
void graph_set_fence(struct graph *g, int thread, struct event *e);
void graph_set_other(struct graph *g, int thread, struct event *e);

void graph_insert(struct graph *g, event_id write, int rank);
void graph_remove(struct graph *g, event_id write);

/* True if nothing may come between this rank and the next. */
bool graph_is_joined(struct graph *g, int location, int rank);

/* The least rank that an access, last in its thread, may stand at. */
int graph_floor(struct graph *g, event_id id);

/* Ends a round: see enum look. */
void graph_settle(struct graph *g, uint8_t tired);

/* How many writes there are in a prefix. */
int graph_writes_within(const struct graph *g, clock_vector prefix);

/* True of the fences that order more than happens-before does. */
bool graph_is_sc_fence(const struct event *e);

/* Cuts every thread to so many events. */
void graph_truncate(struct graph *g, const uint8_t *keep);

/* True if the model allows the graph; coherence and atomicity are given. */
bool graph_allowed(struct graph *g, enum model model);

/* True if adding or changing e can break more than coherence and atomicity. */
bool graph_must_check(const struct graph *g, const struct event *e, enum model model);

/* The graph as bytes, for a stack of graphs yet to be explored. */
size_t graph_packed_size(const struct graph *g);
void graph_pack(const struct graph *g, unsigned char *to);
void graph_unpack(struct graph *g, const unsigned char *from);

/* A number that tells complete graphs apart: rf, mo and choices. */
uint64_t graph_hash(const struct graph *g);

#endif /* EXPLORE_GRAPH_H */
