/* SPDX-License-Identifier: MIT */
/*
 * Restartable sequences on x86-64; see backend/sequence.h. The kernel's area is 32
 * bytes, so aligned: its second word of 8 says which sequence the thread is in. rax is
 * the shard. Loads and stores are in order here, as all are on this CPU.
 */
#define PAWL_SEQUENCES 1

/* Describes the sequence, enters it, finds the shard, and looks whether it is
 * everybody's. 0x53053053 is the mark that the kernel wants before where it takes a
 * thread to. */
#define PAWL_SEQUENCE_BEGIN_(failed)              \
	".pushsection __rseq_cs, \"aw\"\n\t"      \
	".balign 32\n\t"                          \
	"3: .long 0, 0\n\t"                       \
	".quad 1f, 2f - 1f, 4f\n\t"               \
	".popsection\n\t"                         \
	".pushsection __rseq_failure, \"ax\"\n\t" \
	".byte 0x0f, 0xb9, 0x3d\n\t"              \
	".long 0x53053053\n\t"                    \
	"4: " failed "\n\t"                       \
	".popsection\n\t"                         \
	"leaq 3b(%%rip), %%rax\n\t"               \
	"movq %%rax, 8(%[area])\n\t"              \
	"1: movl (%[where]), %%eax\n\t"           \
	"shlq %[shift], %%rax\n\t"                \
	"addq %[own], %%rax\n\t"                  \
	"movl (%%rax), %%ecx\n\t"                 \
	"andl %[mask], %%ecx\n\t"                 \
	"cmpl %[anybody], %%ecx\n\t"

#define PAWL_SEQUENCE_INPUTS_(shift_)                                           \
	[where] "r"(where), [area] "r"(where & ~(uint64_t)31), [own] "m"(*own), \
		[shift] "i"(shift_), [mask] "i"(PAWL_LEASE_WHOSE),              \
		[anybody] "i"(PAWL_LEASE_ANYBODYS), [first] "i"(PAWL_SHARD_FIRST)

static inline bool pawl_sequence_add_(uint64_t where, char *const *own, uint64_t n)
{
	__asm__ goto(
		PAWL_SEQUENCE_BEGIN_("jmp %l[failed]") "jne %l[failed]\n\t"
						       "addq %[n], %c[first](%%rax)\n\t"
						       "2:\n\t"
		:
		: PAWL_SEQUENCE_INPUTS_(PAWL_COUNTER_SHIFT), [n] "er"(n)
		: "rax", "rcx", "memory", "cc"
		: failed);
	return true;
failed:
	return false;
}

static inline uint32_t pawl_sequence_pop_(uint64_t where, char *const *own)
{
	uint32_t slot;

	__asm__ __volatile__(
		PAWL_SEQUENCE_BEGIN_(
			"movl $-1, %[slot]\n\tjmp 5f") "jne 4b\n\t"
						       "movq %c[first](%%rax), %%rcx\n\t"
						       "subq $1, %%rcx\n\t"
						       "jb 4b\n\t"
						       "movl %c[first] + 8(%%rax, %%rcx, "
						       "4), %[slot]\n\t"
						       "movq %%rcx, %c[first](%%rax)\n\t"
						       "2:\n\t"
						       "5:\n\t"
		: [slot] "=&r"(slot)
		: PAWL_SEQUENCE_INPUTS_(PAWL_SLOTS_SHIFT)
		: "rax", "rcx", "memory", "cc");
	return slot;
}

static inline bool pawl_sequence_push_(uint64_t where, char *const *own, uint32_t slot)
{
	__asm__ goto(
		PAWL_SEQUENCE_BEGIN_("jmp %l[failed]") "jne %l[failed]\n\t"
						       "movq %c[first](%%rax), %%rcx\n\t"
						       "cmpq %[room], %%rcx\n\t"
						       "jae %l[failed]\n\t"
						       "movl %[slot], %c[first] + "
						       "8(%%rax, %%rcx, 4)\n\t"
						       "addq $1, %%rcx\n\t"
						       "movq %%rcx, %c[first](%%rax)\n\t"
						       "2:\n\t"
		:
		: PAWL_SEQUENCE_INPUTS_(PAWL_SLOTS_SHIFT), [room] "i"(PAWL_SLOTS_ROOM),
		  [slot] "r"(slot)
		: "rax", "rcx", "memory", "cc"
		: failed);
	return true;
failed:
	return false;
}
