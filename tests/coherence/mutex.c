/* SPDX-License-Identifier: MIT */
/*
 * The shipped mutex, slow path and all, on machines that nobody here has. It learns
 * what waiting costs: so no machine may make it much slower than the simplest lock that
 * spins, nor may slower caches change who is ahead.
 */
#include <sim/coherence/workload.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* Of ttas; with two threads in the way of each other now and then, a bare store is
 * hard to beat. */
#define LEAST 0.65

static const struct load {
	uint64_t cs, ncs;
} loads[] = {{1, 0}, {10, 250}, {100, 250}, {10, 2500}};

enum { LOADS = sizeof(loads) / sizeof(loads[0]) };

static struct machine load(const char *name)
{
	struct machine m;
	char error[256];

	if (!machine_load(&m, name, error, sizeof(error)))
		fail_msg("%s", error);
	return m;
}

static double rate(const struct machine *m, const char *lock, unsigned threads,
		   const struct load *load)
{
	struct workload_setup setup = {
		.engine = {.machine = m, .threads = threads, .seed = 1},
		.lock = lock,
		.cs = load->cs,
		.ncs = load->ncs,
		.episodes = 5000,
	};

	return workload_run(&setup).ops_per_s;
}

/* The mutex's rate, times another lock's. */
static double ratio(const struct machine *m, const char *other, unsigned threads,
		    const struct load *load)
{
	double ours = rate(m, "mutex", threads, load);
	double theirs = rate(m, other, threads, load);

	print_message("%-12s %3u threads, cs %3u, ncs %4u: mutex %7.3f M/s, %s %7.3f\n",
		      m->name, threads, (unsigned)load->cs, (unsigned)load->ncs,
		      ours / 1e6, other, theirs / 1e6);
	return ours / theirs;
}

/* Everything that depends on how far a line travels. */
static struct machine slower(struct machine m)
{
	m.core *= 2;
	m.cluster *= 2;
	m.socket *= 2;
	m.remote *= 2;
	m.memory *= 2;
	return m;
}

static void no_machine_makes_it_slow(void **state)
{
	static const unsigned threads[] = {2, 8, 64, 256};
	size_t i, j, k;

	(void)state;
	for (i = 0; machine_names[i] != NULL; i++) {
		struct machine m = load(machine_names[i]);

		for (j = 0; j < 4 && threads[j] <= machine_cpus(&m); j++)
			for (k = 0; k < LOADS; k++)
				assert_true(ratio(&m, "ttas", threads[j], &loads[k]) >
					    LEAST);
	}
}

/*
 * Who is ahead by far does not fall behind by far; in between, either may be. Of mcs,
 * whose rate follows the caches': one thread may come to keep a ttas lock, which
 * then goes faster the slower they are.
 */
static void slower_caches_do_not_change_who_is_ahead(void **state)
{
	static const unsigned threads[] = {8, 64};
	size_t i, j, k;

	(void)state;
	for (i = 0; machine_names[i] != NULL; i++) {
		struct machine m = load(machine_names[i]), twice = slower(m);

		for (j = 0; j < 2 && threads[j] <= machine_cpus(&m); j++)
			for (k = 0; k < LOADS; k++) {
				double was = ratio(&m, "mcs", threads[j], &loads[k]);
				double is = ratio(&twice, "mcs", threads[j], &loads[k]);

				assert_false(was > 1.25 && is < 0.8);
				assert_false(was < 0.8 && is > 1.25);
			}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_machine_makes_it_slow),
		cmocka_unit_test(slower_caches_do_not_change_who_is_ahead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
