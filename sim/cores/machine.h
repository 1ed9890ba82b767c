/* SPDX-License-Identifier: MIT */
/*
 * The simulated machine: cores with store buffers, threads that are fibers,
 * and the memory that they have written. A state is all of it; a choice leads
 * from one to the next.
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
	REQUEST_LIE_DOWN, /* sets bits, of who is about to sleep */
	REQUEST_GET_UP,	  /* clears them */
	REQUEST_FENCE,
	REQUEST_BARRIER,
	REQUEST_AWAIT,
	REQUEST_SLEEP, /* until these bits are clear */
	REQUEST_CPU,
	REQUEST_COIN,
	REQUEST_FORK,
	REQUEST_QUIET,	/* until nothing else moves */
	REQUEST_BEGIN,	/* of a sequence */
	REQUEST_COMMIT, /* a store in a sequence, if it is whole; the last, or not */
	REQUEST_NONE,	/* it has returned */
};

/* What a thread will do in its next step. */
struct request {
	enum request_kind kind;
	int order;	 /* or kind of wait */
	int other;	 /* order of a wait, or of a cas that fails; sleep: it is timed;
			  * commit: it is not the last */
	unsigned behind; /* barrier: cores that it has still to reach */
	uint64_t *word;
	uint64_t value, to;
	const void *site;
};

struct task {
	int8_t core; /* -1: preempted, or has not run yet */
	bool interrupted;
	bool whole; /* in a sequence, and nothing has come in between */
	uint64_t serial;
	char *arena; /* what it allocates next */
	struct request request;
};

/* A core drains its buffer whenever another thread comes to run on it. */
struct core {
	int8_t thread; /* -1: none, which is like one that takes no step */
	uint8_t count;
	struct {
		uint64_t *word;
		uint64_t value;
	} buffer[BUFFER_SIZE];
};

struct machine {
	struct core cores[CORES_MAX_CPUS];
	struct task tasks[CORES_MAX_THREADS];
	enum verdict verdict; /* other than passed: something went wrong */
	int last;	      /* thread that took the last step */
};

extern struct machine machine;
extern char machine_message[256];

enum choice_kind {
	CHOICE_RUN, /* moves to the core, if need be, and takes a step */
	CHOICE_DRAIN,
	CHOICE_INTERRUPT,
	CHOICE_MOVE,  /* nothing but a move; nowhere, if the core is NOWHERE */
	CHOICE_EARLY, /* a sleep ends by itself */
};

enum { NOWHERE = 0xff };

/* The answer to a sleep that ended by itself; another one is a set of threads. */
#define SLEPT_ENOUGH UINT64_MAX

/* Which of the two we follow; and whether the child has what other threads' stores
 * left in buffers. */
enum fork { FORK_PARENT, FORK_CHILD, FORK_CHILD_WITHOUT, FORK_WAYS };

struct choice {
	uint8_t kind, thread, core;
	/* Barrier: the core it reaches; coin: how it falls; fork: enum fork. Weak: the write that is
	 * read, or the core that is named. */
	uint8_t more;
};

/* Of memory: buffers (TSO), none (SC), or views in their place (weak). */
extern enum model machine_model;
/* Leaves out nothing, M1 to M5: the search's own test. */
extern bool machine_naive;
/* Every load is a step: leaves out all but M5. */
extern bool machine_all_shared;

/* Makes a machine in which the program is set up and has taken no step. */
void machine_start(const struct cores_program *program);
/* Puts all memory back to what it was before. */
void machine_stop(void);

/* Lists what may happen next; the thread that ran last comes first. */
int machine_choices(struct choice choices[MAX_CHOICES]);
/* The thread whose stack a choice changes; -1 if none. */
int machine_runs(const struct choice *choice);
/* Makes it happen. The thread's stack must be that of this state. */
void machine_perform(const struct choice *choice);
bool machine_finished(void); /* all threads returned, all buffers are empty */
void machine_run_finished(void);

/* Stacks that the last step wrote to, not being that of the thread that ran; a set. */
unsigned machine_touched(void);
/* The live part of a thread's stack. */
const void *machine_stack(int thread, size_t *size);
void machine_put_stack(int thread, const void *live, size_t size);
/* A fingerprint of everything but the stacks. */
uint64_t machine_hash(uint64_t seed);
uint64_t machine_hash_words(uint64_t seed, const uint64_t *words, size_t count);

/* What the choice's thread would read on its core. */
uint64_t machine_view(const struct choice *choice, const uint64_t *word);
uint64_t machine_own(int thread, const uint64_t *word); /* if nobody else writes it */

/* Writes a line about a choice, which is performed next. */
void trace_tell(FILE *out, const struct choice *choice);

#endif /* CORES_MACHINE_H */
