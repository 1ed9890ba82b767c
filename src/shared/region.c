/* SPDX-License-Identifier: MIT */
/* Regions as files: made, found sound, attached, detached. */
#include "shared/shared.h"

#include "os/shared.h"

#include <errno.h>

enum {
	REGION_VERSION = 1,
	AGENTS_USUALLY = 256,
	MUTEXES_MAX = 1 << 20,
	ENTRIES = 256, /* a power of two */
};
#define REGION_MAGIC   ((uint64_t)0x706177736872310Au) /* "pawshr1\n" */
#define DATA_BYTES_MAX ((uint64_t)1 << 40)

/* The beginning of a region. Fixed once the magic number is there, but for the
 * last two words. */
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

/* Whether these are numbers that a region can have. */
static bool reasonable(const struct header *h)
{
	return h->mutexes >= 1 && h->mutexes <= MUTEXES_MAX && h->agents >= 1 &&
	       h->agents <= REGION_AGENTS_MAX && h->entries == ENTRIES &&
	       h->data_bytes <= DATA_BYTES_MAX && h->bytes == layout_of(h).bytes;
}

/* Whether every value in the region is some agent's. Others may be at work in it:
 * what is sound stays so. */
static bool sound(const struct region *r)
{
	unsigned i;

	for (i = 0; i < r->agent_count; i++) {
		const struct region_agent *agent = &r->agents[i];
		/* Relaxed, here and below: each word is judged by itself. */
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

/* Maps a file that has a region's size. Takes fd over if it returns 0. */
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
	s->fd = fd;
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

/* Makes a region of an empty file: zeros, and a header. */
static int fill(struct pawl_shared **region, int fd, const struct header *h)
{
	uint64_t bytes;
	int error = pawl_os_file_size(fd, &bytes);

	if (error == 0 && bytes != 0)
		error = EEXIST;
	if (error == 0)
		error = pawl_os_file_grow(fd, h->bytes);
	if (error == 0)
		error = map(region, fd, h);
	if (error != 0)
		return error;
	error = pawl_os_file_write(fd, h, offsetof(struct header, fenced));
	if (error != 0)
		unmap(*region);
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
	error = fd == -1 ? pawl_os_file_new(&file) : pawl_os_file_duplicate(&file, fd);
	if (error != 0)
		return error;
	error = fill(region, file, &h);
	if (error != 0) {
		pawl_os_file_close(file);
		return error;
	}
	pawl_os_file_seal(file);
	pawl_shared_enlist(*region);
	return 0;
}

/* Reads a file's header; EINVAL unless the file is a region's. */
static int read_header(int fd, struct header *h)
{
	uint64_t bytes;
	int error = pawl_os_file_size(fd, &bytes);

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
	int file, error = read_header(fd, &h);

	if (error == 0)
		error = pawl_os_file_duplicate(&file, fd);
	if (error != 0)
		return error;
	error = map(region, file, &h);
	if (error == 0 && !sound(&(*region)->r)) {
		unmap(*region);
		error = EINVAL;
	}
	if (error != 0) {
		pawl_os_file_close(file);
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
