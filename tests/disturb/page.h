/* SPDX-License-Identifier: MIT */
/*
 * What the driver and the process that it disturbs tell each other, in memory that
 * both map. A round is one play of a scenario, in which the victim is disturbed once.
 */
#ifndef TESTS_DISTURB_PAGE_H
#define TESTS_DISTURB_PAGE_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum disturbance { SIGNAL, FORK, FREEZE, KILL, DISTURBANCES };

/* Who plays. The partners may be threads or, if the scenario is between processes,
 * a process of their own. */
enum role { SERVICE, VICTIM, PARTNER, SECOND_PARTNER, ROLES };

enum { PAGE_BYTES = 4096, PAGE_FD = 200, REGION_FD = 201, WORDS_FD = 202 };

struct page {
	/* The driver's. Each is the number of the round in which it was said last. */
	_Atomic uint32_t round; /* begins */
	_Atomic uint32_t go;	/* what the victim waits for may happen */
	_Atomic uint32_t over;	/* the victim is through, or dead */
	_Atomic uint32_t ask;	/* how often the service was asked for something */
	_Atomic uint32_t asked; /* FORK: fork; FREEZE: use the object */
	_Atomic uint32_t event; /* moves with go, over and ask */

	/* The others'. */
	_Atomic uint32_t answer;  /* ask, when that is done */
	_Atomic uint32_t begun;	  /* round, when everybody is in place but the victim */
	_Atomic uint32_t ended;	  /* round, when everybody is done and all is well */
	_Atomic uint32_t handled; /* signals */
	_Atomic uint32_t turn[ROLES], placed[ROLES], done[ROLES]; /* rounds */
	_Atomic int32_t thread[ROLES], process, child;
	_Atomic uint32_t kinds; /* disturbances that the scenario is made for, as bits */
	_Atomic uint32_t apart; /* there is a partner, a process of its own */
	_Atomic uint32_t late;	/* nothing happens before the victim is through */
	_Atomic uint32_t free;	/* the service waits for nobody, frozen or not */
	_Atomic uint32_t ready; /* all of the above are there */
	_Atomic uint32_t is_wrong;
	char wrong[200];
};

/* Sleeps while the word has this value, for a tenth of a second at most. */
static inline void page_sleep(_Atomic uint32_t *word, uint32_t value)
{
	const struct timespec while_ = {.tv_nsec = 100 * 1000 * 1000};

	syscall(SYS_futex, word, FUTEX_WAIT, value, &while_, NULL, 0);
}

static inline void page_say(_Atomic uint32_t *word, uint32_t value)
{
	atomic_store(word, value);
	syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static inline void page_await(_Atomic uint32_t *word, uint32_t value)
{
	uint32_t seen;

	while ((seen = atomic_load(word)) != value)
		page_sleep(word, seen);
}

#endif /* TESTS_DISTURB_PAGE_H */
