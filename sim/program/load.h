/* SPDX-License-Identifier: MIT */
/* Loads a compiled program into this process. */
#ifndef PROGRAM_LOAD_H
#define PROGRAM_LOAD_H

#include "program.h"

enum { MAX_SUBJECTS = 64 };

/*
 * Loads a shared object. Changes the file: its constructors no longer run at load. Exits
 * with a message if the program cannot be checked.
 */
void load_program(const char *path);

/* The functions to check: each check_ function, or main. Returns their number. */
int load_subjects(struct subject subjects[MAX_SUBJECTS]);

/* Registers the program's static variables with the memory of the search. */
void load_statics(struct memory *m);

/* A new run: resets thread-local variables. */
void load_reset(void);

/* The replacement for a function that the program calls; NULL: it keeps its own. */
void *replacement(const char *name);
/* Whether the C library's function can be called as it is. */
bool harmless(const char *name);
/* A stub that refuses the call, by this name. */
void *refusal(const char *name);

/* Thread-local variables. */
struct tls_index {
	unsigned long module, offset;
};
void *played_tls_get_addr(struct tls_index *index);

/* The callable that std::call_once stored before it called us. */
struct call_once {
	void *callable, *call;
};
struct call_once load_call_once(void);
void load_set_call_once(struct call_once call);

/* pawl.c: an object of libpawl that the program uses; NULL if there is none of that name.
 * And registers all that it uses as static memory. */
void *pawl_array(const char *name);
void pawl_add_arrays(struct memory *m);

#endif /* PROGRAM_LOAD_H */
