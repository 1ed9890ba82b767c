/* SPDX-License-Identifier: MIT */
/* The checked program's heap, in place of the C library's. */
#ifndef PROGRAM_HEAP_H
#define PROGRAM_HEAP_H

#include "program.h"

void *played_malloc(size_t size);
void *played_calloc(size_t count, size_t size);
void *played_realloc(void *p, size_t size);
void *played_aligned_alloc(size_t alignment, size_t size);
int played_posix_memalign(void **p, size_t alignment, size_t size);
void played_free(void *p);
void played_free_sized(void *p, size_t size);
void played_free_aligned(void *p, size_t size, size_t alignment);
void *played_new_aligned(size_t size, size_t alignment);

#endif /* PROGRAM_HEAP_H */
