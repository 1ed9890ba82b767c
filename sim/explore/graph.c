/* SPDX-License-Identifier: MIT */
/* Execution graphs: construction, truncation, copies. The memory models are in
 * models.c. */
#include "graph.h"

#include <sim/seam.h>

#include <string.h>

const struct event graph_blank = {.location = NO_LOCATION};

void graph_clear(struct graph *g, int threads)
{
	g->threads = threads;
	g->locations = 0;
	g->tired = 0;
	g->settled = graph_blank.hb;
	g->stamps = 0;
	g->writes = 0;
	g->fences = 0;
	g->overflow = false;
	memset(g->length, 0, sizeof(g->length));
	memset(g->written, 0, sizeof(g->written));
}

const struct event *graph_last(const struct graph *g, int thread)
{
	int n = g->length[thread];

	return n == 0 ? &graph_blank : &g->events[thread][n - 1];
}

struct outcome graph_outcome(enum operation operation, uint64_t expected, uint64_t value)
{
	bool equal = value == expected;

	switch (operation) {
	case OP_EXCHANGE:
	case OP_ADD:
	case OP_SUB:
	case OP_AND:
	case OP_OR:
	case OP_XOR:
	case OP_NAND:
		return (struct outcome){true, true};
	case OP_CAS:
		return (struct outcome){true, equal};
	case OP_AWAIT_EQ:
	case OP_ASSUME_EQ:
		return (struct outcome){equal, false};
	case OP_AWAIT_NE:
	case OP_AWAIT_CHANGE:
		return (struct outcome){!equal, false};
	case OP_AWAIT_CAS:
	case OP_ASSUME_CAS:
	case OP_AWAIT_EQ_RMW:
		return (struct outcome){equal, equal};
	case OP_AWAIT_QUIET:
		return (struct outcome){false, false};
	case OP_AWAIT_NE_RMW:
	case OP_ASSUME_NE_RMW:
		return (struct outcome){!equal, !equal};
	default:
		return (struct outcome){true, false};
	}
}

struct learnt_wait graph_waits[MAX_WAITS];

struct outcome graph_value_outcome(const struct event *e, uint64_t value)
{
	const struct learnt_wait *waits = &graph_waits[e->waits];
	int i;

	for (i = 0; i < waits->count; i++)
		if (waits->values[i] == value)
			return (struct outcome){false, false};
	return graph_outcome(e->operation, e->expected, value);
}

struct outcome graph_read_outcome(struct graph *g, const struct event *e, event_id from)
{
	struct outcome outcome = graph_value_outcome(e,
						     graph_value(g, e->location, from));

	if (e->look == LOOK_LAST && (from == INITIAL || event_within(from, g->settled)))
		outcome.ends = true;
	return outcome;
}

static bool acquires(int order)
{
	return order == SIM_ACQUIRE || order == SIM_ACQ_REL || order == SIM_SEQ_CST;
}

static bool releases(int order)
{
	return order == SIM_RELEASE || order == SIM_ACQ_REL || order == SIM_SEQ_CST;
}

/* Initialises an event's clocks from those of its predecessor in program order. */
static void follow(struct graph *g, int thread, struct event *e)
{
	int index = (int)(e - g->events[thread]);
	const struct event *last = index == 0 ? &graph_blank : e - 1;

	e->hb = last->hb;
	e->porf = last->porf;
	e->hb[thread] = (uint8_t)(index + 1);
	e->porf[thread] = (uint8_t)(index + 1);
	e->pass = graph_blank.pass;
	e->released = last->released;
	e->unacquired = last->unacquired;
	e->seen = last->seen;
}

void graph_set_read(struct graph *g, int thread, struct event *e, event_id from)
{
	struct outcome outcome;
	int order;

	follow(g, thread, e);
	e->from = from;
	e->value = graph_value(g, e->location, from);
	outcome = graph_read_outcome(g, e, from);
	e->blocked = !outcome.ends;
	e->exclusive = outcome.writes;
	if (e->look != LOOK_FIRST) {
		e->porf = clock_join(e->porf, g->settled);
		e->seen = clock_join(e->seen, g->settled);
	}
	if (from == INITIAL)
		return;
	e->porf = clock_join(e->porf, graph_event(g, from)->porf);
	order = e->operation == OP_CAS && !outcome.writes ? e->failure : e->order;
	if (acquires(order))
		e->hb = clock_join(e->hb, graph_event(g, from)->pass);
	else
		e->unacquired = clock_join(e->unacquired, graph_event(g, from)->pass);
}

void graph_set_write(struct graph *g, int thread, struct event *e,
		     const struct event *exclusive_read)
{
	follow(g, thread, e);
	e->pass = releases(e->order) ? e->hb : e->released;
	e->exclusive = exclusive_read != NULL;
	/* A read-modify-write continues the release sequence that it reads from. */
	if (exclusive_read != NULL && exclusive_read->from != INITIAL)
		e->pass = clock_join(e->pass, graph_event(g, exclusive_read->from)->pass);
}

void graph_set_fence(struct graph *g, int thread, struct event *e)
{
	follow(g, thread, e);
	switch (e->order) {
	case SIM_FENCE_ACQUIRE:
		e->hb = clock_join(e->hb, e->unacquired);
		break;
	case SIM_FENCE_RELEASE:
		e->released = e->hb;
		break;
	case SIM_FENCE_ACQ_REL:
	case SIM_FENCE_FULL:
	case SIM_FENCE_HEAVY:
		e->hb = clock_join(e->hb, e->unacquired);
		e->released = e->hb;
		break;
	default: /* a light fence orders only against heavy ones: models.c */
		break;
	}
}

void graph_set_other(struct graph *g, int thread, struct event *e)
{
	follow(g, thread, e);
}

void graph_settle(struct graph *g, uint8_t tired)
{
	int t;

	for (t = 0; t < g->threads; t++)
		g->settled[t] = g->length[t];
	g->tired = tired;
}

int graph_writes_within(const struct graph *g, clock_vector prefix)
{
	int n = 0, t, i;

	for (t = 0; t < g->threads; t++)
		for (i = 0; i < prefix[t]; i++)
			n += g->events[t][i].kind == EVENT_WRITE;
	return n;
}

void graph_insert(struct graph *g, event_id write, int rank)
{
	struct event *e = graph_event(g, write);
	event_id *mo = g->mo[e->location];
	int n = ++g->written[e->location], i;

	for (i = n; i > rank; i--) {
		mo[i - 1] = mo[i - 2];
		graph_event(g, mo[i - 1])->rank = (uint16_t)i;
	}
	mo[rank - 1] = write;
	e->rank = (uint16_t)rank;
	g->writes++;
}

void graph_remove(struct graph *g, event_id write)
{
	struct event *e = graph_event(g, write);
	event_id *mo = g->mo[e->location];
	int n = --g->written[e->location], i;

	for (i = e->rank; i <= n; i++) {
		mo[i - 1] = mo[i];
		graph_event(g, mo[i - 1])->rank = (uint16_t)i;
	}
	g->writes--;
}

bool graph_is_joined(struct graph *g, int location, int rank)
{
	return rank < g->written[location] &&
	       graph_event(g, g->mo[location][rank])->exclusive;
}

int graph_floor(struct graph *g, event_id id)
{
	const struct event *last = graph_before(g, id);
	clock_vector prefix = clock_join(last->hb, last->seen);
	int location = graph_event(g, id)->location;
	int least = 0, t, i;

	if (graph_event(g, id)->look != LOOK_FIRST)
		prefix = clock_join(prefix, g->settled);
	for (t = 0; t < g->threads; t++) {
		for (i = prefix[t] - 1; i >= 0; i--) {
			struct event *e = &g->events[t][i];
			int rank;

			if (e->location != location)
				continue;
			rank = event_rank(g, e);
			if (rank > least)
				least = rank;
			break; /* coherence: earlier reads have no higher rank */
		}
	}
	return least;
}

void graph_truncate(struct graph *g, const uint8_t *keep)
{
	int l, t, i;

	for (l = 0; l < g->locations; l++) {
		int n = 0;

		for (i = 0; i < g->written[l]; i++) {
			event_id id = g->mo[l][i];

			if (event_index(id) >= keep[event_thread(id)])
				continue;
			g->mo[l][n++] = id;
			graph_event(g, id)->rank = (uint16_t)n;
		}
		g->writes = (uint16_t)(g->writes - (g->written[l] - n));
		g->written[l] = (uint16_t)n;
	}
	for (t = 0; t < g->threads; t++) {
		for (i = keep[t]; i < g->length[t]; i++)
			if (graph_is_sc_fence(&g->events[t][i]))
				g->fences--;
		g->length[t] = keep[t];
	}
}

bool graph_is_sc_fence(const struct event *e)
{
	return e->kind == EVENT_FENCE &&
	       (e->order == SIM_FENCE_LIGHT || e->order == SIM_FENCE_HEAVY ||
		e->order == SIM_FENCE_FULL);
}

static size_t head_size(void)
{
	return offsetof(struct graph, written);
}

size_t graph_packed_size(const struct graph *g)
{
	size_t size = head_size();
	int t, l;

	size += (size_t)g->locations * sizeof(g->written[0]);
	for (l = 0; l < g->locations; l++)
		size += g->written[l] * sizeof(event_id);
	for (t = 0; t < g->threads; t++)
		size += g->length[t] * sizeof(struct event);
	return size;
}

static unsigned char *put(unsigned char *to, const void *from, size_t size)
{
	memcpy(to, from, size);
	return to + size;
}

static const unsigned char *get(void *to, const unsigned char *from, size_t size)
{
	memcpy(to, from, size);
	return from + size;
}

void graph_pack(const struct graph *g, unsigned char *to)
{
	int t, l;

	to = put(to, g, head_size());
	to = put(to, g->written, (size_t)g->locations * sizeof(g->written[0]));
	for (l = 0; l < g->locations; l++)
		to = put(to, g->mo[l], g->written[l] * sizeof(event_id));
	for (t = 0; t < g->threads; t++)
		to = put(to, g->events[t], g->length[t] * sizeof(struct event));
}

void graph_unpack(struct graph *g, const unsigned char *from)
{
	int t, l;

	from = get(g, from, head_size());
	memset(g->written, 0, sizeof(g->written));
	from = get(g->written, from, (size_t)g->locations * sizeof(g->written[0]));
	for (l = 0; l < g->locations; l++)
		from = get(g->mo[l], from, g->written[l] * sizeof(event_id));
	for (t = 0; t < g->threads; t++)
		from = get(g->events[t], from, g->length[t] * sizeof(struct event));
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

uint64_t graph_hash(const struct graph *g)
{
	uint64_t hash = 1;
	int t, i;

	for (t = 0; t < g->threads; t++) {
		hash = mix(hash, g->length[t]);
		for (i = 0; i < g->length[t]; i++) {
			const struct event *e = &g->events[t][i];

			hash = mix(hash, e->kind);
			if (e->kind == EVENT_READ)
				hash = mix(hash, e->from);
			else if (e->kind == EVENT_WRITE)
				hash = mix(hash, e->rank);
			else
				hash = mix(hash, e->value);
		}
	}
	return hash;
}
