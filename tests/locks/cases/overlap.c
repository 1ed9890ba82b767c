/* SPDX-License-Identifier: MIT */
/* hemlock-overlap: what unlock leaves in the mailbox outlives unlock, and must
 * not outlive the mailbox. */
#define _GNU_SOURCE
#include "cases.h"

#include <pawl/hemlock_overlap.h>

#include <errno.h>

struct visit {
	struct pawl_hemlock_overlap l;
	int held;  /* atomic */
	int leave; /* atomic */
	uint64_t entered;
};

static void *hold_and_exit(void *argument)
{
	struct visit *v = argument;

	pawl_hemlock_overlap_lock(&v->l);
	__atomic_store_n(&v->held, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&v->leave, __ATOMIC_ACQUIRE))
		breathe();
	pawl_hemlock_overlap_unlock(&v->l);
	__atomic_store_n(&v->held, 0, __ATOMIC_RELEASE);
	return NULL;
}

static void *enter(void *argument)
{
	struct visit *v = argument;

	pawl_hemlock_overlap_lock(&v->l);
	v->entered++;
	pawl_hemlock_overlap_unlock(&v->l);
	return NULL;
}

/* Unlock returns while the successor does not run; the thread does not end. */
static void unlock_does_not_wait_but_exit_does(void **state)
{
	struct visit v = {.entered = 0};
	struct crew holder = {.size = 0}, waiter = {.size = 0};
	struct image before;
	int i, early;

	(void)state;
	need_stepping();
	crew_start(&holder, hold_and_exit, &v);
	while (!__atomic_load_n(&v.held, __ATOMIC_ACQUIRE))
		breathe();
	before = lock_image(&v.l);
	crew_start(&waiter, enter, &v);
	await_arrival(&v.l, &before);
	freeze(waiter.threads[0]);
	__atomic_store_n(&v.leave, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&v.held, __ATOMIC_ACQUIRE)) /* unlock returns */
		breathe();
	for (i = 0; i < 100; i++)
		breathe();
	early = pthread_tryjoin_np(holder.threads[0], NULL);
	thaw();
	crew_join(&waiter);
	if (early != 0)
		crew_join(&holder);
	assert_int_equal(early, EBUSY);
	assert_int_equal(v.entered, 1);
}

const struct CMUnitTest overlap_cases[] = {
	cmocka_unit_test(unlock_does_not_wait_but_exit_does),
};
const size_t overlap_case_count = COUNT_OF(overlap_cases);
