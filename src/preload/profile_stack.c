/* SPDX-License-Identifier: MIT */
/*
 * Stacks, and what is where in the program.
 *
 * The unwinder is libgcc's, linked in statically: it needs tables of unwinding, which
 * all code has that a compiler for this system made, and no frame pointers. It finds
 * them through _dl_find_object, which takes no lock, calls no allocator and may be
 * used in signal handlers. Its own lists, for tables that a program registers by hand,
 * are guarded by a mutex that is never touched, for our copy's lists stay empty: frames
 * without tables, such as those of a compiler at run time, end the stack.
 *
 * Order: [A] pairs with [R]: who finds a stack sees what is in it. All else is
 * Relaxed throughout, as in preload/profile.h.
 */
#define _GNU_SOURCE
#include "preload/profile.h"
#include "preload/preload.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unwind.h>

enum { PROBES = 64, NO_MODULE = 0 };

static __typeof__(_dl_find_object) *find_object;

/* What the unwinder calls, too. The C library's is looked up by name: before glibc 2.35 there
 * is none, and a reference would keep us from loading there. */
__attribute__((visibility("hidden"))) int _dl_find_object(void *address,
							  struct dl_find_object *found)
{
	return find_object != NULL ? find_object(address, found) : -1;
}

static bool is_module(const struct profile_module *module,
		      const struct dl_find_object *found)
{
	const char *name = found->dlfo_link_map->l_name;

	return profile_get(&module->start) == pawl_address(found->dlfo_map_start) &&
	       profile_get(&module->end) == pawl_address(found->dlfo_map_end) &&
	       (profile_get(&module->named) == 0 ||
		strncmp(module->path, *name != '\0' ? name : profile_file->program,
			PROFILE_PATH - 1) == 0);
}

static void describe(struct profile_module *module, const struct dl_find_object *found)
{
	const char *name = found->dlfo_link_map->l_name;

	profile_set(&module->end, pawl_address(found->dlfo_map_end));
	profile_set(&module->bias, found->dlfo_link_map->l_addr);
	snprintf(module->path, PROFILE_PATH, "%s",
		 *name != '\0' ? name : profile_file->program);
	profile_set(&module->named, 1);
}

/* The number of the module in the table; there may be several for one, if threads
 * meet it at once. */
static uint64_t module_of(const struct dl_find_object *found)
{
	uint64_t start = pawl_address(found->dlfo_map_start), i;
	uint64_t hash = pawl_hash(start >> 12, 32);

	for (i = 0; i < PROBES; i++) {
		uint64_t at = 1 + (hash + i) % (PROFILE_MODULES - 1);
		struct profile_module *module = &profile_file->modules[at];

		if (profile_get(&module->start) == 0 &&
		    pawl_cas_relaxed(&module->start, 0, start)) {
			describe(module, found);
			return at;
		}
		if (is_module(module, found))
			return at;
	}
	profile_lose(PROFILE_LOST_MODULES);
	return NO_MODULE;
}

uint64_t profile_place(uint64_t address)
{
	struct dl_find_object found;
	uint64_t module = NO_MODULE;

	if (address != 0 && _dl_find_object(pawl_pointer(address), &found) == 0)
		module = module_of(&found);
	if (module == NO_MODULE)
		return address & (((uint64_t)1 << PROFILE_MODULE_SHIFT) - 1);
	return module << PROFILE_MODULE_SHIFT |
	       (address - profile_get(&profile_file->modules[module].bias));
}

struct walk {
	uint64_t site;
	bool found;
	uint64_t count;
	uint64_t addresses[PROFILE_FRAMES];
};

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *argument)
{
	struct walk *walk = argument;
	uint64_t address = _Unwind_GetIP(context);

	walk->found |= address == walk->site;
	if (walk->found && address != 0)
		walk->addresses[walk->count++] = address;
	return walk->count < PROFILE_FRAMES ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static bool same(const pawl_atomic64 *words, uint64_t hash, const uint64_t *places,
		 uint64_t count)
{
	uint64_t i;

	if (profile_get(&words[0]) != hash || profile_get(&words[1]) != count)
		return false;
	for (i = 0; i < count; i++)
		if (profile_get(&words[2 + i]) != places[i])
			return false;
	return true;
}

/* Writes a stack where nobody finds it yet; returns where, 0 if there is no room. */
static uint64_t write_stack(uint64_t hash, const uint64_t *places, uint64_t count)
{
	uint64_t at = 1 + pawl_fetch_add_relaxed(&profile_file->words_used, 2 + count);
	pawl_atomic64 *words = &profile_file->words[at];
	uint64_t i;

	if (at + 2 + count > PROFILE_WORDS)
		return 0;
	profile_set(&words[0], hash);
	profile_set(&words[1], count);
	for (i = 0; i < count; i++)
		profile_set(&words[2 + i], places[i]);
	return at;
}

/* Its number is where its words begin. */
static uint64_t keep(const uint64_t *places, uint64_t count)
{
	uint64_t hash = count, i, at = 0, there;

	for (i = 0; i < count; i++)
		hash = (hash ^ places[i]) * 0x9E3779B97F4A7C15u, hash ^= hash >> 29;
	for (i = 0; i < PROBES; i++) {
		pawl_atomic64 *slot = &profile_file->stacks[(hash + i) % PROFILE_STACKS];

		there = pawl_load_acquire(slot); /* [A] */
		if (there == 0) {
			if (at == 0)
				at = write_stack(hash, places, count);
			if (at == 0)
				break;
			if (pawl_cas_release(slot, 0, at)) /* [R] */
				return at;
			there = pawl_load_acquire(slot); /* [A] */
		}
		if (same(&profile_file->words[there], hash, places, count))
			return there;
	}
	profile_lose(PROFILE_LOST_STACKS);
	return 0;
}

/* Whether two calls are in one function, by the tables of unwinding. */
static bool in_one_function(uint64_t a, uint64_t b)
{
	void *of_a = _Unwind_FindEnclosingFunction(pawl_pointer(a - 1));

	return of_a != NULL && of_a == _Unwind_FindEnclosingFunction(pawl_pointer(b - 1));
}

uint64_t profile_unwind(const void *site, const void *first)
{
	struct walk walk = {.site = pawl_address(site)};
	uint64_t i;

	if (first != NULL)
		walk.addresses[walk.count++] = pawl_address(first);
	_Unwind_Backtrace(step, &walk);
	if (!walk.found && walk.count < PROFILE_FRAMES) /* at least that is known */
		walk.addresses[walk.count++] = pawl_address(site);
	if (first != NULL && walk.count > 1 &&
	    in_one_function(walk.addresses[0], walk.addresses[1])) {
		walk.count--;
		memmove(&walk.addresses[1], &walk.addresses[2],
			(walk.count - 1) * sizeof(walk.addresses[0]));
	}
	for (i = 0; i < walk.count; i++)
		walk.addresses[i] = profile_place(walk.addresses[i]);
	return keep(walk.addresses, walk.count);
}

uint64_t profile_stack_of_one(uint64_t address)
{
	uint64_t place = profile_place(address);

	return address != 0 ? keep(&place, 1) : 0;
}

bool profile_stack_start(void)
{
	find_object = (__typeof__(find_object))symbol_after_us("_dl_find_object");
	if (find_object == NULL)
		return false;
	profile_unwind(__builtin_return_address(0), NULL);
	return true;
}
