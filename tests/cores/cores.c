/* SPDX-License-Identifier: MIT */
/*
 * The core checker against programs whose outcomes are known: litmus tests, one
 * question each, and a lease in miniature, of which one thing at a time is made
 * wrong.
 */
#include "programs.h"

#include <sim/check/crash.h>
#include <sim/seam.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Outcomes as a set: what the first thread read, then the second. */
enum {
	O00 = 1,
	O01 = 2,
	O10 = 4,
	O11 = 8,
	MOVED = 16, /* times any of these: the first thread migrated */
};

static unsigned outcomes;
static enum model model = MODEL_TSO;

static void note(const struct litmus_words *w)
{
	outcomes |= 1u << (4 * w->moved + 2 * w->seen[0] + w->seen[1]);
}

static struct result explore_program(const struct cores_program *program)
{
	static struct result result;
	struct options options = {.model = model};

	cores_explore(program, &options, &result);
	return result;
}

static unsigned outcomes_of(void (*thread)(void *, int), int cpus)
{
	struct litmus_context context = {.outcome = note};
	struct cores_program program = {
		.threads = 2,
		.cpus = cpus,
		.set_up = litmus_set_up,
		.thread = thread,
		.finished = litmus_finished,
		.context = &context,
	};

	outcomes = 0;
	assert_int_equal(explore_program(&program).verdict, VERDICT_PASSED);
	return outcomes;
}

static void stores_wait_in_the_buffers_of_two_cores(void **state)
{
	(void)state;
	assert_int_equal(outcomes_of(store_buffering, 2), O00 | O01 | O10 | O11);
}

static void a_switch_drains_the_buffer_of_one_core(void **state)
{
	(void)state;
	assert_int_equal(outcomes_of(store_buffering, 1), O01 | O10 | O11);
}

static void fences_and_exchanges_drain(void **state)
{
	(void)state;
	assert_int_equal(outcomes_of(store_buffering_fenced, 2), O01 | O10 | O11);
	assert_int_equal(outcomes_of(store_buffering_exchanged, 2), O01 | O10 | O11);
}

static void stores_become_visible_in_order(void **state)
{
	(void)state;
	assert_int_equal(outcomes_of(message_passing, 2), O00 | O01 | O11);
}

static void a_light_fence_needs_a_heavy_one(void **state)
{
	(void)state;
	assert_int_equal(outcomes_of(store_buffering_light_light, 2),
			 O00 | O01 | O10 | O11);
	assert_int_equal(outcomes_of(store_buffering_light_heavy, 2), O01 | O10 | O11);
	assert_int_equal(outcomes_of(store_buffering_light_heavy, 3), O01 | O10 | O11);
}

static void a_barrier_reaches_the_core_it_is_aimed_at(void **state)
{
	unsigned all = O00 | O01 | O10 | O11, ordered = O01 | O10 | O11;

	(void)state;
	/* Who stayed on core 0 is reached; who did not, may not be. */
	assert_int_equal(outcomes_of(store_buffering_aimed, 2), ordered | MOVED * all);
	assert_int_equal(outcomes_of(store_buffering_aimed_elsewhere, 2) & all, all);
	assert_int_equal(outcomes_of(store_buffering_aimed_twice, 2),
			 ordered | MOVED * ordered);
}

static void migration_drains(void **state)
{
	(void)state;
	assert_int_equal(outcomes_of(store_buffering_migrating, 2),
			 O00 | O01 | O10 | O11 | MOVED * (O01 | O10 | O11));
}

/* The futex, under each model. */

static enum verdict verdict_of(void (*thread)(void *, int), enum model under)
{
	struct litmus_context context = {.outcome = note};
	struct cores_program program = {
		.threads = 2,
		.cpus = 2,
		.pinned = true,
		.stores_race = true,
		.set_up = litmus_set_up,
		.thread = thread,
		.finished = litmus_finished,
		.context = &context,
	};
	enum verdict verdict;

	outcomes = 0;
	model = under;
	verdict = explore_program(&program).verdict;
	model = MODEL_TSO;
	return verdict;
}

static void who_sleeps_is_woken_or_sleeps_for_ever(void **state)
{
	static const enum model models[] = {MODEL_SC, MODEL_TSO, MODEL_WEAK};
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		assert_int_equal(verdict_of(sleeper_and_waker, models[i]),
				 VERDICT_PASSED);
		assert_int_equal(verdict_of(sleeper_and_nobody, models[i]),
				 VERDICT_DEADLOCK);
		assert_int_equal(verdict_of(sleeper_for_a_while, models[i]),
				 VERDICT_PASSED);
	}
}

static void words_on_a_stack_are_followed(void **state)
{
	static const enum model models[] = {MODEL_SC, MODEL_TSO, MODEL_WEAK};
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		assert_int_equal(verdict_of(sleeper_on_a_stack, models[i]),
				 VERDICT_PASSED);
		assert_int_equal(outcomes, O11);
	}
}

/* With weak memory. */

static unsigned weak_outcomes_of(void (*thread)(void *, int), int cpus)
{
	unsigned found;

	model = MODEL_WEAK;
	found = outcomes_of(thread, cpus);
	model = MODEL_TSO;
	return found;
}

static void relaxed_stores_become_visible_in_any_order(void **state)
{
	(void)state;
	assert_int_equal(weak_outcomes_of(message_passing, 2), O00 | O01 | O10 | O11);
}

/* Where in a program a switch happens is the compiler's choice, but for fences. */
static void a_switch_orders_what_light_fences_part(void **state)
{
	(void)state;
	assert_int_equal(weak_outcomes_of(store_buffering, 1), O00 | O01 | O10 | O11);
	assert_int_equal(weak_outcomes_of(store_buffering_light_light, 1),
			 O01 | O10 | O11);
	assert_int_equal(weak_outcomes_of(store_buffering_light_light, 2),
			 O00 | O01 | O10 | O11);
	assert_int_equal(weak_outcomes_of(store_buffering_light_heavy, 2),
			 O01 | O10 | O11);
}

static void an_interrupt_comes_anywhere(void **state)
{
	struct litmus_context context = {.outcome = note};
	struct cores_program program = {
		.threads = 1,
		.cpus = 1,
		.set_up = litmus_set_up,
		.thread = interrupted_once,
		.handler = interrupt_handler,
		.finished = litmus_finished,
		.context = &context,
	};

	(void)state;
	outcomes = 0;
	assert_int_equal(explore_program(&program).verdict, VERDICT_PASSED);
	/* Before, between, and too late to happen at all; not after the last store,
	 * for there the thread takes no further step. */
	assert_int_equal(outcomes, O00 | O10);
}

static void waiting_for_each_other_is_a_deadlock(void **state)
{
	struct litmus_context context = {.outcome = note};
	struct cores_program program = {
		.threads = 2,
		.cpus = 2,
		.set_up = litmus_set_up,
		.thread = both_asleep,
		.context = &context,
	};

	(void)state;
	assert_int_equal(explore_program(&program).verdict, VERDICT_DEADLOCK);
}

/* The lease in miniature. */

static struct cores_program small_lease(struct lease_context *context, int threads)
{
	return (struct cores_program){
		.threads = threads,
		.cpus = 2,
		.set_up = small_lease_set_up,
		.thread = small_lease_thread,
		.context = context,
	};
}

static void a_sound_lease_passes(void **state)
{
	struct lease_context by_core = {.rounds = 2},
			     by_all = {.rounds = 2, .broadcast = true},
			     by_thread = {.rounds = 2, .by_thread = true},
			     rebind = {.rounds = 2, .mutant = REBIND_WITHOUT_VERSION};
	struct lease_context *all[] = {&by_core, &by_all, &by_thread, &rebind};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct cores_program program = small_lease(all[i], 2);
		struct result result = explore_program(&program);

		print_message("%zu: %llu states, %.2f s\n", i,
			      (unsigned long long)result.executions, result.seconds);
		assert_int_equal(result.verdict, VERDICT_PASSED);
	}
}

static void each_mutant_of_a_lease_is_rejected(void **state)
{
	enum mutant mutant;

	(void)state;
	for (mutant = NO_CORE_CHECK; mutant <= WRONG_CPU; mutant++) {
		struct lease_context context = {.rounds = 2, .mutant = mutant};
		struct cores_program program = small_lease(&context, 2);
		struct result result = explore_program(&program);

		print_message("mutant %d: %llu states, %.2f s: %s\n", (int)mutant,
			      (unsigned long long)result.executions, result.seconds,
			      result.message);
		assert_true(result.verdict == VERDICT_EXCLUSION ||
			    result.verdict == VERDICT_STALE);
	}
}

static void a_failure_is_repeated_by_its_choices(void **state)
{
	struct lease_context context = {.rounds = 2, .mutant = NO_BARRIER};
	struct cores_program program = small_lease(&context, 2);
	struct options options = {.model = MODEL_TSO, .keep_trace = true};
	static struct result first, again;

	(void)state;
	cores_explore(&program, &options, &first);
	assert_non_null(first.trace);
	options.choices = first.choices;
	cores_explore(&program, &options, &again);
	assert_int_equal(again.verdict, first.verdict);
	assert_string_equal(again.message, first.message);
	assert_string_equal(again.trace, first.trace);
	free(first.trace);
	free(again.trace);
}

/* The second thread to come follows an address that is nobody's. */
static uint64_t arrivals;

static void clear_arrivals(void *context)
{
	(void)context;
	arrivals = 0;
	cores_label(&arrivals, sizeof(arrivals), "arrivals", NULL);
}

static void crash_second(void *context, int thread)
{
	(void)context;
	(void)thread;
	if (sim_fetch_add(&arrivals, 1, SIM_RELAXED) == 1)
		*(volatile uint64_t *)(~(uintptr_t)0 / 3 * 2 & ~(uintptr_t)7) = 1;
}

static void a_crash_is_a_failure_of_the_thread(void **state)
{
	static struct result first, again;
	const struct cores_program program = {
		.threads = 2,
		.cpus = 2,
		.pinned = true,
		.set_up = clear_arrivals,
		.thread = crash_second,
	};
	struct options options = {.model = MODEL_TSO, .keep_trace = true};

	(void)state;
	catch_crashes();
	cores_explore(&program, &options, &first);
	assert_int_equal(first.verdict, VERDICT_ASSERTION);
	assert_non_null(strstr(first.message, "crashed"));
	assert_non_null(strstr(first.trace, "arrivals"));
	options.choices = first.choices;
	cores_explore(&program, &options, &again);
	assert_string_equal(again.message, first.message);
	assert_string_equal(again.trace, first.trace);
	free(first.trace);
	free(again.trace);
}

static void a_limit_is_not_a_pass(void **state)
{
	struct lease_context context = {.rounds = 2};
	struct cores_program program = small_lease(&context, 2);
	struct options options = {.model = MODEL_TSO, .limit = 1000};
	static struct result result;

	(void)state;
	cores_explore(&program, &options, &result);
	assert_int_equal(result.verdict, VERDICT_LIMIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stores_wait_in_the_buffers_of_two_cores),
		cmocka_unit_test(a_switch_drains_the_buffer_of_one_core),
		cmocka_unit_test(fences_and_exchanges_drain),
		cmocka_unit_test(stores_become_visible_in_order),
		cmocka_unit_test(a_light_fence_needs_a_heavy_one),
		cmocka_unit_test(a_barrier_reaches_the_core_it_is_aimed_at),
		cmocka_unit_test(migration_drains),
		cmocka_unit_test(who_sleeps_is_woken_or_sleeps_for_ever),
		cmocka_unit_test(words_on_a_stack_are_followed),
		cmocka_unit_test(relaxed_stores_become_visible_in_any_order),
		cmocka_unit_test(a_switch_orders_what_light_fences_part),
		cmocka_unit_test(an_interrupt_comes_anywhere),
		cmocka_unit_test(waiting_for_each_other_is_a_deadlock),
		cmocka_unit_test(a_sound_lease_passes),
		cmocka_unit_test(each_mutant_of_a_lease_is_rejected),
		cmocka_unit_test(a_failure_is_repeated_by_its_choices),
		cmocka_unit_test(a_crash_is_a_failure_of_the_thread),
		cmocka_unit_test(a_limit_is_not_a_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
