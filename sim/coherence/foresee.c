/* SPDX-License-Identifier: MIT */
/*
 * A CPU does not stop at a read-modify-write or a load that misses: it predicts branches
 * and requests the lines of later accesses. These still take effect in order, if the line
 * is still there.
 *
 * The simulator cannot ask its threads for their next accesses. But they run in loops, so
 * each is predicted to do what it did after the same access the last time; this goes
 * wrong where a branch predictor does. A CPU cannot predict the value that it waits for:
 * an access to the address that such a value gives is left out, and so is everything
 * after a wait, whose end the CPU mispredicts.
 */
#include "coherence.h"

static struct step *step_at(struct cpu *cpu, unsigned number)
{
	return &cpu->trail[number % TRAIL];
}

void foresee_note(struct coherence *c, struct cpu *cpu, const void *site,
		  struct line *line, bool write)
{
	struct step *step = step_at(cpu, cpu->steps++);

	*step = (struct step){
		.site = site,
		.line = line,
		.write = write,
		.pointed = cpu->value >> c->line_bits == line->key,
	};
}

void foresee_waited(struct cpu *cpu)
{
	step_at(cpu, cpu->steps - 1)->waited = true;
}

/* The previous occurrence of the newest step; the newest itself if there is none. */
static unsigned last_time(struct cpu *cpu)
{
	const struct step *now = step_at(cpu, cpu->steps - 1);
	unsigned i;

	for (i = 2; i <= TRAIL && i <= cpu->steps; i++) {
		const struct step *step = step_at(cpu, cpu->steps - i);

		if (step->site == now->site && step->line == now->line)
			return cpu->steps - i;
	}
	return cpu->steps - 1;
}

static bool on_its_way(const struct cpu *cpu, const struct line *line)
{
	unsigned i;

	for (i = 0; i < cpu->stores; i++) {
		const struct store *store = &cpu->buffer[(cpu->oldest + i) % BUFFER];

		if (store->asked && store->line == line)
			return true;
	}
	return cpu_loads(cpu, line) || foresee_request(cpu, line) != NOBODY;
}

static void ask(struct coherence *c, struct cpu *cpu, struct line *line, bool write)
{
	struct request *r;
	unsigned i;

	for (i = 0; (cpu->foreseen >> i & 1) != 0; i++)
		;
	cpu->foreseen |= (uint16_t)(1U << i);
	r = request_fill(c, cpu, FORESEEN + i, line, NULL, write, cpu->now);
	event_add(c, r->arrival, ARRIVE, number_of(cpu, FORESEEN + i));
}

void foresee(struct coherence *c, struct cpu *cpu)
{
	unsigned i = last_time(cpu), end = cpu->steps - 1;
	unsigned count = 0;

	for (; i != end && count < c->m.foresee; count++) {
		const struct step *before = step_at(cpu, i), *step = step_at(cpu, ++i);

		if (before->waited || i == end)
			return;
		if (line_usable(step->line, cpu->cache, step->write) ||
		    on_its_way(cpu, step->line) || step->line == step_at(cpu, end)->line)
			continue;
		if (step->pointed && !line_usable(before->line, cpu->cache, false))
			continue;
		if (__builtin_popcount(cpu->foreseen) == MACHINE_MAX_FORESEEN)
			return;
		ask(c, cpu, step->line, step->write);
	}
}

int foresee_request(const struct cpu *cpu, const struct line *line)
{
	unsigned i;

	for (i = 0; cpu->foreseen >> i != 0; i++)
		if ((cpu->foreseen >> i & 1) != 0 &&
		    cpu->requests[FORESEEN + i].line == line)
			return (int)(FORESEEN + i);
	return NOBODY;
}

bool foresee_arrived(struct coherence *c, struct cpu *cpu, unsigned which)
{
	bool expected = cpu->expected == (int)which;

	cpu->foreseen &= (uint16_t) ~(1U << (which - FORESEEN));
	if (expected)
		cpu->expected = NOBODY;
	if (cpu->stores != 0)
		cpu_drain(c, cpu);
	return expected;
}
