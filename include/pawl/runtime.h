/* SPDX-License-Identifier: MIT */
/*
 * pawl/runtime.h - what exists once per process and is shared by all locks of
 * a kind: waiting arrays, the supply of hapax values, queue nodes.
 */
#ifndef PAWL_RUNTIME_H
#define PAWL_RUNTIME_H

#include <pawl/thread.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/*
 * Waiting arrays of PAWL_WAITING_SLOTS, all zero at start. One for each protocol: the algorithms
 * read different things into a slot and must never share one.
 */
extern pawl_atomic64 pawl_twa_slots_[];
extern pawl_atomic64 pawl_hapax_slots_[];
extern pawl_atomic64 pawl_hapax_vw_slots_[];

/*
 * Returns a value that is not 0, and that nobody else has or will be given; nor
 * those that follow it, up to the next multiple of 1 << PAWL_HAPAX_BLOCK_BITS.
 * Ends the process with a sentence when 64 bits are used up.
 */
uint64_t pawl_hapax_block_(void);

/* Where blocks of values are counted: in one place, or by CPU, by NUMA node, or
 * wherever chance has it. */
enum pawl_lanes { PAWL_LANES_ONE, PAWL_LANES_CPU, PAWL_LANES_NODE, PAWL_LANES_RANDOM };

/*
 * For experiments, at any time: from now on, blocks are counted so, and each has
 * `size` values, 1 to 1 << PAWL_HAPAX_BLOCK_BITS. Returns 0 or EINVAL.
 */
int pawl_hapax_supply(enum pawl_lanes from, unsigned size);

/*
 * What waiters of hapax locks leave behind when they give up while somebody waits
 * behind them: records, in lists by lock. All zero at start.
 */
struct pawl_hapax_gone {
	PAWL_SEQUESTER pawl_atomic64 count; /* of records: waiters look at it */
	__attribute__((aligned(64))) pawl_atomic64 guard; /* of the list */
	struct pawl_node *first;
};
extern struct pawl_hapax_gone pawl_hapax_gone_[];

/* Empties it, in the child of a fork. */
void pawl_hapax_forget_(void);

/*
 * Queue node of mcs, clh, cna and cohort, and record of hapax. A thread keeps a list
 * of free ones, which its exit returns to the store of all threads.
 */
struct pawl_node {
	PAWL_SEQUESTER pawl_atomic64 next; /* who is behind us */
	pawl_atomic64 ready;		   /* set when the wait is over */
	/* hapax: who left, whom it waited for; cohort, cna: what goes with the lock. */
	uint64_t value, ahead;
	/* Link in a thread's free list, of records, or of those passed over. */
	struct pawl_node *free_next;
	uint64_t free_depth; /* nodes in a thread's free list from here on */
	uint32_t home;	     /* cna, cohort: of who waits */
	uint32_t streak;     /* cna, cohort: since when the lock stays at home */
	struct pawl_node *aside, *last; /* cna: who was passed over */
	uint32_t here, looks;		/* of pawl_node_home_ */
};

/* How many a thread keeps: it may release more locks than it takes. */
enum { PAWL_NODES_KEPT = 64 };

/* Returns a node from the store; ends the process if there is no memory. */
struct pawl_node *pawl_node_new_(void);
/* Gives a node back to the store. */
void pawl_node_free_(struct pawl_node *node);

/* Ends a thread's dealings with pawl: waits for mailboxes that others still
 * have to empty, and frees its nodes. Called by the back end. */
void pawl_thread_exit_(struct pawl_thread *self);

/* Says on stderr which rule was broken, in one sentence, and aborts. */
void pawl_die_(const char *sentence) __attribute__((noreturn, cold));

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

/* Where records of this lock's waiters are. */
static inline struct pawl_hapax_gone *pawl_hapax_gone_of_(const volatile void *lock)
{
	struct pawl_hapax_gone *gone;

	pawl_raw_find(pawl_hapax_gone_, gone);
	return &gone[pawl_hash(pawl_address(lock), PAWL_GONE_BITS)];
}

/* Takes a node from this thread's list, or from the store if that is empty. */
static inline struct pawl_node *pawl_node_get_(void)
{
	struct pawl_thread *self = pawl_self();
	struct pawl_node *node = self->free_nodes;

	if (__builtin_expect(node == NULL, false))
		return pawl_node_new_();
	self->free_nodes = node->free_next;
	return node;
}

/* The home of the thread that took this one from its list; it may have been elsewhere
 * when somebody last asked. */
static inline uint32_t pawl_node_home_(struct pawl_node *node)
{
	if (__builtin_expect(node->looks == 0, false)) {
		node->here = pawl_numa_node();
		node->looks = PAWL_NUMA_LOOKS;
	}
	node->looks--;
	return node->here;
}

/*
 * Puts a node on this thread's list; or into the store, if that is long already, or
 * if no exit of this thread will empty it: it has never taken a node, or is past
 * its exit.
 */
static inline void pawl_node_put_(struct pawl_node *node)
{
	struct pawl_thread *self = pawl_self();
	struct pawl_node *first = self->free_nodes;
	uint64_t depth = first != NULL ? first->free_depth + 1 : 1;

	if (__builtin_expect(!self->exit_arranged || self->exited ||
				     depth > PAWL_NODES_KEPT,
			     false)) {
		pawl_node_free_(node);
		return;
	}
	node->free_depth = depth;
	node->free_next = first;
	self->free_nodes = node;
}

#endif /* PAWL_RUNTIME_H */
