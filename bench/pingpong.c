/* SPDX-License-Identifier: MIT */
/*
 * Two threads alternate, with a condition variable each: after its turn a thread signals
 * the other and waits. There is always exactly one waiter, and every signal is needed. A
 * job is a turn.
 *
 * The generator is advanced before the thread waits for its turn: during the other's turn
 * only the lock protects it.
 */
#include "monitor.h"

struct pingpong {
	struct monitor_bench bench;
	/* All under the lock. */
	PAWL_SEQUESTER int turn;
	uint64_t turns;
	bool over;
};

/* The wait ends: the other thread signals when it passes the turn on, or at its end. */
static void work(void *member)
{
	struct monitor_thread *me = member;
	struct pingpong *game = (struct pingpong *)me->bench;
	struct monitor *monitor = &game->bench.monitor;
	int other = 1 - me->number;
	bool over;

	do {
		uint64_t since = monitor_clock(me);

		monitor_enter(monitor);
		monitor_section(me);
		while (game->turn != me->number && !game->over)
			monitor_wait(monitor, me->number);
		if (game->turn == me->number) {
			game->turn = other;
			game->turns++;
			me->jobs++;
		}
		over = game->over = game->over || monitor_over(&game->bench);
		monitor_signal(monitor, other);
		monitor_leave(monitor);
		monitor_waited(me, since);
		monitor_work(me);
	} while (!over);
}

static bool right(const struct monitor_bench *bench, const struct monitor_thread *threads,
		  int count)
{
	const struct pingpong *game = (const struct pingpong *)bench;
	uint64_t first = threads[0].jobs, second = threads[1].jobs;

	(void)count;
	return game->turns == first + second && (first == second || first == second + 1);
}

static bool run(const struct bench_subject *subject, const struct bench_shape *shape,
		struct bench_outcome *outcome)
{
	static struct pingpong game; /* outlives a hung thread */

	game = (struct pingpong){.turn = 0};
	return monitor_run(&game.bench, subject, shape, work, right, outcome);
}

const struct workload workload_pingpong = {
	.name = "pingpong",
	.about = "two threads take turns through two condition variables",
	.least_threads = 2,
	.most_threads = 2,
	.cs = 1,
	MONITOR_WORKLOAD,
};
