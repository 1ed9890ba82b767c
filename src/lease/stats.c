/* SPDX-License-Identifier: MIT */
/* Statistics of leases: each thread counts in its handle, get_stats adds them up. */
#include "lease/leases.h"
#include "sleep/fences.h"

void pawl_lease_count(struct pawl_lease_handle *h, enum lease_count what)
{
	/* Relaxed: only its owner counts, and readers need no order. */
	pawl_store_relaxed(&h->counts[what], pawl_load_relaxed(&h->counts[what]) + 1);
}

void pawl_lease_get_stats(struct pawl_lease_stats *stats)
{
	struct pawl_fence_stats fences;
	uint64_t sums[PAWL_LEASE_COUNTS] = {0};

	pawl_fence_stats(&fences);
	stats->handles = pawl_lease_sums(sums);
	stats->mode = pawl_lease_mode();
	stats->takeovers = sums[LEASE_TAKEOVERS];
	stats->finishes = sums[LEASE_FINISHES];
	stats->breaks = sums[LEASE_BREAKS];
	stats->hostages = sums[LEASE_HOSTAGES];
	stats->nested = sums[LEASE_NESTINGS];
	stats->poisoned = sums[LEASE_POISONINGS];
	stats->barriers = fences.barriers;
	stats->joined = fences.joined;
	stats->barrier_ns = fences.ns;
}
