/* SPDX-License-Identifier: MIT */
/*
 * What pawl asks of the operating system for memory that processes share; see
 * os.h for the rest. Nothing here sets errno; what returns an int returns 0 or
 * an error number.
 */
#ifndef PAWL_OS_SHARED_H
#define PAWL_OS_SHARED_H

#include "os/os.h"

#include <stddef.h>

/*
 * A barrier as pawl_os_barrier, on the threads of all processes that prepared
 * it. Both return false if the system has or allows no such thing.
 */
bool pawl_os_barrier_all_prepare(void);
bool pawl_os_barrier_all(void);

/* How a sleep on shared memory ended. */
enum pawl_wake {
	PAWL_WOKEN, /* or for no reason */
	PAWL_LOOK,  /* the time has come to look around */
	PAWL_LATE,  /* the deadline has passed */
};

/* As pawl_os_sleep, for words that processes share; sleeps `ns` at most. */
enum pawl_wake pawl_os_sleep_shared(const pawl_atomic64 *word, uint32_t expected,
				    const struct pawl_deadline *deadline, uint64_t ns);

/* Wakes all who sleep on this word, in any process. */
void pawl_os_wake_shared(const pawl_atomic64 *word);

/*
 * A name for the calling thread, which no other thread of this system has, had
 * or will have while the system runs; more than 1. It includes the time of the
 * thread's birth, for thread numbers are used again.
 */
uint64_t pawl_os_thread_name(void);

/*
 * Whether the thread of this name is gone for good. False if that cannot be
 * told. Once it is true, all that the thread ever stored can be seen.
 */
bool pawl_os_thread_gone(uint64_t name);

/* A number for what makes names of threads comparable: processes for which it
 * differs do not see each other's threads. */
uint64_t pawl_os_namespace(void);

/* Files. A file's size is that of a regular file; others have none. */
int pawl_os_file_new(int *fd); /* anonymous */
int pawl_os_file_duplicate(int *copy, int fd);
void pawl_os_file_close(int fd);
int pawl_os_file_size(int fd, uint64_t *bytes);
/* To this size, with zeros and room for them, however many signals come. After an error
 * it may have grown. */
int pawl_os_file_grow(int fd, uint64_t bytes);
int pawl_os_file_cut(int fd); /* to size 0 */
/* Keeps an anonymous file from ever changing its size; others may. */
void pawl_os_file_seal(int fd);
/* All bytes, or an error; EINVAL if the file is too short to read them. */
int pawl_os_file_read(int fd, void *to, size_t bytes);
int pawl_os_file_write(int fd, const void *from, size_t bytes, uint64_t offset);

/*
 * Another descriptor of a file, with the same access, and the file's lock. The lock
 * excludes all other processes that lock the file, and ends with unlock or with the
 * process; or it is one that the caller of the library holds, and stays. The child of a
 * fork that closes its copy does not end it.
 */
enum pawl_file_lock { PAWL_LOCK_NEW, PAWL_LOCK_PROCESS, PAWL_LOCK_CALLERS };
int pawl_os_file_reopen(int *copy, int fd, enum pawl_file_lock *kind);
int pawl_os_file_lock(int copy, int fd, enum pawl_file_lock *kind);
void pawl_os_file_unlock(int copy, enum pawl_file_lock kind);

/* Maps a file, and right in front of it zero bytes of this process's own; `front`
 * is a multiple of every page size. */
int pawl_os_file_map(int fd, uint64_t bytes, size_t front, void **base);
void pawl_os_file_unmap(void *base, uint64_t bytes);

#endif /* PAWL_OS_SHARED_H */
