/* SPDX-License-Identifier: MIT */
/*
 * The library comes, is first used where it is least convenient, and goes again:
 * usage: life CASE PLUGIN, with libpawl behind the plug-in and not in this program.
 * Status 0, or a line on stderr that says what went wrong.
 *
 *   handler  a thread's first use is in a signal handler, which may not use the heap
 *   keys     the same in a program that had used up the C library's first 32 keys
 *   unload   the library goes before threads that have used it; forks come after
 */
#define _GNU_SOURCE
#include "life_plugin.h"
#include "../harness/hang.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEYS = 40, ROUNDS = 3 };

static void check(bool good, const char *what)
{
	if (good)
		return;
	if (write(STDERR_FILENO, "life: not so: ", 14) < 0 ||
	    write(STDERR_FILENO, what, strlen(what)) < 0 ||
	    write(STDERR_FILENO, "\n", 1) < 0)
		_exit(2);
	_exit(1);
}

/* The heap, which no signal handler may use; of the C library neither. */
#pragma GCC visibility push(default)

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);

static volatile sig_atomic_t in_handler;

void *malloc(size_t size)
{
	check(!in_handler, "a signal handler uses no heap");
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	check(!in_handler, "a signal handler uses no heap");
	return __libc_calloc(n, size);
}
#pragma GCC visibility pop

/* The plug-in. */

static const struct plugin *plugin;
static int lease_wanted; /* what use_lease is to say */

static void *load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (library == NULL)
		dprintf(STDERR_FILENO, "%s\n", dlerror());
	check(library != NULL, "the plug-in can be loaded");
	plugin = dlsym(library, "plugin");
	check(plugin != NULL, "it is the right one");
	return library;
}

static void use_in_handler(int signal)
{
	(void)signal;
	in_handler = 1;
	check(plugin->use_locks() == 0, "a handler can lock");
	check(plugin->use_lease() == lease_wanted, "a lease is had, or refused");
	check(plugin->use_lease() == lease_wanted, "and again");
	in_handler = 0;
}

static void *be_interrupted(void *unused)
{
	raise(SIGUSR1);
	check(plugin->use_lease() == lease_wanted, "it stays so");
	check(plugin->use_more() == 0, "what uses the heap works as well");
	return unused;
}

static void first_use_in_a_handler(const char *path)
{
	pthread_t thread;
	void *library = load(path);

	signal(SIGUSR1, use_in_handler);
	check(pthread_create(&thread, NULL, be_interrupted, NULL) == 0, "a thread");
	pthread_join(thread, NULL);
	dlclose(library);
}

static void use_up_keys(void)
{
	pthread_key_t key;
	int i;

	for (i = 0; i < KEYS; i++)
		check(pthread_key_create(&key, NULL) == 0, "there are so many keys");
}

/* Unload. */

static pthread_barrier_t stage;

static void *outlive(void *unused)
{
	check(plugin->use_locks() == 0, "a thread can lock");
	check(plugin->use_lease() == 0, "and lease");
	check(plugin->use_more() == 0, "and the rest");
	pthread_barrier_wait(&stage); /* all is used */
	pthread_barrier_wait(&stage); /* and gone */
	return unused;
}

static int in_a_child(int (*use)(void))
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		alarm(HANG_GUARD_S);
		_exit(use == NULL ? 0 : use());
	}
	check(child > 0 && waitpid(child, &status, 0) == child, "a child");
	return status;
}

static void unload(const char *path)
{
	pthread_t thread;
	void *library = load(path);

	check(pthread_barrier_init(&stage, NULL, 2) == 0, "a barrier");
	check(pthread_create(&thread, NULL, outlive, NULL) == 0, "a thread");
	pthread_barrier_wait(&stage);
	check(in_a_child(plugin->use_lease) == 0, "a child can lease");
	check(in_a_child(plugin->use_more) == 0, "and do the rest");
	dlclose(library);
	check(dlopen("libpawl.so.1", RTLD_NOW | RTLD_NOLOAD) == NULL, "it is gone");
	check(in_a_child(NULL) == 0, "a fork calls nothing that is gone");
	pthread_barrier_wait(&stage);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	int round;

	check(argc == 3, "usage: life CASE PLUGIN");
	alarm(HANG_GUARD_S);
	if (strcmp(argv[1], "keys") == 0) {
		use_up_keys();
		lease_wanted = 1;
	}
	if (strcmp(argv[1], "unload") != 0)
		first_use_in_a_handler(argv[2]);
	else
		for (round = 0; round < ROUNDS; round++)
			unload(argv[2]);
	return 0;
}
