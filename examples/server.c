/* SPDX-License-Identifier: MIT */
/*
 * A small server's books: every request gets an id, a connection's state from a pool, and
 * is counted, three times over. Clients are threads here, and a request is a line of text,
 * so that the books are what the program is about.
 *
 * The same is done twice: with pawl_idalloc, pawl_pool and pawl_counter, and as it is
 * usually written, with malloc, an atomic per count, and a mutex around a free list of ids.
 * Ids are small and unique among the requests in flight, so that they index an array, as
 * file descriptors do.
 *
 * Usage: server [REQUESTS [THREADS]]; without, a short run that says whether the books
 * agree. With, also what a request cost.
 */
#include <pawl/counter.h>
#include <pawl/idalloc.h>
#include <pawl/pool.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 4096, LINE = 64, MOST_THREADS = 256 };

struct connection {
	uint32_t id;
	char line[LINE];
};

/* What is in flight, by id. */
static struct connection *in_flight[MOST];
static atomic_ulong mistakes;
static long requests = 20000;
static int threads = 4;

/* With pawl. */

static struct pawl_idalloc ids;
static struct pawl_pool connections;
static struct pawl_counter received, answered, bytes;

static struct connection *open_pawl(void)
{
	struct connection *c = pawl_pool_get(&connections);

	if (c != NULL)
		c->id = pawl_idalloc_get(&ids);
	pawl_counter_add(&received, 1);
	return c;
}

static void close_pawl(struct connection *c, size_t size)
{
	pawl_counter_add(&answered, 1);
	pawl_counter_add(&bytes, (int64_t)size);
	pawl_idalloc_put(&ids, c->id);
	pawl_pool_put(&connections, c);
}

/* As usual. */

static pthread_mutex_t free_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t free_ids[MOST];
static int free_count;
static atomic_long usual_received, usual_answered, usual_bytes;

static struct connection *open_usual(void)
{
	struct connection *c = malloc(sizeof(*c));

	if (c != NULL) {
		pthread_mutex_lock(&free_lock);
		c->id = free_ids[--free_count];
		pthread_mutex_unlock(&free_lock);
	}
	atomic_fetch_add(&usual_received, 1);
	return c;
}

static void close_usual(struct connection *c, size_t size)
{
	atomic_fetch_add(&usual_answered, 1);
	atomic_fetch_add(&usual_bytes, (long)size);
	pthread_mutex_lock(&free_lock);
	free_ids[free_count++] = c->id;
	pthread_mutex_unlock(&free_lock);
	free(c);
}

/* The server: both by the same loop. */

struct books {
	const char *name;
	struct connection *(*open)(void);
	void (*close)(struct connection *c, size_t size);
};

static void answer(struct connection *c, long request)
{
	memset(c->line, 'a' + (int)(request % 26), sizeof(c->line));
}

static void *serve(void *argument)
{
	const struct books *books = argument;
	long request;

	for (request = 0; request < requests; request++) {
		struct connection *c = books->open();

		/* Nobody else has the id, so plain accesses will do; or there are too
		 * many in flight. */
		if (c == NULL || c->id >= MOST || in_flight[c->id] != NULL) {
			atomic_fetch_add(&mistakes, 1);
			return NULL;
		}
		in_flight[c->id] = c;
		answer(c, request);
		in_flight[c->id] = NULL;
		books->close(c, LINE);
	}
	return NULL;
}

static double seconds_of_cpu(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Nanoseconds of CPU time for a request. */
static double run(struct books *books)
{
	pthread_t clients[MOST_THREADS];
	double begun = seconds_of_cpu();
	int i;

	for (i = 0; i < threads; i++)
		if (pthread_create(&clients[i], NULL, serve, books) != 0)
			exit(1);
	for (i = 0; i < threads; i++)
		pthread_join(clients[i], NULL);
	return (seconds_of_cpu() - begun) * 1e9 / ((double)requests * threads);
}

int main(int argc, char **argv)
{
	static struct books with_pawl = {"pawl", open_pawl, close_pawl},
			    as_usual = {"usual", open_usual, close_usual};
	const struct pawl_pool_plan plan = {.kind = PAWL_SHARDS_LEASED,
					    .size = sizeof(struct connection),
					    .limit = MOST};
	double pawl_ns, usual_ns;
	long all;

	if (argc > 1)
		requests = atol(argv[1]);
	if (argc > 2)
		threads = atoi(argv[2]);
	if (requests < 1 || threads < 1 || threads > MOST_THREADS) {
		fprintf(stderr,
			"usage: server [REQUESTS [THREADS]], at most %d threads\n",
			MOST_THREADS);
		return 2;
	}
	for (free_count = 0; free_count < MOST; free_count++)
		free_ids[free_count] = (uint32_t)(MOST - 1 - free_count);
	if (pawl_idalloc_create(&ids, PAWL_SHARDS_LEASED, MOST) != 0 ||
	    pawl_pool_create(&connections, &plan) != 0 ||
	    pawl_counter_create(&received, PAWL_SHARDS_LEASED) != 0 ||
	    pawl_counter_create(&answered, PAWL_SHARDS_LEASED) != 0 ||
	    pawl_counter_create(&bytes, PAWL_SHARDS_LEASED) != 0)
		return 1;
	all = requests * threads;
	usual_ns = run(&as_usual);
	pawl_ns = run(&with_pawl);
	if (argc > 1)
		printf("%d threads: a request takes %.1f ns of CPU time with %s, %.1f as "
		       "%s\n",
		       threads, pawl_ns, with_pawl.name, usual_ns, as_usual.name);
	printf("%ld answered, %ld bytes, %lu mistakes; the books %s\n",
	       (long)pawl_counter_sum(&answered), (long)pawl_counter_sum(&bytes),
	       atomic_load(&mistakes),
	       pawl_counter_sum(&received) == all && pawl_counter_sum(&answered) == all &&
			       atomic_load(&usual_received) == all &&
			       atomic_load(&usual_answered) == all &&
			       atomic_load(&usual_bytes) == (long)pawl_counter_sum(&bytes)
		       ? "agree"
		       : "do not agree");
	pawl_idalloc_destroy(&ids);
	pawl_pool_destroy(&connections);
	pawl_counter_destroy(&received);
	pawl_counter_destroy(&answered);
	pawl_counter_destroy(&bytes);
	return 0;
}
