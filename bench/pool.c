/* SPDX-License-Identifier: MIT */
/*
 * Objects of 64 bytes: every thread gets one, writes to it, checks that the value is
 * still there, and puts it back (Khuong's notes on contention management).
 */
#include "stores.h"

/* Writes to the object, which no other thread does meanwhile. */
static inline void write_to(struct store_thread *me, void *object)
{
	volatile uint64_t *word = object;

	*word = pawl_address(me);
	me->got_twice += *word != pawl_address(me);
}

/* For a store of slots, whose objects are those of pawl's pool. */
static inline void use(struct store_thread *me, uint64_t slot)
{
	write_to(me, stores.pool.objects + slot * STORE_OBJECT);
}

#include "store_loops.h"

static __attribute__((flatten)) void pawl_loop(void *m)
{
	struct store_thread *me = m;
	uint64_t count = 0;

	do {
		void *object = pawl_pool_get(&stores.pool);

		write_to(me, object);
		pawl_pool_put(&stores.pool, object);
	} while (episode_again(&me->episodes, &count));
	me->episodes.count = count;
}

const struct workload workload_pool = {
	.name = "pool",
	.about = "get an object of 64 bytes, write to it and put it back",
	STORE_WORKLOAD,
};
