/* SPDX-License-Identifier: MIT */
/*
 * A log: all threads but the first append lines to a buffer, and work in between, --ncs
 * steps. The first thread swaps the buffers every millisecond, or as soon as one is half
 * full, and then writes the lines out, that is, reads them. An appender that finds the
 * buffer full waits for the swap. A job is a line.
 *
 * The lines written out must be those appended, by number and sum, and in the order in
 * which each thread appended them.
 */
#include "monitor.h"

#include <stdlib.h>

enum { FLUSH, ROOM }; /* condition variables */
enum { LINES = 256, PERIOD_NS = 1000000 };

struct line {
	uint32_t author;
	uint32_t number; /* of the author's lines, modulo 2^32 */
	uint64_t text;
};

struct logger {
	struct monitor_bench bench;
	/* All under the lock. */
	PAWL_SEQUESTER uint32_t used;
	int current;		       /* the buffer being appended to */
	struct line buffers[2][LINES]; /* the other one belongs to the first thread */
	/* Atomic, so that this count of authors that have left stays right with a lock
	 * that does not exclude. */
	pawl_atomic64 left;
	int authors;
	/* Of the first thread alone. */
	PAWL_SEQUESTER uint32_t *written; /* by author */
};

/* The wait ends: the first thread empties the buffer until all authors have left. */
static void append(struct logger *log, struct monitor_thread *me)
{
	struct monitor *monitor = &log->bench.monitor;
	uint64_t since = monitor_clock(me);
	uint32_t at;

	monitor_enter(monitor);
	while ((at = log->used) >= LINES)
		monitor_wait(monitor, ROOM);
	monitor_waited(me, since);
	log->used = at + 1;
	monitor_section(me);
	log->buffers[log->current][at] = (struct line){.author = (uint32_t)me->number,
						       .number = (uint32_t)me->jobs,
						       .text = me->own};
	if (at + 1 == LINES / 2)
		monitor_signal(monitor, FLUSH);
	monitor_leave(monitor);
	me->sum += me->own;
	me->jobs++;
}

static void write_out(struct logger *log, struct monitor_thread *me,
		      const struct line *lines, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count && i < LINES; i++) {
		uint32_t *next = &log->written[lines[i].author];

		me->wrong |= lines[i].number != *next;
		*next = lines[i].number + 1;
		me->sum += lines[i].text;
	}
	me->jobs += count;
}

static bool all_left(const struct logger *log)
{
	/* Relaxed, here and below: the lock orders. */
	return pawl_load_relaxed(&log->left) == (uint64_t)log->authors;
}

static void flush(struct logger *log, struct monitor_thread *me)
{
	struct monitor *monitor = &log->bench.monitor;
	bool last;

	do {
		const struct line *lines;
		uint32_t count;

		monitor_enter(monitor);
		if (log->used < LINES / 2 && !all_left(log))
			monitor_wait_for(monitor, FLUSH, PERIOD_NS);
		last = all_left(log);
		lines = log->buffers[log->current];
		count = log->used;
		log->current = 1 - log->current;
		log->used = 0;
		monitor_section(me);
		monitor_broadcast(monitor, ROOM);
		monitor_leave(monitor);
		write_out(log, me, lines, count);
	} while (!last);
}

static void work(void *member)
{
	struct monitor_thread *me = member;
	struct logger *log = (struct logger *)me->bench;

	if (me->number == 0) {
		flush(log, me);
		return;
	}
	do {
		append(log, me);
		monitor_work(me);
	} while (!monitor_over(&log->bench));
	monitor_enter(&log->bench.monitor);
	pawl_fetch_add_relaxed(&log->left, 1); /* Relaxed. */
	monitor_signal(&log->bench.monitor, FLUSH);
	monitor_leave(&log->bench.monitor);
}

static bool right(const struct monitor_bench *bench, const struct monitor_thread *threads,
		  int count)
{
	uint64_t jobs = threads[0].jobs, sum = threads[0].sum;
	int i;

	(void)bench;
	for (i = 1; i < count; i++) {
		jobs -= threads[i].jobs;
		sum -= threads[i].sum;
	}
	return jobs == 0 && sum == 0;
}

static bool run(const struct bench_subject *subject, const struct bench_shape *shape,
		struct bench_outcome *outcome)
{
	static struct logger log; /* outlives a hung thread */

	log = (struct logger){
		.bench.helpers = 1,
		.authors = shape->threads - 1,
		.written = calloc((size_t)shape->threads, sizeof(*log.written))};
	if (log.written == NULL)
		return false;
	log.bench.memory = log.written;
	return monitor_run(&log.bench, subject, shape, work, right, outcome);
}

const struct workload workload_logger = {
	.name = "logger",
	.about = "many threads append lines to a buffer, one writes them out every ms",
	.least_threads = 2,
	.ncs = 200,
	.cs = 1,
	MONITOR_WORKLOAD,
};
