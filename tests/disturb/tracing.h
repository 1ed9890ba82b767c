/* SPDX-License-Identifier: MIT */
/* One thread of another process under the driver's eyes; x86-64. */
#ifndef TESTS_DISTURB_TRACING_H
#define TESTS_DISTURB_TRACING_H

#include <stdbool.h>
#include <sys/types.h>

enum stop {
	STEPPED,   /* at an instruction: a step is over, or a breakpoint reached */
	AT_MARK,   /* at an end of the stretch */
	SIGNALLED, /* about to handle SIGUSR1 */
	HALTED,	   /* by trace_halt */
	ASLEEP,	   /* not stopped at all: it sleeps in the system */
	DEAD,	   /* with its process, or about to be */
	NEVER	   /* the driver's patience is over */
};

struct traced {
	pid_t process, thread;
	unsigned long clock_code, clock_code_end;
};

/* Seconds without anything happening before something hangs; counted in turns of the
 * driver, which waits for the same machine. */
extern unsigned patience;
/* Waits for a traced thread to stop, or for a fraction of a millisecond, which is a turn;
 * false if all are taken. *turns begins with 0. */
bool take_a_turn(unsigned *turns);

/* False, with errno, if the system does not let us. */
bool trace_begin(struct traced *t);

/* Lets it run, one instruction or on and on, with a signal or 0. */
void trace_step(const struct traced *t, int signal);
void trace_continue(const struct traced *t, int signal);
/* Stops it wherever it is. */
void trace_halt(const struct traced *t);
/* Waits until it stops; or sleeps, if that is to be told. */
enum stop trace_await(const struct traced *t, bool tell_sleep);

unsigned long trace_place(const struct traced *t);
/* If it has just entered the system's code for reading clocks: who called that, or 0. */
unsigned long trace_clock_caller(const struct traced *t);
/* Stops it whenever it comes to this place; 0: nowhere. False if that is not to be had. */
bool trace_breakpoint(const struct traced *t, unsigned long place);

/* Whether a thread sleeps on a futex. */
bool sleeps(pid_t thread);

/* Prints where the threads of a process are. */
void print_threads(pid_t process, const char *whose);

#endif /* TESTS_DISTURB_TRACING_H */
