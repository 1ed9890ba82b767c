/* SPDX-License-Identifier: MIT */
/*
 * pawl/counter.h - a count that many threads add to and few read.
 *
 * Choose it  for statistics and gauges that are hot.
 * Avoid it   where each addition must return the sum.
 * Source     as shards.h.
 * Departs    as shards.h.
 * Cost       LEASED: a restartable sequence, or else a section of shards.h; ATOMIC:
 *            1 RMW. Reading: a line for each CPU that was ever busy.
 * State      The count is the sum of the values of all shards, leased and shared.
 * Order      [V] pairs with [W]: a frozen sum that sees an addition on the shared
 *            side sees every shard that came into use before it.
 * Lifetime   destroy it when no thread uses it.
 * Checked    pawl check slots; tests/shards/.
 */
#ifndef PAWL_COUNTER_H
#define PAWL_COUNTER_H

#include <pawl/shards.h>

struct pawl_counter_shard {
	struct pawl_shard base;
	pawl_atomic64 value;
};

struct pawl_counter {
	struct pawl_shards shards;
};

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Returns 0 or ENOMEM. Use PAWL_SHARDS_LEASED; the other kinds are for comparison. */
int pawl_counter_create(struct pawl_counter *c, enum pawl_shards_kind kind);
/* Requires that no thread uses it any more. */
void pawl_counter_destroy(struct pawl_counter *c);

/* The sum of all additions that happened before the call, and of any subset of those
 * that run during it. Never waits. */
int64_t pawl_counter_sum(struct pawl_counter *c);

/*
 * The sum at one instant between call and return. Keeps threads on the shared side
 * meanwhile; costs a barrier. False if a thread did not leave its section within ns
 * nanoseconds, or if another thread calls it or does maintenance. ATOMIC has no leases
 * to withhold: there it is pawl_counter_sum.
 */
bool pawl_counter_exact(struct pawl_counter *c, uint64_t ns, int64_t *sum);

/* Slow paths of add: where a sequence has failed, and for ATOMIC; on the shared side. */
void pawl_counter_add_slow_(struct pawl_counter *c, uint64_t n)
	__attribute__((cold, noinline));
void pawl_counter_add_shared_(struct pawl_counter *c, uint64_t n)
	__attribute__((cold, noinline));

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

/* LEASED, with the lease taken. */
static inline void pawl_counter_add_leased_(struct pawl_counter *c, uint64_t n)
{
	struct pawl_lease_handle *h = pawl_lease_self();
	struct pawl_counter_shard *s = (struct pawl_counter_shard *)pawl_shards_enter(
		&c->shards, h);

	if (__builtin_expect(s == NULL, false)) {
		pawl_counter_add_shared_(c, n);
		return;
	}
	/* Relaxed, both: the lease keeps other additions out; sums promise no order. */
	pawl_store_relaxed(&s->value, pawl_load_relaxed(&s->value) + n);
	pawl_shards_exit(&c->shards, &s->base, h);
}

/* Adds n. Async-signal-safe, as pawl_counter_sum is, also as a thread's first use of this
 * library. */
PAWL_FAST_ void pawl_counter_add(struct pawl_counter *c, int64_t n)
{
	if (__builtin_expect(pawl_sequence_add_(pawl_sequence_place_(), &c->shards.own,
						(uint64_t)n),
			     true))
		return;
	if (PAWL_SEQUENCES || !c->shards.leased)
		pawl_counter_add_slow_(c, (uint64_t)n);
	else
		pawl_counter_add_leased_(c, (uint64_t)n);
}

#endif /* PAWL_COUNTER_H */
