/* SPDX-License-Identifier: MIT */
/*
 * Profile mode: waits, holds, and what is written down of them. See profile.h;
 * Relaxed throughout, for the reason given there.
 *
 * Sampling. One wait in `period` is sampled, at random and before anybody knows how
 * long it will take; it counts for as many. The period follows the rate of samples, so
 * that these stay few; `pawl profile` scales them to the exact sums of each lock.
 * Acquisitions are noted one by one at first and less and less often later.
 */
#define _GNU_SOURCE
#include "preload/profile.h"

#include "os/os.h"
#include "preload/record.h"

#include <string.h>

enum {
	WINDOW_NS = 100 * 1000 * 1000,
	SAMPLES_IN_WINDOW = 100, /* of waits, that are unwound */
	LONGEST_PERIOD = 1 << 20,
	EXACT = 256, /* acquisitions of a thread that are all noted */
	LONGEST_COUNTDOWN = 8192,
};

bool profile_on;
bool profile_orders;
bool profile_hangs;
struct profile_file *profile_file;
__thread struct profile_thread *profile_mine __attribute__((tls_model("initial-exec")));

static void add(pawl_atomic64 *sum, uint64_t value)
{
	pawl_fetch_add_relaxed(sum, value);
}

static struct profile_thread *mine(void)
{
	return likely(profile_mine != NULL) ? profile_mine : profile_thread_begin();
}

/* One to 2 n - 1, n on average. */
static uint64_t draw(struct profile_thread *t, uint64_t n)
{
	uint64_t coin = profile_get(&t->coin);

	coin ^= coin << 13;
	coin ^= coin >> 7;
	coin ^= coin << 17;
	profile_set(&t->coin, coin);
	return 1 + coin % (2 * n - 1);
}

/* Makes samples rarer or more frequent, by how many there were lately. */
static void adjust_period(uint64_t now)
{
	struct profile_file *f = profile_file;
	uint64_t began = profile_get(&f->window), period = profile_get(&f->period);
	uint64_t count = pawl_fetch_add_relaxed(&f->in_window, 1) + 1;

	if (now - began < WINDOW_NS && count < SAMPLES_IN_WINDOW)
		return;
	if (!pawl_cas_relaxed(&f->window, began, now))
		return; /* somebody else does it */
	profile_set(&f->in_window, 0);
	if (count >= SAMPLES_IN_WINDOW && period < LONGEST_PERIOD)
		profile_set(&f->period, 2 * period);
	else if (count < SAMPLES_IN_WINDOW / 4 && period > 1)
		profile_set(&f->period, period / 2);
}

/* Whether this wait is one that is unwound; sets its weight. */
static bool is_sampled(struct profile_thread *t, uint64_t now)
{
	uint64_t skip = profile_get(&t->skip), period;

	if (skip > 1) {
		profile_set(&t->skip, skip - 1);
		return false;
	}
	adjust_period(now);
	period = profile_get(&profile_file->period);
	/* What was drawn last time says how many this one stands for; the next will
	 * stand for what is drawn now. */
	profile_set(&t->weight, profile_get(&t->drawn_period));
	profile_set(&t->drawn_period, period);
	profile_set(&t->skip, draw(t, period));
	return true;
}

static struct profile_thread *thread_of(uint64_t number)
{
	return number - 1 < PROFILE_THREADS ? &profile_file->threads[number - 1] : NULL;
}

/* Which of its held locks this is, as far as another thread can tell; -1: none. */
static int find_held(const struct profile_thread *t, uint64_t lock)
{
	uint64_t depth = profile_get(&t->depth);
	int i = (int)(depth < PROFILE_HELD ? depth : PROFILE_HELD) - 1;

	while (i >= 0 && profile_get(&t->held[i].lock) != lock)
		i--;
	return i;
}

/* For locks that do not say who has them. */
static struct profile_thread *search_holder(const struct profile_thread *me,
					    uint64_t lock)
{
	uint64_t count = profile_get(&profile_file->thread_count), i;

	for (i = 0; i < count && i < PROFILE_THREADS; i++) {
		struct profile_thread *t = &profile_file->threads[i];

		if (t != me && find_held(t, lock) >= 0)
			return t;
	}
	return NULL;
}

/* Asks the holder of what t waits for to leave its stack when it lets go. */
static void ask_holder(struct profile_thread *t, uint64_t lock, uint64_t owner)
{
	struct profile_thread *holder = profile_thread_of(owner);
	int i = holder != NULL ? find_held(holder, lock) : -1;

	if (i < 0) { /* it does not say, or is changing hands */
		holder = search_holder(t, lock);
		i = holder != NULL ? find_held(holder, lock) : -1;
	}
	profile_set(&t->holder, 0);
	if (i < 0)
		return;
	profile_set(&t->holder, profile_get(&holder->number));
	profile_set(&t->holder_site, profile_get(&holder->held[i].site));
	profile_set(&t->holder_replies, profile_get(&holder->replied));
	profile_set(&holder->asked, lock);
}

void profile_wait(const volatile void *lock, enum profile_kind kind, uint64_t owner,
		  const void *site)
{
	struct profile_thread *t = mine();
	uint64_t now;

	if (t == NULL)
		return;
	profile_left();
	now = pawl_os_now();
	profile_set(&t->kind, kind);
	profile_set(&t->since, now);
	profile_set(&t->site, pawl_address(site));
	profile_set(&t->stack, 0);
	profile_set(&t->weight, 0);
	profile_set(&t->holder, 0);
	profile_set(&t->waiting_for, pawl_address(lock));
	if (!is_sampled(t, now))
		return;
	if (kind != PROFILE_COND)
		ask_holder(t, pawl_address(lock), owner);
	profile_set(&t->stack, profile_unwind(site, NULL));
}

void profile_sleeps(void)
{
	struct profile_thread *t = profile_mine;

	if (t == NULL || profile_get(&t->waiting_for) == 0)
		return;
	if (profile_get(&t->weight) != 0 && profile_get(&t->holder) == 0 &&
	    profile_get(&t->kind) != PROFILE_COND)
		ask_holder(t, profile_get(&t->waiting_for), 0);
	/* Without weight: it explains a hang, and counts for nothing. */
	if (profile_hangs && profile_get(&t->stack) == 0)
		profile_set(&t->stack,
			    profile_unwind(pawl_pointer(profile_get(&t->site)), NULL));
}

void profile_waited(void)
{
	struct profile_thread *t = profile_mine;

	if (t == NULL)
		return;
	profile_set(&t->until, pawl_os_now());
	profile_set(&t->pending, profile_get(&t->waiting_for));
	profile_set(&t->waiting_for, 0);
}

/* The stack at which the holder let go of the lock that t waited for. */
static uint64_t holder_stack(const struct profile_thread *t, uint64_t lock)
{
	const struct profile_thread *holder = thread_of(profile_get(&t->holder));
	uint64_t n = profile_get(&t->holder_replies), end;

	if (holder == NULL)
		return 0;
	end = profile_get(&holder->replied);
	if (end - n > PROFILE_REPLIES)
		n = end - PROFILE_REPLIES;
	for (; n < end; n++) {
		const struct profile_reply *reply = &holder->replies[n % PROFILE_REPLIES];

		if (profile_get(&reply->lock) == lock)
			return profile_get(&reply->stack);
	}
	return profile_stack_of_one(profile_get(&t->holder_site));
}

static unsigned bucket_of(uint64_t ns)
{
	unsigned bucket = ns == 0 ? 0 : 63 - (unsigned)__builtin_clzll(ns);

	return bucket < PROFILE_BUCKETS ? bucket : PROFILE_BUCKETS - 1;
}

void profile_left(void)
{
	struct profile_thread *t = profile_mine;
	struct profile_lock *lock;
	uint64_t name, ns;

	if (t == NULL || profile_get(&t->pending) == 0)
		return;
	name = profile_get(&t->pending);
	profile_set(&t->pending, 0);
	lock = profile_lock_of(pawl_pointer(name),
			       (enum profile_kind)profile_get(&t->kind),
			       pawl_pointer(profile_get(&t->site)));
	if (lock == NULL)
		return;
	ns = profile_get(&t->until) - profile_get(&t->since);
	/* The fewest shared lines, as there may be millions of waits: the histogram
	 * counts them, too, and what is of no lock is said with samples, only. */
	add(&lock->wait_ns, ns);
	add(&lock->histogram[bucket_of(ns)], 1);
	if (profile_get(&t->kind) != PROFILE_COND)
		profile_set(&t->unsaid_ns, profile_get(&t->unsaid_ns) + ns);
	if (profile_get(&t->weight) != 0) {
		add(&profile_file->wait_ns, profile_get(&t->unsaid_ns));
		profile_set(&t->unsaid_ns, 0);
	}
	profile_raise(&lock->longest_ns, ns);
	if (profile_get(&t->weight) != 0 && profile_get(&t->stack) != 0)
		profile_add_sample(lock, profile_get(&t->stack), holder_stack(t, name),
				   profile_get(&t->weight), ns);
}

/* The oldest half goes: what was let go of by others stays there for ever. */
static void forget_oldest(struct profile_thread *t)
{
	enum { HALF = PROFILE_HELD / 2 };
	uint64_t i;

	profile_lose(PROFILE_LOST_HELD);
	for (i = 0; i < HALF; i++) {
		profile_set(&t->held[i].lock, profile_get(&t->held[i + HALF].lock));
		profile_set(&t->held[i].site, profile_get(&t->held[i + HALF].site));
	}
	profile_set(&t->depth, HALF);
}

/* Notes an acquisition that stands for those since the last that was noted. */
static void note(struct profile_thread *t, const volatile void *name,
		 enum profile_kind kind, const void *site)
{
	struct profile_lock *lock = profile_lock_of(name, kind, site);
	uint64_t drawn = profile_get(&t->drawn), noted = profile_get(&t->noted) + drawn;
	uint64_t mean = profile_get(&t->drawn_mean), next = 1;

	if (lock != NULL)
		add(&lock->acquisitions, mean);
	if (profile_get(&t->timed) == 0) {
		profile_set(&t->timed_weight, mean);
		profile_set(&t->timed_kind, kind);
		profile_set(&t->timed_since, pawl_os_now());
		profile_set(&t->timed, pawl_address(name));
	}
	if (noted >= EXACT) {
		next = noted / EXACT;
		if (next > LONGEST_COUNTDOWN)
			next = LONGEST_COUNTDOWN;
	}
	profile_set(&t->drawn_mean, next);
	profile_set(&t->noted, noted);
	next = draw(t, next);
	profile_set(&t->drawn, next);
	profile_set(&t->countdown, next);
}

int profile_took(const volatile void *lock, enum profile_kind kind, const void *site)
{
	struct profile_thread *t = mine();
	uint64_t depth;

	if (t == NULL)
		return 0;
	if (profile_get(&t->depth) >= PROFILE_HELD)
		forget_oldest(t);
	depth = profile_get(&t->depth);
	profile_set(&t->depth, depth + 1);
	profile_set(&t->held[depth].lock, pawl_address(lock));
	profile_set(&t->held[depth].site, pawl_address(site));
	profile_set(&t->countdown, profile_get(&t->countdown) - 1);
	if (profile_get(&t->countdown) == 0)
		note(t, lock, kind, site);
	return 0;
}

static void end_hold(struct profile_thread *t, const volatile void *name)
{
	uint64_t ns = pawl_os_now() - profile_get(&t->timed_since);
	uint64_t weight = profile_get(&t->timed_weight);
	struct profile_lock *lock = profile_lock_of(
		name, (enum profile_kind)profile_get(&t->timed_kind), NULL);

	profile_set(&t->timed, 0);
	if (lock == NULL)
		return;
	add(&lock->holds, weight);
	add(&lock->hold_ns, weight * ns);
	profile_raise(&lock->hold_longest_ns, ns);
}

/* Leaves this thread's stack, for whoever asked where the lock is held. */
static void reply(struct profile_thread *t, uint64_t lock, int at, const void *site)
{
	uint64_t n = profile_get(&t->replied);
	struct profile_reply *reply = &t->replies[n % PROFILE_REPLIES];
	const void *taken = at >= 0 ? pawl_pointer(profile_get(&t->held[at].site)) : NULL;

	profile_set(&t->asked, 0);
	profile_set(&reply->lock, lock);
	profile_set(&reply->stack, profile_unwind(site, taken));
	profile_set(&t->replied, n + 1);
}

/* Another thread took it: it need not remember it any longer. */
static void clear_of_other(struct profile_thread *holder, uint64_t lock)
{
	int at = holder != NULL ? find_held(holder, lock) : -1;

	if (at >= 0)
		profile_set(&holder->held[at].lock, 0);
}

static void remove_held(struct profile_thread *t, int at)
{
	uint64_t depth = profile_get(&t->depth), i;

	for (i = (uint64_t)at; i + 1 < depth && i + 1 < PROFILE_HELD; i++) {
		profile_set(&t->held[i].lock, profile_get(&t->held[i + 1].lock));
		profile_set(&t->held[i].site, profile_get(&t->held[i + 1].site));
	}
	depth--;
	while (depth > 0 && profile_get(&t->held[depth - 1].lock) == 0)
		depth--; /* cleared by another thread */
	profile_set(&t->depth, depth);
}

void profile_leaves(const volatile void *lock, uint64_t owner, const void *site)
{
	struct profile_thread *t = mine();
	uint64_t name = pawl_address(lock);
	int at;

	if (t == NULL)
		return;
	at = find_held(t, name);
	if (profile_get(&t->asked) == name)
		reply(t, name, at, site);
	if (profile_get(&t->timed) == name)
		end_hold(t, lock);
	if (at >= 0)
		remove_held(t, at);
	else
		clear_of_other(profile_thread_of(owner), name);
}
