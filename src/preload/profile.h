/* SPDX-License-Identifier: MIT */
/*
 * Profile mode, if PAWL_PROFILE asks for it: who waits for whom.
 *
 * Each thread has a stack of the locks it holds, with the return addresses of the
 * calls that took them: a few plain stores to memory of its own. One acquisition in
 * some hundred is noted, with the time for which the lock is held. Whoever has to wait
 * takes the time; one in some of these also unwinds its stack, and asks the holder
 * for its own, which the holder gives when it lets go. What a wait came to is written
 * down after the lock was let go of again, so that nobody waits for our sums.
 *
 * Relaxed throughout: these are numbers, and order nothing. A stack is read after the
 * lock was taken that its holder let go of after writing it.
 */
#ifndef PAWL_PRELOAD_PROFILE_H
#define PAWL_PRELOAD_PROFILE_H

#include "preload/preload.h"
#include "preload/profile_file.h"

extern bool profile_on INTERNAL;
extern bool profile_orders INTERNAL; /* and notes the order of locks */
extern bool profile_hangs INTERNAL;  /* and has a stack of every wait that sleeps */
extern struct profile_file *profile_file INTERNAL;
/* This thread's record, NULL as long as it has none. */
extern __thread struct profile_thread *profile_mine
	__attribute__((tls_model("initial-exec"))) INTERNAL;

/* From the environment: the folder; and "order", "hang", or both. */
void profile_start(const char *folder, const char *mode);
void profile_forked(void);

/* A lock was initialised. */
void profile_initialised(const volatile void *lock, const void *site);

/* Around a wait. owner is the address of the storage of the thread that has the lock,
 * pawl_self(); 0 if the lock does not say. */
void profile_wait(const volatile void *lock, enum profile_kind kind, uint64_t owner,
		  const void *site);
void profile_waited(void);
/* This thread is about to sleep, perhaps in a wait. */
void profile_sleeps(void);

/* What the inline functions below leave to do. The first returns 0, so that the call
 * can be its caller's last act. After the second, which is to be called before the
 * lock is free, comes the third. */
int profile_took(const volatile void *lock, enum profile_kind kind, const void *site);
void profile_leaves(const volatile void *lock, uint64_t owner, const void *site);
void profile_left(void);

/* profile_tables.c: where numbers stand; NULL if there is no room. */
struct profile_thread *profile_thread_begin(void);
struct profile_thread *profile_thread_of(uint64_t owner);
struct profile_lock *profile_lock_of(const volatile void *lock, enum profile_kind kind,
				     const void *site);
void profile_add_sample(const struct profile_lock *lock, uint64_t waiter, uint64_t holder,
			uint64_t weight, uint64_t ns);
void profile_raise(pawl_atomic64 *most, uint64_t value);

/* profile_stack.c: a stack's number, 0 if there is no room. The first unwinds to the
 * call that returns to `site`; if `first` is given, that stands in front, and for
 * `site` if both are in one function. */
uint64_t profile_unwind(const void *site, const void *first);
uint64_t profile_stack_of_one(uint64_t address);
uint64_t profile_place(uint64_t address);
/* Unwinds once, before anybody waits: what is done the first time is done then. False
 * if this system cannot. */
bool profile_stack_start(void);

/* profile_order.c: this thread is about to wait for the lock, or take it. */
void profile_order(const volatile void *lock, const void *site);

static inline uint64_t profile_get(const pawl_atomic64 *word)
{
	return pawl_load_relaxed(word);
}

static inline void profile_set(pawl_atomic64 *word, uint64_t value)
{
	pawl_store_relaxed(word, value);
}

/* This thread has taken the lock. Depth is written first: a signal handler that
 * locks meanwhile uses the places behind. */
static inline void profile_lose(enum profile_loss what)
{
	pawl_fetch_add_relaxed(&profile_file->lost[what], 1);
}

static inline int profile_acquired(const volatile void *lock, enum profile_kind kind,
				   const void *site)
{
	struct profile_thread *t = profile_mine;
	uint64_t depth, left;

	if (unlikely(t == NULL))
		return profile_took(lock, kind, site);
	depth = profile_get(&t->depth);
	left = profile_get(&t->countdown) - 1;
	if (unlikely(depth >= PROFILE_HELD || left == 0))
		return profile_took(lock, kind, site);
	profile_set(&t->depth, depth + 1);
	__asm__ volatile("" ::: "memory");
	profile_set(&t->held[depth].lock, pawl_address(lock));
	profile_set(&t->held[depth].site, pawl_address(site));
	profile_set(&t->countdown, left);
	return 0;
}

/* Whether letting go of the lock takes no more than profile_pop(). */
static inline bool profile_can_pop(const struct profile_thread *t,
				   const volatile void *lock)
{
	uint64_t name = pawl_address(lock), top;

	if (unlikely(t == NULL))
		return false;
	top = profile_get(&t->depth) - 1;
	return likely(top < PROFILE_HELD) &&
	       likely(profile_get(&t->held[top].lock) == name) &&
	       likely(profile_get(&t->asked) != name) &&
	       likely(profile_get(&t->timed) != name) &&
	       likely(profile_get(&t->pending) == 0);
}

static inline void profile_pop(struct profile_thread *t)
{
	profile_set(&t->depth, profile_get(&t->depth) - 1);
}

#endif /* PAWL_PRELOAD_PROFILE_H */
