/* SPDX-License-Identifier: MIT */
#include "cli.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const char *pawl;
static char directory[] = "/tmp/pawl-cli-XXXXXX";

struct outcome outcome;

void read_file(const char *name, char *text, size_t size)
{
	FILE *file = fopen(name, "r");
	size_t length;

	assert_non_null(file);
	length = fread(text, 1, size - 1, file);
	text[length] = '\0';
	fclose(file);
}

/* Runs `pawl <arguments>`, by the shell; an interrupt after `seconds` if not 0. */
void run_interrupted(const char *arguments, unsigned seconds)
{
	char command[1024];
	pid_t child;
	int status;

	snprintf(command, sizeof(command), "exec '%s' %s >out 2>err", pawl, arguments);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	if (seconds > 0) {
		sleep(seconds);
		kill(child, SIGINT);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	read_file("out", outcome.out, sizeof(outcome.out));
	read_file("err", outcome.err, sizeof(outcome.err));
	unlink("out");
	unlink("err");
}

void run(const char *arguments)
{
	run_interrupted(arguments, 0);
}

void assert_contains(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("'%s' not found in: %s", part, text);
}

void assert_directory_is_empty(void)
{
	DIR *d = opendir(".");
	const struct dirent *entry;

	assert_non_null(d);
	while ((entry = readdir(d)) != NULL)
		if (entry->d_name[0] != '.')
			fail_msg("left behind: %s", entry->d_name);
	closedir(d);
}

/* Bad input: exit 2, one line that contains `remedy`, no result, no file. */
void assert_refused(const char *arguments, const char *what, const char *remedy)
{
	run(arguments);
	assert_int_equal(outcome.status, 2);
	assert_string_equal(outcome.out, "");
	assert_true(strlen(outcome.err) > 0);
	assert_ptr_equal(strchr(outcome.err, '\n'),
			 outcome.err + strlen(outcome.err) - 1);
	assert_contains(outcome.err, what);
	assert_contains(outcome.err, remedy);
	assert_directory_is_empty();
}

void assert_succeeded(void)
{
	if (outcome.status != 0)
		fail_msg("exit status %d: %s", outcome.status, outcome.err);
}

int enter_directory(void **state)
{
	(void)state;
	return mkdtemp(directory) == NULL || chdir(directory) != 0;
}

int leave_directory(void **state)
{
	(void)state;
	return chdir("/") != 0 || rmdir(directory) != 0;
}

bool find_command(int argc, char **argv)
{
	pawl = argc == 2 ? realpath(argv[1], NULL) : NULL;
	if (pawl == NULL)
		fprintf(stderr, "usage: %s PAWL\n", argv[0]);
	return pawl != NULL;
}
