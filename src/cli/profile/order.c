/* SPDX-License-Identifier: MIT */
/*
 * Cycles in the order of locks. An edge leads from a held lock to a lock that was
 * requested meanwhile. For each edge the shortest path back is searched; a cycle of the
 * same locks is reported once. A cycle whose edges all have another held lock in common
 * cannot deadlock, and is not reported.
 *
 * Relaxed throughout: as in read.c.
 */
#include "cli/profile/profile.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST = 8, MOST_CYCLES = 20 };

struct graph {
	const struct profile_file *file;
	const struct profile_edge **edges; /* sorted by their first lock */
	size_t count;
};

static uint64_t get(const pawl_atomic64 *word)
{
	return pawl_load_relaxed(word);
}

static int by_first(const void *a, const void *b)
{
	const struct profile_edge *x = *(const struct profile_edge *const *)a;
	const struct profile_edge *y = *(const struct profile_edge *const *)b;

	return get(&x->first) < get(&y->first) ? -1 : get(&x->first) > get(&y->first);
}

static struct graph graph_of(const struct profile_file *f)
{
	struct graph graph = {.file = f};
	size_t i;

	for (i = 0; i < PROFILE_EDGES; i++)
		if (get(&f->edges[i].first) != 0) {
			graph.edges = grow(graph.edges, graph.count,
					   sizeof(*graph.edges));
			graph.edges[graph.count++] = &f->edges[i];
		}
	if (graph.count > 0)
		qsort(graph.edges, graph.count, sizeof(*graph.edges), by_first);
	return graph;
}

/* The first edge from a lock, or its place in the order. */
static size_t edges_from(const struct graph *graph, uint64_t lock)
{
	size_t low = 0, high = graph->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (get(&graph->edges[middle]->first) < lock)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Breadth-first search from `start`'s end back to its beginning. Stores the edges in
 * way[], start first, and returns their number; 0: no path. */
static size_t way_back(const struct graph *graph, size_t start, size_t *way)
{
	size_t *from = allocate(graph->count * sizeof(*from)); /* plus one; 0: new */
	size_t *queue = allocate(graph->count * sizeof(*queue));
	size_t head = 0, tail = 0, length = 0, last = 0, i;
	uint64_t goal = get(&graph->edges[start]->first);
	bool found = false;

	queue[tail++] = start;
	from[start] = start + 1;
	while (head < tail && !found) {
		uint64_t lock;

		last = queue[head++];
		lock = get(&graph->edges[last]->second);
		found = lock == goal;
		for (i = edges_from(graph, lock);
		     !found && i < graph->count && get(&graph->edges[i]->first) == lock;
		     i++)
			if (from[i] == 0) {
				from[i] = last + 1;
				queue[tail++] = i;
			}
	}
	if (found) {
		for (i = last; i != start; i = from[i] - 1)
			length++;
		length++;
		if (length <= LONGEST)
			for (head = length, i = last; head-- > 0; i = from[i] - 1)
				way[head] = i;
		else
			length = 0;
	}
	free(queue);
	free(from);
	return length;
}

static bool has_gate(const struct profile_edge *edge, uint64_t gate)
{
	size_t i;

	for (i = 0; i < PROFILE_GATES; i++)
		if (get(&edge->gates[i]) == gate)
			return true;
	return false;
}

static bool is_behind_a_gate(const struct graph *graph, const size_t *way, size_t length)
{
	size_t gate, i;

	for (gate = 0; gate < PROFILE_GATES; gate++) {
		uint64_t lock = get(&graph->edges[way[0]]->gates[gate]);

		for (i = 1; lock != 0 && i < length; i++)
			if (!has_gate(graph->edges[way[i]], lock))
				break;
		if (lock != 0 && i == length)
			return true;
	}
	return false;
}

static struct stack at_one(const struct profile_file *f, uint64_t place)
{
	struct stack stack = {0, NULL};
	size_t count;
	const struct frame *const *frames = frames_at(f, place, &count);

	stack.count = count;
	stack.frames = allocate(count * sizeof(*stack.frames));
	memcpy(stack.frames, frames, count * sizeof(*stack.frames));
	return stack;
}

static const char *name(const struct profile_file *f, uint64_t lock, uint64_t place)
{
	const char *symbol = data_at(f, place);

	return symbol != NULL ? symbol : lock_name(f, lock, PROFILE_MUTEX);
}

static void add_cycle(struct profile *profile, const struct graph *graph,
		      const size_t *way, size_t length)
{
	struct cycle *cycle;
	size_t i;

	profile->cycles = grow(profile->cycles, profile->cycle_count,
			       sizeof(*profile->cycles));
	cycle = &profile->cycles[profile->cycle_count++];
	cycle->count = length;
	cycle->ends = allocate(length * sizeof(*cycle->ends));
	for (i = 0; i < length; i++) {
		const struct profile_edge *edge = graph->edges[way[i]];

		cycle->ends[i] = (struct cycle_end){
			.first = name(graph->file, get(&edge->first),
				      get(&edge->first_place)),
			.second = name(graph->file, get(&edge->second),
				       get(&edge->second_place)),
			.first_at = at_one(graph->file, get(&edge->first_site)),
			.second_at = stack_at(graph->file, get(&edge->stack)),
			.thread = get(&edge->thread),
			.several = get(&edge->threads) != 0,
		};
	}
}

static void find_in(struct profile *profile, const struct graph *graph)
{
	bool *told = allocate(graph->count * sizeof(*told));
	size_t way[LONGEST], length, i, n;

	for (i = 0; i < graph->count && profile->cycle_count < MOST_CYCLES; i++) {
		if (told[i])
			continue;
		length = way_back(graph, i, way);
		for (n = 0; n < length; n++)
			told[way[n]] = true;
		if (length > 0 && !is_behind_a_gate(graph, way, length))
			add_cycle(profile, graph, way, length);
	}
	free(told);
}

void find_cycles(struct profile *profile, const struct profile_file **files, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		struct graph graph = graph_of(files[i]);

		find_in(profile, &graph);
		free(graph.edges);
	}
}
