/* SPDX-License-Identifier: MIT */
/* The threads of the checked program: fibers that ask the machine for things. */
#ifndef CORES_WORLD_H
#define CORES_WORLD_H

#include "machine.h"

/* Sets the program up and runs each thread until it first asks for something.
 * False, with a verdict, if that fails. */
bool world_start(const struct cores_program *program);
void world_stop(void);

/* Lets a thread go on, with this answer, until it asks for something again. */
void world_answer(int thread, uint64_t answer);
/* Has the handler interrupt it instead. */
void world_interrupt(int thread);

/* Whether this value ends a wait. */
bool world_wait_is_over(const struct request *request, uint64_t value);
/* What a read-modify-write leaves in a word that was `old`. */
uint64_t world_update(const struct request *request, uint64_t old);
/* Writes memory, past all buffers; a word of a stack only while its frame is there. */
void world_write(uint64_t *word, uint64_t value);

#endif /* CORES_WORLD_H */
