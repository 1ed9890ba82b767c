/* SPDX-License-Identifier: MIT */
/*
 * pthread_rwlock_*: pawl_rwlock in glibc's object, unless PAWL_RWLOCK says glibc.
 *
 *   bytes  glibc's names            ours
 *    0..31 __readers ... __shared   pawl_rwlock; glibc's, if it has claimed the lock
 *   32..39 __rwelision, __pad1      writer
 *   40..47 __pad2                   claim
 *   48..51 __flags                  the same: the kind
 *
 * A lock between processes has __shared set from the start, perhaps by a process that
 * has no pawl, and is glibc's for its whole life. All others begin with zeroes, but
 * for __flags. glibc neither reads nor writes __pad2 once a lock is initialised, so the
 * first call on a lock decides there, by one compare-and-swap, whose the lock is.
 *   C1  A thread touches the other bytes only after it has seen a claim.
 *   C2  So a thread whose claim succeeds has read __shared as the initialiser left it;
 *       one whose claim fails does not use what it has read, which may be gate.due.
 *       Relaxed is enough: the claim is computed from what was read, and all later
 *       writes to the lock depend on the claim.
 *
 * writer is the id of the thread that writes, 0 if none does: written by who has the
 * lock to write, and read by anybody. A thread finds its own id there if and only if
 * it put it there: that would be a deadlock, and glibc says so. A thread that holds
 * the lock in some way finds another number than 0 if and only if it holds it to
 * write, whatever its id is since a fork.
 *
 * Kinds. A writer that waits keeps later readers out for as long as it likes if the lock
 * is PREFER_WRITER_NONRECURSIVE. With the other two, which are one to glibc as well, readers
 * pass it: a try to read and a thread with a real-time priority at once, others once they have
 * polled and dozed for some milliseconds, so that writers do not starve. A thread that reads
 * may always read again. To destroy a lock does nothing, as with glibc.
 *
 * Order: [G] pairs with [C] of sync/rwlock.c, as in pawl_rwlock_write_lock.
 */
#include "preload/profile.h"
#include "preload/record.h"
#include "preload/stats.h"
#include "sync/reads.h"
#include "sync/rwlocks.h"

#include <pawl/rwlock.h>

#include <errno.h>
#include <string.h>

#define SITE __builtin_return_address(0)

struct rwlock {
	struct pawl_rwlock plain;
	volatile uint32_t writer;
	pawl_atomic64 claim;
};

enum claim { UNCLAIMED, OURS = RWLOCK_OURS, GLIBCS };

#define AT(member) offsetof(pthread_rwlock_t, __data.member)
static_assert(sizeof(struct pawl_rwlock) <= AT(__shared) + sizeof(int),
	      "a lock must fit");
static_assert(_Alignof(struct rwlock) <= _Alignof(pthread_rwlock_t), "a lock must fit");
static_assert(offsetof(struct rwlock, writer) >= AT(__shared) + sizeof(int) &&
		      offsetof(struct rwlock, claim) == AT(__pad2),
	      "initialisers write zeroes there");
static_assert(offsetof(struct rwlock, plain.gate.due) + 4 == AT(__shared),
	      "see is_made_shared()");

static bool leave_to_glibc;

void rwlock_choose(bool glibc)
{
	leave_to_glibc = glibc;
}

static struct rwlock *ours(pthread_rwlock_t *rwlock)
{
	return (struct rwlock *)rwlock;
}

static inline bool is_plain(const struct rwlock *rw)
{
	/* Relaxed: C2. */
	return likely(pawl_load_relaxed(&rw->claim) == rwlock_plain_if);
}

/* Whether glibc's __shared is set, which is half of a word of ours. */
static bool is_made_shared(const struct rwlock *rw)
{
	/* Relaxed: C2. */
	const uint64_t due = pawl_load_relaxed(&rw->plain.gate.due);
	uint32_t halves[2];

	memcpy(halves, &due, sizeof(halves));
	return halves[1] != 0;
}

/* Whose a lock is, from its first call on. */
static bool is_foreign(pthread_rwlock_t *rwlock)
{
	struct rwlock *rw = ours(rwlock);
	uint64_t claim;

	start_if_first();
	if (leave_to_glibc)
		return true;
	claim = pawl_load_relaxed(&rw->claim); /* Relaxed: C2 */
	if (claim == UNCLAIMED) {
		claim = is_made_shared(rw) ? GLIBCS : OURS;
		/* Relaxed: C2. */
		if (!pawl_cas_relaxed(&rw->claim, UNCLAIMED, claim))
			claim = pawl_load_relaxed(&rw->claim);
	}
	return claim == GLIBCS;
}

static inline bool is_mine(const struct rwlock *rw)
{
	return unlikely(rw->writer != 0) && rw->writer == my_id();
}

struct limit {
	clockid_t clock;
	const struct timespec *time;
};

/* What glibc says of one, before it looks at the lock. */
static int check_limit(const struct limit *limit)
{
	bool known = limit->clock == CLOCK_REALTIME || limit->clock == CLOCK_MONOTONIC;

	return known && limit->time->tv_nsec >= 0 && limit->time->tv_nsec < 1000000000
		       ? 0
		       : EINVAL;
}

static bool prefers_writers(const struct rwlock *rw)
{
	return ((const pthread_rwlock_t *)rw)->__data.__flags ==
	       PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
}

/* Waits until it reads. The limit is good, or NULL. */
static int wait_to_read(struct rwlock *rw, pawl_atomic64 *announced,
			const struct limit *limit)
{
	struct pawl_deadline deadline;

	if (!prefers_writers(rw)) {
		if (limit != NULL)
			(void)pawl_deadline_at(&deadline, limit->clock, limit->time);
		return pawl_rwlock_read_first(&rw->plain, announced,
					      limit != NULL ? &deadline : NULL);
	}
	if (limit != NULL)
		return pawl_rwlock_read_until_(&rw->plain, announced, limit->clock,
					       limit->time);
	pawl_rwlock_read_slow_(&rw->plain, announced);
	return 0;
}

/* Reads if no writer is inside or, should the kind prefer writers, waits. */
static bool try_to_read(struct rwlock *rw)
{
	return pawl_rwlock_read_trylock(&rw->plain) ||
	       (!prefers_writers(rw) && pawl_rwlock_read_past(&rw->plain));
}

/* The long way to a lock that is ours, which also counts, and then tries first: it is those
 * who have to wait that it counts. limit may be NULL. */
static int read_until(struct rwlock *rw, const struct limit *limit, const void *site)
{
	uint64_t since = 0;
	int error = 0;

	if (is_mine(rw))
		return EDEADLK;
	if (likely(!stats_on) || !pawl_rwlock_read_trylock(&rw->plain)) {
		if (unlikely(stats_on))
			since = stats_rwlock_waiting(rw, site);
		error = wait_to_read(rw, NULL, limit);
		if (unlikely(stats_on))
			stats_rwlock_waited(rw, since);
	}
	if (unlikely(stats_on) && error == 0)
		stats_read();
	return error;
}

/* Waits until it writes; see pawl_rwlock_yield_write for `has_gate`. */
static void wait_to_write(struct rwlock *rw, bool has_gate)
{
	if (!prefers_writers(rw))
		(void)pawl_rwlock_yield_write(&rw->plain, has_gate, NULL);
	else if (has_gate)
		pawl_rwlock_drain_(&rw->plain);
	else
		pawl_rwlock_write_slow_(&rw->plain);
}

/* The same until a limit, which is good. */
static int wait_to_write_until(struct rwlock *rw, const struct limit *limit)
{
	struct pawl_deadline deadline;

	if (prefers_writers(rw))
		return pawl_rwlock_write_timedlock(&rw->plain, limit->clock, limit->time);
	if (pawl_rwlock_write_trylock(&rw->plain))
		return 0;
	(void)pawl_deadline_at(&deadline, limit->clock, limit->time);
	return pawl_rwlock_yield_write(&rw->plain, false, &deadline);
}

static int write_until(struct rwlock *rw, const struct limit *limit, const void *site)
{
	uint64_t since = 0;
	int error = 0;

	if (is_mine(rw))
		return EDEADLK;
	if (likely(!stats_on) || !pawl_rwlock_write_trylock(&rw->plain)) {
		if (unlikely(stats_on))
			since = stats_rwlock_waiting(rw, site);
		if (limit == NULL)
			wait_to_write(rw, false);
		else
			error = wait_to_write_until(rw, limit);
		if (unlikely(stats_on))
			stats_rwlock_waited(rw, since);
	}
	if (error != 0)
		return error;
	rw->writer = my_id();
	if (unlikely(stats_on))
		stats_written();
	return 0;
}

static int read_in_time(struct rwlock *rw, clockid_t clock, const struct timespec *time,
			const void *site)
{
	const struct limit limit = {clock, time};
	int error = check_limit(&limit);

	return error != 0 ? error : read_until(rw, &limit, site);
}

static int write_in_time(struct rwlock *rw, clockid_t clock, const struct timespec *time,
			 const void *site)
{
	const struct limit limit = {clock, time};
	int error = check_limit(&limit);

	return error != 0 ? error : write_until(rw, &limit, site);
}

/* In a profile a lock is tried first, whosever it is; then the wait begins. Returns
 * whether the caller has it. */
static bool try_profiled(pthread_rwlock_t *rwlock, enum profile_kind kind,
			 const void *site)
{
	struct rwlock *rw = ours(rwlock);
	bool write = kind == PROFILE_WRITE, taken;

	if (profile_orders)
		profile_order(rwlock, site);
	if (is_foreign(rwlock))
		taken = (write ? glibc()->rwlock_trywrlock(rwlock)
			       : glibc()->rwlock_tryrdlock(rwlock)) == 0;
	else if (write)
		taken = pawl_rwlock_write_trylock(&rw->plain);
	else
		taken = pawl_rwlock_read_trylock(&rw->plain);
	if (!taken) {
		profile_wait(rwlock, kind, 0, site);
		return false;
	}
	if (write && !is_foreign(rwlock))
		rw->writer = my_id();
	profile_acquired(rwlock, kind, site);
	return true;
}

/* Ends what try_profiled() began; returns the error. */
static int end_profiled(pthread_rwlock_t *rwlock, enum profile_kind kind, int error,
			const void *site)
{
	profile_waited();
	if (error == 0)
		profile_acquired(rwlock, kind, site);
	return error;
}

/* The functions themselves. */

/*
 * The three calls that all programs use have a path of their own for a lock that is ours
 * while nobody counts; the rest is in functions that are not inlined, so that a reader's
 * path has no register to save. A reader need not look first whether it writes: if so it
 * finds neither a form nor the gate free.
 */

static __attribute__((noinline)) int read_slowly(struct rwlock *rw,
						 pawl_atomic64 *announced)
{
	if (announced == NULL && is_mine(rw))
		return EDEADLK;
	return wait_to_read(rw, announced, NULL);
}

static __attribute__((noinline)) int read_any(pthread_rwlock_t *rwlock, const void *site)
{
	struct rwlock *rw = ours(rwlock);

	if (unlikely(profile_on)) {
		if (try_profiled(rwlock, PROFILE_READ, site))
			return 0;
		return end_profiled(rwlock, PROFILE_READ,
				    is_foreign(rwlock) ? glibc()->rwlock_rdlock(rwlock)
						       : read_until(rw, NULL, site),
				    site);
	}
	if (is_foreign(rwlock))
		return glibc()->rwlock_rdlock(rwlock);
	return read_until(rw, NULL, site);
}

EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t *rwlock)
{
	struct rwlock *rw = ours(rwlock);
	pawl_atomic64 *announced;

	if (!is_plain(rw))
		return read_any(rwlock, SITE);
	if (unlikely(!pawl_rwlock_read_fast_(&rw->plain, &announced)))
		return read_slowly(rw, announced);
	return 0;
}

static __attribute__((noinline)) int write_any(pthread_rwlock_t *rwlock, const void *site)
{
	struct rwlock *rw = ours(rwlock);

	if (unlikely(profile_on)) {
		if (try_profiled(rwlock, PROFILE_WRITE, site))
			return 0;
		return end_profiled(rwlock, PROFILE_WRITE,
				    is_foreign(rwlock) ? glibc()->rwlock_wrlock(rwlock)
						       : write_until(rw, NULL, site),
				    site);
	}
	if (is_foreign(rwlock))
		return glibc()->rwlock_wrlock(rwlock);
	return write_until(rw, NULL, site);
}

static __attribute__((noinline)) int write_slowly(struct rwlock *rw, bool has_gate)
{
	wait_to_write(rw, has_gate);
	rw->writer = my_id();
	return 0;
}

EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t *rwlock)
{
	struct rwlock *rw = ours(rwlock);

	if (!is_plain(rw))
		return write_any(rwlock, SITE);
	if (is_mine(rw))
		return EDEADLK;
	if (unlikely(!pawl_rwlock_take_gate_(&rw->plain)))
		return write_slowly(rw, false);
	if (unlikely(
		    !pawl_rwlock_is_quiet_(pawl_load_seq_cst(&rw->plain.word)))) /* [G] */
		return write_slowly(rw, true);
	rw->writer = my_id();
	return 0;
}

/* Of a lock that is ours, whoever has it. glibc counts readers, and cannot tell one from
 * another: who does not read ends somebody else's read. If nobody reads, nothing
 * happens. */
static __attribute__((noinline)) int unlock_ours(struct rwlock *rw)
{
	if (rw->writer != 0) {
		rw->writer = 0;
		pawl_rwlock_write_unlock(&rw->plain);
	} else if (pawl_rwlock_reads(&rw->plain)) {
		pawl_rwlock_read_unlock(&rw->plain);
	} else {
		pawl_rwlock_end_other(&rw->plain);
	}
	return 0;
}

static __attribute__((noinline)) int unlock_any(pthread_rwlock_t *rwlock,
						const void *site)
{
	int error;

	if (unlikely(profile_on))
		profile_leaves(rwlock, 0, site);
	error = is_foreign(rwlock) ? glibc()->rwlock_unlock(rwlock)
				   : unlock_ours(ours(rwlock));
	if (unlikely(profile_on))
		profile_left();
	return error;
}

static __attribute__((noinline)) int unlock_awaited(struct rwlock *rw)
{
	pawl_rwlock_leave_reading_(&rw->plain);
	return 0;
}

/* The slot that says that this thread reads rw once, if that is where one looks first. */
static inline pawl_atomic64 *slot_at_home(const struct rwlock *rw)
{
	struct pawl_reads *mine = pawl_self()->reads;
	pawl_atomic64 *slot;

	if (unlikely(mine == NULL))
		return NULL;
	slot = &mine->slots[pawl_rwlock_home_(&rw->plain)];
	/* Relaxed: our own. */
	return likely(pawl_load_relaxed(slot) == pawl_address(&rw->plain)) ? slot : NULL;
}

EXPORT int pthread_rwlock_unlock(pthread_rwlock_t *rwlock)
{
	struct rwlock *rw = ours(rwlock);
	pawl_atomic64 *slot;

	if (!is_plain(rw))
		return unlock_any(rwlock, SITE);
	/* Who has the gate to read, and once, has nothing in its record. The gate comes
	 * first: a lock with a form costs a comparison more, one without spares a chain
	 * of two loads. */
	if (pawl_rwlock_has_gate_(&rw->plain)) {
		if (unlikely(pawl_rwlock_is_awaited_(&rw->plain)))
			return unlock_awaited(rw);
		pawl_rwlock_free_gate_(&rw->plain);
		return 0;
	}
	slot = slot_at_home(rw);
	if (unlikely(slot == NULL))
		return unlock_ours(rw);
	pawl_rwlock_leave_slot_(&rw->plain, slot);
	return 0;
}

EXPORT int pthread_rwlock_tryrdlock(pthread_rwlock_t *rwlock)
{
	struct rwlock *rw = ours(rwlock);

	if (!is_plain(rw) && is_foreign(rwlock)) {
		int error = glibc()->rwlock_tryrdlock(rwlock);

		if (unlikely(profile_on) && error == 0)
			profile_acquired(rwlock, PROFILE_READ, SITE);
		return error;
	}
	if (!try_to_read(rw))
		return EBUSY;
	if (unlikely(profile_on))
		profile_acquired(rwlock, PROFILE_READ, SITE);
	if (unlikely(stats_on))
		stats_read();
	return 0;
}

EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t *rwlock)
{
	struct rwlock *rw = ours(rwlock);

	if (!is_plain(rw) && is_foreign(rwlock)) {
		int error = glibc()->rwlock_trywrlock(rwlock);

		if (unlikely(profile_on) && error == 0)
			profile_acquired(rwlock, PROFILE_WRITE, SITE);
		return error;
	}
	if (!pawl_rwlock_write_trylock(&rw->plain))
		return EBUSY;
	rw->writer = my_id();
	if (unlikely(profile_on))
		profile_acquired(rwlock, PROFILE_WRITE, SITE);
	if (unlikely(stats_on))
		stats_written();
	return 0;
}

EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t *rwlock, clockid_t clock,
				      const struct timespec *time)
{
	struct rwlock *rw = ours(rwlock);
	const struct limit limit = {clock, time};

	if (unlikely(profile_on) && check_limit(&limit) == 0) {
		if (try_profiled(rwlock, PROFILE_READ, SITE))
			return 0;
		return end_profiled(rwlock, PROFILE_READ,
				    is_foreign(rwlock) ? glibc()->rwlock_clockrdlock(
								 rwlock, clock, time)
						       : read_until(rw, &limit, SITE),
				    SITE);
	}
	if (is_foreign(rwlock))
		return glibc()->rwlock_clockrdlock(rwlock, clock, time);
	return read_in_time(rw, clock, time, SITE);
}

EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t *rwlock,
				      const struct timespec *time)
{
	struct rwlock *rw = ours(rwlock);
	const struct limit limit = {CLOCK_REALTIME, time};

	if (unlikely(profile_on) && check_limit(&limit) == 0) {
		if (try_profiled(rwlock, PROFILE_READ, SITE))
			return 0;
		return end_profiled(rwlock, PROFILE_READ,
				    is_foreign(rwlock)
					    ? glibc()->rwlock_timedrdlock(rwlock, time)
					    : read_until(rw, &limit, SITE),
				    SITE);
	}
	if (is_foreign(rwlock))
		return glibc()->rwlock_timedrdlock(rwlock, time);
	return read_in_time(rw, CLOCK_REALTIME, time, SITE);
}

EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t *rwlock, clockid_t clock,
				      const struct timespec *time)
{
	struct rwlock *rw = ours(rwlock);
	const struct limit limit = {clock, time};

	if (unlikely(profile_on) && check_limit(&limit) == 0) {
		if (try_profiled(rwlock, PROFILE_WRITE, SITE))
			return 0;
		return end_profiled(rwlock, PROFILE_WRITE,
				    is_foreign(rwlock) ? glibc()->rwlock_clockwrlock(
								 rwlock, clock, time)
						       : write_until(rw, &limit, SITE),
				    SITE);
	}
	if (is_foreign(rwlock))
		return glibc()->rwlock_clockwrlock(rwlock, clock, time);
	return write_in_time(rw, clock, time, SITE);
}

EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t *rwlock,
				      const struct timespec *time)
{
	struct rwlock *rw = ours(rwlock);
	const struct limit limit = {CLOCK_REALTIME, time};

	if (unlikely(profile_on) && check_limit(&limit) == 0) {
		if (try_profiled(rwlock, PROFILE_WRITE, SITE))
			return 0;
		return end_profiled(rwlock, PROFILE_WRITE,
				    is_foreign(rwlock)
					    ? glibc()->rwlock_timedwrlock(rwlock, time)
					    : write_until(rw, &limit, SITE),
				    SITE);
	}
	if (is_foreign(rwlock))
		return glibc()->rwlock_timedwrlock(rwlock, time);
	return write_in_time(rw, CLOCK_REALTIME, time, SITE);
}

/* glibc knows what its attributes come to; and leaves the rest 0, which is free. */
EXPORT int pthread_rwlock_init(pthread_rwlock_t *rwlock, const pthread_rwlockattr_t *attr)
{
	start_if_first();
	if (unlikely(profile_on))
		profile_initialised(rwlock, SITE);
	/* Relaxed: whatever is there; a lock that was ours has left this behind. */
	pawl_rwlock_forget(&ours(rwlock)->plain,
			   pawl_load_relaxed(&ours(rwlock)->claim) == OURS);
	return glibc()->rwlock_init(rwlock, attr);
}

EXPORT int pthread_rwlock_destroy(pthread_rwlock_t *rwlock)
{
	start_if_first();
	return glibc()->rwlock_destroy(rwlock);
}

/* Names that glibc keeps for old programs. */
OLD_NAME(pthread_rwlock_rdlock);
OLD_NAME(pthread_rwlock_wrlock);
OLD_NAME(pthread_rwlock_unlock);
OLD_NAME(pthread_rwlock_tryrdlock);
OLD_NAME(pthread_rwlock_trywrlock);
OLD_NAME(pthread_rwlock_init);
OLD_NAME(pthread_rwlock_destroy);
