/* SPDX-License-Identifier: MIT */
/* The event queue: a heap with four children per node, which keeps it shallow. */
#include "coherence.h"

#include <stdlib.h>

static bool before(const struct event *a, const struct event *b)
{
	return a->time != b->time ? a->time < b->time
				  : (int32_t)(a->order - b->order) < 0;
}

void event_add(struct coherence *c, uint64_t time, enum event_kind kind, uint32_t which)
{
	struct event event = {time, c->order++, (uint32_t)kind << 24 | which};
	size_t i, parent;

	if (c->count == c->room) {
		c->room = c->room == 0 ? 1024 : c->room * 2;
		c->events = realloc(c->events, c->room * sizeof(*c->events));
		if (c->events == NULL)
			coherence_fatal("out of memory");
	}
	for (i = c->count++; i > 0; i = parent) {
		parent = (i - 1) / 4;
		if (!before(&event, &c->events[parent]))
			break;
		c->events[i] = c->events[parent];
	}
	c->events[i] = event;
}

static struct event pop(struct coherence *c)
{
	struct event first = c->events[0], moved = c->events[--c->count];
	size_t i = 0;

	for (;;) {
		size_t child = i * 4 + 1, end = child + 4, best = child;

		if (child >= c->count)
			break;
		if (end > c->count)
			end = c->count;
		while (++child < end)
			if (before(&c->events[child], &c->events[best]))
				best = child;
		if (!before(&c->events[best], &moved))
			break;
		c->events[i] = c->events[best];
		i = best;
	}
	c->events[i] = moved;
	return first;
}

/*
 * Waits on a hint all have the same timeout, so their events are created in order and
 * need no heap. Some locks have one for every waiter: in the heap they would slow down
 * all other events.
 */
void event_add_deadline(struct coherence *c, uint64_t time, uint32_t which)
{
	struct event event = {time, c->order++, (uint32_t)GIVE_UP << 24 | which};
	size_t i;

	if (c->waiting == c->ring) {
		struct event *ring = coherence_get((c->ring * 2 + 1024) * sizeof(*ring));

		for (i = 0; i < c->waiting; i++)
			ring[i] = c->give_ups[(c->oldest + i) % c->ring];
		free(c->give_ups);
		c->give_ups = ring;
		c->ring = c->ring * 2 + 1024;
		c->oldest = 0;
	}
	c->give_ups[(c->oldest + c->waiting++) % c->ring] = event;
}

struct event event_take(struct coherence *c)
{
	struct event event;

	if (c->waiting == 0 ||
	    (c->count != 0 && before(&c->events[0], &c->give_ups[c->oldest])))
		return pop(c);
	event = c->give_ups[c->oldest];
	c->oldest = (c->oldest + 1) % c->ring;
	c->waiting--;
	return event;
}
