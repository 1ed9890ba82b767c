/* SPDX-License-Identifier: MIT */
/*
 * The parking table, src/sleep/park.c: where the system refuses the heavy fence, to every
 * thread and for long, or from one moment on; and where the table changes: at its first
 * use, and when it grows. That a sleeper and a waker see each other is what all locks that
 * sleep rely on. Part of the simulated world, like scenario.c.
 */
#include "outside.h"

#include "../../src/sleep/parking.h"

#include <pawl/runtime.h>

#include <sim/runtime.h>

enum { PLACES = 16, QUEUED = 4, TESTERS = 2 };

static struct scene {
	pawl_atomic64 word; /* what is waited for */
	uint64_t given;	    /* plain: what comes with it */
	pawl_atomic64 settled;
	pawl_atomic64 places[PLACES];
	struct pawl_sleeper sleepers[TESTERS][QUEUED];
} * scene;

/* Whose clock says that wakers have long seen the refusal; a thread's own. */
static bool later[MAX_THREADS];

OUTSIDE static uint64_t time_of_thread(void)
{
	return later[explore_thread()] ? UINT64_MAX : 0;
}

OUTSIDE static void wait_for_long(void)
{
	later[explore_thread()] = true;
}

OUTSIDE static bool refused_to_last(void)
{
	return explore_thread() == 2;
}

OUTSIDE static void start_clocks(void)
{
	int t;

	for (t = 0; t < MAX_THREADS; t++)
		later[t] = false;
	sim_clock = time_of_thread;
}

static void set_up(void *argument)
{
	(void)argument;
	scene = explore_allocate(sizeof(*scene), 128);
	explore_label(scene, "scene");
	start_clocks();
}

static void await_word(void)
{
	pawl_await_eq_acquire(&scene->word, 1, PAWL_PARK);
	if (scene->given != 1)
		explore_fail(VERDICT_ASSERTION, "woken, and nothing is there");
}

static void give_word(void)
{
	scene->given = 1;
	pawl_store_release(&scene->word, 1);
	pawl_notify(&scene->word, 1, PAWL_PARK);
}

/* settled: the refusal is old, so a sleeper trusts that wakers pass a fence. */
static void settled_thread(void *argument, int thread)
{
	(void)argument;
	if (thread == 0) {
		pawl_park_fence();
		wait_for_long();
		pawl_store_release(&scene->settled, 1);
		await_word();
	} else {
		pawl_await_eq_acquire(&scene->settled, 1, PAWL_SPIN);
		give_word();
	}
}

/* half-way: one sleeps, having passed the fence; then it is refused to another. */
static void half_way_set_up(void *argument)
{
	set_up(argument);
	sim_refuses = refused_to_last;
}

static void half_way_thread(void *argument, int thread)
{
	(void)argument;
	if (thread == 0)
		await_word();
	else if (thread == 1)
		give_word();
	else
		pawl_park_fence();
}

/* together: several find out at the same time. */
static void together_thread(void *argument, int thread)
{
	(void)argument, (void)thread;
	if (thread == 0)
		wait_for_long();
	pawl_park_fence();
}

/* Each bucket is crowded that has two addresses; `started`: it is not the first use. */
OUTSIDE static void change_table(bool started)
{
	sim_park_crowd = 1;
	pawl_process_parking->table.raw =
		started ? pawl_address(&pawl_process_parking->first) : 0;
}

/* Another address in the bucket of this one, as long as the table is small. */
static const pawl_atomic64 *neighbour_of(const pawl_atomic64 *w)
{
	const pawl_atomic64 *place = scene->places;

	while (pawl_filter_of_(place) != pawl_filter_of_(w))
		if (++place == scene->places + PLACES)
			pawl_die_("no place is in that bucket");
	return place;
}

/* Queues for a moment in the bucket of the word, beside the thread that waits for it. */
static void crowd_bucket(void)
{
	struct pawl_sleeper other = {.address = neighbour_of(&scene->word)};
	struct pawl_bucket *bucket = pawl_bucket_lock(other.address);

	pawl_bucket_enqueue(bucket, &other);
	pawl_bucket_unlock(bucket);
	bucket = pawl_bucket_lock(other.address);
	pawl_bucket_remove(bucket, &other);
	pawl_bucket_unlock(bucket);
}

/* grows, no-memory: one sleeps and one wakes it while a third makes the table grow. */
static void grows_set_up(void *argument)
{
	set_up(argument);
	change_table(true);
}

OUTSIDE static void refuse_memory(void)
{
	sim_reserves = 0;
}

static void no_memory_set_up(void *argument)
{
	grows_set_up(argument);
	refuse_memory();
}

static void grows_thread(void *argument, int thread)
{
	(void)argument;
	if (thread == 0)
		await_word();
	else if (thread == 1)
		give_word();
	else
		crowd_bucket();
}

/* first-use: two threads are the first to queue. */
static void first_use_set_up(void *argument)
{
	set_up(argument);
	change_table(false);
}

static void first_use_thread(void *argument, int thread)
{
	(void)argument;
	if (thread == 0) {
		await_word();
	} else {
		crowd_bucket();
		give_word();
	}
}

static void expect(bool truth, const char *what)
{
	if (!truth)
		explore_fail(VERDICT_ASSERTION, "%s", what);
}

/* The queue of an address has these sleepers, in this order: by priority, and in order of
 * arrival. */
static void expect_queue(struct pawl_bucket *bucket, const volatile void *address,
			 struct pawl_sleeper *const *them, int count)
{
	struct pawl_sleeper *first = pawl_bucket_find(bucket, address), *sleeper = first;
	int i;

	for (i = 0; i < count; i++, sleeper = sleeper->next) {
		expect(sleeper == them[i], "another sleeper is in its place");
		expect(sleeper->previous == (i > 0 ? them[i - 1] : NULL),
		       "another sleeper is before it");
		expect(i == 0 || sleeper->priority < them[i - 1]->priority ||
			       sleeper->arrival > them[i - 1]->arrival,
		       "it came after the one behind it");
	}
	expect(sleeper == NULL, "the queue is longer");
	expect(count == 0 || first->last == them[count - 1], "another sleeper is last");
}

/* queues: two threads have a queue each in one bucket, and the table grows meanwhile. */
static void queues_thread(void *argument, int thread)
{
	const pawl_atomic64 *address = thread == 0 ? &scene->word
						   : neighbour_of(&scene->word);
	struct pawl_sleeper *s = scene->sleepers[thread];
	struct pawl_bucket *bucket;
	int i;

	(void)argument;
	for (i = 0; i < QUEUED; i++)
		s[i].address = address;
	bucket = pawl_bucket_lock(address);
	for (i = 0; i < QUEUED - 1; i++)
		pawl_bucket_enqueue(bucket, &s[i]);
	expect_queue(bucket, address, (struct pawl_sleeper *[]){&s[0], &s[1], &s[2]}, 3);
	pawl_bucket_unlock(bucket);

	expect(pawl_may_be_parked(address), "queued, and not to be found");
	bucket = pawl_bucket_lock(address);
	pawl_bucket_remove(bucket, &s[thread == 0 ? 0 : 2]); /* the first, or the last */
	pawl_bucket_enqueue(bucket, &s[3]);
	pawl_bucket_remove(bucket,
			   &s[thread == 0 ? 2 : 0]); /* in the middle, or the first */
	expect_queue(bucket, address, (struct pawl_sleeper *[]){&s[1], &s[3]}, 2);
	pawl_bucket_remove(bucket, &s[1]);
	pawl_bucket_remove(bucket, &s[3]);
	expect_queue(bucket, address, NULL, 0);
	pawl_bucket_unlock(bucket);
}

/* priorities: the same of sleepers that do not come in the order of their priorities. */
static void priorities_thread(void *argument, int thread)
{
	static const unsigned priorities[QUEUED] = {1, 3, 1, 2};
	const pawl_atomic64 *address = thread == 0 ? &scene->word
						   : neighbour_of(&scene->word);
	struct pawl_sleeper *s = scene->sleepers[thread];
	struct pawl_bucket *bucket;
	int i;

	(void)argument;
	bucket = pawl_bucket_lock(address);
	for (i = 0; i < QUEUED; i++) {
		s[i].address = address;
		s[i].priority = priorities[i];
		pawl_bucket_enqueue(bucket, &s[i]);
	}
	pawl_bucket_unlock(bucket);

	bucket = pawl_bucket_lock(address);
	expect_queue(bucket, address,
		     (struct pawl_sleeper *[]){&s[1], &s[3], &s[0], &s[2]}, QUEUED);
	pawl_bucket_remove(bucket, &s[1]);
	pawl_bucket_remove(bucket, &s[2]);
	expect_queue(bucket, address, (struct pawl_sleeper *[]){&s[3], &s[0]}, 2);
	pawl_bucket_remove(bucket, &s[3]);
	pawl_bucket_enqueue(bucket, &s[1]);
	expect_queue(bucket, address, (struct pawl_sleeper *[]){&s[1], &s[0]}, 2);
	pawl_bucket_remove(bucket, &s[1]);
	pawl_bucket_remove(bucket, &s[0]);
	expect_queue(bucket, address, NULL, 0);
	pawl_bucket_unlock(bucket);
}

const struct lock_type park_types[] = {
	{.name = "park", .base = "park", .header = "pawl/park.h"},
	{.name = NULL},
};

const struct scenario park_scenarios[] = {
	{"settled", "membarrier was refused long ago", 2, 2, 1, 1, always, passes, set_up,
	 settled_thread, NULL, .without_membarrier = true},
	{"half-way", "membarrier is refused while somebody sleeps", 3, 3, 1, 1, always,
	 passes, half_way_set_up, half_way_thread, NULL},
	{"together", "several find out that membarrier is refused", 3, 3, 1, 1, always,
	 passes, set_up, together_thread, NULL, .without_membarrier = true},
	{"grows", "the table grows between a sleeper and its waker", 3, 3, 1, 1, always,
	 passes, grows_set_up, grows_thread, NULL},
	{"no-memory", "the table cannot grow", 3, 3, 1, 1, always, passes,
	 no_memory_set_up, grows_thread, NULL},
	{"first-use", "two threads are the first to queue", 2, 2, 1, 1, always, passes,
	 first_use_set_up, first_use_thread, NULL},
	{"queues", "queues change while the table grows", 2, 2, 1, 1, always, passes,
	 grows_set_up, queues_thread, NULL},
	{"priorities", "sleepers of other priorities queue while the table grows", 2, 2,
	 1, 1, always, passes, grows_set_up, priorities_thread, NULL},
	{.name = NULL},
};
