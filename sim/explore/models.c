/* SPDX-License-Identifier: MIT */
/*
 * What the memory models forbid beyond coherence and atomicity, which the search
 * guarantees by construction.
 */
#include "graph.h"

#include <sim/seam.h>

#include <limits.h>
#include <string.h>

static bool is_sc_access(const struct event *e)
{
	if (e->kind == EVENT_WRITE)
		return e->order == SIM_SEQ_CST;
	if (e->kind != EVENT_READ)
		return false;
	if (e->operation == OP_CAS && !e->exclusive)
		return e->failure == SIM_SEQ_CST;
	return e->order == SIM_SEQ_CST;
}

static bool is_full_fence(const struct event *e)
{
	return e->kind == EVENT_FENCE &&
	       (e->order == SIM_FENCE_FULL || e->order == SIM_FENCE_HEAVY);
}

static bool is_light_fence(const struct event *e)
{
	return e->kind == EVENT_FENCE && e->order == SIM_FENCE_LIGHT;
}

bool graph_must_check(const struct graph *g, const struct event *e, enum model model)
{
	return model != MODEL_WEAK || g->fences > 0 || is_sc_access(e);
}

/* The number of reads of each write that are still to be placed; by location and rank.
 * Static, because it is too large for a fiber's stack. */
static int readers[MAX_LOCATIONS][MAX_WRITES + 1];

/* Sequential consistency: some total order of the events explains the graph. An event is
 * placed as soon as all events that must precede it are. */
static bool allowed_sc(struct graph *g)
{
	int current[MAX_LOCATIONS];
	int taken[MAX_THREADS] = {0};
	bool moved = true;
	int t, i, l;

	for (l = 0; l < g->locations; l++) {
		current[l] = 0;
		memset(readers[l], 0, sizeof(int) * (size_t)(g->written[l] + 1));
	}
	for (t = 0; t < g->threads; t++)
		for (i = 0; i < g->length[t]; i++)
			if (g->events[t][i].kind == EVENT_READ)
				readers[g->events[t][i].location]
				       [graph_rank(g, g->events[t][i].from)]++;
	while (moved) {
		moved = false;
		for (t = 0; t < g->threads; t++) {
			while (taken[t] < g->length[t]) {
				struct event *e = &g->events[t][taken[t]];

				l = e->location;
				if (e->kind == EVENT_READ) {
					if (current[l] != graph_rank(g, e->from))
						break;
					readers[l][current[l]]--;
				} else if (e->kind == EVENT_WRITE) {
					if (current[l] != e->rank - 1 ||
					    readers[l][e->rank - 1] > 0)
						break;
					current[l]++;
				}
				taken[t]++;
				moved = true;
			}
		}
	}
	for (t = 0; t < g->threads; t++)
		if (taken[t] < g->length[t])
			return false;
	return true;
}

/*
 * x86-TSO: as above, but a read does not wait for earlier writes of its own thread unless
 * something in between drains the store buffer, and a write of its own that is still in
 * the buffer satisfies it.
 */
static bool allowed_tso(struct graph *g)
{
	int current[MAX_LOCATIONS];
	bool taken[MAX_THREADS][MAX_STEPS];
	int first[MAX_THREADS] = {0};
	bool moved = true;
	int t, i, l;

	for (l = 0; l < g->locations; l++) {
		current[l] = 0;
		memset(readers[l], 0, sizeof(int) * (size_t)(g->written[l] + 1));
	}
	for (t = 0; t < g->threads; t++) {
		memset(taken[t], 0, g->length[t]);
		for (i = 0; i < g->length[t]; i++)
			if (g->events[t][i].kind == EVENT_READ)
				readers[g->events[t][i].location]
				       [graph_rank(g, g->events[t][i].from)]++;
	}
	while (moved) {
		moved = false;
		for (t = 0; t < g->threads; t++) {
			bool buffered = false, drain = false;

			for (i = first[t]; i < g->length[t] && !drain; i++) {
				struct event *e = &g->events[t][i];
				bool can;

				l = e->location;
				if (taken[t][i])
					continue;
				if (e->kind == EVENT_READ) {
					int rank = graph_rank(g, e->from);
					bool own = e->from != INITIAL &&
						   event_thread(e->from) == t;

					can = own ? current[l] <= rank
						  : current[l] == rank;
					if (e->exclusive)
						can = can && !buffered;
					if (can)
						readers[l][rank]--;
				} else if (e->kind == EVENT_WRITE) {
					int r;

					can = !buffered && current[l] == e->rank - 1;
					for (r = 0; can && r < e->rank; r++)
						can = readers[l][r] == 0;
					if (can)
						current[l]++;
				} else {
					can = !buffered ||
					      !(is_full_fence(e) || is_light_fence(e));
				}
				if (can) {
					taken[t][i] = true;
					moved = true;
				} else if (e->kind == EVENT_WRITE && !e->exclusive &&
					   e->order != SIM_SEQ_CST) {
					buffered = true;
				} else {
					drain = true;
				}
			}
			while (first[t] < g->length[t] && taken[t][first[t]])
				first[t]++;
		}
	}
	for (t = 0; t < g->threads; t++)
		if (first[t] < g->length[t])
			return false;
	return true;
}

/*
 * From here on RC11's psc, with the names of its paper. Fences make it large: the events
 * that happen before (after) a fence are a prefix (suffix) of every thread, so it is
 * enough to store where these end (begin).
 */

struct node {
	struct event *e;
	int thread, index;
	bool fence;
	clock_vector before;	    /* fence: the prefix that happens before it */
	uint8_t after[MAX_THREADS]; /* fence: first event after it */
	/* Fence: for each word, the lowest position (see standing) of an access after it,
	 * and the highest of an access before it. */
	int first[MAX_LOCATIONS], last[MAX_LOCATIONS];
};

static bool hb(const struct event *a, int thread, int index, const struct event *b)
{
	return a != b && b->hb[thread] > index;
}

static bool same_word(const struct event *a, const struct event *b)
{
	return a->location == b->location && a->location != NO_LOCATION;
}

/* Position in a word's order: the reads of a write come between it and the next write. So
 * a is before b iff a path of rf, mo and fr leads from a to b. */
static int standing(struct graph *g, struct event *e)
{
	return 2 * event_rank(g, e) + (e->kind == EVENT_READ);
}

static void measure_fence(struct graph *g, struct node *f)
{
	int t, i, l;

	for (l = 0; l < g->locations; l++) {
		f->first[l] = INT_MAX;
		f->last[l] = -1;
	}
	f->before = f->e->hb;
	f->before[f->thread] = (uint8_t)f->index;
	for (t = 0; t < g->threads; t++) {
		for (i = f->before[t] - 1; i >= 0; i--) {
			struct event *e = &g->events[t][i];

			l = e->location;
			if (l != NO_LOCATION && standing(g, e) > f->last[l])
				f->last[l] = standing(g, e);
		}
		for (i = g->length[t] - 1; i >= 0; i--) {
			struct event *e = &g->events[t][i];

			if (!hb(f->e, f->thread, f->index, e))
				break;
			l = e->location;
			if (l != NO_LOCATION && standing(g, e) < f->first[l])
				f->first[l] = standing(g, e);
		}
		f->after[t] = (uint8_t)(i + 1);
	}
}

/* The relation scb: po, hb at one word, mo, fr, or hb that leaves and enters through
 * accesses to other words. */
static bool scb(struct graph *g, const struct node *a, const struct node *b)
{
	int x, y;

	if (a->thread == b->thread && a->index < b->index)
		return true;
	if (same_word(a->e, b->e)) {
		if (hb(a->e, a->thread, a->index, b->e))
			return true;
		if (b->e->kind == EVENT_WRITE && event_rank(g, a->e) < b->e->rank)
			return true; /* mo or fr */
	}
	for (x = a->index + 1; x < g->length[a->thread]; x++)
		if (!same_word(a->e, &g->events[a->thread][x]))
			break;
	for (y = b->index - 1; y >= 0; y--)
		if (!same_word(b->e, &g->events[b->thread][y]))
			break;
	return x < g->length[a->thread] && y >= 0 &&
	       hb(&g->events[a->thread][x], a->thread, x, &g->events[b->thread][y]);
}

static bool psc_fences(struct graph *g, const struct node *a, const struct node *b)
{
	int l;

	if (hb(a->e, a->thread, a->index, b->e))
		return true;
	for (l = 0; l < g->locations; l++)
		if (a->first[l] < b->last[l])
			return true;
	return false;
}

/* From a fence to an access: through its predecessor in program order, or through another
 * access to the same word that happens after the fence. */
static bool psc_from_fence(struct graph *g, const struct node *a, const struct node *b)
{
	int t, i;

	if (b->index > 0) {
		struct event *previous = &g->events[b->thread][b->index - 1];

		if (previous == a->e || hb(a->e, a->thread, a->index, previous))
			return true;
	}
	for (t = 0; t < g->threads; t++) {
		for (i = a->after[t]; i < g->length[t]; i++) {
			struct event *e = &g->events[t][i];

			if (e != b->e && same_word(e, b->e) &&
			    (hb(e, t, i, b->e) || (b->e->kind == EVENT_WRITE &&
						   event_rank(g, e) < b->e->rank)))
				return true;
		}
	}
	return false;
}

static bool psc_to_fence(struct graph *g, const struct node *a, const struct node *b)
{
	int t, i;

	if (a->index + 1 < g->length[a->thread]) {
		struct event *next = &g->events[a->thread][a->index + 1];

		if (next == b->e || hb(next, a->thread, a->index + 1, b->e))
			return true;
	}
	for (t = 0; t < g->threads; t++) {
		for (i = 0; i < b->before[t]; i++) {
			struct event *e = &g->events[t][i];

			if (e != a->e && same_word(e, a->e) &&
			    (hb(a->e, a->thread, a->index, e) ||
			     (e->kind == EVENT_WRITE && event_rank(g, a->e) < e->rank)))
				return true;
		}
	}
	return false;
}

static bool psc(struct graph *g, const struct node *a, const struct node *b)
{
	if (a->fence)
		return b->fence ? psc_fences(g, a, b) : psc_from_fence(g, a, b);
	return b->fence ? psc_to_fence(g, a, b) : scb(g, a, b);
}

/*
 * The asymmetric fence of WG21 P1202: a light fence counts as a full fence, but only
 * against heavy ones.
 */
static bool comparable(const struct event *a, const struct event *b)
{
	if (is_light_fence(a))
		return b->kind == EVENT_FENCE && b->order == SIM_FENCE_HEAVY;
	if (is_light_fence(b))
		return a->kind == EVENT_FENCE && a->order == SIM_FENCE_HEAVY;
	return true;
}

enum { MAX_SC = 64 };

static bool allowed_psc(struct graph *g)
{
	static struct node nodes[MAX_SC];
	uint64_t after[MAX_SC], left;
	int n = 0, t, i, k;
	bool moved = true;

	for (t = 0; t < g->threads; t++) {
		for (i = 0; i < g->length[t]; i++) {
			struct event *e = &g->events[t][i];

			if (!is_sc_access(e) && !is_full_fence(e) && !is_light_fence(e))
				continue;
			if (n == MAX_SC) {
				g->overflow = true;
				return true;
			}
			nodes[n].e = e;
			nodes[n].thread = t;
			nodes[n].index = i;
			nodes[n].fence = e->kind == EVENT_FENCE;
			if (nodes[n].fence)
				measure_fence(g, &nodes[n]);
			n++;
		}
	}
	if (n < 2)
		return true;
	for (i = 0; i < n; i++) {
		after[i] = 0;
		for (k = 0; k < n; k++)
			if (i != k && comparable(nodes[i].e, nodes[k].e) &&
			    psc(g, &nodes[i], &nodes[k]))
				after[i] |= (uint64_t)1 << k;
	}
	/* Removes nodes without successors until only cycles remain. */
	left = n == 64 ? ~(uint64_t)0 : ((uint64_t)1 << n) - 1;
	while (moved) {
		moved = false;
		for (i = 0; i < n; i++) {
			if ((left >> i & 1) == 0 || (after[i] & left) != 0)
				continue;
			left &= ~((uint64_t)1 << i);
			moved = true;
		}
	}
	return left == 0;
}

bool graph_allowed(struct graph *g, enum model model)
{
	if (!allowed_psc(g))
		return false;
	if (model == MODEL_SC)
		return allowed_sc(g);
	if (model == MODEL_TSO)
		return allowed_tso(g);
	return true;
}
