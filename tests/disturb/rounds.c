/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "rounds.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

enum {
	RECORDINGS = 3,
	MOST_STEPS = 200000,
	OCCURRENCES = 6 /* of an instruction in one stretch: more is polling */
};

struct page *page;
struct traced victim;
struct stretch stretch;
uint32_t asks;

bool await_word(_Atomic uint32_t *word, uint32_t value)
{
	unsigned turns = 0;

	while (atomic_load(word) != value)
		if (waitpid(victim.process, NULL, WNOHANG) != 0 || !take_a_turn(&turns))
			return false;
	return true;
}

void say(_Atomic uint32_t *word, uint32_t value)
{
	atomic_store(word, value);
	page_say(&page->event, atomic_load(&page->event) + 1);
}

void say_go(void)
{
	if (!atomic_load(&page->late) &&
	    atomic_load(&page->go) != atomic_load(&page->round))
		say(&page->go, atomic_load(&page->round));
}

void ask(enum disturbance what)
{
	atomic_store(&page->asked, what);
	say(&page->ask, ++asks);
}

/* Steps once, over all of the clock's code; true if the stretch goes on. Who sleeps is
 * told what it waits for, unless that is to be told first. */
static bool step(enum stop *stop, bool *slept)
{
	unsigned long caller;

	*slept = false;
	trace_step(&victim, 0);
	for (;;) {
		*stop = trace_await(&victim, !*slept);
		if (*stop == ASLEEP) {
			*slept = true;
			say_go();
		} else if (*stop == STEPPED &&
			   (caller = trace_clock_caller(&victim)) != 0) {
			if (trace_breakpoint(&victim, caller))
				trace_continue(&victim, 0);
			else
				trace_step(&victim, 0);
		} else {
			trace_breakpoint(&victim, 0);
			return *stop == STEPPED;
		}
	}
}

bool begin_round(void)
{
	page_say(&page->round, atomic_load(&page->round) + 2);
	return trace_await(&victim, false) == AT_MARK;
}

bool end_round(enum stop stop)
{
	uint32_t round = atomic_load(&page->round);

	if (stop == NEVER || stop == DEAD)
		return false;
	trace_breakpoint(&victim, 0);
	say_go();
	if (stop == STEPPED || stop == HALTED)
		trace_continue(&victim, 0);
	while (stop != AT_MARK) {
		stop = trace_await(&victim, false);
		if (stop == DEAD || stop == NEVER)
			return false;
		if (stop != AT_MARK)
			trace_continue(&victim, stop == SIGNALLED ? SIGUSR1 : 0);
	}
	trace_continue(&victim, 0);
	atomic_store(&page->go, round);
	say(&page->over, round);
	return await_word(&page->ended, round) && atomic_load(&page->is_wrong) == 0;
}

/* How often the place has come by, this time included. */
static unsigned count_place(unsigned long place)
{
	enum { SLOTS = 1 << 16 };
	static struct {
		unsigned long place;
		unsigned count;
	} seen[SLOTS];
	size_t i = place * 0x9e3779b97f4a7c15u >> 48;

	if (place == 0) {
		memset(seen, 0, sizeof(seen));
		stretch.places = 0;
		return 0;
	}
	while (seen[i].place != 0 && seen[i].place != place)
		i = (i + 1) % SLOTS;
	stretch.places += seen[i].place == 0;
	seen[i].place = place;
	return ++seen[i].count;
}

static void write_down(struct point point)
{
	if (point.nth <= OCCURRENCES && stretch.count < MOST_POINTS)
		stretch.points[stretch.count++] = point;
}

static bool record_once(void)
{
	unsigned sleeps_so_far = 0;
	enum stop stop = STEPPED;
	bool slept;

	count_place(0);
	stretch.count = stretch.steps = 0;
	if (!begin_round())
		return false;
	do {
		unsigned long place = trace_place(&victim);

		write_down((struct point){.place = place,
					  .nth = count_place(place),
					  .step = stretch.steps++});
		step(&stop, &slept);
		if (slept)
			write_down((struct point){.place = place,
						  .nth = ++sleeps_so_far,
						  .step = stretch.steps,
						  .asleep = true});
	} while (stop == STEPPED && stretch.steps < MOST_STEPS);
	return end_round(stop);
}

bool record(void)
{
	static struct stretch shortest;
	int i;

	/* The first is a first use of this and that. Of the others, who took longer
	 * had to wait for the machine, and may have gone where it rarely goes. */
	for (i = 0; i <= RECORDINGS; i++) {
		if (!record_once())
			return false;
		if (i <= 1 || stretch.steps < shortest.steps)
			shortest = stretch;
	}
	stretch = shortest;
	return true;
}

enum stop run_to(const struct point *p)
{
	enum stop stop = STEPPED;
	unsigned nth = 0;

	if (!p->asleep && trace_place(&victim) == p->place && ++nth == p->nth)
		return STEPPED;
	trace_breakpoint(&victim, p->asleep ? 0 : p->place);
	trace_continue(&victim, 0);
	for (;;) {
		bool gone = atomic_load(&page->go) == atomic_load(&page->round);

		stop = trace_await(&victim, p->asleep || !gone);
		if (stop == STEPPED && ++nth < p->nth) {
			trace_continue(&victim, 0);
		} else if (stop == ASLEEP && p->asleep && ++nth == p->nth) {
			break;
		} else if (stop == ASLEEP) {
			say_go();
			if (p->asleep || atomic_load(&page->late))
				usleep(100); /* until it is up again */
		} else {
			break;
		}
	}
	trace_breakpoint(&victim, 0);
	return stop;
}

enum stop step_to(const struct point *p)
{
	enum stop stop = STEPPED;
	unsigned i;
	bool slept;

	for (i = 0; i < p->step && stop == STEPPED; i++)
		step(&stop, &slept);
	return stop;
}
