/* SPDX-License-Identifier: MIT */
/* Which CPUs are near each other. */
#ifndef SYNC_HOMES_H
#define SYNC_HOMES_H

/* The home that this CPU belongs to; PAWL_NO_HOME if there is one only. */
unsigned pawl_home_of(unsigned cpu);

#endif /* SYNC_HOMES_H */
