/* SPDX-License-Identifier: MIT */
/*
 * What `pawl check` does with a lock: small programs over the registry's table
 * of simulated locks. All of them look for every verdict; each sets a scene in
 * which some are likely.
 */
#ifndef CHECK_SCENARIO_H
#define CHECK_SCENARIO_H

#include <sim/explore/explore.h>

#include <src/registry/registry.h>

extern const struct lock_type sim_lock_types[];
const struct lock_type *sim_lock_type_find(const char *name);

struct scenario {
	const char *name;
	const char *what;
	int least_threads;
	int only_threads;  /* if not 0: no other number makes sense */
	int only_episodes; /* likewise */
	size_t waiting_slots;
	bool (*applies)(const struct lock_type *type);
	/* The verdict that is right for this lock; mostly VERDICT_PASSED. */
	enum verdict (*expected)(const struct lock_type *type);
	void (*set_up)(void *check);
	void (*thread)(void *check, int thread);
	void (*finished)(void *check);
	uint64_t bypass;		   /* of a mutex, if not the real one */
	bool without_membarrier;	   /* the system refuses it */
	bool for_sleepers;		   /* small enough for locks that sleep */
	const struct core_scenario *cores; /* NULL: threads have no CPUs */
	bool takes_minutes;		   /* only with --full, or if it is named */
	bool polls;			   /* the waiters of a mutex do */
	int alike; /* threads from alike - 1 on run the same code; 0 = none do */
};

/* What more there is to a scenario for the core checker, sim/cores. */
struct core_scenario {
	int threads, episodes;		 /* what ends in seconds */
	int full_threads, full_episodes; /* what ends in minutes */
	void (*check)(const struct scenario *scenario, int threads, int episodes,
		      const struct options *options, struct result *result);
};

extern const struct scenario scenarios[]; /* ended by one without a name */

/*
 * What is checked but is no lock of the registry: a type with a name and no
 * operations, and scenarios of its own, which know what to call.
 */
struct checked_object {
	const struct lock_type *type;
	const struct scenario *scenarios;
};

extern const struct checked_object checked_objects[]; /* ended by a NULL type */
extern const struct lock_type cond_types[]; /* ended by no name, like the next */
extern const struct scenario cond_scenarios[];
extern const struct lock_type fence_types[];
extern const struct scenario fence_scenarios[];
extern const struct lock_type seqlock_types[];
extern const struct scenario seqlock_scenarios[];
extern const struct lock_type lease_types[];
extern const struct scenario lease_scenarios[];
extern const struct lock_type rwlock_types[];
extern const struct scenario rwlock_scenarios[];
extern const struct lock_type semaphore_types[];
extern const struct scenario semaphore_scenarios[];
extern const struct lock_type shared_types[];
extern const struct scenario shared_scenarios[];

/* The scenarios of such an object, or of all locks. */
const struct scenario *scenarios_of(const struct lock_type *type);

/* Explores one scenario with one lock. */
void scenario_check(const struct scenario *scenario, const struct lock_type *type,
		    int threads, int episodes, const struct options *options,
		    struct result *result);

#endif /* CHECK_SCENARIO_H */
