/* SPDX-License-Identifier: MIT */
/* Stands in for check.c where the simulator cannot be built. */
#include "commands.h"
#include "options.h"

int check_main(int argc, char **argv)
{
	(void)argc, (void)argv;
	refuse("this is a ThreadSanitizer build, which has no simulator; use another one");
}
