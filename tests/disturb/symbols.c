/* SPDX-License-Identifier: MIT */
#include "symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct mapping {
	unsigned long start, end, offset;
	char permissions[8], path[256];
};

/* The mapping at an address or the first one after it. */
static bool mapping_after(pid_t process, unsigned long address, struct mapping *m)
{
	char path[64], line[512];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)process);
	file = fopen(path, "r");
	if (file == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), file) != NULL) {
		m->path[0] = '\0';
		found = sscanf(line, "%lx-%lx %7s %lx %*s %*s %255s", &m->start, &m->end,
			       m->permissions, &m->offset, m->path) >= 4 &&
			address < m->end;
	}
	fclose(file);
	return found;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* The function in a file's table of symbols that begins last before a place in its
 * memory image. */
static const Elf64_Sym *function_at(const char *image, unsigned long place,
				    const char **name)
{
	const Elf64_Ehdr *head = (const Elf64_Ehdr *)image;
	const Elf64_Shdr *sections = (const Elf64_Shdr *)(image + head->e_shoff);
	const Elf64_Sym *best = NULL;
	int i;

	for (i = 0; i < head->e_shnum; i++) {
		const Elf64_Sym *s = (const Elf64_Sym *)(image + sections[i].sh_offset);
		const Elf64_Sym *end = s + sections[i].sh_size / sizeof(*s);

		if (sections[i].sh_type != SHT_SYMTAB &&
		    sections[i].sh_type != SHT_DYNSYM)
			continue;
		for (; s < end; s++) {
			if (ELF64_ST_TYPE(s->st_info) != STT_FUNC ||
			    s->st_value > place || place - s->st_value >= s->st_size ||
			    (best != NULL && s->st_value < best->st_value))
				continue;
			best = s;
			*name = image + sections[sections[i].sh_link].sh_offset +
				s->st_name;
		}
	}
	return best;
}

/* Where an offset of the file is in its memory image. */
static unsigned long place_of(const char *image, unsigned long offset)
{
	const Elf64_Ehdr *head = (const Elf64_Ehdr *)image;
	const Elf64_Phdr *p = (const Elf64_Phdr *)(image + head->e_phoff);
	int i;

	for (i = 0; i < head->e_phnum; i++, p++)
		if (p->p_type == PT_LOAD && offset >= p->p_offset &&
		    offset - p->p_offset < p->p_filesz)
			return offset - p->p_offset + p->p_vaddr;
	return offset;
}

bool symbol_of(pid_t process, unsigned long address, char *text, size_t size)
{
	const Elf64_Sym *function = NULL;
	const char *image, *name = NULL;
	unsigned long place;
	struct mapping m;
	struct stat about;
	int fd;

	snprintf(text, size, "%lx", address);
	if (!mapping_after(process, address, &m) || address < m.start ||
	    m.permissions[2] != 'x')
		return false;
	place = address - m.start + m.offset;
	snprintf(text, size, "%s+%#lx", base_name(m.path), place);
	fd = open(m.path, O_RDONLY);
	if (fd < 0)
		return true;
	image = fstat(fd, &about) == 0
			? mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
			: MAP_FAILED;
	close(fd);
	if (image == MAP_FAILED)
		return true;
	if (about.st_size > (off_t)sizeof(Elf64_Ehdr) &&
	    memcmp(image, ELFMAG, SELFMAG) == 0) {
		place = place_of(image, place);
		function = function_at(image, place, &name);
	}
	if (function != NULL)
		snprintf(text, size, "%s+%#lx (%s)", name, place - function->st_value,
			 base_name(m.path));
	munmap((void *)(size_t)image, (size_t)about.st_size);
	return true;
}

void clock_code_of(pid_t process, unsigned long *start, unsigned long *end)
{
	struct mapping m = {.end = 0};

	*start = *end = 0;
	while (mapping_after(process, m.end, &m))
		if (strcmp(m.path, "[vdso]") == 0) {
			*start = m.start;
			*end = m.end;
		}
}
