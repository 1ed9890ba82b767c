/* SPDX-License-Identifier: MIT */
/*
 * Counts what the uncontended path really executes: a child runs lock and
 * unlock, inlined, and is single-stepped through them. Read-modify-writes must
 * be as many as the registry and the header's card say; fences and calls none.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <pawl/pawl.h>

#include <errno.h>
#include "registry/registry.h"
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Locks that know NUMA nodes find some. */
unsigned __wrap_pawl_numa_node_native_(void);

unsigned __wrap_pawl_numa_node_native_(void)
{
	return 1;
}

struct executed {
	int instructions, rmws, fences, calls;
};

/* The operations, one function each, as a user's compiler would build them. */
#define PAWL_LOCK(id, name, admission, context, unlock, destroy, try, release, waiting, \
		  lock_rmws, unlock_rmws, source)                                       \
	__attribute__((noinline)) static void id##_lock(void *l)                        \
	{                                                                               \
		pawl_##id##_lock(l);                                                    \
	}                                                                               \
	__attribute__((noinline)) static void id##_unlock(void *l)                      \
	{                                                                               \
		pawl_##id##_unlock(l);                                                  \
	}
#include <pawl/locks.def>
#undef PAWL_LOCK

/* No lock of the registry, for it does not wait. */
__attribute__((noinline)) static void lease_lock(void *l)
{
	if (pawl_lease_acquire(l, pawl_lease_self()) != PAWL_LEASE_OK)
		abort();
}

__attribute__((noinline)) static void lease_unlock(void *l)
{
	pawl_lease_release(l, pawl_lease_self());
}

/* Nor is this one: it has two kinds of section. */
__attribute__((noinline)) static void rwlock_read_lock(void *l)
{
	pawl_rwlock_read_lock(l);
}

__attribute__((noinline)) static void rwlock_read_unlock(void *l)
{
	pawl_rwlock_read_unlock(l);
}

__attribute__((noinline)) static void rwlock_write_lock(void *l)
{
	pawl_rwlock_write_lock(l);
}

__attribute__((noinline)) static void rwlock_write_unlock(void *l)
{
	pawl_rwlock_write_unlock(l);
}

enum { MANY = 1000 }; /* reads make a lock biased */

static const struct operations {
	const char *name;
	void (*lock)(void *l);
	void (*unlock)(void *l);
	int before; /* times, if twice is not enough */
} operations[] = {
#define PAWL_LOCK(id, name, admission, context, unlock, destroy, try, release, waiting, \
		  lock_rmws, unlock_rmws, source)                                       \
	{name, id##_lock, id##_unlock, 0},
#include <pawl/locks.def>
#undef PAWL_LOCK
};

#if defined(__x86_64__)
#include <sys/user.h>

/* Classifies the instruction at p: just enough of x86-64 for our purpose. */
static void classify(const unsigned char *p, struct executed *executed)
{
	bool locked = false;

	executed->instructions++;
	for (;; p++) {
		if (*p == 0xF0)
			locked = true;
		else if (*p != 0x66 && *p != 0x67 && *p != 0xF2 && *p != 0xF3 &&
			 *p != 0x2E && *p != 0x36 && *p != 0x3E && *p != 0x26 &&
			 *p != 0x64 && *p != 0x65)
			break;
	}
	if ((*p & 0xF0) == 0x40) /* REX */
		p++;
	if (locked || ((p[0] == 0x86 || p[0] == 0x87) && p[1] < 0xC0))
		executed->rmws++; /* lock prefix; xchg with memory */
	else if (p[0] == 0x0F && p[1] == 0xAE && p[2] >= 0xE8)
		executed->fences++; /* lfence, mfence, sfence */
	else if (p[0] == 0xE8 ||
		 (p[0] == 0xFF && ((p[1] >> 3 & 7) == 2 || (p[1] >> 3 & 7) == 3)))
		executed->calls++;
}

static unsigned long instruction_pointer(pid_t child, unsigned long *stack)
{
	struct user_regs_struct registers;

	memset(&registers, 0, sizeof(registers));
	ptrace(PTRACE_GETREGS, child, NULL, &registers);
	*stack = registers.rsp;
	return registers.rip;
}

/* Steps the child once; false if it is gone. */
static bool step(pid_t child)
{
	int status;

	return ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) == 0 &&
	       waitpid(child, &status, 0) == child && WIFSTOPPED(status);
}

/* Steps on to the start of a function, then through it until it returns. */
static bool step_through(pid_t child, void (*function)(void *), struct executed *executed)
{
	unsigned long start, stack, at;

	memcpy(&start, &function, sizeof(start));
	while (instruction_pointer(child, &stack) != start)
		if (!step(child))
			return false;
	for (;;) {
		unsigned long now, top;

		/* The child is a copy of us: its code is ours. */
		at = instruction_pointer(child, &now);
		classify((const unsigned char *)at, executed);
		if (!step(child))
			return false;
		instruction_pointer(child, &top);
		if (top > stack)
			return true;
	}
}

static void stay_here(void)
{
	int cpu = sched_getcpu();
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)(cpu < 0 ? 0 : cpu), &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static bool measure(const struct operations *o, struct executed *lock,
		    struct executed *unlock)
{
	pid_t child;
	int status;
	bool good;

	fflush(NULL);
	child = fork();
	if (child == 0) {
		static uint64_t l[8];
		int i;

		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
			_exit(1);
		stay_here(); /* a lease is bound to its CPU */
		/* The first time pays for nodes and blocks. */
		for (i = 0; i < 2 + o->before; i++) {
			o->lock(l);
			o->unlock(l);
		}
		raise(SIGSTOP);
		o->lock(l);
		o->unlock(l);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
		return false;
	good = step_through(child, o->lock, lock) &&
	       step_through(child, o->unlock, unlock);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return good;
}
#else
static bool measure(const struct operations *o, struct executed *lock,
		    struct executed *unlock)
{
	(void)o, (void)lock, (void)unlock;
	errno = ENOSYS;
	return false;
}
#endif

/* What the card in the header says: "Cost lock N RMW, unlock M RMW; S bytes". */
struct card {
	int lock_rmws, unlock_rmws, size, core_size;
};

static void read_card(const struct lock_type *type, struct card *card)
{
	char path[512], text[8192];
	const char *cost, *core;
	size_t length;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", HEADERS, type->header);
	file = fopen(path, "r");
	if (file == NULL)
		fail_msg("cannot read %s", path);
	length = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[length] = '\0';
	cost = strstr(text, " * Cost ");
	if (cost == NULL ||
	    sscanf(cost, " * Cost lock %d RMW, unlock %d RMW; %d bytes", &card->lock_rmws,
		   &card->unlock_rmws, &card->size) != 3)
		fail_msg("%s: no line \"Cost lock N RMW, unlock M RMW; S bytes\"", path);
	core = strstr(cost, "bytes (core ");
	if (core == NULL || core > strchr(cost, '\n') ||
	    sscanf(core, "bytes (core %d)", &card->core_size) != 1)
		card->core_size = 0;
}

static void executes_what_is_claimed(void **state)
{
	const struct operations *o = *state;
	const struct lock_type *type = lock_type_find(o->name);
	struct executed lock = {0}, unlock = {0};

	if (!measure(o, &lock, &unlock)) {
		print_message("%s: single-stepping is not possible here: %s\n", o->name,
			      strerror(errno));
		skip();
	}
	print_message("%s: lock %d instructions, %d RMWs; unlock %d, %d\n", o->name,
		      lock.instructions, lock.rmws, unlock.instructions, unlock.rmws);
	assert_int_equal(lock.rmws, type->lock_rmws);
	assert_int_equal(unlock.rmws, type->unlock_rmws);
	assert_int_equal(lock.fences + unlock.fences, 0);
	assert_int_equal(lock.calls + unlock.calls, 0);
}

static void a_lease_executes_no_rmw(void **state)
{
	static const struct operations o = {"lease", lease_lock, lease_unlock, 0};
	struct executed lock = {0}, unlock = {0};

	(void)state;
	if (pawl_lease_mode() == PAWL_LEASE_FENCED) {
		print_message("lease: there is no membarrier here\n");
		skip();
	}
	if (!measure(&o, &lock, &unlock)) {
		print_message("lease: single-stepping is not possible here: %s\n",
			      strerror(errno));
		skip();
	}
	print_message("lease: acquire %d instructions, release %d\n", lock.instructions,
		      unlock.instructions);
	assert_int_equal(lock.rmws + unlock.rmws, 0);
	assert_int_equal(lock.fences + unlock.fences, 0);
	assert_int_equal(lock.calls + unlock.calls, 0);
}

/* A biased read has no read-modify-write, a write one; neither has a call. */
static void a_rwlock_executes_what_its_card_says(void **state)
{
	static const struct operations o[] = {
		{"rwlock, read", rwlock_read_lock, rwlock_read_unlock, MANY},
		{"rwlock, write", rwlock_write_lock, rwlock_write_unlock, 0},
	};
	int i;

	(void)state;
	if (pawl_light_fence_full_ != 0) {
		print_message("rwlock: there is no membarrier here\n");
		skip();
	}
	for (i = 0; i < 2; i++) {
		struct executed lock = {0}, unlock = {0};

		if (!measure(&o[i], &lock, &unlock)) {
			print_message("%s: single-stepping is not possible here: %s\n",
				      o[i].name, strerror(errno));
			skip();
		}
		print_message("%s: lock %d instructions, %d RMWs; unlock %d, %d\n",
			      o[i].name, lock.instructions, lock.rmws,
			      unlock.instructions, unlock.rmws);
		assert_int_equal(lock.rmws, i);
		assert_int_equal(unlock.rmws, 0);
		assert_int_equal(lock.fences + unlock.fences, 0);
		assert_int_equal(lock.calls + unlock.calls, 0);
	}
}

static void card_agrees_with_the_registry(void **state)
{
	const struct operations *o = *state;
	const struct lock_type *type = lock_type_find(o->name);
	struct card card;

	read_card(type, &card);
	assert_int_equal(card.lock_rmws, type->lock_rmws);
	assert_int_equal(card.unlock_rmws, type->unlock_rmws);
	assert_int_equal(card.size, type->size);
	assert_int_equal(card.core_size, type->core_size);
}

int main(void)
{
	struct CMUnitTest cases[2 * COUNT_OF(operations) + 2];
	char names[COUNT_OF(cases)][64];
	size_t i, n = 0;

	for (i = 0; i < COUNT_OF(operations); i++) {
		void *state = (void *)(uintptr_t)&operations[i];

		snprintf(names[n], sizeof(names[n]), "executes_what_is_claimed(%s)",
			 operations[i].name);
		cases[n] = (struct CMUnitTest){names[n], executes_what_is_claimed, NULL,
					       NULL, state};
		n++;
		snprintf(names[n], sizeof(names[n]), "card_agrees_with_the_registry(%s)",
			 operations[i].name);
		cases[n] = (struct CMUnitTest){names[n], card_agrees_with_the_registry,
					       NULL, NULL, state};
		n++;
	}
	cases[n++] = (struct CMUnitTest)cmocka_unit_test(a_lease_executes_no_rmw);
	cases[n] = (struct CMUnitTest)cmocka_unit_test(
		a_rwlock_executes_what_its_card_says);
	return cmocka_run_group_tests_name("codegen", cases, NULL, NULL);
}
