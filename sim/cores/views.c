/* SPDX-License-Identifier: MIT */
/*
 * Weak memory. A write goes to any position in its word's modification order that is not
 * before a write that its thread has seen, and not between an update and the write that
 * the update read. Where racing stores are forbidden this is always the end of the order:
 * a write is a read-modify-write, or its thread has seen the last write, or else the
 * search ends with a failure. Memory itself holds the newest value of each word.
 */
#include "views.h"

#include "world.h"

#include <sim/seam.h>

#include <string.h>

struct views views;

/* Words written in this search, in the order of their first writes. The numbers stay
 * while the search backtracks. */
static const uint64_t *places[MAX_PLACES];
static int place_count;

void views_start(void)
{
	memset(&views, 0, sizeof(views));
	place_count = 0;
}

size_t views_size(void)
{
	return offsetof(struct views, messages) + views.count * sizeof(views.messages[0]);
}

/* -1: not written. */
static int place_of(const uint64_t *word)
{
	int p;

	for (p = place_count - 1; p >= 0; p--)
		if (places[p] == word)
			break;
	return p;
}

static int new_place(const uint64_t *word)
{
	int p = place_of(word);

	if (p >= 0)
		return p;
	if (place_count == MAX_PLACES) {
		cores_fail(VERDICT_LIMIT, "more than %d words are written", MAX_PLACES);
		return 0;
	}
	places[place_count] = word;
	return place_count++;
}

static void join(view *to, const view *from)
{
	view less = (view)(*to < *from);

	*to = (*to & ~less) | (*from & less);
}

/* NULL: the initial value, which is no message. */
static const struct message *message_of(int place, int number)
{
	uint32_t i;

	for (i = 0; i < views.count; i++)
		if (views.messages[i].place == (uint64_t)place && number-- == 0)
			return &views.messages[i];
	return NULL;
}

/* How many of the first `count` messages write to this place, minus one. */
static int number_before(int place, uint32_t count)
{
	int number = -1;
	uint32_t i;

	for (i = 0; i < count; i++)
		number += views.messages[i].place == (uint64_t)place;
	return number;
}

static int newest(int place)
{
	int number = number_before(place, views.count);

	return number < 0 ? 0 : number;
}

int views_oldest(int thread, const uint64_t *word)
{
	int p = place_of(word);

	return p < 0 ? 0 : views.threads[thread].now[p];
}

int views_newest(const uint64_t *word)
{
	int p = place_of(word);

	return p < 0 ? 0 : newest(p);
}

uint64_t views_value(const uint64_t *word, int number)
{
	int p = place_of(word);
	const struct message *m = p < 0 ? NULL : message_of(p, number);

	return m == NULL ? *word : m->value;
}

static bool acquires(int order)
{
	return order == SIM_ACQUIRE || order == SIM_ACQ_REL || order == SIM_SEQ_CST;
}

static bool releases(int order)
{
	return order == SIM_RELEASE || order == SIM_ACQ_REL || order == SIM_SEQ_CST;
}

uint64_t views_load(int thread, const uint64_t *word, int number, int order)
{
	int p = place_of(word);
	const struct message *m = p < 0 ? NULL : message_of(p, number);
	view *now = &views.threads[thread].now;

	if (m == NULL)
		return *word;
	(*now)[p] = (uint8_t)number;
	join(acquires(order) ? now : &views.threads[thread].read, &m->view);
	return m->value;
}

static struct message *append(int place, uint64_t value)
{
	struct message *m = &views.messages[views.count];

	if (views.count == MAX_MESSAGES) {
		cores_fail(VERDICT_LIMIT, "more than %d writes are in flight",
			   MAX_MESSAGES);
		return m - 1;
	}
	views.count++;
	memset(m, 0, sizeof(*m));
	m->place = (uint64_t)place;
	m->value = value;
	return m;
}

/* Applies a function to every view. */
static void for_all_views(void (*what)(view *v, const view *argument),
			  const view *argument)
{
	uint32_t i;
	int t;

	for (i = 0; i < views.count; i++)
		what(&views.messages[i].view, argument);
	what(&views.full, argument);
	for (t = 0; t < CORES_MAX_THREADS; t++) {
		what(&views.threads[t].now, argument);
		what(&views.threads[t].shown, argument);
		what(&views.threads[t].due, argument);
		what(&views.threads[t].read, argument);
		what(&views.threads[t].fenced, argument);
	}
}

/* Increments the numbers from `from` on; `from` is 0 for places that do not change. */
static void make_room(view *v, const view *from)
{
	const view zero = {0};

	*v -= (view)(*from != zero) & (view)(*v >= *from); /* true is -1 in a vector */
}

/* Shifts the later messages of the place; the caller fills in the new one. */
static struct message *insert(int place, int number, uint64_t value)
{
	struct message *m = append(place, value);
	view from = {0};
	uint32_t i = views.count - 1;

	if (number == newest(place))
		return m;
	from[place] = (uint8_t)number;
	for_all_views(make_room, &from);
	for (; number_before(place, i) >= number; i--)
		views.messages[i] = views.messages[i - 1];
	m = &views.messages[i];
	memset(m, 0, sizeof(*m));
	m->place = (uint64_t)place;
	m->value = value;
	return m;
}

/* Inserts a write after message `number`, continuing its release sequence if `before` is
 * not NULL. */
static void write_after(int thread, uint64_t *word, int number, uint64_t value, int order,
			const view *before)
{
	int p = new_place(word);
	view *now = &views.threads[thread].now;
	struct message *m;

	if (message_of(p, 0) == NULL)
		append(p, *word);
	m = insert(p, ++number, value);
	(*now)[p] = (uint8_t)number;
	m->view = releases(order) ? *now : views.threads[thread].fenced;
	if (before != NULL)
		join(&m->view, before);
	m->view[p] = (uint8_t)number;
	m->joined = before != NULL;
	if (number == newest(p))
		world_write(word, value);
}

bool views_is_open(const uint64_t *word, int number)
{
	int p = place_of(word);
	const struct message *m = p < 0 ? NULL : message_of(p, number + 1);

	return m == NULL || m->joined == 0;
}

void views_store(int thread, uint64_t *word, int number, uint64_t value, int order)
{
	write_after(thread, word, number, value, order, NULL);
}

uint64_t views_modify(int thread, uint64_t *word, int number, uint64_t value, int order)
{
	const view none = {0};
	uint64_t old = views_load(thread, word, number, order);
	int p = place_of(word);
	const struct message *m = p < 0 ? NULL : message_of(p, number);
	view before = m != NULL ? m->view : none;

	write_after(thread, word, number, value, order, &before);
	return old;
}

void views_leave_alone(void)
{
	uint32_t i;
	int t;

	views.alone = 1;
	/* Each write since the beginning of the fork may or may not be in the child,
	 * whatever the orders between them. */
	for (i = 0; i < views.count; i++)
		views.messages[i].view = (view){0};
	views.full = (view){0};
	for (t = 0; t < CORES_MAX_THREADS; t++)
		views.threads[t].due = views.threads[t].read = (view){0};
}

void views_pin(uint64_t *word, int number)
{
	int p = place_of(word), seen = 0;
	uint32_t i, kept = 0;

	if (views.alone == 0 || p < 0 || number >= newest(p))
		return;
	world_write(word, views_value(word, number));
	for (i = 0; i < views.count; i++) {
		if (views.messages[i].place == (uint64_t)p && seen++ > number)
			continue;
		views.messages[kept++] = views.messages[i];
	}
	views.count = kept;
}

static void keep_some(view *v, const view *these)
{
	*v &= *these;
}

void views_overwrite(uint64_t *word)
{
	int p = place_of(word);
	uint32_t i, kept = 0;
	view others;

	if (p < 0)
		return;
	for (i = 0; i < views.count; i++)
		if (views.messages[i].place != (uint64_t)p)
			views.messages[kept++] = views.messages[i];
	views.count = kept;
	memset(&others, 0xff, sizeof(others));
	others[p] = 0;
	for_all_views(keep_some, &others);
}

void views_light_fence(int thread, int core)
{
	view *now = &views.threads[thread].now, *due = &views.threads[thread].due;

	join(now, due);
	*due = (view){0};
	views.threads[thread].shown = *now;
	views.threads[thread].seen = core < 0 ? 0 : (uint8_t)(1u << core);
}

void views_full_fence(int thread, int core)
{
	view *now = &views.threads[thread].now;

	join(now, &views.full);
	join(now, &views.threads[thread].read);
	views.threads[thread].read = (view){0};
	views_light_fence(thread, core);
	join(&views.full, now);
	views.threads[thread].fenced = *now;
}

void views_interrupt(int thread)
{
	join(&views.full, &views.threads[thread].shown);
	join(&views.threads[thread].due, &views.full);
}

/* Numbers then count from the oldest remaining write. */
static void renumber(view *v, const view *base)
{
	*v = (*v - *base) & (view)(*v > *base);
}

/* For each place, the oldest write that some thread may still read, within STALEST. */
static void find_oldest(unsigned alive, view *oldest)
{
	uint8_t numbers[MAX_PLACES] = {0};
	view base;
	uint32_t i;
	int t;

	memset(&base, alive == 0 ? 0 : 0xff, sizeof(base));
	for (t = 0; t < CORES_MAX_THREADS; t++) {
		const view *now = &views.threads[t].now;
		view less = (view)(*now < base);

		if ((alive >> t & 1) != 0)
			base = (base & ~less) | (*now & less);
	}
	*oldest = base;
	for (i = 0; i < views.count; i++) {
		uint64_t p = views.messages[i].place;

		if (++numbers[p] > STALEST &&
		    ((uint8_t *)oldest)[p] < numbers[p] - STALEST)
			((uint8_t *)oldest)[p] = (uint8_t)(numbers[p] - STALEST);
	}
}

static bool is_zero(const view *v)
{
	const view zero = {0};

	return memcmp(v, &zero, sizeof(zero)) == 0;
}

/* Drops the writes older than base. */
static void forget(const view *base)
{
	uint8_t numbers[MAX_PLACES] = {0};
	uint32_t i, kept = 0;

	for (i = 0; i < views.count; i++) {
		struct message *m = &views.messages[i];
		uint8_t first = ((const uint8_t *)base)[m->place];

		if (numbers[m->place] == first)
			m->joined = 0; /* the write that it updated was dropped */
		if (numbers[m->place]++ >= first)
			views.messages[kept++] = *m;
	}
	views.count = kept;
	for_all_views(renumber, base);
}

/* Drops messages that are their word's only one and carry no view. */
static void forget_bare(void)
{
	uint8_t numbers[MAX_PLACES] = {0};
	uint32_t i, kept = 0;

	for (i = 0; i < views.count; i++)
		numbers[views.messages[i].place]++;
	for (i = 0; i < views.count; i++) {
		const struct message *m = &views.messages[i];

		if (numbers[m->place] == 1 && is_zero(&m->view))
			continue;
		if (kept != i)
			views.messages[kept] = *m;
		kept++;
	}
	views.count = kept;
}

void views_tidy(unsigned alive)
{
	view base;
	int t;

	find_oldest(alive, &base);
	for (t = 0; t < CORES_MAX_THREADS; t++)
		if ((alive >> t & 1) != 0)
			views.threads[t].due &= (view)(views.threads[t].due >
						       views.threads[t].now);
	if (is_zero(&base))
		return;
	forget(&base);
	forget_bare();
}

uint64_t views_hash(uint64_t seed)
{
	uint8_t numbers[MAX_PLACES] = {0};
	uint64_t sum = seed;
	uint32_t i;

	/* By place and number: the order between writes of different words is not
	 * observable. */
	for (i = 0; i < views.count; i++) {
		const struct message *m = &views.messages[i];

		sum += machine_hash_words(
			1u + numbers[m->place]++, (const uint64_t *)m,
			(offsetof(struct message, joined) + sizeof(m->joined)) /
				sizeof(uint64_t));
	}
	return machine_hash_words(sum, (const uint64_t *)&views.threads,
				  offsetof(struct views, count) / sizeof(uint64_t));
}
