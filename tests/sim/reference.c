/* SPDX-License-Identifier: MIT */
/*
 * Executions by the book: they are grown one event at a time in every way there is,
 * each partial one once, and judged by axioms.c. Growing cannot lose any: no
 * model allows a cycle of program order and reads-from. What breaks an axiom is
 * not grown on: relations only get larger.
 *
 * No code is shared with sim/explore but the enums, and the hash that the two
 * sets of executions are compared by.
 */
#include "execution.h"

#include <stdlib.h>
#include <string.h>

/* What a thread does next. */
struct request {
	bool done;
	enum { LOOKS, UPDATES, STORES, OTHER } manner;
	enum { ANYTHING, EQUAL, DIFFERENT } until; /* which values it goes on with */
	enum { STAYS, BOUNDED, INSISTS } patience; /* if there is none such */
	enum { SET, PLUS, SAME } change;
	struct entry entry;
	uint64_t operand;
	int failure; /* order if UPDATES does not */
	bool may_fail;
};

static const struct small_program *program;
static enum model model;
static int early;
static struct reference *found;

/* The program as a function of what a thread has read so far. */

struct cursor {
	const struct execution *x;
	int thread, at, early;
};

/* The event that comes now, if it has happened. */
static const struct entry *take(struct cursor *c)
{
	const struct entry *e;

	if (c->at == c->x->length[c->thread])
		return NULL;
	e = &c->x->entries[c->x->thread[c->thread][c->at++]];
	if (e->kind == READ && e->exclusive)
		c->at++;
	return e;
}

/* The event that ends a wait. */
static const struct entry *take_last(struct cursor *c)
{
	const struct entry *e;

	do
		e = take(c);
	while (e != NULL && e->blocked);
	return e;
}

static struct request read_request(const struct instruction *in, int location, int order)
{
	return (struct request){
		.manner = LOOKS,
		.entry = {.kind = READ,
			  .location = location,
			  .order = order,
			  .expected = in->a,
			  .fence = -1,
			  .what = in->what},
		.failure = order,
	};
}

static struct request update_request(const struct instruction *in, int location,
				     int order, uint64_t operand)
{
	struct request r = read_request(in, location, order);

	r.manner = UPDATES;
	r.operand = operand;
	return r;
}

static struct request other_request(const struct instruction *in, enum kind kind,
				    int location)
{
	return (struct request){
		.manner = OTHER,
		.entry = {.kind = kind,
			  .location = location,
			  .order = SIM_RELAXED,
			  .fence = kind == FENCE ? in->order : -1,
			  .what = in->what},
	};
}

/* Whether a bounded wait ends at once: 1, 0, or -1 if that is still to be chosen. */
static int ends_early(struct cursor *c)
{
	const struct entry *e;

	if (c->early >= early)
		return 0;
	e = take(c);
	if (e == NULL)
		return -1;
	c->early += (int)e->value;
	return (int)e->value;
}

/* Goes through one instruction. True if it is not over: *r is what comes next.
 * `ends` is set if the thread is to stop after it. */
static bool step(struct cursor *c, const struct instruction *in, struct request *r,
		 bool *ends)
{
	const struct entry *e, *wakes;
	int hasty;

	switch (in->what) {
	case DO_LOAD:
		*r = read_request(in, in->word, in->order);
		return take(c) == NULL;
	case DO_STORE:
		*r = other_request(in, WRITE, in->word);
		r->manner = STORES;
		r->entry.order = in->order;
		r->entry.value = in->a;
		return take(c) == NULL;
	case DO_EXCHANGE:
		*r = update_request(in, in->word, in->order, in->a);
		return take(c) == NULL;
	case DO_ADD:
		*r = update_request(in, in->word, in->order, in->a);
		r->change = PLUS;
		return take(c) == NULL;
	case DO_CAS:
		*r = update_request(in, in->word, in->order, in->b);
		r->until = EQUAL;
		r->may_fail = true;
		r->failure = SIM_RELAXED;
		return take(c) == NULL;
	case DO_AWAIT_EQ:
	case DO_AWAIT_NE:
		*r = read_request(in, in->word, in->order);
		r->until = in->what == DO_AWAIT_EQ ? EQUAL : DIFFERENT;
		return take_last(c) == NULL;
	case DO_AWAIT_CHANGE:
		hasty = ends_early(c);
		*r = read_request(in, in->word, in->order);
		r->until = hasty == 1 ? EQUAL : DIFFERENT;
		r->patience = hasty == 1 ? INSISTS : BOUNDED;
		if (hasty < 0)
			*r = other_request(in, CHOICE, -1);
		return hasty < 0 || take_last(c) == NULL;
	case DO_AWAIT_CAS:
	case DO_AWAIT_EQ_RMW:
	case DO_AWAIT_NE_RMW:
		*r = update_request(in, in->word, in->order, in->b);
		r->until = in->what == DO_AWAIT_NE_RMW ? DIFFERENT : EQUAL;
		r->change = in->what == DO_AWAIT_CAS ? SET : SAME;
		return take_last(c) == NULL;
	case DO_FENCE:
		*r = other_request(in, FENCE, -1);
		return take(c) == NULL;
	case DO_COIN:
		*r = other_request(in, CHOICE, -1);
		e = take(c);
		*ends = e != NULL && e->value != 0;
		return e == NULL;
	case DO_SLEEP:
	case DO_SLEEP_TIMED:
		hasty = ends_early(c);
		*r = other_request(in, CHOICE, -1);
		if (hasty != 0)
			return hasty < 0;
		*r = read_request(in, WORDS + in->word, SIM_ACQUIRE);
		wakes = take(c);
		if (wakes == NULL)
			return true;
		*r = read_request(in, in->word, SIM_RELAXED);
		e = take(c);
		if (e == NULL || (uint32_t)e->value != (uint32_t)in->a)
			return e == NULL;
		*r = read_request(in, WORDS + in->word, SIM_ACQUIRE);
		r->entry.expected = wakes->value;
		r->until = DIFFERENT;
		r->patience = in->what == DO_SLEEP_TIMED ? BOUNDED : STAYS;
		return take_last(c) == NULL;
	case DO_WAKE:
		*r = update_request(in, WORDS + in->word, SIM_ACQ_REL, 1);
		r->change = PLUS;
		return take(c) == NULL;
	case DO_PLAIN_READ:
	case DO_PLAIN_WRITE:
		*r = other_request(
			in, in->what == DO_PLAIN_READ ? PLAIN_READ_OF : PLAIN_WRITE_OF,
			in->word);
		return take(c) == NULL;
	case DO_FREE:
		*r = other_request(in, END_OF, FREED);
		return take(c) == NULL;
	default:
		*r = other_request(in, END_OF, STORAGE + c->thread);
		*ends = true;
		return take(c) == NULL;
	}
}

static struct request next_request(const struct execution *x, int thread)
{
	struct cursor c = {x, thread, 0, 0};
	struct request r;
	bool ends = false;
	int i;

	for (i = 0; i < program->length[thread] && !ends; i++)
		if (step(&c, &program->code[thread][i], &r, &ends))
			return r;
	return (struct request){.done = true};
}

/* Partial executions that were met already. */

static uint64_t *met;
static size_t met_size, met_count;

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0xff51afd7ed558ccdu;
	return hash ^ hash >> 31;
}

static uint64_t place_of(const struct execution *x, int event)
{
	return event < 0 ? 255
			 : (uint64_t)(x->entries[event].thread * MOST_EVENTS +
				      x->entries[event].index);
}

static uint64_t fingerprint(const struct execution *x)
{
	uint64_t hash = mix((uint64_t)x->round + 1, x->tired);
	int t, i;

	for (t = 0; t < program->threads; t++) {
		hash = mix(hash, (uint64_t)x->length[t]);
		for (i = 0; i < x->length[t]; i++) {
			const struct entry *e = &x->entries[x->thread[t][i]];

			hash = mix(hash, (uint64_t)e->kind);
			hash = mix(hash, (uint64_t)e->round);
			hash = mix(hash, (uint64_t)e->rank);
			hash = mix(hash, e->value);
			hash = mix(hash, e->kind == READ ? place_of(x, e->from) : 0);
		}
	}
	return hash | 1;
}

static bool meet(uint64_t hash)
{
	size_t i;

	if (2 * met_count >= met_size) {
		uint64_t *old = met;
		size_t old_size = met_size;

		met_size = old_size == 0 ? 1 << 16 : 2 * old_size;
		met = calloc(met_size, sizeof(*met));
		if (met == NULL)
			abort();
		met_count = 0;
		for (i = 0; i < old_size; i++)
			if (old[i] != 0)
				meet(old[i]);
		free(old);
	}
	for (i = hash % met_size; met[i] != 0; i = (i + 1) % met_size)
		if (met[i] == hash)
			return false;
	met[i] = hash;
	met_count++;
	return true;
}

/* Growing. */

static int append(struct execution *x, int thread, struct entry e)
{
	int n = x->count++;

	if (n == MOST_EVENTS)
		abort();
	e.thread = thread;
	e.index = x->length[thread];
	e.round = x->round;
	x->thread[thread][x->length[thread]++] = n;
	x->entries[n] = e;
	return n;
}

/* Puts a write in its place. */
static void insert(struct execution *x, int event, int rank)
{
	struct entry *e = &x->entries[event];
	int i;

	for (i = 0; i < x->count; i++)
		if (i != event && x->entries[i].kind == WRITE &&
		    x->entries[i].location == e->location && x->entries[i].rank >= rank)
			x->entries[i].rank++;
	e->rank = rank;
	x->written[e->location]++;
}

static int write_at(const struct execution *x, int location, int rank)
{
	int i;

	for (i = 0; i < x->count; i++)
		if (x->entries[i].kind == WRITE && x->entries[i].location == location &&
		    x->entries[i].rank == rank)
			return i;
	return -1;
}

static uint64_t value_of(const struct execution *x, int write)
{
	return write < 0 ? 0 : x->entries[write].value;
}

static bool suits(const struct request *r, uint64_t value)
{
	return r->until == ANYTHING ||
	       (r->until == EQUAL) == (value == r->entry.expected);
}

static bool is_settled(const struct execution *x, int write)
{
	return write < 0 || x->entries[write].round < x->round;
}

/* Whether a thread may give up on reading this write: its first look in a round
 * that it is tired in, at what the round before left. */
static bool may_give_up(const struct execution *x, int thread, const struct request *r,
			int write)
{
	const struct entry *last;

	if (r->patience != BOUNDED || (x->tired >> thread & 1) == 0 ||
	    !is_settled(x, write) || x->length[thread] == 0)
		return false;
	last = &x->entries[x->thread[thread][x->length[thread] - 1]];
	return last->blocked && last->round < x->round;
}

static void grow(const struct execution *x);

static void grow_if_allowed(const struct execution *x)
{
	if (!axioms_allow(x, model, found))
		return;
	grow(x);
}

static void grow_read(const struct execution *x, int thread, const struct request *r,
		      int from)
{
	struct execution next = *x;
	struct entry e = r->entry;
	bool ends;

	e.from = from;
	e.value = value_of(x, from);
	ends = suits(r, e.value);
	e.gave_up = !ends && may_give_up(x, thread, r, from);
	if (!ends && !e.gave_up && !r->may_fail)
		return;
	e.exclusive = r->manner == UPDATES && ends;
	if (r->manner == UPDATES && !ends)
		e.order = r->failure;
	append(&next, thread, e);
	if (e.exclusive) {
		struct entry w = e;
		int event;

		w.kind = WRITE;
		w.value = r->change == SET    ? r->operand
			  : r->change == PLUS ? e.value + r->operand
					      : e.value;
		event = append(&next, thread, w);
		insert(&next, event, from < 0 ? 1 : x->entries[from].rank + 1);
	}
	grow_if_allowed(&next);
}

static void grow_thread(const struct execution *x, int thread, const struct request *r)
{
	struct execution next;
	int rank;

	switch (r->manner) {
	case LOOKS:
	case UPDATES:
		for (rank = 0; rank <= x->written[r->entry.location]; rank++)
			grow_read(x, thread, r, write_at(x, r->entry.location, rank));
		return;
	case STORES:
		for (rank = 1; rank <= x->written[r->entry.location] + 1; rank++) {
			next = *x;
			insert(&next, append(&next, thread, r->entry), rank);
			grow_if_allowed(&next);
		}
		return;
	default:
		next = *x;
		append(&next, thread, r->entry);
		grow_if_allowed(&next);
		if (r->entry.kind == CHOICE) {
			next.entries[next.count - 1].value = 1;
			grow_if_allowed(&next);
		}
	}
}

static void keep(const struct execution *x)
{
	static struct graph g;
	int t, i;

	graph_clear(&g, program->threads);
	for (t = 0; t < program->threads; t++) {
		int n = 0;

		for (i = 0; i < x->length[t]; i++) {
			const struct entry *e = &x->entries[x->thread[t][i]];
			struct event *to = &g.events[t][n];

			if (e->kind > CHOICE)
				continue;
			n++;
			memset(to, 0, sizeof(*to));
			to->kind = e->kind == READ    ? EVENT_READ
				   : e->kind == WRITE ? EVENT_WRITE
				   : e->kind == FENCE ? EVENT_FENCE
						      : EVENT_CHOICE;
			to->rank = (uint16_t)e->rank;
			to->value = e->value;
			to->from = INITIAL;
			if (e->kind == READ && e->from >= 0) {
				const struct entry *w = &x->entries[e->from];
				int index = 0, k;

				/* The checker does not count what is not atomic. */
				for (k = 0; k < w->index; k++)
					index += x->entries[x->thread[w->thread][k]]
							 .kind <= CHOICE;
				to->from = event_name(w->thread, index);
			}
		}
		g.length[t] = (uint8_t)n;
	}
	if (found->count == found->room)
		abort();
	found->hashes[found->count++] = graph_hash(&g);
}

/* It gave up on the same before, and nobody wrote since. */
static bool in_vain(const struct execution *x, int thread, const struct request *r)
{
	int i, k;

	for (i = 0; i < x->length[thread]; i++) {
		const struct entry *e = &x->entries[x->thread[thread][i]];
		bool written = false;

		if (!e->gave_up || e->what != r->entry.what ||
		    e->location != r->entry.location || e->expected != r->entry.expected)
			continue;
		for (k = 0; k < x->count; k++)
			written = written || (x->entries[k].kind == WRITE &&
					      x->entries[k].round >= e->round);
		if (!written)
			return true;
	}
	return false;
}

static void grow(const struct execution *x)
{
	struct request r[MOST_THREADS];
	struct execution next;
	unsigned waiting = 0, tired = 0;
	bool over = true;
	int t;

	if (!meet(fingerprint(x)))
		return;
	for (t = 0; t < program->threads; t++) {
		int last;

		r[t] = next_request(x, t);
		if (r[t].done)
			continue;
		grow_thread(x, t, &r[t]);
		if (r[t].manner > UPDATES || r[t].until == ANYTHING || r[t].may_fail ||
		    r[t].patience == INSISTS) {
			over = false;
			continue;
		}
		last = write_at(x, r[t].entry.location, x->written[r[t].entry.location]);
		if (suits(&r[t], value_of(x, last)) || may_give_up(x, t, &r[t], last))
			over = false;
		waiting |= 1u << t;
	}
	if (!over)
		return;
	/* Nobody can move: the round is over, and all who wait have seen the last. */
	next = *x;
	for (t = 0; t < program->threads; t++) {
		struct entry e = r[t].entry;

		if ((waiting >> t & 1) == 0)
			continue;
		if (r[t].patience == BOUNDED && !in_vain(x, t, &r[t]))
			tired |= 1u << t;
		e.blocked = true;
		e.from = write_at(x, e.location, x->written[e.location]);
		e.value = value_of(x, e.from);
		append(&next, t, e);
	}
	if (tired == 0) {
		keep(&next);
		return;
	}
	next.round++;
	next.tired = tired;
	grow(&next);
}

void reference_explore(const struct small_program *p, enum model how, int early_ends,
		       struct reference *to)
{
	struct execution nothing = {.count = 0};

	program = p;
	model = how;
	early = early_ends;
	found = to;
	to->count = 0;
	to->races = to->uses_after_free = false;
	if (met != NULL)
		memset(met, 0, met_size * sizeof(*met));
	met_count = 0;
	grow(&nothing);
}
