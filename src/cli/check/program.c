/* SPDX-License-Identifier: MIT */
/*
 * Compiles the given sources with -fsanitize=thread into one shared object, linked
 * without the sanitizer's library, and runs pawl-check-program on it (sim/program).
 */
#define _GNU_SOURCE
#include "cli/check/program.h"

#include "cli/common/interpose.h"
#include "cli/common/interrupt.h"
#include "cli/common/options.h"
#include "cli/common/output.h"
#include "cli/common/program.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RUNNER "pawl-check-program"

/* -O1 keeps loops and source lines apart. Copies become calls, which the checker sees. */
static const char *const compile_flags[] = {
	"-O1",
	"-g",
	"-fPIC",
	"-fsanitize=thread",
	"-U_FORTIFY_SOURCE",
	"-fno-builtin-memset",
	"-fno-builtin-memcpy",
	"-fno-builtin-memmove",
	"-DPAWL_PLAYED", /* pawl's headers: portable C instead of assembly */
	"-DPAWL_NO_NOTES",
};
/* A fixed load address. */
static const char *const link_flags[] = {"-shared", "-Wl,-Ttext-segment=0x500000000000"};

enum { MAX_WORDS = 512 };

struct words {
	const char *word[MAX_WORDS];
	size_t count;
};

static void add(struct words *words, const char *word)
{
	if (words->count == MAX_WORDS - 1)
		refuse("more than %d arguments; use fewer files and flags",
		       MAX_WORDS - 1);
	words->word[words->count++] = word;
	words->word[words->count] = NULL;
}

/* Strings kept until exit, because we exit from many places. */
struct text {
	struct text *next;
	char words[];
};
static struct text *texts;

static const char *format(const char *form, ...) __attribute__((format(printf, 1, 2)));
static const char *format(const char *form, ...)
{
	va_list arguments;
	struct text *text;
	int length;

	va_start(arguments, form);
	length = vsnprintf(NULL, 0, form, arguments);
	va_end(arguments);
	text = malloc(sizeof(*text) + (size_t)length + 1);
	if (text == NULL)
		give_up("out of memory");
	va_start(arguments, form);
	vsnprintf(text->words, (size_t)length + 1, form, arguments);
	va_end(arguments);
	text->next = texts;
	texts = text;
	return text->words;
}

static bool ends(const char *name, const char *with)
{
	size_t n = strlen(name), k = strlen(with);

	return n >= k && strcmp(name + n - k, with) == 0;
}

static bool is_cplusplus(const char *file)
{
	return ends(file, ".cc") || ends(file, ".cpp") || ends(file, ".cxx") ||
	       ends(file, ".C");
}

static const char *compiler(bool cplusplus)
{
	const char *chosen = getenv(cplusplus ? "CXX" : "CC");

	if (chosen != NULL && *chosen != '\0')
		return chosen;
	return cplusplus ? "c++" : "cc";
}

/* gcc warns that -fsanitize=thread does not support fences. Its library does not; the
 * checker does. clang rejects the option. */
static bool warns_of_fences(const char *command)
{
	const char *words = format("%s --version 2>/dev/null", command);
	FILE *pipe = popen(words, "r");
	char line[256];
	bool clang = false;

	if (pipe == NULL)
		return false;
	while (fgets(line, sizeof(line), pipe) != NULL)
		clang = clang || strstr(line, "clang") != NULL;
	pclose(pipe);
	return !clang;
}

/* Intermediate files are in a folder that is removed at exit. */

static char folder[] = "/tmp/pawl-check-XXXXXX";
static struct words made;

static void clean_up(void)
{
	size_t i;

	for (i = 0; i < made.count; i++)
		unlink(made.word[i]);
	rmdir(folder);
}

static const char *make_name(const char *name)
{
	const char *path = format("%s/%s", folder, name);

	add(&made, path);
	return path;
}

static int run(const struct words *words)
{
	struct program program = {
		.argv = (char *const *)(uintptr_t)words->word,
		.environment = environ,
		.in = STDIN_FILENO,
		.out = STDOUT_FILENO,
		.err = STDERR_FILENO,
	};
	struct program_outcome outcome;

	fflush(NULL);
	if (!run_program(&program, &outcome))
		give_up("cannot run '%s': %s", words->word[0], strerror(errno));
	if (outcome.end == ENDED_INTERRUPTED)
		exit(EXIT_INTERRUPTED);
	return outcome.end == ENDED_BY_EXIT ? outcome.code : 128 + outcome.code;
}

/* Inline assembly, which the checker cannot see. */

static bool only_hints(const char *line)
{
	static const char *const hints[] = {"pause", "rep nop", "rep; nop", "rep;nop",
					    "nop",   "yield",	"isb"};
	char text[128];
	size_t i, n = 0;

	for (; *line != '\0' && *line != '#' && n < sizeof(text) - 1; line++)
		if (!isspace((unsigned char)*line) || (n > 0 && text[n - 1] != ' '))
			text[n++] = isspace((unsigned char)*line) ? ' ' : *line;
	while (n > 0 && text[n - 1] == ' ')
		n--;
	text[n] = '\0';
	for (i = 0; i < sizeof(hints) / sizeof(*hints); i++)
		if (strcmp(text, hints[i]) == 0)
			return true;
	/* Or the compiler's own lines: line numbers and labels. */
	return n == 0 || strncmp(text, "//", 2) == 0 || strncmp(text, ".loc ", 5) == 0 ||
	       strncmp(text, ".L", 2) == 0;
}

/* The compiler marks asm() in its output: #APP, the line, the text, #NO_APP. */
static void refuse_assembly(const char *assembly, const char *source)
{
	FILE *file = fopen(assembly, "r");
	char line[1024], place[512] = "";
	bool inside = false;

	if (file == NULL)
		give_up("cannot read '%s': %s", assembly, strerror(errno));
	while (fgets(line, sizeof(line), file) != NULL) {
		int number;

		line[strcspn(line, "\n")] = '\0';
		if (strstr(line, "#APP") != NULL || strstr(line, "//APP") != NULL) {
			inside = true;
		} else if (strstr(line, "#NO_APP") != NULL ||
			   strstr(line, "//NO_APP") != NULL) {
			inside = false;
		} else if (inside &&
			   sscanf(line, "# %d \"%511[^\"]\"", &number, place) == 2) {
			size_t n = strlen(place);

			snprintf(place + n, sizeof(place) - n, ":%d", number);
		} else if (inside && !only_hints(line)) {
			refuse("%s: inline assembly '%s' is not supported; use the "
			       "atomics of the language",
			       place[0] != '\0' ? place : source,
			       line + strspn(line, " \t"));
		}
	}
	fclose(file);
}

static void compile(const char *source, const struct words *flags, struct words *objects)
{
	bool cplusplus = is_cplusplus(source);
	const char *assembly = make_name(format("%zu.s", objects->count));
	const char *object = make_name(format("%zu.o", objects->count));
	struct words words = {.count = 0};
	size_t i;

	add(&words, compiler(cplusplus));
	for (i = 0; i < sizeof(compile_flags) / sizeof(*compile_flags); i++)
		add(&words, compile_flags[i]);
	if (warns_of_fences(compiler(cplusplus)))
		add(&words, "-Wno-tsan");
	for (i = 0; i < flags->count; i++)
		if (strncmp(flags->word[i], "-l", 2) != 0)
			add(&words, flags->word[i]);
	add(&words, "-S");
	add(&words, source);
	add(&words, "-o");
	add(&words, assembly);
	if (run(&words) != 0)
		refuse("'%s' does not compile; the compiler's messages are above",
		       source);
	refuse_assembly(assembly, source);
	words = (struct words){.count = 0};
	add(&words, compiler(cplusplus));
	add(&words, "-c");
	add(&words, "-Wa,--no-warn"); /* of the compiler's output */
	add(&words, assembly);
	add(&words, "-o");
	add(&words, object);
	if (run(&words) != 0)
		refuse("'%s' does not assemble; the compiler's messages are above",
		       source);
	add(objects, object);
}

/* Checking changes the file, so it gets a copy. */
static const char *copy(const char *from)
{
	const char *to = make_name("program.so");
	struct words words = {.count = 0};

	add(&words, "cp");
	add(&words, from);
	add(&words, to);
	if (run(&words) != 0)
		refuse("cannot read '%s'", from);
	return to;
}

static const char *build(size_t count, char **files, const struct words *flags)
{
	struct words objects = {.count = 0}, words = {.count = 0};
	bool cplusplus = false;
	const char *library;
	size_t i;

	if (count == 1 && ends(files[0], ".so"))
		return copy(files[0]);
	for (i = 0; i < count; i++) {
		if (access(files[i], R_OK) != 0)
			refuse("cannot read '%s': %s", files[i], strerror(errno));
		if (ends(files[i], ".o"))
			add(&objects, files[i]);
		else if (ends(files[i], ".c") || is_cplusplus(files[i]))
			compile(files[i], flags, &objects);
		else
			refuse("'%s' is neither C (.c) nor C++ (.cc, .cpp, .cxx), nor an "
			       "object (.o) or shared object (.so)",
			       files[i]);
		cplusplus = cplusplus || is_cplusplus(files[i]);
	}
	library = make_name("program.so");
	add(&words, compiler(cplusplus));
	for (i = 0; i < sizeof(link_flags) / sizeof(*link_flags); i++)
		add(&words, link_flags[i]);
	for (i = 0; i < objects.count; i++)
		add(&words, objects.word[i]);
	for (i = 0; i < flags->count; i++)
		if (strncmp(flags->word[i], "-fsanitize", 10) != 0)
			add(&words, flags->word[i]);
	add(&words, "-o");
	add(&words, library);
	if (run(&words) != 0)
		refuse("the program does not link; the linker's messages are above");
	return library;
}

static void print_flags(const char *const *flags, size_t count, const char *more)
{
	size_t i;

	for (i = 0; i < count; i++)
		printf("%s%s", i > 0 ? " " : "", flags[i]);
	puts(more);
}

bool asks_for_program(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--program") == 0 ||
		    strcmp(argv[i], "--cflags") == 0 || strcmp(argv[i], "--libs") == 0)
			return true;
	return false;
}

/* Options of the checker, checked here and passed on as they are; `into` is its words. */
static void pass_flag(const char *option, const char *text, void *into)
{
	(void)text;
	add(into, format("--%s", option));
}

static void pass_text(const char *option, const char *text, void *into)
{
	add(into, format("--%s=%s", option, text));
}

static void pass_number(const char *option, const char *text, void *into)
{
	int number;

	parse_positive(option, text, &number);
	pass_text(option, text, into);
}

static void pass_depth(const char *option, const char *text, void *into)
{
	int depth;

	parse_depth(option, text, &depth);
	pass_text(option, text, into);
}

static void pass_model(const char *option, const char *text, void *into)
{
	if (strcmp(text, "weak") != 0 && strcmp(text, "tso") != 0 &&
	    strcmp(text, "sc") != 0)
		refuse("--%s: '%s' is not a memory model; use weak, tso or sc", option,
		       text);
	pass_text(option, text, into);
}

static bool is_passed(const struct words *words, const char *option)
{
	size_t i;

	for (i = 0; i < words->count; i++)
		if (strncmp(words->word[i], option, strlen(option)) == 0)
			return true;
	return false;
}

/* The last part of a path. */
static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

int check_program(int argc, char **argv)
{
	bool program = false, cflags = false, libs = false;
	struct words flags = {.count = 0}, words = {.count = 0};
	int count, i, ours;
	const struct option_spec options[] = {
		{"program", NULL, "check the given sources", parse_flag, &program},
		{"model", "M", "memory model: weak, tso or sc (weak)", pass_model,
		 &words},
		{"limit", "N", "stop after N executions (never)", pass_number, &words},
		{"unroll", "N", "stop at a loop with more than N iterations (never)",
		 pass_number, &words},
		{"replay", "TOKEN", "repeat an execution by its token", pass_text,
		 &words},
		{"html", "FILE", "draw a failure: threads as lanes, reads as arrows",
		 pass_text, &words},
		{"repeat", "N", "explore everything N times, to measure speed",
		 pass_number, &words},
		{"random", "N", "run N random executions, where all take too long",
		 pass_number, &words},
		{"seed", "S", "which ones (1)", pass_number, &words},
		{"depth", "D", "random priorities that change D - 1 times (uniform)",
		 pass_depth, &words},
		{"progress", NULL, "print progress and an estimate (on a terminal)",
		 pass_flag, &words},
		{"no-symmetry", NULL,
		 "also executions that differ only by a permutation of threads",
		 pass_flag, &words},
		{"cflags", NULL, "print the flags to compile a program for the checker",
		 parse_flag, &cflags},
		{"libs", NULL, "print the flags to link it as a shared object",
		 parse_flag, &libs},
		{.name = NULL},
	};
	const struct usage usage = {
		.command = "check",
		.operands = "--program FILE... [-- COMPILER FLAGS]",
		.about = "Compiles C and C++ and runs it in every way that the memory "
			 "model allows: main, or\n"
			 "each function check_...(void). Looks for failing assertions, "
			 "data races, deadlocks,\n"
			 "loops that wait forever, leaks and use after free. FILE is a "
			 "source, an object or a\n"
			 "shared object; CC and CXX name the compilers. Exits with 1 if "
			 "a verdict is not\n"
			 "'passed'. See docs/checking-your-code.md.",
		.options = options,
	};
	const char *again = "pawl check --program", *after = "";
	char runner[PATH_MAX] = "";
	int status;

	for (ours = 1; ours < argc && strcmp(argv[ours], "--") != 0; ours++)
		;
	for (i = ours + 1; i < argc; i++) {
		add(&flags, argv[i]);
		after = format("%s %s", i == ours + 1 ? " --" : after, argv[i]);
	}
	add(&words, runner);
	count = parse_options(&usage, ours, argv);
	need_random(is_passed(&words, "--random="), is_passed(&words, "--depth="));
	if (cflags || libs) {
		if (cflags)
			print_flags(compile_flags,
				    sizeof(compile_flags) / sizeof(*compile_flags),
				    warns_of_fences(compiler(false)) ? " -Wno-tsan" : "");
		if (libs)
			print_flags(link_flags, sizeof(link_flags) / sizeof(*link_flags),
				    "");
		return 0;
	}
	if (count == 0)
		refuse("no program given: pawl check --program FILE.c");
	for (i = 1; i <= count; i++)
		again = format("%s %s", again, argv[i]);
	if (!find_companion(RUNNER, runner, sizeof(runner)))
		give_up("cannot find " RUNNER " beside the command or with the library");
	if (mkdtemp(folder) == NULL)
		give_up("cannot make '%s': %s", folder, strerror(errno));
	atexit(clean_up);
	survive_broken_pipes();
	catch_interrupt();
	add(&words, format("--name=%s", last_part(argv[1])));
	add(&words, format("--again=%s", again));
	add(&words, format("--after=%s", after));
	add(&words, build((size_t)count, argv + 1, &flags));
	status = run(&words);
	return status;
}
