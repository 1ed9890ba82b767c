/* SPDX-License-Identifier: MIT */
/* The page around the panels: one file, which asks nobody for anything. */
#include "cli/common/locks.h"
#include "cli/report/report.h"
#include "cli/report/svg.h"

#include <stdlib.h>
#include <string.h>

static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	"<meta name=\"color-scheme\" content=\"light dark\">\n"
	"<link rel=\"icon\" href=\"data:,\">\n"
	"<title>pawl report</title>\n<style>\n"
	":root{--paper:#fff;--ink:#1c1e21;--dim:#5b6068;--faint:#c3c7cd;--grid:#e6e8eb;"
	"--s1:#0b5fc4;--s2:#a8320a;--s3:#00755a;--s4:#8a3ea6;--s5:#8f6400;--s6:#c2187e;"
	"--s7:#3f6d12;--s8:#4b55b8}\n"
	"@media(prefers-color-scheme:dark){:root{--paper:#15171a;--ink:#e4e6e9;"
	"--dim:#a0a6ae;--faint:#5a6069;--grid:#2b2f34;--s1:#6fb1ff;--s2:#ff9a6c;"
	"--s3:#4fd0ae;--s4:#d79bf0;--s5:#e5bd55;--s6:#ff85c2;--s7:#a5d36b;"
	"--s8:#a9b1ff}}\n"
	"@media print{:root{--paper:#fff;--ink:#000;--dim:#333;--faint:#aaa;--grid:#ddd;"
	"--s1:#0b5fc4;--s2:#a8320a;--s3:#00755a;--s4:#8a3ea6;--s5:#8f6400;--s6:#c2187e;"
	"--s7:#3f6d12;--s8:#4b55b8}}\n"
	"*{box-sizing:border-box}\n"
	"body{margin:0 auto;padding:1rem;max-width:1280px;background:var(--paper);"
	"color:var(--ink);font:15px/1.5 system-ui,-apple-system,\"Segoe UI\",Roboto,"
	"\"Liberation Sans\",Arial,sans-serif;overflow-wrap:anywhere}\n"
	"h1{font-size:1.5rem;margin:.5rem 0}\nh2{font-size:1.15rem;margin:2rem 0 .25rem;"
	"border-top:1px solid var(--faint);padding-top:.75rem}\n"
	"p{margin:.25rem 0 "
	".5rem;max-width:75ch}\nsmall,.dim,figcaption{color:var(--dim)}\n"
	".grid{columns:360px;column-gap:1.5rem}\n"
	"figure{margin:0 0 1rem;padding-top:.25rem;max-width:480px;break-inside:avoid}\n"
	"figcaption{font-size:.85rem}\nfigcaption b{color:var(--ink)}\n"
	".plot{display:block;width:100%;height:auto;color:var(--ink)}\n"
	".plot g{font-family:system-ui,-apple-system,\"Segoe UI\",Roboto,"
	"\"Liberation Sans\",Arial,sans-serif}\n.marks{position:absolute}\n"
	".wide{overflow-x:auto;max-width:100%}\n"
	"table{border-collapse:collapse;font-size:.8rem;overflow-wrap:normal;"
	"font-variant-numeric:tabular-nums}\n"
	"th,td{padding:.15rem .6rem .15rem 0;text-align:left;vertical-align:top;"
	"white-space:nowrap}\nthead th{border-bottom:1px solid var(--faint)}\n"
	"thead th,tbody th{font-weight:600}\n"
	"@media(min-width:700px){.locks td,.locks thead th{white-space:normal}}\n"
	"td small{white-space:nowrap}\nsummary{cursor:pointer;color:var(--dim);"
	"font-size:.85rem}\n.trouble{color:var(--s2)}\n"
	"pre{white-space:pre-wrap;background:var(--grid);padding:.5rem;margin:.25rem 0;"
	"font-size:.8rem}\ndl{display:grid;grid-template-columns:max-content 1fr;"
	"gap:0 1rem;margin:.25rem 0;font-size:.85rem}\ndt{color:var(--dim)}\n"
	"dd{margin:0}\n"
	".bars div{display:grid;grid-template-columns:minmax(8rem,22rem) 1fr;"
	"column-gap:.75rem;align-items:center;margin:.3rem 0;font-size:.85rem}\n"
	".bars i{display:block;height:1rem;background:var(--s1)}\n"
	".bars small{grid-column:2}\n"
	".flames{min-width:640px;font-size:.75rem}\n"
	".flames .calls{display:flex;align-items:flex-start}\n"
	".flames .calls>div{flex:none}\n"
	".flames span{display:block;overflow:hidden;white-space:nowrap;padding:0 .2rem;"
	"background:var(--grid);color:var(--ink);border-left:1px solid var(--paper);"
	"border-bottom:1px solid var(--paper)}\n"
	".columns{display:flex;align-items:flex-end;height:7rem;gap:1px;"
	"border-bottom:1px solid var(--faint)}\n"
	".columns i{flex:1;max-width:3rem;background:var(--s1)}\n"
	"@media print{body{font-size:10px;max-width:none}.wide{overflow:visible}"
	"th,td{white-space:normal}.panel{break-before:auto}}\n"
	"</style>\n</head>\n<body>\n";

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

/* Where and when, in one line: of the first file that says so. */
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

static void write_guide(FILE *out)
{
	fprintf(out,
		"<p>Marks are medians; bars hold the true median with 95&nbsp;%% "
		"confidence, "
		"from 6 runs on. Solid lines and filled marks are pawl's locks, dashed "
		"lines "
		"and hollow marks those of others; the dotted line is pthread (glibc). "
		"Names stand at the lines they belong to. Two whose bars overlap are not "
		"ranked.</p>\n");
}

/* Words as a shell would need them. */
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

static void write_setting(FILE *out, const char *key, const json_t *value)
{
	char *text = json_is_string(value)
			     ? strdup(json_string_value(value))
			     : json_dumps(value,
					  JSON_ENCODE_ANY | JSON_REAL_PRECISION(4));

	fprintf(out, "<dt>");
	write_text(out, key);
	fprintf(out, "</dt><dd>");
	write_text(out, text != NULL ? text : "");
	fprintf(out, "</dd>\n");
	free(text);
}

/* Whatever the tool thought worth telling, but for the command. */
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

	fprintf(out, "<section><h2>The locks</h2>\n<div class=\"wide\"><table "
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

void write_page(FILE *out, const struct report *report)
{
	size_t i;

	fputs(head, out);
	svg_define_marks(out);
	fprintf(out, "<h1>pawl report</h1>\n");
	write_summary(out, report);
	for (i = 0; i < report->file_count; i++)
		if (strcmp(report->files[i].tool, "profile") == 0)
			write_profile(out, &report->files[i]);
	if (report->panel_count > 0)
		write_guide(out);
	for (i = 0; i < report->panel_count; i++)
		write_panel(out, &report->panels[i]);
	if (report->panel_count > 0)
		write_locks(out);
	fprintf(out, "<section><h2>How it was measured</h2>\n");
	for (i = 0; i < report->file_count; i++)
		write_context(out, &report->files[i]);
	fprintf(out, "</section>\n</body>\n</html>\n");
}
