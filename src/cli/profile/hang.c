/* SPDX-License-Identifier: MIT */
/* A hang: the locks that threads hold and wait for. Relaxed throughout: as in read.c. */
#include "cli/profile/profile.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t get(const pawl_atomic64 *word)
{
	return pawl_load_relaxed(word);
}

static size_t thread_count(const struct profile_file *f)
{
	uint64_t count = get(&f->thread_count);

	return count < PROFILE_THREADS ? count : PROFILE_THREADS;
}

static bool is_there(const struct profile_file *f, const struct profile_thread *t)
{
	return get(&t->number) != 0 &&
	       access(text_of("/proc/%ju/task/%ju", (uintmax_t)f->process,
			      (uintmax_t)get(&t->id)),
		      F_OK) == 0;
}

static bool waits_for_lock(const struct profile_thread *t)
{
	return get(&t->waiting_for) != 0 && get(&t->kind) != PROFILE_COND;
}

bool nothing_moved(const struct profile_file **files, size_t count)
{
	static uint64_t last;
	uint64_t sum = count;
	bool waits = false, moved;
	size_t i, n;

	for (i = 0; i < count; i++)
		for (n = 0; n < thread_count(files[i]); n++) {
			const struct profile_thread *t = &files[i]->threads[n];

			sum += profile_acquisitions(t);
			waits |= waits_for_lock(t) && is_there(files[i], t);
		}
	moved = sum != last;
	last = sum;
	return waits && !moved;
}

static const struct profile_thread *holder_of(const struct profile_file *f,
					      const struct profile_thread *waiter,
					      uint64_t *site)
{
	uint64_t lock = get(&waiter->waiting_for), depth, held;
	size_t i;

	for (i = 0; i < thread_count(f); i++) {
		const struct profile_thread *t = &f->threads[i];

		depth = get(&t->depth);
		for (held = 0; t != waiter && held < depth && held < PROFILE_HELD; held++)
			if (get(&t->held[held].lock) == lock) {
				*site = get(&t->held[held].site);
				return t;
			}
	}
	return NULL;
}

/* A site is an address in memory: finds its module. */
static uint64_t place_of(const struct profile_file *f, uint64_t address)
{
	size_t i;

	for (i = 1; i < PROFILE_MODULES; i++)
		if (get(&f->modules[i].named) != 0 &&
		    address >= get(&f->modules[i].start) &&
		    address < get(&f->modules[i].end))
			return (uint64_t)i << PROFILE_MODULE_SHIFT |
			       (address - get(&f->modules[i].bias));
	return address;
}

static const char *site_text(const struct profile_file *f, uint64_t address)
{
	size_t count;

	return frame_text(frames_at(f, place_of(f, address), &count)[0]);
}

static const char *name(const struct profile_file *f, uint64_t lock, uint64_t kind)
{
	const char *symbol = data_at(f, place_of(f, lock));

	return symbol != NULL ? symbol : lock_name(f, lock, (enum profile_kind)kind);
}

static void print_waiter(FILE *to, const struct profile_file *f,
			 const struct profile_thread *t)
{
	uint64_t lock = get(&t->waiting_for), site = 0, i;
	const struct profile_thread *holder = holder_of(f, t, &site);
	struct stack stack = stack_at(f, get(&t->stack));

	fprintf(to, "  thread %ju waits for %s", (uintmax_t)get(&t->id),
		name(f, lock, get(&t->kind)));
	if (holder != NULL)
		fprintf(to, ", which thread %ju took at %s", (uintmax_t)get(&holder->id),
			site_text(f, site));
	else if (get(&t->kind) != PROFILE_COND)
		fprintf(to, ", held by an unknown thread");
	fprintf(to, "\n");
	if (stack.count > 0)
		print_stack(to, &stack, 6);
	else
		fprintf(to, "      %s\n", site_text(f, get(&t->site)));
	for (i = 0; i < get(&t->depth) && i < PROFILE_HELD; i++)
		fprintf(to, "    it holds %s, taken at %s\n",
			name(f, get(&t->held[i].lock), PROFILE_MUTEX),
			site_text(f, get(&t->held[i].site)));
}

/* Follows the holder of the lock that each thread waits for; a thread met again closes a
 * cycle. */
static bool print_circle(FILE *to, const struct profile_file *f, bool *told, size_t start)
{
	const struct profile_thread *t = &f->threads[start], *first;
	size_t steps = 0, count = thread_count(f);
	uint64_t site;

	while (t != NULL && waits_for_lock(t) && steps++ <= count)
		t = holder_of(f, t, &site);
	if (t == NULL || !waits_for_lock(t) || told[t - f->threads])
		return false;
	fprintf(to, "  deadlock:");
	first = t;
	do {
		told[t - f->threads] = true;
		fprintf(to, " thread %ju waits for", (uintmax_t)get(&t->id));
		t = holder_of(f, t, &site);
	} while (t != NULL && t != first);
	fprintf(to, " thread %ju\n", (uintmax_t)get(&first->id));
	return true;
}

static void print_process(FILE *to, const struct profile_file *f)
{
	bool *told = allocate(PROFILE_THREADS * sizeof(*told));
	bool found = false;
	size_t i;

	for (i = 0; i < thread_count(f); i++)
		if (waits_for_lock(&f->threads[i]) && is_there(f, &f->threads[i]))
			found |= print_circle(to, f, told, i);
	if (!found)
		fprintf(to, "  no cycle: the holders are busy, wait for something else, "
			    "or have exited\n");
	for (i = 0; i < thread_count(f); i++)
		if (get(&f->threads[i].waiting_for) != 0 && is_there(f, &f->threads[i]))
			print_waiter(to, f, &f->threads[i]);
	free(told);
}

void print_hang(FILE *to, const struct profile_file **files, size_t count, double seconds)
{
	size_t i, n;

	fprintf(to, "pawl: no lock was taken for %.1f s while threads wait\n", seconds);
	for (i = 0; i < count; i++)
		for (n = 0; n < thread_count(files[i]); n++)
			if (waits_for_lock(&files[i]->threads[n]) &&
			    is_there(files[i], &files[i]->threads[n])) {
				fprintf(to, "process %ju, %s\n",
					(uintmax_t)files[i]->process, files[i]->program);
				print_process(to, files[i]);
				break;
			}
}
