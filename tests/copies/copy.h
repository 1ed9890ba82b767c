/* SPDX-License-Identifier: MIT */
/* A shared object with a copy of libpawl in it, for a program that has none: what it does
 * with the locks that the program gives it. */
#ifndef TESTS_COPIES_COPY_H
#define TESTS_COPIES_COPY_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct pawl_cond;
struct pawl_mutex;
struct pawl_rwlock;
struct pawl_semaphore;
struct pawl_ticket_park;

struct copy {
	uint64_t (*me)(void);
	void (*lock)(struct pawl_mutex *m);
	int (*lock_until)(struct pawl_mutex *m, int clock, const struct timespec *time);
	void (*unlock)(struct pawl_mutex *m);
	void (*wait)(struct pawl_cond *c, struct pawl_mutex *m);
	void (*signal)(struct pawl_cond *c);
	void (*broadcast)(struct pawl_cond *c);
	void (*take)(struct pawl_semaphore *s);
	int (*post)(struct pawl_semaphore *s);
	uint64_t (*draw)(void);
	void (*read_lock)(struct pawl_rwlock *l);
	bool (*read_trylock)(struct pawl_rwlock *l);
	void (*read_unlock)(struct pawl_rwlock *l);
	void (*write_lock)(struct pawl_rwlock *l);
	bool (*write_trylock)(struct pawl_rwlock *l);
	void (*write_unlock)(struct pawl_rwlock *l);
	void (*ticket_lock)(struct pawl_ticket_park *l);
	void (*ticket_unlock)(struct pawl_ticket_park *l);
};

#endif /* TESTS_COPIES_COPY_H */
