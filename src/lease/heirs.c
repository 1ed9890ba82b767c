/* SPDX-License-Identifier: MIT */
/* See lease/heirs.h. The list's lock is held while the process forks, so that the child
 * has a whole list. It is taken when nobody is inside a lease any more: who makes a pool
 * there wants the lock, and the fork waits for who is inside. */
#include "lease/heirs.h"
#include "lease/leases.h"
#include "sleep/parking.h"

static struct {
	pawl_atomic64 lock;
	struct pawl_heir *first;
} heirs;

/* No signal meanwhile: its handler may fork. */
void pawl_heirs_add(struct pawl_heir *heir)
{
	uint64_t signals = pawl_lease_lock(&heirs.lock);

	heir->next = heirs.first;
	heir->link = &heirs.first;
	if (heir->next != NULL)
		heir->next->link = &heir->next;
	heirs.first = heir;
	pawl_lease_unlock(&heirs.lock, signals);
}

void pawl_heirs_remove(struct pawl_heir *heir)
{
	uint64_t signals = pawl_lease_lock(&heirs.lock);

	*heir->link = heir->next;
	if (heir->next != NULL)
		heir->next->link = heir->link;
	pawl_lease_unlock(&heirs.lock, signals);
}

/* For those who are in the middle of something short. And for sequences that the system
 * will not end: it does take them away from who is not on a CPU. */
enum { FORK_NS = 50 * 1000 * 1000, SEQUENCE_NS = 1000 * 1000 };

/* What is nobody's stays it, for nobody gets inside any more. So a slot does not go from a
 * shard that has been copied to one that has not. A counter needs no such thing: each
 * addition is there, or is not. */
static void keep_sequences_out(void)
{
	const struct pawl_heir *heir;
	uint64_t i, until;

	for (heir = heirs.first; heir != NULL; heir = heir->next)
		for (i = 0; i < pawl_shards_used(&heir->slots->shards); i++)
			pawl_lease_unshare(
				&pawl_shards_own(&heir->slots->shards, i)->lease);
	/* [H] of lease/mode.c: who begins a sequence later sees that it is nobody's. */
	if (pawl_lease_barrier_all())
		return;
	for (until = pawl_os_now() + SEQUENCE_NS; pawl_os_now() < until;)
		pawl_os_step_aside();
}

void pawl_heirs_before_fork(void)
{
	uint64_t until = pawl_os_now() + FORK_NS;
	struct pawl_heir *heir;

	pawl_guard_lock(&heirs.lock);
	if (heirs.first != NULL && pawl_lease_sequences())
		keep_sequences_out();
	for (heir = heirs.first; heir != NULL; heir = heir->next)
		pawl_slots_bequeath(heir->slots, until);
}

void pawl_heirs_after_fork(void)
{
	pawl_guard_unlock(&heirs.lock);
}

void pawl_heirs_forked(void)
{
	struct pawl_heir *heir;

	for (heir = heirs.first; heir != NULL; heir = heir->next)
		pawl_slots_inherit(heir->slots);
	/* Relaxed: nobody else is there. */
	pawl_store_relaxed(&heirs.lock, 0);
}
