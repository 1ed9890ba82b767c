/* SPDX-License-Identifier: MIT */
/*
 * The memory of a checked program: ordinary memory, with a log of all words written, so
 * that states can be compared and restored.
 */
#ifndef CORES_MEMORY_H
#define CORES_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_TRACKED = 1024 };

/* A word that this search has written, in the order of first writes. */
struct tracked {
	uint64_t *word;
	uint64_t first; /* its value before that */
	bool ignored;
};

extern struct tracked tracked[MAX_TRACKED];
extern size_t tracked_count;

/* Must be called before a word is written. False: there are too many words. */
bool memory_track(uint64_t *word);
/* Excludes words from the state. */
void memory_ignore(const void *p, size_t size);
/* Restores all words to their first values and clears the log. */
void memory_forget_words(void);

/*
 * Words that one thread alone writes (M5). A word is assumed private to each of its
 * readers until another thread writes it: then memory_conflict returns true, the word is
 * shared for that reader from then on, and the search must start again.
 */
bool memory_is_private(const uint64_t *word, int thread);
void memory_note_writer(const uint64_t *word, int thread);
bool memory_conflict(void);
/* Clears the writers and the conflict, but not the set of shared words; or that too. */
void memory_begin_again(void);
void memory_forget_shared(void);

/* Allocates the next block of an arena. */
void *memory_carve(char **arena, size_t size, size_t alignment);

void memory_name_block(const void *p, size_t size, const char *name,
		       void (*show)(uint64_t value, char *to, size_t size));
void memory_show_place(const void *p, char *to, size_t size);
void memory_show_value(const void *p, uint64_t value, char *to, size_t size);

#endif /* CORES_MEMORY_H */
