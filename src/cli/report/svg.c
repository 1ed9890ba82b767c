/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* memmem */
#include "cli/report/svg.h"

#include "cli/common/options.h"
#include "cli/common/program.h"
#include "cli/report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What gnuplot printed, mapped; `script` is used up. */
static const char *run_gnuplot(const char *script, size_t length, size_t *size)
{
	char *argv[] = {(char[]){"gnuplot"}, (char[]){"-d"}, NULL}; /* -d: no init file */
	struct program program = {.argv = argv,
				  .environment = environ,
				  .in = memory_file(),
				  .out = memory_file(),
				  .err = memory_file()};
	struct program_outcome outcome;
	const char *svg, *why;
	size_t why_size;

	if (write(program.in, script, length) != (ssize_t)length ||
	    lseek(program.in, 0, SEEK_SET) != 0)
		give_up("cannot write gnuplot's input: %s", strerror(errno));
	if (!run_program(&program, &outcome))
		give_up("cannot run gnuplot: %s; plots need it (Debian: gnuplot-nox)",
			strerror(errno));
	if (outcome.end == ENDED_INTERRUPTED)
		exit(130);
	svg = map_file(program.out, size);
	why = map_file(program.err, &why_size);
	if (outcome.end != ENDED_BY_EXIT || outcome.code != 0 ||
	    (length > 0 && (svg == NULL || memmem(svg, *size, "</svg>", 6) == NULL)))
		give_up("gnuplot failed: %.*s", (int)(why == NULL ? 0 : why_size),
			why == NULL ? "" : why);
	unmap_file(why, why_size);
	close(program.in);
	close(program.out);
	close(program.err);
	return svg;
}

void require_gnuplot(void)
{
	size_t size;

	run_gnuplot("", 0, &size);
}

/* Its SVG, made part of a page. */

/* The variable that one of the colours above, or a line's, stands for. */
static void write_colour(FILE *out, int number)
{
	static const char *const special[] = {"ink", "faint", "grid"};

	if (number >= 100 && number < 103)
		fprintf(out, "var(--%s)", special[number - 100]);
	else
		fprintf(out, "var(--s%d)", number);
}

/* What gnuplot wrote at `text`, and what stands there instead: returns how much
 * of it that takes, 0 if it stays. */
static size_t replace(FILE *out, const char *text)
{
	int red, green, blue, length = 0;

	if (strncmp(text, "rgb(", 4) == 0 &&
	    sscanf(text, "rgb( %d , %d , %d )%n", &red, &green, &blue, &length) == 3 &&
	    length > 0 && red == 0 && green == 0) {
		write_colour(out, blue);
		return (size_t)length;
	}
	if (strncmp(text, "\"black\"", 7) == 0 || strncmp(text, "'black'", 7) == 0) {
		fprintf(out, "\"currentColor\"");
		return 7;
	}
	if (strncmp(text, "'white'", 7) == 0) { /* behind the marks on bars */
		fprintf(out, "'transparent'");
		return 7;
	}
	if (strncmp(text, " id=\"gnuplot_plot_", 18) == 0)
		return strcspn(text + 18, ">") + 18;
	return 0;
}

/* Writes the drawing: what follows the definitions. */
static void write_svg(FILE *out, const char *label, int width, int height,
		      const char *text)
{
	const char *c = strstr(text, "</defs>");

	if (c == NULL)
		give_up("gnuplot wrote SVG that this version of pawl does not know");
	fprintf(out,
		"<svg class=\"plot\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"",
		width, height);
	write_text(out, label);
	fprintf(out, "\">\n<g>");
	for (c += strlen("</defs>"); *c != '\0';) {
		size_t taken = replace(out, c);

		if (taken == 0)
			fputc(*c++, out);
		c += taken;
	}
}

void draw(FILE *out, const char *label, int width, int height, char *script,
	  size_t length)
{
	size_t size;
	const char *svg = run_gnuplot(script, length, &size);
	char *text = strndup(svg, size);

	if (text == NULL)
		give_up("out of memory");
	write_svg(out, label, width, height, text);
	unmap_file(svg, size);
	free(text);
	free(script);
}

void write_marks(FILE *out)
{
	static const char script[] = "set terminal svg\nplot 0\n";
	size_t size;
	const char *svg = run_gnuplot(script, strlen(script), &size);
	const char *start = memmem(svg, size, "<defs>", 6);
	const char *end = memmem(svg, size, "<filter", 7);

	if (start == NULL || end == NULL)
		give_up("gnuplot wrote SVG that this version of pawl does not know");
	fprintf(out,
		"<svg width=\"0\" height=\"0\" class=\"marks\" aria-hidden=\"true\">");
	fwrite(start, 1, (size_t)(end - start), out);
	fprintf(out, "</defs></svg>\n");
	unmap_file(svg, size);
}
