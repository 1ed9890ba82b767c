/* SPDX-License-Identifier: MIT */
/* The report of a case: a row, a failure, JSON. */
#include "cli/check/check.h"

#include "cli/common/interrupt.h"
#include "cli/common/output.h"

#include <stdio.h>
#include <string.h>

static const char *const model_names[] = {
	[MODEL_WEAK] = "weak",
	[MODEL_TSO] = "tso",
	[MODEL_SC] = "sc",
};

bool find_model(const char *name, enum model *model)
{
	int i;

	for (i = MODEL_WEAK; i <= MODEL_SC; i++) {
		if (strcmp(model_names[i], name) == 0) {
			*model = (enum model)i;
			return true;
		}
	}
	return false;
}

/* The token that repeats an execution; see replay_case(). */
static void format_token(const struct check_case *c, char token[CASE_TOKEN_SIZE])
{
	snprintf(token, CASE_TOKEN_SIZE, "%s:%s:%d:%d:%s:%s", c->type->name,
		 c->scenario->name, c->threads, c->episodes, model_names[c->model],
		 c->result.choices);
}

void print_header(void)
{
	printf("%-24s %-11s %7s %8s %5s %11s %9s  %s\n", "lock", "scenario", "threads",
	       "episodes", "model", "executions", "seconds", "verdict");
}

bool is_good(enum verdict verdict)
{
	return verdict == VERDICT_PASSED || verdict == VERDICT_NONE_SEEN;
}

bool is_expected(const struct check_case *c)
{
	return !is_good(c->result.verdict) &&
	       c->result.verdict == c->scenario->expected(c->type);
}

void print_row(const struct check_case *c)
{
	printf("%-24s %-11s %7d %8d %5s %11llu %9.3f  %s%s\n", c->type->name,
	       c->scenario->name, c->threads, c->episodes, model_names[c->model],
	       (unsigned long long)c->result.executions, c->result.seconds,
	       verdict_name(c->result.verdict),
	       is_expected(c) ? ", as the registry declares" : "");
	fflush(stdout);
}

void print_failure(const struct check_case *c, bool steadfast)
{
	const char *file = catalogue_file();
	char token[CASE_TOKEN_SIZE];

	printf("\n%s: %s\n", verdict_name(c->result.verdict), c->result.message);
	if (c->result.verdict == VERDICT_LIMIT || c->result.verdict == VERDICT_NOTHING) {
		const char *remedy = "";

		if (was_interrupted())
			remedy = ", which was incomplete";
		else if (c->scenario->cores != NULL)
			remedy = "; raise --limit or lower --threads";
		printf("(not a failure of the lock%s)\n\n", remedy);
		return;
	}
	if (c->result.trace != NULL)
		fputs(c->result.trace, stdout);
	format_token(c, token);
	printf("repeat it with: pawl check%s%s%s --replay %s\n\n",
	       file != NULL ? " --load " : "", file != NULL ? file : "",
	       steadfast ? " --steadfast" : "", token);
}

json_t *describe_cases(const struct check_case *cases, size_t count)
{
	json_t *root, *rows = json_array();
	size_t i;

	for (i = 0; i < count; i++) {
		const struct check_case *c = &cases[i];
		json_t *row = json_pack(
			"{s:s, s:s, s:i, s:i, s:s, s:I, s:I, s:f, s:s}", "lock",
			c->type->name, "scenario", c->scenario->name, "threads",
			c->threads, "episodes", c->episodes, "model",
			model_names[c->model], "executions",
			(json_int_t)c->result.executions, "blocked",
			(json_int_t)c->result.blocked, "seconds", c->result.seconds,
			"verdict", verdict_name(c->result.verdict));

		if (c->result.choices[0] != 0) {
			char token[CASE_TOKEN_SIZE];

			format_token(c, token);
			json_object_set_new(row, "token", json_string(token));
			json_object_set_new(row, "expected",
					    json_boolean(is_expected(c)));
		}
		json_array_append_new(rows, row);
	}
	root = json_pack("{s:i, s:s, s:o}", "schema", 1, "tool", "check", "results",
			 rows);
	if (was_interrupted())
		json_object_set_new(root, "interrupted", json_true());
	return root;
}
