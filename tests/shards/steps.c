/* SPDX-License-Identifier: MIT */
/*
 * What is promised of every instruction, tried at every instruction: another thread
 * forks, or a signal handler uses the same things, wherever a thread happens to be.
 * A thread is single-stepped by this process, which is its tracer.
 */
#define _GNU_SOURCE
#include "harness/child.h"
#include "harness/hang.h"
#include "harness/harness.h"

#include <pawl/counter.h>
#include <pawl/idalloc.h>
#include <pawl/pool.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <sys/user.h>

enum { OBJECTS = 128, COUNTED = 5, CLOCK_CODE_BYTES = 8192 };

static struct pawl_counter counter;
static struct pawl_pool pool, atomic_pool;
static struct pawl_idalloc ids;
static struct pawl_lease lease;

/* The heap, which no signal handler may use; of the C library neither. */
#pragma GCC visibility push(default)

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static volatile sig_atomic_t in_handler;

static void refuse_the_heap(void)
{
	static const char text[] = "a signal handler uses the heap\n";

	if (!in_handler)
		return;
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(3);
	_exit(2);
}

void *malloc(size_t size)
{
	refuse_the_heap();
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	refuse_the_heap();
	return __libc_calloc(n, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	refuse_the_heap();
	return __libc_memalign(alignment, size);
}
#pragma GCC visibility pop

/* Waits for a thread that is traced; fails the case if it hangs. */

static void too_late(int signal)
{
	(void)signal; /* ends the wait with EINTR */
}

static int await(pid_t pid)
{
	const struct sigaction action = {.sa_handler = too_late};
	int status = 0;
	bool came;

	sigaction(SIGALRM, &action, NULL);
	alarm(HANG_GUARD_S);
	came = waitpid(pid, &status, __WALL) == pid;
	alarm(0);
	if (!came && pid > 0)
		kill(pid, SIGKILL);
	return came ? status : -1;
}

static bool step(pid_t pid)
{
	return ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) == 0 && WIFSTOPPED(await(pid));
}

static struct user_regs_struct registers_of(pid_t pid)
{
	struct user_regs_struct registers;

	memset(&registers, 0, sizeof(registers));
	ptrace(PTRACE_GETREGS, pid, NULL, &registers);
	return registers;
}

/* Steps once, and on until out of the system's own code for reading clocks: that
 * starts over as long as the clock moves, and so must not be looked at closely. */
static bool step_on(pid_t pid)
{
	unsigned long clocks = getauxval(AT_SYSINFO_EHDR);

	do
		if (!step(pid))
			return false;
	while (registers_of(pid).rip - clocks < CLOCK_CODE_BYTES);
	return true;
}

/* First use, interrupted by another first use. */

static void use_counter(void)
{
	pawl_counter_add(&counter, COUNTED);
}

static void use_pool(void)
{
	void *object = pawl_pool_get(&pool);

	if (object == NULL)
		_exit(4);
	pawl_pool_put(&pool, object);
}

static void use_ids(void)
{
	uint32_t id = pawl_idalloc_get(&ids);

	if (id == PAWL_IDALLOC_NONE)
		_exit(5);
	pawl_idalloc_put(&ids, id);
}

static void use_lease(void)
{
	struct pawl_lease_handle *h = pawl_lease_self();
	enum pawl_lease_result result = pawl_lease_acquire(&lease, h);

	if (result == PAWL_LEASE_OK)
		pawl_lease_release(&lease, h);
	else if (result != PAWL_LEASE_NESTED || !in_handler)
		_exit(6);
}

/* Takes all objects, of which there are so many, each once; and puts them back. */
static void all_objects_or_exit(struct pawl_pool *p, size_t at_least)
{
	bool seen[OBJECTS] = {false};
	size_t n = 0;
	char *object;

	while ((object = pawl_pool_get(p)) != NULL) {
		size_t number = (size_t)(object - p->objects) / p->size;

		if (seen[number])
			_exit(7);
		seen[number] = true;
		n++;
	}
	if (n < at_least)
		_exit(8);
	for (n = 0; n < OBJECTS; n++)
		if (seen[n])
			pawl_pool_put(p, p->objects + n * p->size);
}

/* A fork waits for who is inside. So at every other moment all objects are to be
 * had, but for the one that is on its way. */
static void use_atomic_pool(void)
{
	void *object;

	if (in_handler) {
		/* Relaxed: our own thread's. */
		if (pawl_load_relaxed(&pawl_lease_self()->flag) == 0)
			all_objects_or_exit(&atomic_pool, OBJECTS - 1);
		return;
	}
	object = pawl_pool_get(&atomic_pool);
	if (object == NULL)
		_exit(4);
	pawl_pool_put(&atomic_pool, object);
}

static void (*used)(void);

static void use_in_handler(int signal)
{
	(void)signal;
	in_handler = 1;
	used();
	in_handler = 0;
}

/* Where the stepping ends. */
__attribute__((noinline)) static void finished(void)
{
	__asm__ volatile("" ::: "memory");
}

/* A system call that the tracer can have made. */
__asm__(".text\nsystem_call: syscall\n");
extern const char system_call[];

static void create_all(void)
{
	const struct pawl_pool_plan plan = {.size = 64, .limit = OBJECTS};
	const struct pawl_pool_plan atomic = {
		.size = 64, .limit = OBJECTS, .kind = PAWL_SHARDS_ATOMIC};

	if (pawl_pool_create(&pool, &plan) != 0 ||
	    pawl_pool_create(&atomic_pool, &atomic) != 0 ||
	    pawl_counter_create(&counter, PAWL_SHARDS_LEASED) != 0 ||
	    pawl_idalloc_create(&ids, PAWL_SHARDS_LEASED, OBJECTS) != 0)
		_exit(9);
}

/* The traced process. It, and every copy of it, ends with 0 if all is well. */
static void be_traced(void (*use)(void))
{
	int64_t sum;

	signal(SIGUSR1, use_in_handler);
	signal(SIGCHLD, SIG_IGN); /* copies of it are its children */
	used = use;
	if (use != use_lease) /* which is also the first to ask for the mode */
		create_all();
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
		_exit(CHILD_SKIPS);
	raise(SIGSTOP);
	use();
	finished();
	use();
	if (use == use_pool)
		all_objects_or_exit(&pool, OBJECTS);
	if (use == use_atomic_pool)
		all_objects_or_exit(&atomic_pool, OBJECTS);
	if (use == use_counter &&
	    (!pawl_counter_exact(&counter, 1000000000, &sum) || sum % COUNTED != 0 ||
	     sum < 2 * COUNTED || sum > 3 * COUNTED))
		_exit(10);
	_exit(0);
}

/* Copies the traced process as it stands; the copy is stopped. */
static pid_t copy_of(pid_t pid)
{
	struct user_regs_struct before = registers_of(pid), call = before;
	unsigned long copy = 0;

	call.rip = (unsigned long)system_call;
	call.rax = SYS_fork;
	call.orig_rax = before.orig_rax = (unsigned long)-1;
	ptrace(PTRACE_SETREGS, pid, NULL, &call);
	assert_true(step(pid)); /* into the fork */
	assert_int_equal(ptrace(PTRACE_GETEVENTMSG, pid, NULL, &copy), 0);
	assert_true(copy > 0);
	assert_true(step(pid)); /* and out of it */
	ptrace(PTRACE_SETREGS, pid, NULL, &before);
	assert_true(WIFSTOPPED(await((pid_t)copy)));
	ptrace(PTRACE_SETREGS, (pid_t)copy, NULL, &before);
	return (pid_t)copy;
}

/* Lets it go on to its end, and returns how that was. A signal that is blocked is
 * reported once more when it comes. */
static int run_with_signal(pid_t pid)
{
	int status;

	do {
		ptrace(PTRACE_CONT, pid, NULL, SIGUSR1);
		status = await(pid);
	} while (WIFSTOPPED(status) && WSTOPSIG(status) == SIGUSR1);
	return status;
}

static void interrupt_everywhere(void (*use)(void), const char *name)
{
	unsigned long end = (unsigned long)finished;
	int status, steps = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		be_traced(use);
	status = await(pid);
	if (!WIFSTOPPED(status)) {
		print_message("single-stepping is not possible here\n");
		skip();
	}
	assert_int_equal(ptrace(PTRACE_SETOPTIONS, pid, NULL,
				PTRACE_O_TRACEFORK | PTRACE_O_EXITKILL),
			 0);
	for (; registers_of(pid).rip != end; steps++) {
		pid_t copy = copy_of(pid);

		status = run_with_signal(copy);
		if (status != 0)
			fail_msg("%s: interrupted after %d instructions it ends with %x",
				 name, steps, (unsigned)status);
		assert_true(step_on(pid));
	}
	print_message("%s: interrupted at each of %d instructions\n", name, steps);
	assert_true(steps > 100);
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	assert_int_equal(await(pid), 0);
}

static void a_first_use_may_be_in_a_signal_handler(void **state)
{
	(void)state;
	interrupt_everywhere(use_lease, "lease");
	interrupt_everywhere(use_counter, "counter");
	interrupt_everywhere(use_pool, "pool");
	interrupt_everywhere(use_ids, "ids");
}

/* Forks while another thread keeps house. */

static struct page {
	pawl_atomic64 tid, begun, wanted, done, over;
} * page;

static void keep_house(void)
{
	int64_t sum;

	pawl_counter_exact(&counter, 1000000000, &sum);
	pawl_shards_reclaim(&pool.slots.shards);
	pawl_pool_trim(&pool);
}

static void *be_stepped(void *unused)
{
	pawl_lease_self();
	pawl_store_release(&page->tid, (uint64_t)syscall(SYS_gettid));
	while (pawl_load_acquire(&page->begun) == 0)
		;
	keep_house();
	pawl_store_release(&page->over, 1);
	for (;;)
		pause();
	return unused;
}

/* Leaves the shard that it was in, if any, when it was forked. */
static void leave(struct pawl_shard *s)
{
	if (s != NULL)
		pawl_shards_exit(&counter.shards, s, pawl_lease_self());
}

/* In the child of a fork: everything is to be had. */
static void use_all_or_exit(void)
{
	struct pawl_lease_handle *h = pawl_lease_self();
	struct pawl_shard *s;
	int64_t sum = 0;

	alarm(HANG_GUARD_S);
	if (!pawl_counter_exact(&counter, 1000000000, &sum) || sum != 2 * COUNTED)
		_exit(11);
	pawl_counter_add(&counter, COUNTED);
	s = pawl_shards_enter(&counter.shards, h);
	if (s == NULL)
		_exit(12);
	pawl_shards_exit(&counter.shards, s, h);
	if (!pawl_counter_exact(&counter, 1000000000, &sum) || sum != 3 * COUNTED)
		_exit(13);
	/* A thread inside for longer than a fork waits may lose what it moves. */
	all_objects_or_exit(&pool, OBJECTS - PAWL_SLOTS_CACHE);
	use_ids();
	_exit(0);
}

/* The process: forks when it is told to, and ends when a child was not content. */
static void be_forked(void)
{
	struct pawl_shard *s;
	pthread_t thread;
	uint64_t wanted;
	int status;
	pid_t pid;

	create_all();
	/* More than one shard, if there is more than one CPU. */
	sit_on(1);
	use_counter();
	use_pool();
	sit_on(0);
	use_counter();
	use_pool();
	if (pthread_create(&thread, NULL, be_stepped, NULL) != 0)
		_exit(14);
	for (;;) {
		while ((wanted = pawl_load_acquire(&page->wanted)) ==
		       pawl_load_acquire(&page->done))
			sched_yield();
		/* Its lease is what the other thread breaks and drains; every other
		 * time it is inside when it forks. */
		s = pawl_shards_enter(&counter.shards, pawl_lease_self());
		if (wanted % 2 == 0) {
			leave(s);
			s = NULL;
		}
		pid = fork();
		leave(s);
		if (pid == 0)
			use_all_or_exit();
		if (waitpid(pid, &status, 0) != pid || status != 0)
			_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 15);
		pawl_store_release(&page->done, wanted);
	}
}

/* Has a fork made while the stepped thread stands still; or, if the fork waits for
 * that thread, goes on. */
static bool fork_here(pid_t thread, pid_t pid, int *status)
{
	uint64_t wanted = pawl_load_acquire(&page->wanted) + 1, patience = 0;

	pawl_store_release(&page->wanted, wanted);
	while (pawl_load_acquire(&page->done) != wanted) {
		if (waitpid(pid, status, WNOHANG) == pid && !WIFSTOPPED(*status))
			return false;
		if (++patience % 64 == 0 && pawl_load_acquire(&page->over) == 0 &&
		    !step(thread))
			return false;
		usleep(100);
	}
	return true;
}

static void a_fork_waits_for_who_moves_slots_by_atomics(void **state)
{
	(void)state;
	interrupt_everywhere(use_atomic_pool, "atomic pool");
}

static void a_fork_may_come_while_another_thread_keeps_house(void **state)
{
	int status = 0, forks = 0;
	pid_t pid, thread;

	(void)state;
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		    0);
	assert_true(page != MAP_FAILED);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		be_forked();
	while (pawl_load_acquire(&page->tid) == 0)
		breathe();
	thread = (pid_t)pawl_load_acquire(&page->tid);
	if (ptrace(PTRACE_SEIZE, thread, NULL, PTRACE_O_EXITKILL) != 0 ||
	    ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) != 0 ||
	    !WIFSTOPPED(await(thread))) {
		kill(pid, SIGKILL);
		print_message("single-stepping is not possible here\n");
		skip();
	}
	pawl_store_release(&page->begun, 1);
	while (pawl_load_acquire(&page->over) == 0) {
		if (!step_on(thread) || !fork_here(thread, pid, &status))
			break;
		forks++;
	}
	print_message("forked %d times\n", forks);
	if (pawl_load_acquire(&page->over) == 0)
		fail_msg("the child of fork number %d ended the process with %x", forks,
			 (unsigned)status);
	kill(pid, SIGKILL);
	await(thread); /* first: a process ends after its threads */
	await(pid);
	assert_true(forks > 100);
}
#else
static void a_fork_waits_for_who_moves_slots_by_atomics(void **state)
{
	(void)state;
	skip_because("only x86-64 is stepped");
}

static void a_first_use_may_be_in_a_signal_handler(void **state)
{
	(void)state;
	skip_because("only x86-64 is stepped");
}

static void a_fork_may_come_while_another_thread_keeps_house(void **state)
{
	(void)state;
	skip_because("only x86-64 is stepped");
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_first_use_may_be_in_a_signal_handler),
		cmocka_unit_test(a_fork_waits_for_who_moves_slots_by_atomics),
		cmocka_unit_test(a_fork_may_come_while_another_thread_keeps_house),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
