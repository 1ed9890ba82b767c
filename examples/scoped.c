/* SPDX-License-Identifier: MIT */
/*
 * Hemlock is one word per lock. Its scoped form keeps the other word it needs on
 * the stack of the holder, so that waiters of several locks held at once do not
 * poll the same place.
 */
#include <pawl/hemlock.h>

#include <stdio.h>

struct account {
	struct pawl_hemlock lock;
	long balance;
};

static void transfer(struct account *from, struct account *to, long amount)
{
	struct account *first = from < to ? from : to;
	struct account *second = from < to ? to : from;
	struct pawl_hemlock_scope outer = PAWL_HEMLOCK_SCOPE_INIT;
	struct pawl_hemlock_scope inner = PAWL_HEMLOCK_SCOPE_INIT;

	pawl_hemlock_scope_lock(&first->lock, &outer);
	pawl_hemlock_scope_lock(&second->lock, &inner);
	from->balance -= amount;
	to->balance += amount;
	pawl_hemlock_scope_unlock(&first->lock, &outer);
	pawl_hemlock_scope_unlock(&second->lock, &inner);
}

int main(void)
{
	static struct account accounts[2] = {
		{PAWL_HEMLOCK_INIT, 100},
		{PAWL_HEMLOCK_INIT, 100},
	};

	transfer(&accounts[0], &accounts[1], 30);
	transfer(&accounts[1], &accounts[0], 10);
	printf("%zu bytes a lock; balances %ld and %ld\n", sizeof(struct pawl_hemlock),
	       accounts[0].balance, accounts[1].balance);
	return 0;
}
