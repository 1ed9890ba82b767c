/* SPDX-License-Identifier: MIT */
#include "programs.h"

#include <sim/runtime.h>

#include <stdlib.h>
#include <string.h>

static uint64_t random_state;

static unsigned pick(unsigned n)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(random_state >> 33) % n;
}

static int pick_order(enum what what)
{
	static const int any[] = {SIM_RELAXED, SIM_ACQUIRE, SIM_RELEASE, SIM_ACQ_REL,
				  SIM_SEQ_CST};
	static const int reads[] = {SIM_RELAXED, SIM_ACQUIRE, SIM_SEQ_CST};
	static const int writes[] = {SIM_RELAXED, SIM_RELEASE, SIM_SEQ_CST};
	static const int fences[] = {SIM_FENCE_LIGHT,	SIM_FENCE_HEAVY,
				     SIM_FENCE_ACQUIRE, SIM_FENCE_RELEASE,
				     SIM_FENCE_ACQ_REL, SIM_FENCE_FULL};

	switch (what) {
	case DO_LOAD:
	case DO_AWAIT_EQ:
	case DO_AWAIT_NE:
	case DO_AWAIT_CHANGE:
		return reads[pick(3)];
	case DO_STORE:
		return writes[pick(3)];
	case DO_FENCE:
		return fences[pick(6)];
	default:
		return any[pick(5)];
	}
}

/* Every fourth program is about fences: they show only between accesses to
 * different words, on both sides. */
static bool about_fences;

static enum what pick_what(bool hazards)
{
	static const enum what around[] = {DO_LOAD, DO_STORE, DO_FENCE};

	if (about_fences)
		return around[pick(3)];
	if (hazards && pick(3) == 0)
		return (enum what)(DO_PLAIN_READ + pick(3));
	return (enum what)(pick(2) == 0 ? pick(DO_KINDS) : pick(DO_CAS + 1));
}

static int pick_word(enum what what, int threads, bool hazards)
{
	if (what == DO_PLAIN_READ || what == DO_PLAIN_WRITE)
		return PLAIN;
	if (what == DO_FREE)
		return FREED;
	if (hazards && what <= DO_ADD && pick(5) == 0)
		return pick(2) == 0 ? FREED : STORAGE + (int)pick((unsigned)threads);
	return pick(about_fences ? 2 : 3) == 0 ? SECOND : FIRST;
}

void make_program(struct small_program *p, uint64_t seed, int threads, bool hazards)
{
	bool freed = false;
	int t, i;

	memset(p, 0, sizeof(*p));
	random_state = seed * 7919 + 17;
	about_fences = !hazards && seed % 4 == 3;
	p->threads = threads;
	for (t = 0; t < threads; t++) {
		p->length[t] = 2 + (int)pick(threads == 2 ? MOST_INSTRUCTIONS - 1 : 2);
		for (i = 0; i < p->length[t]; i++) {
			struct instruction *in = &p->code[t][i];

			in->what = pick_what(hazards);
			if (in->what == DO_FREE && freed)
				in->what = DO_PLAIN_READ;
			freed = freed || in->what == DO_FREE;
			in->word = pick_word(in->what, threads, hazards);
			in->a = pick(3);
			in->b = pick(3);
			in->order = pick_order(in->what);
		}
		/* Nothing comes after a thread's exit. */
		if (hazards && pick(3) == 0)
			p->code[t][p->length[t] - 1].what = DO_EXIT;
	}
}

static uint64_t *words[WORDS];
static const struct small_program *running;

/* Storage lies at the same place in every run: learn where. */
static void learn_storage(void *context, int t)
{
	(void)context;
	words[STORAGE + t] = (uint64_t *)((char *)sim_self() + sim_thread_size()) - 1;
}

static void set_up(void *context)
{
	int i;

	(void)context;
	for (i = 0; i < STORAGE; i++)
		words[i] = explore_allocate(8, 8);
}

static void run_thread(void *context, int t)
{
	int i;

	(void)context;
	for (i = 0; i < running->length[t]; i++) {
		const struct instruction *in = &running->code[t][i];
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
		case DO_AWAIT_CHANGE:
			sim_await(SIM_AWAIT_CHANGE, w, in->a, 0, in->order);
			break;
		case DO_AWAIT_CAS:
			sim_await(SIM_AWAIT_CAS, w, in->a, in->b, in->order);
			break;
		case DO_AWAIT_EQ_RMW:
			sim_await(SIM_AWAIT_EQ_RMW, w, in->a, 0, in->order);
			break;
		case DO_AWAIT_NE_RMW:
			sim_await(SIM_AWAIT_NE_RMW, w, in->a, 0, in->order);
			break;
		case DO_FENCE:
			sim_fence((enum sim_fence)in->order);
			break;
		case DO_COIN:
			if (sim_one_in(2))
				return; /* what follows depends on it */
			break;
		case DO_SLEEP:
		case DO_SLEEP_TIMED:
			sim_sleep(w, in->a, in->what == DO_SLEEP_TIMED);
			break;
		case DO_WAKE:
			sim_wake(w);
			break;
		case DO_PLAIN_READ:
		case DO_PLAIN_WRITE:
			sim_engine->plain(w, 8, in->what == DO_PLAIN_WRITE, NULL);
			break;
		case DO_FREE:
			explore_free(w);
			break;
		default:
			explore_exit();
			return;
		}
	}
}

void explore_program(const struct small_program *p, const struct options *options,
		     struct result *result)
{
	struct program learn = {.threads = MOST_THREADS, .thread = learn_storage};
	struct program program = {
		.threads = p->threads,
		.set_up = set_up,
		.thread = run_thread,
	};
	struct options once = {.limit = 0};

	if (words[STORAGE] == NULL)
		explore(&learn, &once, result);
	running = p;
	explore(&program, options, result);
}

uint64_t scale(uint64_t n)
{
	const char *times = getenv("PAWL_TEST_SCALE");

	return times == NULL ? n : (uint64_t)((double)n * atof(times));
}
