/* SPDX-License-Identifier: MIT */
/* The operations that threads call, on their fibers. */
#include "coherence.h"

#include <sim/fiber.h>

#define NEVER ((uint64_t)1000 * 1000 * 1000) /* 1 ms: longer than any wait */
#define HEAVY ((uint64_t)2 * 1000 * 1000)    /* 2 us: a membarrier call */
#define CLOCK ((uint64_t)20 * 1000)	     /* 20 ns: reading the clock */

/* Processes all events before this thread's next access. */
static struct cpu *catch_up(struct coherence *c)
{
	struct cpu *cpu = c->running;

	if (event_next_time(c) < cpu->now) {
		event_add(c, cpu->now, RUN, cpu->number);
		sim_fiber_yield(cpu->fiber);
	}
	c->now = cpu->now;
	return cpu;
}

/* Waits until all stores have taken effect. */
static void empty_buffer(struct cpu *cpu)
{
	if (cpu->stores == 0)
		return;
	cpu->draining = true;
	sim_fiber_yield(cpu->fiber);
}

/* Waits until all plain loads are complete. */
static void finish_loads(struct cpu *cpu)
{
	if (cpu->loads == 0 && cpu->work == 0)
		return;
	cpu->loading = true;
	sim_fiber_yield(cpu->fiber);
}

/* The youngest buffered store to this word, or to this line if word is NULL. */
static const struct store *buffered(const struct cpu *cpu, const struct line *line,
				    const uint64_t *word)
{
	unsigned i;

	for (i = cpu->stores; i-- > 0;) {
		const struct store *store = &cpu->buffer[(cpu->oldest + i) % BUFFER];

		if (store->line == line && (word == NULL || store->word == word))
			return store;
	}
	return NULL;
}

/* A miss on `line` also fetches the adjacent line, for reading. */
static void fetch_beside(struct coherence *c, struct cpu *cpu, const struct line *line)
{
	struct line *other;
	struct request *r;

	if (!c->m.adjacent || cpu->prefetching)
		return;
	other = line_beside(c, line);
	if (other == NULL || line_usable(other, cpu->cache, false))
		return;
	cpu->prefetching = true;
	r = request_fill(c, cpu, ADJACENT, other, NULL, false, cpu->now);
	event_add(c, r->arrival, ARRIVE, number_of(cpu, ADJACENT));
}

/* Waits for a line that was requested speculatively. */
static void expect(struct cpu *cpu, const struct line *line)
{
	cpu->expected = foresee_request(cpu, line);
	if (cpu->expected != NOBODY)
		sim_fiber_yield(cpu->fiber);
}

/* Records an access, if the machine speculates. */
static void note(struct coherence *c, struct cpu *cpu, const void *site,
		 struct line *line, bool write)
{
	if (c->m.foresee != 0)
		foresee_note(c, cpu, site, line, write);
}

/* Gets the line into the cache; returns the value that a read finds. */
static uint64_t reach(struct coherence *c, struct cpu *cpu, struct line *line,
		      const uint64_t *word, bool write)
{
	struct request *r;

	if (cpu->loads != 0 && cpu_loads(cpu, line))
		finish_loads(cpu);
	/* A buffered store is already fetching the line. */
	if (cpu->stores != 0 && buffered(cpu, line, NULL) != NULL)
		empty_buffer(cpu);
	if (cpu->foreseen != 0)
		expect(cpu, line);
	if (line_usable(line, cpu->cache, write))
		return *word;
	fetch_beside(c, cpu, line);
	if (c->m.foresee != 0)
		foresee(c, cpu);
	r = request_fill(c, cpu, ACCESS, line, word, write, cpu->now);
	event_add(c, r->arrival, ARRIVE, number_of(cpu, ACCESS));
	sim_fiber_yield(cpu->fiber);
	return cpu->value;
}

/* A read whose value is not needed at once. */
static void read_ahead(struct coherence *c, struct cpu *cpu, struct line *line,
		       const uint64_t *word)
{
	struct request *r;
	unsigned i;

	if (cpu->foreseen != 0)
		expect(cpu, line);
	if (cpu_loads(cpu, line) || line_usable(line, cpu->cache, false))
		return;
	if (__builtin_popcount(cpu->loads) >= (int)c->m.loads) {
		finish_loads(cpu);
		catch_up(c);
	}
	for (i = 0; (cpu->loads >> i & 1) != 0; i++)
		;
	fetch_beside(c, cpu, line);
	r = request_fill(c, cpu, LOAD + i, line, word, false, cpu->now);
	cpu->loads |= (unsigned char)(1U << i);
	event_add(c, r->arrival, ARRIVE, number_of(cpu, LOAD + i));
}

static uint64_t coherence_load(const uint64_t *p, int order, const void *site)
{
	struct coherence *c = coherence_current;
	struct cpu *cpu = catch_up(c);
	struct line *line = line_find(c, p, cpu->number);
	const struct store *store = NULL;
	uint64_t value;

	(void)order;
	note(c, cpu, site, line, false);
	if (cpu->stores != 0)
		store = buffered(cpu, line, p);
	value = store != NULL ? store->value : reach(c, cpu, line, p, false);
	cpu->now += c->m.hit;
	cpu->value = value;
	return value;
}

/* Stores, or buffers the store; a plain store has no word, because it is already in
 * memory. */
static void post(struct coherence *c, struct cpu *cpu, struct line *line, uint64_t *word,
		 uint64_t value)
{
	if (cpu->stores != 0 && cpu->stores == c->m.buffer) {
		empty_buffer(cpu);
		catch_up(c);
	}
	cpu->buffer[(cpu->oldest + cpu->stores++) % BUFFER] = (struct store){
		line, word, value, false};
	if (cpu->stores <= c->fetches)
		cpu_drain(c, cpu);
	if (c->m.buffer == 0) {
		empty_buffer(cpu);
		catch_up(c);
	}
	cpu->now += c->m.hit;
}

static void coherence_store(uint64_t *p, uint64_t value, int order, const void *site)
{
	struct coherence *c = coherence_current;
	struct cpu *cpu;
	struct line *line;

	if (c->running == NULL) { /* during set-up */
		*p = value;
		return;
	}
	cpu = catch_up(c);
	line = line_find(c, p, cpu->number);
	note(c, cpu, site, line, true);
	post(c, cpu, line, p, value);
	if (order == SIM_SEQ_CST)
		empty_buffer(cpu);
}

/*
 * Gets the line exclusively for the read-modify-write that follows at once. The line is
 * fetched while older stores drain, and can be lost again meanwhile.
 */
static struct cpu *own(struct coherence *c, const uint64_t *p, const void *site)
{
	struct cpu *cpu = catch_up(c);

	cpu->line = line_find(c, p, cpu->number);
	note(c, cpu, site, cpu->line, true);
	if (!c->m.ahead)
		finish_loads(cpu);
	reach(c, cpu, cpu->line, p, true);
	while (cpu->loads != 0 || cpu->work != 0 || cpu->stores != 0) {
		finish_loads(cpu);
		empty_buffer(cpu);
		reach(c, cpu, cpu->line, p, true);
	}
	c->counts.rmws++;
	cpu->now += c->m.rmw;
	return cpu;
}

/* Stores the value, or adds it; returns the old value. */
static uint64_t update(uint64_t *p, uint64_t value, bool sum, const void *site)
{
	struct coherence *c = coherence_current;
	struct cpu *cpu = own(c, p, site);
	uint64_t old = *p;

	cpu->value = old;
	*p = sum ? old + value : value;
	waiters_wrote(c, cpu->line, cpu);
	return old;
}

static uint64_t coherence_exchange(uint64_t *p, uint64_t value, int order,
				   const void *site)
{
	(void)order;
	return update(p, value, false, site);
}

static uint64_t coherence_fetch_add(uint64_t *p, uint64_t n, int order, const void *site)
{
	(void)order;
	return update(p, n, true, site);
}

static bool coherence_cas(uint64_t *p, uint64_t from, uint64_t to, int order,
			  int failure_order, const void *site)
{
	struct coherence *c = coherence_current;
	struct cpu *cpu = own(c, p, site);

	(void)order;
	(void)failure_order;
	if (*p != from)
		return false;
	*p = to;
	waiters_wrote(c, cpu->line, cpu);
	return true;
}

static void coherence_fence(enum sim_fence kind, const void *site)
{
	struct coherence *c = coherence_current;

	(void)site;
	if (kind == SIM_FENCE_LIGHT)
		return;
	finish_loads(catch_up(c));
	empty_buffer(c->running);
	if (kind == SIM_FENCE_HEAVY)
		c->running->now += HEAVY;
}

static uint64_t coherence_await(enum sim_await kind, uint64_t *p, uint64_t value,
				uint64_t to, int order, const void *site)
{
	struct coherence *c = coherence_current;
	struct cpu *cpu = c->running;
	uint64_t found;

	(void)order;
	cpu->kind = kind;
	cpu->until = value;
	cpu->to = to;
	/* A wait for the reaction to our own store begins when that store takes effect. */
	if (cpu->stores != 0 &&
	    buffered(cpu, line_find(c, p, cpu->number), NULL) != NULL) {
		catch_up(c);
		empty_buffer(cpu);
	}
	if (waits_by_rmw(cpu)) {
		own(c, p, site);
		found = *p;
	} else {
		found = coherence_load(p, order, site);
	}
	if (satisfied(cpu, found)) {
		if (kind == SIM_AWAIT_CAS) {
			*p = to;
			waiters_wrote(c, cpu->line, cpu);
		}
		return found;
	}

	catch_up(c);
	if (c->m.foresee != 0)
		foresee_waited(cpu);
	cpu->line = line_find(c, p, cpu->number);
	cpu->word = p;
	cpu->waiting = true;
	cpu->asked = false;
	cpu->data_at = c->now;
	set_add(cpu->line->polling, cpu->number);
	cpu->line->waiters++;
	/* The value may have changed since it was read: poll again soon. */
	if (!line_usable(cpu->line, cpu->cache, waits_by_rmw(cpu)) ||
	    satisfied(cpu, *p)) {
		cpu->asked = true;
		event_add(c, c->now + draw(c) % c->poll, LOOK, cpu->number);
	}
	cpu->deadline = c->now + c->m.look;
	if (kind == SIM_AWAIT_CHANGE && c->m.look < NEVER)
		event_add_deadline(c, cpu->deadline, cpu->number);
	sim_fiber_yield(cpu->fiber);
	cpu->now += waits_by_rmw(cpu) ? c->m.rmw : c->m.hit + c->m.flush;
	return cpu->value;
}

static bool coherence_sleep(const uint64_t *p, uint64_t expected, bool timed,
			    const void *site)
{
	(void)timed, (void)site; /* with a clock, timed sleeps use sleep_for */
	return sleep_for(p, expected, UINT64_MAX);
}

static void coherence_wake(const uint64_t *p, const void *site)
{
	(void)site;
	catch_up(coherence_current);
	sleep_wake(p);
}

static uint64_t coherence_clock(void)
{
	struct cpu *cpu = coherence_current->running;

	cpu->now += CLOCK;
	return cpu->now / 1000;
}

static void coherence_pause(void)
{
	struct coherence *c = coherence_current;

	c->running->now += c->poll;
}

static void coherence_plain(const void *p, size_t size, bool write, const void *site)
{
	struct coherence *c = coherence_current;
	struct cpu *cpu = c->running;
	uintptr_t address = (uintptr_t)p & ~(uintptr_t)7, end = (uintptr_t)p + size;

	if (cpu == NULL)
		return; /* during set-up */
	if (address - cpu->stack < cpu->stack_end - cpu->stack) {
		cpu->now += c->m.hit;
		return;
	}
	for (; address < end; address = ((address >> c->line_bits) + 1) << c->line_bits) {
		struct line *line;

		catch_up(c);
		line = line_find(c, (const void *)address, cpu->number);
		note(c, cpu, site, line, write);
		if (write) {
			post(c, cpu, line, NULL, 0);
			continue;
		}
		if (cpu->stores != 0 && buffered(cpu, line, NULL) != NULL)
			;
		else if (c->m.loads != 0)
			read_ahead(c, cpu, line, (const uint64_t *)address);
		else
			reach(c, cpu, line, (const uint64_t *)address, false);
		cpu->now += c->m.hit;
	}
}

static void *coherence_own_storage(void)
{
	struct coherence *c = coherence_current;

	return c->running->thread;
}

/* CPUs that share a cache have the same home. */
static unsigned coherence_home(void)
{
	struct coherence *c = coherence_current;

	return c->running->cluster;
}

unsigned coherence_node_of(unsigned thread)
{
	return coherence_current->cpus[thread].node;
}

unsigned coherence_cluster_of(unsigned thread)
{
	return coherence_current->cpus[thread].cluster;
}

static bool coherence_one_in(unsigned n, const void *site)
{
	struct coherence *c = coherence_current;

	(void)site;
	return draw(c) % n == 0;
}

static void *coherence_allocate(size_t size, size_t alignment)
{
	struct coherence *c = coherence_current;

	return arena_allocate(c, storage_node(c, c->running), size, alignment);
}

/* Memory is not reused: simulations are short. */
static void coherence_release(void *p, const void *site)
{
	(void)p;
	(void)site;
}

static void __attribute__((noreturn))
coherence_die(const char *sentence, const void *site)
{
	(void)site;
	coherence_fatal(sentence);
}

const struct sim_engine coherence_engine = {
	.load = coherence_load,
	.store = coherence_store,
	.exchange = coherence_exchange,
	.cas = coherence_cas,
	.fetch_add = coherence_fetch_add,
	.fence = coherence_fence,
	.await = coherence_await,
	.sleep = coherence_sleep,
	.wake = coherence_wake,
	.now = coherence_clock,
	.pause = coherence_pause,
	.sleep_for = sleep_for,
	.plain = coherence_plain,
	.self = coherence_own_storage,
	.node = coherence_home,
	.one_in = coherence_one_in,
	.allocate = coherence_allocate,
	.release = coherence_release,
	.die = coherence_die,
};

uint64_t coherence_now(void)
{
	struct coherence *c = coherence_current;

	return c->now;
}

struct coherence_counts coherence_counts(void)
{
	struct coherence *c = coherence_current;

	return c->counts;
}

void coherence_stop(void)
{
	struct coherence *c = coherence_current;

	c->stopped = true;
	for (;;)
		sim_fiber_yield(c->running->fiber);
}

void coherence_delay(uint64_t picoseconds)
{
	struct coherence *c = coherence_current;

	if (c->running->loads != 0) { /* the work needs the loaded values */
		if (c->running->work + picoseconds <= c->m.window) {
			c->running->work += picoseconds;
			return;
		}
		finish_loads(catch_up(c));
	}
	c->running->now += picoseconds;
}

void coherence_read(const void *p)
{
	coherence_plain(p, 8, false, NULL);
}

void coherence_write(void *p)
{
	coherence_plain(p, 8, true, NULL);
}

uint64_t coherence_random(uint64_t below)
{
	struct coherence *c = coherence_current;

	return draw(c) % below;
}

unsigned coherence_self(void)
{
	struct coherence *c = coherence_current;

	return c->running->number;
}
