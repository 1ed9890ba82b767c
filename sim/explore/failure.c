/* SPDX-License-Identifier: MIT */
/* Repeats a failing execution to record it, and searches for a shorter one. */
#include "search.h"

#include <string.h>

/* Runs the failing graph, or that of a token, again. Returns the cost of reading it. */
static struct cost retrace(struct search *s)
{
	struct result *result = s->result;
	enum verdict verdict = result->verdict;
	uint64_t executions = result->executions, blocked = result->blocked;
	struct cost cost = {0};

	s->record = result->choices;
	s->recorded = 0;
	s->record[0] = 0;
	s->trace.count = 0;
	result->verdict = VERDICT_PASSED;
	s->guide = s->options->choices;
	s->tracing = s->options->keep_trace || s->guide == NULL; /* pushes nothing */
	if (s->guide != NULL)
		graph_clear(&s->graph, s->program->threads);
	search_run(s);
	if (s->options->show != NULL)
		cost = trace_arrange(&s->trace, &s->graph);
	s->tracing = false;
	s->record = NULL;
	result->verdict = verdict;
	result->executions = executions;
	result->blocked = blocked;
	return cost;
}

static void show(struct search *s)
{
	if (s->options->show != NULL)
		s->options->show(s->options->context, &s->trace, &s->graph, s->memory);
	else if (s->options->keep_trace)
		s->result->trace = trace_print(&s->trace, &s->graph, s->memory);
}

void failure_describe(struct search *s)
{
	retrace(s);
	show(s);
}

void failure_describe_shortest(struct search *s)
{
	struct result *result = s->result, first;
	struct cost least = retrace(s), cost;
	uint64_t runs;

	show(s);
	first = *result;
	for (runs = 0; runs < s->options->shorten && search_pop(s); runs++) {
		result->verdict = VERDICT_PASSED;
		search_run(s);
		/* Either the search must start again, or a run may not terminate. */
		if (s->restart || result->verdict == VERDICT_LIMIT)
			break;
		if (result->verdict != first.verdict)
			continue;
		cost = retrace(s);
		if (!cost_is_less(cost, least))
			continue;
		least = cost;
		show(s);
		memcpy(first.choices, result->choices, sizeof(first.choices));
		memcpy(first.message, result->message, sizeof(first.message));
	}
	s->restart = false;
	*result = first;
}
