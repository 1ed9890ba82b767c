/* SPDX-License-Identifier: MIT */
/* Programs with other locks under their mutexes, through libpawl-pthread.so. */
#ifndef PAWL_CLI_INTERPOSE_H
#define PAWL_CLI_INTERPOSE_H

#include <stdbool.h>
#include <stddef.h>

/* Puts the path of something that comes with the command into `path`: it stands
 * beside the command, as in a build tree, or in the folder of libraries. Returns
 * false if it is in neither. */
bool find_companion(const char *name, char *path, size_t size);

/* Refuses a lock that cannot be put under a program's mutexes. */
void require_offered(const char *lock);

/*
 * Returns the environment of this process with the interposer in it, for a
 * program that is to use `lock`; gives up if the library cannot be found. The
 * caller owns it.
 */
char **interposed_environment(const char *lock);
void free_environment(char **environment);

#endif /* PAWL_CLI_INTERPOSE_H */
