/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "copies.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

void check(bool good, const char *what)
{
	if (good)
		return;
	dprintf(STDERR_FILENO, "copies: not so: %s\n", what);
	_exit(1);
}

/* The copies. */

const char *const *paths;
unsigned count;
static void *objects[MOST];
const struct copy *copies[MOST];

void load(unsigned i)
{
	objects[i] = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);
	if (objects[i] == NULL)
		dprintf(STDERR_FILENO, "%s\n", dlerror());
	check(objects[i] != NULL, "a copy can be loaded");
	copies[i] = dlsym(objects[i], "copy");
	check(copies[i] != NULL, "it is the right one");
}

void unload(unsigned i)
{
	check(dlclose(objects[i]) == 0, "a copy can be unloaded");
	copies[i] = NULL;
}

/* Those that are loaded, in turn. */
const struct copy *copy_of(unsigned i)
{
	while (copies[i % MOST] == NULL)
		i++;
	return copies[i % MOST];
}

/* Threads. */

static void *run(void *argument)
{
	struct actor *actor = argument;

	__atomic_store_n(&actor->id, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	actor->act(actor);
	return NULL;
}

void begin(struct actor *actor, unsigned number, void (*act)(struct actor *))
{
	*actor = (struct actor){.number = number, .act = act};
	check(pthread_create(&actor->thread, NULL, run, actor) == 0, "a thread begins");
}

void end(struct actor *actor)
{
	pthread_join(actor->thread, NULL);
}

void all(unsigned threads, void (*act)(struct actor *))
{
	struct actor actors[THREADS];
	unsigned i;

	for (i = 0; i < threads; i++)
		begin(&actors[i], i, act);
	for (i = 0; i < threads; i++)
		end(&actors[i]);
}

void nap(long ms)
{
	const struct timespec time = {.tv_sec = ms / 1000,
				      .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

/* Whether the thread is in futex(2), as the kernel has it. */
static bool sleeps(const struct actor *actor)
{
	pid_t id = __atomic_load_n(&actor->id, __ATOMIC_ACQUIRE);
	char name[64], line[64] = "";
	FILE *file;

	if (id == 0)
		return false;
	snprintf(name, sizeof(name), "/proc/self/task/%d/syscall", (int)id);
	file = fopen(name, "r");
	if (file == NULL)
		return false;
	if (fgets(line, sizeof(line), file) == NULL)
		line[0] = '\0';
	fclose(file);
	return line[0] != 'r' && atoi(line) == SYS_futex;
}

/* Returns when it has slept through some looks in a row: it does not just nap. */
void await_sleep(const struct actor *actor)
{
	unsigned looks = 0;

	while (looks < 20) {
		looks = sleeps(actor) ? looks + 1 : 0;
		nap(5);
	}
}

double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

struct timespec in_seconds(time_t seconds)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	time.tv_sec += seconds;
	return time;
}
