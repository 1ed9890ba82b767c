/* SPDX-License-Identifier: MIT */
/* Prints the results of pawl bench. */
#include "cli/bench/bench.h"
#include "cli/common/output.h"
#include "cli/common/stats.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* With a larger relative error a ranking means little. */
static const double widest_error = 0.10;

struct row {
	const struct bench_setting *setting;
	const struct workload *workload;
	const struct bench_part *part;
	const struct bench_cell *cell;
	struct interval value; /* the ranked figure */
	double spread;	       /* relative */
};

/* The field at `offset` of all samples. To be freed. */
static double *column(const struct bench_cell *cell, size_t offset)
{
	double *values = malloc(cell->runs * sizeof(*values));
	size_t i;

	if (values == NULL)
		give_up("out of memory");
	for (i = 0; i < cell->runs; i++)
		memcpy(&values[i], (const char *)&cell->samples[i] + offset,
		       sizeof(*values));
	return values;
}

#define COLUMN(member) offsetof(struct bench_sample, member)

static double median_of(const struct bench_cell *cell, size_t offset)
{
	double *values = column(cell, offset);
	double median = estimate_median(values, cell->runs).value;

	free(values);
	return median;
}

static struct row make_row(const struct bench_plan *plan, const struct bench_part *part,
			   const struct bench_cell *cell)
{
	double *values = column(cell, COLUMN(value));
	struct estimate estimate = estimate_median(values, cell->runs);
	struct row row = {.setting = &plan->setting,
			  .workload = part->workload,
			  .part = part,
			  .cell = cell,
			  .value = median_interval(values, cell->runs),
			  .spread = estimate.error / estimate.value};

	free(values);
	return row;
}

/* Best first. */
static int by_value(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int more = (x->value.median < y->value.median) -
		   (x->value.median > y->value.median);

	return x->workload->less_is_better ? -more : more;
}

/* Makes ranked rows of the cells that have samples. */
static size_t rank(const struct bench_plan *plan, const struct bench_part *part,
		   size_t first, size_t count, struct row *rows)
{
	size_t i, n = 0;

	for (i = first; i < first + count; i++)
		if (part->cells[i].runs > 0)
			rows[n++] = make_row(plan, part, &part->cells[i]);
	qsort(rows, n, sizeof(*rows), by_value);
	return n;
}

/* The row that the others are compared with: pthread if it is there, else the last. */
static const struct row *find_reference(const struct row *rows, size_t n)
{
	const char *name = rows->workload->reference;
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(rows[i].cell->subject->name, name ? name : "pthread") == 0)
			return &rows[i];
	return &rows[n - 1];
}

static void print_setting(const struct bench_setting *setting)
{
	if (setting->beside > 0)
		printf(", beside %d", setting->beside);
	if (setting->quota > 0)
		printf(", quota %d %%", setting->quota);
}

static void print_heading(const struct row *rows)
{
	printf("%s, %d thread%s", rows->workload->name, rows->cell->threads,
	       rows->cell->threads == 1 ? "" : "s");
	if (rows->workload->writes > 0)
		printf(", writes %g %%", rows->part->shape.writes);
	print_setting(rows->setting);
}

/* Prints a blank for a figure that is not available. */
static void print_figure(int width, int digits, double figure)
{
	if (isnan(figure))
		printf(" %*s", width, "-");
	else
		printf(" %*.*f", width, digits, figure);
}

static void print_rows(const struct row *rows, size_t n)
{
	const struct row *reference = find_reference(rows, n);
	const struct workload *workload = rows->workload;
	bool rate = strcmp(workload->unit, "ops/s") == 0;
	size_t i, f;

	print_heading(rows);
	printf("\n  %-20s %12s %8s %9s", "lock", rate ? "million/s" : workload->unit,
	       "spread", "fairness");
	for (f = 0; f < WORKLOAD_FIGURES && workload->figures[f] != NULL; f++)
		printf(" %16s", workload->figures[f]);
	printf("   times %s\n", reference->cell->subject->name);
	for (i = 0; i < n; i++) {
		const struct bench_cell *cell = rows[i].cell;
		struct interval times = interval_ratio(rows[i].value, reference->value);

		double value = rows[i].value.median / (rate ? 1e6 : 1);

		printf("  %-20s %12.*f %6.1f %%", cell->subject->name,
		       value < 0.1 ? 5 : 3, value, 100 * rows[i].spread);
		print_figure(9, 2, median_of(cell, COLUMN(fairness)));
		for (f = 0; f < WORKLOAD_FIGURES && workload->figures[f] != NULL; f++)
			print_figure(16, 2, median_of(cell, COLUMN(figures[f])));
		printf(" %7.2f", &rows[i] == reference ? 1.0 : times.median);
		if (&rows[i] != reference)
			printf(" (%.2f to %.2f)", times.low, times.high);
		printf("\n");
	}
	printf("\n");
}

/* The cost of waiting: latency for the waiter, CPU time for the machine. */
static void print_waits(const struct row *rows, size_t n)
{
	size_t i;

	if (!rows->cell->timed)
		return;
	print_heading(rows);
	printf(", waits in ns\n");
	printf("  %-20s %9s %9s %9s %11s %10s %11s\n", "lock", "p50", "p99", "p99.9",
	       "max", "CPU ns/op", "switches/s");
	for (i = 0; i < n && rows[i].cell->timed; i++) {
		const struct bench_cell *cell = rows[i].cell;

		printf("  %-20s %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %11" PRIu64
		       " %10.1f %11.0f\n",
		       cell->subject->name, waits_percentile(&cell->waits, 0.5),
		       waits_percentile(&cell->waits, 0.99),
		       waits_percentile(&cell->waits, 0.999), cell->waits.longest,
		       median_of(cell, COLUMN(cpu_ns)),
		       median_of(cell, COLUMN(switches)));
	}
	printf("\n");
}

/* The number of rows whose intervals overlap the first. */
static size_t count_alike(const struct row *rows, size_t n)
{
	size_t i, alike = 0;

	for (i = 1; i < n; i++)
		alike += !intervals_differ(rows[0].value, rows[i].value);
	return alike;
}

static void print_alike(const struct row *rows, size_t n)
{
	const char *before = "; no difference from ";
	size_t i;

	if (n > 2 && count_alike(rows, n) == n - 1) {
		printf("%sany other", before);
		return;
	}
	for (i = 1; i < n; i++)
		if (!intervals_differ(rows[0].value, rows[i].value)) {
			printf("%s%s", before, rows[i].cell->subject->name);
			before = ", ";
		}
}

static double least_confidence(const struct row *rows, size_t n)
{
	double least = 1;
	size_t i;

	for (i = 0; i < n; i++)
		least = fmin(least, rows[i].value.confidence);
	return least;
}

/* The winner, or a tie; and by how much it differs from the reference. */
static void print_sentence(const struct row *rows, size_t n)
{
	const struct row *reference = find_reference(rows, n);
	struct interval times = interval_ratio(rows[0].value, reference->value);

	print_heading(rows);
	if (n == 1) {
		printf(": nothing to compare %s with\n", rows->cell->subject->name);
		return;
	}
	if (least_confidence(rows, n) <= 0) {
		printf(": too few runs to rank; 6 of each are enough\n");
		return;
	}
	printf(": %s %s", rows[0].cell->subject->name,
	       count_alike(rows, n) == 0 ? "first" : "leads");
	if (intervals_differ(rows[0].value, reference->value))
		printf(", %.2f (%.2f to %.2f) times %s", times.median, times.low,
		       times.high, reference->cell->subject->name);
	print_alike(rows, n);
	printf(" (%.0f %% confidence)\n", floor(100 * least_confidence(rows, n)));
}

/* Intervals too wide to rank, over all groups. */
static struct {
	size_t groups, wide;
	const struct workload *workload; /* the widest */
	const struct bench_cell *cell;
	double spread;
} errors;

static void gather_errors(const struct row *rows, size_t n)
{
	double widest = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		widest = fmax(widest, rows[i].spread);
		if (rows[i].spread > errors.spread) {
			errors.workload = rows->workload;
			errors.cell = rows[i].cell;
			errors.spread = rows[i].spread;
		}
	}
	errors.groups++;
	errors.wide += widest > widest_error;
}

static void warn_of_errors(const char *remedy)
{
	if (errors.wide > 0)
		warn("spread above %.0f %% in %zu of %zu tables (worst: %s, %s, %d "
		     "thread%s: %.0f %%), too wide to rank all; %s",
		     100 * widest_error, errors.wide, errors.groups,
		     errors.workload->name, errors.cell->subject->name,
		     errors.cell->threads, errors.cell->threads == 1 ? "" : "s",
		     100 * errors.spread, remedy);
}

/* The number of cells from here on with the same number of threads. */
static size_t group_size(const struct bench_part *part, size_t first)
{
	size_t n = 1;

	while (first + n < part->count &&
	       part->cells[first + n].threads == part->cells[first].threads)
		n++;
	return n;
}

/* Calls show() for each group of equal thread counts that was measured. */
static void each_group(const struct bench_plan *plan,
		       void (*show)(const struct row *rows, size_t n))
{
	size_t i, first, n, count;

	for (i = 0; i < plan->count; i++) {
		const struct bench_part *part = &plan->parts[i];

		for (first = 0; first < part->count; first += count) {
			struct row *rows;

			count = group_size(part, first);
			rows = calloc(count, sizeof(*rows));
			if (rows == NULL)
				give_up("out of memory");
			n = rank(plan, part, first, count, rows);
			if (n > 0)
				show(rows, n);
			free(rows);
		}
	}
}

void report_bench(const struct bench_plan *plan, int cpus)
{
	each_group(plan, print_rows);
	each_group(plan, print_waits);
	fflush(stdout);
	each_group(plan, gather_errors);
	warn_of_errors(noise_remedy(&plan->noise, cpus));
	each_group(plan, print_sentence);
}

/* The grid: one subject against the best of the others. */

struct grid_line {
	uint32_t cs, ncs;
	int threads;
	const char *peer;
	struct interval times; /* relative to the best peer */
};

static struct {
	size_t count;
	struct grid_line *lines;
} grid;

/* The row of the plan's first subject; NULL if it was not measured. */
static const struct row *find_first(const struct row *rows, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (rows[i].cell->subject == rows[i].part->cells->subject)
			return &rows[i];
	return NULL;
}

static double longest_ms(const struct row *row)
{
	return row->cell->timed ? 1e-6 * (double)row->cell->waits.longest : NAN;
}

static void print_grid_line(const struct row *rows, size_t n)
{
	const struct row *ours = find_first(rows, n);
	const struct row *best = ours == rows ? rows + 1 : rows, *reference;
	struct grid_line *line;

	if (ours == NULL || n < 2)
		return;
	reference = find_reference(rows, n);
	line = &grid.lines[grid.count++];
	*line = (struct grid_line){ours->part->shape.cs, ours->part->shape.ncs,
				   ours->cell->threads, best->cell->subject->name,
				   interval_ratio(ours->value, best->value)};
	printf("%5u %5u %4d %9.3f %6.2f (%.2f to %.2f) %-11s", line->cs, line->ncs,
	       line->threads, ours->value.median / 1e6, line->times.median,
	       line->times.low, line->times.high, line->peer);
	print_figure(8, 2, median_of(ours->cell, COLUMN(fairness)));
	print_figure(8, 2, longest_ms(ours));
	print_figure(8, 2, longest_ms(reference));
	print_figure(8, 1, median_of(ours->cell, COLUMN(cpu_ns)));
	print_figure(8, 1, median_of(best->cell, COLUMN(cpu_ns)));
	printf("\n");
}

static int by_times(const void *a, const void *b)
{
	double x = ((const struct grid_line *)a)->times.median;
	double y = ((const struct grid_line *)b)->times.median;

	return (x > y) - (x < y);
}

static size_t cells_in(const struct bench_plan *plan)
{
	size_t i, cells = 0;

	for (i = 0; i < plan->count; i++)
		cells += plan->parts[i].count;
	return cells;
}

void report_grid(const struct bench_plan *plan, int cpus)
{
	enum { WORST = 5 };
	const char *ours = plan->parts->cells->subject->name;
	size_t i;

	grid.lines = calloc(cells_in(plan), sizeof(*grid.lines));
	if (grid.lines == NULL)
		give_up("out of memory");
	printf("%s", ours);
	print_setting(&plan->setting);
	printf(" times the best of the others; waits in ms, and pthread's; CPU time in "
	       "ns, and that of the best\n");
	printf("%5s %5s %4s %9s %6s %-14s %-11s %8s %8s %8s %8s %8s\n", "cs", "ncs", "T",
	       "million/s", "times", "(interval)", "best", "fairness", "longest",
	       "pthread", "CPU ns", "best");
	each_group(plan, print_grid_line);
	fflush(stdout);
	each_group(plan, gather_errors);
	warn_of_errors(noise_remedy(&plan->noise, cpus));
	qsort(grid.lines, grid.count, sizeof(*grid.lines), by_times);
	for (i = 0; i < grid.count && i < WORST; i++)
		printf("%s cs %u, ncs %u, %d thread%s: %.2f (%.2f to %.2f) times %s\n",
		       i == 0 ? "worst:" : "      ", grid.lines[i].cs, grid.lines[i].ncs,
		       grid.lines[i].threads, grid.lines[i].threads == 1 ? "" : "s",
		       grid.lines[i].times.median, grid.lines[i].times.low,
		       grid.lines[i].times.high, grid.lines[i].peer);
	free(grid.lines);
	grid.lines = NULL;
	grid.count = 0;
}

/* JSON. */

static json_t *describe_waits(const struct waits *waits)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "p50",
			 (json_int_t)waits_percentile(waits, 0.5), "p99",
			 (json_int_t)waits_percentile(waits, 0.99), "p999",
			 (json_int_t)waits_percentile(waits, 0.999), "max",
			 (json_int_t)waits->longest);
}

static json_t *describe_figures(const struct workload *workload,
				const struct bench_cell *cell)
{
	json_t *figures = json_object();
	size_t f;

	for (f = 0; f < WORKLOAD_FIGURES && workload->figures[f] != NULL; f++)
		json_object_set_new(figures, workload->figures[f],
				    number_or_null(median_of(cell, COLUMN(figures[f]))));
	return figures;
}

static json_t *describe_samples(const double *values, size_t count)
{
	json_t *samples = json_array();
	size_t i;

	for (i = 0; i < count; i++)
		json_array_append_new(samples, json_real(values[i]));
	return samples;
}

/* Adds the samples of the figure `name`, unless a run has none. */
static void add_spread(json_t *spreads, const char *name, const struct bench_cell *cell,
		       size_t offset)
{
	double *values = column(cell, offset);
	struct interval interval = median_interval(values, cell->runs);
	bool all = true;
	size_t i;

	for (i = 0; i < cell->runs; i++)
		all &= isfinite(values[i]);
	if (all)
		json_object_set_new(spreads, name,
				    json_pack("{s:f, s:f, s:f, s:o}", "low", interval.low,
					      "high", interval.high, "confidence",
					      interval.confidence, "samples",
					      describe_samples(values, cell->runs)));
	free(values);
}

static json_t *describe_spreads(const struct workload *workload,
				const struct bench_cell *cell)
{
	json_t *spreads = json_object(), *figures = json_object();
	size_t f;

	add_spread(spreads, "fairness", cell, COLUMN(fairness));
	add_spread(spreads, "cpu_ns_per_op", cell, COLUMN(cpu_ns));
	add_spread(spreads, "context_switches_per_s", cell, COLUMN(switches));
	for (f = 0; f < WORKLOAD_FIGURES && workload->figures[f] != NULL; f++)
		add_spread(figures, workload->figures[f], cell, COLUMN(figures[f]));
	json_object_set_new(spreads, "figures", figures);
	return spreads;
}

json_t *describe_setting(const struct bench_setting *setting)
{
	return json_pack("{s:i, s:o}", "beside", setting->beside, "quota_percent",
			 setting->quota > 0 ? json_integer(setting->quota) : json_null());
}

static json_t *describe_row(const struct bench_part *part, const struct row *row)
{
	const struct bench_cell *cell = row->cell;
	const struct workload *workload = part->workload;
	double *values = column(cell, COLUMN(value));
	json_t *result = json_pack(
		"{s:s, s:s, s:i, s:I, s:I, s:f, s:s, s:s, s:f, s:{s:f, s:f, s:f}, s:o}",
		"workload", workload->name, "lock", cell->subject->name, "threads",
		cell->threads, "cs", (json_int_t)part->shape.cs, "ncs",
		(json_int_t)part->shape.ncs, "seconds", part->shape.seconds, "unit",
		workload->unit, "better", workload->less_is_better ? "less" : "more",
		"median", row->value.median, "interval", "low", row->value.low, "high",
		row->value.high, "confidence", row->value.confidence, "samples",
		describe_samples(values, cell->runs));

	free(values);
	if (part->shape.capacity > 0)
		json_object_update_new(
			result, json_pack("{s:I, s:I}", "producers",
					  (json_int_t)part->shape.producers, "capacity",
					  (json_int_t)part->shape.capacity));
	if (workload->writes > 0)
		json_object_set_new(result, "writes_percent",
				    json_real(part->shape.writes));
	json_object_update_new(result, describe_setting(row->setting));
	json_object_set_new(result, "warm_up", json_real(part->shape.warm_up));
	json_object_set_new(result, "spread", number_or_null(row->spread));
	json_object_set_new(result, "median_ops_per_s",
			    number_or_null(median_of(cell, COLUMN(ops_per_s))));
	json_object_set_new(result, "fairness",
			    number_or_null(median_of(cell, COLUMN(fairness))));
	json_object_set_new(result, "cpu_ns_per_op",
			    number_or_null(median_of(cell, COLUMN(cpu_ns))));
	json_object_set_new(result, "context_switches_per_s",
			    number_or_null(median_of(cell, COLUMN(switches))));
	json_object_set_new(result, "steal_percent",
			    json_real(steal_percent(cell->ticks)));
	json_object_set_new(result, "figures", describe_figures(workload, cell));
	json_object_set_new(result, "spreads", describe_spreads(workload, cell));
	if (cell->timed)
		json_object_set_new(result, "wait_ns", describe_waits(&cell->waits));
	return result;
}

json_t *describe_bench(const struct bench_plan *plan)
{
	json_t *list = json_array();
	size_t i, j;

	for (i = 0; i < plan->count; i++)
		for (j = 0; j < plan->parts[i].count; j++) {
			const struct bench_part *part = &plan->parts[i];
			struct row row;

			if (part->cells[j].runs == 0)
				continue;
			row = make_row(plan, part, &part->cells[j]);
			json_array_append_new(list, describe_row(part, &row));
		}
	return list;
}
