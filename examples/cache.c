/* SPDX-License-Identifier: MIT */
/*
 * A small concurrent cache. A look-up writes nothing; an entry that is being
 * replaced counts as a miss; and whoever loses the race to fill one lets it be,
 * for the winner's answer is as good.
 */
#include <pawl/seqlock.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

struct answer {
	uint64_t question, steps;
};

struct entry {
	struct pawl_seqlock seq;
	pawl_atomic64 words[PAWL_SEQLOCK_WORDS(sizeof(struct answer))];
};

enum { ENTRIES = 256, QUESTIONS = 1000, THREADS = 4 };

static struct entry cache[ENTRIES]; /* zero: the answer to no question */

/* What is worth remembering: the length of a walk that halves or triples. */
static uint64_t count_steps(uint64_t n)
{
	uint64_t steps = 0;

	for (; n != 1; steps++)
		n = n % 2 == 0 ? n / 2 : 3 * n + 1;
	return steps;
}

static uint64_t ask(uint64_t question)
{
	struct entry *entry = &cache[question % ENTRIES];
	struct answer answer;

	if (pawl_seqlock_try_read(&entry->seq, entry->words, &answer, sizeof(answer)) &&
	    answer.question == question)
		return answer.steps;
	answer.question = question;
	answer.steps = count_steps(question);
	pawl_seqlock_write(&entry->seq, entry->words, &answer, sizeof(answer));
	return answer.steps;
}

static void *work(void *wrong)
{
	uint64_t i;

	for (i = 0; i < 50 * QUESTIONS; i++) {
		uint64_t question = i * i % QUESTIONS + 1;

		if (ask(question) != count_steps(question))
			++*(uint64_t *)wrong;
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	uint64_t wrong[THREADS] = {0}, sum = 0;
	int t;

	for (t = 0; t < THREADS; t++)
		pthread_create(&threads[t], NULL, work, &wrong[t]);
	for (t = 0; t < THREADS; t++) {
		pthread_join(threads[t], NULL);
		sum += wrong[t];
	}
	printf("%" PRIu64 " wrong answers; 27 takes %" PRIu64 " steps\n", sum, ask(27));
	return sum != 0;
}
