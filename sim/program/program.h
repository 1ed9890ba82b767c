/* SPDX-License-Identifier: MIT */
/*
 * Checks a user's program: it is compiled with -fsanitize=thread, and the calls that the
 * compiler inserts, and calls of the C library, come here.
 *
 *   main.c      explores the program and prints the verdict
 *   load.c      loads it and binds each function that it calls by the tables of calls.c:
 *               ours, the C library's, or a stub that refuses
 *   memory.c    its memory: static variables, heap, stacks, thread-local variables
 *   accesses.c  data races, freed memory
 *   events.c    reads, writes, fences, waits: the events of the explorer
 *   loops.c     loops that only wait
 *   symmetry.c  threads that run the same code
 *   entries.c   the compiler's calls for atomics
 *   plain.c     the compiler's calls for plain accesses
 *   threads.c, locks.c, conditions.c, semaphores.c, pawl.c, heap.c
 *               the program's own calls: threads, mutexes, semaphores, malloc
 *   picture.c, columns.c, page.c   display of a failing execution
 *
 * memory.c and accesses.c replace those of sim/explore, which track words of 8 bytes;
 * here each byte is tracked, and an atomic has 1 to 8 of them.
 */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <sim/explore/search.h>

#define SITE   __builtin_return_address(0)
#define PUBLIC __attribute__((visibility("default")))

/* A function to check: main, or a check_ function. */
struct subject {
	const char *name;
	int (*main)(int argc, char **argv, char **environment);
	void (*check)(void);
};

/* True on a thread of the program, false in the checker itself and while loading. */
static inline bool on_thread(void)
{
	return current_search != NULL && current_search->self != NULL;
}

/* main.c */
extern bool program_loading; /* the constructors run */
extern int program_unroll;   /* 0 = no bound */
/* Ends the check: the program called something that is not supported. */
void program_refuse(const char *what, const void *site) __attribute__((noreturn));
/* The message about atomics that are too large: their size, and the operation. */
#define PROGRAM_WIDE                                                              \
	"an atomic of %s bytes (%s) cannot be played, only one of 1, 2, 4 or 8: " \
	"pack it, use an index in place of a pointer, or guard it by a mutex"
/* Fails at a place that is no access. */
void program_fail(enum verdict verdict, const void *site, const char *format, ...)
	__attribute__((noreturn, format(printf, 3, 4)));

/* memory.c */

/* A part of an 8-byte word that is always accessed as a whole. Clocks hold, for each
 * thread, how many of its events must have happened for its last access. */
struct part {
	uint8_t mask; /* its bytes; the parts of a word are disjoint */
	bool written_plainly;
	clock_vector plain_reads, plain_writes, atomic_reads, atomic_writes;
};

enum { NO_ATOMIC = 0, INSIDE = 0xff };

struct word {
	uint32_t run;	  /* run in which the clocks were set */
	uint32_t freed;	  /* run in which it was freed */
	uint32_t guard;	  /* run in which it was a gap between blocks */
	uint32_t between; /* run in which it may distinguish threads: symmetry.c */
	uint8_t parts;
	uint8_t width[8]; /* width of the atomic that begins here; INSIDE; NO_ATOMIC */
	uint8_t location[8];
	struct part part[8];
};

struct place {
	struct word *word; /* NULL: not tracked */
	char *address;	   /* of the word */
	enum memory_state state;
	int owner; /* the thread whose stack contains it; -1 = none */
};

struct place place_find(struct memory *m, const void *p);
/* The next part of a word that overlaps these bytes, after splitting; NULL at the end. */
struct part *word_part(struct word *word, uint8_t mask, int *from);

/* Registers the program's static variables; once, after loading. */
void memory_add_static(struct memory *m, char *start, size_t size);
/* Takes their current values as the initial ones. */
void memory_keep(struct memory *m);
/* Allocates for the program: as memory_allocate, but never NULL. */
void *program_allocate(size_t size, size_t alignment, const void *site);
size_t memory_block_size(struct memory *m, const void *p); /* 0: no live block */
bool memory_block_freed(struct memory *m, const void *p);
/* The first block that is not freed and not reachable from static variables. */
const void *memory_leak(struct memory *m);
/* The call site that allocated a block. */
void memory_set_site(struct memory *m, const void *p, const void *site);
const void *memory_site(struct memory *m, const void *p);
/* Kinds of shadow words, which belong to an address; a kind plus a multiple of OWN_KINDS
 * where there are several. */
enum own_kind {
	OWN_THREAD,
	OWN_MUTEX,
	OWN_COND,
	OWN_WAKES,
	OWN_RWLOCK,
	OWN_ONCE,
	OWN_SPIN,
	OWN_SEMAPHORE,
	OWN_ARRIVALS,
	OWN_GATE,
	OWN_TIMES_MADE, /* no event reads or writes it */
	OWN_ERRNO,
	OWN_KINDS
};
uint64_t *memory_shadow(struct memory *m, const void *p, int number);
/* Numbers an atomic. */
uint8_t memory_name_atomic(struct memory *m, char *address, int width);
int memory_width(struct memory *m, uint8_t location);

/* accesses.c: the location of an atomic, and its accesses. */
uint8_t access_atomic_at(struct search *s, const void *p, int width, const void *site);
void access_atomic_done(struct search *s, const void *p, int width, bool write);
void access_plain_range(struct search *s, const void *p, size_t size, bool write,
			const void *site);
/* Checks only that it is live: for what the C library does with an object. */
void access_lives(struct search *s, const void *p, const void *site);

/* events.c */

struct access {
	enum operation operation;
	const void *p;
	int width;
	int order, failure;
	uint64_t expected; /* CAS and waits */
	uint64_t operand;
	const void *site;
	bool own; /* a shadow word: memory_shadow */
};

uint64_t event_read(const struct access *a, bool *wrote);
void event_store(const struct access *a);
void event_fence(int order, const void *site);
bool event_choose(const void *site); /* explores both results */

/* Shorthand for shadow words, which are 8 bytes wide. */
uint64_t own_read(enum operation operation, uint64_t *word, uint64_t expected,
		  uint64_t operand, int order, const void *site, bool *wrote);
void own_store(uint64_t *word, uint64_t value, int order, const void *site);
/* Blocks until the word is written, then reads it. */
uint64_t own_until_written(uint64_t *word, const void *site);

/* loops.c */

/* The callee-saved registers and the stack pointer at the entry. */
struct registers {
	uint64_t kept[20];
	char *stack;
};
extern struct registers program_registers;
extern bool program_registers_fresh;

/* Before a read: stops here if the thread is in a waiting loop. Returns the wait that
 * this read is known to be, for event.waits. */
uint8_t loops_before_read(struct search *s, const void *site);
/* Report that the thread did something that may change its loop. */
void loops_wrote(void);
void loops_read_plainly(void);
void loops_start(void);	 /* a new run */
void loops_forget(void); /* a new program */

/* threads.c */
void threads_reset(void);  /* a new run */
void threads_forget(void); /* a new program */
int threads_wanted(void);
void threads_run(const struct subject *subject, int thread);
void threads_finished(void);

#endif /* PROGRAM_H */
