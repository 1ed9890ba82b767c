/* SPDX-License-Identifier: MIT */
/*
 * pawl/lease.h - a lock that the thread that had it last takes without an atomic
 * operation, as long as that thread stays on its CPU.
 *
 * Choose it  for state of which there can be several copies, one for each CPU:
 *            caches, free lists, counters. A thread that cannot get one lease uses
 *            another copy, or a lock-free fallback.
 * Avoid it   where there is one copy that every thread must get: no function here
 *            waits for a holder, so there is no queue and no fairness.
 * Source     Khuong, "Notes on lock-free dynamic contention management", 2026.
 * Departs    from it: any thread on the lease's CPU may settle LIMBO; barriers
 *            go to that CPU alone; nesting is refused; see docs/design/leases.md.
 * Cost       acquire 0 RMW, release 0 RMW; 8 bytes, 0 = free. Another thread of
 *            the same CPU pays 2 RMW once, one of another CPU a membarrier.
 *
 * State      word = (version, state, cpu, lessee); handle = (flag, claim). The lessee is
 *            the thread that a lease is bound to; it is inside from acquire to release.
 *            A hostage is a lessee that was preempted inside. To break a lease is to
 *            take it from its lessee: it is in LIMBO until a thread settles it, that is,
 *            has made sure that the lessee is not inside.
 *
 *   FREE --take--> LEASED(c, x) --break--> LIMBO(c, x) --settle--> LEASED or FREE
 *                      |  ^                    |   |
 *                      |  `----x itself--------'   `--drain--> DRAINED --open--> FREE
 *                      `--x exits inside--> POISONED --recover--> LEASED(c, y)
 *
 *   I1  A thread is inside iff its handle's flag is the lease's address and it
 *       has since seen, in this order, its CPU be c and the word be LEASED(c, x).
 *   I2  Only x writes LEASED(c, x), and its flag is the lease's address then.
 *   I3  Every change of the word increases its version: a breaker's compare and
 *       swap fails if anything happened in between.
 *   I4  LIMBO(c, x) is settled by x itself, or by a thread that has read another flag
 *       than this lease in x's handle, after it read this same LIMBO and then either
 *       passed a barrier on c (on all CPUs) or found itself on c.
 *   I5  A flag is not 0 only inside, or between an acquire's start and its end;
 *       while it is not 0 every other acquire of the thread is refused.
 *   I6  Handles are never freed or moved; a new thread may reuse the handle of an
 *       exited one, and gets its leases with it.
 *   I7  While a claim is PAWL_LEASE_NO_CLAIM, its owner enters a lease by the slow
 *       path only.
 *   I8  LEASED(c, anybody) is written by a thread that leaves LEASED(c, x). Then
 *       sequences that have seen it, on c, may change the guarded data: they complete
 *       unless their thread is preempted, moved, or restarted by a barrier on c. So
 *       LIMBO(c, formerly anybody) is settled as in I4, without a flag to read. No
 *       other word has this lessee, and a sequence checks nothing else.
 *
 * Order      [F] pairs with the load of the flag, [K], in the runtime's lease.c: a
 *            breaker that sees the flag changed sees the section that ended before.
 *            [B] are compiler fences: their partner is the breaker's barrier, or
 *            that it runs on the same CPU, where program order is enough.
 *            [R] pairs with [K]. A lessee's load of its own lease orders nothing: if
 *            another thread had the lease in between, the lessee got it back by the
 *            slow path.
 * Lifetime   [R] does not touch *l. Drain a lease before it goes away.
 * Checked    pawl check lease, on simulated CPUs, with mutants for each step of the
 *            protocol; tests/runtime/lease.c; tests/soak/leases.c.
 */
#ifndef PAWL_LEASE_H
#define PAWL_LEASE_H

#include <pawl/thread.h>
#include <pawl/backend/debug.h>

struct pawl_lease {
	pawl_atomic64 word;
};

#define PAWL_LEASE_INIT PAWL_ZERO

/* The word: version 34 | state 2 | cpu 12 | lessee 16. Zero is FREE. */
enum pawl_lease_state {
	PAWL_LEASE_FREE,
	PAWL_LEASE_LEASED,
	PAWL_LEASE_LIMBO,
	PAWL_LEASE_POISON
};

#define PAWL_LEASE_LESSEE_BITS 16
#define PAWL_LEASE_CPU_BITS    12
#define PAWL_LEASE_STATE_SHIFT (PAWL_LEASE_LESSEE_BITS + PAWL_LEASE_CPU_BITS)
#define PAWL_LEASE_VERSION_ONE ((uint64_t)4 << PAWL_LEASE_STATE_SHIFT)
#define PAWL_LEASE_BINDING     (PAWL_LEASE_VERSION_ONE - 1) /* all but the version */
#define PAWL_LEASE_NO_CLAIM    (~PAWL_LEASE_BINDING)	    /* no binding equals it */

/* A lessee that is no handle: any thread on the lease's CPU, by restartable sequences
 * (I8). */
#define PAWL_LEASE_ANYBODY 0xfffe

/* What leases are bound to. */
enum pawl_lease_mode {
	PAWL_LEASE_CPU,	   /* a CPU and a thread on it; the default */
	PAWL_LEASE_CID,	   /* as CPU, by the kernel's dense concurrency ids */
	PAWL_LEASE_RDPID,  /* as CPU, by the instruction of that name */
	PAWL_LEASE_THREAD, /* a thread, wherever it runs */
	PAWL_LEASE_FENCED  /* a thread, without membarrier: acquire is fenced */
};

enum pawl_lease_result {
	PAWL_LEASE_OK,	      /* the caller is inside; it must release */
	PAWL_LEASE_HOSTAGE,   /* another thread is inside, perhaps preempted */
	PAWL_LEASE_ELSEWHERE, /* it is bound to another CPU: seize could break it */
	PAWL_LEASE_NESTED,    /* this thread is inside a lease already */
	PAWL_LEASE_POISONED   /* a thread exited inside it: recover */
};

/* Counts of this process so far. */
struct pawl_lease_stats {
	enum pawl_lease_mode mode;
	uint64_t handles;    /* made so far: the most threads that had one at once */
	uint64_t takeovers;  /* of another thread's lease, without a barrier */
	uint64_t finishes;   /* of a break that another thread had begun */
	uint64_t breaks;     /* of leases that were bound elsewhere */
	uint64_t hostages;   /* refusals because another thread was inside */
	uint64_t nested;     /* refusals because the caller was inside already */
	uint64_t poisoned;   /* exits inside a section */
	uint64_t barriers;   /* membarrier calls, by leases and others */
	uint64_t joined;     /* requests that another thread's call served */
	uint64_t barrier_ns; /* spent in those calls */
};

enum { PAWL_LEASE_COUNTS = 6 };

/*
 * A thread's side of all its leases. Breakers read the first cache line; the second
 * holds statistics.
 */
struct pawl_lease_handle {
	PAWL_SEQUESTER pawl_atomic64 flag; /* address of the lease it is inside, or 0 */
	pawl_atomic64 claim;		   /* LEASED(0, id), or PAWL_LEASE_NO_CLAIM */
	const uint32_t *told; /* see pawl_cpu_now: the CPU that leases are bound to */
	const uint32_t *home; /* as told, for pawl_lease_id */
	uint32_t id;	      /* its number in lease words */
	uint32_t slot;	      /* *home, if the thread has no CPU id */
	bool fenced;
	volatile bool keeping; /* its owner does maintenance: see lease/shards.c */
	struct pawl_lease_handle *free_next;
	struct pawl_lease *stuck; /* the lease it was inside when another thread forked */
	__attribute__((aligned(64))) pawl_atomic64 counts[PAWL_LEASE_COUNTS];
};

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct pawl_lease_handle *pawl_lease_self_slow_(void) __attribute__((cold));
enum pawl_lease_result pawl_lease_acquire_slow_(struct pawl_lease *l,
						struct pawl_lease_handle *h)
	__attribute__((noinline));
enum pawl_lease_result pawl_lease_nested_(struct pawl_lease_handle *h)
	__attribute__((cold));
/* The kernel no longer tells the caller, the handle's owner, its CPU: binds its leases
 * to the thread from now on. Returns what pawl_lease_id does. */
uint64_t pawl_lease_lost_(struct pawl_lease_handle *h) __attribute__((cold));

/* As pawl_lease_acquire, but breaks a lease that is bound elsewhere. */
enum pawl_lease_result pawl_lease_seize(struct pawl_lease *l,
					struct pawl_lease_handle *h);

/*
 * Takes a poisoned lease: the caller is inside, must repair what it guards, and
 * release it. ELSEWHERE if it is not poisoned (any more).
 */
enum pawl_lease_result pawl_lease_recover(struct pawl_lease *l,
					  struct pawl_lease_handle *h);

/*
 * Begins to break a lease, whatever thread has it, without disturbing a section. The
 * next acquire on its CPU completes the break, or a seize, or pawl_lease_poll.
 */
void pawl_lease_break(struct pawl_lease *l);

/*
 * Completes all breaks that have begun, with one barrier at most, except those of
 * leases with a thread inside. Returns how many leases it freed. Never waits for a
 * thread to leave.
 */
unsigned pawl_lease_poll(void);

/*
 * Waits until no thread is inside *l, and keeps all threads out until
 * pawl_lease_open: acquire then returns HOSTAGE. False, without effect, if ns
 * nanoseconds were not enough. The caller must not be inside itself.
 */
bool pawl_lease_drain(struct pawl_lease *l, uint64_t ns);

/* Lets threads acquire a drained lease again; it is poisoned if it was before. */
void pawl_lease_open(struct pawl_lease *l);

/* Sets the mode, before the first use of leases. Returns 0; EBUSY after the first use;
 * ENOTSUP if this system does not support the mode. Without this call the environment
 * variable PAWL_LEASE_MODE decides, and then what the system supports. */
int pawl_lease_choose(enum pawl_lease_mode mode);
/* The mode; it cannot change from now on. */
enum pawl_lease_mode pawl_lease_mode(void);
/*
 * Whether the operations of counter.h, idalloc.h and pool.h are restartable sequences
 * in this process, which take a lease only when a sequence fails. True in the modes CPU
 * and CID where a barrier can end sequences (Linux 5.10), unless the environment
 * variable PAWL_LEASE_SEQUENCES is "no".
 */
bool pawl_lease_sequences(void);
/* The name of a mode, as in PAWL_LEASE_MODE. */
const char *pawl_lease_mode_name(enum pawl_lease_mode mode);

/* One more than the greatest possible pawl_lease_id. */
unsigned pawl_lease_ids(void);

/* Copies the counts of this process so far. */
void pawl_lease_get_stats(struct pawl_lease_stats *stats);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

/*
 * This thread's handle. Threads past their exit, and those beyond the 65,533rd at
 * one time, get a handle with which every acquire returns NESTED.
 */
static inline struct pawl_lease_handle *pawl_lease_self(void)
{
	struct pawl_lease_handle *h = pawl_self()->lease;

	return __builtin_expect(h != NULL, true) ? h : pawl_lease_self_slow_();
}

/* What a lease would be bound to now, for choosing one: a CPU, a concurrency id,
 * or the thread's number where it has neither. May be stale on return. */
static inline uint64_t pawl_lease_id(void)
{
	struct pawl_lease_handle *h = pawl_lease_self();
	uint64_t id = pawl_cpu_now(h->home);

	return __builtin_expect((int32_t)id >= 0, true) ? id : pawl_lease_lost_(h);
}

/*
 * Tries to enter *l. Never waits and makes no system call; OK means that the caller is
 * inside until it releases *l. Async-signal-safe, as are pawl_lease_self (also a
 * thread's first call), pawl_lease_id and pawl_lease_release.
 */
static inline enum pawl_lease_result pawl_lease_acquire(struct pawl_lease *l,
							struct pawl_lease_handle *h)
{
	uint64_t cpu;

	/* Relaxed: only this thread stores to it (I5). */
	if (__builtin_expect(pawl_load_relaxed(&h->flag) != 0, false))
		return pawl_lease_nested_(h);
	pawl_store_release(&h->flag, pawl_address(l)); /* [F] */
	pawl_bare_light_fence();		       /* [B] */
	cpu = pawl_cpu_now(h->told);
	pawl_bare_light_fence(); /* [B] */
	/* CPU first: a lost lease stays lost, but a thread may return to its CPU (I1).
	 * Relaxed: only this thread writes the expected value (I2), and a breaker's barrier
	 * publishes another one; the claim changes under the heavy fence (I7). */
	if (__builtin_expect((pawl_load_relaxed(&l->word) & PAWL_LEASE_BINDING) ==
				     (pawl_load_relaxed(&h->claim) |
				      cpu << PAWL_LEASE_LESSEE_BITS),
			     true))
		return PAWL_LEASE_OK;
	return pawl_lease_acquire_slow_(l, h);
}

/* Requires the caller to be inside *l. */
static inline void pawl_lease_release(struct pawl_lease *l, struct pawl_lease_handle *h)
{
	pawl_note_releasing(&l->word); /* to this thread, or to the next lessee by [W] */
	pawl_store_release(&h->flag, 0); /* [R] */
}

#endif /* PAWL_LEASE_H */
