/* SPDX-License-Identifier: MIT */
/*
 * What a simulated lock calls: backend/sim turns every operation of the seams
 * into one of these, and they go to the engine that is running: the model
 * checker (sim/explore) or the coherence simulator (sim/coherence). The place
 * in the lock's source is the caller's return address.
 */
#ifndef SIM_SEAM_H
#define SIM_SEAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../backend/sim/pawl/backend/order.h"

/* Sizes that the engine chooses before it starts. */
enum { SIM_MAX_WAITING_SLOTS = 4096 };
extern size_t sim_waiting_slots;      /* a power of two, at most the above */
extern unsigned sim_hapax_block_bits; /* at least 1 */
extern uint64_t sim_mutex_bypass;     /* at least 1 */
extern bool sim_mutex_polls;	      /* its waiters nap, and count unlocks */
extern bool sim_mutex_room;	      /* threads make room for a head without a CPU */
extern uint64_t
	sim_park_crowd; /* more addresses in a bucket: its table grows; 0: never */
extern uint64_t sim_rwlock_look; /* at least 1 */

/* Memory that the simulator maps lies here, so that what hangs on addresses is the
 * same in every process: SIM_STACKS for fibers, SIM_WORLDS for the rest. */
#define SIM_STACKS 0x200000000000u
#define SIM_WORLDS 0x300000000000u
#define SIM_END	   0x400000000000u

static inline bool sim_chose(uint64_t address)
{
	return address >= SIM_STACKS && address < SIM_END;
}

/* Whether a waiter may tire of a wait that has an end (pawl_await_briefly_*). */
extern bool sim_impatient;
/* Who sleeps sees what it is told without being woken: others show that it is. */
extern bool sim_sleep_sees;

enum sim_fence {
	SIM_FENCE_LIGHT,
	SIM_FENCE_HEAVY,
	SIM_FENCE_FULL,
	SIM_FENCE_ACQUIRE,
	SIM_FENCE_RELEASE,
	/* Nothing uses it: for litmus tests and for what a port might try. */
	SIM_FENCE_ACQ_REL,
};

enum sim_await {
	SIM_AWAIT_EQ,	  /* until *p == value */
	SIM_AWAIT_NE,	  /* until *p != value */
	SIM_AWAIT_CHANGE, /* as NE, but may give up when nothing else moves */
	SIM_AWAIT_CAS,	  /* until *p went from value to `to` by our hand */
	SIM_AWAIT_EQ_RMW, /* as EQ, polling by read-modify-write */
	SIM_AWAIT_NE_RMW, /* as NE, polling by read-modify-write */
};

/* An engine: one function for each seam operation. `site` is a code address. */
struct sim_engine {
	uint64_t (*load)(const uint64_t *p, int order, const void *site);
	void (*store)(uint64_t *p, uint64_t value, int order, const void *site);
	uint64_t (*exchange)(uint64_t *p, uint64_t value, int order, const void *site);
	bool (*cas)(uint64_t *p, uint64_t from, uint64_t to, int order, int failure_order,
		    const void *site);
	uint64_t (*fetch_add)(uint64_t *p, uint64_t n, int order, const void *site);
	void (*fence)(enum sim_fence kind, const void *site);
	/* A heavy fence against what runs on one CPU; and the CPU that the caller
	 * runs on. NULL where threads have no CPUs: any may run there. */
	void (*fence_cpu)(unsigned cpu, const void *site);
	unsigned (*cpu)(const void *site);
	/* A restartable sequence: a store in it, and the one that ends it, which fail if
	 * the thread was preempted, moved or interrupted in between, or a barrier came
	 * by. NULL where threads have no CPUs. */
	void (*begin_sequence)(void);
	bool (*whole_sequence)(void); /* so far; is no step */
	bool (*store_in_sequence)(uint64_t *p, uint64_t value, int order, bool last,
				  const void *site);
	/* Returns the value that ended the wait. */
	uint64_t (*await)(enum sim_await kind, uint64_t *p, uint64_t value, uint64_t to,
			  int order, const void *site);
	/* The futex: sleeps if *p is `expected`, until woken; a timed sleep may
	 * also end by itself. Returns false if it ended so. */
	bool (*sleep)(const uint64_t *p, uint64_t expected, bool timed, const void *site);
	void (*wake)(const uint64_t *p, const void *site);
	/* Nanoseconds on a clock of its own, a spin-wait hint, and a sleep that ends by
	 * itself after so many of them. NULL where time stands still. */
	uint64_t (*now)(void);
	void (*pause)(void);
	bool (*sleep_for)(const uint64_t *p, uint64_t expected, uint64_t ns);
	/* Accesses that are not atomic, in code built for the simulator. */
	void (*plain)(const void *p, size_t size, bool write, const void *site);
	/* Those that are volatile, in code that is built to tell them apart; NULL: no
	 * such code runs here. */
	void (*volatile_access)(const void *p, size_t size, bool write, const void *site);
	void *(*self)(void); /* struct pawl_thread of the running fiber */
	/* NUMA node it is on. NULL: now on one of them, now on another, for no lock may
	 * hang on where a thread was before. */
	unsigned (*node)(void);
	bool (*one_in)(unsigned n, const void *site);
	void *(*allocate)(size_t size, size_t alignment);
	void (*release)(void *p, const void *site);
	/* A number, not 0, that no other call returns; it may depend on the thread
	 * but not on what others did so far. NULL: count calls. */
	uint64_t (*serial)(void);
	void (*die)(const char *sentence, const void *site) __attribute__((noreturn));
};

extern const struct sim_engine *sim_engine;

/*
 * If not NULL, called before each write, sleep and wake-up. It may choose not to
 * return: that is how a scenario kills a thread. Nobody could tell a thread that
 * is killed before a read from one that is killed before its next write.
 */
extern void (*sim_before_step)(void);
/* If not NULL, called before each access; `waits` if it may be one of many. */
extern void (*sim_before_access)(bool waits);

uint64_t sim_load(const uint64_t *p, int order);
void sim_store(uint64_t *p, uint64_t value, int order);
uint64_t sim_exchange(uint64_t *p, uint64_t value, int order);
bool sim_cas(uint64_t *p, uint64_t from, uint64_t to, int order, int failure_order);
uint64_t sim_fetch_add(uint64_t *p, uint64_t n, int order);
void sim_fence(enum sim_fence kind);
/* False, and no more than a full fence, if the engine plays a system without
 * membarrier: sim_membarrier_works. */
extern bool sim_membarrier_works;
/* If not NULL: whether it refuses the heavy fence to the caller, this time. */
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
/* The home of the running thread, of so many; PAWL_NO_HOME on a machine that has one.
 * An engine without a machine has 1 or 2, a lock for several goes its long way there on
 * one as well; or asks sim_home, if it is not NULL. */
unsigned sim_node(void);
extern unsigned sim_node_count;
extern unsigned (*sim_home)(void);
/* Whether the running engine has a clock: waiting then is as on real hardware. */
bool sim_timed(void);
void sim_pause(void);

#endif /* SIM_SEAM_H */
