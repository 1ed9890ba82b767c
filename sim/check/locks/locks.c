/* SPDX-License-Identifier: MIT */
#include "locks.h"

enum admission admission_of(const struct lock_type *type)
{
	switch (type->admission) {
	case ADMISSION_FIFO:
		return ADMIT_FIFO;
	case ADMISSION_ONCE:
		return ADMIT_ONCE;
	default:
		return ADMIT_ANY;
	}
}

void check_set_up(void *argument)
{
	static const char *const labels[LOCKS] = {"lock", "other lock"};
	struct check *c = argument;
	int i;

	for (i = 0; i < LOCKS; i++) {
		c->locks[i] = explore_allocate(c->type->size, 128);
		explore_label(c->locks[i], labels[i]);
	}
	c->shared = explore_allocate(sizeof(*c->shared), 128);
	explore_label(c->shared, "shared");
	c->shared->users = (uint64_t)c->threads;
}

void check_arrive(struct check *c, int i, size_t size)
{
	explore_arrive(i, c->locks[i], size, admission_of(c->type));
}

void check_enter(struct check *c, int i)
{
	explore_enter(i);
	if (c->scenario->alike != 0)
		explore_in_turn(c->scenario->alike - 1);
	c->shared->sections[i]++;
}

void check_lock(struct check *c, int i)
{
	check_arrive(c, i, c->type->size);
	c->type->lock(c->locks[i]);
	check_enter(c, i);
}

bool check_trylock(struct check *c, int i)
{
	check_arrive(c, i, c->type->size);
	if (!c->type->trylock(c->locks[i])) {
		explore_retreat(i);
		return false;
	}
	check_enter(c, i);
	return true;
}

bool check_timedlock(struct check *c)
{
	static const struct timespec later = {.tv_sec = 1};

	check_arrive(c, 0, c->type->size);
	if (c->type->timedlock(c->locks[0], CLOCK_MONOTONIC, &later) != 0) {
		explore_retreat(0);
		return false;
	}
	check_enter(c, 0);
	return true;
}

void check_unlock(struct check *c, int i)
{
	explore_leave(i);
	c->type->unlock(c->locks[i]);
}

void check_visit(struct check *c, int i)
{
	check_lock(c, i);
	check_unlock(c, i);
}

void check_finished(void *argument)
{
	struct check *c = argument;
	int i;

	for (i = 0; i < LOCKS; i++)
		if (c->expected[i] != 0 && c->shared->sections[i] != c->expected[i])
			explore_fail(VERDICT_EXCLUSION, "%llu sections counted as %llu",
				     (unsigned long long)c->expected[i],
				     (unsigned long long)c->shared->sections[i]);
}
