/* SPDX-License-Identifier: MIT */
/* Ends the process after a violated contract, with a message. */
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
