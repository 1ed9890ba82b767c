/* SPDX-License-Identifier: MIT */
/* Runs cases, or repeats one execution of one. */
#include "cli/check/check.h"

#include "cli/common/context.h"
#include "cli/common/interrupt.h"
#include "cli/common/locks.h"
#include "cli/common/options.h"
#include "cli/common/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct position {
	size_t done, count;
	const struct check_case *now;
};

static void progress(void *context, uint64_t runs, double seconds,
		     struct expected expected)
{
	const struct position *at = context;
	char line[128];

	expected_print(expected, runs, seconds, line, sizeof(line));
	show_progress(at->done, at->count, "%s, %s: %s", at->now->type->name,
		      at->now->scenario->name, line);
}

void explore_case(struct check_case *c, const struct request *request,
		  struct position *position)
{
	struct options options = options_for(c, request->steadfast);
	int times;

	options.limit = (uint64_t)request->limit;
	options.random = (uint64_t)request->random;
	options.seed = (uint64_t)request->seed;
	options.depth = request->depth;
	/* Hardly any random execution would be in turn. */
	options.in_turn = options.in_turn && request->random == 0;
	options.progress = position != NULL ? progress : NULL;
	options.context = position;
	options.stop = was_interrupted;
	for (times = 0; times < request->repeat && !was_interrupted(); times++) {
		free(c->result.trace);
		scenario_check(c->scenario, c->type, c->threads, c->episodes, &options,
			       &c->result);
	}
}

/* Totals of all cases. */
struct account {
	const struct request *request;
	uint64_t executions;
	double seconds;
	int status;
};

static void report_case(struct check_case *c, void *context)
{
	struct account *account = context;
	uint64_t times = (uint64_t)account->request->repeat;

	account->executions += times * (c->result.executions + c->result.blocked);
	account->seconds += (double)times * c->result.seconds;
	print_row(c);
	if (is_good(c->result.verdict) || (is_expected(c) && !account->request->named))
		return;
	print_failure(c, account->request->steadfast);
	account->status = 1;
}

/* The number of CPUs; one where speed is measured. */
static int jobs_for(const struct request *request)
{
	int most = request->jobs != 0 ? request->jobs : usable_cpus();

	if (request->jobs == 0 && request->repeat > 1)
		return 1;
	return most < MAX_JOBS ? most : MAX_JOBS;
}

int run_cases(const struct plan *plan, const struct request *request)
{
	struct account account = {.request = request};
	int jobs = jobs_for(request);
	double start = now();
	size_t i;

	catch_interrupt();
	print_header();
	if (jobs > 1 && plan->count > 1) {
		i = run_jobs(plan, request, jobs, report_case, &account);
	} else {
		for (i = 0; i < plan->count && !was_interrupted(); i++) {
			struct check_case *c = &plan->cases[i];
			struct position position = {i, plan->count, c};

			show_progress(i, plan->count, "%s, %s", c->type->name,
				      c->scenario->name);
			explore_case(c, request, &position);
			end_progress();
			report_case(c, &account);
		}
	}
	if (was_interrupted()) {
		warn("interrupted; of %zu cases, %zu were started", plan->count, i);
		account.status = EXIT_INTERRUPTED;
	}
	fprintf(stderr, "%zu cases, %llu executions in %.2f s: %.0f executions/s\n", i,
		(unsigned long long)account.executions, now() - start,
		(double)account.executions / (account.seconds > 0 ? account.seconds : 1));
	if (request->json != NULL)
		write_result_file(describe_cases(plan->cases, i));
	for (i = 0; i < plan->count; i++)
		free(plan->cases[i].result.trace);
	free(plan->cases);
	return account.status;
}

/* Repeats the execution that the token gives. */
int replay_case(const char *token, bool steadfast)
{
	char text[CASE_TOKEN_SIZE], *rest = text, *field[6];
	struct check_case c = {.type = NULL};
	struct options options;
	size_t i;

	if (snprintf(text, sizeof(text), "%s", token) >= (int)sizeof(text))
		refuse("--replay: the token is too long");
	for (i = 0; i < 6; i++) {
		field[i] = strsep(&rest, ":");
		if (field[i] == NULL)
			refuse("--replay: '%s' is not a token; copy the line that a "
			       "failed "
			       "check printed",
			       token);
	}
	c.type = find_lock(field[0]);
	if (c.type == NULL)
		refuse_lock(field[0], nth_lock);
	need_scenario(field[1]);
	c.scenario = find_scenario(c.type, field[1]);
	if (c.scenario == NULL)
		refuse("--replay: %s has no scenario '%s'", field[0], field[1]);
	c.threads = atoi(field[2]);
	c.episodes = atoi(field[3]);
	if (!case_fits(c.scenario, c.threads) || c.episodes < 1 ||
	    !find_model(field[4], &c.model))
		refuse("--replay: '%s' is not a token; copy the line that a failed check "
		       "printed",
		       token);
	options = options_for(&c, steadfast);
	options.choices = field[5];
	options.in_turn = false; /* repeats one execution: nothing to reduce */
	scenario_check(c.scenario, c.type, c.threads, c.episodes, &options, &c.result);
	print_header();
	print_row(&c);
	if (c.result.verdict != VERDICT_PASSED)
		print_failure(&c, steadfast);
	free(c.result.trace);
	return c.result.verdict != VERDICT_PASSED;
}
