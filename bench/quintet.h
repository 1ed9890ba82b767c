/* SPDX-License-Identifier: MIT */
/*
 * Five 32-bit integers behind a lock: what a C++ compiler makes of std::atomic<S> when S
 * is too large for the CPU's atomics (Reciprocating paper, section 7.2).
 *
 * Departs: there the run-time library hashes the object's address to one of its mutexes,
 * and the lock replaces these; here there is one lock, taken directly. `pawl bench --app
 * stdatomic` is the paper's form.
 */
#ifndef PAWL_BENCH_QUINTET_H
#define PAWL_BENCH_QUINTET_H

#include "workload.h"

struct quintet {
	uint32_t words[5];
};

struct quintet_bench {
	struct bench_lock lock;
	PAWL_SEQUESTER struct quintet shared; /* under the lock */
	PAWL_SEQUESTER pawl_atomic64 stop;
	const struct bench_subject *subject;
};

struct quintet_thread {
	PAWL_SEQUESTER struct quintet_bench *bench;
	struct quintet local;
	uint64_t episodes; /* successful ones */
	uint64_t failures;
};

#endif /* PAWL_BENCH_QUINTET_H */
