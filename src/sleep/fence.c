/* SPDX-License-Identifier: MIT */
/*
 * The heavy side of the asymmetric fence; barrier.c has those who ask at the same
 * time share one barrier.
 *
 * Until the barrier is known to work the light side is a full fence, which
 * pairs with the heavy side's own full fence. The switch to the light form may
 * happen while other threads run: a heavy side whose barrier call came too
 * early to succeed had passed its full fence by then, so a thread that already
 * sees the switch also sees the stores before that fence. Should the system
 * come to refuse the barrier later on, the light side is a full fence again.
 *
 * Order: [F] pairs with [F] of pawl/backend/memory.h, the light side's full form. Relaxed
 * throughout: the above makes it enough.
 */
#include "sleep/fences.h"
#include "sleep/parking.h"

__attribute__((used)) uint64_t pawl_light_fence_full_ = 1;

static pawl_atomic64 *full(void)
{
	return (pawl_atomic64 *)&pawl_light_fence_full_;
}

__attribute__((constructor)) static void choose_light_fence(void)
{
	if (pawl_os_barrier_prepare())
		pawl_store_relaxed(full(), 0);
}

/* One queue for barriers against all CPUs, one for those that end sequences, and one
 * for each CPU that is aimed at. */
enum { ALL = PAWL_FENCE_CPUS, RESTART };
static struct pawl_barriers services[RESTART + 1];
static pawl_atomic64 aimed_below; /* those of CPUs from here on are untouched */

/* A signal handler cannot wait for the thread that it interrupted in a queue: it
 * makes a barrier of its own. */
static __thread volatile bool asking __attribute__((tls_model("initial-exec")));

static bool pass(struct pawl_barriers *service, unsigned cpu)
{
	bool good;

	if (asking)
		return pawl_barrier_call(cpu);
	pawl_critical_enter(); /* other threads queue behind this one */
	asking = true;
	good = pawl_barriers_pass(service, cpu);
	asking = false;
	pawl_critical_leave();
	return good;
}

bool pawl_heavy_fence_native_(void)
{
	pawl_full_fence(); /* [F] */
	if (pass(&services[ALL], PAWL_ALL_CPUS))
		return true;
	if (pawl_load_relaxed(full()) == 0)
		pawl_store_relaxed(full(), 1);
	return false;
}

bool pawl_heavy_fence_works(void)
{
	return pawl_load_relaxed(full()) == 0;
}

bool pawl_heavy_fence_cpu(unsigned cpu)
{
	uint64_t below;

	/* Relaxed: who looks wants no order. Ends: it only grows. */
	while ((below = pawl_load_relaxed(&aimed_below)) <= cpu)
		pawl_cas_relaxed(&aimed_below, below, cpu + 1);
	pawl_full_fence(); /* [F] */
	return pass(&services[cpu], cpu);
}

bool pawl_heavy_fence_restart(void)
{
	pawl_full_fence(); /* [F] */
	return pass(&services[RESTART], PAWL_ALL_RESTART);
}

/* Those that have been used, one after the other, from NULL to NULL. */
static struct pawl_barriers *next(const struct pawl_barriers *s)
{
	uint64_t i = s == NULL ? 0 : (uint64_t)(s - services) + 1;

	if (i < ALL && i >= pawl_load_relaxed(&aimed_below)) /* Relaxed: as above */
		i = ALL;
	return i > RESTART ? NULL : &services[i];
}

void pawl_fence_stats(struct pawl_fence_stats *stats)
{
	const struct pawl_barriers *s = NULL;

	*stats = (struct pawl_fence_stats){0, 0, 0};
	while ((s = next(s)) != NULL) {
		/* Relaxed: counts. */
		stats->barriers += pawl_load_relaxed(&s->calls);
		stats->joined += pawl_load_relaxed(&s->joined);
		stats->ns += pawl_load_relaxed(&s->ns);
	}
}

void pawl_fence_forget(void)
{
	struct pawl_barriers *s = NULL;

	while ((s = next(s)) != NULL)
		pawl_store_relaxed(&s->lock, 0); /* Relaxed: nobody else is there */
}
