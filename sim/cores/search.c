/* SPDX-License-Identifier: MIT */
/*
 * Depth first through all states. The path from the first state to the present
 * one lies on a stack of frames, each with all that it takes to put its state
 * back: words, machine, and the stacks of threads. A step changes one thread's
 * stack, so a frame holds that one and points to the others in frames below.
 */
#include "machine.h"

#include <sim/common/dice.h>
#include <sim/common/visited.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* A saved stack. */
struct saved {
	const void *live;
	size_t size;
	uint64_t hash;
};

struct frame {
	struct frame *below;
	int count, next; /* choices there are; the one to try next */
	struct choice choices[MAX_CHOICES];
	struct saved stacks[CORES_MAX_THREADS];
	struct machine machine;
	size_t word_count;
	size_t views_size;
	uint64_t words[]; /* then the views, and the stack that is its own */
};

static const size_t path_size = 1u << 30; /* address space, not memory */
static char *path;
static struct frame *top;
static char *top_end;

static int threads;
/* The copy that each thread's stack was last restored from or saved to; NULL: it has
 * changed since. */
static const void *present[CORES_MAX_THREADS];
static bool stuck_is_fine; /* a deadlock is neither a failure nor an outcome */

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* Copies a stack word by word: its frames are not objects of this function. */
__attribute__((no_sanitize("address"))) static void copy_words(uint64_t *to,
							       const uint64_t *from,
							       size_t size)
{
	size_t i;

	for (i = 0; i < size / sizeof(*to); i++)
		to[i] = from[i];
}

static struct saved look_at_stack(int thread)
{
	struct saved saved;

	saved.live = machine_stack(thread, &saved.size);
	saved.hash = machine_hash_words((uint64_t)thread << 32, saved.live,
					saved.size / sizeof(uint64_t));
	return saved;
}

static uint64_t fingerprint(const struct saved *stacks)
{
	uint64_t sum = 0;
	int t;

	/* A thread that has returned, or that a fork dropped, has no live stack. */
	for (t = 0; t < threads; t++)
		if (machine.tasks[t].request.kind != REQUEST_NONE)
			sum += stacks[t].hash;
	return machine_hash(sum);
}

/* Pushes the current state; `stacks` has the stacks that are already saved, those of the
 * set `changed` are still on the fibers. False: too deep. */
static bool push(const struct saved *stacks, unsigned changed)
{
	struct frame *f = (struct frame *)top_end;
	size_t i, needed = sizeof(*f) + tracked_count * sizeof(uint64_t) + views_size();
	int t;

	for (t = 0; t < threads; t++)
		needed += stacks[t].size;
	if (top_end + needed > path + path_size)
		return false;
	f->below = top;
	f->next = 0;
	f->machine = machine;
	f->word_count = tracked_count;
	for (i = 0; i < tracked_count; i++)
		f->words[i] = tracked[i].ignored ? tracked[i].first : *tracked[i].word;
	top_end = (char *)&f->words[tracked_count];
	f->views_size = views_size();
	memcpy(top_end, &views, f->views_size);
	top_end += f->views_size;
	for (t = 0; t < threads; t++) {
		f->stacks[t] = stacks[t];
		if ((changed >> t & 1) == 0)
			continue;
		copy_words((uint64_t *)top_end, stacks[t].live, stacks[t].size);
		f->stacks[t].live = present[t] = top_end;
		top_end += stacks[t].size;
	}
	f->count = machine_choices(f->choices);
	top = f;
	return true;
}

static void pop(void)
{
	top_end = (char *)top;
	top = top->below;
}

static void restore(const struct frame *f)
{
	size_t i;

	machine = f->machine;
	memcpy(&views, &f->words[f->word_count], f->views_size);
	for (i = 0; i < f->word_count; i++)
		*tracked[i].word = f->words[i];
	for (; i < tracked_count; i++)
		*tracked[i].word = tracked[i].first;
}

/* Performs the next choice of the top frame. Leaves the stacks in `stacks` and returns
 * the set of those that changed. */
static unsigned step(struct saved *stacks)
{
	const struct choice *choice = &top->choices[top->next++];
	int runs = machine_runs(choice), t;
	unsigned changed = runs >= 0 ? 1u << runs : 0;

	restore(top);
	memcpy(stacks, top->stacks, sizeof(top->stacks));
	for (t = 0; t < threads; t++) {
		if (t != runs && present[t] == stacks[t].live)
			continue;
		machine_put_stack(t, stacks[t].live, stacks[t].size);
		present[t] = stacks[t].live;
	}
	machine_perform(choice);
	changed |= machine_touched();
	for (t = 0; t < threads; t++) {
		if ((changed >> t & 1) == 0)
			continue;
		stacks[t] = look_at_stack(t);
		present[t] = NULL;
	}
	return changed;
}

/* A state without a successor is a deadlock unless the program has ended. */
static void judge_end(void)
{
	if (machine_finished())
		machine_run_finished();
	else if (!stuck_is_fine)
		cores_fail(VERDICT_DEADLOCK, "no thread can go on");
}

static bool start(const struct cores_program *program)
{
	struct saved stacks[CORES_MAX_THREADS];
	int t;

	threads = program->threads;
	top = NULL;
	top_end = path;
	machine_start(program);
	for (t = 0; t < threads && machine.verdict == VERDICT_PASSED; t++)
		stacks[t] = look_at_stack(t);
	if (machine.verdict != VERDICT_PASSED)
		return false;
	push(stacks, (1u << threads) - 1);
	if (top->count == 0)
		judge_end();
	return machine.verdict == VERDICT_PASSED;
}

/* A choice in a token: one digit for each step with more than one choice. */
static const char digits[] =
	"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

static void write_choices(char *to, int again)
{
	const struct frame *f;
	size_t length = (size_t)snprintf(to, TOKEN_SIZE, "%d.", again), first = length;

	for (f = top; f != NULL; f = f->below)
		length += f->count > 1;
	if (length >= TOKEN_SIZE) {
		*to = 0; /* too long for a token */
		return;
	}
	to[length] = 0;
	for (f = top; f != NULL && length > first; f = f->below)
		if (f->count > 1)
			to[--length] = digits[f->next - 1];
}

/* Follows the single path that the token gives, and prints it if asked to. */
static void follow(const struct cores_program *program, const char *choices, FILE *out)
{
	struct saved stacks[CORES_MAX_THREADS];

	if (!start(program))
		return;
	while (top->count > 0) {
		unsigned changed;

		if (top->count > 1 && *choices != 0) {
			const char *digit = strchr(digits, *choices++);

			if (digit == NULL || digit - digits >= top->count) {
				cores_fail(VERDICT_ASSERTION,
					   "the token is not one of this program");
				return;
			}
			top->next = (int)(digit - digits);
		}
		if (out != NULL)
			trace_tell(out, &top->choices[top->next]);
		changed = step(stacks);
		if (machine.verdict != VERDICT_PASSED)
			return;
		if (!push(stacks, changed)) {
			cores_fail(VERDICT_LIMIT, "the way is too long");
			return;
		}
	}
	judge_end();
}

static void search(const struct cores_program *program, const struct options *options,
		   double since)
{
	struct saved stacks[CORES_MAX_THREADS];
	uint64_t steps = 0;
	bool is_new;

	if (!start(program) || memory_conflict())
		return;
	visited_add(fingerprint(top->stacks), &is_new);
	while (top != NULL) {
		unsigned changed;

		if (top->next == top->count) {
			pop();
			continue;
		}
		changed = step(stacks);
		if (machine.verdict != VERDICT_PASSED || memory_conflict())
			return; /* the next search finds this failure too */
		if (!visited_add(fingerprint(stacks), &is_new)) {
			cores_fail(VERDICT_LIMIT, "no memory for more states");
			return;
		}
		if (options->stop != NULL && (steps & 0xfff) == 0 && options->stop()) {
			cores_fail(VERDICT_LIMIT, "stopped after %llu states",
				   (unsigned long long)visited_count());
			return;
		}
		if ((++steps & 0xfffff) == 0 && options->progress != NULL)
			options->progress(options->context, visited_count(),
					  now() - since, (struct expected){0});
		if (!is_new)
			continue;
		if (options->limit != 0 && visited_count() > options->limit) {
			cores_fail(VERDICT_LIMIT, "more than %llu states",
				   (unsigned long long)options->limit);
			return;
		}
		if (!push(stacks, changed)) {
			cores_fail(VERDICT_LIMIT, "the way is too long");
			return;
		}
		if (top->count == 0)
			judge_end();
		if (machine.verdict != VERDICT_PASSED)
			return;
	}
}

/*
 * Searches until no word that was assumed private turns out to be shared (M5), or `times`
 * times if that is not negative. Returns how often it started again.
 */
static int search_again(const struct cores_program *program,
			const struct options *options, double since, int times)
{
	int again = 0;

	memory_forget_shared();
	while (again != times) {
		visited_clear();
		search(program, options, since);
		if (!memory_conflict())
			break;
		machine_stop();
		memory_begin_again();
		again++;
	}
	return again;
}

/* Follows one random path from the first state. */
static void wander(const struct cores_program *program, const struct options *options,
		   uint64_t run)
{
	struct saved stacks[CORES_MAX_THREADS];
	uint64_t dice = dice_for(options->seed, run);
	bool is_new;

	if (!start(program))
		return;
	while (top->count > 0) {
		unsigned changed;

		top->next = (int)dice_below(&dice, (unsigned)top->count);
		changed = step(stacks);
		if (machine.verdict != VERDICT_PASSED)
			return;
		if (!visited_add(fingerprint(stacks), &is_new)) {
			cores_fail(VERDICT_LIMIT, "no memory for more states");
			return;
		}
		if (!push(stacks, changed)) {
			cores_fail(VERDICT_LIMIT, "the way is too long");
			return;
		}
	}
	judge_end();
}

/* Follows random paths, without M5, which needs a complete search. Counts the states on
 * them. */
static void search_at_random(const struct cores_program *program,
			     const struct options *options, double since)
{
	uint64_t run;

	visited_clear();
	for (run = 0; run < options->random; run++) {
		if (run > 0)
			machine_stop();
		wander(program, options, run);
		if (machine.verdict != VERDICT_PASSED)
			return;
		if (options->stop != NULL && options->stop()) {
			cores_fail(VERDICT_LIMIT, "stopped after %llu executions",
				   (unsigned long long)run);
			return;
		}
		if (options->progress != NULL && run % 8192 == 8191)
			options->progress(options->context, run, now() - since,
					  (struct expected){(double)options->random, 0});
	}
}

/* A token: how often the search started again, a point, and the choices. AT_RANDOM marks
 * a random path. */
enum { AT_RANDOM = -1 };

static void repeat(const struct cores_program *program, const struct options *options,
		   double since)
{
	char *choices;
	long times = strtol(options->choices, &choices, 10);

	machine_all_shared = times == AT_RANDOM;
	if (times < AT_RANDOM || times > MAX_TRACKED || *choices != '.' ||
	    (times != AT_RANDOM && search_again(program, &(struct options){.limit = 0},
						since, (int)times) != times))
		cores_fail(VERDICT_ASSERTION, "the token is not one of this program");
	else
		follow(program, choices + 1, NULL);
}

static void tell(const struct cores_program *program, const char *choices, char **text)
{
	size_t size;
	FILE *out = open_memstream(text, &size);

	if (out == NULL)
		return;
	follow(program, strchr(choices, '.') + 1, out);
	fclose(out);
	machine_stop();
}

void cores_explore(const struct cores_program *program, const struct options *options,
		   struct result *result)
{
	double since = now();
	int again;

	machine_model = options->model;
	machine_naive = options->naive;
	machine_all_shared = options->random != 0;
	stuck_is_fine = options->stuck_is_complete;
	memset(result, 0, sizeof(*result));
	path = mmap(NULL, path_size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (path == MAP_FAILED) {
		result->verdict = VERDICT_LIMIT;
		snprintf(result->message, sizeof(result->message), "no memory");
		return;
	}
	if (options->choices != NULL) {
		repeat(program, options, since);
		result->executions = 1;
		snprintf(result->choices, sizeof(result->choices), "%s",
			 options->choices);
	} else if (options->random != 0) {
		search_at_random(program, options, since);
		result->executions = visited_count();
		write_choices(result->choices, AT_RANDOM);
	} else {
		again = search_again(program, options, since, -1);
		result->executions = visited_count();
		write_choices(result->choices, again);
	}
	result->verdict = machine.verdict;
	if (options->random != 0 && result->verdict == VERDICT_PASSED)
		result->verdict = VERDICT_NONE_SEEN;
	machine_stop();
	if (machine.verdict == VERDICT_PASSED || machine.verdict == VERDICT_LIMIT)
		result->choices[0] = 0;
	if (machine.verdict != VERDICT_PASSED)
		snprintf(result->message, sizeof(result->message), "%s", machine_message);
	if (strchr(result->choices, '.') != NULL && options->keep_trace)
		tell(program, result->choices, &result->trace);
	visited_clear();
	munmap(path, path_size);
	result->seconds = now() - since;
}
