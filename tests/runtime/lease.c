/* SPDX-License-Identifier: MIT */
/*
 * pawl_lease: who may have one when, and what it costs. The program is run once
 * for each mode (PAWL_LEASE_MODE), and on systems without rseq or membarrier; an
 * argument then names the modes of which one must have been chosen.
 */
#define _GNU_SOURCE
#include "harness/child.h"
#include "harness/harness.h"

#include <pawl/lease.h>

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

_Static_assert(sizeof(struct pawl_lease) == 8, "one word");

static const char *expected_modes; /* NULL: whichever */

static struct pawl_lease_stats stats(void)
{
	struct pawl_lease_stats now;

	pawl_lease_stats(&now);
	return now;
}

static uint64_t word_of(const struct pawl_lease *l)
{
	return pawl_load_acquire(&l->word);
}

static unsigned state_of(const struct pawl_lease *l)
{
	return word_of(l) >> PAWL_LEASE_STATE_SHIFT & 3;
}

/*
 * An actor is a thread, on a CPU of its own choosing, that does one thing at a
 * time when it is told to. That it sleeps meanwhile is the point: a lease does
 * not mind.
 */
struct actor {
	pthread_t thread;
	size_t cpu;
	bool seated;
	pawl_atomic64 order; /* a function, to be run; 0 when it has been */
	void *argument;
	enum pawl_lease_result result;
};

static void *actor_main(void *argument)
{
	struct actor *a = argument;

	a->seated = sit_on(a->cpu);
	pawl_store_release(&a->order, 0);
	for (;;) {
		uint64_t order;
		void (*run)(struct actor *);

		while ((order = pawl_load_acquire(&a->order)) == 0)
			breathe();
		if (order == 1)
			return NULL;
		memcpy(&run, &order, sizeof(run));
		run(a);
		pawl_store_release(&a->order, 0);
	}
}

static void actor_wait(const struct actor *a)
{
	while (pawl_load_acquire(&a->order) != 0)
		breathe();
}

static void actor_start(struct actor *a, size_t cpu)
{
	memset(a, 0, sizeof(*a));
	a->cpu = cpu;
	pawl_store_relaxed(&a->order, 2); /* Relaxed: nobody is there yet */
	assert_int_equal(pthread_create(&a->thread, NULL, actor_main, a), 0);
	actor_wait(a);
}

static void actor_end(struct actor *a)
{
	pawl_store_release(&a->order, 1);
	pthread_join(a->thread, NULL);
}

static enum pawl_lease_result let(struct actor *a, void (*run)(struct actor *),
				  void *argument)
{
	uint64_t order = 0;

	memcpy(&order, &run, sizeof(run));
	a->argument = argument;
	pawl_store_release(&a->order, order);
	actor_wait(a);
	return a->result;
}

static void acquires(struct actor *a)
{
	a->result = pawl_lease_acquire(a->argument, pawl_lease_self());
}

static void seizes(struct actor *a)
{
	a->result = pawl_lease_seize(a->argument, pawl_lease_self());
}

static void recovers(struct actor *a)
{
	a->result = pawl_lease_recover(a->argument, pawl_lease_self());
}

static void releases(struct actor *a)
{
	pawl_lease_release(a->argument, pawl_lease_self());
}

/* Takes it, whatever it takes, and lets go: it is this actor's lease then. */
static void leases(struct actor *a)
{
	a->result = pawl_lease_seize(a->argument, pawl_lease_self());
	if (a->result == PAWL_LEASE_OK)
		pawl_lease_release(a->argument, pawl_lease_self());
}

/* Two actors on one CPU, and one on another if there is one. */
struct cast {
	struct actor near, nearer, far;
};

static struct cast *cast_start(void)
{
	struct cast *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	watchdog("leases");
	actor_start(&c->near, 0);
	actor_start(&c->nearer, 0);
	actor_start(&c->far, 1);
	return c;
}

static void cast_end(struct cast *c)
{
	actor_end(&c->near);
	actor_end(&c->nearer);
	actor_end(&c->far);
	free(c);
	watchdog(NULL);
}

/* Whether leases are bound to CPUs, in a way that an actor's seat determines. */
static bool bound_to_cpus(void)
{
	return pawl_lease_mode() == PAWL_LEASE_CPU ||
	       pawl_lease_mode() == PAWL_LEASE_RDPID;
}

static bool barriers_work(void)
{
	return pawl_lease_mode() != PAWL_LEASE_FENCED;
}

static void the_mode_is_the_one_asked_for(void **state)
{
	const char *name = pawl_lease_mode_name(pawl_lease_mode());
	const char *asked = getenv("PAWL_LEASE_MODE");

	(void)state;
	print_message("mode: %s\n", name);
	if (expected_modes != NULL)
		assert_non_null(strstr(expected_modes, name));
	else if (asked != NULL && strcmp(asked, name) != 0)
		skip(); /* not to be had here: and it has said so on stderr */
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

/* Exit inside a section. */

static void *exit_inside(void *argument)
{
	if (pawl_lease_seize(argument, pawl_lease_self()) != PAWL_LEASE_OK)
		abort();
	return NULL;
}

static void in_a_thread(void *(*run)(void *), void *argument)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, run, argument), 0);
	pthread_join(thread, NULL);
}

static void an_exit_inside_poisons(void **state)
{
	struct cast *c = cast_start();
	struct pawl_lease l = PAWL_LEASE_INIT;
	struct pawl_lease_stats before = stats();

	(void)state;
	in_a_thread(exit_inside, &l);
	assert_int_equal(stats().poisoned, before.poisoned + 1);
	assert_int_equal(let(&c->near, acquires, &l), PAWL_LEASE_POISONED);
	assert_int_equal(let(&c->far, seizes, &l), PAWL_LEASE_POISONED);
	/* Draining does not cure it. */
	assert_true(pawl_lease_drain(&l, 0));
	pawl_lease_open(&l);
	assert_int_equal(let(&c->near, recovers, &l), PAWL_LEASE_OK);
	assert_int_equal(let(&c->far, seizes, &l), PAWL_LEASE_HOSTAGE);
	let(&c->near, releases, &l);
	assert_int_equal(let(&c->far, recovers, &l), PAWL_LEASE_ELSEWHERE);
	assert_int_equal(let(&c->far, leases, &l), PAWL_LEASE_OK);
	cast_end(c);
}

/* Ten thousand threads, each of which leaves a live lease behind. */

enum { CROWD = 4, SHARED = 32 };
static struct pawl_lease left[SHARED];

static void *lease_and_leave(void *argument)
{
	struct pawl_lease_handle *h = pawl_lease_self();
	uintptr_t n = (uintptr_t)argument;

	/* May well meet a hostage: then it leaves without. */
	if (pawl_lease_seize(&left[n % SHARED], h) == PAWL_LEASE_OK)
		pawl_lease_release(&left[n % SHARED], h);
	return NULL;
}

static void threads_come_and_go(void **state)
{
	struct pawl_lease_handle *h = pawl_lease_self();
	struct pawl_lease_stats before = stats();
	/* The whole ten thousand in the default mode. */
	bool all = expected_modes == NULL && getenv("PAWL_LEASE_MODE") == NULL;
	int generations = (all ? 10000 : 1000) / CROWD, generation, i;

	(void)state;
	watchdog("ten thousand threads");
	for (generation = 0; generation < generations; generation++) {
		pthread_t threads[CROWD];

		for (i = 0; i < CROWD; i++)
			assert_int_equal(
				pthread_create(&threads[i], NULL, lease_and_leave,
					       (void *)(uintptr_t)(generation * 7 + i)),
				0);
		for (i = 0; i < CROWD; i++)
			pthread_join(threads[i], NULL);
	}
	/* Handles are handed on: no more than were ever in use at once. */
	assert_true(stats().handles <= before.handles + CROWD);
	assert_int_equal(stats().poisoned, before.poisoned);
	for (i = 0; i < SHARED; i++) {
		assert_int_equal(pawl_lease_seize(&left[i], h), PAWL_LEASE_OK);
		pawl_lease_release(&left[i], h);
	}
	watchdog(NULL);
}

/* After its exit a thread is refused, and leaves nothing behind. */
static pthread_key_t late_key;
static enum pawl_lease_result late_result;

static void lease_late(void *argument)
{
	late_result = pawl_lease_acquire(argument, pawl_lease_self());
	assert_int_equal(pawl_lease_id(), 0);
}

static void *exit_late(void *argument)
{
	pawl_lease_self();
	pthread_setspecific(late_key, argument);
	return NULL;
}

static void a_thread_past_its_exit_is_refused(void **state)
{
	struct pawl_lease l = PAWL_LEASE_INIT;

	(void)state;
	assert_int_equal(pthread_key_create(&late_key, lease_late), 0);
	in_a_thread(exit_late, &l);
	pthread_key_delete(late_key);
	assert_int_equal(late_result, PAWL_LEASE_NESTED);
	assert_int_equal(state_of(&l), PAWL_LEASE_FREE);
}

/* Fork. */

static struct {
	struct pawl_lease l;
	uint64_t one, other; /* the same, but inside */
} forked[4];
static pawl_atomic64 stop;

static void *keep_leasing(void *argument)
{
	struct pawl_lease_handle *h = pawl_lease_self();
	uint64_t n = (uintptr_t)argument;

	while (pawl_load_relaxed(&stop) == 0) { /* Relaxed: by and by */
		size_t i = ++n % COUNT_OF(forked);

		if (pawl_lease_seize(&forked[i].l, h) != PAWL_LEASE_OK)
			continue;
		forked[i].one++;
		forked[i].other++;
		pawl_lease_release(&forked[i].l, h);
	}
	return NULL;
}

/* The child's exit status: 7 if all is well. */
static int check_in_child(void)
{
	struct pawl_lease_handle *h = pawl_lease_self();
	size_t i;

	for (i = 0; i < COUNT_OF(forked); i++) {
		enum pawl_lease_result result = pawl_lease_seize(&forked[i].l, h);

		/* Somebody may have been off the CPU for longer than a fork waits. */
		if (result == PAWL_LEASE_POISONED)
			result = pawl_lease_recover(&forked[i].l, h);
		else if (forked[i].one != forked[i].other)
			return 8;
		if (result != PAWL_LEASE_OK)
			return 9;
		pawl_lease_release(&forked[i].l, h);
		if (pawl_lease_acquire(&forked[i].l, h) != PAWL_LEASE_OK)
			return 10;
		pawl_lease_release(&forked[i].l, h);
	}
	return 7;
}

static int status_of(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void a_forked_child_has_no_hostages(void **state)
{
	pthread_t threads[3];
	uintptr_t i;
	int round;

	(void)state;
	watchdog("fork");
	for (i = 0; i < COUNT_OF(threads); i++)
		pthread_create(&threads[i], NULL, keep_leasing, (void *)i);
	for (round = 0; round < 15; round++) {
		pid_t child = fork();

		if (child == 0)
			_exit(check_in_child());
		assert_true(child > 0);
		assert_int_equal(status_of(child), 7);
	}
	pawl_store_relaxed(&stop, 1); /* Relaxed: by and by */
	for (i = 0; i < COUNT_OF(threads); i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < COUNT_OF(forked); i++)
		assert_int_equal(forked[i].one, forked[i].other);
	watchdog(NULL);
}

static void who_was_inside_is_poison_in_the_child_only(void **state)
{
	struct pawl_lease_handle *h = pawl_lease_self();
	struct cast *c = cast_start();
	struct pawl_lease l = PAWL_LEASE_INIT, mine = PAWL_LEASE_INIT;
	pid_t child;

	(void)state;
	assert_int_equal(let(&c->near, seizes, &l), PAWL_LEASE_OK);
	assert_int_equal(pawl_lease_acquire(&mine, h), PAWL_LEASE_OK);
	child = fork();
	if (child == 0) {
		bool good = pawl_lease_acquire(&l, h) == PAWL_LEASE_NESTED;

		pawl_lease_release(&mine, h);
		good = good && pawl_lease_acquire(&l, h) == PAWL_LEASE_POISONED &&
		       pawl_lease_recover(&l, h) == PAWL_LEASE_OK;
		pawl_lease_release(&l, h);
		_exit(good ? 7 : 8);
	}
	assert_int_equal(status_of(child), 7);
	pawl_lease_release(&mine, h);
	assert_int_equal(pawl_lease_seize(&l, h), PAWL_LEASE_HOSTAGE);
	let(&c->near, releases, &l);
	assert_int_equal(pawl_lease_seize(&l, h), PAWL_LEASE_OK);
	pawl_lease_release(&l, h);
	cast_end(c);
}

/* The steady state: no barriers, and no system calls at all. */

static void steady(struct pawl_lease *l, int sections)
{
	struct pawl_lease_handle *h = pawl_lease_self();
	int i;

	for (i = 0; i < sections; i++)
		if (pawl_lease_acquire(l, h) == PAWL_LEASE_OK)
			pawl_lease_release(l, h);
}

/* The kernel ends whoever asks it for more than to exit. */
static void run_without_the_kernel(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {COUNT_OF(filter), filter};
	struct pawl_lease l = PAWL_LEASE_INIT;

	steady(&l, 1);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		_exit(CHILD_SKIPS);
	steady(&l, 1000000);
	syscall(SYS_exit_group, 0); /* _exit is a sanitizer's, and does more */
}

static void the_steady_state_asks_nothing_of_the_kernel(void **state)
{
	struct pawl_lease_stats before;
	struct pawl_lease l = PAWL_LEASE_INIT;
	struct child child;

	(void)state;
	steady(&l, 1);
	before = stats();
	steady(&l, 1000000);
	assert_int_equal(stats().barriers, before.barriers);
	assert_int_equal(stats().joined, before.joined);
	child = child_run(run_without_the_kernel);
	if (child.status == CHILD_SKIPS)
		skip();
	assert_int_equal(child.signal, 0);
	assert_int_equal(child.status, 0);
}

/* Every mode that is to be had can be chosen, once, before the first use. */
static int main_choose(enum pawl_lease_mode mode)
{
	struct pawl_lease l = PAWL_LEASE_INIT;
	int error = pawl_lease_choose(mode);

	if (error == ENOTSUP)
		return pawl_lease_mode() == mode;
	steady(&l, 10);
	return error != 0 || pawl_lease_mode() != mode ||
	       pawl_lease_choose(PAWL_LEASE_FENCED) !=
		       (mode == PAWL_LEASE_FENCED ? 0 : EBUSY);
}

static void a_mode_can_be_chosen_before_the_first_use(void **state)
{
	static const char *const digits[] = {"0", "1", "2", "3", "4"};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(digits); i++)
		child_again(digits[i], false);
	child_again("4", true);
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
		cmocka_unit_test(an_exit_inside_poisons),
		cmocka_unit_test(threads_come_and_go),
		cmocka_unit_test(a_thread_past_its_exit_is_refused),
		cmocka_unit_test(a_forked_child_has_no_hostages),
		cmocka_unit_test(who_was_inside_is_poison_in_the_child_only),
		cmocka_unit_test(the_steady_state_asks_nothing_of_the_kernel),
		cmocka_unit_test(a_mode_can_be_chosen_before_the_first_use),
	};

	if (argc == 2 && strlen(argv[1]) == 1)
		return main_choose((enum pawl_lease_mode)atoi(argv[1]));
	expected_modes = argc > 1 ? argv[1] : NULL;
	return cmocka_run_group_tests(cases, NULL, NULL);
}
