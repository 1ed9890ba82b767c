/* SPDX-License-Identifier: MIT */
/* The spin locks of Concurrency Kit that pawl has too. */
#include "subject.h"

#include <ck_spinlock.h>
#include <stdlib.h>

_Static_assert(sizeof(ck_spinlock_ticket_t) <= BENCH_LOCK_BYTES, "fits");

static void ticket_init(void *l)
{
	ck_spinlock_ticket_init(l);
}

static void ticket_lock(void *l)
{
	ck_spinlock_ticket_lock(l);
}

static void ticket_unlock(void *l)
{
	ck_spinlock_ticket_unlock(l);
}

DEFINE_SUBJECT_LOOPS(ticket, ticket_lock, ticket_unlock);

const struct bench_subject bench_ck_ticket = {.name = "ck-ticket",
					      SUBJECT_LOOPS(ticket),
					      .lock = ticket_lock,
					      .unlock = ticket_unlock,
					      .size = sizeof(ck_spinlock_ticket_t),
					      .init = ticket_init};

/* One lock a run, so one node a thread will do. */
static __thread ck_spinlock_mcs_context_t mcs_node;

static void mcs_lock(void *l)
{
	ck_spinlock_mcs_lock(l, &mcs_node);
}

static void mcs_unlock(void *l)
{
	ck_spinlock_mcs_unlock(l, &mcs_node);
}

DEFINE_SUBJECT_LOOPS(mcs, mcs_lock, mcs_unlock);

const struct bench_subject bench_ck_mcs = {.name = "ck-mcs",
					   SUBJECT_LOOPS(mcs),
					   .lock = mcs_lock,
					   .unlock = mcs_unlock,
					   .size = sizeof(ck_spinlock_mcs_t),
					   .single = true};

/* CLH's nodes change hands, and outlive their threads: the last one stays in the
 * lock. There are as many as threads, plus one, and they are never freed. */
static __thread ck_spinlock_clh_t *clh_node;

static void clh_init(void *l)
{
	static ck_spinlock_clh_t first;

	ck_spinlock_clh_init(l, &first);
}

static void clh_lock(void *l)
{
	if (__builtin_expect(clh_node == NULL, false))
		clh_node = aligned_alloc(128, 128);
	ck_spinlock_clh_lock(l, clh_node);
}

static void clh_unlock(void *l)
{
	(void)l;
	ck_spinlock_clh_unlock(&clh_node);
}

DEFINE_SUBJECT_LOOPS(clh, clh_lock, clh_unlock);

const struct bench_subject bench_ck_clh = {.name = "ck-clh",
					   SUBJECT_LOOPS(clh),
					   .lock = clh_lock,
					   .unlock = clh_unlock,
					   .size = sizeof(ck_spinlock_clh_t *),
					   .init = clh_init,
					   .single = true};
