/* SPDX-License-Identifier: MIT */
/* The simulator sees everything anyway. */
