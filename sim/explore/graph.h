/* SPDX-License-Identifier: MIT */
/*
 * An execution as a graph: the events of every thread, the write that each read takes its
 * value from (rf), and the order of the writes to each word (mo). The memory models are
 * predicates on such graphs; enumerating graphs is search.c's task.
 *
 * weak is RC11 (Lahav et al., PLDI 2017) with the release sequences of C++20: coherence
 * by happens-before, atomicity of read-modify-writes, no cycle of program order and
 * reads-from, and acyclic psc. tso is x86-TSO and sc is sequential consistency, both on
 * top of weak.
 */
#ifndef EXPLORE_GRAPH_H
#define EXPLORE_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	MAX_THREADS = 8,
	MAX_STEPS = 240,     /* events of a thread */
	MAX_LOCATIONS = 160, /* words that are accessed atomically */
	MAX_WRITES = 200,    /* to one word */
};

enum model { MODEL_WEAK, MODEL_TSO, MODEL_SC };

/* A prefix of the execution: the number of its events in each thread. */
typedef uint8_t clock_vector __attribute__((vector_size(MAX_THREADS)));

static inline clock_vector clock_join(clock_vector a, clock_vector b)
{
	clock_vector later = (clock_vector)(a > b);

	return (a & later) | (b & ~later);
}

/* Whether every component of a is at most that of b. */
static inline bool clock_within(clock_vector a, clock_vector b)
{
	return (uint64_t)(clock_vector)(a > b) == 0;
}

/* An event by thread and index; or INITIAL, the initial value of a word. */
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

/* The operation that an event is, or is half of. */
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
	OP_AWAIT_QUIET, /* until the round ends, whatever the value */
	OP_ASSUME_EQ,	/* discards the run unless the value is equal */
	OP_ASSUME_CAS,
	OP_ASSUME_NE_RMW,
	OP_FENCE,
	OP_CHOICE,
	OP_EARLY, /* choice: a bounded wait times out now */
};

/*
 * Rounds. When no thread can run and some wait, a round ends: all its events are settled,
 * that is, seen by every thread. In the next round every waiting thread checks its word
 * again; a bounded wait may time out on that check.
 */
enum look {
	LOOK_FIRST,
	LOOK_AGAIN, /* the wait began in an earlier round */
	LOOK_LAST,  /* likewise, and any settled write ends it: a timeout */
};

enum { NO_LOCATION = 0xff };

struct event {
	uint8_t kind;
	uint8_t operation;
	uint8_t order;	 /* enum sim_order; fences: enum sim_fence */
	uint8_t failure; /* OP_CAS: order if it fails */
	uint8_t location;
	bool exclusive; /* read or write half of an atomic update */
	bool blocked;	/* a wait that this value does not end */
	uint8_t waits;	/* read in a loop known to wait: see graph_waits; 0 = no */
	uint8_t look;	/* read: enum look */
	event_id from;	/* read: the write that it reads from */
	uint16_t rank;	/* write: position in mo, from 1 */
	uint32_t stamp; /* order in which the search added the events */
	uint64_t value;
	uint64_t expected; /* compared with the value by OP_CAS and OP_AWAIT_* */
	const void *site;
	clock_vector hb;	 /* happens-before prefix, including this event */
	clock_vector porf;	 /* the same for program order and reads-from */
	clock_vector pass;	 /* write: hb that an acquire read of it gains */
	clock_vector released;	 /* hb of the thread's last release fence */
	clock_vector unacquired; /* gained by relaxed reads, for a later acquire fence */
	clock_vector seen;	 /* observed in earlier rounds, outside happens-before */
};

struct graph {
	int threads;
	int locations;	      /* location numbers are below this */
	uint8_t tired;	      /* set of threads that time out in this round */
	clock_vector settled; /* the prefix at the beginning of this round */
	uint32_t stamps;
	uint16_t writes;
	uint16_t fences; /* that take part in psc */
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

/* The rank in mo of a write, or of the write that a read takes its value from. */
static inline int event_rank(struct graph *g, const struct event *e)
{
	return e->kind == EVENT_WRITE ? e->rank : graph_rank(g, e->from);
}

static inline uint64_t graph_value(struct graph *g, int location, event_id write)
{
	return write == INITIAL ? g->initial[location] : graph_event(g, write)->value;
}

/*
 * Waiting loops, learnt while the program runs: the values that, read by the loop, only
 * lead to another iteration. Entry 0 is unused.
 */
enum { MAX_WAITS = 256, MAX_WAITED = 8 };
struct learnt_wait {
	int count;
	uint64_t values[MAX_WAITED];
};
extern struct learnt_wait graph_waits[MAX_WAITS];

extern const struct event graph_blank; /* precedes a thread's first event */

void graph_clear(struct graph *g, int threads);

/* The last event of a thread; a blank one if it has none. */
const struct event *graph_last(const struct graph *g, int thread);

/* The predecessor in program order, for an event that may not exist yet; a blank one if
 * there is none. */
static inline const struct event *graph_before(const struct graph *g, event_id id)
{
	int index = event_index(id);

	return index == 0 ? &graph_blank : &g->events[event_thread(id)][index - 1];
}

/* The effect of an operation that reads a value. */
struct outcome {
	bool ends;   /* no wait, or a wait that ends */
	bool writes; /* an exclusive write follows */
};
static inline bool graph_assumes(const struct event *e)
{
	return e->operation >= OP_ASSUME_EQ && e->operation <= OP_ASSUME_NE_RMW;
}
struct outcome graph_outcome(enum operation operation, uint64_t expected, uint64_t value);
/* The effect of reading from a write, in this round. */
struct outcome graph_read_outcome(struct graph *g, const struct event *e, event_id from);
/* The effect of reading a value, in any round. */
struct outcome graph_value_outcome(const struct event *e, uint64_t value);

/*
 * Each of these fills in an event that becomes the last of its thread. The caller has set
 * kind, operation, orders, location, expected and site. A read is given its write; a
 * write is given its value and, if it is exclusive, its read, and is then placed in mo by
 * graph_insert.
 */
void graph_set_read(struct graph *g, int thread, struct event *e, event_id from);
void graph_set_write(struct graph *g, int thread, struct event *e,
		     const struct event *exclusive_read);
void graph_set_fence(struct graph *g, int thread, struct event *e);
void graph_set_other(struct graph *g, int thread, struct event *e);

void graph_insert(struct graph *g, event_id write, int rank);
void graph_remove(struct graph *g, event_id write);

/* Whether an atomic update forbids a write between this rank and the next. */
bool graph_is_joined(struct graph *g, int location, int rank);

/* The lowest rank that coherence allows for an access that is last in its thread. */
int graph_floor(struct graph *g, event_id id);

/* Ends a round: see enum look. */
void graph_settle(struct graph *g, uint8_t tired);

/* The number of writes in a prefix. */
int graph_writes_within(const struct graph *g, clock_vector prefix);

/* Whether a fence orders more than happens-before does. */
bool graph_is_sc_fence(const struct event *e);

/* Truncates every thread to `keep` events. */
void graph_truncate(struct graph *g, const uint8_t *keep);

/* Whether the model allows the graph, which satisfies coherence and atomicity. */
bool graph_allowed(struct graph *g, enum model model);

/* Whether adding or changing e can violate more than coherence and atomicity. */
bool graph_must_check(const struct graph *g, const struct event *e, enum model model);

/* Serialises a graph, for the stack of pending graphs. */
size_t graph_packed_size(const struct graph *g);
void graph_pack(const struct graph *g, unsigned char *to);
void graph_unpack(struct graph *g, const unsigned char *from);

/* A hash that identifies complete graphs by rf, mo and choices. */
uint64_t graph_hash(const struct graph *g);

#endif /* EXPLORE_GRAPH_H */
