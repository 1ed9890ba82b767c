/* SPDX-License-Identifier: MIT */
/* What a lock must be able to do to serve as a pthread_mutex_t. */
#include "preload/offer.h"

/* Room for a core, and in all; see preload.h. */
enum { CORE_ROOM = 16, ROOM = 24 };

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
	if (core > CORE_ROOM || core + type->context_size > ROOM)
		return "it leaves no room in a pthread_mutex_t for the owner and the "
		       "depth "
		       "of a recursive mutex";
	if (type->release_by == RELEASE_OWNER)
		return "only the thread that locked it can unlock it, and programs "
		       "unlock "
		       "mutexes in other threads, in signal handlers, and after the "
		       "thread "
		       "that locked them has ended";
	return NULL;
}
