/* SPDX-License-Identifier: MIT */
/* Other people's programs: run once, and what that took. */
#ifndef PAWL_CLI_PROGRAM_H
#define PAWL_CLI_PROGRAM_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct program {
	char *const *argv;
	char *const *environment;
	int in, out, err; /* its files, by our numbers for them */
	double limit;	  /* seconds after which it is stopped; 0: none */
	bool dies_with_us;
};

enum program_end {
	ENDED_BY_EXIT,
	ENDED_BY_SIGNAL,
	ENDED_TOO_SLOW,	   /* by us, at the limit */
	ENDED_INTERRUPTED, /* by us, on SIGINT or SIGTERM, which are used up */
};

struct program_outcome {
	enum program_end end;
	int code; /* its exit status, or the signal that ended it */
	double wall_s;
	double cpu_s;		 /* user and system, also of children it waited for */
	double context_switches; /* wanted or not */
	double max_rss;		 /* bytes, of the largest process */
};

/*
 * Runs it to its end, in a process group of its own, all of which goes when it
 * is stopped. Returns false, with errno set, if it cannot be started.
 */
bool run_program(const struct program *program, struct program_outcome *outcome);

/*
 * The same in steps, for who runs several at once. From hold_signals() on, which is
 * called first, no signal ends this process, nor is any missed; until
 * release_signals().
 */
struct held_signals {
	sigset_t held, before;
};
void hold_signals(struct held_signals *signals);
void release_signals(const struct held_signals *signals);

/* Returns 0, or an error. */
int program_start(const struct program *program, const struct held_signals *signals,
		  pid_t *child);

/* Waits until `until`, forever if that is 0. Returns 0 when the time has come,
 * SIGCHLD if a program may have ended, else the signal that came. */
int await_signal(const struct held_signals *signals, double until);

/* False if it runs on. What it took is counted from `began` on. */
bool program_has_ended(pid_t child, double began, struct program_outcome *outcome);

/*
 * Refuses what cannot be run under the interposer, or not at all: a program
 * that is not there, not executable, statically linked, linked with musl or set-user-ID.
 */
void require_interposable(const char *name);

/* Refuses only what could be run but would not notice: statically linked or
 * set-user-ID. */
void refuse_if_deaf(const char *name);

/* An open file in memory, for a program to read or write; gives up if there is
 * none to be had. */
int memory_file(void);

/* Maps all of a file, NULL if it is empty; gives up if it cannot. */
const char *map_file(int file, size_t *size);
void unmap_file(const char *bytes, size_t size);

bool same_contents(int a, int b);

/* Puts the last line of a file, or its end, into `line`, without what a terminal
 * might take as orders. */
void last_line(int file, char *line, size_t room);

#endif /* PAWL_CLI_PROGRAM_H */
