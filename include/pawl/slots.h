/* SPDX-License-Identifier: MIT */
/*
 * pawl/slots.h - allocates slots, numbers below a limit, each to one holder at a
 * time, on both kinds of shards. idalloc.h and pool.h are built on it.
 *
 * Choose it  to allocate the elements of an array of your own; otherwise see
 *            idalloc.h and pool.h.
 * Avoid it   where slots must be allocated in order.
 * Source     Khuong, "Notes on lock-free dynamic contention management", 2026;
 *            of the free list, Treiber, IBM RJ 5118, 1986.
 * Departs    from them: slots are numbers, so that a list's head has room for a
 *            tag of 31 bits beside it; and there is a depot behind the shards.
 * Cost       LEASED: a restartable sequence, or else a section of shards.h; ATOMIC:
 *            1 RMW; 4 bytes a slot, and 8 more with ATOMIC, where it has been used.
 *
 * State      A free slot is in exactly one place (I1): a shard, or the depot.
 *
 *   depot    a bitmap, 1 = free and here, that yields the lowest slots first and is
 *            accessed by atomics only; new slots come from it only when no bit is set.
 *            It is the shared side of LEASED; shards are refilled from it and spill
 *            into it.
 *   LEASED   a stack of at most PAWL_SLOTS_CACHE slots; `count` of them.
 *   ATOMIC   head = (tag, count, top), where top - 1 is a slot and links[slot] is
 *            what is below it; top 0 = empty. Every change increments the tag, so a
 *            compare-and-swap fails if anything happened in between.
 *
 *   I2  count <= PAWL_SLOTS_CACHE: no slot ever allocated is as great as the most
 *       slots held at a time + PAWL_SLOTS_CACHE for each shard that was in use
 *       + 64 for each thread that was in a slow path then (4096 if in each_idle).
 *   I3  A section that is cut short (its thread dies) loses only slots that it was
 *       moving to or from the depot, and allocates none twice: put stores count last,
 *       and code that moves slots away stores it first.
 *
 * Order      [C] keeps count behind the slot (I3); the lease orders both for other
 *            threads, and so do the orders of lists and depot, in the runtime: a thread
 *            that gets a slot sees what its last holder did.
 * Lifetime   destroy it when no thread uses it.
 * Checked    pawl check slots; tests/shards/.
 */
#ifndef PAWL_SLOTS_H
#define PAWL_SLOTS_H

#include <pawl/shards.h>

enum {
	PAWL_SLOTS_CACHE = PAWL_SLOTS_ROOM, /* in a shard at most */
	PAWL_SLOTS_BATCH = 32,		    /* between shard and depot at a time */
	PAWL_SLOTS_PATIENCE_MS = 1000, /* before a stopped thread's slots count as held */
};

#define PAWL_SLOTS_NONE	    UINT32_MAX
#define PAWL_SLOTS_LIMIT    ((uint32_t)1 << 26) /* the greatest limit there can be */

#define PAWL_SLOTS_TOP_BITS 26
#define PAWL_SLOTS_TOP	    (((uint64_t)1 << PAWL_SLOTS_TOP_BITS) - 1)
#define PAWL_SLOTS_ONE	    ((uint64_t)1 << PAWL_SLOTS_TOP_BITS) /* of count */
#define PAWL_SLOTS_TAG	    (PAWL_SLOTS_ONE << 7)

struct pawl_slots_shard {
	struct pawl_shard base;
	pawl_atomic64 state; /* LEASED: count; ATOMIC: head */
	uint32_t slot[PAWL_SLOTS_CACHE];
};

struct pawl_slots {
	struct pawl_shards shards;
	pawl_atomic64 *links; /* ATOMIC: what is below each slot */

	PAWL_SEQUESTER uint64_t limit; /* number of slots */
	uint64_t step; /* slots are multiples of it: 1, except for pools */
	bool without_sequences;
	pawl_atomic64 *words; /* depot: bit b of word w is the slot of number 64 w + b */
	pawl_atomic64 *summary; /* bit b of word v: word 64 v + b may not be 0 */
	pawl_atomic64 fresh;	/* words that have ever been used */
	pawl_atomic64 made;	/* of these, words whose new slots have arrived */
	size_t mapped;
	pawl_atomic64 moved;	       /* how often a shard was drained that had slots */
	struct pawl_lease trim;	       /* held by each_idle */
	uint64_t trim_first, trim_end; /* words each_idle has taken; guarded by trim */
};

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Returns 0, or an errno; EINVAL if the limit is 0 or beyond PAWL_SLOTS_LIMIT - 1. */
int pawl_slots_create(struct pawl_slots *a, enum pawl_shards_kind kind, uint64_t limit);
/* Requires that no thread uses it any more; slots may still be held. */
void pawl_slots_destroy(struct pawl_slots *a);

/* As n calls of pawl_slots_get; returns how many slots it got. */
size_t pawl_slots_get_batch(struct pawl_slots *a, uint32_t *slots, size_t n);
/* As n calls of pawl_slots_put. */
void pawl_slots_put_batch(struct pawl_slots *a, const uint32_t *slots, size_t n);

/* One more than the greatest number of a slot ever allocated, rounded up to 64. */
uint64_t pawl_slots_peak(const struct pawl_slots *a);

/*
 * Calls idle(first, slots, argument) for each run of slots, by their numbers, that are
 * all in the depot: 64 slots or a multiple of it up to 4096. No thread can get them
 * during the call. Does nothing while another thread does the same. idle must not use
 * leases.
 */
void pawl_slots_each_idle(struct pawl_slots *a,
			  void (*idle)(uint64_t first, uint64_t slots, void *argument),
			  void *argument);

/* Slow paths of the functions below; s is entered, or NULL. */
uint32_t pawl_slots_get_slow_(struct pawl_slots *a, struct pawl_slots_shard *s,
			      struct pawl_lease_handle *h)
	__attribute__((cold, noinline));
void pawl_slots_put_slow_(struct pawl_slots *a, uint32_t slot, struct pawl_slots_shard *s,
			  struct pawl_lease_handle *h) __attribute__((cold, noinline));

/* Slow paths of get and put where a sequence has failed, and for ATOMIC. */
uint32_t pawl_slots_get_otherwise_(struct pawl_slots *a) __attribute__((cold, noinline));
void pawl_slots_put_otherwise_(struct pawl_slots *a, uint32_t slot)
	__attribute__((cold, noinline));

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

/* LEASED, with the lease taken. */

static inline struct pawl_slots_shard *pawl_slots_enter_(struct pawl_slots *a,
							 struct pawl_lease_handle *h)
{
	return (struct pawl_slots_shard *)pawl_shards_enter(&a->shards, h);
}

static inline uint32_t pawl_slots_get_leased_(struct pawl_slots *a)
{
	struct pawl_lease_handle *h = pawl_lease_self();
	struct pawl_slots_shard *s = pawl_slots_enter_(a, h);
	uint64_t n;
	uint32_t slot;

	if (__builtin_expect(s == NULL, false))
		return pawl_slots_get_slow_(a, NULL, h);
	/* Relaxed: the lease orders it. */
	n = pawl_load_relaxed(&s->state);
	if (__builtin_expect(n == 0, false))
		return pawl_slots_get_slow_(a, s, h);
	slot = s->slot[n - 1];
	pawl_store_release(&s->state, n - 1); /* [C] */
	pawl_shards_exit(&a->shards, &s->base, h);
	return slot;
}

static inline void pawl_slots_put_leased_(struct pawl_slots *a, uint32_t slot)
{
	struct pawl_lease_handle *h = pawl_lease_self();
	struct pawl_slots_shard *s = pawl_slots_enter_(a, h);
	uint64_t n;

	if (__builtin_expect(s == NULL, false)) {
		pawl_slots_put_slow_(a, slot, NULL, h);
		return;
	}
	/* Relaxed: the lease orders it. */
	n = pawl_load_relaxed(&s->state);
	if (__builtin_expect(n == PAWL_SLOTS_CACHE, false)) {
		pawl_slots_put_slow_(a, slot, s, h);
		return;
	}
	s->slot[n] = slot;
	pawl_store_release(&s->state, n + 1); /* [C] */
	pawl_shards_exit(&a->shards, &s->base, h);
}

/*
 * Returns a slot that no other holder has, or PAWL_SLOTS_NONE if all are held, or each
 * was when the search reached it. Makes system calls in slow paths only. It does not wait
 * while it can reach a free slot; then it waits for threads in the middle of a get, a put
 * or a trim, PAWL_SLOTS_PATIENCE_MS at most: slots of a thread that is stopped there for
 * longer count as held. In a signal handler that interrupted a get, a put or a trim of
 * its own thread, only slots in the depot can be reached.
 */
PAWL_FAST_ uint32_t pawl_slots_get(struct pawl_slots *a)
{
	uint32_t slot = (uint32_t)pawl_sequence_pop_(pawl_sequence_place_(),
						     &a->shards.own);

	if (__builtin_expect(slot != PAWL_SLOTS_NONE, true))
		return slot;
	if (PAWL_SEQUENCES || !a->shards.leased)
		return pawl_slots_get_otherwise_(a);
	return pawl_slots_get_leased_(a);
}

/* Returns a slot that the caller holds to the allocator. Otherwise as get. */
PAWL_FAST_ void pawl_slots_put(struct pawl_slots *a, uint32_t slot)
{
	if (__builtin_expect(
		    pawl_sequence_push_(pawl_sequence_place_(), &a->shards.own, slot),
		    true))
		return;
	if (PAWL_SEQUENCES || !a->shards.leased)
		pawl_slots_put_otherwise_(a, slot);
	else
		pawl_slots_put_leased_(a, slot);
}

#endif /* PAWL_SLOTS_H */
