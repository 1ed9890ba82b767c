/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "tracing.h"
#include "symbols.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TURN_NS = 200 * 1000 };

unsigned patience = 300;

bool take_a_turn(unsigned *turns)
{
	const struct timespec turn = {.tv_nsec = TURN_NS};
	sigset_t stops;

	/* A traced thread that stops, or a process that ends, is told by a signal. */
	sigemptyset(&stops);
	sigaddset(&stops, SIGCHLD);
	sigprocmask(SIG_BLOCK, &stops, NULL);
	if (sigtimedwait(&stops, NULL, &turn) < 0)
		++*turns;
	return *turns < patience * (1000000000u / TURN_NS);
}

bool trace_begin(struct traced *t)
{
	clock_code_of(t->process, &t->clock_code, &t->clock_code_end);
	return ptrace(PTRACE_SEIZE, t->thread, NULL, PTRACE_O_EXITKILL) == 0;
}

void trace_step(const struct traced *t, int signal)
{
	ptrace(PTRACE_SINGLESTEP, t->thread, NULL, signal);
}

void trace_continue(const struct traced *t, int signal)
{
	ptrace(PTRACE_CONT, t->thread, NULL, signal);
}

void trace_halt(const struct traced *t)
{
	ptrace(PTRACE_INTERRUPT, t->thread, NULL, NULL);
}

static enum stop what_stopped(const struct traced *t, int status)
{
	siginfo_t about;

	if (!WIFSTOPPED(status))
		return DEAD;
	if (status >> 16 == PTRACE_EVENT_STOP)
		return HALTED;
	if (WSTOPSIG(status) == SIGUSR1)
		return SIGNALLED;
	if (WSTOPSIG(status) != SIGTRAP)
		return DEAD;
	if (ptrace(PTRACE_GETSIGINFO, t->thread, NULL, &about) != 0)
		return DEAD;
	return about.si_code == SI_KERNEL ? AT_MARK : STEPPED;
}

/* What the system says of a thread: the call it sleeps in, its stack and its place. */
static bool sleeping_call(pid_t thread, long *call, unsigned long *stack,
			  unsigned long *place)
{
	char path[64], text[256];
	FILE *file;
	bool told;

	snprintf(path, sizeof(path), "/proc/%d/syscall", (int)thread);
	file = fopen(path, "r");
	if (file == NULL)
		return false;
	told = fgets(text, sizeof(text), file) != NULL &&
	       sscanf(text, "%ld %*x %*x %*x %*x %*x %*x %lx %lx", call, stack, place) ==
		       3;
	fclose(file);
	return told;
}

bool sleeps(pid_t thread)
{
	unsigned long stack, place;
	long call;

	return sleeping_call(thread, &call, &stack, &place) && call == SYS_futex;
}

enum stop trace_await(const struct traced *t, bool tell_sleep)
{
	unsigned turns = 0;
	int status;

	do {
		pid_t pid = waitpid(t->thread, &status, __WALL | WNOHANG);

		if (pid == t->thread)
			return what_stopped(t, status);
		if (pid < 0)
			return DEAD;
		if (tell_sleep && turns > 0 && sleeps(t->thread))
			return ASLEEP;
	} while (take_a_turn(&turns));
	return NEVER;
}

unsigned long trace_place(const struct traced *t)
{
	struct user_regs_struct registers;

	memset(&registers, 0, sizeof(registers));
	ptrace(PTRACE_GETREGS, t->thread, NULL, &registers);
	return registers.rip;
}

unsigned long trace_clock_caller(const struct traced *t)
{
	struct user_regs_struct registers;

	memset(&registers, 0, sizeof(registers));
	ptrace(PTRACE_GETREGS, t->thread, NULL, &registers);
	if (registers.rip < t->clock_code || registers.rip >= t->clock_code_end)
		return 0;
	return (unsigned long)ptrace(PTRACE_PEEKDATA, t->thread, registers.rsp, NULL);
}

bool trace_breakpoint(const struct traced *t, unsigned long place)
{
	const unsigned long on = place != 0; /* register 0, this thread, execution */
	const size_t where = offsetof(struct user, u_debugreg[0]);
	const size_t control = offsetof(struct user, u_debugreg[7]);

	return ptrace(PTRACE_POKEUSER, t->thread, control, 0) == 0 &&
	       ptrace(PTRACE_POKEUSER, t->thread, where, place) == 0 &&
	       ptrace(PTRACE_POKEUSER, t->thread, control, on) == 0;
}

/* The callers, as far as what lies on the stack looks like return addresses. */
static void print_stack(pid_t process, unsigned long stack)
{
	enum { WORDS = 128, MOST = 8 };
	unsigned long words[WORDS];
	char path[64], text[256];
	int fd, printed = 0;
	ssize_t i, got;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)process);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return;
	got = pread(fd, words, sizeof(words), (off_t)stack) / (ssize_t)sizeof(words[0]);
	close(fd);
	for (i = 0; i < got && printed < MOST; i++)
		if (symbol_of(process, words[i], text, sizeof(text))) {
			printf("      %s\n", text);
			printed++;
		}
}

static void print_thread(pid_t process, pid_t thread)
{
	struct user_regs_struct registers;
	unsigned long stack, place;
	char text[256];
	long call;

	if (sleeping_call(thread, &call, &stack, &place)) {
		symbol_of(process, place, text, sizeof(text));
		printf("    thread %d sleeps in system call %ld at %s\n", (int)thread,
		       call, text);
		print_stack(process, stack);
	} else if (ptrace(PTRACE_GETREGS, thread, NULL, &registers) == 0) {
		symbol_of(process, registers.rip, text, sizeof(text));
		printf("    thread %d stands at %s\n", (int)thread, text);
		print_stack(process, registers.rsp);
	} else {
		printf("    thread %d runs\n", (int)thread);
	}
}

void print_threads(pid_t process, const char *whose)
{
	char path[64];
	struct dirent *entry;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
	tasks = opendir(path);
	if (tasks == NULL)
		return;
	printf("  %s:\n", whose);
	while ((entry = readdir(tasks)) != NULL)
		if (entry->d_name[0] != '.')
			print_thread(process, (pid_t)atoi(entry->d_name));
	closedir(tasks);
}
