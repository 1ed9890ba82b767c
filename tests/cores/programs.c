/* SPDX-License-Identifier: MIT */
#include "programs.h"

#include <sim/seam.h>

#include <stdio.h>

/* Litmus tests. */

void litmus_set_up(void *context)
{
	struct litmus_context *c = context;

	c->words = cores_allocate(sizeof(*c->words), 64);
}

void litmus_finished(void *context)
{
	struct litmus_context *c = context;

	c->outcome(c->words);
}

static void put(uint64_t *word)
{
	sim_store(word, 1, SIM_RELAXED);
}

static uint64_t get(const uint64_t *word)
{
	return sim_load(word, SIM_RELAXED);
}

static uint64_t *mine(struct litmus_words *w, int thread)
{
	return thread == 0 ? &w->x : &w->y;
}

static uint64_t *theirs(struct litmus_words *w, int thread)
{
	return thread == 0 ? &w->y : &w->x;
}

void store_buffering(void *context, int thread)
{
	struct litmus_words *w = ((struct litmus_context *)context)->words;

	put(mine(w, thread));
	w->seen[thread] = get(theirs(w, thread));
}

void store_buffering_fenced(void *context, int thread)
{
	struct litmus_words *w = ((struct litmus_context *)context)->words;

	put(mine(w, thread));
	sim_fence(SIM_FENCE_FULL);
	w->seen[thread] = get(theirs(w, thread));
}

void store_buffering_exchanged(void *context, int thread)
{
	struct litmus_words *w = ((struct litmus_context *)context)->words;

	sim_exchange(mine(w, thread), 1, SIM_RELAXED);
	w->seen[thread] = get(theirs(w, thread));
}

void store_buffering_light_heavy(void *context, int thread)
{
	struct litmus_words *w = ((struct litmus_context *)context)->words;

	put(mine(w, thread));
	sim_fence(thread == 0 ? SIM_FENCE_LIGHT : SIM_FENCE_HEAVY);
	w->seen[thread] = get(theirs(w, thread));
}

void store_buffering_light_light(void *context, int thread)
{
	struct litmus_words *w = ((struct litmus_context *)context)->words;

	put(mine(w, thread));
	sim_fence(SIM_FENCE_LIGHT);
	w->seen[thread] = get(theirs(w, thread));
}

/* The second thread's barrier is for one CPU; the first says that it has moved
 * unless it was on CPU 0 before and after its store. */
static void aimed(void *context, int thread, unsigned aside, bool twice)
{
	struct litmus_words *w = ((struct litmus_context *)context)->words;
	unsigned from;

	if (thread == 0) {
		from = sim_cpu();
		put(&w->x);
		w->moved = from != 0 || sim_cpu() != 0;
		w->seen[0] = get(&w->y);
		return;
	}
	put(&w->y);
	sim_heavy_fence_cpu(aside);
	if (twice)
		sim_heavy_fence_cpu(1 - aside);
	w->seen[1] = get(&w->x);
}

void store_buffering_aimed(void *context, int thread)
{
	aimed(context, thread, 0, false);
}

void store_buffering_aimed_elsewhere(void *context, int thread)
{
	aimed(context, thread, 1, false);
}

void store_buffering_aimed_twice(void *context, int thread)
{
	aimed(context, thread, 0, true);
}

/* The first thread looks twice where it is, between its store and its load. */
void store_buffering_migrating(void *context, int thread)
{
	struct litmus_words *w = ((struct litmus_context *)context)->words;
	unsigned from;

	if (thread == 1) {
		store_buffering_fenced(context, thread);
		return;
	}
	put(&w->x);
	from = sim_cpu();
	w->moved = sim_cpu() != from;
	w->seen[0] = get(&w->y);
}

void message_passing(void *context, int thread)
{
	struct litmus_words *w = ((struct litmus_context *)context)->words;

	if (thread == 0) {
		put(&w->x);
		put(&w->y);
	} else {
		w->seen[0] = get(&w->y);
		w->seen[1] = get(&w->x);
	}
}

/* Each waits for the other to begin. */
void both_asleep(void *context, int thread)
{
	struct litmus_words *w = ((struct litmus_context *)context)->words;

	sim_await(SIM_AWAIT_EQ, theirs(w, thread), 1, 0, SIM_ACQUIRE);
	put(mine(w, thread));
}

/* The futex: the first thread sleeps until x is 1, which the second stores, and wakes it;
 * or does not. */
static void sleep_until_set(const uint64_t *word, bool timed)
{
	while (sim_load(word, SIM_ACQUIRE) == 0)
		if (!sim_sleep(word, 0, timed))
			return;
}

void sleeper_and_waker(void *context, int thread)
{
	struct litmus_words *w = ((struct litmus_context *)context)->words;

	if (thread == 0) {
		sleep_until_set(&w->x, false);
		return;
	}
	sim_store(&w->x, 1, SIM_RELEASE);
	sim_wake(&w->x);
}

void sleeper_and_nobody(void *context, int thread)
{
	struct litmus_words *w = ((struct litmus_context *)context)->words;

	if (thread == 0)
		sleep_until_set(&w->x, false);
	else
		sim_store(&w->x, 1, SIM_RELEASE);
}

void sleeper_for_a_while(void *context, int thread)
{
	struct litmus_words *w = ((struct litmus_context *)context)->words;

	if (thread == 0)
		sleep_until_set(&w->x, true);
}

/* What it sleeps on is on its stack; where, the other learns from x. */
void sleeper_on_a_stack(void *context, int thread)
{
	struct litmus_words *w = ((struct litmus_context *)context)->words;
	uint64_t told = 0, *there;

	if (thread == 0) {
		sim_store(&w->x, (uint64_t)(uintptr_t)&told, SIM_RELEASE);
		sleep_until_set(&told, false);
		w->seen[0] = sim_load(&told, SIM_RELAXED);
		return;
	}
	there = (uint64_t *)(uintptr_t)sim_await(SIM_AWAIT_NE, &w->x, 0, 0, SIM_ACQUIRE);
	sim_exchange(there, 1, SIM_RELEASE);
	sim_wake(there);
	w->seen[1] = 1;
}

/* The handler finds 0, 1 or 2 stores done. */
void interrupted_once(void *context, int thread)
{
	struct litmus_words *w = ((struct litmus_context *)context)->words;

	(void)thread;
	put(&w->x);
	put(&w->y);
}

void interrupt_handler(void *context, int thread)
{
	struct litmus_words *w = ((struct litmus_context *)context)->words;

	(void)thread;
	w->seen[0] = get(&w->x);
	w->seen[1] = get(&w->y);
}

/* Random programs. */

void random_set_up(void *context)
{
	struct random_context *c = context;

	c->left = cores_allocate(sizeof(*c->left), 64);
}

void random_finished(void *context)
{
	struct random_context *c = context;

	c->outcome(c->left);
}

/* By a restartable sequence: where that was, or that it was cut short. */
static uint64_t add_in_one_go(uint64_t *word, uint64_t n)
{
	uint64_t cpu, seen;

	sim_sequence_begin();
	cpu = sim_cpu();
	if (!sim_sequence_whole())
		return 1;
	seen = sim_load(word, SIM_RELAXED);
	if (!sim_sequence_whole() || !sim_sequence_end(word, seen + n, SIM_RELAXED))
		return 1;
	return 2 + cpu;
}

static uint64_t obey(const struct instruction *in, uint64_t *word)
{
	switch (in->kind) {
	case DO_LOAD:
		return sim_load(word, SIM_RELAXED);
	case DO_STORE:
		sim_store(word, in->value, SIM_RELAXED);
		return 0;
	case DO_EXCHANGE:
		return sim_exchange(word, in->value, SIM_RELAXED);
	case DO_CPU:
		return sim_cpu();
	case DO_BARRIER:
		sim_heavy_fence();
		return 0;
	case DO_BARRIER_CPU:
		sim_heavy_fence_cpu((unsigned)in->value);
		return 0;
	case DO_SEQUENCE:
		return add_in_one_go(word, in->value);
	case DO_AWAIT:
		return sim_await(SIM_AWAIT_NE, word, in->value, 0, SIM_RELAXED);
	default:
		sim_fence(SIM_FENCE_FULL);
		return 0;
	}
}

void random_body(void *context, int thread)
{
	struct random_context *c = context;
	int i;

	for (i = 0; i < c->lengths[thread]; i++) {
		const struct instruction *in = &c->code[thread][i];

		c->left->seen[thread][i] = obey(in, &c->left->words[in->word]);
	}
}

/* The lease in miniature. */

enum state { FREE, LEASED, LIMBO };

static uint64_t pack(uint64_t version, enum state state, uint64_t cpu, uint64_t lessee)
{
	return version << 32 | (uint64_t)state << 24 | cpu << 16 | lessee;
}

static uint64_t version_of(uint64_t word)
{
	return word >> 32;
}

static enum state state_of(uint64_t word)
{
	return (enum state)(word >> 24 & 0xff);
}

static uint64_t cpu_of(uint64_t word)
{
	return word >> 16 & 0xff;
}

static uint64_t lessee_of(uint64_t word)
{
	return word & 0xffff;
}

static void show_word(uint64_t word, char *to, size_t size)
{
	static const char *const names[] = {"free", "leased", "limbo"};

	snprintf(to, size, "v%llu %s cpu %llu lessee %llu",
		 (unsigned long long)version_of(word), names[state_of(word) % 3],
		 (unsigned long long)cpu_of(word), (unsigned long long)lessee_of(word));
}

void small_lease_set_up(void *context)
{
	struct lease_context *c = context;

	c->lease = cores_allocate(sizeof(*c->lease), 64);
	c->lease->holder = CORES_MAX_THREADS;
	cores_label(&c->lease->word, 8, "word", show_word);
	cores_label(&c->lease->counter, 8, "counter", NULL);
	cores_label(c->lease->flags, sizeof(c->lease->flags), "flags", NULL);
}

static uint64_t core_of(const struct lease_context *c, uint64_t *cached)
{
	if (c->by_thread)
		return 0;
	if (c->mutant != CACHED_CORE)
		return sim_cpu();
	if (*cached == CORES_MAX_CPUS)
		*cached = sim_cpu();
	return *cached;
}

/* The whole fast path: three looks in a fixed order. */
static bool try_enter(struct lease_context *c, int me, uint64_t *cached)
{
	struct small_lease *l = c->lease;
	uint64_t core = 0, word;

	if (c->mutant != FLAG_LAST)
		sim_store(&l->flags[me][0], 1, SIM_RELEASE);
	if (c->mutant != LEASE_BEFORE_CORE)
		core = core_of(c, cached);
	word = sim_load(&l->word, SIM_RELAXED);
	if (c->mutant == LEASE_BEFORE_CORE)
		core = core_of(c, cached);
	if (c->mutant == NO_CORE_CHECK)
		core = cpu_of(word);
	if (c->mutant == FLAG_LAST)
		sim_store(&l->flags[me][0], 1, SIM_RELEASE);
	if ((state_of(word) == LEASED || c->mutant == LESSEE_ONLY) &&
	    lessee_of(word) == (uint64_t)me + 1 && cpu_of(word) == core)
		return true;
	sim_store(&l->flags[me][0], 0, SIM_RELEASE);
	return false;
}

static bool change(struct lease_context *c, uint64_t *word, enum state state,
		   uint64_t cpu, uint64_t lessee, bool same_version)
{
	uint64_t version = version_of(*word) + (c->mutant != NO_VERSION && !same_version);
	uint64_t to = pack(version, state, cpu, lessee), from = *word;

	*word = to;
	if (c->mutant == PLAIN_BUMP && state == LIMBO) {
		if (sim_load(&c->lease->word, SIM_RELAXED) != from)
			return false;
		sim_store(&c->lease->word, to, SIM_RELEASE);
		return true;
	}
	return sim_cas(&c->lease->word, from, to, SIM_SEQ_CST, SIM_SEQ_CST);
}

/* Makes the lease ours if that takes no waiting. */
static void take_over(struct lease_context *c, int me, uint64_t *cached)
{
	struct small_lease *l = c->lease;
	uint64_t core = core_of(c, cached), word = sim_load(&l->word, SIM_RELAXED);
	uint64_t lessee = lessee_of(word), flag = 0;
	bool local;

	if (state_of(word) == FREE || lessee == (uint64_t)me + 1) {
		change(c, &word, LEASED, core, (uint64_t)me + 1,
		       c->mutant == REBIND_WITHOUT_VERSION && state_of(word) == LEASED);
		return;
	}
	if (c->mutant == FLAG_BEFORE_BUMP)
		flag = sim_load(&l->flags[lessee - 1][0], SIM_ACQUIRE);
	local = !c->by_thread && cpu_of(word) == core;
	if (state_of(word) == LEASED &&
	    !change(c, &word, LIMBO, cpu_of(word), lessee, false))
		return;
	/* The core is looked at again after the word has changed. */
	if (local && c->mutant != CORE_BEFORE_BUMP && c->mutant != NO_OWN_CORE_CHECK)
		local = core_of(c, cached) == cpu_of(word);
	if (c->mutant == NO_OWN_CORE_CHECK)
		local = !c->by_thread;
	if (!local && c->mutant != NO_BARRIER) {
		if (c->by_thread || c->broadcast)
			sim_heavy_fence();
		else
			sim_heavy_fence_cpu((unsigned)cpu_of(word) ^
					    (c->mutant == WRONG_CPU));
	}
	if (c->mutant != FLAG_BEFORE_BUMP)
		flag = sim_load(&l->flags[lessee - 1][0], SIM_ACQUIRE);
	if (flag == 0)
		change(c, &word, LEASED, core, (uint64_t)me + 1, false);
}

static void section(struct small_lease *l, int me)
{
	uint64_t seen;

	if (l->holder != CORES_MAX_THREADS)
		cores_fail(VERDICT_EXCLUSION,
			   "thread %d enters while thread %d is inside", me,
			   (int)l->holder);
	l->holder = (uint64_t)me;
	seen = sim_load(&l->counter, SIM_RELAXED);
	if (seen != l->sections)
		cores_fail(VERDICT_STALE, "thread %d reads %d, but %d sections are over",
			   me, (int)seen, (int)l->sections);
	sim_store(&l->counter, seen + 1, SIM_RELAXED);
	l->sections = seen + 1;
	l->holder = CORES_MAX_THREADS;
}

void small_lease_thread(void *context, int me)
{
	struct lease_context *c = context;
	uint64_t cached = CORES_MAX_CPUS;
	int round, attempt;

	for (round = 0; round < (me == 0 ? c->rounds : 1); round++)
		for (attempt = 0; attempt < 2; attempt++) {
			if (try_enter(c, me, &cached)) {
				section(c->lease, me);
				sim_store(&c->lease->flags[me][0], 0, SIM_RELEASE);
				break;
			}
			if (attempt == 0)
				take_over(c, me, &cached);
		}
}
