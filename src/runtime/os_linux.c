/* SPDX-License-Identifier: MIT */
/* The operating system's side of the runtime, for Linux with glibc. */
#define _GNU_SOURCE
#include "os.h"

#include <errno.h>
#include <linux/membarrier.h>
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
