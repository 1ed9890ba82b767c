/* SPDX-License-Identifier: MIT */
/*
 * Published results of the papers that a simulation can reproduce: one row of claims.def
 * each, simulated and compared.
 */
#ifndef SIM_COHERENCE_CLAIMS_H
#define SIM_COHERENCE_CLAIMS_H

#include <sim/coherence/workload.h>

enum claim_kind {
	CLAIM_LEAST,	    /* rate of the subject / of every other lock, at least */
	CLAIM_MOST,	    /* ... at most */
	CLAIM_RATIO,	    /* ... about */
	CLAIM_RISES,	    /* rate with the last thread count / the first, at least */
	CLAIM_FALLS,	    /* rate with any thread count / the one before, at most */
	CLAIM_MISSES,	    /* misses per episode, about */
	CLAIM_NO_MORE,	    /* ... at most */
	CLAIM_REMOTE,	    /* remote misses per episode, at most */
	CLAIM_MISSES_RATIO, /* misses with the last thread count / the first, about */
	CLAIM_FEWER,	    /* misses / those of the other lock, at most */
	CLAIM_RATE,	    /* million episodes per second, about */
	CLAIM_HOME, /* rate with local wait elements / with remote ones, at least */
};

enum { CLAIM_THREADS = 10 };

struct claim {
	const char *paper, *where, *text;
	const char *machine;
	const char *load; /* a name in claims.c */
	enum claim_kind kind;
	const char *subject, *others; /* lock names, comma-separated; or NULL */
	unsigned threads[CLAIM_THREADS];
	double expected, tolerance; /* relative; absolute for counts */
	const char *reason;	    /* why it is known to fail, or NULL */
};

struct claim_result {
	double simulated; /* the worst, if there are several */
	bool holds;
	bool left_out; /* set by the caller: do not simulate it */
};

extern const struct claim claims[];
extern const size_t claims_count;

/* Loads the machine of a claim, possibly modified. */
typedef void claims_machine(const char *name, struct machine *m, void *argument);

/* Simulates all claims that are not left out, with `runs` seeds each, in `jobs`
 * processes. */
void claims_run(struct claim_result results[], claims_machine *load, void *argument,
		unsigned runs, uint64_t episodes, unsigned jobs);

#endif /* SIM_COHERENCE_CLAIMS_H */
