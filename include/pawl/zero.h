/* SPDX-License-Identifier: MIT */
/*
 * pawl/zero.h - PAWL_ZERO in a system header, where gcc does not warn: empty braces are
 * C++ and C23, and in C11 an extension that -Wpedantic reports. Only pawl/word.h
 * includes it.
 */
#ifndef PAWL_ZERO_H
#define PAWL_ZERO_H
#pragma GCC system_header

/* clang-format off */
#define PAWL_ZERO {}
/* clang-format on */

#endif /* PAWL_ZERO_H */
