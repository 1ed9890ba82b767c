/* SPDX-License-Identifier: MIT */
#include "lease_actors.h"

#include <stdlib.h>
#include <string.h>

struct pawl_lease_stats stats(void)
{
	struct pawl_lease_stats now;

	pawl_lease_get_stats(&now);
	return now;
}

uint64_t word_of(const struct pawl_lease *l)
{
	return pawl_load_acquire(&l->word);
}

unsigned state_of(const struct pawl_lease *l)
{
	return word_of(l) >> PAWL_LEASE_STATE_SHIFT & 3;
}

unsigned cpu_of(const struct pawl_lease *l)
{
	return word_of(l) >> PAWL_LEASE_LESSEE_BITS & ((1 << PAWL_LEASE_CPU_BITS) - 1);
}

static void *actor_main(void *argument)
{
	struct actor *a = argument;

	a->seated = sit_on(a->cpu);
	pawl_store_release(&a->order, 0);
	for (;;) {
		uint64_t order;
		void (*run)(struct actor *);

		while ((order = pawl_load_acquire(&a->order)) == 0)
			breathe();
		if (order == 1)
			return NULL;
		memcpy(&run, &order, sizeof(run));
		run(a);
		pawl_store_release(&a->order, 0);
	}
}

static void actor_wait(const struct actor *a)
{
	while (pawl_load_acquire(&a->order) != 0)
		breathe();
}

void actor_start(struct actor *a, size_t cpu)
{
	memset(a, 0, sizeof(*a));
	a->cpu = cpu;
	pawl_store_relaxed(&a->order, 2); /* Relaxed: nobody is there yet */
	assert_int_equal(pthread_create(&a->thread, NULL, actor_main, a), 0);
	actor_wait(a);
}

void actor_end(struct actor *a)
{
	pawl_store_release(&a->order, 1);
	pthread_join(a->thread, NULL);
}

enum pawl_lease_result let(struct actor *a, void (*run)(struct actor *), void *argument)
{
	uint64_t order = 0;

	memcpy(&order, &run, sizeof(run));
	a->argument = argument;
	pawl_store_release(&a->order, order);
	actor_wait(a);
	return a->result;
}

void acquires(struct actor *a)
{
	a->result = pawl_lease_acquire(a->argument, pawl_lease_self());
}

void seizes(struct actor *a)
{
	a->result = pawl_lease_seize(a->argument, pawl_lease_self());
}

void recovers(struct actor *a)
{
	a->result = pawl_lease_recover(a->argument, pawl_lease_self());
}

void releases(struct actor *a)
{
	pawl_lease_release(a->argument, pawl_lease_self());
}

void leases(struct actor *a)
{
	a->result = pawl_lease_seize(a->argument, pawl_lease_self());
	if (a->result == PAWL_LEASE_OK)
		pawl_lease_release(a->argument, pawl_lease_self());
}

struct cast *cast_start(void)
{
	struct cast *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	watchdog("leases");
	actor_start(&c->near, 0);
	actor_start(&c->nearer, 0);
	actor_start(&c->far, 1);
	return c;
}

void cast_end(struct cast *c)
{
	actor_end(&c->near);
	actor_end(&c->nearer);
	actor_end(&c->far);
	free(c);
	watchdog(NULL);
}

bool bound_to_cpus(void)
{
	return pawl_lease_mode() == PAWL_LEASE_CPU ||
	       pawl_lease_mode() == PAWL_LEASE_RDPID;
}

bool barriers_work(void)
{
	return pawl_lease_mode() != PAWL_LEASE_FENCED;
}
