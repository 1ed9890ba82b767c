/* SPDX-License-Identifier: MIT */
/* What life.c finds in the plug-in. */
#ifndef TESTS_LIFE_PLUGIN_H
#define TESTS_LIFE_PLUGIN_H

struct plugin {
	/* 0 if locks could be had; one of them after another thread had let go. */
	int (*use_locks)(void);
	/* 0 if a lease could be had, 1 if this thread is refused, else 2. */
	int (*use_lease)(void);
	/* Uses the heap. 0 if a mutex of a region and a lock with nodes could be had. */
	int (*use_more)(void);
};

#endif /* TESTS_LIFE_PLUGIN_H */
