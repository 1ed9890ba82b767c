/* SPDX-License-Identifier: MIT */
/*
 * pawl/rwlock.h - many readers or one writer. Readers of a lock that is rarely written
 *                 write only to their own thread's record.
 *
 * Choose it  for what is read much more often than written, by sections of some
 *            length, or by many CPUs at once.
 * Avoid it   where writes are one in ten or more and sections are short: mutex.h
 *            is simpler; for a small record that may be read twice, seqlock.h.
 * Source     pawl. The idea of a bias to readers is that of Dice & Kogan, "BRAVO",
 *            USENIX ATC 2019; the reverse fence is Khuong's, as in mutex.h.
 * Departs    from BRAVO: readers announce themselves in records of their own
 *            threads, without a read-modify-write or a fence, because the writer
 *            passes the heavy one; see docs/design/rwlock.md.
 * Cost       read lock 0 RMW, read unlock 0 RMW, if biased; fenced or through the gate
 *            1 and 0, counted 1 and 1; write lock 1 RMW, write unlock 0 RMW; 32 bytes,
 *            0 = free. A writer to a biased lock pays a membarrier and a scan of all
 *            threads' records, a writer to a fenced one the scan.
 *
 * State (word, gate): gate is the writer mutex. A writer holds it while it writes. The
 * first reader of a lock that is often written holds it, too, with a mark; other readers
 * then join it by the count unless a writer is queued. word = (readers, WAITING, mode):
 * the number of counted readers, whether readers queue, and the mode: a reader's record
 * is enough with a fence (FENCED), without one (BIASED), or not at all.
 *
 *   (n, free) --write lock--> (n, W) --waits--> (0, W) --write unlock--> (0, free)
 *                             (0 WAITING, W) --write unlock--> (queued, free)
 *   (n, free) --read lock---> (n, R) --read unlock--> (n, free)
 *   (n, R) --another's read lock--> (n + 1, R) --its read unlock--> (n, R)
 *             --occasionally, by a reader--> (n FENCED, -), (n BIASED, -)
 *   (n mode, free) --write lock--> (n mode, W) --revokes it, waits--> (0, W)
 *                             --write unlock--> (0, free), or (0 FENCED, free)
 *
 *   I1  A biased reader is inside iff a slot of its record is the lock's address
 *       and it has since seen BIASED; a fenced one, FENCED, after a fence.
 *   I2  A counted reader is inside iff it is in word's count and has since seen
 *       no writer at the gate, or one that yields (YIELDS), or tried (TRIES) and then
 *       yielded or released it, or the gate's holder counted it; its record has the
 *       address with a mark, which writers skip. A gated reader is inside iff it holds
 *       the gate; its record has an entry only if it reads recursively (AGAIN).
 *   I3  A writer is inside iff it holds the gate and has since seen neither a mode
 *       nor readers in word; and, if there was a mode, revoked it, passed the
 *       heavy fence if it was BIASED, and then found no slot with the lock's address.
 *   I4  A writer that revoked a mode and times out before I3 holds restores it.
 *   I5  Only a thread that is inside sets a mode.
 *   I6  While readers queue, WAITING is set; a holder of the gate that sees it lets them
 *       all in when it releases the gate.
 *   I7  A reader that sleeps is counted in the gate's cell before it last checks
 *       the gate; so the thread that frees the gate wakes it.
 *   I8  A recursive read is inside at once: the thread's record counts the depth, and
 *       its outermost read keeps writers out.
 *
 * A queued reader waits for the section under way, and for at most one more, which
 * began before WAITING was seen. A reader queues after it has polled, and slept for
 * stated times, for about 130 times the cost of a wake-up: some milliseconds at most. A
 * writer that holds the gate waits for the readers that are inside and for no others.
 * Writers wait for the gate as for any pawl_mutex, and so do the readers that take it.
 *
 * Recursive reading is allowed, and never waits. A reader must not lock for writing, a
 * writer must not lock at all; the thread that locked must unlock. A signal handler may
 * read if it has not interrupted a call of pawl that locks. In a child of fork() the
 * forking thread's locks stay held. Reads of the parent's other threads are over if only
 * their records had them, or if the child's own record has the lock, too; those that were
 * counted or held the gate last for ever. So do reads of threads that exit without
 * unlocking. A lock whose memory the child does not get is left alone. Where the system
 * has no membarrier, no lock is ever biased.
 *
 * Order      [F] and [R] pair with [K] in the runtime's rwlock.c: a writer that sees a
 *            slot changed sees the section that ended before. [B] is a compiler fence:
 *            its partner is the writer's heavy one. [A] pairs with [O] there: a reader
 *            that sees the bias sees what was written before it was set. [S] pairs with
 *            itself there: of a fenced reader that announces itself and a writer that
 *            revokes the mode, at least one sees the other. [G] pairs
 *            with [C] there: of a writer and a reader that is counted, at least one
 *            sees the other. [U] pairs with [G], [T] and [C]: a section happens before
 *            the next one.
 * Lifetime   [R], or the count in the runtime, is a read unlock's last access to
 *            *l; [U] that of the gate's holder. What follows uses its address.
 * Checked    pawl check rwlock, with mutants for each label and invariant;
 *            tests/runtime/rwlock*.c; tests/soak/rwlock.c.
 */
#ifndef PAWL_RWLOCK_H
#define PAWL_RWLOCK_H

#include <pawl/mutex.h>
#include <pawl/thread.h>

struct PAWL_CAPABILITY pawl_rwlock {
	pawl_atomic64 word;
	pawl_atomic64 barred; /* clock time before which it may not be biased */
	struct pawl_mutex gate;
};

#define PAWL_RWLOCK_INIT PAWL_ZERO

enum pawl_rwlock_word {
	PAWL_RWLOCK_BIASED = 1, /* always together with FENCED */
	PAWL_RWLOCK_FENCED = 2,
	PAWL_RWLOCK_KEPT = 4,	 /* revoked: write unlock sets FENCED again */
	PAWL_RWLOCK_WRITTEN = 8, /* hint: written since a reader's last sample */
	PAWL_RWLOCK_WAITING = 16,
	PAWL_RWLOCK_READER = 32 /* one counted reader */
};

/* Flags in gate.word, beside the holder: it reads; it reads recursively, see its record; it
 * tries to write, and then either stores its plain id or releases the gate without waiting;
 * it waits for readers, and lets others count themselves in. */
enum {
	PAWL_RWLOCK_READS = 1,
	PAWL_RWLOCK_AGAIN = 2,
	PAWL_RWLOCK_TRIES = 4,
	PAWL_RWLOCK_YIELDS = PAWL_RWLOCK_READS | PAWL_RWLOCK_TRIES
};

/* Flags in a slot, beside the address. */
enum pawl_rwlock_mark {
	PAWL_RWLOCK_COUNTED = 1, /* word counts this read */
	PAWL_RWLOCK_GATED = 2, /* recursive, in a read that holds the gate: NESTED, too */
	PAWL_RWLOCK_NESTED = 4, /* recursive: see depth */
	PAWL_RWLOCK_MARKS = 7
};

/* The read record of a thread: addresses of the locks that it reads, or 0. Never freed; a
 * new thread reuses the record of one that has exited. */
struct pawl_reads {
	PAWL_SEQUESTER pawl_atomic64 slots[1 << PAWL_READS_BITS];
	/* From here on accessed by the owner only. */
	volatile uint32_t
		depth[1 << PAWL_READS_BITS]; /* recursive reads of a slot's lock */
	pawl_atomic64 counting;		     /* the lock whose count it is incrementing */
	struct pawl_reads *next;	     /* of this thread's more_reads */
	pawl_atomic64 looked_at;	     /* lock of the last sample */
	pawl_atomic64 looked;		     /* result of the last sample */
};

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)
/* `announced`: the slot of an announcement that failed and must be cleared, or NULL. */
void pawl_rwlock_read_slow_(struct pawl_rwlock *l, pawl_atomic64 *announced);
bool pawl_rwlock_read_try_(struct pawl_rwlock *l, pawl_atomic64 *announced);
int pawl_rwlock_read_until_(struct pawl_rwlock *l, pawl_atomic64 *announced, int clock,
			    const struct timespec *time);
void pawl_rwlock_read_end_(struct pawl_rwlock *l);
/* Called by a reader that is inside: changes the mode of *l if another one fits better. */
void pawl_rwlock_look_(struct pawl_rwlock *l) __attribute__((cold));
void pawl_rwlock_write_slow_(struct pawl_rwlock *l) __attribute__((cold));
void pawl_rwlock_drain_(struct pawl_rwlock *l) __attribute__((cold));
bool pawl_rwlock_write_try_(struct pawl_rwlock *l) __attribute__((cold));
int pawl_rwlock_write_until_(struct pawl_rwlock *l, int clock,
			     const struct timespec *time) __attribute__((cold));
/* Both require the gate, which the caller releases afterwards. let_in counts all queued
 * readers; write_end does this, too, sets WRITTEN and restores a mode. */
void pawl_rwlock_let_in_(struct pawl_rwlock *l) __attribute__((cold));
void pawl_rwlock_write_end_(struct pawl_rwlock *l) __attribute__((cold));
/* Wakes the threads that wait for the gate. Uses addresses only. */
void pawl_rwlock_wake_gate_(const struct pawl_rwlock *l) __attribute__((cold));
/* Wakes the writer that waits for readers. Uses addresses only. */
void pawl_rwlock_wake_writer_(const struct pawl_rwlock *l) __attribute__((cold));
void pawl_rwlock_to_reader_(struct pawl_rwlock *l) __attribute__((cold));
#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

/* Index of the slot of its record that a thread tries first for *l. */
static inline unsigned pawl_rwlock_home_(const struct pawl_rwlock *l)
{
	return (unsigned)pawl_hash(pawl_raw_place(l), PAWL_READS_BITS);
}

/* Announces a read of a lock in BIASED mode in a free slot; true if the mode is still
 * set, so that the reader is inside (I1). */
static inline bool pawl_rwlock_announce_(struct pawl_rwlock *l, pawl_atomic64 *slot)
{
	pawl_store_release(slot, pawl_address(l));			/* [F] */
	pawl_bare_light_fence();					/* [B] */
	return (pawl_load_acquire(&l->word) & PAWL_RWLOCK_BIASED) != 0; /* [A] */
}

/* Announces a read of a lock in FENCED mode. */
static inline bool pawl_rwlock_announce_fenced_(struct pawl_rwlock *l,
						pawl_atomic64 *slot)
{
	pawl_store_seq_cst(slot, pawl_address(l));			/* [S] */
	return (pawl_load_seq_cst(&l->word) & PAWL_RWLOCK_FENCED) != 0; /* [S] */
}

/* The value of the gate's word while this thread reads through it. */
static inline uint64_t pawl_rwlock_reader_(void)
{
	return pawl_mutex_me_() | PAWL_RWLOCK_READS;
}

/* Starts a read of *l through the gate, if the gate is free. */
static inline bool pawl_rwlock_pass_gate_(struct pawl_rwlock *l)
{
	/* Relaxed: spares a write that would fail; [T] decides. */
	return pawl_load_relaxed(&l->gate.word) == 0 &&
	       pawl_cas_acquire(&l->gate.word, 0, pawl_rwlock_reader_()); /* [T] */
}

/* Whether this thread reads *l through the gate, not recursively. */
static inline bool pawl_rwlock_has_gate_(const struct pawl_rwlock *l)
{
	/* Relaxed: only this thread stores this value, and removes it. */
	return pawl_load_relaxed(&l->gate.word) == pawl_rwlock_reader_();
}

/* Once in PAWL_RWLOCK_LOOK reads of locks that are not biased: samples whether this lock
 * should be. */
static inline void pawl_rwlock_look_now_and_then_(struct pawl_rwlock *l)
{
	if (__builtin_expect(++pawl_self()->slow_reads % PAWL_RWLOCK_LOOK == 0, false))
		pawl_rwlock_look_(l);
}

/*
 * Starts a read of *l if it need not wait and the first slot of this thread's record is
 * free. If it fails, *announced is the slot that must be cleared, or NULL.
 */
static inline bool pawl_rwlock_read_fast_(struct pawl_rwlock *l,
					  pawl_atomic64 **announced)
{
	struct pawl_thread *self = pawl_self();
	pawl_atomic64 *slot;
	uint64_t word;

	*announced = NULL;
	if (__builtin_expect(self->reads == NULL, false))
		return false;
	slot = &self->reads->slots[pawl_rwlock_home_(l)];
	/* Relaxed: selects the path; and the slot is our own. */
	word = pawl_load_relaxed(&l->word);
	if (__builtin_expect(pawl_load_relaxed(slot) != 0, false))
		return false;
	if (__builtin_expect((word & PAWL_RWLOCK_BIASED) != 0, true)) {
		if (__builtin_expect(pawl_rwlock_announce_(l, slot), true))
			return true;
	} else {
		/* Counted before the locked instruction, which waits for earlier
		 * accesses and delays later ones. */
		bool looks = ++self->slow_reads % PAWL_RWLOCK_LOOK == 0;

		if ((word & PAWL_RWLOCK_FENCED) == 0) {
			if (!pawl_rwlock_pass_gate_(l))
				return false;
		} else if (!pawl_rwlock_announce_fenced_(l, slot)) {
			*announced = slot;
			return false;
		}
		if (__builtin_expect(looks, false))
			pawl_rwlock_look_(l);
		return true;
	}
	*announced = slot;
	return false;
}

/* Annotations for TSan: readers happen after writers, and writers after all. */

static inline void pawl_rwlock_note_read_(struct pawl_rwlock *l, bool success)
{
	pawl_note_end(l);
	if (success)
		pawl_note_acquired(&l->barred);
}

/* Waits until it holds *l for reading: together with other readers, without a writer. */
static inline void pawl_rwlock_read_lock(struct pawl_rwlock *l) PAWL_ACQUIRES_SHARED(l)
{
	pawl_atomic64 *announced;

	pawl_note_begin(l);
	if (__builtin_expect(!pawl_rwlock_read_fast_(l, &announced), false))
		pawl_rwlock_read_slow_(l, announced);
	pawl_rwlock_note_read_(l, true);
}

/*
 * Returns true, holding *l for reading, unless a writer holds it or waits for it. Does not
 * wait for a holder, but for a concurrent pawl_rwlock_write_trylock to succeed or fail.
 */
static inline bool pawl_rwlock_read_trylock(struct pawl_rwlock *l) PAWL_TRIES_SHARED(l)
{
	pawl_atomic64 *announced;
	bool reads;

	pawl_note_begin(l);
	reads = pawl_rwlock_read_fast_(l, &announced) ||
		pawl_rwlock_read_try_(l, announced);
	pawl_rwlock_note_read_(l, reads);
	return reads;
}

/*
 * Waits until it holds *l for reading, or until the clock (CLOCK_REALTIME or
 * CLOCK_MONOTONIC) has reached the time. Returns 0, ETIMEDOUT, or, if it had to wait,
 * EINVAL for another clock or a bad time; errno stays as it was.
 */
static inline int pawl_rwlock_read_timedlock(struct pawl_rwlock *l, int clock,
					     const struct timespec *time)
{
	pawl_atomic64 *announced;
	int error = 0;

	pawl_note_begin(l);
	if (!pawl_rwlock_read_fast_(l, &announced))
		error = pawl_rwlock_read_until_(l, announced, clock, time);
	pawl_rwlock_note_read_(l, error == 0);
	return error;
}

/* Frees the gate, and wakes a thread that waits for it. */
static inline void pawl_rwlock_free_gate_(struct pawl_rwlock *l)
{
	pawl_store_release(&l->gate.word, 0); /* [U] */
	if (pawl_parked_near_(&l->gate))
		pawl_rwlock_wake_gate_(l);
}

/* Releases the gate: hands it over, or frees it. */
static inline void pawl_rwlock_open_(struct pawl_rwlock *l)
{
	/* Relaxed: I2 of mutex.h allows for one unlock that misses a store to due. */
	if (__builtin_expect(pawl_load_relaxed(&l->gate.due) == 0, true) ||
	    !pawl_mutex_hand_over_(&l->gate))
		pawl_rwlock_free_gate_(l);
}

/* Ends a read that a slot of this thread announces. */
static inline void pawl_rwlock_leave_slot_(struct pawl_rwlock *l, pawl_atomic64 *slot)
{
	pawl_store_release(slot, 0); /* [R] */
	if (pawl_parked_near_(l))
		pawl_rwlock_wake_writer_(l);
}

/* Requires a read through the gate: whether another thread waits for it to end. */
static inline bool pawl_rwlock_is_awaited_(const struct pawl_rwlock *l)
{
	/* Relaxed: if this misses a new waiter, the next holder of the gate sees it (I6)
	 * or, if it sleeps, this one does after [U] (I7); due: I2 of mutex.h. */
	return (pawl_load_relaxed(&l->word) & PAWL_RWLOCK_WAITING) != 0 ||
	       pawl_load_relaxed(&l->gate.due) != 0;
}

/* Ends a read through the gate. */
static inline void pawl_rwlock_leave_reading_(struct pawl_rwlock *l)
{
	/* Relaxed: as in pawl_rwlock_is_awaited_. */
	if (__builtin_expect((pawl_load_relaxed(&l->word) & PAWL_RWLOCK_WAITING) != 0,
			     false))
		pawl_rwlock_let_in_(l);
	pawl_rwlock_open_(l);
}

/* Ends a read of this thread. */
static inline void pawl_rwlock_read_unlock(struct pawl_rwlock *l) PAWL_RELEASES_SHARED(l)
{
	pawl_atomic64 *slot = &pawl_self()->reads->slots[pawl_rwlock_home_(l)];
	uint64_t seen = pawl_load_relaxed(slot); /* Relaxed: our own slot */

	pawl_note_releasing(l);
	pawl_note_begin(l);
	if (__builtin_expect(seen == pawl_address(l), true)) {
		pawl_rwlock_leave_slot_(l, slot);
	} else if (__builtin_expect(pawl_rwlock_has_gate_(l), true)) {
		/* Code compiled against protocol 0 also records a gated read. */
		if (__builtin_expect(seen == (pawl_address(l) | PAWL_RWLOCK_GATED),
				     false))
			pawl_store_release(slot, 0); /* [R] */
		pawl_rwlock_leave_reading_(l);
	} else {
		pawl_rwlock_read_end_(l);
	}
	pawl_note_end(l);
}

/* Whether a writer that holds the gate may enter, given this word (I3). */
static inline bool pawl_rwlock_is_quiet_(uint64_t word)
{
	return (word & ~(uint64_t)PAWL_RWLOCK_WRITTEN) == 0;
}

/* Takes the gate if it is free. */
static inline bool pawl_rwlock_take_gate_(struct pawl_rwlock *l)
{
	return pawl_cas_seq_cst(&l->gate.word, 0, pawl_mutex_me_()); /* [G] */
}

/* Waits until it holds *l for writing, exclusively. Not recursive. */
PAWL_NOTED void pawl_rwlock_write_lock(struct pawl_rwlock *l) PAWL_ACQUIRES(l)
{
	pawl_note_locking(l, "rwlock", false);
	if (__builtin_expect(!pawl_rwlock_take_gate_(l), false))
		pawl_rwlock_write_slow_(l);
	else if (__builtin_expect(!pawl_rwlock_is_quiet_(pawl_load_seq_cst(&l->word)),
				  false)) /* [G] */
		pawl_rwlock_drain_(l);
	pawl_note_locked(l, true);
}

/* Takes the gate for a write trylock, if it is free and no reader is counted. */
static inline bool pawl_rwlock_try_gate_(struct pawl_rwlock *l)
{
	/* Relaxed: avoids taking the gate for an attempt that would fail; [G] decides. */
	return pawl_load_relaxed(&l->word) < PAWL_RWLOCK_READER &&
	       pawl_cas_seq_cst(&l->gate.word, 0,
				pawl_mutex_me_() | PAWL_RWLOCK_TRIES); /* [G] */
}

/* The trylock has succeeded: this thread writes. */
static inline void pawl_rwlock_end_try_(struct pawl_rwlock *l)
{
	/* Relaxed: a reader stays out whichever of the two it sees. */
	pawl_store_relaxed(&l->gate.word, pawl_mutex_me_());
}

/* Returns true, holding *l for writing, if no thread held it; never waits. */
PAWL_NOTED bool pawl_rwlock_write_trylock(struct pawl_rwlock *l) PAWL_TRIES(l)
{
	bool writes;

	pawl_note_locking(l, "rwlock", true);
	writes = pawl_rwlock_try_gate_(l) &&
		 (pawl_rwlock_is_quiet_(pawl_load_seq_cst(&l->word)) || /* [G] */
		  pawl_rwlock_write_try_(l));
	if (writes)
		pawl_rwlock_end_try_(l);
	pawl_note_locked(l, writes);
	return writes;
}

/* As pawl_rwlock_read_timedlock, for writing. */
PAWL_NOTED int pawl_rwlock_write_timedlock(struct pawl_rwlock *l, int clock,
					   const struct timespec *time)
{
	int error;

	pawl_note_locking(l, "rwlock", true);
	error = pawl_rwlock_write_until_(l, clock, time);
	pawl_note_locked(l, error == 0);
	return error;
}

/* Requires this thread to hold *l for writing. */
PAWL_NOTED void pawl_rwlock_write_unlock(struct pawl_rwlock *l) PAWL_RELEASES(l)
{
	pawl_note_releasing(&l->barred);
	pawl_note_unlocking(l, "rwlock");
	/* Relaxed: as in pawl_rwlock_read_unlock. */
	if (__builtin_expect(pawl_load_relaxed(&l->word) != PAWL_RWLOCK_WRITTEN, false))
		pawl_rwlock_write_end_(l);
	pawl_rwlock_open_(l);
	pawl_note_unlocked(l);
}

/* Requires this thread to hold *l for writing; turns this into a read, without another
 * writer in between. */
PAWL_NOTED void pawl_rwlock_downgrade(struct pawl_rwlock *l)
{
	pawl_note_releasing(&l->barred);
	pawl_note_unlocking(l, "rwlock");
	pawl_rwlock_to_reader_(l);
	pawl_note_unlocked(l);
}

/* Whether this thread writes, or holds the gate and is about to write. */
static inline bool pawl_rwlock_is_writer(const struct pawl_rwlock *l)
{
	/* Relaxed: only this thread stores this value, and removes it. */
	return pawl_load_relaxed(&l->gate.word) == pawl_mutex_me_();
}

#endif /* PAWL_RWLOCK_H */
