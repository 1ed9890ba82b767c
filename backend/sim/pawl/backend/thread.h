/* SPDX-License-Identifier: MIT */
/*
 * The thread seam as calls into the simulator. Sizes are variables: the checker needs
 * small ones, for collisions and block ends, the coherence simulator the real ones.
 */
#ifndef PAWL_BACKEND_THREAD_H
#define PAWL_BACKEND_THREAD_H

#define PAWL_WAITING_SLOTS    sim_waiting_slots
#define PAWL_HAPAX_BLOCK_BITS sim_hapax_block_bits
#define PAWL_GONE_BITS	      1
#define PAWL_NUMA_STREAK      (sim_timed() ? 256u : 1u)
#define PAWL_NUMA_LOOKS	      (sim_timed() ? 64u : 1u)
#define PAWL_MUTEX_BYPASS     sim_mutex_bypass
#define PAWL_MUTEX_NAPS	      (sim_timed() ? 4 : sim_mutex_polls ? 1 : 0)
#define PAWL_MUTEX_SLICE      (sim_timed() ? 32u : sim_mutex_room ? 0u : PAWL_NEVER)
#define PAWL_MUTEX_TRIES      (sim_timed() ? 64 : sim_mutex_polls ? 1 : 0)
#define PAWL_MUTEX_WATCHED    (sim_timed() ? 1024u : sim_mutex_polls ? 2u : 0u)
#define PAWL_RWLOCK_NAPS      0
#define PAWL_RWLOCK_LOOK      sim_rwlock_look
#define PAWL_RWLOCK_CLOCK     sim_rwlock_look
#define PAWL_RWLOCK_QUIET     1u
#define PAWL_READS_BITS	      1
#define PAWL_READS_CHUNK      2
#define PAWL_READS_CHUNKS     2

static inline struct pawl_thread *pawl_self(void)
{
	return (struct pawl_thread *)sim_self();
}

static inline uint64_t pawl_thread_id(void)
{
	return pawl_address(pawl_self());
}

static inline bool pawl_one_in(unsigned n)
{
	return sim_one_in(n);
}

/* The shipped functions, of src/sleep/spin.c, which need a clock. */
void sim_spin_begin(struct pawl_spin *spin, uint64_t ns);
bool sim_spin_again(struct pawl_spin *spin);
bool sim_spin_change(struct pawl_spin *spin, const pawl_atomic64 *w, uint64_t seen);
uint64_t sim_spin_look(struct pawl_spin *spin, const pawl_atomic64 *w);
enum pawl_pace sim_spin_pace(struct pawl_spin *spin, uint64_t sections);
bool sim_spin_told(const pawl_atomic64 *w, uint64_t value);
void sim_spin_woken(uint64_t told);
uint64_t sim_wake_cost(void);
void sim_spin_while(const pawl_atomic64 *w, uint64_t value, uint64_t ns);
void sim_spin_past(const pawl_atomic64 *w, uint64_t value);

#ifdef SIM_SPIN /* spin.c itself */

#define pawl_spin_begin	 sim_spin_begin
#define pawl_spin_again	 sim_spin_again
#define pawl_spin_change sim_spin_change
#define pawl_spin_look	 sim_spin_look
#define pawl_spin_pace	 sim_spin_pace
#define pawl_spin_told	 sim_spin_told
#define pawl_spin_woken	 sim_spin_woken
#define pawl_wake_cost	 sim_wake_cost
#define pawl_spin_while	 sim_spin_while
#define pawl_spin_past	 sim_spin_past

static inline void pawl_arch_pause(void)
{
	sim_pause();
}

static inline void pawl_arch_wait_while(const uint64_t *p, uint64_t seen)
{
	(void)p, (void)seen;
	sim_pause();
}

#else

/* The checker has no clock, and does not explore polling: a thread that would poll
 * waits at once. */
static inline void pawl_spin_begin(struct pawl_spin *spin, uint64_t ns)
{
	if (sim_timed())
		sim_spin_begin(spin, ns);
}

static inline bool pawl_spin_again(struct pawl_spin *spin)
{
	return sim_timed() && sim_spin_again(spin);
}

static inline bool pawl_spin_change(struct pawl_spin *spin, const pawl_atomic64 *w,
				    uint64_t seen)
{
	return sim_timed() && sim_spin_change(spin, w, seen);
}

static inline uint64_t pawl_spin_look(struct pawl_spin *spin, const pawl_atomic64 *w)
{
	return sim_timed() ? sim_spin_look(spin, w) : sim_load(&w->raw, SIM_RELAXED);
}

static inline enum pawl_pace pawl_spin_pace(struct pawl_spin *spin, uint64_t sections)
{
	return sim_timed() ? sim_spin_pace(spin, sections) : PAWL_PACE_SLOW;
}

static inline bool pawl_spin_told(const pawl_atomic64 *w, uint64_t value)
{
	return sim_timed() && sim_spin_told(w, value);
}

static inline void pawl_spin_woken(uint64_t told)
{
	if (sim_timed())
		sim_spin_woken(told);
}

static inline uint64_t pawl_wake_cost(void)
{
	return sim_timed() ? sim_wake_cost() : 1;
}

static inline void pawl_spin_while(const pawl_atomic64 *w, uint64_t value, uint64_t ns)
{
	if (sim_timed())
		sim_spin_while(w, value, ns);
	else
		sim_await(SIM_AWAIT_CHANGE, (uint64_t *)&w->raw, value, 0, SIM_RELAXED);
}

static inline void pawl_spin_past(const pawl_atomic64 *w, uint64_t value)
{
	if (sim_timed())
		sim_spin_past(w, value);
	else
		sim_await(SIM_AWAIT_NE, (uint64_t *)&w->raw, value, 0, SIM_RELAXED);
}

#endif /* SIM_SPIN */

/* The simulator knows the CPU; *told is the number of a thread that is bound to none. */
static inline uint64_t pawl_cpu_now(const uint32_t *told)
{
	return told != NULL ? *told : sim_cpu();
}

static inline unsigned pawl_numa_node(void)
{
	return sim_node();
}

static inline void pawl_at_thread_exit(void)
{
	pawl_self()->exit_arranged = true;
}

#endif /* PAWL_BACKEND_THREAD_H */
