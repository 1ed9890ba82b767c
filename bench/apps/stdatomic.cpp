/* SPDX-License-Identifier: MIT */
/*
 * std::atomic of five 32-bit integers, which the run-time library guards with mutexes
 * chosen by the object's address (Reciprocating paper, section 7.2). Variants:
 *   stdatomic-exchange  every thread swaps its own five with the shared ones (Figure 2a)
 *   stdatomic-cas       every thread increments the first of the shared ones (Figure 2b)
 */
#include "app.h"

#include <cstdint>

struct quintet {
	std::uint32_t words[5];
};

static std::atomic<quintet> shared{};

static bool in_one_piece(const quintet &q)
{
	for (auto word : q.words)
		if (word != q.words[0])
			return false;
	return true;
}

static unsigned long exchange(int thread, const std::atomic<bool> &stop)
{
	const auto n = static_cast<std::uint32_t>(thread) + 1;
	quintet mine = {{n, n, n, n, n}};
	unsigned long count = 0;

	do {
		mine = shared.exchange(mine);
		count++;
	} while (!stop);
	if (!in_one_piece(mine))
		std::_Exit(STATUS_WRONG);
	return count;
}

static unsigned long increment(int, const std::atomic<bool> &stop)
{
	unsigned long count = 0;

	do {
		quintet seen = shared.load(), wanted;

		do {
			wanted = seen;
			wanted.words[0]++;
		} while (!shared.compare_exchange_strong(seen, wanted));
		count++;
	} while (!stop);
	return count;
}

int main(int argc, char **argv)
{
	const app app = parse(argc, argv);
	bool right;

	if (app.what == "stdatomic-exchange") {
		measure(app, exchange);
		right = in_one_piece(shared.load());
	} else {
		const unsigned long total = measure(app, increment);

		right = shared.load().words[0] == static_cast<std::uint32_t>(total);
	}
	return right ? 0 : STATUS_WRONG;
}
