/* SPDX-License-Identifier: MIT */
/* Leases beyond the life of a thread: exit, fork, start-up, and the kernel. */
#define _GNU_SOURCE
#include "harness/child.h"
#include "lease_actors.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* Our exit handler runs in the first round of destructors, after this one; the second
 * round is late. */
static void lease_late(void *argument)
{
	static int round;

	if (round++ == 0) {
		pthread_setspecific(late_key, argument);
		return;
	}
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

/*
 * A thread that the kernel keeps no CPU number for: as if another library had made
 * it, or had taken its rseq area away, before its first lease or after.
 */
static void loses_the_cpu_number(struct actor *a)
{
	*(bool *)a->argument = lose_the_cpu_number();
}

static void a_thread_without_a_cpu_number_can_lease(void **state)
{
	struct cast *c = cast_start();
	struct pawl_lease l = PAWL_LEASE_INIT;
	const unsigned no_cpu = (1 << PAWL_LEASE_CPU_BITS) - 1;
	bool early = false, late = false;
	int i;

	(void)state;
	let(&c->near, loses_the_cpu_number, &early);
	assert_int_equal(let(&c->nearer, leases, &l), PAWL_LEASE_OK);
	let(&c->nearer, loses_the_cpu_number, &late);
	if (!early || !late) {
		print_message("rseq cannot be taken away here\n");
		cast_end(c);
		skip();
	}
	assert_int_equal(let(&c->nearer, leases, &l), PAWL_LEASE_OK);
	if (pawl_lease_mode() != PAWL_LEASE_RDPID) /* bound to the thread alone */
		assert_int_equal(cpu_of(&l), no_cpu);
	for (i = 0; i < 3; i++) {
		assert_int_equal(let(&c->near, seizes, &l), PAWL_LEASE_OK);
		assert_int_equal(let(&c->far, seizes, &l), PAWL_LEASE_HOSTAGE);
		let(&c->near, releases, &l);
		assert_int_equal(let(&c->near, acquires, &l), PAWL_LEASE_OK);
		let(&c->near, releases, &l);
		/* Bound to no CPU, so nobody is its neighbour. */
		if (pawl_lease_mode() == PAWL_LEASE_CPU ||
		    pawl_lease_mode() == PAWL_LEASE_CID)
			assert_int_equal(let(&c->nearer, acquires, &l),
					 PAWL_LEASE_ELSEWHERE);
		assert_int_equal(let(&c->nearer, seizes, &l), PAWL_LEASE_OK);
		let(&c->nearer, releases, &l);
		assert_int_equal(let(&c->nearer, acquires, &l), PAWL_LEASE_OK);
		let(&c->nearer, releases, &l);
		assert_int_equal(let(&c->far, leases, &l), PAWL_LEASE_OK);
	}
	cast_end(c);
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
	for (round = 0; round < 8; round++) {
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
	steady(&l, 100000);
	syscall(SYS_exit_group, 0); /* _exit is a sanitizer's, and does more */
}

/* A real-time thread that forks lets the thread inside run, though that is less urgent
 * and has no other CPU. */

static struct {
	pawl_atomic64 inside, turns, over;
	cpu_set_t cpu;
} urgent;

static void *stay_inside(void *lease)
{
	struct pawl_lease_handle *h = pawl_lease_self();

	setpriority(PRIO_PROCESS, 0, -20);
	sched_setaffinity(0, sizeof(urgent.cpu), &urgent.cpu);
	if (pawl_lease_seize(lease, h) != PAWL_LEASE_OK)
		abort();
	pawl_store_release(&urgent.inside, 1);
	while (pawl_load_acquire(&urgent.over) == 0)
		pawl_fetch_add_relaxed(&urgent.turns, 1); /* Relaxed: a count */
	pawl_lease_release(lease, h);
	return NULL;
}

static void fork_urgently(void)
{
	const struct sched_param highest = {.sched_priority = 1};
	struct pawl_lease l = PAWL_LEASE_INIT;
	uint64_t turns;
	pthread_t thread;
	pid_t pid;

	CPU_ZERO(&urgent.cpu);
	CPU_SET((size_t)sched_getcpu(), &urgent.cpu);
	if (sched_setaffinity(0, sizeof(urgent.cpu), &urgent.cpu) != 0 ||
	    pthread_create(&thread, NULL, stay_inside, &l) != 0)
		_exit(2);
	while (pawl_load_acquire(&urgent.inside) == 0)
		sched_yield();
	if (sched_setscheduler(0, SCHED_FIFO, &highest) != 0)
		_exit(77);
	turns = pawl_load_relaxed(&urgent.turns); /* Relaxed: a count */
	pid = fork();
	if (pid == 0)
		_exit(0);
	turns = pawl_load_relaxed(&urgent.turns) - turns; /* Relaxed: likewise */
	pawl_store_release(&urgent.over, 1);
	waitpid(pid, NULL, 0);
	pthread_join(thread, NULL);
	_exit(turns > 0 ? 0 : 1);
}

#ifdef __SANITIZE_THREAD__
/* Else TSan ends the child of a fork that starts a thread. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "die_after_fork=0";
}
#endif

static void an_urgent_fork_lets_others_leave(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		fork_urgently();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip_because("real-time scheduling is not allowed");
	assert_int_equal(status, 0);
}

static void the_steady_state_asks_nothing_of_the_kernel(void **state)
{
	struct pawl_lease_stats before;
	struct pawl_lease l = PAWL_LEASE_INIT;
	struct child child;

	(void)state;
	steady(&l, 1);
	before = stats();
	steady(&l, 100000);
	assert_int_equal(stats().barriers, before.barriers);
	assert_int_equal(stats().joined, before.joined);
	child = child_run(run_without_the_kernel);
	if (child.status == CHILD_SKIPS)
		skip_because("no filters of system calls here");
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
	const char *asked = getenv("PAWL_LEASE_MODE");
	char *kept = asked != NULL ? strdup(asked) : NULL;
	size_t i;

	(void)state;
	unsetenv("PAWL_LEASE_MODE"); /* it may not be to be had, which is said */
	for (i = 0; i < COUNT_OF(digits); i++)
		child_again(digits[i], false);
	child_again("4", true);
	if (kept != NULL)
		setenv("PAWL_LEASE_MODE", kept, 1);
	free(kept);
}

static void run_with_a_bad_mode(void)
{
	setenv("PAWL_LEASE_MODE", "best", 1);
	child_exec("m", false);
}

static void run_with_a_bad_wish(void)
{
	setenv("PAWL_LEASE_SEQUENCES", "perhaps", 1);
	child_exec("q", false);
}

static void run_without_sequences(void)
{
	setenv("PAWL_LEASE_SEQUENCES", "no", 1);
	child_exec("n", false);
}

static void expect_words(void (*run)(void), const char *words)
{
	struct child child = child_run(run);

	assert_int_equal(child.status, 0);
	assert_string_equal(child.text, words);
}

static void a_bad_mode_is_one_line(void **state)
{
	(void)state;
	expect_words(run_with_a_bad_mode,
		     "pawl: PAWL_LEASE_MODE=best is none of cpu, cid, rdpid, "
		     "thread, fenced; unset it for the best there is, which is "
		     "used now\n");
}

static void a_bad_wish_for_sequences_is_one_line(void **state)
{
	bool by_area = pawl_lease_mode() == PAWL_LEASE_CPU ||
		       pawl_lease_mode() == PAWL_LEASE_CID;

	(void)state;
	expect_words(run_with_a_bad_wish,
		     by_area ? "pawl: PAWL_LEASE_SEQUENCES=perhaps is neither yes nor "
			       "no; unset it for yes, which is used now\n"
			     : "");
}

static void sequences_can_be_turned_off(void **state)
{
	(void)state;
	expect_words(run_without_sequences, "");
}

static void stays(struct actor *a)
{
	(void)a;
	if (refuse(SYS_sched_setaffinity) != 0)
		abort();
}

/* A sandbox closes while leases are in use: who wants what is bound elsewhere goes there.
 * If the sandbox forbids that as well, it stays there, and everything else goes on. */
static int main_refuse_later(bool may_move)
{
	struct cast *c = cast_start();
	struct pawl_lease l = PAWL_LEASE_INIT;
	bool breaks = may_move || pawl_lease_mode() == PAWL_LEASE_FENCED;
	enum pawl_lease_result result;

	let(&c->near, leases, &l);
	if (refuse(SYS_membarrier) != 0)
		return CHILD_SKIPS;
	actor_end(&c->far);
	actor_start(&c->far, 1); /* the filter is a thread's, and its children's */
	if (!may_move) {
		let(&c->far, stays, NULL);
		refuse(SYS_sched_setaffinity);
	}
	/* A concurrency id may happen to be that of the lease. */
	if (pawl_lease_mode() != PAWL_LEASE_CID && (c->far.seated || !bound_to_cpus())) {
		result = let(&c->far, seizes, &l);
		if (result != (breaks ? PAWL_LEASE_OK : PAWL_LEASE_ELSEWHERE))
			return 2;
		if (result == PAWL_LEASE_OK)
			let(&c->far, releases, &l);
	}
	if (pawl_lease_drain(&l, breaks ? (uint64_t)10 * 1000000000 : 1000) != breaks)
		return 3;
	pawl_lease_open(&l);
	if (let(&c->near, acquires, &l) != PAWL_LEASE_OK)
		return 4;
	let(&c->near, releases, &l);
	cast_end(c);
	return 0;
}

static void membarrier_may_be_lost_later(void **state)
{
	(void)state;
	child_again("l", false);
	child_again("L", false);
}

int lease_life_again(const char *argument)
{
	switch (argument[0]) {
	case 'm':
		return pawl_lease_mode() > PAWL_LEASE_FENCED;
	case 'l':
		return main_refuse_later(true);
	case 'L':
		return main_refuse_later(false);
	case 'n':
		return pawl_lease_sequences();
	case 'q':
		/* By the rule; an old kernel's barriers do not end them. */
		return pawl_lease_sequences() && pawl_lease_mode() != PAWL_LEASE_CPU &&
		       pawl_lease_mode() != PAWL_LEASE_CID;
	default:
		return main_choose((enum pawl_lease_mode)atoi(argument));
	}
}

const struct CMUnitTest lease_life_cases[] = {
	cmocka_unit_test(an_exit_inside_poisons),
	cmocka_unit_test(threads_come_and_go),
	cmocka_unit_test(a_thread_past_its_exit_is_refused),
	cmocka_unit_test(a_thread_without_a_cpu_number_can_lease),
	cmocka_unit_test(a_forked_child_has_no_hostages),
	cmocka_unit_test(who_was_inside_is_poison_in_the_child_only),
	cmocka_unit_test(an_urgent_fork_lets_others_leave),
	cmocka_unit_test(the_steady_state_asks_nothing_of_the_kernel),
	cmocka_unit_test(a_mode_can_be_chosen_before_the_first_use),
	cmocka_unit_test(a_bad_mode_is_one_line),
	cmocka_unit_test(a_bad_wish_for_sequences_is_one_line),
	cmocka_unit_test(sequences_can_be_turned_off),
	cmocka_unit_test(membarrier_may_be_lost_later),
};
const size_t lease_life_case_count = COUNT_OF(lease_life_cases);
