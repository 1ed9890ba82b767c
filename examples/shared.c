/* SPDX-License-Identifier: MIT */
/*
 * Two processes, a balance in memory that they share, and one of them killed in
 * the middle of a transfer. The next owner is told, and mends the books.
 */
#include <pawl/shared.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

struct books {
	int left, right; /* 100 together, unless somebody is at work */
};

static void die_half_way(struct pawl_shared *region)
{
	struct books *books = pawl_shared_data(region);

	if (pawl_shared_mutex_lock(region, 0) != 0)
		_exit(1);
	books->left -= 30;
	raise(SIGKILL); /* the right side never gets them */
}

int main(void)
{
	const struct pawl_shared_shape shape = {.mutexes = 1,
						.data_bytes = sizeof(struct books)};
	struct pawl_shared *region;
	struct books *books;
	int error = pawl_shared_create(&region, -1, &shape);

	if (error != 0)
		return 1;
	books = pawl_shared_data(region);
	books->left = 60;
	books->right = 40;
	if (fork() == 0)
		die_half_way(region);

	wait(NULL);
	error = pawl_shared_mutex_lock(region, 0);
	if (error == EOWNERDEAD) {
		books->right = 100 - books->left;
		pawl_shared_mutex_consistent(region, 0);
	}
	printf("%s: %d and %d\n", error == EOWNERDEAD ? "mended" : "untouched",
	       books->left, books->right);
	pawl_shared_mutex_unlock(region, 0);
	return pawl_shared_detach(region);
}
