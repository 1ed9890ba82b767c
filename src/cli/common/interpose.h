/* SPDX-License-Identifier: MIT */
/* Runs programs with pawl's locks under their mutexes, through libpawl-pthread.so. */
#ifndef PAWL_CLI_INTERPOSE_H
#define PAWL_CLI_INTERPOSE_H

#include <stdbool.h>
#include <stddef.h>

/* Stores the path of a file that is installed with the command in `path`: beside the
 * command, as in a build tree, or in the library directory. Returns false if it is in
 * neither. */
bool find_companion(const char *name, char *path, size_t size);

/* Refuses a lock that the interposer does not offer. */
void require_offered(const char *lock);

/*
 * Returns the environment of this process with the interposer added, for a program that
 * uses `lock`; gives up if the library is not found. The caller owns it.
 */
char **interposed_environment(const char *lock);
void free_environment(char **environment);

#endif /* PAWL_CLI_INTERPOSE_H */
