/* SPDX-License-Identifier: MIT */
/*
 * Per-CPU operations with hand-written restartable sequences: the upper bound for the
 * workloads idalloc, pool and counter. If the kernel preempts or migrates a thread
 * between labels 1 and 2, the thread continues at 4 and starts over; the last store, just
 * before 2, commits. x86-64 only, and only where glibc has registered the thread;
 * elsewhere rseq_there is false, as it is where pawl's own code has no sequences.
 */
#ifndef PAWL_BENCH_RSEQ_H
#define PAWL_BENCH_RSEQ_H

#include <pawl/shards.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#if defined(__x86_64__) && PAWL_SEQUENCES

extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned __rseq_size __attribute__((weak));

struct rseq_words {
	uint32_t cpu_id_start, cpu_id;
	uint64_t sequence;
};

static inline struct rseq_words *rseq_words(void)
{
	return (struct rseq_words *)((char *)__builtin_thread_pointer() + __rseq_offset);
}

/* Sequences index an array by the CPU's number, so it must have room for every CPU. */
static inline bool rseq_there(long room)
{
	return &__rseq_size != NULL && __rseq_size != 0 &&
	       sysconf(_SC_NPROCESSORS_CONF) <= room;
}

/* Enters the sequence that follows, if still on this CPU. */
#define RSEQ_BEGIN                           \
	PAWL_SEQUENCE_DESCRIBE_("%l[again]") \
	"leaq 3b(%%rip), %%rax\n\t"          \
	"movq %%rax, %[sequence]\n\t"        \
	"1: cmpl %[cpu], %[now]\n\t"         \
	"jnz %l[again]\n\t"

/* A stack is a count followed by its elements, `stride` bytes from CPU to CPU. */
static inline bool rseq_pop(void *stacks, size_t stride, uint64_t *out)
{
	struct rseq_words *words = rseq_words();
	uint32_t cpu;

again:
	cpu = *(volatile uint32_t *)&words->cpu_id;
	__asm__ goto(RSEQ_BEGIN "movq (%[stack]), %%rcx\n\t"
				"testq %%rcx, %%rcx\n\t"
				"jz %l[empty]\n\t"
				"movq (%[stack], %%rcx, 8), %%rdx\n\t"
				"movq %%rdx, (%[out])\n\t"
				"decq %%rcx\n\t"
				"movq %%rcx, (%[stack])\n\t"
				"2:\n\t"
		     :
		     : [sequence] "m"(words->sequence), [now] "m"(words->cpu_id),
		       [cpu] "r"(cpu), [stack] "r"((char *)stacks + cpu * stride),
		       [out] "r"(out)
		     : "rax", "rcx", "rdx", "memory", "cc"
		     : again, empty);
	return true;
empty:
	return false;
}

static inline bool rseq_push(void *stacks, size_t stride, uint64_t in, uint64_t room)
{
	struct rseq_words *words = rseq_words();
	uint32_t cpu;

again:
	cpu = *(volatile uint32_t *)&words->cpu_id;
	__asm__ goto(RSEQ_BEGIN "movq (%[stack]), %%rcx\n\t"
				"cmpq %[room], %%rcx\n\t"
				"jae %l[full]\n\t"
				"movq %[in], 8(%[stack], %%rcx, 8)\n\t"
				"incq %%rcx\n\t"
				"movq %%rcx, (%[stack])\n\t"
				"2:\n\t"
		     :
		     : [sequence] "m"(words->sequence), [now] "m"(words->cpu_id),
		       [cpu] "r"(cpu), [stack] "r"((char *)stacks + cpu * stride),
		       [in] "r"(in), [room] "r"(room)
		     : "rax", "rcx", "memory", "cc"
		     : again, full);
	return true;
full:
	return false;
}

/* Adds to the first word of the CPU's line. */
static inline void rseq_add(void *lines, size_t stride, uint64_t n)
{
	struct rseq_words *words = rseq_words();
	uint32_t cpu;

again:
	cpu = *(volatile uint32_t *)&words->cpu_id;
	__asm__ goto(
		RSEQ_BEGIN "addq %[n], (%[line])\n\t"
			   "2:\n\t"
		:
		: [sequence] "m"(words->sequence), [now] "m"(words->cpu_id),
		  [cpu] "r"(cpu), [line] "r"((char *)lines + cpu * stride), [n] "r"(n)
		: "rax", "memory", "cc"
		: again);
}

#else

static inline bool rseq_there(long room)
{
	(void)room;
	return false;
}

static inline bool rseq_pop(void *stacks, size_t stride, uint64_t *out)
{
	(void)stacks, (void)stride, (void)out;
	return false;
}

static inline bool rseq_push(void *stacks, size_t stride, uint64_t in, uint64_t room)
{
	(void)stacks, (void)stride, (void)in, (void)room;
	return false;
}

static inline void rseq_add(void *lines, size_t stride, uint64_t n)
{
	(void)lines, (void)stride, (void)n;
}

#endif

#endif /* PAWL_BENCH_RSEQ_H */
