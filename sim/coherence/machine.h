/* SPDX-License-Identifier: MIT */
/*
 * Simulated machines: how many CPUs, how they are grouped, and what it costs to
 * move a cache line between them. Read from a small file, one "key = value" on
 * a line, "#" begins a comment; sim/coherence/machines/ has the ones built in.
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
	MACHINE_MAX_FORESEEN = 8, /* lines on their way */
	MACHINE_MAX_SPREAD = 90,  /* percent */
};

/*
 * Who answers the read of a line that several caches have. MESI: the home. MOESI: a
 * cache that modified it, and keeps it when others read it. MESIF: the cache that
 * read it last.
 */
enum protocol { PROTOCOL_MESI, PROTOCOL_MOESI, PROTOCOL_MESIF };

/* Times are picoseconds. */
struct machine {
	char name[64];
	unsigned sockets;
	unsigned clusters; /* in a socket */
	unsigned cores;	   /* in a cluster */
	unsigned smt;	   /* threads on a core, which share its caches */
	enum protocol protocol;

	/* Effects, each of which 0 switches off. */
	unsigned settle; /* a cluster settles among its own cores what it can */
	unsigned batch;	 /* times a socket passes a line on inside before it lets go */
	unsigned acknowledge; /* a home keeps a line until the requester has said so */
	unsigned migrate;     /* a read of a line that its owner wrote takes it over */
	unsigned buffer;      /* stores on their way; without, each waits for its line */
	unsigned fetches;     /* lines that they fetch at once; without, one */
	unsigned loads;	      /* plain loads on their way; without, each waits */
	uint64_t window;      /* work that is put off until they are done */
	unsigned
		ahead; /* writes ask for their lines while older loads are on their way */
	unsigned foresee;  /* accesses that it asks for ahead, when one misses */
	unsigned adjacent; /* a miss fetches the other line of its pair of 64 bytes too */
	unsigned spread;   /* percent, by which a transaction is shorter or longer */
	uint64_t home;	   /* that a home is busy with each request, whatever its line */
	uint64_t pause;	   /* spin-wait hint of a waiter, between two looks */
	uint64_t flush; /* that a waiter loses which looks by loads and ends its wait */

	uint64_t hit;	     /* a load or store that hits */
	uint64_t rmw;	     /* a read-modify-write that hits */
	uint64_t core;	     /* from one thread of a core to the other */
	uint64_t cluster;    /* line modified by another core of the cluster */
	uint64_t socket;     /* ... by another cluster of the socket */
	uint64_t remote;     /* ... by another socket */
	uint64_t memory;     /* a line that no cache holds */
	uint64_t directory;  /* until the home takes the next request for a line */
	uint64_t invalidate; /* for each copy that a write removes */
	uint64_t poll;	     /* a look of a waiter; `pause` follows */
	uint64_t look;	     /* until a waiter on a hint looks for itself */
	uint64_t step;	     /* of the benchmark's random number generator */
};

static inline unsigned machine_cpus(const struct machine *m)
{
	return m->sockets * m->clusters * m->cores * m->smt;
}

/* In the order of enum protocol, ended by NULL. */
extern const char *const machine_protocols[];

/* The names of the machines built in, ended by NULL. */
extern const char *const machine_names[];

/*
 * Fills in *m: with the machine of that name, if there is one, else from the
 * file of that name. Returns false with one line for the user in `error`.
 */
bool machine_load(struct machine *m, const char *name_or_file, char *error, size_t size);

/* Changes one key. Returns false with one line for the user in `error`. */
bool machine_set(struct machine *m, const char *key, const char *value, char *error,
		 size_t size);

/* The names of the keys that are times, ended by NULL; and one of them, in ns. */
const char *const *machine_times(void);
double machine_time(const struct machine *m, const char *key);

/* The same from text; `name` is what the machine is called. */
bool machine_parse(struct machine *m, const char *name, const char *text, char *error,
		   size_t size);

#endif /* SIM_COHERENCE_MACHINE_H */
