/* SPDX-License-Identifier: MIT */
/* Open, run and close a simulation. */
#include "coherence.h"

#include <sim/fiber.h>
#include <sim/runtime.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { STACK_SIZE = 64 << 10 };

struct coherence *coherence_current;

/* Fibers are reused between simulations, because creating one maps memory. */
static struct sim_fiber *spares[MACHINE_MAX_CPUS];
static unsigned spare_count;

void coherence_fatal(const char *sentence)
{
	fprintf(stderr, "pawl sim: %s\n", sentence);
	exit(EXIT_FAILURE);
}

void *coherence_get(size_t size)
{
	void *p = calloc(1, size);

	if (p == NULL)
		coherence_fatal("out of memory");
	return p;
}

/* Saves the state that all simulations share: the engine and the locks' runtime. */
static void leave(struct coherence *c)
{
	if (c->runtime == NULL)
		c->runtime = coherence_get(sim_runtime_size());
	sim_runtime_save(c->runtime);
	c->engine = sim_engine;
	coherence_current = NULL;
}

/* Switches to a simulation and restores its state. */
static void enter(struct coherence *c)
{
	if (coherence_current == c)
		return;
	if (coherence_current != NULL)
		leave(coherence_current);
	coherence_current = c;
	sim_waiting_slots = SIM_MAX_WAITING_SLOTS;
	sim_hapax_block_bits = 16;
	sim_node_count = c->m.sockets * c->m.clusters;
	sim_engine = c->engine;
	if (c->runtime != NULL)
		sim_runtime_load(c->runtime);
}

/* Threads are resumed from this function alone. A fiber switch defeats the host CPU's
 * return predictor, and each call in between would cost a misprediction. */
static void handle(struct coherence *c, struct event event)
{
	uint32_t which = event.what & 0xFFFFFF;
	struct cpu *cpu = &c->cpus[which % MACHINE_MAX_CPUS];
	struct line *line;
	bool goes_on = false;

	c->now = event.time;
	switch ((enum event_kind)(event.what >> 24)) {
	case RUN:
		goes_on = true;
		break;
	case ARRIVE:
		request_queue(c, which);
		line = request_of(c, which)->line;
		if (!line->scheduled)
			protocol_serve(c, line);
		break;
	case SERVE:
		protocol_serve(c,
			       &c->slabs[which / LINES_IN_SLAB][which % LINES_IN_SLAB]);
		break;
	case REACH:
		protocol_reach_owner(c, which);
		break;
	case DONE:
		cpu = &c->cpus[which / REQUESTS];
		goes_on = cpu_granted(c, which);
		break;
	case LOADED:
		cpu = &c->cpus[which / REQUESTS];
		goes_on = cpu_loaded(c, which);
		break;
	case WORKED:
		goes_on = cpu_worked(c, cpu);
		break;
	case LOOK:
		goes_on = cpu_look(c, cpu);
		break;
	case OVERSLEEP:
		sleep_over(c, cpu);
		break;
	case GIVE_UP:
		goes_on = cpu_give_up(c, cpu);
		break;
	}
	if (!goes_on)
		return;
	cpu->now = c->now;
	c->running = cpu;
	sim_fiber_resume(cpu->fiber);
}

bool coherence_run(struct coherence *c)
{
	uint64_t events;
	unsigned i;

	enter(c);
	c->stopped = false;
	for (events = 1; !c->stopped && event_next_time(c) != UINT64_MAX; events++) {
		handle(c, event_take(c));
		if (events % 4096 == 0 && c->setup.stop != NULL) {
			c->stopped |= c->setup.stop();
			enter(c); /* the thread may have run another simulation */
		}
	}
	for (i = 0; i < c->setup.threads && !c->stopped; i++)
		if (c->cpus[i].run != NULL && !c->cpus[i].finished)
			return false;
	return true;
}

static void place(struct coherence *c, struct cpu *cpu, unsigned i)
{
	const struct machine *m = &c->m;
	unsigned per_socket = m->clusters * m->cores;
	unsigned core, all = m->sockets * per_socket;

	if (c->setup.placement == PLACE_CORES)
		core = i % all;
	else
		core = i % m->sockets * per_socket + i / m->sockets % per_socket;
	cpu->cache = (uint16_t)core;
	cpu->cluster = (uint16_t)(core / m->cores);
	cpu->node = (uint16_t)(core / per_socket);
	c->siblings[core][i / all] = (int16_t)i;
	set_add(c->node_cpus[cpu->node], i);
}

static void fiber_main(void *argument)
{
	struct cpu *cpu = argument;

	cpu->run(cpu->argument);
	cpu->finished = true;
	for (;;)
		sim_fiber_yield(cpu->fiber);
}

void coherence_spawn(struct coherence *c, unsigned thread, void (*run)(void *argument),
		     void *argument)
{
	struct cpu *cpu = &c->cpus[thread];
	size_t size;

	cpu->fiber = spare_count > 0 ? spares[--spare_count] : sim_fiber_new(STACK_SIZE);
	if (cpu->fiber == NULL)
		coherence_fatal("out of memory");
	cpu->stack = (uintptr_t)sim_fiber_stack(cpu->fiber, &size);
	cpu->stack_end = cpu->stack + size;
	cpu->run = run;
	cpu->argument = argument;
	sim_fiber_start(cpu->fiber, fiber_main, cpu);
	event_add(c, 0, RUN, thread);
}

struct coherence *coherence_open(const struct coherence_setup *setup)
{
	struct coherence *c = coherence_get(sizeof(*c));
	const struct machine *m = setup->machine;
	unsigned i, core;

	c->setup = *setup;
	c->m = *m;
	c->near = m->socket / 3;
	c->far = (m->remote - c->near) / 2;
	c->inside = m->cluster / 3;
	c->poll = m->poll + m->pause;
	c->fetches = m->fetches == 0 ? 1 : m->fetches;
	c->line_bits = setup->pairs ? 7 : 6;
	c->caches = m->sockets * m->clusters * m->cores;
	c->words = (c->caches + 63) / 64;
	c->random = setup->seed * 0x9E3779B97F4A7C15 + 0xD1B54A32D192ED03;
	if (c->random == 0)
		c->random = 1;
	c->table_size = 1 << 14;
	c->table = coherence_get(c->table_size * sizeof(*c->table));
	c->page_table = 1 << 12;
	c->pages = coherence_get(c->page_table * sizeof(*c->pages));
	for (i = 0; i <= m->sockets; i++) {
		unsigned arena = i < m->sockets ? i : MACHINE_MAX_SOCKETS;

		c->arena[arena] = mmap(NULL, ARENA_SIZE, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
				       0);
		if (c->arena[arena] == MAP_FAILED)
			coherence_fatal("out of memory");
	}
	memset(c->siblings, 0xFF, sizeof(c->siblings)); /* NOBODY */
	for (core = 0; core < c->caches; core++) {
		c->cache_cluster[core] = (uint16_t)(core / m->cores);
		c->cache_node[core] = (uint16_t)(core / (m->clusters * m->cores));
		set_add(c->node_caches[c->cache_node[core]], core);
		set_add(c->cluster_caches[c->cache_cluster[core]], core);
	}
	for (i = 0; i < setup->threads; i++) {
		struct cpu *cpu = &c->cpus[i];

		cpu->number = (uint16_t)i;
		cpu->expected = NOBODY;
		place(c, cpu, i);
		cpu->thread = arena_allocate(c, storage_node(c, cpu), sim_thread_size(),
					     128);
	}
	c->engine = &coherence_engine;
	enter(c);
	sim_reset();
	return c;
}

void coherence_close(struct coherence *c)
{
	size_t i;

	for (i = c->setup.threads; i-- > 0;) {
		if (c->cpus[i].fiber == NULL)
			continue;
		if (spare_count < MACHINE_MAX_CPUS)
			spares[spare_count++] = c->cpus[i].fiber;
		else
			sim_fiber_free(c->cpus[i].fiber);
	}
	for (i = 0; i < MAX_SLABS && c->slabs[i] != NULL; i++)
		free(c->slabs[i]);
	for (i = 0; i <= MACHINE_MAX_SOCKETS; i++)
		if (c->arena[i] != NULL)
			munmap(c->arena[i], ARENA_SIZE);
	free(c->table);
	free(c->pages);
	free(c->events);
	free(c->give_ups);
	free(c->runtime);
	if (coherence_current == c) {
		coherence_current = NULL;
		sim_engine = NULL;
	}
	free(c);
}

void *coherence_memory(struct coherence *c, size_t size)
{
	return arena_allocate(c, MACHINE_MAX_SOCKETS, size, 128);
}
