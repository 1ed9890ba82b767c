/* SPDX-License-Identifier: MIT */
/*
 * gcov counters in simulated code (pawl-covered). That code is compiled with
 * -fprofile-update=atomic, so an increment becomes this call of the sanitizer instead of
 * a plain access. A plain access would be judged by the engine, and would leave the count
 * in a register, where it would become part of the thread's state.
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

/* A case ends its process by _exit; the linker substitutes this function (--wrap). */
_Noreturn void __real__exit(int status);
_Noreturn void __wrap__exit(int status);
_Noreturn void __wrap__exit(int status)
{
	__gcov_dump();
	__real__exit(status);
}

/* A case that has sent its result still writes its counters, and PR_SET_PDEATHSIG would
 * kill it when the command ends. So the command waits for all cases. */
__attribute__((destructor)) static void wait_for_cases(void)
{
	while (wait(NULL) > 0)
		;
}
