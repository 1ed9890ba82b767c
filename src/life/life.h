/* SPDX-License-Identifier: MIT */
/* Fork, thread exit and unload: life.c has the table. */
#ifndef PAWL_LIFE_LIFE_H
#define PAWL_LIFE_LIFE_H

/* Registers for forks, once: when the library is loaded; or sooner, by whoever knows
 * that somebody else is about to. */
void pawl_life_watch_forks(void);

/* The interposer's part in the child of a fork, where there is an interposer. */
void pawl_preload_forked(void);

#endif /* PAWL_LIFE_LIFE_H */
