// SPDX-License-Identifier: MIT
// From C++: any lock of pawl with the standard library's guards, or with its own.
#include <pawl/pawl.hpp>

#include <iostream>
#include <mutex>
#include <thread>
#include <vector>

int main()
{
	pawl::mutex mutex;
	pawl::lock<pawl::reciprocating> other;
	long count = 0;
	std::vector<int> shared;
	std::vector<std::thread> threads;

	for (int i = 0; i < 2; i++)
		threads.emplace_back([&] {
			for (int n = 0; n < 500; n++) {
				std::lock_guard<pawl::mutex> hold(mutex);
				shared.push_back(n);
				// Its context is in the guard, not in the lock.
				pawl::lock<pawl::reciprocating>::guard too(other);
				count++;
			}
		});
	for (auto &thread : threads)
		thread.join();
	std::cout << shared.size() << " entries, " << count << " counted\n";
}
