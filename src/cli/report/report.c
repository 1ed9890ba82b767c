/* SPDX-License-Identifier: MIT */
/* pawl report: results of bench, sim and try, as a page or as a comparison. */
#define _GNU_SOURCE /* open_memstream */
#include "cli/report/report.h"

#include "cli/commands.h"
#include "cli/common/options.h"
#include "cli/common/output.h"

#include <stdlib.h>
#include <string.h>

/* The page is built in memory: a failure leaves no partial file. */
static struct {
	FILE *file;
	char *text;
	size_t size;
} page;

static FILE *begin(const char *path)
{
	open_result_file("output", path);
	page.file = open_memstream(&page.text, &page.size);
	if (page.file == NULL)
		give_up("out of memory");
	return page.file;
}

static void finish(const struct report *report, const char *path)
{
	size_t panels = report->panel_count, i;
	char *full;

	if (fclose(page.file) != 0)
		give_up("out of memory");
	write_result_text(page.text, page.size);
	free(page.text);
	for (i = 0; i < report->file_count; i++)
		panels += has_own_section(&report->files[i]);
	full = strcmp(path, "-") == 0 ? strdup("standard output") : realpath(path, NULL);
	printf("%zu panel%s from %zu file%s, in %s\n", panels, panels == 1 ? "" : "s",
	       report->file_count, report->file_count == 1 ? "" : "s",
	       full != NULL ? full : path);
	free(full);
}

/* Accepts -o for --output. */
static void spell_out(int argc, char **argv)
{
	static char output[] = "--output", end[] = "--";
	int i;

	for (i = 1; i < argc && strcmp(argv[i], end) != 0; i++)
		if (strcmp(argv[i], "-o") == 0)
			argv[i] = output;
}

int compare_files(char *old_path, const char *old_name, char *new_path,
		  const char *new_name, const char *output)
{
	struct report old = read_report(&old_path, 1), new = read_report(&new_path, 1);
	FILE *page = output != NULL ? begin(output) : NULL;
	int status;

	old.files[0].path = old_name;
	new.files[0].path = new_name;
	status = report_diff(&old, &new, page);
	if (page != NULL)
		finish(&new, output);
	free_report(&old);
	free_report(&new);
	return status;
}

int report_main(int argc, char **argv)
{
	const char *output = NULL;
	bool diff = false;
	const struct option_spec options[] = {
		{"output", "FILE",
		 "the page to write; -o for short (report.html; with --diff none)",
		 parse_text, &output},
		{"diff", NULL, "compare two files instead: changes beyond noise",
		 parse_flag, &diff},
		{.name = NULL},
	};
	const struct usage usage = {
		.command = "report",
		.operands = "FILE.json...",
		.about = "Makes one page from files of 'pawl bench --json', 'pawl sim "
			 "--json' (also with\n"
			 "--preset papers), 'pawl try --json' and 'pawl profile --json': "
			 "first a matrix of all\n"
			 "locks and three sentences, then plots and numbers. The page "
			 "needs no network.\n"
			 "With --diff, compares an older file with a newer one, figure "
			 "by figure, and exits\n"
			 "with 1 if one became worse beyond noise; with -o, also as a "
			 "page.",
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
	if (diff)
		return compare_files(argv[1], argv[1], argv[2], argv[2], output);
	if (output == NULL)
		output = "report.html";
	report = read_report(argv + 1, (size_t)count);
	write_page(begin(output), &report);
	finish(&report, output);
	free_report(&report);
	return 0;
}
