/* SPDX-License-Identifier: MIT */
/*
 * The program is a shared object. Each function that it calls is looked up in the tables
 * of calls.c and bound to our function, to the C library's if that is safe, or to a stub
 * that refuses. The same is done for the C++ library, which calls functions on the
 * program's behalf.
 */
#define _GNU_SOURCE /* dlinfo, dl_iterate_phdr */
#include "load.h"

#include "threads.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *program_path;
static void *library;
static struct link_map *loaded;

static struct {
	char *start;
	size_t size;
} segments[8];
static int segment_count;

static void **once_callable, **once_call; /* in the C++ library; or NULL */
static size_t tls_module, tls_size, tls_image_size, tls_alignment = 16;
static const void *tls_image;

static void (**constructors)(int, char **, char **);
static size_t constructor_count;

static void die(const char *what) __attribute__((noreturn));
static void die(const char *what)
{
	fprintf(stderr, "pawl: %s: %s\n", program_path, what);
	exit(2);
}

/*
 * The program's constructors run on its first thread in every execution. So that the
 * loader does not run them, they are removed from the dynamic section.
 */
static void take_constructors(void)
{
	int file = open(program_path, O_RDWR);
	struct stat status;
	char *bytes;
	ElfW(Ehdr) * head;
	const ElfW(Phdr) * segment;
	int i;

	if (file < 0 || fstat(file, &status) != 0)
		die(strerror(errno));
	if ((size_t)status.st_size < sizeof(*head))
		die("is no shared object");
	bytes = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		     file, 0);
	close(file);
	if (bytes == MAP_FAILED)
		die(strerror(errno));
	head = (ElfW(Ehdr) *)(void *)bytes;
	if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_type != ET_DYN)
		die("is no shared object; link it by what 'pawl check --libs' says");
	segment = (const ElfW(Phdr) *)(const void *)(bytes + head->e_phoff);
	for (i = 0; i < head->e_phnum; i++) {
		ElfW(Dyn) * entry;

		if (segment[i].p_type != PT_DYNAMIC)
			continue;
		entry = (ElfW(Dyn) *)(void *)(bytes + segment[i].p_offset);
		for (; entry->d_tag != DT_NULL; entry++) {
			if (entry->d_tag != DT_INIT_ARRAYSZ)
				continue;
			constructor_count = entry->d_un.d_val / sizeof(void *);
			entry->d_un.d_val = 0;
		}
	}
	munmap(bytes, (size_t)status.st_size);
}

static int find_segments(struct dl_phdr_info *info, size_t size, void *unused)
{
	char *base = (char *)info->dlpi_addr, *constant_end = NULL;
	int i;

	(void)size, (void)unused;
	if (info->dlpi_addr != loaded->l_addr || strcmp(info->dlpi_name, "") == 0)
		return 0;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_GNU_RELRO)
			constant_end = base + segment->p_vaddr + segment->p_memsz;
		if (segment->p_type == PT_TLS) {
			tls_module = info->dlpi_tls_modid;
			tls_size = segment->p_memsz;
			tls_image_size = segment->p_filesz;
			tls_image = base + segment->p_vaddr;
			if (segment->p_align > tls_alignment)
				tls_alignment = segment->p_align;
		}
	}
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		char *start = base + segment->p_vaddr, *end = start + segment->p_memsz;

		if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W) == 0)
			continue;
		if (constant_end > start && constant_end < end)
			start = constant_end;
		if (segment_count == 8)
			die("has too many segments");
		segments[segment_count].start = start;
		segments[segment_count++].size = (size_t)(end - start);
	}
	return 1;
}

/* Calls. */

struct tables {
	const ElfW(Sym) * symbols;
	const char *names;
	const ElfW(Rela) * relocations[2];
	size_t sizes[2];
};

static const void *at(const struct link_map *map, ElfW(Addr) address)
{
	/* Some loaders have already added the base address. */
	return (const void *)(address < map->l_addr ? address + map->l_addr : address);
}

static struct tables find_tables(const struct link_map *map)
{
	struct tables t = {.symbols = NULL};
	const ElfW(Dyn) * entry;

	for (entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
		switch (entry->d_tag) {
		case DT_SYMTAB:
			t.symbols = at(map, entry->d_un.d_ptr);
			break;
		case DT_STRTAB:
			t.names = at(map, entry->d_un.d_ptr);
			break;
		case DT_JMPREL:
			t.relocations[0] = at(map, entry->d_un.d_ptr);
			break;
		case DT_PLTRELSZ:
			t.sizes[0] = entry->d_un.d_val / sizeof(ElfW(Rela));
			break;
		case DT_RELA:
			t.relocations[1] = at(map, entry->d_un.d_ptr);
			break;
		case DT_RELASZ:
			t.sizes[1] = entry->d_un.d_val / sizeof(ElfW(Rela));
			break;
		default:
			break;
		}
	}
	return t;
}

static bool is_call(unsigned long type)
{
#if defined(__x86_64__)
	return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT ||
	       type == R_X86_64_64;
#else
	return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT ||
	       type == R_AARCH64_ABS64;
#endif
}

/* The definition that the loader would bind. */
static void *find_function(const char *name)
{
	void *function = dlsym(RTLD_DEFAULT, name);

	return function != NULL ? function : dlsym(library, name);
}

static void put_pointer(void *where, void *value)
{
	uintptr_t page = (uintptr_t)where & ~(uintptr_t)4095;

	mprotect((void *)page, 8192, PROT_READ | PROT_WRITE);
	memcpy(where, &value, sizeof(value));
}

static void redirect(const struct link_map *map, bool refuses)
{
	struct tables t = find_tables(map);
	size_t i;
	int table;

	for (table = 0; table < 2; table++) {
		for (i = 0; i < t.sizes[table]; i++) {
			const ElfW(Rela) *r = &t.relocations[table][i];
			const ElfW(Sym) *symbol = &t.symbols[ELF64_R_SYM(r->r_info)];
			const char *name = t.names + symbol->st_name;
			int type = ELF64_ST_TYPE(symbol->st_info);
			void *function;

			if (!is_call(ELF64_R_TYPE(r->r_info)) ||
			    ELF64_R_SYM(r->r_info) == 0 ||
			    (refuses && symbol->st_shndx != SHN_UNDEF) ||
			    (type != STT_FUNC && type != STT_NOTYPE))
				continue;
			function = refuses ? pawl_array(name) : NULL;
			if (function == NULL)
				function = replacement(name);
			if (function == NULL && refuses) {
				/* Bound eagerly: a lazy binding would not survive the
				 * execution that makes it. */
				function = find_function(name);
				if (function != NULL
					    ? !harmless(name)
					    : ELF64_ST_BIND(symbol->st_info) != STB_WEAK)
					function = refusal(name);
			}
			if (function != NULL)
				put_pointer((char *)map->l_addr + r->r_offset, function);
		}
	}
}

void load_program(const char *path)
{
	struct link_map *map;
	const ElfW(Dyn) * entry;

	program_path = path;
	take_constructors();
	library = dlopen(path, RTLD_LAZY | RTLD_LOCAL); /* lazy: may lack some */
	if (library == NULL) {
		fprintf(stderr, "pawl: %s\n", dlerror());
		exit(2);
	}
	dlinfo(library, RTLD_DI_LINKMAP, &loaded);
	for (entry = loaded->l_ld; entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == DT_INIT_ARRAY)
			constructors = (void (**)(int, char **, char **))(
				(char *)loaded->l_addr + entry->d_un.d_ptr);
	dl_iterate_phdr(find_segments, NULL);
	__libc_single_threaded = 0; /* the C++ library reads it */
	once_callable = find_function("_ZSt15__once_callable");
	once_call = find_function("_ZSt11__once_call");
	redirect(loaded, true);
	for (map = loaded; map != NULL; map = map->l_next)
		if (strstr(map->l_name, "/libstdc++.so") != NULL ||
		    strstr(map->l_name, "/libc++.so") != NULL)
			redirect(map, false);
}

void load_statics(struct memory *m)
{
	int i;

	for (i = 0; i < segment_count; i++)
		memory_add_static(m, segments[i].start, segments[i].size);
	pawl_add_arrays(m);
	memory_keep(m);
}

void program_construct(void)
{
	static char *none[] = {NULL};
	size_t i;

	for (i = 0; i < constructor_count; i++)
		if (constructors[i] != NULL && (uintptr_t)constructors[i] != UINTPTR_MAX)
			constructors[i](0, none, none);
}

/* Thread-local variables: each thread has a copy on its own heap. */

static struct {
	uint64_t run;
	char *block;
} tls[MAX_THREADS];
static uint64_t tls_run;

void load_reset(void)
{
	tls_run++;
}

void *played_tls_get_addr(struct tls_index *index)
{
	struct search *s = current_search;
	int t;

	if (!on_thread() || index->module != tls_module) {
		static void *(*real)(struct tls_index *);

		if (real == NULL)
			real = (void *(*)(struct tls_index *))dlsym(RTLD_DEFAULT,
								    "__tls_get_addr");
		return real(index);
	}
	t = me(s);
	if (tls[t].run != tls_run) {
		tls[t].run = tls_run;
		tls[t].block = memory_allocate(s->memory, t, tls_size, tls_alignment);
		if (tls[t].block == NULL)
			program_fail(VERDICT_LIMIT, SITE,
				     "the thread-local variables are too large");
		memcpy(tls[t].block, tls_image, tls_image_size);
	}
	return tls[t].block + index->offset;
}

struct call_once load_call_once(void)
{
	struct call_once call = {NULL, NULL};

	if (once_callable != NULL && once_call != NULL)
		call = (struct call_once){*once_callable, *once_call};
	return call;
}

void load_set_call_once(struct call_once call)
{
	if (once_callable == NULL || once_call == NULL)
		return;
	*once_callable = call.callable;
	*once_call = call.call;
}

/* Functions to check. */

static bool has_parameters(Dwarf_Die *function)
{
	Dwarf_Die child;
	int more = dwarf_child(function, &child);

	while (more == 0) {
		if (dwarf_tag(&child) == DW_TAG_formal_parameter)
			return true;
		more = dwarf_siblingof(&child, &child);
	}
	return false;
}

static int add_checks(Dwarf_Die *scope, Dwarf_Addr bias, struct subject *subjects, int n)
{
	Dwarf_Die die;
	int more = dwarf_child(scope, &die);

	for (; more == 0 && n < MAX_SUBJECTS; more = dwarf_siblingof(&die, &die)) {
		const char *name = dwarf_diename(&die);
		Dwarf_Addr low;

		if (dwarf_tag(&die) != DW_TAG_subprogram || name == NULL ||
		    strncmp(name, "check_", 6) != 0 || has_parameters(&die) ||
		    !dwarf_hasattr(&die, DW_AT_external) || dwarf_lowpc(&die, &low) != 0)
			continue;
		subjects[n].name = name;
		subjects[n].main = NULL;
		subjects[n++].check = (void (*)(void))(uintptr_t)(low + bias);
	}
	return n;
}

static int by_address(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)((const struct subject *)a)->check;
	uintptr_t y = (uintptr_t)((const struct subject *)b)->check;

	return (x > y) - (x < y);
}

int load_subjects(struct subject subjects[MAX_SUBJECTS])
{
	static char *debug_path;
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_linux_proc_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.debuginfo_path = &debug_path,
	};
	Dwfl *dwfl = dwfl_begin(&callbacks);
	Dwfl_Module *module;
	Dwarf_Die *unit = NULL;
	Dwarf_Addr bias;
	int n = 0;

	if (dwfl == NULL || dwfl_linux_proc_report(dwfl, getpid()) != 0 ||
	    dwfl_report_end(dwfl, NULL, NULL) != 0)
		die("its line numbers cannot be read");
	module = dwfl_addrmodule(dwfl, (Dwarf_Addr)(uintptr_t)loaded->l_ld);
	while (module != NULL && (unit = dwfl_module_nextcu(module, unit, &bias)) != NULL)
		n = add_checks(unit, bias, subjects, n);
	/* Not closed: the names point into it. */
	qsort(subjects, (size_t)n, sizeof(*subjects), by_address);
	if (n == 0) {
		void *main = dlsym(library, "main");

		if (main == NULL)
			die("has neither main nor a function check_...(void)");
		subjects[0].name = "main";
		subjects[0].check = NULL;
		subjects[0].main = (int (*)(int, char **, char **))main;
		n = 1;
	}
	return n;
}
