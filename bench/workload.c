/* SPDX-License-Identifier: MIT */
/* The table of workloads, and helpers of their run() functions. */
#include "workload.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define WORKLOAD(id) extern const struct workload workload_##id;
#include "workloads.def"
#undef WORKLOAD

const struct workload *const workloads[] = {
#define WORKLOAD(id) &workload_##id,
#include "workloads.def"
#undef WORKLOAD
	NULL,
};

void *workload_members(int threads, size_t size)
{
	size_t bytes = (size_t)threads * size;
	void *members = aligned_alloc(_Alignof(struct bench_lock), bytes);

	if (members != NULL)
		memset(members, 0, bytes);
	return members;
}

static double cpu_seconds(const struct rusage *usage)
{
	return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
	       1e-6 * (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

static long switches(const struct rusage *usage)
{
	return usage->ru_nvcsw + usage->ru_nivcsw;
}

double workload_crew(const struct bench_shape *shape, crew_work *work, void *members,
		     size_t size, pawl_atomic64 *stop, struct bench_outcome *outcome)
{
	struct rusage before, after;
	double elapsed;

	*outcome = (struct bench_outcome){.value = 0};
	getrusage(RUSAGE_SELF, &before);
	elapsed = crew_run(shape->threads, work, members, size, stop, shape->warm_up,
			   shape->seconds);
	getrusage(RUSAGE_SELF, &after);
	outcome->cpu_seconds = cpu_seconds(&after) - cpu_seconds(&before);
	outcome->context_switches = switches(&after) - switches(&before);
	return elapsed;
}

void tally_add(struct tally *tally, uint64_t episodes)
{
	if (tally->threads == 0 || episodes < tally->least)
		tally->least = episodes;
	if (episodes > tally->most)
		tally->most = episodes;
	tally->total += episodes;
	tally->threads++;
}

void tally_report(const struct tally *tally, double elapsed,
		  struct bench_outcome *outcome)
{
	outcome->episodes = tally->total;
	outcome->ops_per_s = outcome->value = (double)tally->total / elapsed;
	outcome->fairness = (double)tally->least / (double)tally->most;
}
