/* SPDX-License-Identifier: MIT */
/* pawl check: runs the shipped locks in every way the memory model allows. */
#include "cli/commands.h"
#include "cli/common/interrupt.h"
#include "cli/common/locks.h"
#include "cli/common/options.h"
#include "cli/common/output.h"

#include <sim/check/scenario.h>
#include <sim/cores/cores.h>

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CASES = 2048, MAX_LOCKS = 128 };

struct request {
	int threads, episodes, limit, repeat; /* 0 = not given */
	enum model model;
	const char *scenario, *json, *replay, *load;
	bool list, full, steadfast;
	const struct lock_type *locks[MAX_LOCKS];
	size_t lock_count;
	bool named; /* locks were named: what is wrong with them is wanted */
};

/* One row of the table. */
struct check_case {
	const struct lock_type *type;
	const struct scenario *scenario;
	int threads, episodes;
	struct result result;
};

/* What can be checked: the registry's locks, and the objects that are none. */
static const struct lock_type *all_types[MAX_LOCKS];
static size_t type_count;
static const char *loaded_from;			/* the file of loaded locks */
static const struct scenario *loaded_scenarios; /* of a loaded object */

static void add_types(const struct lock_type *type)
{
	for (; type->name != NULL && type_count < MAX_LOCKS - 1; type++)
		all_types[type_count++] = type;
}

static const char *nth_lock(size_t i)
{
	return i < type_count ? all_types[i]->name : NULL;
}

/* Over the locks' scenarios and then those of each object; i grows by one at most. */
static const struct scenario *nth_scenario(size_t i)
{
	const struct checked_object *object = checked_objects;
	const struct scenario *scenario = scenarios;

	if (loaded_scenarios != NULL) /* nothing else is checked then */
		return loaded_scenarios[i].name != NULL ? &loaded_scenarios[i] : NULL;
	for (; i > 0 || scenario->name == NULL; scenario++) {
		if (scenario->name != NULL) {
			i--;
			continue;
		}
		if (object->type == NULL)
			return NULL;
		scenario = (object++)->scenarios - 1;
	}
	return scenario;
}

static const char *nth_scenario_name(size_t i)
{
	const struct scenario *scenario = nth_scenario(i);

	return scenario != NULL ? scenario->name : NULL;
}

static const struct lock_type *find_lock(const char *name)
{
	size_t i;

	for (i = 0; i < type_count; i++)
		if (strcmp(all_types[i]->name, name) == 0)
			return all_types[i];
	return NULL;
}

static const struct scenario *scenarios_for(const struct lock_type *type)
{
	return loaded_scenarios != NULL ? loaded_scenarios : scenarios_of(type);
}

static const struct scenario *find_scenario(const struct lock_type *type,
					    const char *name)
{
	const struct scenario *s;

	for (s = scenarios_for(type); s->name != NULL; s++)
		if (strcmp(s->name, name) == 0)
			return s;
	return NULL;
}

static void need_scenario(const char *name)
{
	size_t i;

	for (i = 0; nth_scenario(i) != NULL; i++)
		if (strcmp(nth_scenario(i)->name, name) == 0)
			return;
	refuse_name("scenario", name, nth_scenario_name,
		    "'pawl check --list' names them all");
}

static const char *const model_names[] = {
	[MODEL_WEAK] = "weak",
	[MODEL_TSO] = "tso",
	[MODEL_SC] = "sc",
};

static const char cores_name[] = "cores";

static const char *model_of(const struct check_case *c, enum model model)
{
	return c->scenario->cores != NULL ? cores_name : model_names[model];
}

static bool find_model(const char *name, enum model *model)
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

static void parse_model(const char *option, const char *text, void *into)
{
	if (!find_model(text, into))
		refuse("--%s: '%s' is no memory model; use weak, tso or sc", option,
		       text);
}

/* Locks from a shared object: see docs/verification.md. */
static void load_locks(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const struct lock_type *loaded;

	if (library == NULL)
		refuse("--load: %s; build the file with sim/build-lock.sh", dlerror());
	loaded = dlsym(library, "sim_loaded_locks");
	if (loaded == NULL)
		refuse("--load: '%s' holds no locks; build it with sim/build-lock.sh",
		       path);
	loaded_from = path;
	loaded_scenarios = dlsym(library, "sim_loaded_scenarios");
	type_count = 0;
	add_types(loaded);
}

static void print_list(void)
{
	size_t i;

	for (i = 0; nth_scenario(i) != NULL; i++)
		printf("%-12s %s\n", nth_scenario(i)->name, nth_scenario(i)->what);
}

/* What to run. */

static struct check_case *cases;
static size_t case_count;

static void add_case(const struct lock_type *type, const struct scenario *scenario,
		     int threads, int episodes)
{
	struct check_case *c;
	size_t i;

	if (scenario->only_threads != 0)
		threads = scenario->only_threads;
	if (scenario->only_episodes != 0)
		episodes = scenario->only_episodes;
	if (threads < scenario->least_threads || !scenario->applies(type) ||
	    (scenario->cores != NULL && threads > CORES_MAX_THREADS))
		return;
	for (i = 0; i < case_count; i++)
		if (cases[i].type == type && cases[i].scenario == scenario &&
		    cases[i].threads == threads && cases[i].episodes == episodes)
			return;
	if (case_count == MAX_CASES)
		give_up("more than %d cases; name some locks", MAX_CASES);
	c = &cases[case_count++];
	c->type = type;
	c->scenario = scenario;
	c->threads = threads;
	c->episodes = episodes;
}

static bool is_basic(const struct scenario *scenario)
{
	return strcmp(scenario->name, "sections") == 0;
}

/* A lock that sleeps in a way of its own: not another one, waiting otherwise. */
static bool has_own_way(const struct lock_type *type)
{
	return strcmp(type->name, type->base) == 0;
}

/* Whether a lock that parks gets through with two threads in minutes. Going
 * round twice takes too long, but for the one lock that has its own way. */
static bool finishes_parking(const struct lock_type *type,
			     const struct scenario *scenario)
{
	return scenario->only_threads == 0 &&
	       (strcmp(scenario->name, "return") != 0 || has_own_way(type));
}

/* Of the locks that sleep, those that get through with three threads, too. */
static bool three_finish(const struct lock_type *type)
{
	static const char *const names[] = {"ticket+park",   "clh+park",
					    "tidex+park",    "hapax+park",
					    "hapax-vw+park", "hemlock-overlap+park"};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(type->name, names[i]) == 0)
			return true;
	return has_own_way(type);
}

/*
 * Unless asked for one size: what finishes in seconds; with --full also what
 * takes minutes. A parking lock goes through dozens of steps where a spinning
 * one takes one, and has the same algorithm: it gets two threads.
 */
static void add_usual_cases(const struct request *request, const struct lock_type *type,
			    const struct scenario *scenario)
{
	const struct core_scenario *cores = scenario->cores;

	if (cores != NULL) {
		add_case(type, scenario, cores->threads, cores->episodes);
		if (request->full)
			add_case(type, scenario, cores->full_threads,
				 cores->full_episodes);
		return;
	}
	if (scenario->takes_minutes && !request->full && request->scenario == NULL)
		return;
	if (type->parks) {
		if (is_basic(scenario) || scenario->for_sleepers ||
		    (request->full && finishes_parking(type, scenario)))
			add_case(type, scenario, 2, 1);
		if (request->full && is_basic(scenario) && three_finish(type))
			add_case(type, scenario, 3, 1);
		return;
	}
	add_case(type, scenario, 3, 1);
	if (is_basic(scenario) || request->full) {
		add_case(type, scenario, 2, 3);
		add_case(type, scenario, 4, 1);
	}
}

static void plan(const struct request *request)
{
	const struct scenario *scenario;
	size_t i;

	cases = calloc(MAX_CASES, sizeof(*cases));
	if (cases == NULL)
		give_up("no memory");
	for (i = 0; i < request->lock_count; i++) {
		const struct lock_type *type = request->locks[i];

		for (scenario = scenarios_for(type); scenario->name != NULL; scenario++) {

			if (request->scenario != NULL &&
			    strcmp(request->scenario, scenario->name) != 0)
				continue;
			if (request->threads != 0 || request->episodes != 0)
				add_case(type, scenario,
					 request->threads != 0 ? request->threads
					 : type->parks || scenario->cores ? 2
									  : 3,
					 request->episodes != 0 ? request->episodes : 1);
			else
				add_usual_cases(request, type, scenario);
		}
	}
	if (case_count == 0)
		refuse("nothing to check: no such scenario for these locks and this many "
		       "threads; 'pawl check --list' says what there is");
}

/* Running. */

struct position {
	size_t done;
	const struct check_case *now;
};

static void progress(void *context, uint64_t executions, double seconds)
{
	const struct position *at = context;

	show_progress(at->done, case_count, "%s, %s: %llu executions, %.0f/s",
		      at->now->type->name, at->now->scenario->name,
		      (unsigned long long)executions, (double)executions / seconds);
}

static void print_token(const struct check_case *c, enum model model)
{
	printf("%s:%s:%d:%d:%s:%s", c->type->name, c->scenario->name, c->threads,
	       c->episodes, model_of(c, model), c->result.choices);
}

static void print_header(void)
{
	printf("%-24s %-11s %7s %8s %5s %11s %9s  %s\n", "lock", "scenario", "threads",
	       "episodes", "model", "executions", "seconds", "verdict");
}

static bool is_expected(const struct check_case *c)
{
	return c->result.verdict != VERDICT_PASSED &&
	       c->result.verdict == c->scenario->expected(c->type);
}

static void print_row(const struct check_case *c, enum model model)
{
	printf("%-24s %-11s %7d %8d %5s %11llu %9.3f  %s%s\n", c->type->name,
	       c->scenario->name, c->threads, c->episodes, model_of(c, model),
	       (unsigned long long)c->result.executions, c->result.seconds,
	       verdict_name(c->result.verdict),
	       is_expected(c) ? ", as the registry says" : "");
	fflush(stdout);
}

static void print_failure(const struct check_case *c, enum model model, bool steadfast)
{
	printf("\n%s: %s\n", verdict_name(c->result.verdict), c->result.message);
	if (c->result.verdict == VERDICT_LIMIT || c->result.verdict == VERDICT_NOTHING) {
		const char *remedy = "";

		if (was_interrupted())
			remedy = ", which was cut short";
		else if (c->scenario->cores != NULL)
			remedy = "; raise --limit or lower --threads";
		printf("(not a failure of the lock%s)\n\n", remedy);
		return;
	}
	if (c->result.trace != NULL)
		fputs(c->result.trace, stdout);
	printf("repeat it with: pawl check%s%s%s --replay ",
	       loaded_from != NULL ? " --load " : "",
	       loaded_from != NULL ? loaded_from : "", steadfast ? " --steadfast" : "");
	print_token(c, model);
	printf("\n\n");
}

/* Of the first so many cases. */
static json_t *describe(enum model model, size_t count)
{
	json_t *root, *rows = json_array();
	size_t i;

	for (i = 0; i < count; i++) {
		const struct check_case *c = &cases[i];
		json_t *row = json_pack(
			"{s:s, s:s, s:i, s:i, s:s, s:I, s:I, s:f, s:s}", "lock",
			c->type->name, "scenario", c->scenario->name, "threads",
			c->threads, "episodes", c->episodes, "model", model_of(c, model),
			"executions", (json_int_t)c->result.executions, "blocked",
			(json_int_t)c->result.blocked, "seconds", c->result.seconds,
			"verdict", verdict_name(c->result.verdict));

		if (c->result.choices[0] != 0) {
			char token[TOKEN_SIZE + 128];

			snprintf(token, sizeof(token), "%s:%s:%d:%d:%s:%s", c->type->name,
				 c->scenario->name, c->threads, c->episodes,
				 model_of(c, model), c->result.choices);
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

/*
 * Whether to explore but one of the executions that differ in who is who: for what
 * has an algorithm of its own for sleeping, which three threads take too long on.
 * Others hash what belongs to a thread, and so can tell who is who.
 */
static bool in_turn(const struct check_case *c)
{
	return c->threads > 2 && has_own_way(c->type) &&
	       (c->type->parks || c->type->lock == NULL);
}

static int run(const struct request *request)
{
	uint64_t executions = 0;
	double seconds = 0;
	int status = 0, times;
	size_t i;

	catch_interrupt();
	print_header();
	for (i = 0; i < case_count && !was_interrupted(); i++) {
		struct check_case *c = &cases[i];
		struct position position = {i, c};
		struct options options = {
			.model = request->model,
			.limit = (uint64_t)request->limit,
			.keep_trace = true,
			.steadfast = request->steadfast,
			.early = request->steadfast ? 0 : 1,
			.in_turn = in_turn(c),
			.progress = progress,
			.context = &position,
			.stop = was_interrupted,
		};

		show_progress(i, case_count, "%s, %s", c->type->name, c->scenario->name);
		for (times = 0; times < request->repeat && !was_interrupted(); times++) {
			free(c->result.trace);
			scenario_check(c->scenario, c->type, c->threads, c->episodes,
				       &options, &c->result);
			executions += c->result.executions + c->result.blocked;
			seconds += c->result.seconds;
		}
		end_progress();
		print_row(c, request->model);
		if (c->result.verdict == VERDICT_PASSED)
			continue;
		if (is_expected(c) && !request->named)
			continue;
		print_failure(c, request->model, request->steadfast);
		status = 1;
	}
	if (was_interrupted()) {
		warn("interrupted in case %zu of %zu; the others were not checked", i,
		     case_count);
		status = EXIT_INTERRUPTED;
	}
	fprintf(stderr, "%zu cases, %llu executions in %.2f s: %.0f executions/s\n", i,
		(unsigned long long)executions, seconds,
		(double)executions / (seconds > 0 ? seconds : 1));
	if (request->json != NULL)
		write_result_file(describe(request->model, i));
	for (i = 0; i < case_count; i++)
		free(cases[i].result.trace);
	free(cases);
	return status;
}

/* Repeats one execution; the token says which. */
static int replay(const char *token, bool steadfast)
{
	char text[TOKEN_SIZE + 128], *rest = text, *field[6];
	struct check_case c = {.type = NULL};
	struct options options = {
		.keep_trace = true,
		.steadfast = steadfast,
		.early = steadfast ? 0 : 1,
	};
	size_t i;

	if (snprintf(text, sizeof(text), "%s", token) >= (int)sizeof(text))
		refuse("--replay: the token is too long");
	for (i = 0; i < 6; i++) {
		field[i] = strsep(&rest, ":");
		if (field[i] == NULL)
			refuse("--replay: '%s' is not a token; copy the line that a "
			       "failed "
			       "check printed",
			       token);
	}
	c.type = find_lock(field[0]);
	if (c.type == NULL)
		refuse_lock(field[0], nth_lock);
	need_scenario(field[1]);
	c.scenario = find_scenario(c.type, field[1]);
	if (c.scenario == NULL)
		refuse("--replay: %s has no scenario '%s'", field[0], field[1]);
	c.threads = atoi(field[2]);
	c.episodes = atoi(field[3]);
	if (c.threads < c.scenario->least_threads || c.threads > MAX_THREADS ||
	    (c.scenario->cores != NULL && c.threads > CORES_MAX_THREADS) ||
	    c.episodes < 1 ||
	    (strcmp(field[4], model_of(&c, MODEL_WEAK)) != 0 &&
	     !find_model(field[4], &options.model)))
		refuse("--replay: '%s' is not a token; copy the line that a failed check "
		       "printed",
		       token);
	options.choices = field[5];
	options.in_turn = in_turn(&c);
	scenario_check(c.scenario, c.type, c.threads, c.episodes, &options, &c.result);
	print_header();
	print_row(&c, options.model);
	if (c.result.verdict != VERDICT_PASSED)
		print_failure(&c, options.model, steadfast);
	free(c.result.trace);
	return c.result.verdict != VERDICT_PASSED;
}

static void choose_locks(struct request *request, int count, char **names)
{
	size_t t;
	int i;

	request->named = count > 0;
	for (i = 0; i < count; i++) {
		const struct lock_type *type = find_lock(names[i]);

		if (type == NULL)
			refuse_lock(names[i], nth_lock);
		if (request->lock_count < MAX_LOCKS)
			request->locks[request->lock_count++] = type;
	}
	if (count > 0)
		return;
	for (t = 0; t < type_count; t++)
		request->locks[request->lock_count++] = all_types[t];
}

int check_main(int argc, char **argv)
{
	struct request request = {.repeat = 1};
	const struct option_spec options[] = {
		{"threads", "N", "this many threads (3, and others)", parse_positive,
		 &request.threads},
		{"episodes", "K", "each locks and unlocks so often (1, and others)",
		 parse_positive, &request.episodes},
		{"scenario", "NAME", "this scenario alone (all that apply)", parse_text,
		 &request.scenario},
		{"model", "M", "memory model: weak, tso or sc (weak)", parse_model,
		 &request.model},
		{"limit", "N", "give up a case after N executions (never)",
		 parse_positive, &request.limit},
		{"full", NULL, "all that finishes in minutes, not in seconds", parse_flag,
		 &request.full},
		{"json", "FILE", "write the results to FILE; - is stdout", parse_text,
		 &request.json},
		{"replay", "TOKEN", "repeat one execution, which a failed check printed",
		 parse_text, &request.replay},
		{"load", "FILE", "check the locks in a shared object instead", parse_text,
		 &request.load},
		{"repeat", "N", "explore each case N times, to measure speed",
		 parse_positive, &request.repeat},
		{"steadfast", NULL, "waits that may give up now and then never do",
		 parse_flag, &request.steadfast},
		{"list", NULL, "list the scenarios", parse_flag, &request.list},
		{.name = NULL},
	};
	const struct usage usage = {
		.command = "check",
		.operands = "[LOCK...]",
		.about = "Runs the shipped headers in every way that the memory model "
			 "allows, and looks for\n"
			 "broken exclusion, data races, deadlocks, lost wake-ups, broken "
			 "order and accesses\n"
			 "to memory that is gone. A failure is printed step by step, "
			 "with a "
			 "token that repeats\n"
			 "it. Exits with 1 if a verdict is not 'passed'. A failure that "
			 "the "
			 "registry admits\n"
			 "counts only if its lock was named.\n"
			 "\n"
			 "LOCK is any that 'pawl list' names, also as LOCK+park, or one "
			 "of its objects.",
		.options = options,
	};
	int count = parse_options(&usage, argc, argv);
	const struct checked_object *object;

	add_types(sim_lock_types);
	for (object = checked_objects; object->type != NULL; object++)
		add_types(object->type);
	if (request.list) {
		print_list();
		return 0;
	}
	if (request.threads > MAX_THREADS)
		refuse("--threads: %d is more than %d; few threads show every bug that "
		       "many do",
		       request.threads, MAX_THREADS);
	if (request.load != NULL)
		load_locks(request.load);
	if (request.replay != NULL)
		return replay(request.replay, request.steadfast);
	if (request.scenario != NULL)
		need_scenario(request.scenario);
	choose_locks(&request, count, argv + 1);
	plan(&request);
	if (request.json != NULL)
		open_result_file("json", request.json);
	return run(&request);
}
