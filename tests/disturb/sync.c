/* SPDX-License-Identifier: MIT */
/*
 * A mutex and a condition variable, whoever supplies them: SYNC is pawl_sync.h or
 * pthread_sync.h.
 */
#include "stage.h"
#include SYNC

#include <errno.h>

enum { SECTIONS = 20, SOON_NS = 1000000 };

static mutex m;
static condition c;
static int flag;    /* what conditions are about; under m */
static bool held;   /* by the service */
static int outcome; /* of the victim */

static void begin(void)
{
	stage_demand(begin_sync(), "objects cannot be made");
}

static void prepare(void)
{
	flag = 0;
	outcome = 0;
}

static void pass(void)
{
	lock(&m);
	stage_section();
	unlock(&m);
}

static void check(void)
{
	stage_demand(try_lock(&m), "the mutex stays locked");
	unlock(&m);
}

/* The service. */

static void hold(void)
{
	lock(&m);
	held = true;
}

static void let_go(void)
{
	stage_section();
	held = false;
	unlock(&m);
}

static void use(void)
{
	bool again = held;
	int i;

	if (held)
		let_go();
	for (i = 0; i < 3; i++)
		pass();
	if (again)
		hold();
}

static void pass_often(void)
{
	int i;

	for (i = 0; i < SECTIONS; i++)
		pass();
}

/* Two threads take turns: flag is whose it is. */
static void take_turns(void)
{
	static _Atomic int arrivals;
	int me = atomic_fetch_add(&arrivals, 1) % 2, i;

	for (i = 0; i < SECTIONS; i++) {
		lock(&m);
		while (flag != me)
			wait_for(&c, &m);
		stage_section();
		flag = 1 - me;
		signal_one(&c);
		unlock(&m);
	}
}

/* In the child of a fork: what this thread holds is its own; what others held stays
 * locked, and begins a new life. */
static void child(void)
{
	if (held || try_lock(&m))
		unlock(&m);
	else
		reset(&m);
	flag = 0;
	stage_both(pass_often);
	stage_both(take_turns);
	lock(&m);
	unlock(&m);
}

/* The victims. */

static void take(void)
{
	lock(&m);
}

static void leave(void)
{
	stage_section();
	unlock(&m);
}

static void take_in_time(void)
{
	struct timespec time = stage_in(CLOCK_REALTIME, SOON_NS);

	outcome = lock_until(&m, &time);
}

static void leave_if_taken(void)
{
	stage_demand(outcome == 0 || outcome == ETIMEDOUT, "an odd error");
	if (outcome == 0)
		leave();
}

static void release(void)
{
	unlock(&m);
}

static void take_first(void)
{
	lock(&m);
	stage_section();
}

static void await_flag(void)
{
	while (flag == 0)
		wait_for(&c, &m);
}

static void await_flag_in_time(void)
{
	struct timespec time = stage_in(CLOCK_REALTIME, SOON_NS);

	while (flag == 0 && outcome == 0)
		outcome = wait_until(&c, &m, &time);
}

static void leave_checked(void)
{
	stage_demand(flag == 1 || outcome == ETIMEDOUT, "woken for nothing");
	leave();
}

static void raise_flag(void)
{
	lock(&m);
	flag = 1;
	stage_section();
}

static void tell_one(void)
{
	raise_flag();
	signal_one(&c);
	unlock(&m);
}

static void tell_all(void)
{
	raise_flag();
	signal_all(&c);
	unlock(&m);
}

/* The partners. */

static void queue_up(void)
{
	stage_placed();
	pass();
}

/* Comes behind the victim. */
static void queue_up_last(void)
{
	stage_placed();
	while (!has_queue(&m) && !stage_is_over())
		stage_nap();
	pass();
}

static void wait_for_flag(void)
{
	lock(&m);
	stage_placed();
	await_flag();
	leave();
}

static void be_due(void)
{
	make_due(&m);
}

/* All but what a scenario is about. */
#define PLAY                                                                       \
	.kinds = 1 << SIGNAL | 1 << FORK | 1 << FREEZE, .begin = begin,            \
	.prepare = prepare, .handler = use_in_handler, .use = use, .child = child, \
	.check = check

const struct scenario scenarios[] = {
	{.name = "mutex.lock",
	 PLAY,
	 .hold = hold,
	 .victim = take,
	 .let_go = let_go,
	 .after = leave},
	{.name = "mutex.queue",
	 PLAY,
	 .partners = 1,
	 .hold = hold,
	 .partner = queue_up,
	 .victim = take,
	 .let_go = let_go,
	 .after = leave},
	{.name = "mutex.timedlock",
	 PLAY,
	 .late = true,
	 .hold = hold,
	 .victim = take_in_time,
	 .let_go = let_go,
	 .after = leave_if_taken},
	{.name = "mutex.unlock",
	 PLAY,
	 .partners = 1,
	 .before = take_first,
	 .partner = queue_up,
	 .victim = release},
	{.name = "cond.wait",
	 PLAY,
	 .before = take,
	 .victim = await_flag,
	 .let_go = tell_one,
	 .after = leave_checked},
	{.name = "cond.timedwait",
	 PLAY,
	 .late = true,
	 .before = take,
	 .victim = await_flag_in_time,
	 .let_go = tell_one,
	 .after = leave_checked},
	{.name = "cond.signal",
	 PLAY,
	 .partners = 1,
	 .partner = wait_for_flag,
	 .victim = tell_one},
	{.name = "cond.broadcast",
	 PLAY,
	 .partners = 2,
	 .partner = wait_for_flag,
	 .victim = tell_all},
	{.name = SEES_INSIDE ? "mutex.grant" : NULL,
	 PLAY,
	 .partners = 1,
	 .before = take_first,
	 .partner = queue_up,
	 .poise = be_due,
	 .victim = release},
	{.name = "mutex.leave",
	 PLAY,
	 .partners = 1,
	 .late = true,
	 .hold = hold,
	 .partner = queue_up_last,
	 .victim = take_in_time,
	 .let_go = let_go,
	 .after = leave_if_taken},
	{.name = NULL},
};
