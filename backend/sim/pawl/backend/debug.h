/* SPDX-License-Identifier: MIT */
/* The simulator sees everything anyway: the notes are native's empty ones. */
#define PAWL_NO_NOTES
#include "../../../native/pawl/backend/debug.h"
