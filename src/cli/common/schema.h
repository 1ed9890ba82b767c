/* SPDX-License-Identifier: MIT */
/*
 * The JSON of each tool is defined once, in src/cli/schema/TOOL.schema.json. Tests check the
 * writers against that file, and readers check documents here.
 *
 * Of JSON Schema (draft 7) this supports: $ref to a definition, type, const, enum,
 * required, properties, additionalProperties, items, minItems, maxItems, minimum,
 * maximum, exclusiveMinimum, minLength and anyOf. It ignores "pattern" and annotations;
 * tests/cli/schema_test.py rejects a schema with any other keyword.
 */
#ifndef PAWL_CLI_SCHEMA_H
#define PAWL_CLI_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>

enum { SCHEMA_WHY = 200 };

/* Whether the document conforms; if not, where and why, in one line. */
bool fits_schema(const char *tool, const json_t *document, char why[SCHEMA_WHY]);

/* The same with a given schema. */
bool fits(const json_t *schema, const json_t *document, char why[SCHEMA_WHY]);

#endif /* PAWL_CLI_SCHEMA_H */
