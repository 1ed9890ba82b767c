/* SPDX-License-Identifier: MIT */
/* An attached region; region.c makes them, shared.c uses them. */
#ifndef PAWL_SHARED_SHARED_H
#define PAWL_SHARED_SHARED_H

#include "shared/region.h"

#include <pawl/shared.h>

/*
 * It is in private memory right in front of the mapped file, whose first part, after the
 * header, is the mutexes. So the address of a mutex is computed from that of the region,
 * without a load: after a read-modify-write every load counts.
 */
enum { SHARED_FRONT = 1 << 16, SHARED_HEADER = 128 };

struct pawl_shared {
	struct region r;
	uint64_t serial; /* of this attachment; unique in this process */
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

/* Gives the attachment a serial number, and adds it to the list that exiting threads
 * use. */
void pawl_shared_enlist(struct pawl_shared *s);

/* Called by life.c: in the child of a fork, and at a thread's exit. */
struct pawl_thread;
void pawl_shared_forked(void);
void pawl_region_forked(void); /* region.c's part of it */
void pawl_shared_leave(struct pawl_thread *self);

/* Frees the agents that this process has through the attachment; or EBUSY. */
int pawl_shared_delist(struct pawl_shared *s);

#endif /* PAWL_SHARED_SHARED_H */
