/* SPDX-License-Identifier: MIT */
/* What pawl bench measures: workloads, and for each its subjects and threads. */
#include "cli/bench/bench.h"
#include "cli/common/interpose.h"
#include "cli/common/locks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUBJECTS_MAX = 256, WORKLOADS_MAX = 64 };

struct subjects {
	size_t count;
	const struct bench_subject *list[SUBJECTS_MAX];
};

static void *allocate(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (memory == NULL)
		give_up("out of memory; lower --runs");
	return memory;
}

/* Workloads. */

struct selection {
	size_t count;
	const struct workload *list[WORKLOADS_MAX];
};

void print_workloads(const struct workload *const *list)
{
	for (; *list != NULL; list++)
		printf("%-22s %s (%s)\n%-22s %s\n", (*list)->name, (*list)->about,
		       (*list)->unit, "", (*list)->source);
}

static const struct workload *const *known; /* the list that the option is about */

static const char *nth_workload(size_t i)
{
	return known[i] == NULL ? NULL : known[i]->name;
}

static void select_one(struct selection *selection, const struct workload *workload)
{
	size_t i;

	for (i = 0; i < selection->count; i++)
		if (selection->list[i] == workload)
			return;
	if (selection->count < WORKLOADS_MAX)
		selection->list[selection->count++] = workload;
}

/* "all", a name, or the part before the hyphen that several names share. */
static void select_named(const char *option, const char *name, void *into)
{
	size_t i, length = strlen(name);
	bool found = false;

	for (i = 0; known[i] != NULL; i++)
		if (strcmp(known[i]->name, name) == 0) {
			select_one(into, known[i]);
			return;
		}
	for (i = 0; known[i] != NULL; i++)
		if (strcmp(name, "all") == 0 ||
		    (strncmp(known[i]->name, name, length) == 0 &&
		     known[i]->name[length] == '-')) {
			select_one(into, known[i]);
			found = true;
		}
	if (!found && known == workloads)
		refuse_name(option, name, nth_workload, "'--workload help' lists them");
	if (!found)
		refuse_name(option, name, nth_workload, "'--app help' lists them");
}

/* --workload and --app; without either, the first workload. */
static struct selection select_workloads(const struct bench_request *request)
{
	struct selection selection = {0};
	size_t first = WORKLOADS_MAX; /* index of the first app */

	known = workloads;
	if (request->workloads != NULL)
		each_item("workload", request->workloads, select_named, &selection);
	else if (request->apps == NULL)
		select_one(&selection, workloads[0]);
	if (request->apps != NULL) {
		known = bench_apps();
		first = selection.count;
		each_item("app", request->apps, select_named, &selection);
	}
	for (; first < selection.count; first++)
		require_app(selection.list[first]);
	return selection;
}

/* Subjects. */

static const struct bench_subject *const *subjects_of(const struct workload *workload)
{
	return workload->subjects != NULL ? workload->subjects : bench_subjects;
}

static const struct bench_subject *find_subject(const struct workload *workload,
						const char *name)
{
	const struct bench_subject *const *s = subjects_of(workload);

	while (*s != NULL && strcmp((*s)->name, name) != 0)
		s++;
	return *s;
}

static void add_subject(struct subjects *subjects, const struct bench_subject *subject)
{
	size_t i;

	for (i = 0; i < subjects->count; i++)
		if (subjects->list[i] == subject)
			return;
	if (subjects->count == SUBJECTS_MAX)
		refuse("--locks: more than %d locks", SUBJECTS_MAX);
	subjects->list[subjects->count++] = subject;
}

/* Whether its waiters sleep; assumed of all peers except those known to spin. */
static bool sleeps(const char *name)
{
	const struct lock_type *type = lock_type_find(name);

	if (type != NULL)
		return type->parks;
	return strncmp(name, "ck-", 3) != 0 && strcmp(name, "tbb-queuing-mutex") != 0;
}

/* Subjects of the default comparison: each lock once, and pthread. */
static bool stands_out(const char *name)
{
	const struct lock_type *type = lock_type_find(name);

	if (type != NULL)
		return strcmp(type->name, type->base) == 0;
	return strcmp(name, "pthread") == 0;
}

/* Subjects that the mutex is compared with: what programs would use instead. */
static bool rivals(const char *name)
{
	static const char *const names[] = {"mutex",  "pthread",   "nsync",
					    "abseil", "tbb-mutex", "parking-lot"};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static bool is_default(enum bench_preset preset, const char *name)
{
	if (preset == PRESET_MUTEX)
		return rivals(name);
	return preset == PRESET_OVERSUBSCRIBE ? sleeps(name) : stands_out(name);
}

static bool fits(const struct workload *workload, const struct bench_subject *subject)
{
	return !workload->many_locks || !subject->single;
}

static void default_subjects(const struct bench_request *request,
			     const struct workload *workload, struct subjects *subjects)
{
	const struct bench_subject *const *s = subjects_of(workload);
	bool own = workload->subjects != NULL;

	for (; *s != NULL; s++) {
		const char *name = (*s)->name;
		bool wanted = is_default(request->preset, name);

		if (own && lock_type_find(name) == NULL)
			wanted = true; /* a workload's variant, not a lock */
		if (wanted && fits(workload, *s))
			add_subject(subjects, *s);
	}
}

/* An item of --locks, for one workload. */
struct lookup {
	const struct workload *workload;
	struct subjects subjects;
};

static const struct selection *selected; /* for nth_subject() */

static const char *nth_subject(size_t n)
{
	size_t i;

	for (i = 0; i < selected->count; i++) {
		const struct bench_subject *const *s = subjects_of(selected->list[i]);

		for (; *s != NULL; s++)
			if (n-- == 0)
				return (*s)->name;
	}
	return NULL;
}

static void check_subject(const char *option, const char *name, void *into)
{
	size_t i;

	(void)option;
	(void)into;
	for (i = 0; i < selected->count; i++)
		if (find_subject(selected->list[i], name) != NULL)
			return;
	if (lock_type_find(name) != NULL && known != workloads)
		require_offered(name); /* says why apps do not have it */
	if (lock_type_find(name) != NULL || is_peer(name))
		refuse("--locks: '%s' is not a subject of these workloads; --dry-run "
		       "without --locks lists them",
		       name);
	refuse_lock(name, nth_subject);
}

static void gather_subject(const char *option, const char *name, void *into)
{
	struct lookup *lookup = into;
	const struct bench_subject *subject = find_subject(lookup->workload, name);

	(void)option;
	if (subject != NULL && !fits(lookup->workload, subject))
		warn("%s: skipped %s, because a thread can hold only one at a time; "
		     "remove it from --locks",
		     lookup->workload->name, name);
	else if (subject != NULL)
		add_subject(&lookup->subjects, subject);
}

/* Threads. */

static void add_number(struct numbers *numbers, int n)
{
	if (numbers->count < NUMBERS_MAX)
		numbers->values[numbers->count++] = n;
}

/* 1, 2, 4 ... up to `most`, which comes last. */
static void default_threads(struct numbers *threads, int most)
{
	int n;

	for (n = 1; n < most; n *= 2)
		add_number(threads, n);
	add_number(threads, most);
}

/* The given value of a parameter that the workload has (0: it has not). */
static int chosen(int said, uint32_t otherwise)
{
	return said > 0 && otherwise > 0 ? said : (int)otherwise;
}

/* At least one thread besides the producers. */
static int least_threads(const struct bench_request *request,
			 const struct workload *workload)
{
	int producers = chosen(request->producers, workload->producers);

	return producers < workload->least_threads ? workload->least_threads
						   : producers + 1;
}

/* The numbers of --threads, or the default ones, that the workload can run with. */
static struct numbers threads_for(const struct bench_request *request,
				  const struct workload *workload, int cpus)
{
	struct numbers wanted = request->threads, threads = {0};
	int least = least_threads(request, workload);
	size_t i;

	if (wanted.count == 0)
		default_threads(&wanted, request->preset == PRESET_OVERSUBSCRIBE
						 ? 32 * cpus
					 : request->quick && cpus > 2 ? 2
					 : workload->outnumbers	      ? 4 * cpus
								      : cpus);
	for (i = 0; i < wanted.count; i++)
		if (wanted.values[i] >= least &&
		    (workload->most_threads == 0 ||
		     wanted.values[i] <= workload->most_threads))
			add_number(&threads, wanted.values[i]);
	if (threads.count == 0 && request->threads.count == 0)
		add_number(&threads, least);
	return threads;
}

/* The plan. */

/* Fills *part; returns false if none of the workload's subjects was selected. */
static bool plan_part(const struct bench_request *request,
		      const struct workload *workload, int cs, int ncs, double writes,
		      int cpus, struct bench_part *part)
{
	struct lookup lookup = {.workload = workload};
	struct subjects *subjects = &lookup.subjects;
	struct numbers threads = threads_for(request, workload, cpus);
	bool sections = workload->cs > 0;
	size_t i, j;

	if (request->locks != NULL)
		each_item("locks", request->locks, gather_subject, &lookup);
	else
		default_subjects(request, workload, subjects);
	if (subjects->count == 0) {
		warn("%s: skipped, because it has none of --locks; see --workload %s "
		     "--dry-run",
		     workload->name, workload->name);
		return false;
	}
	if (threads.count == 0) {
		warn("%s: skipped, because it needs %d%s threads; add that to --threads",
		     workload->name, least_threads(request, workload),
		     workload->least_threads == workload->most_threads ? "" : " or more");
		return false;
	}
	part->workload = workload;
	part->shape.seconds = request->seconds;
	part->shape.warm_up = workload->warms_up ? request->warm_up : 0;
	part->shape.cs = sections && cs >= 0 ? (uint32_t)cs : workload->cs;
	part->shape.ncs = sections && ncs >= 0 ? (uint32_t)ncs : workload->ncs;
	part->shape.producers = (uint32_t)chosen(request->producers, workload->producers);
	part->shape.capacity = (uint32_t)chosen(request->capacity, workload->capacity);
	part->shape.writes = writes;
	part->count = threads.count * subjects->count;
	part->cells = allocate(part->count, sizeof(*part->cells));
	for (i = 0; i < threads.count; i++)
		for (j = 0; j < subjects->count; j++) {
			struct bench_cell *cell = &part->cells[i * subjects->count + j];

			cell->subject = subjects->list[j];
			cell->threads = threads.values[i];
			cell->samples = allocate((size_t)request->runs,
						 sizeof(*cell->samples));
		}
	return true;
}

static bool has_sections(const struct workload *workload)
{
	return workload->cs > 0;
}

static bool has_queue(const struct workload *workload)
{
	return workload->capacity > 0;
}

static bool has_writes(const struct workload *workload)
{
	return workload->writes > 0;
}

static bool any(const struct bench_plan *plan, bool (*has)(const struct workload *))
{
	size_t i;

	for (i = 0; i < plan->count; i++)
		if (has(plan->parts[i].workload))
			return true;
	return false;
}

/* Section lengths and threads of the preset mutex. */
static const int grid_cs[] = {1, 100}, grid_ncs[] = {0, 250, 2500},
		 grid_threads[] = {1, 2, 4, 8, 16, 64};
enum {
	GRID_CS = sizeof(grid_cs) / sizeof(grid_cs[0]),
	GRID_NCS = sizeof(grid_ncs) / sizeof(grid_ncs[0]),
	GRID_THREADS = sizeof(grid_threads) / sizeof(grid_threads[0]),
};

/* Fills in the defaults. */
static void complete(struct bench_request *request)
{
	bool grid = request->preset == PRESET_MUTEX;
	size_t i;

	if (grid && (request->workloads != NULL || request->apps != NULL))
		refuse("--preset mutex runs the workload mutex; remove --workload and "
		       "--app");
	if (grid && request->threads.count == 0)
		for (i = 0; i < GRID_THREADS; i++)
			add_number(&request->threads, grid_threads[i]);
	if (request->seconds == 0)
		request->seconds = request->quick ? 0.05 : grid ? 0.2 : 0.5;
	if (request->runs == 0) /* fewer do not give 95 % (stats.h) */
		request->runs = grid ? 7 : 6;
}

/* A part for each length of sections; --cs and --ncs fix one each. */
static void plan_grid(const struct bench_request *request, int cpus,
		      struct bench_plan *plan)
{
	int cs_count = request->cs >= 0 ? 1 : GRID_CS;
	int ncs_count = request->ncs >= 0 ? 1 : GRID_NCS;
	int i, j;

	plan->grid = true;
	plan->parts = allocate((size_t)(cs_count * ncs_count), sizeof(*plan->parts));
	for (i = 0; i < cs_count; i++)
		for (j = 0; j < ncs_count; j++)
			plan->count += plan_part(
				request, workloads[0],
				request->cs >= 0 ? request->cs : grid_cs[i],
				request->ncs >= 0 ? request->ncs : grid_ncs[j], 0, cpus,
				&plan->parts[plan->count]);
	if (plan->count > 0 && plan->parts->count == request->threads.count)
		refuse("--preset mutex compares the first of --locks with the others; "
		       "name two or more");
}

/* A part for each share of writes, if the workload has any. */
static void plan_shares(const struct bench_request *request,
			const struct workload *workload, int cpus,
			struct bench_plan *plan)
{
	const struct percents own = {1, {workload->writes}};
	const struct percents *shares = workload->writes > 0 && request->writes.count > 0
						? &request->writes
						: &own;
	size_t i;

	for (i = 0; i < shares->count; i++)
		plan->count += plan_part(request, workload, request->cs, request->ncs,
					 shares->values[i], cpus,
					 &plan->parts[plan->count]);
}

struct bench_plan make_plan(struct bench_request *request, int cpus)
{
	struct bench_plan plan = {.seed = request->seed,
				  .setting = request->setting,
				  .time_waits = !request->quick};
	struct selection selection;
	size_t i;

	complete(request);
	selection = select_workloads(request);
	plan.runs = (size_t)request->runs;
	selected = &selection;
	if (request->locks != NULL)
		each_item("locks", request->locks, check_subject, NULL);
	if (request->preset == PRESET_MUTEX) {
		plan_grid(request, cpus, &plan);
	} else {
		plan.parts = allocate(selection.count * (1 + request->writes.count),
				      sizeof(*plan.parts));
		for (i = 0; i < selection.count; i++)
			plan_shares(request, selection.list[i], cpus, &plan);
	}
	selected = NULL;
	if (plan.count == 0)
		refuse("nothing left to measure; change --threads or --locks");
	if ((request->cs >= 0 || request->ncs >= 0) && !any(&plan, has_sections))
		warn("--cs and --ncs have no effect here; --workload mutex has both");
	if ((request->producers > 0 || request->capacity > 0) && !any(&plan, has_queue))
		warn("--producers and --capacity have no effect here; --workload queue "
		     "has both");
	if (request->writes.count > 0 && !any(&plan, has_writes))
		warn("--writes has no effect here; --workload rwlock has it");
	return plan;
}

void free_plan(struct bench_plan *plan)
{
	size_t i, j;

	for (i = 0; i < plan->count; i++) {
		for (j = 0; j < plan->parts[i].count; j++)
			free(plan->parts[i].cells[j].samples);
		free(plan->parts[i].cells);
	}
	free(plan->parts);
}

double plan_length(const struct bench_plan *plan)
{
	double seconds = 0;
	size_t i;

	for (i = 0; i < plan->count; i++) {
		const struct bench_part *part = &plan->parts[i];
		bool timed = plan->time_waits && part->workload->times_waits;

		seconds += (double)(part->count * (plan->runs + timed)) *
			   (part->shape.warm_up + part->shape.seconds);
	}
	return seconds;
}

int most_threads(const struct bench_plan *plan)
{
	int most = 0;
	size_t i, j;

	for (i = 0; i < plan->count; i++)
		for (j = 0; j < plan->parts[i].count; j++)
			if (plan->parts[i].cells[j].threads > most &&
			    !plan->parts[i].workload->outnumbers)
				most = plan->parts[i].cells[j].threads;
	return most;
}

static void print_part(const struct bench_part *part)
{
	size_t i;

	printf("workload %s", part->workload->name);
	if (part->shape.cs > 0)
		printf(", cs %u, ncs %u", part->shape.cs, part->shape.ncs);
	if (part->shape.capacity > 0)
		printf(", producers %u, capacity %u", part->shape.producers,
		       part->shape.capacity);
	if (part->workload->writes > 0)
		printf(", writes %g %%", part->shape.writes);
	printf("\nlocks:");
	for (i = 0; i < part->count && part->cells[i].threads == part->cells->threads;
	     i++)
		printf(" %s", part->cells[i].subject->name);
	printf("\nthreads:");
	for (i = 0; i < part->count; i++)
		if (i == 0 || part->cells[i].threads != part->cells[i - 1].threads)
			printf(" %d", part->cells[i].threads);
	printf("\n");
}

void print_plan(const struct bench_plan *plan)
{
	size_t i;

	for (i = 0; i < plan->count; i++)
		print_part(&plan->parts[i]);
	if (plan->setting.beside > 0)
		printf("with %d busy process%s beside\n", plan->setting.beside,
		       plan->setting.beside == 1 ? "" : "es");
	if (plan->setting.quota > 0)
		printf("limited to %d %% of a CPU\n", plan->setting.quota);
	printf("%zu runs of %g s; about %.0f s in total\n", plan->runs,
	       plan->parts->shape.seconds, ceil(plan_length(plan)));
}
