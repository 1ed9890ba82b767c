/* SPDX-License-Identifier: MIT */
/*
 * Waiters are not simulated poll by poll. While its copy is valid, a waiter's polling
 * costs nothing and changes nothing; when the copy is lost, the waiter requests the line
 * at its next poll. A waiter that polls by read-modify-write needs the line exclusively,
 * so it also requests it again when another CPU reads it.
 */
#include "coherence.h"

/* A waiter's copy is lost at `time`: it notices at its next poll. */
static void lose(struct coherence *c, struct cpu *cpu, struct line *line, uint64_t time)
{
	unsigned i;

	for (i = 0; i < c->m.smt; i++) {
		int sibling = c->siblings[cpu->cache][i];

		/* One request serves both SMT threads of a core. */
		if (sibling != NOBODY && c->cpus[sibling].asked &&
		    c->cpus[sibling].line == line && c->cpus[sibling].waiting &&
		    !waits_by_rmw(cpu))
			return;
	}
	if (time < cpu->data_at)
		time = cpu->data_at;
	cpu->asked = true;
	request_again(c, cpu, time + draw(c) % c->poll);
}

void waiters_lose_cache(struct coherence *c, struct line *line, unsigned cache,
			bool only_rmw)
{
	unsigned i;

	for (i = 0; i < c->m.smt; i++) {
		int number = c->siblings[cache][i];
		struct cpu *cpu = &c->cpus[number == NOBODY ? 0 : number];

		if (number != NOBODY && cpu->waiting && cpu->line == line &&
		    !cpu->asked && (waits_by_rmw(cpu) || !only_rmw))
			lose(c, cpu, line, c->now);
	}
}

/* Those near the home notice first; within that, in a random rotation. */
void waiters_lose_others(struct coherence *c, struct line *line, unsigned cache,
			 bool in_cluster)
{
	unsigned words = (c->setup.threads + 63) / 64;
	unsigned start = (unsigned)(draw(c) % c->setup.threads);
	unsigned n, i, node;

	for (n = 0; n < c->m.sockets; n++) {
		uint64_t time;

		node = (line->home + n) % c->m.sockets;
		time = c->now + line_leg(c, line->way, line->home, node, in_cluster);
		for (i = 0; i <= words; i++) {
			unsigned word = (start / 64 + i) % words;
			uint64_t bits = line->polling[word] & c->node_cpus[node][word];
			uint64_t above = ~(uint64_t)0 << (start % 64);

			/* The first word is visited twice: upper part, then lower part. */
			if (i == 0)
				bits &= above;
			if (i == words)
				bits &= ~above;
			for (; bits != 0; bits &= bits - 1) {
				unsigned bit = (unsigned)__builtin_ctzll(bits);
				struct cpu *cpu = &c->cpus[word * 64 + bit];

				if (cpu->cache != cache && !cpu->asked)
					lose(c, cpu, line, time);
			}
		}
	}
}

void waiter_end(struct cpu *cpu, uint64_t value)
{
	cpu->waiting = cpu->asked = false;
	cpu->value = value;
	set_drop(cpu->line->polling, cpu->number);
	cpu->line->waiters--;
}

bool waiter_looks(struct coherence *c, struct cpu *cpu, uint64_t value)
{
	cpu->asked = false;
	if (waits_by_rmw(cpu))
		c->counts.rmws++;
	if (!satisfied(cpu, value))
		return false;
	waiter_end(cpu, value);
	return true;
}

/*
 * All waiters of the cache poll the new copy, except one whose own request is still
 * queued.
 */
void waiters_arrive(struct coherence *c, struct line *line, const struct cpu *reader,
		    bool asked, uint64_t done)
{
	unsigned i;

	for (i = 0; i < c->m.smt; i++) {
		int number = c->siblings[reader->cache][i];
		struct cpu *cpu = &c->cpus[number == NOBODY ? 0 : number];

		if (number == NOBODY || !cpu->waiting || cpu->line != line ||
		    waits_by_rmw(cpu) || (cpu->asked && !(asked && cpu == reader)))
			continue;
		cpu->data_at = done;
		if (waiter_looks(c, cpu, *cpu->word))
			event_add(c, done, RUN, cpu->number);
	}
}

void waiters_wrote(struct coherence *c, struct line *line, const struct cpu *writer)
{
	unsigned i;

	line->written = true;
	for (i = 0; line->waiters != 0 && i < c->m.smt; i++) {
		int number = c->siblings[writer->cache][i];
		struct cpu *cpu = &c->cpus[number == NOBODY ? 0 : number];

		if (number == NOBODY || cpu == writer || !cpu->waiting ||
		    cpu->line != line || cpu->asked || !satisfied(cpu, *cpu->word))
			continue;
		cpu->asked = true;
		event_add(c, c->now + c->m.core + draw(c) % c->poll, LOOK, cpu->number);
	}
}
