/* SPDX-License-Identifier: MIT */
/*
 * pawl profile: what the interposer recorded, with names instead of addresses. Memory
 * allocated here is kept until the process ends.
 */
#ifndef PAWL_CLI_PROFILE_H
#define PAWL_CLI_PROFILE_H

#include "preload/profile_file.h"

#include <jansson.h>
#include <stdio.h>

/* A function on a stack, possibly inlined into the next. Interned: equal frames are the
 * same object. */
struct frame {
	const char *function; /* or module+offset */
	const char *file;     /* source file; NULL if unknown */
	int line;
	const char *module; /* path; NULL for code generated at run time */
	bool inlined;
	uint64_t address; /* in its module's file, or in memory */
	size_t number;	  /* index among all frames */
	const char *text; /* see frame_text() */
};

/* Innermost first. */
struct stack {
	size_t count;
	const struct frame **frames;
};

/* Waits of one waiter's stack for one holder's stack, scaled so that they add up to the
 * row's. */
struct pair {
	struct stack waiter, holder; /* the holder's is empty if unknown */
	double waits, wait_ns;
};

/* A lock, or several that differ only in their address. */
struct row {
	const char *name;
	enum profile_kind kind;
	uint64_t locks;
	double waits, wait_ns, longest_ns;
	double acquisitions;
	double holds, hold_ns, hold_longest_ns;
	double histogram[PROFILE_BUCKETS];
	struct pair *pairs; /* longest waits first */
	size_t pair_count;
};

struct rows {
	struct row *rows; /* longest waits first */
	size_t count;
};

/* A point of the timeline: the total wait until then. */
struct moment {
	double s, wait_s;
};

struct cycle_end { /* second was taken while first was held */
	const char *first, *second;
	struct stack first_at, second_at;
	uint64_t thread;
	bool several; /* by several threads */
};

struct cycle {
	struct cycle_end *ends;
	size_t count;
};

/* Samples of the program's threads, and those with a thread asleep on a futex outside the
 * calls that the interposer sees. */
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
	bool ordered; /* cycles were searched */
	double lost[PROFILE_LOSSES];
	bool called;  /* some thread called a pthread lock function */
	size_t stuck; /* threads waiting for a lock, now or at their process's end */
	struct unseen unseen;
};

/* memory.c: give up instead of returning NULL. */
void *allocate(size_t size);
void *grow(void *array, size_t count, size_t size); /* space for one more */
char *text_of(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* symbols.c. A code place is a return address, a data place is not. */
const struct frame *const *frames_at(const struct profile_file *f, uint64_t place,
				     size_t *count);
const char *data_at(const struct profile_file *f, uint64_t place); /* NULL: unknown */
struct stack stack_at(const struct profile_file *f, uint64_t number);
/* "function (file:line)", as far as known. */
const char *frame_text(const struct frame *frame);
const struct frame *nth_frame(size_t n); /* NULL at the end */

/* read.c: all files in a folder. */
const struct profile_file **read_files(const char *folder, size_t *count);
void free_files(const struct profile_file **files, size_t count);
void free_profile(struct profile *profile); /* keeps interned data */
struct profile make_profile(const struct profile_file **files, size_t count);
/* The name of the lock at an address. */
const char *lock_name(const struct profile_file *f, uint64_t address,
		      enum profile_kind kind);

/* order.c */
void find_cycles(struct profile *profile, const struct profile_file **files,
		 size_t count);

/* Output. */
void print_profile(FILE *to, const struct profile *profile);	   /* text.c */
void print_live(FILE *to, const struct profile *profile);	   /* text.c */
void print_cycles(FILE *to, const struct profile *profile);	   /* text.c */
const char *kind_name(enum profile_kind kind);			   /* text.c */
void print_stack(FILE *to, const struct stack *stack, int indent); /* text.c */
json_t *profile_json(const struct profile *profile);		   /* json.c */
void write_folded(FILE *to, const struct profile *profile);	   /* folded.c */
void write_pprof(FILE *to, const struct profile *profile);	   /* pprof.c */

/* hang.c: whether no lock was taken since the last call while threads wait; and printing
 * the holders and waiters. */
bool nothing_moved(const struct profile_file **files, size_t count);
void print_hang(FILE *to, const struct profile_file **files, size_t count,
		double seconds);

/* unseen.c */
void look_for_unseen(struct unseen *unseen, const char *folder, long child);
void count_threads(struct profile *profile, const struct profile_file **files,
		   size_t count);

#endif /* PAWL_CLI_PROFILE_H */
