/* SPDX-License-Identifier: MIT */
/*
 * pawl/shared.h - FIFO mutexes between processes, in memory that they share.
 *
 * Choose it  to guard data that several processes map, when one of them may be
 *            killed at any moment.
 * Avoid it   within one process: pawl_mutex needs no region and is faster.
 * Source     Dice & Kogan, "Hapax Locks", PPoPP 2026, appendix B: values mean
 *            the same in every address space.
 * Departs    from it: arrival is a compare-and-swap, not an exchange, so that a
 *            waiter's predecessor is published before another thread waits for
 *            the waiter, and can be found when the waiter is killed. Waiters sleep.
 * Cost       lock 1 RMW, unlock 0 RMW; 64 bytes a mutex in the region. Waiting
 *            is fair: strict order of arrival.
 *
 * State, invariants M1 to M5 and the protocol: docs/design/shared.md. When a process
 * ends, each of its threads ends in the sense of the text below.
 *
 * Order      A section happens before the next one, also if its thread died.
 * Lifetime   A region lives as long as its file; a mutex as long as its region.
 *            Nothing is freed while a process has it attached.
 * Checked    tests/shared; pawl check shared, threads killed at every step;
 *            mutants.
 *
 * A thread that ends, or whose process is killed, while it waits does not disturb the
 * queue. If a holder ends, the next waiter gets the mutex and its lock returns
 * EOWNERDEAD: it owns the mutex, repairs the data that the mutex guards, and calls
 * pawl_shared_mutex_consistent. If it unlocks without this call, the mutex becomes
 * unusable, and every lock returns ENOTRECOVERABLE. EOWNERDEAD is returned once for
 * each death. A waiter notices a death within about 64 ms.
 *
 * The child of a fork may use the region; it is a process of its own and holds no
 * mutex. A process that calls exec while it holds a mutex keeps it until it ends. All
 * processes must see each other's threads (one pid namespace).
 *
 * Functions return 0 or an error number, and leave errno alone.
 */
#ifndef PAWL_SHARED_H
#define PAWL_SHARED_H

#include <stddef.h>
#include <time.h>

/* A region as this process sees it. */
struct pawl_shared;

/* The size of a region; fixed when it is created. */
struct pawl_shared_shape {
	unsigned mutexes;  /* 1 or more; numbered from 0 */
	unsigned threads;  /* of all processes that may use it at a time; 0: 256 */
	size_t data_bytes; /* for the caller's own data; zero at first */
};

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/*
 * Creates a region in an empty file, or, if fd is -1, in an anonymous one, and
 * attaches it. The caller closes the file. EINVAL: the shape is invalid or too
 * large; EEXIST: the file is not empty; if another process has just created a region
 * in it, attach succeeds. Waits while another process creates one in the same file or
 * has a record lock (fcntl) on all of it. After an error, and after the death of a
 * creator, a region can be created in the file.
 */
int pawl_shared_create(struct pawl_shared **region, int fd,
		       const struct pawl_shared_shape *shape);

/*
 * Attaches the region in this file; any number of times, each at another address.
 * EINVAL: the file has no complete and valid region of this version; EXDEV: it
 * belongs to processes that cannot see this one. If a process truncates the file
 * later, its users die of SIGBUS; an anonymous file cannot be truncated.
 */
int pawl_shared_attach(struct pawl_shared **region, int fd);

/* Detaches the region. EBUSY, without effect, while a thread of this process holds one
 * of its mutexes through this attachment; mutexes held through another attachment stay
 * held. No thread may be using this one. */
int pawl_shared_detach(struct pawl_shared *region);

/* A descriptor of the region's file, to send to other processes; do not close it. */
int pawl_shared_fd(const struct pawl_shared *region);
/* The caller's own part of the region, aligned to 64 bytes. */
void *pawl_shared_data(const struct pawl_shared *region);
/* The size of that part. */
size_t pawl_shared_data_bytes(const struct pawl_shared *region);

/*
 * Waits until it owns the mutex: 0 or EOWNERDEAD. ENOTRECOVERABLE: see above.
 * EDEADLK: this thread owns it already. EAGAIN: more threads than the region is
 * made for. EINVAL: no such mutex.
 */
int pawl_shared_mutex_lock(struct pawl_shared *region, unsigned mutex);

/* As above, but EBUSY instead of a wait. */
int pawl_shared_mutex_trylock(struct pawl_shared *region, unsigned mutex);

/* As above, but ETIMEDOUT once the clock (CLOCK_REALTIME or CLOCK_MONOTONIC) has
 * reached the time; EINVAL for another clock or a bad time. */
int pawl_shared_mutex_timedlock(struct pawl_shared *region, unsigned mutex, int clock,
				const struct timespec *time);

/* EPERM: this thread does not own it. */
int pawl_shared_mutex_unlock(struct pawl_shared *region, unsigned mutex);

/* Declares, after EOWNERDEAD, that the data that the mutex guards is repaired. EINVAL:
 * no EOWNERDEAD is pending; EPERM: this thread does not own the mutex. */
int pawl_shared_mutex_consistent(struct pawl_shared *region, unsigned mutex);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#include <pawl/backend/shared_notes.h>

#endif /* PAWL_SHARED_H */
