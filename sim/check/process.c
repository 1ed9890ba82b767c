/* SPDX-License-Identifier: MIT */
/*
 * Scenarios of what a process has once and makes at its first use: the supply of hapax
 * values, queue nodes, the numbers of caches, the choice of the light fence, and the
 * interposer's barriers before a filter of system calls. The shipped files are compiled
 * here as they are, beside those that stand in for them elsewhere. Part of the simulated
 * world, like scenario.c.
 */
#define _GNU_SOURCE
#include "outside.h"

#include "../../src/os/os.h"

#include <sim/runtime.h>

#include <pawl/runtime.h>

#include <errno.h>
#include <setjmp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#undef pawl_hapax_block_
#undef pawl_node_new_
#undef pawl_node_free_
#undef pawl_os_reserve
#undef pawl_os_sleep
#undef pawl_die_
#undef pawl_heavy_fence_works
#define pawl_hapax_block_	 shipped_block
#define pawl_hapax_supply	 shipped_supply
#define pawl_node_new_		 shipped_node
#define pawl_node_free_		 shipped_node_free
#define pawl_nodes_forget	 shipped_nodes_forget
#define pawl_home_of		 shipped_home_of
#define pawl_numa_node_native_	 shipped_home
#define pawl_light_fence_full_	 shipped_light_fence_full
#define pawl_heavy_fence_native_ shipped_heavy_fence
#define pawl_heavy_fence_works	 shipped_heavy_fence_works
#define pawl_heavy_fence_cpu	 shipped_heavy_fence_cpu
#define pawl_heavy_fence_restart shipped_heavy_fence_restart
#define pawl_fence_stats	 shipped_fence_stats
#define pawl_fence_forget	 shipped_fence_forget
#define barrier_begin		 shipped_barrier_begin
#define barrier_end		 shipped_barrier_end
#define barrier_forked		 shipped_barrier_forked
#define syscall			 shipped_syscall
#define prctl			 shipped_prctl

/* What they ask of the system, and of each other. */
#define pawl_os_reserve		reserve
#define pawl_os_sleep		wait_for_barriers
#define pawl_os_barrier_prepare prepare_barrier
#define pawl_os_cache_of	cache_of
#define pawl_os_nodes		nodes_of_machine
#define pawl_os_node		node_of_thread
#define pawl_os_cpu		cpu_of_thread
#define pawl_current_cpu	cpu_of_thread
#define pawl_current_node	node_of_thread
#define pawl_random_native_	any_number
#define pawl_die_		end_thread
#define glibc			glibc_here

enum { THREADS = 3 };

/* Threads meet here; what is plain is checked for races. */
static struct scene {
	uint64_t got[THREADS]; /* atomic: what each thread got; 0 = nothing */
	uint64_t again[THREADS];
	uint64_t died[THREADS];
	uint64_t x, y, x_seen, y_seen, good;
	uint64_t ready;	   /* atomic: what the process has at first is there */
	uint64_t prepared; /* the system makes barriers */
	uint64_t filter;   /* plain: it does so no more, and ends the process */
} * scene;

static jmp_buf ends[THREADS];

_Noreturn void end_thread(const char *sentence);
_Noreturn void end_thread(const char *sentence)
{
	(void)sentence;
	sim_store(&scene->died[explore_thread()], 1, SIM_RELAXED);
	_longjmp(ends[explore_thread()], 1);
}

static bool refuses_memory;

void *reserve(size_t size)
{
	return refuses_memory ? NULL : explore_allocate(size, 128);
}

/* The system makes barriers from now on; getting ready, it makes one. */
bool prepare_barrier(void)
{
	sim_exchange(&scene->prepared, 1, SIM_SEQ_CST);
	sim_fence(SIM_FENCE_HEAVY);
	return true;
}

unsigned node_of_thread(void);
unsigned node_of_thread(void)
{
	return (unsigned)explore_thread();
}

unsigned cpu_of_thread(void);
unsigned cpu_of_thread(void)
{
	return (unsigned)explore_thread();
}

uint64_t any_number(void);
uint64_t any_number(void)
{
	return (uint64_t)explore_thread() << 32;
}

static unsigned machine_nodes;
static bool knows_caches, one_cache;

unsigned nodes_of_machine(void)
{
	return machine_nodes;
}

/* CPUs 0 and 1 share a cache, and 2 and 3. */
bool cache_of(unsigned cpu, unsigned *first, bool *all)
{
	*first = cpu / 2 * 2;
	*all = one_cache;
	return knows_caches;
}

#include <sync/hapax.c>
#include <sync/homes.c>
#include <sync/nodes.c>

#define constructor unused /* it is called by a scenario */
#include <sleep/fence.c>
#undef constructor

bool wait_for_barriers(const pawl_atomic64 *word, uint32_t expected,
		       const struct pawl_deadline *deadline);
#include <preload/filter.c>

/* Sleeps until all barriers are over: a shorter sleep would be another one. */
bool wait_for_barriers(const pawl_atomic64 *word, uint32_t expected,
		       const struct pawl_deadline *deadline)
{
	(void)word, (void)expected, (void)deadline;
	sim_await(SIM_AWAIT_EQ, &inside.raw, 0, 0, SIM_RELAXED);
	return false;
}

/* The call that brings the filter: from here on no barrier may be under way. */
static long install_filter(long option, ...)
{
	(void)option;
	scene->filter = 1;
	return 0;
}

static int install_filter_by_prctl(int option, ...)
{
	(void)option;
	scene->filter = 1;
	return 0;
}

const volatile struct glibc *glibc_here(void)
{
	static const struct glibc here = {.syscall = install_filter,
					  .prctl = install_filter_by_prctl};

	return &here;
}

/* A new process. */
OUTSIDE static void begin(void)
{
	__builtin_memset(find_lanes(), 0, LANES * sizeof(struct lane));
	__builtin_memset(homes, 0, sizeof(homes));
	__builtin_memset(&store, 0, sizeof(store));
	__builtin_memset(services, 0, sizeof(services));
	policy.raw = unused.raw = numbers.raw = 0;
	pawl_light_fence_full_ = 0; /* the light fence is chosen */
	aimed_below.raw = renounced.raw = inside.raw = 0;
	asking = false;
	refuses_memory = one_cache = false;
	knows_caches = true;
	machine_nodes = 1;
	sim_refuses = NULL;
	scene = explore_allocate(sizeof(*scene), 128);
	explore_label(scene, "scene");
}

static void set_up(void *argument)
{
	(void)argument;
	begin();
}

/* Atomics are zero at first: thread 0 stores what they are to be, and others wait. */
static void found(int thread, pawl_atomic64 *word, uint64_t value)
{
	if (thread == 0) {
		sim_store(&word->raw, value, SIM_RELAXED);
		sim_store(&scene->ready, 1, SIM_RELEASE);
	} else {
		sim_await(SIM_AWAIT_EQ, &scene->ready, 1, 0, SIM_ACQUIRE);
	}
}

static void get(int thread, uint64_t what)
{
	sim_store(&scene->got[thread], what, SIM_RELAXED);
}

/* Nobody got what another got. */
static void all_differ(void *argument)
{
	int i, k;

	(void)argument;
	for (i = 0; i < THREADS; i++)
		for (k = 0; k < i; k++)
			if (explore_final(&scene->got[i]) != 0 &&
			    explore_final(&scene->got[i]) ==
				    explore_final(&scene->got[k]))
				explore_fail(VERDICT_ASSERTION,
					     "threads %d and %d got the same", k, i);
}

static void draw_block(int thread)
{
	uint64_t block = pawl_hapax_block_() >> PAWL_HAPAX_BLOCK_BITS;

	if (block == 0)
		explore_fail(VERDICT_ASSERTION, "block 0 has a value that is none");
	get(thread, block);
}

/* blocks: each draws a block of hapax values; lane 0 has one block left. */
static const uint64_t lane_size = (UINT64_MAX >> 1) / LANES;

static void blocks_thread(void *argument, int thread)
{
	(void)argument;
	found(thread, &find_lanes()[0].used, lane_size - 1);
	if (thread == 0) {
		if (pawl_hapax_supply(PAWL_LANES_ONE, 0) != EINVAL ||
		    pawl_hapax_supply(PAWL_LANES_RANDOM + 1, 1) != EINVAL)
			explore_fail(VERDICT_ASSERTION, "no such supply");
		pawl_hapax_supply(PAWL_LANES_ONE, 1);
	}
	draw_block(thread);
}

/* lanes: the same from lanes that each thread chooses in another way. */
static void lanes_thread(void *argument, int thread)
{
	static const enum pawl_lanes ways[THREADS] = {PAWL_LANES_CPU, PAWL_LANES_NODE,
						      PAWL_LANES_RANDOM};

	(void)argument;
	pawl_hapax_supply(ways[thread], 1u << PAWL_HAPAX_BLOCK_BITS);
	draw_block(thread);
}

/* exhausted: no lane has a block left, so whoever wants one ends. */
static void exhausted_thread(void *argument, int thread)
{
	int i;

	(void)argument;
	for (i = 0; i < LANES; i++)
		sim_store(&find_lanes()[i].used.raw, lane_size, SIM_RELAXED);
	if (_setjmp(ends[thread]) == 0)
		get(thread, pawl_hapax_block_());
}

static void none_got(void *argument)
{
	(void)argument;
	if (explore_final(&scene->died[0]) == 0 || explore_final(&scene->got[0]) != 0)
		explore_fail(VERDICT_ASSERTION, "a block of a lane that has no more");
}

static void one_got(void *argument)
{
	uint64_t died = 0;
	int i, got = 0;

	all_differ(argument);
	for (i = 0; i < THREADS; i++)
		died += explore_final(&scene->died[i]);
	for (i = 0; i < THREADS; i++)
		got += explore_final(&scene->got[i]) != 0;
	if (got != 1 || died == 0)
		explore_fail(VERDICT_ASSERTION, "%d threads got the last one", got);
}

/* nodes: threads take queue nodes, write to them, put them back and take others; the
 * store is empty, or has a chunk with one node left. */
static void nodes_thread(void *argument, int thread)
{
	struct pawl_node *node = pawl_node_new_();

	(void)argument;
	node->free_depth = (uint64_t)thread;
	pawl_node_free_(node);
	node = pawl_node_new_();
	node->free_depth = (uint64_t)thread;
	get(thread, pawl_address(node));
	pawl_self()->exit_arranged = false; /* nothing is on its list */
}

OUTSIDE static void last_set_up(void *argument)
{
	(void)argument;
	begin();
	store.chunk = explore_allocate(CHUNK * sizeof(struct pawl_node), 128);
	store.left = 1;
}

/* no-memory: one node is left, and the system has no more. */
OUTSIDE static void no_memory_set_up(void *argument)
{
	last_set_up(argument);
	refuses_memory = true;
}

static void no_memory_thread(void *argument, int thread)
{
	(void)argument;
	if (_setjmp(ends[thread]) == 0)
		get(thread, pawl_address(pawl_node_new_()));
	pawl_self()->exit_arranged = false;
}

/* forked: the child of a fork finds the store and the barriers as a thread that is not
 * there left them. */
OUTSIDE static void forked_set_up(void *argument)
{
	(void)argument;
	begin();
	store.free = pawl_pointer(1); /* half a list */
}

static void forked_thread(void *argument, int thread)
{
	struct pawl_fence_stats stats;

	found(thread, &store.guard, 1);
	found(thread, &services[ALL].lock, 1);
	found(thread, &services[0].lock, 1);
	found(thread, &aimed_below, 1);
	found(thread, &inside, 1);
	pawl_nodes_forget();
	pawl_fence_forget();
	barrier_forked();
	nodes_thread(argument, thread);
	if (!pawl_heavy_fence_native_() || !pawl_heavy_fence_restart())
		explore_fail(VERDICT_ASSERTION, "no barrier in the child");
	if (pawl_heavy_fence_cpu(0))
		sim_store(&scene->good, 1, SIM_RELAXED);
	pawl_fence_stats(&stats);
	if (stats.barriers < 2 || stats.joined != 0)
		explore_fail(VERDICT_ASSERTION, "barriers are not counted");
	prctl(PR_SET_SECCOMP, 2); /* waits for barriers that are under way */
}

/* homes: who asks for CPUs of one cache gets one number; of two, two. */
static void homes_thread(void *argument, int thread)
{
	(void)argument;
	get(thread, pawl_home_of(thread == 2 ? 2 : 1) + 1);
	sim_store(&scene->again[thread], pawl_home_of(thread == 2 ? 3 : 0) + 1,
		  SIM_RELAXED);
}

static void caches_have_numbers(void *argument)
{
	uint64_t one = explore_final(&scene->got[0]), two = explore_final(&scene->got[2]);
	int i;

	(void)argument;
	for (i = 0; i < THREADS; i++) {
		uint64_t wanted = i == 2 ? two : one;

		if (explore_final(&scene->got[i]) != wanted ||
		    explore_final(&scene->again[i]) != wanted)
			explore_fail(VERDICT_ASSERTION,
				     "CPUs of one cache have two numbers");
	}
	if (one == two)
		explore_fail(VERDICT_ASSERTION, "two caches have one number");
}

/* nowhere: machines that have one cache, or do not say, or have more CPUs than others. */
static void nowhere_thread(void *argument, int thread)
{
	unsigned wanted;

	(void)argument, (void)thread;
	one_cache = sim_one_in(2);
	knows_caches = one_cache || sim_one_in(2);
	machine_nodes = sim_one_in(2) ? 2 : 1;
	wanted = machine_nodes > 1 ? node_of_thread() : PAWL_NO_HOME;
	if (pawl_home_of(CPUS) != wanted)
		explore_fail(VERDICT_ASSERTION, "a CPU of high number has no node");
	if (one_cache)
		wanted = PAWL_NO_HOME;
	if ((one_cache || !knows_caches) && pawl_numa_node_native_() != wanted)
		explore_fail(VERDICT_ASSERTION, "a home where there is none");
}

/* The light side, as pawl/backend/memory.h has it for real CPUs. A barrier may come
 * between any two instructions, so also behind the load. */
static void pass_light_fence(void)
{
	pawl_bare_light_fence();
	if (pawl_load_relaxed(full()) != 0)
		pawl_full_fence();
	pawl_bare_light_fence();
}

/* The system makes no barrier before it has been asked to prepare for them. Its look comes
 * before that or after it, by a full fence on either side, for all CPUs alike; in the model
 * two full fences and a barrier do not add up to that, a read-modify-write does. */
static bool not_prepared(void)
{
	return sim_fetch_add(&scene->prepared, 0, SIM_ACQ_REL) == 0;
}

static void chosen_set_up(void *argument)
{
	set_up(argument);
	sim_refuses = not_prepared;
}

/* chosen: the light fence becomes light while one thread passes it and another the heavy
 * one. ready: it is light from the start. */
static void fence_thread(int thread, bool (*heavy)(void))
{
	if (thread == 0) {
		sim_store(&scene->x, 1, SIM_RELAXED);
		sim_store(&scene->good, 1 + heavy(), SIM_RELAXED);
		sim_store(&scene->y_seen, sim_load(&scene->y, SIM_RELAXED), SIM_RELAXED);
	} else {
		sim_store(&scene->y, 1, SIM_RELAXED);
		pass_light_fence();
		sim_store(&scene->x_seen, sim_load(&scene->x, SIM_RELAXED), SIM_RELAXED);
	}
}

static void chosen_thread(void *argument, int thread)
{
	(void)argument;
	found(thread, full(), 1);
	if (thread == 2)
		choose_light_fence();
	else
		fence_thread(thread, pawl_heavy_fence_native_);
}

static void light_thread(void *argument, int thread)
{
	(void)argument;
	fence_thread(thread, pawl_heavy_fence_native_);
}

static void restart_thread(void *argument, int thread)
{
	(void)argument;
	fence_thread(thread, pawl_heavy_fence_restart);
}

static bool aim(void)
{
	return pawl_heavy_fence_cpu(1);
}

static void aimed_thread(void *argument, int thread)
{
	(void)argument;
	fence_thread(thread, aim);
}

/* One of them sees the other; while the barrier is refused, if the light side is full. */
static void one_saw(void *argument)
{
	(void)argument;
	if (explore_final(&scene->x_seen) == 0 && explore_final(&scene->y_seen) == 0)
		explore_fail(VERDICT_ASSERTION,
			     "neither side of the fence saw the other");
}

/* refused: the system begins to refuse barriers; from then on the light side is full. */
static bool always_refused(void)
{
	return true;
}

static void refused_set_up(void *argument)
{
	set_up(argument);
	sim_refuses = always_refused;
}

static void refused_thread(void *argument, int thread)
{
	(void)argument, (void)thread;
	if (pawl_heavy_fence_native_())
		explore_fail(VERDICT_ASSERTION, "a barrier that was refused works");
	if (pawl_heavy_fence_works())
		explore_fail(VERDICT_ASSERTION, "the light fence is still light");
}

/* filter: two threads make barriers while a third puts the process behind a filter. */
static void filter_thread(void *argument, int thread)
{
	(void)argument;
	if (thread == 2) {
		prctl(PR_SET_SECCOMP, 2);
		return;
	}
	if (!barrier_begin())
		return;
	if (scene->filter != 0)
		explore_fail(VERDICT_ASSERTION, "a barrier behind the filter");
	barrier_end();
}

/* filter-call: the same by syscall, and other calls of that name in between. */
static void filter_call_thread(void *argument, int thread)
{
	if (thread == 2)
		syscall(SYS_seccomp, 1L, 0L, 0L, 0L, 0L, 0L);
	else
		filter_thread(argument, thread);
}

const struct lock_type process_types[] = {
	{.name = "process", .base = "process", .header = "pawl/runtime.h"},
	{.name = NULL},
};

#define SCENE(scenario_name, says, threads, begins, body, ends)                      \
	.name = (scenario_name), .what = (says), .least_threads = (threads),         \
	.only_threads = (threads), .only_episodes = 1, .waiting_slots = 1,           \
	.applies = always, .expected = passes, .set_up = (begins), .thread = (body), \
	.finished = (ends)

const struct scenario process_scenarios[] = {
	{SCENE("blocks", "hapax values from a lane that comes to its end", 3, set_up,
	       blocks_thread, all_differ)},
	{SCENE("lanes", "hapax values from lanes that threads choose", 3, set_up,
	       lanes_thread, all_differ)},
	{SCENE("exhausted", "there are no more hapax values", 1, set_up, exhausted_thread,
	       none_got)},
	{SCENE("nodes", "the first queue nodes", 3, set_up, nodes_thread, all_differ)},
	{SCENE("nodes-grow", "a chunk of queue nodes is used up", 3, last_set_up,
	       nodes_thread, all_differ)},
	{SCENE("nodes-none", "one queue node is left, and no memory", 3, no_memory_set_up,
	       no_memory_thread, one_got)},
	{SCENE("forked", "a child finds nodes and barriers half done", 1, forked_set_up,
	       forked_thread, all_differ)},
	{SCENE("caches", "CPUs are first asked for their caches", 3, set_up, homes_thread,
	       caches_have_numbers)},
	{SCENE("nowhere", "machines with one cache, or none that is known", 1, set_up,
	       nowhere_thread, NULL)},
	{SCENE("fence-chosen", "the light fence becomes light in use", 3, chosen_set_up,
	       chosen_thread, one_saw)},
	{SCENE("fence", "the light fence against the heavy one", 2, set_up, light_thread,
	       one_saw)},
	{SCENE("fence-restart", "the same, against one that ends sequences", 2, set_up,
	       restart_thread, one_saw)},
	{SCENE("fence-aimed", "the same, against one for a CPU", 2, set_up, aimed_thread,
	       one_saw)},
	{SCENE("fence-refused", "the system begins to refuse barriers", 1, refused_set_up,
	       refused_thread, NULL)},
	{SCENE("filter", "a filter of system calls ends barriers", 3, set_up,
	       filter_thread, NULL)},
	{SCENE("filter-call", "the same, put there by another call", 3, set_up,
	       filter_call_thread, NULL)},
	{.name = NULL},
};
