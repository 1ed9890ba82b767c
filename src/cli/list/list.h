/* SPDX-License-Identifier: MIT */
/* The table of locks and their properties, for whoever prints it. */
#ifndef PAWL_CLI_LIST_H
#define PAWL_CLI_LIST_H

#include "registry/registry.h"

enum { LIST_COLUMNS = 11, CELL_BYTES = 48 };

const char *list_title(size_t column);
void list_cell(const struct lock_type *type, size_t column, char cell[CELL_BYTES]);

/* The next lock for the table, from this one on: one row stands for both ways to
 * wait. */
const struct lock_type *list_skip_variants(const struct lock_type *type);

/* Whether another library's lock, to which pawl bench compares ours. */
bool is_peer(const char *name);

/* Refuses a name that is none of nth()'s: another command may know it. */
void refuse_lock(const char *name, const char *(*nth)(size_t i))
	__attribute__((noreturn));

#endif /* PAWL_CLI_LIST_H */
