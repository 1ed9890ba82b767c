/* SPDX-License-Identifier: MIT */
/*
 * The thread seam as calls into the simulator. Sizes are variables: the checker
 * wants collisions and block edges, the coherence simulator wants the real ones.
 */
#ifndef PAWL_BACKEND_THREAD_H
#define PAWL_BACKEND_THREAD_H

#define PAWL_WAITING_SLOTS	 sim_waiting_slots
#define PAWL_HAPAX_BLOCK_BITS	 sim_hapax_block_bits
#define PAWL_GONE_BITS		 1
#define PAWL_MUTEX_BYPASS	 sim_mutex_bypass
#define PAWL_MUTEX_NAPS		 (sim_mutex_polls ? 1 : 0)
#define PAWL_MUTEX_TRIES	 (sim_mutex_polls ? 1 : 0)
#define PAWL_MUTEX_WATCHED	 (sim_mutex_polls ? 2u : 0u)
#define PAWL_RWLOCK_NAPS	 0
#define PAWL_RWLOCK_FENCED_AFTER sim_rwlock_fenced_after
#define PAWL_RWLOCK_BIASED_AFTER sim_rwlock_biased_after
#define PAWL_READS_BITS		 1

static inline struct pawl_thread *pawl_self(void)
{
	return (struct pawl_thread *)sim_self();
}

static inline bool pawl_one_in(unsigned n)
{
	return sim_one_in(n);
}

/* Polling is not worth simulating: whoever would poll, waits at once. */
static inline void pawl_spin_begin(struct pawl_spin *spin, uint64_t ns)
{
	(void)spin, (void)ns;
}

static inline bool pawl_spin_again(struct pawl_spin *spin)
{
	(void)spin;
	return false;
}

static inline uint64_t pawl_spin_look(struct pawl_spin *spin, const pawl_atomic64 *w)
{
	(void)spin;
	return sim_load(&w->raw, SIM_RELAXED);
}

static inline enum pawl_pace pawl_spin_pace(struct pawl_spin *spin, uint64_t sections)
{
	(void)spin, (void)sections;
	return PAWL_PACE_SLOW;
}

static inline bool pawl_spin_told(const pawl_atomic64 *w, uint64_t value)
{
	(void)w, (void)value;
	return false;
}

static inline void pawl_spin_woken(uint64_t told)
{
	(void)told;
}

static inline uint64_t pawl_wake_cost(void)
{
	return 1;
}

static inline void pawl_spin_while(const pawl_atomic64 *w, uint64_t value, uint64_t ns)
{
	(void)ns;
	sim_await(SIM_AWAIT_CHANGE, (uint64_t *)&w->raw, value, 0, SIM_RELAXED);
}

/* The engine knows CPUs; a thread that is bound to none is told so. */
static inline uint64_t pawl_cpu_now(const uint32_t *told)
{
	return told != NULL ? *told : sim_cpu();
}

static inline void pawl_at_thread_exit(void)
{
	pawl_self()->exit_arranged = true;
}

#endif /* PAWL_BACKEND_THREAD_H */
