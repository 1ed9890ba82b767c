/* SPDX-License-Identifier: MIT */
/* pawl's mutex and condition variable as a subject, and the table of subjects with
 * both. */
#include "subject.h"
#include "waits.h"

#include <pawl/cond.h>

_Static_assert(sizeof(struct pawl_cond) <= BENCH_LOCK_BYTES, "fits");

static void lock(void *l)
{
	pawl_mutex_lock(l);
}

static void unlock(void *l)
{
	pawl_mutex_unlock(l);
}

static void wait(void *c, void *l)
{
	pawl_cond_wait(c, l);
}

static bool wait_for(void *c, void *l, uint64_t ns)
{
	const struct timespec end = waits_time(waits_now() + ns);

	return pawl_cond_timedwait(c, l, CLOCK_MONOTONIC, &end) == 0;
}

static void signal(void *c)
{
	pawl_cond_signal(c);
}

static void broadcast(void *c)
{
	pawl_cond_broadcast(c);
}

static const struct bench_cond_type cond = {
	.wait = wait, .wait_for = wait_for, .signal = signal, .broadcast = broadcast};

static const struct bench_subject pawl = {.name = "mutex",
					  .lock = lock,
					  .unlock = unlock,
					  .size = sizeof(struct pawl_mutex),
					  .cond = &cond};

const struct bench_subject *const bench_monitors[] = {
	&pawl,	       &bench_pthread,
#ifdef BENCH_NSYNC
	&bench_nsync,
#endif
#ifdef BENCH_ABSEIL
	&bench_abseil,
#endif
#ifdef BENCH_STD
	&bench_std,
#endif
	NULL,
};
