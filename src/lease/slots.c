/* SPDX-License-Identifier: MIT */
/*
 * The slow paths of slots.h: between shards and depot.
 *
 * Order: [L] pairs with [G] and [S] of lease/depot.c: a thread that finds the depot empty
 * sees the shards in use that its last slots have gone to, or the threads inside that took
 * them; for lists, that a batch has begun. [B] pairs with [L]: a thread that counts a batch
 * as arrived sees the list that it went to. [P] pairs with [G]: a thread that gets a slot
 * from a list sees what its last holder did. All changes of a head are read-modify-writes,
 * so [G] pairs with every [P] before it.
 */
#include "lease/depot.h"
#include "lease/heirs.h"
#include "lease/leases.h"
#include "os/os.h"
#include "sleep/parking.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

/*
 * Whether shards and depot may be inconsistent with each other: true in the child of a
 * fork, which copied its pages at different moments while other threads moved slots. A
 * slot may then be in two places; no thread of the child holds it.
 */
static bool torn(void)
{
	return pawl_lease_generation != 0;
}

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
			head = pawl_load_relaxed(&s->state); /* Relaxed: [G] checks it. */
		while (!pawl_cas_acquire(&s->state, head,    /* [G] */
					 (head | (PAWL_SLOTS_TAG - 1)) + 1));
		pawl_note_acquired(&s->state);
		/* Relaxed: no other thread has the list now. */
		for (top = head & PAWL_SLOTS_TOP; top != 0;
		     top = pawl_load_relaxed(&a->links[top - 1]))
			slots[n++] = (uint32_t)(top - 1);
	}
	if (n > 0)
		pawl_fetch_add_relaxed(&a->moved, 1); /* Relaxed: see take_from_shards. */
	pawl_depot_put(a, slots, n, torn());
}

int pawl_slots_create(struct pawl_slots *a, enum pawl_shards_kind kind, uint64_t limit)
{
	return pawl_slots_create_by(a, kind, limit, 1);
}

int pawl_slots_create_by(struct pawl_slots *a, enum pawl_shards_kind kind, uint64_t limit,
			 uint64_t step)
{
	const struct pawl_shards_plan plan = {
		.kind = kind,
		.bytes = sizeof(struct pawl_slots_shard),
		.drain = drain,
		.owner = a,
	};
	uint64_t words = (limit + 63) / 64, links;
	struct pawl_heir *heir;
	int error;

	memset(a, 0, sizeof(*a));
	if (limit == 0 || limit >= PAWL_SLOTS_LIMIT)
		return EINVAL;
	error = pawl_shards_create(&a->shards, &plan);
	if (error != 0)
		return error;
	links = kind == PAWL_SHARDS_LEASED ? 0 : limit;
	a->limit = limit;
	a->step = step;
	a->mapped = sizeof(*heir) +
		    (words + (words + 63) / 64 + links) * sizeof(pawl_atomic64);
	heir = pawl_os_reserve(a->mapped);
	if (heir == NULL) {
		pawl_shards_destroy(&a->shards);
		return ENOMEM;
	}
	heir->slots = a;
	a->words = (pawl_atomic64 *)(void *)(heir + 1);
	a->summary = a->words + words;
	a->links = a->summary + (words + 63) / 64;
	pawl_heirs_add(heir);
	return 0;
}

void pawl_slots_destroy(struct pawl_slots *a)
{
	pawl_heirs_remove(pawl_heir_of(a));
	pawl_shards_destroy(&a->shards);
	pawl_os_release(pawl_heir_of(a), a->mapped);
}

/*
 * Words that other threads make during the fork may be in some pages of the child and not
 * in others, so the child resets them to `fresh`. Every thread has left its critical
 * section, except stalled ones; threads outside make one slot, and put the rest of its word
 * into the depot at once. Such a thread may be stopped there, or be the one that this
 * signal handler interrupted: hence the time limit.
 */
void pawl_slots_bequeath(struct pawl_slots *a, uint64_t until)
{
	while (!pawl_depot_complete(a, &pawl_heir_of(a)->fresh) && pawl_os_now() < until)
		pawl_os_yield();
}

/*
 * The child's pages were copied at different moments, so slots that a thread inside was
 * moving may be in two places. No thread of the child holds them: all slots in shards go to
 * the depot, a bitmap with one place for each, before any is allocated. Also those of shards
 * that are not counted as used yet in the page copied. Lists may have wrong links: their
 * slots are lost.
 */
static void empty_shards(struct pawl_slots *a)
{
	const struct pawl_shards *p = &a->shards;
	uint64_t own = (uint64_t)p->ids * p->plan.chain;
	uint64_t inside = pawl_lease_inside(), i;

	for (i = 0; p->leased && i < own; i++) {
		struct pawl_slots_shard *s = (struct pawl_slots_shard *)pawl_shards_own(
			p, i);

		/* Not the shard that this thread is inside, if a signal handler forked.
		 * Relaxed, here and below: the child has no other thread. */
		if (inside != pawl_address(&s->base.lease) &&
		    pawl_load_relaxed(&s->state) != 0)
			drain(&s->base, a);
	}
	for (i = 0; !p->leased && i <= p->most; i++) {
		pawl_atomic64 *state =
			&((struct pawl_slots_shard *)(void *)(p->shared + i * p->stride))
				 ->state;

		pawl_store_relaxed(state,
				   (pawl_load_relaxed(state) | (PAWL_SLOTS_TAG - 1)) + 1);
	}
	/* No batch is being moved, except perhaps our own. */
	if (inside != pawl_address(p->shared))
		/* Relaxed, both: likewise. */
		pawl_store_relaxed(&pawl_heir_of(a)->ended,
				   pawl_load_relaxed(&pawl_heir_of(a)->begun));
}

static void untrim(struct pawl_slots *a)
{
	uint64_t word;

	for (word = a->trim_first; word < a->trim_end; word++)
		pawl_depot_put_word(a, word, torn());
	a->trim_end = a->trim_first;
}

void pawl_slots_inherit(struct pawl_slots *a)
{
	const struct pawl_shards *p = &a->shards;

	pawl_depot_unmake(a, pawl_heir_of(a)->fresh);
	if (pawl_lease_stuck_in(p->own, p->shared + (p->most + 1) * p->stride))
		empty_shards(a);
	if (pawl_lease_stuck_in((char *)&a->trim, (char *)(&a->trim + 1)))
		untrim(a);
}

/*
 * Takes the lease of a trim. If the last trim's thread exited during it, or another thread
 * forked then, puts back the words that it had taken.
 */
static enum pawl_lease_result begin_trim(struct pawl_slots *a,
					 struct pawl_lease_handle *h)
{
	enum pawl_lease_result result = pawl_lease_seize(&a->trim, h);

	if (result != PAWL_LEASE_POISONED)
		return result;
	result = pawl_lease_recover(&a->trim, h);
	if (result != PAWL_LEASE_OK)
		return result;
	untrim(a);
	return PAWL_LEASE_OK;
}

/* Takes slots from the depot; *sure becomes false if another thread has taken slots from
 * it to trim them. */
static size_t take_untrimmed(struct pawl_slots *a, uint32_t *slots, size_t n, bool *sure)
{
	struct pawl_lease_handle *h = pawl_lease_self();
	enum pawl_lease_result result = begin_trim(a, h);
	size_t taken = pawl_depot_take(a, slots, n);

	*sure &= result == PAWL_LEASE_OK;
	if (result == PAWL_LEASE_OK)
		pawl_lease_release(&a->trim, h);
	return taken;
}

/* Turns that yield; and the least number of turns. A thread that was off the CPU until its
 * time was over has not given the others any. */
enum { YIELDS = 16, LOOKS = 64 };

/* Lets other threads run: by a yield in the first turns, then by a sleep of 1 ms. */
static void pause(unsigned turn)
{
	const uint64_t ms = 1000000;
	const pawl_atomic64 nobody = PAWL_ZERO;
	struct pawl_deadline deadline;

	if (turn < YIELDS) {
		pawl_os_yield();
		return;
	}
	deadline = pawl_deadline_in(ms);
	pawl_os_sleep(&nobody, 0, &deadline);
}

/*
 * The depot is empty: drains the shards and takes from there. Retries, for a bounded time,
 * while another thread may have slots that it is about to put back (it is inside a shard,
 * trims, or took first what we drained); but not if this is a signal handler and that
 * thread the one it interrupted.
 */
static size_t take_from_shards(struct pawl_slots *a, uint32_t *slots, size_t n)
{
	uint64_t until = pawl_os_now() + (uint64_t)PAWL_SLOTS_PATIENCE_MS * 1000000;
	unsigned turn;

	for (turn = 0;; turn++) {
		/* Before the search: the last turn finds all slots that came back in
		 * time, however long this thread is off the CPU in between. */
		bool last = turn >= LOOKS && pawl_os_now() >= until;
		/* Relaxed, here and below: exact for what this thread drains; for other
		 * threads, a hint. */
		uint64_t moved = pawl_load_relaxed(&a->moved);
		/* Before the shards and the depot: a thread that completes a word later
		 * shows where its slots are. In the child of a fork the thread that should
		 * complete one may not exist. */
		uint64_t made;
		bool sure = pawl_depot_complete(a, &made) || torn();
		uint64_t ended = pawl_load_relaxed(&pawl_heir_of(a)->ended); /* [L] */
		size_t taken;
		int error;

		pawl_acquire_fence(); /* [L] */
		error = pawl_shards_reclaim(&a->shards);
		if (torn())
			pawl_depot_mend(a);
		taken = take_untrimmed(a, slots, n, &sure);
		/* Relaxed: a thread that emptied the depot had begun before [L]. */
		sure &= pawl_load_relaxed(&pawl_heir_of(a)->begun) == ended;
		sure &= error == 0 && pawl_load_relaxed(&a->moved) == moved;
		if (taken > 0 || sure || error == EDEADLK || last)
			return taken;
		pause(turn);
	}
}

static struct pawl_slots_shard *shared(struct pawl_slots *a)
{
	return (struct pawl_slots_shard *)pawl_shards_shared(&a->shards);
}

/* Pops a slot from a shared shard's list; false if it is empty, or if lists must not be
 * changed now (see pawl_shards_begin). */
static bool pop(struct pawl_slots *a, uint32_t *slot)
{
	struct pawl_lease_handle *h = pawl_lease_self();

	while (pawl_shards_begin(&a->shards, h)) {
		struct pawl_slots_shard *s = shared(a);
		uint64_t head = pawl_load_acquire(&s->state); /* [G] */
		uint64_t top = head & PAWL_SLOTS_TOP, below;

		if (top == 0) {
			pawl_shards_end(h);
			return false;
		}
		*slot = (uint32_t)(top - 1);
		/* Relaxed: if the compare-and-swap succeeds, [G] has ordered it; else it is
		 * not used. */
		below = pawl_load_relaxed(&a->links[*slot]);
		/* Relaxed: every head has a tag of its own, so [G] has read this one. */
		if (pawl_cas_relaxed(
			    &s->state, head,
			    ((head - PAWL_SLOTS_ONE + PAWL_SLOTS_TAG) & ~PAWL_SLOTS_TOP) |
				    below)) {
			pawl_note_acquired(&s->state);
			pawl_shards_end(h);
			return true;
		}
		pawl_shards_end(h);
		pawl_shards_contended(&a->shards);
	}
	return false;
}

/* Pushes a slot; false if the list is full, or as in pop. */
static bool push(struct pawl_slots *a, uint32_t slot)
{
	struct pawl_lease_handle *h = pawl_lease_self();

	while (pawl_shards_begin(&a->shards, h)) {
		struct pawl_slots_shard *s = shared(a);
		/* Relaxed, with the link: [P] publishes them. */
		uint64_t head = pawl_load_relaxed(&s->state);

		if (head % PAWL_SLOTS_TAG / PAWL_SLOTS_ONE >= PAWL_SLOTS_CACHE) {
			pawl_shards_end(h);
			return false;
		}
		pawl_store_relaxed(&a->links[slot], head & PAWL_SLOTS_TOP); /* Relaxed. */
		pawl_note_releasing(&s->state);
		if (pawl_cas_release(
			    &s->state, head, /* [P] */
			    ((head + PAWL_SLOTS_ONE + PAWL_SLOTS_TAG) & ~PAWL_SLOTS_TOP) |
				    (slot + 1u))) {
			pawl_shards_end(h);
			return true;
		}
		pawl_shards_end(h);
		pawl_shards_contended(&a->shards);
	}
	return false;
}

/* Links n slots of the caller into a list, and pushes that on a shared shard's list. */
static void push_all(struct pawl_slots *a, const uint32_t *slots, size_t n)
{
	struct pawl_slots_shard *s = shared(a);
	uint64_t head;
	size_t i;

	/* Relaxed, here and below: [P] publishes the links. */
	for (i = 0; i + 1 < n; i++)
		pawl_store_relaxed(&a->links[slots[i]], slots[i + 1] + 1u);
	do {
		head = pawl_load_relaxed(&s->state);
		if (head % PAWL_SLOTS_TAG / PAWL_SLOTS_ONE + n > PAWL_SLOTS_CACHE) {
			pawl_depot_put(a, slots, n, false);
			return;
		}
		pawl_store_relaxed(&a->links[slots[n - 1]], head & PAWL_SLOTS_TOP);
		pawl_note_releasing(&s->state);
	} while (!pawl_cas_release(
		&s->state, head, /* [P] */
		((head + n * PAWL_SLOTS_ONE + PAWL_SLOTS_TAG) & ~PAWL_SLOTS_TOP) |
			(slots[0] + 1u)));
}

/* Takes a batch from the depot: one slot for the caller, the rest for a list. */
static size_t take_for_list(struct pawl_slots *a, uint32_t *slots)
{
	struct pawl_heir *heir = pawl_heir_of(a);
	size_t n;

	if (!pawl_depot_any(a))
		return 0;
	/* Relaxed: [G] of lease/depot.c shows it to a thread that misses what we take. */
	pawl_fetch_add_relaxed(&heir->begun, 1);
	n = pawl_depot_take(a, slots, PAWL_SLOTS_BATCH);
	if (n > 1)
		push_all(a, slots + 1, n - 1);
	pawl_fetch_add_release(&heir->ended, 1); /* [B] */
	return n;
}

_Static_assert(offsetof(struct pawl_slots_shard, state) == PAWL_SHARD_FIRST &&
		       offsetof(struct pawl_slots_shard, slot) == PAWL_SHARD_FIRST + 8,
	       "the stack that sequences use");
_Static_assert(128 + 384 == 1 << PAWL_SLOTS_SHIFT &&
		       sizeof(struct pawl_slots_shard) <= 384 &&
		       sizeof(struct pawl_slots_shard) > 256,
	       "with the record before it");

static void leave(struct pawl_slots *a, struct pawl_slots_shard *s,
		  struct pawl_lease_handle *h, bool share)
{
	if (share && !a->without_sequences)
		pawl_shards_exit_shared(&a->shards, &s->base, h);
	else
		pawl_shards_exit(&a->shards, &s->base, h);
}

static uint32_t get_slowly(struct pawl_slots *a, struct pawl_slots_shard *s,
			   struct pawl_lease_handle *h, bool share)
{
	uint32_t slots[PAWL_SLOTS_BATCH];
	size_t n;

	if (s != NULL) {
		size_t i;

		/* Before slots arrive that other threads may search for. Relaxed: as in
		 * pawl_shards_exit. */
		if (pawl_load_relaxed(&s->base.used) == 0)
			pawl_shards_note_use_(&a->shards, &s->base);
		/* With the lease held, so that a fork waits until all slots have arrived. */
		n = pawl_depot_take(a, slots, PAWL_SLOTS_BATCH);
		for (i = 1; i < n; i++)
			s->slot[i - 1] = slots[n - i];		  /* the lowest on top */
		pawl_store_release(&s->state, n > 0 ? n - 1 : 0); /* [C] */
		leave(a, s, h, share);
	} else if (a->shards.leased || !pawl_shards_begin(&a->shards, h)) {
		n = pawl_depot_take(a, slots, 1);
	} else {
		n = take_for_list(a, slots);
		pawl_shards_end(h);
	}
	if (n == 0)
		n = take_from_shards(a, slots, 1);
	pawl_shards_tick(&a->shards);
	return n > 0 ? slots[0] : PAWL_SLOTS_NONE;
}

uint32_t pawl_slots_get_slow_(struct pawl_slots *a, struct pawl_slots_shard *s,
			      struct pawl_lease_handle *h)
{
	return get_slowly(a, s, h, false);
}

uint32_t pawl_slots_get_otherwise_(struct pawl_slots *a)
{
	struct pawl_lease_handle *h = pawl_lease_self();
	struct pawl_slots_shard *s = pawl_slots_enter_(a, h);
	/* Relaxed: the lease orders it. */
	uint64_t n = s != NULL ? pawl_load_relaxed(&s->state) : 0;
	uint32_t slot;

	if (!a->shards.leased && pop(a, &slot))
		return slot;
	if (n == 0)
		return get_slowly(a, s, h, true);
	slot = s->slot[n - 1];
	pawl_store_release(&s->state, n - 1); /* [C] */
	leave(a, s, h, true);
	return slot;
}

static void put_slowly(struct pawl_slots *a, uint32_t slot, struct pawl_slots_shard *s,
		       struct pawl_lease_handle *h, bool share)
{
	const size_t rest = PAWL_SLOTS_CACHE - PAWL_SLOTS_BATCH;

	if (s != NULL) {
		pawl_store_release(&s->state, rest); /* [C] */
		pawl_depot_put(a, s->slot + rest, PAWL_SLOTS_BATCH, torn());
		s->slot[rest] = slot;
		pawl_store_release(&s->state, rest + 1); /* [C] */
		leave(a, s, h, share);
	} else {
		pawl_depot_put(a, &slot, 1, false);
	}
	pawl_shards_tick(&a->shards);
}

void pawl_slots_put_slow_(struct pawl_slots *a, uint32_t slot, struct pawl_slots_shard *s,
			  struct pawl_lease_handle *h)
{
	put_slowly(a, slot, s, h, false);
}

void pawl_slots_put_otherwise_(struct pawl_slots *a, uint32_t slot)
{
	struct pawl_lease_handle *h = pawl_lease_self();
	struct pawl_slots_shard *s = pawl_slots_enter_(a, h);
	/* Relaxed: the lease orders it. */
	uint64_t n = s != NULL ? pawl_load_relaxed(&s->state) : PAWL_SLOTS_CACHE;

	if (!a->shards.leased && push(a, slot))
		return;
	if (n == PAWL_SLOTS_CACHE) {
		put_slowly(a, slot, s, h, true);
		return;
	}
	s->slot[n] = slot;
	pawl_store_release(&s->state, n + 1); /* [C] */
	leave(a, s, h, true);
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Takes slots from this CPU's shard, or the lists; may get fewer than n. */
static size_t get_some(struct pawl_slots *a, uint32_t *slots, size_t n)
{
	struct pawl_lease_handle *h = pawl_lease_self();
	struct pawl_slots_shard *s = pawl_slots_enter_(a, h);
	size_t taken = 0;

	if (s != NULL) {
		uint64_t count = pawl_load_relaxed(&s->state); /* Relaxed: the lease. */

		taken = smaller(n, count);
		memcpy(slots, s->slot + count - taken, taken * sizeof(slots[0]));
		pawl_store_release(&s->state, count - taken); /* [C] */
		leave(a, s, h, true);
	} else if (!a->shards.leased) {
		while (taken < n && pop(a, &slots[taken]))
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
	struct pawl_slots_shard *s = pawl_slots_enter_(a, h);
	size_t put = 0;

	if (s != NULL) {
		uint64_t count = pawl_load_relaxed(&s->state); /* Relaxed: the lease. */

		put = smaller(n, PAWL_SLOTS_CACHE - count);
		memcpy(s->slot + count, slots, put * sizeof(slots[0]));
		pawl_store_release(&s->state, count + put); /* [C] */
		leave(a, s, h, true);
	} else if (!a->shards.leased) {
		while (put < n && push(a, slots[put]))
			put++;
	}
	pawl_depot_put(a, slots + put, n - put, false);
}

uint64_t pawl_slots_peak(const struct pawl_slots *a)
{
	return pawl_load_relaxed(&a->fresh) * 64; /* Relaxed: a number. */
}

void pawl_slots_each_idle(struct pawl_slots *a,
			  void (*idle)(uint64_t first, uint64_t slots, void *argument),
			  void *argument)
{
	const uint64_t most = 64; /* words that are taken at a time */
	struct pawl_lease_handle *h = pawl_lease_self();
	uint64_t first, end, i;
	/* Relaxed: words that are made meanwhile are not idle. */
	uint64_t words = pawl_load_relaxed(&a->fresh);

	/* With the lease held for each run, so that a fork waits until all are back. */
	for (first = 0; first < words && begin_trim(a, h) == PAWL_LEASE_OK;
	     first = end + 1) {
		a->trim_first = a->trim_end = first;
		for (end = first; end < words && end - first < most; end++) {
			if (!pawl_depot_take_word(a, end))
				break;
			a->trim_end = end + 1;
		}
		if (end > first)
			idle(first * 64, (end - first) * 64, argument);
		for (i = first; i < end; i++) {
			a->trim_first = i + 1;
			pawl_depot_put_word(a, i, false);
		}
		pawl_lease_release(&a->trim, h);
		if (end - first == most)
			end--; /* the word at `end` was not tried yet */
	}
}
