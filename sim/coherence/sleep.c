/* SPDX-License-Identifier: MIT */
/*
 * Sleeping, for locks whose waiters do. There is nobody else to run on a sleeper's
 * CPU, so a sleep is a delay: of the calls, and until the sleeper is up.
 */
#include "coherence.h"

#include <sim/fiber.h>

#define CALL   ((uint64_t)1 * 1000 * 1000)  /* 1 us: into the kernel and back */
#define GET_UP ((uint64_t)10 * 1000 * 1000) /* 10 us: as pawl_costs.wake begins */

bool sleep_for(const uint64_t *p, uint64_t expected, uint64_t ns)
{
	struct coherence *c = coherence_current;
	struct cpu *cpu = c->running;

	cpu->now += CALL;
	/* Nothing happens between this look and the yield. */
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
