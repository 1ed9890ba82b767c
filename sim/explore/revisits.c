/* SPDX-License-Identifier: MIT */
/* Adds a read or a write to the graph, in each way that coherence and the model allow,
 * and with the reads that a write revisits. See search.c. */
#include "search.h"

#include <string.h>

/* Takes the first of the ways to continue; at random, each with the same probability. */
static bool takes_it(struct search *s, unsigned *ways)
{
	++*ways;
	return s->at_random ? random_below(s, *ways) == 0 : *ways == 1;
}

/* Reads. */

/*
 * An update could read a value that another update has already read; worth exploring only
 * if that update may still be revisited.
 */
static bool worth_contesting(struct search *s, int location, int rank,
			     const struct event *last)
{
	event_id taker = s->graph.mo[location][rank];
	int read = event_index(taker) - 1;

	return !event_within(event_name(event_thread(taker), read), last->porf);
}

struct event *search_add_read(struct search *s, struct event event)
{
	int t = me(s), l = event.location;
	const struct event *last = graph_last(&s->graph, t);
	struct event *e = search_append(s, t, event);
	int least = graph_floor(&s->graph, event_name(t, s->graph.length[t] - 1));
	int most = s->graph.written[l], rank, chosen = -1;
	unsigned ways = 0;

	if (s->guide != NULL) {
		chosen = most - token_choice(s);
		if (chosen < least)
			chosen = most;
	}
	for (rank = most; rank >= least && s->guide == NULL; rank--) {
		event_id from = graph_write_at(&s->graph, l, rank);
		struct outcome outcome = graph_read_outcome(&s->graph, e, from);

		if (!outcome.ends && rank != most)
			continue; /* a wait on an overwritten value shows nothing new */
		if (outcome.writes && graph_is_joined(&s->graph, l, rank) &&
		    (s->at_random || !worth_contesting(s, l, rank, last)))
			continue;
		graph_set_read(&s->graph, t, e, from);
		/* The last write can always be read. */
		if (rank != most && graph_must_check(&s->graph, e, s->options->model) &&
		    !graph_allowed(&s->graph, s->options->model))
			continue;
		if (takes_it(s, &ways))
			chosen = rank;
		else
			search_push(s, &s->graph);
	}
	if (chosen < 0) {
		s->graph.length[t]--;
		s->dead = true;
		search_stop(s);
	}
	graph_set_read(&s->graph, t, e, graph_write_at(&s->graph, l, chosen));
	s->self->position++;
	token_record(s, t, e);
	return e;
}

/* Writes. */

/*
 * Whether an event was added maximally, considering only the events before it and those
 * that the revisiting write depends on.
 */
static bool added_maximally(struct graph *g, event_id id, clock_vector needed)
{
	struct event *e = graph_event(g, id);
	int rank, i, t;

	if (e->kind == EVENT_CHOICE)
		return e->value == 0;
	if (e->kind != EVENT_READ && e->kind != EVENT_WRITE)
		return true;
	rank = event_rank(g, e);
	for (i = rank; i < g->written[e->location]; i++) {
		event_id later = g->mo[e->location][i];

		if (graph_event(g, later)->stamp <= e->stamp ||
		    event_within(later, needed))
			return false;
	}
	if (e->kind != EVENT_WRITE)
		return true;
	for (t = 0; t < g->threads; t++) {
		for (i = 0; i < g->length[t]; i++) {
			struct event *r = &g->events[t][i];

			if (r->kind == EVENT_READ && r->from == id &&
			    (r->stamp <= e->stamp || i < needed[t]))
				return false;
		}
	}
	return true;
}

/* Pushes the graphs in which an earlier read takes its value from `write`, which is last
 * in its thread and not in mo yet. */
static void revisit(struct search *s, event_id write, event_id read)
{
	struct event *w = graph_event(&s->graph, write),
		     *r = graph_event(&s->graph, read);
	clock_vector needed = w->porf;
	uint8_t keep[MAX_THREADS];
	int t, i, rank, least, l = w->location;

	needed[event_thread(write)]--; /* all but the write itself */
	for (t = 0; t < s->graph.threads; t++) {
		int n = s->graph.length[t];

		while (n > w->porf[t] && s->graph.events[t][n - 1].stamp > r->stamp)
			n--;
		keep[t] = (uint8_t)n;
		for (i = n; i < s->graph.length[t]; i++)
			if (!added_maximally(&s->graph, event_name(t, i), needed))
				return;
	}
	if (!added_maximally(&s->graph, read, needed))
		return;

	memcpy(&s->scratch, &s->graph, offsetof(struct graph, mo));
	for (i = 0; i < s->graph.locations; i++)
		memcpy(s->scratch.mo[i], s->graph.mo[i],
		       s->graph.written[i] * sizeof(event_id));
	for (t = 0; t < s->graph.threads; t++)
		memcpy(s->scratch.events[t], s->graph.events[t],
		       s->graph.length[t] * sizeof(struct event));
	graph_truncate(&s->scratch, keep);
	w = graph_event(&s->scratch, write);
	r = graph_event(&s->scratch, read);
	if (w->exclusive) {
		rank = least = graph_rank(&s->scratch, (w - 1)->from);
	} else {
		rank = s->scratch.written[l];
		least = graph_floor(&s->scratch, write);
	}
	for (; rank >= least; rank--) {
		if (graph_is_joined(&s->scratch, l, rank))
			continue;
		graph_insert(&s->scratch, write, rank + 1);
		graph_set_read(&s->scratch, event_thread(read), r, write);
		if (graph_floor(&s->scratch, read) <= rank + 1 &&
		    !(r->blocked && rank + 1 != s->scratch.written[l]) &&
		    (!(graph_must_check(&s->scratch, r, s->options->model) ||
		       graph_must_check(&s->scratch, w, s->options->model)) ||
		     graph_allowed(&s->scratch, s->options->model)))
			search_push(s, &s->scratch);
		graph_remove(&s->scratch, write);
	}
}

static void revisit_all(struct search *s, event_id write)
{
	struct event *w = graph_event(&s->graph, write);
	int t, i;

	for (t = 0; t < s->graph.threads; t++)
		for (i = w->porf[t]; i < s->graph.length[t]; i++)
			if (s->graph.events[t][i].kind == EVENT_READ &&
			    s->graph.events[t][i].location == w->location)
				revisit(s, write, event_name(t, i));
}

struct event *search_add_write(struct search *s, struct event event, bool exclusive)
{
	int t = me(s), l = event.location;
	const struct event *last = graph_last(&s->graph, t);
	struct event *e = search_append(s, t, event);
	event_id id = event_name(t, s->graph.length[t] - 1);
	int least = graph_floor(&s->graph, id), rank = s->graph.written[l], chosen = -1;
	unsigned ways = 0;

	if (s->graph.written[l] == MAX_WRITES)
		explore_fail(VERDICT_LIMIT, "more than %d writes to a word; %s",
			     MAX_WRITES, search_smaller(s));
	graph_set_write(&s->graph, t, e, exclusive ? last : NULL);
	if (s->guide != NULL) {
		chosen = rank - (event.operation == OP_PLAIN_STORE ? 0 : token_choice(s));
		if (exclusive)
			chosen = graph_rank(&s->graph, last->from);
		if (chosen < least)
			chosen = rank;
	} else {
		if (event.operation != OP_PLAIN_STORE && !s->tracing && !s->at_random)
			revisit_all(s, id);
		if (exclusive)
			rank = least = graph_rank(&s->graph, last->from);
		else if (event.operation == OP_PLAIN_STORE)
			least = rank;
		for (; rank >= least; rank--) {
			if (graph_is_joined(&s->graph, l, rank))
				continue;
			graph_insert(&s->graph, id, rank + 1);
			/* The end of mo is always allowed. */
			if (rank == s->graph.written[l] - 1 ||
			    !graph_must_check(&s->graph, e, s->options->model) ||
			    graph_allowed(&s->graph, s->options->model)) {
				if (takes_it(s, &ways))
					chosen = rank;
				else
					search_push(s, &s->graph);
			}
			graph_remove(&s->graph, id);
		}
	}
	if (chosen < 0) {
		s->graph.length[t]--;
		s->dead = true;
		search_stop(s);
	}
	graph_insert(&s->graph, id, chosen + 1);
	if (s->at_random)
		random_wake(s, l);
	s->self->position++;
	token_record(s, t, e);
	return e;
}
