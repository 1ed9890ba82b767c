/* SPDX-License-Identifier: MIT */
/*
 * C++ exceptions: every thread throws and catches an integer in a loop (TWA paper,
 * section 4.2, where finding the handler takes a lock that all threads share).
 *
 * Departs: since glibc 2.35 finding the handler takes no lock, so on newer systems this
 * scales with any lock; it shows that the interposer does no harm.
 */
#include "app.h"

int main(int argc, char **argv)
{
	measure(parse(argc, argv), [](int thread, const std::atomic<bool> &stop) {
		unsigned long count = 0;

		do {
			try {
				throw thread;
			} catch (int caught) {
				if (caught != thread)
					std::_Exit(STATUS_WRONG);
			}
			count++;
		} while (!stop);
		return count;
	});
	return 0;
}
