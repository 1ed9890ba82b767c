/* SPDX-License-Identifier: MIT */
/* The machinery of the harness: crews, watchdog, looking at locks. */
#define _GNU_SOURCE
#include "harness.h"

#include <pawl/runtime.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE = 120 }; /* seconds for one case; a case takes about one */

const struct lock_type *under_test;
const struct lock_claim *claimed;

void skip_because(const char *reason)
{
	print_message("%s: %s\n", under_test != NULL ? under_test->name : "test", reason);
	skip();
}

void *lock_make(void)
{
	void *l = calloc(1, under_test->size);

	assert_non_null(l);
	return l;
}

void lock_drop(void *l)
{
	if (under_test->destroy != NULL)
		under_test->destroy(l);
	free(l);
}

void *core_make(void)
{
	void *core = calloc(1, under_test->core_size);

	assert_non_null(core);
	return core;
}

void core_drop(void *core)
{
	/* A core is how the plain lock begins; destroy looks no further. */
	if (under_test->destroy != NULL)
		under_test->destroy(core);
	free(core);
}

/* Both faces behind one set of functions. */

void *face_make(enum face face)
{
	return face == PLAIN ? lock_make() : core_make();
}

void face_drop(enum face face, void *l)
{
	if (face == PLAIN)
		lock_drop(l);
	else
		core_drop(l);
}

void face_lock(enum face face, void *l, union context *context)
{
	if (face == PLAIN)
		under_test->lock(l);
	else
		under_test->acquire(l, context);
}

bool face_trylock(enum face face, void *l, union context *context)
{
	return face == PLAIN ? under_test->trylock(l)
			     : under_test->try_acquire(l, context);
}

void face_unlock(enum face face, void *l, union context *context)
{
	if (face == PLAIN)
		under_test->unlock(l);
	else
		under_test->release(l, context);
}

void need_trylock(void)
{
	if (under_test->trylock == NULL)
		skip_because("has no sound trylock");
}

/*
 * Sleeps, for sched_yield is no help: recent Linux makes a thread pay for it
 * with its place in the run queue, as if it had used up a time slice.
 */
static void nap(long nanoseconds)
{
	const struct timespec time = {0, nanoseconds};

	nanosleep(&time, NULL);
}

struct timespec in_ms(clockid_t clock, long ms)
{
	struct timespec time;

	clock_gettime(clock, &time);
	time.tv_sec += ms / 1000;
	time.tv_nsec += ms % 1000 * 1000000;
	if (time.tv_nsec >= 1000000000) {
		time.tv_sec++;
		time.tv_nsec -= 1000000000;
	}
	return time;
}

void breathe(void)
{
	nap(20000);
}

bool sit_on(size_t which)
{
	cpu_set_t all, one;
	size_t cpu;

	if (sched_getaffinity(0, sizeof(all), &all) != 0 ||
	    (size_t)CPU_COUNT(&all) <= which)
		return false;
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && which-- == 0)
			break;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return sched_setaffinity(0, sizeof(one), &one) == 0;
}

/* Crews. */

struct recruit {
	void *(*run)(void *);
	void *argument;
	int number;
};

static void step_back(int signal)
{
	int saved = errno;

	(void)signal;
	nap(50000);
	errno = saved;
}

__thread int crew_number;

static void *serve(void *argument)
{
	struct recruit recruit = *(struct recruit *)argument;
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
	struct itimerspec every = {{0, 200000}, {0, 200000}};
	timer_t timer;
	bool timed;
	void *result;

	free(argument);
	crew_number = recruit.number;
	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	timed = timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 &&
		timer_settime(timer, 0, &every, NULL) == 0;
	result = recruit.run(recruit.argument);
	if (timed)
		timer_delete(timer);
	return result;
}

void crew_start(struct crew *crew, void *(*run)(void *), void *argument)
{
	struct recruit *recruit = malloc(sizeof(*recruit));

	assert_non_null(recruit);
	signal(SIGUSR1, step_back);
	assert_true(crew->size < (int)COUNT_OF(crew->threads));
	*recruit = (struct recruit){run, argument, crew->size};
	assert_int_equal(pthread_create(&crew->threads[crew->size], NULL, serve, recruit),
			 0);
	crew->size++;
}

void crew_join(struct crew *crew)
{
	while (crew->size > 0)
		pthread_join(crew->threads[--crew->size], NULL);
}

/* The watchdog is a thread: one that spins may never get to take a signal. */

static pthread_mutex_t watch = PTHREAD_MUTEX_INITIALIZER;
static const char *watched;
static int seconds_left;

static void *keep_watch(void *unused)
{
	(void)unused;
	for (;;) {
		sleep(1);
		pthread_mutex_lock(&watch);
		if (watched != NULL && --seconds_left <= 0) {
			fprintf(stderr,
				"%s: %s did not end within %d seconds: "
				"a thread waits for ever, or is starved\n",
				under_test ? under_test->name : "test", watched,
				PATIENCE);
			_exit(1);
		}
		pthread_mutex_unlock(&watch);
	}
	return NULL;
}

void watchdog(const char *name)
{
	static bool running;
	pthread_t thread;

	pthread_mutex_lock(&watch);
	watched = name;
	seconds_left = PATIENCE;
	pthread_mutex_unlock(&watch);
	if (!running) {
		running = true;
		assert_int_equal(pthread_create(&thread, NULL, keep_watch, NULL), 0);
		pthread_detach(thread);
	}
}

/* Looking at locks. */

struct image lock_image(const void *l)
{
	size_t size = under_test->core_size ? under_test->core_size : under_test->size;
	const pawl_atomic64 *words = l;
	struct image image = {{0}};
	size_t i;

	assert_true(size <= sizeof(image.words));
	for (i = 0; i < size / sizeof(*words); i++)
		image.words[i] = pawl_load_relaxed(&words[i]);
	return image;
}

void await_arrival(const void *l, const struct image *before)
{
	struct image now;

	do {
		breathe();
		now = lock_image(l);
	} while (memcmp(&now, before, sizeof(now)) == 0);
}

/* Counts nodes by standing between the locks and the store of nodes. */

struct pawl_node *__real_pawl_node_new_(void);
struct pawl_node *__wrap_pawl_node_new_(void);
void __real_pawl_node_free_(struct pawl_node *node);
void __wrap_pawl_node_free_(struct pawl_node *node);

static int64_t nodes;

struct pawl_node *__wrap_pawl_node_new_(void)
{
	__atomic_fetch_add(&nodes, 1, __ATOMIC_RELAXED);
	return __real_pawl_node_new_();
}

void __wrap_pawl_node_free_(struct pawl_node *node)
{
	__atomic_fetch_sub(&nodes, 1, __ATOMIC_RELAXED);
	__real_pawl_node_free_(node);
}

int64_t nodes_abroad(void)
{
	int64_t abroad = __atomic_load_n(&nodes, __ATOMIC_RELAXED);
	const struct pawl_node *node;

	for (node = pawl_self()->free_nodes; node != NULL; node = node->free_next)
		abroad--;
	return abroad;
}

/* The suite. */

bool arrivals_show(void)
{
	return under_test->admission == ADMISSION_FIFO ||
	       under_test->admission == ADMISSION_ONCE;
}

static int case_setup(void **state)
{
	watchdog(*state);
	return 0;
}

static int case_teardown(void **state)
{
	(void)state;
	watchdog(NULL);
	return 0;
}

/* Whether PAWL_TEST_CASES, if it is set, names these cases: "common" or "own". */
static bool chosen(const char *cases)
{
	const char *only = getenv("PAWL_TEST_CASES");

	return only == NULL || strcmp(only, cases) == 0;
}

static int run_suite(const struct lock_claim *claim)
{
	const bool common = chosen("common");
	const bool held = common && under_test->context == CONTEXT_HELD;
	const struct {
		const struct CMUnitTest *cases;
		size_t count;
	} parts[] = {
		{state_cases, common ? state_case_count : 0},
		{state_explicit_cases, held ? state_explicit_case_count : 0},
		{stress_cases, common ? stress_case_count : 0},
		{stress_explicit_cases, held ? stress_explicit_case_count : 0},
		{slow_cases, common ? slow_case_count : 0},
		{order_cases, common ? order_case_count : 0},
		{claim->more, chosen("own") ? claim->more_count : 0},
	};
	struct CMUnitTest suite[128];
	size_t count = 0, i, j;

	for (i = 0; i < COUNT_OF(parts); i++)
		for (j = 0; j < parts[i].count && count < COUNT_OF(suite); j++) {
			suite[count] = parts[i].cases[j];
			suite[count].setup_func = case_setup;
			suite[count].teardown_func = case_teardown;
			suite[count].initial_state = (void *)(uintptr_t)suite[count].name;
			count++;
		}
	return _cmocka_run_group_tests(under_test->name, suite, count, NULL, NULL);
}

int lock_tests(const struct lock_claim *claim)
{
	const struct lock_type *type;
	int failed = 0, found = 0;

	claimed = claim;
	for (type = lock_types; type->name != NULL; type++) {
		if (strcmp(type->base, claim->name) != 0)
			continue;
		under_test = type;
		failed += run_suite(claim);
		found++;
	}
	if (found == 0)
		fprintf(stderr, "%s: no such lock in locks.def\n", claim->name);
	return failed + (found == 0);
}
