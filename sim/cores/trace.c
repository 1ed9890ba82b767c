/* SPDX-License-Identifier: MIT */
/* Prints a failing execution, one line per step. */
#include "machine.h"

#include <sim/common/lines.h>
#include <sim/seam.h>

static void tell_modification(FILE *out, const struct request *r,
			      const struct choice *choice, const char *place)
{
	char old[64], to[64];

	memory_show_value(r->word, machine_view(choice, r->word), old, sizeof(old));
	memory_show_value(r->word, r->value, to, sizeof(to));
	switch (r->kind) {
	case REQUEST_EXCHANGE:
		fprintf(out, "exchange  %s: %s -> %s", place, old, to);
		break;
	case REQUEST_ADD:
		fprintf(out, "fetch-add  %s: %s, adds %llu", place, old,
			(unsigned long long)r->value);
		break;
	case REQUEST_LIE_DOWN:
	case REQUEST_GET_UP:
		fprintf(out, "%s  %s",
			r->kind == REQUEST_LIE_DOWN ? "goes to sleep on"
						    : "does not sleep on",
			place);
		break;
	default:
		if (machine_view(choice, r->word) != r->value) {
			fprintf(out, "cas  %s: %s, fails: wants %s", place, old, to);
			break;
		}
		memory_show_value(r->word, r->to, to, sizeof(to));
		fprintf(out, "cas  %s: %s -> %s", place, old, to);
	}
}

static void tell_request(FILE *out, const struct request *r, const struct choice *choice)
{
	char place[64] = "", value[64] = "";

	if (r->word != NULL) {
		memory_show_place(r->word, place, sizeof(place));
		memory_show_value(r->word,
				  r->kind == REQUEST_STORE || r->kind == REQUEST_COMMIT
					  ? r->value
					  : machine_view(choice, r->word),
				  value, sizeof(value));
	}
	switch (r->kind) {
	case REQUEST_LOAD:
		fprintf(out, "load  %s: %s", place, value);
		break;
	case REQUEST_BEGIN:
		fputs("begins a sequence", out);
		break;
	case REQUEST_COMMIT:
		if (!machine.tasks[choice->thread].whole ||
		    machine.tasks[choice->thread].core != choice->core) {
			fputs("sequence cut short", out);
			break;
		}
		/* fallthrough */
	case REQUEST_STORE:
		fprintf(out, "store  %s = %s%s", place, value,
			machine_model != MODEL_TSO ? ""
			: r->order == SIM_SEQ_CST  ? ", and drains"
						   : "  (into the buffer)");
		break;
	case REQUEST_AWAIT:
		fprintf(out, "await  %s: %s", place, value);
		break;
	case REQUEST_SLEEP:
		fputs(choice->kind == CHOICE_EARLY ? "sleep, ends by itself" : "sleep",
		      out);
		break;
	case REQUEST_FENCE:
		fputs("full fence", out);
		break;
	case REQUEST_BARRIER:
		fputs("barrier", out);
		if (choice->more != choice->core)
			fprintf(out, ", reaches core %d", choice->more);
		break;
	case REQUEST_CPU:
		fprintf(out, "asks for its core: %d",
			machine_model == MODEL_WEAK ? choice->more : choice->core);
		break;
	case REQUEST_FORK:
		fputs(choice->more == FORK_PARENT ? "forks: as the parent"
						  : "forks: as the child",
		      out);
		break;
	case REQUEST_QUIET:
		fputs("nothing else moves", out);
		break;
	case REQUEST_COIN:
		fputs(choice->more != 0 ? "coin: yes" : "coin: no", out);
		break;
	default:
		tell_modification(out, r, choice, place);
	}
}

static void tell_drain(FILE *out, int core)
{
	const struct core *c = &machine.cores[core];
	char place[64], value[64];

	memory_show_place(c->buffer[0].word, place, sizeof(place));
	memory_show_value(c->buffer[0].word, c->buffer[0].value, value, sizeof(value));
	fprintf(out, "  core %d %37s drains  %s = %s\n", core, "", place, value);
}

/* Prints how the thread gets to its core. */
static void tell_move(FILE *out, const struct choice *choice)
{
	const struct task *task = &machine.tasks[choice->thread];
	int there;

	if (task->request.kind == REQUEST_COIN || task->request.kind == REQUEST_FORK ||
	    task->core == choice->core)
		return;
	fprintf(out, "  thread %d  ", choice->thread);
	if (choice->core == NOWHERE) {
		fprintf(out, "leaves core %d\n", task->core);
		return;
	}
	there = machine.cores[choice->core].thread;
	if (task->core >= 0)
		fprintf(out, "migrates from core %d to core %d", task->core,
			choice->core);
	else
		fprintf(out, "runs on core %d", choice->core);
	if (there >= 0)
		fprintf(out, ", where it preempts thread %d", there);
	fputc('\n', out);
}

void trace_tell(FILE *out, const struct choice *choice)
{
	const struct request *r = &machine.tasks[choice->thread].request;
	char line[64] = "";

	if (choice->kind == CHOICE_DRAIN) {
		tell_drain(out, choice->core);
		return;
	}
	if (choice->kind == CHOICE_INTERRUPT) {
		fprintf(out, "  thread %d  is interrupted\n", choice->thread);
		return;
	}
	tell_move(out, choice);
	if (choice->kind == CHOICE_MOVE)
		return;
	lines_find(r->site, line, sizeof(line));
	fprintf(out, "  thread %d on core %d  %-26s ", choice->thread, choice->core,
		line);
	tell_request(out, r, choice);
	if (machine_model == MODEL_WEAK && r->word != NULL &&
	    choice->more < views_newest(r->word))
		fprintf(out, "  [old: %d later]", views_newest(r->word) - choice->more);
	fputc('\n', out);
}
