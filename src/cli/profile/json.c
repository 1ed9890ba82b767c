/* SPDX-License-Identifier: MIT */
#include "cli/common/options.h"
#include "cli/profile/profile.h"

static json_t *or_give_up(json_t *json)
{
	if (json == NULL)
		give_up("cannot make JSON; is there text that is not UTF-8?");
	return json;
}

static void set(json_t *object, const char *name, json_t *value)
{
	if (json_object_set_new(object, name, or_give_up(value)) != 0)
		give_up("out of memory");
}

static void append(json_t *array, json_t *value)
{
	if (json_array_append_new(array, or_give_up(value)) != 0)
		give_up("out of memory");
}

static json_t *text(const char *text)
{
	return text == NULL ? json_null() : json_string(text);
}

static json_t *stack_json(const struct stack *stack)
{
	json_t *array = or_give_up(json_array());
	size_t i;

	for (i = 0; i < stack->count; i++) {
		const struct frame *frame = stack->frames[i];
		json_t *object = or_give_up(json_object());

		set(object, "function", text(frame->function));
		set(object, "file", text(frame->file));
		set(object, "line", json_integer(frame->line));
		set(object, "module", text(frame->module));
		if (frame->inlined)
			set(object, "inlined", json_true());
		append(array, object);
	}
	return array;
}

static json_t *pairs_json(const struct row *row)
{
	json_t *array = or_give_up(json_array());
	size_t i;

	for (i = 0; i < row->pair_count; i++) {
		const struct pair *pair = &row->pairs[i];
		json_t *object = or_give_up(json_object());

		set(object, "waits", json_real(pair->waits));
		set(object, "wait_ns", json_real(pair->wait_ns));
		set(object, "waiter", stack_json(&pair->waiter));
		if (row->kind != PROFILE_COND)
			set(object, "holder", stack_json(&pair->holder));
		append(array, object);
	}
	return array;
}

/* Pairs of a bucket's lower bound in nanoseconds and its number of waits. */
static json_t *histogram_json(const struct row *row)
{
	json_t *array = or_give_up(json_array());
	size_t i;

	for (i = 0; i < PROFILE_BUCKETS; i++)
		if (row->histogram[i] > 0)
			append(array,
			       json_pack("[I,f]", (json_int_t)1 << i, row->histogram[i]));
	return array;
}

static json_t *rows_json(const struct rows *rows)
{
	json_t *array = or_give_up(json_array());
	size_t i;

	for (i = 0; i < rows->count; i++) {
		const struct row *row = &rows->rows[i];
		json_t *object = or_give_up(json_object());

		set(object, "name", text(row->name));
		set(object, "kind", text(kind_name(row->kind)));
		set(object, "locks", json_integer((json_int_t)row->locks));
		set(object, "waits", json_real(row->waits));
		set(object, "wait_ns", json_real(row->wait_ns));
		set(object, "longest_ns", json_real(row->longest_ns));
		if (row->kind != PROFILE_COND) {
			set(object, "acquisitions", json_real(row->acquisitions));
			set(object, "held_ns",
			    row->holds > 0 ? json_real(row->hold_ns / row->holds)
					   : json_null());
			set(object, "held_longest_ns", json_real(row->hold_longest_ns));
		}
		set(object, "histogram", histogram_json(row));
		set(object, "stacks", pairs_json(row));
		append(array, object);
	}
	return array;
}

static json_t *cycles_json(const struct profile *profile)
{
	json_t *array = or_give_up(json_array());
	size_t i, n;

	for (i = 0; i < profile->cycle_count; i++) {
		json_t *cycle = or_give_up(json_array());

		for (n = 0; n < profile->cycles[i].count; n++) {
			const struct cycle_end *end = &profile->cycles[i].ends[n];
			json_t *object = or_give_up(json_object());

			set(object, "first", text(end->first));
			set(object, "second", text(end->second));
			set(object, "thread", json_integer((json_int_t)end->thread));
			set(object, "first_at", stack_json(&end->first_at));
			set(object, "second_at", stack_json(&end->second_at));
			append(cycle, object);
		}
		append(array, cycle);
	}
	return array;
}

static json_t *losses_json(const struct profile *profile)
{
	static const char *const names[PROFILE_LOSSES] = {
		[PROFILE_LOST_LOCKS] = "locks",	    [PROFILE_LOST_THREADS] = "threads",
		[PROFILE_LOST_HELD] = "held",	    [PROFILE_LOST_STACKS] = "stacks",
		[PROFILE_LOST_SAMPLES] = "samples", [PROFILE_LOST_MODULES] = "modules",
		[PROFILE_LOST_EDGES] = "edges",
	};
	json_t *object = or_give_up(json_object());
	size_t i;

	for (i = 0; i < PROFILE_LOSSES; i++)
		set(object, names[i], json_real(profile->lost[i]));
	return object;
}

json_t *profile_json(const struct profile *profile)
{
	json_t *root = or_give_up(json_object()), *array;
	size_t i;

	set(root, "schema", json_integer(1));
	set(root, "tool", text("profile"));
	array = or_give_up(json_array());
	for (i = 0; profile->command[i] != NULL; i++)
		append(array, text(profile->command[i]));
	set(root, "command", array);
	set(root, "wall_s", json_real(profile->wall_s));
	set(root, "processes", json_integer((json_int_t)profile->processes));
	set(root, "locks", rows_json(&profile->locks));
	set(root, "conds", rows_json(&profile->conds));
	array = or_give_up(json_array());
	for (i = 0; i < profile->moment_count; i++)
		append(array, json_pack("[f,f]", profile->moments[i].s,
					profile->moments[i].wait_s));
	set(root, "timeline", array);
	if (profile->ordered)
		set(root, "cycles", cycles_json(profile));
	set(root, "lost", losses_json(profile));
	return root;
}
