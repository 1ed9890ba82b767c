/* SPDX-License-Identifier: MIT */
/*
 * Restartable sequences (rseq(2)): pieces of code that a thread gets through in one
 * go on its CPU, or not at all. pawl/shards.h has the contract, and includes this
 * file. The kernel takes a thread that it preempts, moves or interrupts between 1 and
 * 2 to 4, where a sequence has failed; so has it where anything is not as it should
 * be. The last store, just before 2, is what makes the rest count. Nothing here starts
 * over: a debugger that steps through fails once, and is through.
 *
 * The kernel reads what describes the sequence whenever it looks at a thread that has
 * been in one, so that must never be unmapped: no sequences in code for a shared
 * library, which may be. TSan does not know that threads on one CPU follow each other,
 * and would report a race.
 */
#ifndef PAWL_BACKEND_SEQUENCE_H
#define PAWL_BACKEND_SEQUENCE_H

#include <pawl/backend/debug.h>

#if defined(PAWL_PLAYED) || defined(PAWL_UNDER_TSAN) || defined(PAWL_NO_SEQUENCES) || \
	(defined(__PIC__) && !defined(__PIE__))
#define PAWL_SEQUENCES 0
#elif defined(__x86_64__) && defined(__LP64__)
#include <pawl/backend/arch/x86_64_sequence.h>
#elif defined(__aarch64__)
#include <pawl/backend/arch/aarch64_sequence.h>
#else
#define PAWL_SEQUENCES 0
#endif

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)
/* Where this thread is told its CPU, in the kernel's area; 0: nothing may be done by
 * sequences. Initial-exec, as in backend/thread.h. Others store 0 while a process
 * forks. */
extern __thread pawl_atomic64 pawl_sequence_where_
	__attribute__((tls_model("initial-exec")));
#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

/* Relaxed, here and below: who stores 0 then ends all sequences. */
static inline bool pawl_sequence_granted_(void)
{
	return pawl_load_relaxed(&pawl_sequence_where_) != 0;
}

#if PAWL_SEQUENCES
static inline uint64_t pawl_sequence_place_(void)
{
	return pawl_load_relaxed(&pawl_sequence_where_); /* Relaxed. */
}
#else
static inline uint64_t pawl_sequence_place_(void)
{
	return 0;
}

static inline bool pawl_sequence_add_(uint64_t where, char *const *own, uint64_t n)
{
	(void)where, (void)own, (void)n;
	return false;
}

static inline uint32_t pawl_sequence_pop_(uint64_t where, char *const *own)
{
	(void)where, (void)own;
	return UINT32_MAX;
}

static inline bool pawl_sequence_push_(uint64_t where, char *const *own, uint32_t slot)
{
	(void)where, (void)own, (void)slot;
	return false;
}
#endif

#endif /* PAWL_BACKEND_SEQUENCE_H */
