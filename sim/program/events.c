/* SPDX-License-Identifier: MIT */
/* The events of a checked program: the counterpart of sim/explore/operations.c, for
 * atomics of any width. */
#include "symmetry.h"

const struct sim_engine search_engine;

static uint64_t truncated(uint64_t value, int width)
{
	return width == 8 ? value : value & ((1ull << width * 8) - 1);
}

static uint64_t next_value(const struct access *a, uint64_t value)
{
	switch (a->operation) {
	case OP_ADD:
		return truncated(value + a->operand, a->width);
	case OP_SUB:
	case OP_AWAIT_NE_RMW:
	case OP_ASSUME_NE_RMW:
		return truncated(value - a->operand, a->width);
	case OP_AND:
		return value & a->operand;
	case OP_OR:
		return value | a->operand;
	case OP_XOR:
		return value ^ a->operand;
	case OP_NAND:
		return truncated(~(value & a->operand), a->width);
	default:
		return a->operand;
	}
}

static void put(const struct access *a, uint64_t value)
{
	__builtin_memcpy((void *)(uintptr_t)a->p, &value, (size_t)a->width);
}

/* Fails if this thread has reached this place too often. */
static void check_unroll(struct search *s, const void *site)
{
	int t = me(s), i, n = 0;

	if (program_unroll == 0)
		return;
	for (i = 0; i < s->self->position; i++)
		n += s->graph.events[t][i].site == site &&
		     s->graph.events[t][i].kind != EVENT_WRITE;
	if (n > program_unroll)
		search_cut(s);
}

/* While the program is loaded there is only one thread. */
static uint64_t do_at_once(const struct access *a, bool *wrote)
{
	uint64_t value = search_peek(a->p, a->width);
	struct outcome outcome = graph_outcome(a->operation, a->expected, value);

	if (outcome.writes)
		put(a, next_value(a, value));
	if (wrote != NULL)
		*wrote = outcome.writes;
	return value;
}

uint64_t event_read(const struct access *a, bool *wrote)
{
	struct search *s = current_search;
	struct event *e, *w;
	uint64_t value, next;
	uint8_t location, waits = 0;
	event_id id;

	if (!on_thread())
		return do_at_once(a, wrote);
	search_settle(s);
	if (symmetry_used)
		symmetry_event(s);
	if (!a->own)
		waits = loops_before_read(s, a->site);
	check_unroll(s, a->site);
	for (;;) {
		e = search_next_event(s, false);
		location = access_atomic_at(s, a->p, a->width, a->site);
		if (e == NULL)
			e = search_add_read(s, (struct event){
						       .kind = EVENT_READ,
						       .operation = (uint8_t)a->operation,
						       .order = (uint8_t)a->order,
						       .failure = (uint8_t)a->failure,
						       .location = location,
						       .waits = waits,
						       .expected = a->expected,
						       .site = a->site,
					       });
		id = event_name(me(s), s->self->position - 1);
		access_atomic_done(s, a->p, a->width, false);
		if (!e->blocked)
			break;
		search_note_event(s, id, INITIAL);
		/* Continues after another thread's write, or when the event is removed. */
		while (s->self->position > event_index(id))
			search_pause(s, THREAD_BLOCKED);
	}
	value = e->value;
	if (wrote != NULL)
		*wrote = e->exclusive;
	if (!e->exclusive) {
		search_note_event(s, id, INITIAL);
		return value;
	}
	next = next_value(a, value);
	if (next != value || a->own)
		loops_wrote();
	w = search_next_event(s, false);
	if (w == NULL)
		search_add_write(s,
				 (struct event){
					 .kind = EVENT_WRITE,
					 .operation = (uint8_t)a->operation,
					 .order = (uint8_t)a->order,
					 .location = location,
					 .value = next,
					 .site = a->site,
				 },
				 true);
	access_atomic_done(s, a->p, a->width, true);
	put(a, next);
	search_note_event(s, id, event_name(me(s), s->self->position - 1));
	if (symmetry_used)
		symmetry_update(s);
	return value;
}

void event_store(const struct access *a)
{
	struct search *s = current_search;
	struct event *e;
	uint8_t location;

	if (!on_thread()) {
		put(a, a->operand);
		return;
	}
	search_settle(s);
	if (symmetry_used)
		symmetry_event(s);
	loops_wrote();
	check_unroll(s, a->site);
	e = search_next_event(s, false);
	location = access_atomic_at(s, a->p, a->width, a->site);
	if (e == NULL)
		search_add_write(s,
				 (struct event){
					 .kind = EVENT_WRITE,
					 .operation = OP_STORE,
					 .order = (uint8_t)a->order,
					 .location = location,
					 .value = truncated(a->operand, a->width),
					 .site = a->site,
				 },
				 false);
	access_atomic_done(s, a->p, a->width, true);
	put(a, a->operand);
	search_note_event(s, event_name(me(s), s->self->position - 1), INITIAL);
}

/* Adds a fence or a choice: an event without a location. */
static struct event *add_other(struct search *s, struct event event)
{
	int t = me(s);
	struct event *e = search_append(s, t, event);

	if (e->kind == EVENT_FENCE) {
		s->graph.fences = (uint16_t)(s->graph.fences + graph_is_sc_fence(e));
		graph_set_fence(&s->graph, t, e);
		if (s->guide != NULL)
			token_choice(s);
	} else {
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
	}
	s->self->position++;
	token_record(s, t, e);
	return e;
}

void event_fence(int order, const void *site)
{
	static const uint8_t kinds[] = {
		[__ATOMIC_CONSUME] = SIM_FENCE_ACQUIRE,
		[__ATOMIC_ACQUIRE] = SIM_FENCE_ACQUIRE,
		[__ATOMIC_RELEASE] = SIM_FENCE_RELEASE,
		[__ATOMIC_ACQ_REL] = SIM_FENCE_ACQ_REL,
		[__ATOMIC_SEQ_CST] = SIM_FENCE_FULL,
	};
	struct search *s = current_search;

	if (!on_thread() || order == __ATOMIC_RELAXED)
		return;
	search_settle(s);
	if (symmetry_used)
		symmetry_event(s);
	if (search_next_event(s, false) == NULL)
		add_other(s, (struct event){
				     .kind = EVENT_FENCE,
				     .operation = OP_FENCE,
				     .order = kinds[order],
				     .location = NO_LOCATION,
				     .site = site,
			     });
	search_note_event(s, event_name(me(s), s->self->position - 1), INITIAL);
}

bool event_choose(const void *site)
{
	struct search *s = current_search;
	struct event *e;

	search_settle(s);
	if (symmetry_used)
		symmetry_event(s);
	loops_wrote();
	e = search_next_event(s, false);
	if (e == NULL)
		e = add_other(s, (struct event){
					 .kind = EVENT_CHOICE,
					 .operation = OP_CHOICE,
					 .location = NO_LOCATION,
					 .site = site,
				 });
	search_note_event(s, event_name(me(s), s->self->position - 1), INITIAL);
	return e->value != 0;
}

uint64_t own_read(enum operation operation, uint64_t *word, uint64_t expected,
		  uint64_t operand, int order, const void *site, bool *wrote)
{
	return event_read(
		&(struct access){
			.operation = operation,
			.p = word,
			.width = 8,
			.order = order,
			.failure = SIM_RELAXED,
			.expected = expected,
			.operand = operand,
			.site = site,
			.own = true,
		},
		wrote);
}

void own_store(uint64_t *word, uint64_t value, int order, const void *site)
{
	event_store(&(struct access){
		.p = word,
		.width = 8,
		.order = order,
		.operand = value,
		.site = site,
		.own = true,
	});
}

uint64_t own_until_written(uint64_t *word, const void *site)
{
	struct search *s = current_search;
	int t = me(s), l;

	search_settle(s);
	l = access_atomic_at(s, word, 8, site);
	while (s->self->position >= s->graph.length[t] && s->graph.written[l] == 0) {
		s->self->until = l;
		search_pause(s, THREAD_UNTIL);
	}
	return own_read(OP_AWAIT_NE, word, 0, 0, SIM_ACQUIRE, site, NULL);
}
