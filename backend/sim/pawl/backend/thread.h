/* SPDX-License-Identifier: MIT */
/*
 * The thread seam as calls into the simulator. Sizes are variables: the checker
 * wants collisions and block edges, the coherence simulator wants the real ones.
 */
#ifndef PAWL_BACKEND_THREAD_H
#define PAWL_BACKEND_THREAD_H

#define PAWL_WAITING_SLOTS    sim_waiting_slots
#define PAWL_HAPAX_BLOCK_BITS sim_hapax_block_bits
#define PAWL_GONE_BITS	      1
#define PAWL_MUTEX_BYPASS     sim_mutex_bypass

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
