/* SPDX-License-Identifier: MIT */
/* Programs for the core checker: they belong to the simulated world. */
#ifndef TEST_PROGRAMS_H
#define TEST_PROGRAMS_H

#include <sim/cores/cores.h>

/* What a litmus test leaves behind. */
struct litmus_words {
	uint64_t x, y;
	uint64_t seen[2]; /* what each thread read */
	uint64_t moved;	  /* the first thread migrated on its way */
};

struct litmus_context {
	struct litmus_words *words;
	void (*outcome)(const struct litmus_words *words);
};

void litmus_set_up(void *context);
void litmus_finished(void *context);
void store_buffering(void *context, int thread);
void store_buffering_fenced(void *context, int thread);
void store_buffering_exchanged(void *context, int thread);
void store_buffering_light_heavy(void *context, int thread);
void store_buffering_light_light(void *context, int thread);
void store_buffering_aimed(void *context, int thread);
void store_buffering_aimed_elsewhere(void *context, int thread);
void store_buffering_aimed_twice(void *context, int thread);
void store_buffering_migrating(void *context, int thread);
void message_passing(void *context, int thread);
void both_asleep(void *context, int thread);
void sleeper_and_waker(void *context, int thread);
void sleeper_and_nobody(void *context, int thread);
void sleeper_on_a_stack(void *context, int thread);
void sleeper_for_a_while(void *context, int thread);
void interrupted_once(void *context, int thread);
void interrupt_handler(void *context, int thread);

/* Random programs. */
enum instruction_kind {
	DO_LOAD,
	DO_STORE,
	DO_EXCHANGE,
	DO_CPU,
	DO_BARRIER,
	DO_BARRIER_CPU,
	DO_FENCE,
	DO_SEQUENCE,
	DO_AWAIT,
	DO_KINDS,
};

enum { RANDOM_WORDS = 2, RANDOM_LENGTH = 4 };

struct instruction {
	enum instruction_kind kind;
	int word;
	uint64_t value; /* or CPU */
};

struct random_outcome {
	uint64_t words[RANDOM_WORDS];
	uint64_t seen[CORES_MAX_THREADS][RANDOM_LENGTH];
};

struct random_context {
	struct instruction code[CORES_MAX_THREADS][RANDOM_LENGTH];
	int lengths[CORES_MAX_THREADS];
	struct random_outcome *left;
	void (*outcome)(const struct random_outcome *left);
};

void random_set_up(void *context);
void random_body(void *context, int thread);
void random_finished(void *context);

/* A lease in miniature, with one thing wrong at a time. */
enum mutant {
	SOUND,
	NO_CORE_CHECK,
	LEASE_BEFORE_CORE,
	CORE_BEFORE_BUMP,
	NO_BARRIER,
	LESSEE_ONLY,
	FLAG_LAST,
	FLAG_BEFORE_BUMP,
	CACHED_CORE,
	PLAIN_BUMP,
	NO_OWN_CORE_CHECK,
	WRONG_CPU,
	NO_VERSION,
	REBIND_WITHOUT_VERSION, /* this one is sound */
};

struct small_lease {
	uint64_t word; /* version, state, cpu, lessee */
	uint64_t counter;
	uint64_t flags[CORES_MAX_THREADS][8];
	/* Ghosts. */
	uint64_t holder, sections;
};

struct lease_context {
	struct small_lease *lease;
	enum mutant mutant;
	bool by_thread; /* B1: no cores, barriers to all */
	bool broadcast;
	int rounds; /* of the first thread; the others go once */
};

void small_lease_set_up(void *context);
void small_lease_thread(void *context, int thread);

#endif /* TEST_PROGRAMS_H */
