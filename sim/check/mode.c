/* SPDX-License-Identifier: MIT */
/*
 * Scenarios of what leases are bound to, src/lease/mode.c, which is compiled here as it is:
 * chosen at the first use, by several threads at once, on all kinds of machines. Part of
 * the simulated world, like scenario.c.
 */
#include "outside.h"

#include "../../src/lease/leases.h"
#include "../../src/os/os.h"
#include "../../src/sleep/fences.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Beside those that stand in for them. */
#undef pawl_lease_bind
#undef pawl_lease_place
#undef pawl_lease_sequences
#undef pawl_lease_ids
#undef pawl_lease_barrier
#undef pawl_lease_barrier_all
#undef pawl_lease_mode_forget
#undef pawl_sequence_
#define pawl_lease_bind	       shipped_bind
#define pawl_lease_place       shipped_place
#define pawl_lease_sequences   shipped_sequences
#define pawl_lease_ids	       shipped_ids
#define pawl_lease_barrier     shipped_barrier
#define pawl_lease_barrier_all shipped_barrier_all
#define pawl_lease_mode_forget shipped_mode_forget
#define pawl_lease_mode_name   shipped_mode_name
#define pawl_lease_choose      shipped_choose
#define pawl_sequence_	       shipped_sequence
#ifndef PAWL_NO_PLACE_
#define PAWL_NO_PLACE_ 1
#endif

/* What the machine and its system have. */
static struct machine {
	bool word, cid, instruction, barrier, aimed, large;
	const char *mode, *sequences; /* the environment */
} machine;

static uint32_t words[2][2]; /* a word of the system comes behind another */
static int complaints;

OUTSIDE static const uint32_t *cpu_word(void)
{
	return machine.word ? &words[0][1] : NULL;
}

OUTSIDE static const uint32_t *cid_word(void)
{
	return machine.cid ? &words[1][1] : NULL;
}

OUTSIDE static bool has_barrier(void)
{
	return machine.barrier;
}

OUTSIDE static bool has_aimed(void)
{
	return machine.aimed;
}

OUTSIDE static int has_cpu(void)
{
	return machine.instruction;
}

OUTSIDE static unsigned cpu_limit(void)
{
	return machine.large ? LEASE_CPUS + 1 : 4;
}

OUTSIDE static const char *environment(const char *name)
{
	return strcmp(name, "PAWL_LEASE_MODE") == 0 ? machine.mode : machine.sequences;
}

OUTSIDE static void complain(const char *text)
{
	(void)text;
	complaints++;
}

static bool visit(unsigned cpu)
{
	(void)cpu;
	sim_fence(SIM_FENCE_FULL);
	return true;
}

static bool fence_cpu(unsigned cpu)
{
	(void)cpu;
	return sim_heavy_fence();
}

#define pawl_os_cpu_word	    cpu_word
#define pawl_os_cid_word	    cid_word
#define pawl_os_barrier_prepare	    has_barrier
#define pawl_os_barrier_cpu_prepare has_aimed
#define pawl_arch_has_cpu	    has_cpu
#define pawl_os_cpu_limit	    cpu_limit
#define pawl_os_visit		    visit
#define pawl_os_complain	    complain
#define pawl_heavy_fence_cpu	    fence_cpu
#define pawl_heavy_fence_restart    sim_heavy_fence
#define getenv			    environment
#define pawl_lease_mode(...)	    shipped_mode(__VA_ARGS__) /* not the type */

bool pawl_lease_barrier_all(void);
#define constructor unused /* it is called by a scenario */
#include <lease/mode.c>
#undef constructor

enum { THREADS = 3 };

static struct scene {
	uint64_t mode[THREADS]; /* atomic: what each thread found; +1 */
	uint64_t error;
} * scene;

OUTSIDE static void begin(struct machine has)
{
	__builtin_memset(&domain, 0, sizeof(domain));
	__builtin_memset(&settings, 0, sizeof(settings));
	machine = has;
	complaints = 0;
	scene = explore_allocate(sizeof(*scene), 128);
	explore_label(scene, "scene");
	explore_label(&domain.lock, "lock");
	explore_label(&domain.chosen, "chosen");
}

static void set_up(void *argument)
{
	(void)argument;
	begin((struct machine){.word = true, .barrier = true, .aimed = true});
}

/* first: two threads use leases for the first time while the library is loaded by a third,
 * which then chooses a mode. */
static void first_thread(void *argument, int thread)
{
	struct pawl_lease_handle *h;

	(void)argument;
	if (thread == 2) {
		int error;

		load();
		error = pawl_lease_choose(PAWL_LEASE_THREAD);
		if (error != 0 && error != EBUSY)
			explore_fail(VERDICT_ASSERTION, "the mode is to be had");
		if ((error == 0) != (shipped_mode() == PAWL_LEASE_THREAD))
			explore_fail(VERDICT_ASSERTION, "chosen, and not what is used");
		sim_store(&scene->mode[thread], 1 + shipped_mode(), SIM_RELAXED);
		return;
	}
	h = explore_allocate(sizeof(*h), 128);
	pawl_lease_bind(h);
	if ((h->told == cpu_word()) != (shipped_mode() == PAWL_LEASE_CPU) ||
	    pawl_lease_sequences() != (shipped_mode() == PAWL_LEASE_CPU) ||
	    pawl_lease_ids() != (shipped_mode() == PAWL_LEASE_CPU ? 4 : LEASE_NOBODY))
		explore_fail(VERDICT_ASSERTION, "a handle of another mode");
	sim_store(&scene->mode[thread], 1 + shipped_mode(), SIM_RELAXED);
}

static void all_agree(void *argument)
{
	uint64_t mode = explore_final(&scene->mode[0]);
	int i;

	(void)argument;
	for (i = 1; i < THREADS; i++)
		if (explore_final(&scene->mode[i]) != mode)
			explore_fail(VERDICT_ASSERTION, "threads use two modes");
}

/* The mode of a machine, by docs/design/leases: the first of these that it has. */
static enum pawl_lease_mode right_mode(void)
{
	bool fits = machine.barrier && !machine.large;

	if (machine.word && fits)
		return PAWL_LEASE_CPU;
	if (machine.instruction && fits)
		return PAWL_LEASE_RDPID;
	return machine.barrier ? PAWL_LEASE_THREAD : PAWL_LEASE_FENCED;
}

static bool has_mode(enum pawl_lease_mode mode)
{
	bool fits = machine.barrier && !machine.large;

	switch (mode) {
	case PAWL_LEASE_CPU:
		return machine.word && fits;
	case PAWL_LEASE_CID:
		return machine.cid && fits;
	case PAWL_LEASE_RDPID:
		return machine.instruction && fits;
	case PAWL_LEASE_THREAD:
		return machine.barrier;
	default:
		return mode == PAWL_LEASE_FENCED;
	}
}

static void wants(enum pawl_lease_mode mode)
{
	struct pawl_lease_handle *h = explore_allocate(sizeof(*h), 128);

	if (shipped_mode() != mode)
		explore_fail(VERDICT_ASSERTION, "%s is used, %s is right",
			     pawl_lease_mode_name(shipped_mode()),
			     pawl_lease_mode_name(mode));
	pawl_lease_bind(h);
	pawl_lease_place(h);
	if (h->fenced != (mode == PAWL_LEASE_FENCED))
		explore_fail(VERDICT_ASSERTION, "a handle of another mode");
	if (pawl_lease_barrier(0) == false || pawl_lease_barrier_all() == false)
		explore_fail(VERDICT_ASSERTION, "no barrier");
	pawl_lease_mode_forget();
	if (pawl_lease_choose(mode) != 0)
		explore_fail(VERDICT_ASSERTION, "chosen, and refused");
}

OUTSIDE static void any_machine(void)
{
	machine = (struct machine){.word = sim_one_in(2),
				   .cid = sim_one_in(2),
				   .instruction = sim_one_in(2),
				   .barrier = sim_one_in(2),
				   .aimed = sim_one_in(2),
				   .large = sim_one_in(2)};
	sim_membarrier_works = machine.barrier;
}

/* machines: the mode is the best that a machine has. asked: by its name, or else the
 * best, with a complaint. chosen: by the program, or refused. */
static void machines_thread(void *argument, int thread)
{
	(void)argument, (void)thread;
	any_machine();
	wants(right_mode());
}

static void asked_thread(void *argument, int thread)
{
	static const char *const wishes[] = {"cpu",    "cid",  "rdpid", "thread",
					     "fenced", "none", "",	""};
	static const char *const sequences[] = {"yes", "no", "perhaps", NULL};
	unsigned wish = 4u * sim_one_in(2) + 2u * sim_one_in(2) + sim_one_in(2);

	(void)argument, (void)thread;
	any_machine();
	machine.mode = wishes[wish];
	machine.sequences = sequences[2u * sim_one_in(2) + sim_one_in(2)];
	if (wish <= PAWL_LEASE_FENCED && has_mode((enum pawl_lease_mode)wish)) {
		wants((enum pawl_lease_mode)wish);
	} else {
		wants(right_mode());
		if (complaints == 0 && wish < 6)
			explore_fail(VERDICT_ASSERTION, "no word about a wrong wish");
	}
}

static void chosen_thread(void *argument, int thread)
{
	enum pawl_lease_mode mode = 4u * sim_one_in(2) + 2u * sim_one_in(2) +
				    sim_one_in(2);
	int error;

	(void)argument, (void)thread;
	any_machine();
	error = pawl_lease_choose(mode);
	if (error != (has_mode(mode) ? 0 : ENOTSUP))
		explore_fail(VERDICT_ASSERTION, "a mode is not to be had, or is");
	wants(error == 0 ? mode : right_mode());
}

const struct lock_type mode_types[] = {
	{.name = "mode", .base = "mode", .header = "pawl/lease.h"},
	{.name = NULL},
};

#define SCENE(scenario_name, says, threads, body, ends)                            \
	.name = (scenario_name), .what = (says), .least_threads = (threads),       \
	.only_threads = (threads), .only_episodes = 1, .waiting_slots = 1,         \
	.applies = always, .expected = passes, .set_up = set_up, .thread = (body), \
	.finished = (ends)

const struct scenario mode_scenarios[] = {
	{SCENE("first", "leases are first used while a mode is chosen", 3, first_thread,
	       all_agree)},
	{SCENE("machines", "the mode is the best that a machine has", 1, machines_thread,
	       NULL)},
	{SCENE("asked", "the environment asks for a mode", 1, asked_thread, NULL)},
	{SCENE("chosen", "the program chooses a mode", 1, chosen_thread, NULL)},
	{.name = NULL},
};
