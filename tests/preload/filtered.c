/* SPDX-License-Identifier: MIT */
/*
 * A program that, with threads running, puts itself behind a filter that ends it at the
 * first membarrier or sched_getscheduler, which it never calls: filtered prctl|seccomp.
 */
#define _GNU_SOURCE
#include "check.h"
#include "../harness/hang.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 4 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int turn;
static long rounds;
static volatile bool stop;

/* Each waits for its turn, so that all of them sleep and are woken. */
static void *take_turns(void *argument)
{
	int mine = *(int *)argument;

	pthread_mutex_lock(&m);
	while (!stop) {
		while (turn != mine && !stop)
			pthread_cond_wait(&c, &m);
		turn = (mine + 1) % THREADS;
		rounds++;
		pthread_cond_broadcast(&c);
	}
	pthread_mutex_unlock(&m);
	return NULL;
}

static void wait_for_rounds(long more)
{
	long until, now;

	pthread_mutex_lock(&m);
	until = rounds + more;
	do {
		pthread_mutex_unlock(&m);
		usleep(100);
		pthread_mutex_lock(&m);
		now = rounds;
	} while (now < until);
	pthread_mutex_unlock(&m);
}

static int install(bool by_prctl)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_getscheduler, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	if (by_prctl)
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			    SECCOMP_FILTER_FLAG_TSYNC, &program);
}

int main(int argc, char **argv)
{
	bool by_prctl = argc == 2 && strcmp(argv[1], "prctl") == 0;
	int numbers[THREADS], i;
	pthread_t threads[THREADS];

	alarm(HANG_GUARD_S);
	/* prctl binds its caller alone, and those that it starts. */
	if (by_prctl && install(true) != 0)
		return 0; /* no filters here: nothing to test */
	for (i = 0; i < THREADS; i++) {
		numbers[i] = i;
		CHECK(pthread_create(&threads[i], NULL, take_turns, &numbers[i]) == 0);
	}
	wait_for_rounds(1000);
	if (!by_prctl && install(false) != 0)
		_exit(0);
	wait_for_rounds(1000);
	pthread_mutex_lock(&m);
	stop = true;
	pthread_cond_broadcast(&c);
	pthread_mutex_unlock(&m);
	for (i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	return 0;
}
