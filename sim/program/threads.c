/* SPDX-License-Identifier: MIT */
/*
 * Threads: creation, join, exit. A thread's number follows from its creator and its index
 * among the creator's threads, so that all runs agree on it. Two shadow words stand for
 * its start and its end: it does nothing before the first is written, and a joining
 * thread waits for the second.
 */
#include "threads.h"

#include "plain.h"
#include "symmetry.h"

#include <errno.h>
#include <string.h>

enum { KEYS = 16, EXITS = 16, MOST_CREATED = 32 };

struct record {
	bool created, finished, detached, joined;
	int children;
	void *(*run)(void *argument);
	int (*run_c11)(void *argument);
	void *argument, *result;
	int keys;
	int exit_count;
};

/* Few programs use it; not cleared for the others. */
static struct {
	void *values[MAX_THREADS * KEYS];
	struct {
		void (*run)(void *object);
		void *object;
	} exits[EXITS];
} more[MAX_THREADS];
static bool keys_used;

static struct record records[MAX_THREADS];
static void (*destructors[MAX_THREADS * KEYS])(void *value);

/* The children of each thread; kept over all runs of a program. */
static int numbers[MAX_THREADS][MOST_CREATED];
static int numbers_used = 1;

void threads_forget(void)
{
	memset(numbers, 0, sizeof(numbers));
	numbers_used = 1;
	threads_reset();
}

void threads_reset(void)
{
	int t;

	for (t = 0; t < numbers_used && t < MAX_THREADS; t++)
		memset(&records[t], 0, sizeof(records[t]));
	records[0].created = true;
	if (keys_used)
		memset(more, 0, sizeof(more));
	keys_used = false;
}

int threads_wanted(void)
{
	return numbers_used;
}

static struct record *mine(void)
{
	return &records[me(current_search)];
}

static uint64_t *start_of(int t)
{
	return memory_shadow(current_search->memory,
			     (void *)((uintptr_t)(t + 1) << 1 | 1), OWN_THREAD);
}

static uint64_t *end_of(int t)
{
	return memory_shadow(current_search->memory, (void *)((uintptr_t)(t + 1) << 1),
			     OWN_THREAD);
}

static void create(pthread_t *thread, struct record record, const void *site)
{
	struct search *s = current_search;
	int k = mine()->children++, t;

	if (k == MOST_CREATED || (numbers[me(s)][k] == 0 && numbers_used == MAX_THREADS))
		program_fail(VERDICT_LIMIT, site, "more than %d threads; use fewer",
			     MAX_THREADS);
	if (numbers[me(s)][k] == 0)
		numbers[me(s)][k] = numbers_used++;
	t = numbers[me(s)][k];
	plain_access(thread, sizeof(*thread), true, site);
	symmetry_create(s, t, k > 0 ? numbers[me(s)][k - 1] : 0,
			record.run != NULL ? (const void *)(uintptr_t)record.run
					   : (const void *)(uintptr_t)record.run_c11,
			record.argument);
	if (t >= s->graph.threads) {
		s->restart = true; /* with one more thread */
		search_stop(s);
	}
	*thread = (pthread_t)t + 1;
	record.created = true;
	records[t] = record;
	own_store(start_of(t), 1, SIM_RELEASE, site);
	symmetry_created(s, t, k + 1 < MOST_CREATED ? numbers[me(s)][k + 1] : 0);
}

static void leave(void *result, const void *site) __attribute__((noreturn));
static void leave(void *result, const void *site)
{
	struct search *s = current_search;
	struct record *record = mine();
	int key, i;

	while (record->exit_count > 0) {
		i = --record->exit_count;
		more[me(s)].exits[i].run(more[me(s)].exits[i].object);
	}
	for (i = 0; keys_used && i < 4; i++) { /* PTHREAD_DESTRUCTOR_ITERATIONS */
		for (key = 0; key < MAX_THREADS * KEYS; key++) {
			void *value = more[me(s)].values[key];

			more[me(s)].values[key] = NULL;
			if (value != NULL && destructors[key] != NULL)
				destructors[key](value);
		}
	}
	search_settle(s);
	record->result = result;
	record->finished = true;
	s->site = site;
	s->address = NULL;
	if (!memory_retire(s->memory, me(s), search_here(s)->hb))
		explore_fail(VERDICT_FREED,
			     "thread %d returns while another may still access its stack",
			     me(s));
	if (me(s) > 0)
		own_store(end_of(me(s)), 1, SIM_RELEASE, site);
	for (;;)
		search_pause(s, THREAD_DONE);
}

void threads_run(const struct subject *subject, int t)
{
	static char *arguments[] = {(char *)"program", NULL}, *none[] = {NULL};
	struct record *record = &records[t];

	if (t > 0) {
		own_until_written(start_of(t), NULL);
		if (record->run != NULL)
			leave(record->run(record->argument), NULL);
		leave((void *)(intptr_t)record->run_c11(record->argument), NULL);
	}
	program_construct();
	if (subject->main != NULL) {
		int status = subject->main(1, arguments, none);

		if (status != 0)
			program_fail(VERDICT_ASSERTION, NULL, "main returned %d", status);
	} else {
		subject->check();
	}
	leave(NULL, NULL);
}

void threads_finished(void)
{
	const void *leak;
	int t;

	for (t = 0; t < numbers_used; t++) {
		if (records[t].created && !records[t].finished) {
			explore_fail(VERDICT_DEADLOCK,
				     "thread %d waits for ever for another to end", t);
			return;
		}
	}
	leak = memory_leak(current_search->memory);
	if (leak != NULL) {
		char name[96];

		memory_describe(current_search->memory, leak, name, sizeof(name));
		explore_fail(VERDICT_LEAK, "the memory of %s is never freed", name);
	}
}

int played_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*run)(void *), void *argument)
{
	(void)attributes;
	create(thread, (struct record){.run = run, .argument = argument}, SITE);
	return 0;
}

/* `wanted`: the caller reads the thread's result. */
static int join(pthread_t thread, void **result, bool wanted, const void *site)
{
	struct search *s = current_search;
	int t = (int)thread - 1;

	if (t < 0 || t >= numbers_used || !records[t].created || records[t].detached ||
	    records[t].joined)
		program_fail(
			VERDICT_ASSERTION, site,
			"joins what is no thread, was detached or was joined before");
	if (t == me(s))
		return EDEADLK;
	records[t].joined = true;
	symmetry_join(s, t);
	own_until_written(end_of(t), site);
	*result = records[t].result;
	symmetry_joined(s, t, *result, wanted);
	return 0;
}

int played_pthread_join(pthread_t thread, void **result)
{
	void *unused;
	int error = join(thread, &unused, result != NULL, SITE);

	if (error == 0 && result != NULL) {
		plain_access(result, sizeof(*result), true, SITE);
		*result = unused;
	}
	return error;
}

int played_pthread_detach(pthread_t thread)
{
	int t = (int)thread - 1;

	if (t < 0 || t >= numbers_used || !records[t].created || records[t].detached ||
	    records[t].joined)
		program_fail(VERDICT_ASSERTION, SITE,
			     "detaches what is no thread, or was joined or detached");
	symmetry_names(current_search, t);
	records[t].detached = true;
	return 0;
}

pthread_t played_pthread_self(void)
{
	symmetry_names(current_search, me(current_search));
	return (pthread_t)(me(current_search) + 1);
}

int played_pthread_equal(pthread_t a, pthread_t b)
{
	return a == b;
}

void played_pthread_exit(void *result)
{
	leave(result, SITE);
}

int played_sched_yield(void)
{
	return 0;
}

/* C11. */

int played_thrd_create(pthread_t *thread, int (*run)(void *), void *argument)
{
	create(thread, (struct record){.run_c11 = run, .argument = argument}, SITE);
	return 0;
}

int played_thrd_join(pthread_t thread, int *result)
{
	void *value;
	int error = join(thread, &value, result != NULL, SITE);

	if (error == 0 && result != NULL) {
		plain_access(result, sizeof(*result), true, SITE);
		*result = (int)(intptr_t)value;
	}
	return error == 0 ? 0 : 2; /* thrd_error */
}

void played_thrd_exit(int result)
{
	leave((void *)(intptr_t)result, SITE);
}

void played_thrd_yield(void)
{
}

int *played_errno_location(void)
{
	struct search *s = current_search;

	return (int *)(void *)memory_shadow(
		s->memory, (void *)((uintptr_t)(me(s) + 1) << 1), OWN_ERRNO);
}

/* Keys, numbered per creating thread. */

int played_pthread_key_create(unsigned *key, void (*destructor)(void *))
{
	int k = mine()->keys++;

	if (k == KEYS)
		return EAGAIN;
	symmetry_names(current_search, me(current_search));
	plain_access(key, sizeof(*key), true, SITE);
	*key = (unsigned)(me(current_search) * KEYS + k);
	destructors[*key] = destructor;
	return 0;
}

int played_pthread_key_delete(unsigned key)
{
	destructors[key % (MAX_THREADS * KEYS)] = NULL;
	return 0;
}

void *played_pthread_getspecific(unsigned key)
{
	loops_read_plainly();
	return keys_used ? more[me(current_search)].values[key % (MAX_THREADS * KEYS)]
			 : NULL;
}

int played_pthread_setspecific(unsigned key, const void *value)
{
	loops_wrote();
	keys_used = true;
	more[me(current_search)].values[key % (MAX_THREADS * KEYS)] =
		(void *)(uintptr_t)value;
	return 0;
}

/* Destructors of C++ thread_local variables. */
int played_thread_atexit(void (*run)(void *), void *object, void *library)
{
	struct record *record = mine();

	(void)library;
	if (record->exit_count == EXITS)
		program_fail(VERDICT_LIMIT, SITE, "more than %d thread-local destructors",
			     EXITS);
	more[me(current_search)].exits[record->exit_count].run = run;
	more[me(current_search)].exits[record->exit_count++].object = object;
	return 0;
}
