/* SPDX-License-Identifier: MIT */
/*
 * The machine, and the seam as the checked program sees it.
 *
 * Each core is an x86 core as x86-TSO describes it (Sewell et al., CACM 2010):
 * stores wait in a first-in first-out buffer, loads look there first, and
 * read-modify-writes and full fences empty it. A thread that is preempted or
 * migrates leaves nothing behind in a buffer: the kernel passes a full barrier
 * on every switch, as membarrier(2) requires of it. A heavy fence empties the
 * buffer of each core that it is aimed at, each at a moment of its own between
 * call and return. A light fence, which binds the compiler alone, is no step:
 * requests are made in the order of the program anyway.
 *
 * What is left out, without loss:
 *
 *   M1  A core stands idle only before its first thread. A core whose thread
 *       takes no step serves as well, and buffers drain by themselves.
 *   M2  A thread moves to another core only to take a step there at once, for
 *       until then the move does nothing that drains could not do.
 *   M3  A thread that has a core moves away only before it asks for its core
 *       or stores: only these tell one core from another. Before any other step the
 *       move can be put off: what it drains, drains can do, and whoever wants the core
 *       in the meantime can preempt the thread. One without a core takes any core
 *       for any step.
 *   M4  The last event of a barrier is its return, and an empty buffer is
 *       emptied at once: reaching a core later only obliges it to more.
 *   M5  A load of a word that no other thread ever writes is no step: it reads the
 *       same whenever it comes. Whether one does is found out on the way; if
 *       somebody writes a word that another thread has read in this manner, the
 *       search begins again, and knows better (memory.h).
 */
#include "world.h"

#include <sim/seam.h>

#include <string.h>

struct machine machine;
bool machine_naive;

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

uint64_t machine_view(int core, const uint64_t *word)
{
	const struct core *c = &machine.cores[core];
	int i;

	for (i = c->count - 1; i >= 0; i--)
		if (c->buffer[i].word == word)
			return c->buffer[i].value;
	return *word;
}

void machine_start(const struct cores_program *p)
{
	int t, c;

	program = p;
	memset(&machine, 0, sizeof(machine));
	for (c = 0; c < CORES_MAX_CPUS; c++)
		machine.cores[c].thread = -1;
	for (t = 0; t < CORES_MAX_THREADS; t++) {
		machine.tasks[t].core = -1;
		machine.tasks[t].request.kind = REQUEST_NONE;
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

/* What may happen next. */

static bool wait_is_over(const struct request *r, uint64_t value)
{
	switch (r->order) {
	case SIM_AWAIT_EQ:
	case SIM_AWAIT_EQ_RMW:
	case SIM_AWAIT_CAS:
		return value == r->value;
	default:
		return value != r->value;
	}
}

static int add_run(struct choice *choices, int count, int thread, int core)
{
	const struct task *task = &machine.tasks[thread];
	const struct request *r = &task->request;
	unsigned behind = r->behind;
	int c, reached = 0;

	if (r->kind == REQUEST_AWAIT && !wait_is_over(r, machine_view(core, r->word)))
		return count;
	if (r->kind == REQUEST_STORE && core == task->core &&
	    machine.cores[core].count == BUFFER_SIZE)
		return count;
	if (r->kind == REQUEST_BARRIER) {
		for (c = 0; c < program->cpus; c++) {
			if (c == core || c == task->core || (behind >> c & 1) == 0 ||
			    machine.cores[c].count == 0)
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

static int add_runs(struct choice *choices, int count, int thread)
{
	const struct task *task = &machine.tasks[thread];
	enum request_kind kind = task->request.kind;
	int c;

	if (kind == REQUEST_COIN) { /* needs no core */
		choices[count++] = (struct choice){CHOICE_RUN, (uint8_t)thread, 0, 0};
		choices[count++] = (struct choice){CHOICE_RUN, (uint8_t)thread, 0, 1};
		return count;
	}
	if (task->core >= 0)
		count = add_run(choices, count, thread, task->core);
	if (task->core >= 0 && kind != REQUEST_CPU && kind != REQUEST_STORE)
		return count; /* M3 */
	for (c = 0; c < program->cpus; c++)
		if (c != task->core)
			count = add_run(choices, count, thread, c);
	return count;
}

/* Every event by itself: coming to a core that is idle, leaving it, the return of
 * a barrier. */
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

int machine_choices(struct choice choices[MAX_CHOICES])
{
	int count = 0, i, c;

	for (i = 0; i < program->threads; i++) {
		int t = (machine.last + i) % program->threads;

		if (machine.tasks[t].request.kind == REQUEST_NONE)
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
	return count;
}

int machine_runs(const struct choice *choice)
{
	bool runs = choice->kind == CHOICE_RUN || choice->kind == CHOICE_INTERRUPT;

	return runs ? choice->thread : -1;
}

/* Making it happen. */

static void move(int thread, int to)
{
	struct task *task = &machine.tasks[thread];

	if (task->core >= 0) {
		drain(&machine.cores[task->core]);
		machine.cores[task->core].thread = -1;
	}
	task->core = -1;
	if (to != NOWHERE) {
		struct core *core = &machine.cores[to];

		if (core->thread >= 0)
			machine.tasks[core->thread].core = -1;
		drain(core);
		core->thread = (int8_t)thread;
		task->core = (int8_t)to;
	}
}

/* Returns false if the barrier has not reached all cores yet. */
static bool reach(struct request *r, int core)
{
	int c;

	if (machine_naive && r->behind == 0)
		return true;
	drain(&machine.cores[core]);
	r->behind &= ~(1u << core);
	if (machine_naive)
		return false;
	for (c = 0; c < program->cpus; c++)
		if (machine.cores[c].count == 0)
			r->behind &= ~(1u << c); /* M4 */
	return r->behind == 0;
}

/* Does what the thread asked for. Returns false if it is not through yet. */
static bool serve(struct task *task, int more, uint64_t *answer)
{
	struct request *r = &task->request;
	struct core *core = &machine.cores[task->core];
	uint64_t old;

	switch (r->kind) {
	case REQUEST_CPU:
		*answer = (uint64_t)task->core;
		return true;
	case REQUEST_LOAD:
		*answer = machine_view(task->core, r->word);
		return true;
	case REQUEST_STORE:
		core->buffer[core->count].word = r->word;
		core->buffer[core->count++].value = r->value;
		if (r->order == SIM_SEQ_CST)
			drain(core);
		return true;
	case REQUEST_BARRIER:
		drain(core);
		return reach(r, more);
	case REQUEST_AWAIT:
		*answer = machine_view(task->core, r->word);
		if (r->order == SIM_AWAIT_CAS || r->order == SIM_AWAIT_EQ_RMW ||
		    r->order == SIM_AWAIT_NE_RMW)
			drain(core);
		if (r->order == SIM_AWAIT_CAS)
			world_write(r->word, r->to);
		return true;
	case REQUEST_FENCE:
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

void machine_perform(const struct choice *choice)
{
	struct task *task = &machine.tasks[choice->thread];
	uint64_t answer = choice->more; /* to a coin */

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
	} else if (task->request.kind == REQUEST_COIN) {
		world_answer(choice->thread, answer);
	} else {
		if (task->core != choice->core)
			move(choice->thread, choice->core);
		if (!serve(task, choice->more, &answer))
			return;
		world_answer(choice->thread, answer);
	}
	if (task->request.kind == REQUEST_NONE && task->core >= 0) {
		machine.cores[task->core].thread = -1;
		task->core = -1;
	}
}

/* Fingerprints: sums of what each part contributes by its place, so that the
 * order of first writes does not matter. */

static uint64_t mix(uint64_t a, uint64_t place)
{
	unsigned __int128 product = (unsigned __int128)(a ^ 0x9e3779b97f4a7c15u) *
				    (place * 0xd6e8feb86659fd93u ^ 0xa0761d6478bd642fu);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t machine_hash_words(uint64_t seed, const uint64_t *words, size_t count)
{
	uint64_t sum = seed;
	size_t i;

	/* By distance from the end: stacks grow down. */
	for (i = 0; i < count; i++)
		sum += mix(words[i], seed + count - i);
	return mix(sum, seed);
}

uint64_t machine_hash(uint64_t seed)
{
	uint64_t sum = seed, place = 1u << 20;
	size_t i;
	int t, c;

	for (i = 0; i < tracked_count; i++)
		if (*tracked[i].word != tracked[i].first && !tracked[i].ignored)
			sum += mix(*tracked[i].word, i);
	for (t = 0; t < program->threads; t++) {
		const struct task *task = &machine.tasks[t];

		sum += mix((uint64_t)(uint8_t)task->core |
				   (uint64_t)task->interrupted << 8 |
				   (uint64_t)task->request.kind << 16 |
				   (uint64_t)task->request.behind << 32,
			   place++);
		sum += mix(task->serial, place++);
		sum += mix((uint64_t)task->arena, place++);
	}
	for (c = 0; c < program->cpus; c++) {
		const struct core *core = &machine.cores[c];

		sum += mix((uint64_t)(uint8_t)core->thread | (uint64_t)core->count << 8,
			   place);
		for (i = 0; i < core->count; i++)
			sum += mix((uint64_t)core->buffer[i].word ^
					   mix(core->buffer[i].value, place + i),
				   place + BUFFER_SIZE + i);
		place += 2 * BUFFER_SIZE;
	}
	return mix(sum, seed);
}
