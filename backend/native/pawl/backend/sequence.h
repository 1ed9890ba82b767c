/* SPDX-License-Identifier: MIT */
/*
 * Restartable sequences (rseq(2)): code that a thread executes completely on one CPU
 * without being interrupted, or not at all. pawl/shards.h has the contract, and includes
 * this file. If the kernel preempts, moves or interrupts a thread between the labels 1
 * and 2, the thread continues at 4, the failure path; a failed check goes there, too. The
 * last store, just before 2, commits the sequence. Nothing here retries: a debugger that
 * steps through a sequence makes it fail once, and then gets past it.
 *
 * All conditions are checked inside: the CPU that the thread runs on, and whether the
 * lease of the shard there is LEASED(c, anybody). The seq-* mutants break these steps.
 *
 * The kernel reads the descriptor of the last sequence that a thread has entered, so the
 * descriptor must never be unmapped: there are no sequences in code for a shared library,
 * which may be unloaded. TSan does not know that threads on one CPU are ordered, and
 * would report a race.
 */
#ifndef PAWL_BACKEND_SEQUENCE_H
#define PAWL_BACKEND_SEQUENCE_H

#include <pawl/backend/debug.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)
/*
 * The address of this thread's rseq area, 32 bytes that the kernel keeps up to date: at 8
 * the descriptor of its sequence, at 4 the CPU's number, at 24 the concurrency id. Plus 1
 * if shards are chosen by the concurrency id. PAWL_NO_PLACE_ before the thread's first
 * use of leases, and always if it has no sequences. Initial-exec, as in backend/thread.h.
 */
extern __thread uint64_t pawl_sequence_ __attribute__((tls_model("initial-exec")));
#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#define PAWL_NO_PLACE_ ((uint64_t)1)

#if defined(PAWL_PLAYED) || defined(PAWL_UNDER_TSAN) || defined(PAWL_NO_SEQUENCES) || \
	(defined(__PIC__) && !defined(__PIE__))
#define PAWL_SEQUENCES 0
#elif defined(__x86_64__) && defined(__LP64__)
#define PAWL_SEQUENCES 1
#include <pawl/backend/arch/x86_64_sequence.h>
#elif defined(__aarch64__)
#define PAWL_SEQUENCES 1
#include <pawl/backend/arch/aarch64_sequence.h>
#else
#define PAWL_SEQUENCES 0
#endif

#if PAWL_SEQUENCES
/*
 * The descriptor of a sequence from 1 to 2 with its failure path 4. The CPU's file has
 * the signature that the kernel requires before 4, the jump, and the code that enters a
 * sequence.
 */
#define PAWL_SEQUENCE_DESCRIBE_(failed)                               \
	".pushsection __rseq_cs, \"aw\"\n\t"                          \
	".balign 32\n\t"                                              \
	"3: .long 0, 0\n\t"                                           \
	".quad 1f, 2f - 1f, 4f\n\t"                                   \
	".popsection\n\t"                                             \
	".pushsection __rseq_failure, \"ax\"\n\t" PAWL_SEQUENCE_MARK_ \
	"4: " PAWL_SEQUENCE_JUMP_ failed "\n\t"                       \
	".popsection\n\t"

static inline uint64_t pawl_sequence_place_(void)
{
	return pawl_sequence_;
}

/*
 * The three sequences, each by CPU number and by concurrency id. If the thread loses its
 * rseq area, the CPU's number becomes negative (I5), but the concurrency id becomes 0, a
 * valid one: so the second form checks both.
 */
#define PAWL_SEQUENCE_ADD_HERE_(number)                                                 \
	__asm__ goto(                                                                   \
		PAWL_SEQUENCE_DESCRIBE_("%l[failed]")                                   \
			PAWL_SEQUENCE_ENTER_ number("%l[failed]")                       \
				PAWL_SEQUENCE_FIND_ PAWL_SEQUENCE_ADD_                  \
		:                                                                       \
		: PAWL_SEQUENCE_INPUTS_(PAWL_COUNTER_SHIFT), [n] PAWL_SEQUENCE_ADDEND_( \
								     n)                 \
		: PAWL_SEQUENCE_CLOBBERS_                                               \
		: failed)
#define PAWL_SEQUENCE_POP_HERE_(number)                                             \
	__asm__ __volatile__(PAWL_SEQUENCE_DESCRIBE_("6f")                          \
				     PAWL_SEQUENCE_ENTER_ number("6f")              \
					     PAWL_SEQUENCE_FIND_ PAWL_SEQUENCE_POP_ \
			     : [slot] "=&r"(slot)                                   \
			     : PAWL_SEQUENCE_INPUTS_(PAWL_SLOTS_SHIFT)              \
			     : PAWL_SEQUENCE_CLOBBERS_)
#define PAWL_SEQUENCE_PUSH_HERE_(number)                                     \
	__asm__ goto(PAWL_SEQUENCE_DESCRIBE_("%l[failed]")                   \
			     PAWL_SEQUENCE_ENTER_ number("%l[failed]")       \
				     PAWL_SEQUENCE_FIND_ PAWL_SEQUENCE_PUSH_ \
		     :                                                       \
		     : PAWL_SEQUENCE_INPUTS_(PAWL_SLOTS_SHIFT),              \
		       [room] "i"(PAWL_SLOTS_ROOM), [slot] "r"(slot)         \
		     : PAWL_SEQUENCE_CLOBBERS_                               \
		     : failed)

static inline __attribute__((always_inline)) bool pawl_sequence_add_(uint64_t place,
								     char *const *own,
								     uint64_t n)
{
	uint64_t area = place;

	if (__builtin_expect((place & 1) == 0, true)) {
		PAWL_SEQUENCE_ADD_HERE_(PAWL_SEQUENCE_CPU_);
		return true;
	}
	if (place != PAWL_NO_PLACE_) {
		area--;
		PAWL_SEQUENCE_ADD_HERE_(PAWL_SEQUENCE_CID_);
		return true;
	}
failed:
	return false;
}

static inline __attribute__((always_inline)) uint64_t pawl_sequence_pop_(uint64_t place,
									 char *const *own)
{
	uint64_t area = place,
		 slot = UINT32_MAX; /* 64 bits wide, to save callers a move */

	if (__builtin_expect((place & 1) == 0, true)) {
		PAWL_SEQUENCE_POP_HERE_(PAWL_SEQUENCE_CPU_);
	} else if (place != PAWL_NO_PLACE_) {
		area--;
		PAWL_SEQUENCE_POP_HERE_(PAWL_SEQUENCE_CID_);
	}
	return slot;
}

static inline __attribute__((always_inline)) bool pawl_sequence_push_(uint64_t place,
								      char *const *own,
								      uint32_t slot)
{
	uint64_t area = place;

	if (__builtin_expect((place & 1) == 0, true)) {
		PAWL_SEQUENCE_PUSH_HERE_(PAWL_SEQUENCE_CPU_);
		return true;
	}
	if (place != PAWL_NO_PLACE_) {
		area--;
		PAWL_SEQUENCE_PUSH_HERE_(PAWL_SEQUENCE_CID_);
		return true;
	}
failed:
	return false;
}
#else
static inline uint64_t pawl_sequence_place_(void)
{
	return PAWL_NO_PLACE_;
}

static inline bool pawl_sequence_add_(uint64_t place, char *const *own, uint64_t n)
{
	(void)place, (void)own, (void)n;
	return false;
}

static inline uint32_t pawl_sequence_pop_(uint64_t place, char *const *own)
{
	(void)place, (void)own;
	return UINT32_MAX;
}

static inline bool pawl_sequence_push_(uint64_t place, char *const *own, uint32_t slot)
{
	(void)place, (void)own, (void)slot;
	return false;
}
#endif

#endif /* PAWL_BACKEND_SEQUENCE_H */
