/* SPDX-License-Identifier: MIT */
/*
 * Reciprocating paper, Table 2: five threads on one reciprocating lock, nothing
 * outside of the critical section. E, D, C, B arrive in this order while A holds
 * the lock; from then on the admission order runs back and forth, and the ninth
 * state is the first one again.
 *
 * The two segments are read off the lock itself: the stack of arrivals begins at
 * the lock's word, and below an element lies what its exchange returned, which
 * an engine put in front of the real one writes down.
 */
#include <sim/coherence/engine.h>
#include <sim/seam.h>

#include "registry/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

enum { THREADS = 5, STATES = 9, NS = 1000, LOCKED = 1 };

extern const struct lock_type sim_lock_types[];

static const struct lock_type *type;
static struct sim_engine spying;
static const struct sim_engine *engine;

static uint64_t *lock;
static uint64_t element[THREADS]; /* address of each thread's element */
static uint64_t below[THREADS];	  /* what its last arrival found */
static char states[2 * STATES][32];
static unsigned seen;

static uint64_t spy_exchange(uint64_t *p, uint64_t value, int order, const void *site)
{
	uint64_t old = engine->exchange(p, value, order, site);

	if (p == lock && value != LOCKED) {
		element[coherence_self()] = value;
		below[coherence_self()] = old;
	}
	return old;
}

static int owner_of(uint64_t address)
{
	int i;

	for (i = 0; i < THREADS; i++)
		if (element[i] == address)
			return i;
	return -1;
}

/* Appends the threads from `top` down to what is no element, or to `end`. */
static void append_segment(char *text, uint64_t top, uint64_t end)
{
	size_t length = strlen(text);
	int thread = owner_of(top & ~(uint64_t)LOCKED);

	if (thread < 0 || top == end)
		strcat(text, "-");
	for (; thread >= 0 && top != end;
	     top = below[thread], thread = owner_of(top & ~(uint64_t)LOCKED)) {
		if (strlen(text) > length)
			strcat(text, "+");
		strncat(text, &"ABCDE"[thread], 1);
	}
}

/* The context of the explicit face: whom to let in next, and the end mark. */
struct context {
	uint64_t next, end;
};

static void record(const struct context *context)
{
	char *text = states[seen];

	snprintf(text, sizeof(states[0]), "%c ", "ABCDE"[coherence_self()]);
	append_segment(text, context->next, context->end);
	strcat(text, " ");
	append_segment(text, *lock, element[coherence_self()]);
	seen++;
}

static void body(void *none)
{
	/* A first; then E, D, C, B, while it holds the lock. */
	static const unsigned arrival[THREADS] = {0, 4, 3, 2, 1};
	struct context context;

	(void)none;
	coherence_delay((uint64_t)arrival[coherence_self()] * 1000 * NS);
	for (;;) {
		type->acquire(lock, &context);
		/* Long enough for whoever left to come back. */
		coherence_delay(10000 * (uint64_t)NS);
		coherence_read(lock + 100);
		record(&context);
		if (seen == 2 * STATES - 1)
			coherence_stop();
		type->release(lock, &context);
	}
}

static void admission_runs_back_and_forth(void **state)
{
	static const char *const table[STATES] = {
		"A - B+C+D+E", "B C+D+E A", "C D+E B+A", "D E C+B+A",	"E - D+C+B+A",
		"D C+B+A E",   "C B+A D+E", "B A C+D+E", "A - B+C+D+E",
	};
	struct coherence_setup setup = {.threads = THREADS, .seed = 1};
	struct coherence *c;
	struct machine m;
	char error[256];
	unsigned i;

	(void)state;
	for (type = sim_lock_types; strcmp(type->name, "reciprocating") != 0; type++)
		assert_non_null(type->name);
	assert_int_equal(type->context_size, sizeof(struct context));
	assert_true(machine_load(&m, "altra-128", error, sizeof(error)));
	setup.machine = &m;
	c = coherence_open(&setup);
	engine = sim_engine;
	spying = *engine;
	spying.exchange = spy_exchange;
	sim_engine = &spying;
	lock = coherence_memory(c, 4096);
	for (i = 0; i < THREADS; i++)
		coherence_spawn(c, i, body, NULL);
	assert_true(coherence_run(c));
	coherence_close(c);

	for (i = 0; i < 2 * STATES - 1; i++)
		assert_string_equal(states[i], table[i % (STATES - 1)]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(admission_runs_back_and_forth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
