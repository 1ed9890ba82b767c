/* SPDX-License-Identifier: MIT */
/*
 * Restartable sequences on aarch64: the parts that backend/sequence.h combines. x16
 * becomes the shard. ldar: the sequence sees what was done under a lease before the shard
 * became LEASED(c, anybody); stlr: a count is never visible before the slot it counts.
 * 0xd428bc00 is the signature that the kernel requires before a failure path. That path
 * may be out of range for a conditional branch, so a pop that fails a check branches to
 * its own end.
 */
#define PAWL_SEQUENCE_MARK_	".inst 0xd428bc00\n\t"
#define PAWL_SEQUENCE_JUMP_	"b "
#define PAWL_SEQUENCE_CLOBBERS_ "x15", "x16", "x17", "memory", "cc"
#define PAWL_SEQUENCE_ADDEND_	"r"

/* Enters a sequence; then loads the number of the shard. */
#define PAWL_SEQUENCE_ENTER_         \
	"adrp x16, 3b\n\t"           \
	"add x16, x16, :lo12:3b\n\t" \
	"str x16, [%[area], #8]\n\t" \
	"1:\n\t"
#define PAWL_SEQUENCE_CPU_(failed) "ldrsw x16, [%[area], #4]\n\t"
/* The id, or -1 if the CPU's number is negative. */
#define PAWL_SEQUENCE_CID_(failed)      \
	"ldrsw x17, [%[area], #4]\n\t"  \
	"ldrsw x16, [%[area], #24]\n\t" \
	"orr x16, x16, x17, asr 31\n\t"

/* Computes the shard's address, and compares its lessee with `anybody`. */
#define PAWL_SEQUENCE_FIND_                      \
	"add x16, %[own], x16, lsl %[shift]\n\t" \
	"ldarh w17, [x16]\n\t"                   \
	"cmp w17, %w[anybody]\n\t"

#define PAWL_SEQUENCE_INPUTS_(shift_)                           \
	[area] "r"(area), [own] "r"(*own), [shift] "i"(shift_), \
		[anybody] "r"(PAWL_LEASE_ANYBODY), [first] "i"(PAWL_SHARD_FIRST)

#define PAWL_SEQUENCE_ADD_             \
	"b.ne %l[failed]\n\t"          \
	"ldr x17, [x16, %[first]]\n\t" \
	"add x17, x17, %[n]\n\t"       \
	"str x17, [x16, %[first]]\n\t" \
	"2:\n\t"

#define PAWL_SEQUENCE_POP_                        \
	"mov %w[slot], -1\n\t"                    \
	"b.ne 5f\n\t"                             \
	"add x16, x16, %[first]\n\t"              \
	"ldr x17, [x16]\n\t"                      \
	"cbz x17, 5f\n\t"                         \
	"add x15, x16, x17, lsl 2\n\t"            \
	"ldr w15, [x15, 4]\n\t"                   \
	"sub x17, x17, 1\n\t"                     \
	"stlr x17, [x16]\n\t"                     \
	"2: mov %w[slot], w15\n\t"                \
	".pushsection __rseq_failure, \"ax\"\n\t" \
	"6: mov %w[slot], -1\n\t"                 \
	"b 5f\n\t"                                \
	".popsection\n\t"                         \
	"5:\n\t"

#define PAWL_SEQUENCE_PUSH_            \
	"b.ne %l[failed]\n\t"          \
	"add x16, x16, %[first]\n\t"   \
	"ldr x17, [x16]\n\t"           \
	"cmp x17, %[room]\n\t"         \
	"b.hs %l[failed]\n\t"          \
	"add x15, x16, x17, lsl 2\n\t" \
	"str %w[slot], [x15, 8]\n\t"   \
	"add x17, x17, 1\n\t"          \
	"stlr x17, [x16]\n\t"          \
	"2:\n\t"
