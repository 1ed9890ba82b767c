/* SPDX-License-Identifier: MIT */
/* One round with the victim: from its beginning, to a point of its stretch, to its end. */
#ifndef TESTS_DISTURB_ROUNDS_H
#define TESTS_DISTURB_ROUNDS_H

#include "page.h"
#include "tracing.h"

/* A moment to disturb: before an instruction is executed for the nth time, or in the
 * nth sleep. */
struct point {
	unsigned long place;
	unsigned nth, step;
	bool asleep;
};

enum { MOST_POINTS = 20000 };

/* What one play of the stretch was made of. */
struct stretch {
	struct point points[MOST_POINTS];
	unsigned count, steps, places; /* places: instructions, each counted once */
};

extern struct page *page;
extern struct traced victim;
extern struct stretch stretch;
/* How often the service was asked. */
extern uint32_t asks;

/* False if that takes too long, or the process has ended. */
bool await_word(_Atomic uint32_t *word, uint32_t value);

/* To the processes: something of the page; go, unless the scenario is late; a request to
 * the service. */
void say(_Atomic uint32_t *word, uint32_t value);
void say_go(void);
void ask(enum disturbance what);

/* To the beginning of the stretch. */
bool begin_round(void);
/* Writes the stretch down. */
bool record(void);
/* Runs, or steps, to a point; what it returns is STEPPED or ASLEEP if it is there. */
enum stop run_to(const struct point *p);
enum stop step_to(const struct point *p);
/* From wherever it was stopped, or is asleep, to the end of the stretch and of the round.
 * False: something is wrong. */
bool end_round(enum stop stop);

#endif /* TESTS_DISTURB_ROUNDS_H */
