/* SPDX-License-Identifier: MIT */
/* The cells of the table of pawl sim: simulation, ranking, output. */
#include "cli/common/interrupt.h"
#include "cli/sim/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const workload_names[] = {"mutex", "multiwait", "diameter", "ring",
					     "readers"};

struct cell *cells_make(const struct request *request, size_t *count)
{
	size_t variants = request->preset->placements ? 3 : 1;
	size_t t, v, l, n = 0;
	struct cell *cells;

	*count = variants * request->threads.count * request->locks.count;
	cells = calloc(*count, sizeof(*cells));
	if (cells == NULL)
		give_up("out of memory");
	for (t = 0; t < request->threads.count; t++)
		for (v = 0; v < variants; v++)
			for (l = 0; l < request->locks.count; l++, n++) {
				struct cell *cell = &cells[n];
				struct workload_setup *setup = &cell->setup;
				int at = variants > 1 ? (int)v : request->thread_homes;

				snprintf(cell->workload, sizeof(cell->workload), "%s%s%s",
					 workload_names[request->preset->workload],
					 variants > 1 ? "-" : "",
					 variants > 1 ? request_thread_homes[v] : "");
				setup->workload = request->preset->workload;
				setup->lock = request->locks.list[l];
				setup->cs = (uint64_t)request->cs;
				setup->ncs = (uint64_t)request->ncs;
				setup->episodes = (uint64_t)request->episodes;
				setup->private_data = request->private_data;
				setup->explicit_face = request->explicit_face;
				setup->engine.machine = &request->machine;
				setup->engine.threads =
					(unsigned)request->threads.values[t];
				setup->engine.homes = (enum homes)request->homes;
				setup->engine.thread_homes = (enum thread_homes)at;
				setup->engine.placement =
					(enum placement)request->placement;
				setup->engine.pairs = request->pairs;
				setup->engine.stop = was_interrupted;
				cell->rates = calloc((size_t)request->runs,
						     sizeof(double));
				if (cell->rates == NULL)
					give_up("out of memory; lower --runs");
			}
	return cells;
}

static void add_run(struct cell *cell, const struct workload_result *result)
{
	cell->rates[cell->runs++] = result->ops_per_s;
	cell->mean.fairness += result->fairness;
	cell->mean.misses += result->misses;
	cell->mean.invalidations += result->invalidations;
	cell->mean.remote_misses += result->remote_misses;
	cell->mean.rmws += result->rmws;
}

static void sum_up(struct cell *cell)
{
	double runs = (double)cell->runs;

	cell->mean.fairness /= runs;
	cell->mean.misses /= runs;
	cell->mean.invalidations /= runs;
	cell->mean.remote_misses /= runs;
	cell->mean.rmws /= runs;
	cell->rate = estimate_median(cell->rates, cell->runs);
}

static void show(size_t done, size_t count)
{
	show_progress(done, count, "simulated");
}

size_t cells_simulate(struct cell *cells, size_t count, const struct request *request)
{
	size_t i, run, runs = (size_t)request->runs;
	struct workload_setup *setups = calloc(count * runs, sizeof(*setups));
	struct workload_result *results = calloc(count * runs, sizeof(*results));

	if (setups == NULL || results == NULL)
		give_up("out of memory; lower --runs");
	for (i = 0; i < count * runs; i++) {
		setups[i] = cells[i / runs].setup;
		setups[i].engine.seed = request->seed + i % runs;
	}
	workload_run_all(setups, results, count * runs, (unsigned)request->jobs, show);
	end_progress();
	for (i = 0; i < count; i++) {
		for (run = 0; run < runs; run++)
			if (results[i * runs + run].ops_per_s > 0) /* not interrupted */
				add_run(&cells[i], &results[i * runs + run]);
		if (cells[i].runs == 0)
			break;
		sum_up(&cells[i]);
	}
	free(setups);
	free(results);
	return i;
}

/* Groups of equal workload and threads, in the order of simulation. */
static size_t group_end(const struct cell *cells, size_t count, size_t start)
{
	size_t end = start + 1;

	while (end < count && strcmp(cells[end].workload, cells[start].workload) == 0 &&
	       cells[end].setup.engine.threads == cells[start].setup.engine.threads)
		end++;
	return end;
}

static int by_rate(const void *a, const void *b)
{
	const struct cell *x = *(const struct cell *const *)a;
	const struct cell *y = *(const struct cell *const *)b;

	if (x->rate.value != y->rate.value)
		return x->rate.value < y->rate.value ? 1 : -1;
	return strcmp(x->setup.lock, y->setup.lock);
}

static void print_group(const struct cell *cells, size_t n, bool last)
{
	const struct cell *order[NAMES_MAX];
	struct estimate ratio;
	size_t i;

	for (i = 0; i < n; i++)
		order[i] = &cells[i];
	qsort(order, n, sizeof(order[0]), by_rate);
	printf("%s, %u thread%s\n", cells->workload, cells->setup.engine.threads,
	       cells->setup.engine.threads == 1 ? "" : "s");
	printf("  %-20s %10s %8s %8s %8s %8s %8s %8s\n", "lock", "M/s", "+-", "fairness",
	       "misses", "inval.", "remote", "RMWs");
	for (i = 0; i < n; i++) {
		const struct cell *cell = order[i];

		printf("  %-20s %10.3f %8.3f %8.2f %8.2f %8.2f %8.2f %8.2f\n",
		       cell->setup.lock, cell->rate.value / 1e6, cell->rate.error / 1e6,
		       cell->mean.fairness, cell->mean.misses, cell->mean.invalidations,
		       cell->mean.remote_misses, cell->mean.rmws);
	}
	printf("\n");
	if (!last || n < 2)
		return;
	ratio = estimate_ratio(order[0]->rate, order[n - 1]->rate);
	printf("With %u threads %s is %.2f +- %.2f times as fast as %s.\n",
	       cells->setup.engine.threads, order[0]->setup.lock, ratio.value,
	       ratio.error, order[n - 1]->setup.lock);
}

void cells_report(const struct cell *cells, size_t count)
{
	size_t start, end;

	for (start = 0; start < count; start = end) {
		end = group_end(cells, count, start);
		print_group(cells + start, end - start, end == count);
	}
}

static json_t *describe(const struct cell *cell)
{
	json_t *samples = json_array();
	size_t i;

	for (i = 0; i < cell->runs; i++)
		json_array_append_new(samples, json_real(cell->rates[i]));
	return json_pack("{s:s, s:s, s:i, s:I, s:I, s:s, s:f, s:o, s:f, "
			 "s:{s:f, s:f, s:f, s:f}}",
			 "workload", cell->workload, "lock", cell->setup.lock, "threads",
			 (int)cell->setup.engine.threads, "cs",
			 (json_int_t)cell->setup.cs, "ncs", (json_int_t)cell->setup.ncs,
			 "machine", cell->setup.engine.machine->name, "median_ops_per_s",
			 cell->rate.value, "samples", samples, "fairness",
			 cell->mean.fairness, "per_episode", "misses", cell->mean.misses,
			 "invalidations", cell->mean.invalidations, "remote_misses",
			 cell->mean.remote_misses, "rmw", cell->mean.rmws);
}

/* Without anything that differs between two runs: same input, same bytes. */
static json_t *describe_request(const struct request *request)
{
	return json_pack(
		"{s:s, s:s, s:s, s:i, s:s, s:I, s:i, s:i, s:b, s:b, s:b, s:s, s:s, s:s}",
		"version", PAWL_VERSION, "preset", request->preset->name, "machine",
		request->machine.name, "cpus", (int)machine_cpus(&request->machine),
		"protocol", machine_protocols[request->machine.protocol], "seed",
		(json_int_t)request->seed, "runs", request->runs, "episodes",
		request->episodes, "private_data", request->private_data, "explicit_face",
		request->explicit_face, "pairs", request->pairs, "homes",
		request_homes[request->homes], "thread_homes",
		request->preset->placements ? "each"
					    : request_thread_homes[request->thread_homes],
		"placement", request_placements[request->placement]);
}

void cells_write_json(const struct request *request, const struct cell *cells,
		      size_t count)
{
	json_t *results = json_array(), *context = describe_request(request);
	size_t i;

	for (i = 0; i < count; i++)
		json_array_append_new(results, describe(&cells[i]));
	if (was_interrupted())
		json_object_set_new(context, "interrupted", json_true());
	write_result_file(json_pack("{s:i, s:s, s:o, s:o}", "schema", 1, "tool", "sim",
				    "context", context, "results", results));
}

void cells_free(struct cell *cells, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		free(cells[i].rates);
	free(cells);
}
