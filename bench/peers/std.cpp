/* SPDX-License-Identifier: MIT */
/* std::mutex with std::condition_variable, and std::shared_mutex. */
#include "rwlock.h"
#include "subject.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <shared_mutex>

static_assert(sizeof(std::mutex) <= BENCH_LOCK_BYTES, "fits");
static_assert(sizeof(std::condition_variable) <= BENCH_LOCK_BYTES, "fits");

static void init(void *l)
{
	new (l) std::mutex;
}

static void destroy(void *l)
{
	static_cast<std::mutex *>(l)->~mutex();
}

static void lock(void *l)
{
	static_cast<std::mutex *>(l)->lock();
}

static void unlock(void *l)
{
	static_cast<std::mutex *>(l)->unlock();
}

static std::condition_variable *variable(void *c)
{
	return static_cast<std::condition_variable *>(c);
}

static void init_cond(void *c)
{
	new (c) std::condition_variable;
}

static void destroy_cond(void *c)
{
	variable(c)->~condition_variable();
}

static void wait(void *c, void *l)
{
	std::unique_lock<std::mutex> held(*static_cast<std::mutex *>(l), std::adopt_lock);

	variable(c)->wait(held);
	held.release();
}

static bool wait_for(void *c, void *l, uint64_t ns)
{
	std::unique_lock<std::mutex> held(*static_cast<std::mutex *>(l), std::adopt_lock);
	std::cv_status status = variable(c)->wait_for(held, std::chrono::nanoseconds(ns));

	held.release();
	return status == std::cv_status::no_timeout;
}

static void signal(void *c)
{
	variable(c)->notify_one();
}

static void broadcast(void *c)
{
	variable(c)->notify_all();
}

static const bench_cond_type cond = {init_cond, destroy_cond, wait,
				     wait_for,	signal,	      broadcast};

const struct bench_subject bench_std = {
	"std", NULL, NULL, lock, unlock, sizeof(std::mutex), init, destroy, false, &cond};

static_assert(sizeof(std::shared_mutex) <= BENCH_LOCK_BYTES, "fits");

static std::shared_mutex *shared(void *l)
{
	return static_cast<std::shared_mutex *>(l);
}

static void init_shared(void *l)
{
	new (l) std::shared_mutex;
}

static void destroy_shared(void *l)
{
	shared(l)->~shared_mutex();
}

static void read_lock(void *l)
{
	shared(l)->lock_shared();
}

static void read_unlock(void *l)
{
	shared(l)->unlock_shared();
}

static void write_lock(void *l)
{
	shared(l)->lock();
}

static void write_unlock(void *l)
{
	shared(l)->unlock();
}

DEFINE_RWLOCK_LOOP(std, read_lock, read_unlock, write_lock, write_unlock);

const struct bench_subject bench_std_shared = {
	"std-shared", std_rwlock,     NULL,  NULL, NULL, sizeof(std::shared_mutex),
	init_shared,  destroy_shared, false, NULL};
