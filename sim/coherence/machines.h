/* SPDX-License-Identifier: MIT */
/* The files of sim/coherence/machines/, in the order of machine_names; made by CMake. */
#ifndef SIM_COHERENCE_MACHINES_H
#define SIM_COHERENCE_MACHINES_H

extern const char *const machine_texts[];

#endif /* SIM_COHERENCE_MACHINES_H */
