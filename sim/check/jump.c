/* SPDX-License-Identifier: MIT */
/*
 * Jumps (longjmp) of a signal handler out of a wait, src/sync/jumps.c and what each lock does
 * then (`abandon`): thread 1 waits for a lock, and a handler may jump out of the wait before
 * any of its writes and sleeps, wherever no critical section forbids it. Afterwards its stack
 * is used for something else, so that whatever still points there is a race; the others get
 * the lock in the end.
 */
#include "results.h"
#include "room.h"

#include <src/sync/queues.h>

#include <pawl/mutex.h>
#include <pawl/runtime.h>

#include <setjmp.h>
#include <string.h>

enum { VICTIM = 1 };

enum { SAW_JUMP, SAW_LOCKED };
static const char *const sight_names[] = {
	[SAW_JUMP] = "a handler jumps out of the wait",
	[SAW_LOCKED] = "the victim gets the lock",
};

static jmp_buf landing;
static bool armed;
static bool only_queued; /* a reader that gets in without queueing keeps the lock */
static int critical;	 /* sections that the victim is in */

OUTSIDE static bool is_left(const void *frame, const void *target)
{
	(void)frame, (void)target;
	return true;
}

OUTSIDE static void count_critical(int change)
{
	if (explore_thread() == VICTIM)
		critical += change;
}

OUTSIDE static void perhaps_jump(void)
{
	if (!armed || explore_thread() != VICTIM || critical != 0 ||
	    !pawl_jump_matters() ||
	    (only_queued && pawl_self()->asleep->address == NULL) || !sim_one_in(2))
		return;
	armed = false;
	see(SAW_JUMP);
	pawl_jump_leaves(is_left, NULL);
	_longjmp(landing, 1);
}

OUTSIDE static void arm_for(uint64_t word)
{
	make_room(word);
	sim_before_step = perhaps_jump;
	sim_critical = count_critical;
	armed = only_queued = false;
	critical = 0;
	seen = 0;
}

/* What comes after the jump uses the stack of the wait. */
static __attribute__((noinline)) void use_stack(void)
{
	volatile uint64_t frame[64];
	size_t i;

	for (i = 0; i < sizeof(frame) / sizeof(frame[0]); i++)
		frame[i] = i;
}

/* Whether the victim came through, and not by a jump. */
#define COMES_THROUGH(call) \
	(_setjmp(landing) == 0 ? (armed = true, (call), armed = false, true) : false)

/* mutex: one holds it, and the other is the victim. */
static void set_up_mutex(void *argument)
{
	(void)argument;
	arm_for(0);
}

static void visit(void)
{
	room->data++;
	pawl_mutex_unlock(&room->l.gate);
}

static void mutex_thread(void *argument, int thread)
{
	struct pawl_mutex *m = &room->l.gate;

	(void)argument;
	if (thread != VICTIM) {
		pawl_mutex_lock(m);
		visit();
	} else if (COMES_THROUGH(pawl_mutex_lock(m))) {
		see(SAW_LOCKED);
		visit();
	} else {
		use_stack();
		/* The handler came when this thread had just taken it. Relaxed: no other
		 * thread stores this value. */
		if (pawl_load_relaxed(&m->word) == pawl_mutex_me_())
			visit();
	}
}

static void mutex_finished(void *argument)
{
	(void)argument;
	if (explore_final(&room->l.gate.word.raw) != 0)
		explore_fail(VERDICT_ASSERTION, "the mutex stays locked");
	scenario_saw(seen);
}

/* read: a writer is inside, and the victim wants to read; write: a reader is, and it wants
 * to write; write-gate: another writer is. */
static void set_up_rwlock(void *argument)
{
	(void)argument;
	arm_for(0);
}

static void set_up_read(void *argument)
{
	(void)argument;
	arm_for(0);
	only_queued = true;
}

static void set_up_biased(void *argument)
{
	(void)argument;
	arm_for(FORMS);
}

static void victim_reads(void)
{
	if (COMES_THROUGH(pawl_rwlock_read_lock(&room->l))) {
		see(SAW_LOCKED);
		look();
		pawl_rwlock_read_unlock(&room->l);
	} else {
		use_stack();
	}
}

static void victim_writes(void)
{
	if (COMES_THROUGH(pawl_rwlock_write_lock(&room->l))) {
		see(SAW_LOCKED);
		change();
		pawl_rwlock_write_unlock(&room->l);
	} else {
		use_stack();
	}
}

static void begin(int thread)
{
	sim_give_reads(thread);
	open_room(thread);
}

static void read_thread(void *argument, int thread)
{
	(void)argument;
	begin(thread);
	if (thread == VICTIM)
		victim_reads();
	else
		write_once();
}

static void write_thread(void *argument, int thread)
{
	(void)argument;
	begin(thread);
	if (thread == VICTIM)
		victim_writes();
	else
		read_once();
}

static void write_gate_thread(void *argument, int thread)
{
	(void)argument;
	begin(thread);
	if (thread == VICTIM)
		victim_writes();
	else
		write_once();
}

static void rwlock_finished(void *argument)
{
	(void)argument;
	close_room();
	scenario_saw(seen);
}

const struct lock_type jump_types[] = {
	{.name = "jump", .base = "jump", .header = "pawl/mutex.h"},
	{.name = NULL},
};

const struct scenario jump_scenarios[] = {
	TWO("mutex", "out of a wait for a mutex", set_up_mutex, mutex_thread,
	    mutex_finished, SIGHT(JUMP) | SIGHT(LOCKED)),
	TWO("read", "out of a wait for a writer", set_up_read, read_thread,
	    rwlock_finished, SIGHT(JUMP) | SIGHT(LOCKED)),
	TWO("write", "out of a wait for a reader", set_up_biased, write_thread,
	    rwlock_finished, SIGHT(JUMP) | SIGHT(LOCKED)),
	TWO("write-gate", "out of a wait for a writer, to write", set_up_rwlock,
	    write_gate_thread, rwlock_finished, SIGHT(JUMP) | SIGHT(LOCKED)),
	{.name = NULL},
};
