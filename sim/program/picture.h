/* SPDX-License-Identifier: MIT */
/* A failing execution as its reader sees it, as text or as a page. */
#ifndef PROGRAM_PICTURE_H
#define PROGRAM_PICTURE_H

#include "program.h"

/* What a thread did, at a place; threads are the columns. */
struct row {
	int thread;
	int from;	  /* the row of another thread's write that is read here; -1 */
	bool ordered;	  /* and what that write releases is acquired */
	bool fails;	  /* here it went wrong */
	char place[64];	  /* file:line; empty if it is none of the program's */
	char text[160];	  /* what it did, with values */
	char source[128]; /* the write that a value comes from, if it is one */
};

struct picture {
	int count;
	bool moves[MAX_THREADS]; /* has a row */
	struct row rows[MAX_TRACE];
};

void picture_make(struct picture *picture, const struct trace *trace, struct graph *g,
		  struct memory *m);

/* columns.c: in columns, one for each thread that moves. */
void picture_print(FILE *out, const struct picture *picture);

/* page.c: what `pawl check --program --html` writes. */
struct failure {
	const char *subject, *model, *verdict, *message;
	const struct picture *picture; /* NULL if there is nothing to see */
	const char *again;	       /* the command that repeats it, or NULL */
};
void page_begin(FILE *out, const char *name);
void page_add(FILE *out, const struct failure *failure);
void page_end(FILE *out, bool passed);

#endif /* PROGRAM_PICTURE_H */
