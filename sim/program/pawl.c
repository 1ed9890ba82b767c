/* SPDX-License-Identifier: MIT */
/*
 * pawl's locks in the checked program: the functions of libpawl that their headers call,
 * since the library itself is not compiled for the checker. A mutex is its header's fast
 * path and one wait in place of the queue; no thread sleeps, so `due` stays 0. The
 * waiting arrays are static memory of programs that use such locks. Other functions of
 * the library are refused by name.
 */
#include "heap.h"
#include "load.h"
#include "symmetry.h"
#include "threads.h"

#include <pawl/cond.h>
#include <pawl/runtime.h>

#include <errno.h>
#include <string.h>

/* Returns at once: the caller reads its word again, a loop that loops.c recognises. */
void pawl_park_(const pawl_atomic64 *w, enum pawl_until until, uint64_t value)
{
	(void)w, (void)until, (void)value;
}

/* Stores another owner than the header would, so that unlock takes the slow path. */
static void lock(struct pawl_mutex *m, enum operation how, const void *site)
{
	own_read(how, &m->word.raw, 0, (uint64_t)me(current_search) + 1, SIM_ACQUIRE,
		 site, NULL);
}

static void unlock(struct pawl_mutex *m, const void *site)
{
	own_store(&m->word.raw, 0, SIM_RELEASE, site);
}

void pawl_mutex_lock_slow_(struct pawl_mutex *m)
{
	lock(m, OP_AWAIT_CAS, SITE);
}

int pawl_mutex_lock_until_(struct pawl_mutex *m, int clock, const struct timespec *time)
{
	(void)clock, (void)time;
	if (event_choose(SITE))
		return ETIMEDOUT;
	lock(m, OP_ASSUME_CAS, SITE);
	return 0;
}

void pawl_mutex_unlock_slow_(struct pawl_mutex *m)
{
	unlock(m, SITE);
}

/* The word of a condition is the set of waiting threads: 0 if there is none. */

void pawl_cond_wait_slow_(struct pawl_cond *c, struct pawl_mutex *m)
{
	bool sleeps = !condition_wakes_for_nothing(SITE);

	if (sleeps)
		condition_join(&c->waiters.raw, SITE);
	unlock(m, SITE);
	if (sleeps)
		condition_sleep(c, false, SITE);
	lock(m, OP_AWAIT_CAS, SITE);
}

int pawl_cond_wait_until_(struct pawl_cond *c, struct pawl_mutex *m, int clock,
			  const struct timespec *time)
{
	bool sleeps = !event_choose(SITE);

	(void)clock, (void)time;
	if (sleeps)
		condition_join(&c->waiters.raw, SITE);
	unlock(m, SITE);
	if (sleeps)
		condition_sleep(c, true, SITE);
	lock(m, OP_AWAIT_CAS, SITE);
	return sleeps ? 0 : ETIMEDOUT;
}

void pawl_cond_signal_slow_(struct pawl_cond *c, bool all)
{
	if (all)
		condition_broadcast(&c->waiters.raw, c, SITE);
	else
		condition_signal(&c->waiters.raw, c, SITE);
}

/* Queue nodes: freed at once, so that a later access is seen as use after free. */

struct pawl_node *pawl_node_new_(void)
{
	return program_allocate(sizeof(struct pawl_node), _Alignof(struct pawl_node),
				SITE);
}

void pawl_node_free_(struct pawl_node *node)
{
	played_free(node);
}

/* A thread's storage is never freed here. */
void pawl_at_thread_exit_native_(void)
{
}

/* Waiting arrays, and hapax values: one block for each thread. */

PUBLIC pawl_atomic64 pawl_twa_slots_[PAWL_WAITING_SLOTS];
PUBLIC pawl_atomic64 pawl_hapax_slots_[PAWL_WAITING_SLOTS];
PUBLIC pawl_atomic64 pawl_hapax_vw_slots_[PAWL_WAITING_SLOTS];
PUBLIC struct pawl_hapax_gone pawl_hapax_gone_[1 << PAWL_GONE_BITS];

static struct {
	const char *name;
	void *start;
	size_t size;
	bool used;
} arrays[] = {
	{"pawl_twa_slots_", pawl_twa_slots_, sizeof(pawl_twa_slots_), false},
	{"pawl_hapax_slots_", pawl_hapax_slots_, sizeof(pawl_hapax_slots_), false},
	{"pawl_hapax_vw_slots_", pawl_hapax_vw_slots_, sizeof(pawl_hapax_vw_slots_),
	 false},
	{"pawl_hapax_gone_", pawl_hapax_gone_, sizeof(pawl_hapax_gone_), false},
};
enum { ARRAYS = sizeof(arrays) / sizeof(*arrays) };

void *pawl_array(const char *name)
{
	int i;

	for (i = 0; i < ARRAYS; i++) {
		if (strcmp(arrays[i].name, name) != 0)
			continue;
		arrays[i].used = true;
		return arrays[i].start;
	}
	return NULL;
}

void pawl_add_arrays(struct memory *m)
{
	int i;

	for (i = 0; i < ARRAYS; i++)
		if (arrays[i].used)
			memory_add_static(m, arrays[i].start, arrays[i].size);
}

uint64_t pawl_hapax_block_(void)
{
	int t = me(current_search);

	symmetry_names(current_search, t); /* slots of waiters depend on it */
	return (uint64_t)(t + 1) << PAWL_HAPAX_BLOCK_BITS;
}
