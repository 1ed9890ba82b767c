/* SPDX-License-Identifier: MIT */
/*
 * Shows, without pawl, what older versions of qemu-user cannot do: fork while several
 * threads run.
 *
 * Their children hang: threads run code that is new each time, which the emulator has to
 * translate and notes in trees of GLib's, whose nodes are from GLib's slices. A child of a
 * fork that comes while another thread holds a lock of the slices waits for it for ever as
 * soon as it has to translate something itself. With G_SLICE=always-malloc in the
 * emulator's environment the nodes are from malloc, which forks know about.
 *
 * Their children have no threads: to start one fails an assertion of the emulator's, which
 * gives it the number of a thread of the parent's that it has not forgotten.
 *
 * Usage: emulated_forks FORKS [threads]
 * Makes so many children, each of which starts a thread if asked to. Exit status 1 if one
 * hung, which then is killed, or did not end well.
 */
#define _GNU_SOURCE
#include "../harness/hang.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, PAGE = 4096, ROUTINES = 64 };

/* A function that returns at once, and its size. */
#if defined(__aarch64__)
static const uint32_t nothing = 0xd65f03c0; /* ret */
#elif defined(__riscv)
static const uint32_t nothing = 0x00008067; /* ret */
#elif defined(__x86_64__)
static const uint32_t nothing = 0x909090c3; /* ret */
#else
#error "no function is known for this CPU"
#endif

/* Makes functions, runs each, and takes them away. */
static void run_something_new(void)
{
	uint32_t *code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i;

	if (code == MAP_FAILED)
		return;
	for (i = 0; i < ROUTINES; i++)
		code[i] = nothing;
	__builtin___clear_cache((char *)code, (char *)(code + ROUTINES));
	for (i = 0; i < ROUTINES; i++)
		((void (*)(void))(uintptr_t)&code[i])();
	munmap(code, PAGE);
}

static void *translate(void *argument)
{
	for (;;)
		run_something_new();
	return argument;
}

static void *do_nothing(void *argument)
{
	return argument;
}

static void live_as_child(bool threads)
{
	pthread_t thread;

	run_something_new();
	if (threads && (pthread_create(&thread, NULL, do_nothing, NULL) != 0 ||
			pthread_join(thread, NULL) != 0))
		_exit(1);
	_exit(0);
}

static volatile pid_t child;

static void give_up(int number)
{
	(void)number;
	kill(child, SIGKILL);
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = give_up};
	int forks = argc > 1 ? atoi(argv[1]) : 0, i, status = 0;
	bool threads = argc == 3 && strcmp(argv[2], "threads") == 0;
	pthread_t thread;

	if (forks <= 0 || argc != 2 + threads) {
		fprintf(stderr, "usage: emulated_forks FORKS [threads]\n");
		return 2;
	}
	sigaction(SIGALRM, &action, NULL);
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&thread, NULL, translate, NULL) != 0)
			return 2;
	for (i = 0; i < forks; i++) {
		child = fork();
		if (child == 0)
			live_as_child(threads);
		alarm(HANG_GUARD_S);
		while (waitpid(child, &status, 0) != child)
			continue;
		alarm(0);
		if (status != 0) {
			printf("emulated_forks: child %d of %d %s\n", i + 1, forks,
			       WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL
				       ? "hung"
				       : "did not end well");
			return 1;
		}
	}
	printf("emulated_forks: %d children, all well\n", forks);
	return 0;
}
