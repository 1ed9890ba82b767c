/* SPDX-License-Identifier: MIT */
/*
 * What the models forbid beyond coherence and atomicity, which the search
 * keeps by construction.
 */
#include "graph.h"

#include <sim/seam.h>

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
	       (e->order == SIM_FENCE_SEQ_CST || e->order == SIM_FENCE_HEAVY);
}

static bool is_light_fence(const struct event *e)
{
	return e->kind == EVENT_FENCE && e->order == SIM_FENCE_LIGHT;
}

bool graph_must_check(const struct graph *g, const struct event *e, enum model model)
{
	return model != MODEL_WEAK || g->fences > 0 || is_sc_access(e);
}

/* Sequential consistency: some order of all events explains the graph. An
 * event is taken as soon as all that must precede it has been. */
static bool allowed_sc(struct graph *g)
{
	int current[MAX_LOCATIONS], readers[MAX_LOCATIONS][MAX_WRITES + 1];
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
 * x86-TSO: as above, but a read need not wait for earlier writes of its own
 * thread unless something between drains the store buffer, and a write of its
 * own that is still in the buffer satisfies it.
 */
static bool allowed_tso(struct graph *g)
{
	int current[MAX_LOCATIONS], readers[MAX_LOCATIONS][MAX_WRITES + 1];
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

					can = own ? current[l] <= rank :
						    current[l] == rank;
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
					can = !buffered || !(is_full_fence(e) ||
							     is_light_fence(e));
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

/* From here on RC11's psc, by the names of its paper. */

static bool hb(const struct event *a, int thread, int index, const struct event *b)
{
	return a != b && b->hb[thread] > index;
}

struct node {
	struct event *e;
	int thread, index;
};

static struct node node_at(struct graph *g, int thread, int index)
{
	return (struct node){&g->events[thread][index], thread, index};
}

static bool node_hb(struct node a, struct node b)
{
	return hb(a.e, a.thread, a.index, b.e);
}

static bool same_word(const struct event *a, const struct event *b)
{
	return a->location == b->location && a->location != NO_LOCATION;
}

/* po, hb at one word, mo, fr, or hb that leaves and enters by other words. */
static bool scb(struct graph *g, struct node a, struct node b)
{
	int x, y;

	if (a.e == b.e)
		return false;
	if (a.thread == b.thread && a.index < b.index)
		return true;
	if (same_word(a.e, b.e)) {
		if (node_hb(a, b))
			return true;
		if (b.e->kind == EVENT_WRITE && event_rank(g, a.e) < b.e->rank)
			return true; /* mo or fr */
	}
	for (x = a.index + 1; x < g->length[a.thread]; x++)
		if (!same_word(a.e, &g->events[a.thread][x]))
			break;
	for (y = b.index - 1; y >= 0; y--)
		if (!same_word(b.e, &g->events[b.thread][y]))
			break;
	return x < g->length[a.thread] && y >= 0 &&
	       node_hb(node_at(g, a.thread, x), node_at(g, b.thread, y));
}

/* Reads-from, mo and from-reads, any number of steps. */
static bool eco(struct graph *g, const struct event *a, const struct event *b)
{
	int from, to;

	if (a == b || !same_word(a, b))
		return false;
	from = event_rank(g, a);
	to = event_rank(g, b);
	return from < to ||
	       (from == to && a->kind == EVENT_WRITE && b->kind == EVENT_READ);
}

/* Whether s, or what a fence s precedes, stands in scb or eco to d. */
static bool psc(struct graph *g, struct node s, struct node d)
{
	bool from_fence = s.e->kind == EVENT_FENCE, to_fence = d.e->kind == EVENT_FENCE;
	int t, u, i, k;

	if (scb(g, s, d))
		return true;
	if (!from_fence && !to_fence)
		return false;
	if (from_fence && to_fence && node_hb(s, d))
		return true;
	for (t = 0; t < g->threads; t++) {
		for (i = 0; i < g->length[t]; i++) {
			struct node a = node_at(g, t, i);

			if (a.e != s.e && !(from_fence && node_hb(s, a)))
				continue;
			for (u = 0; u < g->threads; u++) {
				for (k = 0; k < g->length[u]; k++) {
					struct node b = node_at(g, u, k);

					if (b.e != d.e && !(to_fence && node_hb(b, d)))
						continue;
					if (scb(g, a, b))
						return true;
					if (from_fence && to_fence && a.e != s.e &&
					    b.e != d.e && eco(g, a.e, b.e))
						return true;
				}
			}
		}
	}
	return false;
}

/*
 * The asymmetric fence, as in WG21 P1202: a light fence counts as a full one,
 * but only against heavy ones.
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
	struct node nodes[MAX_SC];
	uint64_t after[MAX_SC], left;
	int n = 0, t, i, k;
	bool moved = true;

	for (t = 0; t < g->threads; t++) {
		for (i = 0; i < g->length[t]; i++) {
			struct event *e = &g->events[t][i];

			if (!is_sc_access(e) && !is_full_fence(e) && !is_light_fence(e))
				continue;
			if (n == MAX_SC)
				return true; /* the caller's limit is lower */
			nodes[n++] = node_at(g, t, i);
		}
	}
	if (n < 2)
		return true;
	for (i = 0; i < n; i++) {
		after[i] = 0;
		for (k = 0; k < n; k++)
			if (i != k && comparable(nodes[i].e, nodes[k].e) &&
			    psc(g, nodes[i], nodes[k]))
				after[i] |= (uint64_t)1 << k;
	}
	/* Take away whatever has nothing after it; a cycle remains. */
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
