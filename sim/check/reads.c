/* SPDX-License-Identifier: MIT */
/*
 * Scenarios of the records of who reads, src/sync/reads.c, which is compiled here as it
 * is, in place of the records that stand in for it elsewhere; and of src/sync/readers.c,
 * which looks through them. Part of the simulated world, like scenario.c. What the lock
 * guards is a plain word, as in rwlock.c.
 */
#include "outside.h"

#include <sim/runtime.h>

#include <pawl/atomic.h>

/* Beside those that stand in for it. */
#undef pawl_reads_first
#undef pawl_reads_at
#undef pawl_reads_exit
#define pawl_reads_first shipped_first
#define pawl_reads_at	 shipped_at
#define pawl_reads_exit	 shipped_exit

#include <sync/reads.c>

enum { NEVER = 1000 };

static struct room {
	struct pawl_rwlock l;
	uint64_t data;	  /* plain: guarded by the lock */
	uint64_t written; /* atomic: sections of writers that got in */
	uint64_t ready;	  /* atomic: the word is what it is to be */
	uint64_t left;	  /* atomic: somebody left a read behind */
} * room;

static uint64_t form;  /* what the word is at first */
static bool counted;   /* who leaves its read is counted */
static uint64_t keeps; /* how many records need not be given back */

static const struct sim_records shipped = {shipped_first, shipped_at, shipped_exit};

/* A new process. */
OUTSIDE static void forget_records(void)
{
	__builtin_memset(&table, 0, sizeof(table));
}

static void begin(uint64_t word)
{
	forget_records();
	sim_records = &shipped;
	room = explore_allocate(sizeof(*room), 128);
	explore_label(room, "room");
	form = word | PAWL_RWLOCK_WRITTEN;
	counted = false;
	keeps = 0;
	sim_rwlock_look = NEVER;
}

static void biased(void *argument)
{
	(void)argument;
	begin(PAWL_RWLOCK_BIASED | PAWL_RWLOCK_FENCED);
}

/* One record is not given back: somebody reads, or does not exit. */
static void biased_but_one(void *argument)
{
	biased(argument);
	keeps = 1;
}

static void gated_but_one(void *argument)
{
	(void)argument;
	begin(0);
	keeps = 1;
}

static void counted_but_one(void *argument)
{
	gated_but_one(argument);
	counted = true;
}

/* Memory is zero, so the first makes the lock what it is to be, and the record without
 * room. */
static void enter_room(int thread)
{
	int i;

	if (thread != 0) {
		sim_await(SIM_AWAIT_EQ, &room->ready, 1, 0, SIM_ACQUIRE);
		return;
	}
	for (i = 0; i < SLOTS; i++)
		sim_store(&no_room.slots[i].raw, PAWL_RWLOCK_GATED, SIM_RELAXED);
	sim_store(&room->l.word.raw, form, SIM_RELAXED);
	sim_store(&room->ready, 1, SIM_RELEASE);
}

static void look(void)
{
	if (room->data == NEVER)
		explore_fail(VERDICT_ASSERTION, "half a section was seen");
}

static void try_write(void)
{
	uint64_t before;

	if (!pawl_rwlock_write_trylock(&room->l))
		return;
	before = room->data;
	room->data = NEVER;
	room->data = before + 1;
	sim_fetch_add(&room->written, 1, SIM_RELAXED);
	pawl_rwlock_write_unlock(&room->l);
}

static void try_read(void)
{
	if (!pawl_rwlock_read_trylock(&room->l))
		return;
	look();
	pawl_rwlock_read_unlock(&room->l);
}

/* made: one that has never read does, and exits, while another writes. inherited: two do,
 * and the second may have the first one's record. */
static void made(void *argument, int thread)
{
	(void)argument;
	enter_room(thread);
	if (thread == 0) {
		try_write();
		return;
	}
	try_read();
	explore_exit();
}

/* kept: one exits while it reads, and unlocks later, as a destructor may. */
static void kept(void *argument, int thread)
{
	(void)argument;
	if (thread != 1) {
		made(argument, thread);
		return;
	}
	enter_room(thread);
	pawl_rwlock_read_lock(&room->l);
	pawl_thread_exit_(pawl_self());
	look();
	pawl_rwlock_read_unlock(&room->l);
}

/* late: one reads for the first time when it has exited: in no record of its own. */
static void late(void *argument, int thread)
{
	(void)argument;
	if (thread != 1) {
		made(argument, thread);
		return;
	}
	enter_room(thread);
	pawl_thread_exit_(pawl_self());
	try_read();
}

/* Reads, `times` at once, and leaves that to another thread to end. */
static void leave_reads(int times)
{
	int i;

	if (counted) {
		pawl_rwlock_write_lock(&room->l);
		pawl_rwlock_downgrade(&room->l);
	}
	for (i = counted ? 1 : 0; i < times; i++)
		pawl_rwlock_read_lock(&room->l);
	look();
	sim_store(&room->left, 1, SIM_RELEASE);
}

static void end_reads(int times)
{
	int i;

	sim_await(SIM_AWAIT_EQ, &room->left, 1, 0, SIM_ACQUIRE);
	if (pawl_rwlock_reads(&room->l))
		explore_fail(VERDICT_ASSERTION, "it does not read");
	for (i = 0; i < times; i++)
		if (!pawl_rwlock_end_other(&room->l))
			explore_fail(VERDICT_ASSERTION, "a read is not found");
	if (pawl_rwlock_end_other(&room->l))
		explore_fail(VERDICT_ASSERTION, "a read is found that is over");
}

static void end_others(int thread, int times)
{
	enter_room(thread);
	if (thread == 0)
		leave_reads(times);
	else if (thread == 1)
		end_reads(times);
	else
		try_write();
}

/* ended: one reads, another ends that, a third writes. */
static void ended(void *argument, int thread)
{
	(void)argument;
	end_others(thread, 1);
}

static void ended_twice(void *argument, int thread)
{
	(void)argument;
	end_others(thread, 2);
}

/* Nobody has the lock, and each record that was given back is free, once. */
static void finished(void *argument)
{
	uint64_t made_ever = explore_final(&table.made.raw), free = 0;
	const struct pawl_reads *r;
	uint64_t word = explore_final(&room->l.word.raw);

	(void)argument;
	if (word >= PAWL_RWLOCK_READER || (word & PAWL_RWLOCK_KEPT) != 0)
		explore_fail(VERDICT_ASSERTION, "in the end the word is %llu",
			     (unsigned long long)word);
	if (explore_final(&room->l.gate.word.raw) != 0)
		explore_fail(VERDICT_ASSERTION, "the gate stays shut");
	if (explore_final(&room->written) != room->data)
		explore_fail(VERDICT_ASSERTION, "a section was lost");
	for (r = table.free; r != NULL && free <= made_ever; r = r->free_next)
		free++;
	if (free > made_ever || free + keeps < made_ever)
		explore_fail(VERDICT_ASSERTION, "%llu of %llu records are free",
			     (unsigned long long)free, (unsigned long long)made_ever);
}

const struct lock_type reads_types[] = {
	{.name = "reads", .base = "reads", .header = "pawl/rwlock.h"},
	{.name = NULL},
};

const struct scenario reads_scenarios[] = {
	{"made", "one reads for the first time, and exits; another writes", 2, 2, 1, 1,
	 always, passes, biased, made, finished},
	{"inherited", "two do, and the second may have the first one's record", 3, 3, 1,
	 1, always, passes, biased, made, finished, .takes_minutes = true},
	{"kept", "one exits while it reads, and unlocks later", 2, 2, 1, 1, always,
	 passes, biased_but_one, kept, finished},
	{"late", "one reads for the first time after its exit", 2, 2, 1, 1, always,
	 passes, biased, late, finished},
	{"ended", "a thread ends another one's read, a third writes", 3, 3, 1, 1, always,
	 passes, biased_but_one, ended, finished},
	{"ended-gated", "the same of a read through the gate", 3, 3, 1, 1, always, passes,
	 gated_but_one, ended, finished},
	{"ended-counted", "the same of one that is counted", 3, 3, 1, 1, always, passes,
	 counted_but_one, ended, finished},
	{"ended-twice", "the same of one within another", 3, 3, 1, 1, always, passes,
	 biased_but_one, ended_twice, finished},
	{"ended-twice-gated", "the same through the gate", 3, 3, 1, 1, always, passes,
	 gated_but_one, ended_twice, finished},
	{.name = NULL},
};
