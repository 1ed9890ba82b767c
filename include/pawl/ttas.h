/* SPDX-License-Identifier: MIT */
/*
 * pawl/ttas.h - test-and-test-and-set spin lock in one word.
 *
 * Choose it  where tas would do and there is some contention: waiters read,
 *            and write only when the lock looks free.
 * Avoid it   when order or fairness matters, or with many waiters: each unlock
 *            sets all of them racing, and bypass is unbounded.
 * Source     Rudolph & Segall, ISCA 1984; Anderson, IEEE TPDS 1(1), 1990.
 * Departs    from it: no back-off.
 * Cost       lock 1 RMW, unlock 0 RMW; 8 bytes, 0 = free.
 *
 * State (held): 0 free, 1 held.
 *
 *   I1  The thread that changes held from 0 to 1 is the holder until it stores 0.
 *
 * Order      [A] pairs with [R]: a section happens before the next one.
 * Lifetime   [R] is unlock's last access: the next holder may free *l.
 * Checked    tests/locks/ttas.c; pawl check ttas; mutants A, R, I1.
 */
#ifndef PAWL_TTAS_H
#define PAWL_TTAS_H

#include <pawl/face.h>

struct PAWL_CAPABILITY pawl_ttas {
	pawl_atomic64 held;
};

#define PAWL_TTAS_INIT PAWL_ZERO

/* Returns true, owning *l, if it was free; never waits. */
static inline bool pawl_ttas_try_acquire_(struct pawl_ttas *l)
{
	return pawl_cas_acquire(&l->held, 0, 1); /* [A] I1 */
}

/* Waits until it owns *l. Not recursive. */
static inline void pawl_ttas_acquire_(struct pawl_ttas *l, enum pawl_wait how)
{
	while (!pawl_ttas_try_acquire_(l)) {
		/* Relaxed: only says when to try again; [A] does the ordering. */
		pawl_await_eq_relaxed(&l->held, 0, how);
	}
}

/* Requires *l to be held; any thread may release it. */
static inline void pawl_ttas_release_(struct pawl_ttas *l, enum pawl_wait how)
{
	pawl_store_release(&l->held, 0); /* [R] */
	pawl_notify(&l->held, 0, how);
}

PAWL_FACE(ttas);
PAWL_FACE_TRY(ttas);

#endif /* PAWL_TTAS_H */
