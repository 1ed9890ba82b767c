/* SPDX-License-Identifier: MIT */
/* pawl sim --preset validate: this machine, predicted and measured. */
#ifndef PAWL_CLI_SIM_VALIDATE_H
#define PAWL_CLI_SIM_VALIDATE_H

#include "latencies.h"
#include "cli/sim/request.h"

/* Two CPUs as these latencies describe them; what they do not tell is switched off. */
void validate_machine(struct machine *machine, const struct latencies *latencies);

/* Refuses what cannot be asked for here; gives the request a machine that --set can
 * change, until another has been measured. */
void validate_prepare(struct request *request);

/* Measures, simulates, prints the table, and writes it if a file is open. Returns the
 * status. */
int validate_main(struct request *request, int argc, char **argv);

#endif /* PAWL_CLI_SIM_VALIDATE_H */
