/* SPDX-License-Identifier: MIT */
/*
 * The mode of this process's leases: chosen once, at the first use.
 *
 * Order: [D] pairs with itself: a thread that sees that the mode is chosen sees the mode.
 * [H] pairs with [B] of pawl/lease.h: the barrier, or, where the system has begun to refuse
 * it, a context switch to this thread on each CPU. [E] pairs with [E] of lease/lease.c: in
 * the fenced mode, which has no barrier, a fence that every acquire passes, too.
 */
#include "sleep/fences.h"
#include "lease/leases.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)LEASE_CPUS <= (int)PAWL_FENCE_CPUS, "each can be aimed at");
_Static_assert(offsetof(struct pawl_lease_handle, slot) % 8 == 4, "see pawl_cpu_now");

/* Settings from the environment, copied when the library is loaded: programs clear their
 * environment, or overwrite it. Empty if unset. */
static struct {
	bool read;
	char mode[32], sequences[32];
} settings;

static const char *const names[] = {
	[PAWL_LEASE_CPU] = "cpu",	[PAWL_LEASE_CID] = "cid",
	[PAWL_LEASE_RDPID] = "rdpid",	[PAWL_LEASE_THREAD] = "thread",
	[PAWL_LEASE_FENCED] = "fenced",
};
enum { MODES = sizeof(names) / sizeof(names[0]) };

static struct {
	pawl_atomic64 lock;
	pawl_atomic64 chosen; /* not 0: the other fields are set, and do not change */
	enum pawl_lease_mode mode;
	unsigned ids;
	bool by_cpu;	/* leases are bound to CPU numbers */
	bool by_word;	/* ids are read from a word of the rseq area */
	bool aimed;	/* a barrier can go to one CPU */
	bool sequences; /* restartable sequences are used, and barriers end them */
} domain;

__thread uint64_t pawl_sequence_
	__attribute__((tls_model("initial-exec"))) = PAWL_NO_PLACE_;

const char *pawl_lease_mode_name(enum pawl_lease_mode mode)
{
	return (unsigned)mode < MODES ? names[mode] : "unknown";
}

static bool to_be_had(enum pawl_lease_mode mode)
{
	switch (mode) {
	case PAWL_LEASE_CPU:
		return pawl_os_cpu_word() != NULL && pawl_os_barrier_prepare() &&
		       pawl_os_cpu_limit() <= LEASE_CPUS;
	case PAWL_LEASE_CID:
		return pawl_os_cid_word() != NULL && pawl_os_barrier_prepare() &&
		       pawl_os_cpu_limit() <= LEASE_CPUS;
	case PAWL_LEASE_RDPID:
		return pawl_arch_has_cpu() && pawl_os_barrier_prepare() &&
		       pawl_os_cpu_limit() <= LEASE_CPUS;
	case PAWL_LEASE_THREAD:
		return pawl_os_barrier_prepare();
	case PAWL_LEASE_FENCED:
		return true;
	}
	return false;
}

/* The best mode that is supported. Not CID, which must be requested: breaking a lease that
 * is bound to a concurrency id disturbs every CPU. */
static enum pawl_lease_mode best(void)
{
	static const enum pawl_lease_mode ladder[] = {PAWL_LEASE_CPU, PAWL_LEASE_RDPID,
						      PAWL_LEASE_THREAD};
	size_t i;

	for (i = 0; i < sizeof(ladder) / sizeof(ladder[0]); i++)
		if (to_be_had(ladder[i]))
			return ladder[i];
	return PAWL_LEASE_FENCED;
}

static void read_setting(const char *name, char *into, size_t size)
{
	const char *value = getenv(name);

	if (value != NULL)
		strncpy(into, value, size - 1);
}

/* Requires the lock. Runs at load, or at a first use before that. */
static void read_settings(void)
{
	if (settings.read)
		return;
	settings.read = true;
	read_setting("PAWL_LEASE_MODE", settings.mode, sizeof(settings.mode));
	read_setting("PAWL_LEASE_SEQUENCES", settings.sequences,
		     sizeof(settings.sequences));
}

__attribute__((constructor)) static void load(void)
{
	uint64_t signals = pawl_lease_lock(&domain.lock);

	read_settings();
	pawl_lease_unlock(&domain.lock, signals);
}

static enum pawl_lease_mode wanted(void)
{
	const char *name = settings.mode;
	unsigned mode;

	if (name[0] == '\0')
		return best();
	for (mode = 0; mode < MODES; mode++)
		if (strcmp(name, names[mode]) == 0)
			break;
	if (mode < MODES && to_be_had((enum pawl_lease_mode)mode))
		return (enum pawl_lease_mode)mode;
	pawl_os_complain("pawl: PAWL_LEASE_MODE=");
	pawl_os_complain(name);
	pawl_os_complain(mode < MODES ? " is not to be had on this system"
				      : " is none of cpu, cid, rdpid, thread, fenced");
	pawl_os_complain("; unset it for the best there is, which is used now\n");
	return best();
}

/*
 * Sequences wherever the system has them: they execute fewer instructions than a lease.
 * "no" is for comparisons, and for single-stepping in a debugger.
 */
static bool wants_sequences(void)
{
	const char *wish = settings.sequences;

	if (wish[0] == '\0' || strcmp(wish, "yes") == 0)
		return true;
	if (strcmp(wish, "no") == 0)
		return false;
	pawl_os_complain("pawl: PAWL_LEASE_SEQUENCES=");
	pawl_os_complain(wish);
	pawl_os_complain(" is neither yes nor no; unset it for yes, which is used now\n");
	return true;
}

/* Requires the lock. */
static void settle_on(enum pawl_lease_mode mode)
{
	bool by_area = mode == PAWL_LEASE_CPU || mode == PAWL_LEASE_CID;

	domain.mode = mode;
	domain.by_cpu = mode == PAWL_LEASE_CPU || mode == PAWL_LEASE_RDPID;
	domain.aimed = domain.by_cpu && pawl_os_barrier_cpu_prepare();
	domain.sequences = by_area && wants_sequences() && pawl_os_barrier_cpu_prepare();
	domain.by_word = by_area ||
			 (mode == PAWL_LEASE_FENCED && pawl_os_cpu_word() != NULL &&
			  pawl_os_cpu_limit() <= LEASE_CPUS);
	domain.ids = domain.by_cpu || domain.by_word ? pawl_os_cpu_limit() : LEASE_NOBODY;
	pawl_store_release(&domain.chosen, 1); /* [D] */
}

static void start(void)
{
	uint64_t signals;

	if (pawl_load_acquire(&domain.chosen) != 0) /* [D] */
		return;
	signals = pawl_lease_lock(&domain.lock);
	/* Relaxed: stored under the lock only. */
	if (pawl_load_relaxed(&domain.chosen) == 0) {
		read_settings();
		settle_on(wanted());
	}
	pawl_lease_unlock(&domain.lock, signals);
}

int pawl_lease_choose(enum pawl_lease_mode mode)
{
	uint64_t signals = pawl_lease_lock(&domain.lock);
	int error = 0;

	read_settings();
	/* Relaxed: stored under the lock only. */
	if (pawl_load_relaxed(&domain.chosen) != 0)
		error = domain.mode == mode ? 0 : EBUSY;
	else if (!to_be_had(mode))
		error = ENOTSUP;
	else
		settle_on(mode);
	pawl_lease_unlock(&domain.lock, signals);
	return error;
}

enum pawl_lease_mode pawl_lease_mode(void)
{
	start();
	return domain.mode;
}

unsigned pawl_lease_ids(void)
{
	start();
	return domain.ids;
}

void pawl_lease_bind(struct pawl_lease_handle *h)
{
	/* The number is at an odd 32-bit word: see pawl_cpu_now. */
	static const struct {
		__attribute__((aligned(8))) uint32_t apart;
		uint32_t number;
	} nowhere = {0, LEASE_NOWHERE};
	const uint32_t *cpu = NULL;

	start();
	h->fenced = domain.mode == PAWL_LEASE_FENCED;
	h->slot = h->id % domain.ids;
	/* Also NULL for a thread without an rseq area: its leases are bound to the
	 * thread only. */
	if (domain.by_word)
		cpu = domain.mode == PAWL_LEASE_CID ? pawl_os_cid_word()
						    : pawl_os_cpu_word();
	h->home = cpu != NULL ? cpu : &h->slot;
	h->told = cpu != NULL && !h->fenced ? cpu : &nowhere.number;
	if (domain.mode == PAWL_LEASE_RDPID)
		h->home = h->told = NULL;
}

void pawl_lease_place(const struct pawl_lease_handle *h)
{
	pawl_sequence_ = PAWL_NO_PLACE_;
	/* Not for a thread without an rseq area, even if other threads have one. */
	if (domain.sequences && h->home == h->told)
		pawl_sequence_ = pawl_address(pawl_os_cpu_word() - 1) +
				 (domain.mode == PAWL_LEASE_CID);
}

bool pawl_lease_sequences(void)
{
	start();
	return domain.sequences;
}

static bool fence_all(void)
{
	return domain.sequences ? pawl_heavy_fence_restart() /* [H] */
				: pawl_heavy_fence();	     /* [H] */
}

bool pawl_lease_barrier(uint64_t cpu)
{
	bool one = domain.by_cpu && cpu < LEASE_CPUS;

	if (one && domain.aimed && pawl_heavy_fence_cpu((unsigned)cpu)) /* [H] */
		return true;
	if (one)
		return fence_all() || pawl_os_visit((unsigned)cpu); /* [H] */
	return pawl_lease_barrier_all();
}

bool pawl_lease_barrier_all(void)
{
	if (domain.mode != PAWL_LEASE_FENCED)
		return fence_all() || pawl_os_visit(PAWL_OS_ONLINE); /* [H] */
	pawl_full_fence();					     /* [E] */
	return true;
}

void pawl_lease_mode_forget(void)
{
	/* Relaxed: the child has no other thread. */
	pawl_store_relaxed(&domain.lock, 0);
}
