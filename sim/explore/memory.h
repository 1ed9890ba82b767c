/* SPDX-License-Identifier: MIT */
/*
 * The memory of a checked program: where it comes from, which of its words are
 * atomic, who touched it last. Addresses depend on what a thread itself did
 * and on nothing else, so that an execution can be repeated thread by thread.
 */
#ifndef EXPLORE_MEMORY_H
#define EXPLORE_MEMORY_H

#include "explore.h"

/* The halves of a word, of 4 bytes each: plain and volatile accesses to different ones
 * do not meet. */
enum { LOW_HALF = 1, HIGH_HALF = 2, WHOLE = LOW_HALF | HIGH_HALF, HALVES = 2 };

/* Those that so many bytes at p lie in, as far as the word goes. */
static inline int memory_halves(const void *p, size_t size)
{
	size_t first = (uintptr_t)p & 7, last = first + size - 1;

	return (first < 4 ? LOW_HALF : 0) | (last >= 4 ? HIGH_HALF : 0);
}

/* Clocks hold, for each thread, how many of its events must have happened for its last
 * such access to have happened. */
struct accesses {
	clock_vector plain_reads, plain_writes, atomic_reads, atomic_writes;
};

/* What is known of one 8-byte word. */
struct cell {
	const uint64_t *address;
	uint32_t run;	      /* in which the rest was written */
	uint32_t freed;	      /* the run in which it was freed */
	uint32_t saved;	      /* the run in which it was first written; static words */
	uint8_t location;     /* name in the graph */
	int8_t owner;	      /* the thread whose storage or stack it is; -1 = none */
	bool atomic;	      /* ever accessed atomically, in any execution */
	bool written_plainly; /* before it was known to be atomic */
	struct accesses halves[HALVES];
};

struct memory;

enum memory_state { MEMORY_LIVE, MEMORY_FREED, MEMORY_UNKNOWN };

/* One for each search of the process, which are numbered; never closed. */
struct memory *memory_open(int number);
/* Forgets all words: another program will run. */
void memory_forget(struct memory *m);
/* Puts memory back to its initial, all-zero state. */
void memory_reset(struct memory *m);

/* Puts the initial values of static words in place of those of this run, or these
 * back: another search runs in between. */
void memory_exchange(struct memory *m);

/* thread -1 stands for what exists before the threads start. */
void *memory_allocate(struct memory *m, int thread, size_t size, size_t alignment);
void *memory_storage(struct memory *m, int thread, size_t size);
void memory_add_stack(struct memory *m, int thread, void *stack, size_t size);

/*
 * Looks up the word at p. Returns NULL, and MEMORY_LIVE, for memory that is not
 * followed.
 */
struct cell *memory_find(struct memory *m, const void *p, enum memory_state *state);

/* Called before a word is written, so that memory_reset can undo it. */
void memory_save(struct memory *m, struct cell *cell);

/* True of reads of static words that nobody writes: of no interest. */
bool memory_is_constant(struct memory *m, const struct cell *cell, bool write);

/* A word that goes with the one at p, even if that one is gone. */
uint64_t *memory_beside(struct memory *m, const void *p);

/* Marks a block freed. Returns the cell of a word that somebody may still be
 * using, given what the freeing thread knows; NULL if all is well. */
struct cell *memory_free(struct memory *m, void *p, int thread, clock_vector known);

/* What threads have allocated since the last reset. */
struct allocated memory_allocated(const struct memory *m);

/* Marks storage and stack of a thread gone; as above. */
bool memory_retire(struct memory *m, int thread, clock_vector known);

/* Notes an access to the storage or stack of another thread. */
void memory_visit(struct memory *m, int owner, int thread, uint8_t position);

/* The value that a word has before any thread writes it: of a static word what set_up left
 * there, or else its initialiser; of all others 0. */
uint64_t memory_initial(struct memory *m, const struct cell *cell);
/* Names an atomic word; returns NO_LOCATION if there are too many. */
uint8_t memory_name(struct memory *m, struct cell *cell);
int memory_names(struct memory *m);
const uint64_t *memory_address(struct memory *m, uint8_t location);

/* Writes a name for an address that the program may use; false if it is none. */
bool memory_describe(struct memory *m, const void *p, char *to, size_t size);
/* Gives what starts at p a name, until the next reset. */
void memory_label(struct memory *m, const void *p, const char *name);

#endif /* EXPLORE_MEMORY_H */
