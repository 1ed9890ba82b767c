/* SPDX-License-Identifier: MIT */
/*
 * The calls of a simulated lock: backend/sim turns each operation of the seams into one
 * of these, which passes it to the running engine: the model checker (sim/explore), the
 * core checker (sim/cores) or the coherence simulator (sim/coherence). The call site in
 * the lock's source is the return address.
 */
#ifndef SIM_SEAM_H
#define SIM_SEAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../backend/sim/pawl/backend/order.h"

/* Sizes and switches that the engine sets before it starts. */
enum { SIM_MAX_WAITING_SLOTS = 4096 };
extern size_t sim_waiting_slots;      /* a power of two, at most SIM_MAX_WAITING_SLOTS */
extern unsigned sim_hapax_block_bits; /* at least 1 */
extern uint64_t sim_mutex_bypass;     /* at least 1 */
extern bool sim_mutex_polls;	      /* waiters sleep with timeouts, count unlocks */
extern bool sim_mutex_room;	      /* threads cede the CPU to a woken head */
extern uint64_t
	sim_park_crowd; /* a bucket with more addresses grows the table; 0: never */
extern uint64_t sim_rwlock_look; /* at least 1 */

/* Fixed addresses for the simulator's mappings, so that hashes of addresses are the same
 * in every process: SIM_STACKS for fibers, SIM_WORLDS for the rest. */
#define SIM_STACKS 0x200000000000u
#define SIM_WORLDS 0x300000000000u
#define SIM_END	   0x400000000000u

static inline bool sim_chose(uint64_t address)
{
	return address >= SIM_STACKS && address < SIM_END;
}

/* Whether a bounded wait (pawl_await_briefly_*) may give up before its word changes. */
extern bool sim_impatient;
/* A sleeper observes that its state changed even if no thread woke it. For scenarios in
 * which another check shows that the wake-up happens. */
extern bool sim_sleep_sees;

enum sim_fence {
	SIM_FENCE_LIGHT,
	SIM_FENCE_HEAVY,
	SIM_FENCE_FULL,
	SIM_FENCE_ACQUIRE,
	SIM_FENCE_RELEASE,
	/* No lock uses it; litmus tests do. */
	SIM_FENCE_ACQ_REL,
};

enum sim_await {
	SIM_AWAIT_EQ,	  /* until *p == value */
	SIM_AWAIT_NE,	  /* until *p != value */
	SIM_AWAIT_CHANGE, /* as NE, but may give up when no other thread can run */
	SIM_AWAIT_CAS,	  /* until our compare-and-swap from value to `to` succeeds */
	SIM_AWAIT_EQ_RMW, /* as EQ, polling by read-modify-write */
	SIM_AWAIT_NE_RMW, /* as NE, polling by read-modify-write */
};

/* An engine: one function for each seam operation. `site` is the address of the call. */
struct sim_engine {
	uint64_t (*load)(const uint64_t *p, int order, const void *site);
	void (*store)(uint64_t *p, uint64_t value, int order, const void *site);
	uint64_t (*exchange)(uint64_t *p, uint64_t value, int order, const void *site);
	bool (*cas)(uint64_t *p, uint64_t from, uint64_t to, int order, int failure_order,
		    const void *site);
	uint64_t (*fetch_add)(uint64_t *p, uint64_t n, int order, const void *site);
	void (*fence)(enum sim_fence kind, const void *site);
	/* A heavy fence for the threads on one CPU, and the CPU of the caller. NULL in
	 * engines without CPUs: a thread may run on any. */
	void (*fence_cpu)(unsigned cpu, const void *site);
	unsigned (*cpu)(const void *site);
	/* Restartable sequences: a store inside one, and the store that commits it. They
	 * fail if the thread was preempted, migrated or interrupted since the beginning,
	 * or a barrier reached its CPU. NULL in engines without CPUs. */
	void (*begin_sequence)(void);
	bool (*whole_sequence)(void); /* not aborted so far; no step */
	bool (*store_in_sequence)(uint64_t *p, uint64_t value, int order, bool last,
				  const void *site);
	/* Returns the value that ended the wait. */
	uint64_t (*await)(enum sim_await kind, uint64_t *p, uint64_t value, uint64_t to,
			  int order, const void *site);
	/* The futex: sleeps if *p == expected, until woken; a timed sleep may also time
	 * out, and then returns false. */
	bool (*sleep)(const uint64_t *p, uint64_t expected, bool timed, const void *site);
	void (*wake)(const uint64_t *p, const void *site);
	/* A clock in nanoseconds, a spin-wait hint, and a sleep with a timeout of `ns`.
	 * NULL in engines without a clock. */
	uint64_t (*now)(void);
	void (*pause)(void);
	bool (*sleep_for)(const uint64_t *p, uint64_t expected, uint64_t ns);
	/* Plain accesses in code built for the simulator. */
	void (*plain)(const void *p, size_t size, bool write, const void *site);
	/* Volatile accesses, in code built to distinguish them; NULL: no such code runs
	 * here. */
	void (*volatile_access)(const void *p, size_t size, bool write, const void *site);
	void *(*self)(void); /* struct pawl_thread of the running fiber */
	/* The NUMA node of the running thread. NULL: any node at each call, because no
	 * lock may depend on a thread's previous node. */
	unsigned (*node)(void);
	bool (*one_in)(unsigned n, const void *site);
	void *(*allocate)(size_t size, size_t alignment);
	void (*release)(void *p, const void *site);
	/* Returns a number, not 0, that no other call returns. It may depend on the
	 * calling thread, but not on the schedule. NULL: a counter of calls. */
	uint64_t (*serial)(void);
	void (*die)(const char *sentence, const void *site) __attribute__((noreturn));
};

extern const struct sim_engine *sim_engine;

/*
 * If not NULL, called before each write, sleep and wake-up. A scenario kills a thread by
 * not returning from it. Reads do not need it: a thread killed before a read cannot be
 * told from a thread killed before its next write.
 */
extern void (*sim_before_step)(void);
/* If not NULL, called before each access; `waits`: the access may be one of a polling
 * loop. */
extern void (*sim_before_access)(bool waits);

uint64_t sim_load(const uint64_t *p, int order);
void sim_store(uint64_t *p, uint64_t value, int order);
uint64_t sim_exchange(uint64_t *p, uint64_t value, int order);
bool sim_cas(uint64_t *p, uint64_t from, uint64_t to, int order, int failure_order);
uint64_t sim_fetch_add(uint64_t *p, uint64_t n, int order);
void sim_fence(enum sim_fence kind);
/* If false, the engine models a system without membarrier: a heavy fence is a full fence
 * of the caller and returns false. */
extern bool sim_membarrier_works;
/* If not NULL: whether this heavy fence of the caller fails. */
extern bool (*sim_refuses)(void);
bool sim_heavy_fence(void);
bool sim_heavy_fence_cpu(unsigned cpu);
unsigned sim_cpu(void);
void sim_sequence_begin(void);
bool sim_sequence_whole(void);
bool sim_sequence_store(uint64_t *p, uint64_t value, int order);
bool sim_sequence_end(uint64_t *p, uint64_t value, int order);
uint64_t sim_await(enum sim_await kind, uint64_t *p, uint64_t value, uint64_t to,
		   int order);
bool sim_sleep(const uint64_t *p, uint64_t expected, bool timed);
void sim_wake(const uint64_t *p);
void *sim_self(void);
bool sim_one_in(unsigned n);
/* The NUMA node of the running thread, of sim_node_count; PAWL_NO_HOME on a machine with
 * one. Engines without a machine model have 1 or 2 nodes, and with 1 the cohort locks
 * still take their path for several; or sim_home says which, if it is not NULL. */
unsigned sim_node(void);
extern unsigned sim_node_count;
extern unsigned (*sim_home)(void);
/* Whether the running engine has a clock: waiting then follows the policy of real
 * hardware. */
bool sim_timed(void);
void sim_pause(void);

#endif /* SIM_SEAM_H */
