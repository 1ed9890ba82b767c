/* SPDX-License-Identifier: MIT */
/* Files that are built into the command: the schemas of src/cli/schema, and what a page
 * of pawl report is made of. */
#ifndef PAWL_CLI_EMBEDDED_H
#define PAWL_CLI_EMBEDDED_H

struct embedded {
	const char *name, *text;
};

/* Ended by one without a name. */
extern const struct embedded embedded_files[];

/* The text of a file; NULL if there is none of that name. */
const char *embedded_text(const char *name);

#endif /* PAWL_CLI_EMBEDDED_H */
