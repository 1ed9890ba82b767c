/* SPDX-License-Identifier: MIT */
/* The locks as people see them: their names, and the table of their properties. */
#ifndef PAWL_CLI_COMMON_LOCKS_H
#define PAWL_CLI_COMMON_LOCKS_H

#include "registry/registry.h"

/* Names that are no lock of the registry: other libraries' locks, to which pawl bench
 * compares ours, and what only pawl check knows. NULL from the last one on. */
const char *nth_peer(size_t n);
const char *nth_object(size_t n);

bool is_peer(const char *name);

/* Refuses a name that is none of nth()'s: another command may know it. */
void refuse_lock(const char *name, const char *(*nth)(size_t i))
	__attribute__((noreturn));

/* The table. */
enum { LIST_COLUMNS = 11, CELL_BYTES = 48 };

const char *list_title(size_t column);
void list_cell(const struct lock_type *type, size_t column, char cell[CELL_BYTES]);

/* The next lock for the table, from this one on: one row stands for both ways to
 * wait. */
const struct lock_type *list_skip_variants(const struct lock_type *type);

#endif /* PAWL_CLI_COMMON_LOCKS_H */
