/* SPDX-License-Identifier: MIT */
/* pawl list: the registry as a table, for people, programs and documents. */
#include "list.h"

#include "commands.h"
#include "options.h"
#include "output.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

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

static void print_markdown(void)
{
	const struct lock_type *type;
	char cell[CELL_BYTES];
	size_t i;

	for (i = 0; i < LIST_COLUMNS; i++)
		printf("| %s ", columns[i].title);
	printf("|\n");
	for (i = 0; i < LIST_COLUMNS; i++)
		printf("|---");
	printf("|\n");
	for (type = lock_types; type->name != NULL; type = list_skip_variants(type + 1)) {
		for (i = 0; i < LIST_COLUMNS; i++) {
			list_cell(type, i, cell);
			printf(i == 0 ? "| `%s` " : "| %s ", cell);
		}
		printf("|\n");
	}
}

/* Prints the i-th column's cell, padded unless it is the last. */
static void print_padded(size_t i, const char *cell, int width)
{
	if (i + 1 == LIST_COLUMNS)
		printf("%s\n", cell);
	else
		printf("%-*s  ", width, cell);
}

static void print_table(void)
{
	const struct lock_type *type;
	char cell[CELL_BYTES];
	int widths[LIST_COLUMNS];
	size_t i;

	for (i = 0; i < LIST_COLUMNS; i++) {
		widths[i] = (int)strlen(columns[i].title);
		for (type = lock_types; type->name != NULL;
		     type = list_skip_variants(type + 1)) {
			list_cell(type, i, cell);
			if ((int)strlen(cell) > widths[i])
				widths[i] = (int)strlen(cell);
		}
	}
	for (i = 0; i < LIST_COLUMNS; i++)
		print_padded(i, columns[i].title, widths[i]);
	for (type = lock_types; type->name != NULL; type = list_skip_variants(type + 1))
		for (i = 0; i < LIST_COLUMNS; i++) {
			list_cell(type, i, cell);
			print_padded(i, cell, widths[i]);
		}
	printf("\n"
	       "admission    FIFO: in order of arrival; overtaken once: by each other "
	       "thread,\n"
	       "             at most; bounded: a constant limits how often; unbounded: "
	       "by\n"
	       "             anybody, any number of times\n"
	       "context-free nothing passes from lock to unlock, so the lock is all "
	       "there is\n"
	       "RMWs         atomic read-modify-writes of an uncontended lock + unlock\n"
	       "waiting      every lock that spins is there as LOCK+park too, which "
	       "sleeps\n"
	       "destruction  prompt: whoever holds the lock last may free it at once\n");
}

static json_t *json_of(const struct lock_type *type)
{
	static const char *const admissions[] = {[ADMISSION_FIFO] = "fifo",
						 [ADMISSION_ONCE] = "once",
						 [ADMISSION_BOUNDED] = "bounded",
						 [ADMISSION_ANY] = "any"};
	json_t *lock = json_pack(
		"{s:s, s:s, s:b, s:s, s:I, s:s, s:b, s:b, s:b, s:b, s:b, s:b, s:b, s:i, "
		"s:i, "
		"s:s}",
		"name", type->name, "base", type->base, "parks", type->parks, "header",
		type->header, "size", (json_int_t)type->size, "admission",
		admissions[type->admission], "fifo", type->admission == ADMISSION_FIFO,
		"context_free", type->context == CONTEXT_FREE, "constant_time_unlock",
		type->unlock_time == UNLOCK_CONSTANT, "prompt_destruction",
		type->destroy_when == DESTROY_PROMPT, "needs_destroy",
		type->destroy_when == DESTROY_DESTROY, "trylock", type->trylock != NULL,
		"any_thread_unlocks", type->release_by == RELEASE_ANYONE, "lock_rmws",
		type->lock_rmws, "unlock_rmws", type->unlock_rmws, "source",
		type->source);

	if (type->context == CONTEXT_HELD) { /* the explicit face */
		json_object_set_new(lock, "core_size",
				    json_integer((json_int_t)type->core_size));
		json_object_set_new(lock, "context_size",
				    json_integer((json_int_t)type->context_size));
	}
	return lock;
}

static json_t *json_of_all(void)
{
	const struct lock_type *type;
	json_t *locks = json_array();

	for (type = lock_types; type->name != NULL; type++)
		json_array_append_new(locks, json_of(type));
	return json_pack("{s:i, s:o}", "schema", 1, "locks", locks);
}

int list_main(int argc, char **argv)
{
	bool json = false, markdown = false;
	const struct option_spec options[] = {
		{"json", NULL, "print JSON", parse_flag, &json},
		{"markdown", NULL, "print a Markdown table", parse_flag, &markdown},
		{.name = NULL},
	};
	const struct usage usage = {
		.command = "list",
		.about = "Prints every lock with its properties.",
		.options = options,
	};

	parse_options(&usage, argc, argv);
	if (json && markdown)
		refuse("--json and --markdown exclude each other; choose one");
	if (json)
		print_json(json_of_all());
	else if (markdown)
		print_markdown();
	else
		print_table();
	return 0;
}
