/* SPDX-License-Identifier: MIT */
/*
 * The subcommands. Each gets its own name as argv[0], prints results to stdout and
 * everything else to stderr, and returns the exit status: 0, or 1 if the result is
 * negative. Bad input ends the process with status 2.
 */
#ifndef PAWL_CLI_COMMANDS_H
#define PAWL_CLI_COMMANDS_H

int bench_main(int argc, char **argv);
int check_main(int argc, char **argv);
int list_main(int argc, char **argv);
int profile_main(int argc, char **argv);
int report_main(int argc, char **argv);
int run_main(int argc, char **argv);
int sim_main(int argc, char **argv);
int top_main(int argc, char **argv);
int try_main(int argc, char **argv);

/* Implements 'pawl report --diff' for other commands, with names for the files. Returns 1
 * if a figure became worse beyond noise, else 0. Writes a page unless output is NULL. */
int compare_files(char *old_path, const char *old_name, char *new_path,
		  const char *new_name, const char *output);

#endif /* PAWL_CLI_COMMANDS_H */
