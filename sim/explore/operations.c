/* SPDX-License-Identifier: MIT */
/* The operations that a checked program calls: those of the seams and of explore.h. */
#include "search.h"

#include <sim/runtime.h>

#include <stdlib.h>
#include <string.h>

#define SITE __builtin_return_address(0)

static void write_half(struct search *s, const uint64_t *p, uint64_t value,
		       struct event *read, struct cell *cell)
{
	struct event *e = search_next_event(s, false);

	if (e == NULL)
		e = search_add_write(s,
				     (struct event){
					     .kind = EVENT_WRITE,
					     .operation = read->operation,
					     .order = read->order,
					     .location = read->location,
					     .value = value,
					     .site = read->site,
				     },
				     true);
	access_atomic(s, cell, true);
	*(uint64_t *)p = value;
	admission_doorway(s, p);
}

/* Stores a value, or the half that the running thread's operation is about. */
static void put(struct search *s, uint64_t *p, uint64_t value)
{
	if (s->self->halves == WHOLE)
		*p = value;
	else
		memcpy((char *)p + (s->self->halves == LOW_HALF ? 0 : 4),
		       (const char *)&value + (s->self->halves == LOW_HALF ? 0 : 4), 4);
}

/* All operations that read. `operand` is the value to store or add. */
static uint64_t read_operation(struct search *s, enum operation operation,
			       const uint64_t *p, uint64_t expected, uint64_t operand,
			       int order, int failure, const void *site, bool *wrote)
{
	int t = me(s);
	enum look look = LOOK_FIRST;
	struct event *e;
	struct cell *cell;
	uint64_t value;
	event_id id;

	search_settle(s);
	for (;;) {
		e = search_next_event(s, false);
		s->site = site;
		s->address = p;
		cell = access_find(s, p);
		if (e == NULL)
			e = search_add_read(s, (struct event){
						       .kind = EVENT_READ,
						       .operation = (uint8_t)operation,
						       .order = (uint8_t)order,
						       .failure = (uint8_t)failure,
						       .location = cell->location,
						       .look = (uint8_t)look,
						       .expected = expected,
						       .site = site,
					       });
		id = event_name(t, s->self->position - 1);
		access_atomic(s, cell, false);
		if (!e->blocked)
			break;
		search_note_event(s, id, INITIAL);
		/* Continues after another thread's write, or in a new round. */
		while (s->self->position > s->graph.settled[t] &&
		       s->self->position > event_index(id))
			search_pause(s, THREAD_BLOCKED);
		if (s->self->position > event_index(id)) /* the event was not removed */
			look = (s->graph.tired >> t & 1) != 0 ? LOOK_LAST : LOOK_AGAIN;
	}
	value = e->value;
	if (e->exclusive) {
		uint64_t next = operand;

		if (operation == OP_ADD)
			next = value + operand;
		else if (operation == OP_AWAIT_EQ_RMW || operation == OP_AWAIT_NE_RMW)
			next = value;
		write_half(s, p, next, e, cell);
		search_note_event(s, id, event_name(t, s->self->position - 1));
	} else {
		search_note_event(s, id, INITIAL);
	}
	if (wrote != NULL)
		*wrote = e->exclusive;
	return value;
}

static bool choose(struct search *s, enum operation operation, const void *site)
{
	int t = me(s);
	struct event *e;

	search_settle(s);
	e = search_next_event(s, false);
	if (e == NULL) {
		e = search_append(s, t,
				  (struct event){
					  .kind = EVENT_CHOICE,
					  .operation = (uint8_t)operation,
					  .location = NO_LOCATION,
					  .site = site,
				  });
		graph_set_other(&s->graph, t, e);
		if (s->guide != NULL) {
			e->value = (uint64_t)token_choice(s);
		} else if (s->at_random) {
			e->value = random_below(s, 2);
		} else {
			e->value = 1;
			search_push(s, &s->graph);
			e->value = 0;
		}
		s->self->position++;
		token_record(s, t, e);
	}
	search_note_event(s, event_name(t, s->self->position - 1), INITIAL);
	return e->value != 0;
}

/* Whether a bounded wait times out now, although other threads can run. */
static bool ends_early(struct search *s, const void *site)
{
	if (s->self->early >= s->options->early || !choose(s, OP_EARLY, site))
		return false;
	s->self->early++;
	return true;
}

static uint64_t do_load(const uint64_t *p, int order, const void *site)
{
	return read_operation(current_search, OP_LOAD, p, 0, 0, order, order, site, NULL);
}

static void do_store(uint64_t *p, uint64_t value, int order, const void *site)
{
	struct search *s = current_search;
	struct cell *cell;
	struct event *e;

	search_settle(s);
	e = search_next_event(s, false);
	s->site = site;
	s->address = p;
	cell = access_find(s, p);
	if (e == NULL)
		e = search_add_write(s,
				     (struct event){
					     .kind = EVENT_WRITE,
					     .operation = OP_STORE,
					     .order = (uint8_t)order,
					     .location = cell->location,
					     .value = value,
					     .site = site,
				     },
				     false);
	access_atomic(s, cell, true);
	put(s, p, value);
	search_note_event(s, event_name(me(s), s->self->position - 1), INITIAL);
}

static uint64_t do_exchange(uint64_t *p, uint64_t value, int order, const void *site)
{
	return read_operation(current_search, OP_EXCHANGE, p, 0, value, order, order,
			      site, NULL);
}

static bool do_cas(uint64_t *p, uint64_t from, uint64_t to, int order, int failure,
		   const void *site)
{
	bool wrote;

	read_operation(current_search, OP_CAS, p, from, to, order, failure, site, &wrote);
	return wrote;
}

static uint64_t do_fetch_add(uint64_t *p, uint64_t n, int order, const void *site)
{
	return read_operation(current_search, OP_ADD, p, 0, n, order, order, site, NULL);
}

static uint64_t do_await(enum sim_await kind, uint64_t *p, uint64_t value, uint64_t to,
			 int order, const void *site)
{
	static const enum operation operations[] = {
		[SIM_AWAIT_EQ] = OP_AWAIT_EQ,
		[SIM_AWAIT_NE] = OP_AWAIT_NE,
		[SIM_AWAIT_CHANGE] = OP_AWAIT_CHANGE,
		[SIM_AWAIT_CAS] = OP_AWAIT_CAS,
		[SIM_AWAIT_EQ_RMW] = OP_AWAIT_EQ_RMW,
		[SIM_AWAIT_NE_RMW] = OP_AWAIT_NE_RMW,
	};
	struct search *s = current_search;

	/* If the value has changed, the wait did not time out. */
	if (kind == SIM_AWAIT_CHANGE && ends_early(s, site))
		return read_operation(s, OP_ASSUME_EQ, p, value, 0, order, order, site,
				      NULL);
	return read_operation(s, operations[kind], p, value, to, order, order, site,
			      NULL);
}

static void do_fence(enum sim_fence kind, const void *site)
{
	struct search *s = current_search;
	int t = me(s);
	struct event *e;

	search_settle(s);
	e = search_next_event(s, false);
	if (e == NULL) {
		e = search_append(s, t,
				  (struct event){
					  .kind = EVENT_FENCE,
					  .operation = OP_FENCE,
					  .order = (uint8_t)kind,
					  .location = NO_LOCATION,
					  .site = site,
				  });
		s->graph.fences = (uint16_t)(s->graph.fences + graph_is_sc_fence(e));
		graph_set_fence(&s->graph, t, e);
		if (s->guide != NULL)
			token_choice(s);
		s->self->position++;
		token_record(s, t, e);
	}
	search_note_event(s, event_name(t, s->self->position - 1), INITIAL);
}

/*
 * The futex. The kernel orders sleepers and wakers of a word by the lock of its hash
 * bucket; here a count of wake-ups in the shadow word stands for it. Either the sleeper
 * reads the raised count, and with it the waker's earlier stores; or the count changes
 * while it sleeps. A wake-up wakes all sleepers of the word, which the contract allows.
 */
static bool do_sleep(const uint64_t *p, uint64_t expected, bool timed, const void *site)
{
	struct search *s = current_search;
	const uint64_t *wakes = memory_beside(s->memory, p);
	uint64_t before;

	/*
	 * A timeout, or a spurious wake-up. Without membarrier a timed sleep replaces the
	 * barrier, so that stores in flight arrive meanwhile (pawl_park_fence): it does
	 * not end early.
	 */
	if (ends_early(s, site))
		return !(timed && sim_membarrier_works);
	before = do_load(wakes, SIM_ACQUIRE, site);
	if ((uint32_t)do_load(p, SIM_RELAXED, site) != (uint32_t)expected)
		return true;
	return read_operation(s, timed ? OP_AWAIT_CHANGE : OP_AWAIT_NE, wakes, before, 0,
			      SIM_ACQUIRE, SIM_ACQUIRE, site, NULL) != before;
}

static void do_wake(const uint64_t *p, const void *site)
{
	do_fetch_add(memory_beside(current_search->memory, p), 1, SIM_ACQ_REL, site);
}

static void do_plain(const void *p, size_t size, bool write, const void *site)
{
	struct search *s = current_search;
	const char *at = p, *end = at + size;

	if (s->self == NULL)
		return;
	search_settle(s);
	for (; at < end; at = (const char *)(((uintptr_t)at | 7) + 1))
		access_plain(s, at, (size_t)(end - at), write, site);
}

/* One relaxed access of the whole word; a store becomes an event when its value is known.
 * Words that no thread can write are not tracked. */
static void do_volatile(const void *p, size_t size, bool write, const void *site)
{
	uint64_t *word = (uint64_t *)((uintptr_t)p & ~(uintptr_t)7);
	struct search *s = current_search;
	enum memory_state state;
	struct cell *cell;

	if (s->self == NULL)
		return;
	search_settle(s);
	cell = memory_find(s->memory, word, &state);
	if (cell == NULL && state == MEMORY_LIVE)
		return;
	s->self->halves = memory_halves(p, size);
	memory_save(s->memory, cell);
	if (write) {
		s->self->late.word = word;
		s->self->late.halves = s->self->halves;
		s->self->late.site = site;
	} else {
		uint64_t value = do_load(word, SIM_RELAXED, site);

		put(s, word, value);
	}
	s->self->halves = WHOLE;
}

static void *do_self(void)
{
	return current_search->self->storage;
}

static bool do_one_in(unsigned n, const void *site)
{
	(void)n;
	return choose(current_search, OP_CHOICE, site);
}

static void *do_allocate(size_t size, size_t alignment)
{
	struct search *s = current_search;
	void *p;

	search_settle(s);
	p = memory_allocate(s->memory, explore_thread(), size, alignment);
	if (p == NULL)
		explore_fail(VERDICT_LIMIT, "the program needs too much memory; lower "
					    "--threads or --episodes");
	return p;
}

static void do_release(void *p, const void *site)
{
	struct search *s = current_search;
	struct cell *cell;

	search_settle(s);
	search_note_plain(s, "free", p, 0, site);
	cell = memory_free(s->memory, p, me(s), search_here(s)->hb);
	if (cell != NULL)
		explore_fail(VERDICT_FREED,
			     "%s is freed while another thread may still access it",
			     access_place(s, cell->address));
}

static uint64_t do_serial(void)
{
	struct search *s = current_search;
	uint64_t t = (uint64_t)(s->self - s->threads);

	return s->self->serials++ * (uint64_t)s->graph.threads + t + 1;
}

static void do_die(const char *sentence, const void *site) __attribute__((noreturn));
static void do_die(const char *sentence, const void *site)
{
	struct search *s = current_search;

	search_note_plain(s, sentence, NULL, 0, site);
	explore_fail(VERDICT_ASSERTION, "%s", sentence);
	abort();
}

const struct sim_engine search_engine = {
	.load = do_load,
	.store = do_store,
	.exchange = do_exchange,
	.cas = do_cas,
	.fetch_add = do_fetch_add,
	.fence = do_fence,
	.await = do_await,
	.sleep = do_sleep,
	.wake = do_wake,
	.plain = do_plain,
	.volatile_access = do_volatile,
	.self = do_self,
	.one_in = do_one_in,
	.allocate = do_allocate,
	.release = do_release,
	.serial = do_serial,
	.die = do_die,
};

/* For the checked program. */

void *explore_allocate(size_t size, size_t alignment)
{
	return do_allocate(size, alignment);
}

struct allocated explore_allocated(void)
{
	return memory_allocated(current_search->memory);
}

void explore_label(const void *p, const char *name)
{
	memory_label(current_search->memory, p, name);
}

void explore_free(void *p)
{
	do_release(p, SITE);
}

uint64_t explore_final(const uint64_t *word)
{
	struct search *s = current_search;
	enum memory_state state;
	struct cell *cell = memory_find(s->memory, word, &state);
	int l = cell->location;

	if (!cell->atomic)
		return *word;
	return graph_value(&s->graph, l,
			   graph_write_at(&s->graph, l, s->graph.written[l]));
}

void explore_exit(void)
{
	struct search *s = current_search;

	search_settle(s);
	if (sim_thread_wants_exit(s->self->storage))
		sim_thread_exit(s->self->storage);
	search_settle(s);
	search_note_plain(s, "exit", NULL, 0, NULL);
	if (!memory_retire(s->memory, me(s), search_here(s)->hb))
		explore_fail(VERDICT_FREED,
			     "a thread exits while another may still access its memory");
}

void explore_await_quiet(void)
{
	struct search *s = current_search;

	/* On a word that no thread stores to. */
	read_operation(s, OP_AWAIT_QUIET, memory_beside(s->memory, s->self->storage), 0,
		       0, SIM_RELAXED, SIM_RELAXED, SITE, NULL);
}
