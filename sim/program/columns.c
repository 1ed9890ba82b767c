/* SPDX-License-Identifier: MIT */
/* Prints a failing execution in columns, one for each thread. */
#include "picture.h"

#include <string.h>

enum { INDENT = 2, GAP = 3 };

struct column {
	int place, width; /* width of its source lines, and of the whole column */
};

static int most(int a, int b)
{
	return a > b ? a : b;
}

static void measure(const struct picture *picture, struct column *columns)
{
	int i, t;

	for (i = 0; i < picture->count; i++) {
		struct column *column = &columns[picture->rows[i].thread];

		column->place = most(column->place, (int)strlen(picture->rows[i].place));
	}
	for (t = 0; t < MAX_THREADS; t++)
		columns[t].width = (int)strlen("thread 0");
	for (i = 0; i < picture->count; i++) {
		const struct row *row = &picture->rows[i];
		struct column *column = &columns[row->thread];
		int text = most((int)strlen(row->text),
				INDENT + (int)strlen(row->source));

		column->width = most(column->width, column->place + 2 + text);
	}
}

/* Pads to a thread's column. */
static void go_to(FILE *out, const struct picture *picture, const struct column *columns,
		  int thread)
{
	int t, at = INDENT;

	for (t = 0; t < thread; t++)
		if (picture->moves[t])
			at += columns[t].width + GAP;
	fprintf(out, "%*s", at, "");
}

static void print_heads(FILE *out, const struct picture *picture,
			const struct column *columns)
{
	char line[MAX_THREADS * 300] = "";
	int t, n = 0;

	for (t = 0; t < MAX_THREADS; t++)
		if (picture->moves[t])
			n += snprintf(line + n, sizeof(line) - (size_t)n, "thread %d%*s",
				      t, columns[t].width + GAP - 8, "");
	while (n > 0 && line[n - 1] == ' ')
		n--;
	fprintf(out, "%*s%.*s\n", INDENT, "", n, line);
}

void picture_print(FILE *out, const struct picture *picture)
{
	struct column columns[MAX_THREADS] = {{0}};
	int i;

	measure(picture, columns);
	print_heads(out, picture, columns);
	for (i = 0; i < picture->count; i++) {
		const struct row *row = &picture->rows[i];
		int place = columns[row->thread].place;

		go_to(out, picture, columns, row->thread);
		fprintf(out, "%-*s  %s\n", place, row->place, row->text);
		if (row->source[0] == 0)
			continue;
		go_to(out, picture, columns, row->thread);
		fprintf(out, "%*s%s\n", place + 2 + INDENT, "", row->source);
	}
}
