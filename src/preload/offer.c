/* SPDX-License-Identifier: MIT */
/* What a lock must be able to do to serve as a pthread_mutex_t. */
#include "offer.h"

#include <string.h>

/* Room in a mutex beside __kind and the owner; see preload.h. */
enum { CORE_ROOM = 16, CONTEXT_ROOM = 16, ROOM = 32, EXTRA = 8 };

const char *offer_refusal(const struct lock_type *type)
{
	size_t core = type->core_size != 0 ? type->core_size : type->size;

	if (type->destroy_when == DESTROY_DESTROY)
		return "an unlocked lock keeps a queue node that only its destructor "
		       "frees, and programs do not destroy every mutex";
	if (type->trylock == NULL)
		return "it has no sound trylock";
	if (type->destroy_when == DESTROY_STABLE)
		return "its unlock touches the lock after handing it over, when the next "
		       "holder may have freed it";
	if (core > CORE_ROOM || type->context_size > CONTEXT_ROOM ||
	    core + type->context_size > ROOM - EXTRA)
		return "it leaves no room in a pthread_mutex_t for the depth of a "
		       "recursive mutex";
	if (strcmp(type->base, "hemlock-overlap") == 0)
		return "a thread must wait for its mailbox before it exits, and to "
		       "arrange for that in unlock would take memory from the heap";
	return NULL;
}
