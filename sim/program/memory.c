/* SPDX-License-Identifier: MIT */
/*
 * The memory of a checked program. One mapping at a fixed address holds a heap for the
 * time before threads start, one for each thread, and the shadow words; an address
 * depends only on what its thread did. The state of each byte is in arrays beside it, and
 * likewise for stacks and static variables.
 */
#include "program.h"

#include <sim/common/lines.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	HEAP = 1 << 20, /* one for the program, one for each thread */
	HEAPS = MAX_THREADS + 1,
	SHADOWS = HEAPS * HEAP, /* offset */
	SHADOW_WORDS = 512,
	WORLD = SHADOWS + SHADOW_WORDS * 8,
	BLOCKS = 4096, /* per heap */
	STATICS = 12,
};

struct block {
	uint32_t offset, size;
	bool freed, reached;
	const void *site;
};

struct memory {
	char *world;
	struct word *world_words;
	size_t used[HEAPS];
	struct block blocks[HEAPS][BLOCKS];
	int block_count[HEAPS];
	size_t kept; /* of the first heap, allocated by constructors */
	int kept_blocks;
	char *kept_bytes;

	char *stacks; /* all stacks, contiguous */
	size_t stack_size;
	int stack_count;
	struct word *stack_words;
	bool retired[MAX_THREADS];
	clock_vector visitors[MAX_THREADS];

	struct {
		char *start, *kept;
		size_t size;
		struct word *words;
	} statics[STATICS];
	int static_count;

	struct {
		const void *of;
		int number;
	} shadows[SHADOW_WORDS]; /* the object that each shadow word belongs to */
	int shadow_count;

	struct {
		char *address;
		struct word *word;
		int width;
	} names[MAX_LOCATIONS];
	int name_count;
	uint32_t run;
};

static void *map(void *where, size_t size)
{
	void *p = mmap(where, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED) {
		perror("pawl check: no memory");
		exit(2);
	}
	return p;
}

static struct word *map_words(size_t bytes)
{
	return map(NULL, bytes / 8 * sizeof(struct word));
}

struct memory *memory_open(int number)
{
	struct memory *m = map(NULL, sizeof(*m));

	m->world = map((char *)SIM_WORLDS + ((uintptr_t)number << 32), WORLD);
	m->world_words = map_words(WORLD);
	return m;
}

void memory_add_static(struct memory *m, char *start, size_t size)
{
	char *aligned = (char *)((uintptr_t)start & ~(uintptr_t)7);

	size += (size_t)(start - aligned);
	if (m->static_count == STATICS) {
		fputs("pawl check: the program has too many segments\n", stderr);
		exit(2);
	}
	m->statics[m->static_count].start = aligned;
	m->statics[m->static_count].size = size;
	m->statics[m->static_count].kept = map(NULL, size);
	m->statics[m->static_count++].words = map_words(size + 8);
}

void memory_keep(struct memory *m)
{
	int i;

	for (i = 0; i < m->static_count; i++)
		memcpy(m->statics[i].kept, m->statics[i].start, m->statics[i].size);
	m->kept = m->used[0];
	m->kept_blocks = m->block_count[0];
	m->kept_bytes = map(NULL, m->kept + 1);
	memcpy(m->kept_bytes, m->world, m->kept);
}

void memory_exchange(struct memory *m)
{
	(void)m; /* searches do not nest here */
}

void memory_forget(struct memory *m)
{
	int i;

	memory_reset(m);
	/* The splitting of words may stay: at worst a search starts once more. */
	for (i = 0; i < m->name_count; i++)
		memset(m->names[i].word->width + ((uintptr_t)m->names[i].address & 7),
		       NO_ATOMIC, (size_t)m->names[i].width);
	m->shadow_count = m->name_count = 0;
}

void memory_reset(struct memory *m)
{
	int i;

	m->run++;
	for (i = 0; i < HEAPS; i++) {
		size_t kept = i == 0 ? m->kept : 0;

		if (m->used[i] > kept)
			memset(m->world + (size_t)i * HEAP + kept, 0, m->used[i] - kept);
		m->used[i] = kept;
		m->block_count[i] = 0;
	}
	m->block_count[0] = m->kept_blocks;
	if (m->kept > 0)
		memcpy(m->world, m->kept_bytes, m->kept);
	for (i = 0; i < m->kept_blocks; i++)
		m->blocks[0][i].freed = false;
	memset(m->world + SHADOWS, 0, (size_t)m->shadow_count * 8);
	for (i = 0; i < m->static_count; i++)
		memcpy(m->statics[i].start, m->statics[i].kept, m->statics[i].size);
	for (i = 0; i < MAX_THREADS; i++) {
		m->retired[i] = false;
		m->visitors[i] = (clock_vector){0};
	}
}

void *memory_allocate(struct memory *m, int thread, size_t size, size_t alignment)
{
	int heap = thread + 1;
	size_t at = (m->used[heap] + alignment - 1) & ~(alignment - 1);

	/* One word between blocks, so that an overrun does not hit the next block. */
	if (size > HEAP || at + size + 16 > HEAP || m->block_count[heap] == BLOCKS)
		return NULL;
	m->used[heap] = ((at + size + 7) & ~(size_t)7) + 8;
	m->world_words[((size_t)heap * HEAP + m->used[heap]) / 8 - 1].guard = m->run;
	m->blocks[heap][m->block_count[heap]++] = (struct block){.offset = (uint32_t)at,
								 .size = (uint32_t)size};
	return m->world + (size_t)heap * HEAP + at;
}

void *memory_storage(struct memory *m, int thread, size_t size)
{
	(void)m, (void)thread, (void)size;
	return NULL;
}

void memory_add_stack(struct memory *m, int thread, void *stack, size_t size)
{
	if (m->stacks == NULL) {
		m->stacks = stack;
		m->stack_size = size;
		m->stack_words = map_words(size * MAX_THREADS);
	}
	if ((char *)stack != m->stacks + (size_t)thread * size) {
		fputs("pawl check: stacks are not where they should be\n", stderr);
		exit(2);
	}
	m->stack_count = thread + 1;
}

static struct word *fresh(struct memory *m, struct word *word)
{
	if (word->run != m->run) {
		int i;

		word->run = m->run;
		for (i = 0; i < word->parts; i++) {
			clock_vector none = {0};

			word->part[i].plain_reads = none;
			word->part[i].plain_writes = none;
			word->part[i].atomic_reads = none;
			word->part[i].atomic_writes = none;
		}
	}
	return word;
}

struct place place_find(struct memory *m, const void *p)
{
	char *at = (char *)((uintptr_t)p & ~(uintptr_t)7);
	struct place place = {.address = at, .state = MEMORY_LIVE, .owner = -1};
	size_t offset = (size_t)(at - m->world);
	int i;

	if (offset < WORLD) {
		place.word = fresh(m, &m->world_words[offset / 8]);
		if (offset < SHADOWS && (offset % HEAP >= m->used[offset / HEAP] ||
					 place.word->guard == m->run))
			place.state = MEMORY_UNKNOWN;
		else if (place.word->freed == m->run)
			place.state = MEMORY_FREED;
		return place;
	}
	offset = (size_t)(at - m->stacks);
	if (offset < m->stack_size * (size_t)m->stack_count) {
		place.owner = (int)(offset / m->stack_size);
		place.word = fresh(m, &m->stack_words[offset / 8]);
		if (m->retired[place.owner])
			place.state = MEMORY_FREED;
		return place;
	}
	for (i = 0; i < m->static_count; i++) {
		offset = (size_t)(at - m->statics[i].start);
		if (offset < m->statics[i].size) {
			place.word = fresh(m, &m->statics[i].words[offset / 8]);
			return place;
		}
	}
	if ((uintptr_t)p < 1 << 16)
		place.state = MEMORY_UNKNOWN;
	return place;
}

/* Splits the parts that the mask cuts, and adds a part for the untouched bytes. */
static void refine(struct word *word, uint8_t mask)
{
	uint8_t rest = mask;
	int i, n = word->parts;

	for (i = 0; i < n; i++) {
		struct part *part = &word->part[i];
		uint8_t common = part->mask & mask;

		rest = (uint8_t)(rest & ~common);
		if (common == 0 || common == part->mask)
			continue;
		word->part[word->parts] = *part;
		word->part[word->parts++].mask = common;
		part->mask = (uint8_t)(part->mask & ~common);
	}
	if (rest != 0) {
		memset(&word->part[word->parts], 0, sizeof(struct part));
		word->part[word->parts++].mask = rest;
	}
}

struct part *word_part(struct word *word, uint8_t mask, int *from)
{
	if (*from == 0) {
		/* In most cases it is the only part, or unchanged. */
		if (!(word->parts == 1 && word->part[0].mask == mask))
			refine(word, mask);
	}
	while (*from < word->parts) {
		struct part *part = &word->part[(*from)++];

		if ((part->mask & mask) != 0)
			return part;
	}
	return NULL;
}

static struct block *find_block(struct memory *m, const void *p, bool inside)
{
	size_t offset = (size_t)((const char *)p - m->world);
	int heap = (int)(offset / HEAP), low = 0, high;

	if (offset >= SHADOWS)
		return NULL;
	offset %= HEAP;
	high = m->block_count[heap];
	while (low < high) { /* binary search: the last block at or before it */
		int middle = (low + high) / 2;

		if (m->blocks[heap][middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return NULL;
	if (inside ? offset - m->blocks[heap][low - 1].offset >=
			     m->blocks[heap][low - 1].size
		   : offset != m->blocks[heap][low - 1].offset)
		return NULL;
	return &m->blocks[heap][low - 1];
}

size_t memory_block_size(struct memory *m, const void *p)
{
	struct block *block = find_block(m, p, false);

	return block == NULL || block->freed ? 0 : block->size;
}

bool memory_block_freed(struct memory *m, const void *p)
{
	struct block *block = find_block(m, p, false);

	return block != NULL && block->freed;
}

void memory_set_site(struct memory *m, const void *p, const void *site)
{
	find_block(m, p, false)->site = site;
}

const void *memory_site(struct memory *m, const void *p)
{
	struct block *block = find_block(m, p, true);

	return block == NULL ? NULL : block->site;
}

static bool in_use(struct memory *m, struct word *word, int thread, clock_vector known)
{
	int i;

	known[thread] = 0xff;
	if (word->run != m->run)
		return false;
	for (i = 0; i < word->parts; i++) {
		struct part *part = &word->part[i];

		if (!(clock_within(part->plain_reads, known) &&
		      clock_within(part->plain_writes, known) &&
		      clock_within(part->atomic_reads, known) &&
		      clock_within(part->atomic_writes, known)))
			return true;
	}
	return false;
}

struct cell *memory_free(struct memory *m, void *p, int thread, clock_vector known)
{
	struct block *block = find_block(m, p, false);
	size_t first = (size_t)((char *)p - m->world) / 8, i;
	bool used = false;

	block->freed = true;
	for (i = 0; i < (block->size + 7u) / 8; i++) {
		struct word *word = &m->world_words[first + i];

		used = used || in_use(m, word, thread, known);
		word->freed = m->run;
	}
	return used ? (struct cell *)p : NULL;
}

/* Marks all blocks that these words point to, transitively. */
static void reach(struct memory *m, const char *start, size_t size)
{
	size_t i;

	for (i = 0; i + 8 <= size; i += 8) {
		char *p;
		struct block *block;

		memcpy(&p, start + i, sizeof(p));
		block = find_block(m, p, true);
		if (block == NULL || block->reached || block->freed)
			continue;
		block->reached = true;
		reach(m, (char *)((uintptr_t)(p - (p - m->world) % HEAP) + block->offset),
		      block->size);
	}
}

const void *memory_leak(struct memory *m)
{
	bool left = false;
	int i, b;

	for (i = 0; i < HEAPS; i++) {
		for (b = 0; b < m->block_count[i]; b++) {
			struct block *block = &m->blocks[i][b];

			/* Not the program's to free: from before the threads, or
			 * thread-local. */
			block->reached = i == 0 || block->site == NULL;
			left = left || !(block->reached || block->freed);
		}
	}
	if (!left)
		return NULL;
	for (i = 0; i < m->static_count; i++)
		reach(m, m->statics[i].start, m->statics[i].size);
	for (i = 0; i < HEAPS; i++)
		for (b = 0; b < m->block_count[i]; b++)
			if (i == 0 || m->blocks[i][b].site == NULL)
				reach(m,
				      m->world + (size_t)i * HEAP +
					      m->blocks[i][b].offset,
				      m->blocks[i][b].size);
	for (i = 1; i < HEAPS; i++)
		for (b = 0; b < m->block_count[i]; b++)
			if (!m->blocks[i][b].freed && !m->blocks[i][b].reached)
				return m->world + (size_t)i * HEAP +
				       m->blocks[i][b].offset;
	return NULL;
}

bool memory_retire(struct memory *m, int thread, clock_vector known)
{
	m->retired[thread] = true;
	return clock_within(m->visitors[thread], known);
}

void memory_visit(struct memory *m, int owner, int thread, uint8_t position)
{
	m->visitors[owner][thread] = position;
}

uint64_t *memory_shadow(struct memory *m, const void *p, int number)
{
	int i;

	for (i = 0; i < m->shadow_count; i++)
		if (m->shadows[i].of == p && m->shadows[i].number == number)
			return (uint64_t *)(m->world + SHADOWS) + i;
	if (i == SHADOW_WORDS) {
		fputs("pawl check: too many mutexes and threads\n", stderr);
		exit(2);
	}
	m->shadows[i].of = p;
	m->shadows[i].number = number;
	m->shadow_count++;
	return (uint64_t *)(m->world + SHADOWS) + i;
}

/* The initial value of an atomic. */
static uint64_t initial(struct memory *m, const char *address, int width)
{
	int i;

	for (i = 0; i < m->static_count; i++) {
		size_t offset = (size_t)(address - m->statics[i].start);

		if (offset < m->statics[i].size)
			return search_peek(m->statics[i].kept + offset, width);
	}
	if ((size_t)(address - m->world) < m->kept)
		return search_peek(m->kept_bytes + (address - m->world), width);
	return 0;
}

uint8_t memory_name_atomic(struct memory *m, char *address, int width)
{
	struct place place = place_find(m, address);
	int offset = (int)(address - place.address), i;

	if (m->name_count == MAX_LOCATIONS)
		return NO_LOCATION;
	place.word->width[offset] = (uint8_t)width;
	place.word->location[offset] = (uint8_t)m->name_count;
	for (i = 1; i < width; i++)
		place.word->width[offset + i] = INSIDE;
	m->names[m->name_count].address = address;
	m->names[m->name_count].word = place.word;
	m->names[m->name_count].width = width;
	current_search->graph.initial[m->name_count] = initial(m, address, width);
	return (uint8_t)m->name_count++;
}

int memory_names(struct memory *m)
{
	return m->name_count;
}

int memory_width(struct memory *m, uint8_t location)
{
	return m->names[location].width;
}

const uint64_t *memory_address(struct memory *m, uint8_t location)
{
	return (const uint64_t *)(const void *)m->names[location].address;
}

void memory_label(struct memory *m, const void *p, const char *name)
{
	(void)m, (void)p, (void)name;
}

static bool describe(struct memory *m, const void *p, char *to, size_t size)
{
	size_t offset = (size_t)((const char *)p - m->world);
	struct block *block = find_block(m, p, true);
	int i;

	if (block != NULL) {
		char line[64] = "the start";

		if (block->site != NULL)
			lines_find(block->site, line, sizeof(line));
		offset = offset % HEAP - block->offset;
		if (offset == 0)
			snprintf(to, size, "[%s]", line);
		else
			snprintf(to, size, "[%s]+%zu", line, offset);
		return true;
	}
	if (offset < WORLD) {
		static const char *const kinds[] = {
			[OWN_THREAD] = "thread",
			[OWN_MUTEX] = "mutex",
			[OWN_COND] = "cond",
			[OWN_WAKES] = "wakes of",
			[OWN_RWLOCK] = "rwlock",
			[OWN_ONCE] = "once",
			[OWN_SPIN] = "spin lock",
			[OWN_SEMAPHORE] = "semaphore",
			[OWN_ARRIVALS] = "barrier",
			[OWN_GATE] = "gate of",
			[OWN_TIMES_MADE] = "times made of",
			[OWN_ERRNO] = "errno of",
		};
		size_t i_shadow = (offset - SHADOWS) / 8;
		char of[48];

		if (offset < SHADOWS || i_shadow >= (size_t)m->shadow_count)
			return false;
		if (m->shadows[i_shadow].number == OWN_THREAD) {
			snprintf(to, size, "%s of thread %d",
				 (uintptr_t)m->shadows[i_shadow].of & 1 ? "start" : "end",
				 (int)((uintptr_t)m->shadows[i_shadow].of >> 1) - 1);
			return true;
		}
		if (!describe(m, m->shadows[i_shadow].of, of, sizeof(of)))
			snprintf(of, sizeof(of), "%p", m->shadows[i_shadow].of);
		snprintf(to, size, "%s %s",
			 kinds[m->shadows[i_shadow].number % OWN_KINDS], of);
		return true;
	}
	offset = (size_t)((const char *)p - m->stacks);
	if (m->stacks != NULL && offset < m->stack_size * (size_t)m->stack_count) {
		snprintf(to, size, "stack of thread %d+%zu",
			 (int)(offset / m->stack_size),
			 m->stack_size - offset % m->stack_size);
		return true;
	}
	for (i = 0; i < m->static_count; i++) {
		offset = (size_t)((const char *)p - m->statics[i].start);
		if (offset < m->statics[i].size)
			return lines_symbol(p, to, size);
	}
	return false;
}

bool memory_describe(struct memory *m, const void *p, char *to, size_t size)
{
	struct thread *self = current_search->self;
	bool known;

	/* The code that reads line numbers allocates from the C library. */
	current_search->self = NULL;
	known = describe(m, p, to, size);
	current_search->self = self;
	return known;
}
