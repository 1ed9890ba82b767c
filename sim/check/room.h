/* SPDX-License-Identifier: MIT */
/* Scenarios of pawl/rwlock.h: a room with such a lock. What that guards is a plain word: a
 * reader and a writer inside at once, or a writer whose section a later one does not see,
 * is a data race. */
#ifndef CHECK_ROOM_H
#define CHECK_ROOM_H

#include "outside.h"

#include <sim/runtime.h>

#include <pawl/rwlock.h>

enum { NEVER = 1000, FORMS = PAWL_RWLOCK_BIASED | PAWL_RWLOCK_FENCED };

static struct room {
	struct pawl_rwlock l;
	uint64_t data;	  /* plain: guarded by the lock */
	uint64_t written; /* atomic: sections of writers that got in */
	uint64_t ready;	  /* atomic: the word is what it is to be */
	uint64_t asked;	  /* atomic: somebody may come */
	struct pawl_rwlock others[8];
} * room;

static uint64_t form; /* what the word is at first */

static inline void make_room(uint64_t word)
{
	room = explore_allocate(sizeof(*room), 128);
	explore_label(room, "room");
	form = word | PAWL_RWLOCK_WRITTEN; /* which would have to be noted otherwise */
	sim_rwlock_look = NEVER;
}

/* Memory is zero, so the first makes the lock what it is to be, and the others wait for
 * that. */
static inline void open_room(int thread)
{
	if (thread != 0) {
		sim_await(SIM_AWAIT_EQ, &room->ready, 1, 0, SIM_ACQUIRE);
		return;
	}
	sim_store(&room->l.word.raw, form, SIM_RELAXED);
	sim_store(&room->ready, 1, SIM_RELEASE);
}

static inline void look(void)
{
	if (room->data == NEVER)
		explore_fail(VERDICT_ASSERTION, "half a section was seen");
}

static inline void change(void)
{
	uint64_t before = room->data;

	room->data = NEVER;
	room->data = before + 1;
	sim_fetch_add(&room->written, 1, SIM_RELAXED);
}

static inline void try_read(void)
{
	if (!pawl_rwlock_read_trylock(&room->l))
		return;
	look();
	pawl_rwlock_read_unlock(&room->l);
}

static inline void try_write(void)
{
	if (!pawl_rwlock_write_trylock(&room->l))
		return;
	change();
	pawl_rwlock_write_unlock(&room->l);
}

/* Whoever had the lock, and waited for it, is gone. */
static inline void close_room(void)
{
	uint64_t word = explore_final(&room->l.word.raw);

	if ((word & ~(uint64_t)(FORMS | PAWL_RWLOCK_WRITTEN)) != 0)
		explore_fail(VERDICT_ASSERTION, "in the end the word is %llu",
			     (unsigned long long)word);
	if (explore_final(&room->l.gate.word.raw) != 0)
		explore_fail(VERDICT_ASSERTION, "the gate stays shut");
	if (explore_final(&room->written) != explore_final(&room->data))
		explore_fail(VERDICT_ASSERTION, "a section was lost");
}

static inline void read_once(void)
{
	pawl_rwlock_read_lock(&room->l);
	look();
	pawl_rwlock_read_unlock(&room->l);
}

static inline void write_once(void)
{
	pawl_rwlock_write_lock(&room->l);
	change();
	pawl_rwlock_write_unlock(&room->l);
}

#endif /* CHECK_ROOM_H */
