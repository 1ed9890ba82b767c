/* SPDX-License-Identifier: MIT */
/*
 * The memory models as their papers have them: RC11 (Lahav et al., PLDI 2017) with
 * the release sequences of C++20 and the asymmetric fences of WG21 P1202; x86-TSO and
 * sequential consistency as acyclic unions. And what is wrong with an execution
 * that they allow.
 */
#include "execution.h"

#include <string.h>

/* Relations: row a has a bit for each b that a is related to. */

typedef uint64_t relation[MOST_EVENTS];

static bool related(const relation r, int a, int b)
{
	return (r[a] >> b & 1) != 0;
}

static void relate(relation r, int a, int b)
{
	r[a] |= (uint64_t)1 << b;
}

static void close_over(relation r, int n)
{
	int i, k;

	for (k = 0; k < n; k++)
		for (i = 0; i < n; i++)
			if (related(r, i, k))
				r[i] |= r[k];
}

static bool is_cyclic(relation r, int n)
{
	int i;

	close_over(r, n);
	for (i = 0; i < n; i++)
		if (related(r, i, i))
			return true;
	return false;
}

static bool acquires(int order)
{
	return order == SIM_ACQUIRE || order == SIM_ACQ_REL || order == SIM_SEQ_CST;
}

static bool releases(int order)
{
	return order == SIM_RELEASE || order == SIM_ACQ_REL || order == SIM_SEQ_CST;
}

static bool fence_acquires(const struct entry *e)
{
	return e->kind == FENCE && e->fence != SIM_FENCE_RELEASE &&
	       e->fence != SIM_FENCE_LIGHT;
}

static bool fence_releases(const struct entry *e)
{
	return e->kind == FENCE && e->fence != SIM_FENCE_ACQUIRE &&
	       e->fence != SIM_FENCE_LIGHT;
}

static bool is_atomic(const struct entry *e)
{
	return e->kind == READ || e->kind == WRITE;
}

static bool same_place(const struct entry *a, const struct entry *b)
{
	return is_atomic(a) && is_atomic(b) && a->location == b->location;
}

static int rank_of(const struct execution *x, const struct entry *e)
{
	if (e->kind == WRITE)
		return e->rank;
	return e->from < 0 ? 0 : x->entries[e->from].rank;
}

static void find_po(const struct execution *x, relation po)
{
	int a, b;

	for (a = 0; a < x->count; a++)
		for (b = 0; b < x->count; b++)
			if (x->entries[a].thread == x->entries[b].thread &&
			    x->entries[a].index < x->entries[b].index)
				relate(po, a, b);
}

/* sw: from a release, or a fence before it, through a release sequence of updates,
 * to an acquire, or a fence after it. */
static void find_sw(const struct execution *x, const relation po, relation sw)
{
	int r, head, a, b;

	for (r = 0; r < x->count; r++) {
		const struct entry *read = &x->entries[r];

		if (read->kind != READ)
			continue;
		head = read->from;
		while (head >= 0) {
			const struct entry *w = &x->entries[head];

			for (a = 0; a < x->count; a++) {
				if (!(a == head && releases(w->order)) &&
				    !(related(po, a, head) &&
				      fence_releases(&x->entries[a])))
					continue;
				for (b = 0; b < x->count; b++)
					if ((b == r && acquires(read->order)) ||
					    (related(po, r, b) &&
					     fence_acquires(&x->entries[b])))
						relate(sw, a, b);
			}
			/* The reading half of an update is just before it. */
			head = w->exclusive
				       ? x->entries[x->thread[w->thread][w->index - 1]]
						 .from
				       : -1;
		}
	}
}

static bool is_sc(const struct entry *e)
{
	if (e->kind == FENCE)
		return e->fence == SIM_FENCE_FULL || e->fence == SIM_FENCE_HEAVY ||
		       e->fence == SIM_FENCE_LIGHT;
	return is_atomic(e) && e->order == SIM_SEQ_CST;
}

/* P1202: a light fence is a full one, but only against heavy ones. */
static bool comparable(const struct entry *a, const struct entry *b)
{
	if (a->fence == SIM_FENCE_LIGHT)
		return b->fence == SIM_FENCE_HEAVY;
	if (b->fence == SIM_FENCE_LIGHT)
		return a->fence == SIM_FENCE_HEAVY;
	return true;
}

static bool breaks_psc(const struct execution *x, const relation po, const relation hb,
		       const relation communication, const relation eco)
{
	relation scb = {0}, psc = {0};
	int n = x->count, a, b, c, d;

	for (a = 0; a < n; a++)
		for (b = 0; b < n; b++) {
			bool same = same_place(&x->entries[a], &x->entries[b]);

			if (related(po, a, b) || (same && related(hb, a, b)) ||
			    (related(communication, a, b) && x->entries[b].kind == WRITE))
				relate(scb, a, b);
			if (!related(po, a, b) || same)
				continue;
			for (c = 0; c < n; c++)
				for (d = 0; d < n; d++)
					if (related(hb, b, c) && related(po, c, d) &&
					    !same_place(&x->entries[c], &x->entries[d]))
						relate(scb, a, d);
		}
	for (a = 0; a < n; a++) {
		for (b = 0; b < n; b++) {
			bool from_fence = x->entries[a].kind == FENCE;
			bool to_fence = x->entries[b].kind == FENCE;

			if (!is_sc(&x->entries[a]) || !is_sc(&x->entries[b]) ||
			    !comparable(&x->entries[a], &x->entries[b]))
				continue;
			if (from_fence && to_fence && related(hb, a, b))
				relate(psc, a, b);
			for (c = 0; c < n; c++) {
				for (d = 0; d < n; d++) {
					bool left = c == a ||
						    (from_fence && related(hb, a, c));
					bool right = d == b ||
						     (to_fence && related(hb, d, b));

					if (left && right && related(scb, c, d))
						relate(psc, a, b);
					if (from_fence && to_fence && related(hb, a, c) &&
					    related(eco, c, d) && related(hb, d, b))
						relate(psc, a, b);
				}
			}
		}
	}
	return is_cyclic(psc, n);
}

static bool drains(const struct entry *e)
{
	return is_sc(e) && e->kind == FENCE;
}

/* x86: program order but from a store to a later load, unless one of them is
 * locked, or the store is seq_cst, or something between them drains the buffer. */
static bool kept_by_tso(const struct execution *x, int a, int b)
{
	const struct entry *from = &x->entries[a], *to = &x->entries[b];
	int i;

	if (!is_atomic(from) || !is_atomic(to))
		return false; /* a fence acts by what is before and after it */
	if (from->kind != WRITE || to->kind != READ)
		return true;
	for (i = from->index; i <= to->index; i++) {
		const struct entry *e = &x->entries[x->thread[from->thread][i]];

		if (drains(e) || (is_atomic(e) && e->exclusive) ||
		    (e->kind == WRITE && e->order == SIM_SEQ_CST))
			return true;
	}
	return false;
}

static bool breaks_global_order(const struct execution *x, enum model model,
				const relation po, const relation communication)
{
	relation ghb = {0};
	int n = x->count, a, b;

	for (a = 0; a < n; a++)
		for (b = 0; b < n; b++) {
			bool inside = x->entries[a].thread == x->entries[b].thread;
			bool rf = x->entries[b].kind == READ && x->entries[b].from == a;

			if (related(po, a, b) &&
			    (model == MODEL_SC || kept_by_tso(x, a, b)))
				relate(ghb, a, b);
			if (related(communication, a, b) &&
			    !(model == MODEL_TSO && rf && inside))
				relate(ghb, a, b);
		}
	return is_cyclic(ghb, n);
}

/* Leaves happens-before in hb, which is empty. */
static bool is_consistent(const struct execution *x, enum model model, relation hb)
{
	relation po = {0}, communication = {0}, eco;
	int n = x->count, a, b;

	find_po(x, po);
	memcpy(hb, po, sizeof(po));
	find_sw(x, po, hb);
	for (a = 0; a < n; a++) {
		for (b = 0; b < n; b++) {
			const struct entry *e = &x->entries[a], *f = &x->entries[b];

			if (a == b || !same_place(e, f))
				continue;
			if (f->kind == READ && f->from == a)
				relate(communication, a, b); /* rf */
			if (f->kind == WRITE && rank_of(x, e) < f->rank) {
				relate(communication, a, b); /* mo, fr */
				if (e->round > f->round)
					return false;
			}
		}
	}
	memcpy(eco, communication, sizeof(eco));
	close_over(eco, n);
	if (is_cyclic(hb, n))
		return false;
	for (a = 0; a < n; a++) {
		const struct entry *e = &x->entries[a];

		for (b = 0; b < n; b++)
			if (related(hb, a, b) && related(eco, b, a))
				return false;
		/* Nothing comes between the halves of an update. */
		if (e->kind == WRITE && e->exclusive &&
		    e->rank !=
			    rank_of(x, &x->entries[x->thread[e->thread][e->index - 1]]) +
				    1)
			return false;
	}
	if (breaks_psc(x, po, hb, communication, eco))
		return false;
	return model == MODEL_WEAK || !breaks_global_order(x, model, po, communication);
}

/* What goes wrong in a consistent execution. */
static void note_hazards(const struct execution *x, const relation hb,
			 struct reference *found)
{
	int a, b;

	for (a = 0; a < x->count; a++) {
		for (b = 0; b < x->count; b++) {
			const struct entry *e = &x->entries[a], *f = &x->entries[b];

			if (e->thread == f->thread || e->location != f->location ||
			    e->location < 0)
				continue;
			if (e->kind == PLAIN_WRITE_OF &&
			    (f->kind == PLAIN_WRITE_OF || f->kind == PLAIN_READ_OF) &&
			    !related(hb, a, b) && !related(hb, b, a))
				found->races = true;
			if (f->kind == END_OF && e->kind != END_OF && !related(hb, a, b))
				found->uses_after_free = true;
		}
	}
	/* A thread may also use what it freed itself. */
	for (a = 0; a < x->count; a++)
		for (b = 0; b < x->count; b++)
			if (x->entries[a].kind == END_OF &&
			    x->entries[a].thread == x->entries[b].thread &&
			    x->entries[a].index < x->entries[b].index &&
			    x->entries[a].location == x->entries[b].location)
				found->uses_after_free = true;
}

bool axioms_allow(const struct execution *x, enum model model, struct reference *hazards)
{
	relation hb = {0};

	if (!is_consistent(x, model, hb))
		return false;
	note_hazards(x, hb, hazards);
	return true;
}
