/* SPDX-License-Identifier: MIT */
/*
 * The page of pawl profile: the locks with the longest waits, flame graphs of waiters and
 * holders, the distribution of waits, and the timeline. All of it is boxes, sized in
 * percent.
 */
#include "cli/common/options.h"
#include "cli/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BARS = 12, DEEPEST = 48 };

/* Narrower boxes, in percent of the width, are left out. */
static const double narrowest = 0.4;

/* A number of the file that can be drawn; 0 if it is missing or invalid. */
static double number_at(const json_t *object, const char *key)
{
	double value = json_number_value(json_object_get(object, key));

	return value > 0 && value < 1e100 ? value : 0;
}

static const char *text_at(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "?";
}

static void write_time(FILE *out, double ns)
{
	if (ns >= 1e9)
		fprintf(out, "%.2f s", ns / 1e9);
	else if (ns >= 1e6)
		fprintf(out, "%.2f ms", ns / 1e6);
	else if (ns >= 1e3)
		fprintf(out, "%.2f \302\265s", ns / 1e3);
	else
		fprintf(out, "%.0f ns", ns);
}

static void write_bars(FILE *out, const json_t *locks)
{
	double most = 0;
	const json_t *lock;
	size_t i;

	json_array_foreach(locks, i, lock) most = fmax(most, number_at(lock, "wait_ns"));
	fprintf(out, "<h3>Contended locks</h3>\n"
		     "<div class=\"bars\">\n");
	json_array_foreach(locks, i, lock)
	{
		double ns = number_at(lock, "wait_ns");

		if (i >= BARS || ns == 0)
			break;
		fprintf(out, "<div><span>");
		write_text(out, text_at(lock, "name"));
		fprintf(out, "</span><i style=\"width:%.2f%%\"></i><small>",
			100 * ns / most);
		write_time(out, ns);
		fprintf(out, " in %.0f waits, the longest ", number_at(lock, "waits"));
		write_time(out, number_at(lock, "longest_ns"));
		fprintf(out, "</small></div>\n");
	}
	fprintf(out, "</div>\n");
}

/* A function in a flame graph, and its callees. */
struct node {
	const char *name;
	double ns;
	struct node *child, *sibling;
};

static struct node *child_named(struct node *parent, const char *name)
{
	struct node **at = &parent->child;

	while (*at != NULL && strcmp((*at)->name, name) != 0)
		at = &(*at)->sibling;
	if (*at == NULL) {
		*at = calloc(1, sizeof(**at));
		if (*at == NULL)
			give_up("out of memory");
		(*at)->name = name;
	}
	return *at;
}

static void free_nodes(struct node *node)
{
	while (node != NULL) {
		struct node *next = node->sibling;

		free_nodes(node->child);
		free(node);
		node = next;
	}
}

/* Adds a stack, whose outermost function comes last. */
static void add_stack(struct node *root, const json_t *stack, const char *leaf, double ns)
{
	size_t count = json_array_size(stack), i;
	size_t first = count > DEEPEST ? count - DEEPEST : 0;
	struct node *node = root;

	root->ns += ns;
	for (i = count; i-- > first;) {
		node = child_named(node, text_at(json_array_get(stack, i), "function"));
		node->ns += ns;
	}
	if (count == 0) {
		node = child_named(node, "not seen");
		node->ns += ns;
	}
	child_named(node, leaf)->ns += ns;
}

static void write_node(FILE *out, const struct node *node, double parent, double all)
{
	const struct node *child;

	if (100 * node->ns < narrowest * all)
		return;
	fprintf(out, "<div style=\"width:%.3f%%\"><span title=\"",
		100 * node->ns / parent);
	write_text(out, node->name);
	fprintf(out, ": ");
	write_time(out, node->ns);
	fprintf(out, ", %.1f %%\">", 100 * node->ns / all);
	write_text(out, node->name);
	fprintf(out, "</span><div class=\"calls\">");
	for (child = node->child; child != NULL; child = child->sibling)
		write_node(out, child, node->ns, all);
	fprintf(out, "</div></div>");
}

static void write_flames(FILE *out, const json_t *locks, const char *whose,
			 const char *title)
{
	struct node root = {.name = "all"};
	const json_t *lock, *pair;
	size_t i, n;

	json_array_foreach(locks, i, lock)
		json_array_foreach(json_object_get(lock, "stacks"), n, pair)
			add_stack(&root, json_object_get(pair, whose),
				  text_at(lock, "name"), number_at(pair, "wait_ns"));
	fprintf(out,
		"<h3>%s</h3>\n<div class=\"wide\"><div class=\"flames\" "
		"id=\"by-%s\">",
		title, whose);
	if (root.ns > 0)
		write_node(out, &root, root.ns, root.ns);
	fprintf(out, "</div></div>\n");
	free_nodes(root.child);
}

/* A column of this height, in percent. */
static void write_column(FILE *out, double height, double most)
{
	fprintf(out, "<i class=\"pt\" style=\"height:%.2f%%\" title=\"",
		most > 0 ? 100 * height / most : 0.0);
}

static double highest(const double *heights, size_t count)
{
	double most = 0;
	size_t i;

	for (i = 0; i < count; i++)
		most = fmax(most, heights[i]);
	return most;
}

static void begin_columns(FILE *out, const char *id, const char *label)
{
	fprintf(out,
		"<div class=\"keys\" tabindex=\"0\" role=\"group\" aria-label=\"%s; "
		"arrow "
		"keys read the columns\"><div class=\"columns\" id=\"%s\">",
		label, id);
}

static void end_columns(FILE *out)
{
	fprintf(out, "</div></div>\n");
}

static void write_histogram(FILE *out, const json_t *locks)
{
	enum { BUCKETS = 40 };
	double counts[BUCKETS] = {0}, most;
	const json_t *lock, *bucket;
	size_t i, n, first = BUCKETS, last = 0;

	json_array_foreach(locks, i, lock)
		json_array_foreach(json_object_get(lock, "histogram"), n, bucket)
	{
		double from = json_number_value(json_array_get(bucket, 0));
		double count = json_number_value(json_array_get(bucket, 1));
		int at = from >= 1 ? ilogb(from) : 0;

		if (at >= BUCKETS || !(count > 0) || !(count < 1e100))
			continue;
		counts[at] += count;
		first = (size_t)at < first ? (size_t)at : first;
		last = (size_t)at > last ? (size_t)at : last;
	}
	if (first > last)
		return;
	fprintf(out, "<h3>Length of waits</h3>\n"
		     "<p class=\"dim\">From ");
	write_time(out, ldexp(1, (int)first));
	fprintf(out, " to ");
	write_time(out, ldexp(1, (int)last + 1));
	fprintf(out, ", each column twice as long as the one before.</p>\n");
	most = highest(counts, BUCKETS);
	begin_columns(out, "histogram", "Length of waits");
	for (i = first; i <= last; i++) {
		write_column(out, counts[i], most);
		write_time(out, ldexp(1, (int)i));
		fprintf(out, " to ");
		write_time(out, ldexp(1, (int)i + 1));
		fprintf(out, ": %.0f wait%s\"></i>", counts[i],
			counts[i] > 0.5 && counts[i] < 1.5 ? "" : "s");
	}
	end_columns(out);
}

static void write_timeline(FILE *out, const json_t *timeline)
{
	size_t count = json_array_size(timeline), i;
	double *waited = report_allocate(count, sizeof(*waited)), before = 0, end = 0,
	       most;

	for (i = 0; i < count; i++) {
		const json_t *moment = json_array_get(timeline, i);
		double now = json_number_value(json_array_get(moment, 1));

		waited[i] = now > before && now < 1e100 ? now - before : 0;
		before = fmax(before, now);
		end = fmax(end, json_number_value(json_array_get(moment, 0)));
	}
	fprintf(out,
		"<h3>When</h3>\n<p class=\"dim\">Waiting of all threads over %.1f "
		"s.</p>\n",
		end);
	most = highest(waited, count);
	begin_columns(out, "timeline", "When threads waited");
	for (i = 0; i < count; i++) {
		const json_t *moment = json_array_get(timeline, i);

		write_column(out, waited[i], most);
		fprintf(out,
			"until %.2f s: ", json_number_value(json_array_get(moment, 0)));
		write_time(out, 1e9 * waited[i]);
		fprintf(out, " waited\"></i>");
	}
	end_columns(out);
	free(waited);
}

/* The most frequent function of a lock's stacks, as "f (file:line)". */
static void write_frame(FILE *out, const json_t *frame)
{
	write_text(out, text_at(frame, "function"));
	if (json_is_string(json_object_get(frame, "file"))) {
		const char *path = text_at(frame, "file");
		const char *name = strrchr(path, '/');

		fprintf(out, " (");
		write_text(out, name != NULL ? name + 1 : path);
		fprintf(out, ":%.0f)", number_at(frame, "line"));
	}
}

/* The holder that causes most of a lock's waiting, if known. */
static void write_blame(FILE *out, const json_t *lock)
{
	const json_t *pair, *most = NULL;
	size_t i;

	json_array_foreach(
		json_object_get(lock, "stacks"), i,
		pair) if (json_array_size(json_object_get(pair, "holder")) > 0 &&
			  (most == NULL ||
			   number_at(pair, "wait_ns") > number_at(most, "wait_ns")))
		most = pair;
	if (most == NULL)
		return;
	fprintf(out, "<li>Most of that is caused by <b>");
	write_frame(out, json_array_get(json_object_get(most, "holder"), 0));
	fprintf(out, "</b>, which holds it, while <b>");
	write_frame(out, json_array_get(json_object_get(most, "waiter"), 0));
	fprintf(out, "</b> waits.</li>\n");
}

void write_profile_sentences(FILE *out, const struct report_file *file)
{
	const json_t *locks = json_object_get(file->root, "locks"), *lock, *most = NULL;
	double all = 0, wall = number_at(file->root, "wall_s");
	size_t i;

	json_array_foreach(locks, i, lock)
	{
		all += number_at(lock, "wait_ns");
		if (most == NULL ||
		    number_at(lock, "wait_ns") > number_at(most, "wait_ns"))
			most = lock;
	}
	fprintf(out, "<ul class=\"answer\">\n<li>");
	if (all == 0) {
		fprintf(out, "No thread waited for a pthread lock.</li>\n"
			     "</ul>\n");
		return;
	}
	fprintf(out, "Threads waited <b>");
	write_time(out, all);
	fprintf(out,
		"</b> in all for locks, in a run of %.3g s.</li>\n<li><b>%.0f&nbsp;%%"
		"</b> of that for <b>",
		wall, 100 * number_at(most, "wait_ns") / all);
	write_text(out, text_at(most, "name"));
	fprintf(out, "</b>, in %.0f waits, of which the longest took ",
		number_at(most, "waits"));
	write_time(out, number_at(most, "longest_ns"));
	fprintf(out, ".</li>\n");
	write_blame(out, most);
	fprintf(out, "</ul>\n");
}

void write_profile(FILE *out, const struct report_file *file, size_t number)
{
	const json_t *locks = json_object_get(file->root, "locks");
	const json_t *words = json_object_get(file->root, "command");

	fprintf(out, "<section class=\"profile\" id=\"f%zu\"><h2>Waiting in ", number);
	write_text(out, json_string_value(json_array_get(words, 0)) != NULL
				? json_string_value(json_array_get(words, 0))
				: "a program");
	fprintf(out, "</h2>\n");
	if (json_array_size(locks) == 0) {
		fprintf(out, "<p>No thread waited for a pthread lock.</p></section>\n");
		return;
	}
	write_bars(out, locks);
	write_flames(out, locks, "waiter", "Waiters");
	write_flames(out, locks, "holder", "Holders");
	write_histogram(out, locks);
	write_timeline(out, json_object_get(file->root, "timeline"));
	fprintf(out, "</section>\n");
}
