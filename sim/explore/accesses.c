/* SPDX-License-Identifier: MIT */
/* Accesses to memory, and what may be wrong with them. */
#include "search.h"

const char *access_place(struct search *s, const void *p)
{
	if (!memory_describe(s->memory, p, s->place, sizeof(s->place)))
		snprintf(s->place, sizeof(s->place), "%p", p);
	return s->place;
}

static void check_race(struct search *s, struct cell *cell, bool write, bool plain)
{
	clock_vector known = search_here(s)->hb;
	int t = me(s);

	known[t] = 0xff;
	if (!clock_within(cell->plain_writes, known) ||
	    (plain && !clock_within(cell->atomic_writes, known)) ||
	    (write && !clock_within(cell->plain_reads, known)) ||
	    (write && plain && !clock_within(cell->atomic_reads, known)))
		explore_fail(VERDICT_RACE,
			     "two threads access %s and nothing orders them",
			     access_place(s, cell->address));
}

/* `cell` and `state` are what was found at p. */
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

/* Notes an access that has happened once so many of our events have. */
static void visit(struct search *s, const struct cell *cell, int position)
{
	int t = me(s);

	if (cell->owner >= 0 && cell->owner != t)
		memory_visit(s->memory, cell->owner, t, (uint8_t)position);
}

/* To be called before the event is taken or added: it is the next one. */
struct cell *access_find(struct search *s, const void *p)
{
	enum memory_state state;
	struct cell *cell = memory_find(s->memory, p, &state);

	check_lives(s, p, cell, state, false);
	if (memory_name(s->memory, cell) == NO_LOCATION)
		explore_fail(VERDICT_LIMIT,
			     "more than %d atomic words; lower --threads or --episodes",
			     MAX_LOCATIONS);
	if (cell->written_plainly) {
		/* Those writes should have been events: start again, knowing. */
		cell->written_plainly = false;
		s->restart = true;
		search_stop(s);
	}
	return cell;
}

void access_atomic(struct search *s, struct cell *cell, bool write)
{
	uint8_t position = (uint8_t)s->self->position;
	int t = me(s);

	visit(s, cell, position);
	check_race(s, cell, write, false);
	if (write) {
		memory_save(s->memory, cell);
		cell->atomic_writes[t] = position;
	} else {
		cell->atomic_reads[t] = position;
	}
}

void access_plain(struct search *s, const char *p, bool write, const void *site)
{
	enum memory_state state;
	int t = me(s);
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

		check_race(s, cell, true, true);
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
		cell->plain_writes[t] = (uint8_t)s->self->position;
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
	check_race(s, cell, write, true);
	if (write) {
		cell->plain_writes[t] = (uint8_t)(s->self->position + 1);
		cell->written_plainly = true;
	} else {
		cell->plain_reads[t] = (uint8_t)(s->self->position + 1);
	}
	visit(s, cell, s->self->position + 1);
}
