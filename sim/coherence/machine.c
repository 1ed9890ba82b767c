/* SPDX-License-Identifier: MIT */
#include <sim/coherence/machine.h>
#include <sim/coherence/machines.h>

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { COUNT, SWITCH, TIME, EFFECT, PROTOCOL };

const char *const machine_protocols[] = {"mesi", "moesi", "mesif", NULL};

static const struct key {
	const char *name;
	enum kind kind;
	size_t offset;
	double most;
} keys[] = {
	{"sockets", COUNT, offsetof(struct machine, sockets), MACHINE_MAX_SOCKETS},
	{"clusters", COUNT, offsetof(struct machine, clusters), MACHINE_MAX_CPUS},
	{"cores", COUNT, offsetof(struct machine, cores), MACHINE_MAX_CPUS},
	{"smt", COUNT, offsetof(struct machine, smt), 8},
	{"protocol", PROTOCOL, 0, 0},
	{"settle", SWITCH, offsetof(struct machine, settle), 1},
	{"batch", SWITCH, offsetof(struct machine, batch), 1000},
	{"acknowledge", SWITCH, offsetof(struct machine, acknowledge), 1},
	{"migrate", SWITCH, offsetof(struct machine, migrate), 1},
	{"buffer", SWITCH, offsetof(struct machine, buffer), MACHINE_MAX_STORES},
	{"fetches", SWITCH, offsetof(struct machine, fetches), MACHINE_MAX_FETCHES},
	{"loads", SWITCH, offsetof(struct machine, loads), MACHINE_MAX_LOADS},
	{"window", EFFECT, offsetof(struct machine, window), 1e9},
	{"ahead", SWITCH, offsetof(struct machine, ahead), 1},
	{"foresee", SWITCH, offsetof(struct machine, foresee), MACHINE_MAX_FORESEEN},
	{"adjacent", SWITCH, offsetof(struct machine, adjacent), 1},
	{"spread", SWITCH, offsetof(struct machine, spread), MACHINE_MAX_SPREAD},
	{"home", EFFECT, offsetof(struct machine, home), 1e9},
	{"pause", EFFECT, offsetof(struct machine, pause), 1e9},
	{"flush", EFFECT, offsetof(struct machine, flush), 1e9},
	{"hit", TIME, offsetof(struct machine, hit), 1e9},
	{"rmw", TIME, offsetof(struct machine, rmw), 1e9},
	{"core", TIME, offsetof(struct machine, core), 1e9},
	{"cluster", TIME, offsetof(struct machine, cluster), 1e9},
	{"socket", TIME, offsetof(struct machine, socket), 1e9},
	{"remote", TIME, offsetof(struct machine, remote), 1e9},
	{"memory", TIME, offsetof(struct machine, memory), 1e9},
	{"directory", TIME, offsetof(struct machine, directory), 1e9},
	{"invalidate", TIME, offsetof(struct machine, invalidate), 1e9},
	{"poll", TIME, offsetof(struct machine, poll), 1e9},
	{"look", TIME, offsetof(struct machine, look), 1e12},
	{"step", TIME, offsetof(struct machine, step), 1e9},
};

enum { KEYS = sizeof(keys) / sizeof(keys[0]), MAX_FILE = 1 << 16 };

static bool set(struct machine *m, const struct key *key, const char *value)
{
	char *field = (char *)m + key->offset, *end;
	double number;

	if (key->kind == PROTOCOL) {
		size_t i;

		for (i = 0; machine_protocols[i] != NULL; i++) {
			if (strcmp(machine_protocols[i], value) == 0) {
				m->protocol = (enum protocol)i;
				return true;
			}
		}
		return false;
	}
	errno = 0;
	number = strtod(value, &end);
	if (end == value || *end != '\0' || errno != 0 || !(number >= 0) ||
	    number > key->most)
		return false;
	if (key->kind == COUNT || key->kind == SWITCH) {
		*(unsigned *)field = (unsigned)number;
		return floor(number) == number && (number > 0 || key->kind == SWITCH);
	}
	*(uint64_t *)field = (uint64_t)(number * 1000 + 0.5);
	return *(uint64_t *)field > 0 || (number == 0 && key->kind == EFFECT);
}

/* Trims blanks at both ends, in place. */
static char *trim(char *s)
{
	char *end;

	while (isspace((unsigned char)*s))
		s++;
	for (end = s + strlen(s); end > s && isspace((unsigned char)end[-1]); end--)
		;
	*end = '\0';
	return s;
}

static size_t find_key(const char *name)
{
	size_t i;

	for (i = 0; i < KEYS && strcmp(keys[i].name, name) != 0; i++)
		;
	return i;
}

bool machine_set(struct machine *m, const char *name, const char *value, char *error,
		 size_t size)
{
	static const char *const expected[] = {
		[COUNT] = "a whole number in range",
		[SWITCH] = "a whole number in range, or 0",
		[TIME] = "a time in nanoseconds",
		[EFFECT] = "a time in nanoseconds, or 0",
		[PROTOCOL] = "mesi, moesi or mesif",
	};
	size_t i = find_key(name);

	if (i == KEYS) {
		snprintf(error, size, "machine %s: there is no key \"%s\"", m->name,
			 name);
		return false;
	}
	if (set(m, &keys[i], value))
		return true;
	snprintf(error, size, "machine %s: %s = \"%s\": expected %s", m->name, name,
		 value, expected[keys[i].kind]);
	return false;
}

const char *const *machine_times(void)
{
	static const char *names[KEYS + 1];
	size_t i, n = 0;

	for (i = 0; i < KEYS; i++)
		if (keys[i].kind == TIME || keys[i].kind == EFFECT)
			names[n++] = keys[i].name;
	names[n] = NULL;
	return names;
}

double machine_time(const struct machine *m, const char *key)
{
	const char *field = (const char *)m + keys[find_key(key)].offset;

	return (double)*(const uint64_t *)field / 1000;
}

static bool parse_line(struct machine *m, bool given[KEYS], char *line, char *error,
		       size_t size)
{
	char *comment = strchr(line, '#'), *equals, *name, *value;
	size_t i;

	if (comment != NULL)
		*comment = '\0';
	name = trim(line);
	if (*name == '\0')
		return true;
	equals = strchr(name, '=');
	if (equals == NULL) {
		snprintf(error, size, "machine %s: \"%s\" is not \"key = value\"",
			 m->name, name);
		return false;
	}
	*equals = '\0';
	name = trim(name);
	value = trim(equals + 1);
	i = find_key(name);
	if (i < KEYS && given[i]) {
		snprintf(error, size, "machine %s: %s is given twice", m->name, name);
		return false;
	}
	if (!machine_set(m, name, value, error, size))
		return false;
	given[i] = true;
	return true;
}

bool machine_parse(struct machine *m, const char *name, const char *text, char *error,
		   size_t size)
{
	const char *base = strrchr(name, '/');
	bool given[KEYS] = {false};
	char line[512];
	size_t i;

	memset(m, 0, sizeof(*m));
	snprintf(m->name, sizeof(m->name), "%s", base != NULL ? base + 1 : name);
	while (*text != '\0') {
		size_t length = strcspn(text, "\n");

		if (length >= sizeof(line)) {
			snprintf(error, size, "machine %s: a line is too long", m->name);
			return false;
		}
		memcpy(line, text, length);
		line[length] = '\0';
		text += length + (text[length] == '\n');
		if (!parse_line(m, given, line, error, size))
			return false;
	}
	for (i = 0; i < KEYS; i++) {
		if (!given[i]) {
			snprintf(error, size, "machine %s: %s is missing", m->name,
				 keys[i].name);
			return false;
		}
	}
	if ((double)m->sockets * m->clusters * m->cores * m->smt > MACHINE_MAX_CPUS) {
		snprintf(error, size, "machine %s: more than %d CPUs", m->name,
			 MACHINE_MAX_CPUS);
		return false;
	}
	return true;
}

bool machine_load(struct machine *m, const char *name_or_file, char *error, size_t size)
{
	static char text[MAX_FILE];
	size_t i, length;
	FILE *file;

	for (i = 0; machine_names[i] != NULL; i++)
		if (strcmp(machine_names[i], name_or_file) == 0)
			return machine_parse(m, name_or_file, machine_texts[i], error,
					     size);
	file = fopen(name_or_file, "r");
	if (file == NULL) {
		snprintf(error, size,
			 "there is no machine \"%s\" and no such file; "
			 "--list-machines names those built in",
			 name_or_file);
		return false;
	}
	length = fread(text, 1, sizeof(text) - 1, file);
	text[length] = '\0';
	if (ferror(file) || !feof(file)) {
		snprintf(error, size, "cannot read %s as a machine file", name_or_file);
		fclose(file);
		return false;
	}
	fclose(file);
	return machine_parse(m, name_or_file, text, error, size);
}
