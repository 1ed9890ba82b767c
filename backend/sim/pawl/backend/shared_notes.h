/* SPDX-License-Identifier: MIT */
/* Empty: the simulator sees every access. */
