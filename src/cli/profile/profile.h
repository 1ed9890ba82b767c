/* SPDX-License-Identifier: MIT */
/*
 * pawl profile: what the interposer wrote, with names instead of addresses. What is
 * allocated here stays until the process ends.
 */
#ifndef PAWL_CLI_PROFILE_H
#define PAWL_CLI_PROFILE_H

#include "preload/profile_file.h"

#include <jansson.h>
#include <stdio.h>

/* One function on a stack, perhaps inlined into the next. Each exists once: equal ones
 * are the same. */
struct frame {
	const char *function; /* or the module and an offset */
	const char *file;     /* of source; NULL if unknown */
	int line;
	const char *module; /* path; NULL for code made at run time */
	bool inlined;
	uint64_t address; /* in its module's file, or in memory */
	size_t number;	  /* of this frame among all, from 0 on */
	const char *text; /* see frame_text() */
};

/* Innermost first. */
struct stack {
	size_t count;
	const struct frame **frames;
};

/* Waits on one stack, behind one other. Scaled, so that they add up to the row's. */
struct pair {
	struct stack waiter, holder; /* the holder's is empty if it is not known */
	double waits, wait_ns;
};

/* A lock, or all those that are told apart by nothing but their address. */
struct row {
	const char *name;
	enum profile_kind kind;
	uint64_t locks;
	double waits, wait_ns, longest_ns;
	double acquisitions;
	double holds, hold_ns, hold_longest_ns;
	double histogram[PROFILE_BUCKETS];
	struct pair *pairs; /* the longest waits first */
	size_t pair_count;
};

struct rows {
	struct row *rows; /* the longest waits first */
	size_t count;
};

/* A point of the timeline: what was waited in all by then. */
struct moment {
	double s, wait_s;
};

struct cycle_end { /* second was taken while first was held */
	const char *first, *second;
	struct stack first_at, second_at;
	uint64_t thread;
	bool several; /* threads did so */
};

struct cycle {
	struct cycle_end *ends;
	size_t count;
};

/* Looks at the program's threads, and in how many one slept on a futex where the
 * interposer does not see why. */
struct unseen {
	size_t looks, asleep;
};

struct profile {
	char *const *command;
	double wall_s;
	size_t processes;
	struct rows locks, conds;
	struct moment *moments;
	size_t moment_count;
	struct cycle *cycles;
	size_t cycle_count;
	bool ordered; /* cycles were looked for */
	double lost[PROFILE_LOSSES];
	bool called;  /* a pthread lock function, by any thread */
	size_t stuck; /* threads that wait for a lock, or did when their process ended */
	struct unseen unseen;
};

/* memory.c: gives up instead of returning NULL. */
void *allocate(size_t size);
void *grow(void *array, size_t count, size_t size); /* room for one more */
char *text_of(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* symbols.c. A code place is a return address, one of data is not. */
const struct frame *const *frames_at(const struct profile_file *f, uint64_t place,
				     size_t *count);
const char *data_at(const struct profile_file *f, uint64_t place); /* NULL: nothing */
struct stack stack_at(const struct profile_file *f, uint64_t number);
/* "function (file:line)", as far as that is known. */
const char *frame_text(const struct frame *frame);
const struct frame *nth_frame(size_t n); /* NULL at the end */

/* read.c: all that there is in a folder now. */
const struct profile_file **read_files(const char *folder, size_t *count);
void free_files(const struct profile_file **files, size_t count);
void free_profile(struct profile *profile); /* but for what may be wanted again */
struct profile make_profile(const struct profile_file **files, size_t count);
/* What a lock at an address is called. */
const char *lock_name(const struct profile_file *f, uint64_t address,
		      enum profile_kind kind);

/* order.c */
void find_cycles(struct profile *profile, const struct profile_file **files,
		 size_t count);

/* What it looks like. */
void print_profile(FILE *to, const struct profile *profile);	   /* text.c */
void print_live(FILE *to, const struct profile *profile);	   /* text.c */
void print_cycles(FILE *to, const struct profile *profile);	   /* text.c */
const char *kind_name(enum profile_kind kind);			   /* text.c */
void print_stack(FILE *to, const struct stack *stack, int indent); /* text.c */
json_t *profile_json(const struct profile *profile);		   /* json.c */
void write_folded(FILE *to, const struct profile *profile);	   /* folded.c */
void write_pprof(FILE *to, const struct profile *profile);	   /* pprof.c */

/* hang.c: whether nothing moved since the last time while somebody waits; and who
 * waits for whom. */
bool nothing_moved(const struct profile_file **files, size_t count);
void print_hang(FILE *to, const struct profile_file **files, size_t count,
		double seconds);

/* unseen.c */
void look_for_unseen(struct unseen *unseen, const char *folder, long child);
void count_threads(struct profile *profile, const struct profile_file **files,
		   size_t count);

#endif /* PAWL_CLI_PROFILE_H */
