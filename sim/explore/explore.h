/* SPDX-License-Identifier: MIT */
/*
 * The model checker: runs a program of a few threads in every way that a
 * memory model allows, and says what went wrong first.
 */
#ifndef EXPLORE_H
#define EXPLORE_H

#include "graph.h"

enum verdict {
	VERDICT_PASSED,
	VERDICT_EXCLUSION,
	VERDICT_RACE,
	VERDICT_STALE,
	VERDICT_DEADLOCK,
	VERDICT_LOST_WAKE_UP,
	VERDICT_BYPASS,
	VERDICT_FIFO,
	VERDICT_UNLOCK,
	VERDICT_SPACE,
	VERDICT_FREED,
	VERDICT_ASSERTION,
	VERDICT_LEAK,
	VERDICT_REFUSED,
	VERDICT_LIMIT,
	VERDICT_NOTHING,
	VERDICT_NONE_SEEN,
};

const char *verdict_name(enum verdict verdict);

/* The checked program. Its threads are the same in every execution and learn
 * about each other through the seam alone. */
struct program {
	int threads;
	void (*set_up)(void *context); /* before the threads start */
	void (*thread)(void *context, int thread);
	void (*finished)(void *context); /* all threads returned; may fail */
	void *context;
};

enum { TOKEN_SIZE = 4096, MAX_DEPTH = 32 };

struct trace;
struct memory;
struct sim_fiber;

/* How many runs there may be, executions and what was abandoned; and one standard
 * deviation of that, as a part of it. 0 = nobody knows. */
struct expected {
	double runs, error;
};
/* A line about a search that goes on. */
void expected_print(struct expected expected, uint64_t runs, double seconds, char *to,
		    size_t size);

struct options {
	enum model model;
	uint64_t limit;		/* executions, blocked ones included; 0 = none */
	bool keep_trace;	/* describe a failure on `trace` */
	const char *choices;	/* repeat this execution only */
	uint64_t random;	/* so many executions at random; 0 = all there are */
	uint64_t seed;		/* of these */
	int depth;		/* by priorities that change depth - 1 times; 0 = not */
	bool steadfast;		/* bounded waits never end without a change */
	int early;		/* bounded waits of a thread that end at any time */
	bool in_turn;		/* what explore_in_turn says */
	bool naive;		/* sim/cores, not weak: reduce nothing, for its test */
	const char *smaller;	/* what makes the program smaller; NULL: --threads... */
	bool stuck_is_complete; /* a deadlock is an execution like others */
	/* Called with a failing execution, instead of `trace`; again with a shorter one,
	 * for which the search goes on for so many executions. */
	void (*show)(void *context, const struct trace *trace, struct graph *g,
		     struct memory *m);
	uint64_t shorten;
	/* Called with each complete graph; for tests. */
	void (*each)(void *context, struct graph *g);
	/* Called now and then. */
	void (*progress)(void *context, uint64_t runs, double seconds,
			 struct expected expected);
	uint64_t reported;   /* namely every so many runs; 0 = a good number */
	bool await_estimate; /* and only with what they are to come to, for tests */
	void *context;
	/* Asked now and then: to stop, with VERDICT_LIMIT? May be NULL. */
	bool (*stop)(void);
};

struct result {
	enum verdict verdict;
	uint64_t executions; /* complete ones, all different */
	uint64_t blocked;    /* abandoned: a thread waited on an old value */
	double unseen; /* at random: the chance that another one is new, estimated */
	double seconds;
	char message[256];	  /* what, and what to do; empty if passed */
	char choices[TOKEN_SIZE]; /* repeat the failure with this */
	char *trace;		  /* readable; the caller frees it; or NULL */
};

void explore(const struct program *program, const struct options *options,
	     struct result *result);

/* For the checked program, while it runs. */

void *explore_allocate(size_t size, size_t alignment); /* zeroed */
void explore_free(void *p);
/* The bytes that threads have allocated in this execution, and of these the ones that are
 * not freed. */
struct allocated {
	size_t all, left;
};
struct allocated explore_allocated(void);
/* Gives what starts at p a name in traces. */
void explore_label(const void *p, const char *name);
int explore_thread(void);	       /* -1 while setting up or finishing */
struct sim_fiber *explore_fiber(void); /* that of the running thread, or NULL */
/* The value that a word is left with; for `each` and `finished`. */
uint64_t explore_final(const uint64_t *word);
/* Ends the thread's storage and stack, after what the runtime has to do. */
void explore_exit(void);
/* Stops everything with a verdict. On a thread it does not return. */
void explore_fail(enum verdict verdict, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The same: the running thread has crashed. */
#define CRASHED \
	"thread %d crashed (%s) after this; a wild pointer, or too deep a recursion"
void explore_crashed(const char *how);

/*
 * A section guarded by lock number `lock`, whose words are the `size` bytes at
 * l: about to lock it; inside; about to unlock it. A try that failed is taken
 * back. The doorway of an arrival is its first atomic update of the lock.
 */
enum admission { ADMIT_FIFO, ADMIT_ONCE, ADMIT_ANY };
void explore_arrive(int lock, const void *l, size_t size, enum admission admission);
void explore_retreat(int lock);
void explore_enter(int lock);
void explore_leave(int lock);

/* Waits until nothing else moves: every other thread waits, or is done. */
void explore_await_quiet(void);

/*
 * To be called where threads pass one after the other: inside a section. Threads
 * from `first` on run the same code, so executions that differ only in who is who
 * need be explored once: with options.in_turn only those count in which these
 * threads pass here, for the first time, in the order of their numbers.
 */
void explore_in_turn(int first);

#endif /* EXPLORE_H */
