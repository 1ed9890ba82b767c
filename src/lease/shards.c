/* SPDX-License-Identifier: MIT */
/*
 * The contention manager: which shard a thread uses, and how long shards live.
 *
 * A record precedes each shard, on lines of its own, with the fields that only slow paths
 * access. Maintenance (drain, grow, shrink) is done by at most one thread at a time, the
 * keeper; no thread waits to become it. In the child of a fork the parent's keeper does not
 * exist, and memory is not a snapshot: the first keeper of a generation completes whatever
 * the parent's may have begun.
 *
 * Order: [T] pairs with [B]: a thread that counts a shard as used sees it so. [K] pairs with
 * [E]: a keeper sees what the last one did. [M] pairs with [N]: a shard that came into use
 * before a look is seen. [F] pairs with [D] of lease/handle.c: no lease is closed during a
 * fork.
 */
#include "lease/leases.h"
#include "os/os.h"

#include <pawl/runtime.h>
#include <pawl/shards.h>

#include <errno.h>
#include <string.h>

enum {
	FEW = 64,      /* fewer failures in a round do not add a shard */
	PATIENCE = 16, /* rounds without failures before it tries half the shards */
	MOST_PATIENCE = 1024, /* limit of the former, which doubles with each trial */
	IDLE = 2,	      /* rounds without an operation before a shard is drained */
	WINDOW = 64,	      /* attempts after which the hostage count is halved */
	MOST_SHARED = 512,
	NOBODYS = 2, /* shards before the first that no thread can get (I5) */
	MS = 1000000,
};

struct record {
	PAWL_SEQUESTER pawl_atomic64 born; /* when it came into use */
	/* For the keeper: the first word at the last round, the rounds since it changed,
	 * and whether it has drained the lease. */
	uint64_t seen;
	uint64_t idle;
	bool closed;

	/* Policy of the shard of an id; written by the threads with this id. Relaxed
	 * throughout: heuristics and statistics. Updates of the first two may be lost. */
	pawl_atomic64 detour; /* entries still to go to the shared side */
	pawl_atomic64 grave;  /* recent hostages */
	pawl_atomic64 attempts, yields, hostages, overflows; /* of slow enters */
};

_Static_assert(sizeof(struct record) == 128, "see PAWL_COUNTER_SHIFT");

static struct record *record_of(const struct pawl_shard *s)
{
	return (struct record *)(uintptr_t)s - 1;
}

static struct pawl_shard *shared(const struct pawl_shards *p, uint64_t index)
{
	return (struct pawl_shard *)(p->shared + index * p->stride);
}

int pawl_shards_create(struct pawl_shards *p, const struct pawl_shards_plan *plan)
{
	const size_t line = _Alignof(struct record);
	uint64_t own, more = 1, i;
	unsigned spread = pawl_os_likely_cpus();
	char *memory;

	memset(p, 0, sizeof(*p));
	p->plan = *plan;
	p->plan.chain = plan->chain == 0 ? 1 : plan->chain;
	p->ids = pawl_lease_ids();
	p->leased = plan->kind == PAWL_SHARDS_LEASED;
	p->at_random = plan->kind == PAWL_SHARDS_RANDOM;
	p->stride = (plan->bytes + line - 1) / line * line + sizeof(struct record);
	p->patience = PATIENCE;
	/* Also for ATOMIC, whose sequences load a lease there and fail; only address space
	 * until it is used. */
	own = (uint64_t)p->ids * p->plan.chain;
	if (p->at_random)
		spread *= 4; /* so that threads rarely choose the same */
	while (!p->leased && more < spread && more < MOST_SHARED)
		more *= 2;
	p->most = more - 1;
	p->mapped = (NOBODYS + own + more) * p->stride;
	memory = pawl_os_reserve(p->mapped);
	if (memory == NULL)
		return ENOMEM;
	p->own = memory + NOBODYS * p->stride + sizeof(struct record);
	p->shared = p->own + own * p->stride;
	for (i = 1; i <= NOBODYS; i++)
		pawl_shards_own(p, 0 - i)->lease = (struct pawl_lease){{LEASE_DRAINED}};
	return 0;
}

void pawl_shards_destroy(struct pawl_shards *p)
{
	uint64_t i, used = pawl_shards_used(p);

	/* No thread is inside; this removes the leases from the limbo list. */
	for (i = 0; i < used; i++)
		pawl_lease_drain(&pawl_shards_own(p, i)->lease, (uint64_t)1000 * MS);
	pawl_os_release((char *)record_of(pawl_shards_own(p, 0)) - NOBODYS * p->stride,
			p->mapped);
}

uint64_t pawl_shards_used(const struct pawl_shards *p)
{
	return pawl_load_acquire(&p->top); /* [T] */
}

/* Entering. */

/* Relaxed: see struct record. Not a load and a store: a thread that is preempted between
 * the two would undo what other threads have counted. */
static void count(pawl_atomic64 *word)
{
	pawl_fetch_add_relaxed(word, 1);
}

/* Whether the plan has spare shards, and this shard had several hostages recently. */
static bool wants_spare(const struct pawl_shards *p, const struct record *home)
{
	/* Relaxed: see struct record. */
	return p->plan.chain > 1 && pawl_load_relaxed(&home->grave) >= 2;
}

/* The shard of the id is not available: returns a spare shard, or NULL and sends the id's
 * next entries to the shared side. */
static struct pawl_shard *elsewhere(struct pawl_shards *p, struct pawl_lease_handle *h,
				    uint64_t id, struct record *home)
{
	unsigned link;

	count(&home->hostages);
	count(&home->grave);
	for (link = 1; wants_spare(p, home) && link < p->plan.chain; link++) {
		struct pawl_shard *s = pawl_shards_own(p, id + (uint64_t)link * p->ids);

		if (pawl_lease_seize(&s->lease, h) == PAWL_LEASE_OK)
			return s;
	}
	/* Relaxed: see struct record. */
	pawl_store_relaxed(&home->detour, PAWL_SHARDS_DETOUR);
	return NULL;
}

/* A thread exited inside: drain brings the shard into a valid state. Without a drain no
 * thread uses it again. */
static bool recover(struct pawl_shards *p, struct pawl_shard *s,
		    struct pawl_lease_handle *h)
{
	if (p->plan.drain == NULL || pawl_lease_recover(&s->lease, h) != PAWL_LEASE_OK)
		return false;
	p->plan.drain(s, p->plan.owner);
	return true;
}

static struct pawl_shard *enter(struct pawl_shards *p, struct pawl_lease_handle *h,
				struct record **counts)
{
	int yields;

	/* Ends: every iteration but the last yields, and yields are limited. */
	for (yields = 0;; yields++) {
		/* After a yield the thread may be on another CPU, with a free shard. */
		uint64_t id = pawl_lease_id(), detour;
		struct pawl_shard *s = pawl_shards_own(p, id);
		struct record *home = record_of(s);

		*counts = home;
		/* Relaxed here and below: see struct record. Loaded once: a second load
		 * could return 0, and the subtraction would wrap. */
		detour = pawl_load_relaxed(&home->detour);
		if (detour > 0) {
			pawl_store_relaxed(&home->detour, detour - 1);
			return NULL;
		}
		count(&home->attempts);
		if (pawl_load_relaxed(&home->attempts) % WINDOW == 0)
			pawl_store_relaxed(&home->grave,
					   pawl_load_relaxed(&home->grave) / 2);
		switch (pawl_lease_seize(&s->lease, h)) {
		case PAWL_LEASE_OK:
			return s;
		case PAWL_LEASE_NESTED:
			return NULL;
		case PAWL_LEASE_POISONED:
			return recover(p, s, h) ? s : elsewhere(p, h, id, home);
		case PAWL_LEASE_HOSTAGE:
		case PAWL_LEASE_ELSEWHERE: /* this thread has moved */
			break;
		}
		if (pawl_load_relaxed(&p->frozen) != 0)
			return NULL;
		if (yields == PAWL_SHARDS_YIELDS || wants_spare(p, home))
			return elsewhere(p, h, id, home);
		count(&home->yields);
		pawl_os_yield();
	}
}

/* For a thread without a claim: every thread during a fork, and always in the fenced
 * mode. */
bool pawl_shards_begin_slow_(struct pawl_lease_handle *h)
{
	pawl_full_fence(); /* [E] of lease/lease.c */
	if (!pawl_lease_closed())
		return true;
	pawl_shards_end(h);
	return false;
}

/* Raises the count of pawl_shards_used to include the shard. */
static void note(struct pawl_shards *p, const struct pawl_shard *s)
{
	uint64_t index = (uint64_t)((const char *)s - p->own) / p->stride, top;

	/* Relaxed: it only grows, and [B] orders it. */
	while ((top = pawl_load_relaxed(&p->top)) <= index &&
	       !pawl_cas_release(&p->top, top, index + 1)) /* [B] */
		;
}

struct pawl_shard *pawl_shards_enter_slow_(struct pawl_shards *p,
					   struct pawl_lease_handle *h)
{
	struct record *home;
	struct pawl_shard *s;

	pawl_shards_tick(p);
	s = enter(p, h, &home);
	note(p, (struct pawl_shard *)(home + 1));
	if (s == NULL)
		count(&home->overflows);
	return s;
}

/* Relaxed: changes with the lease held; read by the keeper, which then takes the lease, and
 * for statistics. */
static bool in_use(const struct pawl_shard *s)
{
	return pawl_load_relaxed(&record_of(s)->born) != 0;
}

void pawl_shards_note_use_(struct pawl_shards *p, struct pawl_shard *s)
{
	if (!in_use(s)) {
		note(p, s);
		pawl_fetch_add_release(&p->births, 1); /* [N] */
		pawl_store_relaxed(&record_of(s)->born,
				   pawl_os_now()); /* Relaxed: in_use. */
	}
	/* Last: if this thread exits before it, the next one repeats all of this. */
	pawl_store_relaxed(&s->used, 1); /* Relaxed: see exit. */
}

void pawl_shards_exit_shared(struct pawl_shards *p, struct pawl_shard *s,
			     struct pawl_lease_handle *h)
{
	/* Relaxed: as in pawl_shards_exit. */
	if (pawl_load_relaxed(&s->used) == 0)
		pawl_shards_note_use_(p, s);
	/* Does nothing for a spare shard: no CPU has its number. */
	pawl_lease_share(&s->lease, h, (uint64_t)((char *)s - p->own) / p->stride);
	pawl_lease_release(&s->lease, h);
}

/* Maintenance. */

/* Opens all leases that a keeper has closed: this one, or the parent's at a fork. Only
 * keepers close leases. */
static void tidy_up(struct pawl_shards *p)
{
	uint64_t i, used = pawl_shards_used(p);

	for (i = 0; i < used; i++) {
		struct pawl_shard *s = pawl_shards_own(p, i);

		pawl_lease_open(&s->lease);
		record_of(s)->closed = false;
	}
	pawl_store_relaxed(&p->frozen, 0); /* Relaxed: a hint to refused threads. */
}

/* A signal handler must not do maintenance while its thread does, or is inside: it would
 * wait for the thread it interrupted. */
static bool may_keep(const struct pawl_lease_handle *h)
{
	/* Relaxed: our own flag. */
	return !h->keeping && pawl_load_relaxed(&h->flag) == 0;
}

/* False if another thread is the keeper, or this one must not be. */
static bool begin_keeping(struct pawl_shards *p)
{
	/* Relaxed: [K] orders the keeper. */
	uint64_t was = pawl_load_relaxed(&p->keeper);
	uint64_t now = 2 * pawl_lease_generation + 1;
	struct pawl_lease_handle *h = pawl_lease_self();

	if (was == now || !may_keep(h))
		return false;
	h->keeping = true;
	if (!pawl_cas_acquire(&p->keeper, was, now)) { /* [K] */
		h->keeping = false;
		return false;
	}
	if (was / 2 != pawl_lease_generation)
		tidy_up(p);
	return true;
}

static void end_keeping(struct pawl_shards *p)
{
	pawl_store_release(&p->keeper, 2 * pawl_lease_generation); /* [E] */
	pawl_lease_self()->keeping = false;
}

/* The first word of a shared shard's data, which by convention changes whenever the shard
 * is used. Relaxed: only compared with the last round's value. */
static uint64_t first_word(const struct pawl_shard *s)
{
	return pawl_load_relaxed((const pawl_atomic64 *)(s + 1));
}

/* Empties shared shards; false if a fork is under way (I4). */
static bool drain_shared(struct pawl_shards *p, uint64_t first)
{
	struct pawl_lease_handle *h = pawl_lease_self();
	uint64_t i;

	for (i = first; i <= p->most && pawl_shards_begin(p, h); i++) {
		if (first_word(shared(p, i)) != 0)
			p->plan.drain(shared(p, i), p->plan.owner);
		pawl_shards_end(h);
	}
	return i > p->most;
}

static void age_shared(struct pawl_shard *s)
{
	struct record *r = record_of(s);
	uint64_t now = first_word(s);

	r->idle = now == r->seen ? r->idle + 1 : 0;
	r->seen = now;
}

/* Relaxed: a concurrent use shows in the next round. */
static void age_leased(struct pawl_shard *s, uint64_t now)
{
	struct record *r = record_of(s);
	bool young = now - pawl_load_relaxed(&r->born) <
		     (uint64_t)PAWL_SHARDS_LIFE_MS * MS;

	r->idle = pawl_load_relaxed(&s->used) != 0 || young ? 0 : r->idle + 1;
	pawl_store_relaxed(&s->used, 0);
	/* Sequences do not set used: the next one fails, and its slow path sets it (I2). */
	pawl_lease_unshare(&s->lease);
}

static void tell_drained(const struct pawl_shards *p)
{
	if (p->plan.drained != NULL)
		p->plan.drained(p->plan.owner);
}

/* Whether to drain a shard: if it is idle; with `all`, if a thread may be inside. A thread
 * that enters for the first time may put slots there before the shard is in use. */
static bool to_drain(const struct pawl_shard *s, bool all)
{
	/* Relaxed: a thread that enters after this load need not be seen. */
	bool had = (pawl_load_relaxed(&s->lease.word) & PAWL_LEASE_BINDING) != 0;

	return all ? in_use(s) || had : in_use(s) && record_of(s)->idle >= IDLE;
}

/*
 * Drains the shards in use whose idle is IDLE or more, or all. One barrier breaks all their
 * leases, another gives them up. False if a shard could not be drained because a thread is
 * inside.
 */
static bool drain_shards(struct pawl_shards *p, bool all)
{
	struct pawl_lease_handle *h = pawl_lease_self();
	uint64_t i, used = pawl_shards_used(p);
	bool any = false, every = true;

	for (i = 0; i < used; i++) {
		struct pawl_shard *s = pawl_shards_own(p, i);

		if (!to_drain(s, all))
			continue;
		pawl_lease_break(&s->lease);
		any = true;
	}
	if (!any)
		return true;
	pawl_lease_poll();
	for (i = 0; i < used; i++) {
		struct pawl_shard *s = pawl_shards_own(p, i);
		enum pawl_lease_result result;

		if (!to_drain(s, all))
			continue;
		/* Most are free by now; one that was in LIMBO before may not be. */
		result = pawl_lease_seize(&s->lease, h);
		if (result == PAWL_LEASE_OK)
			p->plan.drain(s, p->plan.owner);
		else if (result != PAWL_LEASE_POISONED || !recover(p, s, h)) {
			every = false;
			continue;
		}
		/* Relaxed, both: with the lease held (I2). used first: if this thread exits in
		 * between, the shard still counts as in use. */
		pawl_store_relaxed(&s->used, 0);
		pawl_store_relaxed(&record_of(s)->born, 0);
		pawl_lease_break(&s->lease); /* the keeper does not keep it */
		pawl_lease_release(&s->lease, h);
	}
	pawl_lease_poll();
	tell_drained(p);
	return every;
}

static void maintain_leased(struct pawl_shards *p)
{
	uint64_t i, used = pawl_shards_used(p), now = pawl_os_now();

	if (p->plan.drain == NULL)
		return;
	for (i = 0; i < used; i++)
		age_leased(pawl_shards_own(p, i), now);
	drain_shards(p, false);
}

/*
 * Halves the number of shared shards if the upper half is not used; or, as a trial, after
 * `patience` rounds with few failures; the next trial is after twice as many. Relaxed
 * throughout: counts, and a mask of which any value is valid.
 */
static void maintain_shared(struct pawl_shards *p)
{
	uint64_t mask = pawl_load_relaxed(&p->mask), half = mask / 2, i;
	uint64_t failures = pawl_load_relaxed(&p->failures);
	bool unused = true;

	count(&p->salt);
	p->quiet = failures - pawl_load_relaxed(&p->failures_then) < FEW ? p->quiet + 1
									 : 0;
	pawl_store_relaxed(&p->failures_then, failures);
	for (i = half + 1; i <= mask; i++) {
		age_shared(shared(p, i));
		unused &= record_of(shared(p, i))->idle >= IDLE;
	}
	if (mask == 0 || !(unused || p->quiet >= p->patience))
		return;
	p->quiet = 0;
	if (unused)
		p->patience = PATIENCE;
	else if (p->patience < MOST_PATIENCE)
		p->patience *= 2;
	pawl_store_relaxed(&p->mask, half);
	/* What late threads leave there is drained next time, or found when the shard is
	 * in use again. */
	if (p->plan.drain != NULL)
		drain_shared(p, half + 1);
	tell_drained(p);
}

void pawl_shards_maintain(struct pawl_shards *p)
{
	if (!begin_keeping(p))
		return;
	if (p->leased)
		maintain_leased(p);
	else
		maintain_shared(p);
	end_keeping(p);
}

void pawl_shards_tick(struct pawl_shards *p)
{
	/* Relaxed, here and below: the thread that changes it does the round, and [K]
	 * orders rounds. */
	uint64_t now = pawl_os_now(), due = pawl_load_relaxed(&p->due);

	if (now >= due &&
	    pawl_cas_relaxed(&p->due, due, now + (uint64_t)PAWL_SHARDS_TICK_MS * MS))
		pawl_shards_maintain(p);
}

int pawl_shards_reclaim(struct pawl_shards *p)
{
	bool every;

	if (p->plan.drain == NULL)
		return ENOTSUP;
	if (!may_keep(pawl_lease_self()))
		return EDEADLK;
	if (!begin_keeping(p))
		return EBUSY;
	every = drain_shards(p, true);
	if (!p->leased && !drain_shared(p, 0))
		every = false;
	end_keeping(p);
	return every ? 0 : EBUSY;
}

void pawl_shards_contended(struct pawl_shards *p)
{
	uint64_t failures, mask;

	pawl_shards_tick(p);
	/* Relaxed throughout, as in maintain_shared. */
	failures = pawl_fetch_add_relaxed(&p->failures, 1) + 1;
	mask = pawl_load_relaxed(&p->mask);
	if (failures - pawl_load_relaxed(&p->failures_then) < FEW || mask == p->most)
		return;
	if (pawl_cas_relaxed(&p->mask, mask, mask * 2 + 1)) {
		pawl_store_relaxed(&p->failures_then, failures);
		count(&p->salt);
	}
}

/* Closes the leases of all shards in use that are not closed yet. */
static bool close_all(struct pawl_shards *p, uint64_t until)
{
	uint64_t i, used = pawl_shards_used(p);

	for (i = 0; i < used; i++)
		if (!record_of(pawl_shards_own(p, i))->closed)
			pawl_lease_break(&pawl_shards_own(p, i)->lease);
	pawl_lease_poll();
	/* Not during a fork: p->top of the child must count every closed shard. */
	pawl_light_fence(); /* [F] */
	for (i = 0; i < used && !pawl_lease_closed(); i++) {
		struct pawl_shard *s = pawl_shards_own(p, i);
		uint64_t now = pawl_os_now();

		if (record_of(s)->closed)
			continue;
		if (!pawl_lease_drain(&s->lease, now < until ? until - now : 0))
			return false;
		record_of(s)->closed = true;
	}
	if (i < used)
		return false;
	return true;
}

bool pawl_shards_frozen(struct pawl_shards *p, uint64_t ns, void (*look)(void *argument),
			void *argument)
{
	uint64_t until = pawl_os_now() + ns, births;
	bool closed;

	if (!begin_keeping(p))
		return false;
	pawl_store_relaxed(&p->frozen, 1); /* Relaxed: a hint to refused threads. */
	do {
		/* A shard whose first use happens before the end of the look shows in
		 * births. */
		births = pawl_load_acquire(&p->births); /* [M] */
		closed = close_all(p, until);
		if (closed)
			look(argument);
		/* Relaxed: if the look has seen a thread's work, by its acquires, this sees
		 * its shard's birth; a change leads to another turn. */
	} while (closed && pawl_load_relaxed(&p->births) != births);
	tidy_up(p);
	end_keeping(p);
	return closed;
}

void pawl_shards_get_stats(struct pawl_shards *p, struct pawl_shards_stats *stats)
{
	uint64_t i, used = pawl_shards_used(p);

	*stats = (struct pawl_shards_stats){.shards = 0};
	pawl_lease_get_stats(&stats->leases);
	/* Relaxed, here and below: statistics. */
	stats->failures = pawl_load_relaxed(&p->failures);
	if (!p->leased)
		stats->shards = pawl_load_relaxed(&p->mask) + 1;
	for (i = 0; i < used; i++) {
		struct pawl_shard *s = pawl_shards_own(p, i);
		struct record *r = record_of(s);

		stats->shards += in_use(s);
		stats->yields += pawl_load_relaxed(&r->yields);
		stats->hostages += pawl_load_relaxed(&r->hostages);
		stats->overflows += pawl_load_relaxed(&r->overflows);
	}
}
