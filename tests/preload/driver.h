/* SPDX-License-Identifier: MIT */
/* How the driver runs programs, and what it says of them. */
#ifndef PAWL_TESTS_PRELOAD_DRIVER_H
#define PAWL_TESTS_PRELOAD_DRIVER_H

#include "preload/offer.h"

/* What the programs run under. */
extern const struct lock_type *lock;

/* What stands before a program to run it, by itself or with us: an emulator, if it is
 * for another CPU. */
#ifdef EMULATOR
#define PLAINLY	  EMULATOR " "
#define PRELOADED EMULATOR " -E LD_PRELOAD=" LIBRARY " "
#else
#define PLAINLY	  ""
#define PRELOADED "env LD_PRELOAD=" LIBRARY " "
#endif

/* Skips a case of programs that filter their system calls, or start others. */
void need_no_emulator(void);

/* What a command printed, stdout and stderr, and how it ended. */
struct outcome {
	int status; /* as of waitpid */
	char *text;
};

/* Runs a shell command. */
struct outcome run(const char *format, ...);

/* Runs a program under the lock; silence is part of success. */
void run_well(const char *program);
/* The same, on a system that refuses membarrier. */
void run_refused(const char *program);

/* Runs a program with and without us: it must print the same. */
void behaves_alike(const char *program);

/* Calls check() while a variable of the environment has that value. */
void with(const char *variable, const char *value, void (*check)(const char *program),
	  const char *program);

/* driver_rwlocks.c: what there is about read-write locks; how many cases failed. */
int check_rwlocks(void);

#endif /* PAWL_TESTS_PRELOAD_DRIVER_H */
