/* SPDX-License-Identifier: MIT */
/* Giving up the wait for a hapax lock: deadlines, what is left behind, order. */
#define _GNU_SOURCE
#include "harness/harness.h"

#include <pawl/hapax.h>

#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const enum pawl_wait ways[] = {PAWL_SPIN, PAWL_PARK};

/* The core is free, and nobody who gave up has left anything. */
static void assert_clean(struct pawl_hapax_core *l)
{
	assert_int_equal(pawl_load_acquire(&l->arrive), pawl_load_acquire(&l->depart));
	assert_int_equal(pawl_load_acquire(&pawl_hapax_gone_of_(l)->count), 0);
	assert_null(pawl_hapax_gone_of_(l)->first);
}

static void gives_up_at_its_deadline_on_either_clock(void **state)
{
	static const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_REALTIME};
	struct pawl_hapax l = PAWL_HAPAX_INIT;
	size_t i, k;

	(void)state;
	pawl_hapax_lock(&l);
	for (i = 0; i < COUNT_OF(clocks); i++)
		for (k = 0; k < COUNT_OF(ways); k++) {
			struct timespec then = in_ms(clocks[i], 25), now;

			errno = 42;
			assert_int_equal(
				pawl_hapax_timedlock_as_(&l, ways[k], clocks[i], &then),
				ETIMEDOUT);
			assert_int_equal(errno, 42);
			clock_gettime(clocks[i], &now);
			assert_true(now.tv_sec > then.tv_sec ||
				    (now.tv_sec == then.tv_sec &&
				     now.tv_nsec >= then.tv_nsec));
			assert_false(pawl_hapax_trylock(&l));
		}
	pawl_hapax_unlock(&l);
	assert_clean(&l.core);
	assert_true(pawl_hapax_trylock(&l));
	pawl_hapax_unlock(&l);
}

static void takes_a_free_lock_whatever_the_time(void **state)
{
	static const struct timespec long_ago = {.tv_sec = 1}, bad = {.tv_nsec = -1};
	struct pawl_hapax l = PAWL_HAPAX_INIT;

	(void)state;
	assert_int_equal(pawl_hapax_timedlock(&l, CLOCK_MONOTONIC, &long_ago), 0);
	pawl_hapax_unlock(&l);
	assert_int_equal(pawl_hapax_timedlock(&l, CLOCK_MONOTONIC, &bad), 0);
	assert_int_equal(pawl_hapax_timedlock(&l, CLOCK_MONOTONIC, &long_ago), ETIMEDOUT);
	pawl_hapax_unlock(&l);
	assert_clean(&l.core);
}

static void refuses_what_is_no_time(void **state)
{
	static const struct timespec early = {.tv_nsec = -1},
				     late = {.tv_nsec = 1000000000};
	const struct timespec then = in_ms(CLOCK_MONOTONIC, 1000);
	struct pawl_hapax l = PAWL_HAPAX_INIT;

	(void)state;
	pawl_hapax_lock(&l);
	assert_int_equal(pawl_hapax_timedlock(&l, CLOCK_MONOTONIC, &early), EINVAL);
	assert_int_equal(pawl_hapax_timedlock(&l, CLOCK_MONOTONIC, &late), EINVAL);
	assert_int_equal(pawl_hapax_timedlock(&l, CLOCK_PROCESS_CPUTIME_ID, &then),
			 EINVAL);
	pawl_hapax_unlock(&l);
	assert_clean(&l.core);
}

/* A waiter of its own thread, with a deadline or without. */
struct waiter {
	struct pawl_hapax_core *l;
	enum pawl_wait how;
	long ms; /* 0: for ever */
	pawl_atomic64 *order;
	uint64_t place; /* in which it entered */
	int error;
	pawl_atomic64 done; /* 1: the rest is for others to read */
};

static void *wait_in_line(void *argument)
{
	struct waiter *me = argument;
	struct timespec then = in_ms(CLOCK_MONOTONIC, me->ms);
	struct pawl_hapax_context context;

	me->error = 0;
	if (me->ms == 0)
		pawl_hapax_acquire_(me->l, &context, me->how);
	else
		me->error = pawl_hapax_timed_acquire_(me->l, &context, me->how,
						      CLOCK_MONOTONIC, &then);
	if (me->error == 0) {
		me->place = pawl_fetch_add_relaxed(me->order, 1);
		pawl_hapax_release_(me->l, &context, me->how);
	}
	pawl_store_release(&me->done, 1);
	return NULL;
}

/* Starts them one after the other, each when the one before has arrived. */
static void line_up(struct crew *crew, struct waiter *waiters, size_t count,
		    struct pawl_hapax_core *l, enum pawl_wait how, pawl_atomic64 *order)
{
	size_t i;

	for (i = 0; i < count; i++) {
		uint64_t last = pawl_load_relaxed(&l->arrive);

		waiters[i].l = l;
		waiters[i].how = how;
		waiters[i].order = order;
		crew_start(crew, wait_in_line, &waiters[i]);
		/* Ends when the waiter has arrived; if we were too slow to see that,
		 * when it has given up. */
		while (pawl_load_relaxed(&l->arrive) == last &&
		       pawl_load_acquire(&waiters[i].done) == 0)
			breathe();
	}
}

/* Those behind and ahead of waiters that gave up get in, in the order they came. */
static void order_survives_those_who_give_up(void **state)
{
	size_t k, i;

	(void)state;
	for (k = 0; k < COUNT_OF(ways); k++) {
		struct waiter waiters[] = {{.ms = 0}, {.ms = 200}, {.ms = 250},
					   {.ms = 0}, {.ms = 200}, {.ms = 0}};
		struct pawl_hapax_core l = PAWL_ZERO;
		struct pawl_hapax_context context;
		struct crew crew = {.size = 0};
		pawl_atomic64 order = PAWL_ZERO;
		int64_t nodes = nodes_abroad();

		pawl_hapax_acquire_(&l, &context, ways[k]);
		line_up(&crew, waiters, COUNT_OF(waiters), &l, ways[k], &order);
		for (i = 0; i < COUNT_OF(waiters); i++)
			while (waiters[i].ms != 0 &&
			       pawl_load_acquire(&waiters[i].done) == 0)
				breathe();
		pawl_hapax_release_(&l, &context, ways[k]);
		crew_join(&crew);
		assert_int_equal(waiters[1].error, ETIMEDOUT);
		assert_int_equal(waiters[2].error, ETIMEDOUT);
		assert_int_equal(waiters[4].error, ETIMEDOUT);
		assert_int_equal(waiters[0].place, 0);
		assert_int_equal(waiters[3].place, 1);
		assert_int_equal(waiters[5].place, 2);
		assert_clean(&l);
		assert_int_equal(nodes_abroad(), nodes);
	}
}

/* We play the thread behind it ourselves, so that nobody takes the record. False
 * if it gave up before we were there. */
static bool record_is_left(long ms)
{
	struct pawl_hapax_core l = PAWL_ZERO;
	struct pawl_hapax_context holder;
	struct waiter waiter = {.ms = ms};
	struct crew crew = {.size = 0};
	struct pawl_hapax_watch watch;
	pawl_atomic64 order = PAWL_ZERO;
	uint64_t gone, seen;

	pawl_hapax_acquire_(&l, &holder, PAWL_SPIN);
	line_up(&crew, &waiter, 1, &l, PAWL_SPIN, &order);
	gone = pawl_exchange_relaxed(&l.arrive, pawl_hapax_draw());
	pawl_hapax_aim_(&watch, &l, gone);
	seen = watch.seen;
	crew_join(&crew);
	assert_int_equal(waiter.error, ETIMEDOUT);
	if (gone == holder.hapax)
		return false;
	assert_int_equal(pawl_load_relaxed(&pawl_hapax_gone_of_(&l)->count), 1);
	/* The slot has changed, but not to the value that would let us in. */
	assert_true(pawl_load_relaxed(watch.slot) != seen);
	assert_true(pawl_load_relaxed(watch.slot) != gone);
	assert_false(pawl_hapax_departed_(&l, &watch));
	assert_int_equal(watch.ahead, holder.hapax);
	assert_int_equal(pawl_load_relaxed(&pawl_hapax_gone_of_(&l)->count), 0);
	pawl_hapax_release_(&l, &holder, PAWL_SPIN);
	assert_true(pawl_hapax_departed_(&l, &watch));
	return true;
}

static void record_tells_whom_to_wait_for(void **state)
{
	long ms = 100;

	(void)state;
	while (!record_is_left(ms))
		ms *= 2;
}

/* A child has nobody who would take its parent's records. */
static void fork_forgets_records(void **state)
{
	struct pawl_node record = {.value = 1, .ahead = 2};
	struct pawl_hapax_core l = PAWL_ZERO;
	struct pawl_hapax_gone *gone = pawl_hapax_gone_of_(&l);
	int status;
	pid_t child;

	(void)state;
	pawl_store_relaxed(&gone->guard, 1);
	pawl_store_relaxed(&gone->count, 1);
	gone->first = &record;
	child = fork();
	if (child == 0)
		_exit(gone->first != NULL || pawl_load_relaxed(&gone->count) != 0 ||
		      pawl_load_relaxed(&gone->guard) != 0);
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	gone->first = NULL;
	pawl_store_relaxed(&gone->count, 0);
	pawl_store_relaxed(&gone->guard, 0);
}

enum { THREADS = 8, ROUNDS = 1500 };

struct melee {
	struct pawl_hapax l;
	enum pawl_wait how;
	uint64_t sections; /* under the lock */
	pawl_atomic64 entered, late;
};

/* Waits for up to some microseconds, or for ever, or not at all. */
static bool get_in(struct melee *melee, unsigned dice)
{
	struct timespec then;

	if (dice % 8 == 0)
		return pawl_hapax_trylock(&melee->l);
	if (dice % 8 < 3) {
		pawl_hapax_lock_as_(&melee->l, melee->how);
		return true;
	}
	then = in_ms(CLOCK_MONOTONIC, 0);
	then.tv_nsec += dice / 8 % 200 * 1000;
	if (then.tv_nsec >= 1000000000) {
		then.tv_nsec -= 1000000000;
		then.tv_sec++;
	}
	if (pawl_hapax_timedlock_as_(&melee->l, melee->how, CLOCK_MONOTONIC, &then) == 0)
		return true;
	pawl_fetch_add_relaxed(&melee->late, 1);
	return false;
}

static void *fight(void *argument)
{
	struct melee *melee = argument;
	unsigned dice = (unsigned)pawl_address(pawl_self()) >> 6, i;
	uint64_t mine = 0;

	for (i = 0; i < ROUNDS; i++) {
		dice = dice * 1103515245u + 12345u;
		if (!get_in(melee, dice >> 12))
			continue;
		melee->sections++;
		mine++;
		if (dice >> 28 == 0)
			sched_yield(); /* so that others have to wait */
		pawl_hapax_unlock_as_(&melee->l, melee->how);
	}
	pawl_fetch_add_relaxed(&melee->entered, mine);
	return NULL;
}

static void exclusion_holds_among_the_impatient(void **state)
{
	size_t k;
	int i;

	(void)state;
	for (k = 0; k < COUNT_OF(ways); k++) {
		struct melee melee = {.l = PAWL_HAPAX_INIT, .how = ways[k]};
		struct crew crew = {.size = 0};
		int64_t nodes = nodes_abroad();

		for (i = 0; i < THREADS; i++)
			crew_start(&crew, fight, &melee);
		crew_join(&crew);
		assert_int_equal(melee.sections, pawl_load_relaxed(&melee.entered));
		print_message("%u sections, %u too late\n", (unsigned)melee.sections,
			      (unsigned)pawl_load_relaxed(&melee.late));
		assert_true(pawl_load_relaxed(&melee.late) > 0);
		assert_clean(&melee.l.core);
		assert_int_equal(nodes_abroad(), nodes);
		assert_true(pawl_hapax_trylock(&melee.l));
		pawl_hapax_unlock(&melee.l);
	}
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(gives_up_at_its_deadline_on_either_clock),
		cmocka_unit_test(takes_a_free_lock_whatever_the_time),
		cmocka_unit_test(refuses_what_is_no_time),
		cmocka_unit_test(order_survives_those_who_give_up),
		cmocka_unit_test(record_tells_whom_to_wait_for),
		cmocka_unit_test(fork_forgets_records),
		cmocka_unit_test(exclusion_holds_among_the_impatient),
	};

	return cmocka_run_group_tests_name("hapax timed", cases, NULL, NULL);
}
