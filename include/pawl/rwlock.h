/* SPDX-License-Identifier: MIT */
/*
 * pawl/rwlock.h - many readers or one writer; a reader writes nothing shared.
 *
 * Choose it  for what is read much more often than written, by sections of some
 *            length, or by many CPUs at once.
 * Avoid it   where writes are one in ten or more and sections are short: mutex.h
 *            is simpler; for a small record that may be read twice, seqlock.h.
 * Source     pawl. The idea of a bias to readers is that of Dice & Kogan, "BRAVO",
 *            USENIX ATC 2019; the reverse fence is Khuong's, as in mutex.h.
 * Departs    from BRAVO: readers announce themselves in records of their own
 *            threads, without a read-modify-write or a fence, for the writer
 *            passes the heavy one; see docs/design/rwlock.md.
 * Cost       biased: read lock 0 RMW, read unlock 0 RMW; fenced: 1 and 0; else 1 and
 *            1; write lock 1 RMW, write unlock 0 RMW; 32 bytes, 0 = free. Who writes
 *            to a biased lock pays a membarrier, to a fenced one a look at each thread.
 *
 * State (word, gate): gate is the writers' mutex. word = (readers, WAITING, form):
 * readers that are counted, whether some queue, and whether a record is enough: with
 * a fence (FENCED), or without (BIASED).
 *
 *   (0, free) --write lock--> (0, W) --write unlock--> (0, free)
 *                             (0 WAITING, W) --write unlock--> (queued, free)
 *   (n, free) --read lock---> (n + 1, free) --read unlock--> (n, free)
 *             --now and then, by a reader--> (n FENCED, free), (n BIASED, free)
 *   (n form, free) --write lock--> (n form, W) --withdraws, waits--> (0, W)
 *
 *   I1  A biased reader is inside iff a slot of its record is the lock's address
 *       and it has since seen BIASED; a fenced one, FENCED, after a fence.
 *   I2  A counted reader is inside iff it is in word's count and has since seen
 *       gate free, or whoever had the gate counted it. Its record has the address
 *       with PAWL_RWLOCK_COUNTED, which writers pass over.
 *   I3  A writer is inside iff it has the gate and has since seen neither a form
 *       nor readers in word; and, if there was a form, withdrew it, passed the
 *       heavy fence if it was BIASED, and then found no slot with the lock's address.
 *   I4  Who withdrew a form and gives up before that puts it back.
 *   I5  A thread whose record has the lock may be counted in at any time: a
 *       writer looks at the records first, at word last.
 *   I6  While readers queue, WAITING is set; a writer who sees it lets them all in
 *       when it leaves.
 *   I7  A reader that sleeps is counted in the gate's bucket before it last looks
 *       at the gate; so who sets the gate free wakes it.
 *
 * A queued reader waits for the section under way, and for one more at most, that
 * began before its mark was seen. It queues when it has polled, and dozed, for about
 * 130 times what a wake-up costs: some milliseconds at most. A writer that has the gate
 * waits for the readers that are inside and for no others, but those who read
 * already; writers come to the gate as to any pawl_mutex.
 *
 * Recursive reading is allowed, and never waits. Who reads must not write, who
 * writes must not lock; the thread that locked must unlock. A signal
 * handler may read if it has not interrupted a call of pawl.
 * A child of fork() has what its only thread had; reads of other threads are over
 * if they were in their records alone, or of a lock that it reads, too; those that
 * were counted last for ever. So do reads of threads that exit without unlocking.
 * Where the system has no membarrier no lock is ever biased.
 *
 * Order      [F] and [R] pair with [K] in the runtime's rwlock.c: who sees a slot
 *            changed sees the section that ended before. [B] is a compiler fence:
 *            its partner is the writer's heavy one. [A] pairs with [O] there: who
 *            sees the bias sees what was written before it was given. [G] pairs
 *            with [C] there: of a writer and a reader that is counted, at least one
 *            sees the other. [U] pairs with [G] and [C]: a section happens before
 *            the next one.
 * Lifetime   [R], or the count in the runtime, is a read unlock's last access to
 *            *l; [U] a write unlock's. What follows uses its address.
 * Checked    pawl check rwlock, with mutants for each label and invariant;
 *            tests/runtime/rwlock.c, rwlock_life.c; tests/soak/rwlock.c.
 */
#ifndef PAWL_RWLOCK_H
#define PAWL_RWLOCK_H

#include <pawl/mutex.h>
#include <pawl/thread.h>

struct PAWL_CAPABILITY pawl_rwlock {
	pawl_atomic64 word;
	pawl_atomic64 barred; /* until when it may not be biased, on the clock */
	struct pawl_mutex gate;
};

#define PAWL_RWLOCK_INIT PAWL_ZERO

enum pawl_rwlock_word {
	PAWL_RWLOCK_BIASED = 1,
	PAWL_RWLOCK_FENCED = 2,
	PAWL_RWLOCK_WAITING = 4,
	PAWL_RWLOCK_READER = 8 /* one of the count */
};

/* What a thread reads: addresses of locks, or 0. Records stay for ever; a new
 * thread may inherit one. */
struct pawl_reads {
	PAWL_SEQUESTER pawl_atomic64 slots[1 << PAWL_READS_BITS];
	struct pawl_reads *free_next;
};

enum { PAWL_RWLOCK_COUNTED = 1 }; /* in a slot: word counts this read */

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)
/* `announced`: the slot that has the address in vain, or NULL. */
void pawl_rwlock_read_slow(struct pawl_rwlock *l, pawl_atomic64 *announced);
bool pawl_rwlock_read_try(struct pawl_rwlock *l, pawl_atomic64 *announced);
int pawl_rwlock_read_until(struct pawl_rwlock *l, pawl_atomic64 *announced, int clock,
			   const struct timespec *time);
void pawl_rwlock_read_end(struct pawl_rwlock *l);
void pawl_rwlock_write_slow(struct pawl_rwlock *l) __attribute__((cold));
void pawl_rwlock_drain(struct pawl_rwlock *l) __attribute__((cold));
bool pawl_rwlock_write_try(struct pawl_rwlock *l) __attribute__((cold));
int pawl_rwlock_write_until(struct pawl_rwlock *l, int clock, const struct timespec *time)
	__attribute__((cold));
void pawl_rwlock_write_end(struct pawl_rwlock *l) __attribute__((cold));
/* Wakes whoever waits for *l at an address in it; uses addresses alone. */
void pawl_rwlock_wake(const struct pawl_rwlock *l, const volatile void *whom)
	__attribute__((cold));
void pawl_rwlock_to_reader(struct pawl_rwlock *l) __attribute__((cold));
#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

/* Where readers queue. */
static inline const volatile void *pawl_rwlock_line(const struct pawl_rwlock *l)
{
	return &l->barred;
}

/* Which slot of its record a thread tries first for *l. */
static inline unsigned pawl_rwlock_home(const struct pawl_rwlock *l)
{
	return (unsigned)pawl_hash(pawl_raw_place(l), PAWL_READS_BITS);
}

/* Announces a read of *l in a free slot: true if that is enough (I1). */
static inline bool pawl_rwlock_announce(struct pawl_rwlock *l, pawl_atomic64 *slot)
{
	pawl_store_release(slot, pawl_address(l));			/* [F] */
	pawl_bare_light_fence();					/* [B] */
	return (pawl_load_acquire(&l->word) & PAWL_RWLOCK_BIASED) != 0; /* [A] */
}

/*
 * Reads *l if it is biased, and this thread's record has room where it looks first.
 * Otherwise *announced is the slot that must be taken back, or NULL.
 */
static inline bool pawl_rwlock_read_biased(struct pawl_rwlock *l,
					   pawl_atomic64 **announced)
{
	struct pawl_reads *mine = pawl_self()->reads;
	pawl_atomic64 *slot;

	*announced = NULL;
	if (__builtin_expect(mine == NULL, false))
		return false;
	slot = &mine->slots[pawl_rwlock_home(l)];
	/* Relaxed: a look that spares announcing in vain; and one's own slot. */
	if (__builtin_expect((pawl_load_relaxed(&l->word) & PAWL_RWLOCK_BIASED) == 0 ||
				     pawl_load_relaxed(slot) != 0,
			     false))
		return false;
	if (__builtin_expect(pawl_rwlock_announce(l, slot), true))
		return true;
	*announced = slot;
	return false;
}

/* What TSan is told: readers happen after writers, and writers after all. */

static inline void pawl_rwlock_note_read(struct pawl_rwlock *l, bool success)
{
	pawl_note_end(l);
	if (success)
		pawl_note_acquired(&l->barred);
}

/* Waits until it reads *l: with other readers, but no writer. */
static inline void pawl_rwlock_read_lock(struct pawl_rwlock *l) PAWL_ACQUIRES_SHARED(l)
{
	pawl_atomic64 *announced;

	pawl_note_begin(l);
	if (__builtin_expect(!pawl_rwlock_read_biased(l, &announced), false))
		pawl_rwlock_read_slow(l, announced);
	pawl_rwlock_note_read(l, true);
}

/* Returns true, reading *l, unless a writer has it or waits for it; never waits. */
static inline bool pawl_rwlock_read_trylock(struct pawl_rwlock *l) PAWL_TRIES_SHARED(l)
{
	pawl_atomic64 *announced;
	bool reads;

	pawl_note_begin(l);
	reads = pawl_rwlock_read_biased(l, &announced) ||
		pawl_rwlock_read_try(l, announced);
	pawl_rwlock_note_read(l, reads);
	return reads;
}

/*
 * Waits until it reads *l, or until the clock (CLOCK_REALTIME or CLOCK_MONOTONIC)
 * has reached the time. Returns 0, ETIMEDOUT, or EINVAL for another clock or a bad
 * time if it had to wait; errno stays as it was.
 */
static inline int pawl_rwlock_read_timedlock(struct pawl_rwlock *l, int clock,
					     const struct timespec *time)
{
	pawl_atomic64 *announced;
	int error = 0;

	pawl_note_begin(l);
	if (!pawl_rwlock_read_biased(l, &announced))
		error = pawl_rwlock_read_until(l, announced, clock, time);
	pawl_rwlock_note_read(l, error == 0);
	return error;
}

/* Ends a read of this thread. */
static inline void pawl_rwlock_read_unlock(struct pawl_rwlock *l) PAWL_RELEASES_SHARED(l)
{
	pawl_atomic64 *slot = &pawl_self()->reads->slots[pawl_rwlock_home(l)];

	pawl_note_releasing(l);
	pawl_note_begin(l);
	/* Relaxed: one's own slot. */
	if (__builtin_expect(pawl_load_relaxed(slot) == pawl_address(l), true)) {
		pawl_store_release(slot, 0); /* [R] */
		if (pawl_parked_near(l))
			pawl_rwlock_wake(l, &l->word);
	} else {
		pawl_rwlock_read_end(l);
	}
	pawl_note_end(l);
}

/* Takes the gate if it is free. */
static inline bool pawl_rwlock_take_gate(struct pawl_rwlock *l)
{
	return pawl_cas_seq_cst(&l->gate.word, 0, pawl_mutex_me()); /* [G] */
}

/* Waits until it has *l to itself. Not recursive. */
PAWL_NOTED void pawl_rwlock_write_lock(struct pawl_rwlock *l) PAWL_ACQUIRES(l)
{
	pawl_note_locking(l, "rwlock", false);
	if (__builtin_expect(!pawl_rwlock_take_gate(l), false))
		pawl_rwlock_write_slow(l);
	else if (__builtin_expect(pawl_load_seq_cst(&l->word) != 0, false)) /* [G] */
		pawl_rwlock_drain(l);
	pawl_note_locked(l, true);
}

/* Returns true, having *l to itself, if nobody had it; never waits for anybody. */
PAWL_NOTED bool pawl_rwlock_write_trylock(struct pawl_rwlock *l) PAWL_TRIES(l)
{
	bool writes;

	pawl_note_locking(l, "rwlock", true);
	writes = pawl_rwlock_take_gate(l) &&
		 (pawl_load_seq_cst(&l->word) == 0 || /* [G] */
		  pawl_rwlock_write_try(l));
	pawl_note_locked(l, writes);
	return writes;
}

/* As pawl_rwlock_read_timedlock, for writing. */
PAWL_NOTED int pawl_rwlock_write_timedlock(struct pawl_rwlock *l, int clock,
					   const struct timespec *time)
{
	int error;

	pawl_note_locking(l, "rwlock", true);
	error = pawl_rwlock_write_until(l, clock, time);
	pawl_note_locked(l, error == 0);
	return error;
}

/* Requires this thread to write. */
PAWL_NOTED void pawl_rwlock_write_unlock(struct pawl_rwlock *l) PAWL_RELEASES(l)
{
	pawl_note_releasing(&l->barred);
	pawl_note_unlocking(l, "rwlock");
	/* Relaxed: who comes to wait now is seen by the next writer (I6), or, should
	 * it sleep, after [U] (I7). */
	if (__builtin_expect(
		    (pawl_load_relaxed(&l->gate.due) | pawl_load_relaxed(&l->word)) != 0,
		    false)) {
		pawl_rwlock_write_end(l);
	} else {
		pawl_store_release(&l->gate.word, 0); /* [U] */
		if (pawl_parked_near(&l->gate))
			pawl_mutex_wake(&l->gate);
		if (pawl_parked_near(l))
			pawl_rwlock_wake(l, pawl_rwlock_line(l));
	}
	pawl_note_unlocked(l);
}

/* Requires this thread to write; it reads from now on, and no writer comes between. */
PAWL_NOTED void pawl_rwlock_downgrade(struct pawl_rwlock *l)
{
	pawl_note_releasing(&l->barred);
	pawl_note_unlocking(l, "rwlock");
	pawl_rwlock_to_reader(l);
	pawl_note_unlocked(l);
}

/* Whether this thread writes, or has the gate and is about to. */
static inline bool pawl_rwlock_is_writer(const struct pawl_rwlock *l)
{
	/* Relaxed: nobody else stores this value, and only while it is so. */
	return pawl_load_relaxed(&l->gate.word) == pawl_mutex_me();
}

#endif /* PAWL_RWLOCK_H */
