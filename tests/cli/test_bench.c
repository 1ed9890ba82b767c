/* SPDX-License-Identifier: MIT */
/* The parts that pawl bench is made of. */
#include "lcg.h"
#include "cli/bench/bench.h"
#include "cli/bench/noise.h"
#include "cli/common/options.h"
#include "cli/common/stats.h"
#include "cli/report/report.h"
#include "subject.h"
#include "workload.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void jumping_ahead_equals_walking(void **state)
{
	static const uint32_t steps[] = {0, 1, 2, 3, 64, 1000, 65537};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		assert_true(lcg_jump(42, steps[i]) == lcg_walk(42, steps[i]));
}

static void random_numbers_stay_below_their_bound_and_reach_all_of_it(void **state)
{
	unsigned seen[10] = {0};
	uint64_t random = 7;
	size_t i;

	(void)state;
	for (i = 0; i < 10000; i++) {
		uint32_t n;

		random = lcg_next(random);
		n = lcg_below(random, 10);
		assert_in_range(n, 0, 9);
		seen[n]++;
	}
	for (i = 0; i < 10; i++)
		assert_in_range(seen[i], 800, 1200);
}

static bool close_to(double a, double b)
{
	return fabs(a - b) < 1e-9;
}

static void median_and_spread_ignore_an_outlier(void **state)
{
	static const double samples[] = {10, 1000, 11, 9, 10};
	struct estimate estimate = estimate_median(samples, 5);

	(void)state;
	assert_true(close_to(estimate.value, 10));
	assert_true(close_to(estimate.error, 0.5));
}

static void median_of_two_is_their_middle(void **state)
{
	static const double samples[] = {4, 2};

	(void)state;
	assert_true(close_to(estimate_median(samples, 2).value, 3));
}

static void single_sample_has_no_error(void **state)
{
	static const double sample = 5;

	(void)state;
	assert_true(close_to(estimate_median(&sample, 1).value, 5));
	assert_true(close_to(estimate_median(&sample, 1).error, 0));
}

static void ratio_adds_relative_errors_in_quadrature(void **state)
{
	struct estimate ratio = estimate_ratio((struct estimate){10, 0.3},
					       (struct estimate){5, 0.2});

	(void)state;
	assert_true(close_to(ratio.value, 2));
	assert_true(close_to(ratio.error, 2 * 0.05));
}

static void steal_is_its_share_of_all_time(void **state)
{
	struct cpu_ticks sum = {0}, now = cpu_ticks_now();

	(void)state;
	assert_true(close_to(steal_percent(sum), 0));
	cpu_ticks_add(&sum, (struct cpu_ticks){100, 10}, (struct cpu_ticks){200, 15});
	cpu_ticks_add(&sum, (struct cpu_ticks){300, 20}, (struct cpu_ticks){400, 20});
	assert_true(close_to(steal_percent(sum), 2.5));
	assert_true(now.all > 0 && now.stolen < now.all);
}

static void assert_remedy(struct noise noise, const char *part)
{
	if (strstr(noise_remedy(&noise, 2), part) == NULL)
		fail_msg("'%s' not found in: %s", part, noise_remedy(&noise, 2));
}

static void remedy_fits_what_disturbs_most(void **state)
{
	const struct cpu_ticks stolen = {100, 5};

	(void)state;
	assert_remedy((struct noise){.load_before = 1.5, .ticks = stolen},
		      "stop other programs");
	assert_remedy((struct noise){.ticks = stolen, .governor = "powersave"},
		      "virtual machines");
	assert_remedy((struct noise){.governor = "powersave"}, "cpupower");
	assert_remedy((struct noise){.governor = "performance"}, "--runs");
	assert_remedy((struct noise){.load_before = NAN}, "--runs");
}

static const char *nth_fruit(size_t i)
{
	static const char *const fruits[] = {"apple", "pear", "cherry", NULL};

	return fruits[i];
}

static void nearest_name_mends_a_slip_and_no_more(void **state)
{
	(void)state;
	assert_string_equal(nearest_name("aple", nth_fruit), "apple");
	assert_string_equal(nearest_name("chery", nth_fruit), "cherry");
	assert_string_equal(nearest_name("ch", nth_fruit), "cherry");
	assert_null(nearest_name("xyzzy", nth_fruit));
}

static void rank_correlation_heeds_the_order_alone(void **state)
{
	static const double up[] = {1, 2, 3, 4}, steep[] = {0.1, 5, 70, 8000};
	static const double down[] = {9, 7, 3, 1}, swapped[] = {2, 1, 3, 4};
	static const double tied[] = {1, 2, 2, 3}, flat[] = {5, 5, 5, 5};

	(void)state;
	assert_true(close_to(rank_correlation(up, steep, 4), 1));
	assert_true(close_to(rank_correlation(up, down, 4), -1));
	assert_true(close_to(rank_correlation(up, swapped, 4), 0.8));
	assert_true(close_to(rank_correlation(up, tied, 4), 4.5 / sqrt(5 * 4.5)));
	assert_true(isnan(rank_correlation(up, flat, 4)));
}

static void interval_of_few_samples_is_their_range_and_says_how_sure(void **state)
{
	static const double samples[] = {3, 1, 2, 5, 4};
	struct interval five = median_interval(samples, 5);
	struct interval three = median_interval(samples, 3);
	struct interval one = median_interval(samples, 1);

	(void)state;
	assert_true(close_to(five.low, 1) && close_to(five.high, 5));
	assert_true(close_to(five.median, 3) && close_to(five.confidence, 0.9375));
	assert_true(close_to(three.low, 1) && close_to(three.high, 3));
	assert_true(close_to(three.confidence, 0.75));
	assert_true(close_to(one.low, 3) && close_to(one.high, 3));
	assert_true(close_to(one.confidence, 0));
}

/* Nine samples: 2 * (1 + 9) / 512 lie beyond the second from either end. */
static void interval_of_nine_samples_leaves_out_one_at_each_end(void **state)
{
	static const double samples[] = {9, 1, 8, 2, 7, 3, 6, 4, 500};
	struct interval nine = median_interval(samples, 9);

	(void)state;
	assert_true(close_to(nine.low, 2) && close_to(nine.high, 9));
	assert_true(close_to(nine.confidence, 1 - 20.0 / 512));
}

static void intervals_differ_only_if_they_are_apart(void **state)
{
	const struct interval low = {2, 1, 3, 0.95}, middle = {3.5, 3, 4, 0.95},
			      high = {6, 5, 7, 0.95}, unknown = {100, 100, 100, 0};
	struct interval ratio = interval_ratio(high, low);

	(void)state;
	assert_true(intervals_differ(low, high) && intervals_differ(high, low));
	assert_false(intervals_differ(low, middle));
	assert_false(intervals_differ(low, unknown));
	assert_true(close_to(ratio.median, 3) && close_to(ratio.low, 5.0 / 3) &&
		    close_to(ratio.high, 7));
}

static void assert_words(const struct workload *const *list)
{
	size_t f;

	for (; *list != NULL; list++)
		for (f = 0; f < WORKLOAD_FIGURES && (*list)->figures[f] != NULL; f++)
			if (figure_named("figures", (*list)->figures[f]).title ==
			    (*list)->figures[f])
				fail_msg("%s: src/cli/report/figures.c has no words for "
					 "%s",
					 (*list)->name, (*list)->figures[f]);
}

/* Units, and whether more is better, which pawl report --diff has to know. */
static void every_figure_of_a_workload_has_words(void **state)
{
	(void)state;
	assert_words(workloads);
	assert_words(bench_apps());
}

/* TSan follows 64 mutexes that are held at once; footprint holds thousands. */
static bool can_run(const struct workload *workload)
{
#ifdef __SANITIZE_THREAD__
	return strcmp(workload->name, "footprint") != 0;
#else
	(void)workload;
	return true;
#endif
}

/* One short run of every workload, on everything it runs on. */
static void every_workload_runs_on_every_subject(void **state)
{
	const struct workload *const *w;
	const struct bench_subject *const *s;

	(void)state;
	for (w = workloads; *w != NULL; w++) {
		const struct bench_shape shape = {.threads = (*w)->most_threads == 1 ? 1
										     : 2,
						  .cs = (*w)->cs > 0 ? 3 : 0,
						  .ncs = (*w)->cs > 0 ? 10 : 0,
						  .producers = (*w)->producers,
						  .capacity = (*w)->capacity,
						  .writes = (*w)->writes,
						  .seconds = 0.002,
						  .seed = 1};

		for (s = (*w)->subjects != NULL ? (*w)->subjects : bench_subjects;
		     *s != NULL; s++) {
			struct bench_outcome outcome;

			if (!can_run(*w) || ((*w)->many_locks && (*s)->single))
				continue;
			assert_true((*w)->run(*s, &shape, &outcome));
			if (!outcome.exclusive || !(outcome.value > 0))
				fail_msg("%s on %s: exclusive %d, value %g", (*w)->name,
					 (*s)->name, outcome.exclusive, outcome.value);
			assert_false(outcome.fairness < 0 || outcome.fairness > 1);
		}
	}
}

/* A lock that ends the warm-up, and the run, after so many episodes. */
enum { WARM_UP_EPISODES = 100, EPISODES = 130 };
static struct mutex_bench counted;
static uint64_t taken;

static void take(void *l)
{
	(void)l;
	taken++;
	if (taken == WARM_UP_EPISODES)
		pawl_store_relaxed(&counted.stop, CREW_WARM); /* Relaxed: one thread */
	if (taken == EPISODES)
		pawl_store_relaxed(&counted.stop, CREW_END); /* Relaxed: likewise */
}

static void let_go(void *l)
{
	(void)l;
}

static void a_thread_knows_which_episodes_were_warm_up(void **state)
{
	struct mutex_thread me = {.bench = &counted};

	(void)state;
	counted = (struct mutex_bench){.cs = 1};
	taken = 0;
	mutex_loop(&me, take, let_go, false);
	assert_int_equal(me.episodes, EPISODES);
	assert_int_equal(me.unheeded, WARM_UP_EPISODES);
	assert_int_equal(me.seen, CREW_WARM);
}

/* Threads that claim to have done 100, 400 and nothing after the warm-up. */
static void claim(void *member)
{
	static pawl_atomic64 threads;
	struct mutex_thread *me = member;
	uint64_t number = pawl_fetch_add_relaxed(&threads, 1); /* Relaxed: a number */

	me->episodes = 1000;
	me->unheeded = number % 3 == 0 ? 900 : 600;
	me->seen = number % 3 == 2 ? CREW_GO : CREW_WARM;
}

static void episodes_of_the_warm_up_do_not_count(void **state)
{
	const struct bench_subject claims = {.name = "claims", .loop = claim};
	struct bench_shape shape = {
		.threads = 2, .cs = 1, .warm_up = 0.001, .seconds = 0.001, .seed = 1};
	struct bench_outcome outcome;

	(void)state;
	assert_string_equal(workloads[0]->name, "mutex");
	assert_true(workloads[0]->run(&claims, &shape, &outcome));
	assert_int_equal(outcome.episodes, 2000);
	assert_true(close_to(outcome.fairness, 100.0 / 400));
	shape.threads = 1; /* the third: it got nowhere */
	assert_true(workloads[0]->run(&claims, &shape, &outcome));
	assert_int_equal(outcome.episodes, 1000);
	assert_true(close_to(outcome.value, 0));
}

/* Waits for what does not come. */
static void hang(void *member)
{
	(void)member;
	for (;;)
		pause();
}

/* In a process of its own, which the thread ends with. */
static void thread_that_does_not_return_is_found_to_hang(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (child == 0) {
		static pawl_atomic64 stop;
		char member;

		crew_patience = 0;
		errno = 0;
		_exit(crew_run(1, hang, &member, 1, &stop, 0, 0.001) < 0 ? errno : 0);
	}
	assert_true(waitpid(child, &status, 0) == child && WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), ETIMEDOUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jumping_ahead_equals_walking),
		cmocka_unit_test(
			random_numbers_stay_below_their_bound_and_reach_all_of_it),
		cmocka_unit_test(median_and_spread_ignore_an_outlier),
		cmocka_unit_test(rank_correlation_heeds_the_order_alone),
		cmocka_unit_test(median_of_two_is_their_middle),
		cmocka_unit_test(single_sample_has_no_error),
		cmocka_unit_test(ratio_adds_relative_errors_in_quadrature),
		cmocka_unit_test(steal_is_its_share_of_all_time),
		cmocka_unit_test(remedy_fits_what_disturbs_most),
		cmocka_unit_test(nearest_name_mends_a_slip_and_no_more),
		cmocka_unit_test(
			interval_of_few_samples_is_their_range_and_says_how_sure),
		cmocka_unit_test(interval_of_nine_samples_leaves_out_one_at_each_end),
		cmocka_unit_test(intervals_differ_only_if_they_are_apart),
		cmocka_unit_test(every_figure_of_a_workload_has_words),
		cmocka_unit_test(every_workload_runs_on_every_subject),
		cmocka_unit_test(a_thread_knows_which_episodes_were_warm_up),
		cmocka_unit_test(episodes_of_the_warm_up_do_not_count),
		cmocka_unit_test(thread_that_does_not_return_is_found_to_hang),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
