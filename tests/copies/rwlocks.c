/* SPDX-License-Identifier: MIT */
/* Reader-writer locks through several copies. */
#include "copies.h"

#include <pawl/rwlock.h>

#include <sys/wait.h>
#include <unistd.h>

static struct pawl_rwlock rwlock;

void bias(const struct copy *copy, struct pawl_rwlock *l)
{
	unsigned i;

	for (i = 0; i < (1 << 20) && (__atomic_load_n(&l->word.raw, __ATOMIC_RELAXED) &
				      PAWL_RWLOCK_BIASED) == 0;
	     i++) {
		copy->read_lock(l);
		copy->read_unlock(l);
	}
}

static void write_once(struct actor *actor)
{
	copy_of(actor->number)->write_lock(&rwlock);
	check(++counter == 1, "a writer is alone");
	copy_of(actor->number)->write_unlock(&rwlock);
}

static void read_and_write(struct actor *actor)
{
	unsigned i;

	for (i = 0; i < ROUNDS; i++) {
		const struct copy *copy = copy_of(actor->number + i);

		if ((actor->number + i) % 16 == 0) {
			copy->write_lock(&rwlock);
			counter++;
			pause_inside();
			other++;
			copy->write_unlock(&rwlock);
		} else {
			copy->read_lock(&rwlock);
			check(counter == other, "a reader sees no half of a write");
			copy->read_unlock(&rwlock);
		}
	}
}

/* A writer through one copy waits for a reader through another, whatever the reader's form;
 * the reader may read once more through the writer's copy, and unlock in any order. */
void case_rwlock(void)
{
	struct actor actor;
	unsigned round;

	for (round = 0; round < 2; round++) {
		counter = 0;
		if (round == 1)
			bias(copies[0], &rwlock);
		copies[0]->read_lock(&rwlock);
		check(!copies[1]->write_trylock(&rwlock), "a reader is seen");
		begin(&actor, 1, write_once);
		await_sleep(&actor);
		check(counter == 0, "a writer waits for a reader of another copy");
		check(copies[1]->read_trylock(&rwlock), "a reader may read again");
		copies[0]->read_unlock(&rwlock);
		check(!copies[1]->write_trylock(&rwlock), "it still reads");
		copies[1]->read_unlock(&rwlock);
		end(&actor);
		check(counter == 1, "the writer wrote");
	}
	counter = other = 0;
	all(THREADS, read_and_write);
	check(counter == other, "no write was lost");
}

static void read_for_ever(struct actor *actor)
{
	bias(copy_of(actor->number), &rwlock);
	copy_of(actor->number)->read_lock(&rwlock);
	__atomic_store_n(&counter, 1, __ATOMIC_RELEASE);
	for (;;)
		nap(1000);
}

/* In the child of a fork the reads of other threads are over, and its own are not. The copy
 * that its thread reads through is not the first to hear of the fork. */
void case_rwlock_fork(void)
{
	static struct pawl_rwlock read_here;
	struct actor actor;
	int status;
	pid_t child;

	begin(&actor, 0, read_for_ever);
	while (__atomic_load_n(&counter, __ATOMIC_ACQUIRE) == 0)
		nap(1);
	bias(copies[1], &read_here);
	copies[1]->read_lock(&read_here);
	child = fork();
	if (child == 0) {
		alarm(HANG_GUARD_S);
		check(!copies[0]->write_trylock(&read_here), "the child still reads");
		copies[1]->read_unlock(&read_here);
		copies[0]->write_lock(&read_here);
		copies[1]->write_lock(&rwlock);
		_exit(0);
	}
	check(waitpid(child, &status, 0) == child && status == 0,
	      "a child reads what its thread did, and no more");
	check(!copies[0]->write_trylock(&rwlock), "the parent's thread still reads");
}
