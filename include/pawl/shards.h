/* SPDX-License-Identifier: MIT */
/*
 * pawl/shards.h - copies of a data structure, as many as there is contention.
 *
 * Choose it  for resources that come in pieces: ids, objects, counts. Each CPU
 *            that is busy works on a copy of its own, a shard; see idalloc.h,
 *            pool.h and counter.h for what is ready made.
 * Avoid it   where one order over all operations is needed, or where every
 *            operation must see what all others left.
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
 *   shared   reached by atomics alone. LEASED has one: the overflow, for whoever
 *            cannot have a lease now. ATOMIC has nothing but these, 1 << k of
 *            them, where failed compare-and-swaps make k grow and quiet shrink.
 *
 *   I1  Plain data of a shard is touched only with its lease held.
 *   I2  Whoever leaves a shard whose `used` is 0 sets it, and, with the lease still
 *       held, notes that the shard is in use; each round of maintenance clears it.
 *       So a shard that is left is one that maintenance knows of. A sequence does not
 *       set it, so maintenance also makes the shard nobody's, if it was anybody's.
 *   I3  enter makes at most PAWL_SHARDS_YIELDS yields and one barrier, and waits
 *       for nothing: whoever stops for ever inside stops nobody else.
 *   I4  Whoever changes several words of a shared shard, or has things that are in
 *       none, has begun: then a fork waits until it ends, as it waits for who is
 *       inside a leased shard.
 *   I5  There are shards of the numbers -1 and -2, which nobody can ever have: what the
 *       kernel tells a thread when it ceases to tell it a CPU.
 *
 * Order      exit's release is lease.h's; it pairs with the next enter. A shared
 *            shard orders what its user's own atomics order.
 * Lifetime   destroy it when nobody is inside, nor will be.
 * Checked    pawl check slots; tests/shards/.
 */
#ifndef PAWL_SHARDS_H
#define PAWL_SHARDS_H

#include <pawl/lease.h>
#include <pawl/thread.h>

/* Of shards that sequences work on: where their data begins, the size of a counter's
 * and of a stack of slots as a power of 2, and how many slots that has room for. Plain
 * numbers, for assembly. */
#define PAWL_SHARD_FIRST   16
#define PAWL_COUNTER_SHIFT 8
#define PAWL_SLOTS_SHIFT   9
#define PAWL_SLOTS_ROOM	   64

/*
 * Restartable sequences, where the system and the CPU have them; the back end supplies,
 * in pawl/backend/sequence.h:
 *   PAWL_SEQUENCES        whether this code has any; pawl/counter.h and slots.h ask
 *   pawl_sequence_place_() to be passed on
 *   pawl_sequence_add_(place, own, n)
 *                         adds n to the first word of the shard at *own that is this
 *                         CPU's, if that is LEASED to anybody (I8 of lease.h)
 *   pawl_sequence_pop_(place, own)
 *                         takes a slot from the stack in such a shard: a count, which is
 *                         stored last, and the slots behind it; UINT32_MAX if it cannot
 *   pawl_sequence_push_(place, own, slot)
 *                         puts one there
 * What fails has done nothing. None of them repeats anything.
 */
#include <pawl/backend/sequence.h>

/* Of what is short, though compilers count every line of a sequence: code of a handful of
 * instructions, and a call for the rest. */
#define PAWL_FAST_ static inline __attribute__((always_inline))

enum {
	PAWL_SHARDS_YIELDS = 4,	   /* to a hostage, before we go elsewhere */
	PAWL_SHARDS_DETOUR = 64,   /* operations on the shared side thereafter */
	PAWL_SHARDS_TICK_MS = 10,  /* between two rounds of maintenance */
	PAWL_SHARDS_LIFE_MS = 100, /* that a shard lives at least */
};

enum pawl_shards_kind {
	PAWL_SHARDS_LEASED,
	PAWL_SHARDS_ATOMIC, /* threads are spread by the id of lease.h */
	PAWL_SHARDS_RANDOM, /* ATOMIC, but spread at random, and anew with time */
};

/* How a shard begins; the user's data follows. */
struct pawl_shard {
	struct pawl_lease lease;
	pawl_atomic64 used; /* since the last round of maintenance (I2) */
};

struct pawl_shards_plan {
	enum pawl_shards_kind kind;
	unsigned chain; /* leased shards for one id at most; 0 is 1 */
	size_t bytes;	/* of a shard, its struct pawl_shard included */
	/*
	 * Empties a shard that nobody uses any more: with its lease held, or, of
	 * ATOMIC, by atomics while stragglers may still come by. NULL: shards
	 * stay as they are.
	 */
	void (*drain)(struct pawl_shard *s, void *owner);
	void (*drained)(void *owner); /* after a round that drained some; or NULL */
	void *owner;
};

/* Filled by pawl_shards_create; what the fast path reads comes first. */
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
	pawl_atomic64 births;	     /* how often one came into use */
	pawl_atomic64 due;	     /* when the next round of maintenance is */
	pawl_atomic64 keeper;	     /* 2 * generation, + 1 while one keeps house */
	pawl_atomic64 frozen;	     /* not 0: leases are not to be had now */
	pawl_atomic64 failures;	     /* of compare-and-swaps, ATOMIC */
	pawl_atomic64 failures_then; /* at the last round, or growth */
	uint64_t quiet, patience;    /* keeper: rounds without failures; to shrink */
};

struct pawl_shards_stats {
	uint64_t shards;		/* in use now */
	uint64_t yields;		/* to hostages */
	uint64_t hostages;		/* that outlasted the yields */
	uint64_t overflows;		/* entries that were sent to the shared side */
	uint64_t failures;		/* of compare-and-swaps, ATOMIC */
	struct pawl_lease_stats leases; /* of the process: mode, take-overs, barriers */
};

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Returns 0, or an errno. Takes address space for all ids, and memory for those
 * in use. */
int pawl_shards_create(struct pawl_shards *p, const struct pawl_shards_plan *plan);
/* Requires that nobody uses them any more; nothing is drained. */
void pawl_shards_destroy(struct pawl_shards *p);

/*
 * One round of maintenance: drains shards that nobody has used for two rounds.
 * The slow paths do one every PAWL_SHARDS_TICK_MS; call it where none are taken.
 * Not inside. Does nothing if another thread is at it.
 */
void pawl_shards_maintain(struct pawl_shards *p);
/* A round, if it is time. */
void pawl_shards_tick(struct pawl_shards *p);
/*
 * Drains all shards, used or not: 0. EBUSY, having drained what it could, if somebody
 * is inside one, or another thread is at it; EDEADLK, in a signal handler, if that
 * somebody is the interrupted thread; ENOTSUP if the plan has no drain.
 */
int pawl_shards_reclaim(struct pawl_shards *p);

/*
 * Calls look(argument) while nobody is inside a leased shard, and all work on the
 * shared side; again, if a shard came into use meanwhile. False, without a look
 * that counts, if somebody did not leave his shard within the time, or another
 * thread keeps house. Not inside.
 */
bool pawl_shards_frozen(struct pawl_shards *p, uint64_t ns, void (*look)(void *argument),
			void *argument);

/* What happened so far, here and with leases. */
void pawl_shards_get_stats(struct pawl_shards *p, struct pawl_shards_stats *stats);

/* How many leased shards have ever been used: those of pawl_shards_own(p, 0) and
 * so on, with gaps of such as were not, which are all zero. */
uint64_t pawl_shards_used(const struct pawl_shards *p);

/* A compare-and-swap failed on a shared shard: enough of these make more. */
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
 * Returns a shard, to be left by exit, on which the caller is alone; or NULL:
 * work on the shared side. That is what ATOMIC always says, and LEASED to a
 * signal handler that interrupted a section, and where hostages are in the way.
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
			__builtin_unreachable(); /* spares the caller a test */
		return s;
	}
	return pawl_shards_enter_slow_(p, h);
}

/* Leaves a shard that was entered. */
static inline void pawl_shards_exit(struct pawl_shards *p, struct pawl_shard *s,
				    struct pawl_lease_handle *h)
{
	/* Relaxed: a hint of when to look; what is noted then has its own order. */
	if (__builtin_expect(pawl_load_relaxed(&s->used) == 0, false))
		pawl_shards_note_use_(p, s);
	pawl_lease_release(&s->lease, h);
}

/*
 * Work on shared shards begins, to be ended (I4). False while the process forks, in a
 * handler that interrupted a section, and to a thread that is refused leases: the
 * caller then changes one word at a time.
 */
static inline bool pawl_shards_begin(struct pawl_shards *p, struct pawl_lease_handle *h)
{
	/* Relaxed: only this thread stores to it. */
	if (__builtin_expect(pawl_load_relaxed(&h->flag) != 0, false))
		return false;
	/* A shared shard's lease, which nobody ever takes. */
	pawl_store_release(&h->flag, pawl_address(p->shared)); /* [F] */
	pawl_bare_light_fence();			       /* [B] */
	/* Relaxed: the claim changes under the heavy fence (I7 of lease.h). */
	if (__builtin_expect(pawl_load_relaxed(&h->claim) != PAWL_LEASE_NO_CLAIM, true))
		return true;
	return pawl_shards_begin_slow_(h);
}

/* Ends what pawl_shards_begin began, if that said true. */
static inline void pawl_shards_end(struct pawl_lease_handle *h)
{
	pawl_store_release(&h->flag, 0); /* [R] */
}

/* The shared shard to use now; another one, perhaps, at the next call. */
static inline struct pawl_shard *pawl_shards_shared(struct pawl_shards *p)
{
	/* Relaxed, here and below: any shared shard will do. */
	uint64_t mask = pawl_load_relaxed(&p->mask), id = pawl_lease_id();

	if (p->at_random) {
		/* By where the thread's storage is. */
		id = pawl_load_relaxed(&p->salt); /* Relaxed. */
		id += pawl_address(pawl_self()) >> 7;
		id = pawl_hash(id, 32);
	}
	return (struct pawl_shard *)(p->shared + (id & mask) * p->stride);
}

#endif /* PAWL_SHARDS_H */
