/* SPDX-License-Identifier: MIT */
/* The simulator sees everything anyway: the notes are native's empty ones. */
#ifndef PAWL_NO_NOTES /* a sanitized build defines it, too */
#define PAWL_NO_NOTES
#endif
#include "../../../native/pawl/backend/debug.h"
