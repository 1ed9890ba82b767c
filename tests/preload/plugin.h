/* SPDX-License-Identifier: MIT */
/* What plugin.c and deepbind.c share. */
#ifndef PAWL_TESTS_PLUGIN_H
#define PAWL_TESTS_PLUGIN_H

#include <pthread.h>

enum { ROUNDS = 2000 };

struct table {
	pthread_mutex_t m;
	pthread_cond_t c;
	int turn;
};

/* Passes the turn to and fro. */
void plugin_play(struct table *t, int side);

/* dlopen, or dlmopen, as called from the library. */
void *plugin_open(const char *name, int mode, int by_namespace);

#endif /* PAWL_TESTS_PLUGIN_H */
