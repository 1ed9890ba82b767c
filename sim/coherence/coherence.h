/* SPDX-License-Identifier: MIT */
/*
 * A simulation, and the interfaces between its files:
 *
 *   engine.c      open to close: threads, events, results
 *   events.c      the event queue
 *   lines.c       cache lines, their home nodes, simulated memory
 *   protocol.c    the path of a miss
 *   waiters.c     threads that poll a line, and what that costs
 *   sleep.c       threads that sleep
 *   cpu.c         a thread's CPU and its store buffer
 *   operations.c  the operations that threads call
 *   foresee.c     speculative requests for the lines of later accesses
 *
 * There may be several simulations in a process. One at a time runs.
 */
#ifndef SIM_COHERENCE_COHERENCE_H
#define SIM_COHERENCE_COHERENCE_H

#include <sim/coherence/engine.h>
#include <sim/seam.h>

enum {
	WORDS = MACHINE_MAX_CPUS / 64,
	NOBODY = -1,
	LINES_IN_SLAB = 1024,
	BUFFER = MACHINE_MAX_STORES,
	MAX_SLABS = 4096,
	WAY = 1024,
	TRAIL = 32,
};

#define ARENA_SIZE ((size_t)64 << 20) /* of address space, per node */

/* A cache has the number of its core, a CPU that of its thread. */
struct line {
	uint64_t key;	     /* address / line size */
	uint32_t number;     /* index in the slabs */
	uint16_t home;	     /* home node */
	uint16_t way;	     /* latency factor of the current transaction, of WAY */
	int16_t owner;	     /* cache in state M, E or O; F if not exclusive */
	bool exclusive;	     /* M or E: no other cache has a copy */
	bool written;	     /* by its exclusive owner, since it arrived there */
	bool known;	     /* the home has the data: some cache held it once */
	bool busy;	     /* a transaction is in progress */
	bool scheduled;	     /* an event will serve the queue */
	int16_t first, last; /* queue of requests */
	uint16_t waiters;
	uint16_t bypassed; /* how often the first request was bypassed */
	uint64_t free_at;
	uint64_t copies[WORDS];	 /* caches */
	uint64_t polling[WORDS]; /* CPUs */
};

/*
 * A transaction. A CPU has one that it waits for; some for the oldest stores in its
 * buffer, DRAIN + the store's index modulo MACHINE_MAX_FETCHES; some for plain loads; and
 * one for the adjacent line of a miss. Each has a number.
 */
enum {
	ACCESS,
	DRAIN,
	LOAD = DRAIN + MACHINE_MAX_FETCHES,
	ADJACENT = LOAD + MACHINE_MAX_LOADS,
	FORESEEN,
	REQUESTS = 32 /* a power of 2: numbers are often split into CPU and request */
};
_Static_assert((int)FORESEEN + (int)MACHINE_MAX_FORESEEN <= (int)REQUESTS &&
		       MACHINE_MAX_CPUS * REQUESTS - 1 <= INT16_MAX,
	       "there is room for all, and for their numbers");

struct request {
	struct line *line;
	const uint64_t *word;
	uint64_t arrival; /* at the home */
	int16_t next;	  /* in the line's queue */
	uint16_t way;	  /* latency factor: messages take way / WAY of the time */
	bool write, in_cluster;
};

struct store {
	struct line *line;
	uint64_t *word; /* NULL: a plain store, which is already in memory */
	uint64_t value;
	bool asked; /* the request for its line is sent */
};

/* A past access. */
struct step {
	const void *site;
	struct line *line;
	bool write;
	bool pointed; /* its address was the value of the access before */
	bool waited;  /* a wait that did not end at once */
};

struct cpu {
	struct sim_fiber *fiber;
	void (*run)(void *argument);
	void *argument;
	void *thread; /* struct pawl_thread */
	uintptr_t stack, stack_end;
	uint64_t now;
	uint16_t number, cache, cluster, node;
	bool finished;

	/* The current wait. */
	struct line *line;
	const uint64_t *word;
	bool waiting;
	bool asked; /* lost its copy; a request or a poll is pending */
	enum sim_await kind;
	uint64_t until, to, deadline;
	uint64_t data_at; /* when the last copy arrived */

	uint64_t value; /* value that a read returned */
	unsigned oldest, stores;
	bool draining;	     /* waits for an empty buffer */
	bool loading;	     /* waits for all loads */
	bool prefetching;    /* ADJACENT is pending */
	unsigned char loads; /* bit i: LOAD + i is pending */
	uint64_t work;	     /* done after the loads */
	unsigned steps;
	uint16_t foreseen; /* bit i: FORESEEN + i is pending */
	int expected;	   /* the one of these that it waits for, or NOBODY */

	/* The current sleep. */
	const uint64_t *sleeps_on;
	uint64_t sleep_ends;
	bool woken;

	/* Last, so that the fields above share few cache lines: the simulator walks
	 * hundreds of these structures. */
	struct request requests[REQUESTS];
	struct store buffer[BUFFER];
	struct step trail[TRAIL];
};

enum event_kind {
	RUN,
	ARRIVE,
	SERVE,
	REACH,
	DONE,
	LOADED,
	WORKED,
	LOOK,
	GIVE_UP,
	OVERSLEEP
};

struct event {
	uint64_t time;
	uint32_t order; /* creation order, for events at the same time */
	uint32_t what;	/* kind << 24 | request, CPU or line */
};

struct page {
	uint64_t number; /* 0 = empty */
	uint16_t home;
};

struct coherence {
	struct coherence_setup setup;
	struct machine m;
	uint64_t near, far, inside; /* latency of one message */
	uint64_t poll;		    /* from one poll of a waiter to the next */
	unsigned fetches;
	uint64_t home_free[MACHINE_MAX_SOCKETS]; /* when each home is free again */
	unsigned line_bits, caches, words;
	uint64_t now, random;
	bool stopped;
	struct cpu *running;
	const struct sim_engine *engine; /* these two: saved while */
	void *runtime;			 /* another simulation runs */
	struct coherence_counts counts;

	struct event *events;
	size_t count, room;
	uint32_t order;
	struct event *give_ups; /* a ring */
	size_t oldest, waiting, ring;

	struct line **table; /* hash of lines */
	size_t table_size, lines;
	struct line *slabs[MAX_SLABS];
	struct page *pages; /* hash of pages */
	size_t page_table, page_count;
	char *arena[MACHINE_MAX_SOCKETS + 1]; /* the last one belongs to no node */
	size_t used[MACHINE_MAX_SOCKETS + 1];

	struct cpu cpus[MACHINE_MAX_CPUS];
	int16_t siblings[MACHINE_MAX_CPUS][8]; /* CPUs of a cache */
	uint16_t cache_node[MACHINE_MAX_CPUS];
	uint16_t cache_cluster[MACHINE_MAX_CPUS];
	uint64_t node_caches[MACHINE_MAX_SOCKETS][WORDS];
	uint64_t node_cpus[MACHINE_MAX_SOCKETS][WORDS];
	uint64_t cluster_caches[MACHINE_MAX_CPUS][WORDS];
};

/* The simulation that runs: threads and their calls belong to it. */
extern struct coherence *coherence_current;
extern const struct sim_engine coherence_engine;

/* The node of a thread's own storage. */
unsigned storage_node(const struct coherence *c, const struct cpu *cpu);

void coherence_fatal(const char *sentence) __attribute__((noreturn));
void *coherence_get(size_t size); /* zeroed, to be freed */

static inline uint64_t draw(struct coherence *c)
{
	c->random ^= c->random << 13;
	c->random ^= c->random >> 7;
	c->random ^= c->random << 17;
	return c->random;
}

/* Bit sets. */

static inline bool set_has(const uint64_t *set, unsigned i)
{
	return set[i / 64] >> (i % 64) & 1;
}

static inline void set_add(uint64_t *set, unsigned i)
{
	set[i / 64] |= (uint64_t)1 << (i % 64);
}

static inline void set_drop(uint64_t *set, unsigned i)
{
	set[i / 64] &= ~((uint64_t)1 << (i % 64));
}

/* events.c */

void event_add(struct coherence *c, uint64_t time, enum event_kind kind, uint32_t which);
/* For waits on a hint, which all have the same timeout. */
void event_add_deadline(struct coherence *c, uint64_t time, uint32_t which);
struct event event_take(struct coherence *c);

/* The time of the next event. */
static inline uint64_t event_next_time(const struct coherence *c)
{
	uint64_t time = c->count != 0 ? c->events[0].time : UINT64_MAX;

	if (c->waiting != 0 && c->give_ups[c->oldest].time < time)
		time = c->give_ups[c->oldest].time;
	return time;
}

/* lines.c */

/* The line of an address; at its first use, `toucher` determines its home. */
struct line *line_find(struct coherence *c, const void *p, unsigned toucher);
/* The adjacent line of its pair, or NULL if it was never used. */
struct line *line_beside(struct coherence *c, const struct line *line);
void *arena_allocate(struct coherence *c, unsigned arena, size_t size, size_t alignment);

static inline bool line_usable(const struct line *line, unsigned cache, bool write)
{
	if (write)
		return line->owner == (int)cache && line->exclusive;
	return set_has(line->copies, cache);
}

/* The latency of a message of such a transaction. */
static inline uint64_t line_leg(const struct coherence *c, unsigned way, unsigned from,
				unsigned to, bool in_cluster)
{
	uint64_t leg = in_cluster ? c->inside : from == to ? c->near : c->far;

	return leg * way / WAY;
}

/* protocol.c */

static inline unsigned number_of(const struct cpu *cpu, unsigned which)
{
	return cpu->number * (unsigned)REQUESTS + which;
}

static inline struct request *request_of(struct coherence *c, unsigned number)
{
	return &c->cpus[number / REQUESTS].requests[number % REQUESTS];
}

/* Fills in a request that leaves the CPU at `time`. */
struct request *request_fill(struct coherence *c, struct cpu *cpu, unsigned which,
			     struct line *line, const uint64_t *word, bool write,
			     uint64_t time);
void request_queue(struct coherence *c, unsigned number);
/* Sends the request of a waiter that notices at `time` that it lost the line. */
void request_again(struct coherence *c, struct cpu *cpu, uint64_t time);
/* Serves a line's queue until another event must come first. */
void protocol_serve(struct coherence *c, struct line *line);
/* A forwarded request reaches the exclusive owner. */
void protocol_reach_owner(struct coherence *c, unsigned number);
/* A write request is granted: its cache has the line exclusively. */
void protocol_grant(struct coherence *c, unsigned number);

/* waiters.c */

static inline bool waits_by_rmw(const struct cpu *cpu)
{
	return cpu->kind >= SIM_AWAIT_CAS;
}

static inline bool satisfied(const struct cpu *cpu, uint64_t value)
{
	switch (cpu->kind) {
	case SIM_AWAIT_EQ:
	case SIM_AWAIT_EQ_RMW:
	case SIM_AWAIT_CAS:
		return value == cpu->until;
	case SIM_AWAIT_NE:
	case SIM_AWAIT_NE_RMW:
	case SIM_AWAIT_CHANGE:
		break;
	}
	return value != cpu->until;
}

/* A cache loses its copy, or the right to write it. */
void waiters_lose_cache(struct coherence *c, struct line *line, unsigned cache,
			bool only_rmw);
/* All waiters outside `cache` lose their copies. */
void waiters_lose_others(struct coherence *c, struct line *line, unsigned cache,
			 bool in_cluster);
/* The cache of `reader` gets a copy at `done`; `asked`: the reader requested it as a
 * waiter. */
void waiters_arrive(struct coherence *c, struct line *line, const struct cpu *reader,
		    bool asked, uint64_t done);
/* A thread of this cache wrote the line, or can: its SMT siblings will see the value
 * soon. */
void waiters_wrote(struct coherence *c, struct line *line, const struct cpu *writer);
/* A waiter polls its line and reads `value`; returns whether its wait ends. */
bool waiter_looks(struct coherence *c, struct cpu *cpu, uint64_t value);
void waiter_end(struct cpu *cpu, uint64_t value);

/* sleep.c */

/* Implements sim_engine.sleep_for. */
bool sleep_for(const uint64_t *p, uint64_t expected, uint64_t ns);
void sleep_wake(const uint64_t *p);
/* A sleep times out. */
void sleep_over(struct coherence *c, struct cpu *cpu);

/* foresee.c */

/* Records an access that the thread is about to make. */
void foresee_note(struct coherence *c, struct cpu *cpu, const void *site,
		  struct line *line, bool write);
/* Records that the last access had to wait for its value. */
void foresee_waited(struct cpu *cpu);
/* The access misses: requests the lines of the accesses likely to follow. */
void foresee(struct coherence *c, struct cpu *cpu);
/* The pending speculative request for this line, or NOBODY. */
int foresee_request(const struct cpu *cpu, const struct line *line);
/* A speculative request completes. Returns whether its thread continues. */
bool foresee_arrived(struct coherence *c, struct cpu *cpu, unsigned which);

/* cpu.c */

/* Performs the oldest stores whose lines are present, and requests the lines of the next
 * ones. */
void cpu_drain(struct coherence *c, struct cpu *cpu);
/* Whether a plain load is fetching this line. */
bool cpu_loads(const struct cpu *cpu, const struct line *line);
/* These return whether the CPU's thread continues. A write request is granted: */
bool cpu_granted(struct coherence *c, unsigned number);
/* The line of a plain load, or an adjacent line, arrives: */
bool cpu_loaded(struct coherence *c, unsigned number);
/* The deferred work is done: */
bool cpu_worked(struct coherence *c, struct cpu *cpu);
/* A waiter polls a line that its own cache has: */
bool cpu_look(struct coherence *c, struct cpu *cpu);
/* A wait on a hint times out: */
bool cpu_give_up(struct coherence *c, struct cpu *cpu);

#endif /* SIM_COHERENCE_COHERENCE_H */
