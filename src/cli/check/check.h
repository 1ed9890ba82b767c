/* SPDX-License-Identifier: MIT */
/*
 * pawl check in parts: the catalogue of what can be checked, the plan of cases, running
 * them, and the report.
 */
#ifndef PAWL_CLI_CHECK_H
#define PAWL_CLI_CHECK_H

#include <sim/check/scenario.h>

#include <jansson.h>
#include <stdbool.h>

/* A token of a case: that of the search, with a prefix that names the case. */
enum { MAX_LOCKS = 128, MAX_JOBS = 256, CASE_TOKEN_SIZE = TOKEN_SIZE + 128 };

struct request {
	int threads, episodes, limit, repeat, random, seed, depth,
		jobs; /* 0 = not given */
	enum model model;
	const char *scenario, *json, *replay, *load;
	bool list, full, steadfast;
	const struct lock_type *locks[MAX_LOCKS];
	size_t lock_count;
	bool named; /* locks were named: report all of their failures */
};

/* One row of the table. */
struct check_case {
	const struct lock_type *type;
	const struct scenario *scenario;
	int threads, episodes;
	enum model model;
	struct result result;
};

/* catalogue.c: the registry's locks and the objects without a lock type, or what was
 * loaded from a shared object instead. */
void catalogue_fill(void);
void catalogue_load(const char *path);
const char *catalogue_file(void); /* the loaded file, or NULL */
const char *nth_lock(size_t n);
const struct lock_type *find_lock(const char *name);

/* The n-th of all scenarios, and of a lock's; NULL at the end. */
const struct scenario *nth_scenario(size_t n);
const struct scenario *scenario_for(const struct lock_type *type, size_t n);
const struct scenario *find_scenario(const struct lock_type *type, const char *name);

/* Refuses a name that is not a scenario's. */
void need_scenario(const char *name);

/* plan.c: the cases to run; at least one. */
struct plan {
	struct check_case *cases;
	size_t count;
};

void plan_cases(struct plan *plan, const struct request *request);

/* The options of the search for a case. */
struct options options_for(const struct check_case *c, bool steadfast);

/* Whether the verdict is no failure: passed, or no failure in the requested
 * executions. */
bool is_good(enum verdict verdict);

/* Whether the scenario can run with this many threads. */
bool case_fits(const struct scenario *scenario, int threads);

/* run.c: both return the exit status. */
int run_cases(const struct plan *plan, const struct request *request);
int replay_case(const char *token, bool steadfast);

/* Explores one case and stores the result in it; `progress` may be NULL. */
struct position;
void explore_case(struct check_case *c, const struct request *request,
		  struct position *position);

/* jobs.c: explores the cases of a plan in separate processes, `most` at a time, and
 * reports them in the order of the plan. Returns how many were run: all, unless it was
 * interrupted; then those that were run are moved to the front of the plan. */
size_t run_jobs(const struct plan *plan, const struct request *request, int most,
		void (*report)(struct check_case *c, void *context), void *context);

/* report.c */
bool find_model(const char *name, enum model *model);
bool is_expected(const struct check_case *c); /* a failure that the registry declares */
void print_header(void);
void print_row(const struct check_case *c);
void print_failure(const struct check_case *c, bool steadfast);

/* The first `count` cases. */
json_t *describe_cases(const struct check_case *cases, size_t count);

#endif /* PAWL_CLI_CHECK_H */
