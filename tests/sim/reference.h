/* SPDX-License-Identifier: MIT */
/* A second way to all executions of a small program: slow, and by the book. */
#ifndef TESTS_SIM_REFERENCE_H
#define TESTS_SIM_REFERENCE_H

#include "programs.h"

struct reference {
	uint64_t *hashes; /* of each execution, as graph_hash counts */
	size_t count, room;
	/* Whether some execution, or what could become one, shows it. */
	bool races, uses_after_free;
};

void reference_explore(const struct small_program *p, enum model model, int early,
		       struct reference *to);

#endif /* TESTS_SIM_REFERENCE_H */
