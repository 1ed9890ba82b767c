/* SPDX-License-Identifier: MIT */
/*
 * The options of a subcommand as a table, from which they are both parsed and
 * explained. Whatever cannot be understood is refused here, in one line that
 * names the remedy, with exit status 2.
 */
#ifndef PAWL_CLI_OPTIONS_H
#define PAWL_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct option_spec {
	const char *name;  /* without its dashes */
	const char *value; /* what --help calls its value; "[...]" if it may be left
			    * out, which gives parse() a NULL; NULL for a flag */
	const char *help;
	/* Reads `text` into *into, or refuses it by the option's name. */
	void (*parse)(const char *option, const char *text, void *into);
	void *into;
};

struct usage {
	const char *command;
	const char *operands; /* what --help calls them; NULL if there are none */
	const char *about;    /* one paragraph */
	const struct option_spec *options; /* ended by one without a name */
};

/*
 * Parses argv, "--name value" and "--name=value" alike; prints the help and
 * exits if it is asked for. Moves the operands to the front of argv, from
 * argv[1] on, and returns how many there are.
 */
int parse_options(const struct usage *usage, int argc, char **argv);

/*
 * Where the words of a program that is to be run begin: after "--", or at the
 * first word that is neither an option of ours nor the value of one; argc if
 * there are none. What stands before is for parse_options().
 */
int program_at(const struct usage *usage, int argc, char **argv);

/* Lists of whole numbers; duplicates are dropped, the order is kept. */
enum { NUMBERS_MAX = 64 };
struct numbers {
	size_t count;
	int values[NUMBERS_MAX];
};

/* The same of numbers that need not be whole. */
struct percents {
	size_t count;
	double values[NUMBERS_MAX];
};

/* What to put into option_spec.parse; `into` points at the type named. */
void parse_flag(const char *option, const char *text, void *into); /* bool */
void parse_text(const char *option, const char *text, void *into); /* const char * */
void parse_output(const char *option, const char *text,
		  void *into); /* const char *, "-" if left out */
void parse_positive(const char *option, const char *text, void *into); /* int >= 1 */
void parse_natural(const char *option, const char *text, void *into);  /* int >= 0 */
void parse_positives(const char *option, const char *text,
		     void *into);				      /* struct numbers */
void parse_seconds(const char *option, const char *text, void *into); /* double > 0 */
void parse_percents(const char *option, const char *text,
		    void *into); /* struct percents, 0 to 100 each */
void parse_seed(const char *option, const char *text, void *into); /* uint64_t */

/* Calls take() with each item of a comma-separated list; refuses empty ones. */
void each_item(const char *option, const char *text,
	       void (*take)(const char *option, const char *item, void *into),
	       void *into);

/* Returns the name most like `name`, NULL if none is. nth(i) is NULL at the end. */
const char *nearest_name(const char *name, const char *(*nth)(size_t i));

/* Refuses the name of what does not exist, and says which is most like it;
 * `remedy` names them all. An option's name comes with its dashes, nth() without. */
void refuse_name(const char *what, const char *name, const char *(*nth)(size_t i),
		 const char *remedy) __attribute__((noreturn));

/* Says what is wrong with the input and what to do, in one line; exits 2. */
void refuse(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Says what went wrong although the input was right, in one line; exits 1. */
void give_up(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Says on stderr what to beware of; each warning names what helps. */
void warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* PAWL_CLI_OPTIONS_H */
