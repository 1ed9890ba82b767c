/* SPDX-License-Identifier: MIT */
/*
 * One mapping holds an arena for the program, and a heap and storage for each
 * thread; cells lie in an array beside it. Stacks have arrays of their own;
 * static words, which are few, have a small table.
 */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include "lines.h"
#include "memory.h"

#include <sim/seam.h>

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	ARENA = 1 << 15, /* one for the program and one for each thread */
	ARENAS = MAX_THREADS + 1,
	STORAGE = 1 << 12,
	WORLD = ARENAS * ARENA + MAX_THREADS * STORAGE,
	BLOCKS = 256,
	STATIC_WORDS = 1024,
	STATIC_RANGES = 64,
	BESIDE = 64,
};

struct block {
	size_t offset, size;
	const char *label;
};

static char *world;
static struct cell *world_cells;
static size_t used[ARENAS];
static size_t storage_size;
static struct block blocks[ARENAS][BLOCKS];
static int block_count[ARENAS];

static struct {
	char *base;
	size_t size;
	struct cell *cells;
} stacks[MAX_THREADS];
static int stack_count; /* threads get theirs in order */

static bool retired[MAX_THREADS];
static clock_vector visitors[MAX_THREADS]; /* others, in storage or on stack */

static struct {
	const char *start;
	size_t size;
} ranges[STATIC_RANGES];
static int range_count;
static struct cell static_cells[STATIC_WORDS];
static struct {
	uint64_t *word;
	uint64_t value;
} saved[STATIC_WORDS]; /* static words that this run changed */
static int saved_count;

static struct {
	const void *of;
	uint64_t word;
} beside[BESIDE];

static struct cell *names[MAX_LOCATIONS];
static int name_count;
static uint32_t run;

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

/* Static variables: what the loader made writable, and left so. */
static int add_segments(struct dl_phdr_info *info, size_t size, void *unused)
{
	const char *base = (const char *)info->dlpi_addr, *constant_end = NULL;
	int i;

	(void)size, (void)unused;
	if (strncmp(info->dlpi_name, "/lib", 4) == 0 ||
	    strncmp(info->dlpi_name, "/usr/lib", 8) == 0)
		return 0; /* the system's: no lock is in there */
	for (i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO)
			constant_end = base + info->dlpi_phdr[i].p_vaddr +
				       info->dlpi_phdr[i].p_memsz;
	for (i = 0; i < info->dlpi_phnum && range_count < STATIC_RANGES; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		const char *start = base + segment->p_vaddr;
		const char *end = start + segment->p_memsz;

		if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W) == 0)
			continue;
		if (constant_end > start && constant_end < end)
			start = constant_end;
		ranges[range_count].start = start;
		ranges[range_count++].size = (size_t)(end - start);
	}
	return 0;
}

void memory_open(void)
{
	if (world != NULL)
		return;
	/* Locks hash addresses: the same ones every time repeat the same search. */
	world = map((void *)SIM_WORLDS, WORLD);
	world_cells = map(NULL, WORLD / 8 * sizeof(struct cell));
}

void memory_forget(void)
{
	int i;

	memory_reset();
	for (i = 0; i < name_count; i++)
		names[i]->atomic = false;
	name_count = 0;
	/* Drops every page: cells read as zero again. */
	madvise(world_cells, WORLD / 8 * sizeof(struct cell), MADV_DONTNEED);
	for (i = 0; i < MAX_THREADS; i++)
		if (stacks[i].base != NULL)
			madvise(stacks[i].cells, stacks[i].size / 8 * sizeof(struct cell),
				MADV_DONTNEED);
	memset(static_cells, 0, sizeof(static_cells));
	memset(beside, 0, sizeof(beside));
	range_count = 0;
	dl_iterate_phdr(add_segments, NULL);
	run = 0;
}

void memory_reset(void)
{
	int i;

	run++;
	for (i = 0; i < ARENAS; i++) {
		memset(world + (size_t)i * ARENA, 0, used[i]);
		used[i] = 0;
		block_count[i] = 0;
	}
	for (i = 0; i < saved_count; i++)
		*saved[i].word = saved[i].value;
	saved_count = 0;
	for (i = 0; i < MAX_THREADS; i++) {
		if (storage_size != 0)
			memset(world + ARENAS * ARENA + (size_t)i * STORAGE, 0,
			       storage_size);
		retired[i] = false;
		visitors[i] = (clock_vector){0};
	}
}

void *memory_allocate(int thread, size_t size, size_t alignment)
{
	int arena = thread + 1;
	size_t at = (used[arena] + alignment - 1) & ~(alignment - 1);

	/* A word between blocks, so that an overrun is not a neighbour's. */
	if (at + size + 8 > ARENA || block_count[arena] == BLOCKS)
		return NULL;
	used[arena] = at + size + 8;
	blocks[arena][block_count[arena]++] = (struct block){at, size, NULL};
	return world + (size_t)arena * ARENA + at;
}

void *memory_storage(int thread, size_t size)
{
	if (size > STORAGE) {
		fprintf(stderr, "pawl check: thread storage of %zu bytes is too big\n",
			size);
		exit(2);
	}
	storage_size = size;
	return world + ARENAS * ARENA + (size_t)thread * STORAGE;
}

void memory_add_stack(int thread, void *stack, size_t size)
{
	stacks[thread].base = stack;
	stacks[thread].size = size;
	stack_count = thread + 1;
	stacks[thread].cells = map(NULL, size / 8 * sizeof(struct cell));
}

static struct cell *fresh(struct cell *cell, const void *p)
{
	if (cell->run != run) {
		clock_vector none = {0};

		cell->run = run;
		cell->address = p;
		cell->plain_reads = none;
		cell->plain_writes = none;
		cell->atomic_reads = none;
		cell->atomic_writes = none;
	}
	return cell;
}

static struct cell *find_static(const char *p)
{
	uintptr_t word = (uintptr_t)p / 8;
	size_t at = (size_t)(word * 0x9e3779b97f4a7c15u >> 40) % STATIC_WORDS;
	size_t tries;

	for (tries = 0; tries < STATIC_WORDS; tries++) {
		struct cell *cell = &static_cells[at];

		if (cell->address == NULL || (const char *)cell->address == p)
			return fresh(cell, p);
		at = (at + 1) % STATIC_WORDS;
	}
	return NULL;
}

static bool is_static(const struct cell *cell)
{
	return cell >= static_cells && cell < static_cells + STATIC_WORDS;
}

bool memory_is_constant(const struct cell *cell, bool write)
{
	return is_static(cell) && !write && !cell->atomic && cell->saved != run;
}

void memory_save(struct cell *cell)
{
	if (!is_static(cell) || cell->saved == run)
		return;
	cell->saved = run;
	saved[saved_count].word = (uint64_t *)(uintptr_t)cell->address;
	saved[saved_count++].value = *cell->address;
}

uint64_t *memory_beside(const void *p)
{
	int i;

	for (i = 0; i < BESIDE && beside[i].of != NULL; i++)
		if (beside[i].of == p)
			return &beside[i].word;
	if (i == BESIDE) {
		fputs("pawl check: threads sleep on too many words\n", stderr);
		exit(2);
	}
	beside[i].of = p;
	return &beside[i].word;
}

struct cell *memory_find(const void *p, enum memory_state *state, int *owner)
{
	const char *at = (const char *)((uintptr_t)p & ~(uintptr_t)7);
	size_t offset = (size_t)(at - world);
	struct cell *cell;
	int i;

	*owner = -1;
	*state = MEMORY_LIVE;
	if (offset < WORLD) {
		cell = fresh(&world_cells[offset / 8], at);
		if (offset >= ARENAS * ARENA) {
			*owner = (int)((offset - ARENAS * ARENA) / STORAGE);
			if (retired[*owner])
				*state = MEMORY_FREED;
			else if (offset % STORAGE >= storage_size)
				*state = MEMORY_UNKNOWN;
		} else if (offset % ARENA >= used[offset / ARENA]) {
			*state = MEMORY_UNKNOWN;
		} else if (cell->freed == run) {
			*state = MEMORY_FREED;
		}
		return cell;
	}
	for (i = 0; i < stack_count; i++) {
		offset = (size_t)(at - stacks[i].base);
		if (offset >= stacks[i].size)
			continue;
		*owner = i;
		if (retired[i])
			*state = MEMORY_FREED;
		return fresh(&stacks[i].cells[offset / 8], at);
	}
	for (i = 0; i < range_count; i++)
		if ((size_t)(at - ranges[i].start) < ranges[i].size)
			return find_static(at);
	if ((uintptr_t)p < 1 << 16)
		*state = MEMORY_UNKNOWN;
	return NULL;
}

static bool in_use(const struct cell *cell, int thread, clock_vector known)
{
	known[thread] = 0xff;
	return cell->run == run && !(clock_within(cell->plain_reads, known) &&
				     clock_within(cell->plain_writes, known) &&
				     clock_within(cell->atomic_reads, known) &&
				     clock_within(cell->atomic_writes, known));
}

struct cell *memory_free(void *p, int thread, clock_vector known)
{
	size_t offset = (size_t)((char *)p - world), i;
	int arena = (int)(offset / ARENA), b;
	struct cell *found = NULL;

	if (offset >= ARENAS * ARENA)
		return NULL;
	for (b = 0; b < block_count[arena]; b++) {
		struct block *block = &blocks[arena][b];

		if (block->offset != offset % ARENA)
			continue;
		for (i = 0; i < block->size / 8; i++) {
			struct cell *cell = &world_cells[offset / 8 + i];

			if (found == NULL && in_use(cell, thread, known))
				found = cell;
			cell->freed = run;
		}
		return found;
	}
	return NULL;
}

bool memory_retire(int thread, clock_vector known)
{
	retired[thread] = true;
	return clock_within(visitors[thread], known);
}

void memory_visit(int owner, int thread, uint8_t position)
{
	visitors[owner][thread] = position;
}

uint8_t memory_name(struct cell *cell)
{
	if (cell->atomic)
		return cell->location;
	if (name_count == MAX_LOCATIONS)
		return NO_LOCATION;
	cell->atomic = true;
	cell->location = (uint8_t)name_count;
	names[name_count++] = cell;
	return cell->location;
}

int memory_names(void)
{
	return name_count;
}

const uint64_t *memory_address(uint8_t location)
{
	return names[location]->address;
}

static struct block *find_block(int arena, size_t offset)
{
	int b;

	for (b = 0; b < block_count[arena]; b++)
		if (offset - blocks[arena][b].offset < blocks[arena][b].size)
			return &blocks[arena][b];
	return NULL;
}

void memory_label(const void *p, const char *name)
{
	size_t offset = (size_t)((const char *)p - world);
	struct block *block;

	if (offset >= ARENAS * ARENA)
		return;
	block = find_block((int)(offset / ARENA), offset % ARENA);
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

bool memory_describe(const void *p, char *to, size_t size)
{
	size_t offset = (size_t)((const char *)p - world);
	int i;

	if (offset >= ARENAS * ARENA && offset < WORLD) {
		describe(to, size, "storage", (int)((offset - ARENAS * ARENA) / STORAGE),
			 offset % STORAGE);
		return true;
	}
	if (offset < ARENAS * ARENA) {
		int arena = (int)(offset / ARENA);
		struct block *block = find_block(arena, offset % ARENA);

		if (block == NULL)
			return false;
		describe(to, size, block->label != NULL ? block->label : "heap",
			 block->label != NULL ? -1 : arena - 1,
			 block->label != NULL ? offset % ARENA - block->offset
					      : offset % ARENA);
		return true;
	}
	for (i = 0; i < MAX_THREADS; i++) {
		offset = (size_t)((const char *)p - stacks[i].base);
		if (stacks[i].base == NULL || offset >= stacks[i].size)
			continue;
		describe(to, size, "stack", i, stacks[i].size - offset);
		return true;
	}
	for (i = 0; i < BESIDE; i++) {
		char of[48];

		if (p != (const void *)&beside[i].word || beside[i].of == NULL ||
		    !memory_describe(beside[i].of, of, sizeof(of)))
			continue;
		snprintf(to, size, "wakes of %s", of);
		return true;
	}
	for (i = 0; i < range_count; i++) {
		offset = (size_t)((const char *)p - ranges[i].start);
		if (offset < ranges[i].size)
			return lines_symbol(p, to, size);
	}
	return false;
}
