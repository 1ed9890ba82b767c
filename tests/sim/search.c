/* SPDX-License-Identifier: MIT */
/*
 * The search, by hand: waits that end by themselves, and a search in another.
 * differential.c has what a random program can show.
 */
#include <sim/explore/explore.h>
#include <sim/seam.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static uint64_t *words[3];

static void set_up(void *context)
{
	int i;

	(void)context;
	for (i = 0; i < 3; i++)
		words[i] = explore_allocate(8, 8);
}

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

/* Polls for ever, unless it sees a store; then it waits for ever. */
static void spins(void *context, int t)
{
	(void)context;
	if (t == 0)
		sim_store(words[0], 1, SIM_RELEASE);
	else
		for (;;)
			if (sim_load(words[0], SIM_ACQUIRE) == 1)
				sim_await(SIM_AWAIT_EQ, words[1], 1, 0, SIM_ACQUIRE);
}

static void a_deadlock_beside_an_endless_loop_is_found(void **state)
{
	(void)state;
	assert_int_equal(judge(spins, 2, 0), VERDICT_DEADLOCK);
}

static void loops(void *context, int t)
{
	(void)context, (void)t;
	for (;;)
		sim_fetch_add(words[0], 1, SIM_RELAXED);
}

static void an_endless_loop_is_a_limit_that_says_what_to_do(void **state)
{
	static struct result result;
	const struct program program = {.threads = 1, .set_up = set_up, .thread = loops};
	const struct options options = {.limit = 0};

	(void)state;
	explore(&program, &options, &result);
	assert_int_equal(result.verdict, VERDICT_LIMIT);
	assert_non_null(strstr(result.message, "pawl_await_"));
}

/* The second never comes, so the assumption never holds. */
static void waits_its_turn(void *context, int t)
{
	(void)context;
	if (t == 1)
		explore_in_turn(0);
}

static void an_execution_that_never_is_does_not_pass(void **state)
{
	static struct result result;
	const struct program program = {.threads = 2, .thread = waits_its_turn};
	const struct options options = {.in_turn = true};

	(void)state;
	explore(&program, &options, &result);
	assert_int_equal(result.verdict, VERDICT_NOTHING);
	assert_int_equal(result.executions, 0);
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
		cmocka_unit_test(a_wait_that_ends_by_itself_wakes_who_waits),
		cmocka_unit_test(of_two_waits_one_may_end_the_other),
		cmocka_unit_test(waits_that_end_together_are_seen_in_any_order),
		cmocka_unit_test(one_wait_after_the_other_ends_by_itself),
		cmocka_unit_test(a_bounded_wait_may_end_early),
		cmocka_unit_test(a_sleeper_may_be_woken_for_nothing),
		cmocka_unit_test(a_deadlock_beside_an_endless_loop_is_found),
		cmocka_unit_test(an_endless_loop_is_a_limit_that_says_what_to_do),
		cmocka_unit_test(an_execution_that_never_is_does_not_pass),
		cmocka_unit_test(a_search_runs_inside_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
