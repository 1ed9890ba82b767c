/* SPDX-License-Identifier: MIT */
/*
 * A simulation, and what its rooms know of each other:
 *
 *   engine.c      from open to close: threads, events, results
 *   events.c      what happens when
 *   lines.c       lines, their homes, and simulated memory
 *   protocol.c    how a miss travels
 *   waiters.c     who polls a line, and what that costs
 *   sleep.c       threads that sleep
 *   cpu.c         a thread's CPU and its store buffer
 *   operations.c  what the threads call
 *
 * There may be several simulations in a process. One at a time has its turn.
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

#define ARENA_SIZE ((size_t)64 << 20) /* of address space, for each node */

/* A cache is known by the number of its core, and a CPU by its thread's. */
struct line {
	uint64_t key;	     /* address / line size */
	uint32_t number;     /* where it is in the slabs */
	uint16_t home;	     /* node */
	uint16_t way;	     /* of the transaction that is served */
	int16_t owner;	     /* cache in state M, E or O; in F, if it is not exclusive */
	bool exclusive;	     /* it is M or E: nobody else has a copy */
	bool written;	     /* by whoever has it alone, since it came */
	bool known;	     /* home has data: a cache held it once */
	bool busy;	     /* a transaction is between two states */
	bool scheduled;	     /* an event will serve the queue */
	int16_t first, last; /* requests */
	uint16_t waiters;
	uint16_t bypassed; /* how often the first request was */
	uint64_t free_at;
	uint64_t copies[WORDS];	 /* caches */
	uint64_t polling[WORDS]; /* CPUs */
};

/*
 * A transaction. A CPU has one that it waits for; some for the oldest stores in its
 * buffer, DRAIN + the store's place modulo MACHINE_MAX_FETCHES; some for plain loads; and
 * one for the line beside another that missed. Each has a number.
 */
enum {
	ACCESS,
	DRAIN,
	LOAD = DRAIN + MACHINE_MAX_FETCHES,
	ADJACENT = LOAD + MACHINE_MAX_LOADS,
	FORESEEN,
	REQUESTS = 32 /* a power of 2, for numbers are taken apart all the time */
};
_Static_assert((int)FORESEEN + (int)MACHINE_MAX_FORESEEN <= (int)REQUESTS &&
		       MACHINE_MAX_CPUS * REQUESTS - 1 <= INT16_MAX,
	       "there is room for all, and for their numbers");

struct request {
	struct line *line;
	const uint64_t *word;
	uint64_t arrival; /* at the home */
	int16_t next;	  /* in the line's queue */
	uint16_t way;	  /* its messages take way / WAY of the time */
	bool write, in_cluster;
};

struct store {
	struct line *line;
	uint64_t *word; /* NULL if it is in memory already: a plain one */
	uint64_t value;
	bool asked; /* a request for its line is under way */
};

/* An access that was made. */
struct step {
	const void *site;
	struct line *line;
	bool write;
	bool pointed; /* the value of the one before was its address */
	bool waited;  /* a wait, and it took a while */
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

	/* The wait. */
	struct line *line;
	const uint64_t *word;
	bool waiting;
	bool asked; /* its copy is lost; a request or a look is under way */
	enum sim_await kind;
	uint64_t until, to, deadline;
	uint64_t data_at; /* when the last copy arrived */

	uint64_t value; /* what a read found */
	unsigned oldest, stores;
	bool draining;	     /* waits for the buffer to be empty */
	bool loading;	     /* waits for all loads */
	bool prefetching;    /* ADJACENT is under way */
	unsigned char loads; /* LOAD + i is under way: bit i */
	uint64_t work;	     /* to be done when they are */
	unsigned steps;
	uint16_t foreseen; /* FORESEEN + i is under way: bit i */
	int expected;	   /* the one of these that it waits for, or NOBODY */

	/* The sleep. */
	const uint64_t *sleeps_on;
	uint64_t sleep_ends;
	bool woken;

	/* Last, so that the rest is on few lines: hundreds of these are gone through. */
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
	uint32_t order; /* of creation, for events at the same time */
	uint32_t what;	/* kind << 24 | request, CPU or line */
};

struct page {
	uint64_t number; /* 0 = empty */
	uint16_t home;
};

struct coherence {
	struct coherence_setup setup;
	struct machine m;
	uint64_t near, far, inside; /* one leg of a journey */
	uint64_t poll;		    /* from one look of a waiter to the next */
	unsigned fetches;
	uint64_t home_free[MACHINE_MAX_SOCKETS]; /* when a home takes the next request */
	unsigned line_bits, caches, words;
	uint64_t now, random;
	bool stopped;
	struct cpu *running;
	const struct sim_engine *engine; /* and the locks' runtime, while it is */
	void *runtime;			 /* not this simulation's turn */
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
	char *arena[MACHINE_MAX_SOCKETS + 1]; /* the last one is nobody's */
	size_t used[MACHINE_MAX_SOCKETS + 1];

	struct cpu cpus[MACHINE_MAX_CPUS];
	int16_t siblings[MACHINE_MAX_CPUS][8]; /* CPUs of a cache */
	uint16_t cache_node[MACHINE_MAX_CPUS];
	uint16_t cache_cluster[MACHINE_MAX_CPUS];
	uint64_t node_caches[MACHINE_MAX_SOCKETS][WORDS];
	uint64_t node_cpus[MACHINE_MAX_SOCKETS][WORDS];
	uint64_t cluster_caches[MACHINE_MAX_CPUS][WORDS];
};

/* The simulation whose turn it is: threads run, and call, in this one. */
extern struct coherence *coherence_current;
extern const struct sim_engine coherence_engine;

/* The node of what belongs to a thread. */
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
/* For waits on a hint, which all end after the same time. */
void event_add_deadline(struct coherence *c, uint64_t time, uint32_t which);
struct event event_take(struct coherence *c);

/* When the next thing happens. */
static inline uint64_t event_next_time(const struct coherence *c)
{
	uint64_t time = c->count != 0 ? c->events[0].time : UINT64_MAX;

	if (c->waiting != 0 && c->give_ups[c->oldest].time < time)
		time = c->give_ups[c->oldest].time;
	return time;
}

/* lines.c */

/* The line of an address; if nobody has asked for it before, `toucher` has its home. */
struct line *line_find(struct coherence *c, const void *p, unsigned toucher);
/* The other line of its pair, or NULL if nobody ever asked for it. */
struct line *line_beside(struct coherence *c, const struct line *line);
void *arena_allocate(struct coherence *c, unsigned arena, size_t size, size_t alignment);

static inline bool line_usable(const struct line *line, unsigned cache, bool write)
{
	if (write)
		return line->owner == (int)cache && line->exclusive;
	return set_has(line->copies, cache);
}

/* How long a message of such a transaction takes. */
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
/* Serves a queue as far as nothing else happens in between. */
void protocol_serve(struct coherence *c, struct line *line);
/* A forwarded request reaches the cache that has the line alone. */
void protocol_reach_owner(struct coherence *c, unsigned number);
/* A request to write is granted: its cache has the line alone. */
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

/* A whole cache loses its copy, or the right to write to it. */
void waiters_lose_cache(struct coherence *c, struct line *line, unsigned cache,
			bool only_rmw);
/* All waiters outside `cache` lose their copies. */
void waiters_lose_others(struct coherence *c, struct line *line, unsigned cache,
			 bool in_cluster);
/* The cache of `reader` gets a copy at `done`; it is what it asked for as a waiter, or not. */
void waiters_arrive(struct coherence *c, struct line *line, const struct cpu *reader,
		    bool asked, uint64_t done);
/* A thread of this cache wrote, or can: its siblings see what is there soon. */
void waiters_wrote(struct coherence *c, struct line *line, const struct cpu *writer);
/* A waiter has the line before it and sees `value`; true if its wait is over. */
bool waiter_looks(struct coherence *c, struct cpu *cpu, uint64_t value);
void waiter_end(struct cpu *cpu, uint64_t value);

/* sleep.c */

/* Sleeps as sim_engine's sleep_for. */
bool sleep_for(const uint64_t *p, uint64_t expected, uint64_t ns);
void sleep_wake(const uint64_t *p);
/* A sleep that nobody ended is over. */
void sleep_over(struct coherence *c, struct cpu *cpu);

/* foresee.c */

/* The thread is about to make this access. */
void foresee_note(struct coherence *c, struct cpu *cpu, const void *site,
		  struct line *line, bool write);
/* It had to wait for the value it wanted. */
void foresee_waited(struct cpu *cpu);
/* The access misses: asks for the lines of those that are likely to follow. */
void foresee(struct coherence *c, struct cpu *cpu);
/* The request for this line that was sent so, or NOBODY. */
int foresee_request(const struct cpu *cpu, const struct line *line);
/* It is answered. Returns whether its thread goes on. */
bool foresee_arrived(struct coherence *c, struct cpu *cpu, unsigned which);

/* cpu.c */

/* Lets the oldest stores take effect as far as their lines are there, and asks for
 * the lines of the next few. */
void cpu_drain(struct coherence *c, struct cpu *cpu);
/* Whether a plain load is fetching this line. */
bool cpu_loads(const struct cpu *cpu, const struct line *line);
/* These return whether its thread goes on. One of its requests to write is granted: */
bool cpu_granted(struct coherence *c, unsigned number);
/* A line for a plain load, or the line beside another, is there: */
bool cpu_loaded(struct coherence *c, unsigned number);
/* The work that was put off is done: */
bool cpu_worked(struct coherence *c, struct cpu *cpu);
/* A waiter looks at a line that its own cache had a moment ago: */
bool cpu_look(struct coherence *c, struct cpu *cpu);
/* The time of a wait on a hint is over: */
bool cpu_give_up(struct coherence *c, struct cpu *cpu);

#endif /* SIM_COHERENCE_COHERENCE_H */
