/* SPDX-License-Identifier: MIT */
/*
 * pawl/runtime.h - per-process state that all locks of a kind share: waiting
 * arrays, the supply of hapax values, queue nodes.
 */
#ifndef PAWL_RUNTIME_H
#define PAWL_RUNTIME_H

#include <pawl/thread.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/*
 * Waiting arrays of PAWL_WAITING_SLOTS, all zero at start. One for each protocol: a
 * slot's value means something else to each algorithm, so they must not share one.
 */
extern pawl_atomic64 pawl_twa_slots_[];
extern pawl_atomic64 pawl_hapax_slots_[];
extern pawl_atomic64 pawl_hapax_vw_slots_[];

/*
 * Returns the first of a block of values, up to the next multiple of
 * 1 << PAWL_HAPAX_BLOCK_BITS, that are not 0 and that no other call has returned or
 * will return. Ends the process with a message when 64 bits are used up.
 */
uint64_t pawl_hapax_block_(void);

/* Which counter a block is drawn from: one for all, or one per CPU, per NUMA node, or a
 * random one. */
enum pawl_lanes { PAWL_LANES_ONE, PAWL_LANES_CPU, PAWL_LANES_NODE, PAWL_LANES_RANDOM };

/*
 * For experiments, at any time: from now on, blocks are drawn from these counters and
 * have `size` values, 1 to 1 << PAWL_HAPAX_BLOCK_BITS. Returns 0 or EINVAL.
 */
int pawl_hapax_supply(enum pawl_lanes from, unsigned size);

/*
 * Records of hapax waiters that timed out while a successor waited for them, in lists
 * by lock. All zero at start.
 */
struct pawl_hapax_gone {
	PAWL_SEQUESTER pawl_atomic64 count; /* of records; waiters poll it */
	__attribute__((aligned(64))) pawl_atomic64 guard; /* protects the list */
	struct pawl_node *first;
};
extern struct pawl_hapax_gone pawl_hapax_gone_[];

/* Empties all lists, in the child of a fork. */
void pawl_hapax_forget_(void);

/*
 * Queue node of mcs, clh, cna and cohort, and record of hapax. A thread keeps a list
 * of free nodes; its exit returns them to the process-wide store.
 */
struct pawl_node {
	PAWL_SEQUESTER pawl_atomic64 next; /* the successor */
	pawl_atomic64 ready;		   /* set when the wait is over */
	/* hapax: the waiter that timed out, its predecessor; cohort, cna: state that the
	 * holder hands over with the lock. */
	uint64_t value, ahead;
	/* Link in a thread's free list, a list of records, or cna's runs aside. */
	struct pawl_node *free_next;
	uint64_t free_depth; /* nodes in a thread's free list from here on */
	uint32_t home;	     /* cna, cohort: LLC of the waiter */
	uint32_t streak;     /* cna, cohort: hand-overs in a row within one LLC */
	struct pawl_node *aside, *last; /* cna: the waiters that were passed over */
	uint32_t here, looks;		/* cache of pawl_node_home_: LLC, uses left */
};

/* Longest free list of a thread. Without a limit, a thread that releases more locks
 * than it takes would collect nodes. */
enum { PAWL_NODES_KEPT = 64 };

/* Returns a node from the store; ends the process if there is no memory. */
struct pawl_node *pawl_node_new_(void);
/* Returns a node to the store. */
void pawl_node_free_(struct pawl_node *node);

/* Cleans up after a thread: waits until other threads have emptied its mailboxes, and
 * frees its nodes. Called by the back end. */
void pawl_thread_exit_(struct pawl_thread *self);

/* Prints a sentence that says which rule was broken to stderr, and aborts. */
void pawl_die_(const char *sentence) __attribute__((noreturn, cold));

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

/* The list that has the records of this lock's waiters. */
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

/* The LLC of the thread that uses this node. May be out of date: it is read again every
 * PAWL_NUMA_LOOKS calls only. */
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
 * Puts a node on this thread's list; or into the store, if the list is full or if no
 * exit handler of this thread will empty it, because the thread has never taken a node
 * or is past its exit.
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
