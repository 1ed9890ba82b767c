/* SPDX-License-Identifier: MIT */
/*
 * Footprint: the memory that L locks and T threads occupy, measured as the private dirty
 * pages of a separate process, before and after. The figure is the bytes of a lock that
 * has been used and is free; further figures are what each lock adds while it is held,
 * and what each thread but the first adds when it uses a lock (Reciprocating paper, Table
 * 1, column Space, gives formulas for these).
 *
 * Departs: measured where the paper counts. The resolution is a page, so a thread's share
 * is exact to a page divided by the number of threads. --seconds has no effect. There is
 * no exclusion to check.
 */
#include "workload.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOCKS = 1 << 14 };

/* In bytes; sent from the child to the parent. */
struct sizes {
	double a_thread, a_lock, a_held_lock;
};

struct footprint {
	const struct bench_subject *subject;
	int threads;
	struct bench_lock common;
	unsigned char *locks;
	pthread_barrier_t barrier; /* for all threads and the measuring one */
};

struct footprint_thread {
	pthread_t thread;
	struct footprint *bench;
	int number;
};

static unsigned char *nth_lock(const struct footprint *bench, int i)
{
	return bench->locks + (size_t)i * bench->subject->size;
}

/* Private pages of this process; 0 if the system does not say. Uses no memory that it
 * would count. */
static double private_bytes(void)
{
	static char text[4096];
	int file = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
	ssize_t length = file < 0 ? -1 : read(file, text, sizeof(text) - 1);
	const char *line;

	if (file >= 0)
		close(file);
	text[length < 0 ? 0 : length] = '\0';
	line = strstr(text, "Private_Dirty:");
	return line == NULL ? 0 : 1024 * strtod(line + strlen("Private_Dirty:"), NULL);
}

static void use_common_lock(struct footprint *bench)
{
	bench->subject->lock(&bench->common);
	bench->subject->unlock(&bench->common);
}

/* Two barriers per step: the first starts it, the second ends it. */
static void *work(void *argument)
{
	struct footprint_thread *me = argument;
	struct footprint *bench = me->bench;
	const struct bench_subject *subject = bench->subject;
	int i;

	pthread_barrier_wait(&bench->barrier); /* the first thread, and one-time set-up */
	if (me->number == 0)
		use_common_lock(bench);
	pthread_barrier_wait(&bench->barrier);

	pthread_barrier_wait(&bench->barrier); /* the other threads */
	if (me->number > 0)
		use_common_lock(bench);
	pthread_barrier_wait(&bench->barrier);

	pthread_barrier_wait(&bench->barrier); /* each lock once, by some thread */
	for (i = me->number; i < LOCKS; i += bench->threads) {
		subject->lock(nth_lock(bench, i));
		subject->unlock(nth_lock(bench, i));
	}
	pthread_barrier_wait(&bench->barrier);

	pthread_barrier_wait(&bench->barrier); /* all locks at once, by one thread */
	for (i = 0; me->number == 0 && i < LOCKS; i++)
		subject->lock(nth_lock(bench, i));
	pthread_barrier_wait(&bench->barrier);

	pthread_barrier_wait(&bench->barrier); /* releases them */
	while (me->number == 0 && i-- > 0)
		subject->unlock(nth_lock(bench, i));
	pthread_barrier_wait(&bench->barrier);
	return NULL;
}

/* Lets the threads do the next step; returns the memory afterwards. */
static double step(struct footprint *bench)
{
	pthread_barrier_wait(&bench->barrier);
	pthread_barrier_wait(&bench->barrier);
	return private_bytes();
}

/* All locks, unlocked, contiguous. */
static bool make_locks(struct footprint *bench)
{
	const struct bench_subject *subject = bench->subject;
	size_t bytes = LOCKS * subject->size;
	int i;

	/* At least the alignment of every lock, and a multiple of it. */
	bench->locks = aligned_alloc(_Alignof(struct bench_lock), (bytes + 127) & ~127ul);
	if (bench->locks == NULL)
		return false;
	memset(bench->locks, 0, bytes);
	for (i = 0; subject->init != NULL && i < LOCKS; i++)
		subject->init(nth_lock(bench, i));
	return true;
}

/* In the child. Returns false, with errno set, on failure. */
static bool measure(const struct bench_subject *subject, int threads, struct sizes *sizes)
{
	static struct footprint bench;
	struct footprint_thread *crew = calloc((size_t)threads, sizeof(*crew));
	double before, after;
	int i;

	if (crew == NULL)
		return false;
	bench = (struct footprint){.subject = subject, .threads = threads};
	pthread_barrier_init(&bench.barrier, NULL, (unsigned)threads + 1);
	begin_lock(subject, &bench.common);
	for (i = 0; i < threads; i++) {
		crew[i].bench = &bench;
		crew[i].number = i;
		errno = pthread_create(&crew[i].thread, NULL, work, &crew[i]);
		if (errno != 0)
			return false; /* the other threads end with this process */
	}
	before = step(&bench);
	after = step(&bench);
	sizes->a_thread = threads > 1 ? (after - before) / (threads - 1) : NAN;

	before = private_bytes();
	if (!make_locks(&bench))
		return false;
	after = step(&bench);
	sizes->a_lock = (after - before) / LOCKS;

	before = after;
	after = step(&bench);
	sizes->a_held_lock = (after - before) / LOCKS;
	step(&bench);
	for (i = 0; i < threads; i++)
		pthread_join(crew[i].thread, NULL);
	return true;
}

/* The child exits without the parent's atexit handlers. */
static void measure_and_exit(const struct bench_subject *subject, int threads, int to)
{
	struct sizes sizes;
	bool done = measure(subject, threads, &sizes) &&
		    write(to, &sizes, sizeof(sizes)) == (ssize_t)sizeof(sizes);

	_exit(done ? 0 : errno);
}

static bool run(const struct bench_subject *subject, const struct bench_shape *shape,
		struct bench_outcome *outcome)
{
	struct sizes sizes = {0};
	int ends[2], status = 0;
	bool complete;
	pid_t child;

	if (pipe(ends) != 0)
		return false;
	child = fork();
	if (child < 0)
		return false;
	if (child == 0)
		measure_and_exit(subject, shape->threads, ends[1]);
	close(ends[1]);
	complete = read(ends[0], &sizes, sizeof(sizes)) == (ssize_t)sizeof(sizes);
	close(ends[0]);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (!complete) {
		errno = WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
		return false;
	}
	*outcome = (struct bench_outcome){
		.value = sizes.a_lock,
		.ops_per_s = NAN,
		.fairness = NAN,
		.exclusive = true,
		.figures = {sizes.a_held_lock, sizes.a_thread},
	};
	return true;
}

const struct workload workload_footprint = {
	.name = "footprint",
	.about = "bytes that 16384 locks occupy, free and held, and each thread",
	.source = "Reciprocating paper, Table 1",
	.unit = "bytes",
	.less_is_better = true,
	.run = run,
	.many_locks = true,
	.figures = {"bytes_while_held", "bytes_per_thread"},
};
