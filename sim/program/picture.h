/* SPDX-License-Identifier: MIT */
/* A failing execution prepared for display, as text or as a page. */
#ifndef PROGRAM_PICTURE_H
#define PROGRAM_PICTURE_H

#include "program.h"

/* A step of a thread; threads are the columns. */
struct row {
	int thread;
	int from;	  /* row of the other thread's write that it reads; or -1 */
	bool ordered;	  /* it acquires what that write releases */
	bool fails;	  /* the failing step */
	char place[64];	  /* file:line; empty if outside the program */
	char text[160];	  /* the operation, with values */
	char source[128]; /* the write that the value comes from, or empty */
};

struct picture {
	int count;
	bool moves[MAX_THREADS]; /* the thread has a row */
	struct row rows[MAX_TRACE];
};

void picture_make(struct picture *picture, const struct trace *trace, struct graph *g,
		  struct memory *m);

/* columns.c: as text, with a column for each thread. */
void picture_print(FILE *out, const struct picture *picture);

/* page.c: the page of `pawl check --program --html`. */
struct failure {
	const char *subject, *model, *verdict, *message;
	const struct picture *picture; /* NULL if there is none */
	const char *again;	       /* the command that repeats it, or NULL */
};
void page_begin(FILE *out, const char *name);
void page_add(FILE *out, const struct failure *failure);
void page_end(FILE *out, bool passed);

#endif /* PROGRAM_PICTURE_H */
