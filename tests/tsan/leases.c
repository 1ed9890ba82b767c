/* SPDX-License-Identifier: MIT */
/* Leases: taken over, seized, left by a thread that exits, drained; and shards of
 * a program's own, drained by its own function. */
#define _GNU_SOURCE
#include "cases.h"

#include <pawl/shards.h>

#include <dirent.h>
#include <sched.h>

static struct pawl_lease lease;

static bool forced;

/* As the owner does it, unless forced; or else by breaking it. Neither waits by
 * itself. */
static void enter(void)
{
	struct pawl_lease_handle *h = pawl_lease_self();

	while ((forced || pawl_lease_acquire(&lease, h) != PAWL_LEASE_OK) &&
	       pawl_lease_seize(&lease, h) != PAWL_LEASE_OK)
		sched_yield();
}

static void leave(void)
{
	pawl_lease_release(&lease, pawl_lease_self());
}

static void section(void)
{
	int i;

	for (i = 0; i < 3; i++) { /* its own after the first time, mostly */
		enter();
		guarded++;
		leave();
	}
}

static void section_then(void)
{
	section();
	reach(1);
	await_step(2); /* so that the lease is broken, not inherited */
}

static void section_after(void)
{
	await_step(1);
	section();
	reach(2);
}

static void passed_on(void)
{
	together(section_then, section_after);
}

static void seized(void)
{
	forced = true;
	passed_on();
	forced = false;
}

static void stay_here(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
}

/* Runs it with all threads on one CPU. */
static void on_one_cpu(void (*run)(void))
{
	cpu_set_t before;

	sched_getaffinity(0, sizeof(before), &before);
	stay_here();
	run();
	sched_setaffinity(0, sizeof(before), &before);
}

/* There a lease is taken over without a barrier. */
static void taken_over(void)
{
	on_one_cpu(passed_on);
}

static void section_and_exit(void)
{
	section();
	reach(1);
}

/* How many threads there are, without a word to TSan about it. */
static int threads_now(void)
{
	DIR *tasks = opendir("/proc/self/task");
	int n = 0;

	demand(tasks != NULL, "a list of threads");
	while (readdir(tasks) != NULL)
		n++;
	closedir(tasks);
	return n;
}

/* One thread after the other, whom nobody joins: the next one has the last one's
 * handle, and with it the lease. */
static void inherit(void)
{
	int before = threads_now(), i;

	for (i = 0; i < 5; i++) {
		reach(0);
		detached(section_and_exit);
		await_step(1);
		while (threads_now() > before)
			sched_yield();
	}
}

static void inherited(void)
{
	on_one_cpu(inherit);
}

static void exit_inside(void)
{
	enter();
	guarded++;
	reach(1);
}

static void poisoned(void)
{
	struct pawl_lease_handle *h = pawl_lease_self();
	enum pawl_lease_result result;

	detached(exit_inside);
	await_step(1);
	while ((result = pawl_lease_seize(&lease, h)) != PAWL_LEASE_POISONED) {
		demand(result != PAWL_LEASE_OK, "it was left inside");
		sched_yield();
	}
	demand(pawl_lease_recover(&lease, h) == PAWL_LEASE_OK, "to be recovered");
	guarded++;
	leave();
}

static void drain_after(void)
{
	await_step(1);
	demand(pawl_lease_drain(&lease, (uint64_t)600 * 1000000000), "nobody inside");
	guarded++;
	pawl_lease_open(&lease);
	reach(2);
}

static void section_around(void)
{
	section();
	reach(1);
	await_step(2);
	section();
}

static void drained(void)
{
	together(section_around, drain_after);
}

static void touch_too_late(void)
{
	enter();
	leave();
	exposed++;
	reach(1);
	await_step(2);
}

static void touch_inside(void)
{
	await_step(1);
	enter();
	exposed++;
	leave();
	reach(2);
}

static void overrun(void)
{
	together(touch_too_late, touch_inside);
}

/* Shards. */

struct tally {
	struct pawl_shard base;
	long value;
};

static struct pawl_shards shards;
static long drained_sum;

static void drain(struct pawl_shard *s, void *sum)
{
	*(long *)sum += ((struct tally *)s)->value;
	((struct tally *)s)->value = 0;
}

static void add(void)
{
	int i;

	for (i = 0; i < 1000; i++) {
		struct pawl_lease_handle *h = pawl_lease_self();
		struct tally *t = (struct tally *)pawl_shards_enter(&shards, h);

		if (t == NULL)
			continue;
		t->value++;
		pawl_shards_exit(&shards, &t->base, h);
	}
}

static void add_and_stay(void)
{
	add();
	reach(1);
	await_step(2);
	add();
}

static void add_and_drain(void)
{
	add();
	await_step(1);
	while (pawl_shards_reclaim(&shards) != 0)
		sched_yield();
	reach(2);
	add();
}

static void of_our_own(void)
{
	const struct pawl_shards_plan plan = {
		.kind = PAWL_SHARDS_LEASED,
		.bytes = sizeof(struct tally),
		.drain = drain,
		.owner = &drained_sum,
	};

	demand(pawl_shards_create(&shards, &plan) == 0, "shards");
	drained_sum = 0;
	together(add_and_stay, add_and_drain);
	while (pawl_shards_reclaim(&shards) != 0)
		sched_yield();
	demand(drained_sum > 0, "somebody added");
	pawl_shards_destroy(&shards);
}

void test_leases(void)
{
	struct pawl_lease_stats stats;

	clean("lease", "passed on", passed_on);
	clean("lease", "seized", seized);
	clean("lease", "taken over", taken_over);
	clean("lease", "inherited", inherited);
	clean("lease", "poisoned", poisoned);
	clean("lease", "drained", drained);
	racy("lease", "overrun", overrun);
	clean("shards", "of our own", of_our_own);
	pawl_lease_get_stats(&stats);
	demand(stats.takeovers + stats.breaks + stats.finishes > 0,
	       "leases change hands");
}
