/* SPDX-License-Identifier: MIT */
/*
 * A process-shared mutex against glibc's, both robust: lock, count, unlock. Threads stand
 * for processes, which makes no difference to such a mutex; one thread measures the
 * uncontended pair.
 */
#define _GNU_SOURCE
#include "workload.h"

#include <pawl/shared.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

/* Both mutexes and the data that they guard, in one region. */
struct shared_data {
	PAWL_SEQUESTER pthread_mutex_t robust;
	PAWL_SEQUESTER uint64_t count;
};

struct shared_thread {
	PAWL_SEQUESTER pawl_atomic64 *stop;
	struct pawl_shared *region;
	struct shared_data *data;
	uint64_t episodes;
	int error; /* result of a lock that failed */
};

static void lock_pawl(void *member)
{
	struct shared_thread *me = member;
	struct shared_data *data = me->data;
	uint64_t episodes = 0;
	int error = 0;

	do {
		error |= pawl_shared_mutex_lock(me->region, 0);
		data->count++;
		error |= pawl_shared_mutex_unlock(me->region, 0);
		episodes++;
		/* Relaxed: only ends the loop. */
	} while (pawl_load_relaxed(me->stop) == 0);
	me->episodes = episodes;
	me->error = error;
}

static void lock_robust(void *member)
{
	struct shared_thread *me = member;
	struct shared_data *data = me->data;
	uint64_t episodes = 0;
	int error = 0;

	do {
		error |= pthread_mutex_lock(&data->robust);
		data->count++;
		error |= pthread_mutex_unlock(&data->robust);
		episodes++;
		/* Relaxed: only ends the loop. */
	} while (pawl_load_relaxed(me->stop) == 0);
	me->episodes = episodes;
	me->error = error;
}

static const struct bench_subject shared = {.name = "shared", .loop = lock_pawl};
static const struct bench_subject robust = {.name = "pthread-robust",
					    .loop = lock_robust};
static const struct bench_subject *const subjects[] = {&shared, &robust, NULL};

static void make_robust(pthread_mutex_t *m)
{
	pthread_mutexattr_t kind;

	pthread_mutexattr_init(&kind);
	pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(m, &kind);
	pthread_mutexattr_destroy(&kind);
}

static bool run(const struct bench_subject *subject, const struct bench_shape *shape,
		struct bench_outcome *outcome)
{
	const struct pawl_shared_shape region_shape = {
		.mutexes = 1,
		.threads = (unsigned)shape->threads + 1,
		.data_bytes = sizeof(struct shared_data),
	};
	static pawl_atomic64 stop; /* outlives a hung thread */
	struct shared_thread *threads = workload_members(shape->threads,
							 sizeof(*threads));
	struct pawl_shared *region;
	struct shared_data *data;
	struct tally tally = {0};
	double elapsed;
	int i;

	if (threads == NULL)
		return false;
	errno = pawl_shared_create(&region, -1, &region_shape);
	if (errno != 0)
		return false;
	data = pawl_shared_data(region);
	make_robust(&data->robust);
	pawl_store_relaxed(&stop, 0); /* Relaxed: no thread runs yet */
	for (i = 0; i < shape->threads; i++)
		threads[i] = (struct shared_thread){
			.stop = &stop, .region = region, .data = data};
	elapsed = workload_crew(shape, subject->loop, threads, sizeof(*threads), &stop,
				outcome);
	if (elapsed < 0)
		return false; /* threads may still use their members */
	outcome->exclusive = true;
	for (i = 0; i < shape->threads; i++) {
		tally_add(&tally, threads[i].episodes);
		outcome->exclusive &= threads[i].error == 0;
	}
	tally_report(&tally, elapsed, outcome);
	outcome->exclusive &= data->count == tally.total;
	pthread_mutex_destroy(&data->robust);
	pawl_shared_detach(region);
	free(threads);
	return true;
}

const struct workload workload_shared = {
	.name = "shared",
	.about = "lock and unlock a mutex between processes that survives its owner",
	.source = "pawl; Hapax paper, appendix B",
	.unit = "ops/s",
	.run = run,
	.subjects = subjects,
	.reference = "pthread-robust",
};
