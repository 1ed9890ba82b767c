/* SPDX-License-Identifier: MIT */
/* A compiled program, brought into this process. */
#ifndef PROGRAM_LOAD_H
#define PROGRAM_LOAD_H

#include "program.h"

enum { MAX_SUBJECTS = 64 };

/*
 * Loads a shared object, which is changed: its constructors no longer run by
 * themselves. Exits with a sentence if it cannot be played.
 */
void load_program(const char *path);

/* What there is to run: each check_ function, or main. Returns how many. */
int load_subjects(struct subject subjects[MAX_SUBJECTS]);

/* Tells the memory of the search where the program's variables are. */
void load_statics(struct memory *m);

/* A new run: thread-local variables are as they were. */
void load_reset(void);

/* In place of a function that the program calls; NULL: it keeps the one it has. */
void *replacement(const char *name);
/* Of what the C library has: whether it can be called as it is. */
bool harmless(const char *name);
/* A function that refuses to be reached, by this name. */
void *refusal(const char *name);

/* Thread-local variables. */
struct tls_index {
	unsigned long module, offset;
};
void *played_tls_get_addr(struct tls_index *index);

/* What std::call_once has said that it runs. */
struct call_once {
	void *callable, *call;
};
struct call_once load_call_once(void);
void load_set_call_once(struct call_once call);

/* pawl.c: an object of our library that a program uses; NULL if there is none of that
 * name. And all those that it does use, as static memory. */
void *pawl_array(const char *name);
void pawl_add_arrays(struct memory *m);

#endif /* PROGRAM_LOAD_H */
