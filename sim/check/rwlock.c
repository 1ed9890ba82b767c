/* SPDX-License-Identifier: MIT */
/*
 * Scenarios of pawl/rwlock.h. Part of the simulated world, like scenario.c. Long: the table of
 * scenarios, and the few lines that each of them runs.
 */
#include "room.h"

#include "../../src/sync/reads.h"
#include "../../src/sync/rwlocks.h"

static const struct timespec later = {.tv_sec = 1};

static bool full;	/* records have no room */
static uint64_t credit; /* what readers have, so that writers give back what they take */

static void begin(uint64_t word)
{
	make_room(word);
	full = false;
	credit = 0;
}

/* Each thread begins so. */
static void enter_room(int thread)
{
	int i;

	sim_give_reads(thread);
	for (i = 0; full && i < 1 << PAWL_READS_BITS; i++)
		/* As in a record without room. */
		sim_store(&pawl_self()->reads->slots[i].raw, PAWL_RWLOCK_GATED,
			  SIM_RELAXED);
	if (thread == 0)
		sim_store(&room->l.barred.raw, credit, SIM_RELAXED);
	open_room(thread);
}

static void biased(void *argument)
{
	(void)argument;
	begin(FORMS);
}

static void fenced(void *argument)
{
	(void)argument;
	begin(PAWL_RWLOCK_FENCED);
}

static void kept(void *argument)
{
	fenced(argument);
	credit = 1;
}

/* One look makes it biased, and who writes gives back what it was. */
static void about_to_be(void *argument)
{
	kept(argument);
	sim_rwlock_look = 1;
}

static void gated(void *argument)
{
	(void)argument;
	begin(0);
}

/* The third thread has a real-time priority. */
OUTSIDE static unsigned third_is_urgent(void)
{
	return explore_thread() == 2 ? 1 : 0;
}

OUTSIDE static void urgent(void *argument)
{
	gated(argument);
	sim_priority = third_is_urgent;
}

/* Records are full, so that readers are counted. */
static void counted(void *argument)
{
	(void)argument;
	begin(0);
	full = true;
}

/* One of which readers make more at once. */
static void growing(void *argument)
{
	(void)argument;
	begin(0);
	form = 0;
	sim_rwlock_look = 1;
}

/* What a thread does. */

static void try_read_twice(void)
{
	try_read();
	try_read();
}

static void read_in_time(void)
{
	if (pawl_rwlock_read_timedlock(&room->l, CLOCK_MONOTONIC, &later) != 0)
		return;
	look();
	pawl_rwlock_read_unlock(&room->l);
}

static void write_in_time(void)
{
	if (pawl_rwlock_write_timedlock(&room->l, CLOCK_MONOTONIC, &later) != 0)
		return;
	change();
	pawl_rwlock_write_unlock(&room->l);
}

static void read_and_exit(void)
{
	read_once();
	explore_exit();
}

/* What it wrote is what it reads. */
static void write_and_read(void)
{
	uint64_t mine;

	pawl_rwlock_write_lock(&room->l);
	change();
	mine = room->data;
	pawl_rwlock_downgrade(&room->l);
	if (room->data != mine)
		explore_fail(VERDICT_ASSERTION,
			     "somebody wrote between writing and reading");
	pawl_rwlock_read_unlock(&room->l);
}

/* Once a writer may be waiting for it. */
static void read_within(void)
{
	pawl_rwlock_read_lock(&room->l);
	sim_store(&room->asked, 1, SIM_RELEASE);
	if (!pawl_rwlock_read_trylock(&room->l))
		explore_fail(VERDICT_ASSERTION, "a reader is not let in again");
	pawl_rwlock_read_unlock(&room->l);
	look();
	pawl_rwlock_read_unlock(&room->l);
}

static void write_later(void)
{
	sim_await(SIM_AWAIT_EQ, &room->asked, 1, 0, SIM_ACQUIRE);
	write_once();
}

/* Reads until another thread has read, too. */
static void read_until_joined(void)
{
	pawl_rwlock_read_lock(&room->l);
	sim_store(&room->asked, 1, SIM_RELEASE);
	sim_await(SIM_AWAIT_EQ, &room->asked, 2, 0, SIM_ACQUIRE);
	pawl_rwlock_read_unlock(&room->l);
}

static void write_in_time_later(void)
{
	sim_await(SIM_AWAIT_NE, &room->asked, 0, 0, SIM_ACQUIRE);
	write_in_time();
}

/* Readers pass it while it waits. */
static void write_yielding(void)
{
	bool has_gate = pawl_rwlock_take_gate_(&room->l);

	/* As pawl_rwlock_write_lock. */
	if (!has_gate || !pawl_rwlock_is_quiet_(pawl_load_seq_cst(&room->l.word)))
		(void)pawl_rwlock_yield_write(&room->l, has_gate, NULL);
	change();
	pawl_rwlock_write_unlock(&room->l);
}

static void write_yielding_later(void)
{
	sim_await(SIM_AWAIT_NE, &room->asked, 0, 0, SIM_ACQUIRE);
	write_yielding();
}

static void read_preferred(void)
{
	(void)pawl_rwlock_read_first(&room->l, NULL, NULL);
	look();
	pawl_rwlock_read_unlock(&room->l);
}

static void pass_writer(void)
{
	sim_await(SIM_AWAIT_NE, &room->asked, 0, 0, SIM_ACQUIRE);
	read_preferred();
	sim_store(&room->asked, 2, SIM_RELEASE);
}

/* Twice: the writer may wait for the first read, and be passed by the second. */
static void try_past_writer(void)
{
	int i;

	for (i = 0; i < 2; i++)
		if (pawl_rwlock_read_past(&room->l)) {
			look();
			pawl_rwlock_read_unlock(&room->l);
		}
}

static void join_readers(void)
{
	sim_await(SIM_AWAIT_NE, &room->asked, 0, 0, SIM_ACQUIRE);
	read_once();
	sim_store(&room->asked, 2, SIM_RELEASE);
}

/* Counts the tries to read that failed. */
static void try_read_and_count(void)
{
	if (!pawl_rwlock_read_trylock(&room->l)) {
		sim_fetch_add(&room->asked, 1, SIM_RELAXED);
		return;
	}
	look();
	pawl_rwlock_read_unlock(&room->l);
}

/* One that is read in the slot where the first one is announced. */
static struct pawl_rwlock *neighbour(void)
{
	struct pawl_rwlock *other = room->others;

	while (pawl_rwlock_home_(other) != pawl_rwlock_home_(&room->l))
		other++;
	return other;
}

static void try_read_both(void)
{
	try_read();
	if (pawl_rwlock_read_trylock(neighbour()))
		pawl_rwlock_read_unlock(neighbour());
}

/* The other one twice at once: the second read takes the slot. */
static void try_read_other_twice(void)
{
	try_read();
	if (!pawl_rwlock_read_trylock(neighbour()))
		return;
	if (!pawl_rwlock_read_trylock(neighbour()))
		explore_fail(VERDICT_ASSERTION, "a reader is not let in again");
	pawl_rwlock_read_unlock(neighbour());
	pawl_rwlock_read_unlock(neighbour());
}

/* Has it from the start, and then reads. */
static void let_write(void)
{
	pawl_rwlock_write_lock(&room->l);
	change();
	sim_store(&room->asked, 1, SIM_RELEASE);
	pawl_rwlock_write_unlock(&room->l);
	try_read();
}

/* One after the other, told so by a word that orders nothing else. */
static void when_it_is(uint64_t turn, void (*part)(void))
{
	sim_await(SIM_AWAIT_EQ, &room->asked, turn, 0, SIM_RELAXED);
	part();
	sim_store(&room->asked, turn + 1, SIM_RELAXED);
}

static void write_first(void)
{
	when_it_is(0, try_write);
}

/* The first look finds that it was written, the second that it was not since. */
static void read_twice_then(void)
{
	when_it_is(1, try_read_twice);
}

static void read_last(void)
{
	when_it_is(2, try_read);
}

/* The threads of a scenario. */

static void act(int thread, void (*first)(void), void (*second)(void),
		void (*third)(void))
{
	void (*const parts[])(void) = {first, second, third};

	enter_room(thread);
	parts[thread]();
}

static void one_writes(void *argument, int thread)
{
	(void)argument;
	act(thread, write_once, read_once, read_once);
}

static void two_write(void *argument, int thread)
{
	(void)argument;
	act(thread, write_once, write_once, read_once);
}

static void take_turns(void *argument, int thread)
{
	(void)argument;
	act(thread, let_write, write_later, NULL);
}

static void becomes_fenced(void *argument, int thread)
{
	(void)argument;
	act(thread, write_first, read_twice_then, read_last);
}

static void is_given(void *argument, int thread)
{
	(void)argument;
	act(thread, try_write, try_read, try_read);
}

static void reuses(void *argument, int thread)
{
	(void)argument;
	if (thread == 0)
		sim_store(&neighbour()->word.raw, form, SIM_RELAXED);
	act(thread, try_write, try_read_both, NULL);
}

static void reuses_nested(void *argument, int thread)
{
	(void)argument;
	if (thread == 0)
		sim_store(&neighbour()->word.raw, form, SIM_RELAXED);
	act(thread, try_write, try_read_other_twice, NULL);
}

static void reuses_gated(void *argument, int thread)
{
	(void)argument;
	act(thread, try_write, try_read_other_twice, NULL);
}

static void comes_back(void *argument, int thread)
{
	(void)argument;
	act(thread, try_write, try_read_twice, NULL);
}

static void recursive(void *argument, int thread)
{
	(void)argument;
	act(thread, write_later, read_within, NULL);
}

static void writer_gives_up(void *argument, int thread)
{
	(void)argument;
	act(thread, write_in_time, read_once, write_once);
}

static void writer_leaves(void *argument, int thread)
{
	(void)argument;
	act(thread, read_until_joined, write_in_time_later, join_readers);
}

static void writer_is_passed(void *argument, int thread)
{
	(void)argument;
	act(thread, read_until_joined, write_yielding_later, pass_writer);
}

static void writer_yields(void *argument, int thread)
{
	(void)argument;
	act(thread, write_yielding, read_preferred, NULL);
}

static void writer_is_tried(void *argument, int thread)
{
	(void)argument;
	act(thread, write_yielding, try_past_writer, NULL);
}

static void reader_gives_up(void *argument, int thread)
{
	(void)argument;
	act(thread, write_once, read_in_time, read_once);
}

/* Nobody waits, so that three threads come to an end. */
static void one_tries_to_write(void *argument, int thread)
{
	(void)argument;
	act(thread, try_write, try_read_and_count, try_read_and_count);
}

static void two_try_to_write(void *argument, int thread)
{
	(void)argument;
	act(thread, try_write, try_write, try_read);
}

static void exits(void *argument, int thread)
{
	(void)argument;
	act(thread, write_once, read_and_exit, NULL);
}

static void downgrades(void *argument, int thread)
{
	(void)argument;
	act(thread, write_and_read, write_once, read_once);
}

static void finished(void *argument)
{
	(void)argument;
	close_room();
}

/* Only a writer that got in turns a reader away. */
static void turned_away(void *argument)
{
	if (explore_final(&room->asked) != 0 && explore_final(&room->written) == 0)
		explore_fail(VERDICT_ASSERTION, "a reader failed, and nobody wrote");
	finished(argument);
}

/* Where there is no heavy fence, there is no bias. */
static void never_biased(void *argument)
{
	if ((explore_final(&room->l.word.raw) & PAWL_RWLOCK_BIASED) != 0)
		explore_fail(VERDICT_ASSERTION, "biased, and no fence to end that");
	finished(argument);
}

/* freed: a writer frees the lock as soon as the reader ahead of it is out; or, freed-writer,
 * another writer. */
static void reader_is_freed(void *argument, int thread)
{
	(void)argument;
	enter_room(thread);
	if (thread == 0) {
		pawl_rwlock_read_lock(&room->l);
		sim_store(&room->asked, 1, SIM_RELEASE);
		look();
		pawl_rwlock_read_unlock(&room->l);
		return;
	}
	sim_await(SIM_AWAIT_EQ, &room->asked, 1, 0, SIM_ACQUIRE);
	pawl_rwlock_write_lock(&room->l);
	change();
	pawl_rwlock_write_unlock(&room->l);
	explore_free(room);
}

static void writer_is_freed(void *argument, int thread)
{
	(void)argument;
	enter_room(thread);
	pawl_rwlock_write_lock(&room->l);
	change();
	if (room->data == 2) {
		pawl_rwlock_write_unlock(&room->l);
		explore_free(room);
	} else {
		pawl_rwlock_write_unlock(&room->l);
	}
}

const struct lock_type rwlock_types[] = {
	{.name = "rwlock", .base = "rwlock", .header = "pawl/rwlock.h"},
	{.name = NULL},
};

const struct scenario rwlock_scenarios[] = {
	{"biased", "the bias is withdrawn while readers announce", 3, 3, 1, 1, always,
	 passes, biased, one_tries_to_write, turned_away, 0, false, false},
	{"fenced", "the same with readers that pass a fence", 3, 3, 1, 1, always, passes,
	 fenced, one_tries_to_write, turned_away, 0, false, false},
	{"kept", "the same, and the writer gives the form back", 3, 3, 1, 1, always,
	 passes, kept, one_tries_to_write, turned_away, 0, false, false,
	 .takes_seconds = true},
	{"gated", "the same with readers that take the gate, or join who has it", 3, 3, 1,
	 1, always, passes, gated, one_tries_to_write, turned_away, 0, false, false},
	{"counted", "the same with readers that are counted", 3, 3, 1, 1, always, passes,
	 counted, one_tries_to_write, turned_away, 0, false, false},
	{"growing", "readers make the lock fenced and biased meanwhile", 3, 3, 1, 1,
	 always, passes, growing, one_tries_to_write, turned_away, 0, false, false,
	 .takes_minutes = true},
	{"tries", "two writers and a reader", 3, 3, 1, 1, always, passes, biased,
	 two_try_to_write, finished, 0, false, false},
	{"biased-waits", "a writer waits for a reader, or the other way round", 2, 2, 1,
	 1, always, passes, biased, one_writes, finished, 0, false, false},
	{"fenced-waits", "the same with a reader that passes a fence", 2, 2, 1, 1, always,
	 passes, fenced, one_writes, finished, 0, false, false},
	{"kept-waits", "the same, and the writer gives the form back", 2, 2, 1, 1, always,
	 passes, kept, one_writes, finished, 0, false, false},
	{"gated-waits", "the same with a reader that takes the gate", 2, 2, 1, 1, always,
	 passes, gated, one_writes, finished, 0, false, false},
	{"counted-waits", "the same with a reader that is counted", 2, 2, 1, 1, always,
	 passes, counted, one_writes, finished, 0, false, false},
	{"comes-back", "a reader makes the lock fenced, and comes back", 2, 2, 1, 1,
	 always, passes, growing, comes_back, finished, 0, false, false},
	{"writers", "two writers withdraw the same bias", 2, 2, 1, 1, always, passes,
	 biased, two_write, finished, 0, false, false},
	{"turns", "a writer waits for the gate, whose holder then reads", 2, 2, 1, 1,
	 always, passes, counted, take_turns, finished, 0, false, false},
	{"in-turn", "a reader makes a lock fenced that was written, then another reads",
	 3, 3, 1, 1, always, passes, growing, becomes_fenced, finished, 0, false, false},
	{"given", "a reader makes a fenced lock biased, another finds it so", 3, 3, 1, 1,
	 always, passes, about_to_be, is_given, finished, 0, false, false},
	{"reused", "two locks are read in one slot, one is written", 2, 2, 1, 1, always,
	 passes, biased, reuses, finished, 0, false, false},
	{"reused-nested", "the same, the other twice", 2, 2, 1, 1, always, passes, biased,
	 reuses_nested, finished, 0, false, false},
	{"reused-gated", "the same, the other through its gate, twice", 2, 2, 1, 1,
	 always, passes, biased, reuses_gated, finished, 0, false, false},
	{"again", "a reader comes back to a bias that may be withdrawn", 2, 2, 1, 1,
	 always, passes, biased, comes_back, finished, 0, false, false},
	{"recursive", "one reads within its read while another writes", 2, 2, 1, 1,
	 always, passes, biased, recursive, finished, 0, false, false},
	{"recursive-gated", "the same, through the gate", 2, 2, 1, 1, always, passes,
	 gated, recursive, finished, 0, false, false},
	{"recursive-counted", "the same, counted", 2, 2, 1, 1, always, passes, counted,
	 recursive, finished, 0, false, false},
	{"writer-timed", "a writer that may give up, a reader", 2, 2, 1, 1, always,
	 passes, biased, writer_gives_up, finished, 0, false, false},
	{"gated-timed", "the same, through the gate", 2, 2, 1, 1, always, passes, gated,
	 writer_gives_up, finished, 0, false, false},
	{"counted-timed", "the same, counted", 2, 2, 1, 1, always, passes, counted,
	 writer_gives_up, finished, 0, false, false},
	{"writer-leaves", "a writer gives up, and a reader behind it joins one inside", 3,
	 3, 1, 1, always, passes, gated, writer_leaves, finished, 0, false, false},
	{"gated-passed", "the same, and the writer does not give up", 3, 3, 1, 1, always,
	 passes, gated, writer_is_passed, finished, 0, false, false},
	{"urgent-passed", "the same, and the reader behind it has a priority", 3, 3, 1, 1,
	 always, passes, urgent, writer_is_passed, finished, 0, false, false},
	{"counted-passed", "the same, counted", 3, 3, 1, 1, always, passes, counted,
	 writer_is_passed, finished, .takes_hours = true},
	{"gated-yields", "a writer lets readers pass, one reads", 2, 2, 1, 1, always,
	 passes, gated, writer_yields, finished, 0, false, false},
	{"counted-yields", "the same, counted", 2, 2, 1, 1, always, passes, counted,
	 writer_yields, finished, .sleep_sees = true, .takes_minutes = true},
	{"fenced-yields", "the same, fenced", 2, 2, 1, 1, always, passes, fenced,
	 writer_yields, finished, .sleep_sees = true, .takes_minutes = true},
	{"counted-try-past", "a writer lets a try to read pass", 2, 2, 1, 1, always,
	 passes, counted, writer_is_tried, finished, .sleep_sees = true,
	 .takes_seconds = true},
	{"fenced-try-past", "the same, fenced", 2, 2, 1, 1, always, passes, fenced,
	 writer_is_tried, finished, .sleep_sees = true, .takes_minutes = true},
	{"reader-timed", "a reader that may give up, a writer", 2, 2, 1, 1, always,
	 passes, gated, reader_gives_up, finished, 0, false, false},
	{"exit", "a reader goes away after its unlock", 2, 2, 1, 1, always, passes,
	 biased, exits, finished, 0, false, false},
	{"freed", "a writer frees the lock after a reader's unlock", 2, 2, 1, 1, always,
	 passes, biased, reader_is_freed, NULL, 0, false, false},
	{"freed-gated", "the same, through the gate", 2, 2, 1, 1, always, passes, gated,
	 reader_is_freed, NULL, 0, false, false},
	{"freed-counted", "the same, counted", 2, 2, 1, 1, always, passes, counted,
	 reader_is_freed, NULL, 0, false, false},
	{"freed-writer", "the second of two writers frees the lock", 2, 2, 1, 1, always,
	 passes, gated, writer_is_freed, NULL, 0, false, false},
	{"downgrade", "a writer goes on as a reader, another writes", 2, 2, 1, 1, always,
	 passes, biased, downgrades, finished, 0, false, false},
	{"refused", "without membarrier", 2, 2, 1, 1, always, passes, growing, one_writes,
	 never_biased, 0, true, false, .takes_minutes = true},
	{"refused-growing", "the same, and a reader comes back", 2, 2, 1, 1, always,
	 passes, growing, comes_back, never_biased, 0, true, false},
	{.name = NULL},
};
