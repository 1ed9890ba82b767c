/* SPDX-License-Identifier: MIT */
/* What the threads of the scenarios in lease.c do that work by restartable sequences, and by
 * leases where one is cut short. */
#ifndef CHECK_LEASE_SEQUENCES_H
#define CHECK_LEASE_SEQUENCES_H

#include "lease_world.h"

/*
 * sequence: each CPU has a count, added to by sequences; who finds one cut short takes
 * the lease, and makes it everybody's again. Under a lease the count is what it
 * should be: no sequence has come in, and none is missing.
 */
static struct count *count_of(struct shared *s, int i)
{
	return (struct count *)(void *)s->counts + i;
}

static void look_at_count(struct shared *s, int i, uint64_t more)
{
	struct count *count = count_of(s, i);
	uint64_t seen;

	enter(s, i);
	seen = sim_load(&count->value, SIM_RELAXED);
	if (seen != s->sections[i])
		cores_fail(VERDICT_STALE, "thread %d finds a count of %llu, not %llu",
			   cores_thread(), (unsigned long long)seen,
			   (unsigned long long)s->sections[i]);
	if (more > 0) {
		sim_store(&count->value, seen + more, SIM_RELAXED);
		s->sections[i] = seen + more;
	}
	leave(s, i);
}

/* By a sequence, of whose shard nothing is known here but that one is right. */
static bool add_by_sequence(struct shared *s)
{
	int i;

	if (!pawl_sequence_add_(pawl_sequence_place_(), &s->counts, 1))
		return false;
	i = cores_core();
	if (s->holders[i] != NOBODY)
		cores_fail(VERDICT_EXCLUSION,
			   "a sequence of thread %d ends while thread %d is inside",
			   cores_thread(), s->holders[i]);
	s->sections[i]++;
	return true;
}

static void add_to_count(struct shared *s)
{
	struct pawl_lease_handle *h = pawl_lease_self();
	int i;

	if (add_by_sequence(s))
		return;
	i = (int)pawl_lease_id();
	if (pawl_lease_seize(&count_of(s, i)->lease, h) != PAWL_LEASE_OK)
		return;
	look_at_count(s, i, 1);
	pawl_lease_share(&count_of(s, i)->lease, h, (uint64_t)i);
	pawl_lease_release(&count_of(s, i)->lease, h);
}

/* Nothing is lost, and nothing counted twice. */
static void sequence_finished(void *check)
{
	struct shared *s = ((struct lease_check *)check)->shared;
	int i;

	for (i = 0; i < LEASES; i++)
		if (count_of(s, i)->value != s->sections[i])
			cores_fail(VERDICT_STALE, "a count is %llu in the end, not %llu",
				   (unsigned long long)count_of(s, i)->value,
				   (unsigned long long)s->sections[i]);
}

static void sequence_thread(void *check, int thread)
{
	struct lease_check *c = check;
	int k;

	(void)thread;
	for (k = 0; k < c->episodes; k++)
		add_to_count(c->shared);
}

/* The second thread wants the first CPU's count to itself, wherever it is. */
static void sequence_seize_thread(void *check, int thread)
{
	struct lease_check *c = check;
	struct shared *s = c->shared;
	struct pawl_lease_handle *h = pawl_lease_self();

	if (thread != 1) {
		sequence_thread(check, thread);
		return;
	}
	if (pawl_lease_seize(&count_of(s, 0)->lease, h) != PAWL_LEASE_OK)
		return;
	look_at_count(s, 0, 0);
	pawl_lease_release(&count_of(s, 0)->lease, h);
}

static void sequence_drain_thread(void *check, int thread)
{
	struct lease_check *c = check;
	struct shared *s = c->shared;

	if (thread != 1) {
		sequence_thread(check, thread);
		return;
	}
	pawl_lease_unshare(&count_of(s, 0)->lease);
	if (pawl_lease_drain(&count_of(s, 0)->lease, 1)) {
		look_at_count(s, 0, 0);
		pawl_lease_open(&count_of(s, 0)->lease);
	}
}

static void sequence_poll_thread(void *check, int thread)
{
	struct lease_check *c = check;
	struct shared *s = c->shared;

	if (thread != 1) {
		sequence_thread(check, thread);
		return;
	}
	pawl_lease_break(&count_of(s, 0)->lease);
	pawl_lease_poll();
	if (pawl_lease_acquire(&count_of(s, 0)->lease, pawl_lease_self()) !=
	    PAWL_LEASE_OK)
		return;
	look_at_count(s, 0, 0);
	pawl_lease_release(&count_of(s, 0)->lease, pawl_lease_self());
}

/*
 * stack: slots in stacks, one for each CPU, got and put back by sequences, or by a lease
 * where that fails. Nobody has what another has, and in the end all are there.
 */
enum { STACK_SLOTS = 2 };

struct stack {
	struct pawl_lease lease;
	uint64_t used, count, slots; /* two in a word */
	char apart[(1 << PAWL_SLOTS_SHIFT) - 32];
};

static struct stack *stack_of(struct shared *s, int i)
{
	return (struct stack *)(void *)s->stacks + i;
}

/* The stack of this CPU, entered; NULL: another time. */
static struct stack *enter_stack(struct shared *s)
{
	int i = (int)pawl_lease_id();
	struct stack *stack = stack_of(s, i);

	if (pawl_lease_seize(&stack->lease, pawl_lease_self()) != PAWL_LEASE_OK)
		return NULL;
	enter(s, i);
	return stack;
}

static void leave_stack(struct shared *s, struct stack *stack)
{
	int i = (int)(stack - stack_of(s, 0));

	leave(s, i);
	pawl_lease_share(&stack->lease, pawl_lease_self(), (uint64_t)i);
	pawl_lease_release(&stack->lease, pawl_lease_self());
}

static uint32_t pop(struct shared *s)
{
	uint32_t slot = pawl_sequence_pop_(pawl_sequence_place_(), &s->stacks);
	struct stack *stack;
	uint64_t n;

	if (slot != UINT32_MAX || (stack = enter_stack(s)) == NULL)
		return slot;
	n = sim_load(&stack->count, SIM_RELAXED);
	if (n > 0) {
		slot = (uint32_t)(sim_load(&stack->slots, SIM_RELAXED) >> (n - 1) * 32);
		sim_store(&stack->count, n - 1, SIM_RELAXED);
	}
	leave_stack(s, stack);
	return slot;
}

static bool push(struct shared *s, uint32_t slot)
{
	struct stack *stack;
	uint64_t n, half;

	if (pawl_sequence_push_(pawl_sequence_place_(), &s->stacks, slot))
		return true;
	if ((stack = enter_stack(s)) == NULL)
		return false;
	n = sim_load(&stack->count, SIM_RELAXED);
	half = (uint64_t)UINT32_MAX << n * 32;
	sim_store(&stack->slots,
		  (sim_load(&stack->slots, SIM_RELAXED) & ~half) | (uint64_t)slot
									   << n * 32,
		  SIM_RELAXED);
	sim_store(&stack->count, n + 1, SIM_RELAXED);
	leave_stack(s, stack);
	return true;
}

static void stack_thread(void *check, int thread)
{
	struct lease_check *c = check;
	struct shared *s = c->shared;
	int k;

	(void)thread;
	for (k = 0; k < c->episodes; k++) {
		uint32_t slot = pop(s);

		if (slot == UINT32_MAX)
			continue;
		if (slot >= STACK_SLOTS || s->users[slot] != 0)
			cores_fail(VERDICT_EXCLUSION, "slot %u was given out twice",
				   slot);
		s->users[slot] = 1;
		sim_load(&s->spare, SIM_RELAXED); /* a moment */
		s->users[slot] = 0;		  /* before it may be there for others */
		if (!push(s, slot))
			s->users[slot] = 1;
	}
}

static void stack_finished(void *check)
{
	struct shared *s = ((struct lease_check *)check)->shared;
	unsigned seen[STACK_SLOTS] = {0};
	int i;

	for (i = 0; i < LEASES; i++) {
		uint64_t n;

		for (n = 0; n < stack_of(s, i)->count; n++)
			seen[(uint32_t)(stack_of(s, i)->slots >> n * 32) % STACK_SLOTS]++;
	}
	for (i = 0; i < STACK_SLOTS; i++)
		if (seen[i] + s->users[i] != 1)
			cores_fail(VERDICT_ASSERTION, "slot %d is in %u stacks", i,
				   seen[i]);
}

/* A signal handler counts, too, whatever it interrupts; under a lease it may not look. */
static void sequence_handler(void *check, int thread)
{
	(void)thread;
	add_to_count(((struct lease_check *)check)->shared);
}

/*
 * The first thread forks. Nothing keeps others from counting meanwhile: in the child there
 * is what was counted before, and nothing that was not.
 */
static void sequence_fork_thread(void *check, int thread)
{
	struct shared *s = ((struct lease_check *)check)->shared;
	uint64_t before[LEASES];
	int i;

	if (thread != 0) {
		sequence_thread(check, thread);
		return;
	}
	for (i = 0; i < LEASES; i++)
		before[i] = s->sections[i];
	pawl_lease_before_fork();
	if (!cores_fork()) {
		pawl_lease_after_fork();
		add_to_count(s);
		return;
	}
	pawl_lease_forked();
	for (i = 0; i < LEASES; i++) {
		uint64_t seen = sim_load(&count_of(s, i)->value, SIM_RELAXED);

		if (seen < before[i] || seen > s->sections[i])
			cores_fail(VERDICT_STALE,
				   "the child finds a count of %llu, not of %llu to %llu",
				   (unsigned long long)seen,
				   (unsigned long long)before[i],
				   (unsigned long long)s->sections[i]);
		s->sections[i] = seen;
	}
	add_to_count(s);
}

/*
 * What a fork copies is not of one moment: one stack, and then the other. No slot may be
 * in both, by who takes it from here to there meanwhile. As lease/heirs.c does it.
 */
static void sequence_copy_thread(void *check, int thread)
{
	struct shared *s = ((struct lease_check *)check)->shared;
	unsigned seen[STACK_SLOTS] = {0};
	int i;

	if (thread != 0) {
		uint32_t slot = pawl_sequence_pop_(pawl_sequence_place_(), &s->stacks);

		if (slot != UINT32_MAX)
			pawl_sequence_push_(pawl_sequence_place_(), &s->stacks, slot);
		return;
	}
	pawl_lease_before_fork();
	for (i = 0; i < LEASES; i++)
		pawl_lease_unshare(&stack_of(s, i)->lease);
	pawl_lease_barrier_all();
	for (i = 0; i < LEASES; i++) {
		uint64_t n = sim_load(&stack_of(s, i)->count, SIM_RELAXED);
		uint64_t slots = sim_load(&stack_of(s, i)->slots, SIM_RELAXED);

		while (n-- > 0)
			if (seen[(uint32_t)(slots >> n * 32) % STACK_SLOTS]++ > 0)
				cores_fail(VERDICT_ASSERTION, "a slot is copied twice");
	}
	pawl_lease_after_fork();
}

#endif /* CHECK_LEASE_SEQUENCES_H */
