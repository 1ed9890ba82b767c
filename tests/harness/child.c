/* SPDX-License-Identifier: MIT */
#include "child.h"
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct child child_run(void (*run)(void))
{
	struct child child = {0, 0, ""};
	size_t length = 0;
	ssize_t got;
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
		alarm(60);
		run();
		_exit(0);
	}
	close(pipes[1]);
	while ((got = read(pipes[0], child.text + length,
			   sizeof(child.text) - 1 - length)) > 0)
		length += (size_t)got;
	close(pipes[0]);
	child.text[length] = '\0';
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		child.signal = WTERMSIG(status);
	else
		child.status = WEXITSTATUS(status);
	return child;
}

static const char *again_argument;
static bool again_refused;

static void again(void)
{
	if (again_refused && refuse_membarrier() != 0)
		_exit(CHILD_SKIPS);
	execl("/proc/self/exe", "again", again_argument, (char *)NULL);
	_exit(1);
}

void child_again(const char *argument, bool refused)
{
	struct child child;

	again_argument = argument;
	again_refused = refused;
	child = child_run(again);
	if (child.status == CHILD_SKIPS) {
		print_message("this system cannot do what the case needs\n");
		skip();
	}
	assert_string_equal(child.text, "");
	assert_int_equal(child.signal, 0);
	assert_int_equal(child.status, 0);
}
