/* SPDX-License-Identifier: MIT */
/*
 * Small random programs over all that the model checker knows, as tables: the
 * checker runs them by calls of the seam, the reference (reference.c) reads them.
 */
#ifndef TESTS_SIM_PROGRAMS_H
#define TESTS_SIM_PROGRAMS_H

#include <sim/explore/explore.h>
#include <sim/seam.h>

enum { MOST_THREADS = 3, MOST_INSTRUCTIONS = 5 };

enum what {
	DO_LOAD,
	DO_STORE,
	DO_EXCHANGE,
	DO_ADD,
	DO_CAS,
	DO_AWAIT_EQ,
	DO_AWAIT_NE,
	DO_AWAIT_CHANGE,
	DO_AWAIT_CAS,
	DO_AWAIT_EQ_RMW,
	DO_AWAIT_NE_RMW,
	DO_FENCE,
	DO_COIN,
	DO_SLEEP,
	DO_SLEEP_TIMED,
	DO_WAKE,
	DO_KINDS,
	/* Only where asked for. */
	DO_PLAIN_READ = DO_KINDS,
	DO_PLAIN_WRITE,
	DO_FREE,
	DO_EXIT,
};

/* Which word an instruction is about. STORAGE + t lies in the storage of t. */
enum { FIRST, SECOND, PLAIN, FREED, STORAGE, WORDS = STORAGE + MOST_THREADS };

struct instruction {
	enum what what;
	int word, order;
	uint64_t a, b;
};

struct small_program {
	int threads;
	int length[MOST_THREADS];
	struct instruction code[MOST_THREADS][MOST_INSTRUCTIONS];
};

/* The program with this number; `hazards`: with plain accesses, memory that is
 * freed and threads that exit. */
void make_program(struct small_program *p, uint64_t seed, int threads, bool hazards);

/* Lets the checker run it. */
void explore_program(const struct small_program *p, const struct options *options,
		     struct result *result);

/* How many programs a test takes: n, or as many times n as PAWL_TEST_SCALE says. */
uint64_t scale(uint64_t n);

#endif /* TESTS_SIM_PROGRAMS_H */
