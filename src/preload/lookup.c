/* SPDX-License-Identifier: MIT */
/*
 * dlvsym: look-ups with a version. An unversioned definition answers to all
 * versions that the linker asks for, but not to those that dlvsym does; and
 * whoever finds some functions here and others in glibc breaks both. Other
 * look-ups, dlsym's among them, find what they should by themselves.
 */
#define _GNU_SOURCE
#include "preload.h"

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
	OURS(pthread_spin_init),
	OURS(pthread_spin_destroy),
	OURS(pthread_spin_lock),
	OURS(pthread_spin_trylock),
	OURS(pthread_spin_unlock),
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

EXPORT void *dlvsym(void *handle, const char *name, const char *version);

/* The last line must stay a jump, or RTLD_NEXT would start from here. */
#if defined(__GNUC__) && !defined(__clang__)
__attribute__((optimize("O2")))
#endif
void *
dlvsym(void *handle, const char *name, const char *version)
{
	void *function = NULL;

	if (handle == RTLD_DEFAULT ||
	    (handle == RTLD_NEXT && comes_before_us(__builtin_return_address(0))))
		function = find_ours(name);
	if (function != NULL)
		return function;
	return glibc()->dlvsym(handle, name, version);
}
