/* SPDX-License-Identifier: MIT */
/* What clang's -Wthread-safety sees: in C, and in C++ of the same functions. */
#include <pawl/pawl.h>

#ifndef MISUSE
#define MISUSE 0
#endif

static struct pawl_mutex mutex;
static struct pawl_cond cond;
static struct pawl_rwlock rwlock;
static struct pawl_mcs_park queue;
static int balance __attribute__((guarded_by(mutex)));
static int rate __attribute__((guarded_by(rwlock)));
static int count __attribute__((guarded_by(queue)));

int use(void);
int use(void)
{
	int seen = 0;

#if MISUSE == 1
	balance++;
#endif
	pawl_mutex_lock(&mutex);
	balance++;
	pawl_cond_wait(&cond, &mutex);
#if MISUSE == 2
	pawl_mutex_lock(&mutex);
#endif
	pawl_mutex_unlock(&mutex);
#if MISUSE == 3
	pawl_cond_wait(&cond, &mutex);
#endif
	if (pawl_mutex_trylock(&mutex)) {
		seen = balance;
		pawl_mutex_unlock(&mutex);
	}
	pawl_rwlock_read_lock(&rwlock);
	seen += rate;
#if MISUSE == 4
	rate = 0;
#endif
	pawl_rwlock_read_unlock(&rwlock);
	pawl_rwlock_write_lock(&rwlock);
	rate = seen;
	pawl_rwlock_write_unlock(&rwlock);
	pawl_mcs_park_lock(&queue);
	count++;
	pawl_mcs_park_unlock(&queue);
#if MISUSE == 5
	count++;
#endif
	return seen;
}
