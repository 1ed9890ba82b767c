/* SPDX-License-Identifier: MIT */
/*
 * The order in which locks are taken, if that is asked for: an edge for every two of
 * which one was held when the other was asked for, with the stack of the first time.
 * Relaxed throughout: as in preload/profile.h.
 */
#include "preload/profile.h"

enum { PROBES = 64 };

static uint64_t key_of(uint64_t first, uint64_t second)
{
	uint64_t key = (first * 0x9E3779B97F4A7C15u) ^ second;

	return key != 0 ? key : 1;
}

/* What else is held: if both ends of a cycle are only ever seen behind one lock, it
 * cannot close. */
static void note_gates(struct profile_edge *edge, const struct profile_thread *t,
		       uint64_t depth, uint64_t first)
{
	uint64_t i, gates = 0;

	for (i = 0; i < depth && gates < PROFILE_GATES; i++)
		if (i != first)
			profile_set(&edge->gates[gates++], profile_get(&t->held[i].lock));
}

static void describe(struct profile_edge *edge, const struct profile_thread *t,
		     uint64_t depth, uint64_t at, uint64_t second, const void *site)
{
	uint64_t first = profile_get(&t->held[at].lock);

	profile_set(&edge->second, second);
	profile_set(&edge->first_place, profile_place(first));
	profile_set(&edge->second_place, profile_place(second));
	profile_set(&edge->first_site, profile_place(profile_get(&t->held[at].site)));
	profile_set(&edge->thread, profile_get(&t->id));
	note_gates(edge, t, depth, at);
	profile_set(&edge->stack, profile_unwind(site, NULL));
	profile_set(&edge->first, first);
}

/* A gate that is not held this time is none. */
static void drop_gates(struct profile_edge *edge, const struct profile_thread *t,
		       uint64_t depth)
{
	uint64_t gate, held;

	for (gate = 0; gate < PROFILE_GATES; gate++) {
		for (held = 0; held < depth; held++)
			if (profile_get(&t->held[held].lock) ==
			    profile_get(&edge->gates[gate]))
				break;
		if (held == depth && profile_get(&edge->gates[gate]) != 0)
			profile_set(&edge->gates[gate], 0);
	}
}

static void note(const struct profile_thread *t, uint64_t depth, uint64_t at,
		 uint64_t second, const void *site)
{
	uint64_t key = key_of(profile_get(&t->held[at].lock), second), i;
	uint64_t hash = pawl_hash(key, 32);

	for (i = 0; i < PROBES; i++) {
		struct profile_edge *edge =
			&profile_file->edges[(hash + i) % PROFILE_EDGES];

		if (profile_get(&edge->key) == key) {
			if (profile_get(&edge->thread) != profile_get(&t->id) &&
			    profile_get(&edge->threads) == 0)
				profile_set(&edge->threads, 2);
			drop_gates(edge, t, depth);
			return;
		}
		if (profile_get(&edge->key) == 0 &&
		    pawl_cas_relaxed(&edge->key, 0, key)) {
			describe(edge, t, depth, at, second, site);
			return;
		}
	}
	profile_lose(PROFILE_LOST_EDGES);
}

void profile_order(const volatile void *lock, const void *site)
{
	const struct profile_thread *t = profile_mine;
	uint64_t depth = t != NULL ? profile_get(&t->depth) : 0, at;

	for (at = 0; at < depth && at < PROFILE_HELD; at++) {
		uint64_t first = profile_get(&t->held[at].lock);

		if (first != 0 && first != pawl_address(lock))
			note(t, depth, at, pawl_address(lock), site);
	}
}
