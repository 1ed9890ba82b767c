/* SPDX-License-Identifier: MIT */
/*
 * pawl/reciprocating.h - two-stack lock: constant-time arrival and release,
 * local polling, bounded bypass.
 *
 * Choose it  for throughput under contention: it causes the least coherence
 *            traffic of the locks here, and needs one element per thread.
 * Avoid it   where order must be first come, first served; where threads may
 *            outnumber CPUs; where another thread releases the lock: that is
 *            not sound, see Lifetime. Long-run shares may differ by 2 : 1
 *            (reciprocating_fair.h evens them out).
 * Source     Dice & Kogan, "Reciprocating Locks", PPoPP 2025, listing 1.
 * Departs    from it: nothing. (The tag that listing 1's comment speaks of is
 *            not used there either.)
 * Cost       lock 1 RMW, unlock 1 RMW; 24 bytes (core 8), 0 = free.
 *
 * State (arrivals; gate of each element). arrivals is 0: unlocked; LOCKED:
 * held, no arrival since the last detach; else held, and the top of a
 * stack of elements, linked through what each one's exchange returned.
 *
 *   0 --lock by A--> A --lock by B--> B --unlock by A: detach--> LOCKED,
 *     B.gate = A --unlock by B: its successor A is the end mark--> 0
 *
 *   I1  Only the holder detaches the stack; it then becomes the entry segment,
 *       and ownership goes through it from the top down.
 *   I2  The end of a segment is marked by an address, passed from gate to
 *       gate: LOCKED, or the element that an uncontended holder arrived with
 *       and that is at the bottom of the stack. It is compared, never
 *       dereferenced: its owner may be waiting elsewhere by then, or have exited.
 *   I3  A thread that waits when a segment is detached is in that segment. So
 *       each thread that arrived after it overtakes it at most once.
 *
 * Order      [A] pairs with [R]: a section happens before the next one. [T]
 *            pairs with itself and with [D]: a thread that opens an element's
 *            gate sees it cleared before. [T] pairs with [F]: a new holder comes
 *            after the last one.
 * Lifetime   [F] or [D] is unlock's last access to *l, [R] its last access to
 *            the successor's element. Not thread-oblivious: an uncontended
 *            holder is identified by its own element. If another thread released
 *            the lock while that holder arrives again, it would wait for itself.
 * Checked    tests/locks/reciprocating.c; pawl check reciprocating; mutants A,
 *            R, T, D, F, I2.
 */
#ifndef PAWL_RECIPROCATING_H
#define PAWL_RECIPROCATING_H

#include <pawl/face.h>
#include <pawl/thread.h>

struct pawl_reciprocating_core {
	pawl_atomic64 arrivals;
};

/* All zero unless the thread has waited. All zero means: no successor, and the end mark
 * is the thread's own element. */
struct pawl_reciprocating_context {
	struct pawl_element *next; /* successor; NULL at the segment's end */
	uint64_t end;		   /* end mark of the segment (I2) */
};

#define PAWL_RECIPROCATING_INIT PAWL_ZERO

enum { PAWL_RECIPROCATING_LOCKED = 1 };

/* Pushes our element, its gate closed; returns what was on top, 0 if free. */
static inline uint64_t pawl_reciprocating_arrive_(pawl_atomic64 *arrivals,
						  struct pawl_element *mine)
{
	pawl_store_relaxed(&mine->gate, 0); /* Relaxed: published by [T] */
	return pawl_exchange_acq_rel(arrivals, pawl_address(mine)); /* [T] */
}

/* Opens an element's gate: its thread owns the lock from here on. */
static inline void pawl_reciprocating_admit_(struct pawl_element *next, uint64_t end,
					     enum pawl_wait how)
{
	pawl_store_release(&next->gate, end); /* [R] */
	pawl_notify(&next->gate, end, how);
}

/* The end mark that a context stands for. */
static inline uint64_t pawl_reciprocating_end_(uint64_t end)
{
	return end != 0 ? end : pawl_address(&pawl_self()->element);
}

/*
 * At the end of a segment: unlocks and returns NULL if no thread has arrived;
 * else detaches the arrivals, and returns the first of the new segment.
 */
static inline struct pawl_element *pawl_reciprocating_turn_(pawl_atomic64 *arrivals,
							    uint64_t end)
{
	if (__builtin_expect(pawl_cas_release(arrivals, end, 0), true)) /* [F] */
		return NULL;
	return (struct pawl_element *)pawl_pointer(
		pawl_exchange_acquire(arrivals, PAWL_RECIPROCATING_LOCKED)); /* [D] I1 */
}

/* Waits its turn, then owns *l. Not recursive. */
static inline void pawl_reciprocating_acquire_(struct pawl_reciprocating_core *l,
					       struct pawl_reciprocating_context *context,
					       enum pawl_wait how)
{
	struct pawl_element *mine = &pawl_self()->element;
	uint64_t top = pawl_reciprocating_arrive_(&l->arrivals, mine);
	uint64_t next = 0, end = 0;

	if (__builtin_expect(top != 0, false)) {
		next = top & ~(uint64_t)PAWL_RECIPROCATING_LOCKED;
		end = pawl_await_ne_acquire(&mine->gate, 0, how); /* [A] */
		if (next == end) { /* I2: the bottom of the stack, not a waiter */
			next = 0;
			end = PAWL_RECIPROCATING_LOCKED;
		}
	}
	context->next = (struct pawl_element *)pawl_pointer(next);
	context->end = end;
}

/* Returns true, owning *l, if it was free; never waits and never queues. */
static inline bool pawl_reciprocating_try_acquire_(
	struct pawl_reciprocating_core *l, struct pawl_reciprocating_context *context)
{
	context->next = NULL;
	context->end = 0;
	return pawl_cas_acquire(&l->arrivals, 0, pawl_reciprocating_end_(0)); /* [T] */
}

/* Requires the acquirer's context; only the thread that acquired may call. */
static inline void pawl_reciprocating_release_(struct pawl_reciprocating_core *l,
					       struct pawl_reciprocating_context *context,
					       enum pawl_wait how)
{
	struct pawl_element *next = context->next;
	uint64_t end = pawl_reciprocating_end_(context->end);

	if (next == NULL)
		next = pawl_reciprocating_turn_(&l->arrivals, end);
	if (next != NULL)
		pawl_reciprocating_admit_(next, end, how);
}

PAWL_FACE_RARE_CONTEXT(reciprocating);
PAWL_FACE_RARE_CONTEXT_TRY(reciprocating);

#endif /* PAWL_RECIPROCATING_H */
