/* SPDX-License-Identifier: MIT */
/* Symmetry reduction, see symmetry.c: receives every event that could distinguish
 * threads. */
#ifndef PROGRAM_SYMMETRY_H
#define PROGRAM_SYMMETRY_H

#include "program.h"

extern bool symmetry_wanted; /* explore one execution of each class */
extern bool symmetry_used;   /* some threads of this run are identical */

void symmetry_forget(void); /* a new program */
void symmetry_reset(void);  /* a new run */

/* The running thread creates t, after `previous` and before `next`, or 0. */
void symmetry_create(struct search *s, int t, int previous, const void *run,
		     const void *argument);
void symmetry_created(struct search *s, int t, int next);
/* It is about to join t; and has joined it, perhaps reading its result. */
void symmetry_join(struct search *s, int t);
void symmetry_joined(struct search *s, int t, void *result, bool wanted);
/* The identity of thread t becomes known to the program. */
void symmetry_names(struct search *s, int t);
/* With symmetry_used, the running thread: is about to do an event; accesses p, in a word;
 * has done an atomic update. */
void symmetry_event(struct search *s);
void symmetry_access(struct search *s, struct word *word, const char *p);
void symmetry_update(struct search *s);

/* For options.each: the number of executions, including symmetric ones. */
void symmetry_count(void *context, struct graph *g);
double symmetry_all(void);

#endif /* PROGRAM_SYMMETRY_H */
