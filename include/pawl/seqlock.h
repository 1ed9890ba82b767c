/* SPDX-License-Identifier: MIT */
/*
 * pawl/seqlock.h - snapshots of a small record: reading writes nothing, and
 * writing never waits.
 *
 * Choose it  for records that are read much more often than written, and whose
 *            readers must not disturb each other: caches, clocks, statistics.
 * Avoid it   for records with pointers to memory that a writer frees, and for
 *            writes that must not be refused.
 * Source     Dice & Kogan, "Hapax Locks", PPoPP 2026, appendix B: a record with
 *            WriteFirst and WriteLast.
 * Departs    from it: a write begins with a compare-and-swap, not a store, and
 *            is refused while another one goes on. As published, two writes
 *            that overlap can leave a mixture of both behind and WriteFirst
 *            equal to WriteLast: mutant `published`, docs/design/seqlock.md.
 * Cost       read 0 RMW, 0 stores; write 1 RMW; 16 bytes, and the record.
 *
 * State (first, last) and the record's words; at rest iff equal:
 *
 *           begin           words, end
 *   (x, x) ------> (a, x) ------------> (a, a)      b is refused at (a, x)
 *
 *   I1  Only the write that moved first from x, which last then was, to its own
 *       value stores words, and then last. So writes do not overlap.
 *   I2  A value is drawn once (H1 of hapax_value.h): first and last never have a
 *       value twice, even if the record's memory is used for another record.
 *   I3  A reader that found x in last, then the words, then x in first has the
 *       words of write x: not older ones by [A], not newer ones by [G].
 *
 * Order      [A] pairs with [R]: the stores of write x happen before a reader that
 *            sees x in last; this also keeps the words of two writes in order. [G]
 *            pairs with [F]: a reader that reads a word of a newer write sees that
 *            write's value, or a later one, in first.
 * Lifetime   [R] is a write's last access to *s, whose address is then only
 *            hashed. Readers may read the record at any time: its memory must stay
 *            readable, but may be used for another record.
 * Checked    pawl check seqlock; mutants A, R, F, G, I1, published.
 */
#ifndef PAWL_SEQLOCK_H
#define PAWL_SEQLOCK_H

#include <pawl/hapax_value.h>

#include <string.h>

struct pawl_seqlock {
	pawl_atomic64 first; /* value of the last write that began */
	pawl_atomic64 last;  /* value of the last write that ended */
};

/* With all words zero: a record of zero bytes, at rest. */
#define PAWL_SEQLOCK_INIT PAWL_ZERO

/* How many words a record of this many bytes takes. */
#define PAWL_SEQLOCK_WORDS(size) (((size) + sizeof(uint64_t) - 1) / sizeof(uint64_t))

/* Copy `size` bytes to and from words, one word at a time. If the size is a constant,
 * the compiler unrolls the loop of the read. */

static inline void pawl_seqlock_store_(pawl_atomic64 *words, const void *from,
				       size_t size)
{
	const char *bytes = (const char *)from;
	uint64_t word;

	for (; size >= sizeof(word); size -= sizeof(word), bytes += sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		pawl_store_relaxed(words++, word); /* Relaxed: between [F] and [R] */
	}
	if (size > 0) {
		word = 0;
		memcpy(&word, bytes, size);
		pawl_store_relaxed(words, word); /* Relaxed: as above */
	}
}

static inline void pawl_seqlock_load_(void *to, const pawl_atomic64 *words, size_t size)
{
	char *bytes = (char *)to;
	uint64_t word;

#pragma GCC unroll 8
	for (; size >= sizeof(word); size -= sizeof(word), bytes += sizeof(word)) {
		word = pawl_load_relaxed(words++); /* Relaxed: between [A] and [G] */
		memcpy(bytes, &word, sizeof(word));
	}
	if (size > 0) {
		word = pawl_load_relaxed(words); /* Relaxed: as above */
		memcpy(bytes, &word, size);
	}
}

/* As pawl_seqlock_write; `how` is the wait policy of the readers. */
static inline bool pawl_seqlock_write_as_(struct pawl_seqlock *s, pawl_atomic64 *words,
					  const void *from, size_t size,
					  enum pawl_wait how)
{
	uint64_t before = pawl_load_acquire(&s->last); /* [A] */
	uint64_t mine;

	/* Relaxed: saves a value and a write; the compare-and-swap below decides. */
	if (pawl_load_relaxed(&s->first) != before)
		return false;
	mine = pawl_hapax_draw();
	/* Relaxed: first is still what last was, so no write is going on (I1, I2). */
	if (!pawl_cas_relaxed(&s->first, before, mine))
		return false;
	pawl_release_fence(); /* [F] */
	pawl_seqlock_store_(words, from, size);
	pawl_store_release(&s->last, mine); /* [R] */
	pawl_notify(&s->last, mine, how);
	return true;
}

/*
 * Copies the record, and returns whether the copy is consistent. *version is then the
 * value of the write that made it, or 0: equal values mean that nothing changed.
 */
static inline bool pawl_seqlock_look(const struct pawl_seqlock *s,
				     const pawl_atomic64 *words, void *to, size_t size,
				     uint64_t *version)
{
	*version = pawl_load_acquire(&s->last); /* [A] */
	pawl_seqlock_load_(to, words, size);
	pawl_acquire_fence(); /* [G] */
	/* Relaxed: [G] keeps it behind the words (I3). */
	return pawl_load_relaxed(&s->first) == *version;
}

/* As pawl_seqlock_look, without the version: for callers that do not want to retry. */
static inline bool pawl_seqlock_try_read(const struct pawl_seqlock *s,
					 const pawl_atomic64 *words, void *to,
					 size_t size)
{
	uint64_t version;

	return pawl_seqlock_look(s, words, to, size, &version);
}

static inline void pawl_seqlock_read_as_(const struct pawl_seqlock *s,
					 const pawl_atomic64 *words, void *to,
					 size_t size, enum pawl_wait how)
{
	uint64_t version;

	/* After a failure a write has changed last, or is about to; last never becomes
	 * `version` again (I2), so the wait ends. */
	while (!pawl_seqlock_look(s, words, to, size, &version))
		/* Relaxed: the next attempt acquires. */
		(void)pawl_await_ne_relaxed(&s->last, version, how);
}

/*
 * Replaces the record and returns true; or returns false, without effect, if another
 * write is going on. Never waits.
 */
static inline bool pawl_seqlock_write(struct pawl_seqlock *s, pawl_atomic64 *words,
				      const void *from, size_t size)
{
	return pawl_seqlock_write_as_(s, words, from, size, PAWL_PARK);
}

/*
 * Makes a consistent copy of the record. Retries whenever a write has ended
 * meanwhile, so it ends unless writes never cease. Sleeps if a write takes long.
 */
static inline void pawl_seqlock_read(const struct pawl_seqlock *s,
				     const pawl_atomic64 *words, void *to, size_t size)
{
	pawl_seqlock_read_as_(s, words, to, size, PAWL_PARK);
}

#endif /* PAWL_SEQLOCK_H */
