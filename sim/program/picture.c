/* SPDX-License-Identifier: MIT */
/* Builds the rows of a failing execution from the steps of its trace. */
#include "picture.h"

#include <sim/common/lines.h>

#include <string.h>

static const struct event *event_of(struct graph *g, const struct step *step)
{
	return step->event == INITIAL ? NULL : graph_event(g, step->event);
}

/* A thread's own variables are left out unless another thread accesses them. */
static bool is_private(const struct trace *trace, const struct step *step,
		       struct memory *m)
{
	int i;

	if (step->event != INITIAL || step->address == NULL ||
	    place_find(m, step->address).owner != step->thread)
		return false;
	for (i = 0; i < trace->count; i++)
		if (trace->steps[i].thread != step->thread &&
		    trace->steps[i].address == step->address)
			return false;
	return true;
}

static bool fails(const struct step *step)
{
	return step->what != NULL && strncmp(step->what, "HERE", 4) == 0;
}

/* The failing access is recorded twice: as an access and as the failure. */
static bool is_said_again(const struct trace *trace, int i)
{
	const struct step *step = &trace->steps[i], *next = step + 1;

	return i + 1 < trace->count && step->event == INITIAL && fails(next) &&
	       next->thread == step->thread && next->address == step->address &&
	       next->site == step->site;
}

/* The start and the end of a thread are writes to shadow words. */
static bool describe_life(struct row *row, const struct event *e, struct memory *m)
{
	char name[64];
	bool start;
	int thread;

	if (e == NULL || e->location == NO_LOCATION ||
	    !memory_describe(m, memory_address(m, e->location), name, sizeof(name)))
		return false;
	start = sscanf(name, "start of thread %d", &thread) == 1;
	if (!start && sscanf(name, "end of thread %d", &thread) != 1)
		return false;
	if (e->kind == EVENT_WRITE && start)
		snprintf(row->text, sizeof(row->text), "creates thread %d", thread);
	else if (e->kind == EVENT_WRITE)
		snprintf(row->text, sizeof(row->text), "ends");
	else if (start)
		snprintf(row->text, sizeof(row->text), "begins");
	else
		snprintf(row->text, sizeof(row->text), "joins thread %d%s", thread,
			 e->blocked ? "  BLOCKED" : "");
	return true;
}

/* `access`: the failing access, or NULL. */
static void describe(struct row *row, const struct step *step, const struct step *access,
		     struct graph *g, struct memory *m)
{
	const struct event *e = event_of(g, step);
	FILE *out = fmemopen(row->text, sizeof(row->text), "w");

	if (out == NULL)
		return;
	setbuf(out, NULL);
	if (access != NULL)
		fputs("HERE: ", out);
	trace_print_step(out, access != NULL ? access : step, g, m);
	if (e != NULL && e->kind == EVENT_READ) {
		if (e->from == INITIAL)
			fputs("  (initial)", out);
		trace_print_marks(out, step, g);
	}
	fclose(out);
	row->text[sizeof(row->text) - 1] = 0;
}

/* The row of an event, or of the update whose write half it is. */
static int find_row(const struct picture *picture, const event_id *shows, event_id id)
{
	int i;

	for (i = 0; i < picture->count; i++)
		if (shows[i] == id)
			return i;
	return -1;
}

/* Whether an event with this hb has acquired what a write releases; false if it releases
 * nothing. */
static bool has_acquired(clock_vector hb, const struct event *write)
{
	bool releases = false;
	int t;

	for (t = 0; t < MAX_THREADS; t++) {
		if (write->pass[t] > hb[t])
			return false;
		releases = releases || write->pass[t] > 0;
	}
	return releases;
}

/* The write of another thread that a step reads; or, for a fence, the write that an
 * earlier read took its value from and that the fence acquires; INITIAL if there is
 * none. */
static event_id find_write(struct graph *g, event_id id)
{
	const struct event *e = graph_event(g, id);
	int i;

	if (e->kind == EVENT_READ)
		return e->from;
	for (i = event_index(id) - 1; e->kind == EVENT_FENCE && i >= 0; i--) {
		const struct event *read = &g->events[event_thread(id)][i];

		if (read->kind == EVENT_READ && read->from != INITIAL &&
		    event_thread(read->from) != event_thread(id) &&
		    has_acquired(e->hb, graph_event(g, read->from)) &&
		    !has_acquired(graph_before(g, id)->hb, graph_event(g, read->from)))
			return read->from;
	}
	return INITIAL;
}

static void find_source(struct picture *picture, const event_id *shows, struct row *row,
			event_id id, struct graph *g)
{
	event_id write = id == INITIAL ? INITIAL : find_write(g, id);
	const char *how;
	char place[64];

	if (write == INITIAL)
		return;
	how = graph_event(g, id)->kind == EVENT_FENCE ? "after" : "from";
	lines_find(graph_event(g, write)->site, place, sizeof(place));
	if (event_thread(write) == row->thread) {
		snprintf(row->source, sizeof(row->source), "%s %s", how, place);
		return;
	}
	snprintf(row->source, sizeof(row->source), "%s thread %d, %s", how,
		 event_thread(write), place);
	row->from = find_row(picture, shows, write);
	row->ordered = has_acquired(graph_event(g, id)->hb, graph_event(g, write));
}

void picture_make(struct picture *picture, const struct trace *trace, struct graph *g,
		  struct memory *m)
{
	static event_id shows[MAX_TRACE];
	int i;

	memset(picture->moves, 0, sizeof(picture->moves));
	picture->count = 0;
	for (i = 0; i < trace->count; i++) {
		const struct step *step = &trace->steps[i];
		struct row *row = &picture->rows[picture->count];

		if (is_said_again(trace, i) ||
		    (!fails(step) && is_private(trace, step, m)))
			continue;
		*row = (struct row){
			.thread = step->thread,
			.from = -1,
			.fails = fails(step),
		};
		if (step->site != NULL)
			lines_find(step->site, row->place, sizeof(row->place));
		describe(row, step,
			 i > 0 && is_said_again(trace, i - 1) ? step - 1 : NULL, g, m);
		find_source(picture, shows, row, step->event, g);
		if (describe_life(row, event_of(g, step), m))
			row->source[0] = 0; /* obvious from the row itself */
		shows[picture->count++] = step->update != INITIAL ? step->update
								  : step->event;
		picture->moves[step->thread] = true;
	}
}
