/* SPDX-License-Identifier: MIT */
/*
 * The rounds. Each runs glibc and every remaining candidate once, in random order, so
 * that disturbances affect all of them alike.
 *
 * After some of the rounds candidates that cannot win are dropped. Each of these
 * inspections is another chance of an error: so there are at most five, and each requires
 * 99 % confidence, which leaves 95 % in total.
 */
#include "cli/try/try.h"

#include "cli/common/interpose.h"
#include "cli/common/options.h"
#include "cli/common/output.h"
#include "lcg.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const int inspections[] = {8, 12, 18, 27, RACE_ROUNDS_MOST};
enum { INSPECTIONS = sizeof(inspections) / sizeof(inspections[0]) };

static bool runs_on(const struct candidate *c)
{
	return *c->trouble == '\0' && c->dropped == NOT_DROPPED;
}

static size_t count_running(const struct trial *trial)
{
	size_t i, n = 0;

	for (i = 1; i < trial->count; i++)
		n += runs_on(&trial->candidates[i]);
	return n;
}

/* Seconds for a run of each. */
static double round_s(const struct trial *trial)
{
	double sum = trial->candidates[0].run_s;
	size_t i;

	for (i = 1; i < trial->count; i++)
		if (runs_on(&trial->candidates[i]))
			sum += trial->candidates[i].run_s;
	return sum;
}

static void measure_once(struct candidate *candidate)
{
	double figures[FIGURES] = {0};
	int f;

	if (!run_once(candidate, candidate->environment, figures))
		return;
	for (f = 0; f < FIGURES; f++)
		candidate->samples[f][candidate->runs] = figures[f];
	candidate->runs++;
}

static void run_round(struct trial *trial, size_t *order, uint64_t *random)
{
	size_t i;

	*random = lcg_shuffle(order, trial->count, *random);
	for (i = 0; i < trial->count && !runs_interrupted(); i++) {
		struct candidate *candidate = &trial->candidates[order[i]];

		if (runs_on(candidate))
			measure_once(candidate);
		if (*trial->candidates[0].trouble != '\0')
			give_up("'%s' fails at times under glibc, too: %s",
				program_name(trial->request),
				trial->candidates[0].trouble);
	}
}

/* Drops candidates that cannot win. */
static void drop(struct trial *trial)
{
	const struct candidate *glibc = trial->candidates, *best;
	size_t i;

	for (i = 1; i < trial->count; i++) {
		struct candidate *c = &trial->candidates[i];

		if (!runs_on(c))
			continue;
		if (judge(trial, c, glibc) < 0)
			c->dropped = DROPPED_AS_WORSE;
		else if (!may_be_better(trial, c, glibc))
			c->dropped = DROPPED_AS_EQUAL;
	}
	best = find_best(trial);
	for (i = 1; i < trial->count; i++) {
		struct candidate *c = &trial->candidates[i];

		if (runs_on(c) && c != best && judge(trial, c, best) < 0)
			c->dropped = DROPPED_AS_WORSE;
	}
}

/* Whether more rounds would not change the verdict. */
static bool is_decided(const struct trial *trial)
{
	const struct candidate *best = find_best(trial);
	size_t i;

	if (best == NULL)
		return true;
	if (judge(trial, best, trial->candidates) <= 0)
		return false;
	for (i = 1; i < trial->count; i++) {
		const struct candidate *c = &trial->candidates[i];

		if (runs_on(c) && c != best && !are_equal(trial, c, best))
			return false;
	}
	return true;
}

static bool is_inspection(int rounds)
{
	size_t i;

	for (i = 0; i < INSPECTIONS; i++)
		if (inspections[i] == rounds)
			return true;
	return false;
}

/* Runs `rounds` rounds; or, with a deadline, until it is decided or the time is over. */
static void race(struct trial *trial, int rounds, double deadline)
{
	size_t order[LOCKS_MAX + 2], i;
	uint64_t random = (uint64_t)time(NULL);
	double began = now();
	int round;

	for (i = 0; i < trial->count; i++)
		order[i] = i;
	for (round = 0; round < rounds && !runs_interrupted(); round++) {
		double part = deadline == 0
				      ? (double)round / rounds
				      : fmin((now() - began) / (deadline - began), 1);

		show_progress((size_t)(1000 * part), 1000,
			      "round %d: glibc and %zu lock%s", round + 1,
			      count_running(trial), count_running(trial) == 1 ? "" : "s");
		run_round(trial, order, &random);
		if (deadline == 0 || round + 1 < inspections[0] || runs_interrupted())
			continue;
		if (is_inspection(round + 1)) {
			drop(trial);
			if (is_decided(trial))
				break;
		}
		if (now() + round_s(trial) > deadline)
			break;
	}
	end_progress();
}

/* The deciding figure of the warm-up, so that more is worse. */
static double first_impression(const struct trial *trial, const struct candidate *c)
{
	double figure = c->warm_up[trial->deciding];

	return trial->more_is_better ? -figure : figure;
}

/* Drops the least promising until `left` remain, because there is no time for all. */
static void thin_out(struct trial *trial, size_t left)
{
	while (count_running(trial) > left) {
		struct candidate *worst = NULL;
		size_t i;

		for (i = 1; i < trial->count; i++) {
			struct candidate *c = &trial->candidates[i];

			if (runs_on(c) &&
			    (worst == NULL ||
			     first_impression(trial, c) > first_impression(trial, worst)))
				worst = c;
		}
		worst->dropped = DROPPED_UNTRIED;
	}
}

/* One run each, which does not count. A single candidate was already run. */
static void warm_up(struct trial *trial)
{
	size_t i, running = count_running(trial);

	for (i = 1; i < trial->count && !runs_interrupted(); i++) {
		struct candidate *c = &trial->candidates[i];

		c->environment = environment_for(c->name, NULL);
		if (runs_on(c) && (running > 1 || c->run_s == 0))
			run_once(c, c->environment, c->warm_up);
	}
}

/* Reduces the candidates to those that can be run often enough; returns how often, if
 * that is less. */
static int fit(struct trial *trial, double left)
{
	size_t n = count_running(trial);

	if (inspections[0] * round_s(trial) <= left)
		return RACE_ROUNDS_MOST;
	while (n > 1 && RUNS_TO_RANK * round_s(trial) > left)
		thin_out(trial, --n);
	if (RUNS_TO_RANK * round_s(trial) > left) {
		trial->wanted_s = RUNS_TO_RANK * round_s(trial) - left;
		return 0;
	}
	return (int)(left / round_s(trial));
}

/* If there is no time to warm up all candidates, uses the first sample instead. */
static void spare_warm_ups(struct trial *trial, double left)
{
	size_t i, runs = trial->count - 1 + 2 * RUNS_TO_RANK;

	if (trial->candidates[0].run_s * (double)runs <= left ||
	    *trial->candidates[1].trouble != '\0')
		return;
	for (i = 2; i < trial->count; i++)
		trial->candidates[i].dropped = DROPPED_UNTRIED;
}

void run_race(struct trial *trial, double deadline)
{
	int rounds = trial->request->runs;

	trial->candidates[0].runs = 0; /* its runs so far belong to no round */
	if (rounds == 0)
		spare_warm_ups(trial, deadline - now());
	warm_up(trial);
	if (runs_interrupted() || count_running(trial) == 0)
		return;
	if (rounds == 0)
		rounds = fit(trial, deadline - now());
	if (rounds == 0)
		return;
	if (trial->request->runs == 0 && rounds == RACE_ROUNDS_MOST) {
		trial->confidence = 0.99;
		fprintf(stderr, "up to %.0f s of rounds with glibc and %zu locks\n",
			ceil(deadline - now()), count_running(trial));
		expect_seconds(deadline - now());
		race(trial, rounds, deadline);
		return;
	}
	fprintf(stderr, "%d runs of each; about %.0f s in total\n", rounds,
		ceil(rounds * round_s(trial)));
	expect_seconds(rounds * round_s(trial));
	race(trial, rounds, 0);
}
