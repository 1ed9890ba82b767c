/* SPDX-License-Identifier: MIT */
/* Threads and locks, in place of the C library's. */
#ifndef PROGRAM_THREADS_H
#define PROGRAM_THREADS_H

#include "program.h"

#include <pthread.h>
#include <semaphore.h>

/* Runs the program's constructors on its first thread. */
void program_construct(void);

int played_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*run)(void *), void *argument);
int played_pthread_join(pthread_t thread, void **result);
int played_pthread_detach(pthread_t thread);
pthread_t played_pthread_self(void);
int played_pthread_equal(pthread_t a, pthread_t b);
void played_pthread_exit(void *result) __attribute__((noreturn));
int played_sched_yield(void);
int played_thrd_create(pthread_t *thread, int (*run)(void *), void *argument);
int played_thrd_join(pthread_t thread, int *result);
void played_thrd_exit(int result) __attribute__((noreturn));
void played_thrd_yield(void);
int played_pthread_key_create(unsigned *key, void (*destructor)(void *));
int played_pthread_key_delete(unsigned key);
void *played_pthread_getspecific(unsigned key);
int played_pthread_setspecific(unsigned key, const void *value);
int played_thread_atexit(void (*run)(void *), void *object, void *library);

/* The thread's own errno. */
int *played_errno_location(void);

/* locks.c */
void locks_reset(void); /* a new run */
/* The shadow word of an object; a concurrent initialisation or destruction is a race. */
uint64_t *own_word(const void *object, int kind, const void *site);
/* Initialises an object: clears it. */
void own_make(void *object, size_t size, const void *site);

int played_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attributes);
int played_mutex_destroy(pthread_mutex_t *m);
int played_mutex_lock(pthread_mutex_t *m);
int played_mutex_timedlock(pthread_mutex_t *m, const struct timespec *deadline);
int played_mutex_clocklock(pthread_mutex_t *m, int clock,
			   const struct timespec *deadline);
int played_mutex_unlock(pthread_mutex_t *m);
int played_mutex_trylock(pthread_mutex_t *m);
int played_mtx_init(void *m, int type);
void played_mtx_destroy(void *m);
int played_mtx_lock(void *m);
int played_mtx_trylock(void *m);
int played_mtx_timedlock(void *m, const struct timespec *deadline);
int played_mtx_unlock(void *m);
int played_spin_init(pthread_spinlock_t *l, int shared);
int played_spin_destroy(pthread_spinlock_t *l);
int played_spin_lock(pthread_spinlock_t *l);
int played_spin_trylock(pthread_spinlock_t *l);
int played_spin_unlock(pthread_spinlock_t *l);
int played_rwlock_init(pthread_rwlock_t *l, const pthread_rwlockattr_t *attributes);
int played_rwlock_destroy(pthread_rwlock_t *l);
int played_rwlock_rdlock(pthread_rwlock_t *l);
int played_rwlock_tryrdlock(pthread_rwlock_t *l);
int played_rwlock_wrlock(pthread_rwlock_t *l);
int played_rwlock_trywrlock(pthread_rwlock_t *l);
int played_rwlock_unlock(pthread_rwlock_t *l);
int played_once(pthread_once_t *once, void (*run)(void));
int played_guard_acquire(uint64_t *guard);
void played_guard_release(uint64_t *guard);
void played_guard_abort(uint64_t *guard);

int mutex_lock(pthread_mutex_t *m, const void *site);
int mutex_unlock(pthread_mutex_t *m, const void *site);
bool mutex_is_held(const pthread_mutex_t *m, const void *site);

/* conditions.c */
void conditions_reset(void); /* a new run */

/* The parts of a wait: join the set, unlock the mutex, sleep, lock the mutex. A timed
 * sleep that no thread ends has timed out; that is another execution. */
void condition_join(uint64_t *set, const void *site);
void condition_sleep(const void *c, bool timed, const void *site);
/* One spurious wake-up per thread, which a caller must expect at any time. */
bool condition_wakes_for_nothing(const void *site);
void condition_signal(uint64_t *set, const void *c, const void *site);
void condition_broadcast(uint64_t *set, const void *c, const void *site);

int played_cond_init(pthread_cond_t *c, const pthread_condattr_t *attributes);
int played_cond_destroy(pthread_cond_t *c);
int played_cond_wait(pthread_cond_t *c, pthread_mutex_t *m);
int played_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
			  const struct timespec *deadline);
int played_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, int clock,
			  const struct timespec *deadline);
int played_cond_signal(pthread_cond_t *c);
int played_cond_broadcast(pthread_cond_t *c);
int played_cnd_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
			 const struct timespec *deadline);
int played_cnd_init(pthread_cond_t *c);
void played_cnd_destroy(pthread_cond_t *c);

/* semaphores.c */
int played_sem_init(sem_t *s, int shared, unsigned value);
int played_sem_destroy(sem_t *s);
int played_sem_wait(sem_t *s);
int played_sem_trywait(sem_t *s);
int played_sem_timedwait(sem_t *s, const struct timespec *deadline);
int played_sem_clockwait(sem_t *s, int clock, const struct timespec *deadline);
int played_sem_post(sem_t *s);
int played_sem_getvalue(sem_t *s, int *value);
int played_barrier_init(pthread_barrier_t *b, const pthread_barrierattr_t *attributes,
			unsigned count);
int played_barrier_destroy(pthread_barrier_t *b);
int played_barrier_wait(pthread_barrier_t *b);

#endif /* PROGRAM_THREADS_H */
