/* SPDX-License-Identifier: MIT */
/*
 * Restartable sequences on aarch64; see backend/sequence.h. The kernel's area is 32
 * bytes, so aligned: its second word of 8 says which sequence the thread is in. x16 is
 * the shard. ldar: what was done under a lease, before the shard became everybody's,
 * is seen; stlr: a count is never ahead of what it counts.
 */
#define PAWL_SEQUENCES 1

/* As on x86-64; 0xd428bc00 is this CPU's mark. */
#define PAWL_SEQUENCE_BEGIN_(failed)              \
	".pushsection __rseq_cs, \"aw\"\n\t"      \
	".balign 32\n\t"                          \
	"3: .long 0, 0\n\t"                       \
	".quad 1f, 2f - 1f, 4f\n\t"               \
	".popsection\n\t"                         \
	".pushsection __rseq_failure, \"ax\"\n\t" \
	".inst 0xd428bc00\n\t"                    \
	"4: " failed "\n\t"                       \
	".popsection\n\t"                         \
	"adrp x16, 3b\n\t"                        \
	"add x16, x16, :lo12:3b\n\t"              \
	"str x16, [%[area], #8]\n\t"              \
	"1: ldr w16, [%[where]]\n\t"              \
	"add x16, %[own], x16, lsl %[shift]\n\t"  \
	"ldar w17, [x16]\n\t"                     \
	"and w17, w17, %w[mask]\n\t"              \
	"cmp w17, %w[anybody]\n\t"

#define PAWL_SEQUENCE_INPUTS_(shift_)                                           \
	[where] "r"(where), [area] "r"(where & ~(uint64_t)31), [own] "r"(*own), \
		[shift] "i"(shift_), [mask] "r"(PAWL_LEASE_WHOSE),              \
		[anybody] "r"(PAWL_LEASE_ANYBODYS), [first] "i"(PAWL_SHARD_FIRST)

static inline bool pawl_sequence_add_(uint64_t where, char *const *own, uint64_t n)
{
	__asm__ goto(PAWL_SEQUENCE_BEGIN_("b %l[failed]") "b.ne %l[failed]\n\t"
							  "ldr x17, [x16, %[first]]\n\t"
							  "add x17, x17, %[n]\n\t"
							  "str x17, [x16, %[first]]\n\t"
							  "2:\n\t"
		     :
		     : PAWL_SEQUENCE_INPUTS_(PAWL_COUNTER_SHIFT), [n] "r"(n)
		     : "x16", "x17", "memory", "cc"
		     : failed);
	return true;
failed:
	return false;
}

/* Its failures are branches to the end: where the kernel takes a thread to may be too
 * far away for those that depend on something. */
static inline uint32_t pawl_sequence_pop_(uint64_t where, char *const *own)
{
	uint32_t slot = UINT32_MAX;

	__asm__ __volatile__(PAWL_SEQUENCE_BEGIN_("b 5f") "b.ne 5f\n\t"
							  "add x16, x16, %[first]\n\t"
							  "ldr x17, [x16]\n\t"
							  "cbz x17, 5f\n\t"
							  "add x15, x16, x17, lsl 2\n\t"
							  "ldr w15, [x15, 4]\n\t"
							  "sub x17, x17, 1\n\t"
							  "stlr x17, [x16]\n\t"
							  "2: mov %w[slot], w15\n\t"
							  "5:\n\t"
			     : [slot] "+&r"(slot)
			     : PAWL_SEQUENCE_INPUTS_(PAWL_SLOTS_SHIFT)
			     : "x15", "x16", "x17", "memory", "cc");
	return slot;
}

static inline bool pawl_sequence_push_(uint64_t where, char *const *own, uint32_t slot)
{
	__asm__ goto(PAWL_SEQUENCE_BEGIN_("b %l[failed]") "b.ne %l[failed]\n\t"
							  "add x16, x16, %[first]\n\t"
							  "ldr x17, [x16]\n\t"
							  "cmp x17, %[room]\n\t"
							  "b.hs %l[failed]\n\t"
							  "add x15, x16, x17, lsl 2\n\t"
							  "str %w[slot], [x15, 8]\n\t"
							  "add x17, x17, 1\n\t"
							  "stlr x17, [x16]\n\t"
							  "2:\n\t"
		     :
		     : PAWL_SEQUENCE_INPUTS_(PAWL_SLOTS_SHIFT),
		       [room] "i"(PAWL_SLOTS_ROOM), [slot] "r"(slot)
		     : "x15", "x16", "x17", "memory", "cc"
		     : failed);
	return true;
failed:
	return false;
}
