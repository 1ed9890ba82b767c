/* SPDX-License-Identifier: MIT */
/*
 * Restartable sequences (rseq(2)): pieces of code that a thread gets through in one
 * go on its CPU, or not at all. pawl/shards.h has the contract, and includes this
 * file. The kernel takes a thread that it preempts, moves or interrupts between 1 and
 * 2 to 4, where a sequence has failed; so has it where anything is not as it should
 * be. The last store, just before 2, is what makes the rest count. Nothing here starts
 * over: a debugger that steps through fails once, and is through.
 *
 * All that decides is looked at inside: on which CPU the thread is, and whether the shard
 * there is anybody's. The back end's seq-* mutants are these steps.
 *
 * The kernel reads what describes the sequence whenever it looks at a thread that has
 * been in one, so that must never be unmapped: no sequences in code for a shared
 * library, which may be. TSan does not know that threads on one CPU follow each other,
 * and would report a race.
 */
#ifndef PAWL_BACKEND_SEQUENCE_H
#define PAWL_BACKEND_SEQUENCE_H

#include <pawl/backend/debug.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)
/*
 * Of a thread: where the kernel's area for it begins, of 32 bytes. The second word of 8
 * there says which sequence it is in, words of 4 its CPU's number and its concurrency id. If
 * shards are found by the latter, 1 more; PAWL_NO_PLACE_ before its first use of anything
 * here, and for ever if it has no sequences. Initial-exec, as in backend/thread.h.
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
 * Describes a sequence, from 1 to 2, and where the kernel takes a thread to from inside.
 * The CPU's file has the mark that it wants before that place, a jump, and what enters a
 * sequence of ours.
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
 * The three of them, each in two forms. Should the area be taken from the thread, its CPU's
 * number becomes negative (I5), but a concurrency id looks like any other: so who goes by that
 * looks at both.
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
		 slot = UINT32_MAX; /* not 32 bits, to spare a user a move */

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
