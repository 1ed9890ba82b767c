/* SPDX-License-Identifier: MIT */
/* The operating system's side of the runtime, for Linux with glibc. */
#define _GNU_SOURCE
#include "os.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int membarrier(int command)
{
	int saved = errno;
	int result = (int)syscall(SYS_membarrier, command, 0, 0);

	errno = saved;
	return result;
}

bool pawl_os_barrier_prepare(void)
{
	return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
}

bool pawl_os_barrier(void)
{
	return membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
}

static const uint32_t *low_half(const pawl_atomic64 *word)
{
	const bool big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

	return (const uint32_t *)&word->raw + big_endian;
}

bool pawl_os_sleep(const pawl_atomic64 *word, uint32_t expected,
		   const struct pawl_deadline *deadline)
{
	int clock = deadline != NULL && deadline->realtime ? FUTEX_CLOCK_REALTIME : 0;
	int saved = errno;
	bool timed_out;

	/* EAGAIN, EINTR: the caller looks again, as after any wake-up. */
	timed_out = syscall(SYS_futex, low_half(word), FUTEX_WAIT_BITSET_PRIVATE | clock,
			    expected, deadline != NULL ? &deadline->time : NULL, NULL,
			    FUTEX_BITSET_MATCH_ANY) != 0 &&
		    errno == ETIMEDOUT;
	errno = saved;
	return !timed_out;
}

void pawl_os_wake(const pawl_atomic64 *word)
{
	int saved = errno;

	syscall(SYS_futex, low_half(word), FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	errno = saved;
}

void pawl_os_yield(void)
{
	sched_yield();
}

unsigned pawl_os_cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		return (unsigned)CPU_COUNT(&set);
	return 2; /* more CPUs than the set has room for, surely */
}

/* glibc's registry of thread-local destructors; uses up no pthread key. */
extern int __cxa_thread_atexit_impl(void (*run)(void *), void *argument, void *library);
extern void *__dso_handle;

bool pawl_os_at_thread_exit(void (*run)(void *argument), void *argument)
{
	return __cxa_thread_atexit_impl(run, argument, &__dso_handle) == 0;
}

uint64_t pawl_os_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void pawl_os_complain(const char *text)
{
	size_t left = strlen(text);

	while (left > 0) {
		ssize_t done = write(STDERR_FILENO, text, left);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return;
		text += done;
		left -= (size_t)done;
	}
}
