/* SPDX-License-Identifier: MIT */
/*
 * Scenes so small that every miss and every nanosecond is known. The latencies of the
 * test machine are chosen so that a leg inside a socket takes 10 ns and one between
 * sockets 40 ns.
 */
#ifndef TESTS_COHERENCE_SCENE_H
#define TESTS_COHERENCE_SCENE_H

#include <sim/coherence/engine.h>
#include <sim/seam.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { NS = 1000, RELAXED = __ATOMIC_RELAXED, LINE = 8 /* words */ };

static const struct machine machine = {
	.name = "test",
	.sockets = 2,
	.clusters = 1,
	.cores = 4,
	.smt = 1,
	.protocol = PROTOCOL_MESI,
	.batch = 1,
	.acknowledge = 1,
	.buffer = 32,
	.fetches = 4,
	.hit = 1 * NS,
	.rmw = 5 * NS,
	.core = 2 * NS,
	.cluster = 30 * NS,
	.socket = 30 * NS,
	.remote = 90 * NS,
	.memory = 100 * NS,
	.directory = 2 * NS,
	.invalidate = 1 * NS,
	.poll = 1,
	.look = 1000 * NS,
	.step = 1 * NS,
};

static uint64_t *word;
static struct coherence_counts before, after;
static uint64_t took;
static uint64_t left; /* in the word, at the end */

/* Each scene is a list of threads' bodies, which take turns of a microsecond. */
static inline void turn(unsigned n)
{
	coherence_delay((uint64_t)n * 1000 * NS - coherence_now());
	sim_engine->load(word + 1000, RELAXED, NULL); /* lets time pass */
}

/* Returns whether all threads came to their end. */
static inline bool play_as(const struct coherence_setup *setup,
			   void (*const bodies[])(void *))
{
	struct coherence *c = coherence_open(setup);
	bool ended;
	unsigned i;

	word = coherence_memory(c, 16384);
	for (i = 0; i < setup->threads; i++)
		coherence_spawn(c, i, bodies[i], NULL);
	ended = coherence_run(c);
	left = *word;
	coherence_close(c);
	return ended;
}

static inline void play(const struct machine *m, unsigned threads,
			void (*const bodies[])(void *))
{
	struct coherence_setup setup = {.machine = m, .threads = threads, .seed = 1};

	assert_true(play_as(&setup, bodies));
}

static inline void measure_load(unsigned when)
{
	uint64_t start;

	turn(when);
	before = coherence_counts();
	start = coherence_now() + machine.hit; /* of turn */
	sim_engine->load(word, RELAXED, NULL);
	sim_engine->load(word, RELAXED, NULL); /* hits; its start is the first's end */
	after = coherence_counts();
	took = coherence_now() - start;
}

static inline void measure_rmw(unsigned when)
{
	uint64_t start;

	turn(when);
	before = coherence_counts();
	start = coherence_now() + machine.hit; /* of turn */
	sim_engine->fetch_add(word, 1, RELAXED, NULL);
	sim_engine->load(word, RELAXED, NULL);
	after = coherence_counts();
	took = coherence_now() - start - machine.rmw;
}

/* What the body of thread 1 took, from `turn` to the end of its last access. */
static inline uint64_t time_of(const struct machine *m, unsigned threads,
			       void (*const bodies[])(void *))
{
	took = 0;
	play(m, threads, bodies);
	return took / NS;
}

static inline uint64_t begin(unsigned when)
{
	turn(when);
	before = coherence_counts();
	return coherence_now() + machine.hit;
}

static inline void end(uint64_t start)
{
	sim_engine->load(word + 180 * LINE, RELAXED, NULL); /* lets time pass */
	after = coherence_counts();
	took = coherence_now() - start;
}

static inline void own_end_line(void)
{
	turn(1);
	sim_engine->load(word + 180 * LINE, RELAXED, NULL);
}

#endif /* TESTS_COHERENCE_SCENE_H */
