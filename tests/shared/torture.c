/* SPDX-License-Identifier: MIT */
/*
 * Eight processes that keep books under two mutexes, and somebody who kills
 * them at random, again and again. Whoever finds an owner dead mends the books.
 * The books must balance at every entry; nobody may be stuck; and of each
 * process that died inside, exactly one other is told.
 *
 * Usage: torture KILLS [SEED]
 */
#define _GNU_SOURCE
#include <pawl/atomic.h>
#include <pawl/shared.h>

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 8, MUTEXES = 2, ACCOUNTS = 16, LIVES = 1 << 14, BALANCE = 1000 };
enum { STUCK_SECONDS = 30 };

/* What a life was last doing to a mutex. Only `inside` is beyond doubt: in the
 * other two a part of lock or unlock runs that may or may not own it. */
enum phase { OUTSIDE, LOCKING, INSIDE, UNLOCKING };

/* The books, plain, under one mutex. */
struct books {
	long account[ACCOUNTS];
	uint64_t inside; /* the life that is at work here; 0: in order */
	int from, to;
	long before_from, before_to; /* as they were when it began */
	uint64_t entries, told_edge, out_of_balance;
};

/* A life is one process's: numbered from 1, never used again. */
struct life {
	pawl_atomic64 phase[MUTEXES];
	uint64_t told[MUTEXES]; /* under the mutex: that it died inside */
};

struct shop {
	struct books books[MUTEXES];
	pawl_atomic64 stop, progress;
	struct life lives[LIVES];
};

static struct pawl_shared *region;
static struct shop *shop;

static void fail(const char *what, int error)
{
	fprintf(stderr, "torture: %s (%d)\n", what, error);
	abort();
}

static uint64_t draw(uint64_t *state, uint64_t n)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (*state >> 16) % n;
}

static void linger(uint64_t *state)
{
	if (draw(state, 8) == 0)
		usleep((useconds_t)draw(state, 200));
}

static long sum(const struct books *books)
{
	long total = 0;
	int i;

	for (i = 0; i < ACCOUNTS; i++)
		total += books->account[i];
	return total;
}

/* The owner died: puts things back to where it began. */
static void mend(unsigned mutex)
{
	struct books *books = &shop->books[mutex];
	int error;

	if (books->inside != 0) {
		books->account[books->from] = books->before_from;
		books->account[books->to] = books->before_to;
		shop->lives[books->inside].told[mutex]++;
		books->inside = 0;
	} else {
		books->told_edge++;
	}
	error = pawl_shared_mutex_consistent(region, mutex);
	if (error != 0)
		fail("consistent failed", error);
}

static int lock_somehow(unsigned mutex, uint64_t *state)
{
	struct timespec time;

	switch (draw(state, 4)) {
	case 0:
		return pawl_shared_mutex_trylock(region, mutex);
	case 1:
		clock_gettime(CLOCK_MONOTONIC, &time);
		time.tv_nsec += (long)draw(state, 400000);
		time.tv_sec += time.tv_nsec / 1000000000;
		time.tv_nsec %= 1000000000;
		return pawl_shared_mutex_timedlock(region, mutex, CLOCK_MONOTONIC, &time);
	default:
		return pawl_shared_mutex_lock(region, mutex);
	}
}

/* Owns the mutex, with the books in order, or returns false. */
static bool come_in(unsigned mutex, uint64_t life, uint64_t *state)
{
	struct books *books = &shop->books[mutex];
	int error;

	pawl_store_release(&shop->lives[life].phase[mutex], LOCKING);
	error = lock_somehow(mutex, state);
	if (error == EBUSY || error == ETIMEDOUT) {
		pawl_store_release(&shop->lives[life].phase[mutex], OUTSIDE);
		return false;
	}
	if (error == EOWNERDEAD)
		mend(mutex);
	else if (error != 0)
		fail("lock failed", error);
	if (books->inside != 0)
		fail("somebody died inside, and nobody was told", (int)books->inside);
	books->out_of_balance += sum(books) != ACCOUNTS * BALANCE;
	books->entries++;
	books->from = (int)draw(state, ACCOUNTS);
	books->to = (int)draw(state, ACCOUNTS);
	books->before_from = books->account[books->from];
	books->before_to = books->account[books->to];
	/* Nothing is lost, and nothing comes first that was written later. */
	pawl_release_fence();
	books->inside = life;
	pawl_store_release(&shop->lives[life].phase[mutex], INSIDE);
	return true;
}

static void go_out(unsigned mutex, uint64_t life, uint64_t *state)
{
	struct books *books = &shop->books[mutex];
	long amount = (long)draw(state, 100);
	int error;

	books->account[books->from] -= amount;
	linger(state);
	books->account[books->to] += amount;
	pawl_store_release(&shop->lives[life].phase[mutex], UNLOCKING);
	books->inside = 0;
	error = pawl_shared_mutex_unlock(region, mutex);
	if (error != 0)
		fail("unlock failed", error);
	pawl_store_release(&shop->lives[life].phase[mutex], OUTSIDE);
}

static void live(uint64_t life, uint64_t seed)
{
	uint64_t state = seed | 1;

	while (pawl_load_relaxed(&shop->stop) == 0) {
		unsigned mutex = (unsigned)draw(&state, MUTEXES);
		bool both = mutex == 0 && draw(&state, 3) == 0;

		if (!come_in(mutex, life, &state))
			continue;
		linger(&state);
		if (both && come_in(1, life, &state))
			go_out(1, life, &state);
		go_out(mutex, life, &state);
		pawl_fetch_add_relaxed(&shop->progress, 1);
		linger(&state);
	}
	_exit(0);
}

/* Somebody at random; every other time somebody who is inside, if possible. */
static int choose(const uint64_t *life, uint64_t *state)
{
	int victim = (int)draw(state, WORKERS), i;
	unsigned mutex = (unsigned)draw(state, MUTEXES);

	if (draw(state, 2) == 0)
		return victim;
	for (i = 0; i < WORKERS; i++)
		if (pawl_load_acquire(&shop->lives[life[i]].phase[mutex]) == INSIDE)
			return i;
	return victim;
}

static pid_t start(uint64_t life, uint64_t seed)
{
	pid_t pid = fork();

	if (pid == 0)
		live(life, seed);
	if (pid < 0)
		fail("fork failed", errno);
	return pid;
}

/* Waits for progress since `before`, or says who is stuck. */
static uint64_t await_progress(uint64_t before)
{
	int i;

	for (i = 0; i < STUCK_SECONDS * 1000; i++) {
		uint64_t now = pawl_load_relaxed(&shop->progress);

		if (now != before)
			return now;
		usleep(1000);
	}
	fail("nobody gets anywhere", 0);
	return 0;
}

/* Everybody is gone: was everything told that had to be, and nothing twice? */
static int judge(uint64_t lives)
{
	uint64_t inside = 0, edges = 0, told = 0, edge_told = 0, entries = 0, wrong = 0;
	uint64_t life;
	unsigned m;

	for (m = 0; m < MUTEXES; m++) {
		int error = pawl_shared_mutex_lock(region, m);

		if (error == EOWNERDEAD)
			mend(m);
		else if (error != 0)
			fail("the last lock failed", error);
		wrong += shop->books[m].out_of_balance +
			 (sum(&shop->books[m]) != ACCOUNTS * BALANCE);
		edge_told += shop->books[m].told_edge;
		entries += shop->books[m].entries;
		for (life = 1; life <= lives; life++) {
			const struct life *l = &shop->lives[life];
			uint64_t phase = pawl_load_acquire(&l->phase[m]);

			inside += phase == INSIDE;
			edges += phase == LOCKING || phase == UNLOCKING;
			told += l->told[m];
			/* Told once if it died inside; if it died at the edge,
			 * its mark may or may not have been there. */
			wrong += phase == INSIDE && l->told[m] != 1;
			wrong += phase == OUTSIDE && l->told[m] != 0;
			wrong += l->told[m] > 1;
		}
		pawl_shared_mutex_unlock(region, m);
	}
	wrong += told + edge_told > inside + edges;
	printf("%" PRIu64 " entries; %" PRIu64 " deaths inside, %" PRIu64
	       " at the edge; told of %" PRIu64 " and %" PRIu64 "; %" PRIu64 " wrong\n",
	       entries, inside, edges, told, edge_told, wrong);
	return wrong != 0;
}

int main(int argc, char **argv)
{
	const struct pawl_shared_shape shape = {
		.mutexes = MUTEXES, .threads = 40, .data_bytes = sizeof(struct shop)};
	int kills = argc > 1 ? atoi(argv[1]) : 0, k, m, i;
	uint64_t state = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL);
	uint64_t lives = 0, progress = 0;
	uint64_t life[WORKERS];
	pid_t workers[WORKERS];
	int wrong;

	if (kills <= 0 || kills > LIVES - WORKERS - 1) {
		fprintf(stderr, "usage: torture KILLS [SEED]\n");
		return 2;
	}
	printf("torture: seed %" PRIu64 "\n", state);
	fflush(stdout);
	state = state * 0x9E3779B97F4A7C15u | 1;
	if (pawl_shared_create(&region, -1, &shape) != 0)
		fail("create failed", 0);
	shop = pawl_shared_data(region);
	for (m = 0; m < MUTEXES; m++)
		for (i = 0; i < ACCOUNTS; i++)
			shop->books[m].account[i] = BALANCE;
	for (i = 0; i < WORKERS; i++)
		workers[i] = start(life[i] = ++lives, draw(&state, UINT64_MAX));
	for (k = 0; k < kills; k++) {
		int victim;

		progress = await_progress(progress);
		usleep((useconds_t)draw(&state, 2000));
		victim = choose(life, &state);
		kill(workers[victim], SIGKILL);
		/* Sometimes the body lies about for a while. */
		if (draw(&state, 2) == 0)
			usleep((useconds_t)draw(&state, 1000));
		if (waitpid(workers[victim], &i, 0) < 0 || !WIFSIGNALED(i) ||
		    WTERMSIG(i) != SIGKILL)
			fail("a worker ended by itself", i);
		workers[victim] = start(life[victim] = ++lives, draw(&state, UINT64_MAX));
	}
	await_progress(progress);
	pawl_store_relaxed(&shop->stop, 1);
	for (i = 0; i < WORKERS; i++) {
		if (waitpid(workers[i], &m, 0) < 0 || m != 0)
			fail("a worker failed", m);
	}
	wrong = judge(lives);
	wrong |= pawl_shared_detach(region) != 0;
	printf("torture: %d kills, %s\n", kills, wrong ? "WRONG" : "all well");
	return wrong;
}
