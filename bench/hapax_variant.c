/* SPDX-License-Identifier: MIT */
/*
 * A hapax lock with one change: the shipped headers, with some of the functions that they
 * call replaced. Compiled once for each variant; CMakeLists.txt says which of these
 * macros are defined, beside ID and NAME. docs/design/hapax.md has the results.
 *
 *   INVISIBLE  it is hapax; otherwise hapax-vw
 *   TINY=n     the visible array has n slots
 *   PUBLISHED  a waiter that finds its slot taken waits on the lock itself (listing 3)
 *   STAGE=n    a visible waiter vacates its slot after n polls; 0: never
 *   ABANDON    an unlock that finds other waiters in its slot gives up its block
 *   SKIP       an unlock stores to no slot if no thread has arrived (appendix C)
 *   ROLL_BACK  an uncontended unlock undoes its arrival (appendix C)
 *   MEMO       a slot is computed once for a block and a lock (appendix C)
 *
 * SKIP and ROLL_BACK access the lock after it may have been freed, or lose a bound on
 * waits: for measurements only.
 */
#include "subject.h"

#include <pawl/hapax.h>

static inline __attribute__((unused)) size_t real_index(const struct pawl_hapax_core *l,
							uint64_t hapax)
{
	return pawl_hapax_index_(l, hapax);
}

#ifdef TINY
static inline size_t tiny_index(const struct pawl_hapax_core *l, uint64_t hapax)
{
	return real_index(l, hapax) & (TINY - 1);
}
#define pawl_hapax_index_ tiny_index
#endif

#ifdef MEMO
static inline size_t memo_index(const struct pawl_hapax_core *l, uint64_t hapax)
{
	static __thread struct {
		const struct pawl_hapax_core *l;
		uint64_t zone;
		size_t index;
	} last;

	if (last.l != l || last.zone != hapax >> PAWL_HAPAX_BLOCK_BITS) {
		last.l = l;
		last.zone = hapax >> PAWL_HAPAX_BLOCK_BITS;
		last.index = real_index(l, hapax);
	}
	return last.index;
}
#define pawl_hapax_index_ memo_index
#endif

#ifdef PUBLISHED
static inline void published_wait(struct pawl_hapax_core *l, uint64_t ahead,
				  enum pawl_wait how)
{
	pawl_await_eq_acquire(&l->depart, ahead, how); /* [A] of pawl/hapax_vw.h */
}

static inline void published_post(const struct pawl_hapax_core *l, uint64_t mine,
				  uint64_t value, enum pawl_wait how)
{
	(void)value;
	pawl_notify(&l->depart, mine, how);
}
#define pawl_hapax_wait_ published_wait
#define pawl_hapax_post_ published_post
#endif

#ifdef STAGE
static inline uint64_t stage(const pawl_atomic64 *w, uint64_t value, enum pawl_wait how)
{
	int polls = STAGE;

	if (polls == 0)
		return pawl_await_ne_acquire(w, value, how); /* [B] of hapax_vw.h */
	while (polls-- > 0 && pawl_load_relaxed(w) == value) /* Relaxed: [B] follows */
		pawl_arch_pause();
	return pawl_load_acquire(w); /* [B] of pawl/hapax_vw.h */
}
#define pawl_await_briefly_acquire stage
#endif

#ifdef ROLL_BACK
/* A thread that takes a rolled-back lock reads only `arrive`. */
static inline uint64_t arrive_after(pawl_atomic64 *w, uint64_t value)
{
	return pawl_exchange_acquire(w, value); /* pairs with [R] below */
}
#define pawl_exchange_relaxed arrive_after
#endif

#include <pawl/hapax_vw.h>

#ifdef INVISIBLE
#define LOCK(what) pawl_hapax_##what
#define BODY(l)	   (&(l)->core)
#define HELD(l)	   ((l)->held.hapax)
typedef struct pawl_hapax variant;
#else
#define LOCK(what) pawl_hapax_vw_##what
#define BODY(l)	   (&(l)->core.body)
#define HELD(l)	   ((l)->held.episode.hapax)
typedef struct pawl_hapax_vw variant;
#endif

static void lock(void *l)
{
	LOCK(lock)(l);
}

static void unlock(void *lock_itself)
{
	variant *l = lock_itself;
#ifdef SKIP
	uint64_t mine = HELD(l);

	pawl_store_release(&BODY(l)->depart, mine);	 /* [R] of pawl/hapax.h */
	if (pawl_load_relaxed(&BODY(l)->arrive) != mine) /* Relaxed: for a measurement */
		pawl_hapax_post_(BODY(l), mine, mine, PAWL_SPIN);
	return;
#endif
#ifdef ROLL_BACK
	/* Relaxed: only this thread changes depart. */
	uint64_t mine = HELD(l), before = pawl_load_relaxed(&BODY(l)->depart);

	if (pawl_load_relaxed(&BODY(l)->arrive) == mine &&    /* Relaxed: a guess */
	    pawl_cas_release(&BODY(l)->arrive, mine, before)) /* [R] */
		return;
#endif
#ifdef ABANDON
	uint64_t held = HELD(l);
	const pawl_atomic64 *slot =
		&pawl_hapax_vw_slots_[pawl_hapax_index_(BODY(l), held)];
	/* Relaxed: a guess. */
	uint64_t other = pawl_load_relaxed(slot);

	if (other != 0 && other != held)
		pawl_self()->next_hapax = 0;
#endif
	LOCK(unlock)(l);
}

DEFINE_SUBJECT_LOOPS(it, lock, unlock);

const struct bench_subject ID = {
	.name = NAME,
	.loop = it_mutex,
	.timed_loop = it_timed_mutex,
	.lock = lock,
	.unlock = unlock,
	.size = sizeof(variant),
};
