/* SPDX-License-Identifier: MIT */
/*
 * Weak memory: what each thread has seen of it. A word's writes are kept in
 * their order; a thread reads any that is not older than the newest one it
 * knows of, and learns by reading as much as the orders of both sides say. This
 * is C11 without its load buffering, told as an operation on views (after Kang
 * et al., "A promising semantics", POPL 2017, without its promises).
 *
 * A switch of threads and a barrier are full fences, in a thread that did not
 * ask for them; where exactly in its program is the compiler's choice, which
 * light fences limit: they happen at its last light fence as far as others
 * learn what it did, and at its next one as far as it learns what others did.
 */
#ifndef CORES_VIEWS_H
#define CORES_VIEWS_H

#include "cores.h"

/* Of each word, a thread finds one of the last so many writes: whoever polls would fill
 * memory with old ones otherwise. */
enum { MAX_PLACES = 32, MAX_MESSAGES = 256, STALEST = 12 };

/* For each place, the number of the oldest write that may still be read. */
typedef uint8_t view __attribute__((vector_size(MAX_PLACES)));

struct message {
	view view; /* what who acquires it learns; itself included */
	uint64_t value, place;
	uint64_t joined; /* 1: an update of the one before it */
};

struct views {
	struct {
		view now;     /* what the thread knows */
		view shown;   /* at its last light fence: what a switch shows to others */
		view due;     /* what it will know at its next one */
		view read;    /* what it would know, had all its loads acquired */
		view fenced;  /* what it knew at its last full fence */
		uint8_t seen; /* cores that it has been on since its last one */
	} threads[CORES_MAX_THREADS];
	view full;	/* what a full fence teaches, and is taught */
	uint64_t alone; /* the child of a fork: who wrote the rest is not there */
	uint32_t count;
	struct message messages[MAX_MESSAGES]; /* in the order of their writing */
};

extern struct views views;

void views_start(void);
/* How much of `views` is in use. */
size_t views_size(void);

/* Writes of a word that the thread may read, oldest first; the number of the last
 * one is that of all. */
int views_oldest(int thread, const uint64_t *word);
int views_newest(const uint64_t *word);
uint64_t views_value(const uint64_t *word, int number);

/* Whether something may come right after this one. */
bool views_is_open(const uint64_t *word, int number);

uint64_t views_load(int thread, const uint64_t *word, int number, int order);
/* Stores, and comes right after that one. */
void views_store(int thread, uint64_t *word, int number, uint64_t value, int order);
/* Likewise, and reads that one, whose value it returns. */
uint64_t views_modify(int thread, uint64_t *word, int number, uint64_t value, int order);

/* A plain access is about to write the word: its life as a shared one is over, or begins
 * anew. */
void views_overwrite(uint64_t *word);

/* The child of a fork is alone with some write of each word, not the newest of all:
 * pages are copied one after the other. Which, is found when it looks: this one. */
void views_leave_alone(void);
void views_pin(uint64_t *word, int number);

void views_light_fence(int thread, int core);
void views_full_fence(int thread, int core);
/* A full fence from outside: the thread is switched, or a barrier reaches it. */
void views_interrupt(int thread);

/* Forgets what no thread can read any more; `alive` is a set of threads. */
void views_tidy(unsigned alive);
uint64_t views_hash(uint64_t seed);

#endif /* CORES_VIEWS_H */
