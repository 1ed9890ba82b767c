/* SPDX-License-Identifier: MIT */
/*
 * The registry at run time: locks.def as a table of properties and operations, for code
 * that chooses a lock by name. A lock chosen at compile time does not need it.
 */
#ifndef PAWL_REGISTRY_H
#define PAWL_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

enum lock_admission { ADMISSION_FIFO, ADMISSION_ONCE, ADMISSION_BOUNDED, ADMISSION_ANY };
enum lock_context { CONTEXT_FREE, CONTEXT_HELD };
enum lock_unlock { UNLOCK_CONSTANT, UNLOCK_WAITS };
enum lock_destroy { DESTROY_PROMPT, DESTROY_STABLE, DESTROY_DESTROY };
enum lock_release { RELEASE_ANYONE, RELEASE_OWNER };

/* One entry for each lock and wait policy: "ticket" spins, "ticket+park" parks. */
struct lock_type {
	const char *name;
	const char *base;   /* name without the wait policy */
	const char *header; /* as in #include <...> */
	const char *source; /* the paper */
	enum lock_admission admission;
	enum lock_context context;
	enum lock_unlock unlock_time;
	enum lock_destroy destroy_when;
	enum lock_release release_by;
	bool parks;		    /* waiters park */
	int lock_rmws, unlock_rmws; /* on the uncontended path */

	/* The plain face. A lock is `size` zero bytes, aligned to 8. */
	size_t size;
	void (*lock)(void *l);
	bool (*trylock)(void *l); /* NULL if there is none */
	int (*timedlock)(void *l, int clock, const struct timespec *time); /* likewise */
	void (*unlock)(void *l);
	void (*destroy)(void *l); /* NULL if there is nothing to do */

	/* The explicit face; sizes are 0 and functions NULL if the lock has none. */
	size_t core_size, context_size;
	void (*acquire)(void *core, void *context);
	bool (*try_acquire)(void *core, void *context); /* NULL if there is none */
	void (*release)(void *core, void *context);
};

/* All locks, in the order of locks.def; the last entry has no name. */
extern const struct lock_type lock_types[];

/* Returns NULL if there is no lock of that name. */
const struct lock_type *lock_type_find(const char *name);

#endif /* PAWL_REGISTRY_H */
