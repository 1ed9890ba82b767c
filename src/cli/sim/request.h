/* SPDX-License-Identifier: MIT */
/* The options of pawl sim, and the cells of its table. */
#ifndef PAWL_CLI_SIM_REQUEST_H
#define PAWL_CLI_SIM_REQUEST_H

#include "cli/common/options.h"
#include "cli/common/output.h"
#include "cli/common/stats.h"

#include <sim/coherence/workload.h>

enum { NAMES_MAX = 64, ERROR_SIZE = 256, UNSET = -1 };

struct names {
	size_t count;
	const char *list[NAMES_MAX];
};

/* The papers' experiments. Command-line options take precedence. */
struct preset {
	const char *name, *about;
	enum workload workload;
	const char *machine, *locks; /* NULL: the default; all locks */
	struct numbers threads;	     /* empty: the default */
	int cs, ncs, episodes;
	bool private_data, explicit_face, placements, papers, validate;
};

struct request {
	const struct preset *preset;
	const char *machine_name, *locks_text, *json, *changes;
	struct machine machine;
	struct names locks;
	struct numbers threads;
	int cs, ncs, episodes, runs, jobs;
	uint64_t seed;
	bool private_data, explicit_face, pairs, list_machines, sensitivity;
	int protocol, homes, thread_homes, placement; /* or UNSET */
};

struct cell {
	char workload[32];
	struct workload_setup setup;
	struct workload_result mean; /* all but the rate; sums at first */
	size_t runs;		     /* number of runs so far */
	double *rates;
	struct estimate rate;
};

/* The values of --homes, --thread-homes and --placement. */
extern const char *const request_homes[], *const request_thread_homes[],
						  *const request_placements[];

/* Parses KEY=VALUE of a machine file into a struct machine; for each_item(). */
void request_change(const char *option, const char *text, void *into);

/* cells.c: one cell for each workload, number of threads and lock. */
struct cell *cells_make(const struct request *request, size_t *count);
/* Simulates all cells, or until interrupted. Returns the number of cells with a run. */
size_t cells_simulate(struct cell *cells, size_t count, const struct request *request);
void cells_report(const struct cell *cells, size_t count);
void cells_write_json(const struct request *request, const struct cell *cells,
		      size_t count);
void cells_free(struct cell *cells, size_t count);

#endif /* PAWL_CLI_SIM_REQUEST_H */
