/* SPDX-License-Identifier: MIT */
/*
 * An object that carries its own lock and is freed by whoever lets go of it
 * last, right after unlock: sound with every lock that locks.def calls PROMPT.
 */
#include <pawl/mcs.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct shared {
	struct pawl_mcs lock;
	int references;
};

static void *drop(void *argument)
{
	struct shared *object = argument;
	bool last;

	pawl_mcs_lock(&object->lock);
	last = --object->references == 0;
	pawl_mcs_unlock(&object->lock);
	if (last) {
		free(object);
		puts("freed once");
	}
	return NULL;
}

int main(void)
{
	struct shared *object = calloc(1, sizeof(*object)); /* zero: unlocked */
	pthread_t threads[3];

	if (object == NULL)
		return 1;
	object->references = 3;
	for (int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, drop, object) != 0)
			return 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
