/* SPDX-License-Identifier: MIT */
/* The threads of the checked program: fibers that make requests of the machine. */
#ifndef CORES_WORLD_H
#define CORES_WORLD_H

#include "machine.h"

/* Sets up the program and runs each thread to its first request. False, with a verdict,
 * if that fails. */
bool world_start(const struct cores_program *program);
void world_stop(void);

/* Resumes a thread with the result of its request, until its next request. */
void world_answer(int thread, uint64_t answer);
/* Resumes it in the signal handler instead. */
void world_interrupt(int thread);

/* Whether this value ends a wait. */
bool world_wait_is_over(const struct request *request, uint64_t value);
/* The value that a read-modify-write stores in a word that was `old`. */
uint64_t world_update(const struct request *request, uint64_t old);
/* Writes memory directly, past all buffers; a word on a stack only while its frame is
 * live. */
void world_write(uint64_t *word, uint64_t value);

#endif /* CORES_WORLD_H */
