/* SPDX-License-Identifier: MIT */
#include "cli/common/options.h"

#include "cli/common/output.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void say(const char *prefix, const char *format, va_list args)
{
	end_progress();
	fputs(prefix, stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

void refuse(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say("pawl: ", format, args);
	exit(2);
}

void give_up(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say("pawl: ", format, args);
	exit(1);
}

void warn(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say("pawl: warning: ", format, args);
	va_end(args);
}

/* Names. */

enum { NAME_MAX_LENGTH = 63 };

/* Levenshtein distance; names longer than any of ours are far from all. */
static size_t distance(const char *a, const char *b)
{
	size_t row[NAME_MAX_LENGTH + 1];
	size_t i, j, length = strlen(b);

	if (length > NAME_MAX_LENGTH)
		return SIZE_MAX;
	for (j = 0; j <= length; j++)
		row[j] = j;
	for (i = 0; a[i] != '\0'; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (j = 0; j < length; j++) {
			size_t best = diagonal + (a[i] != b[j]);

			diagonal = row[j + 1];
			if (best > diagonal + 1)
				best = diagonal + 1;
			if (best > row[j] + 1)
				best = row[j] + 1;
			row[j + 1] = best;
		}
	}
	return row[length];
}

const char *nearest_name(const char *name, const char *(*nth)(size_t i))
{
	const char *candidate, *nearest = NULL;
	/* A name is not similar if more than half of it differs. */
	size_t i, least = strlen(name) / 2 + 1;

	for (i = 0; (candidate = nth(i)) != NULL; i++) {
		size_t d = distance(name, candidate);

		if (strlen(name) > 1 && strncmp(candidate, name, strlen(name)) == 0)
			d = 1; /* an unfinished name */
		if (d < least) {
			least = d;
			nearest = candidate;
		}
	}
	return nearest;
}

void refuse_name(const char *what, const char *name, const char *(*nth)(size_t i),
		 const char *remedy)
{
	const char *nearest = nearest_name(name + strspn(name, "-"), nth);

	if (nearest != NULL)
		refuse("unknown %s '%s'; did you mean '%s%s'? %s", what, name,
		       *name == '-' ? "--" : "", nearest, remedy);
	refuse("unknown %s '%s'; %s", what, name, remedy);
}

/* Values. */

/* Parses an integer from low to high; refuses anything else. */
static int whole_number(const char *option, const char *text, int low, int high)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	if (end == text || *end != '\0' || errno != 0 || value < low || value > high)
		refuse("--%s: '%s' is not a whole number from %d to %d", option, text,
		       low, high);
	return (int)value;
}

enum { NUMBER_MAX = 1000 * 1000 * 1000 };

void parse_flag(const char *option, const char *text, void *into)
{
	(void)option;
	(void)text;
	*(bool *)into = true;
}

void parse_text(const char *option, const char *text, void *into)
{
	if (*text == '\0')
		refuse("--%s: the value is empty", option);
	*(const char **)into = text;
}

void parse_output(const char *option, const char *text, void *into)
{
	parse_text(option, text != NULL ? text : "-", into);
}

void parse_positive(const char *option, const char *text, void *into)
{
	*(int *)into = whole_number(option, text, 1, NUMBER_MAX);
}

void parse_natural(const char *option, const char *text, void *into)
{
	*(int *)into = whole_number(option, text, 0, NUMBER_MAX);
}

static void add_number(const char *option, const char *item, void *into)
{
	struct numbers *numbers = into;
	int value = whole_number(option, item, 1, NUMBER_MAX);
	size_t i;

	for (i = 0; i < numbers->count; i++)
		if (numbers->values[i] == value)
			return;
	if (numbers->count == NUMBERS_MAX)
		refuse("--%s: more than %d numbers; split them over several runs", option,
		       NUMBERS_MAX);
	numbers->values[numbers->count++] = value;
}

void parse_positives(const char *option, const char *text, void *into)
{
	struct numbers *numbers = into;

	numbers->count = 0; /* the last of several options counts */
	each_item(option, text, add_number, numbers);
}

void parse_seconds(const char *option, const char *text, void *into)
{
	const double longest = 86400;
	char *end;
	double value = strtod(text, &end);

	/* Negated, so that it refuses NaN, too. */
	if (end == text || *end != '\0' || !(value > 0 && value <= longest))
		refuse("--%s: '%s' is not a number of seconds above 0 and up to %.0f",
		       option, text, longest);
	*(double *)into = value;
}

/* A smaller number is a mistake. */
static const double least_percent = 0.0001;

static void add_percent(const char *option, const char *item, void *into)
{
	struct percents *percents = into;
	char *end;
	double value = strtod(item, &end);
	size_t i;

	/* Negated, so that it refuses NaN, too. */
	if (end == item || *end != '\0' ||
	    !(value == 0 || (value >= least_percent && value <= 100)))
		refuse("--%s: '%s' is not a percentage: 0, or from %g to 100", option,
		       item, least_percent);
	for (i = 0; i < percents->count; i++)
		if (percents->values[i] == value)
			return;
	if (percents->count == NUMBERS_MAX)
		refuse("--%s: more than %d numbers; split them over several runs", option,
		       NUMBERS_MAX);
	percents->values[percents->count++] = value;
}

void parse_percents(const char *option, const char *text, void *into)
{
	struct percents *percents = into;

	percents->count = 0; /* the last of several options counts */
	each_item(option, text, add_percent, percents);
}

void parse_seed(const char *option, const char *text, void *into)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 0);
	if (end == text || *end != '\0' || errno != 0 || value < 0)
		refuse("--%s: '%s' is not a whole number from 0 to 2^63 - 1", option,
		       text);
	*(uint64_t *)into = (uint64_t)value;
}

void each_item(const char *option, const char *text,
	       void (*take)(const char *option, const char *item, void *into), void *into)
{
	char *copy = strdup(text);
	char *rest = copy;
	char *item;

	if (copy == NULL)
		give_up("out of memory");
	while ((item = strsep(&rest, ",")) != NULL) {
		if (*item == '\0')
			refuse("--%s: '%s' has an empty item; write it as a,b,c", option,
			       text);
		take(option, item, into);
	}
	free(copy);
}

/* The command line. */

static void print_usage(const struct usage *usage)
{
	const struct option_spec *o;
	const char *operands = usage->operands == NULL ? "" : usage->operands;

	printf("Usage: pawl %s [OPTION...]%s%s\n\n%s\n\nOptions:\n", usage->command,
	       *operands == '\0' ? "" : " ", operands, usage->about);
	for (o = usage->options; o->name != NULL; o++) {
		char left[40];

		snprintf(left, sizeof(left), "--%s%s%s", o->name,
			 o->value == NULL ? "" : " ", o->value == NULL ? "" : o->value);
		printf("  %-18s %s\n", left, o->help);
	}
	printf("  %-18s %s\n", "--help", "this text");
}

static const struct option_spec *asked_options; /* for the callback below */

static const char *nth_option(size_t i)
{
	return asked_options[i].name;
}

static void refuse_option(const struct usage *usage, const char *word)
	__attribute__((noreturn));
static void refuse_option(const struct usage *usage, const char *word)
{
	char name[NAME_MAX_LENGTH + 1], remedy[80];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
	snprintf(remedy, sizeof(remedy), "'pawl %s --help' lists them", usage->command);
	asked_options = usage->options;
	refuse_name("option", name, nth_option, remedy);
}

/* Finds "--name" or "--name=value". */
static const struct option_spec *find_option(const struct usage *usage, const char *word)
{
	const char *text = word + strlen("--");
	const struct option_spec *o;
	size_t length = strcspn(text, "=");

	for (o = usage->options; o->name != NULL; o++)
		if (strlen(o->name) == length && strncmp(o->name, text, length) == 0)
			return o;
	refuse_option(usage, word);
}

static bool may_be_left_out(const struct option_spec *o)
{
	return o->value[0] == '[';
}

static bool asks_for_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

int program_at(const struct usage *usage, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		const struct option_spec *o;

		if (strcmp(argv[i], "--") == 0)
			return i + 1;
		if (strncmp(argv[i], "--", 2) != 0 || asks_for_help(argv[i]))
			continue;
		o = find_option(usage, argv[i]);
		if (o->value != NULL && strchr(argv[i], '=') == NULL && i + 1 < argc)
			i++;
	}
	return i;
}

int parse_options(const struct usage *usage, int argc, char **argv)
{
	int i, operands = 0;
	bool only_operands = false;

	for (i = 1; i < argc; i++) {
		const struct option_spec *o;
		const char *value;

		if (only_operands || argv[i][0] != '-' || argv[i][1] == '\0') {
			if (usage->operands == NULL)
				refuse("unexpected argument '%s'; see 'pawl %s --help'",
				       argv[i], usage->command);
			argv[++operands] = argv[i];
			continue;
		}
		if (strcmp(argv[i], "--") == 0) {
			only_operands = true;
			continue;
		}
		if (asks_for_help(argv[i])) {
			print_usage(usage);
			finish_stdout();
			exit(0);
		}
		if (argv[i][1] != '-')
			refuse_option(usage, argv[i]);
		o = find_option(usage, argv[i]);
		value = strchr(argv[i], '=');
		if (value != NULL)
			value++;
		if (o->value == NULL && value != NULL)
			refuse("--%s takes no value", o->name);
		if (o->value != NULL && value == NULL) {
			bool is_last = i + 1 == argc ||
				       strncmp(argv[i + 1], "--", 2) == 0;

			if (is_last && !may_be_left_out(o))
				refuse("--%s needs a value: --%s %s", o->name, o->name,
				       o->value);
			value = is_last ? NULL : argv[++i];
		}
		o->parse(o->name, value, o->into);
	}
	return operands;
}
