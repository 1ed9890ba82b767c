/* SPDX-License-Identifier: MIT */
/*
 * The soak: everything at once, for as long as asked. Threads come and go; each
 * does something at random to a few shared mutexes and condition variables:
 * lock, trylock, timed lock, wait, timed wait, signal, broadcast, and now and
 * then a fork whose child does the same. Signals rain on all of them. Every
 * mutex guards a counter that would show a second owner, and every token that
 * is produced must be consumed, or somebody was forgotten.
 *
 * Usage: soak SECONDS [SEED [ACTS]]
 * One act in ACTS is a fork; 20000 unless given.
 */
#define _GNU_SOURCE
#include <pawl/cond.h>
#include <pawl/hapax.h>
#include <pawl/mcs.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROOMS = 3, THREADS = 12, STALL_SECONDS = 60 };

struct room {
	struct pawl_mutex m;
	struct pawl_cond tokens_changed;
	long tokens; /* under m */
	long inside; /* under m: 1 while somebody is */
	long visits; /* under m */
	struct pawl_hapax hapax;
	struct pawl_mcs mcs;
	long by_hapax, by_mcs; /* under those */
};

static struct room rooms[ROOMS];
static uint64_t acts_to_a_fork = 20000;
static pawl_atomic64 stop, progress, threads_made, children_made;

static void die(const char *sentence)
{
	fprintf(stderr, "soak: %s\n", sentence);
	abort();
}

static uint64_t draw(uint64_t *state, uint64_t n)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (*state >> 16) % n;
}

static struct timespec in_us(uint64_t us, clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	time.tv_nsec += (long)us * 1000;
	while (time.tv_nsec >= 1000000000) {
		time.tv_sec++;
		time.tv_nsec -= 1000000000;
	}
	return time;
}

/* What the holder of a room does: nobody else may be there. */
static void visit(struct room *room, uint64_t *random)
{
	volatile uint64_t pause;

	if (++room->inside != 1)
		die("two owners of one mutex");
	for (pause = draw(random, 200); pause > 0; pause--)
		continue;
	room->visits++;
	room->inside--;
}

/* Takes a token; false if there was none within the time. */
static bool consume(struct room *room, uint64_t *random, clockid_t clock)
{
	struct timespec then = in_us(draw(random, 500), clock);

	while (room->tokens == 0)
		if (pawl_cond_timedwait(&room->tokens_changed, &room->m, clock, &then) !=
		    0)
			return false;
	room->tokens--;
	return true;
}

static void produce(struct room *room, uint64_t *random)
{
	room->tokens++;
	if (draw(random, 4) == 0)
		pawl_cond_broadcast(&room->tokens_changed);
	else
		pawl_cond_signal(&room->tokens_changed);
}

static void act(uint64_t *random)
{
	struct room *room = &rooms[draw(random, ROOMS)];
	clockid_t clock = draw(random, 2) ? CLOCK_MONOTONIC : CLOCK_REALTIME;
	struct timespec then;

	switch (draw(random, 8)) {
	case 0:
		if (!pawl_mutex_trylock(&room->m))
			return;
		break;
	case 1:
		then = in_us(draw(random, 100), clock);
		if (pawl_mutex_timedlock(&room->m, clock, &then) != 0)
			return;
		break;
	case 2:
		pawl_hapax_lock_as_(&room->hapax, PAWL_PARK);
		room->by_hapax++;
		pawl_hapax_unlock_as_(&room->hapax, PAWL_PARK);
		return;
	case 3:
		pawl_mcs_lock_as_(&room->mcs, PAWL_PARK);
		room->by_mcs++;
		pawl_mcs_unlock_as_(&room->mcs, PAWL_PARK);
		return;
	default:
		pawl_mutex_lock(&room->m);
	}
	visit(room, random);
	switch (draw(random, 4)) {
	case 0:
		consume(room, random, clock);
		break;
	case 1:
		produce(room, random);
		break;
	}
	visit(room, random);
	pawl_mutex_unlock(&room->m);
}

/* The child has nobody to wait for: it must get through on its own. */
static void fork_in_a_room(uint64_t *random)
{
	struct room *room = &rooms[draw(random, ROOMS)];
	pid_t child;
	int status;

	pawl_mutex_lock(&room->m);
	child = fork();
	if (child == 0) {
		struct timespec then = in_us(100, CLOCK_MONOTONIC);

		room->inside = 0;
		pawl_mutex_unlock(&room->m);
		pawl_mutex_lock(&room->m);
		pawl_cond_timedwait(&room->tokens_changed, &room->m, CLOCK_MONOTONIC,
				    &then);
		pawl_mutex_unlock(&room->m);
		_exit(7);
	}
	pawl_mutex_unlock(&room->m);
	if (child < 0)
		return; /* no room for another process just now */
	pawl_fetch_add_relaxed(&children_made, 1); /* Relaxed: a count */
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
	    WEXITSTATUS(status) != 7)
		die("a forked child did not get through");
}

static void *live(void *argument)
{
	uint64_t random = ((uint64_t)(uintptr_t)argument << 20) | 1;
	uint64_t life = 2000 + draw(&random, 20000);

	while (life-- > 0 && pawl_load_relaxed(&stop) == 0) { /* Relaxed: by and by */
		act(&random);
		if (draw(&random, acts_to_a_fork) == 0)
			fork_in_a_room(&random);
		pawl_fetch_add_relaxed(&progress, 1); /* Relaxed: a count */
	}
	return NULL;
}

/* Keeps a place filled with one thread after another. */
static void *keep_place(void *argument)
{
	uint64_t seed = (uint64_t)(uintptr_t)argument;

	while (pawl_load_relaxed(&stop) == 0) { /* Relaxed: by and by */
		pthread_t thread;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		if (pthread_create(&thread, NULL, live,
				   (void *)(uintptr_t)(seed >> 20)) != 0)
			die("no thread to be had");
		pawl_fetch_add_relaxed(&threads_made, 1); /* Relaxed: a count */
		pthread_join(thread, NULL);
	}
	return NULL;
}

static void on_signal(int number)
{
	(void)number;
}

int main(int argc, char **argv)
{
	struct sigaction ignore = {
		.sa_handler = on_signal}; /* no SA_RESTART: EINTR rains */
	pthread_t places[THREADS];
	double seconds = argc > 1 ? atof(argv[1]) : 3;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL);
	uint64_t before = 0, still = 0, ticks;
	long visits = 0;
	int i, left;

	if (argc > 3)
		acts_to_a_fork = strtoull(argv[3], NULL, 0);
	if (argc > 4 || seconds <= 0 || acts_to_a_fork == 0) {
		fprintf(stderr, "usage: soak SECONDS [SEED [ACTS]]\n");
		return 2;
	}
	sigaction(SIGUSR1, &ignore, NULL);
	for (i = 0; i < THREADS; i++)
		pthread_create(&places[i], NULL, keep_place,
			       (void *)(uintptr_t)(seed * 31 + (uint64_t)i + 1));
	for (ticks = 0; (double)ticks * 0.01 < seconds; ticks++) {
		uint64_t now;

		usleep(10000);
		kill(getpid(), SIGUSR1);
		now = pawl_load_relaxed(&progress); /* Relaxed: a look */
		still = now == before ? still + 1 : 0;
		before = now;
		if (still > STALL_SECONDS * 100)
			die("nobody has made progress for a minute: a wake-up was lost");
	}
	pawl_store_relaxed(&stop, 1); /* Relaxed: by and by */
	for (i = 0; i < THREADS; i++)
		pthread_join(places[i], NULL);
	for (i = 0; i < ROOMS; i++) {
		visits += rooms[i].visits;
		/* due counts down: a few more unlocks, and it must be over. */
		for (left = PAWL_MUTEX_BYPASS;
		     left > 0 && pawl_load_relaxed(&rooms[i].m.due) != 0; left--) {
			pawl_mutex_lock(&rooms[i].m);
			pawl_mutex_unlock(&rooms[i].m);
		}
		if (left == 0 || pawl_load_relaxed(&rooms[i].tokens_changed.waiters) != 0)
			die("something was left behind");
	}
	printf("soak: %.0f s, seed %llu: %llu acts, %ld visits, %llu threads, %llu "
	       "forks\n",
	       seconds, (unsigned long long)seed,
	       (unsigned long long)pawl_load_relaxed(&progress), visits,
	       (unsigned long long)pawl_load_relaxed(&threads_made),
	       (unsigned long long)pawl_load_relaxed(&children_made));
	return 0;
}
