/* SPDX-License-Identifier: MIT */
/*
 * Statistics and profiles of the interposer, which are switched off in most of its scenarios.
 * What is asked of them is counted; asked for while they are off is a failure.
 */
#ifndef CHECK_INTERPOSER_OFF_H
#define CHECK_INTERPOSER_OFF_H

#include <preload/profile.h>
#include <preload/record.h>
#include <preload/stats.h>

bool stats_on, profile_on, profile_orders;
struct profile_file *profile_file;
__thread bool stats_in_cond;
__thread struct profile_thread *profile_mine;

enum note {
	ACQUIRED,
	WAITS,
	WAITED,
	REQUEUED,
	HAS_READ,
	HAS_WRITTEN,
	PROFILE_INITIALISED,
	PROFILE_WAITS,
	PROFILE_WAITED,
	PROFILE_TAKES,
	PROFILE_LEAVES,
	PROFILE_LEFT,
	PROFILE_ORDERS,
	NOTES,
};

static int noted[NOTES];

/* What else happens when a thread takes a lock, or is about to let go of it; or NULL. */
static void (*profile_notes)(const volatile void *lock, bool takes);

OUTSIDE static void note(enum note what, bool on)
{
	if (!on)
		explore_fail(VERDICT_ASSERTION, "what is switched off is asked for");
	noted[what]++;
}

OUTSIDE static void switch_off(void)
{
	stats_on = profile_on = profile_orders = false;
	__builtin_memset(noted, 0, sizeof(noted));
	profile_notes = NULL;
}

/* Whatever began has ended. */
OUTSIDE static inline void notes_add_up(void)
{
	if (noted[WAITS] != noted[WAITED] ||
	    noted[PROFILE_WAITS] != noted[PROFILE_WAITED] ||
	    noted[PROFILE_LEAVES] != noted[PROFILE_LEFT])
		explore_fail(VERDICT_ASSERTION, "a wait or an unlock is noted by half");
}

void stats_acquired(void)
{
	note(ACQUIRED, stats_on);
}

uint64_t stats_waiting(const struct mutex *m, const void *site)
{
	(void)m, (void)site;
	note(WAITS, stats_on);
	return 1;
}

void stats_waited(const struct mutex *m, uint64_t since)
{
	(void)m;
	note(WAITED, stats_on && since == 1);
}

void stats_requeued(uint64_t time)
{
	(void)time;
	note(REQUEUED, stats_on);
}

void stats_read(void)
{
	note(HAS_READ, stats_on);
}

void stats_written(void)
{
	note(HAS_WRITTEN, stats_on);
}

uint64_t stats_rwlock_waiting(const void *rw, const void *site)
{
	(void)rw, (void)site;
	note(WAITS, stats_on);
	return 1;
}

void stats_rwlock_waited(const void *rw, uint64_t since)
{
	(void)rw;
	note(WAITED, stats_on && since == 1);
}

void profile_initialised(const volatile void *lock, const void *site)
{
	(void)lock, (void)site;
	note(PROFILE_INITIALISED, profile_on);
}

void profile_wait(const volatile void *lock, enum profile_kind kind, uint64_t owner,
		  const void *site)
{
	(void)lock, (void)kind, (void)owner, (void)site;
	note(PROFILE_WAITS, profile_on);
}

void profile_waited(void)
{
	note(PROFILE_WAITED, profile_on);
}

int profile_took(const volatile void *lock, enum profile_kind kind, const void *site)
{
	(void)kind, (void)site;
	note(PROFILE_TAKES, profile_on);
	if (profile_notes != NULL)
		profile_notes(lock, true);
	return 0;
}

void profile_leaves(const volatile void *lock, uint64_t owner, const void *site)
{
	(void)owner, (void)site;
	note(PROFILE_LEAVES, profile_on);
	if (profile_notes != NULL)
		profile_notes(lock, false);
}

void profile_left(void)
{
	note(PROFILE_LEFT, profile_on);
}

void profile_order(const volatile void *lock, const void *site)
{
	(void)lock, (void)site;
	note(PROFILE_ORDERS, profile_orders);
}

#endif /* CHECK_INTERPOSER_OFF_H */
