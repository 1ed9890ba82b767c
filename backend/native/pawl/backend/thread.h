/* SPDX-License-Identifier: MIT */
/*
 * The thread seam on real hardware. Only pawl/thread.h includes this file,
 * which states the contract.
 */
#ifndef PAWL_BACKEND_THREAD_H
#define PAWL_BACKEND_THREAD_H

#define PAWL_WAITING_SLOTS    4096
#define PAWL_HAPAX_BLOCK_BITS 16
#define PAWL_GONE_BITS	      6
#define PAWL_NUMA_STREAK      256u
#define PAWL_NUMA_LOOKS	      64u
#define PAWL_MUTEX_BYPASS     (1 << 20)
#define PAWL_MUTEX_NAPS	      4
#define PAWL_MUTEX_SLICE      32u
#define PAWL_MUTEX_TRIES      64
#define PAWL_MUTEX_WATCHED    1024u
#define PAWL_RWLOCK_NAPS      7
#define PAWL_RWLOCK_LOOK      32u
#define PAWL_RWLOCK_CLOCK     512u
#define PAWL_RWLOCK_QUIET     4
#define PAWL_READS_BITS	      3
#define PAWL_READS_CHUNK      56
#define PAWL_READS_CHUNKS     16384

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)
#ifdef PAWL_PLAYED
/* A variable of the program, of which the checker keeps one instance per thread. */
__thread struct pawl_thread pawl_thread_played_ __attribute__((weak));
#endif
/* Initial-exec: its address takes one instruction and never a call. */
extern __thread struct pawl_thread pawl_thread_native_
	__attribute__((tls_model("initial-exec")));

void pawl_spin_begin(struct pawl_spin *spin, uint64_t ns);
bool pawl_spin_again(struct pawl_spin *spin);
bool pawl_spin_change(struct pawl_spin *spin, const pawl_atomic64 *w, uint64_t seen);
uint64_t pawl_spin_look(struct pawl_spin *spin, const pawl_atomic64 *w);
enum pawl_pace pawl_spin_pace(struct pawl_spin *spin, uint64_t sections);
bool pawl_spin_told(const pawl_atomic64 *w, uint64_t value);
void pawl_spin_woken(uint64_t told);
uint64_t pawl_wake_cost(void);
void pawl_spin_while(const pawl_atomic64 *w, uint64_t value, uint64_t ns);
void pawl_spin_past(const pawl_atomic64 *w, uint64_t value);
void pawl_at_thread_exit_native_(void);
uint64_t pawl_seed_native_(void);
unsigned pawl_current_cpu(void);
unsigned pawl_current_node(void);
unsigned pawl_numa_node_native_(void);
#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

static inline struct pawl_thread *pawl_self(void)
{
#ifdef PAWL_PLAYED
	return &pawl_thread_played_;
#else
	return &pawl_thread_native_;
#endif
}

static inline uint64_t pawl_thread_id(void)
{
#ifdef PAWL_PLAYED
	return pawl_address(pawl_self());
#else
	return pawl_arch_thread_pointer();
#endif
}

/* Marsaglia's xorshift64: its statistical quality is enough for coin tosses. */
static inline uint64_t pawl_random_native_(void)
{
	struct pawl_thread *self = pawl_self();
	uint64_t x = self->coin;

	if (__builtin_expect(x == 0, false))
		x = pawl_seed_native_();
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	self->coin = x;
	return x;
}

static inline bool pawl_one_in(unsigned n)
{
	return (pawl_random_native_() >> 32) % n == 0;
}

/*
 * A thread's rseq area is aligned to 32 bytes. Its second 32-bit word is the CPU's
 * number; the concurrency id is this many words behind that. A number that can be used
 * without a further check is at an odd word: the CPU's number, or a constant.
 */
#define PAWL_CID_BEHIND_CPU_	5
#define PAWL_IS_PLAIN_(address) (((address)&4) != 0)

static inline uint64_t pawl_cpu_now(const uint32_t *told)
{
	/* A concurrency id is 0 once the kernel has stopped updating it; the CPU's number
	 * is negative then. */
	if (__builtin_expect(PAWL_IS_PLAIN_((uintptr_t)told), true))
		return *(const volatile uint32_t *)told;
	if (told == NULL)
		return pawl_arch_cpu();
	if ((int32_t) * (const volatile uint32_t *)(told - PAWL_CID_BEHIND_CPU_) < 0)
		return UINT32_MAX;
	return *(const volatile uint32_t *)told;
}

static inline unsigned pawl_numa_node(void)
{
	return pawl_numa_node_native_();
}

static inline void pawl_at_thread_exit(void)
{
	if (__builtin_expect(!pawl_self()->exit_arranged, false))
		pawl_at_thread_exit_native_();
}

#endif /* PAWL_BACKEND_THREAD_H */
