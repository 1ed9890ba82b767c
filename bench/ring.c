/* SPDX-License-Identifier: MIT */
/*
 * Token ring: each thread waits until its mailbox is full, empties it, and puts the token
 * into the next thread's. Polling with an atomic that writes, as Hemlock's CTR form does,
 * fetches the line exclusively, so that emptying the mailbox costs no second miss; the
 * variants show the effect (Hemlock paper, section 5.5).
 *
 * Departs: the paper gives no figures for this program, and no details; all variants
 * pause between two polls.
 *
 * There is one token: the threads' counts differ by one at most, the first thread may be
 * ahead, and one mailbox holds the token at the end.
 */
#include "workload.h"

#include <stdlib.h>

struct mailbox {
	PAWL_SEQUESTER pawl_atomic64 full; /* 1: the token is here */
};

struct ring_thread {
	PAWL_SEQUESTER struct mailbox mine;
	struct mailbox *next;
	pawl_atomic64 *stop;
	uint64_t episodes;
};

/* Takes the token if it is there. [P] pairs with [D]: a thread that finds its mailbox
 * full sees that it was emptied before, and does not overwrite a later delivery. */

static bool take_load(struct mailbox *box)
{
	if (pawl_load_acquire(&box->full) == 0) /* [P] */
		return false;
	pawl_store_relaxed(&box->full, 0); /* relaxed: [D] follows it */
	return true;
}

static bool take_fetch_add(struct mailbox *box)
{
	/* Relaxed: an acquire fence follows if it was full. */
	if (pawl_fetch_add_relaxed(&box->full, 0) == 0)
		return false;
	pawl_acquire_fence();		   /* [P] */
	pawl_store_relaxed(&box->full, 0); /* relaxed: [D] follows it */
	return true;
}

static bool take_cas(struct mailbox *box)
{
	return pawl_cas_acquire(&box->full, 1, 0); /* [P] */
}

static bool take_exchange(struct mailbox *box)
{
	return pawl_exchange_acquire(&box->full, 0) != 0; /* [P] */
}

static inline __attribute__((always_inline)) void loop(struct ring_thread *me,
						       bool (*take)(struct mailbox *))
{
	uint64_t episodes = 0;

	/* A thread passes the token on before it checks stop, so no thread keeps it. The
	 * first thread has it initially, and so passes it on at least once. */
	do {
		if (take(&me->mine)) {
			pawl_store_release(&me->next->full, 1); /* [D] */
			episodes++;
		} else {
			pawl_arch_pause();
		}
		/* Relaxed: only ends the loop. */
	} while (pawl_load_relaxed(me->stop) == 0);
	me->episodes = episodes;
}

static void loop_load(void *member)
{
	loop(member, take_load);
}

static void loop_fetch_add(void *member)
{
	loop(member, take_fetch_add);
}

static void loop_cas(void *member)
{
	loop(member, take_cas);
}

static void loop_exchange(void *member)
{
	loop(member, take_exchange);
}

/* The token began at thread 0: from there on, the counts fall by one in total. */
static bool one_token_went_round(const struct ring_thread *threads, int count)
{
	uint64_t tokens = 0;
	int i, at = -1;

	for (i = 0; i < count; i++)
		if (pawl_load_relaxed(&threads[i].mine.full) != 0) {
			tokens++;
			at = i;
		}
	if (tokens != 1)
		return false;
	for (i = 0; i < count; i++)
		if (threads[i].episodes != threads[at].episodes + (i < at))
			return false;
	return true;
}

static bool run(const struct bench_subject *subject, const struct bench_shape *shape,
		struct bench_outcome *outcome)
{
	static pawl_atomic64 stop; /* outlives a hung thread */
	struct ring_thread *threads = workload_members(shape->threads, sizeof(*threads));
	struct tally tally = {0};
	double elapsed;
	int i;

	if (threads == NULL)
		return false;
	pawl_store_relaxed(&stop, 0); /* relaxed: no thread runs yet */
	for (i = 0; i < shape->threads; i++) {
		threads[i].next = &threads[(i + 1) % shape->threads].mine;
		threads[i].stop = &stop;
	}
	pawl_store_relaxed(&threads[0].mine.full, 1); /* relaxed: likewise */
	elapsed = workload_crew(shape, subject->loop, threads, sizeof(*threads), &stop,
				outcome);
	if (elapsed < 0)
		return false;
	for (i = 0; i < shape->threads; i++)
		tally_add(&tally, threads[i].episodes);
	tally_report(&tally, elapsed, outcome);
	outcome->exclusive = one_token_went_round(threads, shape->threads);
	free(threads);
	return true;
}

static const struct bench_subject load = {.name = "load", .loop = loop_load};
static const struct bench_subject cas = {.name = "cas", .loop = loop_cas};
static const struct bench_subject exchange = {.name = "exchange", .loop = loop_exchange};
static const struct bench_subject fetch_add = {.name = "fetch-add",
					       .loop = loop_fetch_add};
static const struct bench_subject *const variants[] = {&load, &cas, &exchange, &fetch_add,
						       NULL};

const struct workload workload_ring = {
	.name = "ring",
	.about = "a token goes round; what its receivers poll with",
	.source = "Hemlock paper 5.5",
	.unit = "ops/s",
	.run = run,
	.subjects = variants,
	.reference = "load",
	.least_threads = 2,
};
