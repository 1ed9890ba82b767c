/* SPDX-License-Identifier: MIT */
/* malloc and free of the checked program. */
#include "heap.h"

#include "plain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_ours(const void *p)
{
	return sim_chose((uintptr_t)p);
}

void *program_allocate(size_t size, size_t alignment, const void *site)
{
	struct search *s = current_search;
	void *p;

	search_settle(s);
	loops_wrote();
	p = memory_allocate(s->memory, me(s), size, alignment);
	if (p == NULL)
		program_fail(VERDICT_LIMIT, site, "the program needs too much memory; %s",
			     search_smaller(s));
	memory_set_site(s->memory, p, site);
	return p;
}

static void release(void *p, const void *site)
{
	struct search *s = current_search;

	if (p == NULL)
		return;
	if (!is_ours(p)) {
		free(p); /* allocated by the C library */
		return;
	}
	search_settle(s);
	loops_wrote();
	s->site = site;
	s->address = p;
	if (memory_block_freed(s->memory, p))
		explore_fail(VERDICT_FREED, "%s is freed twice", access_place(s, p));
	if (memory_site(s->memory, p) == NULL)
		explore_fail(VERDICT_ASSERTION, "%s is freed, and was not allocated",
			     access_place(s, p));
	search_note_plain(s, "free", p, 0, site);
	if (memory_free(s->memory, p, me(s), search_here(s)->hb) != NULL)
		explore_fail(VERDICT_FREED,
			     "%s is freed while another thread may still access it",
			     access_place(s, p));
}

void *played_malloc(size_t size)
{
	return program_allocate(size, 16, SITE);
}

void *played_calloc(size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	return program_allocate(bytes, 16, SITE);
}

void *played_realloc(void *p, size_t size)
{
	size_t before = p == NULL ? 0 : memory_block_size(current_search->memory, p);
	void *q = program_allocate(size, 16, SITE);

	if (p == NULL)
		return q;
	before = before < size ? before : size;
	plain_access(p, before, false, SITE);
	plain_access(q, before, true, SITE);
	memcpy(q, p, before);
	search_settle(current_search);
	release(p, SITE);
	return q;
}

void *played_aligned_alloc(size_t alignment, size_t size)
{
	return program_allocate(size, alignment, SITE);
}

int played_posix_memalign(void **p, size_t alignment, size_t size)
{
	if ((alignment & (alignment - 1)) != 0 || alignment < sizeof(void *))
		return EINVAL;
	*p = program_allocate(size, alignment, SITE);
	return 0;
}

void played_free(void *p)
{
	release(p, SITE);
}

void played_free_sized(void *p, size_t size)
{
	(void)size;
	release(p, SITE);
}

void played_free_aligned(void *p, size_t size, size_t alignment)
{
	(void)size, (void)alignment;
	release(p, SITE);
}

void *played_new_aligned(size_t size, size_t alignment)
{
	return program_allocate(size, alignment, SITE);
}
