/* SPDX-License-Identifier: MIT */
/*
 * Picks the CPU's file and fills the gaps it leaves. A CPU file defines what
 * it has, each with `#define name name` beside it:
 *
 *   pawl_arch_pause()            tell the core that this is a polling loop
 *   pawl_arch_wait_while(p, v)   return soon after *p may differ from v; may
 *                                return early; must not wait for ever
 *   pawl_arch_full_fence()       order all earlier accesses before all later
 *   pawl_arch_acquire_fence()    order earlier loads before all later accesses
 *   pawl_arch_release_fence()    order all earlier accesses before later stores
 *   pawl_arch_thread_pointer()   the register that thread-local storage is found by: a
 *                                multiple of 8, other than 0
 *   pawl_arch_cpu()              the number of this CPU; valid only where
 *   pawl_arch_has_cpu()          returns true: the CPU has the instruction
 *   pawl_arch_find(name, into)   sets `into` to the address of the library's object
 *                                of that name, from the global offset table, however
 *                                the program is built. A direct reference could make
 *                                a copy relocation, with the size that the object
 *                                had when the program was linked.
 */
#ifndef PAWL_BACKEND_ARCH_H
#define PAWL_BACKEND_ARCH_H

#include <stdint.h>

/* 64-bit words hold addresses; on i386 they would not be aligned to their size. */
#if UINTPTR_MAX != UINT64_MAX
#error "pawl is for 64-bit CPUs: x86-64, aarch64, riscv64; 32-bit ones are not supported"
#endif
#if !defined(__GCC_ATOMIC_LLONG_LOCK_FREE) || __GCC_ATOMIC_LLONG_LOCK_FREE != 2
#error "pawl needs lock-free 64-bit atomics"
#endif

/*
 * Alignment of a thread's storage. No more than that of glibc's own static TLS, or the
 * loader has no room for it in a library that a program opens with dlopen.
 */
#ifdef __x86_64__
#define PAWL_THREAD_ALIGN 64
#else
#define PAWL_THREAD_ALIGN 32
#endif

#if defined(PAWL_PLAYED)
#include <pawl/backend/arch/played.h>
#elif defined(__x86_64__)
#include <pawl/backend/arch/x86_64.h>
#elif defined(__aarch64__)
#include <pawl/backend/arch/aarch64.h>
#elif defined(__riscv) && __riscv_xlen == 64
#include <pawl/backend/arch/riscv64.h>
#endif
#include <pawl/backend/arch/generic.h>

#endif /* PAWL_BACKEND_ARCH_H */
