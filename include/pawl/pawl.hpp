/* SPDX-License-Identifier: MIT */
/*
 * pawl/pawl.hpp - the locks for C++17: what <mutex>, <shared_mutex> and
 * <condition_variable> expect, and nothing but the C functions inside.
 *
 *   pawl::mutex, timed_mutex   pawl/mutex.h; Lockable and TimedLockable
 *   pawl::shared_mutex         pawl/rwlock.h; SharedTimedLockable
 *   pawl::condition_variable   pawl/cond.h, with std::unique_lock<pawl::mutex>
 *   pawl::lock<pawl::ticket>   any lock of the registry; Lockable where it has a
 *                              trylock, TimedLockable where it has a timed one
 *   pawl::lock<pawl::hapax, pawl::wait::park>
 *                              the same, whose waiters sleep
 *   pawl::lock<pawl::hapax>::guard
 *                              holds it for a scope, and keeps on the stack what
 *                              passes from lock to unlock
 *
 * All are constexpr-constructible, and cannot be copied or moved. pawl::native(l) is
 * the C object, for programs that use both.
 */
#ifndef PAWL_PAWL_HPP
#define PAWL_PAWL_HPP

#include <pawl/pawl.h>

#include <chrono>
#include <ctime>
#include <mutex>
#include <type_traits>
#include <utility>

namespace pawl
{

enum class wait { spin = PAWL_SPIN, park = PAWL_PARK };

namespace detail
{

template <class Duration> timespec timespec_of(Duration since_epoch)
{
	using namespace std::chrono;
	timespec time = {};

	if (since_epoch > Duration::zero()) {
		auto s = floor<seconds>(since_epoch);

		time.tv_sec = static_cast<std::time_t>(s.count());
		time.tv_nsec = static_cast<long>(
			duration_cast<nanoseconds>(since_epoch - s).count());
	}
	return time;
}

/* Calls attempt(clock, timespec), which returns an errno, for a time on any clock. */
template <class Clock, class Duration, class Attempt>
bool try_until(const std::chrono::time_point<Clock, Duration> &time, Attempt attempt)
{
	using namespace std::chrono;

	if constexpr (std::is_same_v<Clock, system_clock>) {
		timespec then = timespec_of(time.time_since_epoch());

		return attempt(CLOCK_REALTIME, &then) == 0;
	} else if constexpr (std::is_same_v<Clock, steady_clock>) {
		timespec then = timespec_of(time.time_since_epoch());

		return attempt(CLOCK_MONOTONIC, &then) == 0;
	} else {
		/* A user-defined clock may run at another speed: check it again. */
		do {
			auto rest = ceil<steady_clock::duration>(time - Clock::now());

			if (try_until(steady_clock::now() + rest, attempt))
				return true;
		} while (Clock::now() < time);
		return false;
	}
}

/* The time after a duration, rounded up, so that no wait ends early. */
template <class Rep, class Period>
std::chrono::steady_clock::time_point after(
	const std::chrono::duration<Rep, Period> &duration)
{
	using namespace std::chrono;

	return steady_clock::now() + ceil<steady_clock::duration>(duration);
}

/* Whether an algorithm has a trylock. */
template <class Algorithm, class = void> struct tries : std::false_type {
};
template <class Algorithm>
struct tries<Algorithm, std::void_t<decltype(&Algorithm::try_lock)>> : std::true_type {
};

class uncopied
{
      protected:
	constexpr uncopied() noexcept = default;
	~uncopied() = default;

      public:
	uncopied(const uncopied &) = delete;
	uncopied &operator=(const uncopied &) = delete;
};

} // namespace detail

/* Holds a lock for a scope, as std::lock_guard, which clang's thread safety analysis does
 * not understand. */
template <class Lock> class PAWL_SCOPED guard : detail::uncopied
{
	Lock &l;

      public:
	explicit guard(Lock &lock) PAWL_ACQUIRES(lock) : l(lock)
	{
		l.lock();
	}
	~guard() PAWL_RELEASES()
	{
		l.unlock();
	}
};

class PAWL_CAPABILITY mutex : detail::uncopied
{
	::pawl_mutex m = PAWL_MUTEX_INIT;

	friend ::pawl_mutex *native(mutex &l) noexcept
	{
		return &l.m;
	}

      public:
	using guard = pawl::guard<mutex>;

	constexpr mutex() noexcept = default;

	void lock() noexcept PAWL_ACQUIRES()
	{
		pawl_mutex_lock(&m);
	}
	bool try_lock() noexcept PAWL_TRIES_FOR(true)
	{
		return pawl_mutex_trylock(&m);
	}
	void unlock() noexcept PAWL_RELEASES()
	{
		pawl_mutex_unlock(&m);
	}
	template <class Clock, class Duration>
	bool try_lock_until(const std::chrono::time_point<Clock, Duration> &time)
		PAWL_TRIES_FOR(true)
	{
		return detail::try_until(time, [this](int clock, const timespec *then) {
			return pawl_mutex_timedlock(&m, clock, then);
		});
	}
	template <class Rep, class Period>
	bool try_lock_for(const std::chrono::duration<Rep, Period> &duration)
		PAWL_TRIES_FOR(true)
	{
		return try_lock() || try_lock_until(detail::after(duration));
	}
};

using timed_mutex = mutex;

class PAWL_CAPABILITY shared_mutex : detail::uncopied
{
	::pawl_rwlock l = PAWL_RWLOCK_INIT;

	friend ::pawl_rwlock *native(shared_mutex &lock) noexcept
	{
		return &lock.l;
	}

      public:
	using guard = pawl::guard<shared_mutex>;

	constexpr shared_mutex() noexcept = default;

	void lock() noexcept PAWL_ACQUIRES()
	{
		pawl_rwlock_write_lock(&l);
	}
	bool try_lock() noexcept PAWL_TRIES_FOR(true)
	{
		return pawl_rwlock_write_trylock(&l);
	}
	void unlock() noexcept PAWL_RELEASES()
	{
		pawl_rwlock_write_unlock(&l);
	}
	template <class Clock, class Duration>
	bool try_lock_until(const std::chrono::time_point<Clock, Duration> &time)
		PAWL_TRIES_FOR(true)
	{
		return detail::try_until(time, [this](int clock, const timespec *then) {
			return pawl_rwlock_write_timedlock(&l, clock, then);
		});
	}
	template <class Rep, class Period>
	bool try_lock_for(const std::chrono::duration<Rep, Period> &duration)
		PAWL_TRIES_FOR(true)
	{
		return try_lock() || try_lock_until(detail::after(duration));
	}

	void lock_shared() noexcept PAWL_ACQUIRES_SHARED()
	{
		pawl_rwlock_read_lock(&l);
	}
	bool try_lock_shared() noexcept PAWL_TRIES_SHARED_FOR(true)
	{
		return pawl_rwlock_read_trylock(&l);
	}
	void unlock_shared() noexcept PAWL_RELEASES_SHARED()
	{
		pawl_rwlock_read_unlock(&l);
	}
	template <class Clock, class Duration>
	bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration> &time)
		PAWL_TRIES_SHARED_FOR(true)
	{
		return detail::try_until(time, [this](int clock, const timespec *then) {
			return pawl_rwlock_read_timedlock(&l, clock, then);
		});
	}
	template <class Rep, class Period>
	bool try_lock_shared_for(const std::chrono::duration<Rep, Period> &duration)
		PAWL_TRIES_SHARED_FOR(true)
	{
		return try_lock_shared() ||
		       try_lock_shared_until(detail::after(duration));
	}
};

enum class cv_status { no_timeout, timeout };

class condition_variable : detail::uncopied
{
	::pawl_cond c = PAWL_COND_INIT;

      public:
	constexpr condition_variable() noexcept = default;

	void notify_one() noexcept
	{
		pawl_cond_signal(&c);
	}
	void notify_all() noexcept
	{
		pawl_cond_broadcast(&c);
	}
	void wait(std::unique_lock<mutex> &hold) PAWL_UNSEEN
	{
		pawl_cond_wait(&c, native(*hold.mutex()));
	}
	template <class Predicate>
	void wait(std::unique_lock<mutex> &hold, Predicate predicate)
	{
		while (!predicate())
			wait(hold);
	}
	template <class Clock, class Duration>
	cv_status wait_until(std::unique_lock<mutex> &hold,
			     const std::chrono::time_point<Clock, Duration> &time)
		PAWL_UNSEEN
	{
		bool woken = detail::try_until(
			time, [this, &hold](int clock, const timespec *then) PAWL_UNSEEN {
				return pawl_cond_timedwait(&c, native(*hold.mutex()),
							   clock, then);
			});

		return woken ? cv_status::no_timeout : cv_status::timeout;
	}
	template <class Clock, class Duration, class Predicate>
	bool wait_until(std::unique_lock<mutex> &hold,
			const std::chrono::time_point<Clock, Duration> &time,
			Predicate predicate)
	{
		while (!predicate())
			if (wait_until(hold, time) == cv_status::timeout)
				return predicate();
		return true;
	}
	template <class Rep, class Period>
	cv_status wait_for(std::unique_lock<mutex> &hold,
			   const std::chrono::duration<Rep, Period> &duration)
	{
		return wait_until(hold, detail::after(duration));
	}
	template <class Rep, class Period, class Predicate>
	bool wait_for(std::unique_lock<mutex> &hold,
		      const std::chrono::duration<Rep, Period> &duration,
		      Predicate predicate)
	{
		return wait_until(hold, detail::after(duration), std::move(predicate));
	}
};

/*
 * The registry. Each algorithm is a type with a static function for each C function that
 * it has. The guard's functions report to TSan and debug builds, as the plain ones do
 * (pawl/face.h).
 */

#define PAWL_HPP_CALL __attribute__((always_inline)) static inline
#define PAWL_HPP_TRY_NOTRY(id)
#define PAWL_HPP_TRY_TRY(id)                                             \
	PAWL_HPP_CALL bool try_lock(::pawl_##id *l) noexcept PAWL_UNSEEN \
	{                                                                \
		return pawl_##id##_trylock(l);                           \
	}
#define PAWL_HPP_TRY_TIMED(id)                                                  \
	PAWL_HPP_TRY_TRY(id)                                                    \
	PAWL_HPP_CALL int timed_lock(::pawl_##id *l, pawl_wait how, int clock,  \
				     const timespec *time) noexcept PAWL_UNSEEN \
	{                                                                       \
		return pawl_##id##_timedlock_as_(l, how, clock, time);          \
	}

#define PAWL_HPP_CONTEXT_FREE(id)                                      \
	struct context {                                               \
	};                                                             \
	PAWL_HPP_CALL void acquire(::pawl_##id *l, context &,          \
				   pawl_wait how) noexcept PAWL_UNSEEN \
	{                                                              \
		pawl_##id##_lock_as_(l, how);                          \
	}                                                              \
	PAWL_HPP_CALL void release(::pawl_##id *l, context &,          \
				   pawl_wait how) noexcept PAWL_UNSEEN \
	{                                                              \
		pawl_##id##_unlock_as_(l, how);                        \
	}
#define PAWL_HPP_CONTEXT_HELD(id)                                      \
	using context = ::pawl_##id##_context;                         \
	PAWL_HPP_CALL void acquire(::pawl_##id *l, context &c,         \
				   pawl_wait how) noexcept PAWL_UNSEEN \
	{                                                              \
		pawl_note_locking(l, #id, false);                      \
		pawl_##id##_acquire_(&l->core, &c, how);               \
		pawl_note_locked(l, true);                             \
	}                                                              \
	PAWL_HPP_CALL void release(::pawl_##id *l, context &c,         \
				   pawl_wait how) noexcept PAWL_UNSEEN \
	{                                                              \
		pawl_note_unlocking(l, #id);                           \
		pawl_##id##_release_(&l->core, &c, how);               \
		pawl_note_unlocked(l);                                 \
	}

#define PAWL_HPP_BODY(id)                  \
	struct body {                      \
		::pawl_##id l = PAWL_ZERO; \
	};
#define PAWL_HPP_DESTROY_PROMPT(id) PAWL_HPP_BODY(id)
#define PAWL_HPP_DESTROY_STABLE(id) PAWL_HPP_BODY(id)
#define PAWL_HPP_DESTROY_DESTROY(id)                 \
	struct body {                                \
		::pawl_##id l = PAWL_ZERO;           \
		constexpr body() noexcept = default; \
		~body()                              \
		{                                    \
			pawl_##id##_destroy(&l);     \
		}                                    \
	};

#define PAWL_HPP_OWN(id, context, destroy, try)
#define PAWL_HPP_CHOICE(id, context, destroy, try)                                      \
	struct id {                                                                     \
		PAWL_HPP_CALL void lock(::pawl_##id *l,                                 \
					pawl_wait how) noexcept PAWL_UNSEEN             \
		{                                                                       \
			pawl_##id##_lock_as_(l, how);                                   \
		}                                                                       \
		PAWL_HPP_CALL void unlock(::pawl_##id *l,                               \
					  pawl_wait how) noexcept PAWL_UNSEEN           \
		{                                                                       \
			pawl_##id##_unlock_as_(l, how);                                 \
		}                                                                       \
		PAWL_HPP_TRY_##try(id) PAWL_HPP_CONTEXT_##context(id) PAWL_HPP_DESTROY_ \
			##destroy(id)                                                   \
	};

#define PAWL_LOCK(id, name, admission, context, unlock, destroy, try, release, waiting, \
		  lock_rmws, unlock_rmws, source)                                       \
	PAWL_HPP_##waiting(id, context, destroy, try)
#include <pawl/locks.def>
#undef PAWL_LOCK
#undef PAWL_HPP_CALL
#undef PAWL_HPP_TRY_NOTRY
#undef PAWL_HPP_TRY_TRY
#undef PAWL_HPP_TRY_TIMED
#undef PAWL_HPP_CONTEXT_FREE
#undef PAWL_HPP_CONTEXT_HELD
#undef PAWL_HPP_BODY
#undef PAWL_HPP_DESTROY_PROMPT
#undef PAWL_HPP_DESTROY_STABLE
#undef PAWL_HPP_DESTROY_DESTROY
#undef PAWL_HPP_OWN
#undef PAWL_HPP_CHOICE

template <class Algorithm, wait How> class PAWL_CAPABILITY basic_lock : detail::uncopied
{
	static constexpr pawl_wait how = static_cast<pawl_wait>(How);
	typename Algorithm::body body;

	friend auto *native(basic_lock &lock) noexcept
	{
		return &lock.body.l;
	}

      public:
	/* Holds the lock for a scope, and keeps the context on the stack. */
	class PAWL_SCOPED guard : detail::uncopied
	{
		basic_lock &l;
		typename Algorithm::context context;

	      public:
		explicit guard(basic_lock &lock) noexcept PAWL_ACQUIRES(lock) : l(lock)
		{
			Algorithm::acquire(&l.body.l, context, how);
		}
		~guard() PAWL_RELEASES()
		{
			Algorithm::release(&l.body.l, context, how);
		}
	};

	constexpr basic_lock() noexcept = default;

	void lock() noexcept PAWL_ACQUIRES()
	{
		Algorithm::lock(&body.l, how);
	}
	void unlock() noexcept PAWL_RELEASES()
	{
		Algorithm::unlock(&body.l, how);
	}
	template <class A = Algorithm>
	std::enable_if_t<detail::tries<A>::value, bool> try_lock() noexcept
		PAWL_TRIES_FOR(true)
	{
		return A::try_lock(&body.l);
	}
	template <class Clock, class Duration, class A = Algorithm,
		  class = decltype(&A::timed_lock)>
	bool try_lock_until(const std::chrono::time_point<Clock, Duration> &time)
		PAWL_TRIES_FOR(true)
	{
		return detail::try_until(time, [this](int clock, const timespec *then) {
			return A::timed_lock(&body.l, how, clock, then);
		});
	}
	template <class Rep, class Period, class A = Algorithm,
		  class = decltype(&A::timed_lock)>
	bool try_lock_for(const std::chrono::duration<Rep, Period> &duration)
		PAWL_TRIES_FOR(true)
	{
		return try_lock() || try_lock_until(detail::after(duration));
	}
};

/* An alias, because a class cannot have a member function of its own name. */
template <class Algorithm, wait How = wait::spin> using lock = basic_lock<Algorithm, How>;

} // namespace pawl

#endif /* PAWL_PAWL_HPP */
