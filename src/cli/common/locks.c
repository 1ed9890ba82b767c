/* SPDX-License-Identifier: MIT */
#include "cli/common/locks.h"

#include "cli/common/options.h"
#include "subject.h"
#ifdef PAWL_SIM
#include <sim/check/scenario.h>
#endif

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const char *nth_peer(size_t n)
{
	const struct bench_subject *const *s;

	for (s = bench_subjects; *s != NULL; s++)
		if (lock_type_find((*s)->name) == NULL && n-- == 0)
			return (*s)->name;
	return NULL;
}

const char *nth_object(size_t n)
{
#ifdef PAWL_SIM
	return checked_objects[n].type == NULL ? NULL : checked_objects[n].type->name;
#else
	(void)n;
	return NULL;
#endif
}

static bool is_among(const char *name, const char *(*nth)(size_t n))
{
	size_t i;

	for (i = 0; nth(i) != NULL; i++)
		if (strcmp(nth(i), name) == 0)
			return true;
	return false;
}

bool is_peer(const char *name)
{
	return is_among(name, nth_peer);
}

void refuse_lock(const char *name, const char *(*nth)(size_t i))
{
	if (is_peer(name))
		refuse("'%s' is a lock of another library, for 'pawl bench' only; 'pawl "
		       "list' shows which command accepts what",
		       name);
	if (is_among(name, nth_object))
		refuse("'%s' is not a lock, and for 'pawl check' only; 'pawl list' shows "
		       "which command accepts what",
		       name);
	refuse_name("lock", name, nth, "'pawl list' lists them");
}

/* The table. */

static const char *yes_or_no(bool yes)
{
	return yes ? "yes" : "no";
}

static void show_name(const struct lock_type *type, char *cell)
{
	snprintf(cell, CELL_BYTES, "%s", type->name);
}

static void show_size(const struct lock_type *type, char *cell)
{
	snprintf(cell, CELL_BYTES, "%zu", type->size);
}

static void show_admission(const struct lock_type *type, char *cell)
{
	static const char *const words[] = {[ADMISSION_FIFO] = "FIFO",
					    [ADMISSION_ONCE] = "overtaken once",
					    [ADMISSION_BOUNDED] = "bounded",
					    [ADMISSION_ANY] = "unbounded"};

	snprintf(cell, CELL_BYTES, "%s", words[type->admission]);
}

static void show_context_free(const struct lock_type *type, char *cell)
{
	snprintf(cell, CELL_BYTES, "%s", yes_or_no(type->context == CONTEXT_FREE));
}

static void show_constant_unlock(const struct lock_type *type, char *cell)
{
	snprintf(cell, CELL_BYTES, "%s", yes_or_no(type->unlock_time == UNLOCK_CONSTANT));
}

static void show_prompt_destruction(const struct lock_type *type, char *cell)
{
	static const char *const words[] = {[DESTROY_PROMPT] = "yes",
					    [DESTROY_STABLE] = "no",
					    [DESTROY_DESTROY] = "by destroy"};

	snprintf(cell, CELL_BYTES, "%s", words[type->destroy_when]);
}

static void show_trylock(const struct lock_type *type, char *cell)
{
	snprintf(cell, CELL_BYTES, "%s", yes_or_no(type->trylock != NULL));
}

static void show_any_thread(const struct lock_type *type, char *cell)
{
	snprintf(cell, CELL_BYTES, "%s", yes_or_no(type->release_by == RELEASE_ANYONE));
}

static void show_rmws(const struct lock_type *type, char *cell)
{
	snprintf(cell, CELL_BYTES, "%d+%d", type->lock_rmws, type->unlock_rmws);
}

static void show_waiting(const struct lock_type *type, char *cell)
{
	snprintf(cell, CELL_BYTES, "%s", type->parks ? "sleeps" : "spins, or +park");
}

static void show_source(const struct lock_type *type, char *cell)
{
	snprintf(cell, CELL_BYTES, "%s", type->source);
}

static const struct column {
	const char *title;
	void (*show)(const struct lock_type *type, char *cell);
} columns[LIST_COLUMNS] = {
	{"lock", show_name},
	{"bytes", show_size},
	{"admission", show_admission},
	{"context-free", show_context_free},
	{"constant-time unlock", show_constant_unlock},
	{"prompt destruction", show_prompt_destruction},
	{"trylock", show_trylock},
	{"unlock by any thread", show_any_thread},
	{"RMWs", show_rmws},
	{"waiting", show_waiting},
	{"source", show_source},
};

const struct lock_type *list_skip_variants(const struct lock_type *type)
{
	while (type->name != NULL && strcmp(type->name, type->base) != 0)
		type++;
	return type;
}

const char *list_title(size_t column)
{
	return columns[column].title;
}

void list_cell(const struct lock_type *type, size_t column, char cell[CELL_BYTES])
{
	columns[column].show(type, cell);
}
