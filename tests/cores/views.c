/* SPDX-License-Identifier: MIT */
/*
 * The core checker's weak memory against that of sim/explore, which enumerates graphs
 * and knows nothing of views: small random programs have the same outcomes.
 */
#include "programs.h"

#include <sim/seam.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/*
 * Each of the first words is stored to by one thread, and the last one changed by
 * read-modify-writes: the core checker takes stores that race for a failure; or, where
 * they may, any thread does anything to any word.
 */
enum { LENGTH = 4, THREADS = 3, WORDS = THREADS + 1, UPDATED = THREADS };

enum weak_kind { W_LOAD, W_STORE, W_EXCHANGE, W_ADD, W_CAS, W_AWAIT, W_FENCE, W_KINDS };

struct weak_instruction {
	enum weak_kind kind;
	int word, order, failure;
	uint64_t value, to;
	enum sim_fence fence;
};

static struct weak_instruction code[THREADS][LENGTH];
static int threads, lengths[THREADS];
static bool stores_race;
static uint64_t *words, *seen;

enum { MAX_OUTCOMES = 1 << 14 };

struct set {
	uint64_t outcomes[MAX_OUTCOMES];
	int count;
};

static struct set by_graphs, by_views, *noting;

static void note(uint64_t outcome)
{
	int i;

	for (i = 0; i < noting->count; i++)
		if (noting->outcomes[i] == outcome)
			return;
	assert_true(noting->count < MAX_OUTCOMES);
	noting->outcomes[noting->count++] = outcome;
}

static bool has(const struct set *set, uint64_t outcome)
{
	int i;

	for (i = 0; i < set->count; i++)
		if (set->outcomes[i] == outcome)
			return true;
	return false;
}

static uint64_t obey(const struct weak_instruction *in)
{
	uint64_t *word = &words[in->word];

	switch (in->kind) {
	case W_LOAD:
		return sim_load(word, in->order);
	case W_STORE:
		sim_store(word, in->value, in->order);
		return 0;
	case W_EXCHANGE:
		return sim_exchange(word, in->value, in->order);
	case W_ADD:
		return sim_fetch_add(word, in->value, in->order);
	case W_CAS:
		return sim_cas(word, in->value, in->to, in->order, in->failure);
	case W_AWAIT:
		return sim_await(SIM_AWAIT_NE, word, in->value, 0, in->order);
	default:
		sim_fence(in->fence);
		return 0;
	}
}

static void run_thread(void *context, int thread)
{
	uint64_t all = 0;
	int i;

	(void)context;
	for (i = 0; i < lengths[thread]; i++)
		all = all << 4 | (obey(&code[thread][i]) & 15);
	sim_store(&seen[thread], all + 1, SIM_RELAXED);
}

static void graph_set_up(void *context)
{
	(void)context;
	words = explore_allocate(WORDS * 8, 64);
	seen = explore_allocate(THREADS * 8, 64);
}

static void core_set_up(void *context)
{
	(void)context;
	words = cores_allocate(WORDS * 8, 64);
	seen = cores_allocate(THREADS * 8, 64);
}

static void graph_finished(void *context)
{
	uint64_t all = 0;
	int t;

	(void)context;
	for (t = 0; t < threads; t++)
		all = all << 17 | explore_final(&seen[t]);
	note(all);
}

static void core_finished(void *context)
{
	uint64_t all = 0;
	int t;

	(void)context;
	for (t = 0; t < threads; t++)
		all = all << 17 | seen[t];
	note(all);
}

static uint64_t random_state;

static unsigned pick(unsigned n)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(random_state >> 33) % n;
}

enum fences { NO_FENCES, FULL_FENCES, ALL_FENCES };

/* One that some thread may write. */
static int any_word(void)
{
	int w = (int)pick((unsigned)threads + 1);

	return w == threads ? UPDATED : w;
}

static struct weak_instruction make(int thread, int index, enum fences fences)
{
	static const int loads[] = {SIM_RELAXED, SIM_ACQUIRE},
			 stores[] = {SIM_RELAXED, SIM_RELEASE},
			 updates[] = {SIM_RELAXED, SIM_ACQUIRE, SIM_RELEASE, SIM_ACQ_REL};
	struct weak_instruction in = {
		.kind = pick(3) == 0 ? pick(W_KINDS) : pick(W_STORE + 1),
		.failure = loads[pick(2)],
		.value = (uint64_t)(1 + index),
		.to = (uint64_t)(8 + index + 3 * thread) & 15,
	};

	if (fences == NO_FENCES && in.kind == W_FENCE)
		in.kind = W_LOAD;
	if (fences != NO_FENCES && pick(4) == 0)
		in.kind = W_FENCE;
	if (in.kind == W_CAS || in.kind == W_AWAIT)
		in.value = pick(2);
	in.word = in.kind == W_STORE			    ? thread
		  : in.kind == W_LOAD || in.kind == W_AWAIT ? any_word()
							    : UPDATED;
	if (stores_race && in.kind != W_FENCE)
		in.word = (int)pick(2);
	in.order = in.kind == W_STORE			     ? stores[pick(2)]
		   : in.kind == W_LOAD || in.kind == W_AWAIT ? loads[pick(2)]
							     : updates[pick(4)];
	in.fence = fences == ALL_FENCES ? (enum sim_fence)pick(SIM_FENCE_FULL + 1)
					: SIM_FENCE_FULL;
	return in;
}

static void explore_both(uint64_t seed, enum fences fences, int length)
{
	static struct result result;
	struct options options = {.stuck_is_complete = true};
	struct program program = {
		.threads = threads,
		.set_up = graph_set_up,
		.thread = run_thread,
		.finished = graph_finished,
	};
	struct cores_program on_cores = {
		.threads = threads,
		.cpus = 2,
		.pinned = stores_race,
		.stores_race = stores_race,
		.set_up = core_set_up,
		.thread = run_thread,
		.finished = core_finished,
	};
	int t, i;

	if (stores_race)
		on_cores.cpus = threads;

	random_state = seed * 7919 + 17;
	for (t = 0; t < threads; t++) {
		lengths[t] = 2 + (int)pick((unsigned)length - 1);
		for (i = 0; i < lengths[t]; i++)
			code[t][i] = make(t, i, fences);
	}
	by_graphs.count = by_views.count = 0;
	noting = &by_graphs;
	explore(&program, &options, &result);
	/* A program whose waits never end has no outcome. */
	assert_true(result.verdict == VERDICT_PASSED ||
		    result.verdict == VERDICT_NOTHING);
	noting = &by_views;
	cores_explore(&on_cores, &options, &result);
	assert_int_equal(result.verdict, VERDICT_PASSED);
}

/* Whether each outcome that `these` has is one of `those`. */
static void expect_within(const struct set *these, const struct set *those, uint64_t seed,
			  const char *whose)
{
	int i;

	for (i = 0; i < these->count; i++)
		if (!has(those, these->outcomes[i]))
			fail_msg("program %llu: outcome %llx is %s alone",
				 (unsigned long long)seed,
				 (unsigned long long)these->outcomes[i], whose);
}

static void compare(int with_threads, int length, enum fences fences, uint64_t programs,
		    bool same)
{
	uint64_t seed, outcomes = 0, missing = 0;

	threads = with_threads;
	for (seed = 0; seed < programs; seed++) {
		explore_both(seed, fences, length);
		expect_within(&by_views, &by_graphs, seed, "that of views");
		if (same)
			expect_within(&by_graphs, &by_views, seed, "that of graphs");
		outcomes += (uint64_t)by_graphs.count;
		missing += (uint64_t)(by_graphs.count - by_views.count);
	}
	print_message("%llu programs, %llu outcomes, %llu not by views\n",
		      (unsigned long long)programs, (unsigned long long)outcomes,
		      (unsigned long long)missing);
}

static void two_threads(void **state)
{
	(void)state;
	compare(2, LENGTH, NO_FENCES, 800, true);
	compare(2, LENGTH, FULL_FENCES, 800, true);
}

static void two_threads_and_asymmetric_fences(void **state)
{
	(void)state;
	compare(2, LENGTH, ALL_FENCES, 800, true);
}

static void three_threads(void **state)
{
	(void)state;
	compare(3, 2, NO_FENCES, 300, true);
}

/* A thread's read and its later write are never swapped here, which graphs allow
 * where full fences of two others hang on it. */
static void three_threads_and_fences(void **state)
{
	(void)state;
	compare(3, 2, FULL_FENCES, 100, false);
	compare(3, 2, ALL_FENCES, 100, false);
}

/* The orders of stores that race, too: as with fences above, none more. */
static void stores_that_race(void **state)
{
	(void)state;
	stores_race = true;
	compare(2, LENGTH, NO_FENCES, 400, true);
	compare(2, LENGTH, ALL_FENCES, 200, false);
	compare(3, 2, NO_FENCES, 200, true);
	stores_race = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_threads),
		cmocka_unit_test(two_threads_and_asymmetric_fences),
		cmocka_unit_test(three_threads),
		cmocka_unit_test(three_threads_and_fences),
		cmocka_unit_test(stores_that_race),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
