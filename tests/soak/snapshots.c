/* SPDX-License-Identifier: MIT */
/*
 * Two writers and two readers of one record, at full speed: no read is torn,
 * none goes back to an older write of the same writer, and each writer's count
 * of accepted writes agrees with what is left.
 *
 * Usage: snapshots SECONDS
 */
#include <pawl/seqlock.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WRITERS = 2, READERS = 2, COPIES = 7 };

/* All numbers equal; the writer in the lowest bit, its count above. */
struct snapshot {
	uint64_t number[COPIES];
	unsigned char odd[3]; /* a size that is no multiple of a word */
};

static struct {
	struct pawl_seqlock seq;
	pawl_atomic64 words[PAWL_SEQLOCK_WORDS(sizeof(struct snapshot))];
} record;

static pawl_atomic64 stop;

struct worker {
	pthread_t thread;
	uint64_t id, done, refused; /* writers: accepted; readers: good copies */
	uint64_t torn, backwards;
};

static struct snapshot make(uint64_t number)
{
	struct snapshot s;
	size_t i;

	for (i = 0; i < COPIES; i++)
		s.number[i] = number;
	memset(s.odd, (int)(number & 0xFF), sizeof(s.odd));
	return s;
}

static void *write_on(void *argument)
{
	struct worker *me = argument;

	while (pawl_load_relaxed(&stop) == 0) {
		struct snapshot s = make((me->done + 1) * WRITERS + me->id);

		if (pawl_seqlock_write(&record.seq, record.words, &s, sizeof(s)))
			me->done++;
		else
			me->refused++;
	}
	return NULL;
}

static void *read_on(void *argument)
{
	struct worker *me = argument;
	uint64_t newest[WRITERS] = {0};

	while (pawl_load_relaxed(&stop) == 0) {
		struct snapshot s, good;
		uint64_t *last;

		if (me->id == 0)
			pawl_seqlock_read(&record.seq, record.words, &s, sizeof(s));
		else if (!pawl_seqlock_try_read(&record.seq, record.words, &s,
						sizeof(s))) {
			me->refused++;
			continue;
		}
		good = make(s.number[0]);
		me->torn += memcmp(s.number, good.number, sizeof(s.number)) != 0 ||
			    memcmp(s.odd, good.odd, sizeof(s.odd)) != 0;
		last = &newest[s.number[0] % WRITERS];
		me->backwards += s.number[0] < *last;
		*last = s.number[0];
		me->done++;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : 0, i;
	struct worker writers[WRITERS] = {{.id = 0}}, readers[READERS] = {{.id = 0}};
	struct snapshot s;
	uint64_t wrong = 0;

	if (seconds <= 0) {
		fprintf(stderr, "usage: snapshots SECONDS\n");
		return 2;
	}
	for (i = 0; i < WRITERS; i++) {
		writers[i].id = (uint64_t)i;
		pthread_create(&writers[i].thread, NULL, write_on, &writers[i]);
	}
	for (i = 0; i < READERS; i++) {
		readers[i].id = (uint64_t)i;
		pthread_create(&readers[i].thread, NULL, read_on, &readers[i]);
	}
	sleep((unsigned)seconds);
	pawl_store_relaxed(&stop, 1);
	for (i = 0; i < WRITERS; i++) {
		pthread_join(writers[i].thread, NULL);
		wrong += writers[i].done == 0;
		printf("writer %d: %" PRIu64 " writes, %" PRIu64 " refused\n", i,
		       writers[i].done, writers[i].refused);
	}
	for (i = 0; i < READERS; i++) {
		pthread_join(readers[i].thread, NULL);
		/* Who only tries may find a writer there each time. */
		wrong += readers[i].torn + readers[i].backwards +
			 (readers[i].done == 0 && readers[i].id == 0);
		printf("reader %d: %" PRIu64 " reads, %" PRIu64 " given up, %" PRIu64
		       " torn, %" PRIu64 " backwards\n",
		       i, readers[i].done, readers[i].refused, readers[i].torn,
		       readers[i].backwards);
	}
	/* Whoever wrote last left its last accepted write. */
	pawl_seqlock_read(&record.seq, record.words, &s, sizeof(s));
	wrong += s.number[0] / WRITERS != writers[s.number[0] % WRITERS].done;
	printf("snapshots: %s\n", wrong == 0 ? "all whole" : "WRONG");
	return wrong != 0;
}
