/* SPDX-License-Identifier: MIT */
#include "cli/common/schema.h"

#include "cli/common/embedded.h"
#include "cli/common/options.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *embedded_text(const char *name)
{
	const struct embedded *file;

	for (file = embedded_files; file->name != NULL; file++)
		if (strcmp(file->name, name) == 0)
			return file->text;
	return NULL;
}

/* The path in the document, "results[3].samples", during the descent; and the error. */
enum { PLACE_BYTES = 120 };
struct look {
	const json_t *root; /* root of the schema, for $ref */
	char place[PLACE_BYTES];
	char *why; /* SCHEMA_WHY bytes; NULL: not wanted */
};

static bool check(struct look *look, const json_t *schema, const json_t *value);

/* Reports a mismatch; always returns false. */
static bool differs(struct look *look, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static bool differs(struct look *look, const char *format, ...)
{
	char what[SCHEMA_WHY / 2];
	va_list args;

	if (look->why == NULL)
		return false;
	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	snprintf(look->why, SCHEMA_WHY, "%.*s%s%s", SCHEMA_WHY / 2 - 5, look->place,
		 look->place[0] != '\0' ? " " : "it ", what);
	return false;
}

/* Appends a name with control characters replaced: file names and locks may be
 * anything. */
static void add_name(struct look *look, const char *name)
{
	size_t end = strlen(look->place);
	const char *c;

	if (end > 0 && end + 1 < PLACE_BYTES)
		look->place[end++] = '.';
	for (c = name; *c != '\0' && end + 1 < PLACE_BYTES; c++)
		look->place[end++] = *c >= ' ' && *c <= '~' ? *c : '?';
	look->place[end] = '\0';
}

static bool check_member(struct look *look, const json_t *schema, const char *name,
			 const json_t *value)
{
	size_t end = strlen(look->place);
	bool good;

	add_name(look, name);
	good = check(look, schema, value);
	look->place[end] = '\0';
	return good;
}

static bool is_type(const char *type, const json_t *value)
{
	static const struct {
		const char *name;
		int types[2];
	} names[] = {
		{"object", {JSON_OBJECT, JSON_OBJECT}},
		{"array", {JSON_ARRAY, JSON_ARRAY}},
		{"string", {JSON_STRING, JSON_STRING}},
		{"integer", {JSON_INTEGER, JSON_INTEGER}},
		{"number", {JSON_INTEGER, JSON_REAL}},
		{"boolean", {JSON_TRUE, JSON_FALSE}},
		{"null", {JSON_NULL, JSON_NULL}},
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i].name, type) == 0)
			return (int)json_typeof(value) == names[i].types[0] ||
			       (int)json_typeof(value) == names[i].types[1];
	return false;
}

static const char *with_article(const char *type)
{
	return strcmp(type, "null") == 0			    ? "null"
	       : type[0] == 'o' || type[0] == 'a' || type[0] == 'i' ? "an"
								    : "a";
}

/* "type" is a name, or a list of names, of which messages show the first. */
static bool check_type(struct look *look, const json_t *type, const json_t *value)
{
	const json_t *one;
	const char *name;
	size_t i;

	if (type == NULL ||
	    (json_is_string(type) && is_type(json_string_value(type), value)))
		return true;
	json_array_foreach(type, i,
			   one) if (is_type(json_string_value(one), value)) return true;
	name = json_string_value(json_is_array(type) ? json_array_get(type, 0) : type);
	return differs(look, "is not %s %s", with_article(name), name);
}

static bool check_limits(struct look *look, const json_t *schema, const json_t *value)
{
	const json_t *least = json_object_get(schema, "minimum");
	const json_t *most = json_object_get(schema, "maximum");
	const json_t *above = json_object_get(schema, "exclusiveMinimum");
	double number = json_number_value(value);

	if (!json_is_number(value))
		return true;
	if (least != NULL && number < json_number_value(least))
		return differs(look, "is less than %g", json_number_value(least));
	if (most != NULL && number > json_number_value(most))
		return differs(look, "is more than %g", json_number_value(most));
	if (above != NULL && number <= json_number_value(above))
		return differs(look, "is not more than %g", json_number_value(above));
	return true;
}

/* "const", and "enum", which has several values. */
static bool check_values(struct look *look, const json_t *schema, const json_t *value)
{
	const json_t *only = json_object_get(schema, "const");
	const json_t *list = json_object_get(schema, "enum"), *one;
	size_t i;

	if (only != NULL && !json_equal(only, value))
		return differs(look, "does not have the required value");
	if (list == NULL)
		return true;
	json_array_foreach(list, i, one) if (json_equal(one, value)) return true;
	return differs(look, "is not one of the allowed values");
}

static bool check_object(struct look *look, const json_t *schema, const json_t *value)
{
	const json_t *known = json_object_get(schema, "properties"), *name;
	const json_t *others = json_object_get(schema, "additionalProperties");
	const char *key;
	json_t *member;
	size_t i;

	json_array_foreach(json_object_get(schema, "required"), i,
			   name) if (json_object_get(value, json_string_value(name)) ==
				     NULL) return differs(look, "has no \"%s\"",
							  json_string_value(name));
	json_object_foreach((json_t *)(uintptr_t)value, key, member)
	{
		const json_t *its = json_object_get(known, key);

		if (its == NULL)
			its = others;
		if (json_is_object(its) && !check_member(look, its, key, member))
			return false;
	}
	return true;
}

/* "items" is one schema for all items, or a list with one for each. */
static bool check_array(struct look *look, const json_t *schema, const json_t *value)
{
	const json_t *items = json_object_get(schema, "items"), *item;
	size_t i, n = json_array_size(value), end = strlen(look->place);
	const json_t *most = json_object_get(schema, "maxItems");

	if ((json_int_t)n < json_integer_value(json_object_get(schema, "minItems")))
		return differs(look, n == 0 ? "is empty" : "has too few items");
	if (most != NULL && (json_int_t)n > json_integer_value(most))
		return differs(look, "has too many items");
	json_array_foreach(value, i, item)
	{
		const json_t *its = json_is_array(items) ? json_array_get(items, i)
							 : items;
		bool good;

		snprintf(look->place + end, PLACE_BYTES - end, "[%zu]", i);
		good = its == NULL || check(look, its, item);
		look->place[end] = '\0';
		if (!good)
			return false;
	}
	return true;
}

/* The definition that "#/definitions/NAME" refers to. */
static const json_t *follow(const struct look *look, const json_t *schema)
{
	static const char prefix[] = "#/definitions/";
	const char *name = json_string_value(json_object_get(schema, "$ref"));

	if (name == NULL || strncmp(name, prefix, sizeof(prefix) - 1) != 0)
		return schema;
	return json_object_get(json_object_get(look->root, "definitions"),
			       name + sizeof(prefix) - 1);
}

static bool check_any(struct look *look, const json_t *any, const json_t *value)
{
	char *why = look->why;
	const json_t *one;
	bool good = any == NULL;
	size_t i;

	look->why = NULL; /* a mismatch with one alternative is no error */
	json_array_foreach(any, i, one) good = good || check(look, one, value);
	look->why = why;
	return good || differs(look, "matches none of the allowed forms");
}

static bool check(struct look *look, const json_t *schema, const json_t *value)
{
	const json_t *length;

	schema = follow(look, schema);
	if (!check_type(look, json_object_get(schema, "type"), value) ||
	    !check_values(look, schema, value) || !check_limits(look, schema, value) ||
	    !check_any(look, json_object_get(schema, "anyOf"), value))
		return false;
	length = json_object_get(schema, "minLength");
	if (json_is_string(value) &&
	    (json_int_t)json_string_length(value) < json_integer_value(length))
		return differs(look, "is too short");
	if (json_is_object(value))
		return check_object(look, schema, value);
	return !json_is_array(value) || check_array(look, schema, value);
}

bool fits(const json_t *schema, const json_t *document, char why[SCHEMA_WHY])
{
	struct look look = {.root = schema, .why = why};

	why[0] = '\0';
	return check(&look, schema, document);
}

static const char *schema_of(const char *tool)
{
	char name[80];

	snprintf(name, sizeof(name), "%s.schema.json", tool);
	return embedded_text(name);
}

bool fits_schema(const char *tool, const json_t *document, char why[SCHEMA_WHY])
{
	json_t *schema = json_loads(schema_of(tool), 0, NULL);
	bool good;

	if (schema == NULL)
		give_up("the schema of '%s' is not JSON", tool);
	good = fits(schema, document, why);
	json_decref(schema);
	return good;
}
