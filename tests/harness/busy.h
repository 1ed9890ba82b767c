/* SPDX-License-Identifier: MIT */
/* Other processes that want the CPUs while a test runs. */
#ifndef TESTS_BUSY_H
#define TESTS_BUSY_H

#include <stdbool.h>

/* Starts two, on the CPUs that the caller may use; busy_end ends them. False if
 * there cannot be that many. They end with the thread that started them. */
bool busy_begin(void);
void busy_end(void);

#endif /* TESTS_BUSY_H */
