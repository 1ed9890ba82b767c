/* SPDX-License-Identifier: MIT */
/*
 * Stores do not wait for their line: they queue in the CPU's store buffer, take effect in
 * order as each gets its line, and are forwarded to the CPU's own loads meanwhile. A
 * read-modify-write, and a sequentially consistent store, waits until the buffer is
 * empty.
 *
 * If the machine is out of order, plain loads do not wait either, until something needs
 * them: work, a read-modify-write, a fence, or a store that is to take effect.
 */
#include "coherence.h"

/* A waiter polls by read-modify-write on a line that it has exclusively. */
static bool poll_by_rmw(struct coherence *c, struct cpu *cpu)
{
	uint64_t *word = (uint64_t *)cpu->word;
	uint64_t value = *word;

	if (!waiter_looks(c, cpu, value))
		return false;
	if (cpu->kind == SIM_AWAIT_CAS) {
		*word = cpu->to;
		waiters_wrote(c, cpu->line, cpu);
	}
	return true;
}

/* Whether a store older than the i-th has requested the same line. */
static bool asked_before(const struct cpu *cpu, unsigned i)
{
	const struct line *line = cpu->buffer[(cpu->oldest + i) % BUFFER].line;

	while (i-- > 0) {
		const struct store *older = &cpu->buffer[(cpu->oldest + i) % BUFFER];

		if (older->asked && older->line == line)
			return true;
	}
	return false;
}

bool cpu_loads(const struct cpu *cpu, const struct line *line)
{
	unsigned i;

	for (i = 0; cpu->loads >> i != 0; i++)
		if ((cpu->loads >> i & 1) != 0 && cpu->requests[LOAD + i].line == line)
			return true;
	return false;
}

void cpu_drain(struct coherence *c, struct cpu *cpu)
{
	bool held = cpu->loads != 0 || cpu->work != 0;
	unsigned i;

	/* A store takes effect after everything older. */
	if (held && !c->m.ahead)
		return;
	while (cpu->stores != 0 && !held) {
		struct store *store = &cpu->buffer[cpu->oldest];

		if (store->asked || !line_usable(store->line, cpu->cache, true))
			break;
		if (store->word != NULL)
			*store->word = store->value;
		waiters_wrote(c, store->line, cpu);
		cpu->oldest = (cpu->oldest + 1) % BUFFER;
		cpu->stores--;
	}
	for (i = 0; i < cpu->stores && i < c->fetches; i++) {
		unsigned place = (cpu->oldest + i) % BUFFER;
		unsigned which = DRAIN + place % MACHINE_MAX_FETCHES;
		struct store *store = &cpu->buffer[place];

		if (store->asked || line_usable(store->line, cpu->cache, true) ||
		    asked_before(cpu, i) ||
		    (cpu->foreseen != 0 && foresee_request(cpu, store->line) != NOBODY))
			continue;
		store->asked = true;
		request_fill(c, cpu, which, store->line, store->word, true, c->now);
		event_add(c, cpu->requests[which].arrival, ARRIVE, number_of(cpu, which));
	}
	if (cpu->draining && cpu->stores == 0) {
		cpu->draining = false;
		event_add(c, c->now, RUN, cpu->number);
	}
}

/* The line of a buffered store has arrived. */
static void store_granted(struct coherence *c, struct cpu *cpu, unsigned which)
{
	unsigned i;

	for (i = 0; i < c->fetches; i++) {
		unsigned place = (cpu->oldest + i) % BUFFER;

		if (DRAIN + place % MACHINE_MAX_FETCHES == which)
			cpu->buffer[place].asked = false;
	}
	cpu_drain(c, cpu);
}

bool cpu_granted(struct coherence *c, unsigned number)
{
	struct cpu *cpu = &c->cpus[number / REQUESTS];

	protocol_grant(c, number);
	if (number % REQUESTS >= FORESEEN)
		return foresee_arrived(c, cpu, number % REQUESTS);
	if (number % REQUESTS != ACCESS) {
		store_granted(c, cpu, number % REQUESTS);
		return false;
	}
	return !cpu->waiting || poll_by_rmw(c, cpu);
}

bool cpu_loaded(struct coherence *c, unsigned number)
{
	struct cpu *cpu = &c->cpus[number / REQUESTS];

	if (number % REQUESTS >= FORESEEN)
		return foresee_arrived(c, cpu, number % REQUESTS);
	if (number % REQUESTS == ADJACENT) {
		cpu->prefetching = false;
		return false;
	}
	cpu->loads &= (unsigned char)~(1U << (number % REQUESTS - LOAD));
	if (cpu->loads != 0)
		return false;
	if (cpu->work == 0)
		return cpu_worked(c, cpu);
	event_add(c, c->now + cpu->work, WORKED, cpu->number);
	return false;
}

bool cpu_worked(struct coherence *c, struct cpu *cpu)
{
	cpu->work = 0;
	if (cpu->stores != 0)
		cpu_drain(c, cpu);
	if (!cpu->loading)
		return false;
	cpu->loading = false;
	return true;
}

bool cpu_look(struct coherence *c, struct cpu *cpu)
{
	if (!line_usable(cpu->line, cpu->cache, waits_by_rmw(cpu))) {
		request_again(c, cpu, c->now);
		return false;
	}
	return waits_by_rmw(cpu) ? poll_by_rmw(c, cpu) : waiter_looks(c, cpu, *cpu->word);
}

bool cpu_give_up(struct coherence *c, struct cpu *cpu)
{
	if (!cpu->waiting || cpu->kind != SIM_AWAIT_CHANGE || c->now < cpu->deadline)
		return false;
	if (cpu->asked) { /* in the middle of a poll */
		event_add(c, c->now + c->poll, GIVE_UP, cpu->number);
		return false;
	}
	waiter_end(cpu, cpu->until);
	return true;
}
