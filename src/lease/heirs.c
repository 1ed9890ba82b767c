/* SPDX-License-Identifier: MIT */
/* See lease/heirs.h. The list's lock is held while the process forks, so that the child's
 * list is consistent. A fork takes it only after it has waited for threads inside leases:
 * one that creates a pool there takes this lock. */
#include "lease/heirs.h"
#include "lease/leases.h"
#include "sleep/parking.h"

static struct {
	pawl_atomic64 lock;
	struct pawl_heir *first;
} heirs;

/* With signals blocked: a handler may fork. */
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

/* How long a fork waits for operations under way; and for sequences where the system does
 * not end them by a barrier: only running threads can be in one. */
enum { FORK_NS = 50 * 1000 * 1000, SEQUENCE_NS = 1000 * 1000 };

/* Breaks every lease that is LEASED(c, anybody), and ends the sequences under way. During
 * the fork it stays broken: no thread can enter it. So no slot moves from a shard whose
 * page has been copied to one whose page has not. A counter does not need this: each
 * addition is one word, in the child or not. */
static void keep_sequences_out(void)
{
	const struct pawl_heir *heir;
	uint64_t i, until;

	for (heir = heirs.first; heir != NULL; heir = heir->next)
		for (i = 0; i < pawl_shards_used(&heir->slots->shards); i++)
			pawl_lease_unshare(
				&pawl_shards_own(&heir->slots->shards, i)->lease);
	/* [H] of lease/mode.c: a sequence that begins later sees the broken lease. */
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
	/* Relaxed: the child has no other thread. */
	pawl_store_relaxed(&heirs.lock, 0);
}
