/* SPDX-License-Identifier: MIT */
/*
 * One mapping holds an arena for the program, an arena and storage for each thread, and
 * the shadow words. The cells of this mapping and of the stacks are in arrays; those of
 * static words, which are few, in a small hash table.
 */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include "memory.h"

#include <sim/common/lines.h>
#include <sim/seam.h>

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	ARENA = 1 << 15, /* one for the program, one for each thread */
	ARENAS = MAX_THREADS + 1,
	STORAGE = 1 << 12,
	STORAGES = ARENAS * ARENA, /* offset */
	BESIDE = 64,
	BESIDES = STORAGES + MAX_THREADS * STORAGE,
	WORLD = BESIDES + BESIDE * 8,
	BLOCKS = 256,
	STATIC_WORDS = 1024,
	STATIC_RANGES = 64,
};

struct block {
	size_t offset, size;
	const char *label;
};

struct memory {
	char *world;
	struct cell *world_cells;
	size_t used[ARENAS];
	size_t storage_size;
	struct block blocks[ARENAS][BLOCKS];
	int block_count[ARENAS];

	struct {
		char *base;
		size_t size;
		struct cell *cells;
	} stacks[MAX_THREADS];
	int stack_count; /* threads get their stacks in order */

	bool retired[MAX_THREADS];
	clock_vector visitors[MAX_THREADS]; /* accesses by other threads */

	struct {
		const char *start;
		size_t size;
	} ranges[STATIC_RANGES];
	int range_count;
	struct cell static_cells[STATIC_WORDS];
	struct {
		uint64_t *word;
		uint64_t value;
	} saved[STATIC_WORDS]; /* static words that this run changed */
	int saved_count;

	const void *beside[BESIDE]; /* the word that each shadow word belongs to */

	struct cell *names[MAX_LOCATIONS];
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

/* Finds static variables: the writable segments, without RELRO. */
static int add_segments(struct dl_phdr_info *info, size_t size, void *memory)
{
	struct memory *m = memory;
	const char *base = (const char *)info->dlpi_addr, *constant_end = NULL;
	int i;

	(void)size;
	if (strncmp(info->dlpi_name, "/lib", 4) == 0 ||
	    strncmp(info->dlpi_name, "/usr/lib", 8) == 0)
		return 0; /* a system library: contains no lock */
	for (i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO)
			constant_end = base + info->dlpi_phdr[i].p_vaddr +
				       info->dlpi_phdr[i].p_memsz;
	for (i = 0; i < info->dlpi_phnum && m->range_count < STATIC_RANGES; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		const char *start = base + segment->p_vaddr;
		const char *end = start + segment->p_memsz;

		if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W) == 0)
			continue;
		if (constant_end > start && constant_end < end)
			start = constant_end;
		m->ranges[m->range_count].start = start;
		m->ranges[m->range_count++].size = (size_t)(end - start);
	}
	return 0;
}

struct memory *memory_open(int number)
{
	struct memory *m = calloc(1, sizeof(*m));

	if (m == NULL) {
		perror("pawl check: no memory");
		exit(2);
	}
	/* Fixed addresses: locks hash them, and a search must be repeatable. */
	m->world = map((char *)SIM_WORLDS + ((uintptr_t)number << 32), WORLD);
	m->world_cells = map(NULL, WORLD / 8 * sizeof(struct cell));
	return m;
}

void memory_exchange(struct memory *m)
{
	int i;

	for (i = 0; i < m->saved_count; i++) {
		uint64_t value = *m->saved[i].word;

		*m->saved[i].word = m->saved[i].value;
		m->saved[i].value = value;
	}
}

void memory_forget(struct memory *m)
{
	int i;

	memory_reset(m);
	for (i = 0; i < m->name_count; i++)
		m->names[i]->atomic = false;
	m->name_count = 0;
	/* Drops every page: the cells read as zero again. */
	madvise(m->world_cells, WORLD / 8 * sizeof(struct cell), MADV_DONTNEED);
	for (i = 0; i < MAX_THREADS; i++)
		if (m->stacks[i].base != NULL)
			madvise(m->stacks[i].cells,
				m->stacks[i].size / 8 * sizeof(struct cell),
				MADV_DONTNEED);
	memset(m->static_cells, 0, sizeof(m->static_cells));
	memset(m->beside, 0, sizeof(m->beside));
	m->range_count = 0;
	dl_iterate_phdr(add_segments, m);
	m->run = 0;
}

void memory_reset(struct memory *m)
{
	int i;

	m->run++;
	for (i = 0; i < ARENAS; i++) {
		memset(m->world + (size_t)i * ARENA, 0, m->used[i]);
		m->used[i] = 0;
		m->block_count[i] = 0;
	}
	memset(m->world + BESIDES, 0, WORLD - BESIDES);
	for (i = 0; i < m->saved_count; i++)
		*m->saved[i].word = m->saved[i].value;
	m->saved_count = 0;
	for (i = 0; i < m->stack_count; i++) {
		if (m->storage_size != 0)
			memset(m->world + STORAGES + (size_t)i * STORAGE, 0,
			       m->storage_size);
		m->retired[i] = false;
		m->visitors[i] = (clock_vector){0};
	}
}

void *memory_allocate(struct memory *m, int thread, size_t size, size_t alignment)
{
	int arena = thread + 1;
	size_t at = (m->used[arena] + alignment - 1) & ~(alignment - 1);

	/* One word between blocks, so that an overrun does not hit the next block. */
	if (at + size + 8 > ARENA || m->block_count[arena] == BLOCKS)
		return NULL;
	m->used[arena] = at + size + 8;
	m->blocks[arena][m->block_count[arena]++] = (struct block){at, size, NULL};
	return m->world + (size_t)arena * ARENA + at;
}

void *memory_storage(struct memory *m, int thread, size_t size)
{
	if (size > STORAGE) {
		fprintf(stderr, "pawl check: thread storage of %zu bytes is too big\n",
			size);
		exit(2);
	}
	m->storage_size = size;
	return m->world + STORAGES + (size_t)thread * STORAGE;
}

void memory_add_stack(struct memory *m, int thread, void *stack, size_t size)
{
	m->stacks[thread].base = stack;
	m->stacks[thread].size = size;
	m->stack_count = thread + 1;
	m->stacks[thread].cells = map(NULL, size / 8 * sizeof(struct cell));
}

static struct cell *fresh(struct memory *m, struct cell *cell, const void *p, int owner)
{
	if (cell->run != m->run) {
		cell->run = m->run;
		cell->address = p;
		cell->owner = (int8_t)owner;
		memset(cell->halves, 0, sizeof(cell->halves));
	}
	return cell;
}

static struct cell *find_static(struct memory *m, const char *p)
{
	uintptr_t word = (uintptr_t)p / 8;
	size_t at = (size_t)(word * 0x9e3779b97f4a7c15u >> 40) % STATIC_WORDS;
	size_t tries;

	for (tries = 0; tries < STATIC_WORDS; tries++) {
		struct cell *cell = &m->static_cells[at];

		if (cell->address == NULL || (const char *)cell->address == p)
			return fresh(m, cell, p, -1);
		at = (at + 1) % STATIC_WORDS;
	}
	return NULL;
}

static bool is_static(struct memory *m, const struct cell *cell)
{
	return cell >= m->static_cells && cell < m->static_cells + STATIC_WORDS;
}

bool memory_is_constant(struct memory *m, const struct cell *cell, bool write)
{
	return is_static(m, cell) && !write && !cell->atomic && cell->saved != m->run;
}

void memory_save(struct memory *m, struct cell *cell)
{
	if (!is_static(m, cell) || cell->saved == m->run)
		return;
	cell->saved = m->run;
	m->saved[m->saved_count].word = (uint64_t *)(uintptr_t)cell->address;
	m->saved[m->saved_count++].value = *cell->address;
}

uint64_t memory_initial(struct memory *m, const struct cell *cell)
{
	int i;

	if (!is_static(m, cell))
		return 0;
	for (i = 0; i < m->saved_count; i++)
		if (m->saved[i].word == cell->address)
			return m->saved[i].value;
	return *cell->address;
}

uint64_t *memory_beside(struct memory *m, const void *p)
{
	int i;

	for (i = 0; i < BESIDE && m->beside[i] != NULL; i++)
		if (m->beside[i] == p)
			return (uint64_t *)(m->world + BESIDES) + i;
	if (i == BESIDE) {
		fputs("pawl check: threads sleep on too many words\n", stderr);
		exit(2);
	}
	m->beside[i] = p;
	return (uint64_t *)(m->world + BESIDES) + i;
}

struct cell *memory_find(struct memory *m, const void *p, enum memory_state *state)
{
	const char *at = (const char *)((uintptr_t)p & ~(uintptr_t)7);
	size_t offset = (size_t)(at - m->world);
	struct cell *cell;
	int i;

	*state = MEMORY_LIVE;
	if (offset < WORLD) {
		cell = fresh(m, &m->world_cells[offset / 8], at, -1);
		if (offset >= BESIDES)
			return cell;
		if (offset >= STORAGES) {
			cell->owner = (int8_t)((offset - STORAGES) / STORAGE);
			if (m->retired[cell->owner])
				*state = MEMORY_FREED;
			else if (offset % STORAGE >= m->storage_size)
				*state = MEMORY_UNKNOWN;
		} else if (offset % ARENA >= m->used[offset / ARENA]) {
			*state = MEMORY_UNKNOWN;
		} else if (cell->freed == m->run) {
			*state = MEMORY_FREED;
		}
		return cell;
	}
	for (i = 0; i < m->stack_count; i++) {
		offset = (size_t)(at - m->stacks[i].base);
		if (offset >= m->stacks[i].size)
			continue;
		if (m->retired[i])
			*state = MEMORY_FREED;
		return fresh(m, &m->stacks[i].cells[offset / 8], at, i);
	}
	for (i = 0; i < m->range_count; i++)
		if ((size_t)(at - m->ranges[i].start) < m->ranges[i].size)
			return find_static(m, at);
	if ((uintptr_t)p < 1 << 16)
		*state = MEMORY_UNKNOWN;
	return NULL;
}

static bool in_use(struct memory *m, const struct cell *cell, int thread,
		   clock_vector known)
{
	int half;

	known[thread] = 0xff;
	if (cell->run != m->run)
		return false;
	for (half = 0; half < HALVES; half++) {
		const struct accesses *a = &cell->halves[half];

		if (!clock_within(a->plain_reads, known) ||
		    !clock_within(a->plain_writes, known) ||
		    !clock_within(a->atomic_reads, known) ||
		    !clock_within(a->atomic_writes, known))
			return true;
	}
	return false;
}

struct cell *memory_free(struct memory *m, void *p, int thread, clock_vector known)
{
	size_t offset = (size_t)((char *)p - m->world), i;
	int arena = (int)(offset / ARENA), b;
	struct cell *found = NULL;

	if (offset >= STORAGES)
		return NULL;
	for (b = 0; b < m->block_count[arena]; b++) {
		struct block *block = &m->blocks[arena][b];

		if (block->offset != offset % ARENA)
			continue;
		for (i = 0; i < block->size / 8; i++) {
			struct cell *cell = &m->world_cells[offset / 8 + i];

			if (found == NULL && in_use(m, cell, thread, known))
				found = cell;
			cell->freed = m->run;
		}
		return found;
	}
	return NULL;
}

struct allocated memory_allocated(const struct memory *m)
{
	struct allocated bytes = {0, 0};
	int arena, b;

	for (arena = 1; arena < ARENAS; arena++) {
		for (b = 0; b < m->block_count[arena]; b++) {
			const struct block *block = &m->blocks[arena][b];
			size_t first = ((size_t)arena * ARENA + block->offset) / 8;

			bytes.all += block->size;
			if (m->world_cells[first].freed != m->run)
				bytes.left += block->size;
		}
	}
	return bytes;
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

uint8_t memory_name(struct memory *m, struct cell *cell)
{
	if (cell->atomic)
		return cell->location;
	if (m->name_count == MAX_LOCATIONS)
		return NO_LOCATION;
	cell->atomic = true;
	cell->location = (uint8_t)m->name_count;
	m->names[m->name_count++] = cell;
	return cell->location;
}

int memory_names(struct memory *m)
{
	return m->name_count;
}

const uint64_t *memory_address(struct memory *m, uint8_t location)
{
	return m->names[location]->address;
}

static struct block *find_block(struct memory *m, int arena, size_t offset)
{
	int b;

	for (b = 0; b < m->block_count[arena]; b++)
		if (offset - m->blocks[arena][b].offset < m->blocks[arena][b].size)
			return &m->blocks[arena][b];
	return NULL;
}

void memory_label(struct memory *m, const void *p, const char *name)
{
	size_t offset = (size_t)((const char *)p - m->world);
	struct block *block;

	if (offset >= STORAGES)
		return;
	block = find_block(m, (int)(offset / ARENA), offset % ARENA);
	if (block != NULL)
		block->label = name;
}

static void describe(char *to, size_t size, const char *name, int number, size_t offset)
{
	char suffix[24] = "";

	if (offset != 0)
		snprintf(suffix, sizeof(suffix), "+%zu", offset);
	if (number >= 0)
		snprintf(to, size, "%s %d%s", name, number, suffix);
	else
		snprintf(to, size, "%s%s", name, suffix);
}

bool memory_describe(struct memory *m, const void *p, char *to, size_t size)
{
	size_t offset = (size_t)((const char *)p - m->world);
	int i;

	if (offset >= STORAGES && offset < BESIDES) {
		describe(to, size, "storage", (int)((offset - STORAGES) / STORAGE),
			 offset % STORAGE);
		return true;
	}
	if (offset >= BESIDES && offset < WORLD) {
		char of[48];

		if (!memory_describe(m, m->beside[(offset - BESIDES) / 8], of,
				     sizeof(of)))
			return false;
		snprintf(to, size, "wakes of %s", of);
		return true;
	}
	if (offset < STORAGES) {
		int arena = (int)(offset / ARENA);
		struct block *block = find_block(m, arena, offset % ARENA);

		if (block == NULL)
			return false;
		describe(to, size, block->label != NULL ? block->label : "heap",
			 block->label != NULL ? -1 : arena - 1,
			 block->label != NULL ? offset % ARENA - block->offset
					      : offset % ARENA);
		return true;
	}
	for (i = 0; i < MAX_THREADS; i++) {
		offset = (size_t)((const char *)p - m->stacks[i].base);
		if (m->stacks[i].base == NULL || offset >= m->stacks[i].size)
			continue;
		describe(to, size, "stack", i, m->stacks[i].size - offset);
		return true;
	}
	for (i = 0; i < m->range_count; i++) {
		offset = (size_t)((const char *)p - m->ranges[i].start);
		if (offset < m->ranges[i].size)
			return lines_symbol(p, to, size);
	}
	return false;
}
