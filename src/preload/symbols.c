/* SPDX-License-Identifier: MIT */
/*
 * Look-ups in the libraries behind us, as dlsym(RTLD_NEXT) does them, but from
 * inside an allocator's first call: dlsym allocates when it fails, frees what an
 * earlier failure left, and waits for whoever is inside dlopen. So the tables that
 * the dynamic linker mapped are read here without asking it.
 *
 * The libraries that the program started with stand at the front of the list in
 * search order, and never leave it. Those that are opened later are appended.
 */
#define _GNU_SOURCE
#include "preload/preload.h"

#include <elf.h>
#include <link.h>
#include <string.h>

/* Weak, and so without a version: a strong reference would have the dynamic linker
 * among the libraries that this one is linked with, and the rseq symbols of a newer
 * one would be asked of an older. */
#pragma weak _r_debug

/* Set in the version of a symbol that only those see who ask for that version. */
enum { HIDDEN_VERSION = 0x8000 };

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

/* The hash table of a library, with its symbols; see the ELF gABI, DT_GNU_HASH. */
struct table {
	ElfW(Addr) base;
	const ElfW(Sym) * symbols;
	const char *strings;
	const ElfW(Half) * versions; /* NULL if there are none */
	const uint32_t *hash;	     /* NULL if there is none */
};

/* The linker has relocated most of these, but not those of the kernel's object. */
static const void *pointer_in(const struct link_map *map, const ElfW(Dyn) * entry)
{
	ElfW(Addr) address = entry->d_un.d_ptr;

	return (const void *)(address < map->l_addr ? address + map->l_addr : address);
}

static struct table table_of(const struct link_map *map)
{
	struct table table = {.base = map->l_addr};
	const ElfW(Dyn) * entry;

	for (entry = map->l_ld; entry != NULL && entry->d_tag != DT_NULL; entry++)
		switch (entry->d_tag) {
		case DT_SYMTAB:
			table.symbols = pointer_in(map, entry);
			break;
		case DT_STRTAB:
			table.strings = pointer_in(map, entry);
			break;
		case DT_VERSYM:
			table.versions = pointer_in(map, entry);
			break;
		case DT_GNU_HASH:
			table.hash = pointer_in(map, entry);
			break;
		default:
			break;
		}
	return table;
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name != '\0'; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

static bool is_meant(const struct table *table, uint32_t index, const char *name)
{
	const ElfW(Sym) *symbol = &table->symbols[index];
	unsigned type = symbol->st_info & 0xf;

	return symbol->st_shndx != SHN_UNDEF &&
	       (type == STT_FUNC || type == STT_OBJECT) &&
	       (table->versions == NULL ||
		(table->versions[index] & HIDDEN_VERSION) == 0) &&
	       strcmp(table->strings + symbol->st_name, name) == 0;
}

static void *find_in(const struct table *table, const char *name, uint32_t hash)
{
	uint32_t buckets = table->hash[0], first = table->hash[1];
	const uint32_t *bucket = table->hash + 4 +
				 table->hash[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	const uint32_t *chain = bucket + buckets;
	uint32_t index = buckets != 0 ? bucket[hash % buckets] : 0;

	if (index < first)
		return NULL;
	do
		if ((chain[index - first] | 1) == (hash | 1) &&
		    is_meant(table, index, name))
			return (void *)(table->base + table->symbols[index].st_value);
	while ((chain[index++ - first] & 1) == 0);
	return NULL;
}

void *symbol_after_us(const char *name)
{
	const struct link_map *map = _r_debug.r_map;
	uint32_t hash = hash_of(name);
	void *found = NULL;

	while (map != NULL && map->l_ld != _DYNAMIC)
		map = map->l_next;
	while (found == NULL && map != NULL && (map = map->l_next) != NULL) {
		struct table table = table_of(map);

		if (table.hash != NULL && table.symbols != NULL && table.strings != NULL)
			found = find_in(&table, name, hash);
	}
	return found;
}
