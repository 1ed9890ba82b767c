/* SPDX-License-Identifier: MIT */
/*
 * Giving up the wait for a hapax lock. See pawl/hapax.h for the lock and I5.
 *
 * A waiter stands between two values: `ahead`, whose departure it awaits, and
 * its own, which the thread behind it awaits. When it gives up, its own value
 * must become another name for `ahead`. If nobody is behind, arrive is still its
 * own value, and it puts `ahead` back in its place: nothing is left of it.
 * Otherwise it leaves a record, "for value wait for ahead", which the thread
 * behind it finds and takes.
 *
 *   L1  A record exists only while somebody waits for its value.
 *   L2  No record's ahead is another record's value: who gives up later changes
 *       the record that names it, or takes over the one it would have found. So
 *       there are no more records than threads that wait.
 *   L3  A record is complete, and counted, before the slot where its finder waits
 *       changes; the finder looks at the slot before it looks at the count.
 *
 * Records are queue nodes, which a thread keeps; the first time that one gives
 * up with somebody behind it may take one from the heap.
 */
#include "sleep/parking.h"

#include <pawl/backend/debug.h>
#include <pawl/hapax.h>

#include <errno.h>

__attribute__((used)) struct pawl_hapax_gone pawl_hapax_gone_[1 << PAWL_GONE_BITS];

/* What a record is looked for by. */
enum field { VALUE, AHEAD };

/* Returns the link to the record, or to where the list ends. Requires the guard. */
static struct pawl_node **find(struct pawl_hapax_gone *gone, enum field field,
			       uint64_t value)
{
	struct pawl_node **link = &gone->first;

	while (*link != NULL &&
	       (field == VALUE ? (*link)->value : (*link)->ahead) != value)
		link = &(*link)->free_next;
	return link;
}

/* Relaxed: the count changes under the guard; a waiter sees it by L3. */
static void count(struct pawl_hapax_gone *gone, uint64_t change)
{
	pawl_store_relaxed(&gone->count, pawl_load_relaxed(&gone->count) + change);
}

static struct pawl_node *take(struct pawl_hapax_gone *gone, struct pawl_node **link)
{
	struct pawl_node *record = *link;

	if (record != NULL) {
		*link = record->free_next;
		count(gone, (uint64_t)-1);
	}
	return record;
}

bool pawl_hapax_follow_(const struct pawl_hapax_core *l, struct pawl_hapax_watch *watch)
{
	struct pawl_hapax_gone *gone = pawl_hapax_gone_of_(l);
	struct pawl_node *record;

	pawl_guard_lock(&gone->guard);
	record = take(gone, find(gone, VALUE, watch->ahead)); /* L1: it is ours */
	pawl_note_acquired(gone);
	pawl_guard_unlock(&gone->guard);
	if (record == NULL)
		return false;
	pawl_hapax_aim_(watch, l, record->ahead);
	pawl_note_acquired(watch->slot);
	pawl_node_put_(record);
	return true;
}

/* Leaves the queue. The compare-and-swap is the last access to *l. */
static void give_up(struct pawl_hapax_core *l, uint64_t mine, uint64_t ahead,
		    enum pawl_wait how)
{
	struct pawl_hapax_gone *gone = pawl_hapax_gone_of_(l);
	struct pawl_node *spare = pawl_node_get_(), *before, *behind;
	bool tell = false;

	pawl_guard_lock(&gone->guard);
	pawl_note_acquired(gone);
	before = take(gone, find(gone, VALUE, ahead));
	if (before != NULL)
		ahead = before->ahead;
	/* Relaxed: the next to arrive waits for `ahead` as we did, with [A]. */
	if (!pawl_cas_relaxed(&l->arrive, mine, ahead)) {
		behind = *find(gone, AHEAD, mine);
		if (behind != NULL) {
			behind->ahead = ahead; /* L2 */
		} else {
			spare->value = mine;
			spare->ahead = ahead;
			spare->free_next = gone->first;
			gone->first = spare;
			count(gone, 1);
			spare = NULL;
			tell = true;
		}
	}
	pawl_note_releasing(gone);
	pawl_guard_unlock(&gone->guard);
	if (tell)
		/* A value that nobody waits for, but a change (L3). */
		pawl_hapax_post_(l, mine, pawl_hapax_draw(), how);
	if (before != NULL)
		pawl_node_put_(before);
	if (spare != NULL)
		pawl_node_put_(spare);
}

int pawl_hapax_wait_until_(struct pawl_hapax_core *l, uint64_t mine, uint64_t ahead,
			   enum pawl_wait how, int clock, const struct timespec *time)
{
	struct pawl_hapax_watch watch;
	struct pawl_deadline deadline;
	int error = pawl_deadline_at(&deadline, clock, time);

	pawl_hapax_aim_(&watch, l, ahead);
	while (!pawl_hapax_departed_(l, &watch)) {
		uint64_t ns = 0;

		if (error == 0 && (ns = pawl_os_until(&deadline)) == 0)
			error = ETIMEDOUT;
		if (error != 0) {
			give_up(l, mine, watch.ahead, how);
			return error;
		}
		/* Ends with the time, if not before. */
		if (how == PAWL_SPIN)
			pawl_spin_while(watch.slot, watch.seen, ns);
		else
			pawl_park_for(watch.slot, PAWL_UNTIL_CHANGE, watch.seen, ns);
		watch.seen = pawl_load_acquire(watch.slot); /* [B] of pawl/hapax.h */
	}
	pawl_note_acquired(&l->depart);
	return 0;
}

/* The child of a fork has one thread, and that one does not wait. */
void pawl_hapax_forget_(void)
{
	struct pawl_hapax_gone *gone;

	for (gone = pawl_hapax_gone_; gone < pawl_hapax_gone_ + (1 << PAWL_GONE_BITS);
	     gone++) {
		gone->first = NULL;
		/* Relaxed: nobody else is there. */
		pawl_store_relaxed(&gone->guard, 0);
		pawl_store_relaxed(&gone->count, 0);
	}
}
