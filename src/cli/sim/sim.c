/* SPDX-License-Identifier: MIT */
/* pawl sim: locks on simulated machines. */
#include "cli/commands.h"
#include "cli/common/interrupt.h"
#include "cli/common/locks.h"
#include "cli/common/options.h"
#include "cli/common/output.h"
#include "cli/sim/measure.h"
#include "cli/sim/papers.h"
#include "cli/sim/request.h"
#include "cli/sim/validate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The papers' experiments. Command-line options take precedence. */
static const struct preset presets[] = {
	{.name = "max",
	 .about = "MutexBench, no work outside of the critical section",
	 .cs = 1,
	 .episodes = 20000},
	{.name = "moderate",
	 .about = "MutexBench, up to 250 steps outside of the section",
	 .cs = 1,
	 .ncs = 250,
	 .episodes = 20000},
	{.name = "table2",
	 .about = "misses per episode (Hapax paper, Table 2)",
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
	 .about = "a token ring, with three ways to poll (Hemlock paper, 5.5)",
	 .workload = WORKLOAD_RING,
	 .episodes = 20000},
	{.name = "readers",
	 .about = "readers of a reader-writer lock, in each of its modes",
	 .workload = WORKLOAD_READERS,
	 .machine = "epyc-512",
	 .threads = {4, {1, 8, 64, 256}},
	 .episodes = 20000},
	{.name = "numa",
	 .about = "MutexBench, wait elements local, remote, and all on node 0",
	 .locks = "mcs,clh,hemlock-ctr,reciprocating",
	 .cs = 1,
	 .episodes = 20000,
	 .placements = true},
	{.name = "papers",
	 .about = "published results against simulated ones",
	 .episodes = 2000,
	 .papers = true},
	{.name = "validate",
	 .about = "this machine, two threads: predicted against measured",
	 .threads = {1, {MEASURE_THREADS}},
	 .cs = 1,
	 .episodes = 20000,
	 .validate = true},
};

enum { PRESETS = sizeof(presets) / sizeof(presets[0]) };

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

/* Parses one of several words as its index. */
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

const char *const request_homes[] = {"first-touch", "address", NULL};
const char *const request_thread_homes[] = {"own", "away", "zero", NULL};
const char *const request_placements[] = {"cores", "spread", NULL};

static void parse_protocol(const char *option, const char *text, void *into)
{
	choose(option, text, machine_protocols, into);
}

static void parse_homes(const char *option, const char *text, void *into)
{
	choose(option, text, request_homes, into);
}

static void parse_thread_homes(const char *option, const char *text, void *into)
{
	choose(option, text, request_thread_homes, into);
}

static void parse_placement(const char *option, const char *text, void *into)
{
	choose(option, text, request_placements, into);
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
		refuse("--%s: the waiters of '%s' park, and here every thread has a CPU; "
		       "remove the '%s'",
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
		refuse_name(
			"machine", name, nth_machine,
			"'pawl sim --list-machines' lists them; or name a machine file");
	refuse("--machine: %s", error);
}

void request_change(const char *option, const char *text, void *into)
{
	char error[ERROR_SIZE], key[ERROR_SIZE];
	const char *equals = strchr(text, '=');

	if (equals == NULL || (size_t)(equals - text) >= sizeof(key))
		refuse("--%s: '%s' is not KEY=VALUE", option, text);
	snprintf(key, sizeof(key), "%.*s", (int)(equals - text), text);
	if (!machine_set(into, key, equals + 1, error, sizeof(error)))
		refuse("--%s: %s", option, error);
}

static void fill_in(struct request *request)
{
	const struct preset *preset = request->preset;
	const char *const *name;
	const char *locks;
	int cpus;
	size_t i;

	if (request->preset->validate)
		validate_prepare(request);
	else
		load_machine(&request->machine,
			     request->machine_name != NULL ? request->machine_name
			     : preset->machine != NULL	   ? preset->machine
							   : "intel-x5-2");
	if (request->changes != NULL)
		each_item("set", request->changes, request_change, &request->machine);
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
			       "use at most %d threads, or another --machine",
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
		       m.smt == 1 ? "" : "s", machine_protocols[m.protocol]);
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
				  .jobs = (int)sysconf(_SC_NPROCESSORS_ONLN),
				  .protocol = UNSET};
	const struct option_spec options[] = {
		{"machine", "M", "a machine by name, or a machine file", parse_text,
		 &request.machine_name},
		{"set", "KEY=N,...", "change keys of the machine, as settle=0,home=5",
		 parse_text, &request.changes},
		{"locks", "A,B", "locks to compare (all that spin)", parse_text,
		 &request.locks_text},
		{"threads", "N,M", "numbers of threads (1, 2, 5, 10 ... up to the CPUs)",
		 parse_positives, &request.threads},
		{"cs", "N", "steps in the critical section (1)", parse_natural,
		 &request.cs},
		{"ncs", "N", "outside of it, a random number of steps in [0, N) (0)",
		 parse_natural, &request.ncs},
		{"preset", "NAME", "one of the experiments above (max)", parse_preset,
		 &request.preset},
		{"episodes", "N", "episodes per run (20000)", parse_positive,
		 &request.episodes},
		{"runs", "R", "runs of each, with seeds N, N+1 ... (3)", parse_positive,
		 &request.runs},
		{"seed", "N", "seed of all random choices (1)", parse_seed,
		 &request.seed},
		{"jobs", "N", "processes that simulate (one for each CPU)",
		 parse_positive, &request.jobs},
		{"sensitivity", NULL,
		 "with papers: claims that change when a latency is 30 % off", parse_flag,
		 &request.sensitivity},
		{"json", "FILE", "write the results to FILE; - is stdout", parse_text,
		 &request.json},
		{"private", NULL, "the critical section touches the thread's own data",
		 parse_flag, &request.private_data},
		{"explicit", NULL, "explicit context, outside of the lock", parse_flag,
		 &request.explicit_face},
		{"pairs", NULL, "cache lines move in pairs of 64 bytes", parse_flag,
		 &request.pairs},
		{"protocol", "P", "mesi, moesi or mesif (the machine's)", parse_protocol,
		 &request.protocol},
		{"homes", "H", "of pages: first-touch or address (first-touch)",
		 parse_homes, &request.homes},
		{"thread-homes", "H", "of wait elements: own, away or zero (own)",
		 parse_thread_homes, &request.thread_homes},
		{"placement", "P", "of threads: cores or spread (cores)", parse_placement,
		 &request.placement},
		{"list-machines", NULL, "list the built-in machines", parse_flag,
		 &request.list_machines},
		{.name = NULL},
	};
	const struct usage usage = {
		.command = "sim",
		.about = "Runs the locks on a simulated machine with caches, a "
			 "directory, sockets and a virtual\n"
			 "clock. Prints the throughput in virtual time and, per episode, "
			 "the coherence misses,\n"
			 "copies invalidated by other CPUs, misses served by another "
			 "node, and\n"
			 "read-modify-writes. The same input gives the same output, byte "
			 "by byte.\n"
			 "\n"
			 "Presets: max, moderate (MutexBench), table2 (misses per "
			 "episode), multiwait,\n"
			 "diameter, ring, readers, numa, papers, validate (predicts this "
			 "machine from a few\n"
			 "latencies, and measures it). docs/simulation.md explains them. "
			 "Locks: those that\n"
			 "spin, since every thread has a CPU, and mutex, whose sleeps "
			 "are delays. Ctrl-C\n"
			 "prints partial results.",
		.options = options,
	};
	struct cell *cells;
	size_t count, done;
	int status = 0;

	parse_options(&usage, argc, argv);
	if (request.list_machines)
		return list_machines();
	fill_in(&request);
	if (request.json != NULL)
		open_result_file("json", request.json);
	if (request.preset->papers)
		return request.sensitivity ? papers_sensitivity(&request)
					   : papers_main(&request);
	catch_interrupt();
	if (request.preset->validate)
		return validate_main(&request, argc, argv);
	cells = cells_make(&request, &count);
	fprintf(stderr, "%s: %zu locks, %zu thread counts, %d runs of %d episodes\n",
		request.machine.name, request.locks.count, request.threads.count,
		request.runs, request.episodes);
	done = cells_simulate(cells, count, &request);
	if (was_interrupted()) {
		warn("interrupted; these are partial results");
		status = EXIT_INTERRUPTED;
	}
	cells_report(cells, done);
	if (request.json != NULL && done > 0)
		cells_write_json(&request, cells, done);
	cells_free(cells, count);
	return status;
}
