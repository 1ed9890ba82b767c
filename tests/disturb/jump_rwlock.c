/* SPDX-License-Identifier: MIT */
/*
 * A signal's handler that jumps out of pthread_rwlock_timedrdlock or timedwrlock, wherever
 * that is: who waits before or behind comes through all the same. The lock is held
 * throughout, so that the victim never gets it.
 */
#include "stage.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <string.h>

enum { LONG_NS = 400 * 1000 * 1000, MANY_READS = 200 };

static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static sigjmp_buf way_out;
static volatile bool armed; /* the victim is inside */

/* Where the interposer's lock has its form, and its gate. */
static uint64_t word(size_t at)
{
	uint64_t words[4];

	memcpy(words, (const void *)&l, sizeof(words));
	return words[at];
}

static bool has_form(void)
{
	return (word(0) & 3) != 0;
}

static bool is_gate_taken(void)
{
	return word(2) != 0;
}

static bool has_queue_at_gate(void)
{
	return (uint32_t)word(3) != 0;
}

static bool has_line(void)
{
	return (word(0) & 16) != 0;
}

/* The service. */

static void hold(void)
{
	pthread_rwlock_wrlock(&l);
}

/* Reads, so that the lock has a form: a writer finds the gate free, and waits. */
static void hold_to_read(void)
{
	int i;

	for (i = 0; i < MANY_READS && !has_form(); i++) {
		pthread_rwlock_rdlock(&l);
		pthread_rwlock_unlock(&l);
	}
	stage_demand(has_form(), "it has no form");
	pthread_rwlock_rdlock(&l);
	stage_demand(!is_gate_taken(), "it has the gate");
}

static void let_go(void)
{
	pthread_rwlock_unlock(&l);
}

/* The victims. */

static void jump(void)
{
	if (!armed)
		return;
	armed = false;
	atomic_fetch_add(&page->handled, 1);
	siglongjmp(way_out, 1);
}

static void lock_or_jump(int (*lock)(pthread_rwlock_t *, const struct timespec *))
{
	const struct timespec time = stage_in(CLOCK_REALTIME, LONG_NS);

	if (sigsetjmp(way_out, 1) != 0)
		return;
	armed = true;
	stage_demand(lock(&l, &time) == ETIMEDOUT, "it was held");
	armed = false;
}

static void read_or_jump(void)
{
	lock_or_jump(pthread_rwlock_timedrdlock);
}

static void write_or_jump(void)
{
	lock_or_jump(pthread_rwlock_timedwrlock);
}

/* Other frames come where the wait's were. */
static __attribute__((noinline)) void overwrite(void)
{
	volatile char room[4096];

	memset((void *)(uintptr_t)room, 0x5a, sizeof(room));
}

/* The partners. */

static void write_once(void)
{
	pthread_rwlock_wrlock(&l);
	stage_section();
	pthread_rwlock_unlock(&l);
}

static void read_once(void)
{
	pthread_rwlock_rdlock(&l);
	pthread_rwlock_unlock(&l);
}

static void write_first(void)
{
	stage_placed();
	write_once();
}

static void await(bool (*come)(void))
{
	stage_placed();
	while (!come() && !stage_is_over())
		stage_nap();
}

static void read_behind_reader(void)
{
	await(has_line);
	read_once();
}

static void write_behind_writer(void)
{
	await(has_queue_at_gate);
	write_once();
}

static void write_behind_drain(void)
{
	await(is_gate_taken);
	write_once();
}

static void read_behind_drain(void)
{
	await(is_gate_taken);
	read_once();
}

static void check(void)
{
	stage_demand(pthread_rwlock_trywrlock(&l) == 0, "the lock stays locked");
	pthread_rwlock_unlock(&l);
}

#define PLAY                                                                   \
	.kinds = 1 << SIGNAL, .late = true, .handler = jump, .let_go = let_go, \
	.after = overwrite, .check = check
#define READ  PLAY, .hold = hold, .victim = read_or_jump
#define WRITE PLAY, .hold = hold, .victim = write_or_jump
#define DRAIN PLAY, .hold = hold_to_read, .victim = write_or_jump
#define WITH  .partners = 1, .partner

const struct scenario scenarios[] = {
	{.name = "read.alone", READ},
	{.name = "read.behind-writer", READ, WITH = write_first},
	{.name = "read.before-reader", READ, WITH = read_behind_reader},
	{.name = "write.alone", WRITE},
	{.name = "write.before-writer", WRITE, WITH = write_behind_writer},
	{.name = "drain.alone", DRAIN},
	{.name = "drain.before-writer", DRAIN, WITH = write_behind_drain},
	{.name = "drain.before-reader", DRAIN, WITH = read_behind_drain},
	{.name = NULL},
};
