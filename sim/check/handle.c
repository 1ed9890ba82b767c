/* SPDX-License-Identifier: MIT */
/*
 * Handles of leases, src/lease/handle.c: threads that come and go, and a process that
 * forks. Leases are bound to threads here; lease.c has the other modes.
 */
#include "outside.h"

#include <sim/cores/cores.h>
#include <sim/runtime.h>
#include <src/lease/leases.h>

#include <pawl/lease.h>
#include <pawl/runtime.h>

enum { NOBODY = -1 };

struct shared {
	struct pawl_lease lease;
	uint64_t counter; /* of sections */
	/* Ghosts. */
	int holder;
	uint64_t sections;
	bool owned[CORES_MAX_THREADS]; /* handles */
};

struct handle_check {
	struct shared *shared;
	int had_by;
	bool time_flies;
};

/* What makes a scenario. */
struct scene {
	struct core_scenario core;
	bool prepared;	 /* threads have their handles, and one had the lease: */
	int had_by;	 /* this one; thread 0 is the one that forks */
	bool time_flies; /* whoever waits for others looks once */
};

/* The first look at the clock sets a time; at the second, it is over. */
static bool waiting, looked;

static uint64_t short_time(void)
{
	bool over = waiting && looked;

	looked = waiting;
	return over ? (uint64_t)1 << 62 : 0;
}

static void section(struct shared *s)
{
	int me = cores_thread();
	uint64_t seen;

	if (s->holder != NOBODY)
		cores_fail(VERDICT_EXCLUSION,
			   "thread %d enters while thread %d is inside", me, s->holder);
	s->holder = me;
	seen = sim_load(&s->counter, SIM_RELAXED);
	if (seen != s->sections)
		cores_fail(VERDICT_STALE,
			   "thread %d counts %llu sections, but %llu are over", me,
			   (unsigned long long)seen, (unsigned long long)s->sections);
	sim_store(&s->counter, seen + 1, SIM_RELAXED);
	s->sections = seen + 1;
	s->holder = NOBODY;
}

static void visit(struct shared *s, enum pawl_lease_result result)
{
	if (result != PAWL_LEASE_OK)
		return;
	section(s);
	pawl_lease_release(&s->lease, pawl_lease_self());
}

static enum pawl_lease_result acquire(struct shared *s)
{
	enum pawl_lease_result result = pawl_lease_acquire(&s->lease, pawl_lease_self());

	if (result != PAWL_LEASE_ELSEWHERE)
		return result;
	return pawl_lease_seize(&s->lease, pawl_lease_self());
}

/* register: threads have a handle from their first use to their exit, and nobody else
 * has it meanwhile. */
static void register_thread(void *check, int thread)
{
	struct shared *s = ((struct handle_check *)check)->shared;
	struct pawl_lease_handle *h = pawl_lease_self();

	(void)thread;
	if (h == &pawl_lease_refused)
		cores_fail(VERDICT_ASSERTION, "a thread was refused a handle");
	if (s->owned[h->id])
		cores_fail(VERDICT_EXCLUSION, "two threads have handle %u", h->id);
	s->owned[h->id] = true;
	visit(s, acquire(s));
	s->owned[h->id] = false;
	pawl_thread_exit_(pawl_self());
	if (pawl_lease_acquire(&s->lease, pawl_lease_self()) != PAWL_LEASE_NESTED)
		cores_fail(VERDICT_ASSERTION, "a thread that is gone got a lease");
}

/* first: thread 0's first use is interrupted by a signal handler, whose use comes first,
 * while thread 1, which has exited before its first use, counts the handles. */
static void use_in_handler(void)
{
	if (cores_thread() != 0 || pawl_self()->lease != NULL)
		return;
	sim_signal = NULL;
	pawl_lease_self();
}

static void first_thread(void *check, int thread)
{
	struct shared *s = ((struct handle_check *)check)->shared;
	uint64_t sums[PAWL_LEASE_COUNTS] = {0};
	struct pawl_lease_handle *h;

	if (thread == 1) {
		pawl_thread_exit_(pawl_self());
		if (pawl_lease_self() != &pawl_lease_refused)
			cores_fail(VERDICT_ASSERTION,
				   "a thread that is gone has a handle");
		if (pawl_lease_sums(sums) > 1)
			cores_fail(VERDICT_ASSERTION, "there are two handles");
		return;
	}
	sim_signal = use_in_handler;
	h = pawl_lease_self();
	sim_signal = NULL;
	if (h != pawl_self()->lease || h == &pawl_lease_refused)
		cores_fail(VERDICT_ASSERTION, "the handle is not that of the handler");
	if (pawl_lease_sums(sums) != 1)
		cores_fail(VERDICT_ASSERTION, "one thread has two handles");
	visit(s, acquire(s));
}

/* fork: the first thread forks while others use the lease; the child finds it in order,
 * or poisoned, if somebody was inside. */
static void be_the_child(struct shared *s, bool waited)
{
	int inside = s->holder;
	enum pawl_lease_result result;

	s->holder = NOBODY; /* he is not here */
	pawl_lease_forked();
	result = acquire(s);
	if (result == PAWL_LEASE_POISONED) {
		result = pawl_lease_recover(&s->lease, pawl_lease_self());
		if (waited)
			cores_fail(VERDICT_ASSERTION, "the lease is poisoned, but nobody "
						      "was inside");
		s->sections = sim_load(&s->counter, SIM_RELAXED); /* is put right */
	} else if (inside != NOBODY) {
		cores_fail(VERDICT_ASSERTION,
			   "thread %d was inside when the process "
			   "forked, and the child has no word of it",
			   inside);
	}
	if (result != PAWL_LEASE_OK)
		cores_fail(VERDICT_ASSERTION, "the child cannot have the lease");
	visit(s, result);
}

static void fork_thread(void *check, int thread)
{
	struct shared *s = ((struct handle_check *)check)->shared;

	if (thread == 0) {
		waiting = true;
		pawl_lease_before_fork();
		waiting = false;
		if (cores_fork()) {
			be_the_child(s, !((struct handle_check *)check)->time_flies);
			return;
		}
		pawl_lease_after_fork();
	}
	visit(s, acquire(s));
}

/* lost: a thread that has lost its place asks for another while the process forks. */
static void lost_thread(void *check, int thread)
{
	if (thread == 1)
		pawl_lease_lost_(pawl_lease_self());
	fork_thread(check, thread);
}

static void set_up(void *check)
{
	struct shared *s = cores_allocate(sizeof(*s), 64);

	((struct handle_check *)check)->shared = s;
	s->holder = NOBODY;
	cores_label(&s->lease, sizeof(s->lease), "lease", NULL);
	cores_label(&s->counter, sizeof(s->counter), "counter", NULL);
}

static void prepare(void *check, int thread)
{
	static const char *const names[] = {"handle 0", "handle 1", "handle 2",
					    "handle 3"};
	struct shared *s = ((struct handle_check *)check)->shared;
	struct pawl_lease_handle *h = pawl_lease_self();

	cores_label(h, sizeof(*h), names[thread], NULL);
	if (thread == ((struct handle_check *)check)->had_by &&
	    pawl_lease_acquire(&s->lease, h) == PAWL_LEASE_OK)
		pawl_lease_release(&s->lease, h);
}

OUTSIDE static void check(const struct scenario *scenario, int threads, int episodes,
			  const struct options *options, struct result *result)
{
	const struct scene *scene = (const struct scene *)scenario->cores;
	struct handle_check check = {
		.had_by = scene->had_by,
		.time_flies = scene->time_flies,
	};
	struct cores_program program = {
		.threads = threads,
		.cpus = 2,
		.set_up = scenario->set_up,
		.prepare = scene->prepared ? prepare : NULL,
		.thread = scenario->thread,
		.context = &check,
	};

	(void)episodes;
	sim_leases_by_thread = true;
	sim_clock = scene->time_flies ? short_time : NULL;
	cores_explore(&program, options, result);
	sim_leases_by_thread = false;
	sim_clock = NULL;
}

const struct lock_type handle_types[] = {
	{.name = "handle", .base = "handle", .header = "pawl/lease.h"},
	{.name = NULL},
};

static const struct scene registering = {.core = {2, 1, 2, 1, true, check}},
			  forking = {.core = {2, 1, 3, 1, false, check},
				     .prepared = true,
				     .had_by = 1},
			  forking_first = {.core = {2, 1, 2, 1, false, check},
					   .prepared = true},
			  first_use = {.core = {2, 1, 2, 1, false, check}},
			  forking_late = {.core = {2, 1, 3, 1, false, check},
					  .prepared = true,
					  .had_by = 1,
					  .time_flies = true};

const struct scenario handle_scenarios[] = {
	{.name = "register",
	 .what = "threads come and go, and their handles",
	 .least_threads = 2,
	 .only_episodes = 1,
	 .waiting_slots = 1,
	 .applies = always,
	 .expected = passes,
	 .set_up = set_up,
	 .thread = register_thread,
	 .cores = &registering.core},
	{.name = "fork",
	 .what = "a thread forks, and the child goes on",
	 .least_threads = 2,
	 .only_episodes = 1,
	 .waiting_slots = 1,
	 .applies = always,
	 .expected = passes,
	 .set_up = set_up,
	 .thread = fork_thread,
	 .cores = &forking.core},
	{.name = "fork-seize",
	 .what = "the same, and the other thread has to seize the lease",
	 .least_threads = 2,
	 .only_episodes = 1,
	 .waiting_slots = 1,
	 .applies = always,
	 .expected = passes,
	 .set_up = set_up,
	 .thread = fork_thread,
	 .cores = &forking_first.core},
	{.name = "fork-late",
	 .what = "the same, while somebody stays inside",
	 .least_threads = 2,
	 .only_episodes = 1,
	 .waiting_slots = 1,
	 .applies = always,
	 .expected = passes,
	 .set_up = set_up,
	 .thread = fork_thread,
	 .cores = &forking_late.core},
	{.name = "first",
	 .what = "a first use that a signal interrupts, and one after the exit",
	 .least_threads = 2,
	 .only_threads = 2,
	 .only_episodes = 1,
	 .waiting_slots = 1,
	 .applies = always,
	 .expected = passes,
	 .set_up = set_up,
	 .thread = first_thread,
	 .cores = &first_use.core},
	{.name = "fork-first",
	 .what = "a fork before any use",
	 .least_threads = 2,
	 .only_threads = 2,
	 .only_episodes = 1,
	 .waiting_slots = 1,
	 .applies = always,
	 .expected = passes,
	 .set_up = set_up,
	 .thread = fork_thread,
	 .cores = &first_use.core},
	{.name = "fork-lost",
	 .what = "a fork while a thread looks for its place",
	 .least_threads = 2,
	 .only_threads = 2,
	 .only_episodes = 1,
	 .waiting_slots = 1,
	 .applies = always,
	 .expected = passes,
	 .set_up = set_up,
	 .thread = lost_thread,
	 .cores = &forking.core},
	{.name = NULL},
};
