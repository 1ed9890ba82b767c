/* SPDX-License-Identifier: MIT */
/*
 * pawl_lease: who may have one when, and what it costs. The program is run once
 * for each mode (PAWL_LEASE_MODE), and on systems without rseq or membarrier; an
 * argument then names the modes of which one must have been chosen.
 */
#define _GNU_SOURCE
#include "lease_actors.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct pawl_lease) == 8, "one word");

const char *expected_modes;

static void the_mode_is_the_one_asked_for(void **state)
{
	const char *name = pawl_lease_mode_name(pawl_lease_mode());
	const char *asked = getenv("PAWL_LEASE_MODE");

	(void)state;
	print_message("mode: %s\n", name);
	if (expected_modes != NULL)
		assert_non_null(strstr(expected_modes, name));
	else if (asked != NULL && strcmp(asked, name) != 0)
		skip_because("the mode is not to be had here");
	assert_int_equal(pawl_lease_choose(pawl_lease_mode()), 0);
	assert_int_equal(pawl_lease_choose((enum pawl_lease_mode)(
				 (pawl_lease_mode() + 1) % (PAWL_LEASE_FENCED + 1))),
			 EBUSY);
	assert_true(pawl_lease_id() < pawl_lease_ids());
}

/* By an actor, which is bound to its CPU. */
static void enters_often(struct actor *a)
{
	struct pawl_lease_handle *h = pawl_lease_self();
	struct pawl_lease *l = a->argument;
	int i;

	for (i = 0; i < 1000; i++) {
		uint64_t word = word_of(l);

		assert_int_equal(pawl_lease_acquire(l, h), PAWL_LEASE_OK);
		assert_int_equal(state_of(l), PAWL_LEASE_LEASED);
		pawl_lease_release(l, h);
		/* Concurrency ids may change at any time. */
		if (i > 0 && pawl_lease_mode() != PAWL_LEASE_CID)
			assert_int_equal(word_of(l), word);
	}
}

static void an_owner_enters_again_without_a_change(void **state)
{
	struct cast *c = cast_start();
	struct pawl_lease l = PAWL_LEASE_INIT;

	(void)state;
	assert_int_equal(state_of(&l), PAWL_LEASE_FREE);
	let(&c->near, enters_often, &l);
	cast_end(c);
}

static void a_neighbour_takes_over_without_a_barrier(void **state)
{
	struct cast *c = cast_start();
	struct pawl_lease l = PAWL_LEASE_INIT;
	struct pawl_lease_stats before;
	enum pawl_lease_result result;

	(void)state;
	assert_int_equal(let(&c->near, leases, &l), PAWL_LEASE_OK);
	before = stats();
	result = let(&c->nearer, acquires, &l);
	if (pawl_lease_mode() == PAWL_LEASE_THREAD) {
		assert_int_equal(result, PAWL_LEASE_ELSEWHERE);
	} else if (pawl_lease_mode() != PAWL_LEASE_CID) {
		assert_int_equal(result, PAWL_LEASE_OK);
		assert_int_equal(stats().takeovers, before.takeovers + 1);
	}
	if (result == PAWL_LEASE_OK)
		let(&c->nearer, releases, &l);
	assert_int_equal(stats().barriers, before.barriers);
	cast_end(c);
}

static void a_stranger_must_seize(void **state)
{
	struct cast *c = cast_start();
	struct pawl_lease l = PAWL_LEASE_INIT;
	struct pawl_lease_stats before;

	(void)state;
	if (bound_to_cpus() && !c->far.seated) {
		print_message("needs a second CPU\n");
		cast_end(c);
		skip();
	}
	assert_int_equal(let(&c->near, leases, &l), PAWL_LEASE_OK);
	before = stats();
	if (bound_to_cpus() || pawl_lease_mode() == PAWL_LEASE_THREAD) {
		assert_int_equal(let(&c->far, acquires, &l), PAWL_LEASE_ELSEWHERE);
		assert_int_equal(stats().barriers, before.barriers);
		assert_int_equal(let(&c->far, seizes, &l), PAWL_LEASE_OK);
		assert_int_equal(stats().breaks, before.breaks + 1);
		assert_int_equal(stats().barriers, before.barriers + 1);
	} else {
		assert_int_equal(let(&c->far, seizes, &l), PAWL_LEASE_OK);
	}
	let(&c->far, releases, &l);
	cast_end(c);
}

static void somebody_inside_is_left_alone(void **state)
{
	struct cast *c = cast_start();
	struct pawl_lease l = PAWL_LEASE_INIT, other = PAWL_LEASE_INIT;
	enum pawl_lease_result result;

	(void)state;
	assert_int_equal(let(&c->near, seizes, &l), PAWL_LEASE_OK);
	result = let(&c->nearer, acquires, &l);
	if (bound_to_cpus() || !barriers_work())
		assert_int_equal(result, PAWL_LEASE_HOSTAGE);
	else
		assert_int_not_equal(result, PAWL_LEASE_OK);
	assert_int_equal(let(&c->far, seizes, &l), PAWL_LEASE_HOSTAGE);
	assert_int_equal(let(&c->nearer, seizes, &l), PAWL_LEASE_HOSTAGE);
	/* Nobody is held up by it elsewhere. */
	assert_int_equal(let(&c->far, leases, &other), PAWL_LEASE_OK);
	assert_int_equal(let(&c->nearer, leases, &other), PAWL_LEASE_OK);
	let(&c->near, releases, &l);
	/* The attempts have cost the owner its lease, and nothing else. */
	assert_int_equal(state_of(&l), PAWL_LEASE_LIMBO);
	assert_int_equal(let(&c->near, acquires, &l), PAWL_LEASE_OK);
	let(&c->near, releases, &l);
	assert_int_equal(let(&c->far, leases, &l), PAWL_LEASE_OK);
	cast_end(c);
}

enum { MANY = 64 };

static void breaks_end_with_one_barrier_for_all(void **state)
{
	struct cast *c = cast_start();
	struct pawl_lease many[MANY] = {PAWL_LEASE_INIT};
	struct pawl_lease_stats before;
	int i;

	(void)state;
	for (i = 0; i < MANY; i++)
		assert_int_equal(let(i % 2 ? &c->near : &c->far, leases, &many[i]),
				 PAWL_LEASE_OK);
	assert_int_equal(let(&c->near, seizes, &many[0]), PAWL_LEASE_OK);
	before = stats();
	for (i = 0; i < MANY; i++) {
		pawl_lease_break(&many[i]);
		assert_int_equal(state_of(&many[i]), PAWL_LEASE_LIMBO);
	}
	assert_int_equal(stats().barriers, before.barriers);
	assert_int_equal(pawl_lease_poll(), MANY - 1); /* not the one with somebody in */
	assert_int_equal(stats().barriers, before.barriers + barriers_work());
	for (i = 1; i < MANY; i++)
		assert_int_equal(state_of(&many[i]), PAWL_LEASE_FREE);
	assert_int_equal(pawl_lease_poll(), 0);
	let(&c->near, releases, &many[0]);
	assert_int_equal(pawl_lease_poll(), 1);
	assert_int_equal(state_of(&many[0]), PAWL_LEASE_FREE);
	assert_int_equal(pawl_lease_poll(), 0);
	cast_end(c);
}

/* More than the list has room for: none is lost. */
static void breaks_beyond_the_list_are_settled_too(void **state)
{
	enum { ROOM = 256, TOO_MANY = 3 * ROOM };
	static struct pawl_lease many[TOO_MANY];
	struct pawl_lease_handle *h = pawl_lease_self();
	int i;

	(void)state;
	for (i = 0; i < TOO_MANY; i++) {
		assert_int_equal(pawl_lease_acquire(&many[i], h), PAWL_LEASE_OK);
		pawl_lease_release(&many[i], h);
		pawl_lease_break(&many[i]);
	}
	pawl_lease_poll();
	for (i = 0; i < TOO_MANY; i++) {
		assert_int_equal(pawl_lease_seize(&many[i], h), PAWL_LEASE_OK);
		pawl_lease_release(&many[i], h);
		assert_true(pawl_lease_drain(&many[i], 0));
	}
}

static void a_neighbour_ends_a_break_without_a_barrier(void **state)
{
	struct cast *c = cast_start();
	struct pawl_lease l = PAWL_LEASE_INIT;
	struct pawl_lease_stats before;

	(void)state;
	assert_int_equal(let(&c->near, leases, &l), PAWL_LEASE_OK);
	pawl_lease_break(&l);
	before = stats();
	if (bound_to_cpus() || !barriers_work()) {
		assert_int_equal(let(&c->nearer, acquires, &l), PAWL_LEASE_OK);
		let(&c->nearer, releases, &l);
		assert_int_equal(stats().finishes, before.finishes + 1);
	}
	/* Its owner always can. */
	assert_int_equal(let(&c->near, leases, &l), PAWL_LEASE_OK);
	pawl_lease_break(&l);
	before = stats();
	assert_int_equal(let(&c->near, acquires, &l), PAWL_LEASE_OK);
	let(&c->near, releases, &l);
	assert_int_equal(stats().barriers, before.barriers);
	assert_true(pawl_lease_drain(&l, 0));
	cast_end(c);
}

static void a_drained_lease_is_nobodys(void **state)
{
	const uint64_t soon = 1000000, long_enough = 1000000000;
	struct cast *c = cast_start();
	struct pawl_lease l = PAWL_LEASE_INIT;

	(void)state;
	assert_int_equal(let(&c->near, seizes, &l), PAWL_LEASE_OK);
	assert_false(pawl_lease_drain(&l, soon));
	let(&c->near, releases, &l);
	assert_int_equal(let(&c->near, acquires, &l), PAWL_LEASE_OK);
	let(&c->near, releases, &l);
	assert_true(pawl_lease_drain(&l, long_enough));
	assert_int_equal(let(&c->near, acquires, &l), PAWL_LEASE_HOSTAGE);
	assert_int_equal(let(&c->far, seizes, &l), PAWL_LEASE_HOSTAGE);
	assert_false(pawl_lease_drain(&l, soon));
	pawl_lease_open(&l);
	assert_int_equal(state_of(&l), PAWL_LEASE_FREE);
	assert_int_equal(let(&c->near, acquires, &l), PAWL_LEASE_OK);
	let(&c->near, releases, &l);
	cast_end(c);
}

/* Nesting: the inner one is refused, the outer one never notices. */

static struct pawl_lease outer, inner;
static enum pawl_lease_result in_handler[3];

static void on_signal(int number)
{
	struct pawl_lease_handle *h = pawl_lease_self();

	(void)number;
	in_handler[0] = pawl_lease_acquire(&inner, h);
	in_handler[1] = pawl_lease_acquire(&outer, h);
	in_handler[2] = pawl_lease_seize(&inner, h);
}

static void a_handler_inside_a_section_is_refused(void **state)
{
	const struct sigaction action = {.sa_handler = on_signal};
	struct pawl_lease_handle *h = pawl_lease_self();
	struct cast *c = cast_start();
	struct pawl_lease_stats before = stats();

	(void)state;
	sigaction(SIGUSR1, &action, NULL);
	assert_int_equal(pawl_lease_acquire(&outer, h), PAWL_LEASE_OK);
	raise(SIGUSR1);
	assert_int_equal(in_handler[0], PAWL_LEASE_NESTED);
	assert_int_equal(in_handler[1], PAWL_LEASE_NESTED);
	assert_int_equal(in_handler[2], PAWL_LEASE_NESTED);
	assert_int_equal(stats().nested, before.nested + 3);
	assert_int_equal(state_of(&inner), PAWL_LEASE_FREE);
	assert_int_equal(let(&c->far, seizes, &outer), PAWL_LEASE_HOSTAGE);
	pawl_lease_release(&outer, h);
	assert_int_equal(let(&c->far, leases, &outer), PAWL_LEASE_OK);
	cast_end(c);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(the_mode_is_the_one_asked_for),
		cmocka_unit_test(an_owner_enters_again_without_a_change),
		cmocka_unit_test(a_neighbour_takes_over_without_a_barrier),
		cmocka_unit_test(a_stranger_must_seize),
		cmocka_unit_test(somebody_inside_is_left_alone),
		cmocka_unit_test(breaks_end_with_one_barrier_for_all),
		cmocka_unit_test(breaks_beyond_the_list_are_settled_too),
		cmocka_unit_test(a_neighbour_ends_a_break_without_a_barrier),
		cmocka_unit_test(a_drained_lease_is_nobodys),
		cmocka_unit_test(a_handler_inside_a_section_is_refused),
	};
	int failed;

	if (argc == 2 && strlen(argv[1]) == 1)
		return lease_life_again(argv[1]);
	expected_modes = argc > 1 ? argv[1] : NULL;
	failed = cmocka_run_group_tests_name("leases", cases, NULL, NULL);
	return failed + _cmocka_run_group_tests("leases' lives", lease_life_cases,
						lease_life_case_count, NULL, NULL);
}
