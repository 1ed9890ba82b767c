/* SPDX-License-Identifier: MIT */
/*
 * How a miss travels:
 *
 *   requester --> home --------------------> requester   home has the data
 *   requester --> home --> owner ----------> requester   a cache has it alone
 *   requester --> home <-> every copy;  home --> requester   a write, copies exist
 *
 * The home handles one transaction on a line at a time; the others queue. A
 * transaction that moves or removes copies keeps the line until the requester has
 * acknowledged it, a read that only adds one keeps it for `directory`. An owner loses the line
 * when the forwarded request reaches it: until then its accesses hit.
 *
 * A waiter is not simulated poll by poll. While its copy is good, polling costs
 * nothing and changes nothing, so it is left alone; when the copy is lost, it
 * asks for the line again at its next poll. A waiter that polls by
 * read-modify-write needs the line to itself, and so also asks again when
 * somebody reads it.
 *
 * Stores do not wait for their line: they queue in the CPU's store buffer, take
 * effect one after the other as each gets its line, and are seen by the CPU's
 * own loads meanwhile. A read-modify-write, and a sequentially consistent store,
 * waits until the buffer is empty.
 *
 * In a machine of several clusters, a cluster settles among its own cores what
 * it can: a read of a line that one of them holds, a write of a line that none
 * outside holds. Everything else goes to the home node.
 */
#include <sim/coherence/engine.h>

#include <sim/fiber.h>
#include <sim/runtime.h>
#include <sim/seam.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	WORDS = MACHINE_MAX_CPUS / 64,
	NOBODY = -1,
	STACK_SIZE = 64 << 10,
	PAGE_BITS = 12,
	LINES_IN_SLAB = 1024,
	BUFFER = 32, /* stores */
	MAX_SLABS = 4096,
};

#define ARENA_SIZE ((size_t)64 << 20)		  /* of address space, for each node */
#define NEVER	   ((uint64_t)1000 * 1000 * 1000) /* 1 ms: no wait is that long */
#define HEAVY	   ((uint64_t)2 * 1000 * 1000)	  /* 2 us: a membarrier call */

/* A cache is known by the number of its core, and a CPU by its thread's. */
struct line {
	uint64_t key;	     /* address / line size */
	uint32_t number;     /* where it is in the slabs */
	uint16_t home;	     /* node */
	int16_t owner;	     /* cache in state M, E or O */
	bool exclusive;	     /* it is M or E: nobody else has a copy */
	bool known;	     /* home has data: a cache held it once */
	bool busy;	     /* a transaction is between two states */
	bool scheduled;	     /* an event will serve the queue */
	int16_t first, last; /* requests */
	uint16_t waiters;
	uint16_t bypassed; /* how often the first request was */
	uint64_t free_at;
	uint64_t copies[WORDS];	 /* caches */
	uint64_t polling[WORDS]; /* CPUs */
};

/*
 * A transaction. A CPU has one that it waits for and some for the oldest stores in
 * its buffer, DRAIN + the store's place modulo DRAINS; each has a number.
 */
enum { ACCESS, DRAIN, DRAINS = 4, REQUESTS = DRAIN + DRAINS };

struct request {
	struct line *line;
	const uint64_t *word;
	uint64_t arrival; /* at the home */
	int16_t next;	  /* in the line's queue */
	bool write, in_cluster;
};

struct store {
	struct line *line;
	uint64_t *word; /* NULL if it is in memory already: a plain one */
	uint64_t value;
	bool asked; /* a request for its line is under way */
};

struct cpu {
	struct sim_fiber *fiber;
	void (*run)(void *argument);
	void *argument;
	void *thread; /* struct pawl_thread */
	uintptr_t stack, stack_end;
	uint64_t now;
	uint16_t number, cache, cluster, node;
	bool finished;

	struct request requests[REQUESTS];
	uint64_t value; /* what a read found */
	struct store buffer[BUFFER];
	unsigned oldest, stores;
	bool draining; /* waits for the buffer to be empty */

	/* The wait. */
	struct line *line;
	const uint64_t *word;
	bool waiting;
	bool asked; /* its copy is lost; a request or a look is under way */
	enum sim_await kind;
	uint64_t until, to, deadline;
	uint64_t data_at; /* when the last copy arrived */
};

enum event_kind { RUN, ARRIVE, SERVE, REACH, DONE, LOOK, GIVE_UP };

struct event {
	uint64_t time;
	uint32_t order; /* of creation, for events at the same time */
	uint32_t what;	/* kind << 24 | request, CPU or line */
};

struct page {
	uint64_t number; /* 0 = empty */
	uint16_t home;
};

static struct world {
	struct coherence_setup setup;
	struct machine m;
	uint64_t near, far, inside; /* one leg of a journey */
	unsigned line_bits, caches, words;
	uint64_t now, random;
	bool stopped;
	struct cpu *current;
	struct coherence_counts counts;

	struct event *events;
	size_t count, room;
	uint32_t order;
	struct event *give_ups; /* a ring */
	size_t oldest, waiting, ring;

	struct line **table; /* hash of lines */
	size_t table_size, lines;
	struct line *slabs[MAX_SLABS];
	struct page *pages; /* hash of pages */
	size_t page_table, page_count;
	char *arena[MACHINE_MAX_SOCKETS + 1]; /* the last one is nobody's */
	size_t used[MACHINE_MAX_SOCKETS + 1];

	struct cpu cpus[MACHINE_MAX_CPUS];
	int16_t siblings[MACHINE_MAX_CPUS][8]; /* CPUs of a cache */
	uint16_t cache_node[MACHINE_MAX_CPUS];
	uint16_t cache_cluster[MACHINE_MAX_CPUS];
	uint64_t node_caches[MACHINE_MAX_SOCKETS][WORDS];
	uint64_t node_cpus[MACHINE_MAX_SOCKETS][WORDS];
	uint64_t cluster_caches[MACHINE_MAX_CPUS][WORDS];
} w;

/* Fibers outlive a simulation: making one maps memory. */
static struct sim_fiber *fibers[MACHINE_MAX_CPUS];

static void __attribute__((noreturn)) fatal(const char *sentence)
{
	fprintf(stderr, "pawl sim: %s\n", sentence);
	exit(EXIT_FAILURE);
}

static void *get(size_t size)
{
	void *p = calloc(1, size);

	if (p == NULL)
		fatal("out of memory");
	return p;
}

static uint64_t draw(void)
{
	w.random ^= w.random << 13;
	w.random ^= w.random >> 7;
	w.random ^= w.random << 17;
	return w.random;
}

/* Bit sets. */

static bool has(const uint64_t *set, unsigned i)
{
	return set[i / 64] >> (i % 64) & 1;
}

static void add(uint64_t *set, unsigned i)
{
	set[i / 64] |= (uint64_t)1 << (i % 64);
}

static void drop(uint64_t *set, unsigned i)
{
	set[i / 64] &= ~((uint64_t)1 << (i % 64));
}

/* Events: a heap with four children to a node, for shallowness. */

static bool before(const struct event *a, const struct event *b)
{
	return a->time != b->time ? a->time < b->time
				  : (int32_t)(a->order - b->order) < 0;
}

static void at(uint64_t time, enum event_kind kind, uint32_t which)
{
	struct event event = {time, w.order++, (uint32_t)kind << 24 | which};
	size_t i, parent;

	if (w.count == w.room) {
		w.room = w.room == 0 ? 1024 : w.room * 2;
		w.events = realloc(w.events, w.room * sizeof(*w.events));
		if (w.events == NULL)
			fatal("out of memory");
	}
	for (i = w.count++; i > 0; i = parent) {
		parent = (i - 1) / 4;
		if (!before(&event, &w.events[parent]))
			break;
		w.events[i] = w.events[parent];
	}
	w.events[i] = event;
}

static struct event pop(void)
{
	struct event first = w.events[0], moved = w.events[--w.count];
	size_t i = 0;

	for (;;) {
		size_t child = i * 4 + 1, end = child + 4, best = child;

		if (child >= w.count)
			break;
		if (end > w.count)
			end = w.count;
		while (++child < end)
			if (before(&w.events[child], &w.events[best]))
				best = child;
		if (!before(&w.events[best], &moved))
			break;
		w.events[i] = w.events[best];
		i = best;
	}
	w.events[i] = moved;
	return first;
}

/*
 * Waits on a hint all end after the same time, so the events that end them come
 * in order by themselves. There is one for every waiter of some locks: in the
 * heap they would slow all others down.
 */
static void at_deadline(uint64_t time, uint32_t which)
{
	struct event event = {time, w.order++, (uint32_t)GIVE_UP << 24 | which};
	size_t i;

	if (w.waiting == w.ring) {
		struct event *ring = get((w.ring * 2 + 1024) * sizeof(*ring));

		for (i = 0; i < w.waiting; i++)
			ring[i] = w.give_ups[(w.oldest + i) % w.ring];
		free(w.give_ups);
		w.give_ups = ring;
		w.ring = w.ring * 2 + 1024;
		w.oldest = 0;
	}
	w.give_ups[(w.oldest + w.waiting++) % w.ring] = event;
}

/* When the next thing happens. */
static uint64_t next_time(void)
{
	uint64_t time = w.count != 0 ? w.events[0].time : UINT64_MAX;

	if (w.waiting != 0 && w.give_ups[w.oldest].time < time)
		time = w.give_ups[w.oldest].time;
	return time;
}

static struct event next_event(void)
{
	struct event event;

	if (w.waiting == 0 ||
	    (w.count != 0 && before(&w.events[0], &w.give_ups[w.oldest])))
		return pop();
	event = w.give_ups[w.oldest];
	w.oldest = (w.oldest + 1) % w.ring;
	w.waiting--;
	return event;
}

/* Lines and their homes. */

static uint16_t page_home(uint64_t address, unsigned toucher)
{
	uint64_t number = address >> PAGE_BITS;
	unsigned node;
	size_t i;

	for (node = 0; node < w.m.sockets; node++)
		if (address - (uintptr_t)w.arena[node] < ARENA_SIZE)
			return (uint16_t)node;
	if (w.page_count * 2 >= w.page_table)
		fatal("too many pages");
	for (i = number * 0x9E3779B97F4A7C15 >> 48 & (w.page_table - 1);
	     w.pages[i].number != 0; i = (i + 1) & (w.page_table - 1))
		if (w.pages[i].number == number)
			return w.pages[i].home;
	/* By order of appearance: addresses differ from run to run. */
	node = w.cpus[toucher].node;
	if (w.setup.homes == HOMES_BY_ADDRESS)
		node = (unsigned)w.page_count % w.m.sockets;
	w.pages[i].home = (uint16_t)node;
	w.pages[i].number = number;
	w.page_count++;
	return w.pages[i].home;
}

static size_t slot_of(uint64_t key)
{
	size_t i = key * 0x9E3779B97F4A7C15 >> 32 & (w.table_size - 1);

	while (w.table[i] != NULL && w.table[i]->key != key)
		i = (i + 1) & (w.table_size - 1);
	return i;
}

static void grow_table(void)
{
	struct line **old = w.table;
	size_t i, size = w.table_size;

	w.table_size *= 2;
	w.table = get(w.table_size * sizeof(*w.table));
	for (i = 0; i < size; i++)
		if (old[i] != NULL)
			w.table[slot_of(old[i]->key)] = old[i];
	free(old);
}

static struct line *new_line(uint64_t key, unsigned toucher)
{
	size_t slab = w.lines / LINES_IN_SLAB;
	struct line *line;

	if (slab == MAX_SLABS)
		fatal("too many cache lines");
	if (w.slabs[slab] == NULL)
		w.slabs[slab] = get(LINES_IN_SLAB * sizeof(struct line));
	line = &w.slabs[slab][w.lines % LINES_IN_SLAB];
	line->key = key;
	line->number = (uint32_t)w.lines++;
	line->home = page_home(key << w.line_bits, toucher);
	line->owner = NOBODY;
	line->first = line->last = NOBODY;
	return line;
}

static struct line *find_line(const void *p, unsigned toucher)
{
	uint64_t key = (uint64_t)(uintptr_t)p >> w.line_bits;
	size_t i = slot_of(key);

	if (w.table[i] != NULL)
		return w.table[i];
	if (w.lines * 2 >= w.table_size) {
		grow_table();
		i = slot_of(key);
	}
	return w.table[i] = new_line(key, toucher);
}

static bool usable(const struct line *line, unsigned cache, bool write)
{
	if (write)
		return line->owner == (int)cache && line->exclusive;
	return has(line->copies, cache);
}

/* Distances. */

static uint64_t leg(unsigned from, unsigned to, bool in_cluster)
{
	return in_cluster ? w.inside : from == to ? w.near : w.far;
}

/* Whether the cluster of `cpu` can serve the request without the home. */
static bool settled_in_cluster(const struct line *line, const struct cpu *cpu, bool write)
{
	const uint64_t *ours = w.cluster_caches[cpu->cluster];
	bool inside = false, outside = false;
	unsigned i;

	if (w.m.clusters == 1)
		return false;
	for (i = 0; i < w.words; i++) {
		inside |= (line->copies[i] & ours[i]) != 0;
		outside |= (line->copies[i] & ~ours[i]) != 0;
	}
	return inside && !(write && outside);
}

/* Waiting. */

static bool waits_by_rmw(const struct cpu *cpu)
{
	return cpu->kind >= SIM_AWAIT_CAS;
}

static bool satisfied(const struct cpu *cpu, uint64_t value)
{
	switch (cpu->kind) {
	case SIM_AWAIT_EQ:
	case SIM_AWAIT_EQ_RMW:
	case SIM_AWAIT_CAS:
		return value == cpu->until;
	case SIM_AWAIT_NE:
	case SIM_AWAIT_NE_RMW:
	case SIM_AWAIT_CHANGE:
		break;
	}
	return value != cpu->until;
}

static unsigned number_of(const struct cpu *cpu, unsigned which)
{
	return cpu->number * (unsigned)REQUESTS + which;
}

static struct request *request_of(unsigned number)
{
	return &w.cpus[number / REQUESTS].requests[number % REQUESTS];
}

static void queue(unsigned number)
{
	struct request *r = request_of(number);
	struct line *line = r->line;

	r->next = NOBODY;
	if (line->first == NOBODY)
		line->first = (int16_t)number;
	else
		request_of((unsigned)line->last)->next = (int16_t)number;
	line->last = (int16_t)number;
}

/* Fills in a request that leaves the CPU at `time`. */
static struct request *fill(struct cpu *cpu, unsigned which, struct line *line,
			    const uint64_t *word, bool write, uint64_t time)
{
	struct request *r = &cpu->requests[which];

	r->line = line;
	r->word = word;
	r->write = write;
	r->in_cluster = settled_in_cluster(line, cpu, write);
	r->arrival = time + leg(cpu->node, line->home, r->in_cluster);
	return r;
}

/* Sends the request of a waiter that notices at `time` that it lost the line. */
static void ask(struct cpu *cpu, uint64_t time)
{
	struct line *line = cpu->line;
	struct request *r = fill(cpu, ACCESS, line, cpu->word, waits_by_rmw(cpu), time);

	queue(number_of(cpu, ACCESS));
	if (!line->scheduled) {
		line->scheduled = true;
		at(r->arrival, SERVE, line->number);
	}
}

/* A waiter's copy is lost at `time`: it notices at its next poll. */
static void lose(struct cpu *cpu, struct line *line, uint64_t time)
{
	unsigned i;

	for (i = 0; i < w.m.smt; i++) {
		int sibling = w.siblings[cpu->cache][i];

		/* One request serves both threads of a core. */
		if (sibling != NOBODY && w.cpus[sibling].asked &&
		    w.cpus[sibling].line == line && w.cpus[sibling].waiting &&
		    !waits_by_rmw(cpu))
			return;
	}
	if (time < cpu->data_at)
		time = cpu->data_at;
	cpu->asked = true;
	ask(cpu, time + draw() % w.m.poll);
}

/* A whole cache loses its copy, or the right to write to it. */
static void lose_cache(struct line *line, unsigned cache, bool only_rmw)
{
	unsigned i;

	for (i = 0; i < w.m.smt; i++) {
		int number = w.siblings[cache][i];
		struct cpu *cpu = &w.cpus[number == NOBODY ? 0 : number];

		if (number != NOBODY && cpu->waiting && cpu->line == line &&
		    !cpu->asked && (waits_by_rmw(cpu) || !only_rmw))
			lose(cpu, line, w.now);
	}
}

/*
 * All waiters outside `cache` lose their copies: those near the home notice
 * first, and otherwise in a random rotation.
 */
static void lose_others(struct line *line, unsigned cache, bool in_cluster)
{
	unsigned words = (w.setup.threads + 63) / 64;
	unsigned start = (unsigned)(draw() % w.setup.threads);
	unsigned n, i, node;

	for (n = 0; n < w.m.sockets; n++) {
		uint64_t time;

		node = (line->home + n) % w.m.sockets;
		time = w.now + leg(line->home, node, in_cluster);
		for (i = 0; i <= words; i++) {
			unsigned word = (start / 64 + i) % words;
			uint64_t bits = line->polling[word] & w.node_cpus[node][word];
			uint64_t above = ~(uint64_t)0 << (start % 64);

			/* The first word is visited twice: upper part, lower part. */
			if (i == 0)
				bits &= above;
			if (i == words)
				bits &= ~above;
			for (; bits != 0; bits &= bits - 1) {
				unsigned bit = (unsigned)__builtin_ctzll(bits);
				struct cpu *cpu = &w.cpus[word * 64 + bit];

				if (cpu->cache != cache && !cpu->asked)
					lose(cpu, line, time);
			}
		}
	}
}

static void end_wait(struct cpu *cpu, uint64_t value)
{
	cpu->waiting = cpu->asked = false;
	cpu->value = value;
	drop(cpu->line->polling, cpu->number);
	cpu->line->waiters--;
}

/*
 * A waiter of this cache has the line before it and sees `value`. Returns true
 * if its wait is over.
 */
static bool look_at(struct cpu *cpu, uint64_t value)
{
	cpu->asked = false;
	if (waits_by_rmw(cpu))
		w.counts.rmws++;
	if (!satisfied(cpu, value))
		return false;
	end_wait(cpu, value);
	return true;
}

/*
 * The cache of `reader`, whose request was served, gets a copy at `done`. All
 * its waiters look at it, but one whose own request is still queued.
 */
static void arrived(struct line *line, const struct cpu *reader, uint64_t done)
{
	unsigned i;

	for (i = 0; i < w.m.smt; i++) {
		int number = w.siblings[reader->cache][i];
		struct cpu *cpu = &w.cpus[number == NOBODY ? 0 : number];

		if (number == NOBODY || !cpu->waiting || cpu->line != line ||
		    waits_by_rmw(cpu) || (cpu->asked && cpu != reader))
			continue;
		cpu->data_at = done;
		if (look_at(cpu, *cpu->word))
			at(done, RUN, cpu->number);
	}
}

/* A thread of this cache wrote, or can: its siblings see what is there soon. */
static void wrote(struct line *line, const struct cpu *writer)
{
	unsigned i;

	for (i = 0; line->waiters != 0 && i < w.m.smt; i++) {
		int number = w.siblings[writer->cache][i];
		struct cpu *cpu = &w.cpus[number == NOBODY ? 0 : number];

		if (number == NOBODY || cpu == writer || !cpu->waiting ||
		    cpu->line != line || cpu->asked || !satisfied(cpu, *cpu->word))
			continue;
		cpu->asked = true;
		at(w.now + w.m.core + draw() % w.m.poll, LOOK, cpu->number);
	}
}

/* Transactions. */

static void count_miss(const struct line *line, const struct cpu *cpu, bool in_cluster)
{
	w.counts.misses++;
	if (!in_cluster && line->home != cpu->node)
		w.counts.remote_misses++;
}

/* The requester gets a copy to read, at `done`. */
static void read_done(struct cpu *cpu, const struct request *r, uint64_t done)
{
	struct line *line = r->line;

	add(line->copies, cpu->cache);
	line->known = true;
	if (!cpu->waiting) {
		cpu->value = *r->word;
		at(done, RUN, cpu->number);
	}
	if (line->waiters != 0)
		arrived(line, cpu, done);
}

/* The home keeps the line until the requester, served at `done`, tells it so. */
static void hold(struct line *line, const struct cpu *cpu, uint64_t done, bool in_cluster)
{
	line->free_at = done + leg(cpu->node, line->home, in_cluster);
}

/* Sends the request on to the cache that has the line alone. */
static void forward(const struct cpu *cpu, const struct request *r, uint64_t start)
{
	struct line *line = r->line;
	unsigned owner = w.cache_node[line->owner];

	line->busy = true;
	at(start + leg(line->home, owner, r->in_cluster), REACH,
	   number_of(cpu, (unsigned)(r - cpu->requests)));
}

static void serve_read(struct cpu *cpu, const struct request *r, uint64_t start)
{
	struct line *line = r->line;
	uint64_t done = start + leg(cpu->node, line->home, r->in_cluster);
	bool nobody = line->owner == NOBODY;
	unsigned i;

	line->free_at = start + w.m.directory;
	if (has(line->copies, cpu->cache)) { /* a sibling was faster */
		read_done(cpu, r, done);
		return;
	}
	count_miss(line, cpu, r->in_cluster);
	if (line->owner != NOBODY && line->exclusive) {
		forward(cpu, r, start);
		return;
	}
	for (i = 0; nobody && i < w.words; i++)
		nobody = line->copies[i] == 0;
	if (line->owner != NOBODY) { /* O: its owner answers */
		unsigned owner = w.cache_node[line->owner];

		done = start + leg(line->home, owner, r->in_cluster) +
		       leg(owner, cpu->node, r->in_cluster);
	} else if (nobody) {
		if (!line->known)
			done += w.m.memory;
		line->owner = (int16_t)cpu->cache;
		line->exclusive = true;
		hold(line, cpu, done, r->in_cluster);
	}
	read_done(cpu, r, done);
}

/* Removes all copies; returns how long until the requester is told so. */
static uint64_t invalidate(struct line *line, const struct cpu *cpu, bool in_cluster)
{
	uint64_t longest = 0;
	unsigned node, i, copies = 0;

	drop(line->copies, cpu->cache);
	for (node = 0; node < w.m.sockets; node++) {
		uint64_t there_and_back = 2 * leg(line->home, node, in_cluster);
		unsigned here = 0;

		for (i = 0; i < w.words; i++)
			here += (unsigned)__builtin_popcountll(line->copies[i] &
							       w.node_caches[node][i]);
		if (here != 0 && there_and_back > longest)
			longest = there_and_back;
		copies += here;
	}
	memset(line->copies, 0, w.words * sizeof(line->copies[0]));
	line->owner = NOBODY;
	w.counts.invalidations += copies;
	if (line->waiters != 0 && copies != 0)
		lose_others(line, cpu->cache, in_cluster);
	return longest + copies * w.m.invalidate + leg(line->home, cpu->node, in_cluster);
}

static void serve_write(struct cpu *cpu, const struct request *r, uint64_t start)
{
	struct line *line = r->line;
	uint64_t done = start + leg(cpu->node, line->home, r->in_cluster);

	line->busy = true;
	if (!usable(line, cpu->cache, true)) { /* no sibling was faster */
		count_miss(line, cpu, r->in_cluster);
		if (line->owner != NOBODY && line->exclusive) {
			forward(cpu, r, start);
			return;
		}
		done = start + invalidate(line, cpu, r->in_cluster);
		if (!line->known)
			done += w.m.memory;
	}
	hold(line, cpu, done, r->in_cluster);
	at(done, DONE, number_of(cpu, (unsigned)(r - cpu->requests)));
}

/*
 * Takes the next request from the queue. A socket passes a line around among its
 * own cores before it lets another have it, up to `batch` times.
 */
static unsigned take(struct line *line, uint64_t time)
{
	int16_t first = line->first, number, before = first;
	unsigned node = line->owner == NOBODY ? 0 : w.cache_node[line->owner];

	if (w.m.sockets > 1 && line->owner != NOBODY && line->exclusive &&
	    line->bypassed < w.m.batch && w.cpus[first / REQUESTS].node != node) {
		for (number = request_of((unsigned)first)->next; number != NOBODY;
		     before = number, number = request_of((unsigned)number)->next) {
			struct request *r = request_of((unsigned)number);

			if (w.cpus[number / REQUESTS].node != node || r->arrival > time)
				continue;
			request_of((unsigned)before)->next = r->next;
			if (line->last == number)
				line->last = before;
			line->bypassed++;
			return (unsigned)number;
		}
	}
	line->bypassed = 0;
	line->first = request_of((unsigned)first)->next;
	return (unsigned)first;
}

static void serve(struct line *line, uint64_t start)
{
	unsigned number = take(line, start);
	struct cpu *cpu = &w.cpus[number / REQUESTS];
	struct request *r = request_of(number);
	bool in_cluster = settled_in_cluster(line, cpu, r->write);

	w.now = start;
	/* Sent to the cluster, which has to pass it on to the home. */
	if (r->in_cluster && !in_cluster)
		start += leg(cpu->node, line->home, false);
	r->in_cluster = in_cluster;
	if (r->write)
		serve_write(cpu, r, start);
	else
		serve_read(cpu, r, start);
}

/* Serves a queue as far as nothing else happens in between. */
static void serve_queue(struct line *line)
{
	line->scheduled = true; /* whoever joins the queue need not call */
	while (line->first != NOBODY && !line->busy) {
		uint64_t start = request_of((unsigned)line->first)->arrival;

		if (start < line->free_at)
			start = line->free_at;
		if (start > w.now && next_time() <= start) {
			at(start, SERVE, line->number);
			return;
		}
		serve(line, start);
	}
	line->scheduled = false;
}

/* The line is in a known state again. */
static void settle(struct line *line)
{
	line->busy = false;
	if (line->first == NOBODY || line->scheduled)
		return;
	line->scheduled = true;
	at(line->free_at, SERVE, line->number);
}

/* A forwarded request reaches the cache that has the line alone. */
static void reach_owner(unsigned number)
{
	struct cpu *cpu = &w.cpus[number / REQUESTS];
	const struct request *r = request_of(number);
	struct line *line = r->line;
	unsigned owner = (unsigned)line->owner;
	uint64_t done = w.now + leg(w.cache_node[owner], cpu->node, r->in_cluster);

	hold(line, cpu, done, r->in_cluster);
	if (r->write) {
		drop(line->copies, owner);
		line->owner = NOBODY;
		w.counts.invalidations++;
		at(done, DONE, number);
		lose_cache(line, owner, false);
		return;
	}
	line->exclusive = false;
	if (w.m.protocol == PROTOCOL_MESI)
		line->owner = NOBODY;
	settle(line);
	read_done(cpu, r, done);
	lose_cache(line, owner, true);
}

/* Running threads. */

static void resume(struct cpu *cpu)
{
	cpu->now = w.now;
	w.current = cpu;
	sim_fiber_resume(cpu->fiber);
}

/* A waiter polls by read-modify-write, on a line that it has alone. */
static void poll_by_rmw(struct cpu *cpu)
{
	uint64_t *word = (uint64_t *)cpu->word;
	uint64_t value = *word;

	if (!look_at(cpu, value))
		return;
	if (cpu->kind == SIM_AWAIT_CAS) {
		*word = cpu->to;
		wrote(cpu->line, cpu);
	}
	resume(cpu);
}

/* Whether an older store than the i-th has asked for the same line. */
static bool asked_before(const struct cpu *cpu, unsigned i)
{
	const struct line *line = cpu->buffer[(cpu->oldest + i) % BUFFER].line;

	while (i-- > 0) {
		const struct store *older = &cpu->buffer[(cpu->oldest + i) % BUFFER];

		if (older->asked && older->line == line)
			return true;
	}
	return false;
}

/*
 * Lets the oldest stores take effect as far as their lines are there, and asks
 * for the lines of the next few.
 */
static void drain(struct cpu *cpu)
{
	unsigned i;

	while (cpu->stores != 0) {
		struct store *store = &cpu->buffer[cpu->oldest];

		if (store->asked || !usable(store->line, cpu->cache, true))
			break;
		if (store->word != NULL)
			*store->word = store->value;
		wrote(store->line, cpu);
		cpu->oldest = (cpu->oldest + 1) % BUFFER;
		cpu->stores--;
	}
	for (i = 0; i < cpu->stores && i < DRAINS; i++) {
		unsigned place = (cpu->oldest + i) % BUFFER;
		unsigned which = DRAIN + place % DRAINS;
		struct store *store = &cpu->buffer[place];

		if (store->asked || usable(store->line, cpu->cache, true) ||
		    asked_before(cpu, i))
			continue;
		store->asked = true;
		fill(cpu, which, store->line, store->word, true, w.now);
		at(cpu->requests[which].arrival, ARRIVE, number_of(cpu, which));
	}
	if (cpu->draining && cpu->stores == 0) {
		cpu->draining = false;
		at(w.now, RUN, cpu->number);
	}
}

/* The line of a store in the buffer is there. */
static void store_granted(struct cpu *cpu, unsigned which)
{
	unsigned i;

	for (i = 0; i < DRAINS; i++) {
		unsigned place = (cpu->oldest + i) % BUFFER;

		if (DRAIN + place % DRAINS == which)
			cpu->buffer[place].asked = false;
	}
	drain(cpu);
}

/* A request to write is granted. */
static void done(unsigned number)
{
	struct cpu *cpu = &w.cpus[number / REQUESTS];
	struct line *line = request_of(number)->line;

	line->owner = (int16_t)cpu->cache;
	line->exclusive = line->known = true;
	add(line->copies, cpu->cache);
	settle(line);
	wrote(line, cpu);
	if (number % REQUESTS != ACCESS)
		store_granted(cpu, number % REQUESTS);
	else if (cpu->waiting)
		poll_by_rmw(cpu);
	else
		resume(cpu);
}

/* A waiter looks at a line that its own cache had a moment ago. */
static void look(struct cpu *cpu)
{
	struct line *line = cpu->line;

	if (!usable(line, cpu->cache, waits_by_rmw(cpu))) {
		ask(cpu, w.now);
	} else if (waits_by_rmw(cpu)) {
		poll_by_rmw(cpu);
	} else if (look_at(cpu, *cpu->word)) {
		resume(cpu);
	}
}

static void give_up(struct cpu *cpu)
{
	if (!cpu->waiting || cpu->kind != SIM_AWAIT_CHANGE || w.now < cpu->deadline)
		return;
	if (cpu->asked) { /* in the middle of a poll */
		at(w.now + w.m.poll, GIVE_UP, cpu->number);
		return;
	}
	end_wait(cpu, cpu->until);
	resume(cpu);
}

static void handle(struct event event)
{
	uint32_t which = event.what & 0xFFFFFF;
	struct cpu *cpu = &w.cpus[which % MACHINE_MAX_CPUS];
	struct line *line;

	w.now = event.time;
	switch ((enum event_kind)(event.what >> 24)) {
	case RUN:
		resume(cpu);
		break;
	case ARRIVE:
		queue(which);
		line = request_of(which)->line;
		if (!line->scheduled)
			serve_queue(line);
		break;
	case SERVE:
		serve_queue(&w.slabs[which / LINES_IN_SLAB][which % LINES_IN_SLAB]);
		break;
	case REACH:
		reach_owner(which);
		break;
	case DONE:
		done(which);
		break;
	case LOOK:
		look(cpu);
		break;
	case GIVE_UP:
		give_up(cpu);
		break;
	}
}

bool coherence_run(void)
{
	uint64_t events;
	unsigned i;

	for (events = 1; !w.stopped && next_time() != UINT64_MAX; events++) {
		handle(next_event());
		if (events % 4096 == 0 && w.setup.stop != NULL && w.setup.stop())
			w.stopped = true;
	}
	for (i = 0; i < w.setup.threads && !w.stopped; i++)
		if (w.cpus[i].run != NULL && !w.cpus[i].finished)
			return false;
	return true;
}

/* On fibers. */

/* Lets everything happen that happens before this thread's next access. */
static struct cpu *catch_up(void)
{
	struct cpu *cpu = w.current;

	if (next_time() < cpu->now) {
		at(cpu->now, RUN, cpu->number);
		sim_fiber_yield(cpu->fiber);
	}
	w.now = cpu->now;
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

/* The youngest store to this word, or to this line if word is NULL. */
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

/* Gets hold of the line; returns the value that a read finds there. */
static uint64_t reach(struct cpu *cpu, const uint64_t *word, bool write)
{
	struct line *line = find_line(word, cpu->number);
	struct request *r;

	/* A store is fetching the line already. */
	if (cpu->stores != 0 && buffered(cpu, line, NULL) != NULL)
		empty_buffer(cpu);
	cpu->line = line;
	if (usable(line, cpu->cache, write))
		return *word;
	r = fill(cpu, ACCESS, line, word, write, cpu->now);
	at(r->arrival, ARRIVE, number_of(cpu, ACCESS));
	sim_fiber_yield(cpu->fiber);
	return cpu->value;
}

static uint64_t coherence_load(const uint64_t *p, int order, const void *site)
{
	struct cpu *cpu = catch_up();
	const struct store *store = NULL;
	uint64_t value;

	(void)order;
	(void)site;
	if (cpu->stores != 0)
		store = buffered(cpu, find_line(p, cpu->number), p);
	value = store != NULL ? store->value : reach(cpu, p, false);
	cpu->now += w.m.hit;
	return value;
}

/* Stores, or puts it off; a plain store has no word, it is in memory already. */
static void post(struct cpu *cpu, struct line *line, uint64_t *word, uint64_t value)
{
	if (cpu->stores == BUFFER) {
		empty_buffer(cpu);
		catch_up();
	}
	cpu->buffer[(cpu->oldest + cpu->stores++) % BUFFER] = (struct store){
		line, word, value, false};
	if (cpu->stores <= DRAINS)
		drain(cpu);
	cpu->now += w.m.hit;
}

static void coherence_store(uint64_t *p, uint64_t value, int order, const void *site)
{
	struct cpu *cpu;

	(void)site;
	if (w.current == NULL) { /* setting up */
		*p = value;
		return;
	}
	cpu = catch_up();
	post(cpu, find_line(p, cpu->number), p, value);
	if (order == SIM_SEQ_CST)
		empty_buffer(cpu);
}

/*
 * Gets the line for the read-modify-write that follows at once. The line is
 * fetched while older stores drain; it can be lost again meanwhile.
 */
static struct cpu *own(const uint64_t *p)
{
	struct cpu *cpu = catch_up();

	reach(cpu, p, true);
	while (cpu->stores != 0) {
		empty_buffer(cpu);
		reach(cpu, p, true);
	}
	w.counts.rmws++;
	cpu->now += w.m.rmw;
	return cpu;
}

static uint64_t coherence_exchange(uint64_t *p, uint64_t value, int order,
				   const void *site)
{
	struct cpu *cpu = own(p);
	uint64_t old = *p;

	(void)order;
	(void)site;
	*p = value;
	wrote(cpu->line, cpu);
	return old;
}

static bool coherence_cas(uint64_t *p, uint64_t from, uint64_t to, int order,
			  int failure_order, const void *site)
{
	struct cpu *cpu = own(p);

	(void)order;
	(void)failure_order;
	(void)site;
	if (*p != from)
		return false;
	*p = to;
	wrote(cpu->line, cpu);
	return true;
}

static uint64_t coherence_fetch_add(uint64_t *p, uint64_t n, int order, const void *site)
{
	struct cpu *cpu = own(p);
	uint64_t old = *p;

	(void)order;
	(void)site;
	*p = old + n;
	wrote(cpu->line, cpu);
	return old;
}

static void coherence_fence(enum sim_fence kind, const void *site)
{
	(void)site;
	if (kind == SIM_FENCE_LIGHT)
		return;
	empty_buffer(catch_up());
	if (kind == SIM_FENCE_HEAVY)
		w.current->now += HEAVY;
}

static uint64_t coherence_await(enum sim_await kind, uint64_t *p, uint64_t value,
				uint64_t to, int order, const void *site)
{
	struct cpu *cpu = w.current;
	uint64_t found;

	(void)order;
	cpu->kind = kind;
	cpu->until = value;
	cpu->to = to;
	/* A wait for what others make of our store begins with that store. */
	if (cpu->stores != 0 && buffered(cpu, find_line(p, cpu->number), NULL) != NULL) {
		catch_up();
		empty_buffer(cpu);
	}
	if (waits_by_rmw(cpu)) {
		own(p);
		found = *p;
	} else {
		found = coherence_load(p, order, site);
	}
	if (satisfied(cpu, found)) {
		if (kind == SIM_AWAIT_CAS) {
			*p = to;
			wrote(cpu->line, cpu);
		}
		return found;
	}

	catch_up();
	cpu->line = find_line(p, cpu->number);
	cpu->word = p;
	cpu->waiting = true;
	cpu->asked = false;
	cpu->data_at = w.now;
	add(cpu->line->polling, cpu->number);
	cpu->line->waiters++;
	/* What was read may have changed since: look again, soon. */
	if (!usable(cpu->line, cpu->cache, waits_by_rmw(cpu)) || satisfied(cpu, *p)) {
		cpu->asked = true;
		at(w.now + draw() % w.m.poll, LOOK, cpu->number);
	}
	cpu->deadline = w.now + w.m.look;
	if (kind == SIM_AWAIT_CHANGE && w.m.look < NEVER)
		at_deadline(cpu->deadline, cpu->number);
	sim_fiber_yield(cpu->fiber);
	cpu->now += waits_by_rmw(cpu) ? w.m.rmw : w.m.hit;
	return cpu->value;
}

/* Every thread has a CPU to itself: nobody gains by sleeping. */
static bool coherence_sleep(const uint64_t *p, uint64_t expected, bool timed,
			    const void *site)
{
	(void)p, (void)expected, (void)timed, (void)site;
	fatal("a lock whose waiters sleep cannot be simulated");
}

static void coherence_wake(const uint64_t *p, const void *site)
{
	(void)p, (void)site;
}

static void coherence_plain(const void *p, size_t size, bool write, const void *site)
{
	struct cpu *cpu = w.current;
	uintptr_t address = (uintptr_t)p & ~(uintptr_t)7, end = (uintptr_t)p + size;

	(void)site;
	if (cpu == NULL)
		return; /* setting up */
	if (address - cpu->stack < cpu->stack_end - cpu->stack) {
		cpu->now += w.m.hit;
		return;
	}
	for (; address < end; address = ((address >> w.line_bits) + 1) << w.line_bits) {
		struct line *line;

		catch_up();
		line = find_line((const void *)address, cpu->number);
		if (write) {
			post(cpu, line, NULL, 0);
			continue;
		}
		if (cpu->stores == 0 || buffered(cpu, line, NULL) == NULL)
			reach(cpu, (const uint64_t *)address, false);
		cpu->now += w.m.hit;
	}
}

static void *coherence_own_storage(void)
{
	return w.current->thread;
}

static bool coherence_one_in(unsigned n, const void *site)
{
	(void)site;
	return draw() % n == 0;
}

static void *allocate(unsigned arena, size_t size, size_t alignment)
{
	size_t start = (w.used[arena] + alignment - 1) / alignment * alignment;

	w.used[arena] = start + size;
	if (w.used[arena] > ARENA_SIZE)
		fatal("simulated memory used up");
	return w.arena[arena] + start;
}

static unsigned storage_node(const struct cpu *cpu)
{
	switch (w.setup.thread_homes) {
	case THREADS_AT_HOME:
		break;
	case THREADS_AWAY:
		return (cpu->node + 1u) % w.m.sockets;
	case THREADS_ON_ZERO:
		return 0;
	}
	return cpu->node;
}

static void *coherence_allocate(size_t size, size_t alignment)
{
	return allocate(storage_node(w.current), size, alignment);
}

/* Simulated memory is never used twice: a simulation is short. */
static void coherence_release(void *p, const void *site)
{
	(void)p;
	(void)site;
}

static void __attribute__((noreturn))
coherence_die(const char *sentence, const void *site)
{
	(void)site;
	fatal(sentence);
}

static const struct sim_engine engine = {
	.load = coherence_load,
	.store = coherence_store,
	.exchange = coherence_exchange,
	.cas = coherence_cas,
	.fetch_add = coherence_fetch_add,
	.fence = coherence_fence,
	.await = coherence_await,
	.sleep = coherence_sleep,
	.wake = coherence_wake,
	.plain = coherence_plain,
	.self = coherence_own_storage,
	.one_in = coherence_one_in,
	.allocate = coherence_allocate,
	.release = coherence_release,
	.die = coherence_die,
};

/* Setting up. */

static void place(struct cpu *cpu, unsigned i)
{
	const struct machine *m = &w.m;
	unsigned per_socket = m->clusters * m->cores;
	unsigned core, all = m->sockets * per_socket;

	if (w.setup.placement == PLACE_CORES)
		core = i % all;
	else
		core = i % m->sockets * per_socket + i / m->sockets % per_socket;
	cpu->cache = (uint16_t)core;
	cpu->cluster = (uint16_t)(core / m->cores);
	cpu->node = (uint16_t)(core / per_socket);
	w.siblings[core][i / all] = (int16_t)i;
	add(w.node_cpus[cpu->node], i);
}

static void fiber_main(void *argument)
{
	struct cpu *cpu = argument;

	cpu->run(cpu->argument);
	cpu->finished = true;
	for (;;)
		sim_fiber_yield(cpu->fiber);
}

void coherence_spawn(unsigned thread, void (*run)(void *argument), void *argument)
{
	struct cpu *cpu = &w.cpus[thread];
	size_t size;

	if (fibers[thread] == NULL)
		fibers[thread] = sim_fiber_new(STACK_SIZE);
	if (fibers[thread] == NULL)
		fatal("out of memory");
	cpu->fiber = fibers[thread];
	cpu->stack = (uintptr_t)sim_fiber_stack(cpu->fiber, &size);
	cpu->stack_end = cpu->stack + size;
	cpu->run = run;
	cpu->argument = argument;
	sim_fiber_start(cpu->fiber, fiber_main, cpu);
	at(0, RUN, thread);
}

void coherence_open(const struct coherence_setup *setup)
{
	const struct machine *m = setup->machine;
	unsigned i, core;

	memset(&w, 0, sizeof(w));
	w.setup = *setup;
	w.m = *m;
	w.near = m->socket / 3;
	w.far = (m->remote - w.near) / 2;
	w.inside = m->cluster / 3;
	w.line_bits = setup->pairs ? 7 : 6;
	w.caches = m->sockets * m->clusters * m->cores;
	w.words = (w.caches + 63) / 64;
	w.random = setup->seed * 0x9E3779B97F4A7C15 + 0xD1B54A32D192ED03;
	if (w.random == 0)
		w.random = 1;
	w.table_size = 1 << 14;
	w.table = get(w.table_size * sizeof(*w.table));
	w.page_table = 1 << 12;
	w.pages = get(w.page_table * sizeof(*w.pages));
	for (i = 0; i <= m->sockets; i++) {
		unsigned arena = i < m->sockets ? i : MACHINE_MAX_SOCKETS;

		w.arena[arena] = mmap(NULL, ARENA_SIZE, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (w.arena[arena] == MAP_FAILED)
			fatal("out of memory");
	}
	memset(w.siblings, 0xFF, sizeof(w.siblings)); /* NOBODY */
	for (core = 0; core < w.caches; core++) {
		w.cache_cluster[core] = (uint16_t)(core / m->cores);
		w.cache_node[core] = (uint16_t)(core / (m->clusters * m->cores));
		add(w.node_caches[w.cache_node[core]], core);
		add(w.cluster_caches[w.cache_cluster[core]], core);
	}
	for (i = 0; i < setup->threads; i++) {
		struct cpu *cpu = &w.cpus[i];

		cpu->number = (uint16_t)i;
		place(cpu, i);
		cpu->thread = allocate(storage_node(cpu), sim_thread_size(), 128);
	}
	sim_waiting_slots = SIM_MAX_WAITING_SLOTS;
	sim_hapax_block_bits = 16;
	sim_engine = &engine;
	sim_reset();
}

void coherence_close(void)
{
	size_t i;

	for (i = 0; i < MAX_SLABS && w.slabs[i] != NULL; i++)
		free(w.slabs[i]);
	for (i = 0; i <= MACHINE_MAX_SOCKETS; i++)
		if (w.arena[i] != NULL)
			munmap(w.arena[i], ARENA_SIZE);
	free(w.table);
	free(w.pages);
	free(w.events);
	free(w.give_ups);
	memset(&w, 0, sizeof(w));
	sim_engine = NULL;
}

void *coherence_memory(size_t size)
{
	return allocate(MACHINE_MAX_SOCKETS, size, 128);
}

uint64_t coherence_now(void)
{
	return w.now;
}

struct coherence_counts coherence_counts(void)
{
	return w.counts;
}

void coherence_stop(void)
{
	w.stopped = true;
	for (;;)
		sim_fiber_yield(w.current->fiber);
}

void coherence_delay(uint64_t picoseconds)
{
	w.current->now += picoseconds;
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
	return draw() % below;
}

unsigned coherence_self(void)
{
	return w.current->number;
}
