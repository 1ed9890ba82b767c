/* SPDX-License-Identifier: MIT */
/* Passes each seam operation to the running engine, with its call site. */
#include <sim/seam.h>

#define SITE __builtin_return_address(0)

static void ignore(const void *p, size_t size, bool write, const void *site)
{
	(void)p, (void)size, (void)write, (void)site;
}

/* Handles accesses of simulated code before an engine runs: initialisers. */
static const struct sim_engine nobody = {.plain = ignore, .volatile_access = ignore};

const struct sim_engine *sim_engine = &nobody;
void (*sim_before_step)(void);
void (*sim_before_access)(bool waits);

static void before_access(bool waits)
{
	if (sim_before_access != NULL)
		sim_before_access(waits);
}

static void before_step(void)
{
	before_access(false);
	if (sim_before_step != NULL)
		sim_before_step();
}

uint64_t sim_load(const uint64_t *p, int order)
{
	before_access(false);
	return sim_engine->load(p, order, SITE);
}

void sim_store(uint64_t *p, uint64_t value, int order)
{
	before_step();
	sim_engine->store(p, value, order, SITE);
}

uint64_t sim_exchange(uint64_t *p, uint64_t value, int order)
{
	before_step();
	return sim_engine->exchange(p, value, order, SITE);
}

bool sim_cas(uint64_t *p, uint64_t from, uint64_t to, int order, int failure_order)
{
	before_step();
	return sim_engine->cas(p, from, to, order, failure_order, SITE);
}

uint64_t sim_fetch_add(uint64_t *p, uint64_t n, int order)
{
	before_step();
	return sim_engine->fetch_add(p, n, order, SITE);
}

void sim_fence(enum sim_fence kind)
{
	sim_engine->fence(kind, SITE);
}

bool sim_membarrier_works = true;

bool (*sim_refuses)(void);

bool sim_heavy_fence(void)
{
	bool works = sim_membarrier_works && (sim_refuses == NULL || !sim_refuses());

	sim_engine->fence(works ? SIM_FENCE_HEAVY : SIM_FENCE_FULL, SITE);
	return works;
}

bool sim_heavy_fence_cpu(unsigned cpu)
{
	if (sim_membarrier_works && sim_engine->fence_cpu != NULL)
		sim_engine->fence_cpu(cpu, SITE);
	else
		sim_engine->fence(sim_membarrier_works ? SIM_FENCE_HEAVY : SIM_FENCE_FULL,
				  SITE);
	return sim_membarrier_works;
}

unsigned sim_cpu(void)
{
	return sim_engine->cpu(SITE);
}

void sim_sequence_begin(void)
{
	sim_engine->begin_sequence();
}

bool sim_sequence_whole(void)
{
	return sim_engine->whole_sequence();
}

bool sim_sequence_store(uint64_t *p, uint64_t value, int order)
{
	return sim_engine->store_in_sequence(p, value, order, false, SITE);
}

bool sim_sequence_end(uint64_t *p, uint64_t value, int order)
{
	return sim_engine->store_in_sequence(p, value, order, true, SITE);
}

uint64_t sim_await(enum sim_await kind, uint64_t *p, uint64_t value, uint64_t to,
		   int order)
{
	before_access(true);
	return sim_engine->await(kind, p, value, to, order, SITE);
}

bool sim_sleep(const uint64_t *p, uint64_t expected, bool timed)
{
	before_step();
	return sim_engine->sleep(p, expected, timed, SITE);
}

void sim_wake(const uint64_t *p)
{
	before_step();
	sim_engine->wake(p, SITE);
}

void *sim_self(void)
{
	return sim_engine->self();
}

bool sim_one_in(unsigned n)
{
	return sim_engine->one_in(n, SITE);
}

unsigned sim_node_count = 1;
unsigned (*sim_home)(void);

unsigned sim_node(void)
{
	if (sim_home != NULL)
		return sim_home();
	if (sim_engine->node != NULL)
		return sim_node_count > 1 ? sim_engine->node() : UINT32_MAX;
	return sim_node_count > 1 && sim_one_in(2);
}

bool sim_timed(void)
{
	return sim_engine->now != NULL;
}

void sim_pause(void)
{
	sim_engine->pause();
}
