/* SPDX-License-Identifier: MIT */
/* A library that uses libpawl, for a program that does not. */
#include "life_plugin.h"

#include <pawl/lease.h>
#include <pawl/mcs.h>
#include <pawl/mutex.h>
#include <pawl/shared.h>

#include <pthread.h>
#include <sched.h>

static struct pawl_mutex mutex;
static struct pawl_lease lease;
static struct pawl_mcs nodes;
static pawl_atomic64 taken;

/* Lets go when somebody queues for it. */
static void *hold(void *unused)
{
	pawl_mutex_lock(&mutex);
	pawl_store_release(&taken, 1); /* [T] */
	/* Relaxed: it comes by and by. */
	while (pawl_load_relaxed(&mutex.due) == 0)
		sched_yield();
	pawl_mutex_unlock(&mutex);
	return unused;
}

static pthread_t holder;

__attribute__((constructor)) static void make_holder(void)
{
	if (pthread_create(&holder, NULL, hold, NULL) != 0)
		pawl_store_release(&taken, 2); /* [T] */
}

__attribute__((destructor)) static void end_holder(void)
{
	pthread_join(holder, NULL);
}

static int use_locks(void)
{
	uint64_t how = pawl_await_ne_acquire(&taken, 0, PAWL_SPIN); /* [T] */

	pawl_mutex_lock(&mutex);
	pawl_mutex_unlock(&mutex);
	return how == 1 ? 0 : 1;
}

static int use_lease(void)
{
	struct pawl_lease_handle *h = pawl_lease_self();
	enum pawl_lease_result result = pawl_lease_seize(&lease, h);

	if (result == PAWL_LEASE_NESTED)
		return 1;
	if (result != PAWL_LEASE_OK)
		return 2;
	pawl_lease_release(&lease, h);
	return 0;
}

static int use_more(void)
{
	const struct pawl_shared_shape shape = {.mutexes = 1};
	struct pawl_shared *region;
	int wrong;

	pawl_mcs_lock(&nodes);
	pawl_mcs_unlock(&nodes);
	if (pawl_shared_create(&region, -1, &shape) != 0)
		return 1;
	wrong = pawl_shared_mutex_lock(region, 0) != 0 ||
		pawl_shared_mutex_unlock(region, 0) != 0;
	return pawl_shared_detach(region) != 0 || wrong;
}

extern const struct plugin plugin;
const struct plugin plugin = {use_locks, use_lease, use_more};
