/* SPDX-License-Identifier: MIT */
/* Runs a program on a system that refuses membarrier, as some sandboxes do. */
#include "child.h"

#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 2 || refuse_membarrier() != 0) {
		puts("no filters of system calls here");
		return CHILD_SKIPS;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 1;
}
