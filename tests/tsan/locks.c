/* SPDX-License-Identifier: MIT */
/* Every lock of the registry, in both ways to wait, and by each of its faces. */
#include "cases.h"

#include "registry/registry.h"

#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

static const struct lock_type *type;
static void *lock;
static char contexts[2][64];
static sem_t handed;

/* What is under test is how one section ends and the next begins. */
static void enter_plainly(int who)
{
	(void)who;
	type->lock(lock);
}

static void leave_plainly(int who)
{
	(void)who;
	type->unlock(lock);
}

static void enter_explicitly(int who)
{
	type->acquire(lock, contexts[who]);
}

static void leave_explicitly(int who)
{
	type->release(lock, contexts[who]);
}

static void enter_by_trying(int who)
{
	(void)who;
	while (!type->trylock(lock))
		sched_yield();
}

/* In vain at first. */
static void enter_in_time(int who)
{
	static const struct timespec past = {.tv_sec = 1};
	struct timespec later;

	(void)who;
	demand(type->timedlock(lock, CLOCK_MONOTONIC, &past) == ETIMEDOUT, "it is held");
	reach(2);
	clock_gettime(CLOCK_MONOTONIC, &later);
	later.tv_sec += 600;
	demand(type->timedlock(lock, CLOCK_MONOTONIC, &later) == 0, "there is time");
}

static void (*enter)(int who), (*leave)(int who);

/* The holder leaves when the other waits, as well as can be told. */
static void hold(void)
{
	if (enter == enter_explicitly)
		enter(0);
	else
		type->lock(lock);
	reach(1);
	if (enter == enter_in_time)
		await_step(2);
	if (type->parks && enter != enter_by_trying)
		await_parked();
	else
		linger();
	guarded++;
	leave(0);
}

/* Comes second; and frees the lock, if one may at once. */
static void follow(void)
{
	await_step(1);
	enter(1);
	guarded++;
	leave(1);
	if (type->destroy_when == DESTROY_STABLE || type->destroy_when == DESTROY_DESTROY)
		return;
	free(lock);
	lock = NULL;
}

static void hand_over(void)
{
	together(hold, follow);
}

static void come_and_go(void)
{
	int i;

	for (i = 0; i < 20; i++) {
		enter(0);
		guarded++;
		leave(0);
	}
}

static void take_turns(void)
{
	together(come_and_go, come_and_go);
}

/* Locks; another thread, who is told, unlocks. */
static void lock_twice(void)
{
	type->lock(lock);
	guarded++;
	sem_post(&handed);
	type->lock(lock);
	guarded++;
	type->unlock(lock);
}

static void unlock_once(void)
{
	sem_wait(&handed);
	guarded++;
	type->unlock(lock);
}

static void pass_on(void)
{
	together(lock_twice, unlock_once);
}

/* The race: right after unlock, and in the next section. */
static void touch_too_late(void)
{
	enter(0);
	leave(0);
	exposed++;
	reach(1);
	await_step(2); /* an exit might order the two */
}

static void touch_inside(void)
{
	await_step(1);
	enter(1);
	exposed++;
	leave(1);
	reach(2);
}

static void overrun(void)
{
	together(touch_too_late, touch_inside);
}

static void with(void (*enter_so)(int), void (*leave_so)(int),
		 void (*judge)(const char *, const char *, void (*)(void)),
		 const char *what, void (*run)(void))
{
	enter = enter_so;
	leave = leave_so;
	lock = calloc(1, type->size);
	demand(lock != NULL && type->context_size <= 64, "room");
	judge(what, type->name, run);
	if (lock != NULL && type->destroy != NULL && enter != enter_explicitly)
		type->destroy(lock);
	free(lock);
}

void test_locks(void)
{
	sem_init(&handed, 0, 0);
	for (type = lock_types; type->name != NULL; type++) {
		with(enter_plainly, leave_plainly, clean, "plain", hand_over);
		with(enter_plainly, leave_plainly, clean, "turns of", take_turns);
		with(enter_plainly, leave_plainly, racy, "overrun", overrun);
		if (type->acquire != NULL) {
			with(enter_explicitly, leave_explicitly, clean, "explicit",
			     hand_over);
			with(enter_explicitly, leave_explicitly, racy, "explicit overrun",
			     overrun);
		}
		if (type->trylock != NULL) {
			with(enter_by_trying, leave_plainly, clean, "trylock", hand_over);
			with(enter_by_trying, leave_plainly, racy, "trylock overrun",
			     overrun);
		}
		if (type->timedlock != NULL)
			with(enter_in_time, leave_plainly, clean, "timedlock", hand_over);
		if (type->release_by == RELEASE_ANYONE)
			with(enter_plainly, leave_plainly, clean, "passed on", pass_on);
	}
}
