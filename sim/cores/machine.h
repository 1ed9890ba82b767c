/* SPDX-License-Identifier: MIT */
/*
 * The simulated machine: cores with store buffers, threads as fibers, and the memory that
 * they have written. This is the state; a choice leads from one state to the next.
 */
#ifndef CORES_MACHINE_H
#define CORES_MACHINE_H

#include "cores.h"
#include "memory.h"
#include "views.h"

#include <stdio.h>

enum { BUFFER_SIZE = 12, MAX_CHOICES = 62 };

enum request_kind {
	REQUEST_LOAD,
	REQUEST_STORE,
	REQUEST_EXCHANGE,
	REQUEST_CAS,
	REQUEST_ADD,
	REQUEST_LIE_DOWN, /* sets the sleep bits of a thread about to sleep */
	REQUEST_GET_UP,	  /* clears them */
	REQUEST_FENCE,
	REQUEST_BARRIER,
	REQUEST_AWAIT,
	REQUEST_SLEEP, /* until these bits are cleared */
	REQUEST_CPU,
	REQUEST_COIN,
	REQUEST_FORK,
	REQUEST_QUIET,	/* until no other thread can run */
	REQUEST_BEGIN,	/* begins a sequence */
	REQUEST_COMMIT, /* a store in a sequence, unless that was aborted */
	REQUEST_NONE,	/* the thread has returned */
};

/* The next step of a thread. */
struct request {
	enum request_kind kind;
	int order;	 /* or the kind of a wait */
	int other;	 /* order of a wait or of a failing CAS; sleep: timed; commit: not
			  * the last */
	unsigned behind; /* barrier: cores not reached yet */
	uint64_t *word;
	uint64_t value, to;
	const void *site;
};

struct task {
	int8_t core; /* -1: preempted, or not started */
	bool interrupted;
	bool whole; /* in a sequence that was not aborted */
	uint64_t serial;
	char *arena; /* where its next allocation goes */
	struct request request;
};

/* The buffer drains whenever another thread comes to run on the core. */
struct core {
	int8_t thread; /* -1: none; equivalent to a thread that takes no step */
	uint8_t count;
	struct {
		uint64_t *word;
		uint64_t value;
	} buffer[BUFFER_SIZE];
};

struct machine {
	struct core cores[CORES_MAX_CPUS];
	struct task tasks[CORES_MAX_THREADS];
	enum verdict verdict; /* anything but passed is a failure */
	int last;	      /* thread that took the last step */
};

extern struct machine machine;
extern char machine_message[256];

enum choice_kind {
	CHOICE_RUN, /* migrates to the core, if necessary, and takes a step */
	CHOICE_DRAIN,
	CHOICE_INTERRUPT,
	CHOICE_MOVE,  /* migrates only; core NOWHERE: is preempted */
	CHOICE_EARLY, /* a timed sleep ends */
};

enum { NOWHERE = 0xff };

/* Result of a sleep that timed out; every other result is a set of threads. */
#define SLEPT_ENOUGH UINT64_MAX

/* Whether the search continues in the parent or in the child; and whether the child has
 * the stores that were in other threads' buffers. */
enum fork { FORK_PARENT, FORK_CHILD, FORK_CHILD_WITHOUT, FORK_WAYS };

struct choice {
	uint8_t kind, thread, core;
	/* Barrier: the core that it reaches; coin: the result; fork: enum fork. Weak: the
	 * write that is read, or the core that is reported. */
	uint8_t more;
};

/* Memory model: store buffers (TSO), none (SC), or views (weak). */
extern enum model machine_model;
/* Disables the reductions M1 to M5, to test the search. */
extern bool machine_naive;
/* Disables M5: every load is a step. */
extern bool machine_all_shared;

/* Creates a machine on which the program is set up and has taken no step. */
void machine_start(const struct cores_program *program);
/* Restores all memory. */
void machine_stop(void);

/* Lists the choices in this state; the thread that ran last comes first. */
int machine_choices(struct choice choices[MAX_CHOICES]);
/* The thread whose stack a choice changes; -1 if none. */
int machine_runs(const struct choice *choice);
/* Performs a choice. The thread's stack must be that of this state. */
void machine_perform(const struct choice *choice);
bool machine_finished(void); /* all threads returned, all buffers are empty */
void machine_run_finished(void);

/* The set of stacks that the last step wrote to, except that of the running thread. */
unsigned machine_touched(void);
/* The live part of a thread's stack. */
const void *machine_stack(int thread, size_t *size);
void machine_put_stack(int thread, const void *live, size_t size);
/* Fingerprint of the state without the stacks. */
uint64_t machine_hash(uint64_t seed);
uint64_t machine_hash_words(uint64_t seed, const uint64_t *words, size_t count);

/* The value that the choice's thread would read on its core. */
uint64_t machine_view(const struct choice *choice, const uint64_t *word);
uint64_t machine_own(int thread, const uint64_t *word); /* requires that no other thread
							 * writes it */

/* Prints a line about a choice that is performed next. */
void trace_tell(FILE *out, const struct choice *choice);

#endif /* CORES_MACHINE_H */
