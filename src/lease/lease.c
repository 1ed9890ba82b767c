/* SPDX-License-Identifier: MIT */
/*
 * The slow paths of leases: every transition but the lessee's own acquire and release. See
 * pawl/lease.h for the states and I1 to I8.
 *
 * Order: every change of a word is a compare-and-swap, acquire and release, so the
 * transitions of a lease are ordered: [W] pairs with itself. Loads of the word acquire, too,
 * before the handle that the word names is accessed: the handle's memory is as old as the
 * word. A section ends with a store to a flag: [K] pairs with [F] and [R], also those
 * of the header. Between the change to LIMBO and [K] comes what makes a lessee visible that
 * missed the change: the barrier, where [H] pairs with [B] of pawl/lease.h; a full fence in
 * the fenced mode, where [E] pairs with itself; or, on the lessee's own CPU, only the
 * compiler fence [B]. [C] pairs with [D] of lease/handle.c: a thread that enters during a
 * fork is seen by the fork, or sees it. The end of a sequence, by a barrier or a context
 * switch on its CPU, orders what it did; its load of the word, which pairs with [W], orders
 * what it sees.
 */
#include "lease/leases.h"

struct pawl_lease_handle pawl_lease_refused = {
	.flag = {.raw = 1},
	.told = &pawl_lease_refused.slot,
	.home = &pawl_lease_refused.slot,
};

/* Attempts before a lease that other threads keep changing counts as a hostage, so that
 * acquire ends. */
enum { ATTEMPTS = 16 };

/* A breaker that slept between its load of a word and its compare-and-swap loads it again:
 * the 2^34 versions could wrap, at one each 8 ns, in two minutes. */
enum { STALE_NS = 1000 * 1000 * 1000 };

/* The thread's CPU; LEASE_NOWHERE if the system does not tell it. */
static uint64_t cpu_now(const struct pawl_lease_handle *h)
{
	uint64_t cpu = pawl_cpu_now(h->told);

	return cpu < LEASE_CPUS ? cpu : LEASE_NOWHERE;
}

static enum pawl_lease_state state_of(uint64_t word)
{
	return (enum pawl_lease_state)(word >> PAWL_LEASE_STATE_SHIFT & 3);
}

static uint64_t cpu_of(uint64_t word)
{
	return word >> PAWL_LEASE_LESSEE_BITS & ((1 << PAWL_LEASE_CPU_BITS) - 1);
}

static uint64_t lessee_of(uint64_t word)
{
	return word & LEASE_NOBODY;
}

/* The successor of a word, with the next version (I3). */
static uint64_t after(uint64_t word, enum pawl_lease_state state, uint64_t cpu,
		      uint64_t lessee)
{
	return (word & ~PAWL_LEASE_BINDING) + PAWL_LEASE_VERSION_ONE +
	       ((uint64_t)state << PAWL_LEASE_STATE_SHIFT) +
	       (cpu << PAWL_LEASE_LESSEE_BITS) + lessee;
}

/* LIMBO(c, x), the successor of LEASED(c, x). LEASED(c, anybody) gets another lessee, so
 * that sequences fail (I8). */
static uint64_t limbo_after(uint64_t word, uint64_t cpu)
{
	uint64_t lessee = lessee_of(word);

	return after(word, PAWL_LEASE_LIMBO, cpu,
		     lessee == LEASE_ANYBODY ? LEASE_FORMERLY : lessee);
}

static uint64_t free_after(uint64_t word)
{
	return after(word, PAWL_LEASE_FREE, 0, 0);
}

static bool change(struct pawl_lease *l, uint64_t from, uint64_t to)
{
	return pawl_cas_acq_rel(&l->word, from, to); /* [W] */
}

uint64_t pawl_lease_generation;

/* A word's cpu while a thread drains the lease. In the child of a fork the parent's drains
 * are plain LIMBO: their threads do not exist there, and a thread inside still shows by its
 * flag. (A word that no thread has changed during 256 nested forks looks drained in the
 * last child.) */
static uint64_t draining(void)
{
	return LEASE_DRAINING + pawl_lease_generation % LEASE_GENERATIONS;
}

static bool drained(uint64_t word)
{
	return state_of(word) == PAWL_LEASE_LIMBO &&
	       (lessee_of(word) == LEASE_NOBODY || cpu_of(word) == draining());
}

/* Whether x of LIMBO(c, x) is inside. Final only after the barrier, or what stands for it
 * (I4). */
static bool occupied(const struct pawl_lease *l, uint64_t word)
{
	pawl_bare_light_fence(); /* [B] */
	if (lessee_of(word) == LEASE_FORMERLY)
		return false; /* I8 */
	return pawl_load_acquire(&pawl_lease_handle_of(lessee_of(word))->flag) ==
	       pawl_address(l); /* [K] pairs with [F] and [R] */
}

/* How h can settle a lease that is in LIMBO, or about to be: not at all; as the lessee
 * itself; from the lessee's CPU; by a fence, in the fenced mode; by a barrier. */
enum way { NO_WAY, OWN, LOCAL, FENCE, BARRIER };

static enum way way_to(uint64_t word, const struct pawl_lease_handle *h, bool far)
{
	uint64_t cpu;

	if (lessee_of(word) == h->id)
		return OWN;
	if (h->fenced)
		return FENCE;
	cpu = cpu_now(h);
	if (cpu == cpu_of(word) && cpu != LEASE_NOWHERE)
		return LOCAL;
	return far ? BARRIER : NO_WAY;
}

/*
 * I4: settles LIMBO(c, x), which the caller has read or written, for h. The way is
 * determined after that: LOCAL is enough because a lessee that runs on this CPU later sees
 * the LIMBO that we saw.
 */
static enum pawl_lease_result settle(const struct pawl_lease *l, uint64_t word,
				     const struct pawl_lease_handle *h, bool far,
				     enum way *way)
{
	pawl_bare_light_fence(); /* [B] */
	*way = way_to(word, h, far);
	if (*way == OWN)
		return PAWL_LEASE_OK;
	if (*way == FENCE)
		pawl_full_fence(); /* [E] pairs with [E] in enter */
	if (*way == NO_WAY ||
	    (*way == BARRIER && !pawl_lease_barrier(cpu_of(word)))) /* [H] */
		return PAWL_LEASE_ELSEWHERE;
	return occupied(l, word) ? PAWL_LEASE_HOSTAGE : PAWL_LEASE_OK;
}

/* Counts how h got a lease. */
static void count(struct pawl_lease_handle *h, enum way way, bool broke)
{
	if (way == BARRIER)
		pawl_lease_count(h, LEASE_BREAKS);
	else if (way != NO_WAY && way != OWN)
		pawl_lease_count(h, broke ? LEASE_TAKEOVERS : LEASE_FINISHES);
}

/*
 * Makes h the lessee of *l; its flag is *l's address already. By I2, success means that h
 * is inside: a thread that breaks the lease after this sees the flag.
 */
static enum pawl_lease_result take(struct pawl_lease *l, struct pawl_lease_handle *h,
				   bool far)
{
	uint64_t begun = far ? pawl_os_now() : 0;
	int attempt;

	for (attempt = 0; attempt < ATTEMPTS; attempt++) {
		uint64_t word = pawl_load_acquire(&l->word); /* [W] */
		enum pawl_lease_state state = state_of(word);
		enum pawl_lease_result result;
		enum way way = NO_WAY;
		bool broke = false;

		if (state == PAWL_LEASE_POISON)
			return PAWL_LEASE_POISONED;
		if (drained(word))
			return PAWL_LEASE_HOSTAGE;
		if (state == PAWL_LEASE_LEASED && lessee_of(word) == h->id && h->fenced)
			return PAWL_LEASE_OK; /* I1, after [E] in enter */
		if (state == PAWL_LEASE_LEASED && lessee_of(word) != h->id) {
			uint64_t limbo = limbo_after(word, cpu_of(word));

			if (way_to(word, h, far) == NO_WAY)
				return PAWL_LEASE_ELSEWHERE;
			if (!change(l, word, limbo))
				continue;
			word = limbo;
			state = PAWL_LEASE_LIMBO;
			broke = true;
		}
		if (state == PAWL_LEASE_LIMBO) {
			result = settle(l, word, h, far, &way);
			if (result != PAWL_LEASE_OK)
				return result;
			if (far && pawl_os_now() - begun > STALE_NS) {
				begun = pawl_os_now();
				continue;
			}
		}
		if (change(l, word, after(word, PAWL_LEASE_LEASED, cpu_now(h), h->id))) {
			count(h, way, broke);
			return PAWL_LEASE_OK;
		}
	}
	return PAWL_LEASE_HOSTAGE;
}

/* Number of forks under way: while it is not 0, no thread enters by these slow paths. */
static pawl_atomic64 closed;

/* Requires the flag of h to be *l's address. */
static enum pawl_lease_result enter(struct pawl_lease *l, struct pawl_lease_handle *h,
				    bool far)
{
	enum pawl_lease_result result = PAWL_LEASE_HOSTAGE;

	if (h->fenced)
		pawl_full_fence(); /* [E] pairs with [E] in settle */
	else
		pawl_light_fence(); /* [C] */
	/* Relaxed: ordered by the fence. */
	if (pawl_load_relaxed(&closed) == 0)
		result = take(l, h, far);
	if (result == PAWL_LEASE_OK) {
		pawl_note_acquired(&l->word);
		return result;
	}
	if (result == PAWL_LEASE_HOSTAGE)
		pawl_lease_count(h, LEASE_HOSTAGES);
	pawl_store_release(&h->flag, 0); /* [R] pairs with [K]; I5 */
	return result;
}

enum pawl_lease_result pawl_lease_acquire_slow_(struct pawl_lease *l,
						struct pawl_lease_handle *h)
{
	return enter(l, h, false);
}

enum pawl_lease_result pawl_lease_nested_(struct pawl_lease_handle *h)
{
	pawl_lease_count(h, LEASE_NESTINGS);
	return PAWL_LEASE_NESTED;
}

enum pawl_lease_result pawl_lease_seize(struct pawl_lease *l, struct pawl_lease_handle *h)
{
	/* Relaxed: only this thread stores to it (I5). */
	if (pawl_load_relaxed(&h->flag) != 0)
		return pawl_lease_nested_(h);
	pawl_store_release(&h->flag, pawl_address(l)); /* [F] pairs with [K] */
	return enter(l, h, true);
}

enum pawl_lease_result pawl_lease_recover(struct pawl_lease *l,
					  struct pawl_lease_handle *h)
{
	uint64_t word;

	/* Relaxed: only this thread stores to it (I5). */
	if (pawl_load_relaxed(&h->flag) != 0)
		return pawl_lease_nested_(h);
	pawl_store_release(&h->flag, pawl_address(l)); /* [F] pairs with [K] */
	word = pawl_load_acquire(&l->word);	       /* [W] */
	pawl_note_acquired(&l->word);
	if (state_of(word) == PAWL_LEASE_POISON &&
	    change(l, word, after(word, PAWL_LEASE_LEASED, cpu_now(h), h->id)))
		return PAWL_LEASE_OK;
	pawl_store_release(&h->flag, 0); /* [R] pairs with [K]; I5 */
	return PAWL_LEASE_ELSEWHERE;
}

void pawl_lease_share(struct pawl_lease *l, struct pawl_lease_handle *h, uint64_t cpu)
{
	/* Relaxed: our own lease; the compare-and-swap fails if it no longer is. */
	uint64_t word = pawl_load_relaxed(&l->word);

	if (pawl_lease_sequences() && !pawl_lease_closed() &&
	    state_of(word) == PAWL_LEASE_LEASED && lessee_of(word) == h->id &&
	    cpu_of(word) == cpu) {
		/* Before the release: from here on another thread can take the lease over. */
		pawl_note_releasing(&l->word);
		change(l, word, after(word, PAWL_LEASE_LEASED, cpu, LEASE_ANYBODY));
	}
}

void pawl_lease_unshare(struct pawl_lease *l)
{
	uint64_t word = pawl_load_acquire(&l->word); /* [W] */

	if (lessee_of(word) == LEASE_ANYBODY)
		change(l, word, limbo_after(word, cpu_of(word)));
}

void pawl_lease_abandon(struct pawl_lease_handle *h, struct pawl_lease *l)
{
	uint64_t word;

	if (l == NULL) {
		pawl_store_release(&h->flag, 0); /* [R] */
		return;
	}
	pawl_note_releasing(&l->word);
	/* Ends: other threads can only make a lease with a thread inside LIMBO, or fail to
	 * drain it. */
	for (;;) {
		word = pawl_load_acquire(&l->word); /* [W] */
		if (lessee_of(word) != h->id || (state_of(word) != PAWL_LEASE_LEASED &&
						 state_of(word) != PAWL_LEASE_LIMBO))
			break; /* its acquire had not succeeded yet */
		if (change(l, word, after(word, PAWL_LEASE_POISON, 0, 0))) {
			pawl_lease_count(h, LEASE_POISONINGS);
			break;
		}
	}
	pawl_store_release(&h->flag, 0); /* [R] pairs with [K] */
}

void pawl_lease_exit(struct pawl_thread *self)
{
	struct pawl_lease_handle *h = self->lease;

	self->lease = &pawl_lease_refused;
	if (h == NULL || h == &pawl_lease_refused)
		return;
	/* Relaxed: our own flag. */
	pawl_lease_abandon(h, pawl_pointer(pawl_load_relaxed(&h->flag)));
	pawl_lease_handle_free(h);
}

void pawl_lease_close(void)
{
	/* Relaxed: the caller passes the heavy fence. */
	pawl_fetch_add_relaxed(&closed, 1);
}

void pawl_lease_reopen(void)
{
	/* Relaxed: a thread that misses it is refused once more. */
	pawl_fetch_add_relaxed(&closed, (uint64_t)-1);
}

bool pawl_lease_closed(void)
{
	/* Relaxed: read under the handles' lock, where it also changes; or after a light
	 * fence, whose heavy partner follows the change. */
	return pawl_load_relaxed(&closed) != 0;
}

/*
 * Breaks that have begun. The list only serves to complete them early: a lease that is not
 * on it, because the list was full or the holder of its lock is stopped, stays in LIMBO
 * until a thread wants it. Drain removes a lease from the list before its memory is freed.
 */
enum { LIMBO_ROOM = 256 };

static struct {
	pawl_atomic64 lock;
	uint64_t
		broken; /* serial number of the last entry, to tell those before a barrier */
	unsigned count;
	struct limbo {
		struct pawl_lease *lease;
		uint64_t
			word; /* LIMBO(c, x); if the lease's word differs, it is settled */
		uint64_t serial; /* value of `broken` at its entry */
	} list[LIMBO_ROOM];
} limbo;

void pawl_lease_break(struct pawl_lease *l)
{
	uint64_t word, to, signals;
	bool room;

	do {
		word = pawl_load_acquire(&l->word); /* [W] */
		if (state_of(word) != PAWL_LEASE_LEASED)
			return;
		to = limbo_after(word, cpu_of(word));
	} while (!change(l, word, to)); /* ends: another thread made progress */
	signals = pawl_lease_lock_briefly(&limbo.lock);
	if (signals == LEASE_NOT_LOCKED)
		return;
	room = limbo.count < LIMBO_ROOM;
	if (room)
		limbo.list[limbo.count++] = (struct limbo){l, to, ++limbo.broken};
	pawl_lease_unlock(&limbo.lock, signals);
	if (!room)
		pawl_lease_poll();
}

unsigned pawl_lease_poll(void)
{
	unsigned i, kept = 0, settled = 0;
	uint64_t before, signals;

	signals = pawl_lease_lock_briefly(&limbo.lock);
	if (signals == LEASE_NOT_LOCKED)
		return 0;
	before = limbo.broken;
	i = limbo.count;
	pawl_lease_unlock(&limbo.lock, signals);
	/* I4: one barrier for all breaks before it. */
	if (i == 0 || !pawl_lease_barrier_all()) /* [H] */
		return 0;
	signals = pawl_lease_lock_briefly(&limbo.lock);
	if (signals == LEASE_NOT_LOCKED)
		return 0;
	for (i = 0; i < limbo.count; i++) {
		struct limbo *entry = &limbo.list[i];
		/* A lease on the list has not been freed: see pawl_lease_drain. */
		uint64_t word = pawl_load_acquire(&entry->lease->word); /* [W] */

		if (word != entry->word)
			continue;
		if (entry->serial > before || occupied(entry->lease, entry->word))
			limbo.list[kept++] = *entry;
		else if (change(entry->lease, entry->word, free_after(entry->word)))
			settled++;
	}
	limbo.count = kept;
	pawl_lease_unlock(&limbo.lock, signals);
	return settled;
}

static void take_off_the_list(const struct pawl_lease *l)
{
	unsigned i, kept = 0;
	uint64_t signals;

	signals = pawl_lease_lock(&limbo.lock);
	for (i = 0; i < limbo.count; i++)
		if (limbo.list[i].lease != l)
			limbo.list[kept++] = limbo.list[i];
	limbo.count = kept;
	pawl_lease_unlock(&limbo.lock, signals);
}

void pawl_lease_forget(void)
{
	/* Relaxed: the child has no other thread. */
	pawl_store_relaxed(&limbo.lock, 0);
	pawl_store_relaxed(&closed, 0);
	limbo.count = 0;
}

/*
 * Makes it LIMBO(DRAINING, x), which only this thread settles, not even x. Returns that
 * word; or a drained word, if there was no x; or 0 if another thread drains it.
 */
static uint64_t begin_drain(struct pawl_lease *l, uint64_t *was)
{
	uint64_t word, to;

	do {
		word = pawl_load_acquire(&l->word); /* [W] */
		if (drained(word))
			return 0;
		*was = word;
		switch (state_of(word)) {
		case PAWL_LEASE_FREE:
			to = after(word, PAWL_LEASE_LIMBO, 0, LEASE_NOBODY);
			break;
		case PAWL_LEASE_POISON: /* recorded in its cpu: see pawl_lease_open */
			to = after(word, PAWL_LEASE_LIMBO, LEASE_NOWHERE, LEASE_NOBODY);
			break;
		default:
			to = limbo_after(word, draining());
		}
	} while (!change(l, word, to)); /* ends: another thread made progress */
	return to;
}

bool pawl_lease_drain(struct pawl_lease *l, uint64_t ns)
{
	uint64_t until = pawl_os_now() + ns;
	uint64_t was, word = begin_drain(l, &was);

	if (word == 0)
		return false;
	if (lessee_of(word) != LEASE_NOBODY) {
		bool sure = pawl_lease_barrier(cpu_of(was)); /* [H] */

		/* Ends by the clock at the latest. A lessee that exits inside makes it
		 * POISON. */
		while (!sure || occupied(l, word)) {
			if (pawl_load_acquire(&l->word) != word) /* [W] */
				return pawl_lease_drain(l, 0);
			if (pawl_os_now() >= until) {
				change(l, word,
				       after(word, PAWL_LEASE_LIMBO, cpu_of(was),
					     lessee_of(word)));
				return false;
			}
			pawl_os_yield();
		}
		if (!change(l, word, after(word, PAWL_LEASE_LIMBO, 0, LEASE_NOBODY)))
			return pawl_lease_drain(l, 0);
	}
	take_off_the_list(l);
	pawl_note_acquired(&l->word);
	return true;
}

void pawl_lease_open(struct pawl_lease *l)
{
	uint64_t word = pawl_load_acquire(&l->word); /* [W] */

	if (!drained(word) || lessee_of(word) != LEASE_NOBODY)
		return;
	pawl_note_releasing(&l->word);
	change(l, word,
	       cpu_of(word) == LEASE_NOWHERE ? after(word, PAWL_LEASE_POISON, 0, 0)
					     : free_after(word));
}
