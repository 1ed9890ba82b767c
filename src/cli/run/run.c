/* SPDX-License-Identifier: MIT */
/* pawl run: runs a program with pawl's locks under its mutexes. */
#define _GNU_SOURCE
#include "cli/commands.h"
#include "cli/common/interpose.h"
#include "cli/common/options.h"
#include "preload/offer.h"
#include "cli/common/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Exit statuses as of a shell. */
enum { CANNOT_EXECUTE = 126, NOT_FOUND = 127 };

static void print_list(void)
{
	const struct lock_type *type;
	const char *refusal;

	printf("Offered:\n");
	for (type = lock_types; type->name != NULL; type++)
		if (offer_refusal(type) == NULL)
			printf(strcmp(type->name, OFFER_DEFAULT) == 0
				       ? "  %-20s  the default\n"
				       : "  %s\n",
			       type->name);
	printf("\nNot offered:\n");
	for (type = lock_types; type->name != NULL; type++) {
		refusal = offer_refusal(type);
		if (refusal != NULL && strcmp(type->name, type->base) == 0)
			printf("  %-20s  %s\n", type->name, refusal);
	}
}

static void parse_rwlock(const char *option, const char *text, void *into)
{
	if (strcmp(text, OFFER_RWLOCK_OURS) != 0 && strcmp(text, OFFER_RWLOCK_GLIBC) != 0)
		refuse("--%s: '%s' is neither " OFFER_RWLOCK_OURS
		       " nor " OFFER_RWLOCK_GLIBC,
		       option, text);
	*(const char **)into = text;
}

int run_main(int argc, char **argv)
{
	const char *lock = getenv("PAWL_LOCK");
	const char *rwlock = NULL;
	bool stats = false, list = false;
	const struct option_spec options[] = {
		{"lock", "NAME", "the lock to use; default " OFFER_DEFAULT, parse_text,
		 &lock},
		{"rwlock", "WHOSE",
		 "read-write locks to use: " OFFER_RWLOCK_OURS " or " OFFER_RWLOCK_GLIBC
		 " (" OFFER_RWLOCK_OURS ")",
		 parse_rwlock, &rwlock},
		{"stats", NULL, "print statistics of the lock on stderr at exit",
		 parse_flag, &stats},
		{"list", NULL, "list the locks that can be used, and why others cannot",
		 parse_flag, &list},
		{.name = NULL},
	};
	const struct usage usage = {
		.command = "run",
		.operands = "-- PROGRAM [ARGUMENT...]",
		.about = "Runs a program with one of pawl's locks under its pthread "
			 "mutexes and\ncondition variables, and pawl_rwlock under its "
			 "read-write locks, unless --rwlock\nleaves those to glibc. "
			 "Environment: PAWL_LOCK=NAME, PAWL_RWLOCK=WHOSE,\n"
			 "PAWL_STATS=FILE, PAWL_VERBOSE=1.",
		.options = options,
	};
	int program = program_at(&usage, argc, argv);
	char **environment;

	parse_options(&usage, program < argc ? program : argc, argv);
	if (list) {
		print_list();
		return 0;
	}
	if (program >= argc)
		refuse("no program given: pawl run [--lock NAME] [--stats] -- PROGRAM "
		       "[ARGUMENT...]");
	if (lock == NULL || *lock == '\0')
		lock = OFFER_DEFAULT;
	require_offered(lock);
	refuse_if_deaf(argv[program]);
	if (stats && setenv("PAWL_STATS", "-", 0) != 0)
		give_up("cannot set PAWL_STATS: %s", strerror(errno));
	if (rwlock != NULL && setenv("PAWL_RWLOCK", rwlock, 1) != 0)
		give_up("cannot set PAWL_RWLOCK: %s", strerror(errno));
	environment = interposed_environment(lock);
	execvpe(argv[program], argv + program, environment);
	fprintf(stderr, "pawl: cannot run '%s': %s\n", argv[program], strerror(errno));
	free_environment(environment);
	return errno == ENOENT ? NOT_FOUND : CANNOT_EXECUTE;
}
