/* SPDX-License-Identifier: MIT */
/* pawl sim: locks on machines that are not here. */
#include "cli/commands.h"
#include "cli/common/interrupt.h"
#include "cli/common/locks.h"
#include "cli/common/options.h"
#include "cli/common/output.h"
#include "cli/common/stats.h"

#include <sim/coherence/workload.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAMES_MAX = 64, ERROR_SIZE = 256, UNSET = -1 };

struct names {
	size_t count;
	const char *list[NAMES_MAX];
};

/* The papers' experiments. What is given on the command line comes first. */
static const struct preset {
	const char *name, *about;
	enum workload workload;
	const char *machine, *locks; /* NULL: the default, all */
	struct numbers threads;	     /* none: the default */
	int cs, ncs, episodes;
	bool private_data, explicit_face, placements;
} presets[] = {
	{.name = "max",
	 .about = "MutexBench, nothing outside of the critical section",
	 .cs = 1,
	 .episodes = 20000},
	{.name = "moderate",
	 .about = "MutexBench, up to 250 steps outside of it",
	 .cs = 1,
	 .ncs = 250,
	 .episodes = 20000},
	{.name = "table2",
	 .about = "misses in an episode (Hapax paper, Table 2)",
	 .machine = "altra-128",
	 .locks = "mcs,clh,hemlock-ctr,ticket,twa,reciprocating,tidex,hapax,hapax-vw",
	 .threads = {3, {10, 20, 40}},
	 .cs = 60,
	 .ncs = 2100,
	 .episodes = 20000,
	 .private_data = true,
	 .explicit_face = true},
	{.name = "multiwait",
	 .about = "a leader takes ten locks, the others one (Hemlock paper, 5.6)",
	 .workload = WORKLOAD_MULTIWAIT,
	 .locks = "ticket,mcs,clh,hemlock,hemlock-ctr",
	 .episodes = 500},
	{.name = "diameter",
	 .about = "one writes, the others read (TWA paper, Fig. 1)",
	 .workload = WORKLOAD_DIAMETER,
	 .episodes = 20000},
	{.name = "ring",
	 .about = "a token goes round, by three ways to poll (Hemlock paper, 5.5)",
	 .workload = WORKLOAD_RING,
	 .episodes = 20000},
	{.name = "readers",
	 .about = "readers of a reader-writer lock, in each of its forms",
	 .workload = WORKLOAD_READERS,
	 .machine = "epyc-512",
	 .threads = {4, {1, 8, 64, 256}},
	 .episodes = 20000},
	{.name = "numa",
	 .about = "MutexBench, wait elements at home, away, and all on node 0",
	 .locks = "mcs,clh,hemlock-ctr,reciprocating",
	 .cs = 1,
	 .episodes = 20000,
	 .placements = true},
};

enum { PRESETS = sizeof(presets) / sizeof(presets[0]) };

static const char *const workload_names[] = {"mutex", "multiwait", "diameter", "ring",
					     "readers"};

struct request {
	const struct preset *preset;
	const char *machine_name, *locks_text, *json;
	struct machine machine;
	struct names locks;
	struct numbers threads;
	int cs, ncs, episodes, runs;
	uint64_t seed;
	bool private_data, explicit_face, pairs, list_machines;
	int protocol, homes, thread_homes, placement; /* or UNSET */
};

struct cell {
	char workload[32];
	struct workload_setup setup;
	struct workload_result mean; /* all but the rate; at first sums */
	size_t runs;		     /* how many of them there are yet */
	double *rates;
	struct estimate rate;
};

static const char *nth_preset(size_t i)
{
	return i < PRESETS ? presets[i].name : NULL;
}

static void parse_preset(const char *option, const char *text, void *into)
{
	size_t i;

	(void)option;
	for (i = 0; i < PRESETS; i++) {
		if (strcmp(presets[i].name, text) == 0) {
			*(const struct preset **)into = &presets[i];
			return;
		}
	}
	refuse_name("preset", text, nth_preset, "'pawl sim --help' lists them");
}

/* One of several words, as its number. */
static void choose(const char *option, const char *text, const char *const *words,
		   void *into)
{
	int i;

	for (i = 0; words[i] != NULL; i++) {
		if (strcmp(words[i], text) == 0) {
			*(int *)into = i;
			return;
		}
	}
	refuse("--%s: '%s' is neither %s nor %s%s%s", option, text, words[0], words[1],
	       words[2] == NULL ? "" : " nor ", words[2] == NULL ? "" : words[2]);
}

static const char *const protocols[] = {"mesi", "moesi", NULL};
static const char *const homes[] = {"first-touch", "address", NULL};
static const char *const thread_homes[] = {"own", "away", "zero", NULL};
static const char *const placements[] = {"cores", "spread", NULL};

static void parse_protocol(const char *option, const char *text, void *into)
{
	choose(option, text, protocols, into);
}

static void parse_homes(const char *option, const char *text, void *into)
{
	choose(option, text, homes, into);
}

static void parse_thread_homes(const char *option, const char *text, void *into)
{
	choose(option, text, thread_homes, into);
}

static void parse_placement(const char *option, const char *text, void *into)
{
	choose(option, text, placements, into);
}

static enum workload asked_workload; /* for the callbacks below */

static const char *nth_subject(size_t i)
{
	return workload_subjects(asked_workload)[i];
}

static void add_lock(const char *option, const char *name, void *into)
{
	struct names *names = into;
	const char *const *known = workload_subjects(asked_workload);
	size_t i;

	while (*known != NULL && strcmp(*known, name) != 0)
		known++;
	if (*known == NULL && asked_workload == WORKLOAD_RING)
		refuse("--%s: the ring polls by load, cas or fetch-add, not by '%s'",
		       option, name);
	if (*known == NULL && asked_workload == WORKLOAD_DIAMETER)
		refuse("--%s: the diameter is measured with fetch-add, not with '%s'",
		       option, name);
	if (*known == NULL && asked_workload == WORKLOAD_READERS)
		refuse("--%s: readers have rwlock, rwlock-fenced or rwlock-gated, not "
		       "'%s'",
		       option, name);
	if (*known == NULL && strchr(name, '+') != NULL)
		refuse("--%s: the waiters of '%s' sleep, and here every thread has a "
		       "CPU; leave out the '%s'",
		       option, name, strchr(name, '+'));
	if (*known == NULL)
		refuse_lock(name, nth_subject);
	for (i = 0; i < names->count; i++)
		if (strcmp(names->list[i], *known) == 0)
			return;
	if (names->count == NAMES_MAX)
		refuse("--%s: more than %d locks", option, NAMES_MAX);
	names->list[names->count++] = *known;
}

/* 1, 2, 5, 10 ... up to the number of CPUs, which comes last. */
static void default_threads(struct numbers *threads, int cpus)
{
	static const int steps[] = {1, 2, 5, 10, 20, 50, 100, 200, 500};
	size_t i;

	for (i = 0; i < sizeof(steps) / sizeof(steps[0]) && steps[i] < cpus; i++)
		threads->values[threads->count++] = steps[i];
	threads->values[threads->count++] = cpus;
}

static const char *nth_machine(size_t i)
{
	return machine_names[i];
}

static void load_machine(struct machine *machine, const char *name)
{
	char error[ERROR_SIZE];

	if (machine_load(machine, name, error, sizeof(error)))
		return;
	if (access(name, F_OK) != 0)
		refuse_name("machine", name, nth_machine,
			    "'pawl sim --list-machines' names them; or name a file that "
			    "describes one");
	refuse("--machine: %s", error);
}

static void fill_in(struct request *request)
{
	const struct preset *preset = request->preset;
	const char *const *name;
	const char *locks;
	int cpus;
	size_t i;

	if (request->machine_name == NULL)
		request->machine_name = preset->machine != NULL ? preset->machine
								: "intel-x5-2";
	load_machine(&request->machine, request->machine_name);
	if (request->protocol != UNSET)
		request->machine.protocol = (enum protocol)request->protocol;
	cpus = (int)machine_cpus(&request->machine);

	asked_workload = preset->workload;
	locks = request->locks_text != NULL ? request->locks_text : preset->locks;
	if (locks != NULL)
		each_item("locks", locks, add_lock, &request->locks);
	else
		for (name = workload_subjects(preset->workload); *name != NULL; name++) {
			const struct lock_type *type = lock_type_find(*name);

			if (type != NULL && type->parks)
				continue;
			add_lock("locks", *name, &request->locks);
		}
	if (request->threads.count == 0)
		request->threads = preset->threads;
	if (request->threads.count == 0)
		default_threads(&request->threads, cpus);
	for (i = 0; i < request->threads.count; i++)
		if (request->threads.values[i] > cpus)
			refuse("--threads: %s has %d CPUs, and every thread needs one; "
			       "ask for at most %d threads, or another --machine",
			       request->machine.name, cpus, cpus);
	if (request->cs == UNSET)
		request->cs = preset->cs;
	if (request->ncs == UNSET)
		request->ncs = preset->ncs;
	if (request->episodes == UNSET)
		request->episodes = preset->episodes;
	request->private_data |= preset->private_data;
	request->explicit_face |= preset->explicit_face;
}

static struct cell *make_cells(const struct request *request, size_t *count)
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
					 variants > 1 ? thread_homes[v] : "");
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

/* Until all is done, or interrupted. Returns how many cells have a run. */
static size_t simulate(struct cell *cells, size_t count, const struct request *request)
{
	size_t i, run, runs = (size_t)request->runs;

	for (i = 0; i < count && !was_interrupted(); i++) {
		struct cell *cell = &cells[i];

		for (run = 0; run < runs && !was_interrupted(); run++) {
			struct workload_result result;

			show_progress(i * runs + run, count * runs, "%s, %s, %u thread%s",
				      cell->workload, cell->setup.lock,
				      cell->setup.engine.threads,
				      cell->setup.engine.threads == 1 ? "" : "s");
			cell->setup.engine.seed = request->seed + run;
			result = workload_run(&cell->setup);
			if (!was_interrupted()) /* else cut short: no sample */
				add_run(cell, &result);
		}
		if (cell->runs == 0)
			break;
		sum_up(cell);
	}
	end_progress();
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

static void report(const struct cell *cells, size_t count)
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

/* Nothing that differs between two runs: same input, same bytes. */
static json_t *describe_request(const struct request *request)
{
	return json_pack(
		"{s:s, s:s, s:s, s:i, s:s, s:I, s:i, s:i, s:b, s:b, s:b, s:s, s:s, s:s}",
		"version", PAWL_VERSION, "preset", request->preset->name, "machine",
		request->machine.name, "cpus", (int)machine_cpus(&request->machine),
		"protocol", protocols[request->machine.protocol], "seed",
		(json_int_t)request->seed, "runs", request->runs, "episodes",
		request->episodes, "private_data", request->private_data, "explicit_face",
		request->explicit_face, "pairs", request->pairs, "homes",
		homes[request->homes], "thread_homes",
		request->preset->placements ? "each"
					    : thread_homes[request->thread_homes],
		"placement", placements[request->placement]);
}

static void write_json(const struct request *request, const struct cell *cells,
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

static int list_machines(void)
{
	char error[ERROR_SIZE];
	struct machine m;
	size_t i;

	for (i = 0; machine_names[i] != NULL; i++) {
		if (!machine_load(&m, machine_names[i], error, sizeof(error)))
			give_up("%s", error);
		printf("%-12s %3u CPUs: %u socket%s x %u cluster%s x %u cores x %u "
		       "thread%s, %s\n",
		       m.name, machine_cpus(&m), m.sockets, m.sockets == 1 ? "" : "s",
		       m.clusters, m.clusters == 1 ? "" : "s", m.cores, m.smt,
		       m.smt == 1 ? "" : "s", protocols[m.protocol]);
	}
	return 0;
}

int sim_main(int argc, char **argv)
{
	struct request request = {.preset = &presets[0],
				  .cs = UNSET,
				  .ncs = UNSET,
				  .episodes = UNSET,
				  .runs = 3,
				  .seed = 1,
				  .protocol = UNSET};
	const struct option_spec options[] = {
		{"machine", "M", "a machine by name, or a file that describes one",
		 parse_text, &request.machine_name},
		{"locks", "A,B", "the locks to compare (all that spin)", parse_text,
		 &request.locks_text},
		{"threads", "N,M", "numbers of threads (1, 2, 5, 10 ... up to the CPUs)",
		 parse_positives, &request.threads},
		{"cs", "N", "steps in the critical section (1)", parse_natural,
		 &request.cs},
		{"ncs", "N", "outside of it, a random number of steps in [0, N) (0)",
		 parse_natural, &request.ncs},
		{"preset", "NAME", "one of the experiments above (max)", parse_preset,
		 &request.preset},
		{"episodes", "N", "to be simulated in a run (20000)", parse_positive,
		 &request.episodes},
		{"runs", "R", "runs of each, with seeds N, N+1 ... (3)", parse_positive,
		 &request.runs},
		{"seed", "N", "of all random choices (1)", parse_seed, &request.seed},
		{"json", "FILE", "write the results to FILE; - is stdout", parse_text,
		 &request.json},
		{"private", NULL, "the critical section touches the thread's own data",
		 parse_flag, &request.private_data},
		{"explicit", NULL, "context is kept outside of the lock", parse_flag,
		 &request.explicit_face},
		{"pairs", NULL, "cache lines move in pairs of 64 bytes", parse_flag,
		 &request.pairs},
		{"protocol", "P", "mesi or moesi (the machine's)", parse_protocol,
		 &request.protocol},
		{"homes", "H", "of pages: first-touch or address (first-touch)",
		 parse_homes, &request.homes},
		{"thread-homes", "H", "of wait elements: own, away or zero (own)",
		 parse_thread_homes, &request.thread_homes},
		{"placement", "P", "of threads: cores or spread (cores)", parse_placement,
		 &request.placement},
		{"list-machines", NULL, "name the machines built in", parse_flag,
		 &request.list_machines},
		{.name = NULL},
	};
	const struct usage usage = {
		.command = "sim",
		.about =
			"Runs the locks on a simulated machine: caches, directory, "
			"sockets, and a clock\n"
			"of its own. Prints the throughput in virtual time and, for each "
			"episode, the\n"
			"coherence misses, copies lost to other CPUs' writes, misses "
			"settled by another\n"
			"node, and read-modify-writes. The same input gives the same "
			"output, byte by byte.\n"
			"\n"
			"Presets: max, moderate (MutexBench), table2 (misses in an "
			"episode), multiwait,\n"
			"diameter, ring, readers, numa. docs/simulation.md explains "
			"them. Locks: "
			"those that spin,\n"
			"as here every thread has a CPU, and mutex, whose sleeps are "
			"delays. Ctrl-C ends\n"
			"the simulation and reports what there is.",
		.options = options,
	};
	struct cell *cells;
	size_t i, count, done;
	int status = 0;

	parse_options(&usage, argc, argv);
	if (request.list_machines)
		return list_machines();
	fill_in(&request);
	if (request.json != NULL)
		open_result_file("json", request.json);
	cells = make_cells(&request, &count);
	catch_interrupt();
	fprintf(stderr, "%s: %zu locks, %zu thread counts, %d runs of %d episodes\n",
		request.machine.name, request.locks.count, request.threads.count,
		request.runs, request.episodes);
	done = simulate(cells, count, &request);
	if (was_interrupted()) {
		warn("interrupted; what follows was simulated until then");
		status = EXIT_INTERRUPTED;
	}
	report(cells, done);
	if (request.json != NULL && done > 0)
		write_json(&request, cells, done);
	for (i = 0; i < count; i++)
		free(cells[i].rates);
	free(cells);
	return status;
}
