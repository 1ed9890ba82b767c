/* SPDX-License-Identifier: MIT */
/*
 * pawl/shards.h - copies of a data structure, as many as the contention needs.
 *
 * Choose it  for resources that can be divided: ids, objects, counts. Each busy CPU
 *            works on a copy of its own, a shard; idalloc.h, pool.h and counter.h
 *            are built on it.
 * Avoid it   where one order over all operations is needed, or where every
 *            operation must see the effects of all others.
 * Source     Khuong, "Notes on lock-free dynamic contention management", 2026:
 *            ATOMIC is its "pragmatic approach", LEASED its core-bound lease.
 * Departs    from it: LEASED does not grow when it meets a hostage, a lessee
 *            preempted inside; it yields, then works on the shared side for a
 *            while, so that there are no more shards than busy CPUs.
 * Cost       enter and exit: as lease.h, an addition and a multiplication.
 *
 * State      Two sorts of shard, all zero at first, in memory that stays:
 *
 *   leased   one for each id of lease.h, and `chain` - 1 spare ones. enter
 *            returns one with its lease held: plain code may work on it.
 *   shared   accessed by atomics only. LEASED has one, the overflow, for threads
 *            that cannot get a lease now. ATOMIC has only these, 1 << k of them;
 *            failed compare-and-swaps increase k, rounds without any decrease it.
 *
 *   I1  Plain data of a shard is accessed only with its lease held.
 *   I2  A thread that leaves a shard whose `used` is 0 sets it, and, with the lease
 *       still held, registers the shard as in use; each round of maintenance clears it.
 *       So maintenance knows every shard that a thread has left. A sequence does not
 *       set it, so maintenance also breaks a shard's lease if it is LEASED(c, anybody).
 *   I3  enter makes at most PAWL_SHARDS_YIELDS yields and one barrier, and does not
 *       wait: a thread that stops inside for ever blocks no other thread.
 *   I4  A thread that changes several words of a shared shard, or holds items that are
 *       in no shard, is between begin and end: a fork waits for its end, as it waits
 *       for a thread inside a leased shard.
 *   I5  There are shards of the numbers -1 and -2, whose leases no thread can get:
 *       these are the CPU numbers that the kernel reports once it stops updating them.
 *
 * Order      exit's release is lease.h's; it pairs with the next enter. A shared
 *            shard orders what its user's own atomics order.
 * Lifetime   destroy it when no thread is inside or will enter.
 * Checked    pawl check slots; tests/shards/.
 */
#ifndef PAWL_SHARDS_H
#define PAWL_SHARDS_H

#include <pawl/lease.h>
#include <pawl/thread.h>

/* Layout of shards that sequences access: the offset of the data, log2 of the size of a
 * counter's shard and of a stack of slots, and how many slots that has room for. Plain
 * numbers, for assembly. */
#define PAWL_SHARD_FIRST   16
#define PAWL_COUNTER_SHIFT 8
#define PAWL_SLOTS_SHIFT   9
#define PAWL_SLOTS_ROOM	   64

/*
 * Restartable sequences, where the system and the CPU have them; the back end supplies,
 * in pawl/backend/sequence.h:
 *   PAWL_SEQUENCES        whether this code has any; pawl/counter.h and slots.h test it
 *   pawl_sequence_place_() the value to pass as `place`
 *   pawl_sequence_add_(place, own, n)
 *                         adds n to the first word of the shard at *own that is this
 *                         CPU's, if that is LEASED to anybody (I8 of lease.h)
 *   pawl_sequence_pop_(place, own)
 *                         pops a slot from the stack in such a shard: a count, which is
 *                         stored last, and the slots behind it; UINT32_MAX if it cannot
 *   pawl_sequence_push_(place, own, slot)
 *                         pushes one
 * A sequence that fails has no effect. None of them retries.
 */
#include <pawl/backend/sequence.h>

/* For functions of a few instructions and a call of the slow path. Compilers count every
 * line of a sequence's assembly as an instruction, and would not inline them. */
#define PAWL_FAST_ static inline __attribute__((always_inline))

enum {
	PAWL_SHARDS_YIELDS = 4,	   /* to a hostage, before the shared side is used */
	PAWL_SHARDS_DETOUR = 64,   /* operations on the shared side thereafter */
	PAWL_SHARDS_TICK_MS = 10,  /* between two rounds of maintenance */
	PAWL_SHARDS_LIFE_MS = 100, /* minimal life of a shard */
};

enum pawl_shards_kind {
	PAWL_SHARDS_LEASED,
	PAWL_SHARDS_ATOMIC, /* a thread's shard is chosen by the id of lease.h */
	PAWL_SHARDS_RANDOM, /* ATOMIC, but chosen at random, and changed over time */
};

/* The head of a shard; the user's data follows. */
struct pawl_shard {
	struct pawl_lease lease;
	pawl_atomic64 used; /* since the last round of maintenance (I2) */
};

struct pawl_shards_plan {
	enum pawl_shards_kind kind;
	unsigned chain; /* leased shards for one id at most; 0 is 1 */
	size_t bytes;	/* of a shard, its struct pawl_shard included */
	/*
	 * Empties a shard that is no longer used: with its lease held, or, for
	 * ATOMIC, by atomics while late threads may still access it. NULL: shards
	 * are never emptied.
	 */
	void (*drain)(struct pawl_shard *s, void *owner);
	void (*drained)(void *owner); /* after a round that drained some; or NULL */
	void *owner;
};

/* Filled by pawl_shards_create; the fields of the fast path come first. */
struct pawl_shards {
	bool leased, at_random;
	size_t stride;
	char *own;	    /* the leased shard of id 0 */
	char *shared;	    /* the first shared one */
	pawl_atomic64 mask; /* shared shards in use, less 1: 2^k - 1 */
	pawl_atomic64 salt; /* of the random spread */

	PAWL_SEQUESTER struct pawl_shards_plan plan;
	unsigned ids;		     /* of lease.h */
	uint64_t most;		     /* mask's upper limit */
	size_t mapped;		     /* bytes */
	pawl_atomic64 top;	     /* no leased shard from here on has ever been used */
	pawl_atomic64 births;	     /* how often a leased shard came into use */
	pawl_atomic64 due;	     /* time of the next round of maintenance */
	pawl_atomic64 keeper;	     /* 2 * generation, + 1 during maintenance */
	pawl_atomic64 frozen;	     /* not 0: no leases are given out now */
	pawl_atomic64 failures;	     /* of compare-and-swaps, ATOMIC */
	pawl_atomic64 failures_then; /* value of failures at the last round, or growth */
	/* For the keeper: rounds without failures so far; and until it shrinks. */
	uint64_t quiet, patience;
};

struct pawl_shards_stats {
	uint64_t shards;		/* in use now */
	uint64_t yields;		/* to hostages */
	uint64_t hostages;		/* that were still there after the yields */
	uint64_t overflows;		/* entries that went to the shared side */
	uint64_t failures;		/* of compare-and-swaps, ATOMIC */
	struct pawl_lease_stats leases; /* of the process: mode, take-overs, barriers */
};

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Returns 0, or an errno. Reserves address space for all ids, and uses memory for those
 * in use. */
int pawl_shards_create(struct pawl_shards *p, const struct pawl_shards_plan *plan);
/* Requires that no thread uses them any more; nothing is drained. */
void pawl_shards_destroy(struct pawl_shards *p);

/*
 * One round of maintenance: drains shards that no thread has used for two rounds.
 * The slow paths do one every PAWL_SHARDS_TICK_MS; a program that takes no slow paths
 * may call it. Not inside. Does nothing while another thread does maintenance.
 */
void pawl_shards_maintain(struct pawl_shards *p);
/* A round of maintenance, if one is due. */
void pawl_shards_tick(struct pawl_shards *p);
/*
 * Drains all shards, used or not, and returns 0. EBUSY, having drained the others, if a
 * thread is inside one, or if another thread does maintenance; EDEADLK, in a signal
 * handler, if that thread is the interrupted one; ENOTSUP if the plan has no drain.
 */
int pawl_shards_reclaim(struct pawl_shards *p);

/*
 * Calls look(argument) while no thread is inside a leased shard and all work on the
 * shared side; again, if a shard came into use meanwhile. False, without a valid call,
 * if a thread did not leave its shard within the time, or if another thread does
 * maintenance. Not inside.
 */
bool pawl_shards_frozen(struct pawl_shards *p, uint64_t ns, void (*look)(void *argument),
			void *argument);

/* Counts of these shards and of the process's leases so far. */
void pawl_shards_get_stats(struct pawl_shards *p, struct pawl_shards_stats *stats);

/* One more than the greatest number of a leased shard that has ever been used, as in
 * pawl_shards_own(p, n). Unused ones in between are all zero. */
uint64_t pawl_shards_used(const struct pawl_shards *p);

/* Reports a failed compare-and-swap on a shared shard: enough of these add shards. */
void pawl_shards_contended(struct pawl_shards *p) __attribute__((cold));

/* Slow paths of the functions below. */
bool pawl_shards_begin_slow_(struct pawl_lease_handle *h) __attribute__((cold));
struct pawl_shard *pawl_shards_enter_slow_(struct pawl_shards *p,
					   struct pawl_lease_handle *h)
	__attribute__((cold, noinline));
void pawl_shards_note_use_(struct pawl_shards *p, struct pawl_shard *s)
	__attribute__((cold, noinline));

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

/* The leased shard of an id; spare ones follow in their order. */
static inline struct pawl_shard *pawl_shards_own(const struct pawl_shards *p, uint64_t id)
{
	return (struct pawl_shard *)(p->own + (ptrdiff_t)id * (ptrdiff_t)p->stride);
}

/*
 * Returns a shard with its lease held, to be left by exit; or NULL: work on the shared
 * side. ATOMIC always returns NULL; LEASED does in a signal handler that interrupted a
 * section, and while all candidates are hostages.
 */
static inline struct pawl_shard *pawl_shards_enter(struct pawl_shards *p,
						   struct pawl_lease_handle *h)
{
	struct pawl_shard *s;

	if (!p->leased)
		return NULL;
	s = pawl_shards_own(p, (uint64_t)(int32_t)pawl_cpu_now(h->home)); /* I5 */
	if (__builtin_expect(pawl_lease_acquire(&s->lease, h) == PAWL_LEASE_OK, true)) {
		if (s == NULL)
			__builtin_unreachable(); /* saves the caller a test */
		return s;
	}
	return pawl_shards_enter_slow_(p, h);
}

/* Leaves a shard that was entered. */
static inline void pawl_shards_exit(struct pawl_shards *p, struct pawl_shard *s,
				    struct pawl_lease_handle *h)
{
	/* Relaxed: a hint; pawl_shards_note_use_ has its own ordering. */
	if (__builtin_expect(pawl_load_relaxed(&s->used) == 0, false))
		pawl_shards_note_use_(p, s);
	pawl_lease_release(&s->lease, h);
}

/*
 * Begins work on shared shards, until pawl_shards_end (I4). False while the process
 * forks, in a signal handler that interrupted a section, and to a thread that is refused
 * leases: the caller then changes one word at a time.
 */
static inline bool pawl_shards_begin(struct pawl_shards *p, struct pawl_lease_handle *h)
{
	/* Relaxed: only this thread stores to it. */
	if (__builtin_expect(pawl_load_relaxed(&h->flag) != 0, false))
		return false;
	/* The address of a shared shard's lease, which no thread ever takes. */
	pawl_store_release(&h->flag, pawl_address(p->shared)); /* [F] */
	pawl_bare_light_fence();			       /* [B] */
	/* Relaxed: the claim changes under the heavy fence (I7 of lease.h). */
	if (__builtin_expect(pawl_load_relaxed(&h->claim) != PAWL_LEASE_NO_CLAIM, true))
		return true;
	return pawl_shards_begin_slow_(h);
}

/* Ends the work that pawl_shards_begin began, if that returned true. */
static inline void pawl_shards_end(struct pawl_lease_handle *h)
{
	pawl_store_release(&h->flag, 0); /* [R] */
}

/* The shared shard to use now; the next call may return another one. */
static inline struct pawl_shard *pawl_shards_shared(struct pawl_shards *p)
{
	/* Relaxed, here and below: any shared shard will do. */
	uint64_t mask = pawl_load_relaxed(&p->mask), id = pawl_lease_id();

	if (p->at_random) {
		/* Hashes the address of the thread's storage. */
		id = pawl_load_relaxed(&p->salt); /* Relaxed. */
		id += pawl_address(pawl_self()) >> 7;
		id = pawl_hash(id, 32);
	}
	return (struct pawl_shard *)(p->shared + (id & mask) * p->stride);
}

#endif /* PAWL_SHARDS_H */
