/* SPDX-License-Identifier: MIT */
/* The memory orders, under names that sim/ may use: the lint forbids it the others. */
#ifndef PAWL_BACKEND_ORDER_H
#define PAWL_BACKEND_ORDER_H

enum sim_order {
	SIM_RELAXED = __ATOMIC_RELAXED,
	SIM_ACQUIRE = __ATOMIC_ACQUIRE,
	SIM_RELEASE = __ATOMIC_RELEASE,
	SIM_ACQ_REL = __ATOMIC_ACQ_REL,
	SIM_SEQ_CST = __ATOMIC_SEQ_CST,
};

#endif /* PAWL_BACKEND_ORDER_H */
