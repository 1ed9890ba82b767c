/* SPDX-License-Identifier: MIT */
/* What pawl bench says about its measurements. */
#include "bench.h"
#include "options.h"
#include "stats.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Beyond this relative error a ranking says little. */
static const double widest_error = 0.10;

struct row {
	const char *name;
	int threads;
	struct estimate rate; /* operations a second */
	double fairness;
	double cpu_ns;		   /* CPU time an operation */
	double switches;	   /* context switches a second */
	const struct waits *waits; /* NULL if they were not timed */
};

/* Fastest first. */
static int by_rate(const void *a, const void *b)
{
	double x = ((const struct row *)a)->rate.value;
	double y = ((const struct row *)b)->rate.value;

	return (x < y) - (x > y);
}

static double relative_error(const struct row *row)
{
	return row->rate.error / row->rate.value;
}

/* Makes the ranked rows of the cells that were measured at all. */
static size_t rank(const struct bench_cell *cells, size_t count, struct row *rows)
{
	size_t i, n = 0;

	for (i = 0; i < count; i++) {
		const struct bench_cell *cell = &cells[i];

		if (cell->runs == 0)
			continue;
		rows[n].name = cell->subject->name;
		rows[n].threads = cell->threads;
		rows[n].rate = estimate_median(cell->ops_per_s, cell->runs);
		rows[n].fairness = estimate_median(cell->fairness, cell->runs).value;
		rows[n].cpu_ns = estimate_median(cell->cpu_ns, cell->runs).value;
		rows[n].switches = estimate_median(cell->switches, cell->runs).value;
		rows[n].waits = cell->timed ? &cell->waits : NULL;
		n++;
	}
	qsort(rows, n, sizeof(*rows), by_rate);
	return n;
}

/* What the others are compared with: pthread, or else the slowest. */
static const struct row *find_reference(const struct row *rows, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(rows[i].name, "pthread") == 0)
			return &rows[i];
	return &rows[n - 1];
}

static const char *plural(int n)
{
	return n == 1 ? "" : "s";
}

static void print_rows(const struct row *rows, size_t n)
{
	const struct row *reference = find_reference(rows, n);
	size_t i;

	printf("%d thread%s\n", rows->threads, plural(rows->threads));
	printf("  %-20s %12s %8s %9s   times %s\n", "lock", "million/s", "spread",
	       "fairness", reference->name);
	for (i = 0; i < n; i++) {
		struct estimate times = estimate_ratio(rows[i].rate, reference->rate);

		printf("  %-20s %12.3f %6.1f %% %9.2f ", rows[i].name,
		       rows[i].rate.value / 1e6, 100 * relative_error(&rows[i]),
		       rows[i].fairness);
		if (&rows[i] == reference)
			printf("%7.2f\n", 1.0);
		else
			printf("%7.2f ± %.2f\n", times.value, times.error);
	}
	printf("\n");
}

/* What waiting costs: in time to who waits, in CPU time to everybody. */
static void print_waits(const struct row *rows, size_t n)
{
	size_t i;

	if (rows->waits == NULL)
		return;
	printf("%d thread%s, waits in ns\n", rows->threads, plural(rows->threads));
	printf("  %-20s %9s %9s %9s %11s %10s %11s\n", "lock", "p50", "p99", "p99.9",
	       "max", "CPU ns/op", "switches/s");
	for (i = 0; i < n && rows[i].waits != NULL; i++)
		printf("  %-20s %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %11" PRIu64
		       " %10.1f %11.0f\n",
		       rows[i].name, waits_percentile(rows[i].waits, 0.5),
		       waits_percentile(rows[i].waits, 0.99),
		       waits_percentile(rows[i].waits, 0.999), rows[i].waits->longest,
		       rows[i].cpu_ns, rows[i].switches);
	printf("\n");
}

static void print_sentence(const struct row *rows, size_t n)
{
	const struct row *reference = find_reference(rows, n);
	struct estimate times = estimate_ratio(rows[0].rate, reference->rate);

	printf("%d thread%s: %s", rows->threads, plural(rows->threads), rows[0].name);
	if (reference == rows)
		printf(" first");
	else
		printf(": %.2f ± %.2f times %s", times.value, times.error,
		       reference->name);
	if (n > 1 && &rows[1] != reference) {
		struct estimate lead = estimate_ratio(rows[0].rate, rows[1].rate);

		printf(", %.2f ± %.2f times %s", lead.value, lead.error, rows[1].name);
		if (lead.value - lead.error <= 1)
			printf(", which is too close to rank");
	}
	printf("\n");
}

static void warn_of_errors(const struct row *rows, size_t n)
{
	const struct row *worst = rows;
	size_t i, wide = 0;

	for (i = 0; i < n; i++) {
		wide += relative_error(&rows[i]) > widest_error;
		if (relative_error(&rows[i]) > relative_error(worst))
			worst = &rows[i];
	}
	if (wide > 0)
		warn("%d thread%s: spread above %.0f %% for %zu of %zu locks (%s: %.0f "
		     "%%); "
		     "raise --runs or --seconds, or quiet the machine",
		     worst->threads, plural(worst->threads), 100 * widest_error, wide, n,
		     worst->name, 100 * relative_error(worst));
}

/* How many cells from here on have the same number of threads. */
static size_t group_size(const struct bench_results *results, size_t first)
{
	size_t n = 1;

	while (first + n < results->count &&
	       results->cells[first + n].threads == results->cells[first].threads)
		n++;
	return n;
}

/* Shows each group of equal thread counts that was measured. */
static void each_group(const struct bench_results *results, struct row *rows,
		       void (*show)(const struct row *rows, size_t n))
{
	size_t first, n;

	for (first = 0; first < results->count; first += group_size(results, first)) {
		n = rank(&results->cells[first], group_size(results, first), rows);
		if (n > 0)
			show(rows, n);
	}
}

void report_bench(const struct bench_results *results)
{
	struct row *rows = calloc(results->count, sizeof(*rows));

	if (rows == NULL)
		give_up("out of memory");
	each_group(results, rows, print_rows);
	each_group(results, rows, print_waits);
	fflush(stdout);
	each_group(results, rows, warn_of_errors);
	each_group(results, rows, print_sentence);
	free(rows);
}

static json_t *describe_waits(const struct waits *waits)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "p50",
			 (json_int_t)waits_percentile(waits, 0.5), "p99",
			 (json_int_t)waits_percentile(waits, 0.99), "p999",
			 (json_int_t)waits_percentile(waits, 0.999), "max",
			 (json_int_t)waits->longest);
}

json_t *describe_bench(const struct bench_results *results)
{
	json_t *list = json_array();
	size_t i, j;

	for (i = 0; i < results->count; i++) {
		const struct bench_cell *cell = &results->cells[i];
		struct estimate rate;
		json_t *samples, *result;

		if (cell->runs == 0)
			continue;
		samples = json_array();
		rate = estimate_median(cell->ops_per_s, cell->runs);
		for (j = 0; j < cell->runs; j++)
			json_array_append_new(samples, json_real(cell->ops_per_s[j]));
		result = json_pack(
			"{s:s, s:s, s:i, s:I, s:I, s:f, s:f, s:f, s:o, s:f, s:f, s:f}",
			"workload", results->workload, "lock", cell->subject->name,
			"threads", cell->threads, "cs", (json_int_t)results->shape.cs,
			"ncs", (json_int_t)results->shape.ncs, "seconds",
			results->shape.seconds, "median_ops_per_s", rate.value, "spread",
			rate.error / rate.value, "samples", samples, "fairness",
			estimate_median(cell->fairness, cell->runs).value,
			"cpu_ns_per_op", estimate_median(cell->cpu_ns, cell->runs).value,
			"context_switches_per_s",
			estimate_median(cell->switches, cell->runs).value);
		if (cell->timed)
			json_object_set_new(result, "wait_ns",
					    describe_waits(&cell->waits));
		json_array_append_new(list, result);
	}
	return list;
}
