/* SPDX-License-Identifier: MIT */
/*
 * Version of the protocol between inline code, the library and other copies of the
 * library. It is part of the soname and of each copy's note (linux_copies.c).
 * docs/design/abi.md says when it changes.
 */
#ifndef PAWL_OS_PROTOCOL_H
#define PAWL_OS_PROTOCOL_H

#ifndef PAWL_PROTOCOL /* tests build a copy with another number */
#define PAWL_PROTOCOL 1
#endif

#endif /* PAWL_OS_PROTOCOL_H */
