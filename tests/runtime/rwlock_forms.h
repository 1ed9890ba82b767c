/* SPDX-License-Identifier: MIT */
/* The forms that a pawl_rwlock takes, for its tests. */
#ifndef TESTS_RWLOCK_FORMS_H
#define TESTS_RWLOCK_FORMS_H

#include <pawl/rwlock.h>

/* What a reader does. */
enum form { GATED, FENCED, BIASED, FORMS };

bool membarrier_works(void);
uint64_t word_of(const struct pawl_rwlock *l);

/* The readers that its word counts. */
uint64_t counted(const struct pawl_rwlock *l);

/* Reads until the lock has the form; skips the case if it cannot have it. */
void shape(struct pawl_rwlock *l, enum form form);

/* Nobody has it, nobody waits, no record names it. */
void assert_free(struct pawl_rwlock *l);

#endif /* TESTS_RWLOCK_FORMS_H */
