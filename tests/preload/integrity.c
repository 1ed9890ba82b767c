/* SPDX-License-Identifier: MIT */
/*
 * Exclusion and wake-ups under load: integrity CASE [light]. Exit status 0, or a
 * line that says what broke; a hang ends in an alarm. Light is for locks whose
 * waiters spin: they are slow when threads outnumber CPUs.
 */
#define _GNU_SOURCE
#include "integrity.h"
#include "../harness/hang.h"

#include <stdint.h>
#include <string.h>

int thread_count = MOST_THREADS, run_ms = 400, effort = 20;
volatile bool stop;

struct timespec in_ms(clockid_t clock, long ms)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_nsec += ms % 1000 * 1000000;
	t.tv_sec += ms / 1000 + t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

void start_all(pthread_t *threads, int n, void *(*run)(void *), void *argument)
{
	int i;

	for (i = 0; i < n; i++)
		CHECK(pthread_create(&threads[i], NULL, run, argument) == 0);
}

void join_all(pthread_t *threads, int n)
{
	int i;

	for (i = 0; i < n; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
}

void run_for(long ms, int n, void *(*run)(void *), void *argument)
{
	pthread_t threads[64];

	stop = false;
	start_all(threads, n, run, argument);
	usleep((useconds_t)ms * 1000);
	stop = true;
	join_all(threads, n);
}

static bool lock_somehow(struct shared *s, unsigned way)
{
	struct timespec t;

	switch (way % 8) {
	case 0:
		return pthread_mutex_trylock(&s->m) == 0;
	case 1:
		t = in_ms(CLOCK_REALTIME, 1);
		return pthread_mutex_timedlock(&s->m, &t) == 0;
	case 2:
		t = in_ms(CLOCK_MONOTONIC, 2);
		return pthread_mutex_clocklock(&s->m, CLOCK_MONOTONIC, &t) == 0;
	default:
		return pthread_mutex_lock(&s->m) == 0;
	}
}

void *hammer(void *argument)
{
	struct shared *s = argument;
	unsigned way = (unsigned)(uintptr_t)&way >> 4;
	struct timespec t;
	long mine = 0;

	while (!stop) {
		way = way * 1103515245 + 12345;
		if (!lock_somehow(s, way >> 16))
			continue;
		CHECK(s->inside++ == 0);
		s->sum++;
		mine++;
		CHECK(s->inside-- == 1);
		if (way >> 28 == 3)
			pthread_cond_signal(&s->c);
		if (way >> 28 == 5) {
			t = in_ms(CLOCK_MONOTONIC, 0);
			pthread_cond_clockwait(&s->c, &s->m, CLOCK_MONOTONIC, &t);
			CHECK(s->inside++ == 0);
			CHECK(s->inside-- == 1);
		}
		pthread_mutex_unlock(&s->m);
	}
	__atomic_fetch_add(&s->counted, mine, __ATOMIC_RELAXED);
	return NULL;
}

bool is_asleep(pid_t id)
{
	char path[64], text[512], *state;
	FILE *file;
	size_t length;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)id);
	file = fopen(path, "r");
	CHECK(file != NULL);
	length = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[length] = '\0';
	state = strrchr(text, ')');
	return state != NULL && state[2] == 'S';
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {
		{"exclusion", exclusion},
		{"pingpong", pingpong},
		{"broadcast", broadcast},
		{"fair", fair},
		{"forks", forks},
		{"cancel", cancel},
		{"many", many},
		{"churn", churn},
		{"signals", signals},
		{"stranger", stranger},
		{"timed", timed},
		{"farewell", farewell},
		{"small", small},
		{"spins", spins},
		{"exit", leave_in_the_middle},
		{"newcomers", newcomers},
		{"depths", depths},
		{"mixture", mixture},
		{"jumps", jumps},
		{"jumps_about", jumps_about},
		{"jumps_from_cond", jumps_from_cond},
		{"cancels_at_once", cancels_at_once},
		{"forgotten", forgotten},
	};
	size_t i;

	alarm(HANG_GUARD_S);
	if (argc == 3 && strcmp(argv[2], "light") == 0) {
		thread_count = 3;
		run_ms = 100;
		effort = 2;
	}
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (argc >= 2 && strcmp(argv[1], cases[i].name) == 0) {
			cases[i].run();
			return 0;
		}
	fprintf(stderr, "usage: integrity CASE [light]\n");
	return 2;
}
