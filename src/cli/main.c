/* SPDX-License-Identifier: MIT */
/* pawl: finds the subcommand and calls it. */
#include "cli/commands.h"
#include "cli/common/options.h"
#include "cli/common/output.h"

#include <stdio.h>
#include <string.h>

static const struct command {
	const char *name, *summary;
	int (*main)(int argc, char **argv);
} commands[] = {
	{"list", "the locks and their properties", list_main},
	{"bench", "compare locks on this machine", bench_main},
	{"run", "run a program with pawl's locks under its mutexes", run_main},
#ifdef PAWL_PROFILE
	{"profile", "contended locks of a program, their waiters and holders",
	 profile_main},
	{"top", "the same, once a second while the program runs", top_main},
#endif
	{"report", "a page from results of bench, sim, try and profile", report_main},
	{"try", "find the best lock for your program", try_main},
#ifdef PAWL_SIM
	{"check", "check locks on every execution of a few threads", check_main},
	{"sim", "compare locks on simulated machines", sim_main},
#endif
};

enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static const char *nth_command(size_t i)
{
	return i < COMMANDS ? commands[i].name : NULL;
}

static const struct command *find_command(const char *name)
{
	size_t i;

	for (i = 0; i < COMMANDS; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	refuse_name("command", name, nth_command, "'pawl --help' lists them");
}

static void print_help(void)
{
	size_t i;

	printf("pawl - compact, scalable locks\n"
	       "\n"
	       "Usage: pawl COMMAND [OPTION...]\n"
	       "\n"
	       "Commands:\n");
	for (i = 0; i < COMMANDS; i++)
		printf("  %-10s %s\n", commands[i].name, commands[i].summary);
	printf("  %-10s %s\n", "help", "the options of a command: pawl help COMMAND");
	printf("\n"
	       "Options:\n"
	       "  --help     this text\n"
	       "  --version  the version of pawl\n");
}

static int run(int argc, char **argv)
{
	const char *name;

	if (argc < 2)
		refuse("no command given; 'pawl --help' lists them");
	name = argv[1];
	if (strcmp(name, "--version") == 0) {
		printf("pawl %s\n", PAWL_VERSION);
		return 0;
	}
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 ||
	    (strcmp(name, "help") == 0 && argc == 2)) {
		print_help();
		return 0;
	}
	if (strcmp(name, "help") == 0) {
		char *ask[] = {argv[2], (char[]){"--help"}, NULL};

		return find_command(argv[2])->main(2, ask);
	}
	return find_command(name)->main(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
	int status = run(argc, argv);

	finish_stdout();
	return status;
}
