/* SPDX-License-Identifier: MIT */
/* What a profile has to cope with, one case for each name. Knows nothing of pawl. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static atomic_int step;

enum { HELD_US = 3000 };

static void await(int value)
{
	while (atomic_load(&step) < value)
		usleep(100);
}

static void start(pthread_t *thread, void *(*function)(void *), void *argument)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	if (pthread_create(thread, &attr, function, argument) != 0) {
		perror("pthread_create");
		exit(1);
	}
	pthread_attr_destroy(&attr);
}

static void run(void *(*function)(void *))
{
	pthread_t thread;

	start(&thread, function, NULL);
	pthread_join(thread, NULL);
}

static void nest(pthread_mutex_t *outer, pthread_mutex_t *inner)
{
	pthread_mutex_lock(outer);
	pthread_mutex_lock(inner);
	pthread_mutex_unlock(inner);
	pthread_mutex_unlock(outer);
}

/* Waits once for what the caller of hold_and_wait() holds. */
static void *wait_first(void *argument)
{
	atomic_store(&step, 1);
	pthread_mutex_lock(&first);
	pthread_mutex_unlock(&first);
	return argument;
}

static void contend_with(void *(*wait)(void *))
{
	pthread_t thread;

	atomic_store(&step, 0);
	pthread_mutex_lock(&first);
	start(&thread, wait, NULL);
	await(1);
	usleep(HELD_US);
	pthread_mutex_unlock(&first);
	pthread_join(thread, NULL);
}

static void contend(void)
{
	contend_with(wait_first);
}

static inline __attribute__((always_inline)) void take_inlined(pthread_mutex_t *mutex)
{
	atomic_store(&step, 1);
	pthread_mutex_lock(mutex);
}

static void *wait_inlined(void *argument)
{
	take_inlined(&first);
	pthread_mutex_unlock(&first);
	atomic_store(&step, 2); /* unlike wait_first, or they would be one */
	return argument;
}

static void inlined(void)
{
	contend_with(wait_inlined);
}

/* One after the other, so that nobody deadlocks. */
static void *take_ab(void *argument)
{
	nest(&first, &second);
	return argument;
}

static void *take_ba(void *argument)
{
	nest(&second, &first);
	return argument;
}

static void abba(void)
{
	run(take_ab);
	run(take_ba);
}

/* The same, but never without a third lock: cannot deadlock. */
static void *take_ab_gated(void *argument)
{
	pthread_mutex_lock(&gate);
	nest(&first, &second);
	pthread_mutex_unlock(&gate);
	return argument;
}

static void *take_ba_gated(void *argument)
{
	pthread_mutex_lock(&gate);
	nest(&second, &first);
	pthread_mutex_unlock(&gate);
	return argument;
}

static void gated(void)
{
	run(take_ab_gated);
	run(take_ba_gated);
}

static void *lock_ab(void *argument)
{
	pthread_mutex_lock(&first);
	atomic_fetch_add(&step, 1);
	await(2);
	pthread_mutex_lock(&second);
	return argument;
}

static void *lock_ba(void *argument)
{
	pthread_mutex_lock(&second);
	atomic_fetch_add(&step, 1);
	await(2);
	pthread_mutex_lock(&first);
	return argument;
}

static void deadlock(void)
{
	pthread_t a, b;

	start(&a, lock_ab, NULL);
	start(&b, lock_ba, NULL);
	pthread_join(a, NULL);
}

static void forks(void)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		contend();
		execl("/proc/self/exe", "cases", "contend", (char *)NULL);
		_exit(1);
	}
	contend();
	if (waitpid(child, &status, 0) != child || status != 0)
		exit(1);
}

static void crash(void)
{
	contend();
	raise(SIGSEGV);
}

static void killed(void)
{
	contend();
	raise(SIGKILL);
}

static void *wait_spin(void *argument)
{
	atomic_store(&step, 1);
	pthread_spin_lock(&spin);
	pthread_spin_unlock(&spin);
	return argument;
}

static void *read_shared(void *argument)
{
	atomic_store(&step, 1);
	pthread_rwlock_rdlock(&shared);
	pthread_rwlock_unlock(&shared);
	return argument;
}

static void *write_shared(void *argument)
{
	atomic_store(&step, 1);
	pthread_rwlock_wrlock(&shared);
	pthread_rwlock_unlock(&shared);
	return argument;
}

static void spins(void)
{
	pthread_t thread;

	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	pthread_spin_lock(&spin);
	start(&thread, wait_spin, NULL);
	await(1);
	usleep(HELD_US);
	pthread_spin_unlock(&spin);
	pthread_join(thread, NULL);
}

static void rwlocks(void)
{
	pthread_t thread;

	pthread_rwlock_wrlock(&shared);
	start(&thread, read_shared, NULL);
	await(1);
	usleep(HELD_US);
	pthread_rwlock_unlock(&shared);
	pthread_join(thread, NULL);
	atomic_store(&step, 0);
	pthread_rwlock_rdlock(&shared);
	start(&thread, write_shared, NULL);
	await(1);
	usleep(HELD_US);
	pthread_rwlock_unlock(&shared);
	pthread_join(thread, NULL);
}

static void *wait_signal(void *argument)
{
	pthread_mutex_lock(&first);
	atomic_store(&step, 1);
	while (atomic_load(&step) == 1)
		pthread_cond_wait(&cond, &first);
	pthread_mutex_unlock(&first);
	return argument;
}

static void conds(void)
{
	pthread_t thread;

	start(&thread, wait_signal, NULL);
	await(1);
	usleep(HELD_US);
	pthread_mutex_lock(&first);
	atomic_store(&step, 2);
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&first);
	pthread_join(thread, NULL);
}

/* Ten thousand mutexes, for most of which somebody has to wait. */
enum { MANY = 10000 };
static pthread_mutex_t *many;
static atomic_int arrived;

static void await_or_yield(const atomic_int *number, int value)
{
	while (atomic_load(number) < value)
		sched_yield();
}

static void *take_many(void *argument)
{
	int i;

	for (i = 0; i < MANY; i++) {
		await_or_yield(&step, i + 1);
		atomic_store(&arrived, i + 1);
		pthread_mutex_lock(&many[i]);
		pthread_mutex_unlock(&many[i]);
	}
	return argument;
}

static void mutexes(void)
{
	pthread_t thread;
	int i;

	many = malloc(MANY * sizeof(*many));
	for (i = 0; i < MANY; i++)
		pthread_mutex_init(&many[i], NULL);
	start(&thread, take_many, NULL);
	for (i = 0; i < MANY; i++) {
		pthread_mutex_lock(&many[i]);
		atomic_store(&step, i + 1);
		await_or_yield(&arrived, i + 1);
		usleep(1); /* until it most likely waits */
		pthread_mutex_unlock(&many[i]);
	}
	pthread_join(thread, NULL);
}

/* More locks than there is room for: a thread's first 256 are all noted. And more at a
 * time than are told apart. */
enum { CROWD = 100, EACH = 256, AT_A_TIME = 40 };
static pthread_mutex_t crowded[CROWD][EACH];

static void *take_each(void *argument)
{
	pthread_mutex_t *mutexes = argument;
	int i;

	for (i = 0; i < EACH; i++) {
		pthread_mutex_lock(&mutexes[i]);
		pthread_mutex_unlock(&mutexes[i]);
	}
	/* At the same time, or the next would have the record of the last. */
	atomic_fetch_add(&step, 1);
	await(CROWD);
	return NULL;
}

static void too_many(void)
{
	pthread_t threads[CROWD];
	int i;

	for (i = 0; i < CROWD; i++)
		start(&threads[i], take_each, crowded[i]);
	for (i = 0; i < CROWD; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < AT_A_TIME; i++)
		pthread_mutex_lock(&crowded[0][i]);
	for (i = 0; i < AT_A_TIME; i++)
		pthread_mutex_unlock(&crowded[0][i]);
}

enum { THREADS = 2000 };

static void *arrive(void *argument)
{
	atomic_fetch_add(&arrived, 1);
	pthread_mutex_lock(&first);
	pthread_mutex_unlock(&first);
	return argument;
}

static void threads(void)
{
	static pthread_t all[THREADS];
	int i;

	pthread_mutex_lock(&first);
	for (i = 0; i < THREADS; i++)
		start(&all[i], arrive, NULL);
	while (atomic_load(&arrived) < THREADS)
		usleep(1000);
	usleep(HELD_US);
	pthread_mutex_unlock(&first);
	for (i = 0; i < THREADS; i++)
		pthread_join(all[i], NULL);
}

/* A library that contends and is gone when the profile is read. */
static void unload(void)
{
	void *library = dlopen(getenv("CASES_PLUGIN"), RTLD_NOW);
	void (*plugin)(void);

	if (library == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	*(void **)&plugin = dlsym(library, "plugin_contends");
	plugin();
	dlclose(library);
}

/* Code made at run time calls the lock: a jump, so that it has no frame, would be no
 * test; this is push rbp; mov rbp, rsp; call *rsi; pop rbp; ret. */
static void *call_generated(void *argument)
{
	static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5,
					     0xff, 0xd6, 0x5d, 0xc3};
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*generated)(pthread_mutex_t *, int (*)(pthread_mutex_t *));

	memcpy(page, code, sizeof(code));
	*(void **)&generated = page;
	atomic_store(&step, 1);
	generated(&first, pthread_mutex_lock);
	pthread_mutex_unlock(&first);
	return argument;
}

static void generated(void)
{
	pthread_t thread;

	pthread_mutex_lock(&first);
	start(&thread, call_generated, NULL);
	await(1);
	usleep(HELD_US);
	pthread_mutex_unlock(&first);
	pthread_join(thread, NULL);
}

/* Runs until it is told to stop; says when it has contended. */
static void server(void)
{
	contend();
	puts("ready");
	fflush(stdout);
	pause();
}

/* One thread locks, another unlocks, a hundred times. */
static void *let_go(void *argument)
{
	pthread_mutex_unlock(&first);
	return argument;
}

static void handed(void)
{
	int i;

	for (i = 0; i < 100; i++) {
		pthread_mutex_lock(&first);
		run(let_go);
	}
	contend();
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"contend", contend},	{"abba", abba},	      {"gated", gated},
	{"deadlock", deadlock}, {"forks", forks},     {"crash", crash},
	{"killed", killed},	{"spins", spins},     {"rwlocks", rwlocks},
	{"conds", conds},	{"mutexes", mutexes}, {"too-many", too_many},
	{"threads", threads},	{"unload", unload},   {"generated", generated},
	{"server", server},	{"handed", handed},   {"inlined", inlined},
};

int main(int argc, char **argv)
{
	size_t i;

	for (i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
		if (strcmp(cases[i].name, argv[1]) == 0) {
			cases[i].run();
			return 0;
		}
	fprintf(stderr, "usage: cases NAME\n");
	return 2;
}
