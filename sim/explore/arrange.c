/* SPDX-License-Identifier: MIT */
/*
 * Orders the steps of a failing execution for its reader. An execution is a graph; any
 * order that keeps program order and reads-from shows it. We look for one in which every
 * read returns the last write, as far as possible, and which switches threads seldom.
 */
#include "search.h"

#include <string.h>

struct arranging {
	const struct trace *trace;
	struct graph *graph;
	int next[MAX_THREADS]; /* first remaining step of each thread */
	bool done[MAX_TRACE];
	int events[MAX_THREADS]; /* events of each thread that are placed */
};

static int next_of(const struct trace *trace, int thread, int from)
{
	while (from < trace->count && trace->steps[from].thread != thread)
		from++;
	return from;
}

/* The event by which a step writes its word; NULL if it does not. */
static const struct event *writing(struct graph *g, const struct step *step)
{
	const struct event *e;

	if (step->event == INITIAL)
		return NULL;
	e = graph_event(g, step->update != INITIAL ? step->update : step->event);
	return e->kind == EVENT_WRITE ? e : NULL;
}

/* Whether all steps that this step depends on are placed. */
static bool can_come(const struct arranging *a, int i)
{
	const struct step *step = &a->trace->steps[i];
	int t;

	if (step->event == INITIAL)
		return true;
	for (t = 0; t < a->graph->threads; t++)
		if (t != step->thread &&
		    a->events[t] < graph_event(a->graph, step->event)->porf[t])
			return false;
	return true;
}

/* Whether all reads of the value that this step overwrites are placed, too. */
static bool is_timely(const struct arranging *a, int i)
{
	const struct event *w = writing(a->graph, &a->trace->steps[i]);
	int j;

	for (j = 0; w != NULL && j < a->trace->count; j++) {
		const struct step *other = &a->trace->steps[j];
		const struct event *e;

		if (a->done[j] || other->event == INITIAL || j == i)
			continue;
		e = graph_event(a->graph, other->event);
		if ((e->kind == EVENT_READ || e->kind == EVENT_WRITE) &&
		    e->location == w->location && event_rank(a->graph, e) < w->rank)
			return false;
	}
	return true;
}

/* The number of placed writes that overwrite what this read returns. */
static int later_writes(const struct arranging *a, const struct event *e)
{
	int n = 0, rank;

	for (rank = graph_rank(a->graph, e->from); rank < a->graph->written[e->location];
	     rank++) {
		event_id w = graph_write_at(a->graph, e->location, rank + 1);

		n += event_index(w) < a->events[event_thread(w)];
	}
	return n;
}

/* The best next step: of the current thread if possible, else of the following one. */
static int choose(const struct arranging *a, int thread)
{
	bool timely;
	int k;

	for (timely = true;; timely = false) {
		for (k = 0; k < a->graph->threads; k++) {
			int t = (thread + k) % a->graph->threads, i = a->next[t];

			/* The failing step is the trace's last one and stays so. */
			if (i < a->trace->count - 1 && can_come(a, i) &&
			    (!timely || is_timely(a, i)))
				return i;
		}
		if (!timely)
			return a->trace->count - 1;
	}
}

static struct cost arrange(struct arranging *a, int first, struct trace *to)
{
	struct cost cost = {.steps = a->trace->count};
	int thread = first, t;

	memset(a->done, 0, sizeof(a->done));
	memset(a->events, 0, sizeof(a->events));
	for (t = 0; t < MAX_THREADS; t++)
		a->next[t] = next_of(a->trace, t, 0);
	for (to->count = 0; to->count < a->trace->count; to->count++) {
		int i = choose(a, thread);
		struct step *step = &to->steps[to->count];

		*step = a->trace->steps[i];
		a->done[i] = true;
		a->next[step->thread] = next_of(a->trace, step->thread, i + 1);
		if (step->event != INITIAL) {
			const struct event *e = graph_event(a->graph, step->event);
			event_id last = step->update != INITIAL ? step->update
								: step->event;

			step->stale = e->kind == EVENT_READ ? later_writes(a, e) : 0;
			cost.old += step->stale > 0;
			a->events[step->thread] = event_index(last) + 1;
		}
		cost.switches += to->count > 0 && step->thread != thread;
		thread = step->thread;
	}
	return cost;
}

bool cost_is_less(struct cost a, struct cost b)
{
	if (a.old != b.old)
		return a.old < b.old;
	if (a.switches != b.switches)
		return a.switches < b.switches;
	return a.steps < b.steps;
}

struct cost trace_arrange(struct trace *trace, struct graph *g)
{
	struct arranging a = {.trace = trace, .graph = g};
	struct trace best, attempt;
	struct cost least = arrange(&a, 0, &best), cost;
	int t;

	for (t = 1; t < g->threads; t++) {
		cost = arrange(&a, t, &attempt);
		if (!cost_is_less(cost, least))
			continue;
		least = cost;
		memcpy(best.steps, attempt.steps,
		       (size_t)attempt.count * sizeof(*attempt.steps));
	}
	memcpy(trace->steps, best.steps, (size_t)best.count * sizeof(*best.steps));
	return least;
}
