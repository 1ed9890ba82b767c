/* SPDX-License-Identifier: MIT */
/*
 * LevelDB under load: leveldb FOLDER THREADS READS [seconds]. Fills a database,
 * then reads at random from all threads, and prints what it read in all; with
 * `seconds`, for how long to read instead, and prints reads per second.
 */
#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/write_batch.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

static const std::uint64_t keys = 50000;

static std::string key_of(std::uint64_t n)
{
	char key[32];

	std::snprintf(key, sizeof(key), "%016llu", static_cast<unsigned long long>(n));
	return key;
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	const int threads = std::atoi(argv[2]);
	const int reads = std::atoi(argv[3]);
	const double seconds = argc > 4 ? std::atof(argv[4]) : 0;
	std::unique_ptr<leveldb::Cache> cache(leveldb::NewLRUCache(64 << 20));
	leveldb::Options options;
	leveldb::DB *opened;

	options.create_if_missing = true;
	options.block_cache = cache.get();
	if (!leveldb::DB::Open(options, argv[1], &opened).ok())
		return 1;
	std::unique_ptr<leveldb::DB> db(opened);

	for (std::uint64_t n = 0; n < keys; n += 1000) {
		leveldb::WriteBatch batch;

		for (std::uint64_t i = n; i < n + 1000; i++)
			batch.Put(key_of(i),
				  std::string(100, static_cast<char>('a' + i % 26)));
		if (!db->Write(leveldb::WriteOptions(), &batch).ok())
			return 1;
	}
	db->CompactRange(nullptr, nullptr);

	std::atomic<bool> stop(false);
	std::atomic<long> total(0);
	std::atomic<std::uint64_t> sum(0);
	std::vector<std::thread> crew;
	auto began = std::chrono::steady_clock::now();

	for (int t = 0; t < threads; t++)
		crew.emplace_back([&, t] {
			std::uint64_t x = 88172645463325252u + static_cast<unsigned>(t);
			std::uint64_t mine = 0;
			std::string value;
			long done = 0;

			while (seconds > 0 ? !stop.load(std::memory_order_relaxed)
					   : done < reads) {
				x ^= x << 13;
				x ^= x >> 7;
				x ^= x << 17;
				if (!db->Get(leveldb::ReadOptions(), key_of(x % keys),
					     &value)
					     .ok())
					std::abort();
				mine += x % keys + static_cast<unsigned char>(value[50]);
				done++;
			}
			total += done;
			sum += mine;
		});
	if (seconds > 0) {
		std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
		stop = true;
	}
	for (auto &thread : crew)
		thread.join();

	std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;

	if (seconds > 0)
		std::printf("%.0f\n", static_cast<double>(total.load()) / took.count());
	else
		std::printf("%ld reads, sum %llu\n", total.load(),
			    static_cast<unsigned long long>(sum.load()));
	return 0;
}
