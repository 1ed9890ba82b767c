/* SPDX-License-Identifier: MIT */
/* What the tests of leases have in common: threads that do as they are told. */
#ifndef TESTS_LEASE_ACTORS_H
#define TESTS_LEASE_ACTORS_H

#include "harness/harness.h"

#include <pawl/lease.h>

struct pawl_lease_stats stats(void);
uint64_t word_of(const struct pawl_lease *l);
unsigned state_of(const struct pawl_lease *l);
unsigned cpu_of(const struct pawl_lease *l);

/*
 * An actor is a thread, on a CPU of its own choosing, that does one thing at a
 * time when it is told to. That it sleeps meanwhile is the point: a lease does
 * not mind.
 */
struct actor {
	pthread_t thread;
	size_t cpu;
	bool seated;
	pawl_atomic64 order; /* a function, to be run; 0 when it has been */
	void *argument;
	enum pawl_lease_result result;
};
void actor_start(struct actor *a, size_t cpu);
void actor_end(struct actor *a);

/* Lets an actor do something, and returns what came of it. */
enum pawl_lease_result let(struct actor *a, void (*run)(struct actor *), void *argument);

/* What it can be let do; the argument is a lease. */
void acquires(struct actor *a);
void seizes(struct actor *a);
void recovers(struct actor *a);
void releases(struct actor *a);
/* Takes it, whatever it takes, and lets go: it is this actor's lease then. */
void leases(struct actor *a);

/* Two actors on one CPU, and one on another if there is one. */
struct cast {
	struct actor near, nearer, far;
};
struct cast *cast_start(void);
void cast_end(struct cast *c);

/* Whether leases are bound to CPUs, in a way that an actor's seat determines. */
bool bound_to_cpus(void);
bool barriers_work(void);

/* The cases of lease_life.c; and what this program does when it is started once
 * more, with a single character for an argument. */
extern const struct CMUnitTest lease_life_cases[];
extern const size_t lease_life_case_count;
int lease_life_again(const char *argument);

/* The modes of which one must have been chosen, or NULL. */
extern const char *expected_modes;

#endif /* TESTS_LEASE_ACTORS_H */
