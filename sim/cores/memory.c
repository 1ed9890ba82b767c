/* SPDX-License-Identifier: MIT */
#include "memory.h"

#include <sim/common/lines.h>

#include <stdio.h>
#include <string.h>

struct tracked tracked[MAX_TRACKED];
size_t tracked_count;

enum { SLOTS = 4 * MAX_TRACKED, MAX_BLOCKS = 32 };

static uint16_t slots[SLOTS]; /* index in tracked plus 1, hashed by address */

static struct {
	const char *start, *end;
} ignored[MAX_BLOCKS];
static size_t ignored_count;

static struct {
	const char *start, *end, *name;
	void (*show)(uint64_t value, char *to, size_t size);
} named[MAX_BLOCKS];
static size_t named_count;

static size_t hash(const uint64_t *word)
{
	return (((uintptr_t)word >> 3) * 0x9e3779b97f4a7c15u >> 40) % SLOTS;
}

static size_t slot_of(const uint64_t *word)
{
	size_t i;

	for (i = hash(word); slots[i] != 0; i = (i + 1) % SLOTS)
		if (tracked[slots[i] - 1].word == word)
			break;
	return i;
}

/* The threads that use a word: a separate table, because it has words that are only
 * read. */
static struct use {
	const uint64_t *word;
	uint8_t writers, readers; /* sets of threads; readers that rely on M5 */
	uint8_t shared;		  /* readers without M5: others write it */
} uses[SLOTS];
static bool conflict;

static struct use *use_of(const uint64_t *word)
{
	size_t i = hash(word);

	while (uses[i].word != NULL && uses[i].word != word)
		i = (i + 1) % SLOTS;
	uses[i].word = word; /* never full: few words are read */
	return &uses[i];
}

bool memory_is_private(const uint64_t *word, int thread)
{
	struct use *use = use_of(word);
	uint8_t me = (uint8_t)(1 << thread);

	if ((use->shared & me) != 0)
		return false;
	use->readers |= me;
	if ((use->writers & ~me) != 0) {
		use->shared |= me;
		conflict = true;
	}
	return true;
}

void memory_note_writer(const uint64_t *word, int thread)
{
	struct use *use = use_of(word);
	uint8_t me = (uint8_t)(1 << thread);
	uint8_t misled = (uint8_t)(use->readers & ~me & ~use->shared);

	use->writers |= me;
	use->shared |= misled;
	conflict |= misled != 0;
}

bool memory_conflict(void)
{
	return conflict;
}

void memory_begin_again(void)
{
	size_t i;

	conflict = false;
	for (i = 0; i < SLOTS; i++)
		uses[i].writers = uses[i].readers = 0;
}

void memory_forget_shared(void)
{
	conflict = false;
	memset(uses, 0, sizeof(uses));
}

static bool is_ignored(const void *p)
{
	size_t i;

	for (i = 0; i < ignored_count; i++)
		if ((const char *)p >= ignored[i].start &&
		    (const char *)p < ignored[i].end)
			return true;
	return false;
}

bool memory_track(uint64_t *word)
{
	size_t i = slot_of(word);

	if (slots[i] != 0)
		return true;
	if (tracked_count == MAX_TRACKED)
		return false;
	tracked[tracked_count++] = (struct tracked){word, *word, is_ignored(word)};
	slots[i] = (uint16_t)tracked_count;
	return true;
}

void memory_ignore(const void *p, size_t size)
{
	size_t i;

	if (ignored_count < MAX_BLOCKS) {
		ignored[ignored_count].start = p;
		ignored[ignored_count++].end = (const char *)p + size;
	}
	for (i = 0; i < tracked_count; i++)
		tracked[i].ignored = is_ignored(tracked[i].word);
}

void memory_forget_words(void)
{
	size_t i;

	for (i = 0; i < tracked_count; i++)
		*tracked[i].word = tracked[i].first;
	for (i = 0; i < SLOTS; i++)
		slots[i] = 0;
	tracked_count = ignored_count = named_count = 0;
}

void *memory_carve(char **arena, size_t size, size_t alignment)
{
	uintptr_t start = ((uintptr_t)*arena + alignment - 1) & ~(alignment - 1);

	*arena = (char *)(start + ((size + 7) & ~(size_t)7));
	return (void *)start;
}

void memory_name_block(const void *p, size_t size, const char *name,
		       void (*show)(uint64_t value, char *to, size_t size))
{
	if (named_count == MAX_BLOCKS)
		return;
	named[named_count].start = p;
	named[named_count].end = (const char *)p + size;
	named[named_count].name = name;
	named[named_count++].show = show;
}

static size_t block_of(const void *p)
{
	size_t i;

	for (i = 0; i < named_count; i++)
		if ((const char *)p >= named[i].start && (const char *)p < named[i].end)
			break;
	return i;
}

void memory_show_place(const void *p, char *to, size_t size)
{
	size_t i = block_of(p);
	ptrdiff_t offset;

	if (i == named_count) {
		if (!lines_symbol(p, to, size))
			snprintf(to, size, "%p", p);
		return;
	}
	offset = (const char *)p - named[i].start;
	if (offset == 0)
		snprintf(to, size, "%s", named[i].name);
	else
		snprintf(to, size, "%s+%td", named[i].name, offset);
}

void memory_show_value(const void *p, uint64_t value, char *to, size_t size)
{
	size_t i = block_of(p), at = block_of((const void *)(uintptr_t)value);

	if (i < named_count && named[i].show != NULL)
		named[i].show(value, to, size);
	else if (at < named_count && size > 1)
		*to = '&',
		memory_show_place((const void *)(uintptr_t)value, to + 1, size - 1);
	else
		snprintf(to, size, value < 1 << 16 ? "%llu" : "%#llx",
			 (unsigned long long)value);
}
