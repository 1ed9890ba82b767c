// SPDX-License-Identifier: MIT
// From C++: wrapped in four lines, any lock of pawl works with std::lock_guard.
#include <pawl/reciprocating.h>

#include <iostream>
#include <mutex>
#include <thread>
#include <vector>

class fast_mutex
{
	pawl_reciprocating l = PAWL_RECIPROCATING_INIT;

      public:
	void lock()
	{
		pawl_reciprocating_lock(&l);
	}
	void unlock()
	{
		pawl_reciprocating_unlock(&l);
	}
	bool try_lock()
	{
		return pawl_reciprocating_trylock(&l);
	}
};

int main()
{
	fast_mutex mutex;
	std::vector<int> shared;
	std::vector<std::thread> threads;

	for (int i = 0; i < 2; i++)
		threads.emplace_back([&] {
			for (int n = 0; n < 500; n++) {
				std::lock_guard<fast_mutex> hold(mutex);
				shared.push_back(n);
			}
		});
	for (auto &thread : threads)
		thread.join();
	std::cout << shared.size() << " entries\n";
}
