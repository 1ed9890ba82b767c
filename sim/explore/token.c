/* SPDX-License-Identifier: MIT */
/* An execution as a token: the thread and the choice of each event, in one or two
 * characters. */
#include "search.h"

#include <string.h>

static const char alphabet[] =
	"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";

static int pull(struct search *s)
{
	const char *at = strchr(alphabet, *s->guide);

	if (*s->guide == 0 || at == NULL)
		return -1;
	return (int)(at - alphabet);
}

int token_thread(struct search *s)
{
	int code = s->guide == NULL ? -1 : pull(s);

	return code < 0 ? -1 : code >> 3;
}

int token_choice(struct search *s)
{
	int code = pull(s), choice;

	if (code < 0)
		return 0;
	s->guide++;
	choice = code & 7;
	if (choice < 7)
		return choice;
	code = pull(s);
	if (code >= 0)
		s->guide++;
	return code < 0 ? 0 : code;
}

static void record_choice(struct search *s, int thread, int choice)
{
	if (s->record == NULL || s->recorded + 3 >= TOKEN_SIZE)
		return;
	s->record[s->recorded++] = alphabet[thread << 3 | (choice < 7 ? choice : 7)];
	if (choice >= 7)
		s->record[s->recorded++] = alphabet[choice & 63];
	s->record[s->recorded] = 0;
}

void token_record(struct search *s, int thread, struct event *e)
{
	if (s->record == NULL || e->operation == OP_PLAIN_STORE)
		return;
	switch (e->kind) {
	case EVENT_READ:
		record_choice(s, thread,
			      search_made_after(s, e->location,
						graph_rank(&s->graph, e->from)));
		break;
	case EVENT_WRITE:
		record_choice(s, thread, search_made_after(s, e->location, e->rank));
		break;
	default:
		record_choice(s, thread, (int)e->value);
		break;
	}
}
