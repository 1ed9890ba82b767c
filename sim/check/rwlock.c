/* SPDX-License-Identifier: MIT */
/*
 * Scenarios of pawl/rwlock.h. Part of the simulated world, like scenario.c. What the
 * lock guards is a plain word: a reader and a writer inside at once, or a writer whose
 * section a later one does not see, is a data race.
 */
#include "outside.h"

#include <sim/runtime.h>

#include "../../src/sync/reads.h"

enum { NEVER = 1000, RECORDS = PAWL_RWLOCK_BIASED | PAWL_RWLOCK_FENCED };

static const struct timespec later = {.tv_sec = 1};

static struct room {
	struct pawl_rwlock l;
	uint64_t data;	  /* plain: guarded by the lock */
	uint64_t written; /* atomic: sections of writers that got in */
	uint64_t ready;	  /* atomic: the word is what it is to be */
	struct pawl_rwlock others[8];
} * room;

static uint64_t form; /* what the word is at first */

static void begin(uint64_t word)
{
	room = explore_allocate(sizeof(*room), 128);
	explore_label(room, "room");
	form = word;
	sim_rwlock_fenced_after = sim_rwlock_biased_after = NEVER;
}

/* Each thread begins so: memory is zero, so the first makes the lock what it is to be,
 * and the others wait for that. */
static void enter_room(int thread)
{
	sim_give_reads(thread);
	if (thread != 0) {
		sim_await(SIM_AWAIT_EQ, &room->ready, 1, 0, SIM_ACQUIRE);
		return;
	}
	sim_store(&room->l.word.raw, form, SIM_RELAXED);
	sim_store(&room->ready, 1, SIM_RELEASE);
}

static void biased(void *argument)
{
	(void)argument;
	begin(RECORDS);
}

static void fenced(void *argument)
{
	(void)argument;
	begin(PAWL_RWLOCK_FENCED);
}

static void counted(void *argument)
{
	(void)argument;
	begin(0);
}

/* One of which readers make more at once. */
static void growing(void *argument)
{
	(void)argument;
	begin(0);
	sim_rwlock_fenced_after = sim_rwlock_biased_after = 1;
}

static void look(void)
{
	if (room->data == NEVER)
		explore_fail(VERDICT_ASSERTION, "half a section was seen");
}

static void change(void)
{
	uint64_t before = room->data;

	room->data = NEVER;
	room->data = before + 1;
	sim_fetch_add(&room->written, 1, SIM_RELAXED);
}

static void read_once(void)
{
	pawl_rwlock_read_lock(&room->l);
	look();
	pawl_rwlock_read_unlock(&room->l);
}

static void write_once(void)
{
	pawl_rwlock_write_lock(&room->l);
	change();
	pawl_rwlock_write_unlock(&room->l);
}

static void try_read(void)
{
	if (!pawl_rwlock_read_trylock(&room->l))
		return;
	look();
	pawl_rwlock_read_unlock(&room->l);
}

static void try_write(void)
{
	if (!pawl_rwlock_write_trylock(&room->l))
		return;
	change();
	pawl_rwlock_write_unlock(&room->l);
}

/* The first thread writes, the others read. */
static void one_writes(void *argument, int thread)
{
	(void)argument;
	enter_room(thread);
	if (thread == 0)
		write_once();
	else
		read_once();
}

/* Two write, the third reads. */
static void two_write(void *argument, int thread)
{
	(void)argument;
	enter_room(thread);
	if (thread < 2)
		write_once();
	else
		read_once();
}

/* One has it from the start, and then reads; the other waits for the gate. */
static void take_turns(void *argument, int thread)
{
	(void)argument;
	sim_give_reads(thread);
	if (thread == 1) {
		sim_await(SIM_AWAIT_EQ, &room->ready, 1, 0, SIM_ACQUIRE);
		write_once();
		return;
	}
	pawl_rwlock_write_lock(&room->l);
	change();
	sim_store(&room->ready, 1, SIM_RELEASE);
	pawl_rwlock_write_unlock(&room->l);
	try_read();
}

/* One tries to write, another reads until the lock is biased, a third finds it so. */
static void is_given(void *argument, int thread)
{
	(void)argument;
	enter_room(thread);
	if (thread == 0)
		try_write();
	else
		try_read();
	if (thread == 1)
		try_read();
}

/* One reads another lock in the slot that the first read was announced in. */
static void reuses(void *argument, int thread)
{
	struct pawl_rwlock *other = room->others;

	(void)argument;
	while (pawl_rwlock_home(other) != pawl_rwlock_home(&room->l))
		other++;
	sim_give_reads(thread);
	if (thread == 0) {
		sim_store(&other->word.raw, form, SIM_RELAXED);
		enter_room(thread);
		try_write();
		return;
	}
	enter_room(thread);
	try_read();
	if (pawl_rwlock_read_trylock(other))
		pawl_rwlock_read_unlock(other);
}

/* One tries to write, another reads twice. */
static void comes_back(void *argument, int thread)
{
	(void)argument;
	enter_room(thread);
	if (thread == 0) {
		try_write();
		return;
	}
	try_read();
	try_read();
}

/* One reads, and reads again once a writer may be waiting for it. */
static void recursive(void *argument, int thread)
{
	(void)argument;
	enter_room(thread);
	if (thread == 0) {
		sim_await(SIM_AWAIT_EQ, &room->ready, 2, 0, SIM_ACQUIRE);
		write_once();
		return;
	}
	pawl_rwlock_read_lock(&room->l);
	sim_store(&room->ready, 2, SIM_RELEASE);
	if (!pawl_rwlock_read_trylock(&room->l))
		explore_fail(VERDICT_ASSERTION, "a reader is not let in again");
	pawl_rwlock_read_unlock(&room->l);
	look();
	pawl_rwlock_read_unlock(&room->l);
}

/* The writer gives up, or gets in; then the reader's record must still count. */
static void writer_gives_up(void *argument, int thread)
{
	(void)argument;
	enter_room(thread);
	if (thread == 0) {
		if (pawl_rwlock_write_timedlock(&room->l, CLOCK_MONOTONIC, &later) != 0)
			return;
		change();
		pawl_rwlock_write_unlock(&room->l);
	} else if (thread == 1) {
		read_once();
	} else {
		write_once();
	}
}

static void reader_gives_up(void *argument, int thread)
{
	(void)argument;
	enter_room(thread);
	if (thread == 0) {
		write_once();
	} else if (thread == 1) {
		if (pawl_rwlock_read_timedlock(&room->l, CLOCK_MONOTONIC, &later) != 0)
			return;
		look();
		pawl_rwlock_read_unlock(&room->l);
	} else {
		read_once();
	}
}

/* Nobody waits, so that three threads come to an end. */
static void one_tries_to_write(void *argument, int thread)
{
	(void)argument;
	enter_room(thread);
	if (thread == 0)
		try_write();
	else
		try_read();
}

static void two_try_to_write(void *argument, int thread)
{
	(void)argument;
	enter_room(thread);
	if (thread < 2)
		try_write();
	else
		try_read();
}

/* One goes away after its read. */
static void exits(void *argument, int thread)
{
	(void)argument;
	enter_room(thread);
	if (thread == 0) {
		write_once();
		return;
	}
	read_once();
	explore_exit();
}

/* A writer goes on as a reader: what it wrote is what it reads. */
static void downgrades(void *argument, int thread)
{
	uint64_t mine;

	(void)argument;
	enter_room(thread);
	if (thread == 1) {
		write_once();
	} else if (thread == 2) {
		read_once();
	} else {
		pawl_rwlock_write_lock(&room->l);
		change();
		mine = room->data;
		pawl_rwlock_downgrade(&room->l);
		if (room->data != mine)
			explore_fail(VERDICT_ASSERTION,
				     "somebody wrote between writing and reading");
		pawl_rwlock_read_unlock(&room->l);
	}
}

/* Whoever had the lock, and waited for it, is gone. */
static void finished(void *argument)
{
	uint64_t word = explore_final(&room->l.word.raw);

	(void)argument;
	if ((word & ~(uint64_t)RECORDS) != 0)
		explore_fail(VERDICT_ASSERTION, "in the end the word is %llu",
			     (unsigned long long)word);
	if (explore_final(&room->l.gate.word.raw) != 0)
		explore_fail(VERDICT_ASSERTION, "the gate stays shut");
	if (explore_final(&room->written) != explore_final(&room->data))
		explore_fail(VERDICT_ASSERTION, "a section was lost");
}

/* Where there is no heavy fence, there is no bias. */
static void never_biased(void *argument)
{
	if ((explore_final(&room->l.word.raw) & PAWL_RWLOCK_BIASED) != 0)
		explore_fail(VERDICT_ASSERTION, "biased, and no fence to end that");
	finished(argument);
}

const struct lock_type rwlock_types[] = {
	{.name = "rwlock", .base = "rwlock", .header = "pawl/rwlock.h"},
	{.name = NULL},
};

const struct scenario rwlock_scenarios[] = {
	{"biased", "the bias is withdrawn while readers announce", 3, 3, 1, 1, always,
	 passes, biased, one_tries_to_write, finished, 0, false, false},
	{"fenced", "the same with readers that pass a fence", 3, 3, 1, 1, always, passes,
	 fenced, one_tries_to_write, finished, 0, false, false},
	{"counted", "the same with readers that are counted", 3, 3, 1, 1, always, passes,
	 counted, one_tries_to_write, finished, 0, false, false},
	{"growing", "readers make the lock fenced and biased meanwhile", 3, 3, 1, 1,
	 always, passes, growing, one_tries_to_write, finished, 0, false, false},
	{"tries", "two writers and a reader", 3, 3, 1, 1, always, passes, biased,
	 two_try_to_write, finished, 0, false, false},
	{"biased-waits", "a writer waits for a reader, or the other way round", 2, 2, 1,
	 1, always, passes, biased, one_writes, finished, 0, false, false},
	{"fenced-waits", "the same with a reader that passes a fence", 2, 2, 1, 1, always,
	 passes, fenced, one_writes, finished, 0, false, false},
	{"counted-waits", "the same with a reader that is counted", 2, 2, 1, 1, always,
	 passes, counted, one_writes, finished, 0, false, false},
	{"comes-back", "a reader makes the lock fenced, and comes back", 2, 2, 1, 1,
	 always, passes, growing, comes_back, finished, 0, false, false},
	{"writers", "two writers withdraw the same bias", 2, 2, 1, 1, always, passes,
	 biased, two_write, finished, 0, false, false},
	{"turns", "a writer waits for the gate, whose holder then reads", 2, 2, 1, 1,
	 always, passes, counted, take_turns, finished, 0, false, false},
	{"given", "a reader makes the lock biased, another finds it so", 3, 3, 1, 1,
	 always, passes, growing, is_given, finished, 0, false, false,
	 .takes_minutes = true},
	{"reused", "two locks are read in one slot, one is written", 2, 2, 1, 1, always,
	 passes, biased, reuses, finished, 0, false, false},
	{"recursive", "one reads within its read while another writes", 2, 2, 1, 1,
	 always, passes, biased, recursive, finished, 0, false, false,
	 .takes_minutes = true},
	{"recursive-counted", "the same, not biased", 2, 2, 1, 1, always, passes, counted,
	 recursive, finished, 0, false, false, .takes_minutes = true},
	{"writer-timed", "a writer that may give up, a reader", 2, 2, 1, 1, always,
	 passes, biased, writer_gives_up, finished, 0, false, false},
	{"counted-timed", "the same, not biased", 2, 2, 1, 1, always, passes, counted,
	 writer_gives_up, finished, 0, false, false},
	{"reader-timed", "a reader that may give up, a writer", 2, 2, 1, 1, always,
	 passes, counted, reader_gives_up, finished, 0, false, false},
	{"exit", "a reader goes away after its unlock", 2, 2, 1, 1, always, passes,
	 biased, exits, finished, 0, false, false},
	{"downgrade", "a writer goes on as a reader, another writes", 2, 2, 1, 1, always,
	 passes, biased, downgrades, finished, 0, false, false, .takes_minutes = true},
	{"refused", "without membarrier", 2, 2, 1, 1, always, passes, growing, one_writes,
	 never_biased, 0, true, false, .takes_minutes = true},
	{"refused-growing", "the same, and a reader comes back", 2, 2, 1, 1, always,
	 passes, growing, comes_back, never_biased, 0, true, false},
	{.name = NULL},
};
