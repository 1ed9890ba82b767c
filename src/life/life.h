/* SPDX-License-Identifier: MIT */
/* Handlers for fork, thread exit and unload; the table is in life.c. */
#ifndef PAWL_LIFE_LIFE_H
#define PAWL_LIFE_LIFE_H

#include <stdbool.h>

/* Registers the fork handlers, once: at load, or earlier, by a caller that knows that
 * another library is about to register its own. */
void pawl_life_watch_forks(void);

/* Creates the pthread key whose destructor runs at thread exit, once: at load, at the
 * first use, or earlier, by a caller that knows that the program is about to create
 * keys. */
void pawl_life_make_key(void);
/* Deletes the key for good and returns whether there was one. Thread exits then go
 * unnoticed. */
bool pawl_life_give_up_key(void);

/* The interposer's fork handler for the child, if the interposer is linked. */
void pawl_preload_forked(void);

#endif /* PAWL_LIFE_LIFE_H */
