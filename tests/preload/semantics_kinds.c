/* SPDX-License-Identifier: MIT */
/* Mutexes and conds of every kind, with every call. */
#define _GNU_SOURCE
#include "semantics.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

void mutexes_of_all_types(void)
{
	static const struct {
		const char *name;
		int type;
		bool relock, checks_owner;
	} types[] = {
		{"normal", PTHREAD_MUTEX_NORMAL, false, false},
		{"default", PTHREAD_MUTEX_DEFAULT, false, false},
		{"adaptive", PTHREAD_MUTEX_ADAPTIVE_NP, false, false},
		{"recursive", PTHREAD_MUTEX_RECURSIVE, true, true},
		{"errorcheck", PTHREAD_MUTEX_ERRORCHECK, false, true},
	};
	pthread_mutexattr_t attr;
	pthread_mutex_t m;
	size_t i;
	int type, shared, protocol, robust, ceiling;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		printf("-- %s\n", types[i].name);
		SHOW(pthread_mutexattr_init(&attr));
		SHOW(pthread_mutexattr_settype(&attr, types[i].type));
		SHOW(pthread_mutexattr_gettype(&attr, &type));
		SHOW(pthread_mutexattr_getpshared(&attr, &shared));
		SHOW(pthread_mutexattr_getprotocol(&attr, &protocol));
		SHOW(pthread_mutexattr_getrobust(&attr, &robust));
		SHOW(pthread_mutexattr_getprioceiling(&attr, &ceiling));
		printf("%d %d %d %d %d\n", type, shared, protocol, robust, ceiling);
		SHOW(pthread_mutex_init(&m, &attr));
		SHOW(pthread_mutexattr_destroy(&attr));
		use(&m, types[i].relock, types[i].checks_owner);
	}
	printf("-- no attributes\n");
	SHOW(pthread_mutex_init(&m, NULL));
	use(&m, false, false);
}

void static_initialisers(void)
{
	static pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
	static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
	static pthread_mutex_t errorcheck = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
	static pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
	pthread_mutex_t *zeroed = calloc(1, sizeof(*zeroed));

	printf("-- static normal\n");
	use(&normal, false, false);
	printf("-- static recursive\n");
	use(&recursive, true, true);
	printf("-- static errorcheck\n");
	use(&errorcheck, false, true);
	printf("-- static adaptive\n");
	use(&adaptive, false, false);
	printf("-- zeroed\n");
	use(zeroed, false, false);
	free(zeroed);
}

static void *die_holding(void *m)
{
	pthread_mutex_lock(m);
	return NULL;
}

/* Whether the system lets go of what a dead thread held: qemu-user does not. */
static bool has_robust_lists(void)
{
	void *head;
	size_t length;

	return syscall(SYS_get_robust_list, 0, &head, &length) == 0;
}

/* A thread, and a process, that end while they hold it. */
static void owners_that_die(pthread_mutex_t *m)
{
	int status = 0;
	pid_t child;

	elsewhere(die_holding, m);
	SHOW(pthread_mutex_lock(m));
	SHOW(pthread_mutex_consistent(m));
	SHOW(pthread_mutex_unlock(m));
	fflush(stdout);
	child = fork();
	if (child == 0) {
		pthread_mutex_lock(m);
		_exit(0);
	}
	waitpid(child, &status, 0);
	SHOW(pthread_mutex_trylock(m));
	SHOW(pthread_mutex_unlock(m));
}

void objects_of_glibc(void)
{
	pthread_mutexattr_t attr;
	pthread_mutex_t *m = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_cond_t *shared = (pthread_cond_t *)(void *)((char *)m + 1024);
	pthread_condattr_t cattr;
	pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
	int status = 0;
	pid_t child;

	printf("-- robust\n");
	pthread_mutexattr_init(&attr);
	SHOW(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST));
	SHOW(pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
	SHOW(pthread_mutex_init(m, &attr));
	if (has_robust_lists())
		owners_that_die(m);
	SHOW(pthread_mutex_lock(m));
	SHOW(pthread_mutex_destroy(m));
	pthread_mutexattr_destroy(&attr);

	printf("-- priority inheriting\n");
	pthread_mutexattr_init(&attr);
	SHOW(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT));
	SHOW(pthread_mutex_init(m, &attr));
	use(m, false, false);
	pthread_mutexattr_destroy(&attr);

	printf("-- process-shared\n");
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	SHOW(pthread_mutex_init(m, &attr));
	SHOW(pthread_condattr_init(&cattr));
	SHOW(pthread_condattr_setpshared(&cattr, PTHREAD_PROCESS_SHARED));
	SHOW(pthread_cond_init(shared, &cattr));
	wait_with(m, shared);
	SHOW(pthread_cond_init(shared, &cattr));
	pthread_mutex_lock(m);
	fflush(stdout);
	child = fork();
	if (child == 0) {
		pthread_mutex_lock(m);
		pthread_cond_signal(shared);
		pthread_mutex_unlock(m);
		_exit(0);
	}
	SHOW(pthread_cond_wait(shared, m));
	SHOW(pthread_mutex_unlock(m));
	waitpid(child, &status, 0);
	printf("-- process-shared cond, private mutex\n");
	wait_with(&plain, shared);
	SHOW(pthread_condattr_destroy(&cattr));
	SHOW(pthread_mutex_destroy(m));
	pthread_mutexattr_destroy(&attr);

	printf("-- robust private, and errors\n");
	pthread_mutexattr_init(&attr);
	SHOW(pthread_mutexattr_settype(&attr, 77));
	SHOW(pthread_mutexattr_setprotocol(&attr, 77));
	SHOW(pthread_mutexattr_setrobust(&attr, 77));
	SHOW(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST));
	SHOW(pthread_mutex_init(m, &attr));
	use(m, false, false);
	SHOW(pthread_mutex_consistent(&plain));
	pthread_mutexattr_destroy(&attr);
	munmap(m, 4096);
}

/* Process-shared condition variables, of which the first is waited for. */
enum { CONDS = 1024 };
static pthread_cond_t shared_conds[CONDS];

static void *signal_the_others(void *argument)
{
	pthread_mutex_t *m = argument;
	int i;

	pthread_mutex_lock(m); /* the waiter waits */
	for (i = 1; i < CONDS; i++)
		pthread_cond_broadcast(&shared_conds[i]);
	pthread_mutex_unlock(m);
	return NULL;
}

/* A signal ends no wait at another condition variable, with a private mutex neither. */
void signals_for_others(void)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	struct timespec later;
	pthread_condattr_t attr;
	pthread_t thread;
	int i;

	printf("-- signals for others\n");
	pthread_condattr_init(&attr);
	pthread_condattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	for (i = 0; i < CONDS; i++)
		pthread_cond_init(&shared_conds[i], &attr);
	pthread_mutex_lock(&m);
	pthread_create(&thread, NULL, signal_the_others, &m);
	later = in_ms(CLOCK_REALTIME, 300);
	SHOW(pthread_cond_timedwait(&shared_conds[0], &m, &later));
	SHOW(pthread_mutex_unlock(&m));
	pthread_join(thread, NULL);
	for (i = 0; i < CONDS; i++)
		pthread_cond_destroy(&shared_conds[i]);
	pthread_condattr_destroy(&attr);
}

void monotonic_conds(void)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	struct timespec soon = in_ms(CLOCK_MONOTONIC, 20);
	struct timespec far = in_ms(CLOCK_REALTIME, 20000), t;
	pthread_condattr_t attr;
	pthread_cond_t c;
	clockid_t clock;

	printf("-- monotonic\n");
	SHOW(pthread_condattr_init(&attr));
	SHOW(pthread_condattr_setclock(&attr, CLOCK_PROCESS_CPUTIME_ID));
	SHOW(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC));
	SHOW(pthread_condattr_getclock(&attr, &clock));
	SHOW(pthread_cond_init(&c, &attr));
	SHOW(pthread_mutex_lock(&m));
	SHOW(pthread_cond_timedwait(&c, &m, &soon));
	clock_gettime(CLOCK_MONOTONIC, &t);
	printf("in time: %d\n", t.tv_sec - soon.tv_sec < 10);
	SHOW(pthread_cond_clockwait(&c, &m, CLOCK_MONOTONIC, &soon));
	(void)far;
	SHOW(pthread_mutex_unlock(&m));
	SHOW(pthread_cond_destroy(&c));
	SHOW(pthread_condattr_destroy(&attr));
	memset(&c, 0, sizeof(c));
	SHOW(pthread_cond_destroy(&c));
}

/* A cond wait lets go of a recursive mutex once. */
void recursive_wait(void)
{
	pthread_mutex_t m = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
	struct timespec soon = in_ms(CLOCK_REALTIME, 10);
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;

	printf("-- recursive wait\n");
	SHOW(pthread_mutex_lock(&m));
	SHOW(pthread_mutex_lock(&m));
	SHOW(pthread_cond_timedwait(&c, &m, &soon));
	SHOW(pthread_mutex_unlock(&m));
	SHOW(pthread_mutex_unlock(&m));
	SHOW(pthread_mutex_unlock(&m));
}

/* The depth of a recursive mutex is finite. Wherever it is kept, it is 5 now, and
 * nothing else in the object is. */
void overflow(void)
{
	pthread_mutex_t m = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
	uint32_t words[sizeof(m) / sizeof(uint32_t)];
	size_t i, found = 0, times = 0;

	printf("-- overflow\n");
	for (i = 0; i < 5; i++)
		pthread_mutex_lock(&m);
	memcpy(words, &m, sizeof(m));
	for (i = 0; i < sizeof(m) / sizeof(uint32_t); i++)
		if (words[i] == 5) {
			found = i;
			times++;
		}
	printf("found %zu\n", times);
	words[found] = UINT32_MAX;
	memcpy(&m, words, sizeof(m));
	SHOW(pthread_mutex_lock(&m));
	SHOW(pthread_mutex_trylock(&m));
	words[found] = 5;
	memcpy(&m, words, sizeof(m));
	for (i = 0; i < 6; i++)
		SHOW(pthread_mutex_unlock(&m));
}
