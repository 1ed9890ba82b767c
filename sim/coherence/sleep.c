/* SPDX-License-Identifier: MIT */
/*
 * Sleeping, for locks whose waiters park. No other thread runs on a sleeper's CPU, so a
 * sleep is a delay: the system calls and the wake-up latency.
 */
#include "coherence.h"

#include <sim/fiber.h>

#define CALL   ((uint64_t)1 * 1000 * 1000)  /* 1 us: into the kernel and back */
#define GET_UP ((uint64_t)10 * 1000 * 1000) /* 10 us: initial value of pawl_costs.wake */

bool sleep_for(const uint64_t *p, uint64_t expected, uint64_t ns)
{
	struct coherence *c = coherence_current;
	struct cpu *cpu = c->running;

	cpu->now += CALL;
	/* No event is processed between this check and the yield. */
	if ((uint32_t)sim_engine->load(p, SIM_RELAXED, NULL) != (uint32_t)expected)
		return true;
	cpu->sleeps_on = p;
	cpu->sleep_ends = ns == UINT64_MAX ? UINT64_MAX : cpu->now + ns * 1000;
	if (cpu->sleep_ends != UINT64_MAX)
		event_add(c, cpu->sleep_ends, OVERSLEEP, cpu->number);
	sim_fiber_yield(cpu->fiber);
	return cpu->woken;
}

static void get_up(struct coherence *c, struct cpu *cpu, bool woken)
{
	cpu->sleeps_on = NULL;
	cpu->woken = woken;
	event_add(c, c->now + GET_UP, RUN, cpu->number);
}

void sleep_wake(const uint64_t *p)
{
	struct coherence *c = coherence_current;
	unsigned i;

	for (i = 0; i < c->setup.threads; i++)
		if (c->cpus[i].sleeps_on == p) {
			get_up(c, &c->cpus[i], true);
			break;
		}
	c->running->now += CALL;
}

void sleep_over(struct coherence *c, struct cpu *cpu)
{
	if (cpu->sleeps_on != NULL && cpu->sleep_ends == c->now)
		get_up(c, cpu, false);
}
