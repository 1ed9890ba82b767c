/* SPDX-License-Identifier: MIT */
/*
 * The heavy side of the asymmetric fence, as a service: one barrier is under way
 * at a time, and whoever asks meanwhile shares the next one.
 *
 * Until the barrier is known to work the light side is a full fence, which
 * pairs with the heavy side's own full fence. The switch to the light form may
 * happen while other threads run: a heavy side whose barrier call came too
 * early to succeed had passed its full fence by then, so a thread that already
 * sees the switch also sees the stores before that fence. Should the system
 * come to refuse the barrier later on, the light side is a full fence again.
 *
 *   F1  A request is served by a barrier that began after it: it reads `begun`
 *       behind its full fence, and only a later number will do. The barrier's
 *       thread counts `begun` up before the call, so who read the number before
 *       that had passed his fence, and his stores are behind the barrier's own.
 *   F2  `served` is the number of a barrier that is over; it is stored by the
 *       lock's holder. Who reads it sees what every thread had stored when the
 *       barrier reached it.
 */
#include "fences.h"
#include "leases.h"
#include "parking.h"

uint64_t pawl_light_fence_full = 1;

/* Relaxed throughout: see above for what makes it enough. */
static pawl_atomic64 *full(void)
{
	return (pawl_atomic64 *)&pawl_light_fence_full;
}

__attribute__((constructor)) static void choose_light_fence(void)
{
	if (pawl_os_barrier_prepare())
		pawl_store_relaxed(full(), 0);
}

/* The barriers of one kind: against all CPUs, or against one. */
struct service {
	__attribute__((aligned(64))) pawl_atomic64 lock;
	pawl_atomic64 begun;  /* barriers, F1 */
	pawl_atomic64 served; /* F2 */
	pawl_atomic64 joined, ns;
};
enum { ALL = LEASE_CPUS };
static struct service services[ALL + 1];
static pawl_atomic64 aimed_below; /* services of CPUs from here on are untouched */

static void add(pawl_atomic64 *count, uint64_t n)
{
	/* Relaxed: under the lock; who reads wants no order. */
	pawl_store_relaxed(count, pawl_load_relaxed(count) + n);
}

static bool serve(unsigned cpu)
{
	struct service *s = &services[cpu];
	uint64_t need, start;
	bool good = true;

	pawl_full_fence();
	need = pawl_load_relaxed(&s->begun) + 1; /* Relaxed: F1 */
	/* Ends with the barrier that is under way, and those queued before us. */
	pawl_guard_lock(&s->lock);
	/* Relaxed: stored under the lock only, which also gives F2. */
	if (pawl_load_relaxed(&s->served) >= need) {
		add(&s->joined, 1);
	} else {
		add(&s->begun, 1);
		pawl_full_fence(); /* F1 */
		start = pawl_os_now();
		good = cpu == ALL ? pawl_os_barrier() : pawl_os_barrier_cpu(cpu);
		add(&s->ns, pawl_os_now() - start);
		if (good) /* Relaxed: F2 */
			pawl_store_relaxed(&s->served, pawl_load_relaxed(&s->begun));
	}
	pawl_guard_unlock(&s->lock);
	return good;
}

bool pawl_heavy_fence_native(void)
{
	if (serve(ALL))
		return true;
	if (pawl_load_relaxed(full()) == 0)
		pawl_store_relaxed(full(), 1);
	return false;
}

bool pawl_heavy_fence_cpu(unsigned cpu)
{
	uint64_t below;

	/* Relaxed: who looks wants no order. Ends: it only grows. */
	while ((below = pawl_load_relaxed(&aimed_below)) <= cpu)
		pawl_cas_relaxed(&aimed_below, below, cpu + 1);
	return serve(cpu);
}

/* The services that have been used, one after the other, from NULL to NULL. */
static struct service *next(const struct service *s)
{
	uint64_t i = s == NULL ? 0 : (uint64_t)(s - services) + 1;

	if (i <= ALL && i >= pawl_load_relaxed(&aimed_below)) /* Relaxed: as above */
		i = ALL;
	return s == &services[ALL] ? NULL : &services[i];
}

void pawl_fence_stats(struct pawl_fence_stats *stats)
{
	const struct service *s = NULL;

	*stats = (struct pawl_fence_stats){0, 0, 0};
	while ((s = next(s)) != NULL) {
		/* Relaxed: counts. */
		stats->barriers += pawl_load_relaxed(&s->begun);
		stats->joined += pawl_load_relaxed(&s->joined);
		stats->ns += pawl_load_relaxed(&s->ns);
	}
}

void pawl_fence_forget(void)
{
	struct service *s = NULL;

	while ((s = next(s)) != NULL)
		pawl_store_relaxed(&s->lock, 0); /* Relaxed: nobody else is there */
}
