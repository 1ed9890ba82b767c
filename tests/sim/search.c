/* SPDX-License-Identifier: MIT */
/*
 * The search against a simpler one: on small random programs, the reduced
 * search finds exactly the executions that a walk over every interleaving
 * finds, and none of them twice.
 */
#include <sim/explore/explore.h>
#include <sim/seam.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { THREADS = 3, OPERATIONS = 4, WORDS = 3, MAX_GRAPHS = 1 << 17 };

enum what {
	DO_LOAD,
	DO_STORE,
	DO_EXCHANGE,
	DO_ADD,
	DO_CAS,
	DO_AWAIT_EQ,
	DO_AWAIT_NE,
	DO_AWAIT_CHANGE,
	DO_AWAIT_CAS,
	DO_AWAIT_RMW,
	DO_FENCE,
	DO_COIN,
	DO_KINDS,
};

struct instruction {
	enum what what;
	int word, order;
	uint64_t a, b;
};

static struct instruction code[THREADS][OPERATIONS];
static int code_length[THREADS];
static uint64_t *words[WORDS];

static uint64_t random_state;

static unsigned pick(unsigned n)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(random_state >> 33) % n;
}

static const int orders[] = {SIM_RELAXED, SIM_ACQUIRE, SIM_RELEASE, SIM_ACQ_REL,
			     SIM_SEQ_CST};
static const int load_orders[] = {SIM_RELAXED, SIM_ACQUIRE, SIM_SEQ_CST};
static const int store_orders[] = {SIM_RELAXED, SIM_RELEASE, SIM_SEQ_CST};
static const int fences[] = {SIM_FENCE_LIGHT,	SIM_FENCE_HEAVY,   SIM_FENCE_ACQUIRE,
			     SIM_FENCE_RELEASE, SIM_FENCE_ACQ_REL, SIM_FENCE_FULL};

static void make_program(uint64_t seed, int threads)
{
	int t, i;

	random_state = seed * 7919 + 17;
	for (t = 0; t < threads; t++) {
		code_length[t] = 1 +
				 (int)pick(threads == 2 ? OPERATIONS : OPERATIONS - 1);
		for (i = 0; i < code_length[t]; i++) {
			struct instruction *in = &code[t][i];

			in->what = pick(3) == 0 ? pick(DO_KINDS) : pick(DO_CAS + 1);
			in->word = (int)pick(2);
			in->a = pick(3);
			in->b = pick(3);
			in->order = orders[pick(5)];
			if (in->what == DO_LOAD || in->what == DO_AWAIT_EQ ||
			    in->what == DO_AWAIT_NE || in->what == DO_AWAIT_CHANGE)
				in->order = load_orders[pick(3)];
			if (in->what == DO_STORE)
				in->order = store_orders[pick(3)];
			if (in->what == DO_FENCE)
				in->order = fences[pick(6)];
		}
	}
}

static void set_up(void *context)
{
	int i;

	(void)context;
	for (i = 0; i < WORDS; i++)
		words[i] = explore_allocate(8, 8);
}

static void run_thread(void *context, int t)
{
	int i;

	(void)context;
	for (i = 0; i < code_length[t]; i++) {
		struct instruction *in = &code[t][i];
		uint64_t *w = words[in->word];

		switch (in->what) {
		case DO_LOAD:
			sim_load(w, in->order);
			break;
		case DO_STORE:
			sim_store(w, in->a, in->order);
			break;
		case DO_EXCHANGE:
			sim_exchange(w, in->a, in->order);
			break;
		case DO_ADD:
			sim_fetch_add(w, in->a, in->order);
			break;
		case DO_CAS:
			sim_cas(w, in->a, in->b, in->order, SIM_RELAXED);
			break;
		case DO_AWAIT_EQ:
			sim_await(SIM_AWAIT_EQ, w, in->a, 0, in->order);
			break;
		case DO_AWAIT_NE:
			sim_await(SIM_AWAIT_NE, w, in->a, 0, in->order);
			break;
		case DO_AWAIT_CHANGE:
			sim_await(SIM_AWAIT_CHANGE, w, in->a, 0, in->order);
			break;
		case DO_AWAIT_CAS:
			sim_await(SIM_AWAIT_CAS, w, in->a, in->b, in->order);
			break;
		case DO_AWAIT_RMW:
			sim_await(SIM_AWAIT_EQ_RMW, w, in->a, 0, in->order);
			break;
		case DO_FENCE:
			sim_fence((enum sim_fence)in->order);
			break;
		default:
			/* What follows depends on the coin. */
			if (sim_one_in(2))
				return;
			break;
		}
	}
}

static uint64_t found[2][MAX_GRAPHS];
static int found_count;	   /* hashes kept */
static uint64_t found_all; /* executions, the same one counted again */

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void drop_duplicates(uint64_t *hashes)
{
	int i, kept = 0;

	qsort(hashes, (size_t)found_count, sizeof(*hashes), compare);
	for (i = 0; i < found_count; i++)
		if (i == 0 || hashes[i] != hashes[i - 1])
			hashes[kept++] = hashes[i];
	found_count = kept;
}

static void collect(void *context, struct graph *g)
{
	uint64_t *to = context;

	if (found_count == MAX_GRAPHS)
		drop_duplicates(to);
	assert_true(found_count < MAX_GRAPHS);
	to[found_count++] = graph_hash(g);
	found_all++;
}

/* Explores the program; leaves the different hashes, and returns how many. */
static int explore_all(int threads, enum model model, int early, bool naive, uint64_t *to)
{
	static struct result result;
	struct program program = {
		.threads = threads,
		.set_up = set_up,
		.thread = run_thread,
	};
	struct options options = {
		.model = model,
		.early = early,
		.naive = naive,
		.stuck_is_complete = true,
		.each = collect,
		.context = to,
	};

	found_count = 0;
	found_all = 0;
	explore(&program, &options, &result);
	assert_int_equal(result.verdict, VERDICT_PASSED);
	drop_duplicates(to);
	return found_count;
}

static void compare_searches(int threads, enum model model, uint64_t seeds)
{
	uint64_t seed;

	for (seed = 0; seed < seeds; seed++) {
		int all, some, different, early = (int)(seed & 1);

		make_program(seed, threads);
		different = explore_all(threads, model, early, false, found[0]);
		some = (int)found_all;
		all = explore_all(threads, model, early, true, found[1]);
		if (some != different || different != all ||
		    memcmp(found[0], found[1], (size_t)all * sizeof(uint64_t)) != 0)
			fail_msg("program %llu, %d threads, model %d: %d executions, %d "
				 "different, %d expected",
				 (unsigned long long)seed, threads, (int)model, some,
				 different, all);
	}
}

static uint64_t scale(uint64_t n)
{
	const char *times = getenv("PAWL_TEST_SCALE");

	return times == NULL ? n : n * (uint64_t)atoi(times);
}

static void finds_all_executions_of_two_threads_once(void **state)
{
	(void)state;
	compare_searches(2, MODEL_WEAK, scale(1500));
}

static void finds_all_executions_of_three_threads_once(void **state)
{
	(void)state;
	compare_searches(3, MODEL_WEAK, scale(300));
}

static void finds_all_tso_executions_once(void **state)
{
	(void)state;
	compare_searches(2, MODEL_TSO, scale(500));
	compare_searches(3, MODEL_TSO, scale(100));
}

static void finds_all_sc_executions_once(void **state)
{
	(void)state;
	compare_searches(2, MODEL_SC, scale(500));
	compare_searches(3, MODEL_SC, scale(100));
}

/* Bounded waits, by hand: what ends when nothing else moves, or early. */

static uint64_t await_change(int word)
{
	return sim_await(SIM_AWAIT_CHANGE, words[word], 0, 0, SIM_ACQUIRE);
}

static enum verdict judge(void (*thread)(void *, int), int threads, int early)
{
	static struct result result;
	struct program program = {.threads = threads, .set_up = set_up, .thread = thread};
	struct options options = {.early = early};

	explore(&program, &options, &result);
	return result.verdict;
}

/* One waits for what comes after another's wait has ended by itself. */
static void woken_by_patience(void *context, int t)
{
	(void)context;
	if (t == 0) {
		sim_await(SIM_AWAIT_NE, words[0], 0, 0, SIM_ACQUIRE);
		explore_fail(VERDICT_ASSERTION, "woken");
	} else {
		await_change(1);
		sim_store(words[0], 1, SIM_RELEASE);
	}
}

static void a_wait_that_ends_by_itself_wakes_who_waits(void **state)
{
	(void)state;
	assert_int_equal(judge(woken_by_patience, 2, 0), VERDICT_ASSERTION);
}

/* Two waits that could end by themselves, and one ends the other. */
static void woken_in_time(void *context, int t)
{
	(void)context;
	if (t == 0) {
		if (await_change(0) != 0)
			explore_fail(VERDICT_ASSERTION, "woken");
	} else {
		await_change(1);
		sim_store(words[0], 1, SIM_RELEASE);
	}
}

static void of_two_waits_one_may_end_the_other(void **state)
{
	(void)state;
	assert_int_equal(judge(woken_in_time, 2, 0), VERDICT_ASSERTION);
}

/* Two waits end by themselves; a third thread sees what both did then. */
static void sees_both(void *context, int t)
{
	(void)context;
	if (t == 1) {
		sim_await(SIM_AWAIT_EQ, words[0], 1, 0, SIM_ACQUIRE);
		if (sim_load(words[1], SIM_ACQUIRE) == 1)
			explore_fail(VERDICT_ASSERTION, "saw both");
		return;
	}
	sim_await(SIM_AWAIT_CHANGE, words[2], 0, 0, SIM_ACQUIRE);
	sim_store(words[t == 0 ? 0 : 1], 1, SIM_RELEASE);
}

static void waits_that_end_together_are_seen_in_any_order(void **state)
{
	(void)state;
	assert_int_equal(judge(sees_both, 3, 0), VERDICT_ASSERTION);
}

/* Bounded waits in a row, and nothing is written between them. */
static void waits_twice(void *context, int t)
{
	(void)context;
	if (t == 0) {
		await_change(0);
		await_change(1);
		sim_store(words[2], 1, SIM_RELEASE);
	} else {
		sim_await(SIM_AWAIT_EQ, words[2], 1, 0, SIM_ACQUIRE);
	}
}

static void one_wait_after_the_other_ends_by_itself(void **state)
{
	(void)state;
	assert_int_equal(judge(waits_twice, 2, 0), VERDICT_PASSED);
}

/* A wait that ends while the store that it is for is still to come. */
static void too_early(void *context, int t)
{
	(void)context;
	if (t == 0)
		sim_store(words[0], 1, SIM_RELEASE);
	else if (await_change(0) == 0)
		explore_fail(VERDICT_ASSERTION, "early");
}

static void a_bounded_wait_may_end_early(void **state)
{
	(void)state;
	assert_int_equal(judge(too_early, 2, 0), VERDICT_PASSED);
	assert_int_equal(judge(too_early, 2, 1), VERDICT_ASSERTION);
}

/* A sleeper that is woken for nothing, and does not look. */
static void dozes(void *context, int t)
{
	(void)context;
	if (t == 0) {
		sim_store(words[0], 1, SIM_RELEASE);
		sim_wake(words[0]);
		return;
	}
	sim_sleep(words[0], 0, false);
	if (sim_load(words[0], SIM_ACQUIRE) == 0)
		explore_fail(VERDICT_ASSERTION, "woken for nothing");
}

static void a_sleeper_may_be_woken_for_nothing(void **state)
{
	(void)state;
	assert_int_equal(judge(dozes, 2, 0), VERDICT_PASSED);
	assert_int_equal(judge(dozes, 2, 1), VERDICT_ASSERTION);
}

/* A search inside another, on the same static word. */

static uint64_t common;
static struct result inner_result;
static int inner_runs;

static void add_one(void *context, int t)
{
	(void)context, (void)t;
	sim_fetch_add(&common, 1, SIM_RELAXED);
}

static void added_thrice(void *context, struct graph *g)
{
	(void)context, (void)g;
	assert_int_equal(explore_final(&common), 3);
}

static void search_again(void *context, struct graph *g)
{
	const struct program program = {.threads = 3, .thread = add_one};
	const struct options options = {.each = added_thrice};

	(void)context, (void)g;
	assert_int_equal(explore_final(&common), 2);
	explore(&program, &options, &inner_result);
	assert_int_equal(inner_result.verdict, VERDICT_PASSED);
	assert_int_equal(inner_result.executions, 6);
	assert_int_equal(explore_final(&common), 2);
	assert_int_equal(common, 2);
	inner_runs++;
}

static void a_search_runs_inside_another(void **state)
{
	static struct result result;
	const struct program program = {.threads = 2, .thread = add_one};
	const struct options options = {.each = search_again};

	(void)state;
	explore(&program, &options, &result);
	assert_int_equal(result.verdict, VERDICT_PASSED);
	assert_int_equal(result.executions, 2);
	assert_int_equal(inner_runs, 2);
	assert_int_equal(common, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_all_executions_of_two_threads_once),
		cmocka_unit_test(finds_all_executions_of_three_threads_once),
		cmocka_unit_test(finds_all_tso_executions_once),
		cmocka_unit_test(finds_all_sc_executions_once),
		cmocka_unit_test(a_wait_that_ends_by_itself_wakes_who_waits),
		cmocka_unit_test(of_two_waits_one_may_end_the_other),
		cmocka_unit_test(waits_that_end_together_are_seen_in_any_order),
		cmocka_unit_test(one_wait_after_the_other_ends_by_itself),
		cmocka_unit_test(a_bounded_wait_may_end_early),
		cmocka_unit_test(a_sleeper_may_be_woken_for_nothing),
		cmocka_unit_test(a_search_runs_inside_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
