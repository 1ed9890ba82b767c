/* SPDX-License-Identifier: MIT */
/*
 * Homes: the CPUs that share a last-level cache are one, where a line that one of them
 * wrote is near. Numbered as they are first asked for. Where the system does not say who
 * shares a cache, a NUMA node is a home.
 */
#include "os/os.h"
#include "sync/homes.h"

#include <pawl/runtime.h>

enum { CPUS = 1024 }; /* more of them are told apart by node */
enum { NOT_KNOWN, BY_NODE, ALONE, FIRST };

static pawl_atomic64 homes[CPUS]; /* FIRST + the home's number, or one of the others */
static pawl_atomic64 numbers;	  /* given out */

static uint64_t find(unsigned cpu)
{
	unsigned first;
	bool all;

	if (!pawl_os_cache_of(cpu, &first, &all) || first >= CPUS)
		return pawl_os_nodes() > 1 ? BY_NODE : ALONE;
	if (all)
		return ALONE;
	/* Relaxed, all: a number stands for nothing else, and the first one stays. */
	if (pawl_load_relaxed(&homes[first]) == NOT_KNOWN)
		pawl_cas_relaxed(&homes[first], NOT_KNOWN,
				 FIRST + pawl_fetch_add_relaxed(&numbers, 1));
	return pawl_load_relaxed(&homes[first]); /* Relaxed: likewise */
}

unsigned pawl_home_of(unsigned cpu)
{
	uint64_t home;

	if (cpu >= CPUS)
		return pawl_os_nodes() > 1 ? pawl_os_node() : PAWL_NO_HOME;
	home = pawl_load_relaxed(&homes[cpu]); /* Relaxed: as in find */
	if (__builtin_expect(home == NOT_KNOWN, false)) {
		home = find(cpu);
		pawl_store_relaxed(&homes[cpu], home); /* Relaxed: likewise */
	}
	if (home == BY_NODE)
		return pawl_os_node();
	return home == ALONE ? PAWL_NO_HOME : (unsigned)(home - FIRST);
}

unsigned pawl_numa_node_native_(void)
{
	return pawl_home_of(pawl_os_cpu());
}
