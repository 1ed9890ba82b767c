/* SPDX-License-Identifier: MIT */
/* pawl sim --preset validate: predictions against measurements on this machine. */
#ifndef PAWL_CLI_SIM_VALIDATE_H
#define PAWL_CLI_SIM_VALIDATE_H

#include "latencies.h"
#include "cli/sim/request.h"

/* A machine with two CPUs and these latencies; effects that they do not determine are
 * off. */
void validate_machine(struct machine *machine, const struct latencies *latencies);

/* Refuses options that do not apply; gives the request a machine that --set can change
 * before the measured one replaces it. */
void validate_prepare(struct request *request);

/* Measures, simulates, prints the table, and writes it if a file is open. Returns the
 * status. */
int validate_main(struct request *request, int argc, char **argv);

#endif /* PAWL_CLI_SIM_VALIDATE_H */
