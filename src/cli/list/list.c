/* SPDX-License-Identifier: MIT */
/* pawl list: the registry as a table, for people, programs and documents. */
#include "cli/list/list.h"

#include "cli/commands.h"
#include "cli/common/options.h"
#include "cli/common/output.h"
#include "preload/offer.h"
#include "subject.h"
#ifdef PAWL_SIM
#include <sim/check/scenario.h>
#endif

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Names that are no lock of the registry. */

static const char *nth_peer(size_t n)
{
	const struct bench_subject *const *s;

	for (s = bench_subjects; *s != NULL; s++)
		if (lock_type_find((*s)->name) == NULL && n-- == 0)
			return (*s)->name;
	return NULL;
}

/* What only pawl check knows. */
static const char *nth_object(size_t n)
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
		refuse("'%s' is a lock of another library, which only 'pawl bench' "
		       "takes; "
		       "'pawl list' says which command takes what",
		       name);
	if (is_among(name, nth_object))
		refuse("'%s' is no lock, and only 'pawl check' takes it; 'pawl list' "
		       "says "
		       "which command takes what",
		       name);
	refuse_name("lock", name, nth, "'pawl list' names them all");
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

/* Who takes them, what they are, and their names. */
static void print_names(const char *who, const char *what, const char *(*nth)(size_t n))
{
	size_t i;

	if (nth(0) == NULL)
		return;
	printf("%-12s %s:\n%-12s ", who, what, "");
	for (i = 0; nth(i) != NULL; i++)
		printf("%s%s", i == 0 ? "" : ", ", nth(i));
	printf("\n");
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
	       "destruction  prompt: whoever holds the lock last may free it at once\n"
	       "\n"
	       "Which command takes which:\n"
	       "bench, check every lock, and its +park form\n"
	       "sim          those that spin\n"
	       "run, try     those that 'pawl run --list' offers; it says why not the "
	       "others\n");
	print_names("bench alone",
		    "locks of other libraries, if these were there when "
		    "pawl was built",
		    nth_peer);
	print_names("check alone", "what is no lock", nth_object);
}

/* The commands that take it. */
static json_t *commands_of(const struct lock_type *type)
{
	json_t *commands = json_pack("[s]", "bench");

	if (offer_refusal(type) == NULL) {
		json_array_append_new(commands, json_string("run"));
		json_array_append_new(commands, json_string("try"));
	}
#ifdef PAWL_SIM
	json_array_append_new(commands, json_string("check"));
	if (!type->parks)
		json_array_append_new(commands, json_string("sim"));
#endif
	return commands;
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

	json_object_set_new(lock, "commands", commands_of(type));
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
	json_t *locks = json_array(), *peers = json_array();
	size_t i;

	for (type = lock_types; type->name != NULL; type++)
		json_array_append_new(locks, json_of(type));
	for (i = 0; nth_peer(i) != NULL; i++)
		json_array_append_new(peers, json_string(nth_peer(i)));
	return json_pack("{s:i, s:o, s:o}", "schema", 1, "locks", locks, "peers", peers);
}

int list_main(int argc, char **argv)
{
	const char *json = NULL;
	bool markdown = false;
	const struct option_spec options[] = {
		{"json", "[FILE]", "print JSON, or write it to FILE", parse_output,
		 &json},
		{"markdown", NULL, "print a Markdown table", parse_flag, &markdown},
		{.name = NULL},
	};
	const struct usage usage = {
		.command = "list",
		.about = "Prints every lock with its properties, and which command takes "
			 "which.",
		.options = options,
	};

	parse_options(&usage, argc, argv);
	if (json != NULL && markdown)
		refuse("--json and --markdown exclude each other; choose one");
	if (json != NULL) {
		open_result_file("json", json);
		write_result_file(json_of_all());
	} else if (markdown) {
		print_markdown();
	} else {
		print_table();
	}
	return 0;
}
