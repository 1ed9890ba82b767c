/* SPDX-License-Identifier: MIT */
/*
 * Handles: allocated in chunks that are never freed (I6 of pawl/lease.h), and reused: the
 * handle of a thread that exits goes to a new thread. And what a fork does to them.
 *
 * Order: [K] pairs with [R] of pawl/lease.h: if a thread is seen outside before the fork,
 * the child has all that it did inside. [D] pairs with [B] of pawl/lease.h, [D] pairs with
 * [C] of lease/lease.c, and [D] pairs with [F] of lease/shards.c: a thread that has not
 * seen the withdrawn claims and the closed slow path is seen inside.
 */
#include "lease/leases.h"
#include "sleep/parking.h"

enum { CHUNK = 64, CHUNKS = (LEASE_HANDLES + CHUNK) / CHUNK };

_Static_assert(sizeof(struct pawl_lease_handle) == 128, "a pair of cache lines");

static struct {
	pawl_atomic64 lock;
	struct pawl_lease_handle *free; /* list of handles without an owner */
	unsigned made;
	struct pawl_lease_handle *chunks[CHUNKS];
} table;

uint64_t pawl_lease_lock(pawl_atomic64 *guard)
{
	uint64_t signals = pawl_os_block_signals();

	pawl_guard_lock(guard);
	return signals;
}

/* Longer than these locks are held, unless the holder is off the CPU. */
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

/* Requires the lock. NULL if there are too many handles, or no memory. */
static struct pawl_lease_handle *make(void)
{
	struct pawl_lease_handle **chunk = &table.chunks[table.made / CHUNK], *h;

	if (table.made == LEASE_HANDLES)
		return NULL;
	/* Not from the heap: signal handlers may call this. */
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
	if (self->lease != NULL) { /* a signal handler has got it meanwhile */
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
		h->keeping =
			false; /* the last owner may have exited during maintenance */
		/* Relaxed: other threads access it under the lock only. */
		pawl_store_relaxed(&h->claim, pawl_lease_closed() ? PAWL_LEASE_NO_CLAIM
								  : claim_of(h));
	}
	self->lease = h != NULL ? h : &pawl_lease_refused;
	pawl_lease_unlock(&table.lock, signals);
	return self->lease;
}

uint64_t pawl_lease_lost_(struct pawl_lease_handle *h)
{
	/* A fork in another thread reads h's binding, under the lock. */
	uint64_t signals = pawl_lease_lock(&table.lock);

	pawl_lease_bind(h);
	pawl_lease_place(h);
	pawl_lease_unlock(&table.lock, signals);
	return pawl_cpu_now(h->home);
}

/* The lock orders the last owner's accesses before the next one's: lease words do not tell
 * the two apart. */
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
 * Fork. The child has only the forking thread, and its memory is not a snapshot of one
 * moment. So all threads must be outside before the copy: the fork withdraws all claims
 * (I7), closes the slow path, and passes one heavy fence; then the flag of every thread
 * that is still inside is visible. The lease of a thread that stays longer than FORK_NS is
 * poisoned in the child, and only there. The child relies on the flags that were seen
 * before the fork, not on those in its memory: a flag there may be set by an acquire that
 * then failed, or cleared by a thread that left after half of its section was copied.
 */
enum { FORK_NS = 50 * 1000 * 1000 };

/* Records in each handle the lease that its owner is inside; true if any but our own. */
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

		/* Relaxed: the heavy fence follows a withdrawal; restoring needs no order. */
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
	if (!used) /* a first handle, made under the lock, sees that leases are closed */
		return;
	sure = pawl_lease_barrier_all(); /* [D] */
	/* Ends by the clock at the latest. If the system refuses the barrier, threads that
	 * have not seen the change yet get as much time as those inside. */
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

/* Another thread may have held the handles' lock: rebuilds the table. */
void pawl_lease_forked(void)
{
	const struct pawl_lease_handle *mine = pawl_self()->lease;
	unsigned id;

	/* Relaxed: the child has no other thread. */
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

	/* Relaxed: our own flag. */
	return mine != NULL ? pawl_load_relaxed(&mine->flag) : 0;
}
