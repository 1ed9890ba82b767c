/* SPDX-License-Identifier: MIT */
/* Semaphores and barriers, as shadow words. */
#include "plain.h"
#include "threads.h"

#include <errno.h>

/* Stores errno only if it differs: a loop that tries again may be one that waits. */
static int fail(int error)
{
	int *mine = played_errno_location();

	if (*mine != error)
		loops_wrote();
	*mine = error;
	return -1;
}

/* Semaphores: the word is the value. */

int played_sem_init(sem_t *s, int shared, unsigned value)
{
	(void)shared;
	own_make(s, sizeof(*s), SITE);
	own_store(own_word(s, OWN_SEMAPHORE, SITE), value, SIM_RELEASE, SITE);
	return 0;
}

int played_sem_destroy(sem_t *s)
{
	plain_access(s, 1, true, SITE);
	return 0;
}

/* A timed wait that no thread ends has timed out; that is another execution. */
static int take(sem_t *s, bool timed, const void *site)
{
	own_read(timed ? OP_ASSUME_NE_RMW : OP_AWAIT_NE_RMW,
		 own_word(s, OWN_SEMAPHORE, site), 0, 1, SIM_ACQUIRE, site, NULL);
	return 0;
}

int played_sem_wait(sem_t *s)
{
	return take(s, false, SITE);
}

/* A shadow word that a loop may watch: see try_take in locks.c. */
static uint64_t look(uint64_t *word, int order, const void *site)
{
	return event_read(
		&(struct access){
			.operation = OP_LOAD,
			.p = word,
			.width = 8,
			.order = order,
			.site = site,
		},
		NULL);
}

int played_sem_trywait(sem_t *s)
{
	uint64_t *word = own_word(s, OWN_SEMAPHORE, SITE);
	uint64_t value = look(word, SIM_RELAXED, SITE);
	bool wrote = false;

	while (value != 0 && !wrote) {
		uint64_t seen = own_read(OP_CAS, word, value, value - 1, SIM_ACQUIRE,
					 SITE, &wrote);

		if (!wrote)
			value = seen;
	}
	return wrote ? 0 : fail(EAGAIN);
}

int played_sem_timedwait(sem_t *s, const struct timespec *deadline)
{
	(void)deadline;
	return event_choose(SITE) ? fail(ETIMEDOUT) : take(s, true, SITE);
}

int played_sem_clockwait(sem_t *s, int clock, const struct timespec *deadline)
{
	(void)clock, (void)deadline;
	return event_choose(SITE) ? fail(ETIMEDOUT) : take(s, true, SITE);
}

int played_sem_post(sem_t *s)
{
	own_read(OP_ADD, own_word(s, OWN_SEMAPHORE, SITE), 0, 1, SIM_RELEASE, SITE, NULL);
	return 0;
}

int played_sem_getvalue(sem_t *s, int *value)
{
	uint64_t seen = look(own_word(s, OWN_SEMAPHORE, SITE), SIM_RELAXED, SITE);

	plain_access(value, sizeof(*value), true, SITE);
	*value = (int)seen;
	return 0;
}

/*
 * Barriers: a word counts the arrivals since initialisation, and each round has a word
 * that its last thread writes. The object has the number of threads. A barrier that is
 * initialised again has new rounds.
 */

static uint64_t *times_made(const pthread_barrier_t *b)
{
	return memory_shadow(current_search->memory, b, OWN_TIMES_MADE);
}

int played_barrier_init(pthread_barrier_t *b, const pthread_barrierattr_t *attributes,
			unsigned count)
{
	(void)attributes;
	if (count == 0)
		return EINVAL;
	own_make(b, sizeof(*b), SITE);
	*(unsigned *)(void *)b = count;
	++*times_made(b);
	own_store(own_word(b, OWN_ARRIVALS, SITE), 0, SIM_RELEASE, SITE);
	return 0;
}

int played_barrier_destroy(pthread_barrier_t *b)
{
	plain_access(b, 1, true, SITE);
	return 0;
}

int played_barrier_wait(pthread_barrier_t *b)
{
	uint64_t *word = own_word(b, OWN_ARRIVALS, SITE), *gate, before;
	unsigned count = *(const unsigned *)(const void *)b;

	if (count == 0)
		program_fail(VERDICT_ASSERTION, SITE,
			     "waits at a barrier that was not made");
	before = own_read(OP_ADD, word, 0, 1, SIM_ACQ_REL, SITE, NULL);
	gate = memory_shadow(
		current_search->memory, b,
		(int)(*times_made(b) << 8 | before / count) * OWN_KINDS + OWN_GATE);
	if (before % count == count - 1) {
		own_store(gate, 1, SIM_RELEASE, SITE);
		return PTHREAD_BARRIER_SERIAL_THREAD;
	}
	own_read(OP_AWAIT_NE, gate, 0, 0, SIM_ACQUIRE, SITE, NULL);
	return 0;
}
