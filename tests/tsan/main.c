/* SPDX-License-Identifier: MIT */
/* Usage: cases PART... Prints what was tried; fails after a wrong verdict. */
#include "cases.h"

#include <pawl/atomic.h>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

long guarded, exposed;

static int step, reports, tried, failed;

/* TSan asks for these two. Each report is to be counted, if others were like it. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "exitcode=0:suppress_equal_stacks=0:suppress_equal_addresses=0:"
	       "report_signal_unsafe=0";
}

void __tsan_on_report(void *report);
void __tsan_on_report(void *report)
{
	(void)report;
	__atomic_fetch_add(&reports, 1, __ATOMIC_RELAXED);
}

void demand(bool met, const char *what)
{
	if (met)
		return;
	fprintf(stderr, "not so: %s\n", what);
	exit(2);
}

static void *run_part(void *part)
{
	((void (*)(void))part)();
	return NULL;
}

static pthread_t start(void (*part)(void))
{
	pthread_t thread;

	demand(pthread_create(&thread, NULL, run_part, (void *)part) == 0, "a thread");
	return thread;
}

void together(void (*first)(void), void (*second)(void))
{
	pthread_t one = start(first), other = start(second);

	pthread_join(one, NULL);
	pthread_join(other, NULL);
}

void detached(void (*part)(void))
{
	pthread_detach(start(part));
}

/* Relaxed, throughout: TSan takes no order from it. */
void reach(int n)
{
	__atomic_store_n(&step, n, __ATOMIC_RELAXED);
}

void await_step(int n)
{
	while (__atomic_load_n(&step, __ATOMIC_RELAXED) < n)
		sched_yield();
}

void await_parked(void)
{
	struct pawl_filter *filter;
	size_t i;

	pawl_raw_find(pawl_filter_, filter);
	for (i = 0;; i = (i + 1) % (1 << PAWL_FILTER_BITS)) {
		if (pawl_load_relaxed(&filter[i].wanted) != 0)
			return;
		if (i == 0)
			sched_yield();
	}
}

void linger(void)
{
	int i;

	for (i = 0; i < 20; i++)
		sched_yield();
}

/* Returns how many reports there were. */
static int reports_of(void (*run)(void))
{
	int before = __atomic_load_n(&reports, __ATOMIC_RELAXED);

	reach(0);
	tried++;
	run();
	return __atomic_load_n(&reports, __ATOMIC_RELAXED) - before;
}

void clean(const char *what, const char *which, void (*run)(void))
{
	int n = reports_of(run);

	if (n == 0)
		return;
	printf("%s %s: %d reports of TSan on a correct program\n", what, which, n);
	failed++;
}

void racy(const char *what, const char *which, void (*run)(void))
{
	int standard_error = dup(2), nowhere = open("/dev/null", O_WRONLY);
	int n;

	dup2(nowhere, 2); /* what TSan says of it */
	n = reports_of(run);
	dup2(standard_error, 2);
	close(nowhere);
	close(standard_error);
	if (n > 0)
		return;
	printf("%s %s: a race that TSan does not report\n", what, which);
	failed++;
}

int main(int unused, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} parts[] = {
		{"locks", test_locks},	 {"mutex", test_mutex},	  {"leases", test_leases},
		{"stores", test_stores}, {"others", test_others}, {"shared", test_shared},
	};
	const size_t count = sizeof(parts) / sizeof(parts[0]);
	size_t i;

	while (*++argv != NULL) {
		for (i = 0; i < count && strcmp(*argv, parts[i].name) != 0; i++)
			;
		demand(i < count, "there is such a part");
		parts[i].run();
	}
	(void)unused;
	printf("%d cases, %d failed\n", tried, failed);
	return failed > 0 || tried == 0;
}
