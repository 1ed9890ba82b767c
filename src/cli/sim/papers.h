/* SPDX-License-Identifier: MIT */
/* pawl sim --preset papers: published results against simulated ones. */
#ifndef PAWL_CLI_SIM_PAPERS_H
#define PAWL_CLI_SIM_PAPERS_H

#include "cli/sim/request.h"

/* Prints the table of claims, and writes it if a file is open. Returns the status. */
int papers_main(const struct request *request);

/* Prints which claims change when a latency is 30 % lower or higher. */
int papers_sensitivity(const struct request *request);

#endif /* PAWL_CLI_SIM_PAPERS_H */
