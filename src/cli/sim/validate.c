/* SPDX-License-Identifier: MIT */
/*
 * Validates the simulator on this machine: measures the latencies of two CPUs, makes a
 * machine of them, and compares its prediction for every lock with the measured rate.
 */
#include "cli/sim/validate.h"

#include "cli/common/context.h"
#include "cli/common/interrupt.h"
#include "cli/sim/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	THREADS = MEASURE_THREADS,
	POLLS = 65536, /* polls of a waiter on a hint before its timeout */
	NEAR = 30,     /* percent: error of a good prediction */
};

struct row {
	const char *lock;
	double predicted;
	struct measured measured;
};

static void set_key(struct machine *m, const char *key, double value)
{
	char text[32], error[ERROR_SIZE];

	snprintf(text, sizeof(text), "%.3f", fmax(value, 0.001));
	if (!machine_set(m, key, text, error, sizeof(error)))
		give_up("%s", error);
}

void validate_machine(struct machine *m, const struct latencies *l)
{
	static const char shape[] =
		"sockets = 1\nclusters = 1\ncores = 2\nsmt = 1\n"
		"protocol = moesi\nsettle = 0\nbatch = 0\n"
		"acknowledge = 0\nmigrate = 0\nbuffer = 32\n"
		"fetches = 1\nloads = 0\nwindow = 0\nahead = 0\n"
		"foresee = 0\nadjacent = 0\nspread = 0\nhome = 0\npause = 0\nflush = "
		"0\nhit = 1\nrmw = 1\n"
		"core = 1\ncluster = 1\nsocket = 1\nremote = 1\n"
		"memory = 1\ndirectory = 1\ninvalidate = 1\npoll = 1\n"
		"look = 1\nstep = 1\n";
	static const char *const ways[] = {"cluster", "socket", "remote", "memory"};
	double way = l->transfer - l->load, work = LATENCIES_WORK * l->step;
	unsigned at_once = (unsigned)fmin(round(l->transfer / l->loads),
					  MACHINE_MAX_LOADS);
	char error[ERROR_SIZE];
	size_t i;

	if (!machine_parse(m, "here", shape, error, sizeof(error)))
		give_up("%s", error);
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		set_key(m, ways[i], way);
	set_key(m, "hit", l->load);
	set_key(m, "core", l->load);
	set_key(m, "poll", l->load);
	set_key(m, "rmw", l->rmw);
	set_key(m, "pause", l->pause);
	set_key(m, "step", l->step);
	set_key(m, "look", POLLS * (l->load + l->pause));
	set_key(m, "directory", 0);
	/* Four messages, and the cost of each copy; a message is a third of a transfer. */
	set_key(m, "invalidate", l->upgrade - l->rmw - way * 4 / 3);
	m->migrate = l->take < l->transfer / 2;
	m->fetches = (unsigned)fmin(fmax(round(l->transfer / l->stores), 1),
				    MACHINE_MAX_FETCHES);
	/* The interquartile range of a uniform distribution in +-1 is 1. */
	m->spread = (unsigned)fmin(round(100 * l->spread), MACHINE_MAX_SPREAD);
	/* Whether the two transfers overlap. */
	m->ahead = l->behind - work < l->transfer * 3 / 2;
	if (m->ahead) {
		m->loads = at_once;
		set_key(m, "window", work);
	}
	m->foresee = l->after < l->transfer * 3 / 2 ? at_once : 0;
}

void validate_prepare(struct request *request)
{
	static const struct latencies any = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0};

	if (request->machine_name != NULL)
		refuse("--machine: validate measures this machine; remove it, or change "
		       "a key by --set");
	if (request->threads.count != 0 &&
	    (request->threads.count > 1 || request->threads.values[0] != THREADS))
		refuse("--threads: validate has two threads; remove it");
	if (usable_cpus() < THREADS)
		refuse("--preset: validate needs two CPUs, and this process may use one; "
		       "use another machine, or allow more");
	validate_machine(&request->machine, &any);
}

static void print_machine(const struct latencies *l, const struct machine *m)
{
	printf("latencies here, ns: line from the other CPU %.1f, load %.2f, store and "
	       "load "
	       "%.2f,\n"
	       "read-modify-write %.2f (of a line just read from the other CPU %.1f, of "
	       "one "
	       "that\n"
	       "both have %.1f), of many lines from the other CPU a load %.1f, a store "
	       "%.1f,\n"
	       "load and read-modify-write of two %.1f, the reverse %.1f, pause %.1f, "
	       "step %.2f\n"
	       "machine: migrate %u, ahead %u, loads %u, fetches %u, foresee %u, spread "
	       "%u, "
	       "invalidate %.2f\n\n",
	       l->transfer, l->load, l->forward, l->rmw, l->take, l->upgrade, l->loads,
	       l->stores, l->behind, l->after, l->pause, l->step, m->migrate, m->ahead,
	       m->loads, m->fetches, m->foresee, m->spread,
	       machine_time(m, "invalidate"));
}

static double error_of(const struct row *row)
{
	return 100 * (row->predicted / row->measured.ns - 1);
}

static int by_measured(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return (x->measured.ns > y->measured.ns) - (x->measured.ns < y->measured.ns);
}

/* Summary of the table. */
struct verdict {
	double correlation; /* rank correlation */
	size_t near;
};

static struct verdict print_rows(struct row *rows, size_t count)
{
	double predicted[NAMES_MAX], measured[NAMES_MAX];
	struct verdict verdict = {0, 0};
	size_t i;

	qsort(rows, count, sizeof(*rows), by_measured);
	printf("mutex, %d threads, ns per episode\n", THREADS);
	printf("  %-20s %10s %10s %8s %8s\n", "lock", "predicted", "measured", "+-",
	       "error");
	for (i = 0; i < count; i++) {
		printf("  %-20s %10.1f %10.1f %8.1f %+7.0f %%\n", rows[i].lock,
		       rows[i].predicted, rows[i].measured.ns, rows[i].measured.spread,
		       error_of(&rows[i]));
		predicted[i] = rows[i].predicted;
		measured[i] = rows[i].measured.ns;
		verdict.near += fabs(error_of(&rows[i])) <= NEAR;
	}
	verdict.correlation = rank_correlation(predicted, measured, count);
	printf("\nRank correlation %.2f; %zu of %zu within %d %%.\n", verdict.correlation,
	       verdict.near, count, NEAR);
	return verdict;
}

static json_t *describe_machine(const struct machine *m)
{
	json_t *keys = json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "migrate",
				 (int)m->migrate, "ahead", (int)m->ahead, "buffer",
				 (int)m->buffer, "fetches", (int)m->fetches, "loads",
				 (int)m->loads, "foresee", (int)m->foresee, "spread",
				 (int)m->spread);
	const char *const *key;

	for (key = machine_times(); *key != NULL; key++)
		json_object_set_new(keys, *key, json_real(machine_time(m, *key)));
	return keys;
}

static json_t *describe_latencies(const struct latencies *l)
{
	return json_pack(
		"{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}",
		"load", l->load, "forward", l->forward, "rmw", l->rmw, "pause", l->pause,
		"step", l->step, "transfer", l->transfer, "take", l->take, "upgrade",
		l->upgrade, "loads", l->loads, "stores", l->stores, "behind", l->behind,
		"after", l->after, "spread", l->spread);
}

static json_t *describe_row(const struct row *row)
{
	return json_pack("{s:s, s:i, s:f, s:f, s:f, s:f, s:I}", "lock", row->lock,
			 "threads", THREADS, "predicted_ns", row->predicted,
			 "measured_ns", row->measured.ns, "spread_ns",
			 row->measured.spread, "error_percent", error_of(row), "runs",
			 (json_int_t)row->measured.runs);
}

static void write_json(const struct request *request, json_t *context,
		       const struct latencies *l, const struct row *rows, size_t count,
		       struct verdict verdict)
{
	json_t *results = json_array();
	size_t i;

	for (i = 0; i < count; i++)
		json_array_append_new(results, describe_row(&rows[i]));
	write_result_file(json_pack(
		"{s:i, s:s, s:o, s:{s:i, s:i, s:f}, s:o, s:o, s:o, s:o, s:f}", "schema",
		1, "tool", "sim-validate", "context", context, "load", "cs", request->cs,
		"ncs", request->ncs, "seconds", MEASURE_SECONDS, "latencies",
		describe_latencies(l), "machine", describe_machine(&request->machine),
		"results", results, "rank_correlation",
		number_or_null(verdict.correlation), "within_30_percent",
		count == 0 ? 0 : (double)verdict.near / (double)count));
}

/* Predicts each lock; the rows are the locks that were measured. */
static size_t fill_rows(const struct request *request, const struct measured *measured,
			struct row *rows)
{
	size_t count, i, filled = 0;
	struct cell *cells = cells_make(request, &count);
	size_t done = cells_simulate(cells, count, request);

	for (i = 0; i < done; i++) {
		const char *lock = request->locks.list[i];

		if (measured[i].runs == 0)
			warn("%s was not measured: each of its runs was disturbed; raise "
			     "--runs",
			     lock);
		else
			rows[filled++] = (struct row){lock, 1e9 / cells[i].rate.value,
						      measured[i]};
	}
	cells_free(cells, count);
	return filled;
}

int validate_main(struct request *request, int argc, char **argv)
{
	const struct measure_setup setup = {request->locks.list,   request->locks.count,
					    (uint32_t)request->cs, (uint32_t)request->ncs,
					    (size_t)request->runs, request->seed};
	json_t *context = describe_context(argc, argv);
	struct measured measured[NAMES_MAX];
	struct row rows[NAMES_MAX];
	struct verdict verdict;
	struct latencies l;
	size_t count;

	print_context(context);
	if (!measure_here(&setup, &l, measured)) {
		json_decref(context);
		warn("interrupted; nothing compared");
		return EXIT_INTERRUPTED;
	}
	validate_machine(&request->machine, &l);
	if (request->changes != NULL)
		each_item("set", request->changes, request_change, &request->machine);
	print_machine(&l, &request->machine);
	count = fill_rows(request, measured, rows);
	verdict = print_rows(rows, count);
	if (request->json != NULL)
		write_json(request, context, &l, rows, count, verdict);
	else
		json_decref(context);
	return 0;
}
