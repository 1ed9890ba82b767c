/* SPDX-License-Identifier: MIT */
/* The cost of a few instructions on this machine, alone and on a line that another CPU
 * has: the parameters of a machine file. No locks involved. */
#ifndef PAWL_BENCH_LATENCIES_H
#define PAWL_BENCH_LATENCIES_H

#include <stdbool.h>

enum { LATENCIES_WORK = 8 };

/* Medians in nanoseconds, each of one operation, except `spread`. */
struct latencies {
	double load;	 /* hits; the next load depends on its value */
	double forward;	 /* a store and a dependent load of the same word */
	double rmw;	 /* on a line in state M */
	double pause;	 /* the spin-wait hint */
	double step;	 /* a step of the workloads' generator */
	double transfer; /* load of a line that the other CPU wrote */
	double take;	 /* RMW of a line that the other CPU wrote and we just read */
	double upgrade;	 /* the same after the other CPU has read it again */
	double loads;	 /* independent loads of lines that the other CPU wrote */
	double stores;	 /* independent stores to such lines */
	/* On two lines that the other CPU wrote: a load of one, LATENCIES_WORK steps with
	 * its value, and a read-modify-write of the other. */
	double behind;
	double after; /* the reverse: the read-modify-write first, no steps */
	/* Interquartile range of `transfer` over the lines, relative. */
	double spread;
};

/* Uses two CPUs for 20 ms. Returns false, with errno set, if threads cannot be
 * created. */
bool latencies_measure(struct latencies *latencies);

#endif /* PAWL_BENCH_LATENCIES_H */
