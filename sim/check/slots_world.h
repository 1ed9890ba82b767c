/* SPDX-License-Identifier: MIT */
/*
 * The world of the scenarios in slots.c: leases by their contract, and a few slots.
 *
 * A lease is a lock that is tried. Its word says who had it last, as far as anybody asks:
 * it is FREE, somebody's who is outside (LEFT) or inside (HELD), POISONED or DRAINED. Who
 * breaks a lease that somebody is inside of makes it FREE when that one leaves. Each
 * change is acquire and release, as the real one's; that of who leaves is release.
 * Time stands still, unless a scenario has it otherwise; no round is due. A yield lasts until nothing else
 * moves, so that who looks again does not do so for ever.
 */
#ifndef CHECK_SLOTS_WORLD_H
#define CHECK_SLOTS_WORLD_H

#include "slots_names.h"
#include "results.h"

#include <sim/runtime.h>
#include <src/lease/depot.h>
#include <src/lease/heirs.h>
#include <src/lease/leases.h>

#include <pawl/runtime.h>
#include <pawl/slots.h>

#include <errno.h>
#include <setjmp.h>

enum { THREADS = 3, IDS = 2, MOST_SLOTS = 64 };

#define STATE(state)	 ((uint64_t)PAWL_LEASE_##state << PAWL_LEASE_STATE_SHIFT)
#define INSIDE		 PAWL_LEASE_VERSION_ONE
#define FREE		 ((uint64_t)0)
#define LEFT		 STATE(LEASED) /* and whose it is */
#define BROKEN		 (INSIDE | STATE(LIMBO))
#define POISONED	 STATE(POISON)
#define DRAINED		 (STATE(LIMBO) | LEASE_NOBODY)
#define DRAINED_POISONED (DRAINED | (uint64_t)LEASE_NOWHERE << PAWL_LEASE_LESSEE_BITS)

static struct world {
	struct pawl_slots slots;
	struct pawl_lease_handle handles[THREADS];
	pawl_atomic64 ready, held, left; /* what a thread tells the others */
	uint32_t homes[THREADS];
	uint64_t uses[MOST_SLOTS]; /* plain: by whoever has the slot */
	uint64_t hands[THREADS];   /* what each holds in the end, one bit a slot */
	uint64_t looked, told;	   /* plain: what was seen in a look */
	uint32_t mine;		   /* thread 0's */
} * world;

/* What scenarios must come to. */
enum {
	SAW_DRAINED,
	SAW_BUSY,
	SAW_SHARED,
	SAW_RECOVERED,
	SAW_NONE,
	SAW_LOOKED,
	SAW_REFUSED,
	SAW_GROWN,
	SAW_IDLE,
	SAW_POISONED,
};
static const char *const sight_names[] = {
	[SAW_DRAINED] = "a shard is drained that had slots",
	[SAW_BUSY] = "somebody else keeps house, or is inside",
	[SAW_SHARED] = "a thread is sent to the shared side",
	[SAW_RECOVERED] = "a poisoned lease is recovered",
	[SAW_NONE] = "all slots are held",
	[SAW_LOOKED] = "a look while nobody is inside",
	[SAW_REFUSED] = "no such look, for somebody did not leave",
	[SAW_GROWN] = "there are two shared shards",
	[SAW_IDLE] = "a word that is idle",
	[SAW_POISONED] = "a thread ends inside",
};

/* Leases. */

static struct pawl_lease *inside_of; /* thread 0 */

static uint64_t held(const struct pawl_lease_handle *h)
{
	return INSIDE | LEFT | h->id;
}

static void set_flag(struct pawl_lease_handle *h, uint64_t value)
{
	/* Relaxed: only its own thread looks here. */
	pawl_store_relaxed(&h->flag, value);
}

static enum pawl_lease_result take(struct pawl_lease *l, struct pawl_lease_handle *h,
				   bool far)
{
	/* Relaxed: our own. */
	if (pawl_load_relaxed(&h->flag) != 0)
		return PAWL_LEASE_NESTED;
	for (;;) {
		uint64_t word = pawl_load_acquire(&l->word);

		if (word == POISONED)
			return PAWL_LEASE_POISONED;
		if ((word & INSIDE) != 0 || word == DRAINED || word == DRAINED_POISONED)
			return PAWL_LEASE_HOSTAGE;
		if (word != FREE && word != (LEFT | h->id) && !far)
			return PAWL_LEASE_ELSEWHERE;
		if (pawl_cas_acq_rel(&l->word, word, held(h)))
			break;
	}
	set_flag(h, pawl_address(l));
	if (h->id == 0)
		inside_of = l;
	return PAWL_LEASE_OK;
}

enum pawl_lease_result pawl_lease_acquire(struct pawl_lease *l,
					  struct pawl_lease_handle *h)
{
	return take(l, h, false);
}

enum pawl_lease_result pawl_lease_seize(struct pawl_lease *l, struct pawl_lease_handle *h)
{
	return take(l, h, true);
}

enum pawl_lease_result pawl_lease_recover(struct pawl_lease *l,
					  struct pawl_lease_handle *h)
{
	/* Relaxed: our own. */
	if (pawl_load_relaxed(&h->flag) != 0)
		return PAWL_LEASE_NESTED;
	if (!pawl_cas_acq_rel(&l->word, POISONED, held(h)))
		return PAWL_LEASE_ELSEWHERE;
	see(SAW_RECOVERED);
	set_flag(h, pawl_address(l));
	return PAWL_LEASE_OK;
}

/* To be left as `word`, or else FREE, if it was broken meanwhile. */
static void leave_as(struct pawl_lease *l, struct pawl_lease_handle *h, uint64_t word)
{
	if (h->id == 0)
		inside_of = NULL;
	set_flag(h, 0);
	if (!pawl_cas_release(&l->word, held(h), word))
		pawl_store_release(&l->word, word == POISONED ? POISONED : FREE);
}

void pawl_lease_release(struct pawl_lease *l, struct pawl_lease_handle *h)
{
	leave_as(l, h, LEFT | h->id);
}

void pawl_lease_break(struct pawl_lease *l)
{
	uint64_t word;

	do {
		word = pawl_load_acquire(&l->word);
		if ((word & STATE(LEASED)) == 0 || word == POISONED)
			return;
	} while (!pawl_cas_acq_rel(&l->word, word, word & INSIDE ? BROKEN : FREE));
}

/* All that could be settled is FREE. */
unsigned pawl_lease_poll(void)
{
	return 0;
}

bool pawl_lease_drain(struct pawl_lease *l, uint64_t ns)
{
	(void)ns;
	for (;;) {
		uint64_t word = pawl_load_acquire(&l->word);

		if (word == DRAINED || word == DRAINED_POISONED)
			return false;
		if ((word & INSIDE) != 0) {
			if (sim_one_in(2))
				return false;
			pawl_await_ne_acquire(&l->word, word, PAWL_SPIN);
		} else if (pawl_cas_acq_rel(&l->word, word,
					    word == POISONED ? DRAINED_POISONED
							     : DRAINED)) {
			return true;
		}
	}
}

void pawl_lease_open(struct pawl_lease *l)
{
	uint64_t word = pawl_load_acquire(&l->word);

	if (word == DRAINED || word == DRAINED_POISONED)
		pawl_cas_acq_rel(&l->word, word, word == DRAINED ? FREE : POISONED);
}

void pawl_heirs_add(struct pawl_heir *heir)
{
	(void)heir;
}

void pawl_heirs_remove(struct pawl_heir *heir)
{
	(void)heir;
}

void pawl_lease_share(struct pawl_lease *l, struct pawl_lease_handle *h, uint64_t cpu)
{
	(void)l, (void)h, (void)cpu;
}

void pawl_lease_unshare(struct pawl_lease *l)
{
	(void)l;
}

/* The system. */

void pawl_os_yield(void)
{
	see(SAW_BUSY);
	explore_await_quiet();
}

/* A thread that ends inside, as by pthread_exit in a signal handler: before any of its
 * writes. What it is inside of is poisoned. */
static jmp_buf end_of_life;
static struct pawl_lease_handle *mortal;
static bool dead;

OUTSIDE static void perhaps_die(void)
{
	struct pawl_lease_handle *h = mortal;

	if (h == NULL || explore_thread() != (int)h->id || inside_of == NULL ||
	    !sim_one_in(2))
		return;
	mortal = NULL;
	dead = true;
	leave_as(inside_of, h, POISONED);
	_longjmp(end_of_life, 1);
}

static void be_mortal(struct pawl_lease_handle *h)
{
	mortal = h;
}

static void be_immortal(void)
{
	mortal = NULL;
}

/* The program. */

#define NEVER ((uint64_t)1 << 62)

static uint64_t now; /* not 0 */

static uint64_t tell_time(void)
{
	return now;
}

static struct pawl_slots_shard *own_shard(uint64_t id)
{
	return (struct pawl_slots_shard *)pawl_shards_own(&world->slots.shards, id);
}

static struct pawl_slots_shard *shared_shard(uint64_t i)
{
	return (struct pawl_slots_shard *)(world->slots.shards.shared +
					   i * world->slots.shards.stride);
}

static void set_up_with(enum pawl_shards_kind kind, uint64_t limit)
{
	int t;

	world = explore_allocate(sizeof(*world), 128);
	explore_label(world, "world");
	if (pawl_slots_create(&world->slots, kind, limit) != 0)
		pawl_die_("no slots");
	explore_label(own_shard(0), "shard");
	for (t = 0; t < THREADS; t++) {
		world->handles[t].id = (uint32_t)t;
		world->handles[t].home = &world->homes[t];
		world->homes[t] = (uint32_t)t % IDS;
	}
	pawl_lease_generation = 0;
	inside_of = NULL;
	mortal = NULL;
	dead = false;
	sim_before_step = perhaps_die;
	sim_clock = tell_time;
	now = 1;
	seen = 0;
}

/* Before anything else; `make` is what was done before there were other threads. */
static struct pawl_lease_handle *begin_after(int thread, void (*make)(void))
{
	struct pawl_lease_handle *h = &world->handles[thread];

	pawl_self()->lease = h;
	if (thread != 0) {
		pawl_await_ne_acquire(&world->ready, 0,
				      PAWL_SPIN); /* [B] pairs with [A] */
		return h;
	}
	/* Relaxed: before the release of all of it. */
	pawl_store_relaxed(&world->slots.shards.due, NEVER);
	if (make != NULL)
		make();
	pawl_store_release(&world->ready, 1); /* [A] pairs with [B] */
	return h;
}

static void begin(int thread)
{
	begin_after(thread, NULL);
}

static void use(uint32_t slot)
{
	if (slot >= world->slots.limit)
		explore_fail(VERDICT_ASSERTION, "slot %u is none", slot);
	world->uses[slot]++;
	world->hands[explore_thread()] |= (uint64_t)1 << slot;
}

static void put(uint32_t slot)
{
	world->hands[explore_thread()] &= ~((uint64_t)1 << slot);
	pawl_slots_put(&world->slots, slot);
}

static bool get(uint32_t *slot)
{
	*slot = pawl_slots_get(&world->slots);
	if (*slot == PAWL_SLOTS_NONE) {
		see(SAW_NONE);
		return false;
	}
	use(*slot);
	return true;
}

/* There is one for everybody. */
static uint32_t must_get(void)
{
	uint32_t slot;

	if (!get(&slot))
		explore_fail(VERDICT_ASSERTION, "thread %d misses a slot that is free",
			     explore_thread());
	return slot;
}

/* The end. */

static uint64_t bit_of(uint64_t slot, uint64_t found)
{
	uint64_t bit = (uint64_t)1 << slot;

	if (slot >= world->slots.limit)
		explore_fail(VERDICT_ASSERTION, "slot %u, which is none, is free",
			     (unsigned)slot);
	if ((found & bit) != 0)
		explore_fail(VERDICT_ASSERTION, "slot %u is in two places",
			     (unsigned)slot);
	return bit;
}

static uint64_t in_stack(const struct pawl_slots_shard *s, uint64_t found)
{
	uint64_t n = explore_final(&s->state.raw), i;

	for (i = 0; i < n; i++)
		found |= bit_of(s->slot[i], found);
	return found;
}

static uint64_t in_list(const struct pawl_slots_shard *s, uint64_t found)
{
	uint64_t head = explore_final(&s->state.raw), top = head & PAWL_SLOTS_TOP;
	uint64_t count = head % PAWL_SLOTS_TAG / PAWL_SLOTS_ONE;

	for (; top != 0; top = explore_final(&world->slots.links[top - 1].raw), count--)
		found |= bit_of(top - 1, found);
	if (count != 0)
		explore_fail(VERDICT_ASSERTION, "a list's count is wrong");
	return found;
}

/* Every slot is in one place, but for those in `lost`, and the summary shows those in the
 * depot. */
static void all_but(uint64_t lost)
{
	const struct pawl_slots *a = &world->slots;
	uint64_t fresh = explore_final(&a->fresh.raw), found = 0, i;
	uint64_t word = explore_final(&a->words[0].raw);

	for (i = 0; i < a->limit; i++) {
		if (fresh == 0 || word >> i & 1)
			found |= bit_of(i, found);
		if (world->hands[0] >> i & 1)
			found |= bit_of(i, found);
		if (world->hands[1] >> i & 1)
			found |= bit_of(i, found);
		if (world->hands[2] >> i & 1)
			found |= bit_of(i, found);
	}
	for (i = 0; i < IDS; i++)
		found = in_stack(own_shard(i), found);
	if (!a->shards.leased)
		for (i = 0; i <= a->shards.most; i++)
			found = in_list(shared_shard(i), found);
	if ((found | lost) != ~(uint64_t)0 >> (64 - a->limit))
		explore_fail(VERDICT_ASSERTION, "a slot is lost");
	if (word != 0 && (explore_final(&a->summary[0].raw) & 1) == 0)
		explore_fail(VERDICT_ASSERTION, "the summary shows no slot");
	if (explore_final(&a->moved.raw) != 0)
		see(SAW_DRAINED);
	if (explore_final(&a->shards.keeper.raw) % 2 != 0)
		explore_fail(VERDICT_ASSERTION, "somebody still keeps house");
	scenario_saw(seen);
}

static void all_are_there(void *argument)
{
	(void)argument;
	all_but(0);
}

#endif /* CHECK_SLOTS_WORLD_H */
