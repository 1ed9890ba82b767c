/* SPDX-License-Identifier: MIT */
/* The verdict: the last sentence of pawl try, and its JSON. */
#define _GNU_SOURCE /* open_memstream */
#include "cli/try/try.h"

#include "cli/common/options.h"
#include "cli/common/output.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Wider intervals, to either side, mean little. */
static const double widest_error = 0.10;

const struct figure_text figure_texts[FIGURES] = {
	[WALL] = {"wall s", "wall_s", "wall time", 1},
	[CPU] = {"CPU s", "cpu_s", "CPU time", 1},
	[SWITCHES] = {"switches", "context_switches", "context switches", 1},
	[MEMORY] = {"peak MB", "max_rss", "peak memory", 1e6},
	[METRIC] = {"metric", "metric", "metric", 1},
};

static size_t count_judged(const struct trial *trial, int judgement)
{
	size_t i, n = 0;

	for (i = 1; i < trial->count; i++)
		n += is_ranked(&trial->candidates[i]) &&
		     judge(trial, &trial->candidates[i], trial->candidates) == judgement;
	return n;
}

static size_t count_ranked(const struct trial *trial)
{
	size_t i, n = 0;

	for (i = 1; i < trial->count; i++)
		n += is_ranked(&trial->candidates[i]);
	return n;
}

enum verdict find_verdict(const struct trial *trial)
{
	const struct candidate *best = find_best(trial);
	size_t ranked = count_ranked(trial), worse = count_judged(trial, -1);

	if (takes_no_lock(trial))
		return VERDICT_NO_LOCK;
	if (trial->look.ends_it)
		return VERDICT_NO_MATTER;
	if (trial->wanted_s > 0)
		return VERDICT_UNDECIDED;
	if (ranked == 0)
		return VERDICT_NOTHING;
	if (trial->candidates[0].runs < RUNS_TO_RANK)
		return VERDICT_FEW_RUNS;
	if (best != NULL && judge(trial, best, trial->candidates) > 0)
		return VERDICT_BEST;
	if (worse == ranked)
		return VERDICT_GLIBC;
	if (worse > 0)
		return VERDICT_NO_BETTER;
	return unseen(trial) > widest_error ? VERDICT_VARIES : VERDICT_EQUAL;
}

/* The sentence. */

/* Writes the names of the candidates for which `is_meant` holds, as "a, b and c". */
static void write_names(FILE *out, const struct trial *trial,
			bool (*is_meant)(const struct trial *, const struct candidate *))
{
	size_t i, left = 0;

	for (i = 1; i < trial->count; i++)
		left += is_meant(trial, &trial->candidates[i]);
	for (i = 1; i < trial->count; i++)
		if (is_meant(trial, &trial->candidates[i])) {
			left--;
			fprintf(out, "%s%s", trial->candidates[i].name,
				left > 1    ? ", "
				: left == 1 ? " and "
					    : "");
		}
}

static bool is_worse(const struct trial *trial, const struct candidate *c)
{
	return is_ranked(c) && judge(trial, c, trial->candidates) < 0;
}

static bool ties_with_the_best(const struct trial *trial, const struct candidate *c)
{
	const struct candidate *best = find_best(trial);

	return is_ranked(c) && c->dropped == NOT_DROPPED && c != best &&
	       judge(trial, c, best) == 0;
}

static bool was_not_tried(const struct trial *trial, const struct candidate *c)
{
	(void)trial;
	return c->dropped == DROPPED_UNTRIED;
}

static bool are_any(const struct trial *trial,
		    bool (*is_meant)(const struct trial *, const struct candidate *))
{
	size_t i;

	for (i = 1; i < trial->count; i++)
		if (is_meant(trial, &trial->candidates[i]))
			return true;
	return false;
}

/* Quotes a word for a shell. */
static void write_word(FILE *out, const char *word)
{
	const char *plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "0123456789_-+=./:,@%";

	if (*word != '\0' && word[strspn(word, plain)] == '\0') {
		fputs(word, out);
		return;
	}
	fputc('\'', out);
	for (; *word != '\0'; word++)
		if (*word == '\'')
			fputs("'\\''", out);
		else
			fputc(*word, out);
	fputc('\'', out);
}

/* The option of `pawl run` that gives the program the same read-write locks. */
static const char *rwlock_option(const struct trial *trial, const struct candidate *best)
{
	if (has_rwlock(best->name))
		return " --rwlock pawl";
	return trial->look.counts.rwlocks > 0 && getenv("PAWL_RWLOCK") == NULL
		       ? " --rwlock glibc"
		       : "";
}

static void write_command(FILE *out, const struct trial *trial,
			  const struct candidate *best)
{
	char *const *word;

	fprintf(out, "pawl run --lock %s%s --", lock_of(best->name),
		rwlock_option(trial, best));
	if (trial->request->server != NULL) /* a shell command */
		fprintf(out, " %s", trial->request->server);
	else
		for (word = trial->request->program; *word != NULL; word++) {
			fputc(' ', out);
			write_word(out, *word);
		}
}

/* Change in percent of glibc's figure. */
struct gain {
	double percent, low, high;
	bool is_more;
	int confidence; /* in percent */
};

static struct gain find_gain(const struct trial *trial, const struct candidate *best)
{
	struct interval times = times_of(trial, best, trial->candidates);
	/* Five inspections at 99 % make one at 95 %. */
	double confidence = trial->confidence > 0.95 ? 0.95 : times.confidence;
	struct gain gain = {.is_more = times.median > 1,
			    .confidence = (int)(100 * confidence)};

	gain.percent = 100 * fabs(times.median - 1);
	gain.low = 100 * (gain.is_more ? times.low - 1 : 1 - times.high);
	gain.high = 100 * (gain.is_more ? times.high - 1 : 1 - times.low);
	return gain;
}

static void write_untried(FILE *out, const struct trial *trial)
{
	if (trial->wanted_s > 0 || !are_any(trial, was_not_tried))
		return;
	fprintf(out, " (there was no time for ");
	write_names(out, trial, was_not_tried);
	fprintf(out, ")");
}

static void write_winner(FILE *out, const struct trial *trial)
{
	const struct candidate *best = find_best(trial);
	struct gain gain = find_gain(trial, best);

	fprintf(out,
		"%s is best for this program: its %s is %.1f %% %s than under glibc "
		"(%.1f "
		"to %.1f %%, %d %% confidence)",
		best->name, figure_texts[trial->deciding].phrase, gain.percent,
		gain.is_more ? "higher" : "lower", gain.low, gain.high, gain.confidence);
	if (are_any(trial, ties_with_the_best)) {
		fprintf(out, "; ");
		write_names(out, trial, ties_with_the_best);
		fprintf(out, " cannot be told apart from it");
	}
	write_untried(out, trial);
	fprintf(out, "; to use it: ");
	write_command(out, trial, best);
}

/* 0.04, 1.2 or 12: two digits. */
static void write_percent(FILE *out, double share)
{
	double percent = 100 * share;

	fprintf(out, "%.*f %%", percent >= 10 ? 0 : percent >= 1 ? 1 : 2, percent);
}

/* A sufficient budget, in whole minutes or tens of seconds. */
static void write_budget(FILE *out, double seconds)
{
	if (seconds > 120)
		fprintf(out, "--budget %.0fm", ceil(seconds / 60));
	else
		fprintf(out, "--budget %.0fs", 10 * ceil(seconds / 10));
}

static void write_undecided(FILE *out, const struct trial *trial)
{
	fprintf(out, "Undecided: locks may matter, as up to ");
	write_percent(out, fmin(trial->look.possible, 1));
	fprintf(out,
		" of the wall time could be saved, but %d runs under glibc and one lock "
		"need %.0f s more than the budget; use ",
		RUNS_TO_RANK, ceil(trial->wanted_s));
	write_budget(out, trial->request->budget + 1.2 * trial->wanted_s);
	fprintf(out, ", or give the program less work");
}

static void write_no_matter(FILE *out, const struct trial *trial)
{
	fprintf(out, "Locks do not matter here: the program spent ");
	write_percent(out, trial->look.wall_share);
	fprintf(out,
		" of its wall time waiting for them, and no lock could save more than ");
	write_percent(out, trial->look.possible);
	fprintf(out, ", where differences below ");
	write_percent(out, trial->look.visible);
	fprintf(out, " are not visible; leave it as it is");
}

static void write_sentence(FILE *out, const struct trial *trial)
{
	const char *phrase = figure_texts[trial->deciding].phrase;

	switch (find_verdict(trial)) {
	case VERDICT_NO_LOCK:
		fprintf(out, "Nothing to rank: the program takes no lock that pawl "
			     "replaces, so no lock can make it faster");
		break;
	case VERDICT_NO_MATTER:
		write_no_matter(out, trial);
		break;
	case VERDICT_UNDECIDED:
		write_undecided(out, trial);
		break;
	case VERDICT_NOTHING:
		fprintf(out, "Nothing to rank: the program failed under every lock, but "
			     "not under glibc");
		break;
	case VERDICT_FEW_RUNS:
		fprintf(out,
			"Too few runs to distinguish a difference from noise: use --runs "
			"%d or more",
			RUNS_TO_RANK);
		break;
	case VERDICT_BEST:
		write_winner(out, trial);
		return; /* a command has no full stop */
	case VERDICT_GLIBC:
		fprintf(out,
			"glibc is best for this program: under every lock its %s is "
			"worse",
			phrase);
		break;
	case VERDICT_NO_BETTER:
		fprintf(out, "No lock is better than glibc for this program; worse: ");
		write_names(out, trial, is_worse);
		break;
	case VERDICT_VARIES:
		fprintf(out,
			"No difference is visible: the %s varies so much that up to %.0f "
			"%% might be missed",
			phrase, ceil(100 * unseen(trial)));
		break;
	case VERDICT_EQUAL:
		fprintf(out,
			"No difference: no lock changes the %s of this program beyond "
			"noise; more than %.0f %% would be visible",
			phrase, ceil(100 * unseen(trial)));
		break;
	}
	write_untried(out, trial);
	fputc('.', out);
}

char *verdict_sentence(const struct trial *trial)
{
	char *sentence;
	size_t size;
	FILE *out = open_memstream(&sentence, &size);

	if (out == NULL)
		give_up("out of memory");
	write_sentence(out, trial);
	if (fclose(out) != 0)
		give_up("out of memory");
	return sentence;
}

/* JSON. */

static json_t *describe_figure(const struct candidate *candidate, int figure)
{
	struct interval s = median_interval(candidate->samples[figure], candidate->runs);
	json_t *samples = json_array();
	size_t i;

	for (i = 0; i < candidate->runs; i++)
		json_array_append_new(samples, json_real(candidate->samples[figure][i]));
	return json_pack("{s:f, s:f, s:f, s:f, s:o}", "median", s.median, "low", s.low,
			 "high", s.high, "confidence", s.confidence, "samples", samples);
}

static json_t *describe_candidate(const struct trial *trial,
				  const struct candidate *candidate)
{
	static const char *const reasons[] = {
		[DROPPED_AS_WORSE] = "worse",
		[DROPPED_AS_EQUAL] = "no better than glibc",
		[DROPPED_UNTRIED] = "no time",
	};
	json_t *result = json_pack("{s:s, s:s}", "workload", "try", "lock",
				   candidate->name);
	const struct counts *counts = &trial->look.counts;
	int f, last = trial->deciding == METRIC ? METRIC : MEMORY;

	if (trial->deciding == METRIC)
		json_object_set_new(result, "better",
				    json_string(trial->more_is_better ? "more" : "less"));
	if (*candidate->trouble != '\0')
		json_object_set_new(result, "trouble", json_string(candidate->trouble));
	if (candidate->dropped != NOT_DROPPED)
		json_object_set_new(result, "dropped",
				    json_string(reasons[candidate->dropped]));
	if (candidate == &trial->candidates[1] && counts->any) {
		json_object_set_new(result, "acquisitions",
				    json_real(counts->acquisitions));
		json_object_set_new(result, "contended", json_real(counts->contended));
		json_object_set_new(result, "rwlock_acquisitions",
				    json_real(counts->rwlocks));
		json_object_set_new(result, "rwlock_contended",
				    json_real(counts->rwlocks_contended));
	}
	for (f = 0; f <= last && candidate->runs > 0; f++)
		json_object_set_new(result, figure_texts[f].key,
				    describe_figure(candidate, f));
	return result;
}

static json_t *describe_look(const struct look *look)
{
	const struct counts *c = &look->counts;

	if (look->lock == NULL || !c->any)
		return json_null();
	return json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, "
			 "s:f, s:f, s:f, s:b}",
			 "lock", look->lock, "wall_s", look->wall_s, "cpu_s", look->cpu_s,
			 "acquisitions", c->acquisitions, "contended", c->contended,
			 "rwlock_acquisitions", c->rwlocks, "rwlock_contended",
			 c->rwlocks_contended, "signal_waits", c->signals, "mutex_wait_s",
			 c->mutex_s, "rwlock_wait_s", c->rwlock_s, "after_signal_wait_s",
			 c->after_signal_s, "wall_share", look->wall_share,
			 "thread_share", look->thread_share, "possible_share",
			 look->possible, "visible_share", look->visible, "was_faster",
			 look->was_faster);
}

static json_t *describe_verdict(const struct trial *trial)
{
	static const char *const names[] = {
		[VERDICT_NO_LOCK] = "takes no lock",
		[VERDICT_NO_MATTER] = "locks do not matter",
		[VERDICT_UNDECIDED] = "undecided",
		[VERDICT_NOTHING] = "nothing to rank",
		[VERDICT_FEW_RUNS] = "too few runs",
		[VERDICT_BEST] = "a lock is best",
		[VERDICT_GLIBC] = "glibc is best",
		[VERDICT_NO_BETTER] = "no lock is better",
		[VERDICT_VARIES] = "varies too much",
		[VERDICT_EQUAL] = "no difference",
	};
	enum verdict verdict = find_verdict(trial);
	char *sentence = verdict_sentence(trial);
	json_t *json = json_pack("{s:s, s:s}", "kind", names[verdict], "sentence",
				 sentence);

	free(sentence);
	if (verdict == VERDICT_BEST) {
		const struct candidate *best = find_best(trial);
		struct gain gain = find_gain(trial, best);

		json_object_set_new(json, "lock", json_string(best->name));
		json_object_set_new(json, "gain_percent",
				    json_pack("{s:f, s:f, s:f, s:i}", "median",
					      gain.percent, "low", gain.low, "high",
					      gain.high, "confidence_percent",
					      gain.confidence));
	}
	return json;
}

json_t *describe_trial(const struct trial *trial, const json_t *context)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < trial->count; i++)
		json_array_append_new(list,
				      describe_candidate(trial, &trial->candidates[i]));
	return json_pack("{s:i, s:s, s:O, s:o, s:o, s:f, s:f, s:o}", "schema", 1, "tool",
			 "try", "context", context, "look", describe_look(&trial->look),
			 "verdict", describe_verdict(trial), "budget_s",
			 trial->request->budget, "spent_s", trial->spent_s, "results",
			 list);
}
