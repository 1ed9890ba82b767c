// SPDX-License-Identifier: MIT
// What a program may use of C++.
#include <atomic>
#include <cassert>
#include <condition_variable>
#include <future>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

static std::atomic<int> flag{0};
static int data;

void check_atomic_release()
{
	std::thread writer([] {
		data = 1;
		flag.store(1, std::memory_order_release);
	});
	std::thread reader([] {
		if (flag.load(std::memory_order_acquire))
			assert(data == 1);
	});
	writer.join();
	reader.join();
}

void check_atomic_relaxed()
{
	std::thread writer([] {
		data = 1;
		flag.store(1, std::memory_order_relaxed);
	});
	std::thread reader([] {
		if (flag.load(std::memory_order_relaxed))
			assert(data == 1);
	});
	writer.join();
	reader.join();
}

static std::mutex mutex;
static std::condition_variable ready;
static std::vector<int> queue;

void check_queue()
{
	std::thread producer([] {
		std::lock_guard<std::mutex> guard(mutex);
		queue.push_back(3);
		ready.notify_one();
	});
	{
		std::unique_lock<std::mutex> guard(mutex);
		ready.wait(guard, [] { return !queue.empty(); });
		assert(queue.back() == 3);
	}
	producer.join();
}

static std::vector<int> built = {1, 2, 3};
void check_constructed()
{
	assert(built.size() == 3);
	built.push_back(4);
	assert(built.size() == 4);
}

static int made;
struct thing {
	thing()
	{
		made++;
	}
	int value = 9;
};
static thing &once()
{
	static thing it;
	return it;
}
void check_static_local()
{
	std::thread other([] { assert(once().value == 9); });
	assert(once().value == 9);
	other.join();
	assert(made == 1);
}

void check_shared_ptr()
{
	auto p = std::make_shared<std::string>(
		"a string that is too long to be in place");
	std::thread other([p] { assert(p->size() > 10); });
	p.reset();
	other.join();
}

struct base {
	virtual ~base() = default;
	virtual int get()
	{
		return 1;
	}
};
struct derived : base {
	int get() override
	{
		return 2;
	}
};
void check_virtual()
{
	std::unique_ptr<base> p(new derived);
	std::thread other([&] { assert(p->get() == 2); });
	other.join();
}

void check_leak()
{
	base *volatile p = new derived;
	(void)p->get();
}

thread_local int own = 1;
void check_thread_local()
{
	own = 2;
	std::thread other([] {
		assert(own == 1);
		own = 3;
	});
	other.join();
	assert(own == 2);
}

void check_exception()
{
	try {
		throw std::string("thrown");
	} catch (const std::string &text) {
		assert(text == "thrown");
	}
}

void check_prints()
{
	std::cout << "never shown" << std::endl;
}

void check_sleeps()
{
	std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/* One of two functions, and its own, whoever comes meanwhile; and who waits sees it. */
static std::once_flag once_only;
static int by_left, by_right;
void check_call_once()
{
	std::thread left([] { std::call_once(once_only, [] { by_left++; }); });
	std::thread right([] { std::call_once(once_only, [] { by_right++; }); });
	left.join();
	right.join();
	assert(by_left + by_right == 1);
}
void check_async()
{
	auto answer = std::async(std::launch::async, [] { return 42; });
	assert(answer.get() == 42);
}
