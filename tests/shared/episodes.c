/* SPDX-License-Identifier: MIT */
/*
 * Two processes, one region, mapped at different addresses: exclusion holds, and
 * nobody overtakes who is seen to queue.
 *
 * Usage: episodes N, in all
 */
#include "shared/shared.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 2 };

/* Plain, under mutex 0. */
struct ledger {
	uint64_t episodes, wanted;
	uint64_t next; /* value of who was seen to queue behind the last owner; or 0 */
	uint64_t handed_over, overtaken;
	uintptr_t address[PROCESSES + 1]; /* where each has the ledger */
	pawl_atomic64 ready;
};

static void fail(const char *what, int error)
{
	fprintf(stderr, "episodes: %s (%d)\n", what, error);
	exit(1);
}

/* Whoever queues behind the owner: it has moved arrive on, and said that it would
 * before. With two processes there is only one to say so. */
static uint64_t successor(const struct region *r, uint64_t value)
{
	unsigned i;

	if (pawl_load_acquire(&r->mutexes[0].arrive) == value)
		return 0;
	for (i = 0; i < r->agent_count; i++)
		if (pawl_load_acquire(&r->agents[i].ahead) == value)
			return pawl_load_acquire(&r->agents[i].value);
	return 0;
}

/* One episode; false once there have been enough. */
static bool visit(struct pawl_shared *s, struct ledger *ledger)
{
	int error = pawl_shared_mutex_lock(s, 0);
	uint64_t me;
	bool more;
	int i;

	if (error != 0)
		fail("lock failed", error);
	me = pawl_load_relaxed(&s->r.mutexes[0].owner);
	if (ledger->next != 0) {
		ledger->handed_over++;
		ledger->overtaken += ledger->next != me;
	}
	more = ledger->episodes < ledger->wanted;
	ledger->episodes += more;
	ledger->next = successor(&s->r, me);
	/* Now and then let somebody come, or there may be nothing to see. */
	for (i = 0; ledger->episodes % 8 == 0 && ledger->next == 0 && i < 100; i++) {
		sched_yield();
		ledger->next = successor(&s->r, me);
	}
	error = pawl_shared_mutex_unlock(s, 0);
	if (error != 0)
		fail("unlock failed", error);
	return more;
}

/* The one with number 1 attaches twice, and so has it where no other does. */
static void work(int fd, int number)
{
	struct pawl_shared *s, *other = NULL;
	struct ledger *ledger;
	int error = 0;

	if (number == 1)
		error = pawl_shared_attach(&other, fd);
	if (error == 0)
		error = pawl_shared_attach(&s, fd);
	if (error != 0)
		fail("attach failed", error);
	ledger = pawl_shared_data(s);
	ledger->address[number] = (uintptr_t)ledger;
	pawl_fetch_add_relaxed(&ledger->ready, 1);
	while (pawl_load_relaxed(&ledger->ready) != PROCESSES)
		usleep(100);
	while (visit(s, ledger))
		;
	error = pawl_shared_detach(s);
	if (error != 0 || (other != NULL && pawl_shared_detach(other) != 0))
		fail("detach failed", error);
}

int main(int argc, char **argv)
{
	const struct pawl_shared_shape shape = {
		.mutexes = 1, .threads = 4, .data_bytes = sizeof(struct ledger)};
	struct pawl_shared *s;
	struct ledger *ledger;
	int i, status, failed = 0;
	int error = pawl_shared_create(&s, -1, &shape);

	if (error != 0)
		fail("create failed", error);
	ledger = pawl_shared_data(s);
	ledger->wanted = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	if (ledger->wanted == 0) {
		fprintf(stderr, "usage: episodes N\n");
		return 2;
	}
	ledger->address[PROCESSES] = (uintptr_t)ledger;
	for (i = 0; i < PROCESSES; i++) {
		if (fork() == 0) {
			work(pawl_shared_fd(s), i);
			_exit(0);
		}
	}
	for (i = 0; i < PROCESSES; i++) {
		wait(&status);
		failed |= status != 0;
	}
	printf("%" PRIu64 " episodes by %d processes, %" PRIu64
	       " of them handed over in order, %" PRIu64 " out of order\n",
	       ledger->episodes, PROCESSES, ledger->handed_over, ledger->overtaken);
	failed |= ledger->episodes != ledger->wanted || ledger->overtaken != 0 ||
		  ledger->handed_over < 100;
	failed |= ledger->address[0] == ledger->address[1] ||
		  ledger->address[1] == ledger->address[2] ||
		  ledger->address[0] == ledger->address[2];
	failed |= pawl_shared_detach(s) != 0;
	printf("episodes: %s\n", failed ? "WRONG" : "right");
	return failed;
}
