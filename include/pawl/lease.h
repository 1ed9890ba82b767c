/* SPDX-License-Identifier: MIT */
/*
 * pawl/lease.h - a lock that is taken without an atomic operation by the thread
 * that had it last, as long as that thread stays on its CPU.
 *
 * Choose it  for state of which there can be several copies, one for each CPU:
 *            caches, free lists, counters. Whoever cannot have one lease uses
 *            another copy, or a lock-free spare.
 * Avoid it   where there is one copy and everybody must have it: nothing here
 *            waits, so there is no queue and no turn.
 * Source     Khuong, "Notes on lock-free dynamic contention management", 2026.
 * Departs    from it: LIMBO may be settled by anybody on the lease's CPU; barriers
 *            go to that CPU alone; nesting is refused; see docs/design/leases.md.
 * Cost       acquire 0 RMW, release 0 RMW; 8 bytes, 0 = free. Another thread of
 *            the same CPU pays 2 RMW once, one of another CPU a membarrier.
 *
 * State      word = (version, state, cpu, lessee); handle = (flag, claim)
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
 *   I4  LIMBO(c, x) is settled by x itself, or by who has read another flag than
 *       this lease in x's handle, after reading this very LIMBO and then either
 *       a barrier on c (on all CPUs) or finding itself on c.
 *   I5  A flag is not 0 only inside, or between an acquire's start and its end;
 *       while it is not 0 every other acquire of the thread is refused.
 *   I6  Handles stay where they are for ever; a new thread may inherit one that
 *       an exited thread left, and its leases with it.
 *   I7  While a claim is PAWL_LEASE_NO_CLAIM its owner enters nothing without
 *       the slow path.
 *   I8  LEASED(c, anybody) is written by who is inside LEASED(c, x), as it leaves.
 *       Then sequences that have seen it, on c, may change what it guards: they end
 *       unless their thread is preempted, moved, or restarted by a barrier on c. So
 *       LIMBO(c, formerly anybody) is settled as in I4, without a flag to look at. No
 *       other word has this lessee, which is all that a sequence looks at.
 *
 * Order      [F] pairs with the look at the flag, [K], in the runtime's lease.c:
 *            who sees the flag changed sees the section that ended before.
 *            [B] are compiler fences: their partner is the breaker's barrier, or
 *            that it runs on the same CPU, where program order is enough.
 *            [R] pairs with [K]. The look at one's own lease orders nothing: one
 *            that was somebody else's in between has passed through the slow path.
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

/* A lessee that is no handle: whoever runs on the lease's CPU, by restartable sequences
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
	PAWL_LEASE_HOSTAGE,   /* somebody else is inside, perhaps preempted */
	PAWL_LEASE_ELSEWHERE, /* it is bound to another CPU: seize could break it */
	PAWL_LEASE_NESTED,    /* this thread is inside a lease already */
	PAWL_LEASE_POISONED   /* a thread exited inside it: recover */
};

/* What happened in this process so far. */
struct pawl_lease_stats {
	enum pawl_lease_mode mode;
	uint64_t handles;    /* ever made; as many threads had one at once */
	uint64_t takeovers;  /* of another thread's lease, without a barrier */
	uint64_t finishes;   /* of a break that somebody else had begun */
	uint64_t breaks;     /* of leases that were bound elsewhere */
	uint64_t hostages;   /* refusals because of somebody inside */
	uint64_t nested;     /* refusals because of being inside already */
	uint64_t poisoned;   /* exits inside a section */
	uint64_t barriers;   /* membarrier calls, whoever asked */
	uint64_t joined;     /* requests that somebody else's call served */
	uint64_t barrier_ns; /* spent in those calls */
};

enum { PAWL_LEASE_COUNTS = 6 };

/*
 * A thread's side of all its leases. The first line is read by whoever breaks
 * one, the second is the statistics'.
 */
struct pawl_lease_handle {
	PAWL_SEQUESTER pawl_atomic64 flag; /* address of the lease it is inside, or 0 */
	pawl_atomic64 claim;		   /* LEASED(0, id), or PAWL_LEASE_NO_CLAIM */
	const uint32_t *told;		   /* see pawl_cpu_now: what it is bound to */
	const uint32_t *home;		   /* as told, for pawl_lease_id */
	uint32_t id;			   /* what lease words call it */
	uint32_t slot;			   /* *home, if the thread has no CPU id */
	bool fenced;
	volatile bool keeping; /* its owner keeps house: see lease/shards.c */
	struct pawl_lease_handle *free_next;
	struct pawl_lease *stuck; /* what it was inside of when another thread forked */
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
/* The system tells the caller, whose handle it is, its CPU no more: binds its leases to
 * the thread from now on. Returns what pawl_lease_id does. */
uint64_t pawl_lease_lost_(struct pawl_lease_handle *h) __attribute__((cold));

/* As pawl_lease_acquire, and breaks a lease that is bound elsewhere. */
enum pawl_lease_result pawl_lease_seize(struct pawl_lease *l,
					struct pawl_lease_handle *h);

/*
 * Takes a poisoned lease: the caller is inside, must put right what it guards,
 * and release it. ELSEWHERE if it is not poisoned (any more).
 */
enum pawl_lease_result pawl_lease_recover(struct pawl_lease *l,
					  struct pawl_lease_handle *h);

/*
 * Begins to break a lease, whoever has it; nobody is disturbed in a section. The
 * next acquire on its CPU ends that, or a seize, or else pawl_lease_poll.
 */
void pawl_lease_break(struct pawl_lease *l);

/*
 * Ends all breaks that have begun, with one barrier at most, but for those with
 * somebody inside. Returns how many leases it set free. Never waits for them.
 */
unsigned pawl_lease_poll(void);

/*
 * Waits until nobody is inside *l, and keeps everybody out for ever, or until
 * pawl_lease_open: acquire then says HOSTAGE. False if ns nanoseconds were not
 * enough; then nothing has changed. The caller must not be inside itself.
 */
bool pawl_lease_drain(struct pawl_lease *l, uint64_t ns);

/* Lets threads have a drained lease again; poisoned, if it was. */
void pawl_lease_open(struct pawl_lease *l);

/* Fixes the mode before the first use: 0, EBUSY, or ENOTSUP if it is not to be
 * had here. Otherwise PAWL_LEASE_MODE is asked, and then the system. */
int pawl_lease_choose(enum pawl_lease_mode mode);
/* The mode, which is fixed from now on. */
enum pawl_lease_mode pawl_lease_mode(void);
/*
 * Whether the short operations of counter.h, idalloc.h and pool.h are restartable
 * sequences in this process, and need no lease as long as nothing is in the way. So it
 * is in the modes CPU and CID, where the system can end them by a barrier (Linux 5.10),
 * unless PAWL_LEASE_SEQUENCES is "no".
 */
bool pawl_lease_sequences(void);
/* Its name, as in PAWL_LEASE_MODE. */
const char *pawl_lease_mode_name(enum pawl_lease_mode mode);

/* One more than the greatest pawl_lease_id there can be. */
unsigned pawl_lease_ids(void);

/* What happened in this process so far. */
void pawl_lease_get_stats(struct pawl_lease_stats *stats);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

/*
 * This thread's handle. Threads past their exit, and those beyond the 65,533rd at
 * one time, get one with which everything is refused as NESTED.
 */
static inline struct pawl_lease_handle *pawl_lease_self(void)
{
	struct pawl_lease_handle *h = pawl_self()->lease;

	return __builtin_expect(h != NULL, true) ? h : pawl_lease_self_slow_();
}

/* What a lease would be bound to now, for choosing one: a CPU, a concurrency id,
 * or the thread's number where it has neither. It may be old at once. */
static inline uint64_t pawl_lease_id(void)
{
	struct pawl_lease_handle *h = pawl_lease_self();
	uint64_t id = pawl_cpu_now(h->home);

	return __builtin_expect((int32_t)id >= 0, true) ? id : pawl_lease_lost_(h);
}

/*
 * Tries to get inside *l. Never waits and makes no system call; OK means that the
 * caller is inside until it releases. Async-signal-safe, with pawl_lease_self (also
 * a thread's first), pawl_lease_id and pawl_lease_release.
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
	/* In this order: a lease once lost stays lost, a CPU comes back (I1).
	 * Relaxed: only we write what is looked for (I2), and who changes it shows
	 * that by the fence; the claim changes under the heavy fence (I7). */
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
	pawl_note_releasing(&l->word);	 /* to ourselves, or whom [W] lets in */
	pawl_store_release(&h->flag, 0); /* [R] */
}

#endif /* PAWL_LEASE_H */
