/* SPDX-License-Identifier: MIT */
/* The functions that the program may call: ours, passed through to the C library, or
 * refused by name when the call is reached. */
#define _GNU_SOURCE
#include "heap.h"
#include "load.h"
#include "plain.h"
#include "threads.h"

#include <pawl/cond.h>
#include <pawl/runtime.h>

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Calls that are failures. */

static void played_assert_fail(const char *text, const char *file, unsigned line,
			       const char *function) __attribute__((noreturn));
static void played_assert_fail(const char *text, const char *file, unsigned line,
			       const char *function)
{
	const char *slash = strrchr(file, '/');

	(void)function;
	program_fail(VERDICT_ASSERTION, SITE, "%s:%u: %s is false",
		     slash != NULL ? slash + 1 : file, line, text);
}

static void played_abort(void) __attribute__((noreturn));
static void played_abort(void)
{
	program_fail(VERDICT_ASSERTION, SITE, "the program calls abort()");
}

static void played_terminate(void) __attribute__((noreturn));
static void played_terminate(void)
{
	program_fail(VERDICT_ASSERTION, SITE, "the program calls std::terminate()");
}

static void played_exit(int status) __attribute__((noreturn));
static void played_exit(int status)
{
	if (status != 0)
		program_fail(VERDICT_ASSERTION, SITE, "the program calls exit(%d)",
			     status);
	program_refuse("exit(0) with threads about", SITE);
}

static int played_atexit(void (*run)(void))
{
	(void)run;
	return 0; /* nothing runs after the program's end */
}

/* Output: shown once, when a single execution is repeated. */

static bool shows(void)
{
	return current_search->guide != NULL && !current_search->tracing;
}

/* The C library must not allocate from the program's heap. */
#define OUTSIDE(call)                                       \
	do {                                                \
		struct thread *self = current_search->self; \
		current_search->self = NULL;                \
		call;                                       \
		current_search->self = self;                \
	} while (0)

static int played_vfprintf(FILE *file, const char *format, va_list arguments)
{
	if (shows())
		OUTSIDE(vfprintf(file, format, arguments));
	return 1;
}

static int played_vprintf(const char *format, va_list arguments)
{
	return played_vfprintf(stdout, format, arguments);
}

static int played_fprintf(FILE *file, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	played_vfprintf(file, format, arguments);
	va_end(arguments);
	return 1;
}

static int played_printf(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	played_vfprintf(stdout, format, arguments);
	va_end(arguments);
	return 1;
}

static int played_puts(const char *text)
{
	if (shows())
		OUTSIDE(puts(text));
	return 1;
}

static int played_fputs(const char *text, FILE *file)
{
	if (shows())
		OUTSIDE(fputs(text, file));
	return 1;
}

static int played_putchar(int c)
{
	if (shows())
		OUTSIDE(putchar(c));
	return c;
}

static int played_fputc(int c, FILE *file)
{
	if (shows())
		OUTSIDE(fputc(c, file));
	return c;
}

static size_t played_fwrite(const void *p, size_t size, size_t count, FILE *file)
{
	if (shows())
		OUTSIDE(fwrite(p, size, count, file));
	return count;
}

static int played_fflush(FILE *file)
{
	(void)file;
	return 0;
}

static void played_perror(const char *text)
{
	if (shows())
		OUTSIDE(perror(text));
}

/* An assembly entry that saves registers for loops.c, before a function that may fail. */
extern int played_mutex_trylock_entry(pthread_mutex_t *m);
extern int played_mtx_trylock_entry(void *m);
extern int played_spin_trylock_entry(pthread_spinlock_t *l);
extern int played_sem_trywait_entry(sem_t *s);
extern int played_sem_getvalue_entry(sem_t *s, int *value);

static const struct {
	const char *name;
	void *function;
} replacements[] = {
#define OURS(name, function)                         \
	{                                            \
#name, (void *)(uintptr_t)(function) \
	}
	OURS(__tls_get_addr, played_tls_get_addr),
	OURS(memcpy, __tsan_memcpy),
	OURS(memmove, __tsan_memmove),
	OURS(memset, __tsan_memset),
	OURS(memcmp, played_memcmp),
	OURS(bcmp, played_memcmp),
	OURS(strlen, played_strlen),
	OURS(strcmp, played_strcmp),
	OURS(strncmp, played_strncmp),
	OURS(strcpy, played_strcpy),
	OURS(malloc, played_malloc),
	OURS(calloc, played_calloc),
	OURS(realloc, played_realloc),
	OURS(aligned_alloc, played_aligned_alloc),
	OURS(memalign, played_aligned_alloc),
	OURS(posix_memalign, played_posix_memalign),
	OURS(free, played_free),
	OURS(_Znwm, played_malloc),
	OURS(_Znam, played_malloc),
	OURS(_ZnwmRKSt9nothrow_t, played_malloc),
	OURS(_ZnamRKSt9nothrow_t, played_malloc),
	OURS(_ZnwmSt11align_val_t, played_new_aligned),
	OURS(_ZnamSt11align_val_t, played_new_aligned),
	OURS(_ZdlPv, played_free),
	OURS(_ZdaPv, played_free),
	OURS(_ZdlPvm, played_free_sized),
	OURS(_ZdaPvm, played_free_sized),
	OURS(_ZdlPvSt11align_val_t, played_free_sized),
	OURS(_ZdlPvmSt11align_val_t, played_free_aligned),
	OURS(_ZdaPvmSt11align_val_t, played_free_aligned),
	OURS(pthread_create, played_pthread_create),
	OURS(pthread_join, played_pthread_join),
	OURS(pthread_detach, played_pthread_detach),
	OURS(pthread_self, played_pthread_self),
	OURS(pthread_equal, played_pthread_equal),
	OURS(pthread_exit, played_pthread_exit),
	OURS(pthread_yield, played_sched_yield),
	OURS(sched_yield, played_sched_yield),
	OURS(pthread_key_create, played_pthread_key_create),
	OURS(pthread_key_delete, played_pthread_key_delete),
	OURS(pthread_getspecific, played_pthread_getspecific),
	OURS(pthread_setspecific, played_pthread_setspecific),
	OURS(__cxa_thread_atexit, played_thread_atexit),
	OURS(__cxa_thread_atexit_impl, played_thread_atexit),
	OURS(thrd_create, played_thrd_create),
	OURS(thrd_join, played_thrd_join),
	OURS(thrd_detach, played_pthread_detach),
	OURS(thrd_current, played_pthread_self),
	OURS(thrd_equal, played_pthread_equal),
	OURS(thrd_exit, played_thrd_exit),
	OURS(thrd_yield, played_thrd_yield),
	OURS(tss_create, played_pthread_key_create),
	OURS(tss_delete, played_pthread_key_delete),
	OURS(tss_get, played_pthread_getspecific),
	OURS(tss_set, played_pthread_setspecific),
	OURS(pthread_mutex_init, played_mutex_init),
	OURS(pthread_mutex_destroy, played_mutex_destroy),
	OURS(pthread_mutex_lock, played_mutex_lock),
	OURS(pthread_mutex_trylock, played_mutex_trylock_entry),
	OURS(pthread_mutex_timedlock, played_mutex_timedlock),
	OURS(pthread_mutex_clocklock, played_mutex_clocklock),
	OURS(pthread_mutex_unlock, played_mutex_unlock),
	OURS(mtx_init, played_mtx_init),
	OURS(mtx_destroy, played_mtx_destroy),
	OURS(mtx_lock, played_mtx_lock),
	OURS(mtx_trylock, played_mtx_trylock_entry),
	OURS(mtx_timedlock, played_mtx_timedlock),
	OURS(mtx_unlock, played_mtx_unlock),
	OURS(pthread_spin_init, played_spin_init),
	OURS(pthread_spin_destroy, played_spin_destroy),
	OURS(pthread_spin_lock, played_spin_lock),
	OURS(pthread_spin_trylock, played_spin_trylock_entry),
	OURS(pthread_spin_unlock, played_spin_unlock),
	OURS(sem_init, played_sem_init),
	OURS(sem_destroy, played_sem_destroy),
	OURS(sem_wait, played_sem_wait),
	OURS(sem_trywait, played_sem_trywait_entry),
	OURS(sem_timedwait, played_sem_timedwait),
	OURS(sem_clockwait, played_sem_clockwait),
	OURS(sem_post, played_sem_post),
	OURS(sem_getvalue, played_sem_getvalue_entry),
	OURS(pthread_barrier_init, played_barrier_init),
	OURS(pthread_barrier_destroy, played_barrier_destroy),
	OURS(pthread_barrier_wait, played_barrier_wait),
	OURS(__errno_location, played_errno_location),
	OURS(pthread_cond_init, played_cond_init),
	OURS(pthread_cond_destroy, played_cond_destroy),
	OURS(pthread_cond_wait, played_cond_wait),
	OURS(pthread_cond_timedwait, played_cond_timedwait),
	OURS(pthread_cond_clockwait, played_cond_clockwait),
	OURS(pthread_cond_signal, played_cond_signal),
	OURS(pthread_cond_broadcast, played_cond_broadcast),
	OURS(cnd_init, played_cnd_init),
	OURS(cnd_destroy, played_cnd_destroy),
	OURS(cnd_wait, played_cond_wait),
	OURS(cnd_timedwait, played_cnd_timedwait),
	OURS(cnd_signal, played_cond_signal),
	OURS(cnd_broadcast, played_cond_broadcast),
	OURS(pthread_rwlock_init, played_rwlock_init),
	OURS(pthread_rwlock_destroy, played_rwlock_destroy),
	OURS(pthread_rwlock_rdlock, played_rwlock_rdlock),
	OURS(pthread_rwlock_tryrdlock, played_rwlock_tryrdlock),
	OURS(pthread_rwlock_wrlock, played_rwlock_wrlock),
	OURS(pthread_rwlock_trywrlock, played_rwlock_trywrlock),
	OURS(pthread_rwlock_unlock, played_rwlock_unlock),
	OURS(pthread_once, played_once),
	OURS(call_once, played_once),
	OURS(__cxa_guard_acquire, played_guard_acquire),
	OURS(__cxa_guard_release, played_guard_release),
	OURS(__cxa_guard_abort, played_guard_abort),
	OURS(pawl_park_, pawl_park_),
	OURS(pawl_mutex_lock_slow_, pawl_mutex_lock_slow_),
	OURS(pawl_mutex_lock_until_, pawl_mutex_lock_until_),
	OURS(pawl_mutex_unlock_slow_, pawl_mutex_unlock_slow_),
	OURS(pawl_cond_wait_slow_, pawl_cond_wait_slow_),
	OURS(pawl_cond_wait_until_, pawl_cond_wait_until_),
	OURS(pawl_cond_signal_slow_, pawl_cond_signal_slow_),
	OURS(pawl_hapax_block_, pawl_hapax_block_),
	OURS(pawl_node_new_, pawl_node_new_),
	OURS(pawl_node_free_, pawl_node_free_),
	OURS(pawl_at_thread_exit_native_, pawl_at_thread_exit_native_),
	OURS(__assert_fail, played_assert_fail),
	OURS(abort, played_abort),
	OURS(_ZSt9terminatev, played_terminate),
	OURS(exit, played_exit),
	OURS(_exit, played_exit),
	OURS(_Exit, played_exit),
	OURS(atexit, played_atexit),
	OURS(__cxa_atexit, played_atexit),
	OURS(printf, played_printf),
	OURS(vprintf, played_vprintf),
	OURS(fprintf, played_fprintf),
	OURS(vfprintf, played_vfprintf),
	OURS(puts, played_puts),
	OURS(fputs, played_fputs),
	OURS(putchar, played_putchar),
	OURS(fputc, played_fputc),
	OURS(putc, played_fputc),
	OURS(fwrite, played_fwrite),
	OURS(fflush, played_fflush),
	OURS(perror, played_perror),
#undef OURS
};

void *replacement(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(replacements) / sizeof(*replacements); i++)
		if (strcmp(replacements[i].name, name) == 0)
			return replacements[i].function;
	return NULL;
}

/* Functions without side effects: they do not wait, have no state, and at most read their
 * arguments. */
static const char *const pure[] = {
	"abs",
	"labs",
	"llabs",
	"div",
	"ldiv",
	"atoi",
	"atol",
	"isalpha",
	"isdigit",
	"toupper",
	"tolower",
	"__ctype_b_loc",
	"strchr",
	"strstr",
	"strtol",
	"strtoul",
	"strspn",
	"strcspn",
	"fmod",
	"round",
	"rand_r",
	"strrchr",
	"strnlen",
	"memchr",
	"snprintf",
	"vsnprintf",
	"qsort",
	"bsearch",
	"sqrt",
	"fabs",
	"floor",
	"ceil",
	"pow",
	"pthread_mutexattr_init",
	"pthread_mutexattr_settype",
	"pthread_mutexattr_destroy",
	"pthread_attr_init",
	"pthread_attr_destroy",
	"pthread_attr_setdetachstate",
	"pthread_condattr_init",
	"pthread_condattr_destroy",
	"pthread_attr_setstacksize",
	"strerror",
	"__stack_chk_fail",
	"pthread_condattr_setclock",
};

static bool begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

bool harmless(const char *name)
{
	size_t i;

	/* The C++ library's functions; the calls that it makes are bound as well. */
	if (begins(name, "_Z") || begins(name, "__cxa_") || begins(name, "_Unwind_") ||
	    begins(name, "__gxx_") || begins(name, "__tsan_") || begins(name, "__gcc_") ||
	    begins(name, "__dynamic_cast") || strcmp(name, "__once_proxy") == 0 ||
	    begins(name, "__gmon_") || begins(name, "_ITM_"))
		return strcmp(name, "_ZNSt6chrono3_V212system_clock3nowEv") != 0 &&
		       strcmp(name, "_ZNSt6chrono3_V212steady_clock3nowEv") != 0 &&
		       !begins(name, "_ZNSt11this_thread11__sleep_for");
	for (i = 0; i < sizeof(pure) / sizeof(*pure); i++)
		if (strcmp(pure[i], name) == 0)
			return true;
	return false;
}

/* Refusals: one stub for each name, numbered. */

enum { REFUSALS = 256 };
static const char *refused[REFUSALS];
static int refused_count;

/* clang-format off */
#define STRING_(x) #x
#if defined(__x86_64__)
#define STUB "movl $program_stub_number, %edi\n	jmp program_stub_reached\n"
#else
#define STUB "mov w0, #program_stub_number\n	b program_stub_reached\n"
#endif
__asm__(".text\n"
	".balign 16\n"
	"program_stubs:\n"
	".set program_stub_number, 0\n"
	".rept 256\n"
	".balign 16\n"
	"	" STUB
	".set program_stub_number, program_stub_number + 1\n"
	".endr\n");
#if defined(__x86_64__)
#define TRY_ENTRY(name)                                       \
	__asm__(".text\n" name "_entry:\n"                    \
		"	movq %rbx, program_registers(%rip)\n"    \
		"	movq %rbp, program_registers+8(%rip)\n"  \
		"	movq %r12, program_registers+16(%rip)\n" \
		"	movq %r13, program_registers+24(%rip)\n" \
		"	movq %r14, program_registers+32(%rip)\n" \
		"	movq %r15, program_registers+40(%rip)\n" \
		"	movq %rsp, program_registers+160(%rip)\n" \
		"	movb $1, program_registers_fresh(%rip)\n" \
		"	jmp " name "\n")
#else
#define TRY_ENTRY(name) __asm__(".text\n" name "_entry:\n	b " name "\n")
#endif
TRY_ENTRY("played_mutex_trylock");
TRY_ENTRY("played_mtx_trylock");
TRY_ENTRY("played_spin_trylock");
TRY_ENTRY("played_sem_trywait");
TRY_ENTRY("played_sem_getvalue");
/* clang-format on */

extern char program_stubs[];

void program_stub_reached(int number) __attribute__((noreturn, used));
void program_stub_reached(int number)
{
	char what[128];

	if (begins(refused[number],
		   "__atomic_")) /* emitted by the compiler for a library to implement */
		program_fail(VERDICT_REFUSED, SITE, PROGRAM_WIDE, "so many",
			     refused[number]);
	if (strcmp(refused[number], "syscall") == 0)
		snprintf(what, sizeof(what),
			 "syscall(), by which atomics of C++20 wait,");
	else if (begins(refused[number], "_ZNSt6chrono3_V212"))
		snprintf(what, sizeof(what),
			 "std::chrono::%.12s::now(), of waits that take so long,",
			 refused[number] + strlen("_ZNSt6chrono3_V212"));
	else
		snprintf(what, sizeof(what), "%s()", refused[number]);
	program_refuse(what, SITE);
}

void *refusal(const char *name)
{
	int i;

	for (i = 0; i < refused_count; i++)
		if (strcmp(refused[i], name) == 0)
			return program_stubs + (size_t)i * 16;
	if (i == REFUSALS) {
		fputs("pawl: the program calls too much that cannot be played\n", stderr);
		exit(2);
	}
	refused[refused_count++] = name;
	return program_stubs + (size_t)i * 16;
}
