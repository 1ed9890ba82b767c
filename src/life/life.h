/* SPDX-License-Identifier: MIT */
/* Fork, thread exit and unload: life.c has the table. */
#ifndef PAWL_LIFE_LIFE_H
#define PAWL_LIFE_LIFE_H

#include <stdbool.h>

/* Registers for forks, once: when the library is loaded; or sooner, by whoever knows
 * that somebody else is about to. */
void pawl_life_watch_forks(void);

/* Takes a pthread key to learn of threads' ends, once: when the library is loaded, at the
 * first need, or sooner, by a caller that knows that the program is about to take keys. */
void pawl_life_make_key(void);
/* Gives the key back for good, and returns whether there was one. No thread's end is
 * noticed any more. */
bool pawl_life_give_up_key(void);

/* The interposer's part in the child of a fork, where there is an interposer. */
void pawl_preload_forked(void);

#endif /* PAWL_LIFE_LIFE_H */
