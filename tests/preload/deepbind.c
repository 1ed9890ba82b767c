/* SPDX-License-Identifier: MIT */
/*
 * A plug-in that was opened to find its own functions first plays with the program
 * by one mutex and one condition variable: deepbind PLUGIN NEIGHBOUR. And what the
 * plug-in opens is looked for where the plug-in says, not the program.
 */
#define _GNU_SOURCE
#include "plugin.h"
#include "../harness/hang.h"

#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

static struct table t = {.m = PTHREAD_MUTEX_INITIALIZER, .c = PTHREAD_COND_INITIALIZER};
static void (*play)(struct table *, int);
static void *(*open_from)(const char *, int, int);

static void *play_along(void *unused)
{
	play(&t, 1);
	return unused;
}

static int failed(const char *what)
{
	const char *why = dlerror();

	printf("%s: %s\n", what, why != NULL ? why : "no error");
	return 1;
}

int main(int argc, char **argv)
{
	static const int modes[] = {RTLD_NOW, RTLD_NOW | RTLD_DEEPBIND};
	void *plugin, *neighbour;
	pthread_t thread;
	int i, by_namespace;

	alarm(HANG_GUARD_S);
	if (argc != 3)
		return 2;
	plugin = dlopen(argv[1], RTLD_NOW | RTLD_DEEPBIND);
	if (plugin == NULL)
		return failed("the plug-in");
	*(void **)&play = dlsym(plugin, "plugin_play");
	*(void **)&open_from = dlsym(plugin, "plugin_open");
	if (play == NULL || open_from == NULL)
		return failed("its functions");

	for (i = 0; i < 2; i++)
		for (by_namespace = 0; by_namespace < 2; by_namespace++) {
			neighbour = open_from(argv[2], modes[i], by_namespace);
			if (neighbour == NULL)
				return failed("from the plug-in");
			dlclose(neighbour);
			if (dlopen(argv[2], modes[i]) != NULL)
				return failed("the program finds it, too");
		}

	if (pthread_create(&thread, NULL, play_along, NULL) != 0)
		return 1;
	for (i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&t.m);
		while (t.turn != 0)
			pthread_cond_wait(&t.c, &t.m);
		t.turn = 1;
		pthread_cond_broadcast(&t.c);
		pthread_mutex_unlock(&t.m);
	}
	pthread_join(thread, NULL);
	return 0;
}
