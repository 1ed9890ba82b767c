/* SPDX-License-Identifier: MIT */
#include "child.h"
#include "harness.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

unsigned child_patience = 60;

/*
 * Reads what the child says until it ends; ends it if that takes too long. Its time is
 * not the alarm clock's, which goes on while a process is stopped or starved: it is
 * counted in turns of a second of this process, which waits for the same machine.
 */
static void listen_to(pid_t pid, int from, struct child *child)
{
	struct pollfd said = {.fd = from, .events = POLLIN};
	unsigned seconds = 0;
	size_t length = 0;
	ssize_t got = 1;
	char *foreign;

	while (got > 0 && seconds < child_patience) {
		int ready = poll(&said, 1, 1000);

		if (ready == 0)
			seconds++;
		if (ready <= 0)
			continue;
		got = read(from, child->text + length, sizeof(child->text) - 1 - length);
		length += got > 0 ? (size_t)got : 0;
	}
	child->text[length] = '\0';
	/* An emulator's words at the end are not the child's. */
	foreign = strstr(child->text, "qemu: uncaught target signal");
	if (foreign != NULL)
		*foreign = '\0';
	if (got > 0)
		kill(pid, SIGKILL);
}

struct child child_run(void (*run)(void))
{
	struct child child = {0, 0, ""};
	int pipes[2], status;
	pid_t pid;

	fflush(NULL);
	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		const struct rlimit no_core = {0, 0};

		setrlimit(RLIMIT_CORE, &no_core);
		signal(SIGABRT, SIG_DFL); /* cmocka and sanitizers catch it */
		dup2(pipes[1], STDERR_FILENO);
		close(pipes[0]);
		close(pipes[1]);
		run();
		_exit(0);
	}
	close(pipes[1]);
	listen_to(pid, pipes[0], &child);
	close(pipes[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		child.signal = WTERMSIG(status);
	else
		child.status = WEXITSTATUS(status);
	return child;
}

void child_exec(const char *argument, bool refused)
{
#ifdef EMULATOR
	char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[length > 0 ? length : 0] = '\0';
	execl("/bin/sh", "sh", "-c",
	      refused ? "exec " REFUSER " " EMULATOR " \"$0\" \"$1\""
		      : "exec " EMULATOR " \"$0\" \"$1\"",
	      path, argument, (char *)NULL);
#else
	if (refused && refuse_membarrier() != 0)
		_exit(CHILD_SKIPS);
	execl("/proc/self/exe", "again", argument, (char *)NULL);
#endif
	_exit(1);
}

static const char *again_argument;
static bool again_refused;

static void again(void)
{
	child_exec(again_argument, again_refused);
}

void child_again(const char *argument, bool refused)
{
	struct child child;

	again_argument = argument;
	again_refused = refused;
	child = child_run(again);
	if (child.status == CHILD_SKIPS) {
		print_message("no filters of system calls here\n");
		skip();
	}
	assert_string_equal(child.text, "");
	assert_int_equal(child.signal, 0);
	assert_int_equal(child.status, 0);
}
