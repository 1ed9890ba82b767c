/* SPDX-License-Identifier: MIT */
/*
 * Scenarios of creation: src/shared/region.c as it is, on a file of simulated words. Each
 * thread is a process; one may be killed before each of its writes, also between two words
 * of one system call, and loses the file's lock then.
 */
#ifndef CHECK_SHARED_CREATE_H
#define CHECK_SHARED_CREATE_H

#include "shared_calls.h"

/* A process's own, so each declaration is made that of a function; see shared_calls.h. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
/* Each process has a list of its attachments; only create-new, with one process, keeps it. */
static bool keeps_list;

static void enlist_if_kept(struct pawl_shared *s)
{
	if (keeps_list)
		pawl_shared_enlist(s);
}

#pragma push_macro("pawl_shared_enlist")
#undef pawl_shared_enlist
#define pawl_shared_enlist(s) enlist_if_kept(s)
#define creating	      (*my_creating())
#define locked		      (*my_locked())
#include <shared/region.c>
#pragma pop_macro("pawl_shared_enlist")
#pragma GCC diagnostic pop

static pawl_atomic64 own_creating[THREADS], own_locked[THREADS];

OUTSIDE static pawl_atomic64 *my_creating(void)
{
	return &own_creating[explore_thread()];
}

OUTSIDE static pawl_atomic64 *my_locked(void)
{
	return &own_locked[explore_thread()];
}
#undef creating
#undef locked

enum { FILE_FD = 3, HEADER_WORDS = offsetof(struct header, fenced) / sizeof(uint64_t) };

/* Where each process maps the file: its tables are zero, and stay so. */
static struct {
	__attribute__((aligned(64))) char bytes[SHARED_FRONT + (1 << 15)];
} maps[THREADS];

static bool disk_may_be_full;

/* In create-new: calls may be refused, and what is open and mapped is counted. */
static struct {
	bool may_refuse;
	int files, maps;
} process;

OUTSIDE static bool is_refused(void)
{
	return process.may_refuse && sim_one_in(2);
}

/* What came of each process's call: an error, or -1 if it did not return. */
static struct {
	int created;
	uint64_t mutexes; /* of the region that it has; 0: none */
} came_of[THREADS];

/* The system's side, for region.c. */

OUTSIDE int pawl_os_file_reopen(int *copy, int fd, enum pawl_file_lock *kind)
{
	*copy = fd;
	*kind = PAWL_LOCK_NEW;
	return 0;
}

OUTSIDE int pawl_os_file_lock(int copy, int fd, enum pawl_file_lock *kind)
{
	(void)copy;
	(void)fd;
	(void)kind;
	sim_await(SIM_AWAIT_CAS, &world->file.lock.raw, 0, 1, SIM_ACQUIRE);
	lives[explore_thread()].locks_file = true;
	return 0;
}

OUTSIDE void pawl_os_file_unlock(int copy, enum pawl_file_lock kind)
{
	(void)copy;
	(void)kind;
	sim_store(&world->file.lock.raw, 0, SIM_RELEASE);
	lives[explore_thread()].locks_file = false;
}

OUTSIDE int pawl_os_file_size(int fd, uint64_t *bytes)
{
	(void)fd;
	*bytes = sim_load(&world->file.size.raw, SIM_RELAXED);
	return 0;
}

OUTSIDE int pawl_os_file_grow(int fd, uint64_t bytes)
{
	(void)fd;
	sim_store(&world->file.size.raw, bytes / 2, SIM_RELAXED);
	if (disk_may_be_full && sim_one_in(2))
		return ENOSPC;
	sim_store(&world->file.size.raw, bytes, SIM_RELAXED);
	return 0;
}

OUTSIDE int pawl_os_file_cut(int fd)
{
	(void)fd;
	sim_store(&world->file.size.raw, 0, SIM_RELAXED);
	return 0;
}

OUTSIDE int pawl_os_file_read(int fd, void *to, size_t bytes)
{
	size_t i;

	(void)fd;
	if (sim_load(&world->file.size.raw, SIM_RELAXED) < bytes)
		return EINVAL;
	for (i = 0; i < bytes / sizeof(uint64_t) && i < HEADER_WORDS; i++)
		((uint64_t *)to)[i] = sim_load(&world->file.words[i].raw, SIM_RELAXED);
	return 0;
}

OUTSIDE int pawl_os_file_write(int fd, const void *from, size_t bytes, uint64_t offset)
{
	size_t i;

	(void)fd;
	if (is_refused())
		return EIO;
	for (i = 0; i < bytes / sizeof(uint64_t); i++)
		sim_store(&world->file.words[offset / sizeof(uint64_t) + i].raw,
			  ((const uint64_t *)from)[i], SIM_RELAXED);
	if (sim_load(&world->file.size.raw, SIM_RELAXED) < offset + bytes)
		sim_store(&world->file.size.raw, offset + bytes, SIM_RELAXED);
	return 0;
}

OUTSIDE int pawl_os_file_map(int fd, uint64_t bytes, size_t front, void **base)
{
	(void)fd;
	if (is_refused())
		return ENOMEM;
	*base = &maps[keeps_list ? process.maps : explore_thread()];
	process.maps++;
	return front + bytes <= sizeof(maps[0]) ? 0 : ENOMEM;
}

OUTSIDE void pawl_os_file_unmap(void *base, uint64_t bytes)
{
	(void)base;
	(void)bytes;
	process.maps--;
}

OUTSIDE int pawl_os_file_new(int *fd)
{
	if (is_refused())
		return EMFILE;
	*fd = FILE_FD;
	process.files++;
	return 0;
}

OUTSIDE int pawl_os_file_duplicate(int *copy, int fd)
{
	if (is_refused())
		return EMFILE;
	*copy = fd;
	process.files++;
	return 0;
}

OUTSIDE void pawl_os_file_close(int fd)
{
	(void)fd;
	process.files--;
}

OUTSIDE void pawl_os_file_seal(int fd)
{
	(void)fd;
}

OUTSIDE uint64_t pawl_os_namespace(void)
{
	return 1;
}

/* What may be seen. */
enum { SAW_CREATED, SAW_EXISTS, SAW_FULL, SAW_ATTACHED, SAW_NO_REGION, SAW_REFUSED };

static const char *const create_sights[] = {
	[SAW_CREATED] = "a create that returns 0",
	[SAW_EXISTS] = "EEXIST",
	[SAW_FULL] = "ENOSPC",
	[SAW_ATTACHED] = "an attach that returns 0",
	[SAW_NO_REGION] = "EINVAL from attach",
	[SAW_REFUSED] = "a call that the system refuses",
};

OUTSIDE static void set_up_creation(unsigned mortals, bool full)
{
	int t;

	set_up_for(mortals, 1);
	disk_may_be_full = full;
	keeps_list = process.may_refuse = false;
	for (t = 0; t < THREADS; t++) {
		came_of[t].created = -1;
		came_of[t].mutexes = 0;
	}
	seen = 0;
}

static void creation_one_dies(void *argument)
{
	(void)argument;
	set_up_creation(1, false);
}

static void creation_disk_full(void *argument)
{
	(void)argument;
	set_up_creation(0, true);
}

OUTSIDE static void creation_refused(void *argument)
{
	(void)argument;
	set_up_creation(0, true);
	keeps_list = process.may_refuse = true;
	process.files = process.maps = 0;
	attachments = NULL;
	serials = 0;
	__builtin_memset(maps, 0, sizeof(maps));
}

OUTSIDE static void note_region(int thread, const struct pawl_shared *s)
{
	came_of[thread].mutexes = s->r.mutex_count;
}

OUTSIDE static void note_create(int thread, int error)
{
	came_of[thread].created = error;
	see(error == 0 ? SAW_CREATED : error == EEXIST ? SAW_EXISTS : SAW_FULL);
}

/* Each would have another layout. */
static void create_or_attach(int thread)
{
	const struct pawl_shared_shape shape = {.mutexes = (unsigned)thread + 1,
						.threads = 1};
	struct pawl_shared *s;
	int error = pawl_shared_create(&s, FILE_FD, &shape);

	note_create(thread, error);
	if (error == EEXIST) {
		error = pawl_shared_attach(&s, FILE_FD);
		expect("attach of what exists", error, 0);
	} else if (!disk_may_be_full) {
		expect("create", error, 0);
	}
	if (error == 0)
		note_region(thread, s);
}

static void attach_if_possible(int thread)
{
	struct pawl_shared *s;
	int error = pawl_shared_attach(&s, FILE_FD);

	if (error == 0) {
		see(SAW_ATTACHED);
		note_region(thread, s);
	} else {
		expect("attach", error, EINVAL);
		see(SAW_NO_REGION);
	}
}

OUTSIDE static void expect_open(const char *after, int count)
{
	if (process.files != count || process.maps != count)
		explore_fail(VERDICT_ASSERTION, "%s: %d files and %d mappings, not %d",
			     after, process.files, process.maps, count);
}

/* Changes a word of the tables, which the next mapping shows, or none. */
OUTSIDE static bool damage(const struct pawl_shared *s)
{
	struct region_mutex *m = (void *)((char *)s->r.mutexes + sizeof(maps[0]));
	struct region_agent *a = (void *)((char *)s->r.agents + sizeof(maps[0]));

	if (!sim_one_in(2))
		return false;
	if (sim_one_in(2))
		sim_store(&m->state.raw, MUTEX_LOST + 1, SIM_RELAXED);
	else
		sim_store(&a->ahead.raw, UINT64_MAX, SIM_RELAXED);
	return true;
}

/* create-new: a region in a new file, attached once more, by one process. */
static void create_new_file(int thread)
{
	const struct pawl_shared_shape shape = {
		.mutexes = 1, .threads = 1, .data_bytes = 64};
	struct pawl_shared *first, *second = NULL;
	bool damaged;

	(void)thread;
	if (pawl_shared_create(&first, -1, &shape) != 0) {
		see(SAW_REFUSED);
		expect_open("create", 0);
		return;
	}
	see(SAW_CREATED);
	expect("fd", pawl_shared_fd(first), FILE_FD);
	expect("bytes of data", (int)pawl_shared_data_bytes(first), 64);
	if ((char *)pawl_shared_data(first) + 64 > maps[0].bytes + sizeof(maps[0]))
		explore_fail(VERDICT_ASSERTION, "the data are outside of the region");
	damaged = damage(first);
	if (pawl_shared_attach(&second, FILE_FD) == 0) {
		see(SAW_ATTACHED);
		expect("attach of a damaged region", damaged, false);
	} else {
		see(damaged ? SAW_NO_REGION : SAW_REFUSED);
		expect_open("attach", 1);
		second = NULL;
	}
	expect("detach", pawl_shared_detach(first), 0);
	if (second != NULL)
		expect("second detach", pawl_shared_detach(second), 0);
	expect_open("detach", 0);
}

static void one_creates(void *argument, int thread)
{
	(void)argument;
	live(create_new_file, thread);
}

static void all_create(void *argument, int thread)
{
	(void)argument;
	live(create_or_attach, thread);
}

static void second_attaches(void *argument, int thread)
{
	(void)argument;
	live(thread == 0 ? create_or_attach : attach_if_possible, thread);
}

static void third_attaches(void *argument, int thread)
{
	(void)argument;
	live(thread < 2 ? create_or_attach : attach_if_possible, thread);
}

/* One created it, and all have the same. */
static void one_region(void *argument)
{
	uint64_t mutexes = 0;
	int creators = 0, t;

	(void)argument;
	for (t = 0; t < THREADS; t++) {
		creators += came_of[t].created == 0;
		if (came_of[t].mutexes != 0 && mutexes != 0 &&
		    came_of[t].mutexes != mutexes)
			explore_fail(VERDICT_EXCLUSION,
				     "a region of %d and of %d mutexes",
				     (int)came_of[t].mutexes, (int)mutexes);
		if (came_of[t].mutexes != 0)
			mutexes = came_of[t].mutexes;
	}
	if (creators > 1)
		explore_fail(VERDICT_EXCLUSION, "%d created it", creators);
	scenario_saw(seen);
}

/* Five lines of the table in shared.c. */
#define CREATE(called, is, count, makes, does, ...)                                      \
	{                                                                                \
		called, is, count, count, 1, 1, always, passes, makes, does, one_region, \
			.sight_names = create_sights, .sights = __VA_ARGS__              \
	}
#define CREATE_SCENARIOS                                                         \
	CREATE("create", "two create it, one is killed at any step", 2,          \
	       creation_one_dies, all_create, SIGHT(CREATED) | SIGHT(EXISTS)),   \
		CREATE("create-attach",                                          \
		       "one creates it, or is killed; another attaches it", 2,   \
		       creation_one_dies, second_attaches,                       \
		       SIGHT(CREATED) | SIGHT(ATTACHED) | SIGHT(NO_REGION)),     \
		CREATE("create-full", "two create it, the disk may be full", 2,  \
		       creation_disk_full, all_create,                           \
		       SIGHT(CREATED) | SIGHT(EXISTS) | SIGHT(FULL)),            \
		CREATE("create-three", "as create, and another attaches it", 3,  \
		       creation_one_dies, third_attaches,                        \
		       SIGHT(CREATED) | SIGHT(EXISTS) | SIGHT(ATTACHED) |        \
			       SIGHT(NO_REGION)),                                \
		CREATE("create-new",                                             \
		       "one creates it in a new file, and calls are refused", 1, \
		       creation_refused, one_creates,                            \
		       SIGHT(CREATED) | SIGHT(ATTACHED) | SIGHT(NO_REGION) |     \
			       SIGHT(REFUSED))

#endif /* CHECK_SHARED_CREATE_H */
