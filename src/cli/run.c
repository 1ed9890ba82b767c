/* SPDX-License-Identifier: MIT */
/* pawl run: a program with other locks under its mutexes. */
#define _GNU_SOURCE
#include "commands.h"
#include "options.h"
#include "preload/offer.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libpawl-pthread.so"

/* As a shell would. */
enum { CANNOT_EXECUTE = 126, NOT_FOUND = 127 };

static const char *nth_offered(size_t n)
{
	const struct lock_type *type;

	for (type = lock_types; type->name != NULL; type++)
		if (offer_refusal(type) == NULL && n-- == 0)
			return type->name;
	return NULL;
}

static void check_lock(const char *name)
{
	const struct lock_type *type = lock_type_find(name);
	const char *refusal;

	if (type == NULL)
		refuse_lock(name, nth_offered);
	refusal = offer_refusal(type);
	if (refusal != NULL)
		refuse("lock '%s' is not offered: %s; 'pawl run --list' shows what there "
		       "is",
		       name, refusal);
}

static const char *describe(const struct lock_type *type)
{
	if (strcmp(type->name, OFFER_DEFAULT) == 0)
		return "the default";
	if (type->release_by == RELEASE_OWNER)
		return "only for programs whose mutexes are unlocked by the thread that "
		       "locked them";
	return "";
}

static void print_list(void)
{
	const struct lock_type *type;
	const char *refusal;

	printf("Offered:\n");
	for (type = lock_types; type->name != NULL; type++)
		if (offer_refusal(type) == NULL)
			printf(*describe(type) != '\0' ? "  %-20s  %s\n" : "  %s\n",
			       type->name, describe(type));
	printf("\nNot offered:\n");
	for (type = lock_types; type->name != NULL; type++) {
		refusal = offer_refusal(type);
		if (refusal != NULL && strcmp(type->name, type->base) == 0)
			printf("  %-20s  %s\n", type->name, refusal);
	}
}

/* Puts the library's path into `path` if it is there. */
static bool try_path(char *path, size_t size, const char *folder, const char *below)
{
	int length = snprintf(path, size, "%s%s/" LIBRARY, folder, below);

	return length > 0 && (size_t)length < size && access(path, R_OK) == 0;
}

/* Beside the command, as in a build tree, or where it is installed to. */
static void find_library(char *path, size_t size)
{
	char folder[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", folder, sizeof(folder) - 1);

	if (length > 0) {
		folder[length] = '\0';
		*strrchr(folder, '/') = '\0';
	}
	if (length <= 0 || (!try_path(path, size, folder, "") &&
			    !try_path(path, size, folder, "/../" PAWL_LIBDIR) &&
			    !try_path(path, size, PAWL_FULL_LIBDIR, "")))
		give_up("cannot find " LIBRARY
			" beside the command or in " PAWL_FULL_LIBDIR);
	if (strpbrk(path, " :") != NULL)
		give_up("the path '%s' has a space or a colon in it, where LD_PRELOAD "
			"would be cut in two; install pawl elsewhere",
			path);
}

static void set(const char *name, const char *value)
{
	if (setenv(name, value, 1) != 0)
		give_up("cannot set %s: %s", name, strerror(errno));
}

static void preload(const char *library)
{
	const char *others = getenv("LD_PRELOAD");
	char *all;

	if (others == NULL || *others == '\0') {
		set("LD_PRELOAD", library);
		return;
	}
	if (asprintf(&all, "%s:%s", library, others) < 0)
		give_up("out of memory");
	set("LD_PRELOAD", all);
	free(all);
}

/* Where the program's own words begin: after "--", or at the first word that is
 * neither an option of ours nor the value of one. */
static int program_at(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		if (strcmp(argv[i], "--") == 0)
			return i + 1;
		if (strcmp(argv[i], "--lock") == 0 && i + 1 < argc)
			i++;
	}
	return i;
}

int run_main(int argc, char **argv)
{
	const char *lock = getenv("PAWL_LOCK");
	bool stats = false, list = false;
	const struct option_spec options[] = {
		{"lock", "NAME", "the lock to use; default " OFFER_DEFAULT, parse_text,
		 &lock},
		{"stats", NULL, "report on stderr, at exit, how the lock fared",
		 parse_flag, &stats},
		{"list", NULL, "print which locks can be used, and why others cannot",
		 parse_flag, &list},
		{.name = NULL},
	};
	const struct usage usage = {
		.command = "run",
		.operands = "-- PROGRAM [ARGUMENT...]",
		.about = "Runs a program with one of pawl's locks under its pthread "
			 "mutexes and\ncondition variables. Environment: PAWL_LOCK=NAME, "
			 "PAWL_STATS=FILE, PAWL_VERBOSE=1.",
		.options = options,
	};
	int program = program_at(argc, argv);
	char library[PATH_MAX];

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
	check_lock(lock);
	find_library(library, sizeof(library));
	preload(library);
	set("PAWL_LOCK", lock);
	if (stats && getenv("PAWL_STATS") == NULL)
		set("PAWL_STATS", "-");
	execvp(argv[program], argv + program);
	fprintf(stderr, "pawl: cannot run '%s': %s\n", argv[program], strerror(errno));
	return errno == ENOENT ? NOT_FOUND : CANNOT_EXECUTE;
}
