/* SPDX-License-Identifier: MIT */
/* A program without a dynamic linker, which nobody can preload anything into. */
#include <stdio.h>

int main(void)
{
	return puts("ran") < 0;
}
