/* SPDX-License-Identifier: MIT */
/*
 * Disturbs a thread at every instruction of a stretch of code, one after the other:
 * by a signal, by a fork in another thread, by standing still while others go on, or
 * by the death of its process.
 *
 * First the stretch is single-stepped, and the instructions written down. Then a round
 * is played for each: the thread runs to that instruction, by a breakpoint or, if it
 * came another way this time, by steps; is disturbed; and goes on undisturbed. All
 * must then end, and be right; or, awake, the process may end itself with the sentence
 * that --sentence names.
 *
 * Usage: disturb [--every N] [--failures N] [--patience SECONDS] [--only DISTURBANCE]
 *                [--preload LIBRARY] [--sentence TEXT] PROGRAM [SCENARIO...]
 */
#define _GNU_SOURCE
#include "rounds.h"
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
	BLOCKED_TURNS = 20, /* that a service may be stuck behind who stands still */
	FORK_TURNS = 5000,  /* that a fork may be */
};

static const char *const names[DISTURBANCES] = {"signal", "fork", "freeze", "kill"};

static struct {
	const char *program, *preload, *sentence;
	unsigned every;	   /* instruction to be disturbed: the first, and so on */
	unsigned failures; /* before a scenario is given up */
	int only;	   /* a disturbance, or -1 */
} options = {.every = 1, .failures = 3, .only = -1};

static const char *scenario;
static pid_t partner; /* a process, or 0 */

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
	if (options.sentence != NULL)
		dup2(WORDS_FD, STDERR_FILENO);
	execl(options.program, options.program, scenario, argument, (char *)NULL);
	_exit(127);
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

/* Whether the process has said the sentence; forgets what it has said. */
static bool said_sentence(void)
{
	char words[1024];
	ssize_t length = pread(WORDS_FD, words, sizeof(words) - 1, 0);

	if (options.sentence == NULL || length <= 0)
		return false;
	words[length] = '\0';
	ftruncate(WORDS_FD, 0);
	lseek(WORDS_FD, 0, SEEK_SET);
	if (strstr(words, options.sentence) != NULL)
		return true;
	fputs(words, stdout);
	return false;
}

/* Returns the number of failures. */
static unsigned disturb_everywhere(enum disturbance what)
{
	unsigned i, done = 0, stepped = 0, missed = 0, failures = 0, ended = 0;

	forks_that_waited = 0;
	for (i = 0; i < stretch.count && failures < options.failures; i++) {
		bool reached = false, good;

		if (i % options.every != 0 && !stretch.points[i].asleep)
			continue;
		good = play(&stretch.points[i], what, false, &reached);
		if (good && !reached && !stretch.points[i].asleep) {
			good = play(&stretch.points[i], what, true, &reached);
			stepped++;
		}
		done += reached;
		missed += !reached;
		if (!good && said_sentence() && !stretch.points[i].asleep) {
			ended++;
			start_over();
		} else if (!good) {
			failures++;
			print_failure(&stretch.points[i], what);
			start_over();
		}
	}
	printf("%-16s %-7s at %u instructions (%u by steps), missed %u, failures %u",
	       scenario, names[what], done, stepped, missed, failures);
	if (options.sentence != NULL)
		printf(", ended with the sentence %u", ended);
	printf(what == FORK ? ", forks that waited %u\n" : "\n", forks_that_waited);
	fflush(stdout);
	return failures;
}

static unsigned disturb_scenario(void)
{
	unsigned failures = 0;
	int what;

	start_all();
	if (!record()) {
		print_failure(&stretch.points[0], SIGNAL);
		give_up(1, "goes wrong undisturbed");
	}
	printf("%-16s steps %u, places %u, points %u\n", scenario, stretch.steps,
	       stretch.places, stretch.count);
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
		else if (strcmp(argv[0], "--sentence") == 0)
			options.sentence = argv[1];
		else
			argc = 0;
	if (argc < 2 || options.every == 0 || patience == 0) {
		fprintf(stderr, "usage: disturb [--every N] [--failures N] [--patience "
				"SECONDS] [--only DISTURBANCE] [--preload LIBRARY] "
				"[--sentence TEXT] PROGRAM [SCENARIO...]\n");
		return 2;
	}
	options.program = argv[0];
	chosen = argv[1] != NULL ? argv + 1 : list_scenarios();
	fd = memfd_create("page", 0);
	if (fd < 0 || ftruncate(fd, PAGE_BYTES) != 0 || dup2(fd, PAGE_FD) < 0) {
		perror("disturb: memfd_create");
		return 1;
	}
	fd = memfd_create("words", MFD_CLOEXEC);
	if (fd < 0 || dup2(fd, WORDS_FD) < 0) {
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
