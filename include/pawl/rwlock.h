/* SPDX-License-Identifier: MIT */
/*
 * pawl/rwlock.h - many readers or one writer; readers of a lock that is rarely written write
 *                 to their own thread's record alone.
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
 * Cost       read lock 0 RMW, read unlock 0 RMW, if biased; fenced or through the gate
 *            1 and 0, counted 1 and 1; write lock 1 RMW, write unlock 0 RMW; 32 bytes,
 *            0 = free. Who writes to a biased lock pays a membarrier, to a fenced one a
 *            look at each thread.
 *
 * State (word, gate): gate is a mutex that writers have for as long as they write, and
 * readers of a lock that is often written, too: they then add a mark, and others may
 * join them unless a writer is queued. word = (readers, WAITING, form): readers that are counted, whether some
 * queue, and whether a record is enough: with a fence (FENCED), or without (BIASED).
 *
 *   (n, free) --write lock--> (n, W) --waits--> (0, W) --write unlock--> (0, free)
 *                             (0 WAITING, W) --write unlock--> (queued, free)
 *   (n, free) --read lock---> (n, R) --read unlock--> (n, free)
 *   (n, R) --another's read lock--> (n + 1, R) --its read unlock--> (n, R)
 *             --now and then, by a reader--> (n FENCED, -), (n BIASED, -)
 *   (n form, free) --write lock--> (n form, W) --withdraws, waits--> (0, W)
 *                             --write unlock--> (0, free), or (0 FENCED, free)
 *
 *   I1  A biased reader is inside iff a slot of its record is the lock's address
 *       and it has since seen BIASED; a fenced one, FENCED, after a fence.
 *   I2  A counted reader is inside iff it is in word's count and has since seen
 *       no writer at the gate, or one that tried (TRIES) and then let go, or the thread
 *       that had the gate counted it; its record has the
 *       address with a mark, which writers pass over. A gated one, iff it has the gate;
 *       its record says so only if it reads again within (AGAIN).
 *   I3  A writer is inside iff it has the gate and has since seen neither a form
 *       nor readers in word; and, if there was a form, withdrew it, passed the
 *       heavy fence if it was BIASED, and then found no slot with the lock's address.
 *   I4  Who withdrew a form and gives up before that puts it back.
 *   I5  Only who is inside gives a form.
 *   I6  While readers queue, WAITING is set; who has the gate and sees it lets them
 *       all in when it leaves.
 *   I7  A reader that sleeps is counted in the gate's cell before it last looks
 *       at the gate; so who sets the gate free wakes it.
 *   I8  A thread that reads, and locks to read again, is inside: its record counts how
 *       often, and what it has already keeps writers out.
 *
 * A queued reader waits for the section under way, and for one more at most, that
 * began before its mark was seen. It queues when it has polled, and dozed, for about
 * 130 times what a wake-up costs: some milliseconds at most. A writer that has the gate
 * waits for the readers that are inside and for no others; writers come to the gate as
 * to any pawl_mutex, and so do the readers that it then lets pass them.
 *
 * Recursive reading is allowed, and never waits. Who reads must not write, who
 * writes must not lock; the thread that locked must unlock. A signal
 * handler may read if it has not interrupted a call of pawl that locks.
 * A child of fork() has what its only thread had; reads of other threads are over
 * if they were in their records alone, or of a lock that its own record has, too; those
 * that were counted or had the gate last for ever. So do reads of threads that exit without
 * unlocking. A lock whose memory the child does not get is left alone. Where the system has no membarrier no lock is ever biased.
 *
 * Order      [F] and [R] pair with [K] in the runtime's rwlock.c: who sees a slot
 *            changed sees the section that ended before. [B] is a compiler fence:
 *            its partner is the writer's heavy one. [A] pairs with [O] there: who
 *            sees the bias sees what was written before it was given. [S] pairs with
 *            itself there: of a fenced reader that announces itself and a writer that
 *            withdraws the form, at least one sees the other. [G] pairs
 *            with [C] there: of a writer and a reader that is counted, at least one
 *            sees the other. [U] pairs with [G], [T] and [C]: a section happens before
 *            the next one.
 * Lifetime   [R], or the count in the runtime, is a read unlock's last access to
 *            *l; [U] that of whoever has the gate. What follows uses its address.
 * Checked    pawl check rwlock, with mutants for each label and invariant;
 *            tests/runtime/rwlock*.c; tests/soak/rwlock.c.
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
	PAWL_RWLOCK_BIASED = 1, /* with FENCED */
	PAWL_RWLOCK_FENCED = 2,
	PAWL_RWLOCK_KEPT = 4, /* withdrawn: FENCED again once who has the gate leaves */
	PAWL_RWLOCK_WRITTEN = 8, /* since a reader last looked: a hint */
	PAWL_RWLOCK_WAITING = 16,
	PAWL_RWLOCK_READER = 32 /* one of the count */
};

/* In gate.word, beside the owner: it reads; and more than once, see its record; or it tries
 * to write, and will either store its bare name or let go without waiting. */
enum { PAWL_RWLOCK_READS = 1, PAWL_RWLOCK_AGAIN = 2, PAWL_RWLOCK_TRIES = 4 };

/* In a slot, beside the address. */
enum pawl_rwlock_mark {
	PAWL_RWLOCK_COUNTED = 1, /* word counts this read */
	PAWL_RWLOCK_GATED = 2,	 /* reads within one that has the gate: NESTED, too */
	PAWL_RWLOCK_NESTED = 4,	 /* not the only one of this thread: see depth */
	PAWL_RWLOCK_MARKS = 7
};

/* What a thread reads: addresses of locks, or 0. The memory stays for ever; a new thread may
 * inherit it. */
struct pawl_reads {
	PAWL_SEQUESTER pawl_atomic64 slots[1 << PAWL_READS_BITS];
	/* From here on this thread's own. */
	volatile uint32_t
		depth[1 << PAWL_READS_BITS]; /* reads of a slot's lock but one */
	pawl_atomic64 counting;		     /* the lock whose count it is just trying */
	struct pawl_reads *next;	     /* of this thread's more_reads */
	pawl_atomic64 looked_at;	     /* the lock that its last look found */
	pawl_atomic64 looked;		     /* so */
};

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)
/* `announced`: the slot that has the address in vain, or NULL. */
void pawl_rwlock_read_slow_(struct pawl_rwlock *l, pawl_atomic64 *announced);
bool pawl_rwlock_read_try_(struct pawl_rwlock *l, pawl_atomic64 *announced);
int pawl_rwlock_read_until_(struct pawl_rwlock *l, pawl_atomic64 *announced, int clock,
			    const struct timespec *time);
void pawl_rwlock_read_end_(struct pawl_rwlock *l);
/* By a reader that is inside: gives *l another form if that would be better. */
void pawl_rwlock_look_(struct pawl_rwlock *l) __attribute__((cold));
void pawl_rwlock_write_slow_(struct pawl_rwlock *l) __attribute__((cold));
void pawl_rwlock_drain_(struct pawl_rwlock *l) __attribute__((cold));
bool pawl_rwlock_write_try_(struct pawl_rwlock *l) __attribute__((cold));
int pawl_rwlock_write_until_(struct pawl_rwlock *l, int clock,
			     const struct timespec *time) __attribute__((cold));
/* Both require the gate, and leave it to the caller to let go of it: counts in whoever is
 * in line; and says that *l was written, and puts back a form, too. */
void pawl_rwlock_let_in_(struct pawl_rwlock *l) __attribute__((cold));
void pawl_rwlock_write_end_(struct pawl_rwlock *l) __attribute__((cold));
/* Wakes those who wait for the gate; uses addresses alone. */
void pawl_rwlock_wake_gate_(const struct pawl_rwlock *l) __attribute__((cold));
/* Wakes the writer that waits for readers; likewise. */
void pawl_rwlock_wake_writer_(const struct pawl_rwlock *l) __attribute__((cold));
void pawl_rwlock_to_reader_(struct pawl_rwlock *l) __attribute__((cold));
#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

/* Which slot of its record a thread tries first for *l. */
static inline unsigned pawl_rwlock_home_(const struct pawl_rwlock *l)
{
	return (unsigned)pawl_hash(pawl_raw_place(l), PAWL_READS_BITS);
}

/* Announces a read of *l, which is biased, in a free slot: true if that is enough
 * (I1). */
static inline bool pawl_rwlock_announce_(struct pawl_rwlock *l, pawl_atomic64 *slot)
{
	pawl_store_release(slot, pawl_address(l));			/* [F] */
	pawl_bare_light_fence();					/* [B] */
	return (pawl_load_acquire(&l->word) & PAWL_RWLOCK_BIASED) != 0; /* [A] */
}

/* The same of one that is fenced. */
static inline bool pawl_rwlock_announce_fenced_(struct pawl_rwlock *l,
						pawl_atomic64 *slot)
{
	pawl_store_seq_cst(slot, pawl_address(l));			/* [S] */
	return (pawl_load_seq_cst(&l->word) & PAWL_RWLOCK_FENCED) != 0; /* [S] */
}

/* What the gate's word is while this thread reads through it. */
static inline uint64_t pawl_rwlock_reader_(void)
{
	return pawl_mutex_me_() | PAWL_RWLOCK_READS;
}

/* Reads *l through the gate, if that is free. */
static inline bool pawl_rwlock_pass_gate_(struct pawl_rwlock *l)
{
	/* Relaxed: spares a write that would fail; [T] decides. */
	return pawl_load_relaxed(&l->gate.word) == 0 &&
	       pawl_cas_acquire(&l->gate.word, 0, pawl_rwlock_reader_()); /* [T] */
}

/* Whether this thread reads *l through the gate, and once. */
static inline bool pawl_rwlock_has_gate_(const struct pawl_rwlock *l)
{
	/* Relaxed: nobody else stores this value, and only while it is so. */
	return pawl_load_relaxed(&l->gate.word) == pawl_rwlock_reader_();
}

/* Of some reads of locks that are not biased: looks whether this one should be. */
static inline void pawl_rwlock_look_now_and_then_(struct pawl_rwlock *l)
{
	if (__builtin_expect(++pawl_self()->slow_reads % PAWL_RWLOCK_LOOK == 0, false))
		pawl_rwlock_look_(l);
}

/*
 * Reads *l if it can at once, and this thread's record has room where it looks first.
 * Otherwise *announced is the slot that must be taken back, or NULL.
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
	/* Relaxed: says which way to try; and one's own slot. */
	word = pawl_load_relaxed(&l->word);
	if (__builtin_expect(pawl_load_relaxed(slot) != 0, false))
		return false;
	if (__builtin_expect((word & PAWL_RWLOCK_BIASED) != 0, true)) {
		if (__builtin_expect(pawl_rwlock_announce_(l, slot), true))
			return true;
	} else {
		/* Counted here, for a read waits for what was before its locked
		 * instruction, and what comes after it for that. */
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

/* What TSan is told: readers happen after writers, and writers after all. */

static inline void pawl_rwlock_note_read_(struct pawl_rwlock *l, bool success)
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
	if (__builtin_expect(!pawl_rwlock_read_fast_(l, &announced), false))
		pawl_rwlock_read_slow_(l, announced);
	pawl_rwlock_note_read_(l, true);
}

/*
 * Returns true, reading *l, unless a writer has it or waits for it. Waits for no lock, but for
 * another thread's pawl_rwlock_write_trylock that is under way: whether that one fails decides.
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
	if (!pawl_rwlock_read_fast_(l, &announced))
		error = pawl_rwlock_read_until_(l, announced, clock, time);
	pawl_rwlock_note_read_(l, error == 0);
	return error;
}

/* Sets the gate free. */
static inline void pawl_rwlock_free_gate_(struct pawl_rwlock *l)
{
	pawl_store_release(&l->gate.word, 0); /* [U] */
	if (pawl_parked_near_(&l->gate))
		pawl_rwlock_wake_gate_(l);
}

/* Lets go of the gate. */
static inline void pawl_rwlock_open_(struct pawl_rwlock *l)
{
	/* Relaxed: I2 of mutex.h allows for one unlock that misses it. */
	if (__builtin_expect(pawl_load_relaxed(&l->gate.due) == 0, true) ||
	    !pawl_mutex_hand_over_(&l->gate))
		pawl_rwlock_free_gate_(l);
}

/* Ends a read that one's own slot announces. */
static inline void pawl_rwlock_leave_slot_(struct pawl_rwlock *l, pawl_atomic64 *slot)
{
	pawl_store_release(slot, 0); /* [R] */
	if (pawl_parked_near_(l))
		pawl_rwlock_wake_writer_(l);
}

/* Of one who reads through the gate: whether somebody waits for that to end. */
static inline bool pawl_rwlock_is_awaited_(const struct pawl_rwlock *l)
{
	/* Relaxed: who comes to wait now is seen by the next one here (I6), or, should
	 * it sleep, after [U] (I7); and I2 of mutex.h. */
	return (pawl_load_relaxed(&l->word) & PAWL_RWLOCK_WAITING) != 0 ||
	       pawl_load_relaxed(&l->gate.due) != 0;
}

/* Ends such a read. */
static inline void pawl_rwlock_leave_reading_(struct pawl_rwlock *l)
{
	/* Relaxed: as there. */
	if (__builtin_expect((pawl_load_relaxed(&l->word) & PAWL_RWLOCK_WAITING) != 0,
			     false))
		pawl_rwlock_let_in_(l);
	pawl_rwlock_open_(l);
}

/* Ends a read of this thread. */
static inline void pawl_rwlock_read_unlock(struct pawl_rwlock *l) PAWL_RELEASES_SHARED(l)
{
	pawl_atomic64 *slot = &pawl_self()->reads->slots[pawl_rwlock_home_(l)];
	uint64_t seen = pawl_load_relaxed(slot); /* Relaxed: one's own slot */

	pawl_note_releasing(l);
	pawl_note_begin(l);
	if (__builtin_expect(seen == pawl_address(l), true)) {
		pawl_rwlock_leave_slot_(l, slot);
	} else if (__builtin_expect(pawl_rwlock_has_gate_(l), true)) {
		/* Code of before put a gated read into its record, too. */
		if (__builtin_expect(seen == (pawl_address(l) | PAWL_RWLOCK_GATED),
				     false))
			pawl_store_release(slot, 0); /* [R] */
		pawl_rwlock_leave_reading_(l);
	} else {
		pawl_rwlock_read_end_(l);
	}
	pawl_note_end(l);
}

/* Whether a word lets a writer in that has the gate (I3). */
static inline bool pawl_rwlock_is_quiet_(uint64_t word)
{
	return (word & ~(uint64_t)PAWL_RWLOCK_WRITTEN) == 0;
}

/* Takes the gate if it is free. */
static inline bool pawl_rwlock_take_gate_(struct pawl_rwlock *l)
{
	return pawl_cas_seq_cst(&l->gate.word, 0, pawl_mutex_me_()); /* [G] */
}

/* Waits until it has *l to itself. Not recursive. */
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

/* Takes the gate to try, if it is free and no reader is counted. */
static inline bool pawl_rwlock_try_gate_(struct pawl_rwlock *l)
{
	/* Relaxed: a look that keeps a try in vain from the gate; [G] decides. */
	return pawl_load_relaxed(&l->word) < PAWL_RWLOCK_READER &&
	       pawl_cas_seq_cst(&l->gate.word, 0,
				pawl_mutex_me_() | PAWL_RWLOCK_TRIES); /* [G] */
}

/* The try has succeeded: this thread writes. */
static inline void pawl_rwlock_end_try_(struct pawl_rwlock *l)
{
	/* Relaxed: a reader stays out whichever of the two it sees. */
	pawl_store_relaxed(&l->gate.word, pawl_mutex_me_());
}

/* Returns true, having *l to itself, if nobody had it; never waits for anybody. */
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

/* Requires this thread to write. */
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

/* Requires this thread to write; it reads from now on, and no writer comes between. */
PAWL_NOTED void pawl_rwlock_downgrade(struct pawl_rwlock *l)
{
	pawl_note_releasing(&l->barred);
	pawl_note_unlocking(l, "rwlock");
	pawl_rwlock_to_reader_(l);
	pawl_note_unlocked(l);
}

/* Whether this thread writes, or has the gate and is about to. */
static inline bool pawl_rwlock_is_writer(const struct pawl_rwlock *l)
{
	/* Relaxed: nobody else stores this value, and only while it is so. */
	return pawl_load_relaxed(&l->gate.word) == pawl_mutex_me_();
}

#endif /* PAWL_RWLOCK_H */
