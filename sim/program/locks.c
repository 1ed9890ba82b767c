/* SPDX-License-Identifier: MIT */
/*
 * Mutexes, read-write locks and once, as shadow words. Their implementation is not
 * checked: locking a mutex is one wait, unlocking it one store.
 */
#include "load.h"
#include "plain.h"
#include "threads.h"

#include <errno.h>
#include <string.h>

enum { MOST_HELD = 16, WRITER = 1 << 16 };

/* The locks that a thread holds. */
static struct held {
	const uint64_t *word;
	int depth;
} held[MAX_THREADS][MOST_HELD];

/* C11 mutexes, which do not store that they are recursive. */
static struct {
	const void *m;
	int kind;
} kinds[64];
static int kind_count;

static bool used; /* in this run */

void locks_reset(void)
{
	kind_count = 0;
	if (!used)
		return;
	used = false;
	memset(held, 0, sizeof(held));
}

uint64_t *own_word(const void *object, int kind, const void *site)
{
	/* Counts as a read: a concurrent initialisation or destruction is a race. */
	plain_access(object, 1, false, site);
	used = true;
	return memory_shadow(current_search->memory, object, kind);
}

void own_make(void *object, size_t size, const void *site)
{
	plain_access(object, size, true, site);
	memset(object, 0, size);
}

static struct held *find_held(const uint64_t *word)
{
	struct held *h = held[me(current_search)];
	int i;

	for (i = 0; i < MOST_HELD; i++)
		if (h[i].word == word)
			return &h[i];
	return NULL;
}

static void hold(const uint64_t *word, const void *site)
{
	struct held *h = find_held(NULL);

	if (h == NULL)
		program_fail(VERDICT_LIMIT, site, "a thread holds more than %d locks",
			     MOST_HELD);
	h->word = word;
	h->depth = 1;
}

/* Mutexes and spin locks: a word that names the holder. */

/* A timed wait that no thread ends has timed out; that is another execution. */
static void take(uint64_t *word, bool timed, const void *site)
{
	own_read(timed ? OP_ASSUME_CAS : OP_AWAIT_CAS, word, 0,
		 (uint64_t)me(current_search) + 1, SIM_ACQUIRE, site, NULL);
	hold(word, site);
}

/* Not through own_read: loops.c must see a failed attempt as a step of the program's
 * loop. */
static int try_take(uint64_t *word, const void *site)
{
	bool wrote;

	event_read(
		&(struct access){
			.operation = OP_CAS,
			.p = word,
			.width = 8,
			.order = SIM_ACQUIRE,
			.failure = SIM_RELAXED,
			.operand = (uint64_t)me(current_search) + 1,
			.site = site,
		},
		&wrote);
	if (!wrote)
		return EBUSY;
	hold(word, site);
	return 0;
}

/* Mutexes. */

static int kind_of(const pthread_mutex_t *m)
{
	int i;

	for (i = 0; i < kind_count; i++)
		if (kinds[i].m == m)
			return kinds[i].kind;
	return m->__data.__kind & 3;
}

int played_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attributes)
{
	int kind = PTHREAD_MUTEX_NORMAL;

	own_make(m, sizeof(*m), SITE);
	if (attributes != NULL)
		pthread_mutexattr_gettype(attributes, &kind);
	m->__data.__kind = kind;
	return 0;
}

static void unmake_mutex(void *m, const void *site)
{
	uint64_t *word = own_word(m, OWN_MUTEX, site);

	if (find_held(word) != NULL)
		program_fail(VERDICT_ASSERTION, site, "destroys a mutex that it holds");
	plain_access(m, 1, true, site);
}

int played_mutex_destroy(pthread_mutex_t *m)
{
	unmake_mutex(m, SITE);
	return 0;
}

static int lock(pthread_mutex_t *m, bool timed, const void *site)
{
	uint64_t *word = own_word(m, OWN_MUTEX, site);
	struct held *h = find_held(word);

	if (h != NULL && kind_of(m) == PTHREAD_MUTEX_RECURSIVE) {
		h->depth++;
		return 0;
	}
	if (h != NULL && kind_of(m) == PTHREAD_MUTEX_ERRORCHECK)
		return EDEADLK;
	take(word, timed, site);
	return 0;
}

int mutex_lock(pthread_mutex_t *m, const void *site)
{
	return lock(m, false, site);
}

int played_mutex_lock(pthread_mutex_t *m)
{
	return mutex_lock(m, SITE);
}

int played_mutex_timedlock(pthread_mutex_t *m, const struct timespec *deadline)
{
	(void)deadline;
	return event_choose(SITE) ? ETIMEDOUT : lock(m, true, SITE);
}

int played_mutex_clocklock(pthread_mutex_t *m, int clock, const struct timespec *deadline)
{
	(void)clock, (void)deadline;
	return event_choose(SITE) ? ETIMEDOUT : lock(m, true, SITE);
}

static int try_lock(pthread_mutex_t *m, const void *site)
{
	uint64_t *word = own_word(m, OWN_MUTEX, site);
	struct held *h = find_held(word);

	if (h != NULL && kind_of(m) == PTHREAD_MUTEX_RECURSIVE) {
		h->depth++;
		return 0;
	}
	return try_take(word, site);
}

int played_mutex_trylock(pthread_mutex_t *m)
{
	return try_lock(m, SITE);
}

int mutex_unlock(pthread_mutex_t *m, const void *site)
{
	uint64_t *word = own_word(m, OWN_MUTEX, site);
	struct held *h = find_held(word);

	if (h == NULL && kind_of(m) == PTHREAD_MUTEX_ERRORCHECK)
		return EPERM;
	if (h == NULL)
		program_fail(VERDICT_ASSERTION, site,
			     "unlocks a mutex that it does not hold");
	if (--h->depth > 0)
		return 0;
	h->word = NULL;
	own_store(word, 0, SIM_RELEASE, site);
	return 0;
}

int played_mutex_unlock(pthread_mutex_t *m)
{
	return mutex_unlock(m, SITE);
}

int played_mtx_init(void *m, int type)
{
	own_make(m, sizeof(pthread_mutex_t), SITE);
	if ((type & 1) != 0 && kind_count < 64) { /* mtx_recursive */
		kinds[kind_count].m = m;
		kinds[kind_count++].kind = PTHREAD_MUTEX_RECURSIVE;
	}
	return 0;
}

void played_mtx_destroy(void *m)
{
	unmake_mutex(m, SITE);
}

int played_mtx_lock(void *m)
{
	return mutex_lock(m, SITE);
}

int played_mtx_trylock(void *m)
{
	return try_lock(m, SITE) == 0 ? 0 : 1; /* thrd_busy */
}

int played_mtx_timedlock(void *m, const struct timespec *deadline)
{
	(void)deadline;
	return event_choose(SITE) ? 4 : lock(m, true, SITE); /* thrd_timedout */
}

int played_mtx_unlock(void *m)
{
	return mutex_unlock(m, SITE);
}

bool mutex_is_held(const pthread_mutex_t *m, const void *site)
{
	return find_held(own_word(m, OWN_MUTEX, site)) != NULL;
}

/* Spin locks. */

int played_spin_init(pthread_spinlock_t *l, int shared)
{
	(void)shared;
	own_make((void *)(uintptr_t)l, sizeof(*l), SITE);
	return 0;
}

int played_spin_destroy(pthread_spinlock_t *l)
{
	plain_access((const void *)l, 1, true, SITE);
	return 0;
}

int played_spin_lock(pthread_spinlock_t *l)
{
	take(own_word((const void *)l, OWN_SPIN, SITE), false, SITE);
	return 0;
}

int played_spin_trylock(pthread_spinlock_t *l)
{
	return try_take(own_word((const void *)l, OWN_SPIN, SITE), SITE);
}

int played_spin_unlock(pthread_spinlock_t *l)
{
	uint64_t *word = own_word((const void *)l, OWN_SPIN, SITE);
	struct held *h = find_held(word);

	if (h == NULL)
		program_fail(VERDICT_ASSERTION, SITE,
			     "unlocks a spin lock that it does not hold");
	h->word = NULL;
	own_store(word, 0, SIM_RELEASE, SITE);
	return 0;
}

/* Read-write locks: WRITER, or the number of readers. */

int played_rwlock_init(pthread_rwlock_t *l, const pthread_rwlockattr_t *attributes)
{
	(void)attributes;
	own_make(l, sizeof(*l), SITE);
	return 0;
}

int played_rwlock_destroy(pthread_rwlock_t *l)
{
	plain_access(l, 1, true, SITE);
	return 0;
}

static int read_lock(pthread_rwlock_t *l, bool waits, const void *site)
{
	uint64_t *word = own_word(l, OWN_RWLOCK, site);
	bool wrote = false;

	while (!wrote) {
		uint64_t now = own_read(waits ? OP_AWAIT_NE : OP_LOAD, word, WRITER, 0,
					SIM_RELAXED, site, NULL);

		if (now == WRITER)
			return EBUSY;
		own_read(OP_CAS, word, now, now + 1, SIM_ACQUIRE, site, &wrote);
	}
	hold(word, site);
	return 0;
}

int played_rwlock_rdlock(pthread_rwlock_t *l)
{
	return read_lock(l, true, SITE);
}

int played_rwlock_tryrdlock(pthread_rwlock_t *l)
{
	return read_lock(l, false, SITE);
}

int played_rwlock_wrlock(pthread_rwlock_t *l)
{
	uint64_t *word = own_word(l, OWN_RWLOCK, SITE);

	own_read(OP_AWAIT_CAS, word, 0, WRITER, SIM_ACQUIRE, SITE, NULL);
	hold(word, SITE);
	find_held(word)->depth = WRITER;
	return 0;
}

int played_rwlock_trywrlock(pthread_rwlock_t *l)
{
	uint64_t *word = own_word(l, OWN_RWLOCK, SITE);
	bool wrote;

	own_read(OP_CAS, word, 0, WRITER, SIM_ACQUIRE, SITE, &wrote);
	if (!wrote)
		return EBUSY;
	hold(word, SITE);
	find_held(word)->depth = WRITER;
	return 0;
}

int played_rwlock_unlock(pthread_rwlock_t *l)
{
	uint64_t *word = own_word(l, OWN_RWLOCK, SITE);
	struct held *h = find_held(word);

	if (h == NULL)
		program_fail(VERDICT_ASSERTION, SITE,
			     "unlocks a read-write lock that it does not hold");
	h->word = NULL;
	if (h->depth == WRITER)
		own_store(word, 0, SIM_RELEASE, SITE);
	else
		own_read(OP_SUB, word, 0, 1, SIM_RELEASE, SITE, NULL);
	return 0;
}

/*
 * Once: 0, 1 while the function runs, 2 when it is done. std::call_once passes the
 * function in two thread-local variables; to the C++ library all our threads are one, so
 * the values that this thread stored are stored again before the call.
 */

int played_once(pthread_once_t *once, void (*run)(void))
{
	struct call_once call = load_call_once();
	uint64_t *word = own_word(once, OWN_ONCE, SITE);
	bool wrote;
	uint64_t before = own_read(OP_LOAD, word, 0, 0, SIM_ACQUIRE, SITE, NULL);

	if (before == 2)
		return 0;
	own_read(OP_CAS, word, 0, 1, SIM_ACQUIRE, SITE, &wrote);
	if (!wrote) {
		own_read(OP_AWAIT_EQ, word, 2, 0, SIM_ACQUIRE, SITE, NULL);
		return 0;
	}
	load_set_call_once(call);
	run();
	own_store(word, 2, SIM_RELEASE, SITE);
	return 0;
}

/* Guards of function-local static variables in C++. The compiler reads the first byte of
 * the guard before it calls. */

int played_guard_acquire(uint64_t *guard)
{
	uint64_t *word = memory_shadow(current_search->memory, guard, OWN_ONCE);
	bool wrote;

	for (;;) {
		uint64_t now = own_read(OP_AWAIT_NE, word, 1, 0, SIM_ACQUIRE, SITE, NULL);

		if (now == 2)
			return 0;
		own_read(OP_CAS, word, 0, 1, SIM_ACQUIRE, SITE, &wrote);
		if (wrote)
			return 1;
	}
}

void played_guard_release(uint64_t *guard)
{
	uint64_t *word = memory_shadow(current_search->memory, guard, OWN_ONCE);

	event_store(&(struct access){
		.p = guard,
		.width = 1,
		.order = SIM_RELEASE,
		.operand = 1,
		.site = SITE,
	});
	own_store(word, 2, SIM_RELEASE, SITE);
}

void played_guard_abort(uint64_t *guard)
{
	own_store(memory_shadow(current_search->memory, guard, OWN_ONCE), 0, SIM_RELEASE,
		  SITE);
}
