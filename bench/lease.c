/* SPDX-License-Identifier: MIT */
/*
 * The cost of an uncontended lock: every thread has its own, takes it, adds to a word,
 * and releases it. A lease is taken as shards do it, with the test for nesting.
 */
#include "episodes.h"

#include <pawl/lease.h>
#include <pawl/tas.h>

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

struct holder {
	struct episodes episodes;
	uint64_t value, refused; /* guarded word; number of refused leases */
	struct pawl_lease lease;
	struct pawl_tas tas;
	pthread_mutex_t mutex;
};

static void bare_loop(void *member)
{
	struct holder *me = member;
	uint64_t count = 0;

	do
		me->value++;
	while (episode_again(&me->episodes, &count));
	me->episodes.count = count;
}

static void lease_loop(void *member)
{
	struct holder *me = member;
	uint64_t count = 0;

	do {
		struct pawl_lease_handle *h = pawl_lease_self();

		if (__builtin_expect(pawl_lease_acquire(&me->lease, h) == PAWL_LEASE_OK,
				     true)) {
			me->value++;
			pawl_lease_release(&me->lease, h);
		} else {
			me->refused++;
		}
	} while (episode_again(&me->episodes, &count));
	me->episodes.count = count;
}

static void tas_loop(void *member)
{
	struct holder *me = member;
	uint64_t count = 0;

	do {
		pawl_tas_lock(&me->tas);
		me->value++;
		pawl_tas_unlock(&me->tas);
	} while (episode_again(&me->episodes, &count));
	me->episodes.count = count;
}

static void mutex_loop_own(void *member)
{
	struct holder *me = member;
	uint64_t count = 0;

	do {
		pthread_mutex_lock(&me->mutex);
		me->value++;
		pthread_mutex_unlock(&me->mutex);
	} while (episode_again(&me->episodes, &count));
	me->episodes.count = count;
}

static const struct bench_subject variants[] = {
	{.name = "lease", .loop = lease_loop},
	{.name = "bare", .loop = bare_loop},
	{.name = "tas", .loop = tas_loop},
	{.name = "mutex", .loop = mutex_loop_own},
};

static const struct bench_subject *const subjects[] = {
	&variants[0], &variants[1], &variants[2], &variants[3], NULL,
};

static struct holder *holders;
static int holding;

static void figures(struct bench_outcome *outcome)
{
	uint64_t refused = 0;
	int i;

	for (i = 0; i < holding; i++)
		refused += holders[i].refused;
	outcome->figures[0] = holding;
	outcome->figures[1] = 100 * (double)refused / (double)outcome->episodes;
}

static bool run(const struct bench_subject *subject, const struct bench_shape *shape,
		struct bench_outcome *outcome)
{
	uint64_t sum = 0;
	int i;

	holding = shape->threads;
	holders = workload_members(holding, sizeof(*holders));
	if (holders == NULL)
		return false;
	for (i = 0; i < holding; i++)
		pthread_mutex_init(&holders[i].mutex, NULL);
	if (!episodes_run(shape, subject->loop, holders, sizeof(*holders), figures,
			  outcome))
		return false;
	for (i = 0; i < holding; i++) {
		sum += holders[i].value + holders[i].refused;
		pawl_lease_drain(&holders[i].lease, 1000000000);
	}
	outcome->exclusive = sum == outcome->episodes;
	free(holders);
	return true;
}

const struct workload workload_lease = {
	.name = "lease",
	.about = "take a lock of one's own, add to a word, let it go",
	.source = "Khuong, lock-free dynamic contention management",
	.unit = "ops/s",
	.run = run,
	.subjects = subjects,
	.reference = "bare",
	.figures = EPISODE_FIGURES,
};
