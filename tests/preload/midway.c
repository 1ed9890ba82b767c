/* SPDX-License-Identifier: MIT */
/*
 * What happens at an awkward moment: midway CASE. A thread goes through the
 * interposer's code one instruction at a time; at one of them, and in the next
 * attempt at the next, another thread does something. Exit status 0, or a line
 * that says what broke and where.
 */
#define _GNU_SOURCE
#include "check.h"
#include "../harness/hang.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ucontext.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRAP_FLAG = 0x100, MOST_STEPS = 20000 };
enum { SOON_NS = 500 * 1000, STRIDE = 13 }; /* of steps: a prime */

static uintptr_t code, code_end; /* of the interposer */
static int steps, wanted;
static void (*moment)(void);

static int find_interposer(struct dl_phdr_info *info, size_t size, void *unused)
{
	int i;

	(void)size;
	(void)unused;
	if (strstr(info->dlpi_name, "libpawl-pthread.so") == NULL)
		return 0;
	for (i = 0; i < info->dlpi_phnum; i++)
		if ((info->dlpi_phdr[i].p_flags & PF_X) != 0) {
			code = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
			code_end = code + info->dlpi_phdr[i].p_memsz;
		}
	return 1;
}

static void trap(int signal, siginfo_t *info, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	uintptr_t at = (uintptr_t)registers[REG_RIP];

	(void)signal;
	(void)info;
	if (at < code || at >= code_end || steps++ != wanted)
		return;
	registers[REG_EFL] &= ~TRAP_FLAG; /* full speed from here on */
	moment();
}

static void step_from_here(void)
{
	steps = 0;
	__asm__ volatile("pushfq; orl %0, (%%rsp); popfq"
			 :
			 : "i"(TRAP_FLAG)
			 : "cc", "memory");
}

static void step_no_more(void)
{
	__asm__ volatile("pushfq; andl %0, (%%rsp); popfq"
			 :
			 : "i"(~TRAP_FLAG)
			 : "cc", "memory");
}

/* The other thread's part: what it was asked to do, and whether it has. */
static volatile int asked, done;
static volatile bool go, stop;

/* A thread takes its first queue node, and the process forks. */

static void ask_and_wait(void)
{
	asked = 1;
	while (!done)
		sched_yield();
}

static void *take_first_node(void *unused)
{
	static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

	while (!go)
		sched_yield();
	step_from_here();
	pthread_mutex_lock(&m);
	step_no_more();
	asked = 2; /* the end, if it was not reached before */
	return unused;
}

/* Takes more nodes than one mapping has room for. */
static void live_as_child(void)
{
	enum { MANY = 1100 };
	static pthread_mutex_t m[MANY];
	int i;

	alarm(HANG_GUARD_S);
	for (i = 0; i < MANY; i++)
		CHECK(pthread_mutex_lock(&m[i]) == 0);
	for (i = 0; i < MANY; i++)
		CHECK(pthread_mutex_unlock(&m[i]) == 0);
	_exit(0);
}

static int wait_for(pid_t child)
{
	int status;

	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	return status;
}

/* Exit status 0: it went well. 3: there are not so many steps. */
static void fork_at_step(void)
{
	pthread_t thread;
	pid_t child;
	int status;

	alarm(HANG_GUARD_S);
	moment = ask_and_wait;
	CHECK(pthread_create(&thread, NULL, take_first_node, NULL) == 0);
	/* What is mapped next comes below this, and must not grow into it. */
	CHECK(mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
	      MAP_FAILED);
	go = true;
	while (asked == 0)
		sched_yield();
	if (asked == 2)
		_exit(3);
	child = fork();
	if (child == 0)
		live_as_child();
	status = wait_for(child);
	if (status != 0) {
		fprintf(stderr, "the child of a fork at step %d: %#x\n", wanted, status);
		_exit(1);
	}
	_exit(0);
}

static void forks(void)
{
	int status = 0;
	pid_t child;

	for (wanted = 0; wanted < MOST_STEPS && status == 0; wanted++) {
		child = fork();
		if (child == 0)
			fork_at_step();
		status = wait_for(child);
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 3) {
		fprintf(stderr, "step %d: status %#x\n", wanted - 1, (unsigned)status);
		_exit(1);
	}
	CHECK(wanted > 1);
}

/* A condition wait with a mutex that is not the caller's, and a signal comes. */

static pthread_mutex_t unowned = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static bool reached;

static void *signal_when_asked(void *unused)
{
	while (!stop)
		if (asked) {
			asked = 0;
			pthread_cond_signal(&cond);
			done = 1;
		} else {
			sched_yield();
		}
	return unused;
}

/* The other one may have to wait for us: gives it its time, not more. */
static void ask_and_go_on(void)
{
	int i;

	reached = true;
	done = 0;
	asked = 1;
	for (i = 0; i < 200 && !done; i++)
		sched_yield();
}

/* What is left of frames that were here is nobody's any more. */
static __attribute__((noinline)) void scribble(void)
{
	volatile unsigned char room[2048];
	size_t i;

	for (i = 0; i < sizeof(room); i++)
		room[i] = 0x5A;
}

static void *lock_unowned(void *unused)
{
	CHECK(pthread_mutex_lock(&unowned) == 0);
	CHECK(pthread_mutex_unlock(&unowned) == 0);
	return unused;
}

static void waits(void)
{
	pthread_t thread, other;

	moment = ask_and_go_on;
	CHECK(pthread_create(&thread, NULL, signal_when_asked, NULL) == 0);
	for (wanted = 0, reached = true; reached && wanted < MOST_STEPS; wanted++) {
		alarm(HANG_GUARD_S);
		reached = false;
		step_from_here();
		CHECK(pthread_cond_wait(&cond, &unowned) == EPERM);
		step_no_more();
		scribble();
		/* Whoever looks who waits for the mutex finds nobody. */
		CHECK(pthread_mutex_lock(&unowned) == 0);
		CHECK(pthread_create(&other, NULL, lock_unowned, NULL) == 0);
		usleep(200);
		CHECK(pthread_mutex_unlock(&unowned) == 0);
		CHECK(pthread_join(other, NULL) == 0);
	}
	CHECK(!reached && wanted > 1);
	stop = true;
	CHECK(pthread_join(thread, NULL) == 0);
}

/* A thread waits, and a signal handler jumps, but to where it has just been itself: the
 * wait goes on. */

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

static void jump_about(void)
{
	static jmp_buf plain, bare;
	static sigjmp_buf masked;
	volatile int jumps = 0;

	reached = true;
	if (setjmp(plain) == 0) {
		jumps++;
		longjmp(plain, 1);
	}
	if (_setjmp(bare) == 0) {
		jumps++;
		_longjmp(bare, 1);
	}
	if (sigsetjmp(masked, 1) != 7) {
		jumps++;
		siglongjmp(masked, 7);
	}
	CHECK(jumps == 3);
}

static void *wait_in_vain(void *unused)
{
	struct timespec soon;

	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_nsec += SOON_NS;
	soon.tv_sec += soon.tv_nsec / 1000000000;
	soon.tv_nsec %= 1000000000;
	step_from_here();
	CHECK(pthread_mutex_timedlock(&held, &soon) == ETIMEDOUT);
	step_no_more();
	return unused;
}

static void *lock_held(void *unused)
{
	CHECK(pthread_mutex_lock(&held) == 0);
	CHECK(pthread_mutex_unlock(&held) == 0);
	return unused;
}

static void jumps(void)
{
	pthread_t thread;

	moment = jump_about;
	for (wanted = 0, reached = true; reached && wanted < MOST_STEPS;
	     wanted += STRIDE) {
		alarm(HANG_GUARD_S);
		reached = false;
		CHECK(pthread_mutex_lock(&held) == 0);
		CHECK(pthread_create(&thread, NULL, wait_in_vain, NULL) == 0);
		CHECK(pthread_join(thread, NULL) == 0);
		CHECK(pthread_create(&thread, NULL, lock_held, NULL) == 0);
		CHECK(pthread_mutex_unlock(&held) == 0);
		CHECK(pthread_join(thread, NULL) == 0);
	}
	CHECK(!reached && wanted > 1);
}

int main(int argc, char **argv)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = trap;
	action.sa_flags = SA_SIGINFO;
	sigaction(SIGTRAP, &action, NULL);
	dl_iterate_phdr(find_interposer, NULL);
	CHECK(code != 0);
	if (argc == 2 && strcmp(argv[1], "forks") == 0) {
		forks();
	} else if (argc == 2 && strcmp(argv[1], "waits") == 0) {
		waits();
	} else if (argc == 2 && strcmp(argv[1], "jumps") == 0) {
		jumps();
	} else {
		fprintf(stderr, "usage: midway forks|waits|jumps\n");
		return 2;
	}
	return 0;
}
