/* SPDX-License-Identifier: MIT */
/* The file that a profile is written to, and its tables. Relaxed throughout: as in
 * preload/profile.h. But [A] pairs with [R]: who finds a file chosen sees how it begins. */
#define _GNU_SOURCE
#include "preload/profile.h"

#include "os/os.h"
#include "preload/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { PROBES = 64, TRIES = 10000 };

static char folder[PROFILE_PATH];

/* Numbers of threads by the address of their storage; the last of those that share a
 * place. */
enum { OWNERS_BITS = 14 };
static pawl_atomic64 owners[1 << OWNERS_BITS];

typedef char file_path[PROFILE_PATH + 32];

/* A new file in the folder; -1 if that cannot be had. One process may become several
 * programs, each with a file of its own. */
static int new_file(file_path path)
{
	struct statvfs there;
	int file = -1, i;

	for (i = 0; i < TRIES && file < 0; i++) {
		snprintf(path, sizeof(file_path), "%s/%d-%d", folder, (int)getpid(), i);
		file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (file < 0 && errno != EEXIST)
			return -1;
	}
	/* It has holes; to run out of room later would be a fatal signal. */
	if (file >= 0 &&
	    (fstatvfs(file, &there) != 0 ||
	     (uint64_t)there.f_bavail * there.f_frsize < sizeof(struct profile_file) ||
	     ftruncate(file, sizeof(struct profile_file)) != 0)) {
		close(file);
		unlink(path);
		return -1;
	}
	return file;
}

/* Maps a new file, at a given address unless that is NULL, and writes its beginning, but
 * that it is complete: NULL if that cannot be had. */
static struct profile_file *map_file(struct profile_file *at, file_path path)
{
	int descriptor = new_file(path);
	struct profile_file *file;
	ssize_t length;
	void *memory;

	if (descriptor < 0)
		return NULL;
	memory = mmap(at, sizeof(*file), PROT_READ | PROT_WRITE,
		      MAP_SHARED | (at != NULL ? MAP_FIXED : 0), descriptor, 0);
	close(descriptor);
	if (memory == MAP_FAILED) {
		unlink(path);
		return NULL;
	}
	file = memory;
	file->magic = PROFILE_MAGIC;
	file->size = sizeof(*file);
	file->process = (uint64_t)getpid();
	file->began = pawl_os_now();
	length = readlink("/proc/self/exe", file->program, PROFILE_PATH - 1);
	if (length < 0)
		file->program[0] = '\0';
	profile_set(&file->period, 1);
	return file;
}

/* The process's file; NULL if it has none. Two threads may come at once, or one again
 * from inside: each makes a file, and that of the first to say so is the one. */
static struct profile_file *choose_file(void)
{
	static pawl_atomic64 chosen; /* its address, or NO_FILE */
	enum { NO_FILE = 1 };
	struct profile_file *file;
	uint64_t choice = pawl_load_acquire(&chosen); /* [A] */
	file_path path;

	if (choice == 0) {
		file = map_file(NULL, path);
		choice = file != NULL ? pawl_address(file) : NO_FILE;
		if (pawl_cas_release(&chosen, 0, choice)) { /* [R] */
			if (file != NULL)
				profile_set(&file->complete, 1);
		} else {
			if (file != NULL) {
				munmap(file, sizeof(*file));
				unlink(path);
			}
			choice = pawl_load_acquire(&chosen); /* [A] */
		}
	}
	return choice != NO_FILE ? pawl_pointer(choice) : NULL;
}

void profile_start(const char *path, const char *mode)
{
	int saved = errno;

	if (path == NULL || *path == '\0' || strlen(path) >= sizeof(folder))
		return;
	strcpy(folder, path);
	profile_file = choose_file();
	if (profile_file == NULL) {
		pawl_os_complain("pawl: cannot write a profile into ");
		pawl_os_complain(path);
		pawl_os_complain("; this process has none\n");
		errno = saved;
		return;
	}
	if (!profile_stack_start()) {
		pawl_os_complain("pawl: a profile needs glibc 2.35 or later\n");
		errno = saved;
		return;
	}
	profile_orders = mode != NULL && strstr(mode, "order") != NULL;
	profile_hangs = mode != NULL && strstr(mode, "hang") != NULL;
	profile_on = true;
	errno = saved;
}

static pawl_atomic64 *owner_slot(uint64_t owner)
{
	return &owners[pawl_hash(owner, OWNERS_BITS)];
}

struct profile_thread *profile_thread_of(uint64_t owner)
{
	uint64_t number = profile_get(owner_slot(owner));
	struct profile_thread *t;

	if (owner == 0 || number == 0)
		return NULL;
	t = &profile_file->threads[number - 1];
	return profile_get(&t->owner) == owner ? t : NULL;
}

static struct profile_thread *begin(struct profile_thread *t)
{
	profile_set(&t->depth, 0);
	profile_set(&t->asked, 0);
	profile_set(&t->timed, 0);
	profile_set(&t->pending, 0);
	profile_set(&t->waiting_for, 0);
	profile_set(&t->skip, 0);
	profile_set(&t->drawn_period, 1);
	profile_set(&t->noted, profile_acquisitions(t));
	profile_set(&t->countdown, 1);
	profile_set(&t->drawn, 1);
	profile_set(&t->drawn_mean, 1);
	profile_set(&t->coin, pawl_os_now() ^ (pawl_address(t) << 8) ^ 1);
	profile_set(&t->id, my_id());
	profile_set(&t->owner, pawl_mutex_me_());
	profile_set(&t->number, (uint64_t)(t - profile_file->threads) + 1);
	profile_set(owner_slot(profile_get(&t->owner)), profile_get(&t->number));
	return t;
}

/* A record of threads that are gone comes with theirs: see record.h. */
struct profile_thread *profile_thread_begin(void)
{
	struct record *record = my_record();

	if (record->profile == NULL) {
		uint64_t i = pawl_fetch_add_relaxed(&profile_file->thread_count, 1);

		if (i >= PROFILE_THREADS) {
			profile_lose(PROFILE_LOST_THREADS);
			profile_set(&profile_file->thread_count, PROFILE_THREADS);
			return NULL;
		}
		record->profile = &profile_file->threads[i];
	}
	profile_mine = begin(record->profile);
	return profile_mine;
}

/* The child writes its own file, at the same address, from nothing; or else into memory of
 * its own, lest it write into its parent's. */
void profile_forked(void)
{
	int saved = errno;
	uint64_t count;
	file_path path;

	if (!profile_on)
		return;
	count = profile_get(&profile_file->thread_count);
	if (map_file(profile_file, path) != NULL)
		profile_set(&profile_file->complete, 1);
	else
		mmap(profile_file, sizeof(*profile_file), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	profile_set(&profile_file->thread_count, count); /* records keep their places */
	profile_mine = NULL;
	errno = saved;
}

void profile_raise(pawl_atomic64 *most, uint64_t value)
{
	uint64_t seen;

	do
		seen = profile_get(most);
	while (seen < value && !pawl_cas_relaxed(most, seen, value));
}

static struct profile_init *init_of(uint64_t lock)
{
	return &profile_file->inits[pawl_hash(lock >> 3, 32) % PROFILE_INITS];
}

void profile_initialised(const volatile void *lock, const void *site)
{
	struct profile_init *init = init_of(pawl_address(lock));

	profile_set(&init->lock, pawl_address(lock));
	profile_set(&init->site, pawl_address(site));
}

static void describe(struct profile_lock *lock, uint64_t address, enum profile_kind kind,
		     const void *site)
{
	const struct profile_init *init = init_of(address);

	profile_set(&lock->kind, kind);
	profile_set(&lock->place, profile_place(address));
	if (profile_get(&init->lock) == address)
		profile_set(&lock->init, profile_place(profile_get(&init->site)));
	profile_set(&lock->site, profile_place(pawl_address(site)));
	profile_set(&lock->address, address);
}

struct profile_lock *profile_lock_of(const volatile void *name, enum profile_kind kind,
				     const void *site)
{
	uint64_t key = profile_key(name, kind), hash = pawl_hash(key >> 2, 32), i;

	for (i = 0; i < PROBES; i++) {
		struct profile_lock *lock =
			&profile_file->locks[1 + (hash + i) % (PROFILE_LOCKS - 1)];

		if (profile_get(&lock->key) == key)
			return lock;
		if (profile_get(&lock->key) == 0 &&
		    pawl_cas_relaxed(&lock->key, 0, key)) {
			describe(lock, pawl_address(name), kind, site);
			return lock;
		}
		if (profile_get(&lock->key) == key)
			return lock;
	}
	profile_lose(PROFILE_LOST_LOCKS);
	return NULL;
}

void profile_add_sample(const struct profile_lock *lock, uint64_t waiter, uint64_t holder,
			uint64_t weight, uint64_t ns)
{
	uint64_t number = (uint64_t)(lock - profile_file->locks), i;
	uint64_t key = (number << 42 ^ waiter << 21 ^ holder) + 1;
	/* Thousands of locks and few stacks, or few and thousands: both are spread. */
	uint64_t hash = pawl_hash(number ^ waiter << 16 ^ holder << 32,
				  PROFILE_SAMPLE_BITS);

	for (i = 0; i < PROBES; i++) {
		struct profile_sample *sample =
			&profile_file->samples[(hash + i) % PROFILE_SAMPLES];

		if (profile_get(&sample->key) != key &&
		    !pawl_cas_relaxed(&sample->key, 0, key) &&
		    profile_get(&sample->key) != key)
			continue;
		profile_set(&sample->lock, number);
		profile_set(&sample->waiter, waiter);
		profile_set(&sample->holder, holder);
		pawl_fetch_add_relaxed(&sample->waits, weight);
		pawl_fetch_add_relaxed(&sample->wait_ns, weight * ns);
		profile_raise(&sample->longest_ns, ns);
		return;
	}
	profile_lose(PROFILE_LOST_SAMPLES);
}
