/* SPDX-License-Identifier: MIT */
#include "cli/sim/papers.h"

#include <sim/coherence/claims.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A machine with the changes of --set and one latency varied. */
struct variation {
	const struct request *request;
	const char *key; /* NULL: none */
	double factor;
};

static void load_variation(const char *name, struct machine *m, void *argument)
{
	const struct variation *variation = argument;
	char error[ERROR_SIZE], value[32];

	if (!machine_load(m, name, error, sizeof(error)))
		give_up("%s", error);
	if (variation->request->changes != NULL)
		each_item("set", variation->request->changes, request_change, m);
	if (variation->key == NULL)
		return;
	snprintf(value, sizeof(value), "%.3f",
		 machine_time(m, variation->key) * variation->factor);
	if (!machine_set(m, variation->key, value, error, sizeof(error)))
		give_up("%s", error);
}

static void run(struct claim_result *results, const struct variation *variation)
{
	const struct request *request = variation->request;

	claims_run(results, load_variation, (void *)variation, (unsigned)request->runs,
		   (uint64_t)request->episodes, (unsigned)request->jobs);
}

static bool is_about(const struct claim *claim, const struct names *locks)
{
	size_t i;

	for (i = 0; i < locks->count; i++)
		if (strcmp(claim->subject, locks->list[i]) == 0)
			return true;
	return false;
}

/* All claims, or those about the locks of --locks. */
static struct claim_result *make_results(const struct request *request)
{
	struct claim_result *results = calloc(claims_count, sizeof(*results));
	size_t i, chosen = 0;

	if (results == NULL)
		give_up("out of memory");
	for (i = 0; i < claims_count; i++) {
		results[i].left_out = request->locks_text != NULL &&
				      !is_about(&claims[i], &request->locks);
		chosen += !results[i].left_out;
	}
	if (chosen == 0)
		refuse("--locks: no claim is about '%s'; remove it for all claims",
		       request->locks_text);
	return results;
}

static const char *sign(const struct claim *claim)
{
	switch (claim->kind) {
	case CLAIM_LEAST:
	case CLAIM_RISES:
	case CLAIM_HOME:
		return ">=";
	case CLAIM_MOST:
	case CLAIM_FALLS:
	case CLAIM_NO_MORE:
	case CLAIM_REMOTE:
	case CLAIM_FEWER:
		return "<=";
	case CLAIM_RATIO:
	case CLAIM_MISSES:
	case CLAIM_MISSES_RATIO:
	case CLAIM_RATE:
		break;
	}
	return "=";
}

static json_t *describe(const struct claim *claim, const struct claim_result *result)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:f, s:f, s:f, s:b, s:s?}", "paper",
			 claim->paper, "where", claim->where, "claim", claim->text,
			 "machine", claim->machine, "relation", sign(claim), "expected",
			 claim->expected, "tolerance", claim->tolerance, "simulated",
			 result->simulated, "holds", result->holds, "reason",
			 claim->reason);
}

int papers_main(const struct request *request)
{
	struct claim_result *results = make_results(request);
	const struct variation as_it_is = {request, NULL, 1};
	json_t *list = json_array();
	size_t i, held = 0, count = 0;

	run(results, &as_it_is);
	printf("%-8s %-14s %-52s %-10s %11s %9s\n", "paper", "where", "claim", "machine",
	       "expected", "simulated");
	for (i = 0; i < claims_count; i++) {
		const struct claim *claim = &claims[i];

		if (results[i].left_out)
			continue;
		count++;
		printf("%-8s %-14s %-52s %-10s %2s %8.2f %9.2f%s\n", claim->paper,
		       claim->where, claim->text, claim->machine, sign(claim),
		       claim->expected, results[i].simulated,
		       results[i].holds ? "" : "  does not hold");
		if (!results[i].holds && claim->reason != NULL)
			printf("%24s%s\n", "", claim->reason);
		held += results[i].holds;
		json_array_append_new(list, describe(claim, &results[i]));
	}
	printf("\n%zu of %zu claims hold, %.0f %%.\n", held, count,
	       100.0 * (double)held / (double)count);
	if (request->json != NULL)
		write_result_file(json_pack(
			"{s:i, s:s, s:{s:s, s:i, s:i}, s:o}", "schema", 1, "tool",
			"sim-papers", "context", "version", PAWL_VERSION, "runs",
			request->runs, "episodes", request->episodes, "claims", list));
	else
		json_decref(list);
	free(results);
	return 0;
}

int papers_sensitivity(const struct request *request)
{
	static const double factors[] = {0.7, 1.3};
	struct claim_result *as_is = make_results(request);
	struct claim_result *results = make_results(request);
	struct variation variation = {request, NULL, 1};
	const char *const *key;
	size_t i, j;

	run(as_is, &variation);
	for (key = machine_times(); *key != NULL; key++) {
		for (j = 0; j < 2; j++) {
			size_t lost = 0, won = 0;

			variation.key = *key;
			variation.factor = factors[j];
			run(results, &variation);
			for (i = 0; i < claims_count; i++) {
				lost += as_is[i].holds && !results[i].holds;
				won += !as_is[i].holds && results[i].holds;
			}
			printf("%s x %.1f: %zu fewer, %zu more hold\n", *key, factors[j],
			       lost, won);
			for (i = 0; i < claims_count; i++)
				if (as_is[i].holds != results[i].holds)
					printf("  %s %s, %s: %s (%.2f, was %.2f)\n",
					       results[i].holds ? "+" : "-",
					       claims[i].paper, claims[i].where,
					       claims[i].text, results[i].simulated,
					       as_is[i].simulated);
			fflush(stdout);
		}
	}
	free(as_is);
	free(results);
	return 0;
}
