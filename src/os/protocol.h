/* SPDX-License-Identifier: MIT */
/*
 * The number of what inline code, the library and other copies of the library have
 * agreed on: it is in the soname, and in each copy's note (linux_copies.c).
 * docs/design/abi.md says when it changes.
 */
#ifndef PAWL_OS_PROTOCOL_H
#define PAWL_OS_PROTOCOL_H

#ifndef PAWL_PROTOCOL /* tests build a copy with another one */
#define PAWL_PROTOCOL 1
#endif

#endif /* PAWL_OS_PROTOCOL_H */
