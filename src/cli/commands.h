/* SPDX-License-Identifier: MIT */
/*
 * The subcommands. Each gets its own name as argv[0], prints results to stdout
 * and everything else to stderr, and returns the exit status: 0, or 1 if what
 * was asked for came out wrong. Bad input ends the process with status 2.
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

#endif /* PAWL_CLI_COMMANDS_H */
