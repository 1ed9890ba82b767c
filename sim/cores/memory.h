/* SPDX-License-Identifier: MIT */
/*
 * The memory of a checked program. It is ordinary memory; what is written, at
 * whatever address, is noted, so that states can be compared and put back.
 */
#ifndef CORES_MEMORY_H
#define CORES_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_TRACKED = 1024 };

/* A word that this exploration has written, in the order of first writes. */
struct tracked {
	uint64_t *word;
	uint64_t first; /* its value before that */
	bool ignored;
};

extern struct tracked tracked[MAX_TRACKED];
extern size_t tracked_count;

/* Must be called before a word is written. False: there are too many. */
bool memory_track(uint64_t *word);
/* Leaves words out of comparisons. */
void memory_ignore(const void *p, size_t size);
/* Puts all words back to their first values and forgets them. */
void memory_forget_words(void);

/*
 * Words that one thread alone writes. A word is taken to be private to each of
 * its readers until that turns out wrong: then memory_conflict is true, the word
 * counts as shared for that reader from then on, and all must begin anew.
 */
bool memory_is_private(const uint64_t *word, int thread);
void memory_note_writer(const uint64_t *word, int thread);
bool memory_conflict(void);
/* Forgets writers and conflict, but not what is shared; or that as well. */
void memory_begin_again(void);
void memory_forget_shared(void);

/* The next block of an arena. */
void *memory_carve(char **arena, size_t size, size_t alignment);

void memory_name_block(const void *p, size_t size, const char *name,
		       void (*show)(uint64_t value, char *to, size_t size));
void memory_show_place(const void *p, char *to, size_t size);
void memory_show_value(const void *p, uint64_t value, char *to, size_t size);

#endif /* CORES_MEMORY_H */
