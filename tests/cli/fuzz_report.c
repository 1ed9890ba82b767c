/* SPDX-License-Identifier: MIT */
/*
 * Spoilt files for pawl report: takes documents as bench, sim, profile and try write them,
 * changes a few of their values, and reads, draws and compares what comes of
 * that. Whatever the file says, it is refused in one line or shown; and what is
 * shown has no number that is none.
 *
 * usage: fuzz_report FIRST COUNT FILE...
 *
 * Each case is made from its number alone. They run in children; of one that
 * dies, the number is told: "fuzz_report NUMBER 1 FILE..." repeats it.
 */
#define _GNU_SOURCE
#include "lcg.h"
#include "cli/common/options.h"
#include "cli/report/report.h"

#include <ctype.h>
#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SEEDS_MAX = 16, RESULTS_KEPT = 12, CASES_PER_CHILD = 250, PATIENCE_S = 20 };

/* Seeds. */

static const char *const written[] = {
	"{\"schema\": 1, \"tool\": \"bench\", \"context\": {\"pawl\": \"0\", "
	"\"machine\": \"m\", \"cpu\": \"a\", \"cpus\": 2, \"kernel\": \"k\", "
	"\"compiler\": \"c\", \"date\": \"2026-01-02T03:04:05Z\", \"load\": 0, "
	"\"command\": [\"pawl\", \"bench\"], \"seed\": 1, \"noise\": {\"load_before\": "
	"1, \"load_after\": 1, \"steal_percent\": 0, \"governor\": null}}, "
	"\"results\": [{\"workload\": \"mutex\", \"lock\": \"tas\", \"threads\": 1, "
	"\"cs\": 1, \"ncs\": 0, \"seconds\": 1, \"unit\": \"ops/s\", \"better\": "
	"\"more\", \"median\": 1, \"interval\": {\"low\": 1, \"high\": 1, "
	"\"confidence\": 1}, \"samples\": [3, 4, 5], \"spread\": 0, "
	"\"median_ops_per_s\": 1, \"fairness\": 0.5, \"cpu_ns_per_op\": 7.5, "
	"\"context_switches_per_s\": null, \"steal_percent\": 0, \"figures\": "
	"{\"hit_percent\": 8}, \"spreads\": {\"fairness\": {\"low\": 0, \"high\": 1, "
	"\"confidence\": 0.9, \"samples\": [0, 1]}, \"figures\": {\"hit_percent\": "
	"{\"low\": 7, \"high\": 9, \"confidence\": 0.9, \"samples\": [7, 8, 9]}}}, "
	"\"wait_ns\": {\"p50\": 23, \"p99\": 35, \"p999\": 87, \"max\": 611}}, "
	"{\"workload\": \"mutex\", \"lock\": \"tas\", \"threads\": 2, \"cs\": 1, "
	"\"ncs\": 0, \"seconds\": 1, \"unit\": \"ops/s\", \"better\": \"more\", "
	"\"median\": 1, \"interval\": {\"low\": 1, \"high\": 1, \"confidence\": 1}, "
	"\"samples\": [1, 2, 3], \"spread\": 0, \"median_ops_per_s\": 1, \"fairness\": "
	"0.5, \"cpu_ns_per_op\": 7.5, \"context_switches_per_s\": null, "
	"\"steal_percent\": 0, \"figures\": {\"hit_percent\": 8}}, {\"workload\": "
	"\"mutex\", \"lock\": \"pthread\", \"threads\": 2, \"cs\": 1, \"ncs\": 0, "
	"\"seconds\": 1, \"unit\": \"ops/s\", \"better\": \"more\", \"median\": 1, "
	"\"interval\": {\"low\": 1, \"high\": 1, \"confidence\": 1}, \"samples\": [7, "
	"8, 9], \"spread\": 0, \"median_ops_per_s\": 1, \"fairness\": null, "
	"\"cpu_ns_per_op\": 7.5, \"context_switches_per_s\": null, \"steal_percent\": "
	"0, \"figures\": {}}]}",
	"{\"schema\": 1, \"tool\": \"sim\", \"context\": {\"version\": \"0\", "
	"\"preset\": \"max\", \"machine\": \"m\", \"cpus\": 4, \"protocol\": \"mesi\", "
	"\"seed\": 1, \"runs\": 1, \"episodes\": 5, \"homes\": \"h\", \"placement\": "
	"\"p\"}, \"results\": [{\"workload\": \"mutex\", \"lock\": \"mcs\", "
	"\"threads\": 1, \"cs\": 1, \"ncs\": 0, \"machine\": \"m\", "
	"\"median_ops_per_s\": 1000000.0, \"samples\": [1000000.0], \"fairness\": 1, "
	"\"per_episode\": {\"misses\": 1, \"invalidations\": 2, \"remote_misses\": 0, "
	"\"rmw\": 1}}, {\"workload\": \"mutex\", \"lock\": \"mcs\", \"threads\": 10, "
	"\"cs\": 1, \"ncs\": 0, \"machine\": \"m\", \"median_ops_per_s\": 10000000.0, "
	"\"samples\": [10000000.0], \"fairness\": 1, \"per_episode\": {\"misses\": 10, "
	"\"invalidations\": 2, \"remote_misses\": 0, \"rmw\": 1}}]}",
	"{\"schema\": 1, \"tool\": \"profile\", \"command\": [\"pigz\"], \"wall_s\": "
	"1.5, \"processes\": 1, \"locks\": [{\"name\": \"alpha\", \"kind\": \"mutex\", "
	"\"locks\": 1, \"waits\": 20, \"wait_ns\": 400000000.0, \"longest_ns\": "
	"20000000.0, \"histogram\": [[1024, 3], [4096, 2]], \"stacks\": [{\"waits\": "
	"20, \"wait_ns\": 400000000.0, \"waiter\": [{\"function\": \"f\", \"file\": "
	"\"a/b.c\", \"line\": 3, \"module\": null}, {\"function\": \"main\", \"file\": "
	"null, \"line\": 0, \"module\": \"m\"}], \"holder\": [{\"function\": \"main\", "
	"\"file\": null, \"line\": 0, \"module\": \"m\"}]}]}], \"conds\": [], "
	"\"timeline\": [[0.5, 0.1], [1, 0.4]], \"lost\": {\"locks\": 0}}",
	"{\"schema\": 1, \"tool\": \"try\", \"context\": {\"pawl\": \"0\", "
	"\"machine\": \"m\", \"cpu\": \"c\", \"cpus\": 2, \"kernel\": \"k\", "
	"\"compiler\": \"cc\", \"date\": \"2026-01-02T03:04:05Z\", \"load\": 0.5, "
	"\"command\": [\"pawl\", \"try\", \"--\", \"pigz\"]}, \"look\": null, "
	"\"verdict\": {\"kind\": \"undecided\", \"sentence\": \"Undecided.\"}, "
	"\"budget_s\": 60, \"spent_s\": 1, \"results\": [{\"workload\": \"try\", "
	"\"lock\": \"glibc\", \"wall_s\": {\"median\": 2, \"low\": 1, \"high\": "
	"2, \"confidence\": 0.5, \"samples\": [1, 2]}, \"cpu_s\": {\"median\": 2, "
	"\"low\": 1, \"high\": 2, \"confidence\": 0.5, \"samples\": [1, 2]}, "
	"\"context_switches\": {\"median\": 4, \"low\": 3, \"high\": 4, "
	"\"confidence\": 0.5, \"samples\": [3, 4]}, \"max_rss\": {\"median\": 6, "
	"\"low\": 5, \"high\": 6, \"confidence\": 0.5, \"samples\": [5, 6]}}, "
	"{\"workload\": \"try\", \"lock\": \"mutex\", \"acquisitions\": 5, "
	"\"contended\": 1, \"better\": \"less\", \"metric\": {\"median\": 2, "
	"\"low\": 1, \"high\": 2, \"confidence\": 0.5, \"samples\": [1, 2]}, "
	"\"wall_s\": {\"median\": 2, \"low\": 1, \"high\": 2, \"confidence\": "
	"0.5, \"samples\": [1, 2]}, \"cpu_s\": {\"median\": 2, \"low\": 1, "
	"\"high\": 2, \"confidence\": 0.5, \"samples\": [1, 2]}}, {\"workload\": "
	"\"try\", \"lock\": \"tas\", \"trouble\": \"exit status 3\"}]}",
};

static json_t *seeds[SEEDS_MAX];
static size_t seed_count;

static void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void complain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	abort();
}

static void add_seed(json_t *seed)
{
	json_t *results = json_object_get(seed, "results");

	if (seed == NULL || seed_count == SEEDS_MAX)
		complain("a seed is not JSON, or there are too many");
	while (json_array_size(results) > RESULTS_KEPT)
		json_array_remove(results, json_array_size(results) - 1);
	seeds[seed_count++] = seed;
}

/* Mutations. */

static uint64_t random_state;

static uint32_t below(uint32_t n)
{
	random_state = lcg_next(random_state);
	return lcg_below(random_state, n);
}

static json_t *make_odd_value(void)
{
	static const double reals[] = {0,	-0.0,	  1e308,  -1e308, DBL_MIN,
				       5e-324,	1e16 + 2, 1e-9,	  -1,	  0.5,
				       DBL_MAX, 1e100,	  1.5e15, 3e9};
	static const json_int_t integers[] = {0,  -1,	     1,		2,	  3,
					      64, INT32_MAX, INT64_MAX, INT64_MIN};
	static const char *const texts[] = {
		"",
		"a",
		"--",
		"try",
		"less",
		"pthread",
		"mutex",
		"\n'`\\",
		"<b>&\"",
		"glibc",
		"bench",
		"metric",
		"%s%n",
		"\xc3\xa9\xc3\xa9",
		"a name that is much longer than what there is room for, by \xc3\xa9\xc3"
		"\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9",
		"xxxxxxxxxxxxxxxxxxxxxxx\xe2\x82\xac\xe2\x82\xac"};
	json_t *value;

	switch (below(9)) {
	case 0:
		return json_null();
	case 1:
		return json_boolean(below(2));
	case 2:
	case 3:
		return json_real(reals[below(sizeof(reals) / sizeof(reals[0]))]);
	case 4:
		return json_integer(
			integers[below(sizeof(integers) / sizeof(integers[0]))]);
	case 5:
		value = json_array();
		json_array_append_new(value, make_odd_value());
		return value;
	case 6:
		value = json_object();
		json_object_set_new(value, "samples", make_odd_value());
		return value;
	default:
		return json_string(texts[below(sizeof(texts) / sizeof(texts[0]))]);
	}
}

static const char *nth_key(json_t *object, size_t n)
{
	void *at = json_object_iter(object);

	while (n-- > 0)
		at = json_object_iter_next(object, at);
	return json_object_iter_key(at);
}

/* Some value inside one of the seeds; to be freed. */
static json_t *borrow_value(void)
{
	const json_t *at = seeds[below((uint32_t)seed_count)];

	for (;;) {
		size_t n = json_is_array(at) ? json_array_size(at) : json_object_size(at);

		if (n == 0 || below(4) == 0)
			return json_deep_copy(at);
		at = json_is_array(at)
			     ? json_array_get(at, below((uint32_t)n))
			     : json_object_get(at, nth_key((json_t *)(uintptr_t)at,
							   below((uint32_t)n)));
	}
}

static json_t *make_value(void)
{
	return below(4) == 0 ? borrow_value() : make_odd_value();
}

static void change_array(json_t *array)
{
	size_t at = below((uint32_t)json_array_size(array));

	switch (below(4)) {
	case 0:
		json_array_remove(array, at);
		break;
	case 1: /* twice */
		json_array_append_new(array, json_deep_copy(json_array_get(array, at)));
		break;
	default:
		json_array_set_new(array, at, make_value());
	}
}

static void change_object(json_t *object)
{
	const char *key = nth_key(object, below((uint32_t)json_object_size(object)));

	switch (below(4)) {
	case 0:
		json_object_del(object, key);
		break;
	case 1: /* under another name */
		json_object_set_new(object,
				    below(2) == 0 ? "samples" : "a_\xc3\xa9\xc3\xa9",
				    json_deep_copy(json_object_get(object, key)));
		break;
	default:
		json_object_set_new(object, key, make_value());
	}
}

/* Changes something at this depth or below. */
static void change(json_t *at)
{
	size_t n = json_is_array(at) ? json_array_size(at) : json_object_size(at);
	json_t *inside = NULL;

	if (n == 0)
		return;
	if (below(4) != 0)
		inside = json_is_array(at)
				 ? json_array_get(at, below((uint32_t)n))
				 : json_object_get(at, nth_key(at, below((uint32_t)n)));
	if (json_array_size(inside) > 0 || json_object_size(inside) > 0)
		change(inside);
	else if (json_is_array(at))
		change_array(at);
	else
		change_object(at);
}

static json_t *make_document(void)
{
	json_t *document = json_deep_copy(seeds[below((uint32_t)seed_count)]);
	uint32_t i, changes = below(5);

	for (i = 0; i < changes; i++) {
		json_t *results = json_object_get(document, "results");

		/* Mostly in the results: what is wrong above gets no further. */
		change(json_array_size(results) > 0 && below(8) != 0 ? results
								     : document);
	}
	return document;
}

/* As text, now and then with a byte changed or the end cut off. */
static int write_document(json_t *document)
{
	char *text = json_dumps(document, JSON_ENCODE_ANY);
	int file = memfd_create("fuzz", 0);
	size_t length;

	if (text == NULL || file < 0)
		complain("cannot write a document");
	length = strlen(text);
	if (below(20) == 0)
		length = below((uint32_t)length + 1);
	if (below(20) == 0 && length > 0)
		text[below((uint32_t)length)] = (char)below(256);
	if (write(file, text, length) != (ssize_t)length)
		complain("cannot write a document");
	free(text);
	json_decref(document);
	return file;
}

/* What stands in for the rest of the command. */

static jmp_buf refused;
static bool is_comparing;

void __wrap_refuse(const char *format, ...);
void __wrap_give_up(const char *format, ...);
void __wrap_warn(const char *format, ...);

void __wrap_refuse(const char *format, ...)
{
	char text[4096];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (strchr(text, '\n') != NULL)
		complain("refused in more than a line: %s", text);
	longjmp(refused, 1);
}

void __wrap_give_up(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	complain(": gave up");
}

void __wrap_warn(const char *format, ...)
{
	(void)format;
}

/* Whether a number stands there that is none. */
static bool has_odd_number(const char *text)
{
	static const char *const words[] = {"nan", "inf"};
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const char *at = text;

		while ((at = strstr(at, words[i])) != NULL) {
			if ((at == text || !isalpha((unsigned char)at[-1])) &&
			    !isalpha((unsigned char)at[3]))
				return true;
			at++;
		}
	}
	return false;
}

/* A case. */

static void check_text(char *page, size_t size)
{
	json_t *text = json_stringn(page, size); /* checks that it is UTF-8 */
	char *script = strstr(page, "<script>\n");

	if (text == NULL)
		complain("the page is not UTF-8:\n%s", strstr(page, "<h1>"));
	if (script != NULL) /* which is always the same */
		*script = '\0';
	if (has_odd_number(page))
		complain("not a number on the page:\n%s", strstr(page, "<h1>"));
	json_decref(text);
	free(page);
}

static void check_page(const struct report *report)
{
	char *page;
	size_t size;
	FILE *out = open_memstream(&page, &size);

	if (out == NULL)
		complain("out of memory");
	write_page(out, report);
	fclose(out);
	check_text(page, size);
}

static void check_difference(const struct report *old, const struct report *new)
{
	static char *page; /* static: longjmp() leaves them alone */
	static size_t size;
	FILE *out = open_memstream(&page, &size);

	if (out == NULL)
		complain("out of memory");
	report_diff(old, new, out);
	fclose(out);
	check_text(page, size);
}

static void run_case(uint64_t number)
{
	/* Of CPU time: a document that is never read to its end. */
	const struct itimerval patience = {.it_value = {.tv_sec = PATIENCE_S}};
	static char paths[2][40]; /* static: longjmp() leaves them alone */
	static int files[2];
	static struct report reports[2];
	char *list[1];
	int i;

	random_state = lcg_jump(number * 2654435761u, 1000);
	is_comparing = below(3) == 0;
	for (i = 0; i < 2; i++) {
		files[i] = write_document(make_document());
		snprintf(paths[i], sizeof(paths[i]), "/proc/self/fd/%d", files[i]);
	}
	setitimer(ITIMER_VIRTUAL, &patience, NULL);
	if (setjmp(refused) == 0) {
		list[0] = paths[0];
		reports[0] = read_report(list, 1);
		if (is_comparing) {
			list[0] = paths[1];
			reports[1] = read_report(list, 1);
			check_difference(&reports[0], &reports[1]);
			free_report(&reports[1]);
		} else {
			check_page(&reports[0]);
		}
		free_report(&reports[0]);
	}
	close(files[0]);
	close(files[1]);
}

/* Runs the cases in a child; returns the first that died, or `end`. */
static uint64_t run_cases(uint64_t first, uint64_t end)
{
	uint64_t *at = mmap(NULL, sizeof(*at), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t died;
	pid_t child;
	int status;

	if (at == MAP_FAILED)
		complain("out of memory");
	child = fork();
	if (child == 0) {
		if (freopen("/dev/null", "w", stdout) == NULL)
			_exit(1);
		for (*at = first; *at < end; ++*at)
			run_case(*at);
		_exit(0); /* what was in use when a file was refused is no leak */
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		complain("cannot start a child");
	died = *at;
	munmap(at, sizeof(*at));
	return status == 0 ? end : died;
}

int main(int argc, char **argv)
{
	uint64_t first, end, next;
	size_t i;

	if (argc < 3) {
		fprintf(stderr, "usage: %s FIRST COUNT FILE...\n", argv[0]);
		return 2;
	}
	first = strtoull(argv[1], NULL, 10);
	end = first + strtoull(argv[2], NULL, 10);
	for (i = 0; i < sizeof(written) / sizeof(written[0]); i++)
		add_seed(json_loads(written[i], 0, NULL));
	for (i = 3; i < (size_t)argc; i++)
		add_seed(json_load_file(argv[i], 0, NULL));
	for (; first < end; first = next) {
		uint64_t died;

		next = first + CASES_PER_CHILD < end ? first + CASES_PER_CHILD : end;
		died = run_cases(first, next);
		if (died != next) {
			fprintf(stderr, "case %llu went wrong\n",
				(unsigned long long)died);
			return 1;
		}
	}
	return 0;
}
