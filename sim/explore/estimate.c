/* SPDX-License-Identifier: MIT */
/*
 * How many runs a search will take, after Chen, "Heuristic Sampling: A Method for
 * Predicting the Performance of Tree Searching Programs" (SIAM J. Comput., 1992). Runs
 * are the nodes of a tree: the graphs that one leaves for later are its children. A
 * probe goes down generation by generation. Of all the graphs of a generation in which
 * each thread has done as much it keeps one, any of them by dice, and lets it stand for
 * the others: it weighs what they weigh together. On average all weights make the number
 * of runs; how far single probes are apart says how much that is worth.
 */
#include "search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STRATA = 1 << 10, CHANCES = 1 << 30 };

struct stratum {
	double weight;
	unsigned char *graph; /* packed */
	size_t size;	      /* of its memory */
};
struct generation {
	struct stratum strata[STRATA];
	bool any;
};

/* Alike are graphs in which each thread has done as much; few others fall in with them. */
static size_t kind_of(const unsigned char *graph)
{
	uint64_t lengths;

	memcpy(&lengths, graph + offsetof(struct graph, length), sizeof(lengths));
	return lengths * 0x9e3779b97f4a7c15u >> 54;
}

/* One more graph in a generation, or as many as weigh so much. */
static void add(struct search *s, struct generation *to, const unsigned char *graph,
		size_t size, double weight)
{
	struct stratum *stratum = &to->strata[kind_of(graph)];
	unsigned char *room = stratum->graph;

	stratum->weight += weight;
	if (random_below(s, CHANCES) >= weight / stratum->weight * CHANCES)
		return;
	if (stratum->size < size)
		room = realloc(stratum->graph, size);
	if (room == NULL)
		return; /* then the one before stands for it */
	stratum->graph = memcpy(room, graph, size);
	stratum->size = stratum->size < size ? size : stratum->size;
	to->any = true;
}

/* Takes what a run has left on the stack. */
static void take_children(struct search *s, size_t base, double weight,
			  struct generation *to)
{
	while (s->pending.used > base) {
		size_t size;

		memcpy(&size, s->pending.bytes + s->pending.used - sizeof(size),
		       sizeof(size));
		s->pending.used -= size + sizeof(size);
		add(s, to, s->pending.bytes + s->pending.used, size, weight);
	}
}

static double run_one(struct search *s, double weight, struct generation *next)
{
	size_t base = s->pending.used;

	s->estimate.runs++;
	s->result->verdict = VERDICT_PASSED;
	search_run(s);
	take_children(s, base, weight, next);
	return weight;
}

static double probe(struct search *s)
{
	static struct generation generations[2];
	struct generation *now = &generations[0], *next = &generations[1], *other;
	double weight;
	int i;

	graph_clear(&s->graph, s->program->threads);
	weight = run_one(s, 1, next);
	while (next->any && !s->restart) {
		other = now;
		now = next;
		next = other;
		for (i = 0; i < STRATA && !s->restart; i++) {
			struct stratum *stratum = &now->strata[i];

			if (stratum->weight == 0)
				continue;
			graph_unpack(&s->graph, stratum->graph);
			weight += run_one(s, stratum->weight, next);
			stratum->weight = 0;
		}
		now->any = false;
	}
	for (i = 0; i < STRATA; i++) /* of a search that begins anew */
		now->strata[i].weight = next->strata[i].weight = 0;
	now->any = next->any = false;
	return weight;
}

void estimate_more(struct search *s, uint64_t runs)
{
	struct options options = *s->options;
	const struct options *wanted = s->options;
	struct result kept = *s->result;

	options.each = NULL;
	s->options = &options;
	search_push(s, &s->graph); /* it comes next */
	while (s->estimate.runs < runs && !s->restart) {
		double weight = probe(s);

		s->estimate.probes++;
		s->estimate.sum += weight;
		s->estimate.squares += weight * weight;
	}
	search_pop(s);
	s->options = wanted;
	*s->result = kept;
}

struct expected estimate_runs(const struct search *s)
{
	double n = s->estimate.probes, mean, variance;

	if (n < 2)
		return (struct expected){0, 0};
	mean = s->estimate.sum / n;
	variance = (s->estimate.squares - n * mean * mean) / (n - 1);
	return (struct expected){mean, sqrt(variance > 0 ? variance / n : 0) / mean};
}

void expected_print(struct expected expected, uint64_t runs, double seconds, char *to,
		    size_t size)
{
	double rate = (double)runs / seconds;

	snprintf(to, size, "%llu runs, %.0f/s", (unsigned long long)runs, rate);
	size -= strlen(to);
	to += strlen(to);
	if (expected.runs > (double)runs && expected.error < 0.5)
		snprintf(to, size, "; about %.0f %% of %.2g (give or take %.0f %%)",
			 100 * (double)runs / expected.runs, expected.runs,
			 100 * expected.error);
	else if (expected.runs > (double)runs)
		snprintf(to, size, "; of perhaps %.0e", expected.runs);
	else if (expected.runs > 0)
		snprintf(to, size, "; more than %.2g, which were expected",
			 expected.runs);
}
