/* SPDX-License-Identifier: MIT */
/*
 * Two copies of the parking code that share one parking table, src/sleep/copies.c. The
 * first is the one that all scenarios have; the second is compiled here, under other names,
 * with a filter of its own. Part of the simulated world, like scenario.c.
 */
#define sim_filter	    second_filter
#define sim_process_parking second_process_parking
#define sim_park_join	    second_park_join
#define sim_park_joined	    second_park_joined
#define sim_park_leave	    second_park_leave
#define sim_parking_change  second_parking_change
#define sim_parking_changed second_parking_changed
#define sim_filters_add	    second_filters_add
#define sim_filters_raise   second_filters_raise
#define sim_filters_forget  second_filters_forget
#define sim_sleeper_key	    second_sleeper_key
#define sim_park	    second_park
#define sim_park_for	    second_park_for
#define sim_unpark	    second_unpark
#define sim_bucket_lock	    second_bucket_lock
#define sim_bucket_unlock   second_bucket_unlock
#define sim_bucket_find	    second_bucket_find
#define sim_bucket_enqueue  second_bucket_enqueue
#define sim_bucket_remove   second_bucket_remove
#define sim_may_be_parked   second_may_be_parked
#define sim_sleeper_count   second_sleeper_count
#define sim_sleeper_uncount second_sleeper_uncount
#define sim_sleeper_notify  second_sleeper_notify
#define sim_sleeper_sleep   second_sleeper_sleep
#define sim_parked_really   second_parked_really
#define sim_park_fence	    second_park_fence
#define sim_park_forget	    second_park_forget
#define sim_park_drop	    second_park_drop
#define sim_deadline_at	    second_deadline_at
#define sim_deadline_in	    second_deadline_in
#define sim_os_part	    second_os_part
#include "outside.h"

#include <pawl/word.h>

/* Only the second copy may have to join. */
static bool joins;
#undef PAWL_PARK_JOINS
#define PAWL_PARK_JOINS joins

#include <sleep/copies.c>
#include <sleep/park.c>

#include <sim/runtime.h>

/* Of the first copy. */
extern struct pawl_parking *first_process_parking __asm__("sim_process_parking");
extern struct pawl_filter first_filter[] __asm__("sim_filter");
void first_park(const pawl_atomic64 *w, enum pawl_until until,
		uint64_t value) __asm__("sim_park");
void first_unpark(const pawl_atomic64 *w, uint64_t value) __asm__("sim_unpark");
void first_leave(void) __asm__("sim_park_leave");
bool first_fence(void) __asm__("sim_park_fence");

static struct pawl_parking_copy first = {.filter = first_filter};

/* Where the second copy finds what the process has once. */
OUTSIDE void *second_os_part(enum pawl_part part, size_t bytes)
{
	(void)part, (void)bytes;
	return first_process_parking;
}

static struct scene {
	pawl_atomic64 word; /* what is waited for */
	uint64_t given;	    /* plain: what comes with it */
	pawl_atomic64 settled;
} * scene;

/* A process with both copies, of which the first is listed, and the second if it `joined`. */
OUTSIDE static void list_copies(bool joined)
{
	joins = !joined;
	pawl_process_parking = first_process_parking;
	first.next = NULL;
	own_copy.next = &first;
	first_process_parking->copies = joined ? &own_copy : &first;
	__builtin_memset(pawl_filter_, 0, sizeof(pawl_filter_));
}

static void set_up(bool joined)
{
	scene = explore_allocate(sizeof(*scene), 128);
	explore_label(scene, "scene");
	list_copies(joined);
}

static void joined_set_up(void *argument)
{
	(void)argument;
	set_up(true);
}

static void late_set_up(void *argument)
{
	(void)argument;
	set_up(false);
}

static void look(void)
{
	if (scene->given != 1)
		explore_fail(VERDICT_ASSERTION, "woken, and nothing is there");
}

static void await_in_first(void)
{
	while (pawl_load_acquire(&scene->word) != 1)
		first_park(&scene->word, PAWL_UNTIL_EQ, 1);
	look();
}

static void await_in_second(void)
{
	pawl_await_eq_acquire(&scene->word, 1, PAWL_PARK);
	look();
}

/* As pawl_notify has it in the first copy's inline code. */
static void give_in_first(void)
{
	size_t cell = pawl_hash(pawl_raw_place(&scene->word), PAWL_FILTER_BITS);

	scene->given = 1;
	pawl_store_release(&scene->word, 1);
	pawl_bare_light_fence();
	if (pawl_load_relaxed(&first.filter[cell].wanted) != 0)
		first_unpark(&scene->word, 1);
}

static void give_in_second(void)
{
	scene->given = 1;
	pawl_store_release(&scene->word, 1);
	pawl_notify(&scene->word, 1, PAWL_PARK);
}

/* both: each copy's waker wakes the other's sleeper. */
static void first_to_second(void *argument, int thread)
{
	(void)argument;
	if (thread == 0)
		await_in_second();
	else
		give_in_first();
}

static void second_to_first(void *argument, int thread)
{
	(void)argument;
	if (thread == 0)
		await_in_first();
	else
		give_in_second();
}

/* first-use: two threads of the second copy are the first to look for its parking. */
static void look_first(void *argument, int thread)
{
	(void)argument;
	if (thread == 0) {
		await_in_second();
	} else {
		give_in_second();
		(void)pawl_parked_really(&scene->word);
	}
}

/* late: the second copy joins while a thread of the first falls asleep, and wakes it. */
static void join_and_give(void *argument, int thread)
{
	(void)argument;
	if (thread == 0) {
		await_in_first();
	} else {
		pawl_park_join();
		give_in_second();
	}
}

/* leaves: the second copy leaves while a thread of the first falls asleep; a thread that
 * still runs there wakes it. */
static void leave_and_give(void *argument, int thread)
{
	(void)argument;
	if (thread == 0) {
		await_in_first();
	} else {
		pawl_park_leave();
		give_in_second();
	}
}

/* refused: the second copy joins while the first finds out that the heavy fence is refused;
 * a sleeper trusts that every copy's wakers pass a fence. */
static bool later;

OUTSIDE static uint64_t clock_later(void)
{
	return later ? UINT64_MAX : 0;
}

OUTSIDE static void wait_for_long(void)
{
	later = true;
}

OUTSIDE static void start_clock(void)
{
	later = false;
	sim_clock = clock_later;
}

static void refused_set_up(void *argument)
{
	late_set_up(argument);
	start_clock();
}

static void join_refused(void *argument, int thread)
{
	(void)argument;
	if (thread == 0) {
		first_fence();
		wait_for_long();
		pawl_store_release(&scene->settled, 1);
		await_in_first();
	} else {
		pawl_park_join();
		pawl_await_eq_acquire(&scene->settled, 1, PAWL_SPIN);
		give_in_second();
	}
}

const struct lock_type copies_types[] = {
	{.name = "copies", .base = "copies", .header = "pawl/park.h"},
	{.name = NULL},
};

const struct scenario copies_scenarios[] = {
	{"to-second", "a waker of the first copy, a sleeper of the second", 2, 2, 1, 1,
	 always, passes, joined_set_up, first_to_second, NULL},
	{"to-first", "a waker of the second copy, a sleeper of the first", 2, 2, 1, 1,
	 always, passes, joined_set_up, second_to_first, NULL},
	{"first-use", "two threads are the first of their copy", 2, 2, 1, 1, always,
	 passes, late_set_up, look_first, NULL},
	{"late", "a copy joins beside a sleeper, and wakes it", 2, 2, 1, 1, always,
	 passes, late_set_up, join_and_give, NULL},
	{"leaves", "a copy leaves beside a sleeper, and wakes it", 2, 2, 1, 1, always,
	 passes, joined_set_up, leave_and_give, NULL},
	{"refused", "a copy joins while membarrier is refused", 2, 2, 1, 1, always,
	 passes, refused_set_up, join_refused, NULL, .without_membarrier = true},
	{.name = NULL},
};
