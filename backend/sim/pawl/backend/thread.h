/* SPDX-License-Identifier: MIT */
/*
 * The thread seam as calls into the simulator. The names of what the runtime
 * supplies are redirected, so that simulated and native locks can live in one
 * program. Sizes are variables: the checker wants collisions and block edges,
 * the coherence simulator wants the real ones.
 */
#ifndef PAWL_BACKEND_THREAD_H
#define PAWL_BACKEND_THREAD_H

#define PAWL_WAITING_SLOTS    sim_waiting_slots
#define PAWL_HAPAX_BLOCK_BITS sim_hapax_block_bits

#define pawl_twa_slots	      sim_twa_slots
#define pawl_hapax_slots      sim_hapax_slots
#define pawl_hapax_vw_slots   sim_hapax_vw_slots
#define pawl_hapax_block      sim_hapax_block
#define pawl_node_new	      sim_node_new
#define pawl_node_free	      sim_node_free
#define pawl_thread_exit      sim_thread_exit
#define pawl_die	      sim_die

static inline struct pawl_thread *pawl_self(void)
{
	return (struct pawl_thread *)sim_self();
}

static inline bool pawl_one_in(unsigned n)
{
	return sim_one_in(n);
}

static inline void pawl_at_thread_exit(void)
{
	pawl_self()->exit_arranged = true;
}

#endif /* PAWL_BACKEND_THREAD_H */
