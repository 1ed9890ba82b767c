/* SPDX-License-Identifier: MIT */
/*
 * What the papers publish and a simulation can express: a row of claims.def each,
 * simulated and compared.
 */
#ifndef SIM_COHERENCE_CLAIMS_H
#define SIM_COHERENCE_CLAIMS_H

#include <sim/coherence/workload.h>

enum claim_kind {
	CLAIM_LEAST,   /* the subject's rate, times that of any of the others, at least */
	CLAIM_MOST,    /* ... at most */
	CLAIM_RATIO,   /* ... about */
	CLAIM_RISES,   /* the last number's rate, times the first's, at least */
	CLAIM_FALLS,   /* any number's rate, times the one before, at most */
	CLAIM_MISSES,  /* misses in an episode, about */
	CLAIM_NO_MORE, /* ... at most */
	CLAIM_REMOTE,  /* misses settled by a home on another node, at most */
	CLAIM_MISSES_RATIO, /* misses of the last number, times the first's, about */
	CLAIM_FEWER,	    /* misses, times those of the other, at most */
	CLAIM_RATE,	    /* million episodes a second, about */
	CLAIM_HOME, /* the rate with wait elements at home, times elsewhere, at least */
};

enum { CLAIM_THREADS = 10 };

struct claim {
	const char *paper, *where, *text;
	const char *machine;
	const char *load; /* a name in claims.c */
	enum claim_kind kind;
	const char *subject, *others; /* locks, with commas between; NULL */
	unsigned threads[CLAIM_THREADS];
	double expected, tolerance; /* a fraction of it; of counts, the count itself */
	const char *reason;	    /* why it is known not to hold, or NULL */
};

struct claim_result {
	double simulated; /* the worst, if there are several */
	bool holds;
	bool left_out; /* set by the caller: it is not to be simulated */
};

extern const struct claim claims[];
extern const size_t claims_count;

/* Loads the machine of a claim, maybe not as it is in its file. */
typedef void claims_machine(const char *name, struct machine *m, void *argument);

/* Simulates all that are not left out, `runs` seeds each, in `jobs` processes. */
void claims_run(struct claim_result results[], claims_machine *load, void *argument,
		unsigned runs, uint64_t episodes, unsigned jobs);

#endif /* SIM_COHERENCE_CLAIMS_H */
