/* SPDX-License-Identifier: MIT */
/*
 * Disturbs a thread at every instruction of a stretch of code, one after the other:
 * by a signal, by a fork in another thread, by standing still while others go on, or
 * by the death of its process.
 *
 * First the stretch is single-stepped, and the instructions written down. Then a round
 * is played for each: the thread runs to that instruction, by a breakpoint or, if it
 * came another way this time, by steps; is disturbed; and goes on undisturbed. All
 * must then end, and be right.
 *
 * Usage: disturb [--every N] [--failures N] [--patience SECONDS] [--only DISTURBANCE]
 *                [--preload LIBRARY] PROGRAM [SCENARIO...]
 */
#define _GNU_SOURCE
#include "page.h"
#include "symbols.h"
#include "tracing.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/wait.h>

enum {
	SKIPPED = 77,
	MOST_POINTS = 20000,
	MOST_STEPS = 200000,
	OCCURRENCES = 6,    /* of an instruction in one stretch: more is polling */
	BLOCKED_TURNS = 20, /* that a service may be stuck behind who stands still */
	FORK_TURNS = 5000,  /* that a fork may be */
};

static const char *const names[DISTURBANCES] = {"signal", "fork", "freeze", "kill"};

/* A moment to disturb: before an instruction is executed for the nth time, or in the
 * nth sleep. */
struct point {
	unsigned long place;
	unsigned nth, step;
	bool asleep;
};

static struct {
	const char *program, *preload;
	unsigned every;	   /* instruction to be disturbed: the first, and so on */
	unsigned failures; /* before a scenario is given up */
	int only;	   /* a disturbance, or -1 */
} options = {.every = 1, .failures = 3, .only = -1};

static struct page *page;
static const char *scenario;
static struct traced victim;
static pid_t partner; /* a process, or 0 */
static uint32_t asks;

static struct point points[MOST_POINTS];
static unsigned point_count, step_count, place_count;

/* Processes. */

static pid_t start(const char *argument)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid != 0)
		return pid;
	personality(ADDR_NO_RANDOMIZE); /* places stay what they are */
	setenv("LD_BIND_NOW", "1", 1);
	if (options.preload != NULL)
		setenv("LD_PRELOAD", options.preload, 1);
	execl(options.program, options.program, scenario, argument, (char *)NULL);
	_exit(127);
}

static bool await_word(_Atomic uint32_t *word, uint32_t value)
{
	unsigned turns = 0;

	while (atomic_load(word) != value)
		if (waitpid(victim.process, NULL, WNOHANG) != 0 || !take_a_turn(&turns))
			return false;
	return true;
}

static void stop_process(pid_t *pid)
{
	if (*pid > 0) {
		kill(*pid, SIGKILL);
		waitpid(*pid, NULL, 0);
	}
	*pid = 0;
}

static void stop_victim(void)
{
	if (victim.process > 0)
		kill(victim.process, SIGKILL);
	if (victim.thread > 0) /* first: a process ends after its threads */
		while (waitpid(victim.thread, NULL, __WALL) == victim.thread)
			;
	stop_process(&victim.process);
	victim.thread = 0;
	if (atomic_load(&page->child) > 0)
		kill(atomic_load(&page->child), SIGKILL);
	atomic_store(&page->child, 0);
}

static void stop_all(void)
{
	stop_victim();
	stop_process(&partner);
}

static void give_up(int status, const char *why)
{
	printf("%s %s: %s\n", options.program, scenario, why);
	stop_all();
	exit(status);
}

static void start_victim(void)
{
	atomic_store(&page->ready, 0);
	atomic_store(&page->answer, asks);
	victim.process = start(NULL);
	if (!await_word(&page->ready, 1))
		give_up(1, "does not start");
	victim.thread = atomic_load(&page->thread[VICTIM]);
	if (!trace_begin(&victim)) {
		victim.thread = 0;
		give_up(SKIPPED, "skipped: the system does not let us trace it");
	}
}

static void start_all(void)
{
	int fd = memfd_create("region", 0);

	dup2(fd, REGION_FD);
	close(fd);
	memset(page, 0, sizeof(*page));
	asks = 0;
	start_victim();
	if (!atomic_load(&page->apart))
		return;
	partner = start("--partner");
	if (!await_word(&page->done[PARTNER], 1))
		give_up(1, "the partner does not start");
}

/* A round. */

static void say(_Atomic uint32_t *word, uint32_t value)
{
	atomic_store(word, value);
	page_say(&page->event, atomic_load(&page->event) + 1);
}

static void say_go(void)
{
	if (!atomic_load(&page->late) &&
	    atomic_load(&page->go) != atomic_load(&page->round))
		say(&page->go, atomic_load(&page->round));
}

static void ask(enum disturbance what)
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
			trace_breakpoint(&victim, caller);
			trace_continue(&victim, 0);
		} else {
			trace_breakpoint(&victim, 0);
			return *stop == STEPPED;
		}
	}
}

static bool begin_round(void)
{
	page_say(&page->round, atomic_load(&page->round) + 2);
	return trace_await(&victim, false) == AT_MARK;
}

/* From wherever it is to the end of the stretch, and of the round. It is not stopped
 * if it sleeps. */
static bool end_round(enum stop stop)
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
		place_count = 0;
		return 0;
	}
	while (seen[i].place != 0 && seen[i].place != place)
		i = (i + 1) % SLOTS;
	place_count += seen[i].place == 0;
	seen[i].place = place;
	return ++seen[i].count;
}

static void write_down(struct point point)
{
	if (point.nth <= OCCURRENCES && point_count < MOST_POINTS)
		points[point_count++] = point;
}

static bool record(void)
{
	unsigned sleeps_so_far = 0;
	enum stop stop = STEPPED;
	bool slept;

	count_place(0);
	point_count = step_count = 0;
	if (!begin_round())
		return false;
	do {
		unsigned long place = trace_place(&victim);

		write_down((struct point){
			.place = place, .nth = count_place(place), .step = step_count++});
		step(&stop, &slept);
		if (slept)
			write_down((struct point){.place = place,
						  .nth = ++sleeps_so_far,
						  .step = step_count,
						  .asleep = true});
	} while (stop == STEPPED && step_count < MOST_STEPS);
	return end_round(stop);
}

/* Runs to the point; what it returns is STEPPED or ASLEEP if it is there. */
static enum stop run_to(const struct point *p)
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

/* The same by steps. */
static enum stop step_to(const struct point *p)
{
	enum stop stop = STEPPED;
	unsigned i;
	bool slept;

	for (i = 0; i < p->step && stop == STEPPED; i++)
		step(&stop, &slept);
	return stop;
}

/* Disturbances. Each returns how it leaves the victim. */

static enum stop disturb_by_signal(enum stop stop)
{
	if (stop == ASLEEP) {
		syscall(SYS_tgkill, victim.process, victim.thread, SIGUSR1);
		return ASLEEP;
	}
	trace_continue(&victim, SIGUSR1);
	return ASLEEP; /* not stopped, that is */
}

static enum stop hold_still(enum stop stop)
{
	if (stop != ASLEEP)
		return stop;
	trace_halt(&victim);
	return trace_await(&victim, false);
}

static unsigned forks_that_waited;

static enum stop disturb_by_fork(enum stop stop)
{
	unsigned turns = 0;

	stop = hold_still(stop);
	ask(FORK);
	while (atomic_load(&page->answer) != asks && turns < FORK_TURNS)
		if (!take_a_turn(&turns))
			break;
	forks_that_waited += atomic_load(&page->answer) != asks;
	return stop;
}

/* Others use the object meanwhile. If they wait for nobody, they must get through;
 * otherwise they may, or wait for the victim. */
static enum stop disturb_by_freeze(enum stop stop)
{
	pid_t service = atomic_load(&page->thread[SERVICE]);
	unsigned turns = 0, blocked = 0;
	bool free = atomic_load(&page->free);

	stop = hold_still(stop);
	say_go();
	ask(FREEZE);
	while (atomic_load(&page->answer) != asks) {
		if (!take_a_turn(&turns))
			return NEVER;
		blocked = sleeps(service) ? blocked + 1 : 0;
		if (!free && (blocked > 2 || turns > BLOCKED_TURNS))
			break;
	}
	return stop;
}

/* The process is killed; its partner must come through. */
static bool kill_and_go_on(void)
{
	uint32_t round = atomic_load(&page->round);
	unsigned turns = 0;

	stop_victim();
	atomic_store(&page->go, round);
	say(&page->over, round);
	while (atomic_load(&page->done[PARTNER]) != round)
		if (!take_a_turn(&turns))
			return false;
	if (atomic_load(&page->is_wrong) != 0)
		return false;
	start_victim();
	return true;
}

/* Plays a round. False: something is wrong; *reached tells whether it got there. */
static bool play(const struct point *p, enum disturbance what, bool by_steps,
		 bool *reached)
{
	uint32_t handled = atomic_load(&page->handled);
	enum stop stop;
	bool good;

	if (!begin_round())
		return false;
	stop = by_steps ? step_to(p) : run_to(p);
	*reached = stop == STEPPED || stop == ASLEEP;
	if (!*reached)
		return end_round(stop);
	switch (what) {
	case SIGNAL:
		stop = disturb_by_signal(stop);
		break;
	case FORK:
		stop = disturb_by_fork(stop);
		break;
	case FREEZE:
		stop = disturb_by_freeze(stop);
		break;
	default:
		return kill_and_go_on();
	}
	if (stop == NEVER || stop == DEAD)
		return false;
	good = end_round(stop);
	if (good && what == SIGNAL && atomic_load(&page->handled) != handled + 1) {
		strcpy(page->wrong, "the signal was not handled once");
		return false;
	}
	return good;
}

static void print_failure(const struct point *p, enum disturbance what)
{
	char text[256];

	/* The partner is the same program, at the same addresses. */
	symbol_of(what == KILL ? partner : atomic_load(&page->process), p->place, text,
		  sizeof(text));
	printf("%s: %s %s %s, time %u: ", scenario, names[what],
	       p->asleep ? "asleep at" : "at", text, p->nth);
	if (page->wrong[0] != '\0') {
		printf("%s\n", page->wrong);
	} else if (what != KILL && kill(atomic_load(&page->process), 0) != 0) {
		printf("the process dies\n");
	} else {
		printf("%s hangs\n", what == KILL ? "the partner" : "it");
		print_threads(atomic_load(&page->process), "the process");
		if (partner > 0)
			print_threads(partner, "the partner");
		if (atomic_load(&page->child) > 0)
			print_threads(atomic_load(&page->child), "the child");
	}
	fflush(stdout);
}

static void start_over(void)
{
	stop_all();
	start_all();
}

/* Returns the number of failures. */
static unsigned disturb_everywhere(enum disturbance what)
{
	unsigned i, done = 0, stepped = 0, missed = 0, failures = 0;

	forks_that_waited = 0;
	for (i = 0; i < point_count && failures < options.failures; i += options.every) {
		bool reached = false;
		bool good = play(&points[i], what, false, &reached);

		if (good && !reached && !points[i].asleep) {
			good = play(&points[i], what, true, &reached);
			stepped++;
		}
		done += reached;
		missed += !reached;
		if (!good) {
			failures++;
			print_failure(&points[i], what);
			start_over();
		}
	}
	printf("%-16s %-7s at %u instructions (%u by steps), missed %u, failures %u",
	       scenario, names[what], done, stepped, missed, failures);
	printf(what == FORK ? ", forks that waited %u\n" : "\n", forks_that_waited);
	fflush(stdout);
	return failures;
}

static unsigned disturb_scenario(void)
{
	unsigned failures = 0;
	int what;

	start_all();
	if (!record() || !record()) { /* the second time: the first is a first use */
		print_failure(&points[0], SIGNAL);
		give_up(1, "goes wrong undisturbed");
	}
	printf("%-16s steps %u, places %u, points %u\n", scenario, step_count,
	       place_count, point_count);
	for (what = 0; what < DISTURBANCES; what++)
		if ((atomic_load(&page->kinds) >> what & 1) != 0 &&
		    (options.only < 0 || options.only == what))
			failures += disturb_everywhere((enum disturbance)what);
	stop_all();
	return failures;
}

static int disturbance_named(const char *name)
{
	int what;

	for (what = 0; what < DISTURBANCES; what++)
		if (strcmp(name, names[what]) == 0)
			return what;
	fprintf(stderr,
		"disturb: no disturbance %s; there are signal, fork, freeze, kill\n",
		name);
	exit(2);
}

/* All scenarios of the program. */
static char **list_scenarios(void)
{
	enum { MOST = 64 };
	static char *found[MOST + 1];
	char command[512], line[64];
	size_t n = 0;
	FILE *list;

	snprintf(command, sizeof(command), "%s --list", options.program);
	list = popen(command, "r");
	while (list != NULL && n < MOST && fgets(line, sizeof(line), list) != NULL)
		found[n++] = strndup(line, strcspn(line, "\n"));
	if (list != NULL)
		pclose(list);
	return found;
}

int main(int argc, char **argv)
{
	unsigned failures = 0;
	char **chosen;
	int fd;

	for (argv++; argc > 2 && strncmp(argv[0], "--", 2) == 0; argv += 2, argc -= 2)
		if (strcmp(argv[0], "--every") == 0)
			options.every = (unsigned)atoi(argv[1]);
		else if (strcmp(argv[0], "--patience") == 0)
			patience = (unsigned)atoi(argv[1]);
		else if (strcmp(argv[0], "--failures") == 0)
			options.failures = (unsigned)atoi(argv[1]);
		else if (strcmp(argv[0], "--only") == 0)
			options.only = disturbance_named(argv[1]);
		else if (strcmp(argv[0], "--preload") == 0)
			options.preload = argv[1];
		else
			argc = 0;
	if (argc < 2 || options.every == 0 || patience == 0) {
		fprintf(stderr, "usage: disturb [--every N] [--failures N] [--patience "
				"SECONDS] [--only DISTURBANCE] [--preload LIBRARY] "
				"PROGRAM [SCENARIO...]\n");
		return 2;
	}
	options.program = argv[0];
	chosen = argv[1] != NULL ? argv + 1 : list_scenarios();
	fd = memfd_create("page", 0);
	if (fd < 0 || ftruncate(fd, PAGE_BYTES) != 0 || dup2(fd, PAGE_FD) < 0) {
		perror("disturb: memfd_create");
		return 1;
	}
	page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, PAGE_FD, 0);
	if (page == MAP_FAILED) {
		perror("disturb: mmap");
		return 1;
	}
	for (; *chosen != NULL; chosen++) {
		scenario = *chosen;
		failures += disturb_scenario();
	}
	return failures > 0 ? 1 : 0;
}
