/* SPDX-License-Identifier: MIT */
/*
 * The options of a subcommand as a table, used both to parse and to explain them. Bad
 * input is refused here, in one line that names the remedy, with exit status 2.
 */
#ifndef PAWL_CLI_OPTIONS_H
#define PAWL_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct option_spec {
	const char *name;  /* without the dashes */
	const char *value; /* name of its value in --help; "[...]" if optional, then
			    * parse() gets NULL; NULL for a flag */
	const char *help;
	/* Parses `text` into *into, or refuses it by the option's name. */
	void (*parse)(const char *option, const char *text, void *into);
	void *into;
};

struct usage {
	const char *command;
	const char *operands; /* their name in --help; NULL if there are none */
	const char *about;    /* one paragraph */
	const struct option_spec *options; /* the last one has no name */
};

/*
 * Parses argv, "--name value" and "--name=value" alike; prints the help and exits if
 * asked to. Moves the operands to the front of argv, from argv[1] on, and returns their
 * number.
 */
int parse_options(const struct usage *usage, int argc, char **argv);

/*
 * The index where a program's command line begins: after "--", or at the first word that
 * is neither one of our options nor the value of one; argc if there is none. The words
 * before are for parse_options().
 */
int program_at(const struct usage *usage, int argc, char **argv);

/* Lists of integers; duplicates are dropped, the order is kept. */
enum { NUMBERS_MAX = 64 };
struct numbers {
	size_t count;
	int values[NUMBERS_MAX];
};

/* The same for numbers with fractions. */
struct percents {
	size_t count;
	double values[NUMBERS_MAX];
};

/* Values of option_spec.parse; `into` points to the type named. */
void parse_flag(const char *option, const char *text, void *into); /* bool */
void parse_text(const char *option, const char *text, void *into); /* const char * */
void parse_output(const char *option, const char *text,
		  void *into); /* const char *, "-" by default */
void parse_positive(const char *option, const char *text, void *into); /* int >= 1 */
void parse_natural(const char *option, const char *text, void *into);  /* int >= 0 */
void parse_positives(const char *option, const char *text,
		     void *into);				      /* struct numbers */
void parse_seconds(const char *option, const char *text, void *into); /* double > 0 */
void parse_percents(const char *option, const char *text,
		    void *into); /* struct percents, 0 to 100 each */
void parse_seed(const char *option, const char *text, void *into); /* uint64_t */

/* Calls take() with each item of a comma-separated list; refuses empty items. */
void each_item(const char *option, const char *text,
	       void (*take)(const char *option, const char *item, void *into),
	       void *into);

/* Returns the name most similar to `name`, NULL if none is. nth(i) is NULL at the end. */
const char *nearest_name(const char *name, const char *(*nth)(size_t i));

/* Refuses a name that does not exist, and suggests the most similar one; `remedy` says
 * how to list them all. An option's name has its dashes, those of nth() do not. */
void refuse_name(const char *what, const char *name, const char *(*nth)(size_t i),
		 const char *remedy) __attribute__((noreturn));

/* Reports bad input and the remedy, in one line; exits with 2. */
void refuse(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Reports a failure that is not the input's, in one line; exits with 1. */
void give_up(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Prints a warning on stderr; each names its remedy. */
void warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* PAWL_CLI_OPTIONS_H */
