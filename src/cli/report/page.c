/* SPDX-License-Identifier: MIT */
/* The page around the panels: one self-contained file. */
#include "cli/common/embedded.h"
#include "cli/common/locks.h"
#include "cli/report/report.h"
#include "cli/report/svg.h"

#include <stdlib.h>
#include <string.h>

void write_text(FILE *out, const char *text)
{
	const char *c;

	for (c = text; *c != '\0'; c++)
		switch (*c) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		case '\'':
			fputs("&#39;", out);
			break;
		default:
			fputc(*c, out);
		}
}

void write_words(FILE *out, const char *text)
{
	char letter[2] = "";

	for (; *text != '\0'; text++) {
		letter[0] = *text == '_' ? ' ' : *text;
		write_text(out, letter);
	}
}

size_t whole_letters(const char *text, size_t most)
{
	size_t length = strnlen(text, most + 1);

	if (length <= most)
		return length;
	length = most;
	while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
		length--;
	return length;
}

static json_t *context_of(const struct report_file *file)
{
	return json_object_get(file->root, "context");
}

/* Machine and date in one line, from the first file that has them. */
static void write_summary(FILE *out, const struct report *report)
{
	size_t i;

	for (i = 0; i < report->file_count; i++) {
		const json_t *context = context_of(&report->files[i]);
		const char *cpu = json_string_value(json_object_get(context, "cpu"));
		const char *date = json_string_value(json_object_get(context, "date"));

		if (cpu == NULL || date == NULL)
			continue;
		fprintf(out, "<p class=\"dim\">");
		write_text(out, cpu);
		fprintf(out, ", %lld CPUs, ",
			(long long)json_integer_value(json_object_get(context, "cpus")));
		write_text(out, date);
		fprintf(out, "</p>\n");
		return;
	}
}

/* A command line, quoted for a shell. */
static void write_command(FILE *out, const json_t *command)
{
	const json_t *word;
	size_t i;

	fprintf(out, "<pre>");
	json_array_foreach(command, i, word)
	{
		const char *text = json_string_value(word), *c;
		bool is_plain;

		if (text == NULL)
			continue;
		is_plain =
			*text != '\0' &&
			text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQR"
					  "STUVWXYZ0123456789-_=+,./:@%")] == '\0';
		fprintf(out, "%s%s", i > 0 ? " " : "", is_plain ? "" : "'");
		for (c = text; *c != '\0'; c++)
			if (*c == '\'')
				write_text(out, "'\\''");
			else
				write_text(out, (char[]){*c, '\0'});
		fprintf(out, "%s", is_plain ? "" : "'");
	}
	fprintf(out, "</pre>\n");
}

/* Readable names for settings. */
static const char *setting_words(const char *key)
{
	static const struct {
		const char *key, *words;
	} known[] = {
		{"pawl", "pawl, version"},
		{"version", "pawl, version"},
		{"cpu", "CPU"},
		{"cpus", "CPUs"},
		{"load", "load average"},
		{"load_before", "load average before"},
		{"load_after", "load average after"},
		{"steal_percent", "taken by other virtual machines, %"},
		{"governor", "CPU frequency governor"},
		{"beside", "busy processes beside"},
		{"quota_percent", "limit of CPU time, % of a CPU"},
		{"seed", "seed of random choices"},
		{"homes", "homes of pages"},
		{"thread_homes", "homes of wait elements"},
		{"placement", "placement of threads"},
		{"pairs", "cache lines move in pairs"},
		{"private_data", "sections touch private data"},
		{"explicit_face", "explicit context"},
	};
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].key, key) == 0)
			return known[i].words;
	return key;
}

static void write_setting(FILE *out, const char *key, const json_t *value)
{
	char *text = json_is_string(value)
			     ? strdup(json_string_value(value))
			     : json_dumps(value,
					  JSON_ENCODE_ANY | JSON_REAL_PRECISION(4));

	fprintf(out, "<dt>");
	write_words(out, setting_words(key));
	fprintf(out, "</dt><dd>");
	write_text(out, text != NULL ? text : "");
	fprintf(out, "</dd>\n");
	free(text);
}

/* All settings in the context, except the command. */
static void write_settings(FILE *out, json_t *settings)
{
	const char *key;
	json_t *value;

	json_object_foreach(settings, key, value)
	{
		if (json_is_object(value))
			write_settings(out, value);
		else if (!json_is_array(value) && !json_is_null(value))
			write_setting(out, key, value);
	}
}

static void write_context(FILE *out, const struct report_file *file)
{
	json_t *context = context_of(file);
	const json_t *command = json_object_get(context, "command");

	fprintf(out, "<h3>");
	write_text(out, file->path);
	fprintf(out, "</h3>\n");
	if (json_is_array(command))
		write_command(out, command);
	fprintf(out, "<dl>\n");
	write_settings(out, context);
	fprintf(out, "</dl>\n");
}

static void write_locks(FILE *out)
{
	const struct lock_type *type;
	char cell[CELL_BYTES];
	size_t i;

	fprintf(out, "<section id=\"locks\"><h2>The locks</h2>\n<div class=\"wide\" "
		     "tabindex=\"0\"><table "
		     "class=\"locks\"><thead><tr>");
	for (i = 0; i < LIST_COLUMNS; i++)
		fprintf(out, "<th>%s</th>", list_title(i));
	fprintf(out, "</tr></thead>\n<tbody>\n");
	for (type = lock_types; type->name != NULL; type = list_skip_variants(type + 1)) {
		fprintf(out, "<tr>");
		for (i = 0; i < LIST_COLUMNS; i++) {
			list_cell(type, i, cell);
			fprintf(out, i == 0 ? "<th scope=\"row\">" : "<td>");
			write_text(out, cell);
			fprintf(out, i == 0 ? "</th>" : "</td>");
		}
		fprintf(out, "</tr>\n");
	}
	fprintf(out, "</tbody></table></div></section>\n");
}

static void write_style(FILE *out)
{
	fprintf(out,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
		"<meta charset=\"utf-8\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, "
		"initial-scale=1\">\n"
		"<meta name=\"color-scheme\" content=\"light dark\">\n"
		"<link rel=\"icon\" href=\"data:,\">\n"
		"<title>pawl report</title>\n<style>\n%s</style>\n</head>\n<body>\n",
		embedded_text("page.css"));
}

/* Tools whose files have their own section. */
static const struct own_section {
	const char *tool, *title;
	void (*write)(FILE *out, const struct report_file *file, size_t number);
	void (*write_sentences)(FILE *out, const struct report_file *file);
} own_sections[] = {
	{"profile", "Waiting, from pawl profile", write_profile, write_profile_sentences},
	{"sim-papers", "Published and simulated results", write_papers,
	 write_papers_sentence},
};

static const struct own_section *own_section_of(const struct report_file *file)
{
	size_t i;

	for (i = 0; i < sizeof(own_sections) / sizeof(own_sections[0]); i++)
		if (strcmp(file->tool, own_sections[i].tool) == 0)
			return &own_sections[i];
	return NULL;
}

bool has_own_section(const struct report_file *file)
{
	return own_section_of(file) != NULL;
}

static void write_link(FILE *out, const char *kind, size_t number, const char *text)
{
	fprintf(out, "<li><a href=\"#%s%zu\">", kind, number);
	write_text(out, text);
	fprintf(out, "</a></li>\n");
}

/* Table of contents; file names only if there are several. */
static void write_contents(FILE *out, const struct report *report)
{
	size_t i;

	fprintf(out, "<nav aria-label=\"Contents\"><h2>Contents</h2>\n<ul>\n");
	for (i = 0; i < report->file_count; i++)
		if (has_own_section(&report->files[i]))
			write_link(out, "f", i, own_section_of(&report->files[i])->title);
	for (i = 0; i < report->panel_count; i++)
		write_link(out, "p", i, report->panels[i].title);
	if (report->panel_count > 0)
		fprintf(out, "<li><a href=\"#locks\">The locks</a></li>\n");
	fprintf(out, "<li><a href=\"#measured\">How it was measured</a></li>\n"
		     "</ul></nav>\n");
}

/* How to read the plots. */
static void write_guide(FILE *out)
{
	fprintf(out,
		"<p class=\"guide dim\">Marks are medians; bars are intervals that "
		"contain the true median. Each lock has one colour on the whole page. "
		"Solid lines and filled marks are pawl's, dashed lines and hollow marks "
		"those of others; the dotted line is the reference. Two whose bars "
		"overlap are not ranked.<span class=\"script\"> Point at a mark, or go "
		"to a plot with Tab and through it with the arrow keys, to read it; "
		"click on a name to follow that lock.</span></p>\n");
}

void begin_page(FILE *out, const struct report *report, const struct report *old)
{
	size_t i;

	write_style(out);
	svg_define_marks(out);
	fprintf(out,
		"<header><h1>%s</h1><button type=\"button\" id=\"theme\" hidden>"
		"Dark</button></header>\n",
		old != NULL ? "pawl report: changes" : "pawl report");
	write_summary(out, report);
	for (i = 0; i < report->file_count; i++)
		if (has_own_section(&report->files[i]))
			own_section_of(&report->files[i])
				->write_sentences(out, &report->files[i]);
	write_answer(out, report, old);
}

void end_page(FILE *out, const struct report *report, const struct report *old)
{
	size_t i;

	write_contents(out, report);
	for (i = 0; i < report->file_count; i++)
		if (has_own_section(&report->files[i]))
			own_section_of(&report->files[i])
				->write(out, &report->files[i], i);
	write_other_matrices(out, report, old);
	if (report->panel_count > 0)
		write_guide(out);
	for (i = 0; i < report->panel_count; i++)
		write_panel(out, report, &report->panels[i]);
	if (report->panel_count > 0)
		write_locks(out);
	fprintf(out, "<section id=\"measured\"><h2>How it was measured</h2>\n");
	for (i = 0; old != NULL && i < old->file_count; i++)
		write_context(out, &old->files[i]);
	for (i = 0; i < report->file_count; i++)
		write_context(out, &report->files[i]);
	fprintf(out,
		"</section>\n"
		"<div id=\"picked\" hidden><span></span> "
		"<button type=\"button\" id=\"only\" aria-pressed=\"false\">Hide the "
		"others</button> <button type=\"button\" id=\"clear\">Show all</button>"
		"</div>\n<div id=\"tip\" role=\"status\"></div>\n"
		"<script>\n%s</script>\n</body>\n</html>\n",
		embedded_text("page.js"));
}

void write_page(FILE *out, const struct report *report)
{
	begin_page(out, report, NULL);
	end_page(out, report, NULL);
}
