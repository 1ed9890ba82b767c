/* SPDX-License-Identifier: MIT */
/* The waiting arrays; page-aligned, so that no slot shares a line with
 * anything but other slots. */
#include <pawl/runtime.h>

#define PAGE_ALIGNED __attribute__((aligned(4096), used)) /* by pawl_raw_find */

PAGE_ALIGNED pawl_atomic64 pawl_twa_slots_[PAWL_WAITING_SLOTS];
PAGE_ALIGNED pawl_atomic64 pawl_hapax_slots_[PAWL_WAITING_SLOTS];
PAGE_ALIGNED pawl_atomic64 pawl_hapax_vw_slots_[PAWL_WAITING_SLOTS];
