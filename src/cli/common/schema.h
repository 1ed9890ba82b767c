/* SPDX-License-Identifier: MIT */
/*
 * What a tool writes as JSON is defined once, in src/cli/schema/TOOL.schema.json. Tests
 * hold writers to that file, and readers ask here whether a document fits it.
 *
 * Of JSON Schema (draft 7) this knows: $ref to a definition, type, const, enum,
 * required, properties, additionalProperties, items, minItems, maxItems, minimum,
 * maximum, exclusiveMinimum, minLength and anyOf. It passes over "pattern" and what only
 * explains; tests/cli/schema_test.py refuses a schema with any other word.
 */
#ifndef PAWL_CLI_SCHEMA_H
#define PAWL_CLI_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>

enum { SCHEMA_WHY = 200 };

/* Whether the document fits; if not, where and why it does not, in one line. */
bool fits_schema(const char *tool, const json_t *document, char why[SCHEMA_WHY]);

/* The same with a schema at hand. */
bool fits(const json_t *schema, const json_t *document, char why[SCHEMA_WHY]);

#endif /* PAWL_CLI_SCHEMA_H */
