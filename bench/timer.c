/* SPDX-License-Identifier: MIT */
/*
 * Waits that mostly time out: every thread waits for an event, 100 us at most. After a
 * timeout it posts an event at times, which wakes another thread. Then it works, --ncs
 * steps. A job is a wait; the reported waits are how late a thread returned after its
 * timeout.
 *
 * No wait may time out early, and no event may be lost.
 */
#include "monitor.h"

enum { PATIENCE_NS = 100000, WAITS_PER_EVENT = 8 };

/* Tolerance: a subject may use another clock, which NTP adjusts. */
enum { EARLY_NS = PATIENCE_NS / 100 };

struct timer {
	struct monitor_bench bench;
	PAWL_SEQUESTER uint64_t events; /* pending; under the lock */
};

/* Waits for an event until `end`; returns whether there is one. */
static bool await_event(struct timer *timer, struct monitor_thread *me, uint64_t end)
{
	uint64_t now = waits_now();

	while (timer->events == 0 && now < end) {
		bool passed = !monitor_wait_for(&timer->bench.monitor, 0, end - now);

		now = waits_now();
		me->wrong |= passed && now + EARLY_NS < end;
		if (passed)
			break;
	}
	if (timer->events > 0)
		return true;
	if (timer->bench.timed)
		waits_add(&me->waits, now > end ? now - end : 0);
	return false;
}

static void work(void *member)
{
	struct monitor_thread *me = member;
	struct timer *timer = (struct timer *)me->bench;
	struct monitor *monitor = &timer->bench.monitor;

	do {
		uint64_t end = waits_now() + PATIENCE_NS;

		monitor_enter(monitor);
		monitor_section(me);
		if (await_event(timer, me, end)) {
			timer->events--;
			me->sum--;
		} else if (lcg_below(me->own, WAITS_PER_EVENT) == 0) {
			timer->events++;
			me->sum++;
			monitor_signal(monitor, 0);
		}
		monitor_leave(monitor);
		me->own = lcg_next(me->own);
		monitor_work(me);
		me->jobs++;
	} while (!monitor_over(&timer->bench));
}

static bool right(const struct monitor_bench *bench, const struct monitor_thread *threads,
		  int count)
{
	uint64_t events = ((const struct timer *)bench)->events;
	int i;

	for (i = 0; i < count; i++)
		events -= threads[i].sum;
	return events == 0;
}

static bool run(const struct bench_subject *subject, const struct bench_shape *shape,
		struct bench_outcome *outcome)
{
	static struct timer timer; /* outlives a hung thread */

	timer = (struct timer){.events = 0};
	return monitor_run(&timer.bench, subject, shape, work, right, outcome);
}

const struct workload workload_timer = {
	.name = "timer",
	.about = "waits of 100 us, of which most time out",
	.ncs = 200,
	.cs = 1,
	MONITOR_WORKLOAD,
};
