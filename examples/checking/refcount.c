/* SPDX-License-Identifier: MIT */
/* A reference count: who drops the last reference frees the object. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifdef BROKEN
#define DROP memory_order_relaxed /* our last use may come after another's free */
#else
#define DROP memory_order_acq_rel
#endif

struct object {
	atomic_int references;
	int value;
};

static void drop(struct object *o)
{
	if (atomic_fetch_sub_explicit(&o->references, 1, DROP) == 1)
		free(o);
}

static void *uses(void *object)
{
	struct object *o = object;

	assert(o->value == 7);
	drop(o);
	return NULL;
}

void check_refcount(void)
{
	struct object *o = malloc(sizeof(*o));
	pthread_t other;

	atomic_init(&o->references, 2);
	o->value = 7;
	pthread_create(&other, NULL, uses, o);
	uses(o);
	pthread_join(other, NULL);
}

int main(void)
{
	check_refcount();
	return 0;
}
