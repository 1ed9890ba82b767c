/* SPDX-License-Identifier: MIT */
/* The operating system's side of shared memory, for Linux with glibc. */
#define _GNU_SOURCE
#include "os/linux.h"
#include "os/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A thread's number takes the high bits of its name, its birth the low ones. */
enum { BIRTH_BITS = 40 };

static bool membarrier(int command)
{
	int saved = errno;
	bool done = syscall(SYS_membarrier, command, 0, 0) == 0;

	errno = saved;
	return done;
}

bool pawl_os_barrier_all_prepare(void)
{
	return membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED);
}

bool pawl_os_barrier_all(void)
{
	return membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

static bool earlier(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec ||
	       (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

enum pawl_wake pawl_os_sleep_shared(const pawl_atomic64 *word, uint32_t expected,
				    const struct pawl_deadline *deadline, uint64_t ns)
{
	bool realtime = deadline != NULL && deadline->realtime;
	struct timespec until = time_on(realtime);
	bool late = false, timed_out;
	int saved = errno;

	until.tv_nsec += (long)ns;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	if (deadline != NULL && !earlier(&until, &deadline->time)) {
		until = deadline->time;
		late = true;
	}
	timed_out = syscall(SYS_futex, low_half(word),
			    FUTEX_WAIT_BITSET | (realtime ? FUTEX_CLOCK_REALTIME : 0),
			    expected, &until, NULL, FUTEX_BITSET_MATCH_ANY) != 0 &&
		    errno == ETIMEDOUT;
	errno = saved;
	if (!timed_out)
		return PAWL_WOKEN;
	return late ? PAWL_LATE : PAWL_LOOK;
}

void pawl_os_wake_shared(const pawl_atomic64 *word)
{
	int saved = errno;

	syscall(SYS_futex, low_half(word), FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	errno = saved;
}

/* Reads the beginning of a small file as text; false if it cannot be had. */
static bool read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return false;
	got = read(fd, text, size - 1);
	close(fd);
	if (got <= 0)
		return false;
	text[got] = '\0';
	return true;
}

static uint64_t hash(const char *text)
{
	uint64_t h = 0xCBF29CE484222325u; /* FNV-1a */

	for (; *text != '\0'; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001B3u;
	return h;
}

/*
 * When a thread was born, in a number that also tells this boot from others;
 * false if that cannot be had. *over: it has ended, and only its number is left.
 */
static bool birth(pid_t tid, uint64_t *born, bool *over)
{
	char path[64], text[1024], boot[64];
	const char *field;
	int i;

	/* As a thread: the file of its process sums up all threads' times, and
	 * qemu-user makes up that of its own process, with another birth. */
	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)tid, (int)tid);
	if (!read_text(path, text, sizeof(text)))
		return false;
	field = strrchr(text, ')'); /* the name before it may hold anything */
	if (field == NULL || strlen(field) < 3)
		return false;
	field += 2;
	*over = *field == 'Z' || *field == 'X';
	for (i = 3; i < 22 && field != NULL; i++) /* field 22: starttime */
		field = strchr(field + 1, ' ');
	if (field == NULL)
		return false;
	if (!read_text("/proc/sys/kernel/random/boot_id", boot, sizeof(boot)))
		boot[0] = '\0';
	*born = (strtoull(field, NULL, 10) + hash(boot)) &
		(((uint64_t)1 << BIRTH_BITS) - 1);
	return true;
}

uint64_t pawl_os_thread_name(void)
{
	pid_t tid = (pid_t)syscall(SYS_gettid);
	uint64_t born = 0;
	int saved = errno;
	bool over;

	if (!birth(tid, &born, &over))
		born = 0; /* no /proc: numbers that are used again will confuse us */
	errno = saved;
	return (uint64_t)tid << BIRTH_BITS | born;
}

bool pawl_os_thread_gone(uint64_t name)
{
	pid_t tid = (pid_t)(name >> BIRTH_BITS);
	uint64_t born = name & (((uint64_t)1 << BIRTH_BITS) - 1), now;
	bool gone, over;
	int saved = errno;

	if (syscall(SYS_tkill, tid, 0) != 0 && errno == ESRCH)
		gone = true;
	else if (birth(tid, &now, &over))
		gone = over || (born != 0 && now != born);
	else
		/* It went between the two looks, or it is hidden from us. */
		gone = syscall(SYS_tkill, tid, 0) != 0 && errno == ESRCH;
	errno = saved;
	return gone;
}

uint64_t pawl_os_namespace(void)
{
	static const char *const kinds[] = {"/proc/self/ns/pid", "/proc/self/ns/time"};
	char target[64];
	uint64_t sum = 0;
	int saved = errno;
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		ssize_t length = readlink(kinds[i], target, sizeof(target) - 1);

		target[length > 0 ? length : 0] = '\0';
		sum += hash(target);
	}
	errno = saved;
	return sum;
}

/* Turns the way system calls fail into ours. */
static int outcome(bool good, int saved)
{
	int error = good ? 0 : errno;

	errno = saved;
	return error;
}

int pawl_os_file_new(int *fd)
{
	int saved = errno;

	*fd = memfd_create("pawl", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return outcome(*fd >= 0, saved);
}

int pawl_os_file_duplicate(int *copy, int fd)
{
	int saved = errno;

	*copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return outcome(*copy >= 0, saved);
}

void pawl_os_file_close(int fd)
{
	int saved = errno;

	close(fd);
	errno = saved;
}

int pawl_os_file_size(int fd, uint64_t *bytes)
{
	struct stat status;
	int saved = errno;

	if (fstat(fd, &status) != 0)
		return outcome(false, saved);
	if (!S_ISREG(status.st_mode))
		return EINVAL;
	*bytes = (uint64_t)status.st_size;
	return 0;
}

int pawl_os_file_grow(int fd, uint64_t bytes)
{
	return posix_fallocate(fd, 0, (off_t)bytes); /* no errno, by its contract */
}

void pawl_os_file_seal(int fd)
{
	int saved = errno;

	fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	errno = saved;
}

int pawl_os_file_read(int fd, void *to, size_t bytes)
{
	int saved = errno;
	ssize_t got = pread(fd, to, bytes, 0);

	if (got >= 0 && (size_t)got < bytes)
		return EINVAL;
	return outcome(got >= 0, saved);
}

int pawl_os_file_write(int fd, const void *from, size_t bytes)
{
	int saved = errno;
	ssize_t put = pwrite(fd, from, bytes, 0);

	if (put >= 0 && (size_t)put < bytes)
		return EIO;
	return outcome(put >= 0, saved);
}

int pawl_os_file_map(int fd, uint64_t bytes, size_t front, void **base)
{
	int saved = errno, error;

	/* Room for both; then the file over the second part of it. */
	*base = mmap(NULL, front + bytes, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (*base == MAP_FAILED)
		return outcome(false, saved);
	if (mmap((char *)*base + front, bytes, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED)
		return 0;
	error = outcome(false, saved);
	pawl_os_file_unmap(*base, front + bytes);
	return error;
}

void pawl_os_file_unmap(void *base, uint64_t bytes)
{
	int saved = errno;

	munmap(base, bytes);
	errno = saved;
}
