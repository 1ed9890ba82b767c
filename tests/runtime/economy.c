/* SPDX-License-Identifier: MIT */
/*
 * What the system has to do for each job of programs that wait for one another by
 * pawl_mutex and pawl_cond: sleeps, wake-ups, yields and context switches, counted;
 * on the machine as it is, and beside other processes that want its CPUs.
 */
#define _GNU_SOURCE
#include "harness/busy.h"
#include "harness/harness.h"

#include <pawl/cond.h>

#include <sys/resource.h>

struct pawl_deadline;

enum { JOBS = 20000, CAPACITY = 64, BURST = 16, MOST_THREADS = 17 };

static pawl_atomic64 sleeps, wakes, yields;

/* The linker gives us the library's calls. Relaxed: numbers. */
bool __real_pawl_os_sleep(const pawl_atomic64 *word, uint32_t expected,
			  const struct pawl_deadline *deadline);
bool __wrap_pawl_os_sleep(const pawl_atomic64 *word, uint32_t expected,
			  const struct pawl_deadline *deadline);
void __real_pawl_os_wake(const pawl_atomic64 *word);
void __wrap_pawl_os_wake(const pawl_atomic64 *word);
void __real_pawl_os_yield(void);
void __wrap_pawl_os_yield(void);

bool __wrap_pawl_os_sleep(const pawl_atomic64 *word, uint32_t expected,
			  const struct pawl_deadline *deadline)
{
	pawl_fetch_add_relaxed(&sleeps, 1);
	return __real_pawl_os_sleep(word, expected, deadline);
}

void __wrap_pawl_os_wake(const pawl_atomic64 *word)
{
	pawl_fetch_add_relaxed(&wakes, 1);
	__real_pawl_os_wake(word);
}

void __wrap_pawl_os_yield(void)
{
	pawl_fetch_add_relaxed(&yields, 1);
	__real_pawl_os_yield();
}

/* What the threads share, all of it under m, and the two things to wait for. */
static struct shop {
	struct pawl_mutex m;
	struct pawl_cond jobs, room;
	int threads, arrived, put, taken, done;
	bool late; /* signals come after the unlock */
	bool closed;
} shop;

static void leave(struct pawl_cond *c)
{
	if (!shop.late)
		pawl_cond_signal(c);
	pawl_mutex_unlock(&shop.m);
	if (shop.late)
		pawl_cond_signal(c);
}

static void close_shop(void)
{
	shop.closed = true;
	pawl_cond_broadcast(&shop.jobs);
	pawl_mutex_unlock(&shop.m);
}

/* A bounded queue: one thread puts jobs in, the others do them. */
static void put(void)
{
	int i;

	for (i = 0; i < JOBS; i++) {
		pawl_mutex_lock(&shop.m);
		while (shop.put - shop.taken == CAPACITY)
			pawl_cond_wait(&shop.room, &shop.m);
		shop.put++;
		leave(&shop.jobs);
	}
	pawl_mutex_lock(&shop.m);
	close_shop();
}

/* With the mutex if there is a job, without it if there never will be one again. */
static bool take(void)
{
	pawl_mutex_lock(&shop.m);
	while (shop.put == shop.taken && !shop.closed)
		pawl_cond_wait(&shop.jobs, &shop.m);
	if (shop.put == shop.taken) {
		pawl_mutex_unlock(&shop.m);
		return false;
	}
	shop.taken++;
	return true;
}

static void work(void)
{
	volatile int turns;

	for (turns = 0; turns < 200; turns++)
		;
}

static void queue(int me)
{
	if (me == 0) {
		put();
		return;
	}
	while (take()) {
		leave(&shop.room);
		work();
	}
}

/* A pool of workers: one thread asks for several jobs and waits for all of them. */
static void ask(void)
{
	int i;

	pawl_mutex_lock(&shop.m);
	while (shop.put < JOBS) {
		for (i = 0; i < BURST; i++) {
			shop.put++;
			pawl_cond_signal(&shop.jobs);
		}
		while (shop.done < shop.put)
			pawl_cond_wait(&shop.room, &shop.m);
	}
	close_shop();
}

static void pool(int me)
{
	if (me == 0) {
		ask();
		return;
	}
	while (take()) {
		pawl_mutex_unlock(&shop.m);
		work();
		pawl_mutex_lock(&shop.m);
		if (++shop.done == shop.put)
			pawl_cond_signal(&shop.room);
		pawl_mutex_unlock(&shop.m);
	}
}

/* Two threads that take turns; each turn is a job. */
static void pingpong(int me)
{
	struct pawl_cond *turn[] = {&shop.jobs, &shop.room};
	int i;

	for (i = 0; i < JOBS / 2; i++) {
		pawl_mutex_lock(&shop.m);
		while (shop.taken % 2 != me)
			pawl_cond_wait(turn[me], &shop.m);
		shop.taken++;
		leave(turn[!me]);
	}
}

/* Phases, which nobody enters before all have come; each arrival is a job. */
static void barrier(int me)
{
	int phase;

	(void)me;
	for (phase = 0; phase < JOBS / shop.threads; phase++) {
		pawl_mutex_lock(&shop.m);
		shop.taken++;
		if (++shop.arrived == (phase + 1) * shop.threads)
			pawl_cond_broadcast(&shop.jobs);
		while (shop.arrived < (phase + 1) * shop.threads)
			pawl_cond_wait(&shop.jobs, &shop.m);
		pawl_mutex_unlock(&shop.m);
	}
}

/*
 * Who had to sleep for a job, or for room, mostly finds several when it gets up: less
 * than a sleep for each. One that is signalled after the unlock may come too late: a
 * sleep for a job and one for its room, at worst. A turn, or an arrival, is a sleep for
 * all but the last, and some more for the mutex.
 */
struct workload {
	const char *name;
	void (*run)(int me);
	int threads;
	bool late;
	double most; /* sleeps for each job */
};

static const struct workload workloads[] = {
	{"queue, 1 consumer", queue, 2, false, 0.75},
	{"queue, 2 consumers", queue, 3, false, 0.75},
	{"queue, 4 consumers", queue, 5, false, 0.75},
	{"queue, 16 consumers", queue, 17, false, 0.75},
	{"queue, 1 consumer, late signals", queue, 2, true, 2},
	{"queue, 2 consumers, late signals", queue, 3, true, 2},
	{"queue, 4 consumers, late signals", queue, 5, true, 2},
	{"queue, 16 consumers, late signals", queue, 17, true, 2},
	{"pool of 2", pool, 3, false, 0.75},
	{"pool of 4", pool, 5, false, 0.75},
	{"pingpong", pingpong, 2, false, 1.5},
	{"pingpong, late signals", pingpong, 2, true, 1.5},
	{"barrier of 2", barrier, 2, false, 1.5},
	{"barrier of 8", barrier, 8, false, 1.5},
};

static const struct workload *current;

static void *begin(void *number)
{
	current->run((int)(intptr_t)number);
	return NULL;
}

static uint64_t switches_so_far(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw);
}

static double per_job(uint64_t count)
{
	return (double)count / JOBS;
}

static void costs_the_system_little(void **state)
{
	pthread_t threads[MOST_THREADS];
	double slept, woken, switched;
	uint64_t before;
	intptr_t i;

	current = *state;
	shop = (struct shop){.threads = current->threads, .late = current->late};
	/* Relaxed, here and below: there are no other threads. */
	pawl_store_relaxed(&sleeps, 0);
	pawl_store_relaxed(&wakes, 0);
	pawl_store_relaxed(&yields, 0);
	watchdog(current->name);
	before = switches_so_far();
	for (i = 0; i < current->threads; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, begin, (void *)i), 0);
	for (i = 0; i < current->threads; i++)
		pthread_join(threads[i], NULL);
	switched = per_job(switches_so_far() - before);
	watchdog(NULL);
	slept = per_job(pawl_load_relaxed(&sleeps));
	woken = per_job(pawl_load_relaxed(&wakes));
	print_message("%.3f sleeps, %.3f wake-ups, %.3f switches for each job\n", slept,
		      woken, switched);
	assert_int_equal(shop.taken, JOBS);
	assert_int_equal(pawl_load_relaxed(&yields), 0);
	assert_true(slept <= current->most);
	assert_true(woken <= current->most);
	/* Who sleeps makes room for another, and so may who wakes somebody up. */
	assert_true(switched <= 2 * current->most);
}

static int start_others(void **state)
{
	(void)state;
	return busy_begin() ? 0 : -1;
}

static int stop_others(void **state)
{
	(void)state;
	busy_end();
	return 0;
}

int main(void)
{
	struct CMUnitTest cases[COUNT_OF(workloads)];
	size_t i;
	int failed;

	for (i = 0; i < COUNT_OF(cases); i++)
		cases[i] = (struct CMUnitTest){.name = workloads[i].name,
					       .test_func = costs_the_system_little,
					       .initial_state = (void *)&workloads[i]};
	failed = cmocka_run_group_tests_name("alone", cases, NULL, NULL);
	failed += cmocka_run_group_tests_name("beside busy processes", cases,
					      start_others, stop_others);
	return failed != 0;
}
