/* SPDX-License-Identifier: MIT */
/* Threads that do the same, see symmetry.c: told of whatever could tell them apart. */
#ifndef PROGRAM_SYMMETRY_H
#define PROGRAM_SYMMETRY_H

#include "program.h"

extern bool symmetry_wanted; /* only one execution of each kind */
extern bool symmetry_used;   /* and in this run some threads are alike */

void symmetry_forget(void); /* a new program */
void symmetry_reset(void);  /* a new run */

/* The running thread creates t; after `previous`, and then `next`, or 0. */
void symmetry_create(struct search *s, int t, int previous, const void *run,
		     const void *argument);
void symmetry_created(struct search *s, int t, int next);
/* It joins t; and has, perhaps looking at what that gave. */
void symmetry_join(struct search *s, int t);
void symmetry_joined(struct search *s, int t, void *result, bool wanted);
/* Somebody learns which thread t is. */
void symmetry_names(struct search *s, int t);
/* With symmetry_used, the running thread: is about to do an event; accesses p, in a word;
 * has done an atomic update. */
void symmetry_event(struct search *s);
void symmetry_access(struct search *s, struct word *word, const char *p);
void symmetry_update(struct search *s);

/* For options.each: how many there are in all, with those that are left out. */
void symmetry_count(void *context, struct graph *g);
double symmetry_all(void);

#endif /* PROGRAM_SYMMETRY_H */
