/* SPDX-License-Identifier: MIT */
/*
 * Executions at random, where there are too many: each event is that of some thread
 * that can move, and reads from some write, or takes some place in mo, that the
 * model allows. A graph grows along program order and reads-from, so every execution
 * has its chance, though not the same one. Nothing is revisited: a wait that no value
 * has ended yet is taken back when its word is written, and looks again.
 */
#include "search.h"

#include <sim/cores/visited.h>

unsigned random_below(struct search *s, unsigned n)
{
	s->dice = s->dice * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(s->dice >> 33) % n;
}

void random_begin(struct search *s, uint64_t run)
{
	/* Neighbouring seeds and runs have nothing in common. */
	s->dice = (s->options->seed + 1) * 0x9e3779b97f4a7c15u ^ run;
	random_below(s, 1);
	s->dice ^= s->dice >> 29;
	random_below(s, 1);
	s->turn_of = -1;
}

int random_thread(struct search *s, const bool *can_move)
{
	unsigned found = 0;
	int t;

	for (t = 0; t < s->graph.threads; t++)
		if (can_move[t] && random_below(s, ++found) == 0)
			s->turn_of = t;
	return s->turn_of;
}

bool random_takes_turn(struct search *s)
{
	bool has = s->turn_of == me(s) || search_owes_write(s, me(s));

	s->turn_of = -1;
	return has;
}

void random_wake(struct search *s, int location)
{
	int t;

	for (t = 0; t < s->graph.threads; t++) {
		if (s->threads[t].state != THREAD_BLOCKED ||
		    graph_last(&s->graph, t)->location != location)
			continue;
		s->graph.length[t]--;
		s->threads[t].position--;
		s->threads[t].state = THREAD_READY;
	}
}

bool random_is_new(struct search *s)
{
	bool is_new = true;

	visited_add(graph_hash(&s->graph), &is_new);
	return is_new;
}
