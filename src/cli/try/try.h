/* SPDX-License-Identifier: MIT */
/* What pawl try measured, between the part that runs and the part that reports. */
#ifndef PAWL_CLI_TRY_H
#define PAWL_CLI_TRY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* What is taken from a run. */
enum figure { WALL, CPU, SWITCHES, MEMORY, METRIC, FIGURES };

/* The program under one lock. */
struct candidate {
	const char *name;   /* of the lock, or "glibc" */
	char **environment; /* NULL for that of this process */
	size_t runs;	    /* how many of the samples are filled */
	double *samples[FIGURES];
	double warm_up_s;
	/* What the interposer counted during the warm-up; not with glibc. */
	bool counted;
	double acquisitions, contended;	   /* of mutexes */
	double rwlocks, rwlocks_contended; /* of read-write locks, to read or write */
	/* Why it is not ranked: what the program did; empty if nothing. */
	char trouble[256];
};

struct trial {
	char **program;	      /* the words of the command line */
	enum figure deciding; /* by which the candidates are ranked */
	bool more_is_better;  /* of that one */
	size_t count;
	struct candidate *candidates; /* glibc comes first */
};

/* Prints a table, warns of what cannot be trusted, and ends with a verdict. */
void report_trial(const struct trial *trial);

/* The results as the value of "results". */
json_t *describe_trial(const struct trial *trial);

#endif /* PAWL_CLI_TRY_H */
