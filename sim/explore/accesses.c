/* SPDX-License-Identifier: MIT */
/* Accesses to memory: data races, uninitialised and freed memory. */
#include "search.h"

const char *access_place(struct search *s, const void *p)
{
	if (!memory_describe(s->memory, p, s->place, sizeof(s->place)))
		snprintf(s->place, sizeof(s->place), "%p", p);
	return s->place;
}

static void check_race(struct search *s, struct cell *cell, int halves, bool write,
		       bool plain)
{
	clock_vector known = search_here(s)->hb;
	int t = me(s), half;

	known[t] = 0xff;
	for (half = 0; half < HALVES; half++) {
		const struct accesses *a = &cell->halves[half];

		if ((halves >> half & 1) == 0)
			continue;
		if (!clock_within(a->plain_writes, known) ||
		    (plain && !clock_within(a->atomic_writes, known)) ||
		    (write && !clock_within(a->plain_reads, known)) ||
		    (write && plain && !clock_within(a->atomic_reads, known)))
			explore_fail(VERDICT_RACE,
				     "two threads access %s and nothing orders them",
				     access_place(s, cell->address));
	}
}

/* Records an access by a thread that has done `position` events. */
static void note(struct cell *cell, int halves, bool write, bool plain, int t,
		 uint8_t position)
{
	int half;

	for (half = 0; half < HALVES; half++) {
		struct accesses *a = &cell->halves[half];

		if ((halves >> half & 1) == 0)
			continue;
		if (plain && write)
			a->plain_writes[t] = position;
		else if (plain)
			a->plain_reads[t] = position;
		else if (write)
			a->atomic_writes[t] = position;
		else
			a->atomic_reads[t] = position;
	}
}

/* `cell` and `state` are the result of looking up p. */
static void check_lives(struct search *s, const void *p, const struct cell *cell,
			enum memory_state state, bool plain)
{
	if (state == MEMORY_FREED)
		explore_fail(VERDICT_FREED, "%s is accessed, but it is gone",
			     access_place(s, p));
	if (state == MEMORY_UNKNOWN || (cell == NULL && !plain))
		explore_fail(VERDICT_ASSERTION, "%s is accessed, and is nobody's memory",
			     access_place(s, p));
}

/* Records an access that has happened once this thread has done `position` events. */
static void visit(struct search *s, const struct cell *cell, int position)
{
	int t = me(s);

	if (cell->owner >= 0 && cell->owner != t)
		memory_visit(s->memory, cell->owner, t, (uint8_t)position);
}

/* Must be called before the event is repeated or added: the access belongs to the next
 * event. */
struct cell *access_find(struct search *s, const void *p)
{
	enum memory_state state;
	struct cell *cell = memory_find(s->memory, p, &state);

	check_lives(s, p, cell, state, false);
	if (!cell->atomic) {
		uint8_t location = memory_name(s->memory, cell);

		if (location == NO_LOCATION)
			explore_fail(VERDICT_LIMIT,
				     "more than %d atomic words; lower --threads or "
				     "--episodes",
				     MAX_LOCATIONS);
		s->graph.initial[location] = memory_initial(s->memory, cell);
	}
	if (cell->written_plainly) {
		/* The word is atomic, so its earlier plain writes should have been
		 * events: start again. */
		cell->written_plainly = false;
		s->restart = true;
		search_stop(s);
	}
	return cell;
}

void access_atomic(struct search *s, struct cell *cell, bool write)
{
	uint8_t position = (uint8_t)s->self->position;
	int halves = s->self->halves;

	visit(s, cell, position);
	check_race(s, cell, halves, write, false);
	if (write)
		memory_save(s->memory, cell);
	note(cell, halves, write, false, me(s), position);
}

void access_plain(struct search *s, const char *p, size_t size, bool write,
		  const void *site)
{
	enum memory_state state;
	int t = me(s), halves = memory_halves(p, size);
	struct cell *cell = memory_find(s->memory, p, &state);

	if (cell == NULL && state == MEMORY_LIVE)
		return;
	s->site = site;
	s->address = p;
	if (cell == NULL ||
	    !((write && cell->atomic) || memory_is_constant(s->memory, cell, write)))
		search_note_plain(s, write ? "write" : "read", p, 8, site);
	check_lives(s, p, cell, state, true);
	if (write)
		memory_save(s->memory, cell);
	if (write && cell->atomic) {
		struct event *e = search_next_event(s, true);

		check_race(s, cell, halves, true, true);
		if (e == NULL)
			e = search_add_write(s,
					     (struct event){
						     .kind = EVENT_WRITE,
						     .operation = OP_PLAIN_STORE,
						     .order = SIM_RELAXED,
						     .location = cell->location,
						     .site = site,
					     },
					     false);
		note(cell, halves, true, true, t, (uint8_t)s->self->position);
		visit(s, cell, s->self->position);
		if (s->self->unread_count == MAX_UNREAD)
			explore_fail(
				VERDICT_LIMIT,
				"too many atomics in one store; clear them one by one");
		s->self->unread[s->self->unread_count].word = cell->address;
		s->self->unread[s->self->unread_count].width = 8;
		s->self->unread[s->self->unread_count++].event = event_name(
			t, s->self->position - 1);
		search_note_event(s, event_name(t, s->self->position - 1), INITIAL);
		return;
	}
	check_race(s, cell, halves, write, true);
	note(cell, halves, write, true, t, (uint8_t)(s->self->position + 1));
	if (write)
		cell->written_plainly = true;
	visit(s, cell, s->self->position + 1);
}
