/* SPDX-License-Identifier: MIT */
/*
 * Programs that `pawl bench --app` runs under the interposer. They do not use pawl: their
 * locks are those of libraries and programs that are not built for it.
 *
 * usage: PROGRAM FOLDER THREADS SECONDS [VARIANT]
 *
 * Prints operations per second, the fairness (operations of the slowest thread / of the
 * fastest) and the number of operations; exits with status 3 if the data are
 * inconsistent.
 */
#ifndef PAWL_BENCH_APP_H
#define PAWL_BENCH_APP_H

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

enum { STATUS_USAGE = 2, STATUS_WRONG = 3 };

struct app {
	std::string folder; /* for its files; not removed at exit */
	int threads;
	double seconds;
	std::string what;
};

inline app parse(int argc, char **argv)
{
	if (argc < 4)
		std::exit(STATUS_USAGE);
	return {argv[1], std::atoi(argv[2]), std::atof(argv[3]), argc > 4 ? argv[4] : ""};
}

/* Calls work(thread, stop) on every thread; work returns its number of operations when
 * *stop is true. Returns the sum, and prints the result. */
template <typename Work> unsigned long measure(const app &app, Work work)
{
	std::vector<unsigned long> counts(static_cast<std::size_t>(app.threads));
	std::vector<std::thread> crew;
	std::atomic<bool> stop(false);
	unsigned long total = 0;
	auto began = std::chrono::steady_clock::now();

	for (int t = 0; t < app.threads; t++)
		crew.emplace_back(
			[&, t] { counts[static_cast<std::size_t>(t)] = work(t, stop); });
	std::this_thread::sleep_for(std::chrono::duration<double>(app.seconds));
	stop = true;
	std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
	for (auto &thread : crew)
		thread.join();
	for (auto count : counts)
		total += count;
	auto ends = std::minmax_element(counts.begin(), counts.end());
	std::printf("%.1f %.4f %lu\n", static_cast<double>(total) / took.count(),
		    static_cast<double>(*ends.first) / static_cast<double>(*ends.second),
		    total);
	return total;
}

#endif /* PAWL_BENCH_APP_H */
