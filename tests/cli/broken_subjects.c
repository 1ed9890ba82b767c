/* SPDX-License-Identifier: MIT */
/* In place of bench/subjects.c, bench/monitors.c and bench/rwlocks.c: a lock that lets
 * everybody in, a sound one, one whose condition variable gives up before its time, and
 * one that keeps no reader out. */
#include "rwlock.h"
#include "subject.h"

#include <pawl/ticket.h>

#include <sched.h>

static void nothing(void *l)
{
	(void)l;
}

static void ticket_lock(void *l)
{
	pawl_ticket_lock(l);
}

static void ticket_unlock(void *l)
{
	pawl_ticket_unlock(l);
}

/* Waits that return for no reason, which is allowed, and need no signals. */
static void broken_wait(void *c, void *l)
{
	(void)c;
	(void)l;
	sched_yield();
}

static bool broken_wait_for(void *c, void *l, uint64_t ns)
{
	(void)ns;
	broken_wait(c, l);
	return true;
}

static void ticket_wait(void *c, void *l)
{
	(void)c;
	ticket_unlock(l);
	sched_yield();
	ticket_lock(l);
}

static bool ticket_wait_for(void *c, void *l, uint64_t ns)
{
	(void)ns;
	ticket_wait(c, l);
	return true;
}

static const struct bench_cond_type broken_cond = {.wait = broken_wait,
						   .wait_for = broken_wait_for,
						   .signal = nothing,
						   .broadcast = nothing};
static bool hasty_wait_for(void *c, void *l, uint64_t ns)
{
	ticket_wait_for(c, l, ns);
	return false;
}

static const struct bench_cond_type hasty_cond = {.wait = ticket_wait,
						  .wait_for = hasty_wait_for,
						  .signal = nothing,
						  .broadcast = nothing};
static const struct bench_cond_type ticket_cond = {.wait = ticket_wait,
						   .wait_for = ticket_wait_for,
						   .signal = nothing,
						   .broadcast = nothing};

DEFINE_SUBJECT_LOOPS(broken, nothing, nothing);
DEFINE_SUBJECT_LOOPS(ticket, ticket_lock, ticket_unlock);

static const struct bench_subject broken = {.name = "broken",
					    SUBJECT_LOOPS(broken),
					    .lock = nothing,
					    .unlock = nothing,
					    .cond = &broken_cond};
static const struct bench_subject ticket = {.name = "ticket",
					    SUBJECT_LOOPS(ticket),
					    .lock = ticket_lock,
					    .unlock = ticket_unlock,
					    .size = sizeof(struct pawl_ticket),
					    .cond = &ticket_cond};

static const struct bench_subject hasty = {.name = "hasty",
					   .lock = ticket_lock,
					   .unlock = ticket_unlock,
					   .size = sizeof(struct pawl_ticket),
					   .cond = &hasty_cond};

DEFINE_RWLOCK_LOOP(broken, nothing, nothing, nothing, nothing);
DEFINE_RWLOCK_LOOP(ticket, ticket_lock, ticket_unlock, ticket_lock, ticket_unlock);
DEFINE_RWLOCK_LOOP(open, nothing, nothing, ticket_lock, ticket_unlock);

static const struct bench_subject broken_rw = {.name = "broken", .loop = broken_rwlock};
static const struct bench_subject ticket_rw = {
	.name = "ticket", .loop = ticket_rwlock, .size = sizeof(struct pawl_ticket)};
static const struct bench_subject open_rw = {
	.name = "open", .loop = open_rwlock, .size = sizeof(struct pawl_ticket)};

const struct bench_subject *const bench_subjects[] = {&broken, &ticket, NULL};
const struct bench_subject *const bench_monitors[] = {&broken, &ticket, &hasty, NULL};
const struct bench_subject *const bench_rwlocks[] = {&broken_rw, &ticket_rw, &open_rw,
						     NULL};
