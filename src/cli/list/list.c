/* SPDX-License-Identifier: MIT */
/* pawl list: the registry as a table, as text, JSON or Markdown. */
#include "cli/commands.h"
#include "cli/common/locks.h"
#include "cli/common/options.h"
#include "cli/common/output.h"
#include "preload/offer.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void print_markdown(void)
{
	const struct lock_type *type;
	char cell[CELL_BYTES];
	size_t i;

	for (i = 0; i < LIST_COLUMNS; i++)
		printf("| %s ", list_title(i));
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

/* Prints the i-th cell of a row, padded unless it is the last. */
static void print_padded(size_t i, const char *cell, int width)
{
	if (i + 1 == LIST_COLUMNS)
		printf("%s\n", cell);
	else
		printf("%-*s  ", width, cell);
}

/* Prints a command, the kind of its names, and the names. */
static void print_names(const char *command, const char *what,
			const char *(*nth)(size_t n))
{
	size_t i;

	if (nth(0) == NULL)
		return;
	printf("%-12s %s:\n%-12s ", command, what, "");
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
		widths[i] = (int)strlen(list_title(i));
		for (type = lock_types; type->name != NULL;
		     type = list_skip_variants(type + 1)) {
			list_cell(type, i, cell);
			if ((int)strlen(cell) > widths[i])
				widths[i] = (int)strlen(cell);
		}
	}
	for (i = 0; i < LIST_COLUMNS; i++)
		print_padded(i, list_title(i), widths[i]);
	for (type = lock_types; type->name != NULL; type = list_skip_variants(type + 1))
		for (i = 0; i < LIST_COLUMNS; i++) {
			list_cell(type, i, cell);
			print_padded(i, cell, widths[i]);
		}
	printf("\n"
	       "admission    FIFO: in order of arrival; overtaken once: at most, by each "
	       "other thread;\n"
	       "             bounded: a constant limits overtaking; unbounded: by any "
	       "thread, any\n"
	       "             number of times\n"
	       "context-free nothing passes from lock to unlock, so the lock is all "
	       "there is\n"
	       "RMWs         atomic read-modify-writes of an uncontended lock + unlock\n"
	       "waiting      every lock that spins also exists as LOCK+park, which "
	       "sleeps\n"
	       "destruction  prompt: the last holder may free the lock at once\n"
	       "\n"
	       "Locks that each command accepts:\n"
	       "bench, check every lock, and its +park form\n"
	       "sim          those that spin, and mutex\n"
	       "run, try     those that 'pawl run --list' lists; it says why others are "
	       "missing\n");
	print_names(
		"bench alone",
		"locks of other libraries, if these were installed when pawl was built",
		nth_peer);
	print_names("check alone", "objects that are not locks", nth_object);
}

/* The commands that accept it. */
static json_t *commands_of(const struct lock_type *type)
{
	json_t *commands = json_pack("[s]", "bench");

	if (offer_refusal(type) == NULL) {
		json_array_append_new(commands, json_string("run"));
		json_array_append_new(commands, json_string("try"));
	}
#ifdef PAWL_SIM
	json_array_append_new(commands, json_string("check"));
	if (strchr(type->name, '+') == NULL)
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
		.about = "Prints every lock with its properties, and the locks that each "
			 "command accepts.",
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
