/* SPDX-License-Identifier: MIT */
/*
 * Counters of gcov in simulated code (pawl-covered). That code is compiled with
 * -fprofile-update=atomic, so the compiler turns an increment into this call of the
 * sanitizer instead of a plain access, which an engine would judge and which would leave
 * the count in a register, as part of the thread's state.
 */
#include <gcov.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>

uint64_t __tsan_atomic64_fetch_add(uint64_t *counter, uint64_t n, int order);
uint64_t __tsan_atomic64_fetch_add(uint64_t *counter, uint64_t n, int order)
{
	(void)order;
	*counter += n; /* one thread runs all fibers */
	return 0;      /* not the count: the same in every execution */
}

/* A case ends its process by _exit: the linker puts this in its place (--wrap). */
_Noreturn void __real__exit(int status);
_Noreturn void __wrap__exit(int status);
_Noreturn void __wrap__exit(int status)
{
	__gcov_dump();
	__real__exit(status);
}

/* A case that has sent its result still writes its counters, and is killed when the
 * command ends (PR_SET_PDEATHSIG): so the command waits. */
__attribute__((destructor)) static void wait_for_cases(void)
{
	while (wait(NULL) > 0)
		;
}
