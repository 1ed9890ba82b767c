/* SPDX-License-Identifier: MIT */
/* The operating system interface for shared memory, for Linux with glibc. */
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

/* A thread's name: the thread id in the high bits, a hash of its start time in the low
 * 40. */
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

/* Reads the beginning of a small file as text; false if it cannot be read. */
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
 * When the thread started, hashed with the boot id so that boots differ; false if
 * unknown. *over: the thread has exited and is a zombie.
 */
static bool birth(pid_t tid, uint64_t *born, bool *over)
{
	char path[64], text[1024], boot[64];
	const char *field;
	int i;

	/* The file of the thread, not of the process: the latter sums the times of all
	 * threads, and qemu-user emulates it for its own process, with another start
	 * time. */
	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)tid, (int)tid);
	if (!read_text(path, text, sizeof(text)))
		return false;
	field = strrchr(text, ')'); /* the command name before it may contain anything */
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
		born = 0; /* no /proc: a reused thread id cannot be told from the old thread */
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
		/* The thread exited between the two checks, or /proc hides it from us. */
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

/* Converts the result of a system call to 0 or an error number, and restores errno. */
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
	/* In steps of 1 MiB: when a signal arrives, tmpfs undoes the whole fallocate, and
	 * a process with a fast timer would never finish. */
	const uint64_t step = 1 << 20;
	uint64_t from;

	for (from = 0; from < bytes; from += step) {
		uint64_t more = bytes - from < step ? bytes - from : step;
		int error;

		do /* posix_fallocate does not set errno */
			error = posix_fallocate(fd, (off_t)from, (off_t)more);
		while (error == EINTR);
		if (error != 0)
			return error;
	}
	return 0;
}

int pawl_os_file_cut(int fd)
{
	int saved = errno, cut;

	do
		cut = ftruncate(fd, 0);
	while (cut != 0 && errno == EINTR);
	return outcome(cut == 0, saved);
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

int pawl_os_file_write(int fd, const void *from, size_t bytes, uint64_t offset)
{
	int saved = errno;
	ssize_t put = pwrite(fd, from, bytes, (off_t)offset);

	if (put >= 0 && (size_t)put < bytes)
		return EIO;
	return outcome(put >= 0, saved);
}

/*
 * An open file description lock excludes other threads too, and survives when another
 * thread closes a descriptor of the file. But a fork shares the description with the
 * child, so the lock is taken on a new description, opened through /proc. Where that
 * fails (no /proc, no permission) it is a process lock.
 */
int pawl_os_file_reopen(int *copy, int fd, enum pawl_file_lock *kind)
{
	int saved = errno, flags = fcntl(fd, F_GETFL), error;
	uint64_t bytes;
	char path[64];

	if (flags < 0)
		return outcome(false, saved);
	error = pawl_os_file_size(fd, &bytes);
	if (error != 0)
		return error; /* not a regular file: opening it might have side effects */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	*copy = open(path, (flags & O_ACCMODE) | O_CLOEXEC);
	*kind = *copy >= 0 ? PAWL_LOCK_NEW : PAWL_LOCK_PROCESS;
	errno = saved;
	if (*kind == PAWL_LOCK_NEW)
		return 0;
	/* With O_APPEND every write goes to the end of the file. */
	return (flags & O_APPEND) != 0 ? EINVAL : pawl_os_file_duplicate(copy, fd);
}

/* One byte at an offset that programs do not lock; a lock on the whole file includes
 * it. */
static struct flock lock_byte(short type)
{
	return (struct flock){.l_type = type,
			      .l_whence = SEEK_SET,
			      .l_start = (off_t)1 << 62,
			      .l_len = 1};
}

/* Whether the library's caller already holds a lock on the byte, as a process lock or
 * through its description: waiting for that lock would deadlock. */
static bool caller_has_locked(int copy, int fd, enum pawl_file_lock kind)
{
	struct flock others = lock_byte(F_WRLCK), any = lock_byte(F_WRLCK);
	int command = kind == PAWL_LOCK_NEW ? F_OFD_GETLK : F_GETLK;

	return fcntl(copy, command, &any) == 0 && any.l_type != F_UNLCK &&
	       (any.l_pid == getpid() ||
		(fcntl(fd, F_OFD_GETLK, &others) == 0 && others.l_type == F_UNLCK));
}

int pawl_os_file_lock(int copy, int fd, enum pawl_file_lock *kind)
{
	struct flock byte = lock_byte(F_WRLCK);
	int saved = errno, set;

	if (caller_has_locked(copy, fd, *kind)) {
		*kind = PAWL_LOCK_CALLERS;
		errno = saved;
		return 0;
	}
	do
		set = fcntl(copy, *kind == PAWL_LOCK_NEW ? F_OFD_SETLKW : F_SETLKW,
			    &byte);
	while (set != 0 && errno == EINTR);
	return outcome(set == 0, saved);
}

void pawl_os_file_unlock(int copy, enum pawl_file_lock kind)
{
	struct flock byte = lock_byte(F_UNLCK);
	int saved = errno;

	if (kind != PAWL_LOCK_CALLERS)
		fcntl(copy, kind == PAWL_LOCK_NEW ? F_OFD_SETLK : F_SETLK, &byte);
	errno = saved;
}

int pawl_os_file_map(int fd, uint64_t bytes, size_t front, void **base)
{
	int saved = errno, error;

	/* Reserves space for both, then maps the file over the second part. */
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
