/* SPDX-License-Identifier: MIT */
/* Semaphores and seqlocks. */
#include "cases.h"

#include <pawl/mcs.h>
#include <pawl/semaphore.h>
#include <pawl/seqlock.h>

#include <sched.h>

static struct pawl_semaphore semaphore;
static bool timed;

static void wait_for_it(void)
{
	struct timespec later;

	if (!timed) {
		pawl_semaphore_wait(&semaphore);
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &later);
	later.tv_sec += 600;
	demand(pawl_semaphore_timedwait(&semaphore, CLOCK_MONOTONIC, &later) == 0,
	       "there is time");
}

/* The unit is taken at first, and posted when the other sleeps. */
static void post(void)
{
	await_step(1);
	await_parked();
	guarded++;
	pawl_semaphore_post(&semaphore);
}

static void wait(void)
{
	reach(1);
	wait_for_it();
	guarded++;
}

static void posted(void)
{
	semaphore = (struct pawl_semaphore)PAWL_SEMAPHORE_INIT;
	pawl_semaphore_wait(&semaphore);
	together(post, wait);
}

static void posted_in_time(void)
{
	timed = true;
	posted();
	timed = false;
}

static void post_and_touch(void)
{
	await_step(1);
	pawl_semaphore_post(&semaphore);
	exposed++;
}

static void wait_and_touch(void)
{
	reach(1);
	wait_for_it();
	exposed++;
}

static void touched_after_post(void)
{
	semaphore = (struct pawl_semaphore)PAWL_SEMAPHORE_INIT;
	pawl_semaphore_wait(&semaphore);
	together(post_and_touch, wait_and_touch);
}

/*
 * Explicit faces, and a waiter that gives up with another one behind it: a queue
 * node of its own becomes the record that the other finds, and keeps.
 */
static struct pawl_hapax_core hapax;
static struct pawl_hapax_context holder;
static struct pawl_mcs_core mcs[2];

static void use_a_node(struct pawl_mcs_core *l)
{
	struct pawl_mcs_context context;

	pawl_mcs_acquire_(l, &context, PAWL_SPIN);
	pawl_mcs_release_(l, &context, PAWL_SPIN);
}

static uint64_t last_to_arrive(void)
{
	return pawl_load_relaxed(&hapax.arrive);
}

static void give_up(void)
{
	struct pawl_hapax_context context;
	struct timespec soon;

	use_a_node(&mcs[0]);
	clock_gettime(CLOCK_MONOTONIC, &soon);
	soon.tv_sec++; /* time for the other to arrive */
	demand(pawl_hapax_timed_acquire_(&hapax, &context, PAWL_PARK, CLOCK_MONOTONIC,
					 &soon) == ETIMEDOUT,
	       "it is held");
	reach(1);
	await_step(2); /* its exit is not to order anything */
}

static void come_behind(void)
{
	struct pawl_hapax_context context;

	while (last_to_arrive() == holder.hapax)
		sched_yield();
	pawl_hapax_acquire_(&hapax, &context, PAWL_PARK);
	use_a_node(&mcs[1]);
	guarded++;
	pawl_hapax_release_(&hapax, &context, PAWL_PARK);
	reach(2);
}

static void release_then(void)
{
	await_step(1);
	guarded++;
	pawl_hapax_release_(&hapax, &holder, PAWL_PARK);
	await_step(2);
}

static void wait_both(void)
{
	together(give_up, come_behind);
}

static void given_up(void)
{
	pawl_hapax_acquire_(&hapax, &holder, PAWL_PARK);
	together(wait_both, release_then);
}

/* A record, and beside it what its first word tells of. */
struct record {
	uint64_t count, twice;
};

enum { WRITES = 200 };

static struct pawl_seqlock seqlock;
static pawl_atomic64 words[PAWL_SEQLOCK_WORDS(sizeof(struct record))];
static uint64_t beside[WRITES + 1];

static void write_records(void)
{
	struct record r;

	for (r.count = 1; r.count <= WRITES; r.count++) {
		r.twice = 2 * r.count;
		beside[r.count] = r.count;
		demand(pawl_seqlock_write(&seqlock, words, &r, sizeof(r)),
		       "there is one writer");
		if (r.count % 16 == 0)
			sched_yield();
	}
}

static void read_records(void)
{
	struct record r;

	do {
		pawl_seqlock_read(&seqlock, words, &r, sizeof(r));
		demand(r.twice == 2 * r.count, "a record is whole");
		demand(beside[r.count] == r.count, "what it tells of is there");
	} while (r.count < WRITES);
}

static void record(void)
{
	const struct record zero = {0, 0};

	demand(pawl_seqlock_write(&seqlock, words, &zero, sizeof(zero)),
	       "nobody else writes");
	together(write_records, read_records);
}

static void write_and_touch(void)
{
	struct record r = {1, 2};

	pawl_seqlock_write(&seqlock, words, &r, sizeof(r));
	exposed++;
	reach(1);
}

static void read_and_touch(void)
{
	struct record r;

	await_step(1);
	pawl_seqlock_read(&seqlock, words, &r, sizeof(r));
	exposed++;
}

static void touched_after_write(void)
{
	together(write_and_touch, read_and_touch);
}

void test_others(void)
{
	clean("semaphore", "wait", posted);
	clean("semaphore", "timedwait", posted_in_time);
	racy("semaphore", "touched after post", touched_after_post);
	clean("hapax", "given up", given_up);
	clean("seqlock", "record", record);
	racy("seqlock", "touched after write", touched_after_write);
}
