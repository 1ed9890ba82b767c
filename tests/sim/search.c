/* SPDX-License-Identifier: MIT */
/*
 * The search against a simpler one: on small random programs, the reduced
 * search finds exactly the executions that a walk over every interleaving
 * finds, and none of them twice.
 */
#include <sim/explore/explore.h>
#include <sim/seam.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { THREADS = 3, OPERATIONS = 4, WORDS = 2, MAX_GRAPHS = 1 << 17 };

enum what {
	DO_LOAD,
	DO_STORE,
	DO_EXCHANGE,
	DO_ADD,
	DO_CAS,
	DO_AWAIT_EQ,
	DO_AWAIT_NE,
	DO_AWAIT_CAS,
	DO_AWAIT_RMW,
	DO_FENCE,
	DO_COIN,
	DO_KINDS,
};

struct instruction {
	enum what what;
	int word, order;
	uint64_t a, b;
};

static struct instruction code[THREADS][OPERATIONS];
static int code_length[THREADS];
static uint64_t *words[WORDS];

static uint64_t random_state;

static unsigned pick(unsigned n)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(random_state >> 33) % n;
}

static const int orders[] = {SIM_RELAXED, SIM_ACQUIRE, SIM_RELEASE, SIM_ACQ_REL,
			     SIM_SEQ_CST};
static const int load_orders[] = {SIM_RELAXED, SIM_ACQUIRE, SIM_SEQ_CST};
static const int store_orders[] = {SIM_RELAXED, SIM_RELEASE, SIM_SEQ_CST};
static const int fences[] = {SIM_FENCE_LIGHT,	SIM_FENCE_HEAVY,   SIM_FENCE_ACQUIRE,
			     SIM_FENCE_RELEASE, SIM_FENCE_ACQ_REL, SIM_FENCE_FULL};

static void make_program(uint64_t seed, int threads)
{
	int t, i;

	random_state = seed * 7919 + 17;
	for (t = 0; t < threads; t++) {
		code_length[t] = 1 +
				 (int)pick(threads == 2 ? OPERATIONS : OPERATIONS - 1);
		for (i = 0; i < code_length[t]; i++) {
			struct instruction *in = &code[t][i];

			in->what = pick(3) == 0 ? pick(DO_KINDS) : pick(DO_CAS + 1);
			in->word = (int)pick(WORDS);
			in->a = pick(3);
			in->b = pick(3);
			in->order = orders[pick(5)];
			if (in->what == DO_LOAD || in->what == DO_AWAIT_EQ ||
			    in->what == DO_AWAIT_NE)
				in->order = load_orders[pick(3)];
			if (in->what == DO_STORE)
				in->order = store_orders[pick(3)];
			if (in->what == DO_FENCE)
				in->order = fences[pick(6)];
		}
	}
}

static void set_up(void *context)
{
	int i;

	(void)context;
	for (i = 0; i < WORDS; i++)
		words[i] = explore_allocate(8, 8);
}

static void run_thread(void *context, int t)
{
	int i;

	(void)context;
	for (i = 0; i < code_length[t]; i++) {
		struct instruction *in = &code[t][i];
		uint64_t *w = words[in->word];

		switch (in->what) {
		case DO_LOAD:
			sim_load(w, in->order);
			break;
		case DO_STORE:
			sim_store(w, in->a, in->order);
			break;
		case DO_EXCHANGE:
			sim_exchange(w, in->a, in->order);
			break;
		case DO_ADD:
			sim_fetch_add(w, in->a, in->order);
			break;
		case DO_CAS:
			sim_cas(w, in->a, in->b, in->order, SIM_RELAXED);
			break;
		case DO_AWAIT_EQ:
			sim_await(SIM_AWAIT_EQ, w, in->a, 0, in->order);
			break;
		case DO_AWAIT_NE:
			sim_await(SIM_AWAIT_NE, w, in->a, 0, in->order);
			break;
		case DO_AWAIT_CAS:
			sim_await(SIM_AWAIT_CAS, w, in->a, in->b, in->order);
			break;
		case DO_AWAIT_RMW:
			sim_await(SIM_AWAIT_EQ_RMW, w, in->a, 0, in->order);
			break;
		case DO_FENCE:
			sim_fence((enum sim_fence)in->order);
			break;
		default:
			/* What follows depends on the coin. */
			if (sim_one_in(2))
				return;
			break;
		}
	}
}

static uint64_t found[2][MAX_GRAPHS];
static int found_count;	   /* hashes kept */
static uint64_t found_all; /* executions, the same one counted again */

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void drop_duplicates(uint64_t *hashes)
{
	int i, kept = 0;

	qsort(hashes, (size_t)found_count, sizeof(*hashes), compare);
	for (i = 0; i < found_count; i++)
		if (i == 0 || hashes[i] != hashes[i - 1])
			hashes[kept++] = hashes[i];
	found_count = kept;
}

static void collect(void *context, struct graph *g)
{
	uint64_t *to = context;

	if (found_count == MAX_GRAPHS)
		drop_duplicates(to);
	assert_true(found_count < MAX_GRAPHS);
	to[found_count++] = graph_hash(g);
	found_all++;
}

/* Explores the program; leaves the different hashes, and returns how many. */
static int explore_all(int threads, enum model model, bool naive, uint64_t *to)
{
	static struct result result;
	struct program program = {
		.threads = threads,
		.set_up = set_up,
		.thread = run_thread,
	};
	struct options options = {
		.model = model,
		.naive = naive,
		.stuck_is_complete = true,
		.each = collect,
		.context = to,
	};

	found_count = 0;
	found_all = 0;
	explore(&program, &options, &result);
	assert_int_equal(result.verdict, VERDICT_PASSED);
	drop_duplicates(to);
	return found_count;
}

static void compare_searches(int threads, enum model model, uint64_t seeds)
{
	uint64_t seed;

	for (seed = 0; seed < seeds; seed++) {
		int all, some, different;

		make_program(seed, threads);
		different = explore_all(threads, model, false, found[0]);
		some = (int)found_all;
		all = explore_all(threads, model, true, found[1]);
		if (some != different || different != all ||
		    memcmp(found[0], found[1], (size_t)all * sizeof(uint64_t)) != 0)
			fail_msg("program %llu, %d threads, model %d: %d executions, %d "
				 "different, %d expected",
				 (unsigned long long)seed, threads, (int)model, some,
				 different, all);
	}
}

static uint64_t scale(uint64_t n)
{
	const char *times = getenv("PAWL_TEST_SCALE");

	return times == NULL ? n : n * (uint64_t)atoi(times);
}

static void finds_all_executions_of_two_threads_once(void **state)
{
	(void)state;
	compare_searches(2, MODEL_WEAK, scale(1500));
}

static void finds_all_executions_of_three_threads_once(void **state)
{
	(void)state;
	compare_searches(3, MODEL_WEAK, scale(300));
}

static void finds_all_tso_executions_once(void **state)
{
	(void)state;
	compare_searches(2, MODEL_TSO, scale(500));
	compare_searches(3, MODEL_TSO, scale(100));
}

static void finds_all_sc_executions_once(void **state)
{
	(void)state;
	compare_searches(2, MODEL_SC, scale(500));
	compare_searches(3, MODEL_SC, scale(100));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_all_executions_of_two_threads_once),
		cmocka_unit_test(finds_all_executions_of_three_threads_once),
		cmocka_unit_test(finds_all_tso_executions_once),
		cmocka_unit_test(finds_all_sc_executions_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
