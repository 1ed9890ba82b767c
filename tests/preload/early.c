/* SPDX-License-Identifier: MIT */
/*
 * Mutexes used before any constructor, in constructors of a library, from a
 * library that is opened later while others lock, and after main.
 */
#define _GNU_SOURCE
#include "../harness/hang.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t early = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int early_errors;

/* Before the constructors of every library, the interposer's among them. */
static void before_everything(void)
{
	pthread_mutexattr_t attr;
	pthread_mutex_t m;

	early_errors += pthread_mutex_lock(&early) != 0;
	early_errors += pthread_mutex_trylock(&early) != EBUSY;
	early_errors += pthread_mutex_lock(&recursive) != 0;
	early_errors += pthread_mutex_lock(&recursive) != 0;
	early_errors += pthread_cond_signal(&cond) != 0;
	early_errors += pthread_mutex_unlock(&recursive) != 0;
	early_errors += pthread_mutexattr_init(&attr) != 0;
	early_errors += pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED) != 0;
	early_errors += pthread_mutex_init(&m, &attr) != 0;
	early_errors += pthread_mutex_lock(&m) != 0;
	early_errors += pthread_mutex_unlock(&m) != 0;
	early_errors += pthread_mutex_destroy(&m) != 0;
}

__attribute__((section(".preinit_array"),
	       used)) static void (*const run)(void) = before_everything;

extern int library_errors(void); /* early_library.c, linked */

static volatile int stop;

static void *keep_locking(void *argument)
{
	while (!stop) {
		pthread_mutex_lock(&early);
		pthread_mutex_unlock(&early);
		pthread_mutex_trylock(&early);
		pthread_mutex_unlock(&early);
	}
	return argument;
}

static void at_the_end(void)
{
	if (pthread_mutex_lock(&early) != 0 || pthread_mutex_unlock(&early) != 0)
		_exit(1);
}

__attribute__((destructor)) static void at_the_very_end(void)
{
	at_the_end();
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int i, errors = early_errors + library_errors();

	alarm(HANG_GUARD_S);
	atexit(at_the_end);
	/* Held since before everything. */
	errors += pthread_mutex_trylock(&early) != EBUSY;
	errors += pthread_mutex_unlock(&early) != 0;
	errors += pthread_mutex_unlock(&recursive) != 0;
	errors += pthread_mutex_unlock(&recursive) != EPERM;
	pthread_create(&thread, NULL, keep_locking, NULL);
	for (i = 1; i < argc; i++) {
		void *library = dlopen(argv[i], RTLD_NOW);
		int (*ask)(void) = NULL;

		if (library != NULL)
			*(void **)&ask = dlsym(library, "library_errors");
		errors += ask == NULL || ask() != 0;
		if (library != NULL)
			dlclose(library);
	}
	stop = 1;
	pthread_join(thread, NULL);
	if (errors != 0)
		printf("%d errors\n", errors);
	return errors != 0;
}
