/* SPDX-License-Identifier: MIT */
/*
 * The model checker: runs a program of a few threads in every way that a memory model
 * allows, and reports the first failure.
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

/* The checked program. It has the same threads in every execution, which communicate
 * through the seam alone. */
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

/* Estimated number of runs, executions and abandoned ones, and its relative standard
 * deviation. 0 = unknown. */
struct expected {
	double runs, error;
};
/* Formats a line of progress. */
void expected_print(struct expected expected, uint64_t runs, double seconds, char *to,
		    size_t size);

struct options {
	enum model model;
	uint64_t limit;		/* executions, including blocked ones; 0 = no limit */
	bool keep_trace;	/* store a failing execution as text in `trace` */
	const char *choices;	/* repeat this execution only */
	uint64_t random;	/* number of random executions; 0 = explore all */
	uint64_t seed;		/* for random executions */
	int depth;		/* random: PCT of this depth; 0 = uniform */
	bool steadfast;		/* bounded waits end only by a change of their word */
	int early;		/* timeouts of a thread that may come at any step */
	bool in_turn;		/* apply the reduction of explore_in_turn */
	bool naive;		/* sim/cores, not weak: no reductions, to test them */
	const char *smaller;	/* how to make the program smaller; NULL: --threads... */
	bool stuck_is_complete; /* a deadlock is a complete execution */
	/* Called with a failing execution, instead of `trace`; and again with a shorter
	 * one, which is searched for in `shorten` further executions. */
	void (*show)(void *context, const struct trace *trace, struct graph *g,
		     struct memory *m);
	uint64_t shorten;
	/* Called with each complete graph; for tests. */
	void (*each)(void *context, struct graph *g);
	/* Called every `reported` runs. */
	void (*progress)(void *context, uint64_t runs, double seconds,
			 struct expected expected);
	uint64_t reported;   /* 0 = default */
	bool await_estimate; /* only once there is an estimate; for tests */
	void *context;
	/* Called regularly; if it returns true, the search ends with VERDICT_LIMIT. May
	 * be NULL. */
	bool (*stop)(void);
};

struct result {
	enum verdict verdict;
	uint64_t executions; /* complete ones, all distinct */
	uint64_t blocked;    /* abandoned: a thread waited on an overwritten value */
	double unseen;	     /* random: estimated chance that the next one is new */
	double seconds;
	char message[256];	  /* what failed, and what to do; empty if passed */
	char choices[TOKEN_SIZE]; /* token that repeats the failure */
	char *trace;		  /* failing execution as text, to be freed; or NULL */
};

void explore(const struct program *program, const struct options *options,
	     struct result *result);

/* For the checked program, while it runs. */

void *explore_allocate(size_t size, size_t alignment); /* zeroed */
void explore_free(void *p);
/* Bytes that threads have allocated in this execution, and those not freed. */
struct allocated {
	size_t all, left;
};
struct allocated explore_allocated(void);
/* Names the object at p in traces. */
void explore_label(const void *p, const char *name);
int explore_thread(void);	       /* -1 during set_up and finished */
struct sim_fiber *explore_fiber(void); /* of the running thread, or NULL */
/* The final value of a word; for `each` and `finished`. */
uint64_t explore_final(const uint64_t *word);
/* Runs the runtime's thread exit, then ends the lifetime of the thread's storage and
 * stack. */
void explore_exit(void);
/* Ends the search with a verdict. Does not return on a thread. */
void explore_fail(enum verdict verdict, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Fails: the running thread has crashed. */
#define CRASHED \
	"thread %d crashed (%s) after this; a wild pointer, or too deep a recursion"
void explore_crashed(const char *how);

/*
 * Critical sections of lock number `lock`, whose words are the `size` bytes at l: call
 * arrive before locking it, enter inside, leave before unlocking it. Retreat undoes an
 * arrival whose trylock failed. The doorway of an arrival is its first atomic update of
 * the lock.
 */
enum admission { ADMIT_FIFO, ADMIT_ONCE, ADMIT_ANY };
void explore_arrive(int lock, const void *l, size_t size, enum admission admission);
void explore_retreat(int lock);
void explore_enter(int lock);
void explore_leave(int lock);

/* Waits until every other thread waits or has returned. */
void explore_await_quiet(void);

/*
 * Symmetry reduction. Call it where threads pass one after the other, inside a section.
 * The threads from `first` on run the same code, so executions that differ only by a
 * permutation of them need exploring once: with options.in_turn only those count in which
 * these threads pass here for the first time in the order of their numbers.
 */
void explore_in_turn(int first);

#endif /* EXPLORE_H */
