/* SPDX-License-Identifier: MIT */
/* The slow paths of slots.h: between shards and depot. */
#include "depot.h"
#include "os.h"

#include <errno.h>
#include <string.h>

/* Empties a shard into the depot; see struct pawl_shards_plan. */
static void drain(struct pawl_shard *shard, void *owner)
{
	struct pawl_slots *a = owner;
	struct pawl_slots_shard *s = (struct pawl_slots_shard *)shard;
	uint32_t slots[PAWL_SLOTS_CACHE];
	uint64_t head;
	size_t n = 0;

	if (a->shards.leased) {
		n = pawl_load_relaxed(&s->state); /* Relaxed: the lease is held. */
		memcpy(slots, s->slot, n * sizeof(slots[0]));
		pawl_store_release(&s->state, 0); /* [C] of slots.h */
	} else {
		uint64_t top;

		do
			head = pawl_load_acquire(&s->state); /* [G] */
		while (!pawl_cas_acquire(&s->state, head,    /* [G] */
					 (head | (PAWL_SLOTS_TAG - 1)) + 1));
		pawl_note_acquired(&s->state);
		/* Relaxed: the list is ours now. */
		for (top = head & PAWL_SLOTS_TOP; top != 0;
		     top = pawl_load_relaxed(&a->links[top - 1]))
			slots[n++] = (uint32_t)(top - 1);
	}
	pawl_depot_put(a, slots, n);
}

int pawl_slots_create(struct pawl_slots *a, enum pawl_shards_kind kind, uint64_t limit)
{
	const struct pawl_shards_plan plan = {
		.kind = kind,
		.bytes = sizeof(struct pawl_slots_shard),
		.drain = drain,
		.owner = a,
	};
	uint64_t words = (limit + 63) / 64, links;
	int error;

	memset(a, 0, sizeof(*a));
	if (limit == 0 || limit >= PAWL_SLOTS_LIMIT)
		return EINVAL;
	error = pawl_shards_create(&a->shards, &plan);
	if (error != 0)
		return error;
	links = kind == PAWL_SHARDS_LEASED ? 0 : limit;
	a->limit = limit;
	a->mapped = (words + (words + 63) / 64 + links) * sizeof(pawl_atomic64);
	a->words = pawl_os_reserve(a->mapped);
	if (a->words == NULL) {
		pawl_shards_destroy(&a->shards);
		return ENOMEM;
	}
	a->summary = a->words + words;
	a->links = a->summary + (words + 63) / 64;
	return 0;
}

void pawl_slots_destroy(struct pawl_slots *a)
{
	pawl_shards_destroy(&a->shards);
	pawl_os_release(a->words, a->mapped);
}

/* The depot is empty: takes what idles in shards. Ends: it turns again only if
 * another thread was doing the same, a few times. */
static size_t take_from_shards(struct pawl_slots *a, uint32_t *slots, size_t n)
{
	const int most = 16;
	size_t taken = 0;
	bool done;
	int i;

	for (i = 0; i < most && taken == 0; i++) {
		done = pawl_shards_reclaim(&a->shards);
		taken = pawl_depot_take(a, slots, n);
		if (done)
			break;
		pawl_os_yield();
	}
	return taken;
}

/* Makes n slots, which are ours, one list, and puts that in front of a shard's. */
static void push_all(struct pawl_slots *a, const uint32_t *slots, size_t n)
{
	struct pawl_slots_shard *s = (struct pawl_slots_shard *)pawl_shards_shared(
		&a->shards);
	uint64_t head;
	size_t i;

	/* Relaxed, here and below: [P] publishes the links. */
	for (i = 0; i + 1 < n; i++)
		pawl_store_relaxed(&a->links[slots[i]], slots[i + 1] + 1u);
	do {
		head = pawl_load_relaxed(&s->state);
		if (head % PAWL_SLOTS_TAG / PAWL_SLOTS_ONE + n > PAWL_SLOTS_CACHE) {
			pawl_depot_put(a, slots, n);
			return;
		}
		pawl_store_relaxed(&a->links[slots[n - 1]], head & PAWL_SLOTS_TOP);
		pawl_note_releasing(&s->state);
	} while (!pawl_cas_release(
		&s->state, head, /* [P] */
		((head + n * PAWL_SLOTS_ONE + PAWL_SLOTS_TAG) & ~PAWL_SLOTS_TOP) |
			(slots[0] + 1u)));
}

uint32_t pawl_slots_get_slow(struct pawl_slots *a, struct pawl_slots_shard *s,
			     struct pawl_lease_handle *h)
{
	uint32_t slots[PAWL_SLOTS_BATCH];
	size_t n;

	if (s != NULL) {
		size_t i;

		/* Inside, so that a fork waits until all have arrived. */
		n = pawl_depot_take(a, slots, PAWL_SLOTS_BATCH);
		for (i = 1; i < n; i++)
			s->slot[i - 1] = slots[n - i];		  /* the lowest on top */
		pawl_store_release(&s->state, n > 0 ? n - 1 : 0); /* [C] */
		pawl_shards_exit(&a->shards, &s->base, h);
	} else if (a->shards.leased) {
		n = pawl_depot_take(a, slots, 1);
	} else {
		n = pawl_depot_take(a, slots, PAWL_SLOTS_BATCH);
		if (n > 1)
			push_all(a, slots + 1, n - 1);
	}
	if (n == 0)
		n = take_from_shards(a, slots, 1);
	pawl_shards_tick(&a->shards);
	return n > 0 ? slots[0] : PAWL_SLOTS_NONE;
}

void pawl_slots_put_slow(struct pawl_slots *a, uint32_t slot, struct pawl_slots_shard *s,
			 struct pawl_lease_handle *h)
{
	const size_t rest = PAWL_SLOTS_CACHE - PAWL_SLOTS_BATCH;

	if (s != NULL) {
		pawl_store_release(&s->state, rest); /* [C] */
		pawl_depot_put(a, s->slot + rest, PAWL_SLOTS_BATCH);
		s->slot[rest] = slot;
		pawl_store_release(&s->state, rest + 1); /* [C] */
		pawl_shards_exit(&a->shards, &s->base, h);
	} else {
		pawl_depot_put(a, &slot, 1);
	}
	pawl_shards_tick(&a->shards);
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* What the shard at hand has; it may be less than asked for. */
static size_t get_some(struct pawl_slots *a, uint32_t *slots, size_t n)
{
	struct pawl_lease_handle *h = pawl_lease_self();
	struct pawl_slots_shard *s = (struct pawl_slots_shard *)pawl_shards_enter(
		&a->shards, h);
	size_t taken = 0;

	if (s != NULL) {
		uint64_t count = pawl_load_relaxed(&s->state); /* Relaxed: the lease. */

		taken = smaller(n, count);
		memcpy(slots, s->slot + count - taken, taken * sizeof(slots[0]));
		pawl_store_release(&s->state, count - taken); /* [C] */
		pawl_shards_exit(&a->shards, &s->base, h);
	} else if (!a->shards.leased) {
		while (taken < n && pawl_slots_pop(a, &slots[taken]))
			taken++;
	}
	return taken;
}

size_t pawl_slots_get_batch(struct pawl_slots *a, uint32_t *slots, size_t n)
{
	size_t taken = get_some(a, slots, n), more = 1;

	while (taken < n && more > 0) {
		more = pawl_depot_take(a, slots + taken, n - taken);
		if (more == 0)
			more = take_from_shards(a, slots + taken, n - taken);
		taken += more;
	}
	return taken;
}

void pawl_slots_put_batch(struct pawl_slots *a, const uint32_t *slots, size_t n)
{
	struct pawl_lease_handle *h = pawl_lease_self();
	struct pawl_slots_shard *s = (struct pawl_slots_shard *)pawl_shards_enter(
		&a->shards, h);
	size_t put = 0;

	if (s != NULL) {
		uint64_t count = pawl_load_relaxed(&s->state); /* Relaxed: the lease. */

		put = smaller(n, PAWL_SLOTS_CACHE - count);
		memcpy(s->slot + count, slots, put * sizeof(slots[0]));
		pawl_store_release(&s->state, count + put); /* [C] */
		pawl_shards_exit(&a->shards, &s->base, h);
	} else if (!a->shards.leased) {
		while (put < n && pawl_slots_push(a, slots[put]))
			put++;
	}
	pawl_depot_put(a, slots + put, n - put);
}

uint64_t pawl_slots_peak(const struct pawl_slots *a)
{
	return pawl_load_seq_cst(&a->fresh) * 64;
}

void pawl_slots_each_idle(struct pawl_slots *a,
			  void (*idle)(uint64_t first, uint64_t slots, void *argument),
			  void *argument)
{
	const uint64_t most = 64; /* words out of reach for others at a time */
	uint64_t words = pawl_load_seq_cst(&a->fresh), first, end, i;

	for (first = 0; first < words; first = end + 1) {
		for (end = first; end < words && end - first < most; end++)
			if (!pawl_depot_take_word(a, end))
				break;
		if (end > first)
			idle(first * 64, (end - first) * 64, argument);
		for (i = first; i < end; i++)
			pawl_depot_put_word(a, i);
		if (end - first == most)
			end--; /* stopped for no reason of the word's */
	}
}
