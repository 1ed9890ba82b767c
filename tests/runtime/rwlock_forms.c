/* SPDX-License-Identifier: MIT */
#include "rwlock_forms.h"

#include "harness/harness.h"
#include "sleep/parking.h"

extern uint64_t pawl_light_fence_full_;

bool membarrier_works(void)
{
	return pawl_light_fence_full_ == 0;
}

uint64_t word_of(const struct pawl_rwlock *l)
{
	return pawl_load_acquire(&l->word);
}

uint64_t counted(const struct pawl_rwlock *l)
{
	return word_of(l) / PAWL_RWLOCK_READER;
}

void shape(struct pawl_rwlock *l, enum form form)
{
	static const uint64_t wanted[] = {0, PAWL_RWLOCK_FENCED, PAWL_RWLOCK_BIASED};
	int i;

	if (form == BIASED && !membarrier_works())
		skip_because("there is no membarrier here");
	*l = (struct pawl_rwlock)PAWL_RWLOCK_INIT;
	for (i = 0; i < 1000 && (word_of(l) & wanted[form]) != wanted[form]; i++) {
		pawl_rwlock_read_lock(l);
		pawl_rwlock_read_unlock(l);
	}
	assert_int_equal(word_of(l) & wanted[form], wanted[form]);
	if (form == FENCED)
		assert_int_equal(word_of(l) & PAWL_RWLOCK_BIASED, 0);
}

void assert_free(struct pawl_rwlock *l)
{
	uint64_t hints = PAWL_RWLOCK_BIASED | PAWL_RWLOCK_FENCED | PAWL_RWLOCK_WRITTEN;

	unsigned i;

	for (i = 0; pawl_self()->reads != NULL && i < 1 << PAWL_READS_BITS; i++)
		assert_true((pawl_load_acquire(&pawl_self()->reads->slots[i]) &
			     ~(uint64_t)PAWL_RWLOCK_MARKS) != pawl_address(l));
	assert_int_equal(word_of(l) & ~hints, 0);
	assert_int_equal(pawl_load_acquire(&l->gate.word), 0);
	assert_false(pawl_may_be_parked(l));
	assert_false(pawl_may_be_parked(&l->gate));
	assert_true(pawl_rwlock_write_trylock(l));
	pawl_rwlock_write_unlock(l);
	assert_true(pawl_rwlock_read_trylock(l));
	pawl_rwlock_read_unlock(l);
}
