/* SPDX-License-Identifier: MIT */
/*
 * Proves that each function is the interposer's: as the linker bound it, and as
 * dlsym and dlvsym find it, by default and after this program. `plain` expects
 * the opposite.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <threads.h>

static int failures;
static bool expected = true;

static void check(const char *name, const char *how, const void *function)
{
	Dl_info info;
	bool ours = function != NULL && dladdr(function, &info) != 0 &&
		    strstr(info.dli_fname, "libpawl-pthread.so") != NULL;

	if (ours != expected) {
		printf("%s, by %s, is %s\n", name, how,
		       function == NULL ? "missing" : info.dli_fname);
		failures++;
	}
}

static void look_up(const char *name, const char *version)
{
	check(name, "dlsym(RTLD_DEFAULT)", dlsym(RTLD_DEFAULT, name));
	check(name, "dlsym(RTLD_NEXT)", dlsym(RTLD_NEXT, name));
	if (dlvsym(RTLD_DEFAULT, name, version) != NULL) {
		check(name, "dlvsym(RTLD_DEFAULT)", dlvsym(RTLD_DEFAULT, name, version));
		check(name, "dlvsym(RTLD_NEXT)", dlvsym(RTLD_NEXT, name, version));
	}
}

#define CHECK(function, version)                                             \
	do {                                                                 \
		check(#function, "the linker", (void *)(uintptr_t)function); \
		look_up(#function, version);                                 \
	} while (0)

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "plain") == 0)
		expected = false;
	CHECK(pthread_mutex_init, "GLIBC_2.2.5");
	CHECK(pthread_mutex_destroy, "GLIBC_2.2.5");
	CHECK(pthread_mutex_lock, "GLIBC_2.2.5");
	CHECK(pthread_mutex_trylock, "GLIBC_2.2.5");
	CHECK(pthread_mutex_timedlock, "GLIBC_2.2.5");
	CHECK(pthread_mutex_clocklock, "GLIBC_2.30");
	CHECK(pthread_mutex_unlock, "GLIBC_2.2.5");
	CHECK(pthread_cond_init, "GLIBC_2.3.2");
	CHECK(pthread_cond_destroy, "GLIBC_2.3.2");
	CHECK(pthread_cond_signal, "GLIBC_2.3.2");
	CHECK(pthread_cond_broadcast, "GLIBC_2.3.2");
	CHECK(pthread_cond_wait, "GLIBC_2.3.2");
	CHECK(pthread_cond_timedwait, "GLIBC_2.3.2");
	CHECK(pthread_cond_clockwait, "GLIBC_2.30");
	CHECK(pthread_rwlock_init, "GLIBC_2.2.5");
	CHECK(pthread_rwlock_destroy, "GLIBC_2.2.5");
	CHECK(pthread_rwlock_rdlock, "GLIBC_2.2.5");
	CHECK(pthread_rwlock_wrlock, "GLIBC_2.2.5");
	CHECK(pthread_rwlock_tryrdlock, "GLIBC_2.2.5");
	CHECK(pthread_rwlock_trywrlock, "GLIBC_2.2.5");
	CHECK(pthread_rwlock_timedrdlock, "GLIBC_2.2.5");
	CHECK(pthread_rwlock_timedwrlock, "GLIBC_2.2.5");
	CHECK(pthread_rwlock_clockrdlock, "GLIBC_2.30");
	CHECK(pthread_rwlock_clockwrlock, "GLIBC_2.30");
	CHECK(pthread_rwlock_unlock, "GLIBC_2.2.5");
	CHECK(pthread_spin_init, "GLIBC_2.2.5");
	CHECK(pthread_spin_destroy, "GLIBC_2.2.5");
	CHECK(pthread_spin_lock, "GLIBC_2.2.5");
	CHECK(pthread_spin_trylock, "GLIBC_2.2.5");
	CHECK(pthread_spin_unlock, "GLIBC_2.2.5");
	CHECK(mtx_init, "GLIBC_2.28");
	CHECK(mtx_destroy, "GLIBC_2.28");
	CHECK(mtx_lock, "GLIBC_2.28");
	CHECK(mtx_trylock, "GLIBC_2.28");
	CHECK(mtx_timedlock, "GLIBC_2.28");
	CHECK(mtx_unlock, "GLIBC_2.28");
	CHECK(cnd_init, "GLIBC_2.28");
	CHECK(cnd_destroy, "GLIBC_2.28");
	CHECK(cnd_signal, "GLIBC_2.28");
	CHECK(cnd_broadcast, "GLIBC_2.28");
	CHECK(cnd_wait, "GLIBC_2.28");
	CHECK(cnd_timedwait, "GLIBC_2.28");
	CHECK(pthread_key_create, "GLIBC_2.2.5");
	CHECK(tss_create, "GLIBC_2.28");
	CHECK(dlopen, "GLIBC_2.34");
	CHECK(dlmopen, "GLIBC_2.34");
	CHECK(dlvsym, "GLIBC_2.34");
	/* Other functions are found as ever. */
	expected = false;
	CHECK(pthread_rwlockattr_setkind_np, "GLIBC_2.2.5");
	CHECK(pthread_mutexattr_settype, "GLIBC_2.2.5");
	CHECK(pthread_mutex_consistent, "GLIBC_2.12");
	CHECK(pthread_once, "GLIBC_2.2.5");
	return failures != 0;
}
