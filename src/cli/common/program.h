/* SPDX-License-Identifier: MIT */
/* Runs other programs, and measures what they use. */
#ifndef PAWL_CLI_PROGRAM_H
#define PAWL_CLI_PROGRAM_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct program {
	char *const *argv;
	char *const *environment;
	int in, out, err; /* descriptors for its standard files */
	double limit;	  /* timeout in seconds; 0: none */
	bool dies_with_us;
};

enum program_end {
	ENDED_BY_EXIT,
	ENDED_BY_SIGNAL,
	ENDED_TOO_SLOW,	   /* by us, after the timeout */
	ENDED_INTERRUPTED, /* by us, on SIGINT or SIGTERM, which is consumed */
};

struct program_outcome {
	enum program_end end;
	int code; /* exit status, or the signal that ended it */
	double wall_s;
	double cpu_s;		 /* user and system, including waited-for children */
	double context_switches; /* voluntary or not */
	double max_rss;		 /* bytes, of the largest process */
};

/*
 * Runs it to its end in its own process group, all of which is killed when it is stopped.
 * Returns false, with errno set, if it cannot be started.
 */
bool run_program(const struct program *program, struct program_outcome *outcome);

/*
 * The same in steps, for a caller that runs several at once. hold_signals() is called
 * first; from then until release_signals() no signal ends this process and none is lost.
 */
struct held_signals {
	sigset_t held, before;
};
void hold_signals(struct held_signals *signals);
void release_signals(const struct held_signals *signals);

/* Returns 0, or an error number. */
int program_start(const struct program *program, const struct held_signals *signals,
		  pid_t *child);

/* Waits until `until`, forever if that is 0. Returns 0 after the timeout, SIGCHLD if a
 * program may have ended, else the signal that arrived. */
int await_signal(const struct held_signals *signals, double until);

/* False if it still runs. Its wall time counts from `began`. */
bool program_has_ended(pid_t child, double began, struct program_outcome *outcome);

/*
 * Refuses a program that cannot run under the interposer, or not at all: one that does
 * not exist, is not executable, statically linked, linked with musl or set-user-ID.
 */
void require_interposable(const char *name);

/* Refuses only a program that would run but ignore the interposer: statically linked or
 * set-user-ID. */
void refuse_if_deaf(const char *name);

/* Opens a file in memory, for a program to read or write; gives up on failure. */
int memory_file(void);

/* Maps a whole file, NULL if it is empty; gives up on failure. */
const char *map_file(int file, size_t *size);
void unmap_file(const char *bytes, size_t size);

bool same_contents(int a, int b);

/* Copies the last line of a file, or its end, to `line`, without control characters. */
void last_line(int file, char *line, size_t room);

#endif /* PAWL_CLI_PROGRAM_H */
