/* SPDX-License-Identifier: MIT */
/*
 * Handles: made in chunks that are never given back (I6 of pawl/lease.h), handed
 * from threads that exit to threads that come; and what a fork does to them.
 *
 * Order: [K] pairs with [R] of pawl/lease.h: who is seen outside has done in the child
 * what he did inside. [D] pairs with [B] of pawl/lease.h, [D] pairs with [C] of
 * lease/lease.c, and [D] pairs with [F] of lease/shards.c: who has not seen that claims
 * are withdrawn and all is closed is seen inside.
 */
#include "lease/leases.h"
#include "sleep/parking.h"

enum { CHUNK = 64, CHUNKS = (LEASE_HANDLES + CHUNK) / CHUNK };

_Static_assert(sizeof(struct pawl_lease_handle) == 128, "a pair of cache lines");

static struct {
	pawl_atomic64 lock;
	struct pawl_lease_handle *free; /* the last one that was left */
	unsigned made;
	struct pawl_lease_handle *chunks[CHUNKS];
} table;

uint64_t pawl_lease_lock(pawl_atomic64 *guard)
{
	uint64_t signals = pawl_os_block_signals();

	pawl_guard_lock(guard);
	return signals;
}

/* What is done under these locks takes less, unless its thread is off the CPU. */
enum { BRIEFLY_NS = 1000 * 1000 };

uint64_t pawl_lease_lock_briefly(pawl_atomic64 *guard)
{
	uint64_t signals = pawl_os_block_signals();

	if (pawl_guard_lock_for(guard, BRIEFLY_NS))
		return signals;
	pawl_os_restore_signals(signals);
	return LEASE_NOT_LOCKED;
}

void pawl_lease_unlock(pawl_atomic64 *guard, uint64_t signals)
{
	pawl_guard_unlock(guard);
	pawl_os_restore_signals(signals);
}

struct pawl_lease_handle *pawl_lease_handle_of(uint64_t id)
{
	return &table.chunks[id / CHUNK][id % CHUNK];
}

static uint64_t claim_of(const struct pawl_lease_handle *h)
{
	if (h->fenced)
		return PAWL_LEASE_NO_CLAIM;
	return (uint64_t)PAWL_LEASE_LEASED << PAWL_LEASE_STATE_SHIFT | h->id;
}

/* Requires the lock. NULL if there are too many, or there is no memory. */
static struct pawl_lease_handle *make(void)
{
	struct pawl_lease_handle **chunk = &table.chunks[table.made / CHUNK], *h;

	if (table.made == LEASE_HANDLES)
		return NULL;
	/* Not from the heap, which a signal handler may not use. */
	if (*chunk == NULL) {
		struct pawl_lease_handle *new = pawl_os_reserve(CHUNK * sizeof(*new));

		if (new == NULL)
			return NULL;
		pawl_note_releasing(new); /* TSan takes the mapping for a write */
		*chunk = new;
	}
	h = pawl_lease_handle_of(table.made);
	h->id = table.made++;
	return h;
}

struct pawl_lease_handle *pawl_lease_self_slow_(void)
{
	struct pawl_thread *self = pawl_self();
	struct pawl_lease_handle *h;
	uint64_t signals;

	pawl_at_thread_exit();
	if (self->exited)
		return self->lease = &pawl_lease_refused;
	signals = pawl_lease_lock(&table.lock);
	if (self->lease != NULL) { /* a signal handler was here meanwhile */
		pawl_lease_unlock(&table.lock, signals);
		return self->lease;
	}
	h = table.free;
	if (h != NULL)
		table.free = h->free_next;
	else
		h = make();
	if (h != NULL) {
		pawl_note_acquired(table.chunks[h->id / CHUNK]);
		pawl_note_acquired(h);
		pawl_lease_bind(h);
		pawl_lease_place(h);
		h->keeping = false; /* the last owner's, who ended at it */
		/* Relaxed: nobody else looks at it, but under the lock. */
		pawl_store_relaxed(&h->claim, pawl_lease_closed() ? PAWL_LEASE_NO_CLAIM
								  : claim_of(h));
	}
	self->lease = h != NULL ? h : &pawl_lease_refused;
	pawl_lease_unlock(&table.lock, signals);
	return self->lease;
}

uint64_t pawl_lease_lost_(struct pawl_lease_handle *h)
{
	/* A fork in another thread reads what h is told, under the lock. */
	uint64_t signals = pawl_lease_lock(&table.lock);

	pawl_lease_bind(h);
	pawl_lease_place(h);
	pawl_lease_unlock(&table.lock, signals);
	return pawl_cpu_now(h->home);
}

/* The free list's lock orders what the last owner did before what the next one
 * does: to lease words they are one. */
void pawl_lease_handle_free(struct pawl_lease_handle *h)
{
	uint64_t signals = pawl_lease_lock(&table.lock);

	pawl_note_releasing(h);
	h->free_next = table.free;
	table.free = h;
	pawl_lease_unlock(&table.lock, signals);
}

unsigned pawl_lease_sums(uint64_t sums[PAWL_LEASE_COUNTS])
{
	uint64_t signals = pawl_lease_lock(&table.lock);
	unsigned id, what, made = table.made;

	for (id = 0; id < made; id++)
		for (what = 0; what < PAWL_LEASE_COUNTS; what++)
			/* Relaxed: a count. */
			sums[what] += pawl_load_relaxed(
				&pawl_lease_handle_of(id)->counts[what]);
	pawl_lease_unlock(&table.lock, signals);
	return made;
}

/*
 * Fork. The child has this thread alone, and memory as it was at some moment, or
 * not even one moment for all of it. So before that moment everybody must be out:
 * all claims are withdrawn (I7), the slow path is closed, and one heavy fence
 * later whoever is still inside shows it. Who stays longer than FORK_NS finds
 * his lease poisoned in the child, and only there. The child goes by what we saw
 * before the fork, not by the flags that it finds: a flag may be up for a moment by
 * who tries in vain, or down by who left when half of his section was copied.
 */
enum { FORK_NS = 50 * 1000 * 1000 };

/* Notes who is inside of what. */
static bool somebody_inside(const struct pawl_lease_handle *mine)
{
	uint64_t signals = pawl_lease_lock(&table.lock);
	bool inside = false;
	unsigned id;

	for (id = 0; id < table.made; id++) {
		struct pawl_lease_handle *h = pawl_lease_handle_of(id);

		h->stuck = pawl_pointer(pawl_load_acquire(&h->flag)); /* [K] */
		inside |= h != mine && h->stuck != NULL;
	}
	pawl_lease_unlock(&table.lock, signals);
	return inside;
}

static void set_claims(bool withdrawn)
{
	unsigned id;

	for (id = 0; id < table.made; id++) {
		struct pawl_lease_handle *h = pawl_lease_handle_of(id);

		/* Relaxed: withdrawn before the heavy fence, given back whenever. */
		pawl_store_relaxed(&h->claim,
				   withdrawn ? PAWL_LEASE_NO_CLAIM : claim_of(h));
	}
}

void pawl_lease_before_fork(void)
{
	uint64_t until = pawl_os_now() + FORK_NS, signals = pawl_lease_lock(&table.lock);
	bool used = table.made > 0, sure;

	pawl_lease_close();
	set_claims(true);
	pawl_lease_unlock(&table.lock, signals);
	if (!used) /* who comes now knows by the lock that it is closed */
		return;
	sure = pawl_lease_barrier_all(); /* [D] */
	/* Ends by the clock at the latest. If the system refuses to make sure, we give
	 * those who have not seen all this yet as much time as those inside. */
	while ((somebody_inside(pawl_self()->lease) || !sure) && pawl_os_now() < until)
		pawl_os_step_aside();
}

void pawl_lease_after_fork(void)
{
	uint64_t signals = pawl_lease_lock(&table.lock);

	pawl_lease_reopen();
	if (!pawl_lease_closed()) /* no other thread forks */
		set_claims(false);
	pawl_lease_unlock(&table.lock, signals);
}

/* The handles' lock may have been held: everything is made anew. */
void pawl_lease_forked(void)
{
	const struct pawl_lease_handle *mine = pawl_self()->lease;
	unsigned id;

	/* Relaxed: nobody else is there. */
	pawl_store_relaxed(&table.lock, 0);
	pawl_lease_generation++;
	pawl_lease_forget();
	pawl_lease_mode_forget();
	table.free = NULL;
	for (id = 0; id < table.made && table.chunks[id / CHUNK] != NULL; id++) {
		struct pawl_lease_handle *h = pawl_lease_handle_of(id);

		h->id = id;
		if (h == mine)
			continue;
		pawl_lease_abandon(h, h->stuck);
		pawl_lease_handle_free(h);
	}
	table.made = id;
	set_claims(false);
}

bool pawl_lease_stuck_in(const char *from, const char *to)
{
	const struct pawl_lease_handle *mine = pawl_self()->lease;
	unsigned id;

	for (id = 0; id < table.made; id++) {
		const struct pawl_lease_handle *h = pawl_lease_handle_of(id);
		const char *stuck = (const char *)h->stuck;

		if (h != mine && stuck != NULL && stuck >= from && stuck < to)
			return true;
	}
	return false;
}

uint64_t pawl_lease_inside(void)
{
	const struct pawl_lease_handle *mine = pawl_self()->lease;

	/* Relaxed: our own thread's. */
	return mine != NULL ? pawl_load_relaxed(&mine->flag) : 0;
}
