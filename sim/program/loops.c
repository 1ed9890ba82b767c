/* SPDX-License-Identifier: MIT */
/*
 * Loops that only wait. A thread returns to a read with its whole state unchanged (its
 * stack, the callee-saved registers), having written nothing meanwhile. Unless a read
 * returns another value, it would repeat the iteration: so it is stopped there and
 * continues only when a read of its last iteration returns something else. Nothing is
 * lost: for every execution with more iterations there is one with fewer, since the
 * earlier iterations only add reads on which nothing depends. An update that stores the
 * value it read, such as a test-and-set that fails, adds nothing either: a thread that
 * reads from it can read the same value from the write before it, and learns less.
 *
 * A loop with one read is learnt: the next time that a thread is in exactly this state,
 * the read is a wait for a value other than those that repeated the loop. See
 * graph_waits.
 */
#include "program.h"

#include <sim/fiber.h>

#include <string.h>

struct registers program_registers;
bool program_registers_fresh;

enum {
	SLOTS = 1024,
#if defined(__x86_64__)
	KEPT = 6, /* registers */
#else
	KEPT = 19,
#endif
};

static struct {
	int count;	/* reads since its last write */
	int plain_read; /* count at its last plain read */
	struct {
		uint64_t state;
		int position;
	} reads[MAX_STEPS];
} threads[MAX_THREADS];

static struct {
	uint64_t state;
	uint8_t index;
} learnt[SLOTS];
static int learnt_count;

void loops_start(void)
{
	int t;

	for (t = 0; t < MAX_THREADS; t++)
		threads[t].count = threads[t].plain_read = 0;
}

void loops_forget(void)
{
	memset(learnt, 0, sizeof(learnt));
	memset(graph_waits, 0, sizeof(graph_waits));
	learnt_count = 0;
}

void loops_wrote(void)
{
	threads[me(current_search)].count = threads[me(current_search)].plain_read = 0;
}

void loops_read_plainly(void)
{
	threads[me(current_search)].plain_read = threads[me(current_search)].count;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 32;
}

static uint64_t state_of(struct search *s, const void *site)
{
	uint64_t hash = mix((uint64_t)me(s) + 1, (uintptr_t)site);
	const uint64_t *at, *end;
	uint64_t lane[4];
	size_t size, i;

	at = (const uint64_t *)(const void *)program_registers.stack;
	end = (const uint64_t *)(const void *)((char *)sim_fiber_stack(s->self->fiber,
								       &size) +
					       size);
	if (at + ((size_t)1 << 16) < end || at > end)
		return 0;
	for (i = 0; i < KEPT; i++)
		hash = mix(hash, program_registers.kept[i]);
	for (i = 0; i < 4; i++) /* four independent chains */
		lane[i] = hash + i;
	for (; at + 4 <= end; at += 4)
		for (i = 0; i < 4; i++)
			lane[i] = mix(lane[i], at[i]);
	for (; at < end; at++)
		lane[0] = mix(lane[0], *at);
	for (i = 0; i < 4; i++)
		hash = mix(hash, lane[i]);
	return hash | 1;
}

/* The slot of a state, or the slot where it would go. */
static uint8_t *find_learnt(uint64_t state, bool make)
{
	size_t i = state >> 20 & (SLOTS - 1);

	while (learnt[i].state != 0 && learnt[i].state != state)
		i = (i + 1) & (SLOTS - 1);
	if (learnt[i].state == state)
		return &learnt[i].index;
	if (!make || learnt_count == MAX_WAITS - 1)
		return NULL;
	learnt[i].state = state;
	learnt[i].index = (uint8_t)++learnt_count;
	return &learnt[i].index;
}

static void learn(uint64_t state, uint64_t value)
{
	uint8_t *index = find_learnt(state, true);
	struct learnt_wait *waits;
	int i;

	if (index == NULL)
		return;
	waits = &graph_waits[*index];
	for (i = 0; i < waits->count; i++)
		if (waits->values[i] == value)
			return;
	if (waits->count < MAX_WAITED)
		waits->values[waits->count++] = value;
}

/* A thread has the same state as before its read i: it stops for good or, at random or
 * with a token, until a value changes. */
static void go_round(struct search *s, int i, uint64_t state)
{
	int t = me(s), first = threads[t].reads[i].position;
	bool one_read = i == threads[t].count - 1 && threads[t].plain_read <= i;

	if (one_read)
		learn(state, s->graph.events[t][first].value);
	s->self->round = first;
	while (token_thread(s) >= 0 && token_thread(s) != t)
		search_pause(s, THREAD_FRONTIER);
	while (token_thread(s) != t && (!s->at_random || search_goes_round(s, t)))
		search_pause(s, THREAD_ROUND);
	if (one_read && s->at_random && s->graph.length[t] == first + 1) {
		s->graph.length[t]--; /* the read is repeated in its place */
		s->self->position--;
		threads[t].count = i;
	}
}

uint8_t loops_before_read(struct search *s, const void *site)
{
	int t = me(s), i;
	uint64_t state;
	uint8_t *index;

	if (!program_registers_fresh)
		return 0;
	program_registers_fresh = false;
	state = state_of(s, site);
	for (i = threads[t].count - 1; i >= 0; i--)
		if (threads[t].reads[i].state == state)
			break;
	if (i >= 0 && state != 0 && s->self->position >= s->graph.length[t])
		go_round(s, i, state);
	if (threads[t].count < MAX_STEPS) {
		threads[t].reads[threads[t].count].state = state;
		threads[t].reads[threads[t].count++].position = s->self->position;
	}
	index = find_learnt(state, false);
	return index == NULL ? 0 : *index;
}
