/* SPDX-License-Identifier: MIT */
/*
 * The report at exit. Printing uses a buffer on the stack and write(2): the
 * program's own stdio may be closed by then, or locked by a thread that exit
 * does not wait for.
 *
 * Relaxed throughout: these are numbers, and order nothing.
 */
#define _GNU_SOURCE
#include "preload/cancel.h"
#include "preload/stats.h"

#include "preload/profile.h"
#include "preload/record.h"
#include "os/os.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool stats_on;
__thread bool stats_in_cond __attribute__((tls_model("initial-exec")));

static const char *lock_name;
static char report_path[512];

/* The contended locks, by address: the first so many that were. */
enum { PLACES = 4096, PROBES = 32, SHOWN = 10 };
static struct place {
	pawl_atomic64 lock;   /* its address */
	pawl_atomic64 rwlock; /* 1 if it is a read-write lock */
	pawl_atomic64 site;   /* of the first call that had to wait */
	pawl_atomic64 contended, longest;
} places[PLACES];
static pawl_atomic64 homeless; /* waits for locks that found no place */

static uint64_t get(const pawl_atomic64 *number)
{
	return pawl_load_relaxed(number);
}

static void raise_to(pawl_atomic64 *most, uint64_t value)
{
	uint64_t seen;

	do
		seen = get(most);
	while (seen < value && !pawl_cas_relaxed(most, seen, value));
}

static struct place *place_of(const void *lock)
{
	uint64_t name = pawl_address(lock);
	uint64_t hash = pawl_hash(name >> 3, 32);
	size_t i;

	for (i = 0; i < PROBES; i++) {
		struct place *place = &places[(hash + i) % PLACES];

		if (get(&place->lock) == name ||
		    pawl_cas_relaxed(&place->lock, 0, name) || get(&place->lock) == name)
			return place;
	}
	return NULL;
}

/* The counters have one writer; the report reads them while it may write. */
static void add(pawl_atomic64 *counter, uint64_t more)
{
	pawl_store_relaxed(counter, get(counter) + more);
}

static void add_one(pawl_atomic64 *counter)
{
	add(counter, 1);
}

void stats_acquired(void)
{
	add_one(&my_record()->counters.acquisitions);
}

void stats_read(void)
{
	add_one(&my_record()->counters.reads);
}

void stats_written(void)
{
	add_one(&my_record()->counters.writes);
}

/* Notes that this thread has to wait for a lock; returns since when. */
static uint64_t waiting(const void *lock, bool rwlock, const void *site)
{
	struct place *place = place_of(lock);

	if (place == NULL) {
		pawl_fetch_add_relaxed(&homeless, 1);
	} else {
		pawl_fetch_add_relaxed(&place->contended, 1);
		pawl_store_relaxed(&place->rwlock, rwlock);
		if (get(&place->site) == 0)
			pawl_cas_relaxed(&place->site, 0, pawl_address(site));
	}
	return pawl_os_now();
}

static void waited(const void *lock, uint64_t since, pawl_atomic64 *all,
		   pawl_atomic64 *longest)
{
	uint64_t time = pawl_os_now() - since;
	struct place *place = place_of(lock);

	add(all, time);
	raise_to(longest, time);
	if (place != NULL)
		raise_to(&place->longest, time);
}

uint64_t stats_waiting(const struct mutex *m, const void *site)
{
	add_one(&my_record()->counters.contended);
	return waiting(m, false, site);
}

void stats_waited(const struct mutex *m, uint64_t since)
{
	struct counters *counters = &my_record()->counters;

	waited(m, since, &counters->waited, &counters->longest);
}

uint64_t stats_rwlock_waiting(const void *rw, const void *site)
{
	add_one(&my_record()->counters.rw_contended);
	return waiting(rw, true, site);
}

void stats_rwlock_waited(const void *rw, uint64_t since)
{
	struct counters *counters = &my_record()->counters;

	waited(rw, since, &counters->rw_waited, &counters->rw_longest);
}

void stats_requeued(uint64_t time)
{
	add(&my_record()->counters.requeued, time);
}

/* The runtime's calls to the system pass through here; see CMakeLists.txt. */

bool __wrap_pawl_os_sleep(const pawl_atomic64 *word, uint32_t expected,
			  const struct pawl_deadline *deadline);
void __real_pawl_os_wake(const pawl_atomic64 *word);
void __wrap_pawl_os_wake(const pawl_atomic64 *word);
bool __real_pawl_os_barrier(void);
bool __wrap_pawl_os_barrier(void);
unsigned __real_pawl_os_priority(void);
unsigned __wrap_pawl_os_priority(void);

/*
 * Counts what this thread asked of the system. One that has no record yet is on
 * its way to one, and waits for it: it must not ask for it again, and nobody asked
 * it to wait for a lock of the program's.
 */
static struct counters *countable(void)
{
	struct record *record = likely(!stats_on) ? NULL : my_record_if_any();

	return record != NULL ? &record->counters : NULL;
}

bool __wrap_pawl_os_sleep(const pawl_atomic64 *word, uint32_t expected,
			  const struct pawl_deadline *deadline)
{
	struct counters *counters = countable();

	if (counters != NULL)
		add_one(stats_in_cond ? &counters->waits : &counters->parked);
	if (unlikely(profile_on))
		profile_sleeps();
	return cancel_sleep(word, expected, deadline);
}

void __wrap_pawl_os_wake(const pawl_atomic64 *word)
{
	struct counters *counters = countable();

	if (counters != NULL)
		add_one(&counters->wakes);
	__real_pawl_os_wake(word);
}

bool __wrap_pawl_os_barrier(void)
{
	struct counters *counters = countable();
	bool passed;

	if (!barrier_begin())
		return false;
	if (counters != NULL)
		add_one(&counters->barriers);
	passed = __real_pawl_os_barrier();
	barrier_end();
	return passed;
}

unsigned __wrap_pawl_os_priority(void)
{
	unsigned priority;

	if (!barrier_begin())
		return 0;
	priority = __real_pawl_os_priority();
	barrier_end();
	return priority;
}

/* The report. */

struct text {
	char bytes[8192];
	size_t length;
};

__attribute__((format(printf, 2, 3))) static void say(struct text *text,
						      const char *format, ...)
{
	size_t room = sizeof(text->bytes) - text->length;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(text->bytes + text->length, room, format, arguments);
	va_end(arguments);
	if (length > 0)
		text->length += (size_t)length < room ? (size_t)length : room - 1;
}

/* Where an address is: symbol or file, and how far into it. */
static void say_where(struct text *text, const void *address)
{
	Dl_info info;
	const char *file;

	if (address == NULL || dladdr(address, &info) == 0 || info.dli_fname == NULL) {
		say(text, "%p", address);
		return;
	}
	file = strrchr(info.dli_fname, '/');
	file = file != NULL ? file + 1 : info.dli_fname;
	if (info.dli_sname != NULL)
		say(text, "%s+0x%tx (%s)", info.dli_sname,
		    (const char *)address - (const char *)info.dli_saddr, file);
	else
		say(text, "%s+0x%tx", file,
		    (const char *)address - (const char *)info.dli_fbase);
}

/* The worst of those not shown yet. */
static const struct place *next_worst(const bool *shown, bool rwlock)
{
	const struct place *worst = NULL;
	size_t i;

	for (i = 0; i < PLACES; i++)
		if (get(&places[i].lock) != 0 && !shown[i] &&
		    get(&places[i].rwlock) == rwlock &&
		    (worst == NULL || get(&places[i].contended) > get(&worst->contended)))
			worst = &places[i];
	return worst;
}

static void say_places(struct text *text, bool rwlock)
{
	static bool shown[PLACES];
	const struct place *place;
	int i;

	for (i = 0; i < SHOWN && (place = next_worst(shown, rwlock)) != NULL; i++) {
		shown[place - places] = true;
		if (i == 0)
			say(text, "most contended %s:\n",
			    rwlock ? "read-write locks" : "mutexes");
		say(text, "  %p: %llu waits, the longest %.3f ms",
		    pawl_pointer(get(&place->lock)),
		    (unsigned long long)get(&place->contended),
		    (double)get(&place->longest) / 1e6);
		if (get(&place->site) != 0) {
			say(text, ", first at ");
			say_where(text, pawl_pointer(get(&place->site)));
		}
		say(text, "; it is ");
		say_where(text, pawl_pointer(get(&place->lock)));
		say(text, "\n");
	}
}

static void add_to(pawl_atomic64 *total, const pawl_atomic64 *part)
{
	add(total, get(part));
}

static void sum(struct counters *total)
{
	const struct record *record;

	memset(total, 0, sizeof(*total));
	for (record = all_records(); record != NULL; record = record->next) {
		const struct counters *part = &record->counters;

		add_to(&total->acquisitions, &part->acquisitions);
		add_to(&total->contended, &part->contended);
		add_to(&total->reads, &part->reads);
		add_to(&total->writes, &part->writes);
		add_to(&total->rw_contended, &part->rw_contended);
		raise_to(&total->rw_longest, get(&part->rw_longest));
		add_to(&total->parked, &part->parked);
		add_to(&total->waits, &part->waits);
		add_to(&total->wakes, &part->wakes);
		add_to(&total->barriers, &part->barriers);
		raise_to(&total->longest, get(&part->longest));
		add_to(&total->waited, &part->waited);
		add_to(&total->rw_waited, &part->rw_waited);
		add_to(&total->requeued, &part->requeued);
	}
}

/* A line more, of a program that has any. */
static void say_rwlocks(struct text *text, const struct counters *total)
{
	if (get(&total->reads) == 0 && get(&total->writes) == 0)
		return;
	say(text,
	    "read-write locks: read %llu, written %llu, contended %llu, longest "
	    "wait %.3f ms\n",
	    (unsigned long long)get(&total->reads),
	    (unsigned long long)get(&total->writes),
	    (unsigned long long)get(&total->rw_contended),
	    (double)get(&total->rw_longest) / 1e6);
}

static void print(const struct text *text)
{
	bool to_stderr = strcmp(report_path, "-") == 0;
	int file = to_stderr ? STDERR_FILENO
			     : open(report_path,
				    O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

	if (file < 0) {
		pawl_os_complain("pawl: cannot write the statistics to ");
		pawl_os_complain(report_path);
		pawl_os_complain("\n");
		return;
	}
	/* One write: reports of several processes do not mix. */
	if (write(file, text->bytes, text->length) < 0 && to_stderr)
		return; /* nobody left to tell */
	if (!to_stderr)
		close(file);
}

__attribute__((destructor)) static void report(void)
{
	struct counters total;
	struct text text;
	int saved = errno;

	if (!stats_on)
		return;
	sum(&total);
	text.length = 0;
	say(&text,
	    "pawl: %s (pid %d), lock %s\n"
	    "acquisitions %llu, contended %llu, parked %llu, waits for a signal %llu, "
	    "wake-ups %llu, membarriers %llu, longest wait for a mutex %.3f ms\n",
	    program_invocation_short_name, (int)getpid(), lock_name,
	    (unsigned long long)get(&total.acquisitions),
	    (unsigned long long)get(&total.contended),
	    (unsigned long long)get(&total.parked), (unsigned long long)get(&total.waits),
	    (unsigned long long)get(&total.wakes),
	    (unsigned long long)get(&total.barriers), (double)get(&total.longest) / 1e6);
	say_rwlocks(&text, &total);
	say(&text,
	    "time lost: waiting for mutexes %.3f ms, for read-write locks %.3f ms, "
	    "for mutexes after a signal %.3f ms\n",
	    (double)get(&total.waited) / 1e6, (double)get(&total.rw_waited) / 1e6,
	    (double)get(&total.requeued) / 1e6);
	say_places(&text, false);
	say_places(&text, true);
	if (get(&homeless) != 0)
		say(&text, "  others: %llu waits\n", (unsigned long long)get(&homeless));
	print(&text);
	errno = saved;
}

void stats_start(const char *lock, const char *path)
{
	lock_name = lock;
	if (path == NULL || *path == '\0' || strlen(path) >= sizeof(report_path))
		return;
	strcpy(report_path, path);
	stats_on = true;
}

void stats_forked(void)
{
	if (!stats_on)
		return;
	memset(places, 0, sizeof(places));
	homeless = (pawl_atomic64)PAWL_ZERO;
}
