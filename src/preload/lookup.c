/* SPDX-License-Identifier: MIT */
/*
 * What the program asks of the dynamic linker, as far as it would lead past us.
 *
 * dlvsym: look-ups with a version. An unversioned definition answers to all
 * versions that the linker asks for, but not to those that dlvsym does; and
 * whoever finds some functions here and others in glibc breaks both. Other
 * look-ups, dlsym's among them, find what they should by themselves.
 *
 * dlopen: a library opened with RTLD_DEEPBIND would be bound to glibc's functions
 * first, and could share neither mutex nor condition variable with the rest of the
 * program. So it is opened without.
 *
 * Both ask glibc by a jump, not a call: glibc takes the return address for that of
 * whoever asks, whose search path and place in the search order it then uses.
 */
#define _GNU_SOURCE
#include "preload/preload.h"
#include "os/os.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <threads.h>

#define OURS(name)                             \
	{                                      \
#name, (void *)(uintptr_t)name \
	}
static const struct {
	const char *name;
	void *function;
} exported[] = {
	OURS(pthread_mutex_init),
	OURS(pthread_mutex_destroy),
	OURS(pthread_mutex_lock),
	OURS(pthread_mutex_trylock),
	OURS(pthread_mutex_timedlock),
	OURS(pthread_mutex_clocklock),
	OURS(pthread_mutex_unlock),
	OURS(pthread_cond_init),
	OURS(pthread_cond_destroy),
	OURS(pthread_cond_signal),
	OURS(pthread_cond_broadcast),
	OURS(pthread_cond_wait),
	OURS(pthread_cond_timedwait),
	OURS(pthread_cond_clockwait),
	OURS(pthread_rwlock_init),
	OURS(pthread_rwlock_destroy),
	OURS(pthread_rwlock_rdlock),
	OURS(pthread_rwlock_wrlock),
	OURS(pthread_rwlock_tryrdlock),
	OURS(pthread_rwlock_trywrlock),
	OURS(pthread_rwlock_timedrdlock),
	OURS(pthread_rwlock_timedwrlock),
	OURS(pthread_rwlock_clockrdlock),
	OURS(pthread_rwlock_clockwrlock),
	OURS(pthread_rwlock_unlock),
	OURS(pthread_spin_init),
	OURS(pthread_spin_destroy),
	OURS(pthread_spin_lock),
	OURS(pthread_spin_trylock),
	OURS(pthread_spin_unlock),
	OURS(pthread_key_create),
	OURS(tss_create),
	OURS(mtx_init),
	OURS(mtx_destroy),
	OURS(mtx_lock),
	OURS(mtx_trylock),
	OURS(mtx_timedlock),
	OURS(mtx_unlock),
	OURS(cnd_init),
	OURS(cnd_destroy),
	OURS(cnd_signal),
	OURS(cnd_broadcast),
	OURS(cnd_wait),
	OURS(cnd_timedwait),
	OURS(dlopen),
	OURS(dlmopen),
	OURS(dlvsym),
};

static void *find_ours(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(exported) / sizeof(exported[0]); i++)
		if (strcmp(exported[i].name, name) == 0)
			return exported[i].function;
	return NULL;
}

/* Does RTLD_NEXT lead from the caller to us? The list is in search order. */
static bool comes_before_us(const void *caller)
{
	struct link_map *map, *us;
	Dl_info info;

	if (dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 ||
	    dladdr1((const void *)exported, &info, (void **)&us, RTLD_DL_LINKMAP) == 0)
		return false;
	while (map != NULL && map != us)
		map = map->l_next;
	return map == us;
}

EXPORT JUMPS void *dlvsym(void *handle, const char *name, const char *version)
{
	void *function = NULL;

	if (handle == RTLD_DEFAULT ||
	    (handle == RTLD_NEXT && comes_before_us(__builtin_return_address(0))))
		function = find_ours(name);
	if (function != NULL)
		return function;
	JUMP_TO glibc()->dlvsym(handle, name, version);
}

static int bind_to_us(const char *file, int mode)
{
	if ((mode & RTLD_DEEPBIND) == 0)
		return mode;
	if (verbose) {
		pawl_os_complain("pawl: opens ");
		pawl_os_complain(file != NULL ? file : "the program");
		pawl_os_complain(
			" without RTLD_DEEPBIND, which would hide pawl's mutexes "
			"from it\n");
	}
	return mode & ~RTLD_DEEPBIND;
}

EXPORT JUMPS void *dlopen(const char *file, int mode)
{
	start_if_first();
	mode = bind_to_us(file, mode);
	JUMP_TO glibc()->dlopen(file, mode);
}

/* In a namespace of its own a library has its own glibc, and no pawl. */
EXPORT JUMPS void *dlmopen(Lmid_t namespace, const char *file, int mode)
{
	start_if_first();
	if (namespace == LM_ID_BASE)
		mode = bind_to_us(file, mode);
	JUMP_TO glibc()->dlmopen(namespace, file, mode);
}
