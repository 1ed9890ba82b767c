/* SPDX-License-Identifier: MIT */
/* Prints a failing execution, one line per step. */
#include "search.h"

#include <sim/common/lines.h>
#include <sim/seam.h>

#include <stdlib.h>
#include <string.h>

void trace_add(struct trace *trace, struct step step)
{
	if (trace->count < MAX_TRACE)
		trace->steps[trace->count++] = step;
}

static const char *order_name(int order)
{
	switch (order) {
	case SIM_RELAXED:
		return "relaxed";
	case SIM_ACQUIRE:
		return "acquire";
	case SIM_RELEASE:
		return "release";
	case SIM_ACQ_REL:
		return "acq_rel";
	default:
		return "seq_cst";
	}
}

static const char *fence_name(int fence)
{
	static const char *const names[] = {
		[SIM_FENCE_LIGHT] = "light fence",
		[SIM_FENCE_HEAVY] = "heavy fence",
		[SIM_FENCE_ACQUIRE] = "acquire fence",
		[SIM_FENCE_RELEASE] = "release fence",
		[SIM_FENCE_ACQ_REL] = "acq_rel fence",
		[SIM_FENCE_FULL] = "full fence",
	};

	return names[fence];
}

static const char *operation_name(int operation)
{
	static const char *const names[] = {
		[OP_LOAD] = "load",
		[OP_STORE] = "store",
		[OP_PLAIN_STORE] = "plain store",
		[OP_EXCHANGE] = "exchange",
		[OP_ADD] = "fetch-add",
		[OP_SUB] = "fetch-sub",
		[OP_AND] = "fetch-and",
		[OP_OR] = "fetch-or",
		[OP_XOR] = "fetch-xor",
		[OP_NAND] = "fetch-nand",
		[OP_CAS] = "cas",
		[OP_AWAIT_EQ] = "await ==",
		[OP_AWAIT_NE] = "await !=",
		[OP_AWAIT_CHANGE] = "await change",
		[OP_AWAIT_CAS] = "await cas",
		[OP_AWAIT_EQ_RMW] = "await == (rmw)",
		[OP_AWAIT_NE_RMW] = "await != (rmw)",
		[OP_CHOICE] = "coin",
		[OP_AWAIT_QUIET] = "await quiet",
		[OP_ASSUME_EQ] = "assumes ==",
		[OP_ASSUME_CAS] = "assumes cas",
		[OP_ASSUME_NE_RMW] = "assumes != (rmw)",
		[OP_EARLY] = "ends early",
	};

	return names[operation];
}

/* Small numbers as they are, addresses by name. */
static void print_value(FILE *out, struct memory *m, uint64_t value)
{
	char name[64];

	if (value >= 1 << 16 &&
	    memory_describe(m, (const void *)(uintptr_t)value, name, sizeof(name)))
		fprintf(out, "&%s", name);
	else
		fprintf(out, value < 1 << 16 ? "%llu" : "%#llx",
			(unsigned long long)value);
}

static void print_place(FILE *out, struct memory *m, const void *p)
{
	char name[64];

	if (memory_describe(m, p, name, sizeof(name)))
		fputs(name, out);
	else
		fprintf(out, "%p", p);
}

static void print_source(FILE *out, struct graph *g, event_id from)
{
	char line[64];

	if (from == INITIAL) {
		fputs("  (initial)", out);
		return;
	}
	lines_find(graph_event(g, from)->site, line, sizeof(line));
	fprintf(out, "  (thread %d, %s)", event_thread(from), line);
}

static bool compares(int operation)
{
	return operation >= OP_CAS && operation <= OP_ASSUME_NE_RMW;
}

static void print_event(FILE *out, struct memory *m, struct graph *g,
			const struct step *step)
{
	struct event *e = graph_event(g, step->event);

	if (e->kind == EVENT_FENCE) {
		fputs(fence_name(e->order), out);
		return;
	}
	fputs(operation_name(e->operation), out);
	if (e->kind == EVENT_CHOICE) {
		fputs(e->value != 0 ? ": yes" : ": no", out);
		return;
	}
	if (compares(e->operation)) {
		fputc(' ', out);
		print_value(out, m, e->expected);
	}
	if (e->operation != OP_PLAIN_STORE)
		fprintf(out, " %s", order_name(e->order));
	fputs("  ", out);
	print_place(out, m, memory_address(m, e->location));
	fputs(e->kind == EVENT_WRITE ? " = " : ": ", out);
	print_value(out, m, e->value);
	if (e->kind == EVENT_READ && step->update != INITIAL) {
		fputs(" -> ", out);
		print_value(out, m, graph_event(g, step->update)->value);
	}
}

void trace_print_step(FILE *out, const struct step *step, struct graph *g,
		      struct memory *m)
{
	if (step->event != INITIAL) {
		print_event(out, m, g, step);
		return;
	}
	fputs(step->what, out);
	if (step->address != NULL) {
		fputc(' ', out);
		print_place(out, m, step->address);
	}
	if (step->size > 8)
		fprintf(out, ", %zu bytes", step->size);
}

void trace_print_marks(FILE *out, const struct step *step, struct graph *g)
{
	const struct event *e = graph_event(g, step->event);

	if (step->stale > 0)
		fprintf(out, "  [old: %d later]", step->stale);
	if (e->look == LOOK_LAST && !e->blocked && e->value == e->expected)
		fputs("  looks up from its wait", out);
	if (e->blocked)
		fputs("  BLOCKED", out);
}

char *trace_print(const struct trace *trace, struct graph *g, struct memory *m)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int i;

	if (out == NULL)
		return NULL;
	for (i = 0; i < trace->count; i++) {
		const struct step *step = &trace->steps[i];
		char line[64] = "";

		if (step->site != NULL)
			lines_find(step->site, line, sizeof(line));
		fprintf(out, "  thread %d  %-26s ", step->thread, line);
		trace_print_step(out, step, g, m);
		if (step->event != INITIAL &&
		    graph_event(g, step->event)->kind == EVENT_READ) {
			print_source(out, g, graph_event(g, step->event)->from);
			trace_print_marks(out, step, g);
		}
		fputc('\n', out);
	}
	fclose(out);
	return text;
}
