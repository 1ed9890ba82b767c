/* SPDX-License-Identifier: MIT */
/* pawl report: what bench, sim and try measured, as a page or as a comparison. */
#define _GNU_SOURCE /* open_memstream */
#include "cli/report/report.h"

#include "cli/commands.h"
#include "cli/common/options.h"
#include "cli/common/output.h"

#include <stdlib.h>
#include <string.h>

/* The page is made in memory: if that fails, there is no half of one. */
static void make_page(const struct report *report, const char *path)
{
	char *page, *full;
	size_t size, panels = report->panel_count, i;
	FILE *out = open_memstream(&page, &size);

	if (out == NULL)
		give_up("out of memory");
	write_page(out, report);
	if (fclose(out) != 0)
		give_up("out of memory");
	write_result_text(page, size);
	free(page);
	for (i = 0; i < report->file_count; i++)
		panels += strcmp(report->files[i].tool, "profile") == 0;
	full = strcmp(path, "-") == 0 ? strdup("standard output") : realpath(path, NULL);
	printf("%zu panel%s from %zu file%s, in %s\n", panels, panels == 1 ? "" : "s",
	       report->file_count, report->file_count == 1 ? "" : "s",
	       full != NULL ? full : path);
	free(full);
}

/* -o is what everybody types. */
static void spell_out(int argc, char **argv)
{
	static char output[] = "--output", end[] = "--";
	int i;

	for (i = 1; i < argc && strcmp(argv[i], end) != 0; i++)
		if (strcmp(argv[i], "-o") == 0)
			argv[i] = output;
}

int compare_files(char *old_path, const char *old_name, char *new_path,
		  const char *new_name)
{
	struct report old = read_report(&old_path, 1), new = read_report(&new_path, 1);
	int status;

	old.files[0].path = old_name;
	new.files[0].path = new_name;
	status = report_diff(&old, &new);
	free_report(&old);
	free_report(&new);
	return status;
}

int report_main(int argc, char **argv)
{
	const char *output = NULL;
	bool diff = false;
	const struct option_spec options[] = {
		{"output", "FILE", "the page to write; -o for short (report.html)",
		 parse_text, &output},
		{"diff", NULL, "compare two files instead: what changed beyond noise",
		 parse_flag, &diff},
		{.name = NULL},
	};
	const struct usage usage = {
		.command = "report",
		.operands = "FILE.json...",
		.about =
			"Makes one page of plots from files that 'pawl bench --json', "
			"'pawl sim --json'\n"
			"and 'pawl try --json' wrote, and 'pawl profile --json'. The "
			"page needs\nnothing else.\n"
			"With --diff, compares an older file with a newer one, and exits "
			"with 1 if\n"
			"something became worse beyond noise.",
		.options = options,
	};
	struct report report;
	int count;

	spell_out(argc, argv);
	count = parse_options(&usage, argc, argv);
	if (count == 0)
		refuse("no file given: pawl report FILE.json... -o report.html");
	if (diff && count != 2)
		refuse("--diff compares two files, not %d: pawl report --diff OLD.json "
		       "NEW.json",
		       count);
	if (diff && output != NULL)
		refuse("--diff writes no page; leave out --output");
	if (diff)
		return compare_files(argv[1], argv[1], argv[2], argv[2]);
	if (output == NULL)
		output = "report.html";
	report = read_report(argv + 1, (size_t)count);
	open_result_file("output", output);
	make_page(&report, output);
	free_report(&report);
	return 0;
}
