/* SPDX-License-Identifier: MIT */
/*
 * What a profile misses: threads that sleep on a futex outside the calls that the
 * interposer sees. /proc shows the system call of a thread, and its arguments.
 */
#include "cli/profile/profile.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Reports at most this many. */
enum { ENOUGH = 10, SLEEPERS = 64 };

struct sleeper {
	long process, thread;
	char call[256]; /* the line from /proc */
};

/* The system call of a thread, if it is a futex wait. */
static bool read_call(struct sleeper *s)
{
	char path[64];
	FILE *file;
	bool read;

	snprintf(path, sizeof(path), "/proc/%ld/task/%ld/syscall", s->process, s->thread);
	file = fopen(path, "re");
	read = file != NULL && fgets(s->call, sizeof(s->call), file) != NULL;
	if (file != NULL)
		fclose(file);
	return read && strtol(s->call, NULL, 10) == SYS_futex;
}

/* Whether it joins another thread: it waits on a word that contains that thread's id. */
static bool joins(const struct sleeper *s)
{
	uint64_t address, operation, expected;
	char path[64];

	if (sscanf(s->call, "%*d %" SCNx64 " %" SCNx64 " %" SCNx64, &address, &operation,
		   &expected) != 3 ||
	    expected == 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%ld/task/%" PRIu64, s->process, expected);
	return access(path, F_OK) == 0;
}

static size_t find_in(long process, struct sleeper *sleepers, size_t count)
{
	struct dirent *entry;
	char path[64];
	DIR *list;

	snprintf(path, sizeof(path), "/proc/%ld/task", process);
	list = opendir(path);
	while (list != NULL && count < SLEEPERS && (entry = readdir(list)) != NULL) {
		struct sleeper *s = &sleepers[count];

		s->process = process;
		s->thread = strtol(entry->d_name, NULL, 10);
		if (s->thread > 0 && read_call(s) && !joins(s))
			count++;
	}
	if (list != NULL)
		closedir(list);
	return count;
}

/* In all processes of the program that have a file, "PROCESS-NUMBER". */
static size_t find_all(const char *folder, long child, struct sleeper *sleepers)
{
	size_t found = find_in(child, sleepers, 0);
	DIR *list = opendir(folder);
	struct dirent *entry;

	while (list != NULL && (entry = readdir(list)) != NULL) {
		long process = strtol(entry->d_name, NULL, 10);

		if (process > 0 && process != child)
			found = find_in(process, sleepers, found);
	}
	if (list != NULL)
		closedir(list);
	return found;
}

/* Relaxed, here and below: as in read.c. */
static bool is_in_profile(const struct profile_file **files, size_t count,
			  const struct sleeper *s)
{
	size_t i, n;

	for (i = 0; i < count; i++)
		for (n = 0; n < PROFILE_THREADS; n++) {
			const struct profile_thread *t = &files[i]->threads[n];

			if ((long)pawl_load_relaxed(&t->id) == s->thread &&
			    pawl_load_relaxed(&t->waiting_for) != 0)
				return true;
		}
	return false;
}

void look_for_unseen(struct unseen *unseen, const char *folder, long child)
{
	struct sleeper sleepers[SLEEPERS];
	const struct profile_file **files;
	size_t found, file_count, i;
	bool any = false;

	if (unseen->asleep >= ENOUGH)
		return;
	unseen->looks++;
	found = find_all(folder, child, sleepers);
	if (found == 0)
		return;
	files = read_files(folder, &file_count);
	for (i = 0; i < found; i++) {
		struct sleeper again = sleepers[i];

		/* Still in the same call, so it slept when the files were read. */
		any |= !is_in_profile(files, file_count, &sleepers[i]) &&
		       read_call(&again) && strcmp(again.call, sleepers[i].call) == 0;
	}
	free_files(files, file_count);
	unseen->asleep += any;
}

void count_threads(struct profile *profile, const struct profile_file **files,
		   size_t count)
{
	size_t i, n;

	for (i = 0; i < count; i++) {
		/* Relaxed, all: as in read.c. A thread has a record from its first call
		 * on. */
		profile->called |= pawl_load_relaxed(&files[i]->thread_count) > 0;
		for (n = 0; n < PROFILE_THREADS; n++) {
			const struct profile_thread *t = &files[i]->threads[n];

			/* Relaxed, all: likewise. */
			profile->stuck += pawl_load_relaxed(&t->number) != 0 &&
					  pawl_load_relaxed(&t->waiting_for) != 0 &&
					  pawl_load_relaxed(&t->kind) != PROFILE_COND;
		}
	}
}
