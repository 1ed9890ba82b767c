/* SPDX-License-Identifier: MIT */
/*
 * The C++ library's mutexes and condition variables are ours, and so are shared mutexes
 * unless PAWL_RWLOCK is set to glibc, and work: glibc would leave its mark in the object, a count of users.
 */
#include "../harness/hang.h"

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

#include <unistd.h>

using namespace std::chrono_literals;

static void check(bool right, int line)
{
	if (!right) {
		std::printf("intercepted_cxx.cpp:%d\n", line);
		std::exit(1);
	}
}
#define CHECK(condition) check(condition, __LINE__)

/* glibc would say that it is locked, and by one. */
static bool is_ours(pthread_mutex_t *m)
{
	return m->__data.__lock != 1 || m->__data.__nusers != 1;
}

template <class Mutex> static void basics()
{
	Mutex m;
	bool got = true;

	m.lock();
	CHECK(is_ours(m.native_handle()));
	std::thread([&] { got = m.try_lock(); }).join();
	CHECK(!got);
	m.unlock();
	std::thread([&] {
		got = m.try_lock();
		CHECK(is_ours(m.native_handle()));
		m.unlock();
	}).join();
	CHECK(got);
}

/* timed_mutex hides its handle; but it is all that is in it. */
template <class Mutex> static void timed()
{
	Mutex m;
	bool got = true;
	auto native = reinterpret_cast<pthread_mutex_t *>(&m);

	m.lock();
	CHECK(is_ours(native));
	std::thread([&] {
		got = m.try_lock_for(5ms) ||
		      m.try_lock_until(std::chrono::system_clock::now() + 5ms) ||
		      m.try_lock_until(std::chrono::steady_clock::now() + 5ms);
	}).join();
	CHECK(!got);
	std::thread late([&] {
		got = m.try_lock_for(20s);
		CHECK(is_ours(native));
		m.unlock();
	});
	std::this_thread::sleep_for(10ms);
	m.unlock();
	late.join();
	CHECK(got);
}

static void conditions()
{
	std::mutex m;
	std::condition_variable c;
	int waiting = 0, go = 0;
	std::vector<std::thread> threads;
	std::unique_lock<std::mutex> lock(m);

	CHECK(c.wait_for(lock, 5ms) == std::cv_status::timeout);
	CHECK(c.wait_until(lock, std::chrono::system_clock::now() + 5ms) ==
	      std::cv_status::timeout);
	CHECK(c.wait_until(lock, std::chrono::steady_clock::now() + 5ms) ==
	      std::cv_status::timeout);
	CHECK(is_ours(m.native_handle()));
	lock.unlock();
	for (int i = 0; i < 4; i++)
		threads.emplace_back([&, i] {
			std::unique_lock<std::mutex> mine(m);
			auto ready = [&] { return go > 0; };

			waiting++;
			if (i == 0)
				c.wait(mine, ready);
			else if (i == 1)
				CHECK(c.wait_for(mine, 20s, ready));
			else if (i == 2)
				CHECK(c.wait_until(mine,
						   std::chrono::system_clock::now() + 20s,
						   ready));
			else
				CHECK(c.wait_until(mine,
						   std::chrono::steady_clock::now() + 20s,
						   ready));
			go--;
			c.notify_one();
		});
	for (int seen = 0; seen < 4;) {
		std::this_thread::sleep_for(1ms);
		std::lock_guard<std::mutex> guard(m);

		seen = waiting;
	}
	lock.lock();
	/* glibc counts waiters here, from the third bit up. */
	CHECK(c.native_handle()->__data.__wrefs >> 3 == 0);
	go = 4;
	lock.unlock();
	c.notify_all();
	for (auto &thread : threads)
		thread.join();
	CHECK(go == 0);
}

/* glibc leaves this as it was initialised. */
static bool is_whose_it_should_be(const pthread_rwlock_t *rw)
{
	return (rw->__data.__pad2 != 0) == (getenv("PAWL_RWLOCK") == nullptr);
}

template <class Mutex> static void shared()
{
	Mutex m;
	auto native = reinterpret_cast<pthread_rwlock_t *>(&m);
	long begun = 0, ended = 0;
	std::vector<std::thread> threads;

	m.lock_shared();
	m.lock_shared();
	CHECK(is_whose_it_should_be(native));
	std::thread([&] {
		CHECK(!m.try_lock());
		CHECK(m.try_lock_shared());
		m.unlock_shared();
	}).join();
	m.unlock_shared();
	m.unlock_shared();
	m.lock();
	CHECK(is_whose_it_should_be(native));
	std::thread([&] { CHECK(!m.try_lock() && !m.try_lock_shared()); }).join();
	m.unlock();
	for (int i = 0; i < 4; i++)
		threads.emplace_back([&, i] {
			for (int n = 0; n < 5000; n++)
				if (n % 50 == i) {
					std::unique_lock<Mutex> lock(m);

					begun++;
					CHECK(ended == begun - 1);
					ended++;
				} else {
					std::shared_lock<Mutex> lock(m);

					CHECK(begun == ended);
				}
		});
	for (auto &thread : threads)
		thread.join();
	CHECK(ended == 4 * 100);
}

static void shared_timed()
{
	std::shared_timed_mutex m;

	m.lock();
	std::thread([&] {
		CHECK(!m.try_lock_shared_for(5ms));
		CHECK(!m.try_lock_for(5ms));
		CHECK(!m.try_lock_until(std::chrono::system_clock::now() + 5ms));
		CHECK(!m.try_lock_shared_until(std::chrono::steady_clock::now() + 5ms));
	}).join();
	m.unlock();
	m.lock_shared();
	std::thread([&] {
		CHECK(!m.try_lock_for(5ms));
		CHECK(m.try_lock_shared_for(20s));
		m.unlock_shared();
	}).join();
	m.unlock_shared();
	CHECK(m.try_lock_for(20s));
	m.unlock();
}

/* Exceptions from many threads: the unwinder takes locks of its own. */
static void throwing()
{
	std::mutex m;
	long caught = 0;
	std::vector<std::thread> threads;

	for (int i = 0; i < 4; i++)
		threads.emplace_back([&] {
			for (int n = 0; n < 500; n++)
				try {
					std::lock_guard<std::mutex> guard(m);

					throw n;
				} catch (int) {
					std::lock_guard<std::mutex> guard(m);

					caught++;
				}
		});
	for (auto &thread : threads)
		thread.join();
	CHECK(caught == 2000);
}

int main()
{
	alarm(HANG_GUARD_S);
	basics<std::mutex>();
	basics<std::recursive_mutex>();
	timed<std::timed_mutex>();
	conditions();
	shared<std::shared_mutex>();
	shared<std::shared_timed_mutex>();
	shared_timed();
	throwing();

	std::recursive_timed_mutex r;

	CHECK(r.try_lock_for(1s) && r.try_lock() &&
	      r.try_lock_until(std::chrono::steady_clock::now() + 1s));
	r.unlock();
	r.unlock();
	r.unlock();
	return 0;
}
