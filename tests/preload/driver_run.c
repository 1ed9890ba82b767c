/* SPDX-License-Identifier: MIT */
#include "driver.h"

#include "harness/child.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

const struct lock_type *lock;

struct outcome run(const char *format, ...)
{
	struct outcome outcome = {0, NULL};
	size_t room = 0, length = 0, got;
	char command[1024];
	va_list arguments;
	FILE *pipe;

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	fflush(NULL);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	do {
		room += 1 << 16;
		outcome.text = realloc(outcome.text, room);
		assert_non_null(outcome.text);
		got = fread(outcome.text + length, 1, room - length - 1, pipe);
		length += got;
	} while (got > 0);
	outcome.text[length] = '\0';
	outcome.status = pclose(pipe);
	return outcome;
}

void need_no_emulator(void)
{
#ifdef EMULATOR
	print_message("programs filter no system calls, and start no others, under an "
		      "emulator\n");
	skip();
#endif
}

static void run_by(const char *starter, const char *program)
{
	struct outcome outcome = run("exec 2>&1; PAWL_LOCK=%s exec %s" PRELOADED "%s/%s",
				     lock->name, starter, PROGRAMS, program);

	if (WIFEXITED(outcome.status) && WEXITSTATUS(outcome.status) == CHILD_SKIPS) {
		print_message("%s", outcome.text);
		skip();
	}
	if (outcome.status != 0 || *outcome.text != '\0')
		fail_msg("%s under %s: status %#x, said: %s", program, lock->name,
			 (unsigned)outcome.status, outcome.text);
	free(outcome.text);
}

void run_well(const char *program)
{
	run_by("", program);
}

void run_refused(const char *program)
{
	run_by(REFUSER " ", program);
}

void with(const char *variable, const char *value, void (*check)(const char *program),
	  const char *program)
{
	setenv(variable, value, 1);
	check(program);
	unsetenv(variable);
}

/* Says where two texts begin to differ. */
static void compare(const char *ours, const char *theirs)
{
	int line = 1;

	for (; *ours != '\0' && *ours == *theirs; ours++, theirs++)
		line += *ours == '\n';
	if (*ours != *theirs)
		fail_msg("line %d: '%.*s' under %s, '%.*s' without", line,
			 (int)strcspn(ours, "\n"), ours, lock->name,
			 (int)strcspn(theirs, "\n"), theirs);
}

void behaves_alike(const char *program)
{
	struct outcome theirs = run(PLAINLY "%s/%s 2>&1", PROGRAMS, program);
	struct outcome ours = run("exec 2>&1; PAWL_LOCK=%s exec " PRELOADED "%s/%s",
				  lock->name, PROGRAMS, program);

	compare(ours.text, theirs.text);
	assert_int_equal(theirs.status, 0);
	assert_int_equal(ours.status, 0);
	free(theirs.text);
	free(ours.text);
}
