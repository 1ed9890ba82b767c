/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "stage.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

struct page *page;
static const struct scenario *scenario;
static __thread enum role role;
static bool in_child; /* of a fork */

uint32_t stage_round(void)
{
	return atomic_load(&page->round);
}

void stage_demand(bool holds, const char *what)
{
	if (holds)
		return;
	if (atomic_exchange(&page->is_wrong, 1) == 0)
		strncpy(page->wrong, what, sizeof(page->wrong) - 1);
	if (in_child)
		_exit(1);
}

static int sections; /* as those inside count them */
static _Atomic int all_sections, inside;

void stage_section(void)
{
	stage_demand(atomic_fetch_add(&inside, 1) == 0, "two are inside");
	sections++;
	atomic_fetch_add(&all_sections, 1);
	stage_demand(atomic_fetch_sub(&inside, 1) == 1, "two are inside");
}

static void check_sections(void)
{
	stage_demand(sections == atomic_load(&all_sections), "a section is lost");
}

void stage_placed(void)
{
	page_say(&page->placed[role], stage_round());
}

static void await_event(_Atomic uint32_t *word)
{
	uint32_t seen;

	while (seen = atomic_load(&page->event), atomic_load(word) != stage_round())
		page_sleep(&page->event, seen);
}

void stage_await_go(void)
{
	await_event(&page->go);
}

void stage_await_over(void)
{
	await_event(&page->over);
}

bool stage_is_over(void)
{
	return atomic_load(&page->over) == stage_round();
}

void stage_nap(void)
{
	const struct timespec nap = {.tv_nsec = 100 * 1000};
	_Atomic uint32_t nobody = 0;

	syscall(SYS_futex, &nobody, FUTEX_WAIT, 0, &nap, NULL, 0);
}

struct timespec stage_in(clockid_t clock, long ns)
{
	const long second = 1000000000;
	struct timespec time;

	clock_gettime(clock, &time);
	time.tv_nsec += ns;
	time.tv_sec += time.tv_nsec / second;
	time.tv_nsec %= second;
	return time;
}

static void *run(void *function)
{
	void (**run)(void) = function;

	(*run)();
	return NULL;
}

void stage_both(void (*function)(void))
{
	pthread_t other;

	if (pthread_create(&other, NULL, run, &function) != 0) {
		stage_demand(false, "no thread can be made");
		return;
	}
	function();
	pthread_join(other, NULL);
}

void stage_sit_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void call(void (*function)(void))
{
	if (function != NULL)
		function();
}

static void handle(int signal)
{
	(void)signal;
	call(scenario->handler);
	atomic_fetch_add(&page->handled, 1);
}

/* The driver stands at both ends of the stretch. */
static void be_victim(void)
{
	call(scenario->before);
	stage_placed();
	await_event(&page->begun);
	__asm__ volatile("int3" ::: "memory");
	scenario->victim();
	__asm__ volatile("int3" ::: "memory");
	call(scenario->after);
}

static void fork_here(void)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		in_child = true;
		sections = 0;
		atomic_store(&all_sections, 0);
		atomic_store(&inside, 0);
		call(scenario->child);
		check_sections();
		_exit(0);
	}
	stage_demand(pid > 0, "fork fails");
	atomic_store(&page->child, pid);
	stage_demand(waitpid(pid, &status, 0) == pid, "the child is gone");
	stage_demand(status == 0, "the child of the fork does not end well");
	atomic_store(&page->child, 0);
}

static void be_service(void)
{
	bool gone = false;

	call(scenario->hold);
	stage_placed();
	for (;;) {
		uint32_t seen = atomic_load(&page->event), ask = atomic_load(&page->ask);

		if (!gone && atomic_load(&page->go) == stage_round()) {
			gone = true;
			call(scenario->let_go);
		} else if (atomic_load(&page->answer) != ask) {
			if (atomic_load(&page->asked) == FORK)
				fork_here();
			else
				call(scenario->use);
			page_say(&page->answer, ask);
		} else if (atomic_load(&page->over) == stage_round()) {
			break;
		} else {
			page_sleep(&page->event, seen);
		}
	}
}

static void *play(void *as)
{
	uint32_t round;

	role = (enum role)(uintptr_t)as;
	round = atomic_load(&page->turn[role]);
	atomic_store(&page->thread[role], (int32_t)syscall(SYS_gettid));
	page_say(&page->done[role], 1); /* there is no round 1 */
	for (;;) {
		while (atomic_load(&page->turn[role]) == round)
			page_sleep(&page->turn[role], round);
		round = atomic_load(&page->turn[role]);
		if (role == VICTIM)
			be_victim();
		else if (role == SERVICE)
			be_service();
		else
			scenario->partner();
		page_say(&page->done[role], round);
	}
	return NULL;
}

/* Whether a thread sleeps in the system; it is known to be in place. */
static bool asleep(enum role who)
{
	char path[64], text[32];
	FILE *file;
	bool told;

	snprintf(path, sizeof(path), "/proc/%d/syscall",
		 (int)atomic_load(&page->thread[who]));
	file = fopen(path, "r");
	if (file == NULL)
		return true; /* of another process: that it is in place is all we know */
	told = fgets(text, sizeof(text), file) != NULL;
	fclose(file);
	return !told || strtol(text, NULL, 10) == SYS_futex;
}

static enum role last_partner(void)
{
	return (enum role)(VICTIM + scenario->partners);
}

static void direct(uint32_t round)
{
	enum role last = last_partner(), who;

	call(scenario->prepare);
	for (who = SERVICE; who <= VICTIM; who++) {
		page_say(&page->turn[who], round);
		page_await(&page->placed[who], round);
	}
	for (who = PARTNER; who <= last; who++) {
		page_say(&page->turn[who], round);
		page_await(&page->placed[who], round);
		while (!asleep(who))
			usleep(50);
	}
	call(scenario->poise);
	atomic_store(&page->begun, round);
	page_say(&page->event, atomic_load(&page->event) + 1);
	for (who = SERVICE; who <= last; who++)
		page_await(&page->done[who], round);
	call(scenario->check);
	check_sections();
	page_say(&page->ended, round);
}

static void start(enum role who)
{
	pthread_t thread;

	atomic_store(&page->done[who], 0);
	if (pthread_create(&thread, NULL, play, (void *)(uintptr_t)who) != 0)
		exit(3);
	page_await(&page->done[who], 1);
}

/* Usage: PROGRAM --list, or PROGRAM SCENARIO [--partner], by the driver. */
int main(int argc, char **argv)
{
	const struct sigaction action = {.sa_handler = handle};
	uint32_t round = 0;
	enum role who;

	for (scenario = scenarios; scenario->name != NULL; scenario++)
		if (argc > 1 && strcmp(argv[1], "--list") == 0)
			puts(scenario->name);
		else if (argc > 1 && strcmp(argv[1], scenario->name) == 0)
			break;
	if (scenario->name == NULL)
		return argc > 1 && strcmp(argv[1], "--list") == 0 ? 0 : 2;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, PAGE_FD, 0);
	if (page == MAP_FAILED)
		return 3;
	sigaction(SIGUSR1, &action, NULL);
	call(scenario->begin);
	if (argc > 2)
		play((void *)(uintptr_t)PARTNER);
	atomic_store(&page->process, getpid());
	atomic_store(&page->kinds, scenario->kinds);
	atomic_store(&page->apart, scenario->apart);
	atomic_store(&page->late, scenario->late);
	atomic_store(&page->free, scenario->free);
	start(SERVICE);
	start(VICTIM);
	for (who = PARTNER; !scenario->apart && who <= last_partner(); who++)
		start(who);
	round = stage_round();
	page_say(&page->ready, 1);
	for (;;) {
		while (stage_round() == round)
			page_sleep(&page->round, round);
		round = stage_round();
		direct(round);
	}
}
