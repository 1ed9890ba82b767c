/* SPDX-License-Identifier: MIT */
/*
 * A signal handler that jumps out of pthread_mutex_timedlock or pthread_cond_timedwait,
 * wherever that is: threads that wait before or behind come through all the same. The
 * mutex is held throughout, so that the victim never gets it. In a condition wait the
 * mutex is the victim's own, for it may keep it; one signal, later, is for the partner.
 */
#include "stage.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <string.h>

enum { LONG_NS = 100 * 1000 * 1000 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static sigjmp_buf way_out;
static volatile bool armed; /* the victim is inside */

/* Where the interposer's mutex has what it counts for its queue: 0 if nobody is there. */
static bool has_queue(void)
{
	uint32_t words[4];

	memcpy(words, (const void *)&m, sizeof(words));
	return words[2] != 0;
}

static void pass(void)
{
	pthread_mutex_lock(&m);
	stage_section();
	pthread_mutex_unlock(&m);
}

static void hold(void)
{
	pthread_mutex_lock(&m);
}

static void let_go(void)
{
	stage_section();
	pthread_mutex_unlock(&m);
}

static void jump(void)
{
	if (!armed)
		return;
	armed = false;
	atomic_fetch_add(&page->handled, 1);
	siglongjmp(way_out, 1);
}

static void take_or_jump(void)
{
	const struct timespec time = stage_in(CLOCK_REALTIME, LONG_NS);

	if (sigsetjmp(way_out, 1) != 0)
		return;
	armed = true;
	stage_demand(pthread_mutex_timedlock(&m, &time) == ETIMEDOUT, "it was held");
	armed = false;
}

/* Other frames come where the wait's were. */
static __attribute__((noinline)) void overwrite(void)
{
	volatile char room[4096];

	memset((void *)(uintptr_t)room, 0x5a, sizeof(room));
}

static void queue_up(void)
{
	stage_placed();
	pass();
}

static void queue_up_last(void)
{
	stage_placed();
	while (!has_queue() && !stage_is_over())
		stage_nap();
	pass();
}

/* Condition waits. */

static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t own;
static bool is_said; /* under m */

static void begin_wait(void)
{
	pthread_mutex_init(&own, NULL);
	is_said = false;
}

static void wait_or_jump(void)
{
	const struct timespec time = stage_in(CLOCK_REALTIME, LONG_NS);

	if (sigsetjmp(way_out, 1) != 0)
		return;
	pthread_mutex_lock(&own);
	armed = true;
	stage_demand(pthread_cond_timedwait(&c, &own, &time) == ETIMEDOUT, "it was told");
	armed = false;
	pthread_mutex_unlock(&own);
}

static void wait_for_signal(void)
{
	pthread_mutex_lock(&m);
	stage_placed();
	while (!is_said)
		pthread_cond_wait(&c, &m);
	pthread_mutex_unlock(&m);
}

static void say(void)
{
	pthread_mutex_lock(&m);
	is_said = true;
	pthread_cond_signal(&c);
	pthread_mutex_unlock(&m);
}

static void check(void)
{
	stage_demand(pthread_mutex_trylock(&m) == 0, "the mutex stays locked");
	pthread_mutex_unlock(&m);
}

#define PLAY                                                                      \
	.kinds = 1 << SIGNAL, .late = true, .hold = hold, .victim = take_or_jump, \
	.handler = jump, .let_go = let_go, .after = overwrite, .check = check

#define WAIT                                                                        \
	.kinds = 1 << SIGNAL, .late = true, .prepare = begin_wait,                  \
	.victim = wait_or_jump, .handler = jump, .let_go = say, .after = overwrite, \
	.check = check

const struct scenario scenarios[] = {
	{.name = "jump.alone", PLAY},
	{.name = "jump.last", PLAY, .partners = 1, .partner = queue_up},
	{.name = "jump.first", PLAY, .partners = 1, .partner = queue_up_last},
	{.name = "cond.alone", WAIT},
	{.name = "cond.last", WAIT, .partners = 1, .partner = wait_for_signal},
	{.name = NULL},
};
