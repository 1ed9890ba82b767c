/* SPDX-License-Identifier: MIT */
/*
 * The memory of a checked program: where it comes from, which of its words are
 * atomic, who touched it last. Addresses depend on what a thread itself did
 * and on nothing else, so that an execution can be repeated thread by thread.
 */
#ifndef EXPLORE_MEMORY_H
#define EXPLORE_MEMORY_H

#include "graph.h"

/* What is known of one 8-byte word. Clocks hold, for each thread, how many of
 * its events must have happened for its last such access to have happened. */
struct cell {
	const uint64_t *address;
	uint32_t run;	      /* in which the rest was written */
	uint32_t freed;	      /* the run in which it was freed */
	uint32_t saved;	      /* the run in which it was first written; static words */
	uint8_t location;     /* name in the graph */
	bool atomic;	      /* ever accessed atomically, in any execution */
	bool written_plainly; /* before it was known to be atomic */
	clock_vector plain_reads, plain_writes, atomic_reads, atomic_writes;
};

enum memory_state { MEMORY_LIVE, MEMORY_FREED, MEMORY_UNKNOWN };

/* Sets up arenas for so many threads; once per process, or again for more. */
void memory_open(void);
/* Forgets all words: another program will run. */
void memory_forget(void);
/* Puts memory back to its initial, all-zero state. */
void memory_reset(void);

/* thread -1 stands for what exists before the threads start. */
void *memory_allocate(int thread, size_t size, size_t alignment);
void *memory_storage(int thread, size_t size);
void memory_add_stack(int thread, void *stack, size_t size);

/*
 * Looks up the word at p. `owner` is the thread whose storage or stack it lies
 * in, -1 if none. Returns NULL, and MEMORY_LIVE, for memory that is not
 * followed.
 */
struct cell *memory_find(const void *p, enum memory_state *state, int *owner);

/* Called before a word is written, so that memory_reset can undo it. */
void memory_save(struct cell *cell);

/* True of reads of static words that nobody writes: of no interest. */
bool memory_is_constant(const struct cell *cell, bool write);

/* A word that goes with the one at p, even if that one is gone. */
uint64_t *memory_beside(const void *p);

/* Marks a block freed. Returns the cell of a word that somebody may still be
 * using, given what the freeing thread knows; NULL if all is well. */
struct cell *memory_free(void *p, int thread, clock_vector known);

/* Marks storage and stack of a thread gone; as above. */
bool memory_retire(int thread, clock_vector known);

/* Notes an access to the storage or stack of another thread. */
void memory_visit(int owner, int thread, uint8_t position);

/* Names an atomic word; returns NO_LOCATION if there are too many. */
uint8_t memory_name(struct cell *cell);
int memory_names(void);
const uint64_t *memory_address(uint8_t location);

/* Writes a name for an address that the program may use; false if it is none. */
bool memory_describe(const void *p, char *to, size_t size);
/* Gives what starts at p a name, until the next reset. */
void memory_label(const void *p, const char *name);

#endif /* EXPLORE_MEMORY_H */
