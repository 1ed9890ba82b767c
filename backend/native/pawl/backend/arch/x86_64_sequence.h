/* SPDX-License-Identifier: MIT */
/*
 * Restartable sequences on x86-64: the parts that backend/sequence.h combines. rax
 * becomes the shard. This CPU keeps loads and stores in order. 0x53053053 is the
 * signature that the kernel requires before a failure path; 6, beside it, is the failure
 * path of a pop.
 */
#define PAWL_SEQUENCE_MARK_	".byte 0x0f, 0xb9, 0x3d\n\t.long 0x53053053\n\t"
#define PAWL_SEQUENCE_JUMP_	"jmp "
#define PAWL_SEQUENCE_CLOBBERS_ "rax", "rcx", "memory", "cc"
#define PAWL_SEQUENCE_ADDEND_	"er"

/* Enters a sequence; then loads the number of the shard. */
#define PAWL_SEQUENCE_ENTER_         \
	"leaq 3b(%%rip), %%rax\n\t"  \
	"movq %%rax, 8(%[area])\n\t" \
	"1:\n\t"
#define PAWL_SEQUENCE_CPU_(failed) "movslq 4(%[area]), %%rax\n\t"
#define PAWL_SEQUENCE_CID_(failed) \
	"cmpl $0, 4(%[area])\n\t"  \
	"js " failed "\n\t"        \
	"movslq 24(%[area]), %%rax\n\t"

/* Computes the shard's address, and compares its lessee with `anybody`. */
#define PAWL_SEQUENCE_FIND_         \
	"shlq %[shift], %%rax\n\t"  \
	"addq %[own], %%rax\n\t"    \
	"movzwl (%%rax), %%ecx\n\t" \
	"cmpl %[anybody], %%ecx\n\t"

#define PAWL_SEQUENCE_INPUTS_(shift_)                           \
	[area] "r"(area), [own] "m"(*own), [shift] "i"(shift_), \
		[anybody] "i"(PAWL_LEASE_ANYBODY), [first] "i"(PAWL_SHARD_FIRST)

#define PAWL_SEQUENCE_ADD_                \
	"jne %l[failed]\n\t"              \
	"addq %[n], %c[first](%%rax)\n\t" \
	"2:\n\t"

#define PAWL_SEQUENCE_POP_                                  \
	"jne 6f\n\t"                                        \
	"movq %c[first](%%rax), %%rcx\n\t"                  \
	"subq $1, %%rcx\n\t"                                \
	"jb 6f\n\t"                                         \
	"movl %c[first] + 8(%%rax, %%rcx, 4), %k[slot]\n\t" \
	"movq %%rcx, %c[first](%%rax)\n\t"                  \
	"2:\n\t"                                            \
	".pushsection __rseq_failure, \"ax\"\n\t"           \
	"6: movl $-1, %k[slot]\n\t"                         \
	"jmp 5f\n\t"                                        \
	".popsection\n\t"                                   \
	"5:\n\t"

#define PAWL_SEQUENCE_PUSH_                                \
	"jne %l[failed]\n\t"                               \
	"movq %c[first](%%rax), %%rcx\n\t"                 \
	"cmpq %[room], %%rcx\n\t"                          \
	"jae %l[failed]\n\t"                               \
	"movl %[slot], %c[first] + 8(%%rax, %%rcx, 4)\n\t" \
	"addq $1, %%rcx\n\t"                               \
	"movq %%rcx, %c[first](%%rax)\n\t"                 \
	"2:\n\t"
