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

struct pawl_parking;
struct pawl_filter;

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
	/* The name of one that does not end with this one's threads: asked for it, `pawl
	 * check` plays this one. */
	const char *stands_for;
	bool takes_minutes; /* only with --full, or if it is named */
	bool takes_seconds; /* many, so it is begun before others */
	bool takes_hours;   /* only if it is named, or at random */
	bool polls;	    /* the waiters of a mutex do */
	bool room;	    /* threads make room for its head */
	bool one_node;	    /* NUMA: nobody is elsewhere */
	const char *homes;  /* NUMA: a letter for each thread; NULL: anywhere */
	bool sleep_sees;    /* sim_sleep_sees: for what would not end */
	int alike;	    /* threads from alike - 1 on run the same code; 0 = none do */
	/* In which sizes `pawl check` runs it, unless asked for one. */
	int only_usual;	  /* with so many threads alone; 0: in the usual sizes */
	bool basic;	  /* in more than others, and with every lock that sleeps */
	bool long_asleep; /* takes hours with a lock that sleeps as others do */
	/* The locks that sleep and end it with three threads; NULL: none. */
	bool (*three_asleep)(const struct lock_type *type);
	/* What scenario_saw must have told of, a bit for each, when every execution was
	 * explored; and their names. */
	uint64_t sights;
	const char *const *sight_names;
};

/* Called by `finished`: this execution came to these. */
void scenario_saw(uint64_t sights);

/* A lock was loaded that brings its own parking table and filter, and what empties these in
 * the child of a fork: the scenarios of locks use them. */
void scenario_parks_in(struct pawl_parking *parking, struct pawl_filter *filter,
		       void (*forget)(void));

/* What more there is to a scenario for the core checker, sim/cores. */
struct core_scenario {
	int threads, episodes;		 /* what ends in seconds */
	int full_threads, full_episodes; /* what ends in minutes, with store buffers */
	bool weak_takes_minutes;	 /* so usually with store buffers only */
	void (*check)(const struct scenario *scenario, int threads, int episodes,
		      const struct options *options, struct result *result);
	bool buffers_only; /* weak memory takes too long even for that */
	bool in_order;	   /* likewise, and buffers take minutes */
	bool ends;	   /* nothing is left to chance: at random only if it is named */
};

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
extern const struct lock_type debug_types[];
extern const struct scenario debug_scenarios[];
extern const struct lock_type depot_types[];
extern const struct scenario depot_scenarios[];
extern const struct lock_type fence_types[];
extern const struct scenario fence_scenarios[];
extern const struct lock_type guard_types[];
extern const struct scenario guard_scenarios[];
extern const struct lock_type copies_types[];
extern const struct scenario copies_scenarios[];
extern const struct lock_type park_types[];
extern const struct scenario park_scenarios[];
extern const struct lock_type mode_types[];
extern const struct scenario mode_scenarios[];
extern const struct lock_type process_types[];
extern const struct scenario process_scenarios[];
extern const struct lock_type reads_types[];
extern const struct scenario reads_scenarios[];
extern const struct lock_type scoped_types[];
extern const struct scenario scoped_scenarios[];
extern const struct lock_type seqlock_types[];
extern const struct scenario seqlock_scenarios[];
extern const struct lock_type handle_types[];
extern const struct scenario handle_scenarios[];
extern const struct lock_type heirs_types[];
extern const struct scenario heirs_scenarios[];
extern const struct lock_type jump_types[];
extern const struct scenario jump_scenarios[];
extern const struct lock_type lease_types[];
extern const struct scenario lease_scenarios[];
extern const struct lock_type interposer_types[];
extern const struct scenario interposer_scenarios[];
extern const struct lock_type rwlock_types[];
extern const struct scenario rwlock_scenarios[];
extern const struct lock_type semaphore_types[];
extern const struct scenario semaphore_scenarios[];
extern const struct lock_type shared_types[];
extern const struct scenario shared_scenarios[];
extern const struct lock_type start_types[];
extern const struct scenario start_scenarios[];
extern const struct lock_type slots_types[];
extern const struct scenario slots_scenarios[];

/* The n-th scenario of such an object or, if it is none, of all locks; NULL when
 * there are no more. */
const struct scenario *scenario_of(const struct lock_type *type, size_t n);

/* Whether a lock sleeps in a way of its own: not as another one, waiting otherwise. */
bool has_own_way(const struct lock_type *type);

/* Whether its scenarios end with four threads, or with three visits of two: not if it is
 * made of two locks, cohort. */
bool ends_beyond_three(const struct lock_type *type);

/* The lock that is checked, for scenarios of the core checker. */
extern const struct lock_type *scenario_type;

/* Explores one scenario with one lock. */
void scenario_check(const struct scenario *scenario, const struct lock_type *type,
		    int threads, int episodes, const struct options *options,
		    struct result *result);

#endif /* CHECK_SCENARIO_H */
