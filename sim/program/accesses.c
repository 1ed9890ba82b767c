/* SPDX-License-Identifier: MIT */
/* Accesses to the program's memory, byte by byte: data races, freed and uninitialised
 * memory. */
#include "symmetry.h"

const char *access_place(struct search *s, const void *p)
{
	if (!memory_describe(s->memory, p, s->place, sizeof(s->place)))
		snprintf(s->place, sizeof(s->place), "%p", p);
	return s->place;
}

static uint8_t mask_of(size_t offset, size_t size)
{
	return (uint8_t)(((1u << size) - 1) << offset);
}

static void check_race(struct search *s, const struct part *part, const void *p,
		       bool write, bool plain)
{
	clock_vector known = search_here(s)->hb;

	known[me(s)] = 0xff;
	if (!clock_within(part->plain_writes, known) ||
	    (plain && !clock_within(part->atomic_writes, known)) ||
	    (write && !clock_within(part->plain_reads, known)) ||
	    (write && plain && !clock_within(part->atomic_reads, known)))
		explore_fail(VERDICT_RACE,
			     "two threads access %s and nothing orders them",
			     access_place(s, p));
}

static void check_lives(struct search *s, const void *p, const struct place *place,
			bool plain)
{
	if (place->state == MEMORY_FREED)
		explore_fail(VERDICT_FREED, "%s is accessed, but it is gone",
			     access_place(s, p));
	if (place->state == MEMORY_UNKNOWN)
		explore_fail(VERDICT_ASSERTION, "%s is accessed, and is nobody's memory",
			     access_place(s, p));
	if (place->word == NULL && !plain)
		explore_fail(VERDICT_REFUSED,
			     "the atomic %s cannot be played: it is not the program's, "
			     "but a library's that was not compiled with it",
			     access_place(s, p));
}

void access_lives(struct search *s, const void *p, const void *site)
{
	struct place place = place_find(s->memory, p);

	s->site = site;
	s->address = p;
	check_lives(s, p, &place, true);
}

/* Records an access that has happened once this thread has done `position` events. */
static void visit(struct search *s, int owner, int position)
{
	if (owner >= 0 && owner != me(s))
		memory_visit(s->memory, owner, me(s), (uint8_t)position);
}

static void refuse_mixed(struct search *s, const void *p, int width)
{
	explore_fail(VERDICT_REFUSED,
		     "%s is accessed with different widths, now with %d byte%s; use one "
		     "atomic type for one location",
		     access_place(s, p), width, width == 1 ? "" : "s");
}

uint8_t access_atomic_at(struct search *s, const void *p, int width, const void *site)
{
	struct place place = place_find(s->memory, p);
	int offset = (int)((const char *)p - place.address), i;
	int found = place.word == NULL ? 0 : place.word->width[offset];
	struct part *part;

	s->site = site;
	s->address = p;
	check_lives(s, p, &place, false);
	if (symmetry_used)
		symmetry_access(s, place.word, p);
	if (found == width)
		return place.word->location[offset];
	if (offset + width > 8)
		explore_fail(VERDICT_REFUSED,
			     "the atomic %s is not aligned to its %d bytes",
			     access_place(s, p), width);
	for (i = 0; i < width; i++)
		if (place.word->width[offset + i] != NO_ATOMIC)
			refuse_mixed(s, p, width);
	found = memory_name_atomic(s->memory, (char *)(uintptr_t)p, width);
	if (found == NO_LOCATION)
		explore_fail(VERDICT_LIMIT, "more than %d atomics; %s", MAX_LOCATIONS,
			     search_smaller(s));
	for (i = 0; (part = word_part(place.word, mask_of((size_t)offset, (size_t)width),
				      &i)) != NULL;) {
		if (!part->written_plainly)
			continue;
		/* The bytes are atomic, so their earlier plain writes should have been
		 * events: start again. */
		part->written_plainly = false;
		s->restart = true;
	}
	if (s->restart)
		search_stop(s);
	return (uint8_t)found;
}

void access_atomic_done(struct search *s, const void *p, int width, bool write)
{
	struct place place = place_find(s->memory, p);
	uint8_t position = (uint8_t)s->self->position;
	uint8_t mask = mask_of((size_t)((const char *)p - place.address), (size_t)width);
	struct part *part;
	int i = 0, t = me(s);

	visit(s, place.owner, position);
	while ((part = word_part(place.word, mask, &i)) != NULL) {
		check_race(s, part, p, write, false);
		if (write)
			part->atomic_writes[t] = position;
		else
			part->atomic_reads[t] = position;
	}
}

/* A plain store to an atomic object is an event; its value is known later. */
static void store_event(struct search *s, char *p, int width, const void *site)
{
	struct place place = place_find(s->memory, p);
	int l = place.word->location[p - place.address];
	struct event *e = search_next_event(s, true);

	if (e == NULL)
		search_add_write(s,
				 (struct event){
					 .kind = EVENT_WRITE,
					 .operation = OP_PLAIN_STORE,
					 .order = SIM_RELAXED,
					 .location = (uint8_t)l,
					 .site = site,
				 },
				 false);
	if (s->self->unread_count == MAX_UNREAD)
		explore_fail(VERDICT_LIMIT,
			     "too many atomics in one store; clear them one by one");
	s->self->unread[s->self->unread_count].word = p;
	s->self->unread[s->self->unread_count].width = width;
	s->self->unread[s->self->unread_count++].event = event_name(
		me(s), s->self->position - 1);
	search_note_event(s, event_name(me(s), s->self->position - 1), INITIAL);
}

/* The value of a plain read: the last write that happens before it. */
static void refresh(struct search *s, char *p, int width, int location)
{
	struct graph *g = &s->graph;
	clock_vector known = search_here(s)->hb;
	int rank = g->written[location];
	uint64_t value;

	while (rank > 0 && !event_within(graph_write_at(g, location, rank), known))
		rank--;
	value = graph_value(g, location, graph_write_at(g, location, rank));
	__builtin_memcpy(p, &value, (size_t)width); /* little-endian */
}

/* An access to some bytes of one word. */
static void access_bytes(struct search *s, char *p, size_t size, bool write,
			 const void *site)
{
	struct place place = place_find(s->memory, p);
	size_t offset = (size_t)(p - place.address), i;
	bool atomic = false, event = false;
	int t = me(s), n = 0;
	struct part *part;

	if (place.word == NULL && place.state == MEMORY_LIVE)
		return;
	s->site = site;
	s->address = p;
	for (i = offset; place.word != NULL && i < offset + size; i++)
		atomic = atomic || place.word->width[i] != NO_ATOMIC;
	if (!(write && atomic))
		search_note_plain(s, write ? "write" : "read", p, 8, site);
	check_lives(s, p, &place, true);
	if (symmetry_used)
		symmetry_access(s, place.word, p);
	while ((part = word_part(place.word, mask_of(offset, size), &n)) != NULL)
		check_race(s, part, p, write, true);
	for (i = offset; atomic && i < offset + size;) {
		int width = place.word->width[i];

		if (width == NO_ATOMIC) {
			i++;
			continue;
		}
		if (width == INSIDE || i + (size_t)width > offset + size) {
			if (place.owner != t) /* on a stack: left by another frame */
				refuse_mixed(s, p, (int)size);
			break;
		}
		if (write) {
			store_event(s, place.address + i, width, site);
			event = true;
		} else {
			refresh(s, place.address + i, width, place.word->location[i]);
		}
		i += (size_t)width;
	}
	n = 0;
	while ((part = word_part(place.word, mask_of(offset, size), &n)) != NULL) {
		uint8_t position = (uint8_t)(s->self->position + !event);

		if (write) {
			part->plain_writes[t] = position;
			if (place.word->width[__builtin_ctz(part->mask)] == NO_ATOMIC)
				part->written_plainly = true;
		} else {
			part->plain_reads[t] = position;
		}
	}
	visit(s, place.owner, s->self->position + !event);
}

void access_plain_range(struct search *s, const void *p, size_t size, bool write,
			const void *site)
{
	char *at = (char *)(uintptr_t)p, *end = at + size;

	while (at < end) {
		size_t left = (size_t)(end - at), room = 8 - ((uintptr_t)at & 7);

		if (left < room)
			room = left;
		access_bytes(s, at, room, write, site);
		at += room;
	}
}
