/* SPDX-License-Identifier: MIT */
/*
 * pawl bench: bench.c parses the options, plan.c makes the cells to be measured, beside.c
 * and quota.c make the machine busy or small, run.c measures the cells, report.c prints
 * the results, and baseline.c stores them. An app, in app.c, is a workload that is a
 * program of its own.
 */
#ifndef PAWL_CLI_BENCH_H
#define PAWL_CLI_BENCH_H

#include "cli/bench/noise.h"
#include "cli/common/options.h"
#include "workload.h"

#include <jansson.h>
#include <stddef.h>

/* Conditions that the benchmark creates. */
struct bench_setting {
	int beside; /* number of competing processes */
	int quota;  /* CPU limit, in percent of one CPU; 0: none */
};

enum bench_preset {
	PRESET_NONE,
	PRESET_OVERSUBSCRIBE, /* more threads than CPUs, locks that park */
	PRESET_MUTEX,	      /* all cells of MutexBench, pawl's mutex and its peers */
};

/* The command line; 0 and NULL: not given. */
struct bench_request {
	const char *workloads, *apps, *locks; /* lists of names */
	struct numbers threads;
	int cs, ncs; /* -1: not given */
	int producers, capacity;
	struct percents writes;
	struct bench_setting setting;
	int runs;
	double seconds, warm_up;
	uint64_t seed;
	const char *json;
	const char *save, *against; /* names of baselines */
	enum bench_preset preset;
	bool quick, dry_run;
};

/* The results of one run. */
struct bench_sample {
	double value; /* in the workload's unit */
	double ops_per_s, fairness;
	double cpu_ns;	 /* CPU time per operation */
	double switches; /* context switches per second */
	double figures[WORKLOAD_FIGURES];
};

/* One subject at one number of threads. */
struct bench_cell {
	const struct bench_subject *subject;
	int threads;
	size_t runs; /* number of samples so far */
	struct bench_sample *samples;
	struct cpu_ticks ticks; /* of the machine, during its runs */
	bool timed;		/* waits are from a separate run */
	struct waits waits;
};

/* A workload with one length of sections and one share of writes; parts of the same
 * workload are adjacent. */
struct bench_part {
	const struct workload *workload;
	struct bench_shape shape; /* without the threads, which vary */
	size_t count;
	struct bench_cell *cells; /* sorted by threads */
};

struct bench_plan {
	size_t count;
	struct bench_part *parts;
	size_t runs;	 /* of each cell */
	bool time_waits; /* in an additional run */
	uint64_t seed;
	struct bench_setting setting;
	bool grid;	    /* many cells, reported as a grid */
	struct noise noise; /* during the measurement */
};

/* Makes the plan, or refuses what cannot be measured; fills in the defaults. */
struct bench_plan make_plan(struct bench_request *request, int cpus);
void free_plan(struct bench_plan *plan);

/* Prints the whole plan on stdout. */
void print_plan(const struct bench_plan *plan);

/* Estimated seconds. */
double plan_length(const struct bench_plan *plan);

/* Of the workloads not meant for more threads than CPUs. */
int most_threads(const struct bench_plan *plan);

/* The apps, ending with NULL, on the locks that the interposer offers and on plain
 * glibc. */
const struct workload *const *bench_apps(void);

/* Refuses an app whose program is not installed. */
void require_app(const struct workload *app);

/* Prints the list of workloads. */
void print_workloads(const struct workload *const *list);

/* Starts this many busy processes; and ends them. They also end with this one. */
void begin_beside(int processes);
void end_beside(void);

/* Limits this process and its children to this share of one CPU, in percent (0: no
 * limit), until end_quota(); refuses if the system does not allow it. */
void begin_quota(int percent);
void end_quota(void);

/* Measures all cells, or until interrupted. */
void measure_plan(struct bench_plan *plan);

/* Prints a ranked table for each workload and number of threads, warns of results that
 * are unreliable with this number of CPUs, and ends with a sentence for each. */
void report_bench(const struct bench_plan *plan, int cpus);

/* For a plan that compares its first subject with all others in many cells: prints a line
 * for each cell, and the worst cells. */
void report_grid(const struct bench_plan *plan, int cpus);

/* The setting, as members of the context and of every result. */
json_t *describe_setting(const struct bench_setting *setting);

/* The results as the value of "results". */
json_t *describe_bench(const struct bench_plan *plan);

/*
 * Baselines: results stored by name in the user's data directory. The first two are
 * called before anything is measured, and refuse what would fail later.
 */
void check_baseline_to_save(const char *name);
void check_baseline_to_compare(const char *name);
void print_baselines(void);

/* Stores the result under this name; says what it replaces. */
void save_baseline(const char *name, const json_t *result);

/* Prints the changes as 'pawl report --diff' does, and returns its status. */
int compare_with_baseline(const char *name, const json_t *result);

#endif /* PAWL_CLI_BENCH_H */
