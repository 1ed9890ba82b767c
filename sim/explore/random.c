/* SPDX-License-Identifier: MIT */
/*
 * Random executions, for programs with too many: each event belongs to a random thread
 * that can run, and reads from a random write, or takes a random place in mo, that the
 * model allows. A graph grows along program order and reads-from, so every execution has
 * a chance, though not the same one. Nothing is revisited: a wait that no value has ended
 * is removed when its word is written, and reads again.
 *
 * With a depth d, threads run by priorities (PCT: Burckhardt et al., "A Randomized
 * Scheduler with Probabilistic Guarantees of Finding Bugs", ASPLOS 2010): the thread with
 * the highest priority runs, and at d - 1 random steps it gets the lowest. With n threads
 * and k steps, a failure that needs d events in a certain order is found under sc with a
 * probability of at least 1 / (n k^(d-1)).
 */
#include "search.h"

#include <sim/common/dice.h>
#include <sim/common/visited.h>

unsigned random_below(struct search *s, unsigned n)
{
	return dice_below(&s->dice, n);
}

static void begin_priorities(struct search *s)
{
	int t, d;

	for (t = 0; t < MAX_THREADS; t++) { /* in random order */
		int other = (int)random_below(s, (unsigned)t + 1);

		s->priority[t] = s->priority[other];
		s->priority[other] = t;
	}
	if (s->turns > s->most_turns)
		s->most_turns = s->turns;
	s->turns = 0;
	for (d = 1; d < s->options->depth; d++)
		s->drops[d] = 1 + random_below(s, s->most_turns + 1);
}

void random_begin(struct search *s, uint64_t run)
{
	s->dice = dice_for(s->options->seed, run);
	s->turn_of = -1;
	if (s->options->depth > 0)
		begin_priorities(s);
}

/* The thread with the highest priority. */
static int first_of(const struct search *s, const bool *can_move)
{
	int t, first = -1;

	for (t = 0; t < s->graph.threads; t++)
		if (can_move[t] && (first < 0 || s->priority[t] > s->priority[first]))
			first = t;
	return first;
}

int random_thread(struct search *s, const bool *can_move)
{
	unsigned found = 0;
	int t;

	if (s->options->depth > 0) {
		s->turns++;
		for (t = 1; t < s->options->depth; t++)
			if (s->drops[t] == s->turns)
				s->priority[first_of(s, can_move)] = -t;
		return s->turn_of = first_of(s, can_move);
	}
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
		if (s->threads[t].state == THREAD_ROUND)
			s->threads[t].state = THREAD_READY;
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
	uint64_t hash = graph_hash(&s->graph);
	bool is_new = true, is_second = false;

	s->complete++;
	visited_add(hash, &is_new);
	if (!is_new)
		visited_add(~hash, &is_second);
	s->repeated += is_second;
	return is_new;
}

double random_unseen(const struct search *s)
{
	if (s->complete == 0)
		return 1;
	return (double)(s->result->executions - s->repeated) / (double)s->complete;
}
