/* SPDX-License-Identifier: MIT */
/*
 * pawl try: try.c reads the options and decides what comes next; run.c runs a program
 * once, or with server.c a server and its load; look.c has the first look, under
 * statistics; race.c the rounds, in which candidates are dropped; judge.c says which
 * is better; report.c what came out.
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

/* What was asked for; 0 and NULL stand for "not said". */
struct request {
	size_t count;
	const char *locks[LOCKS_MAX];
	bool default_locks;
	int runs;      /* of each, none of which is dropped */
	double budget; /* seconds */
	const char *metric, *json;
	bool less, same_output;
	regex_t regex;	/* the metric's */
	char **program; /* the words of its command line; NULL if it is a server */
	const char *server, *load, *ready; /* commands for the shell; a pattern or port */
};

/* What is taken from a run. */
enum figure { WALL, CPU, SWITCHES, MEMORY, METRIC, FIGURES };

/* What the interposer counted in a run, in all its processes. */
struct counts {
	bool any;			   /* something reported back */
	double acquisitions, contended;	   /* of mutexes */
	double rwlocks, rwlocks_contended; /* of read-write locks, to read or write */
	double signals;			   /* waits for one that slept */
	/* Seconds in which threads waited: all together. */
	double mutex_s, rwlock_s, after_signal_s;
};

enum dropped {
	NOT_DROPPED,
	DROPPED_AS_WORSE, /* than glibc, or than the best */
	DROPPED_AS_EQUAL, /* cannot be better than glibc */
	DROPPED_UNTRIED,  /* the time is too short for all */
};

/* The program under one lock. */
struct candidate {
	const char *name;   /* of the lock, or "glibc"; with "+rwlock", of both */
	char **environment; /* NULL for that of this process */
	size_t runs;	    /* how many of the samples are filled */
	double *samples[FIGURES];
	double warm_up[FIGURES]; /* of a run before, which does not count */
	double run_s; /* how long the last run took, with all that is around it */
	enum dropped dropped;
	/* Why it is not ranked: what the program did; empty if nothing. */
	char trouble[256];
};

/* The first look. */
struct look {
	const char *lock; /* under which; NULL: there was none */
	struct counts counts;
	double wall_s, cpu_s;
	double wall_share;   /* of its wall time: what was lost in waiting */
	double thread_share; /* of its threads' time, in which they ran or waited */
	double possible;     /* of its wall time: what a better lock could spare */
	double visible;	     /* of its wall time: what noise allows to be seen */
	bool was_faster;     /* than any run under glibc, by more than that */
	bool ends_it;	     /* a look was enough */
};

struct trial {
	const struct request *request;
	enum figure deciding; /* by which the candidates are ranked */
	bool more_is_better;  /* of that one */
	double confidence;    /* that an interval must have */
	double spent_s;	      /* in all */
	double wanted_s;      /* what deciding would have taken; 0: there was time */
	struct look look;
	size_t count;
	struct candidate *candidates; /* glibc comes first */
};

/* run.c. */

void begin_runs(const struct request *request);
void end_runs(void);
bool runs_interrupted(void);

/*
 * Runs the program once. Returns false if it misbehaved, which it says in
 * candidate->trouble, or if we were interrupted.
 */
bool run_once(struct candidate *candidate, char **environment, double figures[FIGURES]);

/* The same under glibc, before anything else; what takes ten times as long later is
 * stopped. Refuses a program that does not work. */
void warm_up_glibc(struct candidate *glibc);

/* The environment for a candidate; `stats`, if not NULL, is where it reports to. To
 * be freed. */
char **environment_for(const char *name, const char *stats);

/* Without "+rwlock", in a buffer that the next call overwrites. */
const char *lock_of(const char *name);
bool has_rwlock(const char *name);

/* What to call the program: its first word. */
const char *program_name(const struct request *request);

/* server.c: a server is started, and when it is ready its load is run and the server
 * stopped. Says in `trouble` what went wrong. Returns false if interrupted. */
struct server_run {
	const char *server, *load;
	char **environment; /* the server's; NULL for that of this process */
	int null, out, err; /* files: the load's output and errors */
	double limit;	    /* seconds for the load; 0: none */
};
bool run_server(const struct server_run *run, struct program_outcome *load,
		struct program_outcome *server, char *trouble, size_t room);

/* Says when a server is ready, and after how many seconds it never will be. Refuses a
 * port that is in use, and a pattern that is none. */
void check_ready(const char *text, double limit);

/* look.c. */
void take_look(struct trial *trial);

/* race.c: measures until it is decided, or the time is over, or interrupted. */
enum { RACE_ROUNDS_MOST = 40 };
void run_race(struct trial *trial, double deadline);

/* judge.c. */

/* Less than this is never called a difference: environment, layout and whatever
 * else is the same in all runs of a program under a lock shift it that much. */
#define LEAST_DIFFERENCE 0.01

/* Nor is anything that fewer runs show: their intervals mean little. */
enum { RUNS_TO_RANK = 6 };

bool is_ranked(const struct candidate *candidate);
/* How many times b's figure a's is. */
struct interval times_of(const struct trial *trial, const struct candidate *a,
			 const struct candidate *b);
/* Beyond noise: 1 if a is better than b by what decides, -1 if it is worse, else 0. */
int judge(const struct trial *trial, const struct candidate *a,
	  const struct candidate *b);
/* Whether a can still turn out to be better than b; whether they are as good as
 * equal. */
bool may_be_better(const struct trial *trial, const struct candidate *a,
		   const struct candidate *b);
bool are_equal(const struct trial *trial, const struct candidate *a,
	       const struct candidate *b);
/* Whether it was counted, and no lock was ever asked for. */
bool takes_no_lock(const struct trial *trial);
/* Who comes first among the ranked locks that were not dropped; NULL: none. */
struct candidate *find_best(const struct trial *trial);
/* The largest difference that any of the intervals leaves possible. */
double unseen(const struct trial *trial);

/* report.c: prints what there is, and ends with a sentence. */
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
