/* SPDX-License-Identifier: MIT */
/*
 * Regions as files: created, validated, attached, detached.
 *
 * A file is empty, or begins with MAKING_MAGIC, or is a region. Only a creator that
 * holds the file's lock takes it from one state to the next:
 *
 *   F1  The lock excludes every other creator, in any process. The system releases it
 *       when its holder dies.
 *   F2  The mark is written before the file grows, and REGION_MAGIC takes its place
 *       when all else is there. So a creator that finds the mark, and has the lock,
 *       knows that its predecessor died or failed, and starts anew.
 *   F3  A region stays one: no creator writes to it.
 *
 * Order: [H] pairs with [M]: a process that reads REGION_MAGIC from the file then reads
 * the header that belongs to it, and nothing of what a dead creator wrote before.
 */
#include "shared/shared.h"

#include "os/shared.h"
#include "sleep/parking.h"

#include <errno.h>

enum {
	REGION_VERSION = 1,
	AGENTS_USUALLY = 256,
	MUTEXES_MAX = 1 << 20,
	ENTRIES = 256, /* a power of two */
};
#define REGION_MAGIC   ((uint64_t)0x706177736872310Au) /* "pawshr1\n" */
#define MAKING_MAGIC   ((uint64_t)0x706177736872303Fu) /* "pawshr0?" */
#define DATA_BYTES_MAX ((uint64_t)1 << 40)

/* The beginning of a region. All but the last two words are constant once the magic
 * number is there. */
struct header {
	uint64_t magic;
	uint64_t version;
	uint64_t bytes;
	uint64_t mutexes, agents, entries, data_bytes;
	uint64_t namespace; /* of the processes that may use it */
	uint64_t sum;	    /* of the above */
	pawl_atomic64 fenced;
	pawl_atomic64 claims;
};
_Static_assert(sizeof(struct header) <= SHARED_HEADER, "the header must fit");

/* Where the parts of a region begin; each is aligned to 64 bytes. */
struct layout {
	uint64_t mutexes, agents, entries, data, bytes;
};

static struct layout layout_of(const struct header *h)
{
	struct layout at;

	at.mutexes = SHARED_HEADER;
	at.agents = at.mutexes + h->mutexes * sizeof(struct region_mutex);
	at.entries = at.agents + h->agents * sizeof(struct region_agent);
	at.data = at.entries + h->entries * sizeof(struct region_entry);
	at.bytes = at.data + h->data_bytes;
	return at;
}

static uint64_t sum_of(const struct header *h)
{
	const uint64_t *word = (const uint64_t *)h;
	uint64_t sum = 1;

	for (; word < &h->sum; word++)
		sum = pawl_hash(sum ^ *word, 64);
	return sum;
}

/* Whether a region can have these numbers. */
static bool reasonable(const struct header *h)
{
	return h->mutexes >= 1 && h->mutexes <= MUTEXES_MAX && h->agents >= 1 &&
	       h->agents <= REGION_AGENTS_MAX && h->entries == ENTRIES &&
	       h->data_bytes <= DATA_BYTES_MAX && h->bytes == layout_of(h).bytes;
}

/* Whether every value in the region belongs to an agent. Other processes may be using it:
 * a sound region stays sound. */
static bool sound(const struct region *r)
{
	unsigned i;

	for (i = 0; i < r->agent_count; i++) {
		const struct region_agent *agent = &r->agents[i];
		/* Relaxed, here and below: each word is checked by itself. */
		uint64_t value = pawl_load_relaxed(&agent->value);

		if ((value != 0 && region_agent_of(r, value) != agent) ||
		    region_agent_of(r, pawl_load_relaxed(&agent->ahead)) == NULL)
			return false;
	}
	for (i = 0; i < r->mutex_count; i++) {
		const struct region_mutex *m = &r->mutexes[i];

		if (region_agent_of(r, pawl_load_relaxed(&m->arrive)) == NULL ||
		    region_agent_of(r, pawl_load_relaxed(&m->depart)) == NULL ||
		    region_agent_of(r, pawl_load_relaxed(&m->owner)) == NULL ||
		    pawl_load_relaxed(&m->state) > MUTEX_LOST)
			return false;
	}
	return true;
}

/* Maps a file that has a region's size; the caller sets its fd. */
static int map(struct pawl_shared **region, int fd, const struct header *h)
{
	struct layout at = layout_of(h);
	struct pawl_shared *s;
	void *front;
	char *base;
	int error = pawl_os_file_map(fd, h->bytes, SHARED_FRONT, &front);

	if (error != 0)
		return error;
	s = front;
	base = (char *)front + SHARED_FRONT;
	s->bytes = h->bytes;
	s->data = base + at.data;
	s->data_bytes = (size_t)h->data_bytes;
	s->r.fenced = &((struct header *)base)->fenced;
	s->r.claims = &((struct header *)base)->claims;
	s->r.mutexes = (struct region_mutex *)(base + at.mutexes);
	s->r.agents = (struct region_agent *)(base + at.agents);
	s->r.entries = (struct region_entry *)(base + at.entries);
	s->r.agent_count = (unsigned)h->agents;
	s->r.mutex_count = (unsigned)h->mutexes;
	s->r.entry_mask = (unsigned)h->entries - 1;
	*region = s;
	return 0;
}

static void unmap(struct pawl_shared *s)
{
	pawl_os_file_unmap(s, SHARED_FRONT + s->bytes);
}

/* The size and the magic number of a file; 0 if it is too short to have one. */
static int read_magic(int fd, uint64_t *bytes, uint64_t *magic)
{
	int error = pawl_os_file_size(fd, bytes);

	*magic = 0;
	if (error != 0 || *bytes < sizeof(*magic))
		return error;
	return pawl_os_file_read(fd, magic, sizeof(*magic));
}

/* Empties a file that an unfinished creation left; EEXIST if it has other content. */
static int clear(int fd)
{
	uint64_t bytes, magic;
	int error = read_magic(fd, &bytes, &magic);

	if (error != 0 || bytes == 0)
		return error;
	return magic == MAKING_MAGIC ? pawl_os_file_cut(fd) : EEXIST; /* F2, F3 */
}

/* Creates a region in a file whose lock the caller has, and maps it. */
static int fill(struct pawl_shared **region, int fd, const struct header *h)
{
	const uint64_t making = MAKING_MAGIC;
	const size_t magic_bytes = sizeof(h->magic);
	int error = clear(fd);

	if (error != 0)
		return error;
	error = pawl_os_file_write(fd, &making, magic_bytes, 0); /* F2 */
	if (error == 0)
		error = pawl_os_file_grow(fd, h->bytes);
	if (error == 0)
		error = map(region, fd, h);
	if (error == 0) {
		error = pawl_os_file_write(fd, &h->version,
					   offsetof(struct header, fenced) - magic_bytes,
					   magic_bytes);
		pawl_release_fence(); /* [M] */
		if (error == 0)
			error = pawl_os_file_write(fd, h, magic_bytes, 0); /* F2 */
		if (error != 0)
			unmap(*region);
	}
	if (error != 0)
		(void)pawl_os_file_cut(fd); /* else the mark stays: F2 */
	return error;
}

static pawl_atomic64 creating; /* guard: one thread of the process at a time */
/* The descriptor that holds a file's lock, plus 1. The child of a fork closes it: it would
 * keep the lock when the creator dies. */
static pawl_atomic64 locked;

/* Creates a region in the caller's file; *copy is a descriptor for it. */
static int create_in(struct pawl_shared **region, int *copy, int fd,
		     const struct header *h)
{
	enum pawl_file_lock kind;
	int error;

	pawl_guard_lock(&creating);
	error = pawl_os_file_reopen(copy, fd, &kind);
	if (error == 0) {
		/* Relaxed: read by this thread, or by a child, which is a copy. */
		pawl_store_relaxed(&locked, (uint64_t)*copy + 1);
		error = pawl_os_file_lock(*copy, fd, &kind);
		if (error == 0) {
			error = fill(region, *copy, h);
			pawl_os_file_unlock(*copy, kind);
		}
		pawl_store_relaxed(&locked, 0); /* Relaxed: as above */
		if (error != 0)
			pawl_os_file_close(*copy);
	}
	pawl_guard_unlock(&creating);
	return error;
}

void pawl_region_forked(void)
{
	uint64_t held = pawl_load_relaxed(&locked); /* Relaxed: the only thread */

	if (held != 0)
		pawl_os_file_close((int)held - 1);
	pawl_store_relaxed(&locked, 0);	  /* Relaxed: likewise */
	pawl_store_relaxed(&creating, 0); /* Relaxed: likewise */
}

/* Creates a region in an anonymous file, which no other creator knows. */
static int create_new(struct pawl_shared **region, int *fd, const struct header *h)
{
	int error = pawl_os_file_new(fd);

	if (error != 0)
		return error;
	error = fill(region, *fd, h);
	if (error != 0)
		pawl_os_file_close(*fd);
	return error;
}

int pawl_shared_create(struct pawl_shared **region, int fd,
		       const struct pawl_shared_shape *shape)
{
	struct header h = {
		.magic = REGION_MAGIC,
		.version = REGION_VERSION,
		.mutexes = shape->mutexes,
		.agents = shape->threads != 0 ? shape->threads : AGENTS_USUALLY,
		.entries = ENTRIES,
		.data_bytes = shape->data_bytes,
		.namespace = pawl_os_namespace(),
	};
	int file, error;

	h.bytes = layout_of(&h).bytes;
	h.sum = sum_of(&h);
	if (!reasonable(&h))
		return EINVAL;
	error = fd == -1 ? create_new(region, &file, &h)
			 : create_in(region, &file, fd, &h);
	if (error != 0)
		return error;
	(*region)->fd = file;
	pawl_os_file_seal(file);
	pawl_shared_enlist(*region);
	return 0;
}

/* Reads a file's header; EINVAL unless the file is a region's. */
static int read_header(int fd, struct header *h)
{
	uint64_t bytes;
	int error = read_magic(fd, &bytes, &h->magic);

	if (error == 0 && h->magic != REGION_MAGIC)
		error = EINVAL;
	if (error != 0)
		return error;
	pawl_acquire_fence(); /* [H] */
	error = pawl_os_file_size(fd, &bytes);
	if (error == 0)
		error = pawl_os_file_read(fd, h, sizeof(*h));
	if (error != 0)
		return error;
	if (h->magic != REGION_MAGIC || h->version != REGION_VERSION ||
	    h->sum != sum_of(h) || !reasonable(h) || bytes < h->bytes)
		return EINVAL;
	return h->namespace == pawl_os_namespace() ? 0 : EXDEV;
}

int pawl_shared_attach(struct pawl_shared **region, int fd)
{
	struct header h;
	int error = read_header(fd, &h);

	if (error == 0)
		error = map(region, fd, &h);
	if (error != 0)
		return error;
	/* Last: if a later step failed, closing the duplicate would drop the caller's
	 * record locks. */
	error = sound(&(*region)->r) ? pawl_os_file_duplicate(&(*region)->fd, fd)
				     : EINVAL;
	if (error != 0) {
		unmap(*region);
		return error;
	}
	pawl_shared_enlist(*region);
	return 0;
}

int pawl_shared_detach(struct pawl_shared *region)
{
	int error = pawl_shared_delist(region);

	if (error != 0)
		return error;
	pawl_os_file_close(region->fd);
	unmap(region);
	return 0;
}

int pawl_shared_fd(const struct pawl_shared *region)
{
	return region->fd;
}

void *pawl_shared_data(const struct pawl_shared *region)
{
	return region->data;
}

size_t pawl_shared_data_bytes(const struct pawl_shared *region)
{
	return region->data_bytes;
}
