/* SPDX-License-Identifier: MIT */
#include <sim/coherence/claims.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS_MAX = 1024, NAME_SIZE = 32 };

/* Workloads of the claims. */
static const struct load {
	const char *name;
	enum workload workload;
	uint64_t cs, ncs;
	bool private_data, explicit_face;
} loads[] = {
	{"max", WORKLOAD_MUTEX, 1, 0, false, false},
	{"moderate", WORKLOAD_MUTEX, 1, 250, false, false},
	{"empty", WORKLOAD_MUTEX, 1, 0, true, false},
	{"twa", WORKLOAD_MUTEX, 4, 200, true, false},
	{"hemlock", WORKLOAD_MUTEX, 5, 400, false, false},
	{"hapax", WORKLOAD_MUTEX, 1, 1000, false, false},
	{"torture", WORKLOAD_MUTEX, 20, 400, true, false},
	{"stress", WORKLOAD_MUTEX, 200, 10000, true, false},
	{"counted", WORKLOAD_MUTEX, 60, 2100, true, true},
	{"counted-0", WORKLOAD_MUTEX, 60, 0, true, true},
	{"multiwait", WORKLOAD_MULTIWAIT, 0, 0, false, false},
	{"diameter", WORKLOAD_DIAMETER, 0, 0, false, false},
	{"ring", WORKLOAD_RING, 0, 0, false, false},
};

#define T(...)              \
	{                   \
		__VA_ARGS__ \
	}
#define CLAIM(paper, where, text, machine, load, kind, subject, others, threads, \
	      expected, tolerance, reason)                                       \
	{paper,	  where,  text,	   machine,  load,	CLAIM_##kind,            \
	 subject, others, threads, expected, tolerance, reason},
const struct claim claims[] = {
#include <sim/coherence/claims.def>
};
#undef CLAIM
#undef T

const size_t claims_count = sizeof(claims) / sizeof(claims[0]);

/* A simulation, shared by all claims about it. */
struct cell {
	const char *machine;
	const struct load *load;
	char lock[NAME_SIZE];
	unsigned threads;
	enum thread_homes homes;
	struct workload_result result; /* median rate, mean counts */
};

struct table {
	struct cell cells[CELLS_MAX];
	size_t count;
};

static const struct load *find_load(const char *name)
{
	size_t i;

	for (i = 0; strcmp(loads[i].name, name) != 0; i++)
		;
	return &loads[i];
}

/* The result of a claim's simulation. The first pass only adds the simulation to the
 * table. */
static const struct workload_result *look_up(struct table *table,
					     const struct claim *claim, const char *lock,
					     unsigned threads, enum thread_homes homes)
{
	const struct load *load = find_load(claim->load);
	struct cell *cell;
	size_t i;

	for (i = 0; i < table->count; i++) {
		cell = &table->cells[i];
		if (cell->load == load && cell->threads == threads &&
		    cell->homes == homes && strcmp(cell->lock, lock) == 0 &&
		    strcmp(cell->machine, claim->machine) == 0)
			return &cell->result;
	}
	if (table->count == CELLS_MAX) {
		fprintf(stderr, "pawl sim: too many claims\n");
		exit(EXIT_FAILURE);
	}
	cell = &table->cells[table->count++];
	*cell = (struct cell){.machine = claim->machine,
			      .load = load,
			      .threads = threads,
			      .homes = homes};
	snprintf(cell->lock, sizeof(cell->lock), "%s", lock);
	return &cell->result;
}

static double rate(struct table *table, const struct claim *claim, const char *lock,
		   unsigned threads)
{
	return look_up(table, claim, lock, threads, THREADS_AT_HOME)->ops_per_s;
}

/* The least or the greatest ratio to any of the other locks, over all thread counts. */
static double against_others(struct table *table, const struct claim *claim, bool least)
{
	double worst = least ? INFINITY : 0;
	const char *others = claim->others;
	unsigned i;

	while (*others != '\0') {
		size_t length = strcspn(others, ",");
		char lock[NAME_SIZE];

		snprintf(lock, sizeof(lock), "%.*s", (int)length, others);
		for (i = 0; i < CLAIM_THREADS && claim->threads[i] != 0; i++) {
			unsigned threads = claim->threads[i];
			double ratio = rate(table, claim, claim->subject, threads) /
				       rate(table, claim, lock, threads);

			worst = least ? fmin(worst, ratio) : fmax(worst, ratio);
		}
		others += length + (others[length] == ',');
	}
	return worst;
}

static double steepest(struct table *table, const struct claim *claim)
{
	double worst = 0;
	unsigned i;

	for (i = 1; i < CLAIM_THREADS && claim->threads[i] != 0; i++)
		worst = fmax(worst,
			     rate(table, claim, claim->subject, claim->threads[i]) /
				     rate(table, claim, claim->subject,
					  claim->threads[i - 1]));
	return worst;
}

static double evaluate(struct table *table, const struct claim *claim)
{
	const char *subject = claim->subject;
	unsigned first = claim->threads[0], last = first, i;

	for (i = 0; i < CLAIM_THREADS && claim->threads[i] != 0; i++)
		last = claim->threads[i];
	switch (claim->kind) {
	case CLAIM_LEAST:
		return against_others(table, claim, true);
	case CLAIM_MOST:
	case CLAIM_RATIO:
		return against_others(table, claim, false);
	case CLAIM_RISES:
		return rate(table, claim, subject, last) /
		       rate(table, claim, subject, first);
	case CLAIM_FALLS:
		return steepest(table, claim);
	case CLAIM_MISSES:
	case CLAIM_NO_MORE:
		return look_up(table, claim, subject, first, THREADS_AT_HOME)->misses;
	case CLAIM_REMOTE:
		return look_up(table, claim, subject, first, THREADS_AT_HOME)
			->remote_misses;
	case CLAIM_MISSES_RATIO:
		return look_up(table, claim, subject, last, THREADS_AT_HOME)->misses /
		       look_up(table, claim, subject, first, THREADS_AT_HOME)->misses;
	case CLAIM_FEWER:
		return look_up(table, claim, subject, first, THREADS_AT_HOME)->misses /
		       look_up(table, claim, claim->others, first, THREADS_AT_HOME)
			       ->misses;
	case CLAIM_RATE:
		return rate(table, claim, subject, first) / 1e6;
	case CLAIM_HOME:
		return rate(table, claim, subject, first) /
		       look_up(table, claim, subject, first, THREADS_AWAY)->ops_per_s;
	}
	return NAN;
}

static bool holds(const struct claim *claim, double simulated)
{
	double margin = claim->expected * claim->tolerance;

	switch (claim->kind) {
	case CLAIM_LEAST:
	case CLAIM_RISES:
	case CLAIM_HOME:
		return simulated >= claim->expected - margin;
	case CLAIM_MOST:
	case CLAIM_FALLS:
	case CLAIM_FEWER:
		return simulated <= claim->expected + margin;
	case CLAIM_RATIO:
	case CLAIM_MISSES_RATIO:
	case CLAIM_RATE:
		return fabs(simulated - claim->expected) <= margin;
	case CLAIM_MISSES:
		return fabs(simulated - claim->expected) <= claim->tolerance;
	case CLAIM_NO_MORE:
	case CLAIM_REMOTE:
		return simulated <= claim->expected + claim->tolerance;
	}
	return false;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Median rate and mean counts of the runs. */
static struct workload_result sum_up(const struct workload_result *runs, unsigned count)
{
	struct workload_result sum = {0};
	double rates[64];
	unsigned i;

	for (i = 0; i < count; i++) {
		rates[i] = runs[i].ops_per_s;
		sum.misses += runs[i].misses / count;
		sum.remote_misses += runs[i].remote_misses / count;
	}
	qsort(rates, count, sizeof(rates[0]), compare);
	sum.ops_per_s = count % 2 == 1 ? rates[count / 2]
				       : (rates[count / 2 - 1] + rates[count / 2]) / 2;
	return sum;
}

static struct workload_setup setup_of(const struct cell *cell, const struct machine *m,
				      uint64_t seed, uint64_t episodes)
{
	return (struct workload_setup){
		.engine = {.machine = m,
			   .threads = cell->threads,
			   .seed = seed,
			   .thread_homes = cell->homes,
			   .placement = PLACE_CORES},
		.workload = cell->load->workload,
		.lock = cell->lock,
		.cs = cell->load->cs,
		.ncs = cell->load->ncs,
		.private_data = cell->load->private_data,
		.explicit_face = cell->load->explicit_face,
		/* A step of the leader is twenty episodes; there is at least one. */
		.episodes = cell->load->workload == WORKLOAD_MULTIWAIT
				    ? (episodes + 19) / 20
				    : episodes,
	};
}

/* Longest first, so that the processes finish together. */
static int by_threads(const void *a, const void *b)
{
	const struct cell *x = a, *y = b;

	return (x->threads < y->threads) - (x->threads > y->threads);
}

static void simulate(struct table *table, claims_machine *load, void *argument,
		     unsigned runs, uint64_t episodes, unsigned jobs)
{
	size_t i, j, count = table->count;
	struct machine *machines = calloc(count, sizeof(*machines));
	struct workload_setup *setups = calloc(count * runs, sizeof(*setups));
	struct workload_result *results = calloc(count * runs, sizeof(*results));

	if (machines == NULL || setups == NULL || results == NULL) {
		fprintf(stderr, "pawl sim: out of memory\n");
		exit(EXIT_FAILURE);
	}
	qsort(table->cells, count, sizeof(table->cells[0]), by_threads);
	for (i = 0; i < count; i++) {
		load(table->cells[i].machine, &machines[i], argument);
		for (j = 0; j < runs; j++)
			setups[i * runs + j] = setup_of(&table->cells[i], &machines[i],
							j + 1, episodes);
	}
	workload_run_all(setups, results, count * runs, jobs, NULL);
	for (i = 0; i < count; i++)
		table->cells[i].result = sum_up(&results[i * runs], runs);
	free(machines);
	free(setups);
	free(results);
}

void claims_run(struct claim_result results[], claims_machine *load, void *argument,
		unsigned runs, uint64_t episodes, unsigned jobs)
{
	struct table *table = calloc(1, sizeof(*table));
	size_t i;

	if (table == NULL) {
		fprintf(stderr, "pawl sim: out of memory\n");
		exit(EXIT_FAILURE);
	}
	for (i = 0; i < claims_count; i++)
		if (!results[i].left_out)
			evaluate(table, &claims[i]); /* adds the simulations it needs */
	simulate(table, load, argument, runs, episodes, jobs);
	for (i = 0; i < claims_count; i++) {
		if (results[i].left_out)
			continue;
		results[i].simulated = evaluate(table, &claims[i]);
		results[i].holds = holds(&claims[i], results[i].simulated);
	}
	free(table);
}
