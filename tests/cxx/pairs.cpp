// SPDX-License-Identifier: MIT
// The same sections in C, and with IN_CXX in C++: codegen.py compares the listings,
// function by function.
#include <pawl/pawl.hpp>

#include <shared_mutex>

#define SECTION() __asm__ volatile("nop" ::: "memory")

#ifdef IN_CXX
#define PLAIN(name, type, cxx, lock, unlock)  \
	extern "C" void pair_##name(cxx &l)   \
	{                                     \
		std::lock_guard<cxx> hold(l); \
		SECTION();                    \
	}
#define GUARD_HELD(id)                                             \
	extern "C" void pair_##id##_guard(pawl::lock<pawl::id> &l) \
	{                                                          \
		pawl::lock<pawl::id>::guard hold(l);               \
		SECTION();                                         \
	}
#else
#define PLAIN(name, type, cxx, lock, unlock) \
	extern "C" void pair_##name(type *l) \
	{                                    \
		lock(l);                     \
		SECTION();                   \
		unlock(l);                   \
	}
#define GUARD_HELD(id)                                               \
	extern "C" void pair_##id##_guard(pawl_##id *l)              \
	{                                                            \
		pawl_##id##_context context;                         \
                                                                     \
		pawl_##id##_acquire_(&l->core, &context, PAWL_SPIN); \
		SECTION();                                           \
		pawl_##id##_release_(&l->core, &context, PAWL_SPIN); \
	}
#endif
#define GUARD_FREE(id)

#define PAIRS_OWN(id, context) \
	PLAIN(id, pawl_##id, pawl::id, pawl_##id##_lock, pawl_##id##_unlock)
#define PAIRS_CHOICE(id, context)                                                        \
	using id##_sleeps = pawl::lock<pawl::id, pawl::wait::park>;                      \
	PLAIN(id, pawl_##id, pawl::lock<pawl::id>, pawl_##id##_lock, pawl_##id##_unlock) \
	PLAIN(id##_park, pawl_##id##_park, id##_sleeps, pawl_##id##_park_lock,           \
	      pawl_##id##_park_unlock)                                                   \
	GUARD_##context(id)
#define PAWL_LOCK(id, name, admission, context, unlock, destroy, try, release, waiting, \
		  lock_rmws, unlock_rmws, source)                                       \
	PAIRS_##waiting(id, context)
#include <pawl/locks.def>
#undef PAWL_LOCK
PLAIN(write, pawl_rwlock, pawl::shared_mutex, pawl_rwlock_write_lock,
      pawl_rwlock_write_unlock)

#ifdef IN_CXX
extern "C" void pair_read(pawl::shared_mutex &l)
{
	std::shared_lock<pawl::shared_mutex> hold(l);
	SECTION();
}
extern "C" void pair_signal(pawl::condition_variable &c)
{
	c.notify_one();
}
#else
extern "C" void pair_read(pawl_rwlock *l)
{
	pawl_rwlock_read_lock(l);
	SECTION();
	pawl_rwlock_read_unlock(l);
}
extern "C" void pair_signal(pawl_cond *c)
{
	pawl_cond_signal(c);
}
#endif
