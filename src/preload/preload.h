/* SPDX-License-Identifier: MIT */
/*
 * The interposer from the inside: where pawl's locks live in glibc's objects.
 *
 * glibc's static initialisers write __kind and nothing else, and its attributes
 * end up there too; so __kind stays where it is and says whose object it is.
 * Everything around it is ours, and all-zero is unlocked.
 *
 *   bytes  glibc's    the default lock:       any other lock
 *          name       normal      owned
 *    0..3  __lock     pawl_mutex              context
 *    4..7  __count    .           depth       depth
 *    8..11 __owner    .           owner       owner
 *   12..15 __nusers   .                       context
 *   16..19 __kind
 *   20..21 __spins    users       users       users
 *   22..23 __elision                          era
 *   24..39 __list                 pawl_mutex  body; or core, and context behind
 *                                             one of 8
 *
 * Owned mutexes are the recursive and the errorcheck ones: programs look at their
 * __owner, and some at __count, so these stay as well. users are threads in a
 * condition wait that will be back; era is explained in lock.c. The context is the
 * holder's alone, who copies it in and out: it need not be in one piece.
 *
 * An object that glibc's bits mark as robust, priority-inheriting or
 * -protecting, or process-shared is glibc's, for its whole life. So is one that
 * was destroyed (__kind is -1): glibc knows what to answer.
 *
 * Order: [A] pairs with [R] of start.c: who finds the interposer ready sees what it chose.
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

#if !defined(__GLIBC__)
#error "the interposer stands in for glibc's functions: it needs a dynamic glibc"
#endif

#define EXPORT __attribute__((visibility("default")))
/* On declarations of data: spares the look into the table of addresses. */
#define INTERNAL    __attribute__((visibility("hidden")))
#define likely(x)   __builtin_expect((x) != 0, 1)
#define unlikely(x) __builtin_expect((x) != 0, 0)

/* Also exports `of` under the name that glibc keeps for old programs. */
#if defined(__has_attribute) && __has_attribute(copy)
#define LIKE(of) __attribute__((alias(#of), copy(of)))
#else
#define LIKE(of) __attribute__((alias(#of)))
#endif
#define OLD_NAME(of) extern EXPORT __typeof__(of) __##of LIKE(of)

/* Ends a function by a jump to another, which sees who called the first. */
#if defined(__clang__)
#define JUMPS
#define JUMP_TO __attribute__((musttail)) return
#else
#define JUMPS	__attribute__((optimize("O2")))
#define JUMP_TO return
#endif

/* The bits of __kind. Those of lock elision may be set and mean nothing here. */
enum {
	KIND_TYPE = 3,
	KIND_ELISION = 256 | 512,
	KIND_FOREIGN = ~(KIND_TYPE | KIND_ELISION),
	KIND_ROBUST = 16,
	KIND_INHERITS = 32,
	KIND_PROTECTS = 64,
	KIND_DESTROYED = -1,
};

enum { CONTEXT_PIECE = 4 };

struct mutex {
	union {
		struct pawl_mutex normal;
		struct {
			unsigned char context_0[CONTEXT_PIECE];
			uint32_t depth;
			volatile uint32_t owner; /* thread id, 0 if none; see mutex.c */
			unsigned char context_4[CONTEXT_PIECE];
		};
	};
	int kind;
	uint16_t users;	       /* the holder's */
	volatile uint16_t era; /* looked at by all: whole, and without order */
	union {
		struct pawl_mutex owned;
		unsigned char core[16];
		struct {
			unsigned char small_core[8];
			unsigned char context_8[8];
		};
	};
};

static_assert(sizeof(struct mutex) <= sizeof(pthread_mutex_t), "a mutex must fit");
static_assert(_Alignof(struct mutex) <= _Alignof(pthread_mutex_t), "a mutex must fit");
static_assert(offsetof(struct mutex, kind) == offsetof(pthread_mutex_t, __data.__kind),
	      "the static initialisers must work");
static_assert(offsetof(struct mutex, owner) == offsetof(pthread_mutex_t, __data.__owner),
	      "programs look at it");
static_assert(offsetof(struct mutex, depth) == offsetof(pthread_mutex_t, __data.__count),
	      "programs look at it");
static_assert(PTHREAD_MUTEX_TIMED_NP == 0 && PTHREAD_MUTEX_RECURSIVE_NP == 1 &&
		      PTHREAD_MUTEX_ERRORCHECK_NP == 2 && PTHREAD_MUTEX_ADAPTIVE_NP == 3,
	      "types are bits of __kind");

/*
 * glibc keeps the attributes of a condition variable in the low bits of __wrefs, which
 * 2.41 has put elsewhere; and it may be another glibc than the one we were built with.
 * What is ours has COND_SHARED in neither place, what is glibc's in one.
 */
enum { COND_SHARED = 1, COND_MONOTONIC = 2 };

struct cond {
	struct pawl_cond plain;
	unsigned char unused[28 - sizeof(struct pawl_cond)];
	unsigned flags; /* __wrefs since 2.41; of ours all there is */
	unsigned unused_too;
	unsigned older_flags; /* __wrefs before */
};

static_assert(sizeof(struct cond) <= sizeof(pthread_cond_t), "a cond must fit");
static_assert(_Alignof(struct cond) <= _Alignof(pthread_cond_t), "a cond must fit");
static_assert(offsetof(struct cond, flags) == offsetof(pthread_cond_t, __data.__wrefs) ||
		      offsetof(struct cond, older_flags) ==
			      offsetof(pthread_cond_t, __data.__wrefs),
	      "attributes must be found");

struct __jmp_buf_tag;

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
	int (*rwlock_init)(pthread_rwlock_t *, const pthread_rwlockattr_t *);
	int (*rwlock_destroy)(pthread_rwlock_t *);
	int (*rwlock_rdlock)(pthread_rwlock_t *);
	int (*rwlock_wrlock)(pthread_rwlock_t *);
	int (*rwlock_tryrdlock)(pthread_rwlock_t *);
	int (*rwlock_trywrlock)(pthread_rwlock_t *);
	int (*rwlock_timedrdlock)(pthread_rwlock_t *, const struct timespec *);
	int (*rwlock_timedwrlock)(pthread_rwlock_t *, const struct timespec *);
	int (*rwlock_clockrdlock)(pthread_rwlock_t *, clockid_t, const struct timespec *);
	int (*rwlock_clockwrlock)(pthread_rwlock_t *, clockid_t, const struct timespec *);
	int (*rwlock_unlock)(pthread_rwlock_t *);
	int (*key_create)(pthread_key_t *, void (*)(void *));
	int (*register_atfork)(void (*)(void), void (*)(void), void (*)(void), void *);
	void *(*dlvsym)(void *, const char *, const char *);
	void *(*dlopen)(const char *, int);
	long (*syscall)(long, ...);
	int (*prctl)(int, ...);
	void *(*dlmopen)(long, const char *, int);
	void (*longjmp)(struct __jmp_buf_tag *, int);
	void (*siglongjmp)(struct __jmp_buf_tag *, int);
	void (*longjmp_checked)(struct __jmp_buf_tag *, int);
};

/* 0 once everything is ready, if the lock is the default and nobody counts; else
 * a bit that no kind has: PROFILED if all that is special is a profile. It is or-ed with __kind: one comparison finds out that a
 * fast path is right. */
enum { NOT_PLAIN = 1 << 30, PROFILED = 1 << 29 };
extern volatile int not_plain INTERNAL;

/* The same of read-write locks: RWLOCK_OURS, the claim of a lock that is ours, once
 * everything is ready and if they are not left to glibc; else a claim that no lock has. */
enum { RWLOCK_OURS = 1, RWLOCK_NO_CLAIM = 3 };
extern volatile uint64_t rwlock_plain_if INTERNAL;

/* PAWL_VERBOSE asks for a line now and then. Volatile: see start(). */
extern volatile int verbose;

/* Gets everything ready, at the very first call. Never allocates memory of its
 * own, waits for nobody, and may be entered again from inside itself, or by two threads
 * at once (of a library that is initialized before us): both choose the same, and store it
 * twice, which is why it is volatile. A profile's file, of which each would make another, is
 * the first one's. */
void start(void) __attribute__((cold));
extern pawl_atomic64 not_started INTERNAL; /* 0 once it has */

static inline void start_if_first(void)
{
	if (unlikely(pawl_load_acquire(&not_started) != 0)) /* [A] */
		start();
}

/* glibc.c */
const volatile struct glibc *glibc(void);

/* symbols.c: what a name means to the libraries that come after us, NULL if
 * nothing. Never allocates, locks nothing, and has no error to leave behind. */
void *symbol_after_us(const char *name);

/* filter.c: around membarrier and sched_getscheduler, which may not be begun if it says
 * false. */
bool barrier_begin(void);
void barrier_end(void);
void barrier_forked(void);

/* lock.c: the bare lock inside a mutex that is ours. `site` is the return
 * address of the program's call, for the statistics. */
struct lock_type;
void lock_choose(const struct lock_type *type);
void lock_forked(void);
bool lock_is_default(void);
void lock_take(struct mutex *m, const void *site);
bool lock_try(struct mutex *m);
/* 0, ETIMEDOUT, or EINVAL if it would have to wait and the time is bad. */
int lock_take_until(struct mutex *m, clockid_t clock, const struct timespec *time,
		    const void *site);
void lock_give(struct mutex *m);
/* With the default lock: the pawl_thread_id() of its holder; 0 if it is free. A hint. */
uint64_t lock_owner(struct mutex *m);
/* The queue that a waiter may be moved to; NULL if the lock has none. */
struct pawl_mutex *lock_queue(struct mutex *m);

/* mutex.c: mutexes of any kind, ours or glibc's. */
static inline bool mutex_is_foreign(const struct mutex *m)
{
	return (m->kind & KIND_FOREIGN) != 0;
}

static inline bool mutex_has_owner(const struct mutex *m)
{
	int type = m->kind & KIND_TYPE;

	return type == PTHREAD_MUTEX_RECURSIVE_NP || type == PTHREAD_MUTEX_ERRORCHECK_NP;
}

int mutex_lock(struct mutex *m, const void *site);
int mutex_unlock(struct mutex *m, const void *site);

/*
 * Lets go of m for a condition wait. A recursive mutex is let go of once, as glibc
 * does. mutex_resume gets it back, or, if the bare lock was taken already, makes m
 * what it was. Whether the caller may is asked before: 0, or EPERM. After that only
 * a mutex that is glibc's can still refuse.
 */
int mutex_may_suspend(struct mutex *m);
int mutex_suspend(struct mutex *m, const void *site);
int mutex_resume(struct mutex *m, bool taken, const void *site);
/* The queue of the lock that mutex_suspend would let go of, or NULL. */
struct pawl_mutex *mutex_queue(struct mutex *m);

/* rwlock.c: whether the read-write locks are left to glibc. */
void rwlock_choose(bool glibc);

#endif /* PAWL_PRELOAD_H */
