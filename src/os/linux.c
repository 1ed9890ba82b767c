/* SPDX-License-Identifier: MIT */
/* The runtime's operating system interface, for Linux with glibc. */
#define _GNU_SOURCE
#include "os/linux.h"

#include <errno.h>
#include <limits.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int membarrier(int command, unsigned flags, unsigned cpu)
{
	int saved = errno;
	int result = (int)syscall(SYS_membarrier, command, flags, cpu);

	errno = saved;
	return result;
}

bool pawl_os_barrier_prepare(void)
{
	return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

bool pawl_os_barrier(void)
{
	return membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

/* Only the rseq command of membarrier can target one CPU; it is a full barrier as
 * well. */
bool pawl_os_barrier_cpu_prepare(void)
{
	return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ, 0, 0) == 0;
}

bool pawl_os_barrier_cpu(unsigned cpu)
{
	return membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ, MEMBARRIER_CMD_FLAG_CPU,
			  cpu) == 0;
}

bool pawl_os_barrier_restart(void)
{
	return membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ, 0, 0) == 0;
}

/*
 * The rseq area that glibc 2.35 and later registers for each thread. The layout is the
 * kernel's; it is repeated here because the struct in the kernel's header grows.
 * cpu_id_start is not used: some allocators store other data there.
 */
struct rseq_area {
	uint32_t cpu_id_start, cpu_id;
	uint64_t rseq_cs;
	uint32_t flags, node_id, mm_cid;
};
#ifndef AT_RSEQ_FEATURE_SIZE
#define AT_RSEQ_FEATURE_SIZE 27 /* from the kernel's headers; older C libraries lack it */
#endif
enum { RSEQ_WITH_CID = 28, RSEQ_FIRST = 20, RSEQ_OLD = 32 };

extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned __rseq_size __attribute__((weak));

static const struct rseq_area *rseq_area(void)
{
	if (&__rseq_size == NULL || __rseq_size == 0)
		return NULL;
	return (const struct rseq_area *)((char *)__builtin_thread_pointer() +
					  __rseq_offset);
}

const uint32_t *pawl_os_cpu_word(void)
{
	const struct rseq_area *area = rseq_area();

	/* Negative: this thread is not registered, although other threads are. */
	if (area == NULL || (int32_t)area->cpu_id < 0)
		return NULL;
	return &area->cpu_id;
}

const uint32_t *pawl_os_cid_word(void)
{
	/* __rseq_size is the size that glibc knows, not what the kernel fills. At its
	 * first two values only AT_RSEQ_FEATURE_SIZE tells whether the kernel fills
	 * mm_cid. */
	bool filled = __rseq_size >= RSEQ_WITH_CID && __rseq_size != RSEQ_OLD;

	if (pawl_os_cpu_word() == NULL)
		return NULL;
	if (!filled && (__rseq_size == RSEQ_FIRST || __rseq_size == RSEQ_OLD))
		filled = getauxval(AT_RSEQ_FEATURE_SIZE) >= RSEQ_WITH_CID;
	return filled ? &rseq_area()->mm_cid : NULL;
}

/* Parser of a list of ranges, "0-3" or "0-3,8-11"; empty if the file is missing or too
 * long. */
struct ranges {
	char text[256];
	size_t at;
};

static void read_ranges(struct ranges *r, const char *name)
{
	int saved = errno;
	int file = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t length = file >= 0 ? read(file, r->text, sizeof(r->text)) : -1;

	if (file >= 0)
		close(file);
	errno = saved;
	r->at = 0;
	r->text[length > 0 && length < (ssize_t)sizeof(r->text) ? length : 0] = '\0';
}

static unsigned next_number(struct ranges *r)
{
	unsigned n = 0;

	for (; r->text[r->at] >= '0' && r->text[r->at] <= '9'; r->at++)
		n = 10 * n + (unsigned)(r->text[r->at] - '0');
	return n;
}

static bool next_range(struct ranges *r, unsigned *first, unsigned *last)
{
	if (r->at > 0 && r->text[r->at] == ',')
		r->at++;
	if (r->text[r->at] < '0' || r->text[r->at] > '9')
		return false;
	*first = *last = next_number(r);
	if (r->text[r->at] == '-') {
		r->at++;
		*last = next_number(r);
	}
	return true;
}

/* The highest number in the list plus one; 0 if there is no such file. */
static unsigned read_possible(const char *name)
{
	struct ranges r;
	unsigned first, last, end = 0;

	read_ranges(&r, name);
	while (next_range(&r, &first, &last))
		end = last + 1;
	return end;
}

bool pawl_os_cache_of(unsigned cpu, unsigned *first, bool *all)
{
	struct ranges mine, online;
	unsigned last;
	char name[64];

	snprintf(name, sizeof(name),
		 "/sys/devices/system/cpu/cpu%u/cache/index3/shared_cpu_list", cpu);
	read_ranges(&mine, name);
	read_ranges(&online, "/sys/devices/system/cpu/online");
	*all = strcmp(mine.text, online.text) == 0;
	return next_range(&mine, first, &last);
}

unsigned pawl_os_likely_cpus(void)
{
	unsigned cpus = read_possible("/sys/devices/system/cpu/possible");

	return cpus != 0 ? cpus : pawl_os_cpus();
}

/* CPU sets in the kernel's format. */
enum { VISITABLE = 4096, WORD_BITS = 8 * sizeof(unsigned long) };
struct cpus {
	unsigned long words[VISITABLE / WORD_BITS];
};

unsigned pawl_os_cpu_limit(void)
{
	struct cpus all;
	int saved = errno;
	/* The system call, not glibc's wrapper: it returns the size of the kernel's CPU
	 * set in bytes, and fails with EINVAL if ours is smaller. */
	long bytes = syscall(SYS_sched_getaffinity, 0, sizeof(all), &all);

	errno = saved;
	return bytes > 0 ? 8 * (unsigned)bytes : UINT_MAX;
}

/* Called with signals blocked. Once this thread runs on a CPU, the kernel has switched
 * out the thread that ran there, which is a full barrier for that thread. */
static bool visit(unsigned first, unsigned last)
{
	unsigned cpu;

	for (cpu = first; cpu <= last; cpu++) {
		struct cpus one = {{0}};

		if (cpu >= VISITABLE)
			return false;
		one.words[cpu / WORD_BITS] = 1ul << cpu % WORD_BITS;
		if (syscall(SYS_sched_setaffinity, 0, sizeof(one), &one) != 0)
			return false;
	}
	return true;
}

static bool visit_online(void)
{
	struct ranges r;
	unsigned first, last, ranges = 0;

	read_ranges(&r, "/sys/devices/system/cpu/online");
	for (; next_range(&r, &first, &last); ranges++)
		if (!visit(first, last))
			return false;
	return ranges > 0;
}

bool pawl_os_visit(unsigned cpu)
{
	int saved = errno;
	uint64_t signals = pawl_os_block_signals();
	struct cpus home = {{0}};
	bool good = false;

	if (syscall(SYS_sched_getaffinity, 0, sizeof(home), &home) > 0) {
		good = cpu == PAWL_OS_ONLINE ? visit_online() : visit(cpu, cpu);
		/* CPUs that went offline in between drop out of the set; that is
		 * harmless. */
		syscall(SYS_sched_setaffinity, 0, sizeof(home), &home);
	}
	pawl_os_restore_signals(signals);
	errno = saved;
	return good;
}

bool pawl_os_sleep(const pawl_atomic64 *word, uint32_t expected,
		   const struct pawl_deadline *deadline)
{
	int clock = deadline != NULL && deadline->realtime ? FUTEX_CLOCK_REALTIME : 0;
	int saved = errno;
	bool timed_out;

	/* EAGAIN, EINTR: the caller checks its condition again, as after any wake-up. */
	timed_out = syscall(SYS_futex, low_half(word), FUTEX_WAIT_BITSET_PRIVATE | clock,
			    expected, deadline != NULL ? &deadline->time : NULL, NULL,
			    FUTEX_BITSET_MATCH_ANY) != 0 &&
		    errno == ETIMEDOUT;
	errno = saved;
	return !timed_out;
}

void pawl_os_wake(const pawl_atomic64 *word)
{
	int saved = errno;

	syscall(SYS_futex, low_half(word), FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	errno = saved;
}

/* The kernel's set of 64 signals: the C library's functions hide the signals that it
 * reserves for itself. */
static void set_signals(int how, const uint64_t *to, uint64_t *was)
{
	int saved = errno;

	syscall(SYS_rt_sigprocmask, how, to, was, sizeof(*to));
	errno = saved;
}

static uint64_t bit_of(int signal)
{
	return (uint64_t)1 << (signal - 1);
}

uint64_t pawl_os_block_signals(void)
{
	const uint64_t caused = bit_of(SIGSEGV) | bit_of(SIGBUS) | bit_of(SIGILL) |
				bit_of(SIGFPE) | bit_of(SIGTRAP) | bit_of(SIGSYS);
	const uint64_t others = ~caused;
	uint64_t was = 0;

	set_signals(SIG_BLOCK, &others, &was);
	return was;
}

void pawl_os_restore_signals(uint64_t blocked)
{
	set_signals(SIG_SETMASK, &blocked, NULL);
}

bool pawl_os_is_mapped(const volatile void *address)
{
	enum { NO_SUCH_CHANGE = -1 };
	int saved = errno;
	/* The kernel copies the set from user memory before it rejects the invalid `how`,
	 * so EFAULT means that the address is not mapped. */
	bool refused = syscall(SYS_rt_sigprocmask, NO_SUCH_CHANGE, address, NULL,
			       sizeof(uint64_t)) != 0 &&
		       errno == EFAULT;

	errno = saved;
	return !refused;
}

unsigned pawl_os_priority(void)
{
	enum { ABOVE_ALL = 100 };
	struct sched_param parameters = {.sched_priority = 0};
	int saved = errno;
	/* The system calls: musl's functions of these names refuse. */
	long policy = syscall(SYS_sched_getscheduler, 0);

	if (policy >= 0)
		policy &= ~SCHED_RESET_ON_FORK;
	if (policy == SCHED_FIFO || policy == SCHED_RR)
		syscall(SYS_sched_getparam, 0, &parameters);
	else if (policy == SCHED_DEADLINE)
		parameters.sched_priority = ABOVE_ALL;
	errno = saved;
	return (unsigned)parameters.sched_priority;
}

void pawl_os_yield(void)
{
	sched_yield();
}

void pawl_os_step_aside(void)
{
	const struct timespec moment = {.tv_nsec = 20000};
	int saved = errno;

	nanosleep(&moment, NULL);
	errno = saved;
}

unsigned pawl_os_cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		return (unsigned)CPU_COUNT(&set);
	return 2; /* EINVAL: more CPUs than cpu_set_t has bits */
}

#if !defined(__GLIBC__) /* musl has no such function */
static int getcpu(unsigned *cpu, unsigned *node)
{
	return (int)syscall(SYS_getcpu, cpu, node, NULL);
}
#endif

unsigned pawl_os_cpu(void)
{
	const uint32_t *word = pawl_os_cpu_word();
	unsigned cpu = 0;

	if (word != NULL)
		return *(const volatile uint32_t *)word;
	getcpu(&cpu, NULL);
	return cpu;
}

unsigned pawl_os_node(void)
{
	unsigned node = 0;

	/* The kernel added node_id and mm_cid in the same version. */
	if (pawl_os_cid_word() != NULL)
		return *(const volatile uint32_t *)&rseq_area()->node_id;
	getcpu(NULL, &node);
	return node;
}

unsigned pawl_os_nodes(void)
{
	unsigned nodes = read_possible("/sys/devices/system/node/possible");

	return nodes != 0 ? nodes : 1;
}

/* A reference: from an archive the linker takes only members that something refers to,
 * and nothing else refers to life.c. */
__attribute__((used)) static const char *const life = pawl_life;

uint64_t pawl_os_now(void)
{
	struct timespec now = time_on(false);

	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t pawl_os_process(void)
{
	return (uint64_t)getpid();
}

/* Derived from the 16 random bytes of AT_RANDOM. glibc takes its stack guard from the
 * same bytes, so the seed must not reveal them. */
uint64_t pawl_os_seed(void)
{
	const char *bytes = (const char *)getauxval(AT_RANDOM);
	uint64_t random[2] = {pawl_os_now(), (uintptr_t)&random};

	if (bytes != NULL)
		memcpy(random, bytes, sizeof(random));
	random[0] ^= random[0] >> 32;
	random[0] *= random[1] | 1;
	random[0] ^= random[0] >> 29;
	return random[0] * 0xBF58476D1CE4E5B9u;
}

void *pawl_os_reserve(size_t bytes)
{
	int saved = errno;
	void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	errno = saved;
	return start == MAP_FAILED ? NULL : start;
}

void pawl_os_release(void *start, size_t bytes)
{
	munmap(start, bytes);
}

size_t pawl_os_discard(void *start, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = ((uintptr_t)start + page - 1) / page * page;
	uintptr_t end = ((uintptr_t)start + bytes) / page * page;
	int saved = errno;
	bool done = end > first &&
		    madvise((void *)first, end - first, MADV_DONTNEED) == 0;

	errno = saved;
	return done ? end - first : 0;
}

void pawl_os_clear(void *start, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t before = (page - (uintptr_t)start % page) % page;
	size_t whole = pawl_os_discard(start, bytes);

	if (whole == 0)
		before = bytes;
	memset(start, 0, before);
	memset((char *)start + before + whole, 0, bytes - before - whole);
}

uint64_t pawl_os_until(const struct pawl_deadline *deadline)
{
	const int64_t second = 1000000000, hour = 3600;
	struct timespec now = time_on(deadline->realtime);
	int64_t seconds, ns;

	seconds = deadline->time.tv_sec - now.tv_sec;
	if (seconds > hour)
		return (uint64_t)(hour * second);
	ns = seconds * second + deadline->time.tv_nsec - now.tv_nsec;
	return seconds >= 0 && ns > 0 ? (uint64_t)ns : 0;
}

void pawl_os_complain(const char *text)
{
	size_t left = strlen(text);

	while (left > 0) {
		ssize_t done = write(STDERR_FILENO, text, left);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return;
		text += done;
		left -= (size_t)done;
	}
}
