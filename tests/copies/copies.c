/* SPDX-License-Identifier: MIT */
/*
 * Several copies of libpawl in one process, which use the same locks: docs/design/copies.md.
 * usage: copies CASE COPY...; each copy is a shared object of its own (copy.h).
 * Status 0, or a line on stderr that says what went wrong; a hang ends by SIGALRM.
 */
#define _GNU_SOURCE
#include "copies.h"

#include <pawl/cond.h>
#include <pawl/mutex.h>
#include <pawl/rwlock.h>
#include <pawl/semaphore.h>
#include <pawl/ticket.h>

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCK ((uint64_t)1 << PAWL_HAPAX_BLOCK_BITS)

/* What they share. */

static struct pawl_mutex mutex;
static struct pawl_cond cond;
static struct pawl_semaphore semaphore;
static struct pawl_ticket_park ticket;
static struct pawl_rwlock rwlock;
long counter, other;
static unsigned turn;

void pause_inside(void)
{
	volatile unsigned k;

	for (k = 0; k < 200; k++)
		;
}

static void count_locked(struct actor *actor)
{
	const struct copy *copy = copy_of(actor->number);
	unsigned i;

	for (i = 0; i < ROUNDS; i++) {
		copy->lock(&mutex);
		counter++;
		pause_inside();
		copy->unlock(&mutex);
	}
}

static void case_mutex(void)
{
	counter = 0;
	all(THREADS, count_locked);
	check(counter == (long)THREADS * ROUNDS, "no section was lost");
}

/* Locks through one copy, unlocks through the next. */
static void count_across(struct actor *actor)
{
	unsigned i;

	check(copy_of(actor->number)->me() == copy_of(actor->number + 1)->me(),
	      "a thread has one name in all copies");
	for (i = 0; i < ROUNDS; i++) {
		copy_of(actor->number + i)->lock(&mutex);
		counter++;
		pause_inside();
		copy_of(actor->number + i + 1)->unlock(&mutex);
	}
}

static void case_across(void)
{
	all(THREADS, count_across);
	check(counter == (long)THREADS * ROUNDS, "no section was lost");
}

static void lock_ticket(struct actor *actor)
{
	copy_of(actor->number)->ticket_lock(&ticket);
	counter++;
	copy_of(actor->number)->ticket_unlock(&ticket);
}

/* A lock whose waiters sleep on a word of it: each wakes the next, in another copy. */
static void case_ticket(void)
{
	struct actor actors[THREADS];
	unsigned i;

	copies[0]->ticket_lock(&ticket);
	for (i = 0; i < THREADS; i++) {
		begin(&actors[i], i + 1, lock_ticket);
		await_sleep(&actors[i]);
	}
	copies[0]->ticket_unlock(&ticket);
	for (i = 0; i < THREADS; i++)
		end(&actors[i]);
	check(counter == THREADS, "every waiter got the lock");
}

static void lock_soon(struct actor *actor)
{
	struct timespec then = in_seconds(HANG_GUARD_S / 2);

	check(copy_of(actor->number)->lock_until(&mutex, CLOCK_MONOTONIC, &then) == 0,
	      "a waiter is woken before its time is up");
	copy_of(actor->number)->unlock(&mutex);
}

static void case_timed(void)
{
	struct timespec then = in_seconds(0);
	struct actor actor;
	double before;

	copies[0]->lock(&mutex);
	check(copies[1]->lock_until(&mutex, CLOCK_MONOTONIC, &then) == ETIMEDOUT,
	      "a timed lock ends");
	begin(&actor, 1, lock_soon);
	await_sleep(&actor);
	before = now();
	copies[0]->unlock(&mutex);
	end(&actor);
	check(now() - before < HANG_GUARD_S / 4.0, "an unlock wakes a timed waiter");
}

/* Each waits for its turn through a copy of its own, and passes it on. */
static void take_turns(struct actor *actor)
{
	const struct copy *copy = copy_of(actor->number);
	unsigned i;

	for (i = 0; i < HAND_OVERS; i++) {
		copy->lock(&mutex);
		while (turn != actor->number)
			copy->wait(&cond, &mutex);
		turn = (turn + 1) % count;
		counter++;
		if (count == 2)
			copy->signal(&cond);
		else
			copy->broadcast(&cond);
		copy->unlock(&mutex);
	}
}

static void case_cond(void)
{
	all(count, take_turns);
	check(counter == (long)count * HAND_OVERS, "every turn was taken");
}

static void pass_unit(struct actor *actor)
{
	const struct copy *copy = copy_of(actor->number);
	unsigned i;

	for (i = 0; i < HAND_OVERS; i++) {
		copy->take(&semaphore);
		check(++other == 1, "there is one unit");
		pause_inside();
		counter++;
		other--;
		check(copy_of(actor->number + i)->post(&semaphore) == 0,
		      "the unit was taken");
	}
}

static void case_semaphore(void)
{
	check(copies[0]->draw() / BLOCK != copies[1]->draw() / BLOCK,
	      "copies draw different values");
	all(THREADS, pass_unit);
	check(counter == (long)THREADS * HAND_OVERS, "no unit was lost");
}

static void lock_once(struct actor *actor)
{
	copy_of(actor->number)->lock(&mutex);
	counter++;
	copy_of(actor->number)->unlock(&mutex);
}

/* A copy is loaded while threads sleep, and wakes them. */
static void case_late(void)
{
	struct actor actors[THREADS];
	unsigned i;

	copies[0]->lock(&mutex);
	for (i = 0; i < THREADS; i++)
		begin(&actors[i], 0, lock_once);
	for (i = 0; i < THREADS; i++)
		await_sleep(&actors[i]);
	for (i = 1; i < count; i++)
		load(i);
	copies[count - 1]->unlock(&mutex);
	for (i = 0; i < THREADS; i++)
		end(&actors[i]);
	check(counter == THREADS, "every sleeper got the lock");
	case_mutex();
}

/* A copy is unloaded while threads sleep, also the one that was there first. */
static void case_close(void)
{
	struct actor actor;
	unsigned first;

	for (first = 0; first < 2; first++) {
		copies[0]->lock(&mutex);
		begin(&actor, 1, lock_once);
		await_sleep(&actor);
		copies[1]->unlock(&mutex);
		end(&actor);

		copies[1]->lock(&mutex);
		begin(&actor, 1, lock_once);
		await_sleep(&actor);
		copies[0]->read_lock(&rwlock);
		copies[0]->read_unlock(&rwlock);
		unload(0);
		check(dlopen(paths[0], RTLD_NOW | RTLD_NOLOAD) == NULL, "a copy is gone");
		copies[1]->unlock(&mutex);
		end(&actor);
		load(0);
		bias(copies[0], &rwlock);
		copies[0]->read_lock(&rwlock);
		check(!copies[1]->write_trylock(&rwlock), "a reader is seen");
		copies[0]->read_unlock(&rwlock);
	}
	case_mutex();
}

/* A child of fork has one thread, and may have others as soon as it likes: also before all
 * copies have heard of the fork. */
static struct actor early;
static struct pawl_mutex early_mutex;
static bool forks;

static void lock_early(struct actor *actor)
{
	copy_of(actor->number)->lock(&early_mutex);
	copy_of(actor->number)->unlock(&early_mutex);
}

static void begin_early(void)
{
	if (!forks)
		return;
	copies[0]->lock(&early_mutex);
	begin(&early, 0, lock_early);
	await_sleep(&early);
}

static void case_fork(void)
{
	struct actor actor;
	int status;
	pid_t child;

	check(pthread_atfork(NULL, NULL, begin_early) == 0, "a handler");
	for (status = 1; (unsigned)status < count; status++)
		load((unsigned)status);
	copies[0]->lock(&mutex);
	begin(&actor, 0, lock_once);
	await_sleep(&actor);
	forks = true;
	child = fork();
	if (child == 0) {
		alarm(HANG_GUARD_S);
		copies[1]->unlock(&early_mutex);
		end(&early);
		copies[1]->unlock(&mutex);
		case_mutex();
		_exit(0);
	}
	check(waitpid(child, &status, 0) == child && status == 0,
	      "a child uses the locks through all copies");
	copies[1]->unlock(&mutex);
	end(&actor);
}

/* Of two copies of different protocols the second does not start: it says why, and aborts. */
static void case_mismatch(void)
{
	char said[1024] = "";
	int ends[2], status;
	size_t length = 0;
	ssize_t got;
	pid_t child;

	check(pipe(ends) == 0, "a pipe");
	child = fork();
	if (child == 0) {
		dup2(ends[1], STDERR_FILENO);
		load(1);
		_exit(0);
	}
	close(ends[1]);
	while ((got = read(ends[0], said + length, sizeof(said) - 1 - length)) > 0)
		length += (size_t)got;
	check(waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
		      WTERMSIG(status) == SIGABRT,
	      "a copy of another protocol does not start");
	check(strncmp(said,
		      "pawl: two copies of libpawl in this process do not fit together: ",
		      65) == 0 &&
		      strstr(said, paths[0]) != NULL &&
		      strstr(said, "protocol 77") != NULL &&
		      strchr(said, '\n') == said + length - 1,
	      "it says why in a sentence");
}

static const struct {
	const char *name;
	void (*run)(void);
	bool loads; /* all but the first copy by itself */
} cases[] = {
	{"mutex", case_mutex, false},
	{"across", case_across, false},
	{"timed", case_timed, false},
	{"cond", case_cond, false},
	{"semaphore", case_semaphore, false},
	{"ticket", case_ticket, false},
	{"rwlock", case_rwlock, false},
	{"rwlock-fork", case_rwlock_fork, false},
	{"late", case_late, true},
	{"close", case_close, false},
	{"fork", case_fork, true},
	{"mismatch", case_mismatch, true},
};

int main(int argc, char **argv)
{
	unsigned i, k;

	check(argc >= 4 && argc <= 2 + MOST, "usage: copies CASE COPY COPY...");
	paths = (const char *const *)argv + 2;
	count = (unsigned)argc - 2;
	alarm(HANG_GUARD_S);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(argv[1], cases[i].name) != 0)
			continue;
		for (k = 0; k < (cases[i].loads ? 1 : count); k++)
			load(k);
		cases[i].run();
		return 0;
	}
	check(false, "no such case");
}
