/* SPDX-License-Identifier: MIT */
/*
 * Readers and writers of a few locks, for as long as is asked for: some wait, some try,
 * some give up, some read what they read already; threads come and go, and so do
 * processes. No section is torn, and in the end every lock is free.
 *
 * Usage: rwlock SECONDS
 */
#include "../harness/hang.h"

#include <pawl/rwlock.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOCKS = 12, THREADS = 8, WORDS = 4, LIFE = 20000 };

/* What a lock guards: plain words, always equal. */
static struct guarded {
	struct pawl_rwlock l;
	uint64_t words[WORDS];
} guarded[LOCKS];

static pawl_atomic64 stop, reads, writes, late, forks, lives;

static void fail(const char *what)
{
	fprintf(stderr, "rwlock: %s\n", what);
	abort();
}

static void look(const struct guarded *g)
{
	int i;

	for (i = 1; i < WORDS; i++)
		if (g->words[i] != g->words[0])
			fail("a section is torn");
}

static void change(struct guarded *g)
{
	int i;

	look(g);
	for (i = 0; i < WORDS; i++)
		g->words[i]++;
}

static uint64_t dice(uint64_t *state, uint64_t sides)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (*state >> 33) % sides;
}

static struct timespec soon(uint64_t us)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += (long)us * 1000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_nsec -= 1000000000;
		t.tv_sec++;
	}
	return t;
}

static bool get(struct pawl_rwlock *l, bool write, uint64_t *state)
{
	struct timespec then;

	switch (dice(state, 16)) {
	case 0:
		return write ? pawl_rwlock_write_trylock(l) : pawl_rwlock_read_trylock(l);
	case 1:
		then = soon(dice(state, 300));
		return (write ? pawl_rwlock_write_timedlock(l, CLOCK_MONOTONIC, &then)
			      : pawl_rwlock_read_timedlock(l, CLOCK_MONOTONIC, &then)) ==
		       0;
	default:
		if (write)
			pawl_rwlock_write_lock(l);
		else
			pawl_rwlock_read_lock(l);
		return true;
	}
}

static void write_one(struct guarded *g, uint64_t *state)
{
	if (!get(&g->l, true, state)) {
		pawl_fetch_add_relaxed(&late, 1); /* Relaxed: a count, as below */
		return;
	}
	change(g);
	if (dice(state, 8) == 0) {
		pawl_rwlock_downgrade(&g->l);
		look(g);
		pawl_rwlock_read_unlock(&g->l);
	} else {
		pawl_rwlock_write_unlock(&g->l);
	}
	pawl_fetch_add_relaxed(&writes, 1);
}

/* Reads one lock, or more than a record has room for, in the order of their places: so
 * that nobody waits in a circle. */
static void read_some(uint64_t first, uint64_t *state)
{
	uint64_t last = dice(state, 64) == 0 ? LOCKS - 1 : first, i, got = 0;

	for (i = first; i <= last; i++) {
		if (!get(&guarded[i].l, false, state))
			continue;
		got |= (uint64_t)1 << i;
		look(&guarded[i]);
		if (dice(state, 8) == 0) {
			pawl_rwlock_read_lock(&guarded[i].l);
			look(&guarded[i]);
			pawl_rwlock_read_unlock(&guarded[i].l);
		}
	}
	for (i = first; i <= last; i++)
		if ((got >> i & 1) != 0) {
			look(&guarded[i]);
			pawl_rwlock_read_unlock(&guarded[i].l);
		}
	pawl_fetch_add_relaxed(&reads, 1);
}

static void *live(void *seed)
{
	uint64_t state = pawl_address(seed) + pawl_fetch_add_relaxed(&lives, 1), i;

	for (i = 0; i < LIFE && pawl_load_relaxed(&stop) == 0; i++) {
		uint64_t which = dice(&state, LOCKS);

		/* The first is written often, the last hardly ever. */
		if (dice(&state, 2 + 3 * which * which * which) == 0)
			write_one(&guarded[which], &state);
		else
			read_some(which, &state);
	}
	return NULL;
}

/* A child takes each lock that it can have; those that other threads were writing, or
 * were counted for, it cannot. */
static void fork_one(void)
{
	pid_t child = fork();
	int status = 0, i;

	if (child < 0)
		return;
	if (child == 0) {
		alarm(HANG_GUARD_S);
		for (i = 0; i < LOCKS; i++)
			if (pawl_rwlock_write_trylock(&guarded[i].l)) {
				/* Somebody may have been in the middle of it. */
				pawl_rwlock_write_unlock(&guarded[i].l);
				pawl_rwlock_read_lock(&guarded[i].l);
				pawl_rwlock_read_unlock(&guarded[i].l);
			}
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || status != 0)
		fail("a child did not end well");
	pawl_fetch_add_relaxed(&forks, 1);
}

static void *keep_alive(void *seed)
{
	while (pawl_load_relaxed(&stop) == 0) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, live, seed) != 0)
			fail("no thread to be had");
		pthread_join(thread, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : 10, i;
	pthread_t threads[THREADS];
	struct timespec end, now;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += seconds;
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, keep_alive,
				   pawl_pointer((uint64_t)i << 32)) != 0)
			return 2;
	do {
		usleep(50000);
		fork_one();
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < end.tv_sec);
	pawl_store_relaxed(&stop, 1);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < LOCKS; i++) {
		if (!pawl_rwlock_write_trylock(&guarded[i].l))
			fail("a lock is not free in the end");
		look(&guarded[i]);
		pawl_rwlock_write_unlock(&guarded[i].l);
	}
	printf("rwlock: %" PRIu64 " reads, %" PRIu64 " writes, %" PRIu64
	       " given up, %" PRIu64 " threads, %" PRIu64 " forks\n",
	       pawl_load_relaxed(&reads), pawl_load_relaxed(&writes),
	       pawl_load_relaxed(&late), pawl_load_relaxed(&lives),
	       pawl_load_relaxed(&forks));
	return 0;
}
