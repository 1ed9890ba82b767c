/* SPDX-License-Identifier: MIT */
/* Statistics and profiles of the interposer, which are switched off in its scenarios. */
#ifndef CHECK_INTERPOSER_OFF_H
#define CHECK_INTERPOSER_OFF_H

#include <preload/profile.h>
#include <preload/record.h>
#include <preload/stats.h>

bool stats_on, profile_on, profile_orders;
struct profile_file *profile_file;
__thread bool stats_in_cond;
__thread struct profile_thread *profile_mine;

static void never_asked_for(void)
{
	explore_fail(VERDICT_ASSERTION, "what is switched off is asked for");
}

void stats_acquired(void)
{
	never_asked_for();
}

uint64_t stats_waiting(const struct mutex *m, const void *site)
{
	(void)m, (void)site;
	never_asked_for();
	return 0;
}

void stats_waited(const struct mutex *m, uint64_t since)
{
	(void)m, (void)since;
	never_asked_for();
}

void stats_requeued(uint64_t time)
{
	(void)time;
	never_asked_for();
}

void stats_read(void)
{
	never_asked_for();
}

void stats_written(void)
{
	never_asked_for();
}

uint64_t stats_rwlock_waiting(const void *rw, const void *site)
{
	(void)rw, (void)site;
	never_asked_for();
	return 0;
}

void stats_rwlock_waited(const void *rw, uint64_t since)
{
	(void)rw, (void)since;
	never_asked_for();
}

void profile_initialised(const volatile void *lock, const void *site)
{
	(void)lock, (void)site;
	never_asked_for();
}

void profile_wait(const volatile void *lock, enum profile_kind kind, uint64_t owner,
		  const void *site)
{
	(void)lock, (void)kind, (void)owner, (void)site;
	never_asked_for();
}

void profile_waited(void)
{
	never_asked_for();
}

int profile_took(const volatile void *lock, enum profile_kind kind, const void *site)
{
	(void)lock, (void)kind, (void)site;
	never_asked_for();
	return 0;
}

void profile_leaves(const volatile void *lock, uint64_t owner, const void *site)
{
	(void)lock, (void)owner, (void)site;
	never_asked_for();
}

void profile_left(void)
{
	never_asked_for();
}

void profile_order(const volatile void *lock, const void *site)
{
	(void)lock, (void)site;
	never_asked_for();
}

#endif /* CHECK_INTERPOSER_OFF_H */
