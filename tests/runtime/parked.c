/* SPDX-License-Identifier: MIT */
/*
 * A program that has nothing of the library but a lock and its parking: from the
 * archive it still gets what sees to forks. Status 0 if the child finds the parking
 * table as if nobody had ever slept.
 */
#include "../harness/hang.h"
#include "sleep/parking.h"

#include <pawl/ttas.h>

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

static struct pawl_ttas lock;

static void *wait_for_it(void *unused)
{
	pawl_ttas_lock_as_(&lock, PAWL_PARK);
	pawl_ttas_unlock_as_(&lock, PAWL_PARK);
	return unused;
}

int main(void)
{
	pthread_t sleeper;
	int status = 1;
	pid_t child;

	alarm(HANG_GUARD_S);
	pawl_ttas_lock_as_(&lock, PAWL_PARK);
	if (pthread_create(&sleeper, NULL, wait_for_it, NULL) != 0)
		return 2;
	/* Relaxed: it comes by and by. */
	while (pawl_load_relaxed(&pawl_filter_of_(&lock)->wanted) == 0)
		sched_yield();
	child = fork();
	if (child == 0) {
		if (pawl_may_be_parked(&lock))
			_exit(1);
		pawl_ttas_unlock_as_(&lock, PAWL_PARK);
		wait_for_it(NULL);
		_exit(0);
	}
	pawl_ttas_unlock_as_(&lock, PAWL_PARK);
	pthread_join(sleeper, NULL);
	return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}
