/* SPDX-License-Identifier: MIT */
/* A file that includes one header and has nothing else; it may not be empty. */
extern int alone;
