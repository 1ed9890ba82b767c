/* SPDX-License-Identifier: MIT */
/*
 * Runs many simulations in several processes: a simulation is single-threaded, and its
 * locks use static state. The result of a simulation depends on its setup alone.
 */
#include <sim/coherence/workload.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { JOBS_MAX = 64 };

struct board {
	size_t next;
	size_t done;
	struct workload_result results[];
};

static void work(struct board *board, const struct workload_setup *setups, size_t count,
		 void (*progress)(size_t done, size_t count))
{
	for (;;) {
		size_t i = __atomic_fetch_add(&board->next, 1, __ATOMIC_RELAXED), done;

		if (i >= count)
			return;
		if (setups[i].engine.stop == NULL || !setups[i].engine.stop())
			board->results[i] = workload_run(&setups[i]);
		done = __atomic_add_fetch(&board->done, 1, __ATOMIC_RELAXED);
		if (progress != NULL)
			progress(done, count);
	}
}

void workload_run_all(const struct workload_setup setups[],
		      struct workload_result results[], size_t count, unsigned jobs,
		      void (*progress)(size_t done, size_t count))
{
	size_t size = sizeof(struct board) + count * sizeof(*results);
	struct board *board = mmap(NULL, size, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t others[JOBS_MAX];
	unsigned i, started = 0;
	bool failed = false;

	if (board == MAP_FAILED) {
		fprintf(stderr, "pawl sim: out of memory\n");
		exit(EXIT_FAILURE);
	}
	if (jobs > count)
		jobs = (unsigned)count;
	fflush(NULL);
	for (i = 1; i < jobs && i < JOBS_MAX; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			work(board, setups, count, NULL);
			_exit(0);
		}
		if (pid > 0) /* otherwise the remaining processes do its share */
			others[started++] = pid;
	}
	work(board, setups, count, progress);
	for (i = 0; i < started; i++) {
		int status;

		while (waitpid(others[i], &status, 0) < 0 && errno == EINTR)
			;
		failed |= !WIFEXITED(status) || WEXITSTATUS(status) != 0;
	}
	memcpy(results, board->results, count * sizeof(*results));
	munmap(board, size);
	if (failed) {
		fprintf(stderr, "pawl sim: a process that simulated has failed\n");
		exit(EXIT_FAILURE);
	}
}
