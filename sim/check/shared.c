/* SPDX-License-Identifier: MIT */
/*
 * Scenarios of the mutex between processes: src/shared/lock.c and agents.c as they
 * are. Part of the simulated world, like scenario.c.
 */
#include "shared_calls.h"
#include "shared_create.h"
#include "shared_world.h"

/* Inside, as told by `result`: looks around, works, and leaves. */
static void work_inside(int thread, int result)
{
	if (result == EOWNERDEAD) {
		uint64_t last = pawl_load_relaxed(&world->mutex.depart);

		/* Values of thread 0 are small numbers. */
		if (lives[0].mortal && last != 0 && last >> REGION_COUNT_BITS == 0)
			explore_fail(VERDICT_ASSERTION, "told of one who had left");
		world->told++;
		world->inside = 0;
		if (pawl_region_consistent(&region, 0) != 0)
			explore_fail(VERDICT_ASSERTION, "there was nothing to mend");
	} else if (result != 0) {
		explore_fail(VERDICT_ASSERTION, "lock returned %d", result);
	}
	if (world->inside != 0)
		explore_fail(VERDICT_ASSERTION, "thread %d died inside, unreported",
			     (int)world->inside - 1);
	world->inside = (uint64_t)thread + 1;
	world->entries++;
	/* A death comes before a write: one here is a death inside. */
	pawl_store_relaxed(&world->agents[thread].user, 1);
	world->inside = 0;
	region_unlock(&region, &world->mutex, 0, pawl_load_relaxed(&world->mutex.owner));
}

/* As pawl_shared_mutex_lock: the short way, or the long one. */
static int lock(struct region_agent *me, const struct pawl_deadline *deadline)
{
	if (region_take(&world->mutex, me, region_next(&region, me)))
		return 0;
	return pawl_region_lock(&region, me, 0, deadline);
}

static void visit(int thread)
{
	work_inside(thread, lock(&world->agents[thread], NULL));
}

/* processes: lock and unlock; first come, first served. */
static void nobody_dies(void *argument)
{
	(void)argument;
	set_up_for(0, THREADS);
}

static void in_order(void *argument, int thread)
{
	(void)argument;
	pawl_store_release(&world->agents[thread].who,
			   (uint64_t)thread + FIRST_NAME); /* [W] */
	explore_arrive(0, &world->mutex, sizeof(world->mutex), ADMIT_FIFO);
	if (lock(&world->agents[thread], NULL) != 0)
		explore_fail(VERDICT_ASSERTION, "lock failed");
	explore_enter(0);
	world->entries++;
	explore_leave(0);
	region_unlock(&region, &world->mutex, 0, pawl_load_relaxed(&world->mutex.owner));
}

static void all_came_in(void *argument)
{
	(void)argument;
	if (world->entries != THREADS)
		explore_fail(VERDICT_EXCLUSION, "%d sections counted as %d", THREADS,
			     (int)world->entries);
}

/* killed: one dies at any step, or not; the other gets through, twice, so that
 * it meets the dead in front of it and behind it. */
static void one_dies(void *argument)
{
	(void)argument;
	set_up_for(1, THREADS);
}

static void visit_twice(int thread)
{
	visit(thread);
	visit(thread);
}

static void second_returns(void *argument, int thread)
{
	(void)argument;
	run(thread == 0 ? visit : visit_twice, thread);
}

/* killed-try: one dies, and another tries. */
static void try_once(int thread)
{
	int error = pawl_region_try(&region, &world->agents[thread], 0);

	if (error != EBUSY)
		work_inside(thread, error);
}

static void last_tries(void *argument, int thread)
{
	(void)argument;
	run(thread == 0 ? visit : try_once, thread);
}

/* With a holder to begin with, three threads do not take for ever. */
static void hold(int thread)
{
	int error = lock(&world->agents[thread], NULL);

	pawl_store_release(&world->held, 1);
	work_inside(thread, error);
}

static void come_later(int thread)
{
	pawl_await_eq_acquire(&world->held, 1, PAWL_SPIN);
	/* The short way was in vain; that is checked elsewhere. */
	work_inside(thread, pawl_region_lock(&region, &world->agents[thread], 0, NULL));
}

/* killed-next: of two that wait for the holder one dies, or not. */
static void second_dies(void *argument)
{
	(void)argument;
	set_up_for(2, THREADS);
}

static void others_come_later(void *argument, int thread)
{
	(void)argument;
	run(thread == 0 ? hold : come_later, thread);
}

/* gives-up: the same, but it gives up. */
static void wait_a_while(int thread)
{
	static const struct pawl_deadline soon;
	int error;

	pawl_await_eq_acquire(&world->held, 1, PAWL_SPIN);
	error = pawl_region_lock(&region, &world->agents[thread], 0, &soon);
	if (error != ETIMEDOUT)
		work_inside(thread, error);
}

static void second_gives_up(void *argument, int thread)
{
	(void)argument;
	run(thread == 0 ? hold : thread == 1 ? wait_a_while : come_later, thread);
}

/* agents: one dies, and a third thread may get its agent; or none. */
static void claim_and_visit(int thread)
{
	struct region_agent *agent;
	unsigned i;

	for (i = 0; i < region.agent_count; i++)
		pawl_await_ne_acquire(&world->agents[i].who, AGENT_FREE, PAWL_SPIN);
	agent = pawl_region_claim(&region, (uint64_t)thread + FIRST_NAME);
	if (agent != NULL)
		work_inside((int)(agent - world->agents), lock(agent, NULL));
}

static void two_agents(void *argument)
{
	(void)argument;
	set_up_for(1, 2);
}

static void last_claims(void *argument, int thread)
{
	(void)argument;
	run(thread == 2 ? claim_and_visit : visit, thread);
}

/* lost: who is told of a death unlocks without mending anything. */
static void visit_carelessly(int thread)
{
	int error = lock(&world->agents[thread], NULL);

	if (error == ENOTRECOVERABLE) {
		/* Somebody has been told, and it was not us. */
		if (pawl_load_relaxed(&world->mutex.state) != MUTEX_LOST)
			explore_fail(VERDICT_ASSERTION, "it is not lost");
		return;
	}
	if (pawl_load_relaxed(&world->mutex.state) == MUTEX_LOST)
		explore_fail(VERDICT_ASSERTION, "it is lost, and not said to be");
	world->told += error == EOWNERDEAD;
	world->entries++;
	region_unlock(&region, &world->mutex, 0, pawl_load_relaxed(&world->mutex.owner));
}

static void visit_carelessly_twice(int thread)
{
	visit_carelessly(thread);
	visit_carelessly(thread);
}

static void all_are_careless(void *argument, int thread)
{
	(void)argument;
	run(thread == 0 ? visit_carelessly : visit_carelessly_twice, thread);
}

/* owns: whoever has left knows that it does not own it, whoever came after it. */
static void visit_and_ask(int thread)
{
	visit(thread);
	if (pawl_region_owns(&region, (uint64_t)thread + FIRST_NAME, 0) ||
	    pawl_region_holds(&region, &world->agents[thread]))
		explore_fail(VERDICT_ASSERTION, "it has left, and seems to own it");
}

static void all_ask(void *argument, int thread)
{
	(void)argument;
	run(visit_and_ask, thread);
}

/* freed: one leaves, and gives its agent back, while the other waits for it. */
static void visit_and_go(int thread)
{
	visit(thread);
	pawl_region_free(&world->agents[thread]);
}

static void first_goes(void *argument, int thread)
{
	(void)argument;
	run(thread == 0 ? visit_and_go : visit, thread);
}

/* come-and-go: agents are claimed, used, and given back; and again. */
static void come_and_go(int thread)
{
	struct region_agent *agent = pawl_region_claim(&region,
						       (uint64_t)thread + FIRST_NAME);

	if (agent == NULL)
		return;
	work_inside((int)(agent - world->agents), lock(agent, NULL));
	pawl_region_free(agent);
}

static void all_come_and_go(void *argument, int thread)
{
	(void)argument;
	come_and_go(thread);
	if (thread == 0)
		come_and_go(thread);
}

static void one_agent(void *argument)
{
	(void)argument;
	set_up_for(0, 1);
}

/*
 * In the following thread 0 has drawn and queued its first value, and the others come
 * later. What becomes of that value is for them to see.
 */
enum { FIRST_VALUE = 1 };

static void first_queues(bool enters)
{
	/* Relaxed: before the release of all of it. */
	pawl_store_relaxed(&world->agents[0].who, FIRST_NAME);
	pawl_store_relaxed(&world->agents[0].value, FIRST_VALUE);
	pawl_store_relaxed(&world->mutex.arrive, FIRST_VALUE);
	if (enters)
		pawl_store_relaxed(&world->mutex.owner, FIRST_VALUE);
}

static void first_dies(bool inside)
{
	first_queues(inside);
	if (inside)
		world->inside = 1;
	pawl_store_relaxed(&world->dead[0], 1); /* Relaxed: likewise */
	pawl_store_release(&world->held, 1);
}

static void run_later(void (*what)(int thread), int thread)
{
	pawl_await_eq_acquire(&world->held, 1, PAWL_SPIN);
	run(what, thread);
}

/* again: one died inside, and another dies at any step. */
static void two_die(void *argument)
{
	(void)argument;
	set_up_for(3, THREADS);
}

static void first_died_inside(void *argument, int thread)
{
	(void)argument;
	if (thread == 0)
		first_dies(true);
	else
		run_later(visit, thread);
}

/* behind: one died waiting, and another dies at any step. */
static void first_died_waiting(void *argument, int thread)
{
	(void)argument;
	if (thread == 0)
		first_dies(false);
	else
		run_later(visit, thread);
}

/* reused: the agent of the dead is claimed while somebody tries. */
static void visit_and_claim(int thread)
{
	struct region_agent *agent;

	visit(thread);
	agent = pawl_region_claim(&region, (uint64_t)thread + FIRST_NAME);
	if (agent != NULL)
		work_inside((int)(agent - world->agents), lock(agent, NULL));
}

static void last_tries_meanwhile(void *argument, int thread)
{
	(void)argument;
	if (thread == 0)
		first_dies(false);
	else
		run_later(thread == 1 ? visit_and_claim : try_once, thread);
}

/* left-claimed: one gives up, and another may get its agent. */
static void two_agents_live(void *argument)
{
	(void)argument;
	set_up_for(0, 2);
}

static void last_claims_left(void *argument, int thread)
{
	(void)argument;
	if (thread == 0) {
		first_queues(true);
		/* Relaxed: before held. */
		pawl_store_relaxed(&world->agents[1].who, 1 + FIRST_NAME);
		/* Who gives up has been here before, and has an old value. */
		pawl_store_relaxed(&world->agents[1].value,
				   (uint64_t)1 << REGION_COUNT_BITS | 1);
		pawl_store_release(&world->held, 1);
		region_unlock(&region, &world->mutex, 0, FIRST_VALUE);
	} else {
		run_later(thread == 1 ? wait_a_while : come_and_go, thread);
	}
}

/* departed: one leaves and dies; its agent is claimed while somebody tries. */
static void first_departs(int thread)
{
	visit(thread);
	sim_exchange(&world->dead[thread].raw, 1, SIM_ACQ_REL);
}

static void one_dies_later(void *argument)
{
	(void)argument;
	set_up_for(1, THREADS);
	lives[0].dying = true; /* by itself, when it has left */
}

static void claim_only(int thread)
{
	pawl_region_claim(&region, (uint64_t)thread + FIRST_NAME);
}

static void one_departs(void *argument, int thread)
{
	(void)argument;
	if (thread == 0) {
		/* Relaxed, all: before held. */
		pawl_store_relaxed(&world->agents[0].who, FIRST_NAME);
		pawl_store_relaxed(&world->agents[1].who, 1 + FIRST_NAME);
		pawl_store_relaxed(&world->agents[2].who, 2 + FIRST_NAME);
		pawl_store_release(&world->held, 1);
		first_departs(thread);
	} else {
		run_later(thread == 1 ? claim_only : try_once, thread);
	}
}

/* inherited: one died waiting for who is inside; one waits behind the dead, and
 * another would have its agent. */
enum { DEAD_AGENT = 2, DEAD_NAME = FIRST_NAME + THREADS };

static void one_has_died(void *argument)
{
	(void)argument;
	set_up_for(1 << THREADS, THREADS);
}

static void dead_between(void *argument, int thread)
{
	struct region_agent *dead = &world->agents[DEAD_AGENT];
	uint64_t value = (uint64_t)DEAD_AGENT << REGION_COUNT_BITS | 1;

	(void)argument;
	if (thread == 0) {
		first_queues(true);
		/* Relaxed, all: before held. */
		pawl_store_relaxed(&world->agents[1].who, 1 + FIRST_NAME);
		pawl_store_relaxed(&dead->who, DEAD_NAME);
		pawl_store_relaxed(&dead->value, value);
		pawl_store_relaxed(&dead->ahead, FIRST_VALUE);
		pawl_store_relaxed(&world->mutex.arrive, value);
		pawl_store_relaxed(&world->dead[THREADS], 1);
		world->inside = 1;
		pawl_store_release(&world->held, 1);
		world->inside = 0;
		region_unlock(&region, &world->mutex, 0, FIRST_VALUE);
	} else if (thread == 1) {
		run_later(visit, thread);
	} else {
		pawl_await_eq_acquire(&world->held, 1, PAWL_SPIN);
		claim_only(thread);
	}
}

/*
 * moved-on: thread 2 is inside. One that has given up waits for another, which is
 * about to give up, too, and a third comes to wait for both. Two agents are left
 * behind then, and two threads look for one: what nobody wants any more where it
 * was found first may be wanted by somebody who was looked at before.
 */
enum { WAITING_AGENT = 1, LEFT_AGENT = 2, INSIDE_AGENT = 3 };

static uint64_t first_of(int agent)
{
	return (uint64_t)agent << REGION_COUNT_BITS | 1;
}

static void four_agents(void *argument)
{
	(void)argument;
	set_up_for(0, AGENTS);
}

static void inside_and_two_wait(void)
{
	struct region_agent *agents = world->agents;

	/* Relaxed, all: before held. */
	pawl_store_relaxed(&agents[0].who, FIRST_NAME);
	pawl_store_relaxed(&agents[WAITING_AGENT].who, 1 + FIRST_NAME);
	pawl_store_relaxed(&agents[WAITING_AGENT].value, first_of(WAITING_AGENT));
	pawl_store_relaxed(&agents[WAITING_AGENT].ahead, first_of(INSIDE_AGENT));
	pawl_store_relaxed(&agents[LEFT_AGENT].who, AGENT_LEFT);
	pawl_store_relaxed(&agents[LEFT_AGENT].value, first_of(LEFT_AGENT));
	pawl_store_relaxed(&agents[LEFT_AGENT].ahead, first_of(WAITING_AGENT));
	pawl_store_relaxed(&agents[INSIDE_AGENT].who, 2 + FIRST_NAME);
	pawl_store_relaxed(&agents[INSIDE_AGENT].value, first_of(INSIDE_AGENT));
	pawl_store_relaxed(&world->mutex.arrive, first_of(LEFT_AGENT));
	pawl_store_relaxed(&world->mutex.owner, first_of(INSIDE_AGENT));
	world->inside = 2 + 1;
	pawl_store_release(&world->held, 1);
}

/* Relaxed: a hint to be short; the look itself orders what it finds. */
static void claim_behind_queued(int thread)
{
	sim_await(SIM_AWAIT_EQ, &world->mutex.arrive.raw, first_of(0), 0, SIM_RELAXED);
	claim_only(thread);
}

static void two_look_for_agents(void *argument, int thread)
{
	(void)argument;
	if (thread == 2) {
		inside_and_two_wait();
		claim_behind_queued(thread);
		/* Its unlock wakes, so that the other need not when it gives up. */
		pawl_await_eq_acquire(&world->held, 2, PAWL_SPIN);
		world->inside = 0;
		region_unlock(&region, &world->mutex, 0, first_of(INSIDE_AGENT));
		return;
	}
	pawl_await_ne_acquire(&world->held, 0, PAWL_SPIN);
	if (thread == 1) {
		/* As pawl_region_lock when it is late. */
		pawl_store_release(&world->agents[WAITING_AGENT].who,
				   AGENT_LEFT); /* [W] */
		claim_behind_queued(thread);
		pawl_store_release(&world->held, 2);
	} else {
		work_inside(thread,
			    pawl_region_lock(&region, &world->agents[thread], 0, NULL));
	}
}

/* refused: the region knows already that some have no barrier. */
static void first_is_refused(void *argument, int thread)
{
	(void)argument;
	if (thread == 0) {
		pawl_store_relaxed(&world->fenced, 1); /* Relaxed: before held */
		pawl_store_release(&world->held, 1);
		run(visit, thread);
	} else {
		run_later(visit, thread);
	}
}

const struct lock_type shared_types[] = {
	{.name = "shared", .base = "shared", .header = "pawl/shared.h"},
	{.name = NULL},
};

const struct scenario shared_scenarios[] = {
	{"killed", "one of two is killed at any step, the other gets through", 2, 2, 1, 1,
	 always, passes, one_dies, second_returns, at_the_end, 0, false, false},
	{"killed-try", "one is killed at any step, another tries", 2, 2, 1, 1, always,
	 passes, one_dies, last_tries, at_the_end, 0, false, false},
	{"lost", "who is told of a death does not mend anything", 2, 2, 1, 1, always,
	 passes, one_dies, all_are_careless, at_the_end, 0, false, false},
	{"gives-up", "of two that wait one gives up, or not", 3, 3, 1, 1, always, passes,
	 nobody_dies, second_gives_up, at_the_end, 0, false, false,
	 .takes_minutes = true},
	{"agents", "one is killed, another may get its agent", 3, 3, 1, 1, always, passes,
	 two_agents, last_claims, at_the_end, 0, false, false, .takes_minutes = true},
	{"killed-next", "of two that wait one is killed at any step", 3, 3, 1, 1, always,
	 passes, second_dies, others_come_later, at_the_end, 0, false, false,
	 .takes_minutes = true},
	{"processes", "three processes, in order of arrival", 3, 3, 1, 1, always, passes,
	 nobody_dies, in_order, all_came_in, 0, false, false, .takes_minutes = true},
	{"owns", "who has left does not own it any more", 2, 2, 1, 1, always, passes,
	 nobody_dies, all_ask, at_the_end},
	{"freed", "one gives its agent back, the other waits for it", 2, 2, 1, 1, always,
	 passes, nobody_dies, first_goes, at_the_end},
	{"come-and-go", "agents are claimed, used and given back", 2, 2, 1, 1, always,
	 passes, one_agent, all_come_and_go, at_the_end},
	{"again", "one died inside, another dies at any step", 3, 3, 1, 1, always, passes,
	 two_die, first_died_inside, at_the_end, .takes_minutes = true},
	{"behind", "one died waiting, another dies at any step", 3, 3, 1, 1, always,
	 passes, two_die, first_died_waiting, at_the_end, .takes_minutes = true},
	{"reused", "a dead one's agent is claimed while somebody tries", 3, 3, 1, 1,
	 always, passes, one_dies, last_tries_meanwhile, at_the_end},
	{"left-claimed", "one gives up, another may get its agent", 3, 3, 1, 1, always,
	 passes, two_agents_live, last_claims_left, at_the_end},
	{"departed", "one leaves and dies; its agent is claimed", 3, 3, 1, 1, always,
	 passes, one_dies_later, one_departs, at_the_end},
	{"inherited", "one waits behind a dead one, another wants its agent", 3, 3, 1, 1,
	 always, passes, one_has_died, dead_between, at_the_end},
	{"moved-on", "two look for agents, one waits behind two that gave up", 3, 3, 1, 1,
	 always, passes, four_agents, two_look_for_agents, at_the_end},
	{"refused", "barriers over processes are refused", 2, 2, 1, 1, always, passes,
	 nobody_dies, first_is_refused, at_the_end, .without_membarrier = true},
	{"errors", "as users call it; one is killed at any step", 2, 2, 1, 1, always,
	 passes, calls_one_dies, second_asks, calls_end,
	 .sights = 1 << SAW_LOCKED | 1 << SAW_OWNER_DEAD, .sight_names = sight_names},
	{"errors-try", "one is killed at any step, another tries", 2, 2, 1, 1, always,
	 passes, calls_one_dies, second_tries, calls_end,
	 .sights = 1 << SAW_LOCKED | 1 << SAW_OWNER_DEAD | 1 << SAW_BUSY,
	 .sight_names = sight_names},
	{"errors-lost", "nobody mends what a death left", 2, 2, 1, 1, always, passes,
	 calls_one_dies, second_mends_nothing, calls_end,
	 .sights = 1 << SAW_LOCKED | 1 << SAW_OWNER_DEAD | 1 << SAW_LOST,
	 .sight_names = sight_names},
	{"errors-timed", "one that holds another waits for a while", 2, 2, 1, 1, always,
	 passes, calls_three_agents, second_holds_and_waits, calls_end,
	 .sights = 1 << SAW_LOCKED | 1 << SAW_LATE | 1 << SAW_NO_AGENT,
	 .sight_names = sight_names},
	{"errors-agents", "one agent for two", 2, 2, 1, 1, always, passes,
	 calls_one_agent, both_want_it, calls_end,
	 .sights = 1 << SAW_LOCKED | 1 << SAW_NO_AGENT, .sight_names = sight_names},
	{"errors-exit", "a thread exits, another detaches the region", 2, 2, 1, 1, always,
	 passes, calls_together, second_detaches, calls_end,
	 .sights = 1 << SAW_LOCKED | 1 << SAW_OWNER_DEAD | 1 << SAW_BUSY |
		   1 << SAW_HELD_AT_DETACH | 1 << SAW_DETACHED,
	 .sight_names = sight_names},
	{"errors-fork", "one forks inside", 2, 2, 1, 1, always, passes,
	 calls_three_agents, first_forks, calls_end,
	 .sights = 1 << SAW_LOCKED | 1 << SAW_BUSY, .sight_names = sight_names},
	CREATE_SCENARIOS,
	{"errors-three", "as errors, and one tries", 3, 3, 1, 1, always, passes,
	 calls_one_dies, others_ask_and_try, calls_end, .takes_hours = true},
	{.name = NULL},
};
