/* SPDX-License-Identifier: MIT */
/*
 * An object file built with the headers of the last release, and one built with those
 * of now, in one process, with the library of now: they share every kind of lock,
 * compete for it, and wake each other. Status 0, or a line that says what went wrong.
 */
#define _GNU_SOURCE
#include "side.h"
#include "../harness/hang.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROUNDS = 300 };

static struct arena {
	__attribute__((aligned(128))) char lock[8192];
	long count;
	const struct side_lock *theirs;
	pid_t thread;
	int entered;
} arena;

static void check(int good, const char *lock, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "mixed: %s: not so: %s\n", lock, what);
	exit(1);
}

static const struct side_lock *find(const struct side *side, const char *name)
{
	const struct side_lock *l;

	for (l = side->locks; l->name != NULL; l++)
		if (strcmp(l->name, name) == 0)
			return l;
	return NULL;
}

static void compete(const struct side_lock *l)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		l->lock(arena.lock);
		arena.count++;
		l->unlock(arena.lock);
	}
}

static void *compete_as_they_do(void *unused)
{
	compete(arena.theirs);
	return unused;
}

static void *enter_as_they_do(void *unused)
{
	__atomic_store_n(&arena.thread, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	arena.theirs->lock(arena.lock);
	__atomic_store_n(&arena.entered, 1, __ATOMIC_RELEASE);
	arena.theirs->unlock(arena.lock);
	return unused;
}

/* Until the other thread sleeps, or is in. */
static void await_sleep(void)
{
	char path[64], state = ' ';
	pid_t thread;

	while ((thread = __atomic_load_n(&arena.thread, __ATOMIC_ACQUIRE)) == 0)
		sched_yield();
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)thread);
	while (state != 'S') {
		FILE *file = fopen(path, "r");

		if (file == NULL || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
			state = 'S';
		if (file != NULL)
			fclose(file);
		sched_yield();
	}
}

static void share(const struct side_lock *ours, const struct side_lock *theirs)
{
	pthread_t thread;

	memset(&arena, 0, sizeof(arena));
	arena.theirs = theirs;
	if (strcmp(ours->name, "rwlock, read") != 0) { /* readers do not exclude */
		pthread_create(&thread, NULL, compete_as_they_do, NULL);
		compete(ours);
		pthread_join(thread, NULL);
		check(arena.count == 2L * ROUNDS, ours->name,
		      "both sides exclude each other");
	}
	if (!ours->sleeps)
		return;
	ours->lock(arena.lock);
	pthread_create(&thread, NULL, enter_as_they_do, NULL);
	if (ours != theirs)
		await_sleep();
	ours->unlock(arena.lock);
	pthread_join(thread, NULL);
	check(arena.entered == 1, ours->name, "who sleeps is woken by the other side");
}

/* The condition variable. */

static struct monitor {
	__attribute__((aligned(64))) char mutex[64], cond[64];
	const struct side *theirs;
	int waiting, told;
} monitor;

static void *await_word(void *unused)
{
	const struct side_lock *mutex = find(monitor.theirs, "mutex");

	mutex->lock(monitor.mutex);
	monitor.waiting = 1;
	while (!monitor.told)
		monitor.theirs->wait(monitor.cond, monitor.mutex);
	mutex->unlock(monitor.mutex);
	return unused;
}

static void tell(const struct side *ours, const struct side *theirs)
{
	const struct side_lock *mutex = find(ours, "mutex");
	pthread_t thread;

	memset(&monitor, 0, sizeof(monitor));
	monitor.theirs = theirs;
	check(ours->cond_size == theirs->cond_size, "cond", "it has the same size");
	pthread_create(&thread, NULL, await_word, NULL);
	for (;;) {
		mutex->lock(monitor.mutex);
		if (monitor.waiting)
			break;
		mutex->unlock(monitor.mutex);
		sched_yield();
	}
	monitor.told = 1;
	ours->broadcast(monitor.cond);
	mutex->unlock(monitor.mutex);
	pthread_join(thread, NULL);
}

int main(void)
{
	const struct side_lock *old, *now;
	int locks = 0;

	alarm(HANG_GUARD_S);
	for (old = old_side.locks; old->name != NULL; old++, locks++) {
		now = find(&new_side, old->name);
		check(now != NULL, old->name, "it is still there");
		check(now->size == old->size, old->name, "it has the same size");
		check(now->size <= sizeof(arena.lock), old->name, "there is room for it");
		if (strcmp(old->name, "rwlock, read") == 0) {
			/* A writer of one side waits for a reader of the other. */
			share(find(&old_side, "rwlock, write"), now);
			share(find(&new_side, "rwlock, write"), old);
			continue;
		}
		share(old, now);
		share(now, old);
	}
	tell(&old_side, &new_side);
	tell(&new_side, &old_side);
	printf("%d kinds of lock are shared\n", locks);
	return locks > 30 ? 0 : 1;
}
