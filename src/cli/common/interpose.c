/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "cli/common/interpose.h"

#include "cli/common/locks.h"
#include "cli/common/options.h"
#include "preload/offer.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libpawl-pthread.so"

static const char *nth_offered(size_t n)
{
	const struct lock_type *type;

	for (type = lock_types; type->name != NULL; type++)
		if (offer_refusal(type) == NULL && n-- == 0)
			return type->name;
	return NULL;
}

void require_offered(const char *lock)
{
	const struct lock_type *type = lock_type_find(lock);
	const char *refusal;

	if (type == NULL)
		refuse_lock(lock, nth_offered);
	refusal = offer_refusal(type);
	if (refusal != NULL)
		refuse("lock '%s' is not offered: %s; 'pawl run --list' lists those "
		       "that are",
		       lock, refusal);
}

/* Stores the path of `name` below `folder` in `path` if the file exists. */
static bool try_path(char *path, size_t size, const char *folder, const char *below,
		     const char *name)
{
	int length = snprintf(path, size, "%s%s/%s", folder, below, name);

	return length > 0 && (size_t)length < size && access(path, R_OK) == 0;
}

bool find_companion(const char *name, char *path, size_t size)
{
	char folder[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", folder, sizeof(folder) - 1);

	if (length <= 0)
		return false;
	folder[length] = '\0';
	*strrchr(folder, '/') = '\0';
	return try_path(path, size, folder, "", name) ||
	       try_path(path, size, folder, "/../" PAWL_LIBDIR, name) ||
	       try_path(path, size, PAWL_FULL_LIBDIR, "", name);
}

static void find_library(char *path, size_t size)
{
	if (!find_companion(LIBRARY, path, size))
		give_up("cannot find " LIBRARY
			" beside the command or in " PAWL_FULL_LIBDIR);
	if (strpbrk(path, " :") != NULL)
		give_up("the path '%s' contains a space or a colon, which LD_PRELOAD "
			"does not allow; install pawl elsewhere",
			path);
}

/* Whether the caller replaces this variable. */
static bool is_ours(const char *setting)
{
	return strncmp(setting, "LD_PRELOAD=", strlen("LD_PRELOAD=")) == 0 ||
	       strncmp(setting, "PAWL_LOCK=", strlen("PAWL_LOCK=")) == 0;
}

static void add(char **environment, size_t *count, char *setting)
{
	if (setting == NULL)
		give_up("out of memory");
	environment[(*count)++] = setting;
	environment[*count] = NULL;
}

static char *join(const char *name, const char *value, const char *rest)
{
	bool more = rest != NULL && *rest != '\0';
	char *setting;

	if (asprintf(&setting, "%s=%s%s%s", name, value, more ? ":" : "",
		     more ? rest : "") < 0)
		return NULL;
	return setting;
}

char **interposed_environment(const char *lock)
{
	char library[PATH_MAX];
	char **environment;
	size_t i, count = 0;

	find_library(library, sizeof(library));
	for (i = 0; environ[i] != NULL; i++)
		;
	environment = calloc(i + 3, sizeof(*environment)); /* two more, and NULL */
	if (environment == NULL)
		give_up("out of memory");
	add(environment, &count, join("LD_PRELOAD", library, getenv("LD_PRELOAD")));
	add(environment, &count, join("PAWL_LOCK", lock, NULL));
	for (i = 0; environ[i] != NULL; i++)
		if (!is_ours(environ[i]))
			add(environment, &count, strdup(environ[i]));
	return environment;
}

void free_environment(char **environment)
{
	size_t i;

	for (i = 0; environment != NULL && environment[i] != NULL; i++)
		free(environment[i]);
	free(environment);
}
