/* SPDX-License-Identifier: MIT */
/*
 * Variant leveldb, LevelDB's readrandom: a database is filled, unless it exists; then all
 * threads read random keys, which takes the one central mutex of the database
 * (Reciprocating paper, section 7.3; TWA paper, section 4.4).
 *
 * Variant leveldb-write: every thread puts its own keys into a new database, one at a
 * time, as fillrandom does. Writers queue with a condition variable each, and the first
 * writes for those behind it. At the end the last keys of each thread are read.
 *
 * Departs: 50 000 keys, all of which fit in the block cache, and a driver of our own in
 * place of db_bench.
 *
 * usage: leveldb FOLDER THREADS SECONDS      as in app.h
 *        leveldb FOLDER THREADS 0 READS      so many by each thread; prints a checksum
 */
#include "app.h"

#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/write_batch.h>

#include <cstdint>
#include <memory>

static const std::uint64_t keys = 50000;

static std::string key_of(std::uint64_t n)
{
	char key[32];

	std::snprintf(key, sizeof(key), "%016llu", static_cast<unsigned long long>(n));
	return key;
}

static std::string value_of(std::uint64_t n)
{
	return std::string(100, static_cast<char>('a' + n % 26));
}

static bool fill(leveldb::DB &db)
{
	std::string value;

	if (db.Get(leveldb::ReadOptions(), key_of(keys - 1), &value).ok())
		return true;
	for (std::uint64_t n = 0; n < keys; n += 1000) {
		leveldb::WriteBatch batch;

		for (std::uint64_t i = n; i < n + 1000; i++)
			batch.Put(key_of(i), value_of(i));
		if (!db.Write(leveldb::WriteOptions(), &batch).ok())
			return false;
	}
	db.CompactRange(nullptr, nullptr);
	return true;
}

/* A thread's random keys and the results of reading them. */
class reader
{
      public:
	reader(leveldb::DB &db, int thread)
	    : db(db), x(88172645463325252u + static_cast<unsigned>(thread))
	{
	}

	void read()
	{
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		if (!db.Get(leveldb::ReadOptions(), key_of(x % keys), &value).ok() ||
		    value != value_of(x % keys))
			std::_Exit(STATUS_WRONG);
		sum += x % keys;
		count++;
	}

	std::uint64_t sum = 0;
	unsigned long count = 0;

      private:
	leveldb::DB &db;
	std::uint64_t x;
	std::string value;
};

static void read_and_sum(leveldb::DB &db, int threads, unsigned long reads)
{
	std::atomic<std::uint64_t> sum(0);
	std::atomic<unsigned long> total(0);
	std::vector<std::thread> crew;

	for (int t = 0; t < threads; t++)
		crew.emplace_back([&, t] {
			reader mine(db, t);

			while (mine.count < reads)
				mine.read();
			sum += mine.sum;
			total += mine.count;
		});
	for (auto &thread : crew)
		thread.join();
	std::printf("%lu reads, sum %llu\n", total.load(),
		    static_cast<unsigned long long>(sum.load()));
}

/* Keys of different threads are disjoint. */
static std::uint64_t key_by(int thread, unsigned long n)
{
	return (static_cast<std::uint64_t>(thread) << 40) + n * 2654435761u % (1u << 24);
}

static int measure_writes(const app &app)
{
	const std::string path = app.folder + "/leveldb-write";
	std::vector<unsigned long> written(static_cast<std::size_t>(app.threads));
	leveldb::Options options;
	leveldb::DB *opened;

	leveldb::DestroyDB(path, options);
	options.create_if_missing = true;
	if (!leveldb::DB::Open(options, path, &opened).ok())
		return 1;
	std::unique_ptr<leveldb::DB> db(opened);

	measure(app, [&](int t, const std::atomic<bool> &stop) {
		unsigned long &count = written[static_cast<std::size_t>(t)];

		do {
			const std::uint64_t n = key_by(t, count);

			if (!db->Put(leveldb::WriteOptions(), key_of(n), value_of(n))
				     .ok())
				std::_Exit(1);
			count++;
		} while (!stop);
		return count;
	});
	for (int t = 0; t < app.threads; t++) {
		const unsigned long count = written[static_cast<std::size_t>(t)];

		for (unsigned long i = count > 1000 ? count - 1000 : 0; i < count; i++) {
			const std::uint64_t n = key_by(t, i);
			std::string value;

			if (!db->Get(leveldb::ReadOptions(), key_of(n), &value).ok() ||
			    value != value_of(n))
				return STATUS_WRONG;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	const app app = parse(argc, argv);
	std::unique_ptr<leveldb::Cache> cache(leveldb::NewLRUCache(64 << 20));
	leveldb::Options options;
	leveldb::DB *opened;

	if (app.what == "leveldb-write")
		return measure_writes(app);
	options.create_if_missing = true;
	options.block_cache = cache.get();
	if (!leveldb::DB::Open(options, app.folder + "/leveldb", &opened).ok())
		return 1;
	std::unique_ptr<leveldb::DB> db(opened);

	if (!fill(*db))
		return 1;
	if (app.seconds > 0)
		measure(app, [&](int t, const std::atomic<bool> &stop) {
			reader mine(*db, t);

			do
				mine.read();
			while (!stop);
			return mine.count;
		});
	else
		read_and_sum(*db, app.threads, std::stoul(app.what));
	return 0;
}
