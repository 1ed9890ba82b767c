/* SPDX-License-Identifier: MIT */
/* Names of locks, and the table of their properties. */
#ifndef PAWL_CLI_COMMON_LOCKS_H
#define PAWL_CLI_COMMON_LOCKS_H

#include "registry/registry.h"

/* Names that are not in the registry: other libraries' locks, for pawl bench, and objects
 * of pawl check. NULL at the end. */
const char *nth_peer(size_t n);
const char *nth_object(size_t n);

bool is_peer(const char *name);

/* Refuses a name that nth() does not have, with a hint if another command knows it. */
void refuse_lock(const char *name, const char *(*nth)(size_t i))
	__attribute__((noreturn));

/* The table. */
enum { LIST_COLUMNS = 11, CELL_BYTES = 48 };

const char *list_title(size_t column);
void list_cell(const struct lock_type *type, size_t column, char cell[CELL_BYTES]);

/* The next lock of the table, from this one on: one row stands for both wait policies. */
const struct lock_type *list_skip_variants(const struct lock_type *type);

#endif /* PAWL_CLI_COMMON_LOCKS_H */
