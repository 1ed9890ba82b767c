/* SPDX-License-Identifier: MIT */
/*
 * Exclusion of leases, the hard way: threads enter a few leases as fast as they
 * can, yield inside now and then, seize, break, poll and drain at random, and are
 * moved from CPU to CPU, one each 50 microseconds; threads come and go. Each lease
 * guards two counters far apart: who finds them different, or finds its own
 * increment gone, was not alone. After each attempt they count, and take an id and
 * put it back: by restartable sequences, where the system has them. Whom the mover has
 * moved gets a signal, and its handler does the same, wherever that was.
 *
 * Usage: leases SECTIONS [SEED]; PAWL_LEASE_MODE says in which mode,
 * PAWL_LEASE_SEQUENCES=no that counts and ids go by leases, too
 */
#define _GNU_SOURCE
#include <pawl/counter.h>
#include <pawl/idalloc.h>
#include <pawl/lease.h>
#include <pawl/mutex.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LEASES = 3, THREADS = 6, LIFE = 100000 };
enum { FLIP_NS = 50 * 1000, DRAIN_NS = 100 * 1000 };
/* One in so many sections, or attempts: */
enum { YIELD = 512, SEIZE = 16, BREAK = 1024, POLL = 2048, DRAIN = 16384, SIGNAL = 4 };

static struct {
	PAWL_SEQUESTER struct pawl_lease l;
	uint64_t one; /* plain: a race here is what we look for */
	PAWL_SEQUESTER uint64_t other;
} shared[LEASES];

/* Who may be moved; the lock keeps him from leaving meanwhile. */
static struct {
	struct pawl_mutex m;
	pid_t thread; /* 0: nobody */
} places[THREADS];

static pawl_atomic64 sections, over, violations, refusals;

/* Counted and numbered by everybody. More ids than all shards keep: a handler that
 * interrupted a get of its own thread has the depot alone. */
enum { IDS = 16 * PAWL_SLOTS_CACHE };
static struct pawl_counter counter;
static struct pawl_idalloc ids;
static pawl_atomic64 counted, interrupts, holders[IDS];
static uint64_t wanted;

static uint64_t draw(uint64_t *state, uint64_t n)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (*state >> 16) % n;
}

static void section(size_t i, uint64_t *random)
{
	uint64_t before = shared[i].one;

	if (shared[i].other != before)
		pawl_fetch_add_relaxed(&violations, 1); /* Relaxed: a count */
	shared[i].one = before + 1;
	if (draw(random, YIELD) == 0)
		sched_yield();
	if (shared[i].one != before + 1 || shared[i].other != before)
		pawl_fetch_add_relaxed(&violations, 1); /* Relaxed: a count */
	shared[i].other = before + 1;
}

/* Nobody else has the id meanwhile. */
static void count_and_number(void)
{
	uint32_t id;

	pawl_counter_add(&counter, 1);
	id = pawl_idalloc_get(&ids);
	/* Relaxed throughout: read-modify-writes of one word have an order. */
	if (id >= IDS) {
		pawl_fetch_add_relaxed(&refusals, 1);
		return;
	}
	if (pawl_fetch_add_relaxed(&holders[id], 1) != 0)
		pawl_fetch_add_relaxed(&violations, 1);
	pawl_fetch_add_relaxed(&holders[id], (uint64_t)-1);
	pawl_idalloc_put(&ids, id);
}

static void interrupt(int signal)
{
	(void)signal;
	count_and_number();
	pawl_fetch_add_relaxed(&interrupts, 1); /* Relaxed: a count */
}

static void act(struct pawl_lease_handle *h, uint64_t *random, uint64_t *done)
{
	size_t i = draw(random, LEASES);
	struct pawl_lease *l = &shared[i].l;
	enum pawl_lease_result result;

	result = draw(random, SEIZE) == 0 ? pawl_lease_seize(l, h)
					  : pawl_lease_acquire(l, h);
	if (result == PAWL_LEASE_OK) {
		section(i, random);
		pawl_lease_release(l, h);
		++*done;
	} else if (result == PAWL_LEASE_HOSTAGE) {
		sched_yield();
	} else if (result != PAWL_LEASE_ELSEWHERE) {
		pawl_fetch_add_relaxed(&violations, 1); /* Relaxed: a count */
	}
	if (draw(random, BREAK) == 0)
		pawl_lease_break(l);
	if (draw(random, POLL) == 0)
		pawl_lease_poll();
	if (draw(random, DRAIN) == 0 && pawl_lease_drain(l, DRAIN_NS)) {
		section(i, random);
		pawl_lease_open(l);
		++*done;
	}
}

static void occupy(size_t place, pid_t thread)
{
	pawl_mutex_lock(&places[place].m);
	places[place].thread = thread;
	pawl_mutex_unlock(&places[place].m);
}

/* One life; the next thread inherits its handle, and its leases. */
static void *live(void *argument)
{
	size_t place = (uintptr_t)argument % THREADS;
	uint64_t random = (uint64_t)(uintptr_t)argument | 1, done = 0;
	int life;

	occupy(place, gettid());
	for (life = 0; life < LIFE; life++) {
		act(pawl_lease_self(), &random, &done);
		count_and_number();
	}
	occupy(place, 0);
	pawl_fetch_add_relaxed(&sections, done); /* Relaxed: a count */
	pawl_fetch_add_relaxed(&counted, LIFE);	 /* Relaxed: a count */
	return NULL;
}

/* Keeps a place filled with one thread after another. */
static void *keep_place(void *argument)
{
	uint64_t seed = (uintptr_t)argument, place = seed % THREADS;

	while (pawl_load_relaxed(&sections) < wanted) { /* Relaxed: a count */
		pthread_t thread;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		if (pthread_create(&thread, NULL, live,
				   (void *)(uintptr_t)((seed >> 16) * THREADS + place)) !=
		    0) {
			fprintf(stderr, "leases: no thread to be had\n");
			abort();
		}
		pthread_join(thread, NULL);
	}
	return NULL;
}

/* Moves one thread after another to some CPU. */
static void *move(void *argument)
{
	const struct timespec pause = {0, FLIP_NS};
	uint64_t random = (uintptr_t)argument | 1;
	cpu_set_t all;
	size_t place = 0;

	sched_getaffinity(0, sizeof(all), &all);
	while (pawl_load_relaxed(&over) == 0) { /* Relaxed: by and by */
		uint64_t which = draw(&random, (uint64_t)CPU_COUNT(&all));
		size_t cpu = 0;
		cpu_set_t one;

		while (!CPU_ISSET(cpu, &all) || which-- > 0)
			cpu++;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		place = (place + 1) % THREADS;
		pawl_mutex_lock(&places[place].m);
		if (places[place].thread != 0)
			sched_setaffinity(places[place].thread, sizeof(one), &one);
		if (places[place].thread != 0 && draw(&random, SIGNAL) == 0)
			syscall(SYS_tgkill, getpid(), places[place].thread, SIGUSR1);
		pawl_mutex_unlock(&places[place].m);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL);
	pthread_t keepers[THREADS], mover;
	struct pawl_lease_stats stats;
	uint64_t sum = 0, sum_counted, i;

	wanted = argc > 1 ? strtoull(argv[1], NULL, 0) : 0;
	if (argc > 3 || wanted == 0) {
		fprintf(stderr, "usage: leases SECTIONS [SEED]\n");
		return 2;
	}
	sigaction(SIGUSR1, &(struct sigaction){.sa_handler = interrupt}, NULL);
	if (pawl_counter_create(&counter, PAWL_SHARDS_LEASED) != 0 ||
	    pawl_idalloc_create(&ids, PAWL_SHARDS_LEASED, IDS) != 0) {
		fprintf(stderr, "leases: no memory\n");
		return 2;
	}
	pthread_create(&mover, NULL, move, (void *)(uintptr_t)seed);
	for (i = 0; i < THREADS; i++)
		pthread_create(&keepers[i], NULL, keep_place,
			       (void *)(uintptr_t)(seed * THREADS + i));
	for (i = 0; i < THREADS; i++)
		pthread_join(keepers[i], NULL);
	pawl_store_relaxed(&over, 1); /* Relaxed: by and by */
	pthread_join(mover, NULL);
	for (i = 0; i < LEASES; i++) {
		sum += shared[i].one;
		if (shared[i].one != shared[i].other)
			pawl_fetch_add_relaxed(&violations, 1); /* Relaxed: a count */
	}
	pawl_lease_get_stats(&stats);
	/* Relaxed, here and below: all are gone. */
	sum_counted = (uint64_t)pawl_counter_sum(&counter);
	printf("leases: %s, %s, seed %llu: %llu sections, %llu counted, %llu signals, "
	       "%llu take-overs, %llu finishes, %llu breaks, %llu hostages, "
	       "%llu barriers, %llu joined, %llu handles, %llu ids refused, "
	       "%llu violations\n",
	       pawl_lease_mode_name(stats.mode),
	       pawl_lease_sequences() ? "sequences" : "no sequences",
	       (unsigned long long)seed, (unsigned long long)sum,
	       (unsigned long long)sum_counted,
	       (unsigned long long)pawl_load_relaxed(&interrupts),
	       (unsigned long long)stats.takeovers, (unsigned long long)stats.finishes,
	       (unsigned long long)stats.breaks, (unsigned long long)stats.hostages,
	       (unsigned long long)stats.barriers, (unsigned long long)stats.joined,
	       (unsigned long long)stats.handles,
	       (unsigned long long)pawl_load_relaxed(&refusals),
	       (unsigned long long)pawl_load_relaxed(&violations));
	return pawl_load_relaxed(&violations) != 0 || pawl_load_relaxed(&refusals) != 0 ||
	       sum_counted !=
		       pawl_load_relaxed(&counted) + pawl_load_relaxed(&interrupts) ||
	       sum != pawl_load_relaxed(&sections) || stats.handles > THREADS + 1;
}
