/* SPDX-License-Identifier: MIT */
/* The spin locks of Concurrency Kit that pawl has too, and its read-write locks. */
#include "rwlock.h"
#include "subject.h"

#include <ck_brlock.h>
#include <ck_pflock.h>
#include <ck_rwlock.h>
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

/* One lock per run, so one node per thread is enough. */
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

/* CLH nodes move between threads and outlive them: the last one stays in the lock. There
 * is one more than threads; they are never freed. */
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

/* All three are unlocked when zero. */

static void rwlock_read_lock(void *l)
{
	ck_rwlock_read_lock(l);
}

static void rwlock_read_unlock(void *l)
{
	ck_rwlock_read_unlock(l);
}

static void rwlock_write_lock(void *l)
{
	ck_rwlock_write_lock(l);
}

static void rwlock_write_unlock(void *l)
{
	ck_rwlock_write_unlock(l);
}

DEFINE_RWLOCK_LOOP(rwlock, rwlock_read_lock, rwlock_read_unlock, rwlock_write_lock,
		   rwlock_write_unlock);

const struct bench_subject bench_ck_rwlock = {
	.name = "ck-rwlock", .loop = rwlock_rwlock, .size = sizeof(ck_rwlock_t)};

static void pflock_read_lock(void *l)
{
	ck_pflock_read_lock(l);
}

static void pflock_read_unlock(void *l)
{
	ck_pflock_read_unlock(l);
}

static void pflock_write_lock(void *l)
{
	ck_pflock_write_lock(l);
}

static void pflock_write_unlock(void *l)
{
	ck_pflock_write_unlock(l);
}

DEFINE_RWLOCK_LOOP(pflock, pflock_read_lock, pflock_read_unlock, pflock_write_lock,
		   pflock_write_unlock);

const struct bench_subject bench_ck_pflock = {
	.name = "ck-pflock", .loop = pflock_rwlock, .size = sizeof(ck_pflock_t)};

/* One lock per run, so one reader per thread is enough. The writers check all registered
 * readers. */
static __thread struct {
	PAWL_SEQUESTER ck_brlock_reader_t node;
} brlock_reader;

static void brlock_read_lock(void *l)
{
	ck_brlock_read_lock(l, &brlock_reader.node);
}

static void brlock_read_unlock(void *l)
{
	(void)l;
	ck_brlock_read_unlock(&brlock_reader.node);
}

static void brlock_write_lock(void *l)
{
	ck_brlock_write_lock(l);
}

static void brlock_write_unlock(void *l)
{
	ck_brlock_write_unlock(l);
}

DEFINE_RWLOCK_LOOP(brlock, brlock_read_lock, brlock_read_unlock, brlock_write_lock,
		   brlock_write_unlock);

static void registered_brlock(void *member)
{
	const struct rwlock_thread *me = member;
	ck_brlock_t *lock = (ck_brlock_t *)&me->bench->lock;

	ck_brlock_read_register(lock, &brlock_reader.node);
	brlock_rwlock(member);
	ck_brlock_read_unregister(lock, &brlock_reader.node);
}

const struct bench_subject bench_ck_brlock = {
	.name = "ck-brlock", .loop = registered_brlock, .size = sizeof(ck_brlock_t)};
