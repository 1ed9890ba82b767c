/* SPDX-License-Identifier: MIT */
/*
 * The asymmetric fence: of two threads that each store, pass their side of the
 * fence and then load what the other stored, one at least sees the other. Also
 * where the kernel refuses membarrier.
 */
#define _GNU_SOURCE
#include "harness/child.h"
#include "harness/harness.h"
#include "sleep/parking.h"

#include <pawl/atomic.h>

#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROUNDS = 20000 };

/* Store buffering, over and over. */
struct duel {
	PAWL_SEQUESTER pawl_atomic64 x;
	PAWL_SEQUESTER pawl_atomic64 y;
	PAWL_SEQUESTER pawl_atomic64 start; /* rounds begun */
	PAWL_SEQUESTER pawl_atomic64 ended; /* rounds the other has ended */
	uint64_t seen;			    /* by the light side */
};

/* Polls as fast as it can, for the duel is about nanoseconds; sleeps when the
 * other side seems to have no CPU. */
static void await_round(const pawl_atomic64 *word, uint64_t round)
{
	int polls;

	for (polls = 1; pawl_load_acquire(word) != round; polls++)
		if (polls % 20000 == 0)
			breathe();
}

/* The two sides meet at a different moment in each round. */
static void delay(uint64_t turns)
{
	volatile uint64_t i;

	for (i = 0; i < turns; i++)
		continue;
}

static void *light_side(void *argument)
{
	struct duel *d = argument;
	uint64_t round;

	sit_on(1); /* a CPU for each side, if there are two */
	for (round = 1; round <= ROUNDS; round++) {
		await_round(&d->start, round);
		delay(round % 13);
		pawl_store_relaxed(&d->x, round);
		pawl_light_fence();
		d->seen = pawl_load_relaxed(&d->y);
		pawl_store_release(&d->ended, round);
	}
	return NULL;
}

static void *fight_in_a_thread(void *argument)
{
	struct duel *d = aligned_alloc(128, sizeof(*d));
	unsigned missed = 0;
	pthread_t thread;
	uint64_t round, seen;

	if (d == NULL)
		abort();
	memset(d, 0, sizeof(*d));
	if (pthread_create(&thread, NULL, light_side, d) != 0)
		abort();
	sit_on(0);
	for (round = 1; round <= ROUNDS; round++) {
		pawl_store_release(&d->start, round);
		delay(round % 101);
		pawl_store_relaxed(&d->y, round);
		pawl_heavy_fence();
		seen = pawl_load_relaxed(&d->x);
		await_round(&d->ended, round);
		missed += seen != round && d->seen != round;
	}
	pthread_join(thread, NULL);
	free(d);
	*(unsigned *)argument = missed;
	return NULL;
}

/* Both sides are threads of their own: affinity is not for this process. */
static unsigned fight(void)
{
	unsigned missed = 0;
	pthread_t thread;

	if (pthread_create(&thread, NULL, fight_in_a_thread, &missed) != 0)
		abort();
	pthread_join(thread, NULL);
	return missed;
}

static void one_side_sees_the_other(void **state)
{
	(void)state;
	assert_int_equal(fight(), 0);
}

static void light_side_is_light_where_membarrier_works(void **state)
{
	(void)state;
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0) {
		print_message("membarrier is not available here\n");
		skip();
	}
	assert_false(pawl_light_fence_full_);
}

/* The choice is made when the library is loaded: in this program, started again. */
static void refusal_makes_the_light_side_full(void **state)
{
	(void)state;
	child_again("refused", true);
}

static int main_refused(void)
{
	if (!pawl_light_fence_full_) {
		static const char text[] = "light fence is not full\n";

		(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
		return 1;
	}
	return fight() != 0;
}

/*
 * Where it is refused, one thread makes all wakers pass a full fence, and others come to
 * rely on it. They have nothing else in common: TSan sees whether that is enough.
 */
static void *fence_once(void *unused)
{
	(void)unused;
	pawl_park_fence();
	return NULL;
}

static void *fence_until_sure(void *unused)
{
	(void)unused;
	while (!pawl_park_fence())
		breathe();
	return NULL;
}

static void who_makes_wakers_pass_a_fence_tells_others(void **state)
{
	(void)state;
	child_again("raised", true);
}

static int main_raised(void)
{
	pthread_t threads[2];

	if (pthread_create(&threads[0], NULL, fence_once, NULL) != 0 ||
	    pthread_create(&threads[1], NULL, fence_until_sure, NULL) != 0)
		return 2;
	pthread_join(threads[1], NULL);
	pthread_join(threads[0], NULL);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(one_side_sees_the_other),
		cmocka_unit_test(light_side_is_light_where_membarrier_works),
		cmocka_unit_test(refusal_makes_the_light_side_full),
		cmocka_unit_test(who_makes_wakers_pass_a_fence_tells_others),
	};

	if (argc == 2 && strcmp(argv[1], "refused") == 0)
		return main_refused();
	if (argc == 2 && strcmp(argv[1], "raised") == 0)
		return main_raised();
	return cmocka_run_group_tests_name("fences", cases, NULL, NULL);
}
