/* SPDX-License-Identifier: MIT */
/*
 * Condition variables: a set of waiting threads, and for each of them a count of its
 * wake-ups. The set is a shadow word; for pawl_cond it is a word of the object, see
 * pawl.c.
 */
#include "plain.h"
#include "threads.h"

#include <errno.h>
#include <string.h>

enum { MOST_WAITED = 16 };

/* The wake-ups of one condition that a thread has consumed. */
static struct {
	const uint64_t *word;
	uint64_t seen;
} waited[MAX_THREADS][MOST_WAITED];

static bool woken_for_nothing[MAX_THREADS];

static bool used; /* in this run */

void conditions_reset(void)
{
	if (!used)
		return;
	used = false;
	memset(waited, 0, sizeof(waited));
	memset(woken_for_nothing, 0, sizeof(woken_for_nothing));
}

static uint64_t *wakes_of(const void *c, int t)
{
	return memory_shadow(current_search->memory, c, t * OWN_KINDS + OWN_WAKES);
}

static uint64_t *seen_of(const uint64_t *word)
{
	int i;

	for (i = 0; i < MOST_WAITED; i++) {
		if (waited[me(current_search)][i].word == NULL)
			waited[me(current_search)][i].word = word;
		if (waited[me(current_search)][i].word == word)
			return &waited[me(current_search)][i].seen;
	}
	program_fail(VERDICT_LIMIT, NULL, "a thread waits for more than %d conditions",
		     MOST_WAITED);
}

bool condition_wakes_for_nothing(const void *site)
{
	int t = me(current_search);

	used = true;
	if (!woken_for_nothing[t] && event_choose(site))
		return woken_for_nothing[t] = true;
	return false;
}

void condition_join(uint64_t *set, const void *site)
{
	used = true;
	own_read(OP_OR, set, 0, 1u << me(current_search), SIM_ACQ_REL, site, NULL);
}

void condition_sleep(const void *c, bool timed, const void *site)
{
	uint64_t *word = wakes_of(c, me(current_search)), *seen = seen_of(word);

	if (timed)
		own_read(OP_ASSUME_EQ, word, *seen + 1, 0, SIM_ACQUIRE, site, NULL);
	else
		own_read(OP_AWAIT_NE, word, *seen, 0, SIM_ACQUIRE, site, NULL);
	++*seen;
}

static void wake(const void *c, int t, const void *site)
{
	own_read(OP_ADD, wakes_of(c, t), 0, 1, SIM_ACQ_REL, site, NULL);
}

void condition_signal(uint64_t *set, const void *c, const void *site)
{
	for (;;) {
		uint64_t waiting = own_read(OP_LOAD, set, 0, 0, SIM_ACQUIRE, site, NULL);
		uint64_t rest = waiting;
		int t = 0;
		bool wrote;

		if (waiting == 0)
			return;
		for (;;) { /* any waiting thread */
			t = __builtin_ctzll(rest);
			rest &= rest - 1;
			if (rest == 0 || event_choose(site))
				break;
		}
		own_read(OP_CAS, set, waiting, waiting & ~(1ull << t), SIM_ACQ_REL, site,
			 &wrote);
		if (!wrote)
			continue;
		wake(c, t, site);
		return;
	}
}

void condition_broadcast(uint64_t *set, const void *c, const void *site)
{
	uint64_t waiting = own_read(OP_EXCHANGE, set, 0, 0, SIM_ACQ_REL, site, NULL);

	for (; waiting != 0; waiting &= waiting - 1)
		wake(c, __builtin_ctzll(waiting), site);
}

/* POSIX. */

int played_cond_init(pthread_cond_t *c, const pthread_condattr_t *attributes)
{
	(void)attributes;
	own_make(c, sizeof(*c), SITE);
	return 0;
}

int played_cond_destroy(pthread_cond_t *c)
{
	plain_access(c, 1, true, SITE);
	return 0;
}

static void wait(pthread_cond_t *c, pthread_mutex_t *m, bool timed, const void *site)
{
	condition_join(own_word(c, OWN_COND, site), site);
	mutex_unlock(m, site);
	condition_sleep(c, timed, site);
	mutex_lock(m, site);
}

static void check_holds(pthread_mutex_t *m, const void *site)
{
	if (!mutex_is_held(m, site))
		program_fail(VERDICT_ASSERTION, site,
			     "waits with a mutex that it does not hold");
}

int played_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
	check_holds(m, SITE);
	if (condition_wakes_for_nothing(SITE)) {
		mutex_unlock(m, SITE);
		mutex_lock(m, SITE);
	} else {
		wait(c, m, false, SITE);
	}
	return 0;
}

static int timed_wait(pthread_cond_t *c, pthread_mutex_t *m, const void *site)
{
	check_holds(m, site);
	if (event_choose(site)) {
		mutex_unlock(m, site);
		mutex_lock(m, site);
		return ETIMEDOUT;
	}
	wait(c, m, true, site);
	return 0;
}

int played_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
			  const struct timespec *deadline)
{
	(void)deadline;
	return timed_wait(c, m, SITE);
}

int played_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, int clock,
			  const struct timespec *deadline)
{
	(void)clock, (void)deadline;
	return timed_wait(c, m, SITE);
}

int played_cond_signal(pthread_cond_t *c)
{
	condition_signal(own_word(c, OWN_COND, SITE), c, SITE);
	return 0;
}

int played_cond_broadcast(pthread_cond_t *c)
{
	condition_broadcast(own_word(c, OWN_COND, SITE), c, SITE);
	return 0;
}

/* C11. */

int played_cnd_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
			 const struct timespec *deadline)
{
	(void)deadline;
	return timed_wait(c, m, SITE) == 0 ? 0 : 4; /* thrd_timedout */
}

int played_cnd_init(pthread_cond_t *c)
{
	own_make(c, sizeof(*c), SITE);
	return 0;
}

void played_cnd_destroy(pthread_cond_t *c)
{
	plain_access(c, 1, true, SITE);
}
