/* SPDX-License-Identifier: MIT */
/*
 * A dictionary behind a std::shared_mutex: of a hundred operations 99 look up a key, and
 * one adds 1 to the value of a key.
 *
 * At the end the sum of the values must equal the number of additions.
 */
#include "app.h"

#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

static const std::uint64_t keys = 10000, reads_per_write = 99;

static std::shared_mutex mutex;
static std::unordered_map<std::uint64_t, unsigned long> dictionary;
static std::atomic<unsigned long> additions(0);

static unsigned long work(int thread, const std::atomic<bool> &stop)
{
	std::uint64_t x = 88172645463325252u + static_cast<unsigned>(thread);
	unsigned long count = 0, added = 0;

	do {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		if (count % (reads_per_write + 1) == reads_per_write) {
			std::unique_lock<std::shared_mutex> lock(mutex);

			dictionary[x % keys]++;
			added++;
		} else {
			std::shared_lock<std::shared_mutex> lock(mutex);

			if (dictionary.find(x % keys) == dictionary.end())
				std::_Exit(STATUS_WRONG);
		}
		count++;
	} while (!stop);
	additions += added;
	return count;
}

int main(int argc, char **argv)
{
	unsigned long sum = 0;

	for (std::uint64_t key = 0; key < keys; key++)
		dictionary[key] = 0;
	measure(parse(argc, argv), work);
	for (const auto &entry : dictionary)
		sum += entry.second;
	return sum == additions ? 0 : STATUS_WRONG;
}
