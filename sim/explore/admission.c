/* SPDX-License-Identifier: MIT */
/* Critical sections: mutual exclusion, arrival order and bypass. */
#include "search.h"

#include <stdlib.h>

#define SITE __builtin_return_address(0)

void admission_doorway(struct search *s, const void *p)
{
	event_id id = event_name(me(s), s->self->position - 1);
	int i;

	for (i = 0; i < MAX_HELD; i++) {
		struct arrival *a = &s->self->arrivals[i];

		if (a->open && (size_t)((const char *)p - a->start) < a->size &&
		    s->sections[a->section].doorway == INITIAL)
			s->sections[a->section].doorway = id;
	}
}

static struct arrival *find_arrival(struct search *s, int lock)
{
	int i;

	for (i = 0; i < MAX_HELD; i++)
		if (s->self->arrivals[i].open &&
		    s->sections[s->self->arrivals[i].section].lock == lock)
			return &s->self->arrivals[i];
	abort(); /* a bug in the checked program's calls */
}

void explore_arrive(int lock, const void *l, size_t size, enum admission admission)
{
	struct search *s = current_search;
	struct arrival *a = s->self->arrivals;

	search_settle(s);
	while (a->open)
		if (++a == s->self->arrivals + MAX_HELD)
			abort();
	if (s->section_count == MAX_SECTIONS)
		explore_fail(VERDICT_LIMIT,
			     "more than %d sections; lower --threads or --episodes",
			     MAX_SECTIONS);
	a->open = true;
	a->start = l;
	a->size = size;
	a->section = s->section_count;
	s->sections[s->section_count++] = (struct section){
		.thread = me(s),
		.lock = lock,
		.admission = admission,
		.doorway = INITIAL,
		.entered = -1,
		.left = -1,
	};
}

void explore_retreat(int lock)
{
	find_arrival(current_search, lock)->open = false;
}

void explore_enter(int lock)
{
	struct search *s = current_search;
	struct section *mine = &s->sections[find_arrival(s, lock)->section];
	int i;

	search_settle(s);
	search_note_plain(s, "enter", NULL, 0, SITE);
	mine->porf = search_here(s)->porf;
	mine->entered = s->self->position;
	for (i = 0; i < s->section_count; i++) {
		struct section *other = &s->sections[i];

		if (other == mine || other->lock != lock || other->entered < 0 ||
		    other->thread == mine->thread)
			continue;
		if (other->left < 0 || mine->porf[other->thread] <= other->left)
			explore_fail(VERDICT_EXCLUSION,
				     "threads %d and %d are in the section at once",
				     other->thread, mine->thread);
	}
}

void explore_leave(int lock)
{
	struct search *s = current_search;
	struct arrival *a = find_arrival(s, lock);

	search_settle(s);
	search_note_plain(s, "leave", NULL, 0, SITE);
	s->sections[a->section].left = s->self->position;
	a->open = false;
}

static bool entered_before(const struct section *a, const struct section *b)
{
	if (a->thread == b->thread)
		return a->entered < b->entered;
	return b->porf[a->thread] > a->entered;
}

/* Whether a arrived before b at the same lock, both through the same word. */
static bool arrived_before(struct search *s, const struct section *a,
			   const struct section *b)
{
	struct event *x, *y;

	if (a->lock != b->lock || a->doorway == INITIAL || b->doorway == INITIAL)
		return false;
	x = graph_event(&s->graph, a->doorway);
	y = graph_event(&s->graph, b->doorway);
	return x->location == y->location && x->rank < y->rank;
}

void admission_check(struct search *s)
{
	int i, k, t;

	for (i = 0; i < s->section_count && !s->stopped; i++) {
		struct section *mine = &s->sections[i];
		int overtaken[MAX_THREADS] = {0};

		if (mine->admission == ADMIT_ANY || mine->entered < 0)
			continue;
		for (k = 0; k < s->section_count; k++)
			if (s->sections[k].entered >= 0 &&
			    arrived_before(s, mine, &s->sections[k]) &&
			    entered_before(&s->sections[k], mine))
				overtaken[s->sections[k].thread]++;
		for (t = 0; t < s->graph.threads && !s->stopped; t++) {
			if (mine->admission == ADMIT_FIFO && overtaken[t] > 0)
				explore_fail(VERDICT_FIFO,
					     "thread %d arrived later than thread %d "
					     "and entered first",
					     t, mine->thread);
			else if (overtaken[t] > 1)
				explore_fail(VERDICT_BYPASS,
					     "thread %d overtook thread %d %d times", t,
					     mine->thread, overtaken[t]);
		}
	}
}

void explore_in_turn(int first)
{
	struct search *s = current_search;
	clock_vector porf;
	int t = me(s), u;

	if (!s->options->in_turn || s->self->turn >= 0)
		return;
	search_settle(s);
	s->self->turn = s->self->position;
	porf = search_here(s)->porf;
	for (u = first; u < t; u++)
		while (s->threads[u].turn < 0 || porf[u] <= s->threads[u].turn)
			search_pause(s, THREAD_OUT_OF_TURN);
}
