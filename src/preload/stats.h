/* SPDX-License-Identifier: MIT */
/*
 * Counting, if PAWL_STATS asks for it. Each thread counts in its own record; what
 * is shared, the table of contended locks, is written only by who waits.
 */
#ifndef PAWL_PRELOAD_STATS_H
#define PAWL_PRELOAD_STATS_H

#include "preload/preload.h"

extern bool stats_on;
/* True while this thread sleeps for a signal, not for a lock. */
extern __thread bool stats_in_cond __attribute__((tls_model("initial-exec")));

void stats_start(const char *lock, const char *path);
void stats_forked(void);

void stats_acquired(void);
/* Around a wait for m: begins it, and ends it with what the first returned. */
uint64_t stats_waiting(const struct mutex *m, const void *site);
void stats_waited(const struct mutex *m, uint64_t since);

/* The same of read-write locks. */
void stats_read(void);
void stats_written(void);
uint64_t stats_rwlock_waiting(const void *rw, const void *site);
void stats_rwlock_waited(const void *rw, uint64_t since);

/* Of a wait for a mutex into whose queue a signal put this thread. */
void stats_requeued(uint64_t time);

#endif /* PAWL_PRELOAD_STATS_H */
