/* SPDX-License-Identifier: MIT */
/* Counters: sums, and the slow paths of add. Order: as in pawl/counter.h. */
#include "lease/leases.h"

#include <pawl/counter.h>

#include <stddef.h>

int pawl_counter_create(struct pawl_counter *c, enum pawl_shards_kind kind)
{
	/* No drain: a value stays in its shard, so that a sum cannot miss one that moves
	 * meanwhile. */
	const struct pawl_shards_plan plan = {
		.kind = kind,
		.bytes = sizeof(struct pawl_counter_shard),
		.drain = NULL,
	};

	return pawl_shards_create(&c->shards, &plan);
}

void pawl_counter_destroy(struct pawl_counter *c)
{
	pawl_shards_destroy(&c->shards);
}

_Static_assert(offsetof(struct pawl_counter_shard, value) == PAWL_SHARD_FIRST,
	       "what sequences add to");
_Static_assert(128 + 128 == 1 << PAWL_COUNTER_SHIFT &&
		       sizeof(struct pawl_counter_shard) <= 128,
	       "with the record before it");

/* ATOMIC: one attempt; it fails if other threads use the same shard. */
static bool add_at_once(struct pawl_counter *c, uint64_t n)
{
	struct pawl_counter_shard *s = (struct pawl_counter_shard *)pawl_shards_shared(
		&c->shards);
	/* Relaxed, both: no addition is lost, and sums promise no order. */
	uint64_t seen = pawl_load_relaxed(&s->value);

	return pawl_cas_relaxed(&s->value, seen, seen + n);
}

void pawl_counter_add_slow_(struct pawl_counter *c, uint64_t n)
{
	struct pawl_lease_handle *h = pawl_lease_self();
	struct pawl_counter_shard *s = (struct pawl_counter_shard *)pawl_shards_enter(
		&c->shards, h);

	if (!c->shards.leased && add_at_once(c, n))
		return;
	if (s == NULL) {
		pawl_counter_add_shared_(c, n);
		return;
	}
	/* Relaxed, both: the lease orders them. */
	pawl_store_relaxed(&s->value, pawl_load_relaxed(&s->value) + n);
	pawl_shards_exit_shared(&c->shards, &s->base, h);
}

void pawl_counter_add_shared_(struct pawl_counter *c, uint64_t n)
{
	struct pawl_counter_shard *s = (struct pawl_counter_shard *)pawl_shards_shared(
		&c->shards);

	pawl_fetch_add_release(&s->value, n); /* [V] */
	if (!c->shards.leased)
		pawl_shards_contended(&c->shards);
}

static uint64_t sum_of(struct pawl_shards *p, char *first, uint64_t shards)
{
	uint64_t sum = 0, i;

	for (i = 0; i < shards; i++)
		sum += pawl_load_acquire(/* [W] */
					 &((struct pawl_counter_shard *)(first +
									 i * p->stride))
						  ->value);
	return sum;
}

int64_t pawl_counter_sum(struct pawl_counter *c)
{
	struct pawl_shards *p = &c->shards;

	return (int64_t)(sum_of(p, p->shared, p->most + 1) +
			 sum_of(p, p->own, pawl_shards_used(p)));
}

struct snapshot {
	struct pawl_counter *c;
	int64_t sum;
};

static void take_snapshot(void *argument)
{
	struct snapshot *snapshot = argument;

	snapshot->sum = pawl_counter_sum(snapshot->c);
}

bool pawl_counter_exact(struct pawl_counter *c, uint64_t ns, int64_t *sum)
{
	struct snapshot snapshot = {c, 0};

	if (!pawl_shards_frozen(&c->shards, ns, take_snapshot, &snapshot))
		return false;
	*sum = snapshot.sum;
	return true;
}
