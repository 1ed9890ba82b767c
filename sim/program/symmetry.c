/* SPDX-License-Identifier: MIT */
/*
 * Symmetry reduction: of executions that differ only by a permutation of identical
 * threads, one is enough. Identical are threads that one thread creates one after the
 * other with the same function and the same argument (or a heap block each, with equal
 * contents).
 *
 * Each has a point: its first atomic update, which includes taking a lock. If the point
 * of one precedes that of another by program order and reads-from, the first must have
 * been created before the second; a thread that violates this stops at its point, and the
 * run is no execution. The thread decides this from its own past, like a thread that
 * returns early, so the search loses nothing else; and every execution can be renamed to
 * agree with the order of points, so that one of its class remains.
 *
 * This holds as long as nothing distinguishes the threads. What could, and is checked:
 *
 * - their creation: whatever the creator accesses between two of them, they never access,
 *   except the argument's block, which is the thread's own; and it does nothing atomic;
 * - their end: one thread joins them all, and between the first and the last join does
 *   nothing atomic, accesses nothing that they access, and gets the same result from each;
 * - their names: none asks for its own id, creates a key or a thread, or is detached.
 *
 * If one of these happens, the threads are not identical and the search starts again. If
 * it happens in any execution, it happens in one that is kept: up to there, threads can
 * be renamed. Not detected is a thread that uses the bits of an address of its own, its
 * stack say, or compares it with another thread's for more than equality.
 */
#include "symmetry.h"

#include <string.h>

enum answer { UNKNOWN, YES, NO };

bool symmetry_wanted;
bool symmetry_used;

/* For a program. */
static enum answer alike[MAX_THREADS]; /* identical to the thread created before it */
static int before[MAX_THREADS];	       /* the thread created before it */
static bool has_block[MAX_THREADS];    /* its argument is a block of its own */
static int classes[MAX_THREADS];       /* its first member; -1 = no other member */

/* For a run. */
static struct {
	const void *run, *argument;
	uint64_t contents;
	size_t size;  /* of the argument's block */
	int position; /* its creator's position at that time */
	int point;    /* -1 = not yet */
	bool passing; /* it is about to create or to join */
	int watched;  /* class that it might distinguish now; -1 = none */
	int joiner;   /* first member: the thread that joins the class */
	int joined;   /* first member: how many are joined */
	void *result; /* first member: their result */
} threads[MAX_THREADS];
static double all; /* executions, including symmetric ones */

void symmetry_forget(void)
{
	memset(alike, 0, sizeof(alike));
	memset(has_block, 0, sizeof(has_block));
	symmetry_used = false;
}

void symmetry_reset(void)
{
	int t;

	symmetry_used = false;
	memset(threads, 0, sizeof(threads));
	for (t = 0; t < MAX_THREADS; t++) {
		threads[t].point = threads[t].watched = threads[t].joiner = -1;
		classes[t] = -1;
		if (!symmetry_wanted || alike[t] != YES)
			continue;
		symmetry_used = true;
		if (classes[before[t]] < 0)
			classes[before[t]] = before[t];
		classes[t] = classes[before[t]];
	}
}

static int size_of(int class)
{
	int t, n = 0;

	for (t = 0; t < MAX_THREADS; t++)
		n += classes[t] == class;
	return n;
}

static void tell_apart(struct search *s, int class)
{
	int t;

	if (class < 0)
		return;
	for (t = 0; t < MAX_THREADS; t++)
		if (classes[t] == class)
			alike[t] = NO;
	s->restart = true;
	search_stop(s);
}

/* Creation. */

static uint64_t hash(const unsigned char *bytes, size_t size)
{
	uint64_t h = 0xcbf29ce484222325u;

	while (size-- > 0)
		h = (h ^ *bytes++) * 0x100000001b3u;
	return h;
}

void symmetry_create(struct search *s, int t, int previous, const void *run,
		     const void *argument)
{
	size_t size = memory_block_size(s->memory, argument);
	bool same = false, block = previous > 0 && threads[previous].argument != argument;

	tell_apart(s, classes[me(s)]);
	threads[t].run = run;
	threads[t].argument = argument;
	threads[t].size = size;
	threads[t].contents = hash(argument, size);
	if (previous > 0)
		same = threads[previous].run == run &&
		       threads[previous].position == s->self->position &&
		       (!block || (size > 0 && threads[previous].size == size &&
				   threads[previous].contents == threads[t].contents));
	if (alike[t] == UNKNOWN) {
		alike[t] = same ? YES : NO;
		before[t] = previous;
		if (same && block)
			has_block[t] = has_block[previous] = true;
	} else if (alike[t] == YES && !(same && block == has_block[t])) {
		tell_apart(s, classes[t]);
	}
	threads[me(s)].watched = -1;
	threads[me(s)].passing = true;
}

void symmetry_created(struct search *s, int t, int next)
{
	threads[t].position = s->self->position;
	threads[me(s)].passing = false;
	if (next > 0 && alike[next] == YES)
		threads[me(s)].watched = classes[next];
}

/* The end. */

void symmetry_join(struct search *s, int t)
{
	int class = classes[t], n;

	threads[me(s)].passing = true;
	if (class < 0)
		return;
	if (classes[me(s)] == class ||
	    (threads[class].joiner >= 0 && threads[class].joiner != me(s)))
		tell_apart(s, class);
	n = threads[me(s)].watched;
	if (n >= 0 && n != class)
		tell_apart(s, n);
	threads[class].joiner = me(s);
	threads[me(s)].watched = class;
}

void symmetry_joined(struct search *s, int t, void *result, bool wanted)
{
	int class = classes[t];

	threads[me(s)].passing = false;
	if (class < 0)
		return;
	if (threads[class].joined++ == 0)
		threads[class].result = result;
	else if (wanted && threads[class].result != result)
		tell_apart(s, class);
	if (threads[class].joined == size_of(class))
		threads[me(s)].watched = -1;
}

/* In between. */

void symmetry_names(struct search *s, int t)
{
	tell_apart(s, classes[t]);
}

void symmetry_event(struct search *s)
{
	if (threads[me(s)].watched >= 0 && !threads[me(s)].passing)
		tell_apart(s, threads[me(s)].watched);
}

static bool accessed_by(const struct word *word, int t)
{
	int i;

	for (i = 0; i < word->parts; i++)
		if ((word->part[i].plain_reads[t] | word->part[i].plain_writes[t] |
		     word->part[i].atomic_reads[t] | word->part[i].atomic_writes[t]) != 0)
			return true;
	return false;
}

/* The thread whose argument's block contains p. */
static int owner_of(const char *p)
{
	int t;

	for (t = 1; t < MAX_THREADS; t++)
		if (has_block[t] && classes[t] >= 0 &&
		    (size_t)(p - (const char *)threads[t].argument) < threads[t].size)
			return t;
	return -1;
}

void symmetry_access(struct search *s, struct word *word, const char *p)
{
	int t = me(s), class = threads[t].watched, owner = owner_of(p), u;

	if (owner >= 0 && owner != t)
		tell_apart(s, classes[owner]);
	if (threads[t].passing || owner == t)
		return;
	if (class >= 0) {
		word->between = word->run;
		for (u = 0; u < MAX_THREADS; u++)
			if (classes[u] == class && accessed_by(word, u))
				tell_apart(s, class);
	}
	if (word->between == word->run)
		tell_apart(s, classes[t]);
}

/* Points. */

static bool precedes(struct search *s, int u, int t)
{
	return threads[t].point >= 0 && threads[u].point >= 0 &&
	       s->graph.events[t][threads[t].point].porf[u] > threads[u].point;
}

void symmetry_update(struct search *s)
{
	int t = me(s), class, u;

	if (threads[t].point >= 0)
		return;
	threads[t].point = s->self->position - 1;
	class = classes[t];
	for (u = t + 1; class >= 0 && u < MAX_THREADS; u++)
		while (classes[u] == class && precedes(s, u, t))
			search_pause(s, THREAD_OUT_OF_TURN);
}

/* The number of orders of a class's points that agree with program order and
 * reads-from. */
static double orders(struct search *s, const int *members, int n)
{
	static double ways[1 << MAX_THREADS];
	int set, i, j;

	ways[0] = 1;
	for (set = 1; set < 1 << n; set++) {
		ways[set] = 0;
		for (i = 0; i < n; i++) { /* the last member in the order */
			bool last = (set >> i & 1) != 0;

			for (j = 0; j < n && last; j++)
				last = j == i || (set >> j & 1) == 0 ||
				       !precedes(s, members[i], members[j]);
			if (last)
				ways[set] += ways[set & ~(1 << i)];
		}
	}
	return ways[(1 << n) - 1];
}

void symmetry_count(void *context, struct graph *g)
{
	struct search *s = current_search;
	int members[MAX_THREADS], n, t, class;
	double stands_for = 1;

	(void)context, (void)g;
	if (s->result->executions == 1) /* the search may have started again */
		all = 0;
	for (class = 0; symmetry_used && class < MAX_THREADS; class ++) {
		for (n = t = 0; t < MAX_THREADS; t++)
			if (classes[t] == class)
				members[n++] = t;
		if (n == 0)
			continue;
		stands_for /= orders(s, members, n);
		for (; n > 1; n--)
			stands_for *= n;
	}
	all += stands_for;
}

double symmetry_all(void)
{
	return all;
}
