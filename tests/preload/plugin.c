/* SPDX-License-Identifier: MIT */
/* A library that shares mutex and condition variable with whoever opened it, and
 * opens libraries itself: those beside it, which its own search path names. */
#define _GNU_SOURCE
#include "plugin.h"

#include <dlfcn.h>

void plugin_play(struct table *t, int side)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&t->m);
		while (t->turn != side)
			pthread_cond_wait(&t->c, &t->m);
		t->turn = 1 - side;
		pthread_cond_broadcast(&t->c);
		pthread_mutex_unlock(&t->m);
	}
}

void *plugin_open(const char *name, int mode, int by_namespace)
{
	void *handle = by_namespace ? dlmopen(LM_ID_BASE, name, mode)
				    : dlopen(name, mode);

	/* Not the last thing this function does: its frame must be there. */
	__asm__ volatile("" : : "r"(handle) : "memory");
	return handle;
}
