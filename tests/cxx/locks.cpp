// SPDX-License-Identifier: MIT
// pawl/pawl.hpp with what the standard library makes of locks. Each lock of the
// registry: constant-initialized, exclusive under lock_guard, guard and try_lock.
#include <pawl/pawl.hpp>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <shared_mutex>
#include <thread>
#include <vector>

#define CHECK(what)                                                                     \
	do {                                                                            \
		if (!(what)) {                                                          \
			std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, \
				     #what);                                            \
			std::exit(1);                                                   \
		}                                                                       \
	} while (0)

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using std::chrono::system_clock;

namespace
{

template <class L, class = void> struct has_try : std::false_type {
};
template <class L>
struct has_try<L, std::void_t<decltype(std::declval<L &>().try_lock())>>
    : std::true_type {
};
template <class L, class = void> struct has_timed : std::false_type {
};
template <class L>
struct has_timed<L, std::void_t<decltype(std::declval<L &>().try_lock_for(1ms))>>
    : std::true_type {
};

// What the registry says, at compile time.
constexpr bool says_TRY = true, says_TIMED = true, says_NOTRY = false;
constexpr bool times_TRY = false, times_TIMED = true, times_NOTRY = false;
#define PAWL_CXX_OWN(id, try)
#define PAWL_CXX_CHOICE(id, try)                                              \
	static_assert(has_try<pawl::lock<pawl::id>>::value == says_##try);    \
	static_assert(has_timed<pawl::lock<pawl::id>>::value == times_##try); \
	static_assert(sizeof(pawl::lock<pawl::id>) == sizeof(pawl_##id));     \
	static_assert(noexcept(pawl::lock<pawl::id>()));                      \
	static_assert(!std::is_copy_constructible_v<pawl::lock<pawl::id>>);   \
	pawl::lock<pawl::id> spins_##id;                                      \
	pawl::lock<pawl::id, pawl::wait::park> sleeps_##id;
#define PAWL_LOCK(id, name, admission, context, unlock, destroy, try, release, waiting, \
		  lock_rmws, unlock_rmws, source)                                       \
	PAWL_CXX_##waiting(id, try)
#include <pawl/locks.def>
#undef PAWL_LOCK
static_assert(has_timed<pawl::mutex>::value && has_timed<pawl::shared_mutex>::value);
static_assert(sizeof(pawl::mutex) == 16 && sizeof(pawl::shared_mutex) == 32);

// A constructor that runs before main would find these locked by hand.
constexpr bool constant()
{
	pawl::mutex m;
	pawl::shared_mutex s;
	pawl::condition_variable c;
	pawl::lock<pawl::hapax> h;

	(void)m, (void)s, (void)c, (void)h;
	return true;
}
static_assert(constant());

enum { THREADS = 3, ROUNDS = 300 };

template <class Body> void together(Body body)
{
	std::vector<std::thread> threads;

	for (int i = 0; i < THREADS; i++)
		threads.emplace_back(body);
	for (auto &thread : threads)
		thread.join();
}

template <class L> void excludes(L &l)
{
	long count = 0;

	together([&] {
		for (int i = 0; i < ROUNDS; i++) {
			{
				std::lock_guard<L> hold(l);
				count++;
			}
			{
				typename L::guard hold(l);
				count++;
			}
		}
	});
	CHECK(count == 2L * THREADS * ROUNDS);
	if constexpr (has_try<L>::value) {
		CHECK(l.try_lock());
		std::unique_lock<L> hold(l, std::adopt_lock);
		std::thread([&] { CHECK(!l.try_lock()); }).join();
	}
	if constexpr (has_timed<L>::value) {
		std::unique_lock<L> hold(l, 1h);
		CHECK(hold.owns_lock());
		std::thread([&] {
			CHECK(!l.try_lock_for(1ms));
			CHECK(!l.try_lock_until(steady_clock::now() + 1ms));
			CHECK(!l.try_lock_until(system_clock::now() + 1ms));
			CHECK(!l.try_lock_until(system_clock::time_point::min()));
		}).join();
	}
}

// A clock of a user's own, half as fast.
struct slow_clock {
	using duration = std::chrono::milliseconds;
	using rep = duration::rep;
	using period = duration::period;
	using time_point = std::chrono::time_point<slow_clock>;
	[[maybe_unused]] static constexpr bool is_steady = true;
	static time_point now()
	{
		return time_point(std::chrono::duration_cast<duration>(
			steady_clock::now().time_since_epoch() / 2));
	}
};

void several_at_once()
{
	pawl::mutex a;
	pawl::lock<pawl::mcs> b;
	pawl::shared_mutex c;
	long count = 0;

	together([&] {
		for (int i = 0; i < ROUNDS; i++) {
			std::scoped_lock hold(a, b, c);
			count++;
		}
	});
	CHECK(count == 1L * THREADS * ROUNDS);
}

void any_clock()
{
	pawl::mutex m;
	auto then = slow_clock::now() + 5ms;

	m.lock();
	std::thread([&] {
		CHECK(!m.try_lock_until(then));
		CHECK(slow_clock::now() >= then);
	}).join();
	m.unlock();
	CHECK(m.try_lock_until(then));
	m.unlock();
}

void readers_share()
{
	pawl::shared_mutex s;
	std::shared_lock<pawl::shared_mutex> one(s);

	std::thread([&] {
		std::shared_lock<pawl::shared_mutex> two(s, 1h);

		CHECK(two.owns_lock());
		CHECK(!s.try_lock());
		CHECK(!s.try_lock_for(1ms));
	}).join();
	one.unlock();
	std::lock_guard<pawl::shared_mutex> alone(s);
	std::thread([&] {
		CHECK(!s.try_lock_shared());
		CHECK(!s.try_lock_shared_until(steady_clock::now() + 1ms));
	}).join();
}

template <class Condition, class Mutex> void passes_a_ball()
{
	Mutex m;
	Condition c;
	int turn = 0;
	auto play = [&](int me) {
		for (int i = 0; i < ROUNDS; i++) {
			std::unique_lock<Mutex> hold(m);
			c.wait(hold, [&] { return turn == me; });
			turn = 1 - me;
			c.notify_all();
		}
	};
	std::thread other(play, 1);

	play(0);
	other.join();
	std::unique_lock<Mutex> hold(m);
	CHECK(!c.wait_for(hold, 1ms, [] { return false; }));
	CHECK(c.wait_until(hold, system_clock::now() + 1ms, [] { return true; }));
}

void times_out()
{
	pawl::mutex m;
	pawl::condition_variable c;
	std::unique_lock<pawl::mutex> hold(m);
	auto then = steady_clock::now() + 2ms;

	while (c.wait_until(hold, then) == pawl::cv_status::no_timeout)
		;
	CHECK(steady_clock::now() >= then);
	CHECK(hold.owns_lock() && !m.try_lock());
}

} // namespace

int main()
{
	pawl::mutex mutex;
	pawl::shared_mutex shared_mutex;

	excludes(mutex);
	excludes(shared_mutex);
#undef PAWL_CXX_CHOICE
#define PAWL_CXX_CHOICE(id, try) \
	excludes(spins_##id);    \
	excludes(sleeps_##id);
#define PAWL_LOCK(id, name, admission, context, unlock, destroy, try, release, waiting, \
		  lock_rmws, unlock_rmws, source)                                       \
	PAWL_CXX_##waiting(id, try)
#include <pawl/locks.def>
#undef PAWL_LOCK
	several_at_once();
	any_clock();
	readers_share();
	passes_a_ball<pawl::condition_variable, pawl::mutex>();
	passes_a_ball<std::condition_variable_any, pawl::mutex>();
	passes_a_ball<std::condition_variable_any,
		      pawl::lock<pawl::ticket, pawl::wait::park>>();
	times_out();
}
