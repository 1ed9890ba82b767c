/* SPDX-License-Identifier: MIT */
/* What waiting goes by; see spin.c. */
#ifndef PAWL_SLEEP_SPIN_H
#define PAWL_SLEEP_SPIN_H

#include <pawl/atomic.h>

/* Estimates, in nanoseconds, that threads correct while they wait. */
struct pawl_costs {
	pawl_atomic64 transfer; /* of a cache line between CPUs */
	pawl_atomic64 wake;	/* until a sleeper is up */
	pawl_atomic64 pause;	/* one instruction; 0 = not measured yet */
};
extern struct pawl_costs pawl_costs;

#endif /* PAWL_SLEEP_SPIN_H */
