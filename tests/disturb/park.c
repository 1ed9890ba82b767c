/* SPDX-License-Identifier: MIT */
/* Locks whose waiters park: a queue of nodes, and one of values. */
#include "stage.h"

#include <pawl/hapax.h>
#include <pawl/mcs.h>

#include <string.h>

enum { SECTIONS = 20 };

static struct pawl_mcs_core mcs;
static struct pawl_hapax_core hapax;
static __thread struct pawl_mcs_context mcs_context;
static __thread struct pawl_hapax_context hapax_context;

/* Which of the two it is. */
static void (*take)(void);
static void (*leave)(void);

static void mcs_take(void)
{
	pawl_mcs_acquire_(&mcs, &mcs_context, PAWL_PARK);
}

static void mcs_leave(void)
{
	pawl_mcs_release_(&mcs, &mcs_context, PAWL_PARK);
}

static void hapax_take(void)
{
	pawl_hapax_acquire_(&hapax, &hapax_context, PAWL_PARK);
}

static void hapax_leave(void)
{
	pawl_hapax_release_(&hapax, &hapax_context, PAWL_PARK);
}

static void begin_mcs(void)
{
	take = mcs_take;
	leave = mcs_leave;
}

static void begin_hapax(void)
{
	take = hapax_take;
	leave = hapax_leave;
}

static void hold(void)
{
	take();
}

static void let_go(void)
{
	stage_section();
	leave();
}

static void pass(void)
{
	take();
	stage_section();
	leave();
}

static void use(void)
{
	pass();
	pass();
}

static void pass_often(void)
{
	int i;

	for (i = 0; i < SECTIONS; i++)
		pass();
}

/* These locks queue in themselves, so the child needs new ones, where the old ones
 * were; what they sleep on is the process's. */
static void child(void)
{
	memset(&mcs, 0, sizeof(mcs));
	memset(&hapax, 0, sizeof(hapax));
	stage_both(pass_often);
}

static void take_victim(void)
{
	take();
}

static void leave_victim(void)
{
	leave();
}

static void take_first(void)
{
	take();
	stage_section();
}

static void queue_up(void)
{
	stage_placed();
	pass();
}

#define PLAY                                                                        \
	.kinds = 1 << SIGNAL | 1 << FORK | 1 << FREEZE, .use = use, .child = child, \
	.check = pass

const struct scenario scenarios[] = {
	{.name = "mcs.lock",
	 PLAY,
	 .begin = begin_mcs,
	 .hold = hold,
	 .victim = take_victim,
	 .let_go = let_go,
	 .after = let_go},
	{.name = "mcs.unlock",
	 PLAY,
	 .partners = 1,
	 .begin = begin_mcs,
	 .before = take_first,
	 .partner = queue_up,
	 .victim = leave_victim},
	{.name = "hapax.lock",
	 PLAY,
	 .begin = begin_hapax,
	 .hold = hold,
	 .victim = take_victim,
	 .let_go = let_go,
	 .after = let_go},
	{.name = "hapax.unlock",
	 PLAY,
	 .partners = 1,
	 .begin = begin_hapax,
	 .before = take_first,
	 .partner = queue_up,
	 .victim = leave_victim},
	{.name = NULL},
};
