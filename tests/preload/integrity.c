/* SPDX-License-Identifier: MIT */
/*
 * Exclusion and wake-ups under load: integrity CASE [light]. Exit status 0, or a
 * line that says what broke; a hang ends in an alarm. Light is for locks whose
 * waiters spin: they are slow when threads outnumber CPUs.
 */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum { MOST_THREADS = 6 };

static int thread_count = MOST_THREADS, run_ms = 400, effort = 20;

static volatile bool stop;

static struct timespec in_ms(clockid_t clock, long ms)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_nsec += ms % 1000 * 1000000;
	t.tv_sec += ms / 1000 + t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static void start_all(pthread_t *threads, int n, void *(*run)(void *), void *argument)
{
	int i;

	for (i = 0; i < n; i++)
		CHECK(pthread_create(&threads[i], NULL, run, argument) == 0);
}

static void join_all(pthread_t *threads, int n)
{
	int i;

	for (i = 0; i < n; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
}

static void run_for(long ms, int n, void *(*run)(void *), void *argument)
{
	pthread_t threads[64];

	stop = false;
	start_all(threads, n, run, argument);
	usleep((useconds_t)ms * 1000);
	stop = true;
	join_all(threads, n);
}

/*
 * Exclusion: all ways to lock at once, on plain variables, by more threads than
 * there are CPUs. `inside` catches two owners at once, the sum lost updates.
 */
struct shared {
	pthread_mutex_t m;
	pthread_cond_t c;
	int inside;
	long sum;
	long counted;
};

static bool lock_somehow(struct shared *s, unsigned way)
{
	struct timespec t;

	switch (way % 8) {
	case 0:
		return pthread_mutex_trylock(&s->m) == 0;
	case 1:
		t = in_ms(CLOCK_REALTIME, 1);
		return pthread_mutex_timedlock(&s->m, &t) == 0;
	case 2:
		t = in_ms(CLOCK_MONOTONIC, 2);
		return pthread_mutex_clocklock(&s->m, CLOCK_MONOTONIC, &t) == 0;
	default:
		return pthread_mutex_lock(&s->m) == 0;
	}
}

static void *hammer(void *argument)
{
	struct shared *s = argument;
	unsigned way = (unsigned)(uintptr_t)&way >> 4;
	struct timespec t;
	long mine = 0;

	while (!stop) {
		way = way * 1103515245 + 12345;
		if (!lock_somehow(s, way >> 16))
			continue;
		CHECK(s->inside++ == 0);
		s->sum++;
		mine++;
		CHECK(s->inside-- == 1);
		if (way >> 28 == 3)
			pthread_cond_signal(&s->c);
		if (way >> 28 == 5) {
			t = in_ms(CLOCK_MONOTONIC, 0);
			pthread_cond_clockwait(&s->c, &s->m, CLOCK_MONOTONIC, &t);
			CHECK(s->inside++ == 0);
			CHECK(s->inside-- == 1);
		}
		pthread_mutex_unlock(&s->m);
	}
	__atomic_fetch_add(&s->counted, mine, __ATOMIC_RELAXED);
	return NULL;
}

static void exclusion(void)
{
	static const pthread_mutex_t kinds[] = {PTHREAD_MUTEX_INITIALIZER,
						PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
						PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
						PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP};
	struct shared s;
	size_t i;

	for (i = 0; i < 4; i++) {
		s = (struct shared){.m = kinds[i], .c = PTHREAD_COND_INITIALIZER};
		run_for(run_ms, thread_count, hammer, &s);
		CHECK(s.sum == s.counted);
		CHECK(s.sum > 0);
	}
}

/* Ping-pong: hangs if one signal gets lost. */
struct table {
	pthread_mutex_t m;
	pthread_cond_t c[2];
	int turn, rounds;
	bool signal_outside, timed;
};

struct player {
	struct table *table;
	int side;
};

static void *play(void *argument)
{
	struct player *p = argument;
	struct table *t = p->table;
	struct timespec late = in_ms(CLOCK_REALTIME, 50000);
	int i;

	for (i = 0; i < t->rounds; i++) {
		CHECK(pthread_mutex_lock(&t->m) == 0);
		while (t->turn != p->side)
			if (t->timed)
				CHECK(pthread_cond_timedwait(&t->c[p->side], &t->m,
							     &late) == 0);
			else
				CHECK(pthread_cond_wait(&t->c[p->side], &t->m) == 0);
		t->turn = 1 - p->side;
		if (!t->signal_outside)
			pthread_cond_signal(&t->c[1 - p->side]);
		pthread_mutex_unlock(&t->m);
		if (t->signal_outside)
			pthread_cond_signal(&t->c[1 - p->side]);
	}
	return NULL;
}

static void pingpong(void)
{
	int variant;

	for (variant = 0; variant < 4; variant++) {
		struct table t = {
			.m = PTHREAD_MUTEX_INITIALIZER,
			.c = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER},
			.rounds = 250 * effort,
			.signal_outside = (variant & 1) != 0,
			.timed = (variant & 2) != 0};
		struct player players[2] = {{&t, 0}, {&t, 1}};
		pthread_t threads[2];

		start_all(&threads[0], 1, play, &players[0]);
		start_all(&threads[1], 1, play, &players[1]);
		join_all(threads, 2);
	}
}

/* A barrier made of a broadcast: hangs if one waiter is overlooked. */
struct barrier {
	pthread_mutex_t m;
	pthread_cond_t c;
	int arrived, generation, rounds;
};

static void *meet(void *argument)
{
	struct barrier *b = argument;
	int i, generation;

	for (i = 0; i < b->rounds; i++) {
		pthread_mutex_lock(&b->m);
		generation = b->generation;
		if (++b->arrived == thread_count) {
			b->arrived = 0;
			b->generation++;
			pthread_cond_broadcast(&b->c);
		}
		while (generation == b->generation)
			pthread_cond_wait(&b->c, &b->m);
		pthread_mutex_unlock(&b->m);
	}
	return NULL;
}

static void broadcast(void)
{
	struct barrier b = {.m = PTHREAD_MUTEX_INITIALIZER,
			    .c = PTHREAD_COND_INITIALIZER,
			    .rounds = 25 * effort};
	pthread_t threads[MOST_THREADS];

	start_all(threads, thread_count, meet, &b);
	join_all(threads, thread_count);
}

/* Nobody starves: every waiter of a queue gets its share. */
static long served[MOST_THREADS];
static struct barrier queue = {.m = PTHREAD_MUTEX_INITIALIZER,
			       .c = PTHREAD_COND_INITIALIZER};

static void *serve(void *argument)
{
	long *mine = argument;

	pthread_mutex_lock(&queue.m);
	while (!stop) {
		pthread_cond_wait(&queue.c, &queue.m);
		(*mine)++;
	}
	pthread_mutex_unlock(&queue.m);
	return NULL;
}

static void fair(void)
{
	pthread_t threads[MOST_THREADS];
	int i;

	stop = false;
	for (i = 0; i < thread_count; i++)
		start_all(&threads[i], 1, serve, &served[i]);
	for (i = 0; i < 150 * effort; i++) {
		pthread_mutex_lock(&queue.m);
		pthread_cond_signal(&queue.c);
		pthread_mutex_unlock(&queue.m);
		if (i % 8 == 0)
			usleep(10);
	}
	stop = true;
	for (i = 0; i < 200; i++) {
		pthread_cond_broadcast(&queue.c);
		usleep(1000);
	}
	join_all(threads, thread_count);
	for (i = 0; i < thread_count; i++)
		CHECK(served[i] > 0);
}

/*
 * Forks under load. In the child, what the forking thread held can be unlocked
 * and locked again, by new threads too; the table of sleepers is empty.
 */
static struct shared forked = {.m = PTHREAD_MUTEX_INITIALIZER,
			       .c = PTHREAD_COND_INITIALIZER};
static struct shared aside = {.m = PTHREAD_MUTEX_INITIALIZER,
			      .c = PTHREAD_COND_INITIALIZER};

static void before_fork(void)
{
	pthread_mutex_lock(&forked.m);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&forked.m);
}

static void *queue_up(void *argument)
{
	struct shared *s = argument;

	pthread_mutex_lock(&s->m);
	s->sum++;
	pthread_mutex_unlock(&s->m);
	return NULL;
}

static void live_as_child(void)
{
	struct timespec soon = in_ms(CLOCK_REALTIME, 5);
	pthread_t threads[3];
	int i;

	alarm(20);
	/* Held by us since before the fork, with the parent's threads queued. */
	start_all(threads, 3, queue_up, &aside);
	usleep(2000);
	pthread_mutex_unlock(&aside.m);
	join_all(threads, 3);
	for (i = 0; i < 5; i++) {
		CHECK(pthread_mutex_lock(&forked.m) == 0);
		CHECK(pthread_cond_timedwait(&forked.c, &forked.m, &soon) == ETIMEDOUT);
		CHECK(pthread_mutex_unlock(&forked.m) == 0);
	}
	stop = false;
	forked.sum = forked.counted = forked.inside = 0;
	run_for(10, 3, hammer, &forked);
	CHECK(forked.sum == forked.counted);
	_exit(0);
}

static void forks(void)
{
	pthread_t threads[MOST_THREADS], others[2];
	int i, status;
	pid_t child;

	CHECK(pthread_atfork(before_fork, after_fork, after_fork) == 0);
	stop = false;
	start_all(threads, thread_count, hammer, &forked);
	for (i = 0; i < effort; i++) {
		pthread_mutex_lock(&aside.m);
		start_all(others, 2, queue_up, &aside);
		usleep(3000);
		child = fork();
		CHECK(child >= 0);
		if (child == 0)
			live_as_child();
		pthread_mutex_unlock(&aside.m);
		join_all(others, 2);
		CHECK(waitpid(child, &status, 0) == child);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	stop = true;
	join_all(threads, thread_count);
}

/*
 * Cancellation under load: a waiter that is cancelled passes a signal on. Each
 * round has one thread to cancel and one that must be woken by one signal.
 */
struct victim {
	pthread_mutex_t m;
	pthread_cond_t c;
	int waiting, tokens, taken;
};

static void leave(void *argument)
{
	pthread_mutex_unlock(&((struct victim *)argument)->m);
}

static void *want_token(void *argument)
{
	struct victim *v = argument;

	pthread_mutex_lock(&v->m);
	pthread_cleanup_push(leave, v);
	v->waiting++;
	while (v->tokens == 0)
		pthread_cond_wait(&v->c, &v->m);
	v->tokens--;
	v->taken++;
	pthread_cleanup_pop(1);
	return NULL;
}

static void cancel(void)
{
	int i, waiting;

	for (i = 0; i < 15 * effort; i++) {
		struct victim v = {.m = PTHREAD_MUTEX_INITIALIZER,
				   .c = PTHREAD_COND_INITIALIZER};
		pthread_t threads[2];
		void *result;

		start_all(threads, 2, want_token, &v);
		do {
			sched_yield();
			pthread_mutex_lock(&v.m);
			waiting = v.waiting;
			pthread_mutex_unlock(&v.m);
		} while (waiting < 2);
		pthread_mutex_lock(&v.m);
		v.tokens = 1;
		if (i % 2 == 0)
			pthread_cancel(threads[0]);
		pthread_cond_signal(&v.c);
		if (i % 2 != 0)
			pthread_cancel(threads[0]);
		pthread_mutex_unlock(&v.m);
		CHECK(pthread_join(threads[0], &result) == 0);
		pthread_mutex_lock(&v.m);
		v.tokens += result != PTHREAD_CANCELED; /* one for the other then */
		if (result != PTHREAD_CANCELED)
			pthread_cond_signal(&v.c);
		pthread_mutex_unlock(&v.m);
		CHECK(pthread_join(threads[1], NULL) == 0); /* or hangs */
		CHECK(v.taken == 1 + (result != PTHREAD_CANCELED));
	}
}

/* 1,025 mutexes held by one thread, released in another order, twice. */
static void many(void)
{
	enum { MANY = 1025 };
	static pthread_mutex_t m[MANY];
	int i, round;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < MANY; i++)
			CHECK(pthread_mutex_lock(&m[i]) == 0);
		for (i = 0; i < MANY; i++)
			CHECK(pthread_mutex_trylock(&m[i]) == EBUSY);
		for (i = 0; i < MANY; i++)
			CHECK(pthread_mutex_unlock(&m[i * 7 % MANY]) == 0);
		for (i = 0; i < MANY; i++)
			CHECK(pthread_mutex_trylock(&m[i]) == 0);
		for (i = MANY - 1; i >= 0; i--)
			CHECK(pthread_mutex_unlock(&m[i]) == 0);
	}
}

/* Prompt destruction: whoever unlocks last frees the memory. */
struct counted {
	pthread_mutex_t m;
	pthread_cond_t c;
	int references;
};

static void *drop(void *argument)
{
	struct counted *o = argument;
	int left;

	pthread_mutex_lock(&o->m);
	left = --o->references;
	pthread_cond_signal(&o->c);
	pthread_mutex_unlock(&o->m);
	if (left == 0) {
		pthread_cond_destroy(&o->c);
		CHECK(pthread_mutex_destroy(&o->m) == 0);
		memset(o, 0xA5, sizeof(*o));
		free(o);
	}
	return NULL;
}

/* Threads come and go all the time: nothing may pile up. */
static void churn(void)
{
	int i, n;

	for (i = 0; i < 20 * effort; i++) {
		struct counted *o = malloc(sizeof(*o));
		pthread_t threads[4];

		pthread_mutex_init(&o->m, NULL);
		pthread_cond_init(&o->c, NULL);
		o->references = 4;
		start_all(threads, 4, drop, o);
		for (n = 0; n < 4; n++)
			pthread_join(threads[n], NULL);
	}
}

/* Signals all the time: EINTR shows nowhere. */
static void ignore(int signal)
{
	(void)signal;
}

static void signals(void)
{
	struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = ignore; /* no SA_RESTART */
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	pingpong();
	broadcast();
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_DFL);
}

/* Another thread unlocks; only for locks that allow it. */
static pthread_mutex_t lent = PTHREAD_MUTEX_INITIALIZER;

static void *unlock_lent(void *argument)
{
	CHECK(pthread_mutex_unlock(&lent) == 0);
	return argument;
}

static void stranger(void)
{
	pthread_t thread;
	int i;

	for (i = 0; i < 10 * effort; i++) {
		CHECK(pthread_mutex_lock(&lent) == 0);
		start_all(&thread, 1, unlock_lent, NULL);
		CHECK(pthread_mutex_lock(&lent) == 0);
		CHECK(pthread_mutex_unlock(&lent) == 0);
		join_all(&thread, 1);
	}
}

/* A timed lock gets its turn although the mutex is never left alone. */
static struct shared busy = {.m = PTHREAD_MUTEX_INITIALIZER};

static void *keep_busy(void *argument)
{
	while (!stop) {
		pthread_mutex_lock(&busy.m);
		busy.sum++;
		pthread_mutex_unlock(&busy.m);
	}
	return argument;
}

static void timed(void)
{
	pthread_t threads[3];
	struct timespec late;
	int i;

	stop = false;
	start_all(threads, 3, keep_busy, NULL);
	for (i = 0; i < effort; i++) {
		late = in_ms(CLOCK_MONOTONIC, 10000);
		CHECK(pthread_mutex_clocklock(&busy.m, CLOCK_MONOTONIC, &late) == 0);
		busy.sum++;
		CHECK(pthread_mutex_unlock(&busy.m) == 0);
	}
	stop = true;
	join_all(threads, 3);
}

/* Locks in destructors of thread-specific data, after all else is gone. */
static pthread_key_t key;

static void last_words(void *argument)
{
	struct shared *s = argument;

	pthread_mutex_lock(&s->m);
	s->sum++;
	pthread_cond_signal(&s->c);
	pthread_mutex_unlock(&s->m);
}

static void *set_key(void *argument)
{
	pthread_setspecific(key, argument);
	return NULL;
}

static void farewell(void)
{
	struct shared s = {.m = PTHREAD_MUTEX_INITIALIZER, .c = PTHREAD_COND_INITIALIZER};
	pthread_t threads[8];
	int i;

	CHECK(pthread_key_create(&key, last_words) == 0);
	for (i = 0; i < 20; i++) {
		start_all(threads, 8, set_key, &s);
		join_all(threads, 8);
	}
	CHECK(s.sum == 160);
}

/* Threads with the smallest stack there is. */
static void *little(void *argument)
{
	struct timespec soon = in_ms(CLOCK_REALTIME, 1);
	struct shared *s = argument;

	pthread_mutex_lock(&s->m);
	s->sum++;
	pthread_cond_timedwait(&s->c, &s->m, &soon);
	pthread_mutex_unlock(&s->m);
	return NULL;
}

static void small(void)
{
	struct shared s = {.m = PTHREAD_MUTEX_INITIALIZER, .c = PTHREAD_COND_INITIALIZER};
	pthread_attr_t attr;
	pthread_t threads[8];
	int i;

	pthread_attr_init(&attr);
	CHECK(pthread_attr_setstacksize(&attr, (size_t)PTHREAD_STACK_MIN) == 0);
	for (i = 0; i < 8; i++)
		CHECK(pthread_create(&threads[i], &attr, little, &s) == 0);
	join_all(threads, 8);
	CHECK(s.sum == 8);
}

/* The spin lock under load. */
static pthread_spinlock_t spin;
static long spun, spun_by_all;

static void *spin_hammer(void *argument)
{
	long mine = 0;

	while (!stop) {
		if (mine % 3 == 0) {
			if (pthread_spin_trylock(&spin) != 0)
				pthread_spin_lock(&spin);
		} else {
			pthread_spin_lock(&spin);
		}
		spun++;
		mine++;
		pthread_spin_unlock(&spin);
	}
	__atomic_fetch_add(&spun_by_all, mine, __ATOMIC_RELAXED);
	return argument;
}

static void spins(void)
{
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	run_for(run_ms, thread_count, spin_hammer, NULL);
	CHECK(spun == spun_by_all);
}

/* Newcomers, all at once: under PAWL_STATS each needs a record of its own. */
static pthread_barrier_t gate;

static void *come_in(void *argument)
{
	struct shared *s = argument;

	pthread_barrier_wait(&gate);
	pthread_mutex_lock(&s->m);
	s->sum++;
	pthread_mutex_unlock(&s->m);
	return NULL;
}

static void newcomers(void)
{
	struct shared s = {.m = PTHREAD_MUTEX_INITIALIZER};
	pthread_t threads[32];
	int i;

	CHECK(pthread_barrier_init(&gate, NULL, 32) == 0);
	for (i = 0; i < 10 * effort; i++) {
		start_all(threads, 32, come_in, &s);
		join_all(threads, 32);
	}
	CHECK(s.sum == 32L * 10 * effort);
}

/* Is the thread asleep in the kernel? */
static bool is_asleep(pid_t id)
{
	char path[64], text[512], *state;
	FILE *file;
	size_t length;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)id);
	file = fopen(path, "r");
	CHECK(file != NULL);
	length = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[length] = '\0';
	state = strrchr(text, ')');
	return state != NULL && state[2] == 'S';
}

struct party {
	pthread_mutex_t *m;
	pthread_cond_t *c;
	int depth;
	volatile pid_t about_to_wait;
};

static void *wait_at_depth(void *argument)
{
	struct party *p = argument;
	int i;

	for (i = 0; i < p->depth; i++)
		CHECK(pthread_mutex_lock(p->m) == 0);
	p->about_to_wait = gettid();
	CHECK(pthread_cond_wait(p->c, p->m) == 0);
	for (i = 0; i < p->depth; i++)
		CHECK(pthread_mutex_unlock(p->m) == 0);
	return NULL;
}

/* Starts it and returns once it waits: it sleeps nowhere else from there on. */
static void start_waiting(pthread_t *thread, struct party *p)
{
	start_all(thread, 1, wait_at_depth, p);
	while (p->about_to_wait == 0 || !is_asleep(p->about_to_wait))
		sched_yield();
}

/* One broadcast wakes them all: with a mutex that is let go of, and with one that is
 * not, because it was locked twice. */
static void depths(void)
{
	static const int orders[][3] = {{1, 1, 2}, {1, 2, 0}};
	size_t order;
	int i, n;

	for (order = 0; order < 2; order++) {
		pthread_mutex_t m = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
		pthread_cond_t c = PTHREAD_COND_INITIALIZER;
		struct party parties[3];
		pthread_t threads[3];

		for (n = 0; n < 3 && orders[order][n] != 0; n++) {
			parties[n] = (struct party){&m, &c, orders[order][n], 0};
			start_waiting(&threads[n], &parties[n]);
		}
		CHECK(pthread_cond_broadcast(&c) == 0);
		for (i = 0; i < n; i++)
			join_all(&threads[i], 1);
	}
}

/* The same with one condition variable and several mutexes, of several sorts. */
static void mixture(void)
{
	pthread_mutex_t m[4] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
				PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
				PTHREAD_MUTEX_INITIALIZER};
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	pthread_mutexattr_t attr;
	struct party parties[8];
	pthread_t threads[8];
	int i;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	CHECK(pthread_mutex_init(&m[3], &attr) == 0);
	for (i = 0; i < 8; i++) {
		parties[i] = (struct party){&m[i % 4], &c, 1, 0};
		start_waiting(&threads[i], &parties[i]);
	}
	CHECK(pthread_cond_broadcast(&c) == 0);
	join_all(threads, 8);
}

/*
 * An old program's time limit: jumps out of a blocked lock, and goes on, with the
 * mutex as it is or made anew.
 */
static sigjmp_buf way_out;
static struct shared jumped;
static volatile pid_t jumper;
static volatile bool let_go;

static void jump(int signal)
{
	(void)signal;
	siglongjmp(way_out, 1);
}

static void *hold_and_interrupt(void *argument)
{
	pthread_t victim = *(pthread_t *)argument;

	pthread_mutex_lock(&jumped.m);
	jumper = 0;
	while (jumper == 0 || !is_asleep(jumper))
		sched_yield();
	pthread_kill(victim, SIGUSR1);
	while (!let_go)
		sched_yield();
	pthread_mutex_unlock(&jumped.m);
	return NULL;
}

/* On a stack of its own depth, where somebody else's frames come later. */
static __attribute__((noinline)) void block_and_jump(int depth)
{
	volatile char room[512];

	memset((void *)(uintptr_t)room, depth, sizeof(room));
	if (depth > 0) {
		block_and_jump(depth - 1);
		return;
	}
	if (sigsetjmp(way_out, 1) == 0) {
		jumper = gettid();
		pthread_mutex_lock(&jumped.m);
		CHECK(!"the lock was free");
	}
}

static void jumps(void)
{
	pthread_t self = pthread_self(), holder;
	struct sigaction action;
	int i;

	memset(&action, 0, sizeof(action));
	action.sa_handler = jump;
	sigaction(SIGUSR1, &action, NULL);
	for (i = 0; i < effort; i++) {
		jumped = (struct shared){.m = PTHREAD_MUTEX_INITIALIZER,
					 .c = PTHREAD_COND_INITIALIZER};
		let_go = false;
		jumper = -1;
		start_all(&holder, 1, hold_and_interrupt, &self);
		while (jumper != 0)
			sched_yield();
		block_and_jump(i % 8);
		if (i % 2 == 0) { /* it is the holder's still, and free in the end */
			let_go = true;
			join_all(&holder, 1);
			run_for(5, 3, hammer, &jumped);
		} else { /* the holder's no longer */
			CHECK(pthread_mutex_init(&jumped.m, NULL) == 0);
			run_for(5, 3, hammer, &jumped);
			CHECK(pthread_mutex_lock(&jumped.m) == 0); /* for the holder */
			let_go = true;
			join_all(&holder, 1);
		}
		CHECK(jumped.sum == jumped.counted);
		CHECK(pthread_mutex_lock(&jumped.m) == 0);
		CHECK(pthread_mutex_unlock(&jumped.m) == 0);
	}
}

/* A helper that is left waiting for ever, and its mutex made anew. */
static void *wait_for_ever(void *argument)
{
	struct party *p = argument;

	p->about_to_wait = gettid();
	pthread_mutex_lock(p->m);
	CHECK(!"somebody who was forgotten came in");
	return NULL;
}

static void forgotten(void)
{
	static const pthread_mutex_t kinds[] = {PTHREAD_MUTEX_INITIALIZER,
						PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP};
	static struct shared s[2];
	static struct party ghosts[2][2];
	pthread_mutexattr_t attr;
	pthread_t ghost;
	int i, n;

	pthread_mutexattr_init(&attr);
	for (i = 0; i < 2; i++) {
		s[i] = (struct shared){.m = kinds[i], .c = PTHREAD_COND_INITIALIZER};
		CHECK(pthread_mutex_lock(&s[i].m) == 0);
		for (n = 0; n < 2; n++) {
			ghosts[i][n].m = &s[i].m;
			start_all(&ghost, 1, wait_for_ever, &ghosts[i][n]);
			while (ghosts[i][n].about_to_wait == 0 ||
			       !is_asleep(ghosts[i][n].about_to_wait))
				sched_yield();
		}
		pthread_mutexattr_settype(&attr, s[i].m.__data.__kind);
		CHECK(pthread_mutex_init(&s[i].m, &attr) == 0);
		run_for(run_ms / 4, 3, hammer, &s[i]);
		CHECK(s[i].sum == s[i].counted);
		CHECK(pthread_mutex_destroy(&s[i].m) == 0);
	}
	_exit(0); /* nobody will join them */
}

/* exit while other threads hold and wait. */
static void leave_in_the_middle(void)
{
	pthread_t threads[MOST_THREADS];

	stop = false;
	start_all(threads, thread_count, hammer, &forked);
	usleep(20000);
	exit(0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {
		{"exclusion", exclusion},
		{"pingpong", pingpong},
		{"broadcast", broadcast},
		{"fair", fair},
		{"forks", forks},
		{"cancel", cancel},
		{"many", many},
		{"churn", churn},
		{"signals", signals},
		{"stranger", stranger},
		{"timed", timed},
		{"farewell", farewell},
		{"small", small},
		{"spins", spins},
		{"exit", leave_in_the_middle},
		{"newcomers", newcomers},
		{"depths", depths},
		{"mixture", mixture},
		{"jumps", jumps},
		{"forgotten", forgotten},
	};
	size_t i;

	alarm(60);
	if (argc == 3 && strcmp(argv[2], "light") == 0) {
		thread_count = 3;
		run_ms = 100;
		effort = 2;
	}
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (argc >= 2 && strcmp(argv[1], cases[i].name) == 0) {
			cases[i].run();
			return 0;
		}
	fprintf(stderr, "usage: integrity CASE [light]\n");
	return 2;
}
