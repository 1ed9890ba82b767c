/* SPDX-License-Identifier: MIT */
/*
 * Simulated machines: the number of CPUs, their grouping, and the cost of moving a cache
 * line between them. Read from a small file with a "key = value" on each line; "#" begins
 * a comment. sim/coherence/machines/ has the built-in ones.
 */
#ifndef SIM_COHERENCE_MACHINE_H
#define SIM_COHERENCE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	MACHINE_MAX_CPUS = 1024,
	MACHINE_MAX_SOCKETS = 8,
	MACHINE_MAX_STORES = 64,
	MACHINE_MAX_FETCHES = 8,
	MACHINE_MAX_LOADS = 8,
	MACHINE_MAX_FORESEEN = 8, /* lines in flight */
	MACHINE_MAX_SPREAD = 90,  /* percent */
};

/*
 * The source of data for a read of a line that several caches have. MESI: the home.
 * MOESI: the cache that modified it, which keeps it in O. MESIF: the cache that read it
 * last.
 */
enum protocol { PROTOCOL_MESI, PROTOCOL_MOESI, PROTOCOL_MESIF };

/* Times are in picoseconds. */
struct machine {
	char name[64];
	unsigned sockets;
	unsigned clusters; /* per socket */
	unsigned cores;	   /* per cluster */
	unsigned smt;	   /* threads per core, which share its caches */
	enum protocol protocol;

	/* Effects; 0 disables each. */
	unsigned settle;      /* a cluster serves requests among its own cores */
	unsigned batch;	      /* times a socket keeps a line for its own cores */
	unsigned acknowledge; /* the home holds a line until the requester confirms */
	unsigned migrate;     /* a read of a modified line takes exclusive ownership */
	unsigned buffer;      /* store buffer entries; 0: stores wait for their line */
	unsigned fetches;     /* lines that buffered stores fetch in parallel; 0: one */
	unsigned loads;	      /* plain loads in flight; 0: each load waits */
	uint64_t window;      /* work that the CPU defers while loads are in flight */
	unsigned ahead;	      /* stores request their lines before older loads complete */
	unsigned foresee;     /* later accesses that a miss requests speculatively */
	unsigned adjacent;    /* a miss fetches the adjacent line as well */
	unsigned spread;      /* percent: variation of a transaction's latency */
	uint64_t home;	      /* time that a home is busy per request, for any line */
	uint64_t pause;	      /* spin-wait hint between two polls */
	uint64_t flush;	      /* pipeline flush that ends a wait by loads */

	uint64_t hit;	     /* a load or store that hits */
	uint64_t rmw;	     /* a read-modify-write that hits */
	uint64_t core;	     /* from one SMT thread of a core to the other */
	uint64_t cluster;    /* line modified by another core of the cluster */
	uint64_t socket;     /* ... by another cluster of the socket */
	uint64_t remote;     /* ... by another socket */
	uint64_t memory;     /* a line that is in no cache */
	uint64_t directory;  /* until the home serves the next request for a line */
	uint64_t invalidate; /* per copy that a write invalidates */
	uint64_t poll;	     /* a poll of a waiter; `pause` follows */
	uint64_t look;	     /* timeout of a wait on a hint */
	uint64_t step;	     /* a step of the benchmark's random number generator */
};

static inline unsigned machine_cpus(const struct machine *m)
{
	return m->sockets * m->clusters * m->cores * m->smt;
}

/* In the order of enum protocol; ends with NULL. */
extern const char *const machine_protocols[];

/* The names of the built-in machines; ends with NULL. */
extern const char *const machine_names[];

/*
 * Fills in *m: the built-in machine of that name, or else from the file. Returns false
 * with a one-line message in `error`.
 */
bool machine_load(struct machine *m, const char *name_or_file, char *error, size_t size);

/* Sets one key. Returns false with a one-line message in `error`. */
bool machine_set(struct machine *m, const char *key, const char *value, char *error,
		 size_t size);

/* The names of the keys that are times, ending with NULL; and the value of one, in ns. */
const char *const *machine_times(void);
double machine_time(const struct machine *m, const char *key);

/* The same from text; `name` is the machine's name. */
bool machine_parse(struct machine *m, const char *name, const char *text, char *error,
		   size_t size);

#endif /* SIM_COHERENCE_MACHINE_H */
