/* SPDX-License-Identifier: MIT */
/* The locks and scenarios that pawl check knows. */
#include "cli/check/check.h"

#include "cli/common/options.h"

#include <dlfcn.h>
#include <string.h>

static const struct lock_type *all_types[MAX_LOCKS];
static size_t type_count;
static const char *loaded_from;			/* file of loaded locks */
static const struct scenario *loaded_scenarios; /* from a loaded object */

static void add_types(const struct lock_type *type)
{
	for (; type->name != NULL && type_count < MAX_LOCKS - 1; type++)
		all_types[type_count++] = type;
}

const char *nth_lock(size_t i)
{
	return i < type_count ? all_types[i]->name : NULL;
}

void catalogue_fill(void)
{
	const struct checked_object *object;

	add_types(sim_lock_types);
	for (object = checked_objects; object->type != NULL; object++)
		add_types(object->type);
}

/* Locks from a shared object: see docs/verification.md. */
void catalogue_load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const struct lock_type *loaded;
	struct pawl_parking **parking;
	struct pawl_filter *filter;
	void (*forget)(void);

	if (library == NULL)
		refuse("--load: %s; build the file with sim/build-lock.sh", dlerror());
	loaded = dlsym(library, "sim_loaded_locks");
	if (loaded == NULL)
		refuse("--load: '%s' contains no locks; build it with sim/build-lock.sh",
		       path);
	parking = dlsym(library, "sim_process_parking");
	filter = dlsym(library, "sim_filter");
	*(void **)&forget = dlsym(library, "sim_park_forget");
	if (parking != NULL && filter != NULL && forget != NULL)
		scenario_parks_in(*parking, filter, forget);
	loaded_from = path;
	loaded_scenarios = dlsym(library, "sim_loaded_scenarios");
	type_count = 0;
	add_types(loaded);
}

const char *catalogue_file(void)
{
	return loaded_from;
}

const struct scenario *scenario_for(const struct lock_type *type, size_t n)
{
	const struct scenario *s = loaded_scenarios;

	if (s == NULL)
		return scenario_of(type, n);
	for (; s->name != NULL; s++)
		if (n-- == 0)
			return s;
	return NULL;
}

/* The locks' scenarios, then those of each object. */
const struct scenario *nth_scenario(size_t n)
{
	const struct checked_object *object = checked_objects;
	const struct lock_type *type = NULL;
	const struct scenario *s;
	size_t i = 0;

	for (;;) {
		s = scenario_for(type, i++);
		if (s != NULL) {
			if (n-- == 0)
				return s;
			continue;
		}
		if (loaded_scenarios != NULL || object->type == NULL)
			return NULL;
		type = (object++)->type;
		i = 0;
	}
}

static const char *nth_scenario_name(size_t i)
{
	const struct scenario *scenario = nth_scenario(i);

	return scenario != NULL ? scenario->name : NULL;
}

const struct lock_type *find_lock(const char *name)
{
	size_t i;

	for (i = 0; i < type_count; i++)
		if (strcmp(all_types[i]->name, name) == 0)
			return all_types[i];
	return NULL;
}

const struct scenario *find_scenario(const struct lock_type *type, const char *name)
{
	const struct scenario *s;
	size_t i;

	for (i = 0; (s = scenario_for(type, i)) != NULL; i++)
		if (strcmp(s->name, name) == 0)
			return s;
	return NULL;
}

void need_scenario(const char *name)
{
	size_t i;

	for (i = 0; nth_scenario(i) != NULL; i++)
		if (strcmp(nth_scenario(i)->name, name) == 0)
			return;
	refuse_name("scenario", name, nth_scenario_name,
		    "'pawl check --list' lists them");
}
