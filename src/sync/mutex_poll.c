/* SPDX-License-Identifier: MIT */
/* How a pawl_mutex is polled for: how often, and what one learns from that. See
 * docs/design/mutex.md. */
#include "sync/queues.h"

#include <pawl/mutex.h>
#include <pawl/thread.h>

enum { FREE_LOOKS = 5 }; /* at every release, while only one other has the lock */

/* How many unlocks there were between two looks at due; 0 if that is not known, because
 * they were not counted all the time: an unlock may have overwritten what watch() stored,
 * which it does only when there are fewer left than this. */
static uint64_t passed(uint64_t before, uint64_t due)
{
	uint64_t left = due >> PAWL_MUTEX_WATCH_SHIFT,
		 sections = (before >> PAWL_MUTEX_WATCH_SHIFT) - left;

	return left != 0 && sections <= PAWL_MUTEX_WATCHED / 2 ? sections : 0;
}

/* Has unlocks counted, for some time to come, and returns what due is then. One
 * write serves many looks, of many threads: it costs the holder a transfer.
 * Relaxed: a hint, which takes nothing away from the lower half. */
static uint64_t watch(struct pawl_mutex *m, uint64_t due)
{
	uint64_t watched = pawl_mutex_turn(due) +
			   ((uint64_t)PAWL_MUTEX_WATCHED << PAWL_MUTEX_WATCH_SHIFT);

	if (due == watched || due >> PAWL_MUTEX_WATCH_SHIFT > PAWL_MUTEX_WATCHED / 2)
		return due;
	(void)pawl_cas_relaxed(&m->due, due, watched);
	return watched;
}

/* As pawl_mutex_take_, for whoever that is. */
static bool take(struct pawl_mutex *m, uint64_t identity)
{
	/* Relaxed: spares a write that would fail; [A] decides. */
	return pawl_load_relaxed(&m->word) == 0 &&
	       pawl_cas_acquire(&m->word, 0, identity); /* [A] of pawl/mutex.h */
}

static enum pawl_polled poll(struct pawl_mutex *m, uint64_t identity,
			     const pawl_atomic64 *state, uint64_t enough, uint64_t ns,
			     bool insist)
{
	enum pawl_pace pace = PAWL_PACE_SLOW;
	struct pawl_spin spin;
	uint64_t before = 0;	   /* what due was at the last look */
	uint64_t holder = 0, last; /* whom we saw with the lock */
	int free = FREE_LOOKS;
	bool stalled = true, hogged = true, again;

	pawl_spin_begin(&spin, ns);
	do {
		uint64_t due = pawl_spin_look(&spin, &m->due); /* Relaxed: a hint */
		uint64_t sections = before != 0 ? passed(before, due) : 0;

		stalled &= sections == 0;
		if (before != 0)
			pace = pawl_spin_pace(&spin, sections);
		if (pace == PAWL_PACE_SLOW && take(m, identity))
			return PAWL_POLLED_TAKEN;
		if (pace == PAWL_PACE_FAST && pawl_mutex_turn(due) != 0)
			return PAWL_POLLED_CROWDED;
		/* Relaxed: only says when to stop; the caller looks again. */
		if (state != NULL && (pawl_load_relaxed(state) & enough) == enough)
			return PAWL_POLLED_IN_VAIN;
		last = holder;
		holder = pawl_load_relaxed(&m->word); /* Relaxed: a hint */
		free = last == 0 || holder == 0 || holder == last ? free - 1 : 0;
		hogged &= holder != 0 && (last == 0 || holder == last);
		if (!insist)
			before = watch(m, due);
		else if (due != 1)
			/* Relaxed: seen by the next unlock, or one soon after. */
			pawl_store_relaxed(&m->due, 1);
		/* The line is here now: until the next unlock polls are free. After it
		 * they are if there is one rival only: then it is its line or ours. */
		again = pace == PAWL_PACE_SLOW && free > 0
				? pawl_spin_change(&spin, &m->due, insist ? 1 : before)
				: pawl_spin_again(&spin);
	} while (again);
	return stalled	? PAWL_POLLED_STALLED
	       : hogged ? PAWL_POLLED_HOGGED
			: PAWL_POLLED_IN_VAIN;
}

enum pawl_polled pawl_mutex_poll(struct pawl_mutex *m, uint64_t identity,
				 const pawl_atomic64 *state, uint64_t enough, uint64_t ns)
{
	return poll(m, identity, state, enough, ns, false);
}

enum pawl_polled pawl_mutex_insist(struct pawl_mutex *m, uint64_t identity,
				   const pawl_atomic64 *state, uint64_t enough,
				   uint64_t ns)
{
	return poll(m, identity, state, enough, ns, true);
}
