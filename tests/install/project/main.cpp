// SPDX-License-Identifier: MIT
// The same from C++: pawl's locks are what std::lock_guard wants, once wrapped.
#include <pawl/pawl.h>

#include <cstdio>
#include <mutex>
#include <thread>

namespace
{
struct mutex {
	pawl_hemlock l = PAWL_HEMLOCK_INIT;
	void lock()
	{
		pawl_hemlock_lock(&l);
	}
	void unlock()
	{
		pawl_hemlock_unlock(&l);
	}
	bool try_lock()
	{
		return pawl_hemlock_trylock(&l);
	}
};

mutex guard;
long count;

void work()
{
	for (int i = 0; i < 2000; i++) {
		std::lock_guard<mutex> hold(guard);
		count++;
	}
}
} // namespace

int main()
{
	std::thread one(work), two(work);

	one.join();
	two.join();
	if (count != 4000 || !guard.try_lock())
		return 1;
	std::puts("fine");
	return 0;
}
