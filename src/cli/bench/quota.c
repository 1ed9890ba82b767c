/* SPDX-License-Identifier: MIT */
/*
 * A CPU limit for pawl bench: a control group below its own, which it leaves and removes
 * at the end. Version 2 of control groups if it has the CPU controller, else version 1.
 */
#define _GNU_SOURCE /* strchrnul, vasprintf */
#include "cli/bench/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PERIOD_US = 100000 };

/* The original group and the limited one; NULL unless limited. */
static char *former, *group;

static char *printed(const char *format, ...) __attribute__((format(printf, 1, 2)));

static char *printed(const char *format, ...)
{
	va_list arguments;
	char *text;
	int length;

	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0)
		give_up("out of memory");
	return text;
}

/* Whether a comma-separated list contains the word. */
static bool lists(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (;; list++) {
		const char *end = strchrnul(list, ',');

		if ((size_t)(end - list) == length && strncmp(list, word, length) == 0)
			return true;
		if (*end == '\0')
			return false;
		list = end;
	}
}

/* Our group in the hierarchy of the CPU controller, from /proc/self/cgroup:
 * "2:cpu,cpuacct:/path", or "0::/path" for version 2. To be freed; or NULL. */
static char *group_path(bool version_2)
{
	FILE *file = fopen("/proc/self/cgroup", "r");
	char *line = NULL, *path = NULL;
	size_t room = 0;

	while (file != NULL && path == NULL && getline(&line, &room, file) > 0) {
		char *names = strchr(line, ':'), *end;

		line[strcspn(line, "\n")] = '\0';
		if (names == NULL || (end = strchr(++names, ':')) == NULL)
			continue;
		*end = '\0';
		if (version_2 ? *names == '\0' : lists(names, "cpu"))
			path = printed("%s", end + 1);
	}
	free(line);
	if (file != NULL)
		fclose(file);
	return path;
}

/* The directory of that group, where /proc/self/mountinfo has the hierarchy: "36 35 0:32
 * ROOT FOLDER ... - cgroup cgroup rw,cpu". To be freed; or NULL. */
static char *group_folder(bool version_2)
{
	char *path = group_path(version_2);
	FILE *file = path != NULL ? fopen("/proc/self/mountinfo", "r") : NULL;
	char *line = NULL, *folder = NULL;
	size_t room = 0;

	while (file != NULL && folder == NULL && getline(&line, &room, file) > 0) {
		char root[512], mount[512], type[32], options[512];
		const char *rest = strstr(line, " - "), *below = path;

		if (rest == NULL ||
		    sscanf(line, "%*s %*s %*s %511s %511s", root, mount) != 2 ||
		    sscanf(rest, " - %31s %*s %511s", type, options) != 2 ||
		    strcmp(type, version_2 ? "cgroup2" : "cgroup") != 0 ||
		    !(version_2 || lists(options, "cpu")))
			continue;
		if (strncmp(path, root, strlen(root)) == 0) /* a part is mounted */
			below += strlen(root);
		folder = printed("%s/%s", mount, below);
	}
	free(line);
	free(path);
	if (file != NULL)
		fclose(file);
	return folder;
}

/* Returns false, with errno set, on failure. */
static bool write_to(const char *folder, const char *name, const char *text)
{
	char *path = printed("%s/%s", folder, name);
	int file = open(path, O_WRONLY | O_CLOEXEC);
	bool done = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);
	int error = errno;

	if (file >= 0)
		close(file);
	free(path);
	errno = error;
	return done;
}

/* Moves this process, with all its threads and future children. */
static bool move_to(const char *folder)
{
	return write_to(folder, "cgroup.procs", "0");
}

static bool limit(const char *folder, bool version_2, int percent)
{
	long quota = (long)percent * PERIOD_US / 100;
	char *text = version_2 ? printed("%ld %d", quota, PERIOD_US)
			       : printed("%ld", quota);
	bool done = version_2 ? write_to(folder, "cpu.max", text)
			      : write_to(folder, "cpu.cfs_quota_us", text);
	int error = errno;

	free(text);
	errno = error;
	return done;
}

/* Enters a limited group below `folder`; returns false, with errno set, and cleans up, on
 * failure. */
static bool enter(const char *folder, bool version_2, int percent)
{
	char *below = printed("%s/pawl-bench-%d", folder, (int)getpid());
	int error;

	/* The controller may be enabled already; if this fails, limit() will notice. */
	if (version_2)
		write_to(folder, "cgroup.subtree_control", "+cpu");
	if (mkdir(below, 0755) != 0) {
		error = errno;
	} else if (!limit(below, version_2, percent) || !move_to(below)) {
		error = errno;
		rmdir(below);
	} else {
		group = below;
		former = printed("%s", folder);
		return true;
	}
	free(below);
	errno = error;
	return false;
}

void begin_quota(int percent)
{
	const char *why = "no control group with a CPU controller";
	int version;

	if (percent == 0)
		return;
	for (version = 2; version > 0; version--) {
		char *folder = group_folder(version == 2);
		bool entered = folder != NULL && enter(folder, version == 2, percent);

		if (folder != NULL && !entered)
			why = strerror(errno);
		free(folder);
		if (entered) {
			atexit(end_quota);
			return;
		}
	}
	refuse("--quota: cannot limit CPU time by control groups (%s); start pawl under "
	       "'systemd-run --scope -p CPUQuota=%d%%' instead, or as root",
	       why, percent);
}

void end_quota(void)
{
	if (group == NULL)
		return;
	if (!move_to(former) || rmdir(group) != 0)
		warn("cannot remove the control group '%s': %s; remove it", group,
		     strerror(errno));
	free(group);
	free(former);
	group = former = NULL;
}
