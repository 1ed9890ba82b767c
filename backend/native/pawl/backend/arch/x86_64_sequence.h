/* SPDX-License-Identifier: MIT */
/*
 * Restartable sequences on x86-64: what backend/sequence.h makes them of. rax becomes
 * the shard. Loads and stores are in order here, as all are on this CPU. 0x53053053 is
 * the mark that the kernel wants before where it takes a thread to; 6, in the same
 * place, is where a pop has failed.
 */
#define PAWL_SEQUENCE_MARK_	".byte 0x0f, 0xb9, 0x3d\n\t.long 0x53053053\n\t"
#define PAWL_SEQUENCE_JUMP_	"jmp "
#define PAWL_SEQUENCE_CLOBBERS_ "rax", "rcx", "memory", "cc"
#define PAWL_SEQUENCE_ADDEND_	"er"

/* Enters it, finds the shard, and looks whether it is anybody's. */
#define PAWL_SEQUENCE_ENTER_          \
	"leaq 3b(%%rip), %%rax\n\t"   \
	"movq %%rax, 4(%[place])\n\t" \
	"1: movq %[where], %%rax\n\t" \
	"movslq (%%rax), %%rax\n\t"   \
	"shlq %[shift], %%rax\n\t"    \
	"addq %[own], %%rax\n\t"      \
	"movl (%%rax), %%ecx\n\t"     \
	"andl %[mask], %%ecx\n\t"     \
	"cmpl %[anybody], %%ecx\n\t"

#define PAWL_SEQUENCE_INPUTS_(shift_)                                           \
	[place] "r"(place), [where] "m"(pawl_sequence_.where), [own] "m"(*own), \
		[shift] "i"(shift_), [mask] "i"(PAWL_LEASE_WHOSE),              \
		[anybody] "i"(PAWL_LEASE_ANYBODYS), [first] "i"(PAWL_SHARD_FIRST)

#define PAWL_SEQUENCE_ADD_                \
	"jne %l[failed]\n\t"              \
	"addq %[n], %c[first](%%rax)\n\t" \
	"2:\n\t"

#define PAWL_SEQUENCE_POP_                                 \
	"jne 6f\n\t"                                       \
	"movq %c[first](%%rax), %%rcx\n\t"                 \
	"subq $1, %%rcx\n\t"                               \
	"jb 6f\n\t"                                        \
	"movl %c[first] + 8(%%rax, %%rcx, 4), %[slot]\n\t" \
	"movq %%rcx, %c[first](%%rax)\n\t"                 \
	"2:\n\t"                                           \
	".pushsection __rseq_failure, \"ax\"\n\t"          \
	"6: movl $-1, %[slot]\n\t"                         \
	"jmp 5f\n\t"                                       \
	".popsection\n\t"                                  \
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
