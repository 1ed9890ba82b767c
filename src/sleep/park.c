/* SPDX-License-Identifier: MIT */
/*
 * The parking table. See pawl/park.h for the protocol and P1 to P3.
 *
 * Wakers look at the filter, which never moves. Queues are in buckets, behind one
 * pointer, so that the table can grow:
 *
 *   B1  A bucket's lock is good only if its table is still the current one when the lock
 *       was got. The growing thread holds every lock of the old table while it moves the
 *       queues and publishes the new one.
 *   B2  What an old table says stays there: a thread may still look at it.
 *   B3  The bits of the old hash are the first of the new one, so the queues of a new
 *       bucket come from one old bucket, with its number of arrivals.
 *
 * Order: [H] pairs with [L] of pawl/park.h: P1, the sleeper's fence and the waker's.
 * Where the system has no heavy fence, [H] pairs with [F], which every waker then
 * passes: its look at the filter is always too high by one. [M] pairs with [N] of
 * sleep/copies.c: a thread that finds the bias knows that it is in all cells, and since
 * when. [V] pairs with [W]: a woken thread sees what was done before, such as the section
 * of a mutex that it was granted. [T] pairs with [X] of sleep/parking.h: a thread that
 * finds a table finds it filled.
 */
#include "sleep/parking.h"

#include <errno.h>

#include <pawl/thread.h>

/* A waiter polls this long before it sleeps: about what the sleep would cost. */
enum { PARK_SPIN_NS = 4000 };
/* A waiter that must look elsewhere too does not sleep longer than this. */
enum { PARK_LOOK_NS = 20 * 1000 * 1000 };
/* log2 of the most buckets. */
enum { MOST_BITS = 20 };

/*
 * fence_bias is what a cell's `wanted` is while no thread sleeps: 1 where every waker
 * must pass a full fence, for want of a heavy one. It becomes 1 when that is true of all
 * cells; until then wakers look once too often, and after it not once too rarely.
 * `raising`: a thread sees to it. `raised`: when it became 1, on the clock.
 */
/* By then the store of a waker that looked before that has long been seen. */
enum { SETTLED_NS = 1000 * 1000 * 1000 };

/* The table that a value of the parking's `table` stands for. */
static struct pawl_parking_table *table_at(uint64_t address)
{
	return pawl_pointer(address);
}

/* The first use: seeds the hash, and publishes the first table. */
static void start(void)
{
	struct pawl_parking *parking = pawl_parking();
	uint64_t signals = pawl_parking_change(parking);

	/* Relaxed: stored under the lock only. */
	if (pawl_load_relaxed(&parking->table) == 0) {
		parking->first.multiplier = pawl_os_seed() | 1;
		parking->first.bits = PAWL_BUCKET_BITS;
		parking->first.buckets = parking->first_buckets;
		pawl_store_release(&parking->table,
				   pawl_address(&parking->first)); /* [T] */
	}
	pawl_parking_changed(parking, signals);
}

static struct pawl_parking_table *load_table(void)
{
	return pawl_parking_table(pawl_parking());
}

/* Multiply-shift: with a random odd multiplier two addresses share a bucket no more often
 * than chance has it, whatever they are. The steps before it are a bijection: no unlucky
 * multiplier piles up the elements of an array. */
static uint64_t hash_in(const struct pawl_parking_table *table, const volatile void *key)
{
	uint64_t hash = pawl_hash(pawl_raw_place(key), 64);

	return (hash ^ hash >> 32) * table->multiplier;
}

static struct pawl_bucket *bucket_in(const struct pawl_parking_table *table,
				     const volatile void *key)
{
	return &table->buckets[hash_in(table, key) >> (64 - table->bits)];
}

/* The bit of `keys` that is this key's: by the next six bits of the hash. */
static uint64_t bit_in(const struct pawl_parking_table *table, const volatile void *key)
{
	return (uint64_t)1 << (hash_in(table, key) << table->bits >> 58);
}

struct pawl_bucket *pawl_bucket_lock(const volatile void *key)
{
	pawl_critical_enter();
	/* Ends: a table starts once, and grows so often and no more. */
	for (;;) {
		const struct pawl_parking_table *table = load_table();
		struct pawl_bucket *bucket;

		if (table == NULL) {
			start();
			continue;
		}
		bucket = bucket_in(table, key);
		pawl_guard_lock(&bucket->lock);
		if (load_table() == table) /* B1 */
			return bucket;
		pawl_guard_unlock(&bucket->lock);
	}
}

const volatile void *pawl_sleeper_key(const struct pawl_sleeper *sleeper)
{
	return sleeper->key != NULL ? sleeper->key : sleeper->address;
}

/* Makes a queue one of the bucket's, which is of this table. */
static void add_queue(const struct pawl_parking_table *table, struct pawl_bucket *bucket,
		      struct pawl_sleeper *first)
{
	first->previous_queue = NULL;
	first->next_queue = bucket->first;
	if (first->next_queue != NULL)
		first->next_queue->previous_queue = first;
	bucket->first = first;
	/* Relaxed: changed under the lock only. */
	pawl_store_relaxed(&bucket->keys, pawl_load_relaxed(&bucket->keys) |
						  bit_in(table, pawl_sleeper_key(first)));
}

/* Moves the queues of bucket number i to their places in a table of twice the size, which
 * is not published yet. Requires the bucket's lock. The bucket stays as it is (B2). */
static void move_queues(const struct pawl_bucket *from, size_t i,
			const struct pawl_parking_table *to)
{
	struct pawl_sleeper *queue, *next;

	to->buckets[2 * i].arrivals = from->arrivals; /* B3 */
	to->buckets[2 * i + 1].arrivals = from->arrivals;
	for (queue = from->first; queue != NULL; queue = next) {
		next = queue->next_queue;
		add_queue(to, bucket_in(to, pawl_sleeper_key(queue)), queue);
	}
}

/* A table of twice the size, or NULL. */
static struct pawl_parking_table *make_table(const struct pawl_parking_table *old)
{
	struct {
		struct pawl_parking_table table;
		struct pawl_bucket buckets[];
	} *made = NULL;

	if (old->bits < MOST_BITS)
		made = pawl_os_reserve(sizeof(*made) +
				       (sizeof(struct pawl_bucket) << (old->bits + 1)));
	if (made == NULL)
		return NULL;
	made->table.multiplier = old->multiplier;
	made->table.bits = old->bits + 1;
	made->table.buckets = made->buckets;
	return &made->table;
}

/* Doubles this table, if it is still the current one and there is memory. */
static void grow(const struct pawl_parking_table *old)
{
	struct pawl_parking *parking = pawl_parking();
	uint64_t signals = pawl_parking_change(parking);
	struct pawl_parking_table *new = NULL;
	size_t count = (size_t)1 << old->bits, i;

	/* Relaxed: stored under the lock only. */
	if (table_at(pawl_load_relaxed(&parking->table)) == old)
		new = make_table(old);
	if (new != NULL) {
		/* Ends: a thread that holds one of them waits for no other, nor for us. */
		for (i = 0; i < count; i++) {
			pawl_guard_lock(&old->buckets[i].lock);
			move_queues(&old->buckets[i], i, new);
		}
		pawl_store_release(&parking->table, pawl_address(new)); /* [T] B1 */
		for (i = 0; i < count; i++)
			pawl_guard_unlock(&old->buckets[i].lock);
	}
	pawl_parking_changed(parking, signals);
}

void pawl_bucket_unlock(struct pawl_bucket *bucket)
{
	const struct pawl_parking_table *crowded = NULL;

	if (bucket->crowded) {
		bucket->crowded = false;
		crowded = load_table();
	}
	pawl_guard_unlock(&bucket->lock);
	if (crowded != NULL)
		grow(crowded);
	pawl_critical_leave();
}

bool pawl_may_be_parked(const volatile void *key)
{
	const struct pawl_parking_table *table = load_table();

	/* Relaxed: the caller knows of those it asks for. B2: an old table will do. */
	return table != NULL && (pawl_load_relaxed(&bucket_in(table, key)->keys) &
				 bit_in(table, key)) != 0;
}

struct pawl_sleeper *pawl_bucket_find(const struct pawl_bucket *bucket,
				      const volatile void *address)
{
	struct pawl_sleeper *queue = bucket->first;

	while (queue != NULL && queue->address != address)
		queue = queue->next_queue;
	return queue;
}

/* Whether so many addresses are too many. */
static bool is_crowded(const struct pawl_bucket *bucket)
{
	const struct pawl_sleeper *queue;
	uint64_t count = 0;

	if (!PAWL_PARK_GROWS)
		return false;
	for (queue = bucket->first; queue != NULL; queue = queue->next_queue)
		count++;
	return count > PAWL_PARK_CROWD;
}

/* The sleeper in this queue that a new one of this priority comes behind; NULL: none. */
static struct pawl_sleeper *predecessor(struct pawl_sleeper *first, unsigned priority)
{
	struct pawl_sleeper *sleeper = first->last;

	if (sleeper->priority >= priority)
		return sleeper;
	for (sleeper = first; sleeper->priority >= priority;)
		sleeper = sleeper->next;
	return sleeper->previous;
}

/* Makes another sleeper the first of a queue, in the place of this one. */
static void set_first(struct pawl_bucket *bucket, const struct pawl_sleeper *first,
		      struct pawl_sleeper *other)
{
	other->previous = NULL;
	other->last = first->last;
	other->next_queue = first->next_queue;
	other->previous_queue = first->previous_queue;
	if (other->next_queue != NULL)
		other->next_queue->previous_queue = other;
	if (other->previous_queue != NULL)
		other->previous_queue->next_queue = other;
	else
		bucket->first = other;
}

void pawl_bucket_enqueue(struct pawl_bucket *bucket, struct pawl_sleeper *sleeper)
{
	struct pawl_sleeper *first = pawl_bucket_find(bucket, sleeper->address), *before;

	sleeper->arrival = ++bucket->arrivals;
	if (first == NULL) {
		sleeper->next = sleeper->previous = NULL;
		sleeper->last = sleeper;
		add_queue(load_table(), bucket, sleeper);
		bucket->crowded = is_crowded(bucket);
		return;
	}
	before = predecessor(first, sleeper->priority);
	if (before == NULL) {
		set_first(bucket, first, sleeper);
		sleeper->next = first;
	} else {
		sleeper->previous = before;
		sleeper->next = before->next;
		before->next = sleeper;
	}
	if (sleeper->next != NULL)
		sleeper->next->previous = sleeper;
	else
		first->last = sleeper;
}

/* Takes a queue of one sleeper away. */
static void remove_queue(struct pawl_bucket *bucket, const struct pawl_sleeper *only)
{
	if (only->next_queue != NULL)
		only->next_queue->previous_queue = only->previous_queue;
	if (only->previous_queue != NULL)
		only->previous_queue->next_queue = only->next_queue;
	else
		bucket->first = only->next_queue;
	if (bucket->first == NULL)
		pawl_store_relaxed(&bucket->keys, 0); /* Relaxed: as in add_queue */
}

void pawl_bucket_remove(struct pawl_bucket *bucket, struct pawl_sleeper *sleeper)
{
	if (sleeper->previous == NULL && sleeper->next != NULL) {
		set_first(bucket, sleeper, sleeper->next);
		return;
	}
	if (sleeper->previous == NULL) {
		remove_queue(bucket, sleeper);
		return;
	}
	sleeper->previous->next = sleeper->next;
	if (sleeper->next != NULL)
		sleeper->next->previous = sleeper->previous;
	else
		pawl_bucket_find(bucket, sleeper->address)->last = sleeper->previous;
}

void pawl_sleeper_count(struct pawl_sleeper *sleeper)
{
	if (!sleeper->counted)
		pawl_filters_add(pawl_sleeper_key(sleeper), 1);
	sleeper->counted = true;
}

void pawl_sleeper_uncount(struct pawl_sleeper *sleeper)
{
	if (sleeper->counted)
		pawl_filters_add(pawl_sleeper_key(sleeper), (uint64_t)-1);
	sleeper->counted = false;
}

/* From now on every waker takes the slow path, and passes a full fence. */
static void fence_all_wakers(void)
{
	struct pawl_parking *parking = pawl_parking();

	/* Relaxed: a thread that comes second must not sleep for long. */
	if (!pawl_cas_relaxed(&parking->raising, 0, 1))
		return;
	pawl_filters_raise(parking);
}

bool pawl_park_fence(void)
{
	struct pawl_parking *parking = pawl_parking();
	/* Relaxed: the fence below is at least an acquire. */
	bool before = pawl_load_relaxed(&parking->fence_bias) == 0; /* [M] */

	if (pawl_heavy_fence()) /* [H] */
		return true;
	if (before)
		fence_all_wakers();
	/* Relaxed: [M] found it stored. */
	return !before &&
	       pawl_os_now() - pawl_load_relaxed(&parking->raised) > SETTLED_NS;
}

bool pawl_parked_really(const volatile void *key)
{
	uint64_t bias;

	pawl_full_fence(); /* [F] */
	/* Relaxed: after the fence; too high does no harm (P2). The bias first: it must
	 * not be newer than wanted. */
	bias = pawl_load_acquire(&pawl_parking()->fence_bias); /* [M] */
	return pawl_load_relaxed(&pawl_filter_of_(key)->wanted) != bias;
}

bool pawl_sleeper_notify(struct pawl_sleeper *sleeper, enum sleeper_state state)
{
	return pawl_exchange_release(&sleeper->state, state) ==
	       SLEEPER_ASLEEP; /* [V] P3 */
}

bool pawl_sleep(struct pawl_sleeper *sleeper, const struct pawl_deadline *deadline)
{
	bool slept = false;

	/* Relaxed: it says nothing but that we need a system call. Fails if we are woken
	 * already, or sleep for the second time. */
	(void)pawl_cas_relaxed(&sleeper->state, SLEEPER_WAITING, SLEEPER_ASLEEP);
	while (pawl_load_acquire(&sleeper->state) == SLEEPER_ASLEEP) /* [W] */
		if (!pawl_os_sleep(&sleeper->state, SLEEPER_ASLEEP, deadline))
			return false;
		else
			slept = true;
	if (slept && sleeper->told != 0)
		pawl_spin_woken(sleeper->told);
	return true;
}

int pawl_deadline_at(struct pawl_deadline *deadline, int clock,
		     const struct timespec *time)
{
	if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC)
		return EINVAL;
	if (time->tv_nsec < 0 || time->tv_nsec >= 1000000000)
		return EINVAL;
	deadline->realtime = clock == CLOCK_REALTIME;
	deadline->time = *time;
	/* The system takes no time before the clock's beginning. */
	if (time->tv_sec < 0)
		deadline->time = (struct timespec){.tv_sec = 0};
	return 0;
}

struct pawl_deadline pawl_deadline_in(uint64_t ns)
{
	struct pawl_deadline deadline = {.realtime = false};
	uint64_t then = pawl_os_now() + ns;

	deadline.time.tv_sec = (time_t)(then / 1000000000u);
	deadline.time.tv_nsec = (long)(then % 1000000000u);
	return deadline;
}

static bool satisfied(enum pawl_until until, uint64_t wanted, uint64_t value)
{
	return (until == PAWL_UNTIL_EQ) == (wanted == value);
}

void pawl_park_(const pawl_atomic64 *w, enum pawl_until until, uint64_t value)
{
	pawl_park_for(w, until, value, UINT64_MAX);
}

void pawl_park_for(const pawl_atomic64 *w, enum pawl_until until, uint64_t value,
		   uint64_t ns)
{
	struct pawl_bucket *bucket;
	struct pawl_sleeper me = {.address = w, .until = until, .value = value};
	struct pawl_deadline deadline;
	struct pawl_spin spin;
	bool bounded = until == PAWL_UNTIL_CHANGE || ns < PARK_LOOK_NS;

	pawl_spin_begin(&spin, PARK_SPIN_NS);
	do
		/* Relaxed: the caller looks again, with the order it needs. */
		if (satisfied(until, value, pawl_load_relaxed(w)))
			return;
	while (pawl_spin_again(&spin));

	bucket = pawl_bucket_lock(w);
	pawl_bucket_enqueue(bucket, &me);
	pawl_sleeper_count(&me);
	pawl_bucket_unlock(bucket);
	if (!pawl_park_fence()) /* [H] */
		bounded = true;
	if (bounded)
		deadline = pawl_deadline_in(ns < PARK_LOOK_NS ? ns : PARK_LOOK_NS);
	/* Relaxed: P1; the caller looks again, with the order it needs. */
	if (!satisfied(until, value, pawl_load_relaxed(w)) &&
	    pawl_sleep(&me, bounded ? &deadline : NULL))
		return;
	/* Not woken: leave, unless a waker is at it this moment. */
	bucket = pawl_bucket_lock(w);
	/* Relaxed: wakers change it under the lock only. */
	if (pawl_load_relaxed(&me.state) <= SLEEPER_ASLEEP) {
		pawl_sleeper_uncount(&me);
		pawl_bucket_remove(bucket, &me);
	}
	pawl_bucket_unlock(bucket);
}

void pawl_unpark_(const pawl_atomic64 *w, uint64_t value)
{
	struct pawl_bucket *bucket;
	struct pawl_sleeper *sleeper;
	uint64_t last = 0;
	bool asleep = false;

	do {
		if (!pawl_parked_really(w))
			return;
		bucket = pawl_bucket_lock(w);
		/* A sleeper that comes after this has seen our store, and may come back to
		 * the same word for something else, again and again if it outranks us. */
		if (last == 0)
			last = bucket->arrivals;
		sleeper = pawl_bucket_find(bucket, w);
		while (sleeper != NULL &&
		       !satisfied(sleeper->until, sleeper->value, value))
			sleeper = sleeper->next;
		if (sleeper != NULL && sleeper->arrival > last)
			sleeper = NULL; /* in order of arrival: none has a priority */
		if (sleeper != NULL) {
			pawl_sleeper_uncount(sleeper);
			pawl_bucket_remove(bucket, sleeper);
			asleep = pawl_sleeper_notify(sleeper, SLEEPER_WOKEN);
		}
		pawl_bucket_unlock(bucket);
		if (sleeper != NULL && asleep)
			pawl_os_wake(&sleeper->state); /* an address, no more */
	} while (sleeper != NULL);
}

void pawl_park_drop(const volatile void *key, const volatile void *address)
{
	struct pawl_bucket *bucket;
	struct pawl_sleeper *sleeper;

	/* Every init and destroy comes here, and hardly any finds a waiter. */
	if (!pawl_may_be_parked(key))
		return;
	bucket = pawl_bucket_lock(key);
	while ((sleeper = pawl_bucket_find(bucket, address)) != NULL) {
		pawl_sleeper_uncount(sleeper);
		pawl_bucket_remove(bucket, sleeper);
		sleeper->address = NULL;
	}
	pawl_bucket_unlock(bucket);
}

/* The child of a fork has one thread, and that one does not sleep. A table that another
 * thread was about to publish is not used. */
void pawl_park_forget(void)
{
	struct pawl_parking *parking = pawl_parking();
	/* Relaxed, here and below: there is no other thread. */
	const struct pawl_parking_table *table = table_at(
		pawl_load_relaxed(&parking->table));
	size_t i;

	if (!pawl_os_part_forked(PAWL_PART_PARKING))
		return;
	pawl_filters_forget(parking);
	for (i = 0; table != NULL && i < (size_t)1 << table->bits; i++) {
		struct pawl_bucket *bucket = &table->buckets[i];

		bucket->first = NULL;
		bucket->crowded = false;
		pawl_store_relaxed(&bucket->keys, 0);
		pawl_store_relaxed(&bucket->lock, 0);
	}
}
