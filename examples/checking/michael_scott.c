/* SPDX-License-Identifier: MIT */
/* The queue of Michael and Scott (PODC 1996). Nodes are freed when all is over. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifdef BROKEN
#define LINK memory_order_relaxed /* a node is found before it is filled */
#else
#define LINK memory_order_release
#endif

struct node {
	int item;
	_Atomic(struct node *) next;
};

static _Atomic(struct node *) head, tail;

static struct node *new_node(int item)
{
	struct node *node = malloc(sizeof(*node));

	node->item = item;
	atomic_init(&node->next, NULL);
	return node;
}

static void enqueue(struct node *node)
{
	for (;;) {
		struct node *last = atomic_load_explicit(&tail, memory_order_acquire);
		struct node *next = atomic_load_explicit(&last->next,
							 memory_order_acquire);

		if (next != NULL) { /* help */
			atomic_compare_exchange_strong_explicit(&tail, &last, next,
								memory_order_release,
								memory_order_relaxed);
			continue;
		}
		if (atomic_compare_exchange_strong_explicit(&last->next, &next, node,
							    LINK, memory_order_relaxed)) {
			atomic_compare_exchange_strong_explicit(&tail, &last, node,
								memory_order_release,
								memory_order_relaxed);
			return;
		}
	}
}

/* 0 if it is empty. */
static int dequeue(void)
{
	for (;;) {
		struct node *first = atomic_load_explicit(&head, memory_order_acquire);
		struct node *last = atomic_load_explicit(&tail, memory_order_acquire);
		struct node *next = atomic_load_explicit(&first->next,
							 memory_order_acquire);

		if (next == NULL)
			return 0;
		if (first == last) { /* help */
			atomic_compare_exchange_strong_explicit(&tail, &last, next,
								memory_order_release,
								memory_order_relaxed);
			continue;
		}
		if (atomic_compare_exchange_strong_explicit(&head, &first, next,
							    memory_order_release,
							    memory_order_relaxed))
			return next->item;
	}
}

static void *enqueues(void *item)
{
	struct node *node = new_node((int)(long)item);

	enqueue(node);
	return node;
}

static void check(int producers)
{
	pthread_t threads[2];
	struct node *first = new_node(0);
	void *node, *nodes[2];
	long i;
	int item, last = 0;

	atomic_store(&head, first);
	atomic_store(&tail, first);
	for (i = 0; i < producers; i++)
		pthread_create(&threads[i], NULL, enqueues, (void *)(i + 1));
	for (i = 0; i < producers; i++) {
		item = dequeue();
		assert(item == 0 || item != last);
		last = item;
	}
	for (i = 0; i < producers; i++) {
		pthread_join(threads[i], &node);
		nodes[i] = node;
	}
	for (i = 0; i < producers; i++)
		free(nodes[i]);
	free(first);
}

void check_michael_scott_2(void)
{
	check(1);
}

void check_michael_scott_3(void)
{
	check(2);
}

int main(void)
{
	check_michael_scott_2();
	return 0;
}
