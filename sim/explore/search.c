/* SPDX-License-Identifier: MIT */
/*
 * The search: every consistent execution graph of a program, each once.
 *
 * It follows Kokologiannakis et al., "Truly Stateless, Optimal Dynamic Partial
 * Order Reduction" (POPL 2022). A run adds one event after the other, always
 * of the lowest thread that can move:
 *
 * - a read takes its value from each write that coherence leaves it, in a
 *   graph of its own;
 * - a write takes each place in mo that coherence leaves it; and it revisits
 *   each earlier read of its word that does not precede it by program order
 *   and reads-from: a graph in which that read takes its value from the new
 *   write, and what was added since, unless the write needs it, is forgotten;
 * - that is done only if all that is forgotten had been added in the one way
 *   that comes first ("maximally"), so that no graph is met twice.
 *
 * Graphs that wait for their turn lie packed on a stack. To go on with one, the
 * threads are started afresh and handed the values that it holds; a thread is
 * held back while the write it reads from has not been made again, so that
 * memory that is not atomic has the right contents at any time.
 *
 * A wait is a read; one that no value ended is marked blocked, and its thread
 * stops there until a later write revisits it.
 *
 * Where nobody can move and nothing is left to come, waits that are bounded end.
 * That begins a new round, with a search of its own on top of the graph as it
 * is: nothing that is settled is revisited any more, all of it has been seen,
 * and everybody who waits looks again, by a read that belongs to the new round
 * and is revisited like any other. A look of a bounded wait may find what was
 * there before, and ends; or what others do in this round, and is a wait as
 * before. So each round is complete by the argument for the first one, and the
 * executions of the next are those of the one before, each continued.
 */
#include "internal.h"
#include "memory.h"

#include <sim/fiber.h>
#include <sim/runtime.h>

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SITE __builtin_return_address(0)

enum { STACK = 1 << 16, MAX_SECTIONS = 64, MAX_HELD = 8, MAX_UNREAD = 32 };

enum thread_state {
	THREAD_READY,
	THREAD_HELD,	 /* the graph's next event needs another thread's first */
	THREAD_FRONTIER, /* wants to do something that is not in the graph */
	THREAD_BLOCKED,
	THREAD_DONE,
};

struct arrival {
	const char *start;
	size_t size;
	int section;
	bool open;
};

static struct thread {
	struct sim_fiber *fiber;
	void *storage;
	enum thread_state state;
	int position; /* events done in this run */
	int early;    /* bounded waits that ended at once */
	uint64_t serials;
	int unread_count; /* plain stores whose values are not known yet */
	struct {
		const uint64_t *word;
		event_id event;
	} unread[MAX_UNREAD];
	struct arrival arrivals[MAX_HELD];
} threads[MAX_THREADS];

static struct section {
	int thread, lock;
	enum admission admission;
	event_id doorway;
	int entered, left; /* events done at the time; -1 = not yet */
	clock_vector porf; /* at the entry */
} sections[MAX_SECTIONS];
static int section_count;

static struct graph graph, scratch;
static const struct program *program;
static const struct options *options;
static struct result *result;

static struct thread *self;			   /* whose fiber runs; NULL outside */
static const void *current_site, *current_address; /* of what goes on now */
static bool replaying, stopped, dead, restart, tracing;
static bool granted; /* naive search: the thread may add one event */

/* Graphs yet to be explored, packed. */
static unsigned char *pending;
static size_t pending_size, pending_used;

/* The execution to be repeated, and the one being recorded. */
static const char *guide;
static char *record;
static size_t recorded;

static const char alphabet[] =
	"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";

const char *verdict_name(enum verdict verdict)
{
	static const char *const names[] = {
		"passed",
		"exclusion",
		"data race",
		"stale data",
		"deadlock",
		"lost wake-up",
		"bypass bound exceeded",
		"FIFO violated",
		"use after free",
		"assertion",
		"limit reached",
	};

	return names[verdict];
}

int explore_thread(void)
{
	return self == NULL ? -1 : (int)(self - threads);
}

static void pause_thread(enum thread_state state)
{
	struct thread *me = self;

	me->state = state;
	sim_fiber_yield(me->fiber);
}

/* Gives up the run, and on a fiber goes away for good. */
static void stop(void)
{
	stopped = true;
	while (self != NULL)
		pause_thread(THREAD_DONE);
}

void explore_fail(enum verdict verdict, const char *format, ...)
{
	va_list arguments;

	if (result->verdict == VERDICT_PASSED) {
		va_start(arguments, format);
		vsnprintf(result->message, sizeof(result->message), format, arguments);
		va_end(arguments);
		result->verdict = verdict;
		if (tracing && self != NULL)
			trace_add((struct step){
				.thread = (int)(self - threads),
				.what = "HERE: accesses",
				.site = current_site,
				.address = current_address,
				.event = INITIAL,
			});
	}
	stop();
}

static void push_graph(struct graph *g)
{
	size_t size = (graph_packed_size(g) + 7) & ~(size_t)7;

	if (tracing || guide != NULL)
		return;
	if (pending_used + size + sizeof(size) > pending_size) {
		pending_size = 2 * (pending_used + size + sizeof(size));
		pending = realloc(pending, pending_size);
		if (pending == NULL) {
			perror("pawl check: no memory");
			exit(2);
		}
	}
	graph_pack(g, pending + pending_used);
	memcpy(pending + pending_used + size, &size, sizeof(size));
	pending_used += size + sizeof(size);
}

static bool pop_graph(void)
{
	size_t size;

	if (pending_used == 0)
		return false;
	memcpy(&size, pending + pending_used - sizeof(size), sizeof(size));
	pending_used -= size + sizeof(size);
	graph_unpack(&graph, pending + pending_used);
	return true;
}

/* Recording an execution as text: thread and choice, a character or two. */

static int pull(void)
{
	const char *at = strchr(alphabet, *guide);

	if (*guide == 0 || at == NULL)
		return -1;
	return (int)(at - alphabet);
}

static int guided_thread(void)
{
	int code = guide == NULL ? -1 : pull();

	return code < 0 ? -1 : code >> 3;
}

/* The choice recorded for the event that comes now; 0 after the end. */
static int guided_choice(void)
{
	int code = pull(), choice;

	if (code < 0)
		return 0;
	guide++;
	choice = code & 7;
	if (choice < 7)
		return choice;
	code = pull();
	if (code >= 0)
		guide++;
	return code < 0 ? 0 : code;
}

static void record_choice(int thread, int choice)
{
	if (record == NULL || recorded + 3 >= TOKEN_SIZE)
		return;
	record[recorded++] = alphabet[thread << 3 | (choice < 7 ? choice : 7)];
	if (choice >= 7)
		record[recorded++] = alphabet[choice & 63];
	record[recorded] = 0;
}

/* Of the writes to a word that this run has made again, those after a rank. */
static int made_after(int location, int rank)
{
	int n = 0, i;

	for (i = rank; i < graph.written[location]; i++) {
		event_id id = graph.mo[location][i];

		if (event_index(id) < threads[event_thread(id)].position)
			n++;
	}
	return n;
}

static void record_event(int thread, struct event *e)
{
	if (record == NULL)
		return;
	switch (e->kind) {
	case EVENT_READ:
		record_choice(thread,
			      made_after(e->location, graph_rank(&graph, e->from)));
		break;
	case EVENT_WRITE:
		record_choice(thread, made_after(e->location, e->rank));
		break;
	default:
		record_choice(thread, (int)e->value);
		break;
	}
}

/* Finding out where a thread stands. */

static const struct event *here(void)
{
	return graph_before(&graph, event_name((int)(self - threads), self->position));
}

static bool made(event_id id)
{
	return id == INITIAL || event_index(id) < threads[event_thread(id)].position;
}

static bool can_repeat(int thread)
{
	struct event *e = &graph.events[thread][threads[thread].position];
	int t;

	if (e->kind != EVENT_READ)
		return true;
	if (e->look != LOOK_FIRST) /* the round before must be over */
		for (t = 0; t < graph.threads; t++)
			if (t != thread && threads[t].position < e->porf[t])
				return false;
	return made(e->from);
}

/* A plain store's value is there once its thread comes back to us. */
static void settle(void)
{
	int i;

	if (self == NULL)
		return;
	for (i = 0; i < self->unread_count; i++)
		graph_event(&graph, self->unread[i].event)->value = *self->unread[i].word;
	self->unread_count = 0;
}

static bool owes_write(int t)
{
	const struct event *last = graph_last(&graph, t);

	return last->kind == EVENT_READ && last->exclusive;
}

/*
 * Waits until the running thread may do its next event. Returns that event if
 * the graph has it already, NULL if the thread is to add it.
 */
static struct event *next_event(void)
{
	int t = (int)(self - threads);

	for (;;) {
		if (self->position < graph.length[t]) {
			if (can_repeat(t)) {
				struct event *e = &graph.events[t][self->position];

				record_event(t, e);
				self->position++;
				return e;
			}
			pause_thread(THREAD_HELD);
		} else if (replaying) {
			pause_thread(THREAD_FRONTIER);
		} else if (guide != NULL && guided_thread() >= 0 &&
			   guided_thread() != t) {
			pause_thread(THREAD_FRONTIER);
		} else if (options->naive && !granted && !owes_write(t)) {
			pause_thread(THREAD_FRONTIER);
		} else {
			break;
		}
	}
	granted = false;
	if (graph.length[t] == MAX_STEPS)
		explore_fail(VERDICT_LIMIT, "a thread took more than %d steps",
			     MAX_STEPS);
	return NULL;
}

static struct event *append(int thread, struct event event)
{
	struct event *e = &graph.events[thread][graph.length[thread]];

	event.stamp = ++graph.stamps;
	*e = event;
	graph.length[thread]++;
	graph.locations = memory_names();
	return e;
}

static void note(struct step step)
{
	if (tracing)
		trace_add(step);
}

static void note_event(event_id id, event_id update)
{
	struct event *e = graph_event(&graph, id);

	note((struct step){
		.thread = event_thread(id),
		.site = e->site,
		.event = id,
		.update = update,
		.stale = e->kind == EVENT_READ
				 ? made_after(e->location, graph_rank(&graph, e->from)) -
					   (update != INITIAL)
				 : 0,
	});
}

static void note_plain(const char *what, const void *p, size_t size, const void *site)
{
	note((struct step){
		.thread = (int)(self - threads),
		.what = what,
		.site = site,
		.address = p,
		.size = size,
		.event = INITIAL,
	});
}

/* Accesses and what is wrong with them. */

static const char *place(const void *p)
{
	static char name[64];

	if (!memory_describe(p, name, sizeof(name)))
		snprintf(name, sizeof(name), "%p", p);
	return name;
}

static void check_race(struct cell *cell, bool write, bool plain)
{
	clock_vector known = here()->hb;
	int t = (int)(self - threads);

	known[t] = 0xff;
	if (!clock_within(cell->plain_writes, known) ||
	    (plain && !clock_within(cell->atomic_writes, known)) ||
	    (write && !clock_within(cell->plain_reads, known)) ||
	    (write && plain && !clock_within(cell->atomic_reads, known)))
		explore_fail(VERDICT_RACE,
			     "two threads access %s and nothing orders them",
			     place(cell->address));
}

static struct cell *access_cell(const void *p, bool plain)
{
	enum memory_state state;
	int owner;
	struct cell *cell = memory_find(p, &state, &owner);

	if (state == MEMORY_FREED)
		explore_fail(VERDICT_FREED, "%s is accessed, but it is gone", place(p));
	if (state == MEMORY_UNKNOWN || (cell == NULL && !plain))
		explore_fail(VERDICT_ASSERTION, "%s is accessed, and is nobody's memory",
			     place(p));
	return cell;
}

/* Notes an access that has happened once so many of our events have. */
static void visit(int owner, int position)
{
	int t = (int)(self - threads);

	if (owner >= 0 && owner != t)
		memory_visit(owner, t, (uint8_t)position);
}

/* To be called before the event is taken or added: it is the next one. */
static struct cell *atomic_cell(const void *p)
{
	struct cell *cell = access_cell(p, false);

	if (memory_name(cell) == NO_LOCATION)
		explore_fail(VERDICT_LIMIT, "more than %d atomic words", MAX_LOCATIONS);
	if (cell->written_plainly) {
		/* Those writes should have been events: start again, knowing. */
		cell->written_plainly = false;
		restart = true;
		stop();
	}
	return cell;
}

static void atomic_access(struct cell *cell, bool write)
{
	int t = (int)(self - threads), owner;
	uint8_t position = (uint8_t)self->position;
	enum memory_state state;

	memory_find(cell->address, &state, &owner);
	visit(owner, position);
	check_race(cell, write, false);
	if (write) {
		memory_save(cell);
		cell->atomic_writes[t] = position;
	} else {
		cell->atomic_reads[t] = position;
	}
}

/* Reads. */

static bool is_in(event_id id, clock_vector prefix)
{
	return event_index(id) < prefix[event_thread(id)];
}

/*
 * A read could go on to update a value that another update has taken already;
 * worth a look only if that one may still be revisited.
 */
static bool worth_contesting(int location, int rank, const struct event *last)
{
	event_id taker = graph.mo[location][rank];
	int read = event_index(taker) - 1;

	return !is_in(event_name(event_thread(taker), read), last->porf);
}

static struct event *add_read(struct event event)
{
	int t = (int)(self - threads), l = event.location;
	const struct event *last = graph_last(&graph, t);
	struct event *e = append(t, event);
	int least = graph_floor(&graph, event_name(t, graph.length[t] - 1));
	int most = graph.written[l], rank, chosen = -1;

	if (guide != NULL) {
		chosen = most - guided_choice();
		if (chosen < least)
			chosen = most;
	}
	for (rank = most; rank >= least && guide == NULL; rank--) {
		event_id from = graph_write_at(&graph, l, rank);
		struct outcome outcome = graph_read_outcome(&graph, e, from);

		if (!outcome.ends && rank != most)
			continue; /* waiting on an old value shows nothing */
		if (outcome.writes && graph_is_joined(&graph, l, rank) &&
		    !worth_contesting(l, rank, last))
			continue;
		graph_set_read(&graph, t, e, from);
		/* The last write can always be read. */
		if (rank != most && graph_must_check(&graph, e, options->model) &&
		    !graph_allowed(&graph, options->model))
			continue;
		if (chosen < 0)
			chosen = rank;
		else
			push_graph(&graph);
	}
	if (chosen < 0) {
		graph.length[t]--;
		dead = true;
		stop();
	}
	graph_set_read(&graph, t, e, graph_write_at(&graph, l, chosen));
	self->position++;
	record_event(t, e);
	return e;
}

/* Writes. */

/*
 * True if an event was added in the way that comes first, considering only
 * what came before it and what the write that is about to revisit needs.
 */
static bool added_maximally(struct graph *g, event_id id, clock_vector needed)
{
	struct event *e = graph_event(g, id);
	int rank, i, t;

	if (e->kind == EVENT_CHOICE)
		return e->value == 0;
	if (e->kind != EVENT_READ && e->kind != EVENT_WRITE)
		return true;
	rank = event_rank(g, e);
	for (i = rank; i < g->written[e->location]; i++) {
		event_id later = g->mo[e->location][i];

		if (graph_event(g, later)->stamp <= e->stamp || is_in(later, needed))
			return false;
	}
	if (e->kind != EVENT_WRITE)
		return true;
	for (t = 0; t < g->threads; t++) {
		for (i = 0; i < g->length[t]; i++) {
			struct event *r = &g->events[t][i];

			if (r->kind == EVENT_READ && r->from == id &&
			    (r->stamp <= e->stamp || i < needed[t]))
				return false;
		}
	}
	return true;
}

/* Pushes the graphs in which an earlier read takes its value from `write`,
 * which is last in its thread and not in mo yet. */
static void revisit(event_id write, event_id read)
{
	struct event *w = graph_event(&graph, write), *r = graph_event(&graph, read);
	clock_vector needed = w->porf;
	uint8_t keep[MAX_THREADS];
	int t, i, rank, least, l = w->location;

	needed[event_thread(write)]--; /* all but the write itself */
	for (t = 0; t < graph.threads; t++) {
		int n = graph.length[t];

		while (n > w->porf[t] && graph.events[t][n - 1].stamp > r->stamp)
			n--;
		keep[t] = (uint8_t)n;
		for (i = n; i < graph.length[t]; i++)
			if (!added_maximally(&graph, event_name(t, i), needed))
				return;
	}
	if (!added_maximally(&graph, read, needed))
		return;

	memcpy(&scratch, &graph, offsetof(struct graph, mo));
	for (i = 0; i < graph.locations; i++)
		memcpy(scratch.mo[i], graph.mo[i], graph.written[i] * sizeof(event_id));
	for (t = 0; t < graph.threads; t++)
		memcpy(scratch.events[t], graph.events[t],
		       graph.length[t] * sizeof(struct event));
	graph_truncate(&scratch, keep);
	w = graph_event(&scratch, write);
	r = graph_event(&scratch, read);
	if (w->exclusive) {
		rank = least = graph_rank(&scratch, (w - 1)->from);
	} else {
		rank = scratch.written[l];
		least = graph_floor(&scratch, write);
	}
	for (; rank >= least; rank--) {
		if (graph_is_joined(&scratch, l, rank))
			continue;
		graph_insert(&scratch, write, rank + 1);
		graph_set_read(&scratch, event_thread(read), r, write);
		if (graph_floor(&scratch, read) <= rank + 1 &&
		    !(r->blocked && rank + 1 != scratch.written[l]) &&
		    (!(graph_must_check(&scratch, r, options->model) ||
		       graph_must_check(&scratch, w, options->model)) ||
		     graph_allowed(&scratch, options->model)))
			push_graph(&scratch);
		graph_remove(&scratch, write);
	}
}

static void revisit_all(event_id write)
{
	struct event *w = graph_event(&graph, write);
	int t, i;

	for (t = 0; t < graph.threads; t++)
		for (i = w->porf[t]; i < graph.length[t]; i++)
			if (graph.events[t][i].kind == EVENT_READ &&
			    graph.events[t][i].location == w->location)
				revisit(write, event_name(t, i));
}

static struct event *add_write(struct event event, bool exclusive)
{
	int t = (int)(self - threads), l = event.location;
	const struct event *last = graph_last(&graph, t);
	struct event *e = append(t, event);
	event_id id = event_name(t, graph.length[t] - 1);
	int least = graph_floor(&graph, id), rank = graph.written[l], chosen = -1;

	if (graph.written[l] == MAX_WRITES)
		explore_fail(VERDICT_LIMIT, "more than %d writes to a word", MAX_WRITES);
	graph_set_write(&graph, t, e, exclusive ? last : NULL);
	if (guide != NULL) {
		chosen = rank - guided_choice();
		if (exclusive)
			chosen = graph_rank(&graph, last->from);
		if (chosen < least)
			chosen = rank;
	} else {
		if (event.operation != OP_PLAIN_STORE && !tracing && !options->naive)
			revisit_all(id);
		if (exclusive)
			rank = least = graph_rank(&graph, last->from);
		else if (event.operation == OP_PLAIN_STORE)
			least = rank;
		for (; rank >= least; rank--) {
			if (graph_is_joined(&graph, l, rank))
				continue;
			graph_insert(&graph, id, rank + 1);
			/* The end of mo is always open. */
			if (rank == graph.written[l] - 1 ||
			    !graph_must_check(&graph, e, options->model) ||
			    graph_allowed(&graph, options->model)) {
				if (chosen < 0)
					chosen = rank;
				else
					push_graph(&graph);
			}
			graph_remove(&graph, id);
		}
	}
	if (chosen < 0) {
		graph.length[t]--;
		dead = true;
		stop();
	}
	graph_insert(&graph, id, chosen + 1);
	self->position++;
	record_event(t, e);
	return e;
}

/* The engine's operations. */

static void doorway(const void *p)
{
	event_id id = event_name((int)(self - threads), self->position - 1);
	int i;

	for (i = 0; i < MAX_HELD; i++) {
		struct arrival *a = &self->arrivals[i];

		if (a->open && (size_t)((const char *)p - a->start) < a->size &&
		    sections[a->section].doorway == INITIAL)
			sections[a->section].doorway = id;
	}
}

static void write_half(const uint64_t *p, uint64_t value, struct event *read,
		       struct cell *cell)
{
	struct event *e = next_event();

	if (e == NULL)
		e = add_write(
			(struct event){
				.kind = EVENT_WRITE,
				.operation = read->operation,
				.order = read->order,
				.location = read->location,
				.value = value,
				.site = read->site,
			},
			true);
	atomic_access(cell, true);
	*(uint64_t *)p = value;
	doorway(p);
}

/* Any operation that reads. `operand` is what it stores, or adds. */
static uint64_t read_operation(enum operation operation, const uint64_t *p,
			       uint64_t expected, uint64_t operand, int order,
			       int failure, const void *site, bool *wrote)
{
	int t = (int)(self - threads);
	enum look look = LOOK_FIRST;
	struct event *e;
	struct cell *cell;
	uint64_t value;
	event_id id;

	settle();
	for (;;) {
		e = next_event();
		current_site = site;
		current_address = p;
		cell = atomic_cell(p);
		if (e == NULL)
			e = add_read((struct event){
				.kind = EVENT_READ,
				.operation = (uint8_t)operation,
				.order = (uint8_t)order,
				.failure = (uint8_t)failure,
				.location = cell->location,
				.look = (uint8_t)look,
				.expected = expected,
				.site = site,
			});
		id = event_name(t, self->position - 1);
		atomic_access(cell, false);
		if (!e->blocked)
			break;
		note_event(id, INITIAL);
		/* Only another thread's write, or a new round, goes on from here. */
		while (self->position > graph.settled[t])
			pause_thread(THREAD_BLOCKED);
		look = (graph.tired >> t & 1) != 0 ? LOOK_LAST : LOOK_AGAIN;
	}
	value = e->value;
	if (e->exclusive) {
		uint64_t next = operand;

		if (operation == OP_ADD)
			next = value + operand;
		else if (operation == OP_AWAIT_EQ_RMW || operation == OP_AWAIT_NE_RMW)
			next = value;
		write_half(p, next, e, cell);
		note_event(id, event_name(t, self->position - 1));
	} else {
		note_event(id, INITIAL);
	}
	if (wrote != NULL)
		*wrote = e->exclusive;
	return value;
}

static bool choose(enum operation operation, const void *site)
{
	int t = (int)(self - threads);
	struct event *e;

	settle();
	e = next_event();
	if (e == NULL) {
		e = append(t, (struct event){
				      .kind = EVENT_CHOICE,
				      .operation = (uint8_t)operation,
				      .location = NO_LOCATION,
				      .site = site,
			      });
		graph_set_other(&graph, t, e);
		if (guide != NULL) {
			e->value = (uint64_t)guided_choice();
		} else {
			e->value = 1;
			push_graph(&graph);
			e->value = 0;
		}
		self->position++;
		record_event(t, e);
	}
	note_event(event_name(t, self->position - 1), INITIAL);
	return e->value != 0;
}

/* Whether a wait that may end at any time ends now, though others may move. */
static bool ends_early(const void *site)
{
	if (self->early >= options->early || !choose(OP_EARLY, site))
		return false;
	self->early++;
	return true;
}

static uint64_t do_load(const uint64_t *p, int order, const void *site)
{
	return read_operation(OP_LOAD, p, 0, 0, order, order, site, NULL);
}

static void do_store(uint64_t *p, uint64_t value, int order, const void *site)
{
	struct cell *cell;
	struct event *e;

	settle();
	e = next_event();
	current_site = site;
	current_address = p;
	cell = atomic_cell(p);
	if (e == NULL)
		e = add_write(
			(struct event){
				.kind = EVENT_WRITE,
				.operation = OP_STORE,
				.order = (uint8_t)order,
				.location = cell->location,
				.value = value,
				.site = site,
			},
			false);
	atomic_access(cell, true);
	*p = value;
	note_event(event_name((int)(self - threads), self->position - 1), INITIAL);
}

static uint64_t do_exchange(uint64_t *p, uint64_t value, int order, const void *site)
{
	return read_operation(OP_EXCHANGE, p, 0, value, order, order, site, NULL);
}

static bool do_cas(uint64_t *p, uint64_t from, uint64_t to, int order, int failure,
		   const void *site)
{
	bool wrote;

	read_operation(OP_CAS, p, from, to, order, failure, site, &wrote);
	return wrote;
}

static uint64_t do_fetch_add(uint64_t *p, uint64_t n, int order, const void *site)
{
	return read_operation(OP_ADD, p, 0, n, order, order, site, NULL);
}

static uint64_t do_await(enum sim_await kind, uint64_t *p, uint64_t value, uint64_t to,
			 int order, const void *site)
{
	static const enum operation operations[] = {
		[SIM_AWAIT_EQ] = OP_AWAIT_EQ,
		[SIM_AWAIT_NE] = OP_AWAIT_NE,
		[SIM_AWAIT_CHANGE] = OP_AWAIT_CHANGE,
		[SIM_AWAIT_CAS] = OP_AWAIT_CAS,
		[SIM_AWAIT_EQ_RMW] = OP_AWAIT_EQ_RMW,
		[SIM_AWAIT_NE_RMW] = OP_AWAIT_NE_RMW,
	};

	/* If the value has changed, the wait did not end early. */
	if (kind == SIM_AWAIT_CHANGE && ends_early(site))
		return read_operation(OP_ASSUME_EQ, p, value, 0, order, order, site,
				      NULL);
	return read_operation(operations[kind], p, value, to, order, order, site, NULL);
}

static void do_fence(enum sim_fence kind, const void *site)
{
	int t = (int)(self - threads);
	struct event *e;

	settle();
	e = next_event();
	if (e == NULL) {
		e = append(t, (struct event){
				      .kind = EVENT_FENCE,
				      .operation = OP_FENCE,
				      .order = (uint8_t)kind,
				      .location = NO_LOCATION,
				      .site = site,
			      });
		graph.fences = (uint16_t)(graph.fences + graph_is_sc_fence(e));
		graph_set_fence(&graph, t, e);
		if (guide != NULL)
			guided_choice();
		self->position++;
		record_event(t, e);
	}
	note_event(event_name(t, self->position - 1), INITIAL);
}

/*
 * The futex. The kernel orders sleepers and wakers of one word by a lock of its
 * own; here a count of wake-ups, kept beside the word, stands for it. Either
 * the sleeper sees the count raised, and with it what the waker stored before;
 * or the count changes while it sleeps. All sleepers of the word wake up: the
 * contract allows that.
 */
static bool do_sleep(const uint64_t *p, uint64_t expected, bool timed, const void *site)
{
	const uint64_t *wakes = memory_beside(p);
	uint64_t before;

	/*
	 * Its time is up; or the system woke it for nothing. Where membarrier is
	 * refused a sleep is timed so that stores on their way arrive meanwhile
	 * (pawl_park_fence): that one is not cut short.
	 */
	if (ends_early(site))
		return !(timed && sim_membarrier_works);
	before = do_load(wakes, SIM_ACQUIRE, site);
	if ((uint32_t)do_load(p, SIM_RELAXED, site) != (uint32_t)expected)
		return true;
	return read_operation(timed ? OP_AWAIT_CHANGE : OP_AWAIT_NE, wakes, before, 0,
			      SIM_ACQUIRE, SIM_ACQUIRE, site, NULL) != before;
}

static void do_wake(const uint64_t *p, const void *site)
{
	do_fetch_add(memory_beside(p), 1, SIM_ACQ_REL, site);
}

static void plain_word(const char *p, bool write, const void *site)
{
	enum memory_state state;
	int owner, t = (int)(self - threads);
	struct cell *cell = memory_find(p, &state, &owner);

	if (cell == NULL && state == MEMORY_LIVE)
		return;
	current_site = site;
	current_address = p;
	if (cell == NULL || !((write && cell->atomic) || memory_is_constant(cell, write)))
		note_plain(write ? "write" : "read", p, 8, site);
	cell = access_cell(p, true);
	if (write)
		memory_save(cell);
	if (write && cell->atomic) {
		struct event *e = next_event();

		check_race(cell, true, true);
		if (e == NULL)
			e = add_write(
				(struct event){
					.kind = EVENT_WRITE,
					.operation = OP_PLAIN_STORE,
					.order = SIM_RELAXED,
					.location = cell->location,
					.site = site,
				},
				false);
		cell->plain_writes[t] = (uint8_t)self->position;
		visit(owner, self->position);
		if (self->unread_count == MAX_UNREAD)
			explore_fail(VERDICT_LIMIT, "too many atomics in one store");
		self->unread[self->unread_count].word = cell->address;
		self->unread[self->unread_count++].event = event_name(t,
								      self->position - 1);
		note_event(event_name(t, self->position - 1), INITIAL);
		return;
	}
	check_race(cell, write, true);
	if (write) {
		cell->plain_writes[t] = (uint8_t)(self->position + 1);
		cell->written_plainly = true;
	} else {
		cell->plain_reads[t] = (uint8_t)(self->position + 1);
	}
	visit(owner, self->position + 1);
}

static void do_plain(const void *p, size_t size, bool write, const void *site)
{
	const char *at = p, *end = at + size;

	if (self == NULL)
		return;
	settle();
	for (; at < end; at = (const char *)(((uintptr_t)at | 7) + 1)) {
		plain_word(at, write, site);
	}
}

static void *do_self(void)
{
	return self->storage;
}

static bool do_one_in(unsigned n, const void *site)
{
	(void)n;
	return choose(OP_CHOICE, site);
}

static void *do_allocate(size_t size, size_t alignment)
{
	void *p;

	settle();
	p = memory_allocate(explore_thread(), size, alignment);
	if (p == NULL)
		explore_fail(VERDICT_LIMIT, "the program needs too much memory");
	return p;
}

static void do_release(void *p, const void *site)
{
	struct cell *cell;

	settle();
	note_plain("free", p, 0, site);
	cell = memory_free(p, (int)(self - threads), here()->hb);
	if (cell != NULL)
		explore_fail(VERDICT_FREED,
			     "%s is freed while another thread may still access it",
			     place(cell->address));
}

static uint64_t do_serial(void)
{
	uint64_t t = (uint64_t)(self - threads);

	return self->serials++ * (uint64_t)graph.threads + t + 1;
}

static void do_die(const char *sentence, const void *site) __attribute__((noreturn));
static void do_die(const char *sentence, const void *site)
{
	note_plain(sentence, NULL, 0, site);
	explore_fail(VERDICT_ASSERTION, "%s", sentence);
	abort();
}

static const struct sim_engine engine = {
	.load = do_load,
	.store = do_store,
	.exchange = do_exchange,
	.cas = do_cas,
	.fetch_add = do_fetch_add,
	.fence = do_fence,
	.await = do_await,
	.sleep = do_sleep,
	.wake = do_wake,
	.plain = do_plain,
	.self = do_self,
	.one_in = do_one_in,
	.allocate = do_allocate,
	.release = do_release,
	.serial = do_serial,
	.die = do_die,
};

/* For the checked program. */

void *explore_allocate(size_t size, size_t alignment)
{
	return do_allocate(size, alignment);
}

void explore_free(void *p)
{
	do_release(p, SITE);
}

uint64_t explore_final(const uint64_t *word)
{
	enum memory_state state;
	int owner;
	struct cell *cell = memory_find(word, &state, &owner);
	int l = cell->location;

	if (!cell->atomic)
		return *word;
	return graph_value(&graph, graph_write_at(&graph, l, graph.written[l]));
}

void explore_exit(void)
{
	settle();
	if (sim_thread_wants_exit(self->storage))
		sim_thread_exit(self->storage);
	settle();
	note_plain("exit", NULL, 0, NULL);
	if (!memory_retire((int)(self - threads), here()->hb))
		explore_fail(VERDICT_FREED,
			     "a thread exits while another may still access its memory");
}

static struct arrival *find_arrival(int lock)
{
	int i;

	for (i = 0; i < MAX_HELD; i++)
		if (self->arrivals[i].open &&
		    sections[self->arrivals[i].section].lock == lock)
			return &self->arrivals[i];
	abort(); /* the program's own mistake */
}

void explore_arrive(int lock, const void *l, size_t size, enum admission admission)
{
	struct arrival *a = self->arrivals;

	settle();
	while (a->open)
		if (++a == self->arrivals + MAX_HELD)
			abort();
	if (section_count == MAX_SECTIONS)
		explore_fail(VERDICT_LIMIT, "more than %d sections", MAX_SECTIONS);
	a->open = true;
	a->start = l;
	a->size = size;
	a->section = section_count;
	sections[section_count++] = (struct section){
		.thread = (int)(self - threads),
		.lock = lock,
		.admission = admission,
		.doorway = INITIAL,
		.entered = -1,
		.left = -1,
	};
}

void explore_retreat(int lock)
{
	find_arrival(lock)->open = false;
}

void explore_enter(int lock)
{
	struct section *mine = &sections[find_arrival(lock)->section];
	int i;

	settle();
	note_plain("enter", NULL, 0, SITE);
	mine->porf = here()->porf;
	mine->entered = self->position;
	for (i = 0; i < section_count; i++) {
		struct section *s = &sections[i];

		if (s == mine || s->lock != lock || s->entered < 0 ||
		    s->thread == mine->thread)
			continue;
		if (s->left < 0 || mine->porf[s->thread] <= s->left)
			explore_fail(VERDICT_EXCLUSION,
				     "threads %d and %d are in the section at once",
				     s->thread, mine->thread);
	}
}

void explore_leave(int lock)
{
	struct arrival *a = find_arrival(lock);

	settle();
	note_plain("leave", NULL, 0, SITE);
	sections[a->section].left = self->position;
	a->open = false;
}

static bool entered_before(const struct section *a, const struct section *b)
{
	if (a->thread == b->thread)
		return a->entered < b->entered;
	return b->porf[a->thread] > a->entered;
}

/* True if a arrived before b at the same lock, both through the same word. */
static bool arrived_before(const struct section *a, const struct section *b)
{
	struct event *x, *y;

	if (a->lock != b->lock || a->doorway == INITIAL || b->doorway == INITIAL)
		return false;
	x = graph_event(&graph, a->doorway);
	y = graph_event(&graph, b->doorway);
	return x->location == y->location && x->rank < y->rank;
}

static void check_admission(void)
{
	int i, k, t;

	for (i = 0; i < section_count && !stopped; i++) {
		struct section *s = &sections[i];
		int overtaken[MAX_THREADS] = {0};

		if (s->admission == ADMIT_ANY || s->entered < 0)
			continue;
		for (k = 0; k < section_count; k++)
			if (sections[k].entered >= 0 && arrived_before(s, &sections[k]) &&
			    entered_before(&sections[k], s))
				overtaken[sections[k].thread]++;
		for (t = 0; t < graph.threads && !stopped; t++) {
			if (s->admission == ADMIT_FIFO && overtaken[t] > 0)
				explore_fail(VERDICT_FIFO,
					     "thread %d arrived later than thread %d "
					     "and entered first",
					     t, s->thread);
			else if (overtaken[t] > 1)
				explore_fail(VERDICT_BYPASS,
					     "thread %d overtook thread %d %d times", t,
					     s->thread, overtaken[t]);
		}
	}
}

/* Running. */

static void fiber_main(void *argument)
{
	int t = (int)(intptr_t)argument;

	program->thread(program->context, t);
	settle();
	for (;;)
		pause_thread(THREAD_DONE);
}

static void resume(int t)
{
	self = &threads[t];
	sim_fiber_resume(threads[t].fiber);
	self = NULL;
}

static void start_threads(void)
{
	int t;

	for (t = 0; t < program->threads; t++) {
		struct thread *thread = &threads[t];

		if (thread->fiber == NULL) {
			size_t size;
			void *stack;

			thread->fiber = sim_fiber_new(STACK);
			if (thread->fiber == NULL) {
				perror("pawl check: no memory");
				exit(2);
			}
			stack = sim_fiber_stack(thread->fiber, &size);
			memory_add_stack(t, stack, size);
		}
		thread->storage = memory_storage(t, sim_thread_size());
		thread->state = THREAD_READY;
		thread->position = 0;
		thread->serials = 0;
		thread->early = 0;
		thread->unread_count = 0;
		memset(thread->arrivals, 0, sizeof(thread->arrivals));
		sim_fiber_start(thread->fiber, fiber_main, (void *)(intptr_t)t);
	}
}

/* Goes through what the graph holds, in any order that porf allows. */
static void replay(void)
{
	bool moved = true;
	int t;

	replaying = true;
	while (moved && !stopped) {
		moved = false;
		for (t = 0; t < graph.threads && !stopped; t++) {
			struct thread *thread = &threads[t];
			bool held = thread->state == THREAD_HELD ||
				    thread->state == THREAD_BLOCKED;

			if (thread->state == THREAD_FRONTIER ||
			    thread->state == THREAD_DONE)
				continue;
			if (held &&
			    (thread->position >= graph.length[t] || !can_repeat(t)))
				continue;
			resume(t);
			moved = true;
		}
	}
	replaying = false;
}

static bool can_move(int t)
{
	return threads[t].state == THREAD_FRONTIER || threads[t].state == THREAD_READY;
}

static int next_thread(void)
{
	int t, found = -1;

	if (guide != NULL && guided_thread() >= 0 && guided_thread() < graph.threads &&
	    can_move(guided_thread()))
		return guided_thread();
	for (t = graph.threads - 1; t >= 0; t--) {
		if (!can_move(t))
			continue;
		if (owes_write(t))
			return t;
		found = t;
	}
	if (guide != NULL && found >= 0)
		guide = ""; /* it does not fit the program: go on without */
	if (options->naive && found >= 0) {
		granted = true;
		if (graph.forced >= 0) {
			found = graph.forced;
			graph.forced = -1;
			return found;
		}
		for (t = found + 1; t < graph.threads; t++) {
			if (!can_move(t))
				continue;
			graph.forced = (int8_t)t;
			push_graph(&graph);
		}
		graph.forced = -1;
	}
	return found;
}

/* Is there a value that would have ended the wait, and that passed unseen? */
static bool missed(const struct event *wait)
{
	int i;

	for (i = 0; i < graph.written[wait->location]; i++) {
		event_id id = graph.mo[wait->location][i];

		if (graph_outcome(wait->operation, wait->expected,
				  graph_event(&graph, id)->value)
			    .ends &&
		    !is_in(id, wait->hb))
			return true;
	}
	return false;
}

/* A wait was this long already, and nothing was written since. */
static bool waited_in_vain(int t, const struct event *wait)
{
	int i;

	for (i = graph.length[t] - 1; i >= 0; i--) {
		struct event *e = &graph.events[t][i];

		if (e->look == LOOK_LAST && !e->blocked && e->site == wait->site &&
		    e->location == wait->location && e->expected == wait->expected &&
		    graph_writes_within(&graph, e->seen) == graph.writes)
			return true;
	}
	return false;
}

/*
 * Nobody can move, some are blocked. If all of them have seen the last value
 * of what they wait for, nothing more will come by itself: the round is over.
 * There is another if some wait is bounded, and has not ended like this before
 * with memory as it is now.
 */
static void quiesce(void)
{
	uint8_t tired = 0;
	bool lost = false;
	int t, stuck = -1;

	for (t = 0; t < graph.threads; t++) {
		const struct event *e = graph_last(&graph, t);

		if (threads[t].state != THREAD_BLOCKED)
			continue;
		if (e->operation == OP_ASSUME_EQ ||
		    graph_rank(&graph, e->from) != graph.written[e->location]) {
			dead = true;
			return;
		}
	}
	for (t = 0; t < graph.threads; t++) {
		const struct event *e = graph_last(&graph, t);

		if (threads[t].state != THREAD_BLOCKED)
			continue;
		stuck = t;
		lost = lost || missed(e);
		if (e->operation == OP_AWAIT_CHANGE && !options->steadfast &&
		    !waited_in_vain(t, e))
			tired = (uint8_t)(tired | 1 << t);
	}
	if (tired != 0) {
		graph_settle(&graph, tired);
		for (t = 0; t < graph.threads; t++)
			if (threads[t].state == THREAD_BLOCKED)
				threads[t].state = THREAD_READY;
		return;
	}
	if (options->stuck_is_complete)
		stopped = true;
	else
		explore_fail(lost ? VERDICT_LOST_WAKE_UP : VERDICT_DEADLOCK,
			     "thread %d waits for ever%s", stuck,
			     lost ? ": what it waits for came and was overwritten" : "");
}

static void run(void)
{
	int t;

	stopped = dead = false;
	section_count = 0;
	memory_reset();
	if (program->set_up != NULL)
		program->set_up(program->context);
	start_threads();
	replay();
	while (!stopped && !dead) {
		bool blocked = false;

		t = next_thread();
		if (t >= 0) {
			resume(t);
			continue;
		}
		for (t = 0; t < graph.threads; t++)
			blocked = blocked || threads[t].state == THREAD_BLOCKED;
		if (!blocked)
			break;
		quiesce();
	}
	if (restart)
		return;
	if (dead) {
		result->blocked++;
		return;
	}
	if (stopped && result->verdict == VERDICT_PASSED && options->stuck_is_complete) {
		result->executions++;
		if (options->each != NULL)
			options->each(options->context, &graph);
	}
	if (stopped)
		return;
	check_admission();
	if (!stopped && program->finished != NULL)
		program->finished(program->context);
	if (!stopped) {
		result->executions++;
		if (options->each != NULL)
			options->each(options->context, &graph);
	}
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* Runs the failing graph once more, taking notes. */
static void describe(void)
{
	enum verdict verdict = result->verdict;
	uint64_t executions = result->executions, blocked = result->blocked;

	tracing = options->keep_trace;
	record = result->choices;
	recorded = 0;
	record[0] = 0;
	trace_clear();
	result->verdict = VERDICT_PASSED;
	guide = options->choices;
	if (guide != NULL)
		graph_clear(&graph, program->threads);
	else
		tracing = true; /* add nothing to the stack */
	run();
	if (options->keep_trace)
		result->trace = trace_print(&graph);
	tracing = false;
	record = NULL;
	result->verdict = verdict;
	result->executions = executions;
	result->blocked = blocked;
}

static void start_over(void)
{
	restart = false;
	pending_used = 0;
	result->executions = result->blocked = 0;
	graph_clear(&graph, program->threads);
	guide = options->choices;
}

void explore(const struct program *what, const struct options *how, struct result *out)
{
	double start = now();
	uint64_t runs = 0;

	program = what;
	options = how;
	result = out;
	memset(result, 0, offsetof(struct result, choices));
	result->choices[0] = 0;
	result->trace = NULL;
	sim_engine = &engine;
	memory_open();
	memory_forget();
	start_over();
	for (;;) {
		run();
		if (restart) {
			start_over();
			continue;
		}
		if (graph.overflow) {
			result->verdict = VERDICT_LIMIT;
			snprintf(result->message, sizeof(result->message),
				 "too many seq_cst accesses and fences");
		}
		if (result->verdict != VERDICT_PASSED || guide != NULL)
			break;
		if (!pop_graph())
			break;
		runs++;
		if (options->limit != 0 && runs >= options->limit) {
			result->verdict = VERDICT_LIMIT;
			snprintf(result->message, sizeof(result->message),
				 "gave up after %llu executions",
				 (unsigned long long)runs);
			break;
		}
		if (options->progress != NULL && runs % 8192 == 0)
			options->progress(options->context, runs, now() - start);
	}
	result->seconds = now() - start;
	if (result->verdict != VERDICT_PASSED && result->verdict != VERDICT_LIMIT)
		describe();
	sim_engine = NULL;
}
