/* SPDX-License-Identifier: MIT */
/* Files built into the command: the schemas of src/cli/schema, and the parts of a report
 * page. */
#ifndef PAWL_CLI_EMBEDDED_H
#define PAWL_CLI_EMBEDDED_H

struct embedded {
	const char *name, *text;
};

/* The last entry has no name. */
extern const struct embedded embedded_files[];

/* The text of a file; NULL if there is no such file. */
const char *embedded_text(const char *name);

#endif /* PAWL_CLI_EMBEDDED_H */
