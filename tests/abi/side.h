/* SPDX-License-Identifier: MIT */
/* What mixed.c knows of a side: an object file built with the headers of some time. */
#ifndef TESTS_ABI_SIDE_H
#define TESTS_ABI_SIDE_H

#include <stddef.h>

struct side_lock {
	const char *name; /* NULL ends the table */
	size_t size;
	int sleeps;
	void (*lock)(void *l);
	void (*unlock)(void *l);
};

struct side {
	const struct side_lock *locks;
	size_t cond_size;
	void (*wait)(void *c, void *m);
	void (*broadcast)(void *c);
};

extern const struct side old_side, new_side;

#endif /* TESTS_ABI_SIDE_H */
