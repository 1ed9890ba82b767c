/* SPDX-License-Identifier: MIT */
/*
 * The search: every consistent execution graph of a program, each once.
 *
 * It follows Kokologiannakis et al., "Truly Stateless, Optimal Dynamic Partial Order
 * Reduction" (POPL 2022). A run adds one event after the other, always of the lowest
 * thread that can run:
 *
 * - a read takes its value from each write that coherence allows, in a graph of its own;
 * - a write takes each place in mo that coherence allows; and it revisits each earlier read
 *   of its word that does not precede it by program order and reads-from: that pushes a
 *   graph in which the read takes its value from the new write, without the events added
 *   since, except those that the write depends on;
 * - a revisit happens only if all events that it drops had been added in the one way that
 *   comes first ("maximally"), so that no graph is met twice.
 *
 * Pending graphs are packed on a stack. To continue one, the threads are started again
 * and get the values that the graph holds; a thread is held while the write that it reads
 * from has not been repeated, so that plain memory has the right contents at any time.
 *
 * A wait is a read. If no value ended it, it is marked blocked, and its thread stops
 * there until a later write revisits it.
 *
 * When no thread can run, bounded waits time out. That begins a new round, with a search
 * of its own on top of the graph: settled events are not revisited any more, all threads
 * have seen them, and every waiting thread checks its word again, by a read that belongs
 * to the new round and can be revisited. That read of a bounded wait may return the
 * settled value, a timeout; or a write of this round, and is a wait as before. So each
 * round is complete by the argument for the first one, and the executions of a round are
 * those of the one before, each continued.
 */
#include "search.h"

#include <sim/common/visited.h>
#include <sim/fiber.h>
#include <sim/runtime.h>

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	STACK = 1 << 18,   /* libdw, which finds source lines, needs a large one */
	CUT_RUNS = 100000, /* runs with a shorter limit, after a run was cut */
	REPORTED = 8192,   /* default interval of progress, in runs */
};

struct search *current_search;

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
		"unlock not constant-time",
		"space bound exceeded",
		"use after free",
		"assertion",
		"leak",
		"refused",
		"limit reached",
		"nothing executed",
		"no failure seen",
	};

	return names[verdict];
}

const char *search_smaller(const struct search *s)
{
	return s->options->smaller != NULL ? s->options->smaller
					   : "lower --threads or --episodes";
}

void search_push(struct search *s, struct graph *g)
{
	size_t size = (graph_packed_size(g) + 7) & ~(size_t)7;

	if (s->tracing || s->guide != NULL || s->at_random)
		return;
	if (s->pending.used + size + sizeof(size) > s->pending.size) {
		s->pending.size = 2 * (s->pending.used + size + sizeof(size));
		s->pending.bytes = realloc(s->pending.bytes, s->pending.size);
		if (s->pending.bytes == NULL) {
			perror("pawl check: no memory");
			exit(2);
		}
	}
	graph_pack(g, s->pending.bytes + s->pending.used);
	memcpy(s->pending.bytes + s->pending.used + size, &size, sizeof(size));
	s->pending.used += size + sizeof(size);
}

bool search_pop(struct search *s)
{
	size_t size;

	if (s->pending.used == 0)
		return false;
	memcpy(&size, s->pending.bytes + s->pending.used - sizeof(size), sizeof(size));
	s->pending.used -= size + sizeof(size);
	graph_unpack(&s->graph, s->pending.bytes + s->pending.used);
	return true;
}

/* Running. */

static void fiber_main(void *argument)
{
	struct search *s = current_search;
	int t = (int)(intptr_t)argument;

	s->program->thread(s->program->context, t);
	search_settle(s);
	for (;;)
		search_pause(s, THREAD_DONE);
}

static void resume(struct search *s, int t)
{
	s->self = &s->threads[t];
	sim_fiber_resume(s->threads[t].fiber);
	s->self = NULL;
}

static void start_threads(struct search *s)
{
	int t;

	for (t = 0; t < s->program->threads; t++) {
		struct thread *thread = &s->threads[t];

		thread->number = t;
		if (thread->fiber == NULL) {
			size_t size;
			void *stack;

			thread->fiber = sim_fiber_new(STACK);
			if (thread->fiber == NULL) {
				perror("pawl check: no memory");
				exit(2);
			}
			stack = sim_fiber_stack(thread->fiber, &size);
			memory_add_stack(s->memory, t, stack, size);
		}
		thread->storage = memory_storage(s->memory, t, sim_thread_size());
		thread->state = THREAD_READY;
		thread->position = 0;
		thread->serials = 0;
		thread->early = 0;
		thread->turn = -1;
		thread->unread_count = 0;
		thread->halves = WHOLE;
		thread->late.word = NULL;
		memset(thread->arrivals, 0, sizeof(thread->arrivals));
		sim_fiber_start(thread->fiber, fiber_main, (void *)(intptr_t)t);
	}
}

/* Repeats the events of the graph, in any order that porf allows. */
static void replay(struct search *s)
{
	bool moved = true;
	int t;

	s->replaying = true;
	while (moved && !s->stopped) {
		moved = false;
		for (t = 0; t < s->graph.threads && !s->stopped; t++) {
			struct thread *thread = &s->threads[t];
			bool held = thread->state == THREAD_HELD ||
				    thread->state == THREAD_BLOCKED;

			if (thread->state == THREAD_FRONTIER ||
			    thread->state == THREAD_UNTIL ||
			    thread->state == THREAD_ROUND ||
			    thread->state == THREAD_OUT_OF_TURN ||
			    thread->state == THREAD_DONE)
				continue;
			if (held && (thread->position >= s->graph.length[t] ||
				     !search_can_repeat(s, t)))
				continue;
			resume(s, t);
			moved = true;
		}
	}
	s->replaying = false;
}

static bool can_move(struct search *s, int t)
{
	const struct thread *thread = &s->threads[t];

	return thread->state == THREAD_FRONTIER || thread->state == THREAD_READY ||
	       (thread->state == THREAD_UNTIL && s->graph.written[thread->until] > 0);
}

static int next_thread(struct search *s)
{
	bool movable[MAX_THREADS];
	int t, found = -1;

	if (s->guide != NULL && token_thread(s) >= 0 &&
	    token_thread(s) < s->graph.threads && can_move(s, token_thread(s)))
		return token_thread(s);
	for (t = s->graph.threads - 1; t >= 0; t--) {
		movable[t] = can_move(s, t);
		if (!movable[t])
			continue;
		if (search_owes_write(s, t))
			return t;
		found = t;
	}
	if (s->at_random && found >= 0)
		return random_thread(s, movable);
	if (s->guide != NULL && found >= 0)
		s->guide = ""; /* the token does not fit the program */
	return found;
}

/* Whether a value that would have ended the wait was overwritten unread. */
static bool missed(struct search *s, const struct event *wait)
{
	int i;

	for (i = 0; i < s->graph.written[wait->location]; i++) {
		event_id id = s->graph.mo[wait->location][i];

		if (graph_value_outcome(wait, graph_event(&s->graph, id)->value).ends &&
		    !event_within(id, wait->hb))
			return true;
	}
	return false;
}

/* Whether the wait timed out before with the same memory. */
static bool waited_in_vain(struct search *s, int t, const struct event *wait)
{
	int i;

	for (i = s->graph.length[t] - 1; i >= 0; i--) {
		struct event *e = &s->graph.events[t][i];

		if (e->look == LOOK_LAST && !e->blocked && e->site == wait->site &&
		    e->location == wait->location && e->expected == wait->expected &&
		    graph_writes_within(&s->graph, e->seen) == s->graph.writes)
			return true;
	}
	return false;
}

bool search_goes_round(struct search *s, int t)
{
	int i;

	for (i = s->threads[t].round; i < s->graph.length[t]; i++) {
		const struct event *e = &s->graph.events[t][i];
		int l = e->location;
		event_id last;

		if (e->kind != EVENT_READ)
			continue;
		last = graph_write_at(&s->graph, l, s->graph.written[l]);
		if (graph_value(&s->graph, l, last) != e->value)
			return false;
	}
	return true;
}

/*
 * No thread can run, and some are blocked. If all of these have read the last value of
 * their words, the round is over. Another one begins if some wait is bounded and has not
 * yet timed out with memory as it is now.
 */
static void quiesce(struct search *s)
{
	uint8_t tired = 0;
	bool lost = false;
	int t, stuck = -1;

	for (t = 0; t < s->graph.threads; t++) {
		const struct event *e = graph_last(&s->graph, t);

		if (s->threads[t].state == THREAD_ROUND) {
			stuck = t;
			if (!search_goes_round(s, t)) {
				s->dead = true;
				return;
			}
		}
		if (s->threads[t].state != THREAD_BLOCKED)
			continue;
		if (graph_assumes(e) ||
		    graph_rank(&s->graph, e->from) != s->graph.written[e->location]) {
			s->dead = true;
			return;
		}
	}
	for (t = 0; t < s->graph.threads; t++) {
		const struct event *e = graph_last(&s->graph, t);

		if (s->threads[t].state != THREAD_BLOCKED)
			continue;
		stuck = t;
		lost = lost || missed(s, e);
		if ((e->operation == OP_AWAIT_QUIET ||
		     (e->operation == OP_AWAIT_CHANGE && !s->options->steadfast)) &&
		    !waited_in_vain(s, t, e))
			tired = (uint8_t)(tired | 1 << t);
	}
	if (tired != 0) {
		graph_settle(&s->graph, tired);
		for (t = 0; t < s->graph.threads; t++)
			if (s->threads[t].state == THREAD_BLOCKED)
				s->threads[t].state = THREAD_READY;
		return;
	}
	if (s->options->stuck_is_complete)
		s->stopped = true;
	else
		explore_fail(lost ? VERDICT_LOST_WAKE_UP : VERDICT_DEADLOCK,
			     "thread %d waits for ever%s", stuck,
			     lost ? ": what it waits for came and was overwritten" : "");
}

/* A complete graph; at random, possibly one that was seen before. */
static void count_execution(struct search *s)
{
	if (s->at_random && !random_is_new(s)) {
		s->result->blocked++;
		return;
	}
	s->result->executions++;
	if (s->options->each != NULL)
		s->options->each(s->options->context, &s->graph);
}

void search_run(struct search *s)
{
	int t;

	s->stopped = s->dead = false;
	s->section_count = 0;
	memory_reset(s->memory);
	if (s->program->set_up != NULL)
		s->program->set_up(s->program->context);
	start_threads(s);
	replay(s);
	while (!s->stopped && !s->dead) {
		bool blocked = false;

		t = next_thread(s);
		if (t >= 0) {
			resume(s, t);
			continue;
		}
		for (t = 0; t < s->graph.threads; t++) {
			blocked = blocked || s->threads[t].state == THREAD_BLOCKED ||
				  s->threads[t].state == THREAD_ROUND;
			s->dead = s->dead || s->threads[t].state == THREAD_OUT_OF_TURN;
		}
		if (!blocked || s->dead)
			break;
		quiesce(s);
	}
	if (s->restart)
		return;
	if (s->dead) {
		s->result->blocked++;
		return;
	}
	if (s->stopped && s->result->verdict == VERDICT_PASSED &&
	    s->options->stuck_is_complete)
		count_execution(s);
	if (s->stopped)
		return;
	admission_check(s);
	if (!s->stopped && s->program->finished != NULL)
		s->program->finished(s->program->context);
	if (!s->stopped)
		count_execution(s);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void start_over(struct search *s)
{
	s->restart = false;
	s->pending.used = 0;
	s->result->executions = s->result->blocked = 0;
	graph_clear(&s->graph, s->program->threads);
	s->guide = s->options->choices;
	estimate_reset(s);
}

static uint64_t reported(const struct search *s)
{
	return s->options->reported != 0 ? s->options->reported : REPORTED;
}

static void stop_at_limit(struct search *s, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void stop_at_limit(struct search *s, const char *format, ...)
{
	va_list arguments;

	s->result->verdict = VERDICT_LIMIT;
	va_start(arguments, format);
	vsnprintf(s->result->message, sizeof(s->result->message), format, arguments);
	va_end(arguments);
}

/*
 * Explores all graphs, or stops at a failure. A thread in an infinite loop has no last
 * graph: if some run was cut, the search starts again with a shorter limit, for a while,
 * because a deadlock beside the loop is the better report.
 */
static void search_all(struct search *s)
{
	double start = now();
	uint64_t runs = 0;

	start_over(s);
	for (;;) {
		search_run(s);
		if (s->cut && s->most_steps == MAX_STEPS && s->guide == NULL) {
			s->most_steps = MAX_STEPS / 2;
			s->restart = true;
			runs = 0;
		}
		if (s->restart) {
			start_over(s);
			continue;
		}
		if (s->graph.overflow)
			stop_at_limit(s, "too many seq_cst accesses and fences; %s",
				      search_smaller(s));
		if (s->result->verdict != VERDICT_PASSED || s->guide != NULL)
			break;
		if (!search_pop(s))
			break;
		runs++;
		if (s->options->limit != 0 && runs >= s->options->limit) {
			stop_at_limit(
				s, "gave up after %llu executions; raise --limit or %s",
				(unsigned long long)runs, search_smaller(s));
			break;
		}
		if (s->options->stop != NULL && s->options->stop()) {
			stop_at_limit(s, "stopped after %llu executions",
				      (unsigned long long)runs);
			break;
		}
		if (s->cut && runs >= CUT_RUNS)
			break;
		if (s->options->progress != NULL && runs % reported(s) == 0)
			s->options->progress(s->options->context, runs, now() - start,
					     estimate_runs(s, runs));
	}
	estimate_reset(s);
	if (s->result->verdict == VERDICT_PASSED && s->cut)
		stop_at_limit(s, "a thread took more than %d steps; %s%s", MAX_STEPS,
			      s->options->smaller != NULL
				      ? ""
				      : "let it wait by pawl_await_* where it polls, or ",
			      search_smaller(s));
	s->result->seconds = now() - start;
	if (s->result->verdict == VERDICT_PASSED && s->result->executions == 0 &&
	    s->options->choices == NULL) {
		s->result->verdict = VERDICT_NOTHING;
		snprintf(s->result->message, sizeof(s->result->message),
			 "no execution comes to its end, so nothing was checked; look at "
			 "what the scenario assumes");
		return;
	}
	if (s->result->verdict != VERDICT_PASSED && s->result->verdict != VERDICT_LIMIT)
		failure_describe_shortest(s);
}

/* The requested number of random executions. Runs that are cut do not count. */
static void search_at_random(struct search *s)
{
	double start = now();
	uint64_t runs;

	visited_clear();
	s->complete = s->repeated = 0;
	s->turns = s->most_turns = 0;
	s->at_random = true;
	for (runs = 0; runs < s->options->random; runs++) {
		do { /* again, if a word turned out to be atomic */
			s->restart = false;
			graph_clear(&s->graph, s->program->threads);
			random_begin(s, runs);
			search_run(s);
		} while (s->restart);
		if (s->result->verdict != VERDICT_PASSED)
			break;
		if (s->options->stop != NULL && s->options->stop()) {
			stop_at_limit(s, "stopped after %llu executions",
				      (unsigned long long)runs);
			break;
		}
		if (s->options->progress != NULL && (runs + 1) % reported(s) == 0)
			s->options->progress(
				s->options->context, runs, now() - start,
				(struct expected){(double)s->options->random, 0});
	}
	s->at_random = false;
	s->result->unseen = random_unseen(s);
	s->result->seconds = now() - start;
	visited_clear();
	if (s->result->verdict == VERDICT_PASSED)
		s->result->verdict = s->result->executions > 0 ? VERDICT_NONE_SEEN
							       : VERDICT_NOTHING;
	else if (s->result->verdict != VERDICT_LIMIT)
		failure_describe(s);
}

/* Searches that are not in use; each keeps its memory, its fibers and its number. */
static struct search *idle;

static struct search *open_search(void)
{
	static int number;
	struct search *s = idle;

	if (s != NULL) {
		idle = s->outer;
		return s;
	}
	s = calloc(1, sizeof(*s));
	if (s == NULL) {
		perror("pawl check: no memory");
		exit(2);
	}
	s->memory = memory_open(number++);
	return s;
}

void explore(const struct program *program, const struct options *options,
	     struct result *result)
{
	struct search *s = open_search(), *outer = current_search;
	const struct sim_engine *outer_engine = sim_engine;

	memset(result, 0, offsetof(struct result, choices));
	result->choices[0] = 0;
	result->trace = NULL;
	s->program = program;
	s->options = options;
	s->result = result;
	if (outer != NULL)
		memory_exchange(outer->memory); /* it changed static words */
	current_search = s;
	sim_engine = &search_engine;
	memory_forget(s->memory);
	s->most_steps = MAX_STEPS;
	s->cut = false;
	if (options->random != 0 && options->choices == NULL)
		search_at_random(s);
	else
		search_all(s);
	memory_reset(s->memory);
	sim_engine = outer_engine;
	current_search = outer;
	if (outer != NULL)
		memory_exchange(outer->memory);
	s->outer = idle;
	idle = s;
}
