/* SPDX-License-Identifier: MIT */
/*
 * What pawl needs from the operating system for memory that processes share; os.h has the
 * rest. No function here changes errno; a function that returns an int returns 0 or an
 * error number.
 */
#ifndef PAWL_OS_SHARED_H
#define PAWL_OS_SHARED_H

#include "os/os.h"

#include <stddef.h>

/*
 * A barrier like pawl_os_barrier, for the threads of all processes that registered with
 * prepare. Both return false if the system lacks it or forbids it.
 */
bool pawl_os_barrier_all_prepare(void);
bool pawl_os_barrier_all(void);

/* How a sleep on shared memory ended. */
enum pawl_wake {
	PAWL_WOKEN, /* or spuriously */
	PAWL_LOOK,  /* `ns` have passed: check for dead owners */
	PAWL_LATE,  /* the deadline has passed */
};

/* As pawl_os_sleep, for words that processes share; sleeps for `ns` at most. */
enum pawl_wake pawl_os_sleep_shared(const pawl_atomic64 *word, uint32_t expected,
				    const struct pawl_deadline *deadline, uint64_t ns);

/* Wakes all threads that sleep on this word, in any process. */
void pawl_os_wake_shared(const pawl_atomic64 *word);

/*
 * A name for the calling thread that no other thread has or gets as long as this system
 * runs; greater than 1. It contains the thread's start time, because thread ids are
 * reused.
 */
uint64_t pawl_os_thread_name(void);

/*
 * Whether the thread with this name has exited. False if unknown. After true, all stores
 * of that thread are visible.
 */
bool pawl_os_thread_gone(uint64_t name);

/* Identifies the pid namespace and boot: processes for which it differs cannot see each
 * other's threads. */
uint64_t pawl_os_namespace(void);

/* Files. Only regular files have a size. */
int pawl_os_file_new(int *fd); /* anonymous */
int pawl_os_file_duplicate(int *copy, int fd);
void pawl_os_file_close(int fd);
int pawl_os_file_size(int fd, uint64_t *bytes);
/* Grows the file to this size, with zeros and allocated blocks, even if signals interrupt
 * it. After an error the file may have grown. */
int pawl_os_file_grow(int fd, uint64_t bytes);
int pawl_os_file_cut(int fd); /* to size 0 */
/* Seals the size of an anonymous file; has no effect on other files. */
void pawl_os_file_seal(int fd);
/* Transfers all bytes or returns an error; EINVAL if the file is too short to read
 * them. */
int pawl_os_file_read(int fd, void *to, size_t bytes);
int pawl_os_file_write(int fd, const void *from, size_t bytes, uint64_t offset);

/*
 * Reopens a file with the same access mode, and locks it. The lock excludes all other
 * processes that lock the file, and ends with unlock or with the process; if the
 * library's caller already holds such a lock, that lock is used and stays. A forked child
 * that closes its copy does not release it.
 */
enum pawl_file_lock { PAWL_LOCK_NEW, PAWL_LOCK_PROCESS, PAWL_LOCK_CALLERS };
int pawl_os_file_reopen(int *copy, int fd, enum pawl_file_lock *kind);
int pawl_os_file_lock(int copy, int fd, enum pawl_file_lock *kind);
void pawl_os_file_unlock(int copy, enum pawl_file_lock kind);

/* Maps a file, directly preceded by `front` private zero bytes; `front` is a multiple of
 * every page size. */
int pawl_os_file_map(int fd, uint64_t bytes, size_t front, void **base);
void pawl_os_file_unmap(void *base, uint64_t bytes);

#endif /* PAWL_OS_SHARED_H */
