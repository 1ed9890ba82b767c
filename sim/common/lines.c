/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* dladdr */
#include "lines.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static Dwfl *open_self(void)
{
	static char *debug_path;
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_linux_proc_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.debuginfo_path = &debug_path,
	};
	Dwfl *dwfl = dwfl_begin(&callbacks);

	if (dwfl == NULL || dwfl_linux_proc_report(dwfl, getpid()) != 0 ||
	    dwfl_report_end(dwfl, NULL, NULL) != 0)
		return NULL;
	return dwfl;
}

static bool is_seam(const char *file)
{
	return strstr(file, "pawl/atomic.h") != NULL ||
	       strstr(file, "/include/c++/") != NULL ||
	       strstr(file, "pawl/word.h") != NULL || strstr(file, "/backend/") != NULL;
}

static const char *last_part(const char *file)
{
	const char *slash = strrchr(file, '/');

	return slash == NULL ? file : slash + 1;
}

/* Walks from the innermost inlined frame outwards as long as the frame is in the seam. */
static void leave_seam(Dwarf_Die *unit, Dwarf_Addr address, const char **file, int *line)
{
	Dwarf_Die *inner = NULL, *scopes = NULL;
	Dwarf_Files *files;
	size_t file_count;
	int n = dwarf_getscopes(unit, address, &inner), i;

	/* The scopes so far are lexical; this gets the inlined ones. */
	if (n > 0)
		n = dwarf_getscopes_die(&inner[0], &scopes);
	if (n > 0 && dwarf_getsrcfiles(unit, &files, &file_count) == 0) {
		for (i = 0; i < n && is_seam(*file); i++) {
			Dwarf_Attribute attribute;
			Dwarf_Word call_file, call_line;
			const char *name;

			if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine ||
			    dwarf_formudata(
				    dwarf_attr(&scopes[i], DW_AT_call_file, &attribute),
				    &call_file) != 0 ||
			    dwarf_formudata(
				    dwarf_attr(&scopes[i], DW_AT_call_line, &attribute),
				    &call_line) != 0)
				continue;
			name = dwarf_filesrc(files, call_file, NULL, NULL);
			if (name == NULL)
				continue;
			*file = name;
			*line = (int)call_line;
		}
	}
	free(scopes);
	free(inner);
}

static Dwfl *dwfl;

bool lines_symbol(const void *p, char *to, size_t size)
{
	Dl_info info;
	const char *name;
	GElf_Off offset;
	GElf_Sym symbol;
	Dwfl_Module *module;

	if (dladdr(p, &info) != 0 && info.dli_sname != NULL) {
		name = info.dli_sname;
		offset = (GElf_Off)((const char *)p - (const char *)info.dli_saddr);
	} else { /* not exported: read the file's symbol table */
		if (dwfl == NULL)
			dwfl = open_self();
		module = dwfl == NULL ? NULL
				      : dwfl_addrmodule(dwfl, (Dwarf_Addr)(uintptr_t)p);
		if (module == NULL)
			return false;
		name = dwfl_module_addrinfo(module, (GElf_Addr)(uintptr_t)p, &offset,
					    &symbol, NULL, NULL, NULL);
		if (name == NULL)
			return false;
	}
	if (offset == 0)
		snprintf(to, size, "%s", name);
	else
		snprintf(to, size, "%s+%zu", name, (size_t)offset);
	return true;
}

void lines_find(const void *site, char *to, size_t size)
{
	Dwarf_Addr address = (Dwarf_Addr)(uintptr_t)site - 1, bias;
	Dwfl_Module *module;
	Dwarf_Line *place;
	Dwarf_Die *unit;
	const char *file;
	int line;

	snprintf(to, size, "%p", site);
	if (dwfl == NULL)
		dwfl = open_self();
	if (dwfl == NULL)
		return;
	module = dwfl_addrmodule(dwfl, address);
	if (module == NULL)
		return;
	unit = dwfl_module_addrdie(module, address, &bias);
	if (unit == NULL) /* clang emits no .debug_aranges: search all units */
		while ((unit = dwfl_module_nextcu(module, unit, &bias)) != NULL)
			if (dwarf_haspc(unit, address - bias) > 0)
				break;
	place = unit == NULL ? NULL : dwarf_getsrc_die(unit, address - bias);
	if (place == NULL || dwarf_lineno(place, &line) != 0)
		return;
	file = dwarf_linesrc(place, NULL, NULL);
	if (file != NULL)
		leave_seam(unit, address - bias, &file, &line);
	if (file != NULL)
		snprintf(to, size, "%s:%d", last_part(file), line);
}
