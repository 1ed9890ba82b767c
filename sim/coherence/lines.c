/* SPDX-License-Identifier: MIT */
/* Cache lines, their home nodes, and simulated memory. */
#include "coherence.h"

#include <stdlib.h>

enum { PAGE_BITS = 12 };

static uint16_t home_of_page(struct coherence *c, uint64_t address, unsigned toucher)
{
	uint64_t number = address >> PAGE_BITS;
	unsigned node;
	size_t i;

	for (node = 0; node < c->m.sockets; node++)
		if (address - (uintptr_t)c->arena[node] < ARENA_SIZE)
			return (uint16_t)node;
	if (c->page_count * 2 >= c->page_table)
		coherence_fatal("too many pages");
	for (i = number * 0x9E3779B97F4A7C15 >> 48 & (c->page_table - 1);
	     c->pages[i].number != 0; i = (i + 1) & (c->page_table - 1))
		if (c->pages[i].number == number)
			return c->pages[i].home;
	/* By order of first use: addresses differ between runs. */
	node = c->cpus[toucher].node;
	if (c->setup.homes == HOMES_BY_ADDRESS)
		node = (unsigned)c->page_count % c->m.sockets;
	c->pages[i].home = (uint16_t)node;
	c->pages[i].number = number;
	c->page_count++;
	return c->pages[i].home;
}

static size_t slot_of(struct coherence *c, uint64_t key)
{
	size_t i = key * 0x9E3779B97F4A7C15 >> 32 & (c->table_size - 1);

	while (c->table[i] != NULL && c->table[i]->key != key)
		i = (i + 1) & (c->table_size - 1);
	return i;
}

static void grow_table(struct coherence *c)
{
	struct line **old = c->table;
	size_t i, size = c->table_size;

	c->table_size *= 2;
	c->table = coherence_get(c->table_size * sizeof(*c->table));
	for (i = 0; i < size; i++)
		if (old[i] != NULL)
			c->table[slot_of(c, old[i]->key)] = old[i];
	free(old);
}

static struct line *new_line(struct coherence *c, uint64_t key, unsigned toucher)
{
	size_t slab = c->lines / LINES_IN_SLAB;
	struct line *line;

	if (slab == MAX_SLABS)
		coherence_fatal("too many cache lines");
	if (c->slabs[slab] == NULL)
		c->slabs[slab] = coherence_get(LINES_IN_SLAB * sizeof(struct line));
	line = &c->slabs[slab][c->lines % LINES_IN_SLAB];
	line->key = key;
	line->number = (uint32_t)c->lines++;
	line->home = home_of_page(c, key << c->line_bits, toucher);
	line->owner = NOBODY;
	line->first = line->last = NOBODY;
	return line;
}

struct line *line_find(struct coherence *c, const void *p, unsigned toucher)
{
	uint64_t key = (uint64_t)(uintptr_t)p >> c->line_bits;
	size_t i = slot_of(c, key);

	if (c->table[i] != NULL)
		return c->table[i];
	if (c->lines * 2 >= c->table_size) {
		grow_table(c);
		i = slot_of(c, key);
	}
	return c->table[i] = new_line(c, key, toucher);
}

struct line *line_beside(struct coherence *c, const struct line *line)
{
	return c->table[slot_of(c, line->key ^ 1)];
}

void *arena_allocate(struct coherence *c, unsigned arena, size_t size, size_t alignment)
{
	size_t start = (c->used[arena] + alignment - 1) / alignment * alignment;

	c->used[arena] = start + size;
	if (c->used[arena] > ARENA_SIZE)
		coherence_fatal("simulated memory used up");
	return c->arena[arena] + start;
}

unsigned storage_node(const struct coherence *c, const struct cpu *cpu)
{
	switch (c->setup.thread_homes) {
	case THREADS_AT_HOME:
		break;
	case THREADS_AWAY:
		return (cpu->node + 1u) % c->m.sockets;
	case THREADS_ON_ZERO:
		return 0;
	}
	return cpu->node;
}
