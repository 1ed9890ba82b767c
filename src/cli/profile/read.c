/* SPDX-License-Identifier: MIT */
/*
 * Merges the files of all processes into one table. Relaxed throughout: the program may
 * still be running, and a slightly old value is fine.
 */
#define _GNU_SOURCE /* SEEK_DATA */
#include "cli/profile/profile.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* At most this many locks from the same place have rows of their own; nameless locks
 * initialised there share one. */
enum { FEW_LOCKS = 8 };

static uint64_t get(const pawl_atomic64 *word)
{
	return pawl_load_relaxed(word);
}

/* Copies only the data of a sparse file: reading a hole through a mapping would allocate
 * it. */
static bool copy(int file, char *to, size_t size)
{
	off_t at = lseek(file, 0, SEEK_DATA);

	while (at >= 0 && (size_t)at < size) {
		off_t end = lseek(file, at, SEEK_HOLE);

		if (end < 0 || (size_t)end > size)
			end = (off_t)size;
		while (at < end) {
			ssize_t got = pread(file, to + at, (size_t)(end - at), at);

			if (got <= 0)
				return false;
			at += got;
		}
		at = lseek(file, at, SEEK_DATA);
	}
	return true;
}

static struct profile_file *read_one(int folder, const char *name)
{
	int file = openat(folder, name, O_RDONLY | O_CLOEXEC);
	struct profile_file *f = NULL;

	if (file < 0)
		return NULL;
	f = allocate(sizeof(*f) + 128);
	if (!copy(file, (char *)f, sizeof(*f)) || f->magic != PROFILE_MAGIC ||
	    f->size != sizeof(*f) || get(&f->complete) == 0) {
		free(f);
		f = NULL;
	}
	close(file);
	return f;
}

const struct profile_file **read_files(const char *path, size_t *count)
{
	DIR *folder = opendir(path);
	const struct profile_file **files = NULL;
	struct dirent *entry;

	*count = 0;
	while (folder != NULL && (entry = readdir(folder)) != NULL) {
		struct profile_file *f = entry->d_name[0] == '.'
						 ? NULL
						 : read_one(dirfd(folder), entry->d_name);

		if (f == NULL)
			continue;
		files = grow(files, *count, sizeof(*files));
		files[(*count)++] = f;
	}
	if (folder != NULL)
		closedir(folder);
	return files;
}

void free_files(const struct profile_file **files, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		free((void *)(uintptr_t)files[i]);
	free(files);
}

static const struct profile_lock *lock_at(const struct profile_file *f, uint64_t address,
					  enum profile_kind kind)
{
	uint64_t key = profile_key(pawl_pointer(address), kind);
	size_t i;

	for (i = 1; i < PROFILE_LOCKS; i++)
		if (get(&f->locks[i].key) == key)
			return &f->locks[i];
	return NULL;
}

static const char *code_at(const struct profile_file *f, uint64_t place)
{
	size_t count;

	return place == 0 ? "?" : frame_text(frames_at(f, place, &count)[0]);
}

static const char *name_of(const struct profile_file *f, const struct profile_lock *lock)
{
	const char *symbol = data_at(f, get(&lock->place));

	if (symbol != NULL)
		return symbol;
	if (get(&lock->init) != 0)
		return text_of("0x%jx, initialised at %s", (uintmax_t)get(&lock->address),
			       code_at(f, get(&lock->init)));
	return text_of("0x%jx, taken at %s", (uintmax_t)get(&lock->address),
		       code_at(f, get(&lock->site)));
}

const char *lock_name(const struct profile_file *f, uint64_t address,
		      enum profile_kind kind)
{
	const struct profile_lock *lock = lock_at(f, address, kind);

	return lock != NULL ? name_of(f, lock) : text_of("0x%jx", (uintmax_t)address);
}

/* The row of each lock of a file. */
struct member {
	const struct profile_lock *lock;
	uint64_t origin; /* where it was initialised, or first waited for */
};

static int by_origin(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	uint64_t x_kind = get(&x->lock->kind), y_kind = get(&y->lock->kind);

	if (x->origin != y->origin)
		return x->origin < y->origin ? -1 : 1;
	if (x_kind != y_kind)
		return x_kind < y_kind ? -1 : 1;
	return x->lock < y->lock ? -1 : x->lock > y->lock;
}

static struct row *row_named(struct rows *rows, const char *name, enum profile_kind kind)
{
	struct row *row;
	size_t i;

	for (i = 0; i < rows->count; i++)
		if (rows->rows[i].kind == kind && strcmp(rows->rows[i].name, name) == 0)
			return &rows->rows[i];
	rows->rows = grow(rows->rows, rows->count, sizeof(*rows->rows));
	row = &rows->rows[rows->count++];
	memset(row, 0, sizeof(*row));
	row->name = name;
	row->kind = kind;
	return row;
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static void add_lock(struct row *row, const struct profile_lock *lock)
{
	size_t i;

	row->locks++;
	row->wait_ns += (double)get(&lock->wait_ns);
	row->longest_ns = larger(row->longest_ns, (double)get(&lock->longest_ns));
	row->acquisitions += (double)get(&lock->acquisitions);
	row->holds += (double)get(&lock->holds);
	row->hold_ns += (double)get(&lock->hold_ns);
	row->hold_longest_ns = larger(row->hold_longest_ns,
				      (double)get(&lock->hold_longest_ns));
	for (i = 0; i < PROFILE_BUCKETS; i++) {
		row->histogram[i] += (double)get(&lock->histogram[i]);
		row->waits += (double)get(&lock->histogram[i]);
	}
}

static bool same_stack(const struct stack *a, const struct stack *b)
{
	return a->count == b->count &&
	       (a->count == 0 ||
		memcmp(a->frames, b->frames, a->count * sizeof(a->frames[0])) == 0);
}

static void add_pair(struct row *row, const struct profile_file *f,
		     const struct profile_sample *sample)
{
	struct stack waiter = stack_at(f, get(&sample->waiter));
	struct stack holder = stack_at(f, get(&sample->holder));
	struct pair *pair;
	size_t i;

	for (i = 0; i < row->pair_count; i++)
		if (same_stack(&row->pairs[i].waiter, &waiter) &&
		    same_stack(&row->pairs[i].holder, &holder))
			break;
	if (i == row->pair_count) {
		row->pairs = grow(row->pairs, row->pair_count, sizeof(*row->pairs));
		row->pairs[row->pair_count++] = (struct pair){.waiter = waiter,
							      .holder = holder};
	}
	pair = &row->pairs[i];
	if (pair->waiter.frames != waiter.frames) {
		free(waiter.frames);
		free(holder.frames);
	}
	pair->waits += (double)get(&sample->waits);
	pair->wait_ns += (double)get(&sample->wait_ns);
}

/* Assigns the locks of one origin to one row, or to one each. */
static void add_members(struct profile *profile, const struct profile_file *f,
			const struct member *members, size_t count, size_t *row_of)
{
	bool nameless = get(&members[0].lock->init) != 0 &&
			get(&members[0].lock->place) >> PROFILE_MODULE_SHIFT == 0;
	bool many = count > (nameless ? 1 : FEW_LOCKS);
	const char *name = NULL;
	size_t i;

	if (many)
		name = text_of("%s %s at %s",
			       get(&members[0].lock->kind) == PROFILE_COND
				       ? "condition variables"
				       : "locks",
			       get(&members[0].lock->init) != 0 ? "initialised" : "taken",
			       code_at(f, members[0].origin));
	for (i = 0; i < count; i++) {
		enum profile_kind kind = (enum profile_kind)get(&members[i].lock->kind);
		struct rows *rows = kind == PROFILE_COND ? &profile->conds
							 : &profile->locks;
		struct row *row = row_named(
			rows, many ? name : name_of(f, members[i].lock), kind);

		add_lock(row, members[i].lock);
		row_of[members[i].lock - f->locks] = (size_t)(row - rows->rows);
	}
}

static void add_file(struct profile *profile, const struct profile_file *f)
{
	struct member *members = NULL;
	size_t *row_of = allocate(PROFILE_LOCKS * sizeof(*row_of));
	size_t count = 0, i, end;

	for (i = 1; i < PROFILE_LOCKS; i++) {
		const struct profile_lock *lock = &f->locks[i];

		if (get(&lock->address) == 0 || get(&lock->wait_ns) == 0)
			continue;
		members = grow(members, count, sizeof(*members));
		members[count++] = (struct member){
			.lock = lock,
			.origin = get(&lock->init) != 0 ? get(&lock->init)
							: get(&lock->site),
		};
	}
	if (count > 0)
		qsort(members, count, sizeof(*members), by_origin);
	for (i = 0; i < count; i = end) {
		for (end = i + 1;
		     end < count && members[end].origin == members[i].origin &&
		     get(&members[end].lock->kind) == get(&members[i].lock->kind);
		     end++)
			;
		add_members(profile, f, &members[i], end - i, row_of);
	}
	for (i = 0; i < PROFILE_SAMPLES; i++) {
		const struct profile_sample *sample = &f->samples[i];
		uint64_t lock = get(&sample->lock);
		struct rows *rows;

		if (get(&sample->key) == 0 || lock == 0 || lock >= PROFILE_LOCKS ||
		    get(&f->locks[lock].wait_ns) == 0)
			continue;
		rows = get(&f->locks[lock].kind) == PROFILE_COND ? &profile->conds
								 : &profile->locks;
		add_pair(&rows->rows[row_of[lock]], f, sample);
	}
	for (i = 0; i < PROFILE_LOSSES; i++)
		profile->lost[i] += (double)get(&f->lost[i]);
	free(row_of);
	free(members);
}

static int longest_pair_first(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	return x->wait_ns < y->wait_ns ? 1 : x->wait_ns > y->wait_ns ? -1 : 0;
}

static int longest_row_first(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->wait_ns < y->wait_ns ? 1 : x->wait_ns > y->wait_ns ? -1 : 0;
}

/* Scales the samples: their weights match the exact sum of waits only on average. */
static void scale(struct row *row)
{
	double waits = 0, ns = 0;
	size_t i;

	for (i = 0; i < row->pair_count; i++) {
		waits += row->pairs[i].waits;
		ns += row->pairs[i].wait_ns;
	}
	for (i = 0; i < row->pair_count; i++) {
		if (waits > 0)
			row->pairs[i].waits *= row->waits / waits;
		if (ns > 0)
			row->pairs[i].wait_ns *= row->wait_ns / ns;
	}
	if (row->pair_count > 0)
		qsort(row->pairs, row->pair_count, sizeof(*row->pairs),
		      longest_pair_first);
	/* An estimate, but not less than the known number of waits. */
	row->acquisitions = larger(row->acquisitions, row->waits);
}

static void finish(struct rows *rows)
{
	size_t i;

	for (i = 0; i < rows->count; i++)
		scale(&rows->rows[i]);
	if (rows->count > 0)
		qsort(rows->rows, rows->count, sizeof(*rows->rows), longest_row_first);
}

static void free_rows(struct rows *rows)
{
	size_t i, n;

	for (i = 0; i < rows->count; i++) {
		for (n = 0; n < rows->rows[i].pair_count; n++) {
			free(rows->rows[i].pairs[n].waiter.frames);
			free(rows->rows[i].pairs[n].holder.frames);
		}
		free(rows->rows[i].pairs);
	}
	free(rows->rows);
}

void free_profile(struct profile *profile)
{
	free_rows(&profile->locks);
	free_rows(&profile->conds);
}

struct profile make_profile(const struct profile_file **files, size_t count)
{
	struct profile profile = {.processes = count};
	size_t i;

	for (i = 0; i < count; i++)
		add_file(&profile, files[i]);
	finish(&profile.locks);
	finish(&profile.conds);
	return profile;
}
