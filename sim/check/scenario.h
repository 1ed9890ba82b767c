/* SPDX-License-Identifier: MIT */
/*
 * What `pawl check` does with a lock: small programs over the registry's table
 * of simulated locks. All of them look for every verdict; each sets a scene in
 * which some are likely.
 */
#ifndef CHECK_SCENARIO_H
#define CHECK_SCENARIO_H

#include <sim/explore/explore.h>

#include <src/registry.h>

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
};

extern const struct scenario scenarios[]; /* ended by one without a name */
const struct scenario *scenario_find(const char *name);

/* Explores one scenario with one lock. */
void scenario_check(const struct scenario *scenario, const struct lock_type *type,
		    int threads, int episodes, const struct options *options,
		    struct result *result);

#endif /* CHECK_SCENARIO_H */
