/* SPDX-License-Identifier: MIT */
/*
 * The process that is disturbed: plays a scenario again and again, round by round,
 * as the driver asks for it.
 */
#ifndef TESTS_DISTURB_STAGE_H
#define TESTS_DISTURB_STAGE_H

#include "page.h"

#include <stdbool.h>
#include <time.h>

/*
 * In the order in which they are called; each may be NULL but victim. `hold`, `let_go`,
 * `use` and `child` are the service's, a thread that is at the driver's disposal.
 */
struct scenario {
	const char *name;
	unsigned kinds; /* 1 << SIGNAL and so on */
	int partners;
	bool apart; /* the partner is a process of its own */
	bool late;  /* let_go comes when the victim is through, not when it sleeps */
	bool free;  /* `use` ends also while the victim stands still */

	void (*begin)(void);   /* once */
	void (*prepare)(void); /* each round, before all others */
	void (*hold)(void);
	void (*before)(void);  /* the victim, before the stretch */
	void (*partner)(void); /* then each partner, until it sleeps */
	void (*poise)(void);
	void (*victim)(void); /* the stretch that is disturbed */
	void (*handler)(void);
	void (*let_go)(void);
	void (*use)(void);
	void (*child)(void);
	void (*after)(void); /* the victim, after the stretch */
	void (*check)(void); /* when all are done */
};

/* The table of this program's scenarios, up to one without a name. */
extern const struct scenario scenarios[];

extern struct page *page;
/* The number of this round. */
uint32_t stage_round(void);

/* Unless it holds, something is wrong: the driver is told what. */
void stage_demand(bool holds, const char *what);

/* To be called inside, whatever keeps others out: sees whether it does. None may be
 * lost, in a round or in a child. */
void stage_section(void);

/* For partners: says that it is in place, and what comes next may sleep. */
void stage_placed(void);
/* For partners: waits for the driver. */
void stage_await_go(void);
void stage_await_over(void);
/* For partners that look out for something themselves. */
bool stage_is_over(void);
void stage_nap(void);

/* A time by that clock, less than a second ahead. */
struct timespec stage_in(clockid_t clock, long ns);

/* Runs a function in a second thread, and the same in this one; returns when both
 * are done. */
void stage_both(void (*function)(void));

/* Stays on this CPU from now on, or on another one if there is no such CPU. */
void stage_sit_on(int cpu);

#endif /* TESTS_DISTURB_STAGE_H */
