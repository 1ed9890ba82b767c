/* SPDX-License-Identifier: MIT */
/*
 * The core checker against a simpler one, itself without its reductions: small
 * random programs have the same outcomes with and without.
 */
#include "programs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_OUTCOMES = 1 << 12 };

struct set {
	struct random_outcome outcomes[MAX_OUTCOMES];
	int count;
	uint64_t states;
	enum verdict verdict;
};

static struct set reduced, naive, by_dice, *noting;
static bool pinned;	  /* threads stay on CPUs of their own */
static bool no_sequences; /* some outcomes of these are too rare for dice */
enum { ROLLS = 300 };

static void note(const struct random_outcome *left)
{
	int i;

	for (i = 0; i < noting->count; i++)
		if (memcmp(&noting->outcomes[i], left, sizeof(*left)) == 0)
			return;
	assert_true(noting->count < MAX_OUTCOMES);
	noting->outcomes[noting->count++] = *left;
}

static bool has(const struct set *set, const struct random_outcome *outcome)
{
	int i;

	for (i = 0; i < set->count; i++)
		if (memcmp(&set->outcomes[i], outcome, sizeof(*outcome)) == 0)
			return true;
	return false;
}

static uint64_t random_state;

static unsigned pick(unsigned n)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(random_state >> 33) % n;
}

static void make_program(struct random_context *c, uint64_t seed, int threads, int length,
			 unsigned cpus)
{
	int t, i;

	random_state = seed * 7919 + 17;
	for (t = 0; t < threads; t++) {
		c->lengths[t] = 1 + (int)pick((unsigned)length);
		for (i = 0; i < c->lengths[t]; i++) {
			struct instruction *in = &c->code[t][i];

			/* Mostly loads and stores; a wait now and then. */
			in->kind = pick(2) == 0 ? pick(DO_STORE + 1) : pick(DO_AWAIT);
			if (pick(16) == 0)
				in->kind = DO_AWAIT;
			if (pinned && (in->kind == DO_CPU || in->kind == DO_SEQUENCE ||
				       in->kind == DO_BARRIER_CPU))
				in->kind = DO_BARRIER;
			if (in->kind == DO_SEQUENCE && no_sequences)
				in->kind = DO_FENCE;
			in->word = (int)pick(RANDOM_WORDS);
			in->value = in->kind == DO_BARRIER_CPU ? pick(cpus)
				    : in->kind == DO_AWAIT     ? 0
							       : 1 + pick(2);
		}
	}
}

static void explore_into(struct set *set, struct random_context *context, int threads,
			 int cpus, bool is_naive, uint64_t rolls)
{
	static struct result result;
	struct cores_program program = {
		.threads = threads,
		.cpus = cpus,
		.pinned = pinned && !is_naive,
		.set_up = random_set_up,
		.thread = random_body,
		.finished = random_finished,
		.context = context,
	};
	struct options options = {
		.model = MODEL_TSO,
		.naive = is_naive,
		.random = rolls,
		.stuck_is_complete = true,
	};

	set->count = 0;
	noting = set;
	context->outcome = note;
	cores_explore(&program, &options, &result);
	set->verdict = result.verdict;
	set->states = result.executions;
}

static void compare(int threads, int length, int cpus, uint64_t seeds)
{
	uint64_t seed, states = 0, naive_states = 0;
	int i;

	for (seed = 0; seed < seeds; seed++) {
		struct random_context context = {.left = NULL};

		make_program(&context, seed, threads, length, (unsigned)cpus);
		explore_into(&reduced, &context, threads, cpus, false, 0);
		explore_into(&naive, &context, threads, cpus, true, 0);
		assert_int_equal(reduced.verdict, VERDICT_PASSED);
		assert_int_equal(naive.verdict, VERDICT_PASSED);
		if (reduced.count != naive.count)
			fail_msg("program %llu: %d outcomes, %d expected",
				 (unsigned long long)seed, reduced.count, naive.count);
		for (i = 0; i < naive.count; i++)
			if (!has(&reduced, &naive.outcomes[i]))
				fail_msg("program %llu: an outcome is missing",
					 (unsigned long long)seed);
		states += reduced.states;
		naive_states += naive.states;
	}
	print_message("%llu states, %llu without reductions\n",
		      (unsigned long long)states, (unsigned long long)naive_states);
}

/* Dice find nothing that is not there, and of small programs everything. */
static void dice_find_all_of_small_programs(void **state)
{
	uint64_t seed;
	int i;

	(void)state;
	no_sequences = true;
	for (seed = 0; seed < 200; seed++) {
		struct random_context context = {.left = NULL};

		make_program(&context, seed, 2, 2, 2);
		explore_into(&reduced, &context, 2, 2, false, 0);
		explore_into(&by_dice, &context, 2, 2, false, ROLLS);
		assert_int_equal(by_dice.verdict, VERDICT_NONE_SEEN);
		if (by_dice.count != reduced.count)
			fail_msg("program %llu: dice find %d outcomes of %d",
				 (unsigned long long)seed, by_dice.count, reduced.count);
		for (i = 0; i < by_dice.count; i++)
			assert_true(has(&reduced, &by_dice.outcomes[i]));
	}
	no_sequences = false;
}

/* M6: a program that does not ask where it runs cannot tell that its threads stay. */
static void threads_that_stay_where_they_are(void **state)
{
	(void)state;
	pinned = true;
	compare(2, 4, 2, 400);
	compare(3, 2, 3, 100);
	pinned = false;
}

static void two_threads_on_two_cores(void **state)
{
	(void)state;
	compare(2, 4, 2, 4000);
}

static void three_threads_on_two_cores(void **state)
{
	(void)state;
	compare(3, 3, 2, 1000);
}

static void two_threads_on_three_cores(void **state)
{
	(void)state;
	compare(2, 3, 3, 1500);
}

static void three_threads_on_three_cores(void **state)
{
	(void)state;
	compare(3, 2, 3, 600);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dice_find_all_of_small_programs),
		cmocka_unit_test(threads_that_stay_where_they_are),
		cmocka_unit_test(two_threads_on_two_cores),
		cmocka_unit_test(three_threads_on_two_cores),
		cmocka_unit_test(two_threads_on_three_cores),
		cmocka_unit_test(three_threads_on_three_cores),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
