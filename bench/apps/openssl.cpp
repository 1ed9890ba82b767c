/* SPDX-License-Identifier: MIT */
/*
 * OpenSSL: every thread fetches an algorithm by name, hashes a short message and frees
 * the algorithm, as programs written for OpenSSL 1 do. The method stores are behind
 * read-write locks that all threads share.
 *
 * Each digest must equal the one that the first thread computed.
 */
#include "app.h"

#include <openssl/evp.h>

#include <cstring>

static const char message[] = "read much more often than written";

struct digest {
	unsigned char bytes[EVP_MAX_MD_SIZE];
	unsigned length;
};

static digest hash()
{
	digest d{};
	EVP_MD *algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);

	if (algorithm == nullptr || EVP_Digest(message, sizeof(message), d.bytes,
					       &d.length, algorithm, nullptr) != 1)
		std::_Exit(1);
	EVP_MD_free(algorithm);
	return d;
}

int main(int argc, char **argv)
{
	const app app = parse(argc, argv);
	const digest first = hash();

	measure(app, [&](int, const std::atomic<bool> &stop) {
		unsigned long count = 0;

		do {
			const digest d = hash();

			if (d.length != first.length ||
			    std::memcmp(d.bytes, first.bytes, d.length) != 0)
				std::_Exit(STATUS_WRONG);
			count++;
		} while (!stop);
		return count;
	});
	return 0;
}
