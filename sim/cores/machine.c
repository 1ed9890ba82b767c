/* SPDX-License-Identifier: MIT */
/*
 * The machine, and the seam as the checked program sees it.
 *
 * Each core is an x86 core as x86-TSO describes it (Sewell et al., CACM 2010): stores
 * wait in a FIFO buffer, loads look there first, and read-modify-writes and full fences
 * drain it. The kernel executes a full barrier at every context switch, as membarrier(2)
 * requires, so a thread that is preempted or migrates leaves nothing in a buffer. A heavy
 * fence drains the buffer of each core that it targets, each at its own moment between
 * call and return, and aborts the restartable sequence that a thread is in there. So does
 * a context switch or a signal. A light fence is no step: it restrains the compiler only,
 * and requests are made in program order anyway.
 *
 * With weak memory there are views instead of buffers (views.h): a step reads any write
 * that its thread may see, a context switch and a barrier are full fences somewhere
 * between two light fences, and a thread that asks for its core gets any core that it has
 * been on since its last light fence. M3 does not apply there: a thread may migrate
 * before any step.
 *
 * Reductions, none of which loses a behaviour:
 *
 *   M1  A core is idle only before its first thread. Later, a core whose thread takes no
 *       step serves as well, since buffers drain by themselves.
 *   M2  A thread migrates only to take a step on the new core at once. Until that step, the
 *       migration does nothing that draining could not do.
 *   M3  A thread on a core migrates only before it asks for its core, stores, or begins a
 *       sequence: only these depend on the core. Before any other step the migration can
 *       be delayed: draining can do what it drains, and another thread that wants the core
 *       in the meantime can preempt this one. A thread without a core takes any core for
 *       any step.
 *   M4  The last event of a barrier is its return, and an empty buffer is drained at once:
 *       reaching a core later only makes the barrier stronger.
 *   M5  A load of a word that no other thread ever writes is no step: it reads the same
 *       value whenever it happens. The search finds out which words these are: when a
 *       thread writes a word that another thread has read in this way, the search starts
 *       again with that word marked as shared (memory.h).
 *   M6  With a CPU for each thread, a step that no other thread can observe or influence
 *       happens at once: a coin flip, a fence on an empty buffer. A store into the buffer
 *       is no such step: it matters whether a barrier finds it there.
 *   M7  A thread that is preempted and returns to its core, with no other thread there in
 *       between, is explored only before a store in a sequence. Everything else that the
 *       preemption does, draining can do; and a sequence that is aborted later has read
 *       more and written nothing that it would not have written.
 *
 * A timed sleep may end by itself at any moment; an untimed one does not.
 *
 * Long: all kinds of steps are here, because listing the choices must match performing
 * them.
 */
#include "world.h"

#include <sim/seam.h>

#include <string.h>

struct machine machine;
enum model machine_model;
bool machine_naive;
bool machine_all_shared;

static const struct cores_program *program;

static void drain_one(struct core *core)
{
	world_write(core->buffer[0].word, core->buffer[0].value);
	core->count--;
	memmove(core->buffer, core->buffer + 1, core->count * sizeof(core->buffer[0]));
}

static void drain(struct core *core)
{
	size_t i;

	for (i = 0; i < core->count; i++)
		world_write(core->buffer[i].word, core->buffer[i].value);
	core->count = 0;
}

static uint64_t view_from(int core, const uint64_t *word)
{
	const struct core *c = &machine.cores[core];
	int i;

	for (i = c->count - 1; i >= 0; i--)
		if (c->buffer[i].word == word)
			return c->buffer[i].value;
	return *word;
}

uint64_t machine_view(const struct choice *choice, const uint64_t *word)
{
	return machine_model == MODEL_WEAK ? views_value(word, choice->more)
					   : view_from(choice->core, word);
}

uint64_t machine_own(int thread, const uint64_t *word)
{
	int core = machine.tasks[thread].core;

	return core < 0 ? *word : view_from(core, word);
}

void machine_start(const struct cores_program *p)
{
	int t, c;

	program = p;
	memset(&machine, 0, sizeof(machine));
	views_start();
	for (c = 0; c < CORES_MAX_CPUS; c++)
		machine.cores[c].thread = -1;
	for (t = 0; t < CORES_MAX_THREADS; t++) {
		machine.tasks[t].core = -1;
		machine.tasks[t].request.kind = REQUEST_NONE;
	}
	for (t = 0; program->pinned && t < program->threads; t++) {
		machine.tasks[t].core = (int8_t)t;
		machine.cores[t].thread = (int8_t)t;
	}
	world_start(program);
}

void machine_stop(void)
{
	world_stop();
}

bool machine_finished(void)
{
	int t, c;

	for (t = 0; t < program->threads; t++)
		if (machine.tasks[t].request.kind != REQUEST_NONE)
			return false;
	for (c = 0; c < program->cpus; c++)
		if (machine.cores[c].count != 0)
			return false;
	return true;
}

void machine_run_finished(void)
{
	if (program->finished != NULL)
		program->finished(program->context);
}

/* The choices in a state. */

/* Whether a barrier that reaches this core changes anything. */
static bool is_busy(int core)
{
	const struct core *c = &machine.cores[core];

	return machine_model == MODEL_WEAK ? c->thread >= 0 : c->count > 0;
}

static int add_run(struct choice *choices, int count, int thread, int core)
{
	const struct task *task = &machine.tasks[thread];
	const struct request *r = &task->request;
	unsigned behind = r->behind;
	int c, reached = 0;

	if ((r->kind == REQUEST_AWAIT || r->kind == REQUEST_SLEEP) &&
	    !world_wait_is_over(r, view_from(core, r->word)))
		return count;
	if ((r->kind == REQUEST_STORE || r->kind == REQUEST_COMMIT) &&
	    core == task->core && machine.cores[core].count == BUFFER_SIZE)
		return count;
	if (r->kind == REQUEST_BARRIER) {
		for (c = 0; c < program->cpus; c++) {
			if (c == core || c == task->core || (behind >> c & 1) == 0 ||
			    !is_busy(c))
				continue;
			choices[count++] = (struct choice){CHOICE_RUN, (uint8_t)thread,
							   (uint8_t)core, (uint8_t)c};
			reached++;
		}
		if (reached > 0)
			return count;
	}
	choices[count++] = (struct choice){CHOICE_RUN, (uint8_t)thread, (uint8_t)core,
					   (uint8_t)core};
	return count;
}

/* Whether the thread may read this write, or insert its own right after it. */
static bool may_read(const struct request *r, int number)
{
	uint64_t value = views_value(r->word, number);
	bool newest = number == views_newest(r->word) ||
		      (program->stores_race && views_is_open(r->word, number));

	switch (r->kind) {
	case REQUEST_LOAD:
		return true;
	case REQUEST_SLEEP:
		return world_wait_is_over(r, value);
	case REQUEST_CAS: /* a failing CAS may read an old value */
		return newest || value != r->value;
	case REQUEST_AWAIT:
		return world_wait_is_over(r, value) &&
		       (newest || r->order < SIM_AWAIT_CAS || views.alone != 0);
	default:
		return newest || views.alone != 0;
	}
}

/* Adds one choice for each value that the thread may read. */
static int add_weak_run(struct choice *choices, int count, int thread, int core)
{
	const struct request *r = &machine.tasks[thread].request;
	unsigned seen = views.threads[thread].seen | 1u << core;
	struct choice choice = {CHOICE_RUN, (uint8_t)thread, (uint8_t)core, 0};
	int c, number;

	if (r->kind == REQUEST_BARRIER)
		return add_run(choices, count, thread, core);
	if (r->kind == REQUEST_CPU) {
		for (c = 0; c < program->cpus; c++) {
			choice.more = (uint8_t)c;
			if ((seen >> c & 1) != 0)
				choices[count++] = choice;
		}
		return count;
	}
	if (r->word == NULL) {
		choices[count++] = choice;
		return count;
	}
	for (number = views_newest(r->word); number >= views_oldest(thread, r->word);
	     number--) {
		choice.more = (uint8_t)number;
		if (may_read(r, number) && count < MAX_CHOICES)
			choices[count++] = choice;
	}
	return count;
}

static int add_runs(struct choice *choices, int count, int thread)
{
	const struct task *task = &machine.tasks[thread];
	enum request_kind kind = task->request.kind;
	int (*add)(struct choice *, int, int,
		   int) = machine_model == MODEL_WEAK ? add_weak_run : add_run;
	int c;

	if (kind == REQUEST_COIN) { /* needs no core */
		choices[count++] = (struct choice){CHOICE_RUN, (uint8_t)thread, 0, 0};
		choices[count++] = (struct choice){CHOICE_RUN, (uint8_t)thread, 0, 1};
		return count;
	}
	if (kind == REQUEST_FORK) {
		for (c = 0; c < FORK_WAYS - (machine_model != MODEL_TSO); c++)
			choices[count++] = (struct choice){CHOICE_RUN, (uint8_t)thread, 0,
							   (uint8_t)c};
		return count;
	}
	if (task->core >= 0)
		count = add(choices, count, thread, task->core);
	if (kind == REQUEST_COMMIT && task->whole) /* M7 */
		choices[count++] = (struct choice){CHOICE_MOVE, (uint8_t)thread,
						   (uint8_t)task->core, 0};
	if (program->pinned || (task->core >= 0 && kind != REQUEST_CPU &&
				kind != REQUEST_STORE && kind != REQUEST_COMMIT &&
				kind != REQUEST_BEGIN && machine_model != MODEL_WEAK))
		return count; /* M3 */
	for (c = 0; c < program->cpus; c++)
		if (c != task->core)
			count = add(choices, count, thread, c);
	return count;
}

/* Without reductions: arriving on an idle core, leaving it and the return of a barrier
 * are separate events. */
static int add_runs_naively(struct choice *choices, int count, int thread)
{
	const struct task *task = &machine.tasks[thread];
	uint8_t me = (uint8_t)thread, core = (uint8_t)task->core;
	unsigned behind = task->request.kind == REQUEST_BARRIER ? task->request.behind
								: 0;
	int c;

	if (task->core < 0) {
		for (c = 0; c < program->cpus; c++)
			if (machine.cores[c].thread < 0)
				choices[count++] = (struct choice){CHOICE_MOVE, me,
								   (uint8_t)c, 0};
		return count;
	}
	for (c = 0; c < program->cpus; c++)
		if ((behind >> c & 1) != 0)
			choices[count++] = (struct choice){CHOICE_RUN, me, core,
							   (uint8_t)c};
	if (behind == 0)
		count = add_run(choices, count, thread, task->core);
	choices[count++] = (struct choice){CHOICE_MOVE, me, NOWHERE, 0};
	return count;
}

/* Timeouts of timed sleeps. */
static int add_early(struct choice *choices, int count)
{
	int t;

	for (t = 0; t < program->threads; t++) {
		const struct task *task = &machine.tasks[t];

		if (task->request.kind == REQUEST_SLEEP && task->request.other != 0)
			choices[count++] = (struct choice){CHOICE_EARLY, (uint8_t)t,
							   (uint8_t)task->core, 0};
	}
	return count;
}

/* M6. */
static bool is_unnoticed(int thread)
{
	const struct task *task = &machine.tasks[thread];
	uint8_t waiting = machine.cores[task->core].count;

	switch (task->request.kind) {
	case REQUEST_COIN:
		return true;
	case REQUEST_FENCE:
		return machine_model != MODEL_WEAK && waiting == 0;
	default:
		return false;
	}
}

int machine_choices(struct choice choices[MAX_CHOICES])
{
	int count = 0, i, c;

	for (i = 0; program->pinned && !machine_naive && i < program->threads; i++)
		if (is_unnoticed(i))
			return add_runs(choices, 0, i);
	for (i = 0; i < program->threads; i++) {
		int t = (machine.last + i) % program->threads;

		if (machine.tasks[t].request.kind == REQUEST_NONE ||
		    machine.tasks[t].request.kind == REQUEST_QUIET)
			continue;
		count = machine_naive ? add_runs_naively(choices, count, t)
				      : add_runs(choices, count, t);
		if (program->handler != NULL && t == program->interrupted &&
		    !machine.tasks[t].interrupted)
			choices[count++] = (struct choice){CHOICE_INTERRUPT, (uint8_t)t,
							   0, 0};
	}
	for (c = 0; c < program->cpus; c++)
		if (machine.cores[c].count > 0)
			choices[count++] = (struct choice){CHOICE_DRAIN, 0, (uint8_t)c,
							   0};
	count = add_early(choices, count);
	for (i = 0; count == 0 && i < program->threads; i++)
		if (machine.tasks[i].request.kind == REQUEST_QUIET)
			count = add_runs(choices, count, i);
	return count;
}

int machine_runs(const struct choice *choice)
{
	bool runs = choice->kind == CHOICE_RUN || choice->kind == CHOICE_INTERRUPT ||
		    choice->kind == CHOICE_EARLY;

	return runs ? choice->thread : -1;
}

/* Performing a choice. */

/* Aborts the sequence of this thread. */
static void cut_short(int thread)
{
	if (thread >= 0)
		machine.tasks[thread].whole = false;
}

static void move(int thread, int to)
{
	struct task *task = &machine.tasks[thread];

	cut_short(thread);
	if (task->core >= 0) {
		drain(&machine.cores[task->core]);
		machine.cores[task->core].thread = -1;
	}
	task->core = -1;
	if (to != NOWHERE) {
		struct core *core = &machine.cores[to];

		if (core->thread >= 0) {
			machine.tasks[core->thread].core = -1;
			cut_short(core->thread);
			views_interrupt(core->thread);
		}
		drain(core);
		core->thread = (int8_t)thread;
		task->core = (int8_t)to;
		views.threads[thread].seen |= (uint8_t)(1u << to);
	}
	views_interrupt(thread);
}

/* The barrier reaches a core. Returns false if there are cores that it has not reached
 * yet. */
static bool reach(struct request *r, int core)
{
	int c;

	if (machine_naive && r->behind == 0)
		return true;
	drain(&machine.cores[core]);
	if (machine.cores[core].thread >= 0)
		views_interrupt(machine.cores[core].thread);
	if ((r->behind >> core & 1) != 0)
		cut_short(machine.cores[core].thread);
	r->behind &= ~(1u << core);
	if (machine_naive)
		return false;
	for (c = 0; c < program->cpus; c++)
		if (!is_busy(c) && (r->behind >> c & 1) != 0) { /* M4 */
			cut_short(machine.cores[c].thread);
			r->behind &= ~(1u << c);
		}
	return r->behind == 0;
}

/* Performs the thread's request. Returns false if the request is not complete. */
static bool serve(struct task *task, int more, uint64_t *answer)
{
	struct request *r = &task->request;
	struct core *core = &machine.cores[task->core];
	uint64_t old;

	switch (r->kind) {
	case REQUEST_CPU:
		*answer = (uint64_t)task->core;
		return true;
	case REQUEST_BEGIN:
		task->whole = true;
		return true;
	case REQUEST_LOAD:
	case REQUEST_SLEEP:
		*answer = view_from(task->core, r->word);
		return true;
	case REQUEST_COMMIT:
		*answer = task->whole;
		task->whole = *answer != 0 && r->other != 0;
		if (*answer == 0)
			return true;
		/* fallthrough */
	case REQUEST_STORE:
		core->buffer[core->count].word = r->word;
		core->buffer[core->count++].value = r->value;
		if (r->order == SIM_SEQ_CST || machine_model == MODEL_SC)
			drain(core);
		return true;
	case REQUEST_BARRIER:
		drain(core);
		return reach(r, more);
	case REQUEST_AWAIT:
		*answer = view_from(task->core, r->word);
		if (r->order == SIM_AWAIT_CAS || r->order == SIM_AWAIT_EQ_RMW ||
		    r->order == SIM_AWAIT_NE_RMW)
			drain(core);
		if (r->order == SIM_AWAIT_CAS)
			world_write(r->word, r->to);
		return true;
	case REQUEST_FENCE:
	case REQUEST_QUIET:
		drain(core);
		return true;
	default:
		drain(core);
		old = *r->word;
		world_write(r->word, world_update(r, old));
		*answer = old;
		return true;
	}
}

static bool is_cas(const struct request *r)
{
	return r->kind == REQUEST_CAS ||
	       (r->kind == REQUEST_AWAIT && r->order == SIM_AWAIT_CAS);
}

/* The same with views. A sequentially consistent access has a full fence on either
 * side. */
static bool serve_weakly(struct task *task, int more, uint64_t *answer)
{
	struct request *r = &task->request;
	int me = (int)(task - machine.tasks);
	int order = r->kind == REQUEST_AWAIT ? r->other : r->order;
	bool fenced = r->kind == REQUEST_FENCE || r->kind == REQUEST_BARRIER ||
		      order == SIM_SEQ_CST,
	     done = true;

	if (fenced)
		views_full_fence(me, task->core);
	if (r->word != NULL)
		views_pin(r->word, more);
	switch (r->kind) {
	case REQUEST_CPU:
		*answer = (uint64_t)more;
		break;
	case REQUEST_BEGIN:
		task->whole = true;
		views_light_fence(me, task->core);
		break;
	case REQUEST_COMMIT:
		*answer = task->whole;
		task->whole = *answer != 0 && r->other != 0;
		if (*answer == 0)
			break;
		/* fallthrough */
	case REQUEST_STORE:
		if (!program->stores_race && views.alone == 0 &&
		    views_oldest(me, r->word) != views_newest(r->word))
			cores_fail(VERDICT_RACE,
				   "thread %d stores to a word, and may not know what "
				   "another thread stored there last",
				   me);
		else
			views_store(me, r->word, more, r->value, order);
		break;
	case REQUEST_BARRIER:
		done = reach(r, more);
		break;
	case REQUEST_FENCE:
	case REQUEST_QUIET:
		break;
	case REQUEST_EXCHANGE:
	case REQUEST_ADD:
	case REQUEST_LIE_DOWN:
	case REQUEST_GET_UP:
		*answer = views_modify(me, r->word, more,
				       world_update(r, views_value(r->word, more)),
				       order);
		break;
	default: /* a read of one of the writes */
		*answer = views_value(r->word, more);
		if (is_cas(r) && *answer == r->value)
			views_modify(me, r->word, more, r->to, order);
		else
			views_load(me, r->word, more,
				   r->kind == REQUEST_CAS ? r->other : order);
	}
	if (fenced)
		views_full_fence(me, task->core);
	return done;
}

static void forget_old_writes(void)
{
	unsigned alive = 0;
	int t;

	for (t = 0; t < program->threads; t++)
		if (machine.tasks[t].request.kind != REQUEST_NONE)
			alive |= 1u << t;
	views_tidy(alive);
}

/* A timed sleep ends: the thread no longer needs a wake-up. */
static void get_up(int thread)
{
	struct request *r = &machine.tasks[thread].request;
	uint64_t others;

	if (machine_model != MODEL_WEAK)
		drain(&machine.cores[machine.tasks[thread].core]);
	others = *r->word & ~r->value;
	if (machine_model == MODEL_WEAK)
		views_modify(thread, r->word, views_newest(r->word), others, SIM_ACQ_REL);
	else
		world_write(r->word, others);
	world_answer(thread, SLEPT_ENOUGH);
}

/* A fork's child keeps this thread only. */
static void vanish_all_but(int thread, bool without_buffers)
{
	int t, c;

	for (c = 0; c < program->cpus; c++) {
		if (machine.cores[c].thread == thread)
			continue;
		if (without_buffers)
			machine.cores[c].count = 0;
		drain(&machine.cores[c]);
		machine.cores[c].thread = -1;
	}
	views_leave_alone();
	for (t = 0; t < CORES_MAX_THREADS; t++) {
		if (t == thread)
			continue;
		machine.tasks[t].core = -1;
		machine.tasks[t].request = (struct request){.kind = REQUEST_NONE};
	}
}

void machine_perform(const struct choice *choice)
{
	struct task *task = &machine.tasks[choice->thread];
	uint64_t answer = choice->more; /* result of a coin flip */

	if (choice->kind == CHOICE_DRAIN) {
		drain_one(&machine.cores[choice->core]);
		return;
	}
	machine.last = choice->thread;
	if (choice->kind == CHOICE_MOVE) {
		move(choice->thread, choice->core);
		return;
	}
	if (choice->kind == CHOICE_INTERRUPT) {
		task->interrupted = true;
		world_interrupt(choice->thread);
	} else if (choice->kind == CHOICE_EARLY) {
		get_up(choice->thread);
	} else if (task->request.kind == REQUEST_COIN) {
		world_answer(choice->thread, answer);
	} else if (task->request.kind == REQUEST_FORK) {
		if (choice->more != FORK_PARENT)
			vanish_all_but(choice->thread,
				       choice->more == FORK_CHILD_WITHOUT);
		world_answer(choice->thread, answer);
	} else {
		if (task->core != choice->core)
			move(choice->thread, choice->core);
		if (machine_model == MODEL_WEAK
			    ? !serve_weakly(task, choice->more, &answer)
			    : !serve(task, choice->more, &answer))
			return;
		world_answer(choice->thread, answer);
		if (machine_model == MODEL_WEAK)
			forget_old_writes();
	}
	/* With views, a thread that has returned stays on its core until another arrives:
	 * its context switch, a full fence, is still to come. */
	if (task->request.kind == REQUEST_NONE && task->core >= 0 &&
	    machine_model != MODEL_WEAK) {
		machine.cores[task->core].thread = -1;
		task->core = -1;
	}
}
