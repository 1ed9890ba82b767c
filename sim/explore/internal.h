/* SPDX-License-Identifier: MIT */
/* What the parts of the model checker know of each other. */
#ifndef EXPLORE_INTERNAL_H
#define EXPLORE_INTERNAL_H

#include "explore.h"

#include <stdio.h>

/* One line of a trace. */
struct step {
	int thread;
	const char *what; /* instead of an event */
	const void *site;
	const void *address;
	size_t size;
	event_id event;	 /* INITIAL if it is none */
	event_id update; /* the writing half, if the event has one */
	int stale;	 /* read: how many later writes there were already */
};

void trace_clear(void);
void trace_add(struct step step);
/* Writes the steps, with source lines; returns a string to be freed. */
char *trace_print(struct graph *g);

#endif /* EXPLORE_INTERNAL_H */
