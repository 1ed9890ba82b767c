/* SPDX-License-Identifier: MIT */
/* An attached region; region.c makes them, shared.c uses them. */
#ifndef PAWL_SHARED_SHARED_H
#define PAWL_SHARED_SHARED_H

#include "shared/region.h"

#include <pawl/shared.h>

/*
 * It lies right in front of the mapped file, in memory of this process's own;
 * and the mutexes come first in the file, after the header. So the address of a
 * mutex is a sum, and need not be loaded: behind a read-modify-write every load
 * counts.
 */
enum { SHARED_FRONT = 1 << 16, SHARED_HEADER = 128 };

struct pawl_shared {
	struct region r;
	uint64_t serial; /* of this attachment; none in this process had it before */
	uint64_t bytes;	 /* of the file */
	void *data;
	size_t data_bytes;
	int fd;
	struct pawl_shared *next; /* in the list of attachments */
};

static inline struct region_mutex *shared_mutex(struct pawl_shared *s, unsigned index)
{
	return (struct region_mutex *)((char *)s + SHARED_FRONT + SHARED_HEADER) + index;
}

/* Gives it a serial number, and keeps it in mind for threads that exit. */
void pawl_shared_enlist(struct pawl_shared *s);

/* What life.c calls: in the child of a fork, and at a thread's exit. */
struct pawl_thread;
void pawl_shared_forked(void);
void pawl_region_forked(void); /* region.c's part of it */
void pawl_shared_leave(struct pawl_thread *self);

/* Gives back the agents that this process has through it; or EBUSY. */
int pawl_shared_delist(struct pawl_shared *s);

#endif /* PAWL_SHARED_SHARED_H */
