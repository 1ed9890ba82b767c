/* SPDX-License-Identifier: MIT */
/*
 * What parking has once per process, and the filters of all copies of the library:
 * docs/design/copies.md. Inline code looks at the filter of its own copy. So a sleeper
 * counts itself in every copy's filter, normally one.
 *
 *   K1  While a copy is listed, each cell of its filter is the bias plus the number of
 *       counted sleepers of that cell (P2), or more while a thread counts.
 *   K2  The list changes, and a copy's first counts are taken, under the lock `growing` and
 *       all bucket locks. A thread that counts holds one of them, so it sees the same list
 *       throughout, and a sleeper is counted in a filter or found in its queue.
 *   K3  Cells of a copy that has left are UNLISTED or more for ever: a thread that still
 *       runs in it (a destructor cannot tell dlclose from exit) takes the slow path.
 *
 * A copy joins when it is loaded, before any of its locks is used: other copies' sleepers
 * are counted from then on. A copy that is used earlier, such as an interposer, joins when
 * one of its threads first looks for a bucket. That waits for the loader's list of objects,
 * which a thread holds while it changes it or goes through it, and not while it loads.
 *
 * Order: [J] pairs with [U] of sleep/parking.h: a thread that finds the process's parking
 * finds this copy listed there. [N] pairs with [M] of sleep/park.c.
 */
#include "sleep/parking.h"

#include <pawl/runtime.h>

enum { CELLS = 1 << PAWL_FILTER_BITS };
#define UNLISTED ((uint64_t)1 << 32)
/* That a copy which leaves waits for a bucket, should the thread be inside itself: exit may
 * be called from a signal handler. */
enum { LEAVE_NS = 20 * 1000 * 1000 };

__attribute__((used)) struct pawl_filter pawl_filter_[CELLS];

static struct pawl_parking_copy own_copy = {.filter = pawl_filter_};

/* Where the back end has a seed, in a checker, the copy is alone from the start. */
#define IF_SEEDED(value) (PAWL_PARK_SEED != 0 ? (value) : 0)
static struct pawl_parking own_parking = {
	.table = {IF_SEEDED((uintptr_t)&own_parking.first)},
	.first = {.multiplier = PAWL_PARK_SEED,
		  .bits = PAWL_BUCKET_BITS,
		  .buckets = own_parking.first_buckets},
	.copies = IF_SEEDED(&own_copy),
};
struct pawl_parking *pawl_process_parking = IF_SEEDED(&own_parking);
pawl_atomic64 pawl_park_joined;

uint64_t pawl_parking_change(struct pawl_parking *parking)
{
	uint64_t signals = pawl_os_block_signals();

	pawl_guard_lock(&parking->growing);
	return signals;
}

void pawl_parking_changed(struct pawl_parking *parking, uint64_t signals)
{
	pawl_guard_unlock(&parking->growing);
	pawl_os_restore_signals(signals);
}

/* The following require `growing`. */

static void unlock_buckets(const struct pawl_parking_table *table, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		pawl_guard_unlock(&table->buckets[i].lock);
}

/* Locks all buckets; false if one of them cannot be had within LEAVE_NS. */
static bool lock_buckets_briefly(const struct pawl_parking_table *table)
{
	size_t i;

	for (i = 0; i < (size_t)1 << table->bits; i++)
		if (!pawl_guard_lock_for(&table->buckets[i].lock, LEAVE_NS)) {
			unlock_buckets(table, i);
			return false;
		}
	return true;
}

/* Ends: a thread that holds one of them waits for no other, nor for us. */
static void lock_buckets(const struct pawl_parking_table *table)
{
	size_t i;

	for (i = 0; i < (size_t)1 << table->bits; i++)
		pawl_guard_lock(&table->buckets[i].lock);
}

/* Counts the sleepers of all buckets, whose locks are held, in this copy's filter. */
static void count_sleepers(const struct pawl_parking *parking,
			   const struct pawl_parking_table *table)
{
	const struct pawl_sleeper *queue, *sleeper;
	/* Relaxed, here and below: nothing else changes this filter before it is listed. */
	uint64_t bias = pawl_load_relaxed(&parking->fence_bias);
	size_t i;

	for (i = 0; bias != 0 && i < CELLS; i++)
		pawl_store_relaxed(&pawl_filter_[i].wanted, bias);
	for (i = 0; table != NULL && i < (size_t)1 << table->bits; i++)
		for (queue = table->buckets[i].first; queue != NULL;
		     queue = queue->next_queue)
			for (sleeper = queue; sleeper != NULL; sleeper = sleeper->next)
				if (sleeper->counted)
					pawl_fetch_add_relaxed(
						&pawl_filter_of_(
							 pawl_sleeper_key(sleeper))
							 ->wanted,
						1);
}

void pawl_park_join(void)
{
	struct pawl_parking *parking = pawl_os_part(PAWL_PART_PARKING, sizeof(*parking));
	uint64_t signals = pawl_parking_change(parking);
	struct pawl_parking_table *table = pawl_parking_table(parking);

	/* Relaxed: stored under the lock only. */
	if (pawl_load_relaxed(&pawl_park_joined) == 0) {
		if (table != NULL)
			lock_buckets(table);
		count_sleepers(parking, table); /* K1 */
		own_copy.next = parking->copies;
		parking->copies = &own_copy; /* K2 */
		if (table != NULL)
			unlock_buckets(table, (size_t)1 << table->bits);
		pawl_process_parking = parking;
		pawl_store_release(&pawl_park_joined, 1); /* [J] */
	}
	pawl_parking_changed(parking, signals);
}

/* Requires all locks of buckets, too. */
static void unlist(struct pawl_parking *parking)
{
	struct pawl_parking_copy **link = &parking->copies;
	size_t i;

	for (i = 0; i < CELLS; i++)
		/* Relaxed: too high does no harm. */
		pawl_fetch_add_relaxed(&pawl_filter_[i].wanted, UNLISTED); /* K3 */
	while (*link != NULL && *link != &own_copy)
		link = &(*link)->next;
	if (*link != NULL)
		*link = own_copy.next;
}

void pawl_park_leave(void)
{
	struct pawl_parking *parking = pawl_parking();
	uint64_t signals = pawl_os_block_signals();
	struct pawl_parking_table *table;

	if (pawl_guard_lock_for(&parking->growing, LEAVE_NS)) {
		table = pawl_parking_table(parking);
		if (table == NULL || lock_buckets_briefly(table)) {
			unlist(parking);
			if (table != NULL)
				unlock_buckets(table, (size_t)1 << table->bits);
		}
		pawl_guard_unlock(&parking->growing);
	}
	pawl_os_restore_signals(signals);
}

void pawl_filters_add(const volatile void *key, uint64_t n)
{
	size_t cell = (size_t)(pawl_filter_of_(key) - pawl_filter_);
	const struct pawl_parking_copy *copy;

	for (copy = pawl_parking()->copies; copy != NULL; copy = copy->next)
		/* Relaxed: wakers see it by [H] and [L]; too high does no harm. Atomic, for
		 * cells are shared by buckets. */
		pawl_fetch_add_relaxed(&copy->filter[cell].wanted, n);
}

void pawl_filters_raise(struct pawl_parking *parking)
{
	uint64_t signals = pawl_parking_change(parking);
	const struct pawl_parking_copy *copy;
	size_t i;

	for (copy = parking->copies; copy != NULL; copy = copy->next)
		for (i = 0; i < CELLS; i++)
			/* Relaxed: as in pawl_filters_add. */
			pawl_fetch_add_relaxed(&copy->filter[i].wanted, 1);
	pawl_store_relaxed(&parking->raised, pawl_os_now()); /* Relaxed: [N] */
	pawl_store_release(&parking->fence_bias, 1);	     /* [N] */
	pawl_parking_changed(parking, signals);
}

void pawl_filters_forget(struct pawl_parking *parking)
{
	/* Relaxed, here and below: there is no other thread. */
	uint64_t bias = pawl_load_relaxed(&parking->fence_bias);
	const struct pawl_parking_copy *copy;
	size_t i;

	pawl_store_relaxed(&parking->raising, bias);
	pawl_store_relaxed(&parking->growing, 0);
	for (copy = parking->copies; copy != NULL; copy = copy->next)
		for (i = 0; i < CELLS; i++) {
			pawl_store_relaxed(&copy->filter[i].wanted, bias);
			pawl_store_relaxed(&copy->filter[i].waker, 0);
		}
}
