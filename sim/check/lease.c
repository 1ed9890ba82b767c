/* SPDX-License-Identifier: MIT */
/*
 * Leases on simulated cores. This file belongs to the simulated world, and is
 * built anew, with the headers it includes, for each mutant of pawl/lease.h.
 */
#include "lease_sequences.h"
#include "lease_world.h"

#include <stdio.h>

/* takeover: nobody breaks anything; leases pass among threads of one core. */
static void takeover_thread(void *check, int thread)
{
	struct lease_check *c = check;
	int k;

	(void)thread;
	for (k = 0; k < c->episodes; k++)
		visit(c->shared, 0, acquire(c->shared, 0));
}

/* seize, and its other modes: who finds it elsewhere, breaks it. Of two threads
 * the first comes back once more; with three there is no end to that. */
static void seize_thread(void *check, int thread)
{
	struct lease_check *c = check;
	int k, times = c->episodes + (thread == 0 && c->threads == 2);

	for (k = 0; k < times; k++)
		visit(c->shared, 0, acquire_or_seize(c->shared, 0));
}

static void once_thread(void *check, int thread)
{
	struct lease_check *c = check;

	(void)thread;
	visit(c->shared, 0, acquire_or_seize(c->shared, 0));
}

/* meet: a break comes between a seize and the lessee. */
static void meet_thread(void *check, int thread)
{
	struct shared *s = ((struct lease_check *)check)->shared;

	switch (thread) {
	case 0:
		visit(s, 0, acquire(s, 0));
		break;
	case 1:
		visit(s, 0, pawl_lease_seize(&s->leases[0], pawl_lease_self()));
		break;
	default:
		pawl_lease_break(&s->leases[0]);
	}
}

/* break: one begins to break the lease and then settles what it can; a third
 * thread breaks it in between. */
static void break_thread(void *check, int thread)
{
	struct lease_check *c = check;
	int k;

	if (thread >= 1)
		pawl_lease_break(&c->shared->leases[0]);
	if (thread >= 2)
		return;
	if (thread == 1)
		pawl_lease_poll();
	for (k = 0; k < c->episodes + (thread == 0); k++)
		visit(c->shared, 0, acquire(c->shared, 0));
}

/* drain: one keeps everybody out for a while; at once, or as soon as it can. */
static void drain_for(struct lease_check *c, int thread, uint64_t ns)
{
	struct shared *s = c->shared;
	int k;

	if (thread == 1) {
		if (pawl_lease_drain(&s->leases[0], ns)) {
			section(s, 0);
			pawl_lease_open(&s->leases[0]);
		}
		return;
	}
	for (k = 0; k < c->episodes + 1; k++)
		visit(s, 0, acquire_or_seize(s, 0));
}

static void drain_thread(void *check, int thread)
{
	drain_for(check, thread, 1);
}

static void drain_at_once_thread(void *check, int thread)
{
	drain_for(check, thread, 0);
}

/* drain-poison: a lease that is drained and opened again is as poisoned as it was. */
static void drain_poison_thread(void *check, int thread)
{
	struct shared *s = ((struct lease_check *)check)->shared;

	if (thread == 1) {
		if (!pawl_lease_drain(&s->leases[1], 0))
			cores_fail(VERDICT_ASSERTION, "nobody is inside");
		pawl_lease_open(&s->leases[1]);
		if (acquire_or_seize(s, 1) != PAWL_LEASE_POISONED)
			cores_fail(VERDICT_ASSERTION, "the lease is not poisoned");
	} else if (acquire_or_seize(s, 1) == PAWL_LEASE_OK) {
		cores_fail(VERDICT_ASSERTION, "the poisoned lease is acquired");
	}
}

/* inherited: the lease was being drained when the process was forked, by a thread that
 * is not in the child; thread 0, who was inside, is. */
static void inherited_thread(void *check, int thread)
{
	struct lease_check *c = check;
	struct shared *s = c->shared;

	if (thread == 0) {
		section(s, 0);
		release(s, 0);
	}
	visit(s, 0, acquire_or_seize(s, 0));
}

/* Nobody is kept out for good. */
static void inherited_finished(void *check)
{
	struct lease_check *c = check;

	if (c->shared->sections[0] < 2)
		cores_fail(VERDICT_ASSERTION, "nobody could have the lease any more");
}

/* other: after a section of one lease, the first thread is at another one, which is
 * poisoned: whatever its flag says by then, who takes the first lease sees the
 * section. */
static void other_thread(void *check, int thread)
{
	struct lease_check *c = check;
	struct shared *s = c->shared;

	visit(s, 0, acquire_or_seize(s, 0));
	if (thread != 0)
		return;
	if (sim_one_in(2)) {
		acquire(s, 1);
	} else if (sim_one_in(2)) {
		pawl_lease_seize(&s->leases[1], pawl_lease_self());
	} else if (sim_one_in(2)) {
		pawl_lease_recover(&s->leases[0], pawl_lease_self()); /* it is not */
	} else {
		pawl_lease_recover(&s->leases[1], pawl_lease_self());
		pawl_thread_exit_(pawl_self()); /* inside */
	}
}

/* handler: a signal handler wants leases, anywhere. */
static void handler_thread(void *check, int thread)
{
	struct lease_check *c = check;
	int k;

	for (k = 0; k < c->episodes; k++)
		visit(c->shared, 0,
		      thread == 0 ? acquire(c->shared, 0)
				  : acquire_or_seize(c->shared, 0));
}

static void handler(void *check, int thread)
{
	struct lease_check *c = check;
	struct shared *s = c->shared;
	int i;

	for (i = 0; i < LEASES; i++) {
		enum pawl_lease_result result = acquire(s, i);

		if (s->inside[thread] && result != PAWL_LEASE_NESTED)
			cores_fail(VERDICT_ASSERTION,
				   "an acquire inside a section was not refused");
		visit(s, i, result);
	}
}

/* exit: a thread goes away inside its section. */
static void exit_thread(void *check, int thread)
{
	struct lease_check *c = check;
	struct shared *s = c->shared;
	enum pawl_lease_result result = acquire_or_seize(s, 0);

	if (thread == 0) {
		if (result == PAWL_LEASE_OK) {
			section(s, 0);
			s->abandoned = true;
		}
		pawl_thread_exit_(pawl_self());
		return;
	}
	if (result == PAWL_LEASE_POISONED) {
		result = pawl_lease_recover(&s->leases[0], pawl_lease_self());
		if (result == PAWL_LEASE_OK)
			s->abandoned = false;
	} else if (result == PAWL_LEASE_OK && s->abandoned) {
		cores_fail(VERDICT_ASSERTION, "a lease whose holder exited inside was "
					      "given out as if it were in order");
	}
	visit(s, 0, result);
}

static void exit_finished(void *check)
{
	struct lease_check *c = check;
	uint64_t word = c->shared->leases[0].word.raw;

	if (c->shared->abandoned &&
	    (word >> PAWL_LEASE_STATE_SHIFT & 3) != PAWL_LEASE_POISON)
		cores_fail(VERDICT_ASSERTION,
			   "a lease whose holder exited inside is not poisoned");
}

/*
 * pool: two ids, in the shards of two leases and a spare one. The counters are
 * the shards' sets. Who finds nothing in its own shard looks in the other one.
 */
static void use(struct shared *s, uint64_t id)
{
	if (s->users[id - 1] != 0)
		cores_fail(VERDICT_EXCLUSION, "id %llu was given out twice",
			   (unsigned long long)id);
	s->users[id - 1] = 1;
}

/* One of a set, or 0. */
static uint64_t any(uint64_t set)
{
	return set & -set;
}

static uint64_t take_from_shard(struct shared *s, int i)
{
	uint64_t set, id;

	enter(s, i);
	set = sim_load(&s->counters[i], SIM_RELAXED);
	id = any(set);
	if (id != 0) {
		sim_store(&s->counters[i], set & ~id, SIM_RELAXED);
		use(s, id);
	}
	leave(s, i);
	release(s, i);
	return id;
}

static uint64_t take_spare(struct shared *s)
{
	uint64_t set = sim_load(&s->spare, SIM_RELAXED), id = any(set);

	/* Once is enough: who comes late goes without. */
	if (id == 0 || !sim_cas(&s->spare, set, set & ~id, SIM_ACQ_REL, SIM_RELAXED))
		return 0;
	use(s, id);
	return id;
}

static uint64_t get(struct shared *s)
{
	int home = (int)pawl_lease_id() % LEASES, other = 1 - home;
	uint64_t id = 0;

	if (acquire(s, home) == PAWL_LEASE_OK)
		id = take_from_shard(s, home);
	if (id == 0 &&
	    pawl_lease_seize(&s->leases[other], pawl_lease_self()) == PAWL_LEASE_OK)
		id = take_from_shard(s, other);
	return id != 0 ? id : take_spare(s);
}

static void put(struct shared *s, uint64_t id)
{
	int home = (int)pawl_lease_id() % LEASES;

	s->users[id - 1] = 0;
	if (acquire(s, home) == PAWL_LEASE_OK) {
		enter(s, home);
		sim_store(&s->counters[home],
			  sim_load(&s->counters[home], SIM_RELAXED) | id, SIM_RELAXED);
		leave(s, home);
		release(s, home);
	} else {
		sim_fetch_add(&s->spare, id, SIM_ACQ_REL);
	}
}

/* They get and put in turns; the first thread has an id to begin with. */
static void pool_thread(void *check, int thread)
{
	struct lease_check *c = check;
	uint64_t id = thread == 0 ? 1 : 0;
	int k;

	for (k = 0; k < c->episodes; k++) {
		if (id == 0) {
			id = get(c->shared);
		} else {
			put(c->shared, id);
			id = 0;
		}
	}
}

static void pool_finished(void *check)
{
	const struct shared *s = ((struct lease_check *)check)->shared;
	uint64_t used = s->users[0] | s->users[1] << 1;

	if (s->counters[0] + s->counters[1] + s->spare + used != 3 ||
	    (s->counters[0] ^ s->counters[1] ^ s->spare ^ used) != 3)
		cores_fail(VERDICT_ASSERTION,
			   "of two ids, %llu are in the first shard, %llu in the second, "
			   "%llu spare, %llu in use",
			   (unsigned long long)s->counters[0],
			   (unsigned long long)s->counters[1],
			   (unsigned long long)s->spare, (unsigned long long)used);
}

/* Setting up. */

static void show_word(uint64_t word, char *to, size_t size)
{
	static const char *const names[] = {"free", "leased", "limbo", "poisoned"};

	snprintf(to, size, "v%llu %s cpu %llu lessee %llu",
		 (unsigned long long)(word / PAWL_LEASE_VERSION_ONE),
		 names[word >> PAWL_LEASE_STATE_SHIFT & 3],
		 (unsigned long long)(word >> PAWL_LEASE_LESSEE_BITS &
				      ((1 << PAWL_LEASE_CPU_BITS) - 1)),
		 (unsigned long long)(word & LEASE_NOBODY));
}

static void set_up(void *check)
{
	struct lease_check *c = check;
	struct shared *s = cores_allocate(sizeof(*s), 64);
	int i;

	c->shared = s;
	s->counts = cores_allocate(LEASES * sizeof(struct count), 64);
	s->stacks = cores_allocate(LEASES * sizeof(struct stack), 64);
	stack_of(s, 0)->count = STACK_SLOTS;
	stack_of(s, 0)->slots = (uint64_t)1 << 32;
	cores_label(&stack_of(s, 0)->lease, 8, "stack lease 0", show_word);
	cores_label(&stack_of(s, 1)->lease, 8, "stack lease 1", show_word);
	cores_label(&count_of(s, 0)->lease, 8, "lease 0", show_word);
	cores_label(&count_of(s, 1)->lease, 8, "lease 1", show_word);
	cores_label(&count_of(s, 0)->value, 8, "count 0", NULL);
	cores_label(&count_of(s, 1)->value, 8, "count 1", NULL);
	for (i = 0; i < LEASES; i++)
		s->holders[i] = NOBODY;
	if (c->scene->has_pool) {
		s->users[0] = 1;
		s->counters[0] = 2;
	}
	if (c->scene->both_anybodys)
		stack_of(s, 1)->lease.word.raw = ((uint64_t)PAWL_LEASE_LEASED
						  << PAWL_LEASE_STATE_SHIFT) +
						 ((uint64_t)1 << PAWL_LEASE_LESSEE_BITS) +
						 LEASE_ANYBODY;
	if (c->scene->other_poisoned)
		s->leases[1].word.raw = (uint64_t)PAWL_LEASE_POISON
					<< PAWL_LEASE_STATE_SHIFT;
	cores_label(&s->leases[0], sizeof(s->leases[0]), "lease", show_word);
	cores_label(&s->leases[1], sizeof(s->leases[1]), "other lease", show_word);
	cores_label(s->counters, sizeof(s->counters), "counter", NULL);
	cores_label(&s->spare, sizeof(s->spare), "spare", NULL);
}

static void prepare(void *check, int thread)
{
	static const char *const names[] = {"flag 0", "flag 1", "flag 2", "flag 3"};
	struct lease_check *c = check;
	struct pawl_lease_handle *h = pawl_lease_self();

	cores_label(&h->flag, sizeof(h->flag), names[thread], NULL);
	if (c->scene->sequences) {
		if (thread == 0) { /* everybody's from now on */
			add_to_count(c->shared);
			leave_stack(c->shared, enter_stack(c->shared));
		}
		return;
	}
	if (thread == 0 && !c->scene->starts_free) {
		acquire(c->shared, 0);
		if (c->scene->inherited)
			c->shared->leases[0].word.raw =
				PAWL_LEASE_VERSION_ONE +
				((uint64_t)PAWL_LEASE_LIMBO << PAWL_LEASE_STATE_SHIFT) +
				((uint64_t)(LEASE_DRAINING + LEASE_GENERATIONS - 1)
				 << PAWL_LEASE_LESSEE_BITS) +
				h->id;
		else
			release(c->shared, 0);
	}
}

OUTSIDE static void check(const struct scenario *scenario, int threads, int episodes,
			  const struct options *options, struct result *result)
{
	const struct scene *scene = (const struct scene *)scenario->cores;
	struct lease_check check = {
		.scene = scene,
		.threads = threads,
		.episodes = episodes,
	};
	struct cores_program program = {
		.threads = threads,
		.cpus = 2,
		.set_up = scenario->set_up,
		.prepare = prepare,
		.thread = scenario->thread,
		.handler = scene->handler,
		.finished = scenario->finished,
		.context = &check,
	};

	sim_membarrier_works = scene->mode != FENCED;
	sim_barriers_aimed = scene->mode == BY_CPU;
	sim_leases_by_thread = scene->mode == BY_THREAD;
	sim_sequences = scene->sequences;
	cores_explore(&program, options, result);
	sim_membarrier_works = sim_barriers_aimed = true;
	sim_leases_by_thread = sim_sequences = false;
}

const struct lock_type lease_types[] = {
	{.name = "lease", .base = "lease", .header = "pawl/lease.h"},
	{.name = NULL},
};

static const struct scene
	takeover = {.core = {2, 2, 3, 1, true, check}, .starts_free = true},
	by_cpu = {.core = {2, 1, 2, 2, false, check}},
	untouched = {.core = {2, 1, 2, 2, true, check}, .starts_free = true},
	seizing = {.core = {2, 1, 2, 2, true, check}},
	by_cid = {.core = {2, 1, 2, 2, true, check}, .mode = BY_CID},
	by_thread = {.core = {2, 1, 3, 1, false, check}, .mode = BY_THREAD},
	fenced = {.core = {2, 1, 3, 1, false, check}, .mode = FENCED},
	interrupted = {.core = {2, 1, 2, 2, true, check}, .handler = handler},
	breaking = {.core = {2, 1, 3, 1, true, check}},
	inherited = {.core = {2, 1, 3, 1, false, check}, .inherited = true},
	meeting = {.core = {3, 1, 3, 1, true, check}},
	other = {.core = {2, 1, 2, 1, false, check},
		 .mode = BY_THREAD,
		 .other_poisoned = true},
	sequence = {.core = {2, 1, 2, 2, true, check}, .sequences = true},
	sequence_all = {.core = {2, 1, 2, 2, true, check},
			.mode = BY_CID,
			.sequences = true},
	stacks = {.core = {2, 1, 2, 1, true, check, true}, .sequences = true},
	copied = {.core = {2, 1, 2, 1, true, check},
		  .sequences = true,
		  .both_anybodys = true},
	sequence_interrupted = {.core = {1, 2, 2, 1, true, check},
				.sequences = true,
				.handler = sequence_handler},
	pool = {.core = {2, 1, 2, 2, true, check}, .has_pool = true};

const struct scenario lease_scenarios[] = {
	{"once", "the lease of another core is broken, each comes once", 2, 2, 1, 1,
	 always, passes, set_up, once_thread, NULL, 0, false, false, &by_cpu.core},
	{"drain", "one waits until it has the lease to itself", 2, 0, 0, 1, always,
	 passes, set_up, drain_thread, NULL, 0, false, false, &by_cpu.core},
	{"other", "a section ended when its thread is at another lease", 2, 2, 1, 1,
	 always, passes, set_up, other_thread, NULL, 0, false, false, &other.core},
	{"takeover", "leases pass among the threads of a core", 1, 0, 0, 1, always,
	 passes, set_up, takeover_thread, NULL, 0, false, false, &takeover.core},
	{"seize", "leases of other cores are broken, by aimed barriers", 1, 0, 0, 1,
	 always, passes, set_up, seize_thread, NULL, 0, false, false, &seizing.core},
	{"seize-all", "the same by barriers to all, as for concurrency ids", 1, 0, 0, 1,
	 always, passes, set_up, seize_thread, NULL, 0, false, false, &by_cid.core},
	{"by-thread", "the same, bound to threads", 1, 0, 0, 1, always, passes, set_up,
	 seize_thread, NULL, 0, false, false, &by_thread.core},
	{"fenced", "the same without membarrier", 1, 0, 0, 1, always, passes, set_up,
	 seize_thread, NULL, 0, false, false, &fenced.core},
	{"break", "a break that others finish, or a poll", 2, 0, 0, 1, always, passes,
	 set_up, break_thread, NULL, 0, false, false, &breaking.core},
	{"meet", "a break comes between a seize and the lessee", 3, 3, 1, 1, always,
	 passes, set_up, meet_thread, NULL, 0, false, false, &meeting.core},
	{"drain-now", "as drain, but it gives up at once", 2, 0, 0, 1, always, passes,
	 set_up, drain_at_once_thread, NULL, 0, false, false, &by_cpu.core},
	{"drain-free", "as drain, and no thread had the lease before", 2, 0, 0, 1, always,
	 passes, set_up, drain_thread, NULL, 0, false, false, &untouched.core},
	{"drain-poison", "a poisoned lease is drained and opened", 2, 2, 1, 1, always,
	 passes, set_up, drain_poison_thread, NULL, 0, false, false, &other.core},
	{"inherited", "a drain that began before a fork ends in the child", 2, 0, 0, 1,
	 always, passes, set_up, inherited_thread, inherited_finished, 0, false, false,
	 &inherited.core},
	{"handler", "a signal handler acquires leases anywhere", 1, 0, 0, 1, always,
	 passes, set_up, handler_thread, NULL, 0, false, false, &interrupted.core},
	{"exit-inside", "a thread exits inside its section", 2, 0, 1, 1, always, passes,
	 set_up, exit_thread, exit_finished, 0, false, false, &seizing.core},
	{"pool", "ids in two shards and a spare one are never in two places", 1, 0, 0, 1,
	 always, passes, set_up, pool_thread, pool_finished, 0, false, false, &pool.core},
	{"sequence", "restartable sequences, and leases where one is cut short", 1, 0, 0,
	 1, always, passes, set_up, sequence_thread, sequence_finished, 0, false, false,
	 &sequence.core},
	{"sequence-seize", "one takes the lease of a CPU where sequences run", 2, 0, 0, 1,
	 always, passes, set_up, sequence_seize_thread, sequence_finished, 0, false,
	 false, &sequence.core},
	{"sequence-all", "the same by barriers to all", 2, 0, 0, 1, always, passes,
	 set_up, sequence_seize_thread, sequence_finished, 0, false, false,
	 &sequence_all.core},
	{"sequence-drain", "one keeps sequences out for a while", 2, 0, 0, 1, always,
	 passes, set_up, sequence_drain_thread, sequence_finished, 0, false, false,
	 &sequence.core},
	{"sequence-poll", "a break and a poll where sequences run", 2, 0, 0, 1, always,
	 passes, set_up, sequence_poll_thread, sequence_finished, 0, false, false,
	 &sequence.core},
	{"sequence-signal", "a signal handler counts where a sequence is", 1, 0, 0, 1,
	 always, passes, set_up, sequence_thread, sequence_finished, 0, false, false,
	 &sequence_interrupted.core},
	{"sequence-fork", "a thread forks where others are in sequences", 2, 0, 0, 1,
	 always, passes, set_up, sequence_fork_thread, sequence_finished, 0, false, false,
	 &sequence.core},
	{.name = "sequence-copy",
	 .what = "slots go from stack to stack while a fork copies them",
	 .least_threads = 2,
	 .waiting_slots = 1,
	 .applies = always,
	 .expected = passes,
	 .set_up = set_up,
	 .thread = sequence_copy_thread,
	 .cores = &copied.core},
	{.name = "sequence-stack",
	 .what = "slots that are got and put back by sequences",
	 .least_threads = 1,
	 .waiting_slots = 1,
	 .applies = always,
	 .expected = passes,
	 .set_up = set_up,
	 .thread = stack_thread,
	 .finished = stack_finished,
	 .cores = &stacks.core,
	 .takes_minutes = true},
	{.name = NULL},
};
