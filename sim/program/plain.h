/* SPDX-License-Identifier: MIT */
/* Plain accesses made on behalf of the program. */
#ifndef PROGRAM_PLAIN_H
#define PROGRAM_PLAIN_H

#include "program.h"

/* The running thread reads or writes each of these bytes. */
void plain_access(const void *p, size_t size, bool write, const void *site);

/* In place of the C library's functions, for the program alone. */
void *__tsan_memset(void *to, int byte, size_t size);
void *__tsan_memcpy(void *to, const void *from, size_t size);
void *__tsan_memmove(void *to, const void *from, size_t size);
int played_memcmp(const void *a, const void *b, size_t size);
size_t played_strlen(const char *text);
int played_strcmp(const char *a, const char *b);
int played_strncmp(const char *a, const char *b, size_t size);
char *played_strcpy(char *to, const char *from);

#endif /* PROGRAM_PLAIN_H */
