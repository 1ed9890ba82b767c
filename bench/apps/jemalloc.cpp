/* SPDX-License-Identifier: MIT */
/*
 * An allocator with mutexes: every thread frees a random one of its 256 blocks and
 * allocates another of 16 to 527 bytes. jemalloc runs with one arena and without thread
 * caches, so that all blocks of a size are under one mutex.
 *
 * Both ends of a block hold its thread and size until it is freed.
 */
#include "app.h"

#include <cstdint>
#include <cstring>

/* jemalloc reads it when it starts. */
extern "C" const char *malloc_conf;
const char *malloc_conf = "narenas:1,tcache:false";

static const std::size_t kept = 256;

struct block {
	char *bytes;
	std::size_t size;
	std::uint64_t mark;
};

static block allocate(std::size_t size, std::uint64_t mark)
{
	block b = {static_cast<char *>(std::malloc(size)), size, mark};

	if (b.bytes == nullptr)
		std::_Exit(1);
	std::memcpy(b.bytes, &mark, sizeof(mark));
	std::memcpy(b.bytes + size - sizeof(mark), &mark, sizeof(mark));
	return b;
}

static void release(const block &b)
{
	if (std::memcmp(b.bytes, &b.mark, sizeof(b.mark)) != 0 ||
	    std::memcmp(b.bytes + b.size - sizeof(b.mark), &b.mark, sizeof(b.mark)) != 0)
		std::_Exit(STATUS_WRONG);
	std::free(b.bytes);
}

static unsigned long work(int thread, const std::atomic<bool> &stop)
{
	std::uint64_t x = 88172645463325252u + static_cast<unsigned>(thread);
	std::vector<block> blocks(kept);
	unsigned long count = 0;

	for (auto &b : blocks)
		b = allocate(16, x);
	do {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		block &b = blocks[x % kept];
		release(b);
		b = allocate(16 + (x >> 32) % 512, x);
		count++;
	} while (!stop);
	for (auto &b : blocks)
		release(b);
	return count;
}

int main(int argc, char **argv)
{
	measure(parse(argc, argv), work);
	return 0;
}
