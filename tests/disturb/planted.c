/* SPDX-License-Identifier: MIT */
/* Defects that the driver must find, each by the disturbance that it is named after. */
#include "stage.h"

#include <sys/mman.h>

/* A lock that knows nothing of forks, handlers and deaths. */
static _Atomic uint32_t own_guard, *guard = &own_guard;

static void guard_lock(void)
{
	while (atomic_exchange(guard, 1) != 0)
		page_sleep(guard, 1);
}

static void guard_unlock(void)
{
	page_say(guard, 0);
}

static void pass(void)
{
	guard_lock();
	guard_unlock();
}

/* A count that is not atomic. */
static volatile int count;
static int expected;

static void add(void)
{
	count++;
}

static void add_and_expect(void)
{
	expected++;
	add();
}

static void check_count(void)
{
	stage_demand(count == ++expected, "a count is lost");
}

/* Says that it sleeps after its last look, not before. */
static _Atomic uint32_t flag, sleeping;

static void await_flag(void)
{
	if (atomic_load(&flag) == 0) {
		atomic_store(&sleeping, 1);
		while (atomic_load(&sleeping) == 1)
			page_sleep(&sleeping, 1);
	}
}

static void raise_flag(void)
{
	atomic_store(&flag, 1);
	if (atomic_load(&sleeping) == 1)
		page_say(&sleeping, 0);
}

static void lower_flag(void)
{
	atomic_store(&flag, 0);
	atomic_store(&sleeping, 0);
}

/* A lock between processes that outlives its holder. */
static void share(void)
{
	if (ftruncate(REGION_FD, PAGE_BYTES) == 0)
		guard = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			     REGION_FD, 0);
	stage_demand(guard != MAP_FAILED, "no memory can be shared");
}

static void pass_afterwards(void)
{
	stage_placed();
	stage_await_over();
	pass();
}

const struct scenario scenarios[] = {
	{.name = "planted.signal", .kinds = 1 << SIGNAL, .victim = pass, .handler = pass},
	{.name = "planted.count",
	 .kinds = 1 << SIGNAL,
	 .victim = add,
	 .handler = add_and_expect,
	 .check = check_count},
	{.name = "planted.fork", .kinds = 1 << FORK, .victim = pass, .child = pass},
	{.name = "planted.freeze",
	 .kinds = 1 << FREEZE,
	 .free = true,
	 .victim = pass,
	 .use = pass},
	{.name = "planted.wake",
	 .kinds = 1 << FREEZE,
	 .prepare = lower_flag,
	 .victim = await_flag,
	 .let_go = raise_flag},
	{.name = "planted.kill",
	 .kinds = 1 << KILL,
	 .partners = 1,
	 .apart = true,
	 .begin = share,
	 .partner = pass_afterwards,
	 .victim = pass},
	{.name = NULL},
};
