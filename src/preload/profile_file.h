/* SPDX-License-Identifier: MIT */
/*
 * What the interposer writes in profile mode and `pawl profile` reads, while the
 * program runs and when it is gone: one file for each process, mapped by both. So
 * what was seen before a crash or a kill is kept.
 *
 * The folder is named by PAWL_PROFILE. Numbers are written by one thread, or added to
 * atomically; they order nothing, and a reader may see one before another. A slot of
 * a table is taken by its key. Nothing is ever removed.
 *
 * A place is an address in the program as it can be told later, when libraries may
 * have come and gone: the number of a module in the upper 16 bits and the distance
 * from its load address below; module 0 is none, and the address is absolute: heap,
 * stack, or code that was made at run time.
 */
#ifndef PAWL_PRELOAD_PROFILE_FILE_H
#define PAWL_PRELOAD_PROFILE_FILE_H

#include <pawl/word.h>

#define PROFILE_MAGIC 0x31666f72706c7761u /* "awlprof1", little end first */

enum {
	PROFILE_PATH = 256,
	PROFILE_MODULES = 1024,
	PROFILE_THREADS = 4096,
	PROFILE_HELD = 32,   /* locks that a thread holds and we know of */
	PROFILE_REPLIES = 8, /* the last stacks at which a thread let go */
	PROFILE_LOCKS = 16384,
	PROFILE_BUCKETS = 40, /* of a histogram: the binary logarithm of nanoseconds */
	PROFILE_STACKS = 16384,
	PROFILE_WORDS = 1 << 19, /* all stacks together */
	PROFILE_FRAMES = 64,	 /* of one stack; the outermost are left off */
	PROFILE_SAMPLE_BITS = 15,
	PROFILE_SAMPLES = 1 << PROFILE_SAMPLE_BITS,
	PROFILE_INITS = 16384,
	PROFILE_EDGES = 8192,
	PROFILE_GATES = 6, /* other locks held when an edge was seen */
	PROFILE_MODULE_SHIFT = 48,
};

/* What can be waited for. */
enum profile_kind {
	PROFILE_MUTEX = 1,
	PROFILE_SPIN,
	PROFILE_READ,  /* a read-write lock, to read */
	PROFILE_WRITE, /* and to write */
	PROFILE_COND,
	PROFILE_KINDS
};

struct profile_module {
	pawl_atomic64 start; /* of its memory; 0 if the slot is free */
	pawl_atomic64 end, bias;
	pawl_atomic64 named; /* 1 when the path stands there */
	char path[PROFILE_PATH];
};

/* A lock that a thread holds, and the return address of the call that took it. */
struct profile_held {
	pawl_atomic64 lock, site;
};

/* A stack at which a thread let go of a lock that somebody asked about. */
struct profile_reply {
	pawl_atomic64 lock, stack;
};

/* What a thread does. Written by it alone; but others ask it, and clear what they let
 * go of in its place. */
struct profile_thread {
	/* The path of a lock that is free touches this line, and another one if the
	 * thread holds more than one lock. */
	PAWL_SEQUESTER pawl_atomic64 depth; /* locks held */
	pawl_atomic64 asked;	 /* a lock whose holder's stack somebody wants */
	pawl_atomic64 timed;	 /* the held lock whose time is taken, or 0 */
	pawl_atomic64 pending;	 /* a lock, if a wait for it is not written down yet */
	pawl_atomic64 countdown; /* acquisitions until the next that is noted */
	pawl_atomic64 number;	 /* of this record, from 1 on; 0 if it is free */
	struct profile_held held[PROFILE_HELD];
	pawl_atomic64 drawn;	  /* what the countdown began from */
	pawl_atomic64 drawn_mean; /* what that was on average: what a note stands for */
	pawl_atomic64 noted;	  /* acquisitions before the countdown began */
	pawl_atomic64 id;	  /* the kernel's, of the thread */
	pawl_atomic64 owner;	  /* address of its storage, which mutexes name */
	pawl_atomic64 timed_kind, timed_since;
	pawl_atomic64 timed_weight; /* acquisitions that it stands for */
	/* The wait, while it lasts and until it is written down. */
	pawl_atomic64 waiting_for; /* address; 0 if it does not wait */
	pawl_atomic64 kind;
	pawl_atomic64 since, until; /* nanoseconds */
	pawl_atomic64 site;	    /* return address of the call that waits */
	pawl_atomic64 stack;	    /* its stack, 0 if that is not sampled */
	pawl_atomic64 weight;	    /* waits that it stands for, if it is */
	pawl_atomic64 holder;	    /* number of the thread that had it; 0: unknown */
	pawl_atomic64 holder_site;
	pawl_atomic64 holder_replies; /* how many it had given by then */
	pawl_atomic64 skip;	      /* waits until the next that is sampled */
	pawl_atomic64 drawn_period;   /* what the next sample stands for */
	pawl_atomic64 unsaid_ns;      /* waits that the file's sum lacks */
	pawl_atomic64 coin;	      /* state of its random numbers */
	pawl_atomic64 replied;	      /* replies given */
	struct profile_reply replies[PROFILE_REPLIES];
};

/* Numbers of one lock. Waits are all counted; acquisitions and holds are sampled, and
 * each sample stands for its weight. */
struct profile_lock {
	pawl_atomic64 key; /* address and kind; 0 if the slot is free */
	pawl_atomic64 address, kind;
	pawl_atomic64 place; /* of the address */
	pawl_atomic64 init;  /* place of the call that initialised it, or 0 */
	pawl_atomic64 site;  /* place of the first call that waited, or took it */
	pawl_atomic64 wait_ns, longest_ns;
	pawl_atomic64 acquisitions;
	pawl_atomic64 holds, hold_ns, hold_longest_ns;
	pawl_atomic64 histogram[PROFILE_BUCKETS]; /* of waits, each in one */
};

/* Waits of one kind of stack for one kind of holder. */
struct profile_sample {
	pawl_atomic64 key; /* 0 if the slot is free */
	pawl_atomic64 lock;
	pawl_atomic64 waiter, holder; /* stacks; holder is 0 if it is not known */
	pawl_atomic64 waits, wait_ns; /* with their weight */
	pawl_atomic64 longest_ns;
};

/* The last call that initialised what is at an address: an approximate memory. */
struct profile_init {
	pawl_atomic64 lock, site;
};

/* `second` was taken while `first` was held. */
struct profile_edge {
	pawl_atomic64 key; /* 0 if the slot is free */
	pawl_atomic64 first, second;
	pawl_atomic64 first_place, second_place; /* of the locks */
	pawl_atomic64 first_site;		 /* place where first was taken */
	pawl_atomic64 stack;			 /* at which second was */
	pawl_atomic64 thread;			 /* the first to do so */
	pawl_atomic64 threads;			 /* 2 if others did, too */
	pawl_atomic64 gates[PROFILE_GATES];	 /* also held, the first time */
};

/* What found no room. */
enum profile_loss {
	PROFILE_LOST_LOCKS,   /* waits and acquisitions of locks that are not known */
	PROFILE_LOST_THREADS, /* times that one of them was looked for */
	PROFILE_LOST_HELD,    /* times that held locks were forgotten */
	PROFILE_LOST_STACKS,
	PROFILE_LOST_SAMPLES,
	PROFILE_LOST_MODULES, /* frames in files that are not known */
	PROFILE_LOST_EDGES,
	PROFILE_LOSSES
};

struct profile_file {
	uint64_t magic, size;
	uint64_t process, began; /* nanoseconds on the monotonic clock */
	char program[PROFILE_PATH];
	pawl_atomic64 complete; /* 1 once all above is written */
	pawl_atomic64 period;	/* one in so many waits is sampled */
	pawl_atomic64 window, in_window;
	pawl_atomic64 words_used;
	pawl_atomic64 thread_count;
	pawl_atomic64 wait_ns; /* of all locks but not for signals, a little late */
	pawl_atomic64 lost[PROFILE_LOSSES];
	struct profile_module modules[PROFILE_MODULES]; /* the first stays free */
	struct profile_lock locks[PROFILE_LOCKS];	/* likewise */
	pawl_atomic64 stacks[PROFILE_STACKS];		/* where its words begin */
	pawl_atomic64 words[PROFILE_WORDS];		/* hash, length, places */
	struct profile_sample samples[PROFILE_SAMPLES];
	struct profile_init inits[PROFILE_INITS];
	struct profile_edge edges[PROFILE_EDGES];
	struct profile_thread threads[PROFILE_THREADS];
};

/* What a lock is told apart by. */
static inline uint64_t profile_key(const volatile void *lock, enum profile_kind kind)
{
	/* To read and to write is one lock. */
	if (kind == PROFILE_WRITE)
		kind = PROFILE_READ;
	return pawl_address(lock) ^ ((uint64_t)kind << 56);
}

/* Acquisitions of a thread so far. */
static inline uint64_t profile_acquisitions(const struct profile_thread *t)
{
	/* Relaxed: numbers. */
	return pawl_load_relaxed(&t->noted) + pawl_load_relaxed(&t->drawn) -
	       pawl_load_relaxed(&t->countdown);
}

#endif /* PAWL_PRELOAD_PROFILE_FILE_H */
