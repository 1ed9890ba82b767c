/* SPDX-License-Identifier: MIT */
/* For programs that know nothing of pawl: what is not so ends them with a line. */
#ifndef PAWL_TESTS_CHECK_H
#define PAWL_TESTS_CHECK_H

#include <stdio.h>
#include <unistd.h>

#define CHECK(condition)                                                                \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			_exit(1);                                                       \
		}                                                                       \
	} while (0)

#endif /* PAWL_TESTS_CHECK_H */
