/* SPDX-License-Identifier: MIT */
/*
 * Uses every mutex, cond and spin lock function, and prints what each call
 * returned: run with and without the interposer, it must print the same. Each
 * call also leaves errno as it was.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum { MARK = 12345 };

static void print(const char *what, int result)
{
	const char *name = result == 0 ? "0" : strerrorname_np(result);

	if (name != NULL)
		printf("%s = %s%s\n", what, name, errno == MARK ? "" : " (errno)");
	else
		printf("%s = %d%s\n", what, result, errno == MARK ? "" : " (errno)");
	errno = MARK;
}

/* C11's results are numbers of their own. */
static void print11(const char *what, int result)
{
	printf("%s = %d%s\n", what, result, errno == MARK ? "" : " (errno)");
	errno = MARK;
}

#define SHOW(call)   (errno = MARK, print(#call, call))
#define SHOW11(call) (errno = MARK, print11(#call, call))

static struct timespec in_ms(clockid_t clock, long ms)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_nsec += ms * 1000000;
	while (t.tv_nsec >= 1000000000) {
		t.tv_nsec -= 1000000000;
		t.tv_sec++;
	}
	while (t.tv_nsec < 0) {
		t.tv_nsec += 1000000000;
		t.tv_sec--;
	}
	return t;
}

/* Runs a function in another thread, to its end. */
static void elsewhere(void *(*run)(void *), void *argument)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, argument) != 0)
		abort();
	pthread_join(thread, NULL);
}

/* What a thread that does not hold the mutex sees of it. */
static void *look(void *argument)
{
	pthread_mutex_t *m = argument;
	struct timespec past = {.tv_sec = 1}, bad = {.tv_nsec = 1000000000};
	struct timespec bad2 = {.tv_nsec = -1}, negative = {.tv_sec = -5};
	struct timespec soon = in_ms(CLOCK_REALTIME, 20);
	struct timespec soon2 = in_ms(CLOCK_MONOTONIC, 20);

	SHOW(pthread_mutex_trylock(m));
	SHOW(pthread_mutex_timedlock(m, &past));
	SHOW(pthread_mutex_timedlock(m, &negative));
	SHOW(pthread_mutex_timedlock(m, &bad));
	SHOW(pthread_mutex_timedlock(m, &bad2));
	SHOW(pthread_mutex_timedlock(m, &soon));
	SHOW(pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &soon2));
	SHOW(pthread_mutex_clocklock(m, CLOCK_REALTIME, &past));
	SHOW(pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &bad));
	SHOW(pthread_mutex_clocklock(m, CLOCK_PROCESS_CPUTIME_ID, &soon));
	SHOW(pthread_mutex_clocklock(m, 99, &soon));
	return NULL;
}

static void *unlock(void *argument)
{
	SHOW(pthread_mutex_unlock(argument));
	return NULL;
}

/* A lock that comes after the holder lets go, within its time. */
static void *lock_in_time(void *argument)
{
	pthread_mutex_t *m = argument;
	struct timespec late = in_ms(CLOCK_REALTIME, 20000);
	struct timespec late2 = in_ms(CLOCK_MONOTONIC, 20000);

	SHOW(pthread_mutex_timedlock(m, &late));
	SHOW(pthread_mutex_unlock(m));
	SHOW(pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &late2));
	SHOW(pthread_mutex_unlock(m));
	return NULL;
}

static void wait_with(pthread_mutex_t *m, pthread_cond_t *c);

/* Every call on a mutex that is unlocked, of any type but normal's deadlock. */
static void use(pthread_mutex_t *m, bool relock, bool checks_owner)
{
	struct timespec soon = in_ms(CLOCK_REALTIME, 10);
	struct timespec soon2 = in_ms(CLOCK_MONOTONIC, 10);
	struct timespec bad = {.tv_nsec = -1};
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	pthread_t thread;
	int ceiling;

	SHOW(pthread_mutex_lock(m));
	elsewhere(look, m);
	if (checks_owner)
		elsewhere(unlock, m);
	SHOW(pthread_mutex_trylock(m));
	if (relock) {
		SHOW(pthread_mutex_lock(m));
		SHOW(pthread_mutex_timedlock(m, &soon));
		SHOW(pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &soon2));
		SHOW(pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &bad));
	} else {
		SHOW(pthread_mutex_timedlock(m, &soon));
		SHOW(pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &soon2));
	}
	SHOW(pthread_mutex_destroy(m));
	SHOW(pthread_mutex_unlock(m));
	/* glibc destroys some kinds although they are held. What follows would then
	 * go on without a mutex, and now and then for ever. */
	if (m->__data.__kind == -1)
		return;
	if (relock) {
		SHOW(pthread_mutex_unlock(m));
		SHOW(pthread_mutex_unlock(m));
		SHOW(pthread_mutex_unlock(m));
		SHOW(pthread_mutex_unlock(m));
		if (checks_owner)
			SHOW(pthread_mutex_unlock(m));
	}
	if (checks_owner) {
		SHOW(pthread_mutex_unlock(m));
		SHOW(pthread_cond_wait(&c, m));
	}
	SHOW(pthread_mutex_timedlock(m, &bad));
	SHOW(pthread_mutex_unlock(m));
	SHOW(pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &bad));
	SHOW(pthread_mutex_unlock(m));
	SHOW(pthread_mutex_trylock(m));
	if (pthread_create(&thread, NULL, lock_in_time, m) != 0)
		abort();
	usleep(30000);
	fflush(stdout);
	pthread_mutex_unlock(m);
	pthread_join(thread, NULL);
	wait_with(m, &c);
	SHOW(pthread_mutex_getprioceiling(m, &ceiling));
	SHOW(pthread_mutex_destroy(m));
	SHOW(pthread_mutex_lock(m));
	SHOW(pthread_mutex_trylock(m));
	SHOW(pthread_mutex_unlock(m));
	SHOW(pthread_mutex_destroy(m));
}

struct meeting {
	pthread_mutex_t *m;
	pthread_cond_t *c;
	int waiting, go;
};

static void *wait_for_go(void *argument)
{
	struct meeting *meeting = argument;
	struct timespec late = in_ms(CLOCK_MONOTONIC, 20000);
	int failures = 0;

	pthread_mutex_lock(meeting->m);
	meeting->waiting++;
	while (meeting->go == 0)
		failures |= pthread_cond_clockwait(meeting->c, meeting->m,
						   CLOCK_MONOTONIC, &late);
	meeting->go--;
	pthread_mutex_unlock(meeting->m);
	return (void *)(intptr_t)failures;
}

/* Every way to wait, in time and too late, and every way to be woken. */
static void wait_with(pthread_mutex_t *m, pthread_cond_t *c)
{
	struct timespec soon = in_ms(CLOCK_REALTIME, 10);
	struct timespec soon2 = in_ms(CLOCK_MONOTONIC, 10);
	struct timespec past = {.tv_sec = 1}, bad = {.tv_nsec = 1000000000};
	struct timespec negative = {.tv_sec = -1};
	struct meeting meeting = {m, c, 0, 0};
	pthread_t threads[3];
	void *failures;
	int i, waiting = 0;

	SHOW(pthread_mutex_lock(m));
	SHOW(pthread_cond_timedwait(c, m, &soon));
	SHOW(pthread_cond_timedwait(c, m, &past));
	SHOW(pthread_cond_timedwait(c, m, &negative));
	SHOW(pthread_cond_timedwait(c, m, &bad));
	SHOW(pthread_cond_clockwait(c, m, CLOCK_MONOTONIC, &soon2));
	SHOW(pthread_cond_clockwait(c, m, CLOCK_REALTIME, &soon));
	SHOW(pthread_cond_clockwait(c, m, CLOCK_MONOTONIC, &bad));
	SHOW(pthread_cond_clockwait(c, m, CLOCK_PROCESS_CPUTIME_ID, &soon));
	SHOW(pthread_mutex_unlock(m));
	SHOW(pthread_cond_signal(c));
	SHOW(pthread_cond_broadcast(c));
	for (i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, wait_for_go, &meeting);
	while (waiting < 3) {
		usleep(1000);
		pthread_mutex_lock(m);
		waiting = meeting.waiting;
		pthread_mutex_unlock(m);
	}
	pthread_mutex_lock(m);
	meeting.go = 1;
	SHOW(pthread_cond_signal(c));
	pthread_mutex_unlock(m);
	usleep(10000);
	pthread_mutex_lock(m);
	meeting.go += 2;
	SHOW(pthread_cond_broadcast(c));
	pthread_mutex_unlock(m);
	for (i = 0; i < 3; i++) {
		pthread_join(threads[i], &failures);
		printf("waited = %d\n", (int)(intptr_t)failures);
	}
	SHOW(pthread_cond_destroy(c));
}

static void mutexes_of_all_types(void)
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

static void static_initialisers(void)
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

static void objects_of_glibc(void)
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

static void monotonic_conds(void)
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
static void recursive_wait(void)
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
static void overflow(void)
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

struct cancelled {
	pthread_mutex_t m;
	pthread_cond_t c;
	bool timed, waiting, signalled;
	int held, reached;
};

static void *try_lock(void *argument)
{
	return (void *)(intptr_t)pthread_mutex_trylock(argument);
}

static void cleanup(void *argument)
{
	struct cancelled *x = argument;
	pthread_t thread;
	void *result;

	/* Held again: another thread does not get it. */
	pthread_create(&thread, NULL, try_lock, &x->m);
	pthread_join(thread, &result);
	x->held = (int)(intptr_t)result;
	pthread_mutex_unlock(&x->m);
}

static void *wait_to_be_cancelled(void *argument)
{
	struct cancelled *x = argument;
	struct timespec late = in_ms(CLOCK_REALTIME, 20000);

	pthread_mutex_lock(&x->m);
	pthread_cleanup_push(cleanup, x);
	x->waiting = true;
	while (!x->signalled)
		if (x->timed)
			pthread_cond_timedwait(&x->c, &x->m, &late);
		else
			pthread_cond_wait(&x->c, &x->m);
	x->reached = 1;
	pthread_cleanup_pop(1);
	return NULL;
}

static void cancellation(void)
{
	static const pthread_mutex_t kinds[] = {PTHREAD_MUTEX_INITIALIZER,
						PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP};
	bool waiting;
	int i;

	printf("-- cancellation\n");
	for (i = 0; i < 4; i++) {
		struct cancelled x = {.m = kinds[i & 1],
				      .c = PTHREAD_COND_INITIALIZER,
				      .timed = i >= 2};
		pthread_t thread;
		void *result;

		pthread_create(&thread, NULL, wait_to_be_cancelled, &x);
		do {
			usleep(1000);
			pthread_mutex_lock(&x.m);
			waiting = x.waiting;
			pthread_mutex_unlock(&x.m);
		} while (!waiting);
		SHOW(pthread_cancel(thread));
		SHOW(pthread_join(thread, &result));
		printf("cancelled %d, held %d, reached %d\n", result == PTHREAD_CANCELED,
		       x.held, x.reached);
		SHOW(pthread_mutex_trylock(&x.m));
		SHOW(pthread_mutex_unlock(&x.m));
	}
}

static pthread_mutex_t fork_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t fork_recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static void forks(void)
{
	pid_t child;
	int status;

	printf("-- fork\n");
	SHOW(pthread_mutex_lock(&fork_mutex));
	SHOW(pthread_mutex_lock(&fork_recursive));
	fflush(stdout);
	child = fork();
	if (child == 0) {
		SHOW(pthread_mutex_trylock(&fork_mutex));
		SHOW(pthread_mutex_unlock(&fork_mutex));
		SHOW(pthread_mutex_lock(&fork_mutex));
		SHOW(pthread_mutex_unlock(&fork_mutex));
		SHOW(pthread_mutex_unlock(&fork_recursive));
		SHOW(pthread_mutex_trylock(&fork_recursive));
		fflush(stdout);
		_exit(3);
	}
	waitpid(child, &status, 0);
	printf("child = %d\n", WEXITSTATUS(status));
	SHOW(pthread_mutex_unlock(&fork_mutex));
	SHOW(pthread_mutex_unlock(&fork_recursive));
}

static int c11_look(void *argument)
{
	struct timespec soon = in_ms(CLOCK_REALTIME, 10);
	struct timespec bad = {.tv_nsec = -1};

	SHOW11(mtx_trylock(argument));
	SHOW11(mtx_timedlock(argument, &soon));
	SHOW11(mtx_timedlock(argument, &bad));
	return 0;
}

static void c11(void)
{
	static const int types[] = {mtx_plain, mtx_timed, mtx_plain | mtx_recursive,
				    mtx_timed | mtx_recursive};
	struct timespec soon = in_ms(CLOCK_REALTIME, 10);
	thrd_t thread;
	mtx_t m;
	cnd_t c;
	size_t i;

	printf("-- C11\n");
	SHOW11(mtx_init(&m, 77));
	SHOW11(cnd_init(&c));
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		SHOW11(mtx_init(&m, types[i]));
		SHOW11(mtx_lock(&m));
		SHOW11(mtx_trylock(&m));
		if ((types[i] & mtx_recursive) != 0)
			SHOW11(mtx_unlock(&m));
		thrd_create(&thread, c11_look, &m);
		thrd_join(thread, NULL);
		SHOW11(cnd_timedwait(&c, &m, &soon));
		SHOW11(cnd_signal(&c));
		SHOW11(cnd_broadcast(&c));
		SHOW11(mtx_unlock(&m));
		if ((types[i] & mtx_recursive) != 0)
			SHOW11(mtx_unlock(&m));
		mtx_destroy(&m);
	}
	cnd_destroy(&c);
}

static void *spin_look(void *argument)
{
	SHOW(pthread_spin_trylock(argument));
	return NULL;
}

static void spins(void)
{
	pthread_spinlock_t spin;

	printf("-- spin\n");
	SHOW(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE));
	SHOW(pthread_spin_lock(&spin));
	elsewhere(spin_look, (void *)(uintptr_t)&spin);
	SHOW(pthread_spin_trylock(&spin));
	SHOW(pthread_spin_unlock(&spin));
	SHOW(pthread_spin_trylock(&spin));
	SHOW(pthread_spin_unlock(&spin));
	SHOW(pthread_spin_destroy(&spin));
}

/* Destroying a mutex that somebody will come back to. */
static void destroy_while_waiting(const char *name, const pthread_mutexattr_t *attr)
{
	pthread_mutex_t m;
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	struct meeting meeting = {&m, &c, 0, 0};
	pthread_t thread;
	int waiting = 0;

	printf("-- destroyed while waiting: %s\n", name);
	SHOW(pthread_mutex_init(&m, attr));
	pthread_create(&thread, NULL, wait_for_go, &meeting);
	while (waiting < 1) {
		usleep(1000);
		pthread_mutex_lock(&m);
		waiting = meeting.waiting;
		pthread_mutex_unlock(&m);
	}
	SHOW(pthread_mutex_destroy(&m));
	if (m.__data.__kind == -1) /* glibc does not ask that of a robust one */
		exit(1);
	pthread_mutex_lock(&m);
	meeting.go = 1;
	pthread_cond_signal(&c);
	pthread_mutex_unlock(&m);
	pthread_join(thread, NULL);
	SHOW(pthread_mutex_destroy(&m));
}

static void destroy_all_kinds_while_waiting(void)
{
	static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
				    PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP};
	pthread_mutexattr_t attr;
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		pthread_mutexattr_init(&attr);
		pthread_mutexattr_settype(&attr, types[i]);
		destroy_while_waiting("plain", &attr);
		pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
		destroy_while_waiting("priority-inheriting", &attr);
		pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_NONE);
		pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
		destroy_while_waiting("process-shared", &attr);
	}
}

/* A wait with a mutex of any kind that is not the caller's. */
static void wait_unowned(void)
{
	static const int types[] = {PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK};
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	pthread_mutexattr_t attr;
	pthread_mutex_t m;
	size_t i;
	int more;

	printf("-- waits with what is not held\n");
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		for (more = 0; more < 4; more++) {
			pthread_mutexattr_init(&attr);
			pthread_mutexattr_settype(&attr, types[i]);
			if (more == 1)
				pthread_mutexattr_setprotocol(&attr,
							      PTHREAD_PRIO_INHERIT);
			if (more == 2)
				pthread_mutexattr_setpshared(&attr,
							     PTHREAD_PROCESS_SHARED);
			if (more == 3)
				pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
			SHOW(pthread_mutex_init(&m, &attr));
			SHOW(pthread_cond_wait(&c, &m));
			SHOW(pthread_mutex_destroy(&m));
			SHOW(pthread_cond_wait(&c, &m));
		}
}

/* What programs read in a mutex that has an owner. */
static void print_owner(const char *when, const pthread_mutex_t *m)
{
	printf("%s: count %u, owner is %s\n", when, m->__data.__count,
	       m->__data.__owner == 0	       ? "nobody"
	       : m->__data.__owner == gettid() ? "me"
					       : "somebody");
}

static void *look_at_owner(void *m)
{
	print_owner("elsewhere", m);
	return NULL;
}

static void owners(void)
{
	static pthread_mutex_t kinds[] = {PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
					  PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP};
	struct timespec soon = in_ms(CLOCK_REALTIME, 10);
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	size_t i;
	pid_t child;

	printf("-- owners\n");
	for (i = 0; i < 2; i++) {
		pthread_mutex_t *m = &kinds[i];

		print_owner("at first", m);
		SHOW(pthread_mutex_lock(m));
		print_owner("locked", m);
		elsewhere(look_at_owner, m);
		SHOW(pthread_mutex_trylock(m));
		SHOW(pthread_mutex_lock(m));
		print_owner("again", m);
		SHOW(pthread_cond_timedwait(&c, m, &soon));
		print_owner("after a wait", m);
		fflush(stdout);
		child = _Fork(); /* no handler tells us */
		if (child == 0) {
			print_owner("in a child", m);
			SHOW(pthread_mutex_unlock(m));
			*m = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
			SHOW(pthread_mutex_lock(m));
			print_owner("in a child, anew", m);
			SHOW(pthread_mutex_unlock(m));
			fflush(stdout);
			_exit(0);
		}
		waitpid(child, NULL, 0);
		while (pthread_mutex_unlock(m) == 0)
			print_owner("unlocked", m);
		SHOW(pthread_mutex_trylock(m));
		print_owner("tried", m);
		SHOW(pthread_mutex_unlock(m));
	}
}

/* A thread that locked twice sleeps until a signal handler unlocks for it; the
 * second unlock of its own finds nothing to unlock. */
static pthread_mutex_t twice = PTHREAD_MUTEX_INITIALIZER;

static void unlock_twice(int signal)
{
	(void)signal;
	pthread_mutex_unlock(&twice);
}

static void *lock_once(void *argument)
{
	SHOW(pthread_mutex_lock(&twice));
	SHOW(pthread_mutex_unlock(&twice));
	return argument;
}

static void unlocked_by_a_handler(void)
{
	printf("-- unlocked by a handler\n");
	signal(SIGALRM, unlock_twice);
	SHOW(pthread_mutex_lock(&twice));
	ualarm(20000, 0);
	SHOW(pthread_mutex_lock(&twice));
	SHOW(pthread_mutex_trylock(&twice));
	SHOW(pthread_mutex_unlock(&twice));
	SHOW(pthread_mutex_unlock(&twice));
	elsewhere(lock_once, NULL);
	lock_once(NULL);
	signal(SIGALRM, SIG_DFL);
	alarm(120);
}

/* A thread ends, or is ended, while it holds a mutex that others wait for; another
 * one unlocks it then. */
struct bequest {
	pthread_mutex_t m;
	pthread_t heirs[2];
	bool cancelled;
	volatile bool ready;
};

static void *inherit(void *argument)
{
	pthread_mutex_t *m = argument;
	struct timespec late = in_ms(CLOCK_REALTIME, 20000);

	if (pthread_mutex_timedlock(m, &late) != 0)
		return (void *)1;
	pthread_mutex_unlock(m);
	return NULL;
}

static void *die_with_heirs(void *argument)
{
	struct bequest *b = argument;
	int i;

	pthread_mutex_lock(&b->m);
	for (i = 0; i < 2; i++)
		pthread_create(&b->heirs[i], NULL, inherit, &b->m);
	usleep(10000); /* likely asleep by now, but it does not matter */
	b->ready = true;
	while (b->cancelled)
		pause();
	return NULL;
}

static void bequests(void)
{
	void *result;
	int i, n;

	printf("-- ended while holding\n");
	for (i = 0; i < 2; i++) {
		struct bequest b = {.m = PTHREAD_MUTEX_INITIALIZER, .cancelled = i == 1};
		pthread_t thread;

		pthread_create(&thread, NULL, die_with_heirs, &b);
		if (b.cancelled) {
			while (!b.ready)
				usleep(1000);
			SHOW(pthread_cancel(thread));
		}
		SHOW(pthread_join(thread, NULL));
		SHOW(pthread_mutex_trylock(&b.m));
		SHOW(pthread_mutex_destroy(&b.m));
		SHOW(pthread_mutex_unlock(&b.m));
		for (n = 0; n < 2; n++) {
			SHOW(pthread_join(b.heirs[n], &result));
			printf("inherited: %d\n", (int)(intptr_t)result);
		}
		SHOW(pthread_mutex_lock(&b.m));
		SHOW(pthread_mutex_unlock(&b.m));
	}
}

int main(void)
{
	alarm(120);
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	mutexes_of_all_types();
	static_initialisers();
	objects_of_glibc();
	monotonic_conds();
	recursive_wait();
	overflow();
	cancellation();
	forks();
	c11();
	spins();
	destroy_all_kinds_while_waiting();
	wait_unowned();
	owners();
	unlocked_by_a_handler();
	bequests();
	return 0;
}
