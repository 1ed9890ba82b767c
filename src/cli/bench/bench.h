/* SPDX-License-Identifier: MIT */
/*
 * pawl bench: bench.c reads the options, plan.c makes the cells to be measured,
 * beside.c and quota.c make the machine busy or small, run.c measures the cells,
 * report.c prints the results, and baseline.c keeps them. An app, in app.c, is a
 * workload that is a program of its own.
 */
#ifndef PAWL_CLI_BENCH_H
#define PAWL_CLI_BENCH_H

#include "cli/bench/noise.h"
#include "cli/common/options.h"
#include "workload.h"

#include <jansson.h>
#include <stddef.h>

/* What the machine is to be like. */
struct bench_setting {
	int beside; /* other processes that compute */
	int quota;  /* CPU time, in percent of one CPU; 0: no limit */
};

enum bench_preset {
	PRESET_NONE,
	PRESET_OVERSUBSCRIBE, /* more threads than CPUs, locks that sleep */
	PRESET_MUTEX,	      /* MutexBench in all its cells, our mutex and its peers */
};

/* What was asked for; 0 and NULL stand for "not said". */
struct bench_request {
	const char *workloads, *apps, *locks; /* lists of names */
	struct numbers threads;
	int cs, ncs; /* -1: not said */
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

/* What one run gave. */
struct bench_sample {
	double value; /* in the workload's unit */
	double ops_per_s, fairness;
	double cpu_ns;	 /* CPU time an operation */
	double switches; /* context switches a second */
	double figures[WORKLOAD_FIGURES];
};

/* One subject at one number of threads. */
struct bench_cell {
	const struct bench_subject *subject;
	int threads;
	size_t runs; /* how many samples there are yet */
	struct bench_sample *samples;
	struct cpu_ticks ticks; /* of the machine, during its runs */
	bool timed;		/* waits was filled by a run of its own */
	struct waits waits;
};

/* One workload with sections of one length and one share of writes; its next of kin
 * stand beside it. */
struct bench_part {
	const struct workload *workload;
	struct bench_shape shape; /* but for the threads, which vary */
	size_t count;
	struct bench_cell *cells; /* those of equal threads stand together */
};

struct bench_plan {
	size_t count;
	struct bench_part *parts;
	size_t runs;	 /* of each cell */
	bool time_waits; /* in one run more */
	uint64_t seed;
	struct bench_setting setting;
	bool grid;	    /* many cells, to be reported as such */
	struct noise noise; /* meanwhile */
};

/* Makes the plan, or refuses what cannot be done; fills in what was not said. */
struct bench_plan make_plan(struct bench_request *request, int cpus);
void free_plan(struct bench_plan *plan);

/* On stdout: what the plan is, in full. */
void print_plan(const struct bench_plan *plan);

/* In seconds, about. */
double plan_length(const struct bench_plan *plan);

/* Of the workloads that are not meant for more threads than CPUs. */
int most_threads(const struct bench_plan *plan);

/* The apps, ended by NULL, on the locks that can be put under a program, and on
 * plain glibc. */
const struct workload *const *bench_apps(void);

/* Refuses one whose program is not there. */
void require_app(const struct workload *app);

/* Prints them, for those who ask which there are. */
void print_workloads(const struct workload *const *list);

/* Starts so many processes that do nothing but compute; and ends them. They end
 * with this one in any case. */
void begin_beside(int processes);
void end_beside(void);

/* Limits this process, and what it starts, to so many percent of one CPU (0: does
 * not) until end_quota() or the end; refuses if that is not to be had. */
void begin_quota(int percent);
void end_quota(void);

/* Measures everything, until done or interrupted. */
void measure_plan(struct bench_plan *plan);

/* Prints a ranked table for each workload and number of threads, warns of what
 * cannot be trusted on a machine of so many CPUs, and ends with a sentence for
 * each. */
void report_bench(const struct bench_plan *plan, int cpus);

/* Instead, of a plan that compares its first subject with all others in many cells:
 * a line for each, and which cells are worst. */
void report_grid(const struct bench_plan *plan, int cpus);

/* The setting, as members of the context and of every result. */
json_t *describe_setting(const struct bench_setting *setting);

/* The results as the value of "results". */
json_t *describe_bench(const struct bench_plan *plan);

/*
 * Baselines: results that are kept by name in the user's data directory. The first
 * two are for before anything is measured, and refuse what could not be done later.
 */
void check_baseline_to_save(const char *name);
void check_baseline_to_compare(const char *name);
void print_baselines(void);

/* Keeps the result under this name; says what it replaces. */
void save_baseline(const char *name, const json_t *result);

/* Says what changed since, as 'pawl report --diff' does, and returns what that
 * does. */
int compare_with_baseline(const char *name, const json_t *result);

#endif /* PAWL_CLI_BENCH_H */
