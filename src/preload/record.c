/* SPDX-License-Identifier: MIT */
/* What the interposer keeps of each thread. Order: [A] pairs with [R]: who finds a
 * record sees what is in it. */
#define _GNU_SOURCE
#include "preload/record.h"

#include "preload/preload.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	CHUNK = 64 * 1024, /* bytes asked of the system at once */
	LOOKS = 4,	   /* records a newcomer looks at for one to take over */
};

#define TLS __thread __attribute__((tls_model("initial-exec")))

volatile ptrdiff_t identity_at;
static TLS uint32_t id; /* our copy, if glibc's is not to be found */
static TLS struct record *mine;

/* Guards everything below. */
static struct pawl_mutex guard;
static pawl_atomic64 list; /* struct record *, the first of all */
static struct record *cursor;
static char *chunk, *chunk_end;

static ptrdiff_t from_thread_pointer(const void *address)
{
	return (const char *)address - (const char *)__builtin_thread_pointer();
}

void identity_start(void)
{
	/* What glibc tells debuggers of a field: its bits, how many, where. */
	const uint32_t *field = symbol_after_us("_thread_db_pthread_tid");
	const uint32_t *theirs = NULL;

	if (field != NULL && field[0] == 32 && field[1] == 1)
		theirs = (const uint32_t *)((const char *)pthread_self() + field[2]);
	if (theirs == NULL || *theirs != (uint32_t)syscall(SYS_gettid))
		theirs = &id;
	identity_at = from_thread_pointer(theirs);
}

uint32_t identity_ask(void)
{
	id = (uint32_t)syscall(SYS_gettid);
	return id;
}

/* Zeroed memory for good; requires the guard. */
static void *carve(size_t size)
{
	void *piece;

	if ((size_t)(chunk_end - chunk) < size) {
		int saved = errno;
		void *fresh = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (fresh == MAP_FAILED)
			pawl_die_("out of memory for what the interposer keeps of a "
				  "thread");
		errno = saved;
		chunk = fresh;
		chunk_end = chunk + CHUNK;
	}
	piece = chunk;
	chunk += size;
	return piece;
}

static bool is_gone(const struct record *record)
{
	int saved = errno;
	bool gone = syscall(SYS_tgkill, getpid(), record->thread, 0) != 0 &&
		    errno == ESRCH;

	errno = saved;
	return gone;
}

struct record *all_records(void)
{
	return pawl_pointer(pawl_load_acquire(&list)); /* [A] */
}

/* A record whose thread is no more; requires the guard. A few looks at each
 * newcomer's keep the number of records near that of threads. */
static struct record *take_over(void)
{
	struct record *first = all_records();
	int looks;

	for (looks = 0; looks < LOOKS && first != NULL; looks++) {
		cursor = cursor != NULL && cursor->next != NULL ? cursor->next : first;
		if (is_gone(cursor))
			return cursor;
	}
	return NULL;
}

static struct record *new_record(void)
{
	struct record *record;

	pawl_mutex_lock(&guard);
	record = take_over();
	if (record == NULL) {
		record = carve(sizeof(*record));
		record->next = all_records();
		pawl_store_release(&list, pawl_address(record)); /* [R] */
	}
	record->thread = my_id();
	pawl_mutex_unlock(&guard);
	return record;
}

struct record *my_record_if_any(void)
{
	return mine;
}

struct record *my_record(void)
{
	if (unlikely(mine == NULL))
		mine = new_record();
	return mine;
}

void records_forked(void)
{
	struct record *record;

	/* Threads that are not here may have been half way through anything: the
	 * guard, the two ends of the chunk. The child leaves the chunk where it is. The
	 * list of records is whole at every step. */
	guard = (struct pawl_mutex)PAWL_MUTEX_INIT;
	chunk = chunk_end = NULL;
	id = 0;
	for (record = all_records(); record != NULL; record = record->next)
		memset(&record->counters, 0, sizeof(record->counters));
	if (mine != NULL)
		mine->thread = my_id();
}
