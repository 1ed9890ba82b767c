// SPDX-License-Identifier: MIT
// What clang's -Wthread-safety sees of the classes.
#include <pawl/pawl.hpp>

#ifndef MISUSE
#define MISUSE 0
#endif

class account
{
	pawl::mutex mutex;
	pawl::lock<pawl::hapax> queue;
	pawl::shared_mutex shared;
	int balance __attribute__((guarded_by(mutex))) = 0;
	int count __attribute__((guarded_by(queue))) = 0;
	int rate __attribute__((guarded_by(shared))) = 0;

      public:
	int use()
	{
		{
			pawl::mutex::guard hold(mutex);
			balance++;
		}
#if MISUSE == 1
		balance++;
#endif
		{
			pawl::lock<pawl::hapax>::guard hold(queue);
			count++;
#if MISUSE == 2
			queue.lock();
#endif
		}
		if (queue.try_lock_for(std::chrono::seconds(1))) {
			count++;
			queue.unlock();
		}
		shared.lock_shared();
#if MISUSE == 3
		rate++;
#endif
		int seen = rate;
		shared.unlock_shared();
#if MISUSE == 4
		shared.unlock();
#endif
		return seen;
	}
};

int use();
int use()
{
	account a;

	return a.use();
}
