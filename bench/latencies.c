/* SPDX-License-Identifier: MIT */
/*
 * One thread leads, the other follows. A round measures one kind of operation: the
 * follower writes all lines, the leader brings them into the state that the kind needs,
 * and times its operation on each. Lines are visited in random order, which defeats
 * prefetchers.
 */
#include "latencies.h"

#include "crew.h"
#include "lcg.h"
#include "waits.h"

#include <stdlib.h>

enum { LINES = 64, ROUNDS = 41, REPEATS = 8, STRIDE = 128 };
#define SECONDS 0.02 /* enough for ROUNDS unless other programs use the CPUs */

enum kind {
	LOAD,
	FORWARD,
	RMW,
	PAUSE,
	STEP,
	TRANSFER,
	TAKE,
	UPGRADE,
	LOADS,
	STORES,
	BEHIND,
	AFTER,
	KINDS
};

/* A line, and the adjacent one, which is unused. */
struct line {
	_Alignas(STRIDE) struct line *next;
	pawl_atomic64 count;
};

/* The turn: the follower's, the leader's; or the end. */
enum { FOLLOWER, LEADER, OVER };

struct scene {
	struct line lines[LINES];
	PAWL_SEQUESTER pawl_atomic64 turn;
	bool reads; /* the follower reads instead of writing; passed with the turn */
	PAWL_SEQUESTER pawl_atomic64 stop;
	double samples[KINDS][ROUNDS];
	double by_line[LINES][ROUNDS]; /* including the time to read the clock */
	size_t order[LINES], rounds;
	uint64_t sink; /* keeps the compiler from dropping the computation */
};

struct member {
	PAWL_SEQUESTER struct scene *scene;
	bool leads;
};

/* Waits for another turn than `not_this` and returns it. The wait ends: each thread
 * passes the turn before it waits, and the leader announces the end last. */
static uint64_t await_turn(struct scene *scene, uint64_t not_this)
{
	uint64_t turn;

	/* Acquire: sees what the other thread did to the lines. */
	while ((turn = pawl_load_acquire(&scene->turn)) == not_this)
		pawl_arch_pause();
	return turn;
}

/* Each load depends on the one before it. */
static const struct line *chase(const struct line *line, size_t steps)
{
	while (steps-- > 0)
		line = *(struct line *const volatile *)&line->next;
	return line;
}

static void follow(struct scene *scene)
{
	size_t i;

	while (await_turn(scene, LEADER) != OVER) {
		if (scene->reads)
			chase(scene->lines, LINES);
		for (i = 0; i < LINES && !scene->reads;
		     i++) /* Relaxed: the turn orders */
			pawl_fetch_add_relaxed(&scene->lines[i].count, 1);
		pawl_store_release(&scene->turn, LEADER);
	}
}

/*
 * The addresses of a pair depend on the values of the pair before it, without changing by
 * them; the two operations of a pair are independent. Returns the number of operations.
 */
static size_t operate_on_pairs(struct scene *scene, enum kind kind)
{
	static const volatile size_t nothing = 0;
	size_t none = nothing, before = 0, i;

	/* Relaxed, all: no other thread accesses the lines meanwhile. */
	for (i = 0; i < LINES; i += 2) {
		struct line *lines = scene->lines + (before & none);
		pawl_atomic64 *first = &lines[scene->order[i]].count;
		pawl_atomic64 *second = &lines[scene->order[i + 1]].count;

		if (kind == BEHIND) {
			before = lcg_walk(pawl_load_relaxed(first), LATENCIES_WORK);
			before += pawl_fetch_add_relaxed(second, before);
		} else {
			before = pawl_fetch_add_relaxed(first, 1);
			before += pawl_load_relaxed(second);
		}
	}
	scene->sink += before;
	return LINES / 2;
}

/* Relaxed, all: no other thread accesses the lines meanwhile. */
static size_t operate(struct scene *scene, enum kind kind)
{
	static const volatile size_t nothing = 0;
	struct line *line = scene->lines;
	volatile uint64_t word = 0;
	size_t none = nothing, i;

	switch (kind) {
	case LOAD:
		scene->sink += (uintptr_t)chase(line, LINES * REPEATS);
		return LINES * REPEATS;
	case TRANSFER:
		scene->sink += (uintptr_t)chase(line, LINES);
		return LINES;
	case FORWARD:
		for (i = 0; i < LINES * REPEATS; i++)
			word = word + 1;
		return LINES * REPEATS;
	case STEP:
		scene->sink += lcg_walk(scene->sink, LINES * REPEATS);
		return LINES * REPEATS;
	case RMW:
		for (i = 0; i < LINES * REPEATS; i++)
			pawl_fetch_add_relaxed(&line->count, 1); /* Relaxed. */
		return LINES * REPEATS;
	case PAUSE:
		for (i = 0; i < LINES * REPEATS; i++)
			pawl_arch_pause();
		return LINES * REPEATS;
	case TAKE:
	case UPGRADE:
		for (i = 0; i < LINES; i++) /* each depends on the one before */
			line = line->next +
			       (pawl_fetch_add_relaxed(&line->count, 1) & none);
		return LINES;
	case LOADS:
		for (i = 0; i < LINES; i++)
			scene->sink += pawl_load_relaxed(
				&scene->lines[scene->order[i]].count);
		return LINES;
	case BEHIND:
	case AFTER:
		return operate_on_pairs(scene, kind);
	case STORES:
		for (i = 0; i < LINES; i++)
			pawl_store_relaxed(&scene->lines[scene->order[i]].count, i);
		pawl_full_fence(); /* waits until all lines are here */
		return LINES;
	case KINDS:
		break;
	}
	abort();
}

static void let_follow(struct scene *scene, bool reads)
{
	scene->reads = reads;
	pawl_store_release(&scene->turn, FOLLOWER);
	await_turn(scene, FOLLOWER);
}

static void arrange(struct scene *scene, enum kind kind)
{
	bool others = kind == TRANSFER || kind >= LOADS; /* they stay there */

	let_follow(scene, false);
	if (!others)
		scene->sink += (uintptr_t)chase(scene->lines, LINES);
	if (kind == UPGRADE)
		let_follow(scene, true);
}

/* Loads one line after the other; reading the clock waits for each. */
static void time_lines(struct scene *scene)
{
	size_t i;

	for (i = 0; i < LINES; i++) {
		size_t line = scene->order[i];
		uint64_t before = waits_now();

		/* Relaxed: no other thread accesses the lines meanwhile. */
		scene->sink += pawl_load_relaxed(&scene->lines[line].count);
		scene->by_line[line][scene->rounds] = (double)(waits_now() - before);
	}
}

static void lead(struct scene *scene)
{
	enum kind kind;

	do {
		for (kind = 0; kind < KINDS; kind++) {
			uint64_t before;
			size_t operations;

			arrange(scene, kind);
			before = waits_now();
			operations = operate(scene, kind);
			scene->samples[kind][scene->rounds] =
				(double)(waits_now() - before) / (double)operations;
		}
		arrange(scene, TRANSFER);
		time_lines(scene);
		scene->rounds++;
		/* Relaxed: stop only ends the loop. */
	} while (scene->rounds < ROUNDS && pawl_load_relaxed(&scene->stop) != CREW_END);
	pawl_store_release(&scene->turn, OVER);
}

static void work(void *argument)
{
	const struct member *me = argument;

	if (me->leads)
		lead(me->scene);
	else
		follow(me->scene);
}

/* Links all lines into a ring, in a random order that begins with the first. */
static void link_up(struct scene *scene)
{
	struct line *lines = scene->lines;
	size_t *order = scene->order, i;

	for (i = 0; i < LINES; i++)
		order[i] = i;
	lcg_shuffle(order + 1, LINES - 1, 1);
	for (i = 0; i < LINES; i++)
		lines[order[i]].next = &lines[order[(i + 1) % LINES]];
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median_of(double *samples, size_t count)
{
	qsort(samples, count, sizeof(double), ascending);
	return samples[count / 2];
}

static double median(struct scene *scene, enum kind kind)
{
	return median_of(scene->samples[kind], scene->rounds);
}

/* Both quartiles include the time to read the clock, which cancels. */
static double spread(struct scene *scene)
{
	double lines[LINES];
	size_t i;

	for (i = 0; i < LINES; i++)
		lines[i] = median_of(scene->by_line[i], scene->rounds);
	qsort(lines, LINES, sizeof(double), ascending);
	return (lines[LINES * 3 / 4] - lines[LINES / 4]) / median(scene, TRANSFER);
}

bool latencies_measure(struct latencies *l)
{
	static struct scene scene; /* outlives a hung thread */
	static struct member members[2];

	link_up(&scene);
	scene.rounds = 0;
	pawl_store_relaxed(&scene.turn, LEADER); /* Relaxed, both: no thread runs yet. */
	pawl_store_relaxed(&scene.stop, CREW_GO);
	members[0] = (struct member){&scene, true};
	members[1] = (struct member){&scene, false};
	if (crew_run(2, work, members, sizeof(members[0]), &scene.stop, 0, SECONDS) < 0)
		return false;
	l->load = median(&scene, LOAD);
	l->forward = median(&scene, FORWARD);
	l->rmw = median(&scene, RMW);
	l->pause = median(&scene, PAUSE);
	l->step = median(&scene, STEP);
	l->transfer = median(&scene, TRANSFER);
	l->take = median(&scene, TAKE);
	l->upgrade = median(&scene, UPGRADE);
	l->loads = median(&scene, LOADS);
	l->stores = median(&scene, STORES);
	l->behind = median(&scene, BEHIND);
	l->after = median(&scene, AFTER);
	l->spread = spread(&scene);
	return true;
}
