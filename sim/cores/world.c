/* SPDX-License-Identifier: MIT */
/*
 * The seam as the checked program sees it: a thread leaves its request in its task and
 * yields; the machine decides when it gets the result. Loads of words that no other
 * thread writes return at once (M5 of machine.c).
 *
 * This file runs on fibers whose stacks are copied: it must not be instrumented by
 * sanitizers.
 */
#include "world.h"

#include <sim/fiber.h>
#include <sim/runtime.h>

#include <stdarg.h>
#include <string.h>

enum { STACK_SIZE = 64 << 10, ARENA_SIZE = 64 << 10, SHARED = CORES_MAX_THREADS };

char machine_message[256];

static const struct cores_program *program;
static int current = -1; /* running thread; -1: the engine itself */
static int prepared;	 /* thread whose `prepare` runs before the start */
static uint64_t answer;	 /* result for the thread that is resumed */
static bool interrupt;	 /* instead of a result */

static struct sim_fiber *fibers[CORES_MAX_THREADS];
static void *storage[CORES_MAX_THREADS];
/* One arena for each thread, and one for set_up. */
static char arenas[CORES_MAX_THREADS + 1][ARENA_SIZE] __attribute__((aligned(128)));
static char *shared_arena;

static unsigned touched; /* set of stacks that other threads wrote to */

/* The thread whose stack contains p; -1: none. */
static int owner_of(const void *p)
{
	size_t size;
	int t;

	for (t = 0; t < program->threads; t++) {
		const char *stack;

		if (fibers[t] == NULL)
			break; /* before the first start */
		stack = sim_fiber_stack(fibers[t], &size);
		if ((const char *)p >= stack && (const char *)p < stack + size)
			return t;
	}
	return -1;
}

unsigned machine_touched(void)
{
	unsigned set = touched;

	touched = 0;
	return set;
}

/* Before a write to the stack of a suspended thread. */
static void touch(int owner, const void *p)
{
	size_t size;

	if ((const char *)p < (const char *)sim_fiber_live(fibers[owner], &size))
		cores_fail(VERDICT_FREED,
			   "a word of thread %d's stack is written, whose frame is gone",
			   owner);
	touched |= 1u << owner;
}

void world_write(uint64_t *word, uint64_t value)
{
	int owner = owner_of(word);

	if (owner >= 0) {
		touch(owner, word);
		*word = value;
	} else if (memory_track(word))
		*word = value;
	else
		cores_fail(VERDICT_ASSERTION, "more than %d words are written",
			   MAX_TRACKED);
}

/* Clears the stack below: leftovers of returned calls would become part of later frames
 * and make equal states differ. */
static __attribute__((noinline)) void sweep(void)
{
	uint64_t below[64];

	memset(below, 0, sizeof(below));
	__asm__ volatile("" : : "r"(below) : "memory");
}

static __attribute__((noinline)) void yield(void)
{
	sim_fiber_yield(fibers[current]);
}

/* Waits for the result of the request in the running thread's task. The request is not on
 * the stack, for the same reason. */
static __attribute__((noinline)) uint64_t await_answer(void)
{
	sweep();
	for (;;) {
		struct request request;

		yield();
		if (!interrupt)
			break;
		interrupt = false;
		request = machine.tasks[current].request;
		machine.tasks[current].whole = false;
		program->handler(program->context, current);
		machine.tasks[current].whole = false;
		machine.tasks[current].request = request;
	}
	sweep();
	return answer;
}

static inline __attribute__((always_inline)) uint64_t ask(struct request request)
{
	machine.tasks[current].request = request;
	return await_answer();
}

int cores_thread(void)
{
	return current;
}

struct sim_fiber *cores_fiber(void)
{
	return current < 0 ? NULL : fibers[current];
}

int cores_core(void)
{
	return current < 0 ? 0 : machine.tasks[current].core;
}

void cores_fail(enum verdict verdict, const char *format, ...)
{
	va_list arguments;

	if (machine.verdict == VERDICT_PASSED) {
		va_start(arguments, format);
		vsnprintf(machine_message, sizeof(machine_message), format, arguments);
		va_end(arguments);
		machine.verdict = verdict;
	}
	if (current >= 0)
		for (;;)
			ask((struct request){.kind = REQUEST_NONE});
}

/* Mutants dereference wild pointers. */
static void somewhere(const void *p)
{
	if ((uintptr_t)p < 1 << 16)
		cores_fail(VERDICT_ASSERTION,
			   "a thread uses an address that is nobody's");
}

static uint64_t load(const uint64_t *p, int order, const void *site)
{
	somewhere(p);
	if (current < 0)
		return *p;
	if (!machine_naive && !machine_all_shared &&
	    memory_is_private(p, current)) /* M5 */
		return machine_own(current, p);
	return ask(
		(struct request){REQUEST_LOAD, order, 0, 0, (uint64_t *)p, 0, 0, site});
}

static void store(uint64_t *p, uint64_t value, int order, const void *site)
{
	if (current < 0) {
		world_write(p, value);
		return;
	}
	somewhere(p);
	memory_note_writer(p, current);
	ask((struct request){REQUEST_STORE, order, 0, 0, p, value, 0, site});
}

uint64_t world_update(const struct request *r, uint64_t old)
{
	switch (r->kind) {
	case REQUEST_EXCHANGE:
		return r->value;
	case REQUEST_ADD:
		return old + r->value;
	case REQUEST_LIE_DOWN:
		return old | r->value;
	case REQUEST_GET_UP:
		return old & ~r->value;
	default:
		return old == r->value ? r->to : old;
	}
}

bool world_wait_is_over(const struct request *r, uint64_t value)
{
	if (r->kind == REQUEST_SLEEP)
		return (value & r->value) == 0;
	switch (r->order) {
	case SIM_AWAIT_EQ:
	case SIM_AWAIT_EQ_RMW:
	case SIM_AWAIT_CAS:
		return value == r->value;
	default:
		return value != r->value;
	}
}

static uint64_t modify(struct request request)
{
	uint64_t old;

	if (current >= 0) {
		somewhere(request.word);
		memory_note_writer(request.word, current);
		return ask(request);
	}
	old = *request.word;
	world_write(request.word, world_update(&request, old));
	return old;
}

static uint64_t exchange(uint64_t *p, uint64_t value, int order, const void *site)
{
	return modify((struct request){REQUEST_EXCHANGE, order, 0, 0, p, value, 0, site});
}

static bool cas(uint64_t *p, uint64_t from, uint64_t to, int order, int failure_order,
		const void *site)
{
	return modify((struct request){REQUEST_CAS, order, failure_order, 0, p, from, to,
				       site}) == from;
}

static uint64_t fetch_add(uint64_t *p, uint64_t n, int order, const void *site)
{
	return modify((struct request){REQUEST_ADD, order, 0, 0, p, n, 0, site});
}

static void fence(enum sim_fence kind, const void *site)
{
	struct request request = {
		.kind = REQUEST_FENCE, .order = (int)kind, .site = site};

	if (current < 0)
		return;
	if (machine_model == MODEL_WEAK && kind == SIM_FENCE_LIGHT)
		views_light_fence(current, machine.tasks[current].core);
	else if (machine_model == MODEL_WEAK && kind > SIM_FENCE_FULL)
		cores_fail(VERDICT_ASSERTION, "a fence that is not full, which the core "
					      "model does not follow");
	if (kind != SIM_FENCE_HEAVY && kind != SIM_FENCE_FULL)
		return;
	if (kind == SIM_FENCE_HEAVY) {
		request.kind = REQUEST_BARRIER;
		request.behind = (1u << program->cpus) - 1;
	}
	ask(request);
}

static void fence_cpu(unsigned cpu, const void *site)
{
	if (current >= 0)
		ask((struct request){
			.kind = REQUEST_BARRIER,
			.behind = cpu < (unsigned)program->cpus ? 1u << cpu : 0,
			.site = site,
		});
}

static void begin_sequence(void)
{
	if (current >= 0)
		ask((struct request){.kind = REQUEST_BEGIN});
}

static bool whole_sequence(void)
{
	return current < 0 || machine.tasks[current].whole;
}

/* A sequence is assembly, which restrains the compiler as light fences do. */
static bool store_in_sequence(uint64_t *p, uint64_t value, int order, bool last,
			      const void *site)
{
	bool whole;

	if (current < 0) {
		world_write(p, value);
		return true;
	}
	somewhere(p);
	memory_note_writer(p, current);
	whole = ask((struct request){REQUEST_COMMIT, order, !last, 0, p, value, 0,
				     site}) != 0;
	if (machine_model == MODEL_WEAK)
		views_light_fence(current, machine.tasks[current].core);
	return whole;
}

static unsigned cpu(const void *site)
{
	if (current < 0)
		return 0;
	return (unsigned)ask((struct request){.kind = REQUEST_CPU, .site = site});
}

static uint64_t await(enum sim_await kind, uint64_t *p, uint64_t value, uint64_t to,
		      int order, const void *site)
{
	if (current < 0)
		return *p;
	if (kind == SIM_AWAIT_CAS)
		memory_note_writer(p, current);
	return ask(
		(struct request){REQUEST_AWAIT, (int)kind, order, 0, p, value, to, site});
}

/*
 * The futex. The kernel orders sleepers and wakers of a word by the lock of its hash
 * bucket; here that is a shadow word with a bit for each thread that sleeps.
 */
enum { MAX_BEDS = 64 };

static struct bed {
	const uint64_t *word;
	uint64_t asleep;
} beds[MAX_BEDS];
static int bed_count;

static uint64_t *bed_of(const uint64_t *word)
{
	int i;

	for (i = 0; i < bed_count; i++)
		if (beds[i].word == word)
			return &beds[i].asleep;
	if (bed_count == MAX_BEDS) {
		cores_fail(VERDICT_LIMIT, "threads sleep on more than %d words",
			   MAX_BEDS);
		return &beds[0].asleep;
	}
	beds[bed_count].word = word;
	return &beds[bed_count++].asleep;
}

static bool sleep_on(const uint64_t *p, uint64_t expected, bool timed, const void *site)
{
	uint64_t me = (uint64_t)1 << current;

	ask((struct request){REQUEST_LIE_DOWN, SIM_ACQ_REL, 0, 0, bed_of(p), me, 0,
			     site});
	if ((uint32_t)ask((struct request){REQUEST_LOAD, SIM_RELAXED, 0, 0, (uint64_t *)p,
					   0, 0, site}) != (uint32_t)expected) {
		ask((struct request){REQUEST_GET_UP, SIM_ACQ_REL, 0, 0, bed_of(p), me, 0,
				     site});
		return true;
	}
	return ask((struct request){REQUEST_SLEEP, SIM_ACQUIRE, timed, 0, bed_of(p), me,
				    0, site}) != SLEPT_ENOUGH;
}

static void wake(const uint64_t *p, const void *site)
{
	if (current >= 0)
		ask((struct request){REQUEST_EXCHANGE, SIM_ACQ_REL, 0, 0, bed_of(p), 0, 0,
				     site});
}

static void plain(const void *p, size_t size, bool write, const void *site)
{
	uintptr_t word = (uintptr_t)p & ~(uintptr_t)7, end = (uintptr_t)p + size;

	(void)site;
	if (!write)
		return;
	for (; word < end; word += 8) {
		if (machine_model == MODEL_WEAK)
			views_overwrite((uint64_t *)word);
		if (current < 0 || owner_of((void *)word) != current)
			world_write((uint64_t *)word, *(uint64_t *)word);
	}
	if (current >= 0)
		sweep();
}

static void *self(void)
{
	return storage[current < 0 ? prepared : current];
}

static bool one_in(unsigned n, const void *site)
{
	(void)n;
	return current >= 0 &&
	       ask((struct request){.kind = REQUEST_COIN, .site = site}) != 0;
}

bool cores_fork(void)
{
	return ask((struct request){.kind = REQUEST_FORK}) != FORK_PARENT;
}

void cores_await_quiet(void)
{
	ask((struct request){.kind = REQUEST_QUIET});
}

void *cores_allocate(size_t size, size_t alignment)
{
	int arena = current < 0 ? SHARED : current;
	char **next = current < 0 ? &shared_arena : &machine.tasks[current].arena;
	void *block = memory_carve(next, size, alignment);

	if (*next > arenas[arena] + ARENA_SIZE) {
		cores_fail(VERDICT_ASSERTION, "more than %d bytes are allocated",
			   ARENA_SIZE);
		return arenas[arena]; /* the program has failed already */
	}
	return block;
}

static void release(void *p, const void *site)
{
	(void)p, (void)site; /* memory is never reused */
}

static uint64_t serial(void)
{
	struct task *task = &machine.tasks[current < 0 ? 0 : current];

	return ++task->serial * CORES_MAX_THREADS + (uint64_t)(task - machine.tasks);
}

static void die(const char *sentence, const void *site) __attribute__((noreturn));
static void die(const char *sentence, const void *site)
{
	(void)site;
	cores_fail(VERDICT_ASSERTION, "%s", sentence);
	__builtin_unreachable();
}

static const struct sim_engine engine = {
	.load = load,
	.store = store,
	.exchange = exchange,
	.cas = cas,
	.fetch_add = fetch_add,
	.fence = fence,
	.fence_cpu = fence_cpu,
	.cpu = cpu,
	.begin_sequence = begin_sequence,
	.whole_sequence = whole_sequence,
	.store_in_sequence = store_in_sequence,
	.await = await,
	.sleep = sleep_on,
	.wake = wake,
	.plain = plain,
	.self = self,
	.one_in = one_in,
	.allocate = cores_allocate,
	.release = release,
	.serial = serial,
	.die = die,
};

void cores_label(const void *p, size_t size, const char *name,
		 void (*show)(uint64_t value, char *to, size_t size))
{
	memory_name_block(p, size, name, show);
}

void cores_ignore(const void *p, size_t size)
{
	memory_ignore(p, size);
}

static void resume(int thread)
{
	current = thread;
	sim_fiber_resume(fibers[thread]);
	current = -1;
}

void world_answer(int thread, uint64_t value)
{
	answer = value;
	resume(thread);
}

void world_interrupt(int thread)
{
	interrupt = true;
	resume(thread);
}

static void run_thread(void *argument)
{
	int me = (int)(intptr_t)argument;

	program->thread(program->context, me);
	for (;;)
		ask((struct request){.kind = REQUEST_NONE});
}

bool world_start(const struct cores_program *p)
{
	int t;

	program = p;
	sim_engine = &engine;
	memset(arenas, 0, sizeof(arenas));
	bed_count = 0;
	touched = 0;
	shared_arena = arenas[SHARED];
	sim_reset();
	for (t = 0; t < program->threads; t++) {
		machine.tasks[t].arena = arenas[t];
		storage[t] = memory_carve(&machine.tasks[t].arena, sim_thread_size(),
					  128);
		if (fibers[t] == NULL)
			fibers[t] = sim_fiber_new(STACK_SIZE);
		if (fibers[t] == NULL) {
			cores_fail(VERDICT_LIMIT, "no memory for a stack");
			return false;
		}
	}
	program->set_up(program->context);
	for (t = 0; t < program->threads && program->prepare != NULL; t++) {
		prepared = t;
		program->prepare(program->context, t);
	}
	for (t = 0; t < program->threads; t++) {
		sim_fiber_start(fibers[t], run_thread, (void *)(intptr_t)t);
		resume(t);
	}
	return machine.verdict == VERDICT_PASSED;
}

void world_stop(void)
{
	memory_forget_words();
	sim_engine = NULL;
}

const void *machine_stack(int thread, size_t *size)
{
	return sim_fiber_live(fibers[thread], size);
}

void machine_put_stack(int thread, const void *live, size_t size)
{
	sim_fiber_put(fibers[thread], live, size);
}
