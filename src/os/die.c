/* SPDX-License-Identifier: MIT */
/* The end of a process that broke a rule. */
#include "os/os.h"

#include <pawl/runtime.h>

#include <stdlib.h>

void pawl_die_(const char *sentence)
{
	pawl_os_complain("pawl: ");
	pawl_os_complain(sentence);
	pawl_os_complain("\n");
	abort();
}
