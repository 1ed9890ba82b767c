/* SPDX-License-Identifier: MIT */
/* The simulator sees every access: the notes are native's empty ones. */
#ifndef PAWL_NO_NOTES /* the library's sanitized builds define it, too */
#define PAWL_NO_NOTES
#endif
#include "../../../native/pawl/backend/debug.h"
