/* SPDX-License-Identifier: MIT */
/*
 * Weak memory by views. The writes of a word are kept in modification order; a thread
 * reads any write not older than the newest that it has seen, and a read extends its view
 * as far as the memory orders of both sides say. This is C11 without load buffering, in
 * the operational form of Kang et al., "A promising semantics", POPL 2017, without
 * promises.
 *
 * A context switch and a barrier are full fences in a thread that did not ask for them.
 * Where in its program they take effect is the compiler's choice within the limits of
 * light fences: other threads see its writes up to its last light fence, and it sees the
 * writes of others from its next light fence on.
 */
#ifndef CORES_VIEWS_H
#define CORES_VIEWS_H

#include "cores.h"

/* A thread reads one of the last STALEST writes of a word: without a bound, a polling
 * thread would fill memory with old writes. */
enum { MAX_PLACES = 32, MAX_MESSAGES = 256, STALEST = 12 };

/* For each place, the number of the oldest write that may still be read. */
typedef uint8_t view __attribute__((vector_size(MAX_PLACES)));

struct message {
	view view; /* what an acquire read of it learns; includes itself */
	uint64_t value, place;
	uint64_t joined; /* 1: read-modify-write of the message before it */
};

struct views {
	struct {
		view now;     /* what the thread has seen */
		view shown;   /* `now` at its last light fence: what a switch publishes */
		view due;     /* added to `now` at its next light fence */
		view read;    /* what it would have seen had all its loads acquired */
		view fenced;  /* `now` at its last full fence */
		uint8_t seen; /* cores it has been on since its last light fence */
	} threads[CORES_MAX_THREADS];
	view full;	/* joined with the view of each full fence, both ways */
	uint64_t alone; /* child of a fork: the writers of the rest do not exist */
	uint32_t count;
	struct message messages[MAX_MESSAGES]; /* in the order of writing */
};

extern struct views views;

void views_start(void);
/* Bytes of `views` in use. */
size_t views_size(void);

/* The writes of a word that the thread may read, as a range of numbers: oldest to
 * newest. */
int views_oldest(int thread, const uint64_t *word);
int views_newest(const uint64_t *word);
uint64_t views_value(const uint64_t *word, int number);

/* Whether a write may be inserted right after this one. */
bool views_is_open(const uint64_t *word, int number);

uint64_t views_load(int thread, const uint64_t *word, int number, int order);
/* Stores right after write `number`. */
void views_store(int thread, uint64_t *word, int number, uint64_t value, int order);
/* The same for a read-modify-write, which reads write `number` and returns its value. */
uint64_t views_modify(int thread, uint64_t *word, int number, uint64_t value, int order);

/* A plain access is about to write the word: its history as a shared word ends, or starts
 * anew. */
void views_overwrite(uint64_t *word);

/* A fork's child sees some write of each word, not always the newest: the kernel copies
 * the pages one after the other. Which write it is, is chosen at the first read: this
 * one. */
void views_leave_alone(void);
void views_pin(uint64_t *word, int number);

void views_light_fence(int thread, int core);
void views_full_fence(int thread, int core);
/* A full fence that the thread did not ask for: a context switch, or a barrier that
 * reaches it. */
void views_interrupt(int thread);

/* Drops writes that no thread can read any more; `alive` is a set of threads. */
void views_tidy(unsigned alive);
uint64_t views_hash(uint64_t seed);

#endif /* CORES_VIEWS_H */
