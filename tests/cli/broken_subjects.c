/* SPDX-License-Identifier: MIT */
/* In place of bench/subjects.c: a lock that lets everybody in, and a sound one. */
#include "subject.h"

#include <pawl/ticket.h>

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

DEFINE_SUBJECT_LOOPS(broken, nothing, nothing);
DEFINE_SUBJECT_LOOPS(ticket, ticket_lock, ticket_unlock);

static const struct bench_subject broken = {
	.name = "broken", SUBJECT_LOOPS(broken), .lock = nothing, .unlock = nothing};
static const struct bench_subject ticket = {.name = "ticket",
					    SUBJECT_LOOPS(ticket),
					    .lock = ticket_lock,
					    .unlock = ticket_unlock,
					    .size = sizeof(struct pawl_ticket)};

const struct bench_subject *const bench_subjects[] = {&broken, &ticket, NULL};
