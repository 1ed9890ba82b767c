/* SPDX-License-Identifier: MIT */
/* Forks, signals, jumps, strangers, exits: what comes between. */
#define _GNU_SOURCE
#include "rwlock_integrity.h"
#include "../harness/hang.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>

/*
 * Forks while others read, write and wait. The child has what the thread that forked
 * had, to write and to read, and may let go of it and take it again.
 */
static struct shared busy = {.rw = PTHREAD_RWLOCK_INITIALIZER};
static struct shared written = {.rw = PTHREAD_RWLOCK_INITIALIZER};
static struct shared read_by_us = {.rw = PTHREAD_RWLOCK_INITIALIZER};

static void *one_of_each(void *argument)
{
	struct shared *s = argument;

	CHECK(pthread_rwlock_rdlock(&s->rw) == 0);
	look(s, 1);
	CHECK(pthread_rwlock_unlock(&s->rw) == 0);
	CHECK(pthread_rwlock_wrlock(&s->rw) == 0);
	change(s, 1);
	CHECK(pthread_rwlock_unlock(&s->rw) == 0);
	return NULL;
}

static void live_as_child(void)
{
	pthread_t threads[3];

	alarm(HANG_GUARD_S);
	start_all(threads, 3, one_of_each, &written);
	usleep(2000);
	CHECK(pthread_rwlock_unlock(&written.rw) == 0);
	join_all(threads, 3);
	elsewhere(hundred_reads, &read_by_us);
	start_all(threads, 3, one_of_each, &read_by_us);
	usleep(2000);
	CHECK(pthread_rwlock_unlock(&read_by_us.rw) == 0);
	join_all(threads, 3);
	/* What others had is as they left it; initialised, it is as new. */
	CHECK(pthread_rwlock_init(&busy.rw, NULL) == 0);
	busy.begun = busy.ended = busy.counted = 0;
	run_for(10, 3, hammer, &busy);
	CHECK(busy.ended == busy.counted);
	_exit(0);
}

void forks(void)
{
	pthread_t threads[THREADS], others[2];
	int i, status;
	pid_t child;

	stop = false;
	start_all(threads, THREADS, hammer, &busy);
	for (i = 0; i < 20; i++) {
		if (i % 2 == 1)
			warm_up(&read_by_us.rw);
		CHECK(pthread_rwlock_wrlock(&written.rw) == 0);
		CHECK(pthread_rwlock_rdlock(&read_by_us.rw) == 0);
		start_all(&others[0], 1, one_of_each, &written);
		start_all(&others[1], 1, one_of_each, &read_by_us);
		usleep(2000);
		child = fork();
		CHECK(child >= 0);
		if (child == 0)
			live_as_child();
		CHECK(pthread_rwlock_unlock(&written.rw) == 0);
		CHECK(pthread_rwlock_unlock(&read_by_us.rw) == 0);
		join_all(others, 2);
		CHECK(waitpid(child, &status, 0) == child);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	stop = true;
	join_all(threads, THREADS);
}

/* Handlers that read, in threads that read, write other locks, or do neither; while
 * others write. They interrupt no function of pthread's: POSIX allows no more. */
static struct shared handled = {.rw = PTHREAD_RWLOCK_INITIALIZER};
static struct shared another = {.rw = PTHREAD_RWLOCK_INITIALIZER};

static void read_in_handler(int signal)
{
	(void)signal;
	CHECK(pthread_rwlock_rdlock(&handled.rw) == 0);
	look(&handled, 1);
	CHECK(pthread_rwlock_unlock(&handled.rw) == 0);
}

void signals(void)
{
	pthread_t writer;
	int i;

	signal(SIGUSR1, read_in_handler);
	stop = false;
	start_all(&writer, 1, write_on, &handled);
	for (i = 0; i < 1000; i++) {
		raise(SIGUSR1);
		CHECK(pthread_rwlock_rdlock(&handled.rw) == 0);
		raise(SIGUSR1);
		CHECK(pthread_rwlock_unlock(&handled.rw) == 0);
		CHECK(pthread_rwlock_wrlock(&another.rw) == 0);
		raise(SIGUSR1);
		CHECK(pthread_rwlock_unlock(&another.rw) == 0);
	}
	stop = true;
	join_all(&writer, 1);
	CHECK(pthread_rwlock_trywrlock(&handled.rw) == 0);
	CHECK(pthread_rwlock_unlock(&handled.rw) == 0);
}

/*
 * An old program's time limit: jumps out of a blocked call, and goes on, with a lock that
 * works. Half of them wait long enough to be in a queue.
 */
static sigjmp_buf way_out;
static volatile bool let_go_now;

static void jump(int signal)
{
	(void)signal;
	siglongjmp(way_out, 1);
}

struct holder {
	struct shared *s;
	bool writes;
	struct waiter victim;
	pthread_t thread;
	bool patient;
};

static void *hold_and_interrupt(void *argument)
{
	struct holder *h = argument;

	CHECK((h->writes ? pthread_rwlock_wrlock(&h->s->rw)
			 : pthread_rwlock_rdlock(&h->s->rw)) == 0);
	h->victim.lock = &h->s->rw;
	await_sleep(&h->victim);
	if (h->patient)
		usleep(20000);
	CHECK(pthread_kill(h->thread, SIGUSR1) == 0);
	while (!let_go_now)
		sched_yield();
	CHECK(pthread_rwlock_unlock(&h->s->rw) == 0);
	return NULL;
}

/* On a stack of its own depth, where somebody else's frames come later. */
static __attribute__((noinline)) void block_and_jump(struct holder *h, int depth)
{
	volatile char room[512];

	memset((void *)(uintptr_t)room, depth, sizeof(room));
	if (depth > 0) {
		block_and_jump(h, depth - 1);
		return;
	}
	if (sigsetjmp(way_out, 1) == 0) {
		say_who(&h->victim);
		if (h->victim.writes)
			pthread_rwlock_wrlock(&h->s->rw);
		else
			pthread_rwlock_rdlock(&h->s->rw);
		CHECK(!"the lock was free");
	}
}

static void *write_and_jump(void *argument)
{
	struct waiter *w = argument;

	if (sigsetjmp(way_out, 1) == 0) {
		say_who(w);
		pthread_rwlock_wrlock(w->lock);
		CHECK(!"the lock was free");
	}
	return NULL;
}

static void *read_behind(void *argument)
{
	struct waiter *w = argument;

	say_who(w);
	CHECK(pthread_rwlock_rdlock(w->lock) == 0);
	CHECK(pthread_rwlock_unlock(w->lock) == 0);
	return NULL;
}

/* A reader that queues because of a writer gets in when the writer jumps out of its wait, and
 * not only when the reader that has the lock leaves. */
static void a_jump_lets_readers_in(void)
{
	pthread_rwlock_t rw;
	struct waiter writer = {.lock = &rw, .writes = true}, reader = {.lock = &rw};
	pthread_rwlockattr_t attr;
	pthread_t writing, reading;

	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr,
				      PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	CHECK(pthread_rwlock_init(&rw, &attr) == 0);
	CHECK(pthread_rwlock_rdlock(&rw) == 0);
	start_all(&writing, 1, write_and_jump, &writer);
	await_sleep(&writer);
	usleep(20000); /* at the gate, surely */
	start_all(&reading, 1, read_behind, &reader);
	await_sleep(&reader);
	usleep(100000); /* in line */
	CHECK(pthread_kill(writing, SIGUSR1) == 0);
	join_all(&writing, 1);
	join_all(&reading, 1); /* while this thread still reads */
	CHECK(pthread_rwlock_unlock(&rw) == 0);
}

void jumps(void)
{
	int i;

	signal(SIGUSR1, jump);
	a_jump_lets_readers_in();
	for (i = 0; i < 48; i++) {
		struct shared s = {.rw = PTHREAD_RWLOCK_INITIALIZER};
		struct holder h = {.s = &s,
				   .writes = i % 3 != 0,
				   .victim = {.writes = i % 3 != 1},
				   .thread = pthread_self(),
				   .patient = i / 3 % 2 == 0};
		pthread_t thread;

		if (i / 6 % 2 == 0)
			warm_up(&s.rw);
		let_go_now = false;
		start_all(&thread, 1, hold_and_interrupt, &h);
		while (h.victim.lock == NULL)
			sched_yield();
		block_and_jump(&h, i % 8);
		let_go_now = true;
		join_all(&thread, 1);
		run_for(3, 3, hammer, &s);
		CHECK(s.ended == s.counted);
		CHECK(pthread_rwlock_trywrlock(&s.rw) == 0);
		CHECK(pthread_rwlock_unlock(&s.rw) == 0);
	}
}

/*
 * A thread with asynchronous cancellation is cancelled while it is blocked, as a reader in
 * line, as a writer at the gate, or as one that waits for a reader: it leaves nothing behind.
 */
static void *block_to_be_cancelled(void *argument)
{
	struct waiter *w = argument;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	say_who(w);
	if (w->writes)
		pthread_rwlock_wrlock(w->lock);
	else
		pthread_rwlock_rdlock(w->lock);
	CHECK(!"the lock was free");
	return NULL;
}

static void *overwrite_stack(void *unused)
{
	volatile char room[8192];

	memset((void *)(uintptr_t)room, 0x5a, sizeof(room));
	return unused;
}

void cancels_at_once(void)
{
	int i;

	for (i = 0; i < 24; i++) {
		struct shared s = {.rw = PTHREAD_RWLOCK_INITIALIZER};
		struct waiter w = {.lock = &s.rw, .writes = i % 3 != 1};
		pthread_t victim, behind;
		void *result;

		if (i / 3 % 2 == 0)
			warm_up(&s.rw);
		CHECK((i % 3 != 0 ? pthread_rwlock_wrlock(&s.rw)
				  : pthread_rwlock_rdlock(&s.rw)) == 0);
		start_all(&victim, 1, block_to_be_cancelled, &w);
		await_sleep(&w);
		if (i / 6 % 2 == 0)
			usleep(20000); /* in a queue, surely */
		start_all(&behind, 1, one_of_each, &s);
		CHECK(pthread_cancel(victim) == 0);
		CHECK(pthread_join(victim, &result) == 0);
		CHECK(result == PTHREAD_CANCELED);
		elsewhere(overwrite_stack, NULL);
		CHECK(pthread_rwlock_unlock(&s.rw) == 0);
		join_all(&behind, 1);
		run_for(3, 3, hammer, &s);
		CHECK(pthread_rwlock_trywrlock(&s.rw) == 0);
		CHECK(pthread_rwlock_unlock(&s.rw) == 0);
	}
}

/* Readers that are unlocked by other threads, which nobody defines. */
static void *let_go(void *argument)
{
	CHECK(pthread_rwlock_unlock(argument) == 0);
	return NULL;
}

void stranger(void)
{
	struct shared s = {.rw = PTHREAD_RWLOCK_INITIALIZER};
	int i;

	for (i = 0; i < 4; i++) {
		CHECK(pthread_rwlock_rdlock(&s.rw) == 0);
		if (i % 2 == 1)
			CHECK(pthread_rwlock_rdlock(&s.rw) == 0);
		elsewhere(let_go, &s.rw);
		if (i % 2 == 1) {
			CHECK(pthread_rwlock_trywrlock(&s.rw) == EBUSY);
			elsewhere(let_go, &s.rw);
		}
		elsewhere(hundred_writes, &s);
		/* It does not read any more: a writer keeps it out. */
		CHECK(pthread_rwlock_wrlock(&s.rw) == 0);
		CHECK(pthread_rwlock_tryrdlock(&s.rw) == EBUSY);
		CHECK(pthread_rwlock_unlock(&s.rw) == 0);
		warm_up(&s.rw);
	}
}

/* Locks in destructors of thread-specific data, after all else is gone. */
static pthread_key_t key;

static void last_words(void *argument)
{
	static __thread bool second_round; /* after the library's destructor */

	if (!second_round) {
		second_round = true;
		CHECK(pthread_setspecific(key, argument) == 0);
		return;
	}
	one_of_each(argument);
}

static void *set_key(void *argument)
{
	CHECK(pthread_setspecific(key, argument) == 0);
	warm_up(&((struct shared *)argument)->rw);
	return NULL;
}

void farewell(void)
{
	struct shared s = {.rw = PTHREAD_RWLOCK_INITIALIZER};
	pthread_t threads[THREADS];
	int i;

	CHECK(pthread_key_create(&key, last_words) == 0);
	for (i = 0; i < 20; i++) {
		start_all(threads, THREADS, set_key, &s);
		join_all(threads, THREADS);
	}
	CHECK(s.ended == 20 * THREADS);
}

/* exit while other threads hold and wait. */
void leave_in_the_middle(void)
{
	pthread_t threads[THREADS];

	stop = false;
	start_all(threads, THREADS, hammer, &busy);
	usleep(2000);
	exit(0);
}
