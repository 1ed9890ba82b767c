/* SPDX-License-Identifier: MIT */
/* Checked code that crashes: a verdict on it, not the end of the checker. */
#ifndef CHECK_CRASH_H
#define CHECK_CRASH_H

/* From now on, in this process. */
void catch_crashes(void);

#endif /* CHECK_CRASH_H */
