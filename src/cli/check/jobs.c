/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* ppoll */
/* Runs cases in separate processes, some at a time: a search is single-threaded. */
#include "cli/check/check.h"

#include "cli/common/interrupt.h"
#include "cli/common/options.h"
#include "cli/common/output.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* One entry for each running process; a case's result arrives through the pipe at its
 * end. */
struct jobs {
	struct pollfd pipes[MAX_JOBS];
	size_t cases[MAX_JOBS];
	pid_t processes[MAX_JOBS];
	int count;
	sigset_t mask; /* the caller's: signals are unblocked only while we wait */
};

static void write_all(int to, const void *from, size_t size)
{
	const char *at = from;
	ssize_t n;

	for (; size > 0; at += n, size -= (size_t)n) {
		n = write(to, at, size);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n < 0)
			_exit(2); /* the command has ended */
	}
}

static bool read_all(int from, void *to, size_t size)
{
	char *at = to;
	ssize_t n;

	for (; size > 0; at += n, size -= (size_t)n) {
		n = read(from, at, size);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			return false;
	}
	return true;
}

/* In the new process, which ends with the command. A terminal interrupts both, kill the
 * command alone, which then forwards the signal; receiving it twice does no harm. */
static void send_result(struct check_case *c, const struct request *request, int to,
			const sigset_t *mask)
{
	size_t size;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	catch_interrupts();
	sigprocmask(SIG_SETMASK, mask, NULL);
	explore_case(c, request, NULL);
	write_all(to, &c->result, sizeof(c->result));
	if (c->result.trace != NULL) {
		size = strlen(c->result.trace) + 1;
		write_all(to, &size, sizeof(size));
		write_all(to, c->result.trace, size);
	}
	_exit(0);
}

static void receive_result(struct check_case *c, int from)
{
	size_t size;

	if (!read_all(from, &c->result, sizeof(c->result)))
		give_up("the process that checked %s, %s ended; --jobs 1 shows why",
			c->type->name, c->scenario->name);
	if (c->result.trace == NULL)
		return;
	c->result.trace = read_all(from, &size, sizeof(size)) ? malloc(size) : NULL;
	if (c->result.trace == NULL || !read_all(from, c->result.trace, size))
		give_up("no memory for the trace of %s, %s", c->type->name,
			c->scenario->name);
}

static void start_job(struct jobs *jobs, const struct plan *plan, size_t index,
		      const struct request *request)
{
	int ends[2];
	pid_t child;

	fflush(NULL); /* so that the child does not flush it too */
	if (pipe(ends) != 0 || (child = fork()) < 0)
		give_up("cannot start a process: %s; use --jobs 1", strerror(errno));
	if (child == 0) {
		close(ends[0]);
		send_result(&plan->cases[index], request, ends[1], &jobs->mask);
	}
	close(ends[1]);
	jobs->pipes[jobs->count] = (struct pollfd){.fd = ends[0], .events = POLLIN};
	jobs->processes[jobs->count] = child;
	jobs->cases[jobs->count++] = index;
}

/* Waits for some cases and marks those that ended; forwards an interrupt to all. */
static void end_jobs(struct jobs *jobs, const struct plan *plan, bool *over)
{
	int i;

	if (ppoll(jobs->pipes, (nfds_t)jobs->count, NULL, &jobs->mask) < 0) {
		for (i = 0; i < jobs->count && was_interrupted(); i++)
			kill(jobs->processes[i], SIGINT);
		return;
	}
	for (i = jobs->count - 1; i >= 0; i--) {
		if (jobs->pipes[i].revents == 0)
			continue;
		receive_result(&plan->cases[jobs->cases[i]], jobs->pipes[i].fd);
		close(jobs->pipes[i].fd);
		over[jobs->cases[i]] = true;
		jobs->count--;
		jobs->pipes[i] = jobs->pipes[jobs->count];
		jobs->processes[i] = jobs->processes[jobs->count];
		jobs->cases[i] = jobs->cases[jobs->count];
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}

static int length_of(const struct scenario *scenario)
{
	return scenario->takes_minutes ? 2 : scenario->takes_seconds ? 1 : 0;
}

/* The next case to start: the longest first, so that the processes finish together. */
static size_t next_case(const struct plan *plan, const bool *started)
{
	size_t i, first = plan->count;

	for (i = plan->count; i-- > 0;) {
		if (started[i])
			continue;
		if (first == plan->count ||
		    length_of(plan->cases[i].scenario) >=
			    length_of(plan->cases[first].scenario))
			first = i;
	}
	return first;
}

size_t run_jobs(const struct plan *plan, const struct request *request, int most,
		void (*report)(struct check_case *c, void *context), void *context)
{
	struct jobs jobs = {.count = 0};
	bool *started = calloc(2 * plan->count, sizeof(*started));
	bool *over = started + plan->count;
	size_t reported = 0, next;
	sigset_t interrupt;

	if (started == NULL)
		give_up("no memory");
	sigemptyset(&interrupt);
	sigaddset(&interrupt, SIGINT);
	sigprocmask(SIG_BLOCK, &interrupt, &jobs.mask);
	for (;;) {
		next = next_case(plan, started);
		if (next < plan->count && jobs.count < most && !was_interrupted()) {
			started[next] = true;
			start_job(&jobs, plan, next, request);
			continue;
		}
		if (jobs.count == 0)
			break;
		show_progress(reported, plan->count, "%d at a time", jobs.count);
		end_jobs(&jobs, plan, over);
		for (; reported < plan->count && over[reported]; reported++) {
			end_progress();
			report(&plan->cases[reported], context);
		}
	}
	sigprocmask(SIG_SETMASK, &jobs.mask, NULL);
	end_progress();
	/* After an interrupt some cases have no result: move those that have to the
	 * front. */
	for (next = reported; next < plan->count; next++) {
		if (!over[next])
			continue;
		plan->cases[reported] = plan->cases[next];
		plan->cases[next].result.trace = NULL;
		report(&plan->cases[reported++], context);
	}
	free(started);
	return reported;
}
