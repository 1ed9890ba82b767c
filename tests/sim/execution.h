/* SPDX-License-Identifier: MIT */
/* An execution of the reference, complete or not. */
#ifndef TESTS_SIM_EXECUTION_H
#define TESTS_SIM_EXECUTION_H

#include "reference.h"

enum { MOST_EVENTS = 64, LOCATIONS = 2 * WORDS }; /* the wake-ups of each word, too */

enum kind { READ, WRITE, FENCE, CHOICE, PLAIN_READ_OF, PLAIN_WRITE_OF, END_OF };

struct entry {
	enum kind kind;
	int thread, index; /* place in its thread */
	int location;	   /* -1 if none; END_OF: the word that is gone */
	int order;
	int fence; /* -1 if none */
	bool exclusive;
	bool blocked; /* a wait that looked in vain */
	bool gave_up; /* a wait that ended without what it waited for */
	int from;     /* read: a write, or -1 */
	int rank;     /* write: from 1 */
	int round;
	uint64_t value, expected;
	enum what what;
};

struct execution {
	int count, round;
	unsigned tired; /* threads that may give up in this round */
	struct entry entries[MOST_EVENTS];
	int length[MOST_THREADS];
	int thread[MOST_THREADS][MOST_EVENTS];
	int written[LOCATIONS];
};

/* Whether the model allows x. If so, what goes wrong in x is added to *hazards. */
bool axioms_allow(const struct execution *x, enum model model, struct reference *hazards);

#endif /* TESTS_SIM_EXECUTION_H */
