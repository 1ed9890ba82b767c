/* SPDX-License-Identifier: MIT */
/*
 * Scenarios of the interposer's first calls: src/preload/start.c, record.c, mutex.c, lock.c
 * and offer.c, compiled once more beside those of interposer.c, in a process in which the
 * interposer has not started. Part of the simulated world, like scenario.c.
 */
#include "start_world.h"

static void saw(void *argument)
{
	(void)argument;
	scenario_saw(seen);
}

static int final_not_plain(void)
{
	const uint64_t *word = (const uint64_t *)((uintptr_t)&not_plain & ~(uintptr_t)7);
	uint64_t value = explore_final(word);

	return (int)(((uintptr_t)&not_plain & 4) != 0 ? value >> 32 : value);
}

/* Fast paths are allowed if and only if threads that may be on one know the ids' place. */
static void fast_in_the_end(void *argument)
{
	bool allowed = machine.single || !machine.barrier_refused ||
		       !machine.visit_refused;
	int special = final_not_plain();

	if (special != (allowed ? 0 : NOT_PLAIN))
		explore_fail(VERDICT_ASSERTION, "in the end not_plain is %d", special);
	if (special == 0)
		see(SAW_FAST);
	saw(argument);
}

/* first: the first calls of both threads meet, on a mutex that knows its owner. */

static void set_up_errorcheck(void *argument)
{
	(void)argument;
	begin();
	world->mutex.__data.__kind = PTHREAD_MUTEX_ERRORCHECK_NP;
}

static void set_up_recursive(void *argument)
{
	(void)argument;
	begin();
	world->mutex.__data.__kind = PTHREAD_MUTEX_RECURSIVE_NP;
}

static void set_up_visited(void *argument)
{
	set_up_errorcheck(argument);
	machine.barrier_refused = true;
}

static void set_up_refused(void *argument)
{
	set_up_visited(argument);
	machine.visit_refused = true;
}

static void set_up_unknown(void *argument)
{
	set_up_errorcheck(argument);
	machine.unknown_glibc = true;
}

static void enter(int result)
{
	expect("lock", result, 0);
	see(SAW_LOCKED);
	world->inside++;
}

static void first_thread(void *argument, int thread)
{
	pthread_mutex_t *m = &world->mutex;
	int error = pthread_mutex_trylock(m);

	(void)argument, (void)thread;
	if (error == EBUSY) {
		see(SAW_BUSY);
		return;
	}
	enter(error);
	expect("lock inside", pthread_mutex_lock(m), EDEADLK);
	expect("unlock", pthread_mutex_unlock(m), 0);
}

/* first-outside: the first call of one is an unlock of what the other may have. */
static void first_outside_thread(void *argument, int thread)
{
	pthread_mutex_t *m = &world->mutex;

	(void)argument;
	if (thread == 0) {
		enter(pthread_mutex_lock(m));
		expect("unlock", pthread_mutex_unlock(m), 0);
	} else {
		expect("unlock outside", pthread_mutex_unlock(m), EPERM);
	}
}

/* first-recursive: the same of a mutex that may be locked again. */
static void first_recursive_thread(void *argument, int thread)
{
	pthread_mutex_t *m = &world->mutex;

	(void)argument;
	if (thread == 0) {
		enter(pthread_mutex_lock(m));
		expect("lock inside", pthread_mutex_lock(m), 0);
		expect("unlock", pthread_mutex_unlock(m), 0);
		world->inside++;
		expect("unlock", pthread_mutex_unlock(m), 0);
	} else {
		expect("unlock outside", pthread_mutex_unlock(m), EPERM);
	}
}

/* first-somehow: one initialises a mutex and locks it, the other tries or waits. */
static void first_somehow_thread(void *argument, int thread)
{
	static const struct timespec soon = {.tv_sec = 1};
	pthread_mutex_t *m = &world->mutex;
	int error;

	(void)argument;
	if (thread == 0) {
		expect("init", pthread_mutex_init(m, NULL), 0);
		pawl_store_release(&world->held, 1);
		enter(pthread_mutex_lock(m));
		expect("unlock", pthread_mutex_unlock(m), 0);
		return;
	}
	pawl_await_eq_acquire(&world->held, 1, PAWL_SPIN);
	error = sim_one_in(2) ? pthread_mutex_trylock(m)
			      : pthread_mutex_timedlock(m, &soon);
	if (error == EBUSY || error == ETIMEDOUT) {
		see(error == EBUSY ? SAW_BUSY : SAW_LATE);
		return;
	}
	enter(error);
	expect("unlock", pthread_mutex_unlock(m), 0);
}

/* first-single: the interposer starts before there is another thread. */
static void set_up_single(void *argument)
{
	set_up_refused(argument);
	machine.single = true;
}

static void first_single_thread(void *argument, int thread)
{
	if (thread == 0) {
		start_at_the_latest();
		pawl_store_release(&world->held, 1); /* as pthread_create */
	} else {
		pawl_await_eq_acquire(&world->held, 1, PAWL_SPIN);
	}
	first_thread(argument, thread);
}

/*
 * counted: the interposer starts with statistics; profiled: with a profile, in which threads
 * keep a list of the locks that they hold; profiled-order: which also notes the order.
 */
static struct profile_thread profiles[THREADS];

/* As profile.c; the list is short, and any order of unlocks is right. */
static void keep_list(const volatile void *lock, bool takes)
{
	struct profile_thread *t = &profiles[explore_thread()];
	uint64_t depth = profile_get(&t->depth), i = depth;

	profile_mine = t;
	profile_set(&t->countdown, 100);
	if (takes) {
		profile_set(&t->held[depth].lock, pawl_address(lock));
		profile_set(&t->depth, depth + 1);
		return;
	}
	while (i-- > 0 && profile_get(&t->held[i].lock) != pawl_address(lock))
		;
	expect("the lock is in the list", i < depth, true);
	profile_set(&t->held[i].lock, profile_get(&t->held[depth - 1].lock));
	profile_set(&t->depth, depth - 1);
}

static void set_up_counted(void *argument)
{
	(void)argument;
	begin();
	machine.stats = "file";
}

static void set_up_profiled(void *argument)
{
	(void)argument;
	begin();
	machine.profile = "folder";
	profile_notes = keep_list;
	__builtin_memset(profiles, 0, sizeof(profiles));
}

static void set_up_profiled_order(void *argument)
{
	set_up_profiled(argument);
	machine.mode = "order";
}

static void notes_in_the_end(void *argument)
{
	int t;

	saw(argument);
	notes_add_up();
	for (t = 0; t < THREADS; t++)
		if (explore_final(&profiles[t].depth.raw) != 0)
			explore_fail(VERDICT_ASSERTION, "a list has what is let go of");
}

/* Two mutexes of this kind, unlocked in the order in which they were locked. */
static void lock_two(int kind)
{
	pthread_mutex_t *own = &world->own[explore_thread()], *m = &world->mutex;
	int inside = kind == PTHREAD_MUTEX_RECURSIVE_NP	   ? 0
		     : kind == PTHREAD_MUTEX_ERRORCHECK_NP ? EDEADLK
							   : EBUSY;

	own->__data.__kind = kind;
	expect("lock", pthread_mutex_lock(own), 0);
	enter(pthread_mutex_lock(m));
	expect("inside", kind == 0 ? pthread_mutex_trylock(own) : pthread_mutex_lock(own),
	       inside);
	if (inside == 0)
		expect("unlock once", pthread_mutex_unlock(own), 0);
	expect("unlock", pthread_mutex_unlock(own), 0);
	expect("unlock", pthread_mutex_unlock(m), 0);
	expect("lock again", pthread_mutex_lock(own), 0);
	expect("unlock", pthread_mutex_unlock(own), 0);
	if (kind != 0)
		expect("unlock outside", pthread_mutex_unlock(own), EPERM);
}

static void noted_thread(void *argument, int thread)
{
	static const struct timespec soon = {.tv_sec = 1};
	pthread_mutex_t *m = &world->mutex;
	int error;

	(void)argument;
	if (thread == 0) {
		start_at_the_latest();
		expect("init", pthread_mutex_init(m, NULL), 0);
		pawl_store_release(&world->held, 1); /* as pthread_create */
		if (sim_one_in(2))
			lock_two(PTHREAD_MUTEX_TIMED_NP);
		else
			lock_two(sim_one_in(2) ? PTHREAD_MUTEX_RECURSIVE_NP
					       : PTHREAD_MUTEX_ERRORCHECK_NP);
		return;
	}
	pawl_await_eq_acquire(&world->held, 1, PAWL_SPIN);
	expect("trylock", pthread_mutex_trylock(&world->own[thread]), 0);
	expect("unlock", pthread_mutex_unlock(&world->own[thread]), 0);
	expect("trylock again", pthread_mutex_trylock(&world->own[thread]), 0);
	expect("unlock", pthread_mutex_unlock(&world->own[thread]), 0);
	error = sim_one_in(2) ? pthread_mutex_timedlock(m, &soon) : pthread_mutex_lock(m);
	if (error == ETIMEDOUT) {
		see(SAW_LATE);
		return;
	}
	enter(error);
	expect("unlock", pthread_mutex_unlock(m), 0);
}

/* asked: what the environment asks for. */
static const struct asked {
	const char *lock, *rwlock, *loud, *stats, *profile, *mode;
	const char *name; /* of the lock that is chosen; NULL: the process ends */
	int special;	  /* what not_plain is in the end */
	bool rwlocks_left, rwlocks_slow;
	int complaints;
} wishes[] = {
	{.name = "mutex"},
	{.lock = "", .rwlock = "", .loud = "1", .name = "mutex", .complaints = 1},
	{.lock = "ticket",
	 .rwlock = "pawl",
	 .loud = "0",
	 .name = "ticket",
	 .special = NOT_PLAIN},
	{.rwlock = "glibc", .name = "mutex", .rwlocks_left = true, .rwlocks_slow = true},
	{.stats = "file", .name = "mutex", .special = NOT_PLAIN, .rwlocks_slow = true},
	{.profile = "folder", .name = "mutex", .special = PROFILED, .rwlocks_slow = true},
	{.profile = "folder",
	 .mode = "order",
	 .name = "mutex",
	 .special = NOT_PLAIN,
	 .rwlocks_slow = true},
	{.profile = "", .name = "mutex"},
	{.lock = "ticket", .profile = "folder", .complaints = 1},
	{.lock = "no such lock", .complaints = 1},
	{.lock = "hemlock-ah", .complaints = 1}, /* its unlock touches it too late */
	{.lock = "clh", .complaints = 1},	 /* it keeps a node */
	{.lock = "hemlock", .complaints = 1},	 /* only its owner can unlock it */
	{.lock = "tidex", .complaints = 1},	 /* no trylock */
	{.lock = "cohort", .complaints = 1},	 /* too large */
	{.rwlock = "neither", .complaints = 1},
};

OUTSIDE static const struct asked *any_wish(void)
{
	enum { COUNT = sizeof(wishes) / sizeof(wishes[0]) };
	const struct asked *w = wishes;

	while (w < wishes + COUNT - 1 && sim_one_in(2))
		w++;
	machine.lock = w->lock;
	machine.rwlock = w->rwlock;
	machine.loud = w->loud;
	machine.stats = w->stats;
	machine.profile = w->profile;
	machine.mode = w->mode;
	return w;
}

static void asked_thread(void *argument, int thread)
{
	const struct asked *w = any_wish();

	(void)argument, (void)thread;
	if (_setjmp(machine.end) == 0) {
		start_at_the_latest();
		expect("start", w->name != NULL, true);
		expect("the lock",
		       strcmp(lock_is_default() ? "mutex" : chosen->name, w->name), 0);
		expect("it is the default", lock_is_default(), w->lock != wishes[2].lock);
		expect("not_plain", not_plain, w->special);
		expect("rwlocks", (int)rwlock_plain_if,
		       w->rwlocks_slow ? RWLOCK_NO_CLAIM : RWLOCK_OURS);
		expect("rwlocks are left to glibc", machine.rwlocks_left,
		       w->rwlocks_left);
		start_at_the_latest();
		expect("it starts once", machine.watches, 1);
	} else {
		expect("start", w->name == NULL, true);
	}
	expect("complaints", machine.complaints, w->complaints);
}

/*
 * records: two threads make their records at once, and look at all there are. What is in a
 * record of one's own is plain: two threads with one record are a data race.
 */
static struct record *use_record(void)
{
	struct record *record = my_record();

	expect("the record's place", (int)(pawl_address(record) % 128), 0);
	expect("the record's thread", (int)record->thread, (int)my_id());
	record->profile = (struct profile_thread *)(void *)record;
	pawl_fetch_add_relaxed(&record->counters.waits, 1);
	expect("it stays", my_record() == record && my_record_if_any() == record, true);
	see(record == &old[0] || record == &old[1] ? SAW_TAKEN_OVER : SAW_MADE);
	return record;
}

/* Those that are there, of which one is its own, whose next is this thread's to see. */
static void walk_records(const struct record *own, int most)
{
	struct record *record;
	int found = 0;

	for (record = all_records(); record != NULL; record = record->next) {
		found += record == own;
		(void)pawl_load_relaxed(&record->counters.waits);
		expect("a list that ends", most-- > 0, true);
	}
	expect("the own record is in the list", found, 1);
}

static void records_thread(void *argument, int thread)
{
	(void)argument, (void)thread;
	expect("no record at first", my_record_if_any() == NULL, true);
	walk_records(use_record(), THREADS);
}

static void set_up_records(void *argument)
{
	(void)argument;
	begin();
	identity_at = offsetof(struct storage, id);
}

/* records-chunk: memory is left for one. */
static void set_up_chunk(void *argument)
{
	set_up_records(argument);
	chunk = explore_allocate(sizeof(struct record), 128);
	chunk_end = chunk + sizeof(struct record);
}

/* records-gone: there is a record whose thread has ended, and one whose thread lives. */
OUTSIDE static void leave_records(void)
{
	machine.gone = 55;
	old[0].thread = machine.gone;
	old[0].next = &old[1];
	old[1].thread = 66;
	list.raw = pawl_address(&old[0]);
}

static void set_up_gone(void *argument)
{
	set_up_records(argument);
	leave_records();
}

static void records_gone_thread(void *argument, int thread)
{
	(void)argument, (void)thread;
	walk_records(use_record(), THREADS + 1);
}

/* records-none: the system has no memory. */
static void set_up_none(void *argument)
{
	set_up_records(argument);
	machine.no_memory = true;
}

static void records_none_thread(void *argument, int thread)
{
	(void)argument, (void)thread;
	if (_setjmp(machine.end) == 0) {
		(void)my_record();
		explore_fail(VERDICT_ASSERTION, "a record without memory");
	}
}

/* records-forked: in the parent thread 0 had a record, another thread had the guard, and a
 * chunk half its ends. Thread 1 is started by the child. */
static void set_up_forked(void *argument)
{
	set_up_records(argument);
	leave_records();
	machine.gone = 0; /* in the child ids are used anew */
	storages[0].record = &old[1];
	guard.word.raw = 1;
	chunk = pool + 1;
}

static void records_forked_thread(void *argument, int thread)
{
	(void)argument;
	if (thread == 0) {
		pawl_fetch_add_relaxed(&old[0].counters.waits, 1);
		pawl_preload_forked();
		expect("counters", (int)pawl_load_relaxed(&old[0].counters.waits), 0);
		expect("the record", my_record() == &old[1], true);
		pawl_store_release(&world->held, 1); /* as pthread_create */
		expect("the record's thread", (int)old[1].thread, (int)my_id());
	} else {
		pawl_await_eq_acquire(&world->held, 1, PAWL_SPIN);
		walk_records(use_record(), THREADS + 1);
	}
}

/* keys: all are in use but ours, which the program gets; handlers of forks come after
 * ours. */
static void set_up_keys(void *argument)
{
	(void)argument;
	begin();
	machine.no_keys = true;
}

static void keys_thread(void *argument, int thread)
{
	pthread_key_t key;
	tss_t tss;

	(void)argument, (void)thread;
	expect("key_create", pthread_key_create(&key, NULL), 0);
	expect("our key was made, and given up", machine.keys, 0);
	machine.keys = 1; /* another program's */
	expect("key_create", pthread_key_create(&key, NULL), EAGAIN);
	machine.keys = 1;
	expect("tss_create", tss_create(&tss, NULL), thrd_error);
	machine.no_keys = false;
	expect("tss_create", tss_create(&tss, NULL), thrd_success);
	machine.no_keys = true;
	expect("our own", __wrap_pthread_key_create(&key, NULL), EAGAIN);
	expect("register_atfork", __register_atfork(NULL, NULL, NULL, NULL), 0);
	expect("ours came first", machine.handlers, 1);
}

/* found: one thread looks glibc's functions up, the other finds that it has. */
static void found_thread(void *argument, int thread)
{
	pthread_key_t key;

	(void)argument;
	if (thread == 1)
		sim_await(SIM_AWAIT_EQ, &resolved.raw, 1, 0, SIM_RELAXED);
	expect("key_create", glibc()->key_create(&key, NULL), 0);
	expect("what glibc has not got", glibc()->mutex_lock(&world->mutex), ENOSYS);
	see(SAW_LOCKED);
}

const struct lock_type start_types[] = {
	{.name = "start", .base = "start", .header = "pthread.h"},
	{.name = NULL},
};

const struct scenario start_scenarios[] = {
	TWO("first", "the first calls of two threads meet", set_up_errorcheck,
	    first_thread, fast_in_the_end, SIGHT(LOCKED) | SIGHT(FAST)),
	TWO("first-outside", "the same, and one has no business there", set_up_errorcheck,
	    first_outside_thread, fast_in_the_end, SIGHT(LOCKED) | SIGHT(FAST)),
	TWO("first-recursive", "the same of a recursive mutex", set_up_recursive,
	    first_recursive_thread, fast_in_the_end, SIGHT(LOCKED) | SIGHT(FAST)),
	TWO("first-somehow", "the same of one that is initialised", set_up,
	    first_somehow_thread, fast_in_the_end,
	    SIGHT(LOCKED) | SIGHT(BUSY) | SIGHT(LATE) | SIGHT(FAST)),
	TWO("first-visited", "the same where membarrier is refused", set_up_visited,
	    first_outside_thread, fast_in_the_end, SIGHT(LOCKED) | SIGHT(FAST)),
	TWO("first-refused", "the same where no thread may visit CPUs either",
	    set_up_refused, first_outside_thread, fast_in_the_end, SIGHT(LOCKED)),
	TWO("first-unknown", "the same if glibc does not say where a thread's id is",
	    set_up_unknown, first_outside_thread, fast_in_the_end,
	    SIGHT(LOCKED) | SIGHT(FAST)),
	TWO("first-single", "the first call comes before there are two threads",
	    set_up_single, first_single_thread, fast_in_the_end,
	    SIGHT(LOCKED) | SIGHT(FAST)),
	TWO("counted", "calls with statistics", set_up_counted, noted_thread,
	    notes_in_the_end, SIGHT(LOCKED) | SIGHT(LATE)),
	TWO("profiled", "calls with a profile", set_up_profiled, noted_thread,
	    notes_in_the_end, SIGHT(LOCKED) | SIGHT(LATE)),
	TWO("profiled-order", "the same, and the order of locks", set_up_profiled_order,
	    noted_thread, notes_in_the_end, SIGHT(LOCKED) | SIGHT(LATE)),
	ONE("asked", "what the environment asks for", set_up, asked_thread, saw,
	    SIGHT(ENDED)),
	TWO("records", "two threads make their records", set_up_records, records_thread,
	    saw, SIGHT(MADE)),
	TWO("records-chunk", "the same, and there is memory for one", set_up_chunk,
	    records_thread, saw, SIGHT(MADE)),
	TWO("records-gone", "the same, and one is left of a thread that has ended",
	    set_up_gone, records_gone_thread, saw, SIGHT(MADE) | SIGHT(TAKEN_OVER)),
	ONE("records-none", "there is no memory for a record", set_up_none,
	    records_none_thread, saw, SIGHT(ENDED)),
	TWO("records-forked", "the child of a fork", set_up_forked, records_forked_thread,
	    saw, SIGHT(MADE)),
	TWO("found", "glibc's functions are looked up", set_up, found_thread, saw,
	    SIGHT(LOCKED)),
	ONE("keys", "the program uses up all keys", set_up_keys, keys_thread, saw, 0),
	{.name = NULL},
};
