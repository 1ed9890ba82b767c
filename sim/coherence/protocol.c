/* SPDX-License-Identifier: MIT */
/*
 * The path of a miss:
 *
 *   requester --> home --------------------> requester   the home has the data
 *   requester --> home --> owner ----------> requester   a cache has it exclusively
 *   requester --> home <-> every copy;  home --> requester   a write, copies exist
 *
 * The home handles one transaction per line at a time; the others queue. A transaction
 * that moves or removes copies holds the line until the requester has confirmed it; a
 * read that only adds a copy holds it for `directory`. An owner loses the line when the
 * forwarded request reaches it: until then its accesses hit.
 *
 * If the machine has this effect, a cluster serves requests among its own cores: a read
 * of a line that one of them holds, a write of a line that no cache outside holds. All
 * other requests go to the home node, which may be busy with other lines.
 */
#include "coherence.h"

#include <string.h>

/* Whether the cluster of `cpu` can serve the request without the home. */
static bool settled_in_cluster(struct coherence *c, const struct line *line,
			       const struct cpu *cpu, bool write)
{
	const uint64_t *ours = c->cluster_caches[cpu->cluster];
	bool inside = false, outside = false;
	unsigned i;

	if (!c->m.settle)
		return false;
	/* Stops early: this is evaluated twice per request. */
	for (i = 0; i < c->words && !(inside && !write) && !(outside && write); i++) {
		inside |= (line->copies[i] & ours[i]) != 0;
		outside |= (line->copies[i] & ~ours[i]) != 0;
	}
	return inside && !(write && outside);
}

void request_queue(struct coherence *c, unsigned number)
{
	struct request *r = request_of(c, number);
	struct line *line = r->line;

	r->next = NOBODY;
	if (line->first == NOBODY)
		line->first = (int16_t)number;
	else
		request_of(c, (unsigned)line->last)->next = (int16_t)number;
	line->last = (int16_t)number;
}

/* A random latency factor: homes are spread over a socket, and messages contend. */
static uint16_t some_way(struct coherence *c)
{
	uint64_t most = (uint64_t)WAY * c->m.spread / 100;

	return (uint16_t)(WAY - most + draw(c) % (2 * most + 1));
}

struct request *request_fill(struct coherence *c, struct cpu *cpu, unsigned which,
			     struct line *line, const uint64_t *word, bool write,
			     uint64_t time)
{
	struct request *r = &cpu->requests[which];

	r->line = line;
	r->word = word;
	r->write = write;
	r->in_cluster = settled_in_cluster(c, line, cpu, write);
	r->way = c->m.spread == 0 ? WAY : some_way(c);
	r->arrival = time + line_leg(c, r->way, cpu->node, line->home, r->in_cluster);
	return r;
}

void request_again(struct coherence *c, struct cpu *cpu, uint64_t time)
{
	struct line *line = cpu->line;
	struct request *r = request_fill(c, cpu, ACCESS, line, cpu->word,
					 waits_by_rmw(cpu), time);

	request_queue(c, number_of(cpu, ACCESS));
	if (!line->scheduled) {
		line->scheduled = true;
		event_add(c, r->arrival, SERVE, line->number);
	}
}

static void count_miss(struct coherence *c, const struct line *line,
		       const struct cpu *cpu, bool in_cluster)
{
	c->counts.misses++;
	if (!in_cluster && line->home != cpu->node)
		c->counts.remote_misses++;
}

/* The requester gets a readable copy at `done`. */
static void read_done(struct coherence *c, struct cpu *cpu, const struct request *r,
		      uint64_t done)
{
	struct line *line = r->line;

	unsigned which = (unsigned)(r - cpu->requests);

	set_add(line->copies, cpu->cache);
	line->known = true;
	if (c->m.protocol == PROTOCOL_MESIF && !line->exclusive)
		line->owner = (int16_t)cpu->cache;
	if (which != ACCESS) {
		event_add(c, done, LOADED, number_of(cpu, which));
	} else if (!cpu->waiting) {
		cpu->value = *r->word;
		event_add(c, done, RUN, cpu->number);
	}
	if (line->waiters != 0)
		waiters_arrive(c, line, cpu, which == ACCESS, done);
}

/* The home holds the line until `done`, or until the requester's confirmation arrives. */
static void hold(struct coherence *c, struct line *line, const struct cpu *cpu,
		 uint64_t done, bool in_cluster)
{
	line->free_at = done;
	if (c->m.acknowledge)
		line->free_at += line_leg(c, line->way, cpu->node, line->home,
					  in_cluster);
}

/* Forwards the request to the exclusive owner. */
static void forward(struct coherence *c, const struct cpu *cpu, const struct request *r,
		    uint64_t start)
{
	struct line *line = r->line;
	unsigned owner = c->cache_node[line->owner];

	line->busy = true;
	event_add(c, start + line_leg(c, line->way, line->home, owner, r->in_cluster),
		  REACH, number_of(cpu, (unsigned)(r - cpu->requests)));
}

static void serve_read(struct coherence *c, struct cpu *cpu, const struct request *r,
		       uint64_t start)
{
	struct line *line = r->line;
	uint64_t done = start +
			line_leg(c, line->way, cpu->node, line->home, r->in_cluster);
	bool nobody = line->owner == NOBODY;
	unsigned i;

	line->free_at = start + c->m.directory;
	if (set_has(line->copies, cpu->cache)) { /* an SMT sibling got it first */
		read_done(c, cpu, r, done);
		return;
	}
	count_miss(c, line, cpu, r->in_cluster);
	if (line->owner != NOBODY && line->exclusive) {
		forward(c, cpu, r, start);
		return;
	}
	for (i = 0; nobody && i < c->words; i++)
		nobody = line->copies[i] == 0;
	if (line->owner != NOBODY) { /* O or F: the owner sends the data */
		unsigned owner = c->cache_node[line->owner];

		done = start + line_leg(c, line->way, line->home, owner, r->in_cluster) +
		       line_leg(c, line->way, owner, cpu->node, r->in_cluster);
	} else if (nobody) {
		if (!line->known)
			done += c->m.memory;
		line->exclusive = true;
		line->owner = (int16_t)cpu->cache;
		hold(c, line, cpu, done, r->in_cluster);
	}
	read_done(c, cpu, r, done);
}

/* Invalidates all copies; returns the time until the requester is notified. */
static uint64_t invalidate(struct coherence *c, struct line *line, const struct cpu *cpu,
			   bool in_cluster)
{
	uint64_t longest = 0;
	unsigned node, i, copies = 0;

	set_drop(line->copies, cpu->cache);
	for (node = 0; node < c->m.sockets; node++) {
		uint64_t there_and_back = 2 * line_leg(c, line->way, line->home, node,
						       in_cluster);
		unsigned here = 0;

		for (i = 0; i < c->words; i++) {
			uint64_t copies_here = line->copies[i] & c->node_caches[node][i];

			if (copies_here != 0) /* counting them costs a call */
				here += (unsigned)__builtin_popcountll(copies_here);
		}
		if (here != 0 && there_and_back > longest)
			longest = there_and_back;
		copies += here;
	}
	memset(line->copies, 0, c->words * sizeof(line->copies[0]));
	line->owner = NOBODY;
	c->counts.invalidations += copies;
	if (line->waiters != 0 && copies != 0)
		waiters_lose_others(c, line, cpu->cache, in_cluster);
	return longest + copies * c->m.invalidate +
	       line_leg(c, line->way, line->home, cpu->node, in_cluster);
}

static void serve_write(struct coherence *c, struct cpu *cpu, const struct request *r,
			uint64_t start)
{
	struct line *line = r->line;
	uint64_t done = start +
			line_leg(c, line->way, cpu->node, line->home, r->in_cluster);

	line->busy = true;
	if (!line_usable(line, cpu->cache, true)) { /* no SMT sibling was first */
		count_miss(c, line, cpu, r->in_cluster);
		if (line->owner != NOBODY && line->exclusive) {
			forward(c, cpu, r, start);
			return;
		}
		done = start + invalidate(c, line, cpu, r->in_cluster);
		if (!line->known)
			done += c->m.memory;
	}
	hold(c, line, cpu, done, r->in_cluster);
	event_add(c, done, DONE, number_of(cpu, (unsigned)(r - cpu->requests)));
}

/*
 * Takes the next request from the queue. A socket keeps a line for requests of its own
 * cores, up to `batch` times.
 */
static unsigned take(struct coherence *c, struct line *line, uint64_t time)
{
	int16_t first = line->first, number, before = first;
	unsigned node = line->owner == NOBODY ? 0 : c->cache_node[line->owner];

	if (c->m.sockets > 1 && line->owner != NOBODY && line->exclusive &&
	    line->bypassed < c->m.batch && c->cpus[first / REQUESTS].node != node) {
		for (number = request_of(c, (unsigned)first)->next; number != NOBODY;
		     before = number, number = request_of(c, (unsigned)number)->next) {
			struct request *r = request_of(c, (unsigned)number);

			if (c->cpus[number / REQUESTS].node != node || r->arrival > time)
				continue;
			request_of(c, (unsigned)before)->next = r->next;
			if (line->last == number)
				line->last = before;
			line->bypassed++;
			return (unsigned)number;
		}
	}
	line->bypassed = 0;
	line->first = request_of(c, (unsigned)first)->next;
	return (unsigned)first;
}

static void serve(struct coherence *c, struct line *line, uint64_t start)
{
	unsigned number = take(c, line, start);
	struct cpu *cpu = &c->cpus[number / REQUESTS];
	struct request *r = request_of(c, number);
	bool in_cluster = settled_in_cluster(c, line, cpu, r->write);

	c->now = start;
	line->way = r->way;
	/* Sent to the cluster, which forwards it to the home. */
	if (r->in_cluster && !in_cluster)
		start += line_leg(c, line->way, cpu->node, line->home, false);
	r->in_cluster = in_cluster;
	if (!in_cluster && c->m.home != 0)
		c->home_free[line->home] = start + c->m.home;
	if (r->write)
		serve_write(c, cpu, r, start);
	else
		serve_read(c, cpu, r, start);
}

void protocol_serve(struct coherence *c, struct line *line)
{
	line->scheduled = true; /* requests that join the queue need no event */
	while (line->first != NOBODY && !line->busy) {
		const struct request *first = request_of(c, (unsigned)line->first);
		uint64_t start = first->arrival;

		if (start < line->free_at)
			start = line->free_at;
		if (!first->in_cluster && start < c->home_free[line->home])
			start = c->home_free[line->home];
		if (start > c->now && event_next_time(c) <= start) {
			event_add(c, start, SERVE, line->number);
			return;
		}
		serve(c, line, start);
	}
	line->scheduled = false;
}

/* The transaction is complete. */
static void settle(struct coherence *c, struct line *line)
{
	line->busy = false;
	if (line->first == NOBODY || line->scheduled)
		return;
	line->scheduled = true;
	event_add(c, line->free_at, SERVE, line->number);
}

void protocol_reach_owner(struct coherence *c, unsigned number)
{
	struct cpu *cpu = &c->cpus[number / REQUESTS];
	const struct request *r = request_of(c, number);
	struct line *line = r->line;
	unsigned owner = (unsigned)line->owner;
	uint64_t done = c->now + line_leg(c, line->way, c->cache_node[owner], cpu->node,
					  r->in_cluster);
	bool moves = c->m.migrate && line->written;

	hold(c, line, cpu, done, r->in_cluster);
	if (r->write) {
		set_drop(line->copies, owner);
		line->owner = NOBODY;
		c->counts.invalidations++;
		event_add(c, done, DONE, number);
		waiters_lose_cache(c, line, owner, false);
		return;
	}
	if (moves) {
		set_drop(line->copies, owner);
		line->owner = (int16_t)cpu->cache;
		line->written = false;
		c->counts.invalidations++;
	} else {
		line->exclusive = false;
		if (c->m.protocol == PROTOCOL_MESI)
			line->owner = NOBODY;
	}
	settle(c, line);
	read_done(c, cpu, r, done);
	waiters_lose_cache(c, line, owner, !moves);
}

void protocol_grant(struct coherence *c, unsigned number)
{
	struct cpu *cpu = &c->cpus[number / REQUESTS];
	struct line *line = request_of(c, number)->line;

	line->owner = (int16_t)cpu->cache;
	line->exclusive = line->known = true;
	set_add(line->copies, cpu->cache);
	settle(c, line);
	waiters_wrote(c, line, cpu);
}
