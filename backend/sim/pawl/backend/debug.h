/* SPDX-License-Identifier: MIT */
/* The simulator sees everything anyway: the debug face is native's empty one. */
#include "../../../native/pawl/backend/debug.h"
