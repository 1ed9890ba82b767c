/* SPDX-License-Identifier: MIT */
/*
 * What the scenarios of the locks share: two locks, the sections that they guard,
 * and the ways in and out of them that the checker is told about. Part of the
 * simulated world: plain accesses to what is allocated are checked for races like
 * those of the locks.
 */
#ifndef CHECK_LOCKS_H
#define CHECK_LOCKS_H

#include "../outside.h"

enum { LOCKS = 2 };

/* Guarded by the locks, and checked for races. */
struct shared {
	uint64_t sections[LOCKS];
	uint64_t users;	     /* who may still lock it */
	uint64_t passed;     /* atomic: a lock was passed on */
	uint64_t context[8]; /* of the hold that was passed on */
};

struct check {
	const struct lock_type *type;
	const struct scenario *scenario;
	int threads, episodes;
	void *locks[LOCKS];
	struct shared *shared;
	uint64_t expected[LOCKS]; /* sections if none failed; 0 = any number */
	int held;		  /* locks that a thread holds at once, at most */
	bool gave_up;		  /* a thread did, which takes a node */
};

/* The order in which this lock lets in those who came. */
enum admission admission_of(const struct lock_type *type);

/* Before a lock is called, and when it has been got. */
void check_arrive(struct check *c, int i, size_t size);
void check_enter(struct check *c, int i);

/* The plain face; the timed one is for the first lock. */
void check_lock(struct check *c, int i);
bool check_trylock(struct check *c, int i);
bool check_timedlock(struct check *c);
void check_unlock(struct check *c, int i);
void check_visit(struct check *c, int i); /* locks and unlocks */

/* What a scenario's set_up, thread and finished may be, or begin with. */
void check_set_up(void *check);
void check_finished(
	void *check); /* as many sections as were expected, in so much space */

void sections_set_up(void *check); /* every thread locks and unlocks */
void sections_thread(void *check, int thread);
void return_set_up(void *check); /* likewise, and one comes back */
void return_thread(void *check, int thread);

/* The tables, each ended by one without a name. */
extern const struct scenario sections_scenarios[];
extern const struct scenario timed_scenarios[];
extern const struct scenario hapax_vw_scenarios[];
extern const struct scenario mutex_scenarios[];
extern const struct scenario mutex_states_scenarios[];

#endif /* CHECK_LOCKS_H */
