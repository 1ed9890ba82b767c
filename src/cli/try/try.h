/* SPDX-License-Identifier: MIT */
/*
 * pawl try: try.c parses the options and decides what comes next; run.c runs a program
 * once, or with server.c a server and its load; look.c makes the first sample, with
 * statistics; race.c runs the rounds, in which candidates are dropped; judge.c compares
 * candidates; report.c prints the results.
 */
#ifndef PAWL_CLI_TRY_H
#define PAWL_CLI_TRY_H

#include "cli/common/program.h"
#include "cli/common/stats.h"

#include <jansson.h>
#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

enum { LOCKS_MAX = 64 };

/* The command line; 0 and NULL: not given. */
struct request {
	size_t count;
	const char *locks[LOCKS_MAX];
	bool default_locks;
	int runs;      /* of each; no candidate is dropped then */
	double budget; /* seconds */
	const char *metric, *json;
	bool less, same_output;
	regex_t regex;			   /* the metric's */
	char **program;			   /* its command line; NULL: a server */
	const char *server, *load, *ready; /* shell commands; a pattern or port */
};

/* Figures of a run. */
enum figure { WALL, CPU, SWITCHES, MEMORY, METRIC, FIGURES };

/* What the interposer counted in a run, in all processes. */
struct counts {
	bool any;			   /* some process reported */
	double acquisitions, contended;	   /* of mutexes */
	double rwlocks, rwlocks_contended; /* of read-write locks, to read or write */
	double signals;			   /* signals that woke a sleeping waiter */
	/* Total waiting time of all threads, in seconds. */
	double mutex_s, rwlock_s, after_signal_s;
};

enum dropped {
	NOT_DROPPED,
	DROPPED_AS_WORSE, /* than glibc, or than the best */
	DROPPED_AS_EQUAL, /* cannot be better than glibc */
	DROPPED_UNTRIED,  /* no time for all */
};

/* The program under one lock. */
struct candidate {
	const char *name;   /* lock, or "glibc"; "+rwlock": and pawl's read-write locks */
	char **environment; /* NULL: that of this process */
	size_t runs;	    /* number of samples */
	double *samples[FIGURES];
	double warm_up[FIGURES]; /* the warm-up run, which does not count */
	double run_s;		 /* duration of the last run, with set-up */
	enum dropped dropped;
	/* Why it is not ranked: the program's failure; empty if none. */
	char trouble[256];
};

/* The first sample. */
struct look {
	const char *lock; /* the lock it ran under; NULL: no sample */
	struct counts counts;
	double wall_s, cpu_s;
	double wall_share;   /* share of wall time lost in waiting */
	double thread_share; /* waiting share of the threads' time */
	double possible;     /* share of wall time that a better lock could save */
	double visible;	     /* smallest visible share, given the noise */
	bool was_faster;     /* than every run under glibc, by more than that */
	bool ends_it;	     /* no rounds are needed */
};

struct trial {
	const struct request *request;
	enum figure deciding; /* the figure that ranks the candidates */
	bool more_is_better;  /* of the deciding figure */
	double confidence;    /* required of intervals */
	double spent_s;	      /* total */
	double wanted_s;      /* time that a decision would need; 0: there was enough */
	struct look look;
	size_t count;
	struct candidate *candidates; /* glibc first */
};

/* run.c. */

void begin_runs(const struct request *request);
void end_runs(void);
bool runs_interrupted(void);

/*
 * Runs the program once. Returns false if it failed, with the reason in
 * candidate->trouble, or if we were interrupted.
 */
bool run_once(struct candidate *candidate, char **environment, double figures[FIGURES]);

/* The same under glibc, before anything else; later runs that take ten times as long are
 * stopped. Refuses a program that fails. */
void warm_up_glibc(struct candidate *glibc);

/* The environment for a candidate; `stats`, if not NULL, is the file for statistics. To
 * be freed. */
char **environment_for(const char *name, const char *stats);

/* The name without "+rwlock", in a static buffer. */
const char *lock_of(const char *name);
bool has_rwlock(const char *name);

/* The program's name: its first word. */
const char *program_name(const struct request *request);

/* server.c: starts a server, runs its load when it is ready, and stops the server.
 * Describes a failure in `trouble`. Returns false if interrupted. */
struct server_run {
	const char *server, *load;
	char **environment; /* the server's; NULL: that of this process */
	int null, out, err; /* descriptors: the load's output and errors */
	double limit;	    /* timeout of the load in seconds; 0: none */
};
bool run_server(const struct server_run *run, struct program_outcome *load,
		struct program_outcome *server, char *trouble, size_t room);

/* Sets the condition for a ready server, and its timeout in seconds. Refuses a port that
 * is in use, and an invalid pattern. */
void check_ready(const char *text, double limit);

/* look.c. */
void take_look(struct trial *trial);

/* race.c: measures until it is decided, the time is over, or interrupted. */
enum { RACE_ROUNDS_MOST = 40 };
void run_race(struct trial *trial, double deadline);

/* judge.c. */

/* Smaller differences are not reported: environment, layout and other things that are the
 * same in all runs under a lock have effects of this size. */
#define LEAST_DIFFERENCE 0.01

/* Fewer runs are not ranked: their intervals mean little. */
enum { RUNS_TO_RANK = 6 };

bool is_ranked(const struct candidate *candidate);
/* The ratio of a's figure to b's. */
struct interval times_of(const struct trial *trial, const struct candidate *a,
			 const struct candidate *b);
/* Beyond noise: 1 if a is better than b by the deciding figure, -1 if worse, else 0. */
int judge(const struct trial *trial, const struct candidate *a,
	  const struct candidate *b);
/* Whether a can still turn out better than b; whether they are nearly equal. */
bool may_be_better(const struct trial *trial, const struct candidate *a,
		   const struct candidate *b);
bool are_equal(const struct trial *trial, const struct candidate *a,
	       const struct candidate *b);
/* Whether the counters show that the program takes no locks. */
bool takes_no_lock(const struct trial *trial);
/* The best of the ranked locks that were not dropped; NULL: none. */
struct candidate *find_best(const struct trial *trial);
/* The largest difference that an interval still allows. */
double unseen(const struct trial *trial);

/* report.c: prints the results, and ends with a sentence. */
void report_trial(const struct trial *trial);

/* verdict.c: that sentence, and the results as JSON. */
enum verdict {
	VERDICT_NO_LOCK,
	VERDICT_NO_MATTER,
	VERDICT_UNDECIDED,
	VERDICT_NOTHING,
	VERDICT_FEW_RUNS,
	VERDICT_BEST,
	VERDICT_GLIBC,
	VERDICT_NO_BETTER,
	VERDICT_VARIES,
	VERDICT_EQUAL,
};
extern const struct figure_text {
	const char *title, *key; /* in the table, in JSON */
	const char *phrase;	 /* in a sentence */
	double unit;
} figure_texts[FIGURES];
enum verdict find_verdict(const struct trial *trial);
/* To be freed. */
char *verdict_sentence(const struct trial *trial);
json_t *describe_trial(const struct trial *trial, const json_t *context);

#endif /* PAWL_CLI_TRY_H */
