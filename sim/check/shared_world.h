/* SPDX-License-Identifier: MIT */
/*
 * The world of the scenarios in shared.c: a region of simulated memory, and threads
 * that may be killed before each of their writes and sleeps.
 *
 * What the system does is played here. That a thread is gone is a word that it
 * sets with its last breath; who sleeps is woken by a death once, which stands
 * for the time after which a sleeper looks around by itself. Sleeps are not
 * bounded otherwise, so a wake-up that is lost shows.
 */
#ifndef CHECK_SHARED_WORLD_H
#define CHECK_SHARED_WORLD_H

#include "outside.h"

#include <os/shared.h>
#include <shared/region.h>

#include <errno.h>
#include <setjmp.h>

/* LIVES: one may be dead from the start. AGENTS: one may be left behind. */
enum { THREADS = 3, LIVES = THREADS + 1, AGENTS = THREADS + 1, FIRST_NAME = 2 };

static struct world {
	struct region_mutex mutex;
	struct region_mutex second; /* of shared_calls.h */
	struct region_agent agents[AGENTS];
	struct region_entry entry;
	pawl_atomic64 fenced;
	pawl_atomic64 claims;
	pawl_atomic64 dead[LIVES];
	pawl_atomic64 held; /* thread 0 has it, and the others may come */
	pawl_atomic64 work; /* written inside, to die before */
	struct {
		pawl_atomic64 size, lock, words[9];
	} file; /* of shared_create.h */

	/* Plain, under the mutex. */
	uint64_t inside; /* who is, plus 1; left by one that dies there */
	uint64_t told;	 /* how often a death inside was reported */
	uint64_t entries;
} * world;

static struct region region;

/* Of each thread, in this run; nobody else looks at it. */
static struct {
	bool mortal, born, dying;
	bool locks_file;       /* whose lock ends with it */
	unsigned deaths_known; /* a bit for each */
	jmp_buf end;
} lives[LIVES];

/* The system's side. */

OUTSIDE bool pawl_os_barrier_all(void)
{
	return sim_heavy_fence();
}

OUTSIDE void pawl_os_wake_shared(const pawl_atomic64 *word)
{
	sim_wake(&word->raw);
}

OUTSIDE bool pawl_os_thread_gone(uint64_t name)
{
	return sim_load(&world->dead[name - FIRST_NAME].raw, SIM_ACQUIRE) != 0;
}

/* Whether somebody died of whom the caller has not heard. */
OUTSIDE static bool hear_of_death(void)
{
	int me = explore_thread(), t;

	for (t = 0; t < LIVES; t++) {
		if (t == me || !lives[t].mortal || (lives[me].deaths_known >> t & 1))
			continue;
		/* An update: the one who dies comes before or after it, and if
		 * after, it finds the caller on its way to sleep. */
		if (sim_engine->fetch_add(&world->dead[t].raw, 0, SIM_ACQ_REL,
					  __builtin_return_address(0)) != 0) {
			lives[me].deaths_known |= 1u << t;
			return true;
		}
	}
	return false;
}

OUTSIDE enum pawl_wake pawl_os_sleep_shared(const pawl_atomic64 *word, uint32_t expected,
					    const struct pawl_deadline *deadline,
					    uint64_t ns)
{
	(void)ns;
	if (deadline != NULL && sim_one_in(2))
		return PAWL_LATE;
	if (!hear_of_death())
		sim_sleep(&word->raw, expected, false);
	return PAWL_LOOK;
}

OUTSIDE static void be_gone(int thread)
{
	sim_exchange(&world->dead[thread].raw, 1, SIM_ACQ_REL);
	sim_fetch_add(&world->entry.wakes.raw, 1, SIM_ACQ_REL);
	sim_wake(&world->entry.wakes.raw);
}

OUTSIDE static void perhaps_die(void)
{
	int me = explore_thread();

	if (me < 0 || !lives[me].mortal || !lives[me].born || lives[me].dying ||
	    !sim_one_in(2))
		return;
	lives[me].dying = true;
	if (lives[me].locks_file)
		sim_store(&world->file.lock.raw, 0, SIM_RELEASE);
	be_gone(me);
	_longjmp(lives[me].end, 1);
}

/* The region. */

static void set_up_in(struct world *memory, unsigned mortals, unsigned agents)
{
	uint64_t t;

	world = memory;
	region = (struct region){
		.fenced = &world->fenced,
		.claims = &world->claims,
		.agents = world->agents,
		.mutexes = &world->mutex,
		.entries = &world->entry,
		.agent_count = agents,
		.mutex_count = 1,
		.entry_mask = 0,
	};
	for (t = 0; t < LIVES; t++) {
		lives[t].mortal = mortals >> t & 1;
		lives[t].born = lives[t].dying = lives[t].locks_file = false;
		lives[t].deaths_known = 0;
	}
	sim_before_step = mortals != 0 ? perhaps_die : NULL;
}

static void set_up_for(unsigned mortals, unsigned agents)
{
	struct world *memory = explore_allocate(sizeof(*memory), 128);

	explore_label(memory, "region");
	set_up_in(memory, mortals, agents);
}

/* Runs until the end, or until it is killed. */
static void live(void (*what)(int thread), int thread)
{
	if (_setjmp(lives[thread].end) == 0) {
		lives[thread].born = true;
		what(thread);
	}
}

/* The same, with an agent. */
static void run(void (*what)(int thread), int thread)
{
	if (thread < (int)region.agent_count)
		pawl_store_release(&world->agents[thread].who,
				   (uint64_t)thread + FIRST_NAME); /* [W] */
	live(what, thread);
}

/* Nobody is told more often than somebody died. */
static void at_the_end(void *argument)
{
	uint64_t deaths = 0;
	int t;

	(void)argument;
	for (t = 0; t < LIVES; t++)
		deaths += explore_final(&world->dead[t].raw);
	if (world->told > deaths)
		explore_fail(VERDICT_ASSERTION, "%d deaths, and %d reported", (int)deaths,
			     (int)world->told);
}

#endif /* CHECK_SHARED_WORLD_H */
