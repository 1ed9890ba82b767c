/* SPDX-License-Identifier: MIT */
/*
 * The interposer from the inside: where pawl's locks live in glibc's objects.
 *
 * glibc's static initialisers write __kind and nothing else, and its attributes
 * end up there too; so __kind stays where it is and says whose object it is.
 * Everything around it is ours, and all-zero is unlocked.
 *
 *   bytes     the default lock           any other lock
 *    0..15    struct pawl_mutex          its body, or the core of it
 *   16..19    __kind
 *   20..23    owner of a recursive or errorcheck mutex
 *   24..31    depth, users               the context of whoever holds it, or
 *   32..39    -                          depth, users, era (see `struct extra`)
 *
 * An object that glibc's bits mark as robust, priority-inheriting or
 * -protecting, or process-shared is glibc's, for its whole life. So is one that
 * was destroyed (__kind is -1): glibc knows what to answer.
 */
#ifndef PAWL_PRELOAD_H
#define PAWL_PRELOAD_H

#include <pawl/cond.h>
#include <pawl/mutex.h>

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define EXPORT	    __attribute__((visibility("default")))
#define likely(x)   __builtin_expect((x) != 0, 1)
#define unlikely(x) __builtin_expect((x) != 0, 0)

/* The bits of __kind. Those of lock elision may be set and mean nothing here. */
enum {
	KIND_TYPE = 3,
	KIND_ELISION = 256 | 512,
	KIND_FOREIGN = ~(KIND_TYPE | KIND_ELISION),
};

/* What does not fit into the lock: the holder's, but for era (see lock.c). Words
 * that others look at are volatile: they need to be whole, and no order. */
struct extra {
	uint32_t depth;	       /* of a recursive mutex */
	uint16_t users;	       /* threads in a condition wait that will be back */
	volatile uint16_t era; /* other locks than the default: when it was locked */
};

struct mutex {
	union {
		struct pawl_mutex plain;
		unsigned char core[16];
		struct {
			unsigned char small_core[8];
			struct extra beside_core; /* if the context takes 16 */
		};
	};
	int kind;
	volatile uint32_t owner; /* thread id, 0 if none; see mutex.c */
	union {
		struct extra beside_plain;
		struct {
			unsigned char small_context[8];
			struct extra beside_context;
		};
		unsigned char context[16];
	};
};

static_assert(sizeof(struct mutex) <= sizeof(pthread_mutex_t), "a mutex must fit");
static_assert(_Alignof(struct mutex) <= _Alignof(pthread_mutex_t), "a mutex must fit");
static_assert(offsetof(struct mutex, kind) == offsetof(pthread_mutex_t, __data.__kind),
	      "the static initialisers must work");
static_assert(PTHREAD_MUTEX_TIMED_NP == 0 && PTHREAD_MUTEX_RECURSIVE_NP == 1 &&
		      PTHREAD_MUTEX_ERRORCHECK_NP == 2 && PTHREAD_MUTEX_ADAPTIVE_NP == 3,
	      "types are bits of __kind");

/* glibc keeps the attributes of a condition variable in the low bits here. */
enum { COND_SHARED = 1, COND_MONOTONIC = 2 };

struct cond {
	struct pawl_cond plain;
	unsigned char unused[offsetof(pthread_cond_t, __data.__wrefs) -
			     sizeof(struct pawl_cond)];
	unsigned flags;
};

static_assert(sizeof(struct cond) <= sizeof(pthread_cond_t), "a cond must fit");
static_assert(_Alignof(struct cond) <= _Alignof(pthread_cond_t), "a cond must fit");
static_assert(offsetof(struct cond, flags) == offsetof(pthread_cond_t, __data.__wrefs),
	      "attributes must be found");

/* glibc's own functions, for objects that are glibc's. */
struct glibc {
	int (*mutex_init)(pthread_mutex_t *, const pthread_mutexattr_t *);
	int (*mutex_destroy)(pthread_mutex_t *);
	int (*mutex_lock)(pthread_mutex_t *);
	int (*mutex_trylock)(pthread_mutex_t *);
	int (*mutex_timedlock)(pthread_mutex_t *, const struct timespec *);
	int (*mutex_clocklock)(pthread_mutex_t *, clockid_t, const struct timespec *);
	int (*mutex_unlock)(pthread_mutex_t *);
	int (*cond_init)(pthread_cond_t *, const pthread_condattr_t *);
	int (*cond_destroy)(pthread_cond_t *);
	int (*cond_signal)(pthread_cond_t *);
	int (*cond_broadcast)(pthread_cond_t *);
	int (*cond_wait)(pthread_cond_t *, pthread_mutex_t *);
	int (*cond_timedwait)(pthread_cond_t *, pthread_mutex_t *,
			      const struct timespec *);
	int (*cond_clockwait)(pthread_cond_t *, pthread_mutex_t *, clockid_t,
			      const struct timespec *);
	int (*register_atfork)(void (*)(void), void (*)(void), void (*)(void), void *);
	void *(*dlvsym)(void *, const char *, const char *);
};

/* 0 once everything is ready, if the lock is the default and nobody counts. It
 * is or-ed with __kind: one test finds out that the fast path is right. */
extern volatile int not_plain;

/* Gets everything ready, at the very first call. Never allocates memory of its
 * own, and may be entered again from inside itself. */
void start(void) __attribute__((cold));
extern volatile bool started;

static inline void start_if_first(void)
{
	if (unlikely(!started))
		start();
}

/* glibc.c */
const struct glibc *glibc(void);

/* lock.c: the bare lock inside a mutex that is ours. `site` is the return
 * address of the program's call, for the statistics. */
struct lock_type;
void lock_choose(const struct lock_type *type);
void lock_forked(void);
bool lock_is_default(void);
struct extra *lock_extra(struct mutex *m);
void lock_take(struct mutex *m, const void *site);
bool lock_try(struct mutex *m);
/* 0, ETIMEDOUT, or EINVAL if it would have to wait and the time is bad. */
int lock_take_until(struct mutex *m, clockid_t clock, const struct timespec *time,
		    const void *site);
void lock_give(struct mutex *m);
/* The queue that a waiter may be moved to; NULL if the lock has none. */
struct pawl_mutex *lock_queue(struct mutex *m);

/* mutex.c: mutexes of any kind, ours or glibc's. */
static inline bool mutex_is_foreign(const struct mutex *m)
{
	return (m->kind & KIND_FOREIGN) != 0;
}

int mutex_lock(struct mutex *m, const void *site);
int mutex_unlock(struct mutex *m);

/*
 * Lets go of m for a condition wait: 0, or why not. A recursive mutex is let go
 * of once, as glibc does. mutex_resume gets it back, or, if the bare lock was
 * taken already, makes m what it was.
 */
int mutex_suspend(struct mutex *m);
int mutex_resume(struct mutex *m, bool taken);
/* The queue of the lock that mutex_suspend would let go of, or NULL. */
struct pawl_mutex *mutex_queue(struct mutex *m);

#endif /* PAWL_PRELOAD_H */
