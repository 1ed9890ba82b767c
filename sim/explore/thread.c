/* SPDX-License-Identifier: MIT */
/* The running thread: its state, its next event, its records. */
#include "search.h"

#include <sim/fiber.h>

#include <stdarg.h>

int explore_thread(void)
{
	struct search *s = current_search;

	return s->self == NULL ? -1 : me(s);
}

struct sim_fiber *explore_fiber(void)
{
	struct search *s = current_search;

	return s == NULL || s->self == NULL ? NULL : s->self->fiber;
}

void search_pause(struct search *s, enum thread_state state)
{
	struct thread *thread = s->self;

	thread->state = state;
	sim_fiber_yield(thread->fiber);
}

void search_stop(struct search *s)
{
	s->stopped = true;
	while (s->self != NULL)
		search_pause(s, THREAD_DONE);
}

void explore_fail(enum verdict verdict, const char *format, ...)
{
	struct search *s = current_search;
	va_list arguments;

	if (s->result->verdict == VERDICT_PASSED) {
		va_start(arguments, format);
		vsnprintf(s->result->message, sizeof(s->result->message), format,
			  arguments);
		va_end(arguments);
		s->result->verdict = verdict;
		if (s->self != NULL)
			search_note_plain(s,
					  s->address != NULL ? "HERE: accesses" : "HERE",
					  s->address, 0, s->site);
	}
	search_stop(s);
}

void explore_crashed(const char *how)
{
	struct search *s = current_search;

	s->address = NULL; /* it belonged to the thread's previous operation */
	explore_fail(VERDICT_ASSERTION, CRASHED, me(s), how);
}

/* State. */

static bool made(struct search *s, event_id id)
{
	return id == INITIAL || event_index(id) < s->threads[event_thread(id)].position;
}

bool search_can_repeat(struct search *s, int thread)
{
	struct event *e = &s->graph.events[thread][s->threads[thread].position];
	int t;

	if (e->kind != EVENT_READ)
		return true;
	if (e->look != LOOK_FIRST) /* the previous round must be over */
		for (t = 0; t < s->graph.threads; t++)
			if (t != thread && s->threads[t].position < e->porf[t])
				return false;
	return made(s, e->from);
}

uint64_t search_peek(const void *p, int width)
{
	switch (width) {
	case 1:
		return *(const uint8_t *)p;
	case 2:
		return *(const uint16_t *)p;
	case 4:
		return *(const uint32_t *)p;
	default:
		return *(const uint64_t *)p;
	}
}

static void make_late_store(struct thread *thread)
{
	uint64_t *word = thread->late.word;

	thread->late.word = NULL;
	thread->halves = thread->late.halves;
	sim_engine->store(word, *word, SIM_RELAXED, thread->late.site);
	thread->halves = WHOLE;
}

void search_settle(struct search *s)
{
	int i;

	if (s->self == NULL)
		return;
	for (i = 0; i < s->self->unread_count; i++)
		graph_event(&s->graph, s->self->unread[i].event)->value = search_peek(
			s->self->unread[i].word, s->self->unread[i].width);
	s->self->unread_count = 0;
	if (s->self->late.word != NULL)
		make_late_store(s->self);
}

bool search_owes_write(struct search *s, int t)
{
	const struct event *last = graph_last(&s->graph, t);

	return last->kind == EVENT_READ && last->exclusive;
}

int search_made_after(struct search *s, int location, int rank)
{
	int n = 0, i;

	for (i = rank; i < s->graph.written[location]; i++) {
		event_id id = s->graph.mo[location][i];

		if (event_index(id) < s->threads[event_thread(id)].position)
			n++;
	}
	return n;
}

void search_cut(struct search *s)
{
	s->cut = true;
	for (;;)
		search_pause(s, THREAD_OUT_OF_TURN);
}

struct event *search_next_event(struct search *s, bool plain)
{
	int t = me(s);

	for (;;) {
		if (s->self->position < s->graph.length[t]) {
			if (search_can_repeat(s, t)) {
				struct event *e = &s->graph.events[t][s->self->position];

				token_record(s, t, e);
				s->self->position++;
				return e;
			}
			search_pause(s, THREAD_HELD);
		} else if (s->replaying) {
			search_pause(s, THREAD_FRONTIER);
		} else if (!plain && s->guide != NULL && token_thread(s) >= 0 &&
			   token_thread(s) != t) {
			search_pause(s, THREAD_FRONTIER);
		} else if (s->at_random && !plain && !random_takes_turn(s)) {
			search_pause(s, THREAD_FRONTIER);
		} else {
			break;
		}
	}
	if (s->graph.length[t] >= s->most_steps)
		search_cut(s);
	return NULL;
}

struct event *search_append(struct search *s, int thread, struct event event)
{
	struct event *e = &s->graph.events[thread][s->graph.length[thread]];

	event.stamp = ++s->graph.stamps;
	*e = event;
	s->graph.length[thread]++;
	s->graph.locations = memory_names(s->memory);
	return e;
}

static void note(struct search *s, struct step step)
{
	if (s->tracing)
		trace_add(&s->trace, step);
}

void search_note_event(struct search *s, event_id id, event_id update)
{
	struct event *e = graph_event(&s->graph, id);

	note(s, (struct step){
			.thread = event_thread(id),
			.site = e->site,
			.event = id,
			.update = update,
			.stale = e->kind == EVENT_READ
					 ? search_made_after(
						   s, e->location,
						   graph_rank(&s->graph, e->from)) -
						   (update != INITIAL)
					 : 0,
		});
}

void search_note_plain(struct search *s, const char *what, const void *p, size_t size,
		       const void *site)
{
	note(s, (struct step){
			.thread = me(s),
			.what = what,
			.site = site,
			.address = p,
			.size = size,
			.event = INITIAL,
		});
}
