/* SPDX-License-Identifier: MIT */
/*
 * Folded stacks, for flame graphs: one line per stack, outermost function first, and the
 * nanoseconds waited. The last frame names the lock.
 */
#include "cli/profile/profile.h"

#include <ctype.h>
#include <string.h>

/* Semicolons separate frames, and the number follows the last space. */
static void put(FILE *to, const char *text)
{
	for (; *text != '\0'; text++)
		fputc(*text == ';'		      ? ':'
		      : iscntrl((unsigned char)*text) ? ' '
						      : *text,
		      to);
}

static void put_rows(FILE *to, const struct rows *rows)
{
	size_t i, n, frame;

	for (i = 0; i < rows->count; i++)
		for (n = 0; n < rows->rows[i].pair_count; n++) {
			const struct pair *pair = &rows->rows[i].pairs[n];

			for (frame = pair->waiter.count; frame-- > 0;) {
				put(to, pair->waiter.frames[frame]->function);
				fputc(';', to);
			}
			put(to, rows->rows[i].name);
			fprintf(to, " %.0f\n", pair->wait_ns);
		}
}

void write_folded(FILE *to, const struct profile *profile)
{
	put_rows(to, &profile->locks);
}
