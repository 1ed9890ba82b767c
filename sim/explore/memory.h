/* SPDX-License-Identifier: MIT */
/*
 * The memory of a checked program: allocation, the set of atomic words, and the last
 * accesses to each word. An address depends only on what its thread did, so that an
 * execution can be repeated thread by thread.
 */
#ifndef EXPLORE_MEMORY_H
#define EXPLORE_MEMORY_H

#include "explore.h"

/* The two 4-byte halves of a word: plain and volatile accesses to different halves do not
 * conflict. */
enum { LOW_HALF = 1, HIGH_HALF = 2, WHOLE = LOW_HALF | HIGH_HALF, HALVES = 2 };

/* The halves that `size` bytes at p overlap, within the word. */
static inline int memory_halves(const void *p, size_t size)
{
	size_t first = (uintptr_t)p & 7, last = first + size - 1;

	return (first < 4 ? LOW_HALF : 0) | (last >= 4 ? HIGH_HALF : 0);
}

/* The last accesses of each kind: for each thread, how many of its events must have
 * happened for its last such access to have happened. */
struct accesses {
	clock_vector plain_reads, plain_writes, atomic_reads, atomic_writes;
};

/* The state of an 8-byte word. */
struct cell {
	const uint64_t *address;
	uint32_t run;	      /* run in which the rest was set */
	uint32_t freed;	      /* run in which it was freed */
	uint32_t saved;	      /* static words: run that first wrote it */
	uint8_t location;     /* its number in the graph */
	int8_t owner;	      /* thread whose storage or stack contains it; -1 = none */
	bool atomic;	      /* accessed atomically, in any execution */
	bool written_plainly; /* before it was known to be atomic */
	struct accesses halves[HALVES];
};

struct memory;

enum memory_state { MEMORY_LIVE, MEMORY_FREED, MEMORY_UNKNOWN };

/* One for each search of the process, numbered; never closed. */
struct memory *memory_open(int number);
/* Clears all words: another program will run. */
void memory_forget(struct memory *m);
/* Restores memory to its initial, all-zero state. */
void memory_reset(struct memory *m);

/* Swaps the values of static words with their initial values, before and after another
 * search that runs in between. */
void memory_exchange(struct memory *m);

/* Thread -1 allocates during set_up. */
void *memory_allocate(struct memory *m, int thread, size_t size, size_t alignment);
void *memory_storage(struct memory *m, int thread, size_t size);
void memory_add_stack(struct memory *m, int thread, void *stack, size_t size);

/* Looks up the word at p. Returns NULL and MEMORY_LIVE for memory that is not tracked. */
struct cell *memory_find(struct memory *m, const void *p, enum memory_state *state);

/* Must be called before a word is written, so that memory_reset can undo it. */
void memory_save(struct memory *m, struct cell *cell);

/* Whether this reads a static word that no thread writes. */
bool memory_is_constant(struct memory *m, const struct cell *cell, bool write);

/* The shadow word of the word at p, even if that is freed. */
uint64_t *memory_beside(struct memory *m, const void *p);

/* Marks a block as freed. Returns the cell of a word that another thread may still use,
 * given what the freeing thread knows; NULL if there is none. */
struct cell *memory_free(struct memory *m, void *p, int thread, clock_vector known);

/* The allocations of all threads since the last reset. */
struct allocated memory_allocated(const struct memory *m);

/* Ends the lifetime of a thread's storage and stack; false if another thread may still
 * use them. */
bool memory_retire(struct memory *m, int thread, clock_vector known);

/* Records an access to the storage or stack of another thread. */
void memory_visit(struct memory *m, int owner, int thread, uint8_t position);

/* The value that a word has before any thread writes it: of a static word what set_up left
 * there, or else its initialiser; of all others 0. */
uint64_t memory_initial(struct memory *m, const struct cell *cell);
/* Numbers an atomic word; returns NO_LOCATION if there are too many. */
uint8_t memory_name(struct memory *m, struct cell *cell);
int memory_names(struct memory *m);
const uint64_t *memory_address(struct memory *m, uint8_t location);

/* Writes a name for an address; false if it is not one of the program's. */
bool memory_describe(struct memory *m, const void *p, char *to, size_t size);
/* Names the object at p until the next reset. */
void memory_label(struct memory *m, const void *p, const char *name);

#endif /* EXPLORE_MEMORY_H */
