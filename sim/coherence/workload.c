/* SPDX-License-Identifier: MIT */
#include <sim/coherence/workload.h>

#include <sim/runtime.h>
#include <sim/seam.h>

#include "registry/registry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The simulated locks, as opposed to those of this process. */
extern const struct lock_type sim_lock_types[];
const struct lock_type *sim_lock_type_find(const char *name);

enum { LINE = 128, MAX_NAMES = 64, MICROSECOND = 1000 * 1000 };

static const char *const polls[] = {"load", "cas", "fetch-add", NULL};
static const char *const writers[] = {"fetch-add", NULL};
/* In the order of enum sim_rwlock_form. */
static const char *const forms[] = {"rwlock-gated", "rwlock-fenced", "rwlock", NULL};

/* The argument of a thread. */
struct seat {
	struct run *run;
	uint64_t *box; /* on its own cache line */
};

/* A measurement. */
struct run {
	const struct workload_setup *setup;
	const struct lock_type *type;
	enum sim_await poll;
	char *locks; /* WORKLOAD_LOCKS of them, LINE * lines apart */
	size_t stride;
	uint64_t *shared; /* random state of the critical section, or the word */
	struct seat seats[MACHINE_MAX_CPUS];

	uint64_t all_started; /* all threads have started by then */
	uint64_t warm_up, episodes;
	uint64_t start;
	struct coherence_counts before;
	uint64_t by_thread[MACHINE_MAX_CPUS];
	unsigned cluster; /* cluster of the last episode */
	uint64_t streak, streaks;
	struct workload_result result;
};

const char *const *workload_subjects(enum workload workload)
{
	static const char *names[MAX_NAMES];
	size_t i, n = 0;

	if (workload == WORKLOAD_RING)
		return polls;
	if (workload == WORKLOAD_DIAMETER)
		return writers;
	if (workload == WORKLOAD_READERS)
		return forms;
	/* Every thread has its own CPU: of each lock, the variant that spins. */
	for (i = 0; sim_lock_types[i].name != NULL && n + 1 < MAX_NAMES; i++)
		if (strchr(sim_lock_types[i].name, '+') == NULL)
			names[n++] = sim_lock_types[i].name;
	names[n] = NULL;
	return names;
}

/* Nodes may have different numbers of threads: compares the mean per thread. */
static double fairness_by_node(const struct run *run)
{
	double episodes[MACHINE_MAX_SOCKETS] = {0}, threads[MACHINE_MAX_SOCKETS] = {0};
	double least = INFINITY, most = 0;
	unsigned i;

	for (i = 0; i < run->setup->engine.threads; i++) {
		unsigned node = coherence_node_of(i);

		episodes[node] += (double)run->by_thread[i];
		threads[node]++;
	}
	for (i = 0; i < MACHINE_MAX_SOCKETS; i++) {
		if (threads[i] == 0)
			continue;
		least = fmin(least, episodes[i] / threads[i]);
		most = fmax(most, episodes[i] / threads[i]);
	}
	return most == 0 ? 1 : least / most;
}

/* How long the lock stays in one cluster. */
static void count_streak(struct run *run)
{
	unsigned cluster = coherence_cluster_of(coherence_self());

	if (cluster != run->cluster) {
		run->cluster = cluster;
		run->streak = 0;
		run->streaks++;
	}
	if (++run->streak > run->result.longest_streak)
		run->result.longest_streak = run->streak;
}

/* Ends the measurement and computes the counts per episode. */
static void finish(struct run *run)
{
	struct coherence_counts now = coherence_counts(), *was = &run->before;
	double episodes = (double)run->setup->episodes;
	uint64_t least = UINT64_MAX, most = 0;
	unsigned i;

	for (i = 0; i < run->setup->engine.threads; i++) {
		least = run->by_thread[i] < least ? run->by_thread[i] : least;
		most = run->by_thread[i] > most ? run->by_thread[i] : most;
	}
	run->result.node_fairness = fairness_by_node(run);
	run->result.streak = episodes / (double)(run->streaks + 1);
	run->result.ops_per_s = episodes /
				((double)(coherence_now() - run->start) * 1e-12);
	run->result.fairness = most == 0 ? 1 : (double)least / (double)most;
	run->result.misses = (double)(now.misses - was->misses) / episodes;
	run->result.invalidations = (double)(now.invalidations - was->invalidations) /
				    episodes;
	run->result.remote_misses = (double)(now.remote_misses - was->remote_misses) /
				    episodes;
	run->result.rmws = (double)(now.rmws - was->rmws) / episodes;
	coherence_stop();
}

/* Counts a finished episode. */
static void episode(struct run *run)
{
	run->by_thread[coherence_self()]++;
	run->episodes++;
	if (run->start != 0)
		count_streak(run);
	if (run->start == 0) {
		if (run->episodes < run->warm_up || coherence_now() < run->all_started)
			return;
		run->warm_up = run->episodes;
		run->start = coherence_now();
		run->before = coherence_counts();
		memset(run->by_thread, 0, sizeof(run->by_thread));
	} else if (run->episodes == run->warm_up + run->setup->episodes) {
		finish(run);
	}
}

static void section(const struct run *run, uint64_t *generator, uint64_t steps)
{
	if (steps == 0)
		return;
	coherence_read(generator);
	coherence_write(generator);
	coherence_delay(steps * run->setup->engine.machine->step);
}

static void pause_for(const struct run *run, uint64_t below)
{
	if (below != 0)
		coherence_delay(coherence_random(below) *
				run->setup->engine.machine->step);
}

/*
 * Threads start one by one in random order. A FIFO lock keeps the initial order for ever;
 * if all started at once, that would be the order of their distance from the lock's home.
 */
static void start_late(const struct run *run)
{
	coherence_delay(coherence_random(run->all_started));
}

static void mutex_explicit(struct run *run, uint64_t *generator)
{
	_Alignas(16) char context[64];

	for (;;) {
		run->type->acquire(run->locks, context);
		section(run, generator, run->setup->cs);
		run->type->release(run->locks, context);
		episode(run);
		pause_for(run, run->setup->ncs);
	}
}

static void mutex_plain(struct run *run, uint64_t *generator)
{
	for (;;) {
		run->type->lock(run->locks);
		section(run, generator, run->setup->cs);
		run->type->unlock(run->locks);
		episode(run);
		pause_for(run, run->setup->ncs);
	}
}

static void mutex(void *argument)
{
	const struct seat *seat = argument;
	struct run *run = seat->run;
	uint64_t *generator = run->setup->private_data ? seat->box : run->shared;

	start_late(run);
	if (run->setup->explicit_face && run->type->acquire != NULL)
		mutex_explicit(run, generator);
	else
		mutex_plain(run, generator);
}

static void multiwait(void *argument)
{
	struct run *run = ((const struct seat *)argument)->run;
	unsigned i;

	start_late(run);
	if (coherence_self() == 0) {
		for (;;) {
			for (i = 0; i < WORKLOAD_LOCKS; i++)
				run->type->lock(run->locks + i * run->stride);
			while (i-- > 0)
				run->type->unlock(run->locks + i * run->stride);
			episode(run);
		}
	}
	for (;;) {
		char *lock = run->locks + coherence_random(WORKLOAD_LOCKS) * run->stride;

		run->type->lock(lock);
		run->type->unlock(lock);
	}
}

static void diameter(void *argument)
{
	struct run *run = ((const struct seat *)argument)->run;
	uint64_t seen = 0;

	if (coherence_self() == 0) {
		for (;;) {
			sim_engine->fetch_add(run->shared, 1, 0, NULL);
			episode(run);
		}
	}
	for (;;)
		seen = sim_engine->await(SIM_AWAIT_NE, run->shared, seen, 0, 0, NULL);
}

static void ring(void *argument)
{
	const struct seat *seat = argument;
	struct run *run = seat->run;
	unsigned self = coherence_self();
	uint64_t *mine = seat->box;
	uint64_t *next = run->seats[(self + 1) % run->setup->engine.threads].box;

	if (self == 0)
		sim_engine->store(mine, 1, 0, NULL);
	for (;;) {
		sim_engine->await(run->poll, mine, run->poll == SIM_AWAIT_CAS, 0, 0,
				  NULL);
		if (run->poll != SIM_AWAIT_CAS)
			sim_engine->store(mine, 0, 0, NULL);
		sim_engine->store(next, 1, 0, NULL);
		episode(run);
	}
}

static void readers(void *argument)
{
	struct seat *seat = argument;
	struct run *run = seat->run;

	sim_give_reads((int)coherence_self());
	start_late(run);
	for (;;) {
		sim_rwlock_read(run->locks);
		section(run, seat->box, run->setup->cs);
		sim_rwlock_leave(run->locks);
		episode(run);
		pause_for(run, run->setup->ncs);
	}
}

static void prepare_readers(struct run *run, struct coherence *c)
{
	enum sim_rwlock_form form = SIM_RWLOCK_COUNTED;

	while (strcmp(forms[form], run->setup->lock) != 0)
		form++;
	run->locks = coherence_memory(c, (sim_rwlock_size() + LINE - 1) / LINE * LINE);
	sim_rwlock_make(run->locks, form);
}

static void prepare(struct run *run, struct coherence *c,
		    const struct workload_setup *setup)
{
	unsigned i;

	memset(run, 0, sizeof(*run));
	run->setup = setup;
	run->type = sim_lock_type_find(setup->lock);
	run->all_started = MICROSECOND * setup->engine.threads;
	run->warm_up = setup->episodes / 10 + 10 * setup->engine.threads;
	if (strcmp(setup->lock, "cas") == 0)
		run->poll = SIM_AWAIT_CAS;
	else
		run->poll = strcmp(setup->lock, "fetch-add") == 0 ? SIM_AWAIT_NE_RMW
								  : SIM_AWAIT_NE;
	if (run->type != NULL) {
		run->stride = (run->type->size + LINE - 1) / LINE * LINE;
		run->locks = coherence_memory(c, run->stride * WORKLOAD_LOCKS);
	}
	if (setup->workload == WORKLOAD_READERS)
		prepare_readers(run, c);
	run->shared = coherence_memory(c, LINE);
	for (i = 0; i < setup->engine.threads; i++)
		run->seats[i] = (struct seat){run, coherence_memory(c, LINE)};
}

struct workload_result workload_run(const struct workload_setup *setup)
{
	static void (*const bodies[])(void *) = {mutex, multiwait, diameter, ring,
						 readers};
	struct coherence *c;
	struct run run;
	unsigned i;

	sim_reads = MACHINE_MAX_CPUS;
	c = coherence_open(&setup->engine);
	prepare(&run, c, setup);
	for (i = 0; i < setup->engine.threads; i++)
		coherence_spawn(c, i, bodies[setup->workload], &run.seats[i]);
	if (!coherence_run(c)) {
		fprintf(stderr, "pawl sim: %s: all threads wait for each other\n",
			setup->lock);
		exit(EXIT_FAILURE);
	}
	coherence_close(c);
	return run.result;
}
