/* SPDX-License-Identifier: MIT */
/* Symbol names, from ELF files and debug information. Relaxed throughout: as in
 * read.c. */
#define _GNU_SOURCE
#include "cli/profile/profile.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

/* An ELF file, opened once. */
struct code {
	const char *path;
	Dwfl_Module *module; /* NULL if it cannot be read */
	GElf_Addr bias;
};

static struct code *codes;
static size_t code_count;

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

static void open_code(struct code *code)
{
	static char *debug_path;
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.debuginfo_path = &debug_path,
	};
	Dwfl *dwfl = dwfl_begin(&callbacks);
	Dwfl_Module *module;

	if (dwfl == NULL)
		return;
	dwfl_report_begin(dwfl);
	module = dwfl_report_elf(dwfl, last_part(code->path), code->path, -1, 0, true);
	dwfl_report_end(dwfl, NULL, NULL);
	if (module != NULL && dwfl_module_getelf(module, &code->bias) != NULL)
		code->module = module;
}

static const struct code *code_of(const char *path)
{
	struct code *code;
	size_t i;

	for (i = 0; i < code_count; i++)
		if (strcmp(codes[i].path, path) == 0)
			return &codes[i];
	codes = grow(codes, code_count, sizeof(*codes));
	code = &codes[code_count++];
	*code = (struct code){.path = text_of("%s", path)};
	open_code(code);
	return code;
}

/* Demangles C++ names, if c++filt is installed. */
static const char *readable(const char *name)
{
	static char *(*demangle)(const char *, char *, size_t *, int *);
	static bool looked;
	char *text;

	if (strncmp(name, "_Z", 2) != 0)
		return name;
	if (!looked) {
		void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);

		looked = true;
		if (library != NULL)
			*(void **)&demangle = dlsym(library, "__cxa_demangle");
	}
	text = demangle != NULL ? demangle(name, NULL, NULL, NULL) : NULL;
	return text != NULL ? text : name;
}

/* Interned frames. */
static void *frame_tree;
static const struct frame **all_frames;
static size_t frame_count;

static int compare_text(const char *a, const char *b)
{
	return strcmp(a != NULL ? a : "", b != NULL ? b : "");
}

static int compare_frames(const void *a, const void *b)
{
	const struct frame *x = a, *y = b;
	int order = compare_text(x->function, y->function);

	if (order == 0)
		order = compare_text(x->file, y->file);
	if (order == 0)
		order = x->line - y->line;
	if (order == 0)
		order = compare_text(x->module, y->module);
	if (order == 0)
		order = x->inlined - y->inlined;
	return order;
}

/* Removes parameters and template arguments, except from names that consist of them. */
static char *shorten(const char *function)
{
	char *name = text_of("%s", function), *to = name;
	const char *from = function;
	int depth = 0;

	for (; *from != '\0'; from++) {
		bool named = strncmp(from, "(anonymous", 10) == 0 ||
			     (from - function >= 8 &&
			      strncmp(from - 8, "operator", 8) == 0);

		if (depth == 0 && *from == '(' && !named && from != function)
			break;
		if (*from == '>' && depth > 0)
			depth--;
		if (depth == 0)
			*to++ = *from;
		if (*from == '<' && !named)
			depth++;
	}
	*to = '\0';
	return name;
}

static const char *describe(const struct frame *frame)
{
	char *name = shorten(frame->function);

	if (frame->file != NULL)
		return text_of("%s (%s:%d)", name, last_part(frame->file), frame->line);
	if (frame->module == NULL || strchr(frame->function, '+') != NULL)
		return frame->function;
	return text_of("%s (%s)", name, last_part(frame->module));
}

static const struct frame *unique(const struct frame *wanted)
{
	void **found = tfind(wanted, &frame_tree, compare_frames);
	struct frame *frame;

	if (found != NULL)
		return *found;
	frame = allocate(sizeof(*frame));
	*frame = *wanted;
	frame->number = frame_count;
	frame->function = text_of("%s", wanted->function);
	frame->file = wanted->file != NULL ? text_of("%s", wanted->file) : NULL;
	frame->text = describe(frame);
	tsearch(frame, &frame_tree, compare_frames);
	all_frames = grow(all_frames, frame_count, sizeof(*all_frames));
	all_frames[frame_count++] = frame;
	return frame;
}

const struct frame *nth_frame(size_t n)
{
	return n < frame_count ? all_frames[n] : NULL;
}

struct frames {
	const struct frame **frames;
	size_t count;
};

static void add_frame(struct frames *to, const struct frame *wanted)
{
	to->frames = grow(to->frames, to->count, sizeof(*to->frames));
	to->frames[to->count++] = unique(wanted);
}

/* A function's name in the debug information. */
static const char *name_of_die(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = dwarf_formstring(
		dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));

	if (name == NULL)
		name = dwarf_diename(die);
	return name != NULL ? readable(name) : NULL;
}

static bool call_place(Dwarf_Die *unit, Dwarf_Die *die, const char **file, int *line)
{
	Dwarf_Attribute attribute;
	Dwarf_Word call_file, call_line;
	Dwarf_Files *files;
	size_t count;

	if (dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attribute), &call_file) !=
		    0 ||
	    dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attribute), &call_line) !=
		    0 ||
	    dwarf_getsrcfiles(unit, &files, &count) != 0)
		return false;
	*file = dwarf_filesrc(files, call_file, NULL, NULL);
	*line = (int)call_line;
	return true;
}

/* Adds the functions inlined at the address, innermost first; `frame` then describes the
 * function that contains them. */
static void add_inlined(struct frames *to, Dwfl_Module *module, GElf_Addr address,
			struct frame *frame)
{
	Dwarf_Die *inner = NULL, *scopes = NULL, *unit;
	Dwarf_Addr bias;
	int count = 0, i;

	unit = dwfl_module_addrdie(module, address, &bias);
	if (unit != NULL)
		count = dwarf_getscopes(unit, address - bias, &inner);
	/* The scopes so far are lexical; this gets the inlined ones. */
	if (count > 0)
		count = dwarf_getscopes_die(&inner[0], &scopes);
	for (i = 0; i < count; i++) {
		int tag = dwarf_tag(&scopes[i]);
		const char *name = name_of_die(&scopes[i]);

		if (tag == DW_TAG_inlined_subroutine && name != NULL) {
			const char *function = frame->function;

			frame->function = name;
			frame->inlined = true;
			add_frame(to, frame);
			frame->function = function;
			frame->inlined = false;
			call_place(unit, &scopes[i], &frame->file, &frame->line);
		} else if (tag == DW_TAG_subprogram) {
			if (name != NULL)
				frame->function = name;
			break;
		}
	}
	free(scopes);
	free(inner);
}

static struct frames look_up(const char *path, uint64_t offset)
{
	struct frames frames = {NULL, 0};
	struct frame frame = {.module = path, .address = offset};
	const struct code *code = path != NULL ? code_of(path) : NULL;
	/* The call precedes the return address. */
	GElf_Addr address = code != NULL ? offset - 1 + code->bias : offset;
	Dwfl_Line *place;

	if (path == NULL)
		frame.function = text_of("[generated at run time] 0x%jx",
					 (uintmax_t)offset);
	else
		frame.function = text_of("%s+0x%jx", last_part(path), (uintmax_t)offset);
	if (code != NULL && code->module != NULL) {
		const char *name = dwfl_module_addrname(code->module, address);

		if (name != NULL)
			frame.function = readable(name);
		place = dwfl_module_getsrc(code->module, address);
		if (place != NULL)
			frame.file = dwfl_lineinfo(place, NULL, &frame.line, NULL, NULL,
						   NULL);
		add_inlined(&frames, code->module, address, &frame);
	}
	add_frame(&frames, &frame);
	return frames;
}

/* Splits a place into its module's file, NULL if there is none, and the offset. */
static const char *split(const struct profile_file *f, uint64_t place, uint64_t *offset)
{
	uint64_t module = place >> PROFILE_MODULE_SHIFT;

	*offset = place & (((uint64_t)1 << PROFILE_MODULE_SHIFT) - 1);
	/* Relaxed: it was written before any place referred to it. */
	if (module == 0 || module >= PROFILE_MODULES ||
	    pawl_load_relaxed(&f->modules[module].named) == 0)
		return NULL;
	return code_of(f->modules[module].path)->path;
}

struct known {
	const char *path;
	uint64_t offset;
	struct frames frames;
};

static int compare_known(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return compare_text(x->path, y->path);
}

const struct frame *const *frames_at(const struct profile_file *f, uint64_t place,
				     size_t *count)
{
	static void *tree;
	struct known wanted = {.path = NULL}, *known;
	void **found;

	wanted.path = split(f, place, &wanted.offset);
	found = tfind(&wanted, &tree, compare_known);
	if (found == NULL) {
		known = allocate(sizeof(*known));
		*known = wanted;
		known->frames = look_up(wanted.path, wanted.offset);
		found = tsearch(known, &tree, compare_known);
	}
	known = *found;
	*count = known->frames.count;
	return known->frames.frames;
}

const char *data_at(const struct profile_file *f, uint64_t place)
{
	uint64_t offset;
	const char *path = split(f, place, &offset), *name;
	const struct code *code;
	GElf_Off distance;
	GElf_Sym symbol;

	if (path == NULL)
		return NULL;
	code = code_of(path);
	name = code->module == NULL
		       ? NULL
		       : dwfl_module_addrinfo(code->module, offset + code->bias,
					      &distance, &symbol, NULL, NULL, NULL);
	/* The nearest symbol may be unrelated and far away. */
	if (name == NULL || (symbol.st_size != 0 && distance >= symbol.st_size))
		return text_of("%s+0x%jx", last_part(path), (uintmax_t)offset);
	return text_of("%s+%ju (%s)", readable(name), (uintmax_t)distance,
		       last_part(path));
}

static void append(struct stack *stack, const struct profile_file *f, uint64_t place)
{
	size_t count, i;
	const struct frame *const *frames = frames_at(f, place, &count);

	for (i = 0; i < count; i++) {
		stack->frames = grow(stack->frames, stack->count, sizeof(*stack->frames));
		stack->frames[stack->count++] = frames[i];
	}
}

struct stack stack_at(const struct profile_file *f, uint64_t number)
{
	struct stack stack = {0, NULL};
	uint64_t length, i;

	if (number == 0 || number + 2 > PROFILE_WORDS)
		return stack;
	/* Relaxed: an unwritten length is 0, an empty stack. */
	length = pawl_load_relaxed(&f->words[number + 1]);
	if (length > PROFILE_FRAMES || number + 2 + length > PROFILE_WORDS)
		return stack;
	for (i = 0; i < length; i++)
		append(&stack, f, pawl_load_relaxed(&f->words[number + 2 + i]));
	return stack;
}

const char *frame_text(const struct frame *frame)
{
	return frame->text;
}
