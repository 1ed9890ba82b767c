/* SPDX-License-Identifier: MIT */
/* Double-checked initialisation: the lock is taken only by who finds nothing. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifdef BROKEN
#define FIRST_LOOK memory_order_relaxed /* sees the pointer, not what it points to */
#else
#define FIRST_LOOK memory_order_acquire
#endif

struct config {
	int size;
};

static _Atomic(struct config *) config;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct config *get(void)
{
	struct config *c = atomic_load_explicit(&config, FIRST_LOOK);

	if (c != NULL)
		return c;
	pthread_mutex_lock(&lock);
	c = atomic_load_explicit(&config, memory_order_relaxed);
	if (c == NULL) {
		c = malloc(sizeof(*c));
		c->size = 42;
		atomic_store_explicit(&config, c, memory_order_release);
	}
	pthread_mutex_unlock(&lock);
	return c;
}

static void *uses(void *unused)
{
	assert(get()->size == 42);
	return unused;
}

void check_lazy(void)
{
	pthread_t threads[2];
	int i;

	for (i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, uses, NULL);
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	free(get());
}

int main(void)
{
	check_lazy();
	return 0;
}
