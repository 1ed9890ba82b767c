/* SPDX-License-Identifier: MIT */
/* What a few instructions cost on this machine, alone and with a line that another CPU
 * has: what a machine file is made of, and no lock anywhere. */
#ifndef PAWL_BENCH_LATENCIES_H
#define PAWL_BENCH_LATENCIES_H

#include <stdbool.h>

enum { LATENCIES_WORK = 8 };

/* Nanoseconds: medians, each of one operation; but for `spread`. */
struct latencies {
	double load;	 /* that hits, and whose value the next one needs */
	double forward;	 /* a store, and a load of what it stores */
	double rmw;	 /* on a line that is ours */
	double pause;	 /* the spin-wait hint */
	double step;	 /* of the workloads' generator */
	double transfer; /* a load of a line that the other CPU wrote */
	double take; /* a read-modify-write of a line just read, the other CPU wrote it */
	double upgrade; /* the same when the other CPU has read it again since */
	double loads;	/* of a line that the other CPU wrote, one of many in a row */
	double stores;	/* a store, likewise */
	/* Of two lines that the other CPU wrote: a load of one, LATENCIES_WORK steps with
	 * its value, and a read-modify-write of the other one. */
	double behind;
	double after; /* the other way round: the read-modify-write first, no steps */
	/* By how much of the transfer lines differ: from a quarter of them to three. */
	double spread;
};

/* Takes two CPUs for 20 ms. Returns false, with errno set, if there are no
 * threads to be had. */
bool latencies_measure(struct latencies *latencies);

#endif /* PAWL_BENCH_LATENCIES_H */
