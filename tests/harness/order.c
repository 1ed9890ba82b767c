/* SPDX-License-Identifier: MIT */
/*
 * Who comes in when. Arrivals are made one at a time: the holder watches the
 * lock's words and lets the next thread go only when it saw the last arrive.
 * So the order of arrival is known, and the order of entry must follow from it.
 */
#include "harness.h"

#include <pawl/thread.h>

#include <stdlib.h>
#include <string.h>

struct ring {
	struct circulation *c;
	void *l;
	int limit;     /* entries to make in all */
	int made;      /* entries made; the holder's */
	int previous;  /* who held the lock before; the holder's */
	int quiet;     /* entries whose holder has looked at the lock; atomic */
	bool stopping; /* nobody arrives any more; atomic */
};

struct member {
	struct ring *ring;
	int who;
};

static void log_event(struct circulation *c, int what, int who)
{
	c->events[c->count++] = (struct event){what, who};
}

static void *go_round(void *argument)
{
	struct member *me = argument;
	struct ring *ring = me->ring;

	/* The same coins in every run: a lock that tosses them is no exception
	 * to the script. */
	pawl_self()->coin = 0x9E3779B97F4A7C15u * (uint64_t)(me->who + 1);
	for (;;) {
		struct image before;
		int entry;
		bool stopping;

		under_test->lock(ring->l);
		log_event(ring->c, ENTERS, me->who);
		ring->c->entries[me->who]++;
		entry = ++ring->made;
		stopping = entry >= ring->limit;
		if (stopping)
			__atomic_store_n(&ring->stopping, true, __ATOMIC_RELEASE);
		/* The one before us arrives when we say so, and we see it. */
		before = lock_image(ring->l);
		__atomic_store_n(&ring->quiet, entry, __ATOMIC_RELEASE);
		if (!stopping && ring->previous >= 0) {
			await_arrival(ring->l, &before);
			log_event(ring->c, ARRIVES, ring->previous);
		}
		ring->previous = me->who;
		under_test->unlock(ring->l);

		while (__atomic_load_n(&ring->quiet, __ATOMIC_ACQUIRE) == entry &&
		       !__atomic_load_n(&ring->stopping, __ATOMIC_ACQUIRE))
			breathe();
		if (__atomic_load_n(&ring->stopping, __ATOMIC_ACQUIRE))
			return NULL;
	}
}

void circulate(struct circulation *c, int threads, int entries)
{
	struct ring ring = {c, lock_make(), entries, 0, -1, 0, false};
	struct member members[COUNT_OF(c->entries)];
	struct crew crew = {.size = 0};
	int i;

	assert_in_range(threads, 2, COUNT_OF(c->entries));
	memset(c, 0, sizeof(*c));
	c->threads = threads;
	c->events = calloc((size_t)(entries + threads) * 2 + 1, sizeof(*c->events));
	assert_non_null(c->events);

	under_test->lock(ring.l);
	for (i = 0; i < threads; i++) {
		struct image before = lock_image(ring.l);

		members[i] = (struct member){&ring, i};
		crew_start(&crew, go_round, &members[i]);
		await_arrival(ring.l, &before);
		log_event(c, ARRIVES, i);
	}
	under_test->unlock(ring.l);
	crew_join(&crew);
	lock_drop(ring.l);
}

void circulation_free(struct circulation *c)
{
	free(c->events);
}

unsigned worst_bypass(const struct circulation *c)
{
	unsigned overtaken[16][16] = {{0}}; /* [waiter][by whom] in this wait */
	bool waiting[16] = {false};
	size_t arrived[16] = {0}, i;
	unsigned worst = 0;
	int w;

	for (i = 0; i < c->count; i++) {
		const struct event *e = &c->events[i];

		if (e->what == ARRIVES) {
			waiting[e->who] = true;
			arrived[e->who] = i;
			memset(overtaken[e->who], 0, sizeof(overtaken[0]));
			continue;
		}
		waiting[e->who] = false;
		for (w = 0; w < c->threads; w++) {
			if (!waiting[w] || arrived[w] > arrived[e->who])
				continue;
			if (++overtaken[w][e->who] > worst)
				worst = overtaken[w][e->who];
		}
	}
	return worst;
}

static void need_order(void)
{
	if (!arrivals_show())
		skip_because("promises no order that could be seen here");
}

/* Everybody who arrived has entered, at most `bound` times overtaken. */
static void check_order(const struct circulation *c)
{
	unsigned allowed = under_test->admission == ADMISSION_FIFO ? 0 : 1;
	unsigned worst = worst_bypass(c);

	if (worst > allowed)
		fail_msg("%s: a thread was overtaken %u times by one other in one "
			 "wait; %u is allowed",
			 under_test->name, worst, allowed);
}

static void waiters_enter_in_the_promised_order(void **state)
{
	struct circulation c;
	int i;

	(void)state;
	need_order();
	/* As many entries as threads: nobody comes back but those that left
	 * before the last of the first arrivals got in. */
	circulate(&c, 8, 8);
	check_order(&c);
	for (i = 0; i < 8; i++)
		assert_in_range(c.entries[i], 1, 2);
	circulation_free(&c);
}

static void circulation_keeps_the_promised_order(void **state)
{
	struct circulation c;

	(void)state;
	need_order();
	circulate(&c, 5, 200);
	check_order(&c);
	circulation_free(&c);
}

static void nobody_is_left_behind(void **state)
{
	struct circulation c;
	int i;

	(void)state;
	need_order();
	circulate(&c, 3, 150);
	/* FIFO gives each a third; one overtaking at most, a quarter or more. */
	for (i = 0; i < 3; i++)
		assert_in_range(c.entries[i], 150 / 4 - 2, 150);
	circulation_free(&c);
}

const struct CMUnitTest order_cases[] = {
	cmocka_unit_test(waiters_enter_in_the_promised_order),
	cmocka_unit_test(circulation_keeps_the_promised_order),
	cmocka_unit_test(nobody_is_left_behind),
};
const size_t order_case_count = COUNT_OF(order_cases);
