/* SPDX-License-Identifier: MIT */
/*
 * Small programs with known answers, as anybody would write them. Each comes twice:
 * check_NAME counts executions, check_NAME_never claims that an outcome does not occur.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define RLX memory_order_relaxed
#define ACQ memory_order_acquire
#define REL memory_order_release
#define SC  memory_order_seq_cst

static atomic_int x, y, z;
static int a, b, c, d;

typedef void thread_body(void);

static void *call(void *body)
{
	((thread_body *)body)();
	return NULL;
}

static void together(thread_body **bodies, int n)
{
	pthread_t threads[4];
	int i;

	for (i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, call, (void *)bodies[i]);
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

/* clang-format off */
#define LITMUS(name, never, ...)                                                     \
	void check_##name(void)                                                      \
	{                                                                            \
		thread_body *bodies[] = {__VA_ARGS__};                               \
		together(bodies, sizeof(bodies) / sizeof(*bodies));                  \
	}                                                                            \
	void check_##name##_never(void)                                              \
	{                                                                            \
		check_##name();                                                      \
		assert(!(never));                                                    \
	}

/* Store buffering: both miss the other's store. */
static void sb_left(void) { atomic_store_explicit(&x, 1, RLX); a = atomic_load_explicit(&y, RLX); }
static void sb_right(void) { atomic_store_explicit(&y, 1, RLX); b = atomic_load_explicit(&x, RLX); }
LITMUS(sb, a == 0 && b == 0, sb_left, sb_right)

static void sb_sc_left(void) { atomic_store(&x, 1); a = atomic_load(&y); }
static void sb_sc_right(void) { atomic_store(&y, 1); b = atomic_load(&x); }
LITMUS(sb_sc, a == 0 && b == 0, sb_sc_left, sb_sc_right)

static void sb_fence_left(void) { atomic_store_explicit(&x, 1, RLX); atomic_thread_fence(SC); a = atomic_load_explicit(&y, RLX); }
static void sb_fence_right(void) { atomic_store_explicit(&y, 1, RLX); atomic_thread_fence(SC); b = atomic_load_explicit(&x, RLX); }
LITMUS(sb_fences, a == 0 && b == 0, sb_fence_left, sb_fence_right)

/* A full fence on one side only is none. */
LITMUS(sb_one_fence, a == 0 && b == 0, sb_fence_left, sb_right)

/* Updates drain x86's buffers, whatever order they name; C11 wants more. */
static void sb_rmw_left(void) { atomic_exchange_explicit(&x, 1, RLX); a = atomic_load_explicit(&y, RLX); }
static void sb_rmw_right(void) { atomic_exchange_explicit(&y, 1, RLX); b = atomic_load_explicit(&x, RLX); }
LITMUS(sb_updates, a == 0 && b == 0, sb_rmw_left, sb_rmw_right)

/* Message passing: the flag is seen, and not what it announces. */
static void mp_write(void) { atomic_store_explicit(&x, 1, RLX); atomic_store_explicit(&y, 1, RLX); }
static void mp_read(void) { a = atomic_load_explicit(&y, RLX); b = atomic_load_explicit(&x, RLX); }
LITMUS(mp, a == 1 && b == 0, mp_write, mp_read)

static void mp_release(void) { atomic_store_explicit(&x, 1, RLX); atomic_store_explicit(&y, 1, REL); }
static void mp_acquire(void) { a = atomic_load_explicit(&y, ACQ); b = atomic_load_explicit(&x, RLX); }
LITMUS(mp_release_acquire, a == 1 && b == 0, mp_release, mp_acquire)
LITMUS(mp_release_only, a == 1 && b == 0, mp_release, mp_read)
LITMUS(mp_acquire_only, a == 1 && b == 0, mp_write, mp_acquire)

static void mp_fence_write(void) { atomic_store_explicit(&x, 1, RLX); atomic_thread_fence(REL); atomic_store_explicit(&y, 1, RLX); }
static void mp_fence_read(void) { a = atomic_load_explicit(&y, RLX); atomic_thread_fence(ACQ); b = atomic_load_explicit(&x, RLX); }
LITMUS(mp_fences, a == 1 && b == 0, mp_fence_write, mp_fence_read)

/* Release sequences: an update carries one on, a store of another thread ends it. */
static void add_y(void) { atomic_fetch_add_explicit(&y, 1, RLX); }
static void store_y_2(void) { atomic_store_explicit(&y, 2, RLX); }
LITMUS(release_sequence, a == 2 && b == 0, mp_release, add_y, mp_acquire)
LITMUS(release_sequence_ended, a == 2 && b == 0, mp_release, store_y_2, mp_acquire)

/* Load buffering, which RC11 and we leave out. */
static void lb_left(void) { a = atomic_load_explicit(&x, RLX); atomic_store_explicit(&y, 1, RLX); }
static void lb_right(void) { b = atomic_load_explicit(&y, RLX); atomic_store_explicit(&x, 1, RLX); }
LITMUS(lb, a == 1 && b == 1, lb_left, lb_right)

/* Two readers disagree on the order of two independent writes. */
static void iriw_x(void) { atomic_store_explicit(&x, 1, REL); }
static void iriw_y(void) { atomic_store_explicit(&y, 1, REL); }
static void iriw_xy(void) { a = atomic_load_explicit(&x, ACQ); b = atomic_load_explicit(&y, ACQ); }
static void iriw_yx(void) { c = atomic_load_explicit(&y, ACQ); d = atomic_load_explicit(&x, ACQ); }
LITMUS(iriw, a == 1 && b == 0 && c == 1 && d == 0, iriw_x, iriw_y, iriw_xy, iriw_yx)

static void iriw_sc_x(void) { atomic_store(&x, 1); }
static void iriw_sc_y(void) { atomic_store(&y, 1); }
static void iriw_sc_xy(void) { a = atomic_load(&x); b = atomic_load(&y); }
static void iriw_sc_yx(void) { c = atomic_load(&y); d = atomic_load(&x); }
LITMUS(iriw_sc, a == 1 && b == 0 && c == 1 && d == 0, iriw_sc_x, iriw_sc_y, iriw_sc_xy, iriw_sc_yx)

/* Write to read causality: who heard it from another has not seen it. */
static void wrc_pass(void) { a = atomic_load_explicit(&x, RLX); if (a) atomic_store_explicit(&y, 1, RLX); }
static void wrc_see(void) { b = atomic_load_explicit(&y, RLX); c = atomic_load_explicit(&x, RLX); }
static void wrc_write(void) { atomic_store_explicit(&x, 1, RLX); }
LITMUS(wrc, a == 1 && b == 1 && c == 0, wrc_write, wrc_pass, wrc_see)

static void wrc_pass_rel(void) { a = atomic_load_explicit(&x, ACQ); if (a) atomic_store_explicit(&y, 1, REL); }
static void wrc_see_acq(void) { b = atomic_load_explicit(&y, ACQ); c = atomic_load_explicit(&x, RLX); }
LITMUS(wrc_release, a == 1 && b == 1 && c == 0, iriw_x, wrc_pass_rel, wrc_see_acq)

/* Two threads write two words in opposite order, and each write loses once. */
static void w22_left(void) { atomic_store_explicit(&x, 1, RLX); atomic_store_explicit(&y, 2, RLX); }
static void w22_right(void) { atomic_store_explicit(&y, 1, RLX); atomic_store_explicit(&x, 2, RLX); }
LITMUS(two_plus_two_w, atomic_load(&x) == 1 && atomic_load(&y) == 1, w22_left, w22_right)

/* Coherence: nobody reads a word backwards, or forgets what he wrote. */
static void corr_read(void) { a = atomic_load_explicit(&x, RLX); b = atomic_load_explicit(&x, RLX); }
LITMUS(corr, a == 1 && b == 0, wrc_write, corr_read)
static void cowr_left(void) { atomic_store_explicit(&x, 1, RLX); a = atomic_load_explicit(&x, RLX); }
static void cowr_right(void) { atomic_store_explicit(&x, 2, RLX); }
LITMUS(cowr, a == 2 && atomic_load(&x) == 1, cowr_left, cowr_right)

/* ISA2: causality over three threads. */
static void isa2_middle(void) { a = atomic_load_explicit(&y, ACQ); atomic_store_explicit(&z, a, REL); }
static void isa2_last(void) { b = atomic_load_explicit(&z, ACQ); c = atomic_load_explicit(&x, RLX); }
LITMUS(isa2, b == 1 && c == 0, mp_release, isa2_middle, isa2_last)

/* R and S, the remaining two with two threads. */
static void r_left(void) { atomic_store_explicit(&x, 1, REL); atomic_store_explicit(&y, 1, REL); }
static void r_right(void) { atomic_store_explicit(&y, 2, REL); a = atomic_load_explicit(&x, ACQ); }
LITMUS(r, atomic_load(&y) == 2 && a == 0, r_left, r_right)
static void s_left(void) { atomic_store_explicit(&x, 2, RLX); atomic_store_explicit(&y, 1, REL); }
static void s_right(void) { a = atomic_load_explicit(&y, ACQ); atomic_store_explicit(&x, 1, RLX); }
LITMUS(s, a == 1 && atomic_load(&x) == 2, s_left, s_right)

/* Counters: an update is never lost, a load and a store are. */
static void add_x(void) { atomic_fetch_add_explicit(&x, 1, RLX); }
LITMUS(counter, atomic_load(&x) != 3, add_x, add_x, add_x)
static void add_in_two(void) { int n = atomic_load(&x); atomic_store(&x, n + 1); }
LITMUS(counter_in_two_steps, atomic_load(&x) != 2, add_in_two, add_in_two)
static void add_by_cas(void) { int n = atomic_load_explicit(&x, RLX); while (!atomic_compare_exchange_weak_explicit(&x, &n, n + 1, RLX, RLX)) ; }
LITMUS(counter_by_cas, atomic_load(&x) != 2, add_by_cas, add_by_cas)
