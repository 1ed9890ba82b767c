/* SPDX-License-Identifier: MIT */
/*
 * Slow motion: one thread executes an unlock one instruction at a time, and
 * after each instruction the others get time to do whatever they can. What
 * takes luck under stress happens here every time: an arrival between any two
 * steps of unlock, or the lock freed as soon as it was handed on.
 */
#define _GNU_SOURCE
#include "harness.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
enum { CAN_STEP = true };

/* The trap flag; the red zone is left alone. */
static void set_stepping(bool on)
{
	if (on)
		__asm__ __volatile__("lea -128(%%rsp), %%rsp\n\t"
				     "pushfq\n\t"
				     "orq $0x100, (%%rsp)\n\t"
				     "popfq\n\t"
				     "lea 128(%%rsp), %%rsp" ::
					     : "memory", "cc");
	else
		__asm__ __volatile__("lea -128(%%rsp), %%rsp\n\t"
				     "pushfq\n\t"
				     "andq $~0x100, (%%rsp)\n\t"
				     "popfq\n\t"
				     "lea 128(%%rsp), %%rsp" ::
					     : "memory", "cc");
}
#else
enum { CAN_STEP = false }; /* TSan delivers signals when it likes */

static void set_stepping(bool on)
{
	(void)on;
}
#endif

/* One scene: what the stepping thread and the other one share. */
struct scene {
	void *l;	/* in pages of its own */
	void *other;	/* a second lock, in some scenes */
	int references; /* protected by l */
	int open_at;	/* the step that lets the other thread go */
	int steps;	/* made so far */
	int open;	/* atomic: the other thread may go */
	int done;	/* atomic: it is through */
	int entered;	/* atomic: holds that others have had */
};

static struct scene *scene; /* the one that is being played */

static void on_step(int signal)
{
	int naps;

	(void)signal;
	if (++scene->steps < scene->open_at)
		return;
	__atomic_store_n(&scene->open, 1, __ATOMIC_RELEASE);
	for (naps = 0; naps < 3 && !__atomic_load_n(&scene->done, __ATOMIC_ACQUIRE);
	     naps++)
		breathe();
}

static void unlock_slowly(void *l)
{
	struct sigaction action = {.sa_handler = on_step};

	sigaction(SIGTRAP, &action, NULL);
	set_stepping(true);
	under_test->unlock(l);
	set_stepping(false);
	__atomic_store_n(&scene->open, 1, __ATOMIC_RELEASE);
}

static void *lock_in_pages(void)
{
	void *l = mmap(NULL, under_test->size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(l != MAP_FAILED);
	return l;
}

static void unmap_lock(void *l)
{
	if (under_test->destroy != NULL)
		under_test->destroy(l);
	munmap(l, under_test->size);
}

static void await_open(struct scene *s)
{
	while (!__atomic_load_n(&s->open, __ATOMIC_ACQUIRE))
		breathe();
}

/* Drops a reference; whoever drops the last one makes the pages go away. */
static void drop(struct scene *s)
{
	if (under_test->destroy_when != DESTROY_STABLE && s->references == 0)
		unmap_lock(s->l);
}

static void *lock_and_drop(void *argument)
{
	struct scene *s = argument;

	under_test->lock(s->l);
	s->references--;
	under_test->unlock(s->l);
	drop(s);
	__atomic_store_n(&s->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void *lock_and_drop_when_open(void *argument)
{
	await_open(argument);
	return lock_and_drop(argument);
}

static void *try_and_drop_when_open(void *argument)
{
	struct scene *s = argument;

	await_open(s);
	while (!under_test->trylock(s->l))
		breathe();
	s->references--;
	under_test->unlock(s->l);
	drop(s);
	__atomic_store_n(&s->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

void need_stepping(void)
{
	if (!CAN_STEP)
		skip_because("needs x86-64 and no TSan");
}

/* Plays unlock against `other`; returns how many steps it took. */
static int play(void *(*other)(void *), bool waits_already, int open_at)
{
	struct scene s = {.l = lock_in_pages(), .references = 2, .open_at = open_at};
	struct crew crew = {.size = 0};

	scene = &s;
	under_test->lock(s.l);
	s.references--;
	if (waits_already) {
		struct image before = lock_image(s.l);

		crew_start(&crew, other, &s);
		if (arrivals_show())
			await_arrival(s.l, &before);
		else
			breathe();
	} else {
		crew_start(&crew, other, &s);
	}
	unlock_slowly(s.l);
	crew_join(&crew);
	assert_int_equal(s.references, 0);
	if (under_test->destroy_when == DESTROY_STABLE)
		unmap_lock(s.l);
	return s.steps;
}

static void waiter_frees_what_it_was_handed(void **state)
{
	int i;

	(void)state;
	need_stepping();
	for (i = 0; i < 5; i++)
		play(lock_and_drop, true, 0);
}

enum { SCENES = 20 };

/* The other thread sets out after the first step, or a later one. */
static void play_all(void *(*other)(void *))
{
	int steps, i;

	need_stepping();
	steps = play(other, false, 1 << 30);
	for (i = 0; i < SCENES; i++)
		play(other, false, 1 + steps * i / SCENES);
}

static void arrival_at_every_step_of_unlock(void **state)
{
	(void)state;
	play_all(lock_and_drop_when_open);
}

static void trylock_at_every_step_of_unlock(void **state)
{
	(void)state;
	need_trylock();
	play_all(try_and_drop_when_open);
}

/*
 * We hold two locks. Somebody waits for the one that we unlock; at some step of
 * that, a third thread begins to wait for the other one.
 */

static void *wait_for_other_when_open(void *argument)
{
	struct scene *s = argument;

	await_open(s);
	under_test->lock(s->other);
	under_test->unlock(s->other);
	return NULL;
}

static int play_two_locks(int open_at)
{
	struct scene s = {.l = lock_in_pages(), .references = 2, .open_at = open_at};
	struct crew crew = {.size = 0};
	struct image before;

	s.other = lock_in_pages();
	scene = &s;
	under_test->lock(s.l);
	under_test->lock(s.other);
	s.references--;
	before = lock_image(s.l);
	crew_start(&crew, lock_and_drop, &s);
	if (arrivals_show())
		await_arrival(s.l, &before);
	crew_start(&crew, wait_for_other_when_open, &s);
	unlock_slowly(s.l);
	under_test->unlock(s.other);
	crew_join(&crew);
	if (under_test->destroy_when == DESTROY_STABLE)
		unmap_lock(s.l);
	unmap_lock(s.other);
	return s.steps;
}

static void waiter_of_another_lock_at_every_step_of_unlock(void **state)
{
	int i;

	(void)state;
	need_stepping();
	for (i = 0; i < SCENES; i++)
		play_two_locks(1 + i);
}

/*
 * A frozen successor: the thread whose turn it is does not run. Nobody may get
 * past it, not even the one that has just left.
 */

static int frozen; /* atomic: 0 no, 1 to be, 2 is */

static void on_freeze(int signal)
{
	(void)signal;
	__atomic_store_n(&frozen, 2, __ATOMIC_RELEASE);
	while (__atomic_load_n(&frozen, __ATOMIC_ACQUIRE) != 0)
		breathe();
}

void freeze(pthread_t thread)
{
	signal(SIGUSR2, on_freeze);
	__atomic_store_n(&frozen, 1, __ATOMIC_RELEASE);
	pthread_kill(thread, SIGUSR2);
	while (__atomic_load_n(&frozen, __ATOMIC_ACQUIRE) != 2)
		breathe();
}

void thaw(void)
{
	__atomic_store_n(&frozen, 0, __ATOMIC_RELEASE);
}

static void *enter_once(void *argument)
{
	struct scene *s = argument;

	under_test->lock(s->l);
	__atomic_fetch_add(&s->entered, 1, __ATOMIC_RELAXED);
	s->references--;
	under_test->unlock(s->l);
	return NULL;
}

static void *hold_and_come_again(void *argument)
{
	struct scene *s = argument;

	under_test->lock(s->l);
	__atomic_store_n(&s->open, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&s->done, __ATOMIC_ACQUIRE))
		breathe();
	under_test->unlock(s->l);
	return enter_once(s);
}

static void nobody_gets_past_a_frozen_successor(void **state)
{
	struct scene s = {.references = 3};
	struct crew crew = {.size = 0};
	struct image before;
	int i, early;

	(void)state;
	need_stepping();
	if (!arrivals_show())
		skip_because("promises no order that could be seen here");
	s.l = lock_make();
	crew_start(&crew, hold_and_come_again, &s);
	await_open(&s);
	before = lock_image(s.l);
	crew_start(&crew, enter_once, &s);
	await_arrival(s.l, &before);
	freeze(crew.threads[1]);
	__atomic_store_n(&s.done, 1, __ATOMIC_RELEASE); /* the holder leaves */
	for (i = 0; i < 50; i++)
		breathe();
	crew_start(&crew, enter_once, &s);
	for (i = 0; i < 100; i++)
		breathe();
	early = __atomic_load_n(&s.entered, __ATOMIC_RELAXED);
	thaw();
	crew_join(&crew);
	assert_int_equal(early, 0);
	assert_int_equal(s.references, 0);
	lock_drop(s.l);
}

const struct CMUnitTest slow_cases[] = {
	cmocka_unit_test(waiter_frees_what_it_was_handed),
	cmocka_unit_test(arrival_at_every_step_of_unlock),
	cmocka_unit_test(trylock_at_every_step_of_unlock),
	cmocka_unit_test(waiter_of_another_lock_at_every_step_of_unlock),
	cmocka_unit_test(nobody_gets_past_a_frozen_successor),
};
const size_t slow_case_count = COUNT_OF(slow_cases);
