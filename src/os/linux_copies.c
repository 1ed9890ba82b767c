/* SPDX-License-Identifier: MIT */
/*
 * How the copies of this library in one process find each other; see
 * docs/design/copies.md. Two plug-ins may each contain a hidden libpawl.a, beside a
 * libpawl.so: none of them sees the others' symbols. But each copy carries an ELF note,
 * with the protocol number and the distance to its `root`, and dl_iterate_phdr shows
 * every loaded object's notes, stripped or not.
 *
 *   C1  Every copy whose root is set has the same one.
 *   C2  Copies whose root is not set come after all others in the loader's list: a walk
 *       sets the roots of all copies that it finds, and the loader appends.
 *
 * By C2 the first copy of the list decides: if its root is not set, none is, and the walk
 * that sets it first makes the process's root. The walk runs under the loader's lock, so
 * no copy is unloaded under it; without such a lock (musl) copies are never unloaded.
 *
 * Order: [P] pairs with [Q]: a copy that finds a root, or a part, finds it zeroed or as
 * the others left it.
 */
#define _GNU_SOURCE
#include "os/os.h"
#include "os/protocol.h"

#include <pawl/runtime.h>

#include <link.h>
#include <stdio.h>
#include <string.h>

/* State that exists once per process. In memory of its own, because the copy that creates
 * it may be unloaded before the others. */
struct root {
	pawl_atomic64 parts[PAWL_PARTS];
	pawl_atomic64 forked[PAWL_PARTS]; /* 1: repaired in this child of a fork */
};

/* This copy's pointer to the root; 0 until a walk has set it. Hidden, because the note
 * has a relative address. */
extern pawl_atomic64 pawl_copy_root __attribute__((visibility("hidden")));
__attribute__((used)) pawl_atomic64 pawl_copy_root;

/* The ELF note, as find_note parses it. */
#define NOTE_NAME "pawl"
enum { NOTE_TYPE = 1 };
struct note {
	uint32_t protocol;
	int32_t root; /* offset of the copy's root pointer from here */
};

#define TEXT_(number) #number
#define TEXT(number)  TEXT_(number)
__asm__(".pushsection .note.pawl, \"a\", %note\n\t"
	".balign 4\n\t"
	".long 5, 8, 1\n\t" /* sizes of name and descriptor; NOTE_TYPE */
	".asciz \"" NOTE_NAME "\"\n\t"
	".balign 4\n\t"
	".long " TEXT(PAWL_PROTOCOL) "\n\t"
				     ".long pawl_copy_root - .\n\t"
				     ".popsection");

_Static_assert(sizeof(NOTE_NAME) == 5 && sizeof(struct note) == 8 && NOTE_TYPE == 1,
	       "the note says so");

static const char *aligned(const char *at, size_t alignment)
{
	return (const char *)(((uintptr_t)at + alignment - 1) & ~(alignment - 1));
}

/* Finds pawl's note in a note segment, or returns NULL. */
static const struct note *find_note(const char *at, size_t bytes, size_t alignment)
{
	const char *end = at + bytes;

	while ((size_t)(end - at) >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *header = (const ElfW(Nhdr) *)at;
		const char *name = at + sizeof(*header);
		const char *note = aligned(name + header->n_namesz, alignment);

		if (header->n_type == NOTE_TYPE &&
		    header->n_namesz == sizeof(NOTE_NAME) &&
		    header->n_descsz >= sizeof(struct note) &&
		    memcmp(name, NOTE_NAME, sizeof(NOTE_NAME)) == 0)
			return (const struct note *)note;
		at = aligned(note + header->n_descsz, alignment);
		if (at > end)
			break;
	}
	return NULL;
}

/* Whether a segment is mapped: notes outside all PT_LOAD segments exist only in the
 * file. */
static bool is_loaded(const struct dl_phdr_info *object, const ElfW(Phdr) * segment)
{
	unsigned i;

	for (i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *loaded = &object->dlpi_phdr[i];

		if (loaded->p_type == PT_LOAD && loaded->p_vaddr <= segment->p_vaddr &&
		    segment->p_vaddr + segment->p_memsz <=
			    loaded->p_vaddr + loaded->p_memsz)
			return true;
	}
	return false;
}

/* Ends the process: a copy with another protocol number lays out locks differently. */
static __attribute__((noreturn, cold)) void refuse(unsigned protocol, const char *object)
{
	char sentence[512];

	snprintf(
		sentence, sizeof(sentence),
		"two copies of libpawl in this process do not fit together: this one has "
		"protocol " TEXT(
			PAWL_PROTOCOL) ", the one in %.300s has protocol %u; "
				       "build both with the same version of pawl",
		object[0] != '\0' ? object : "the program", protocol);
	pawl_die_(sentence);
}

/* Returns the value of *word that all copies agree on: the value it has, else `proposed`,
 * else newly allocated memory. */
static uint64_t agree(pawl_atomic64 *word, uint64_t proposed, size_t bytes)
{
	uint64_t agreed = pawl_load_acquire(word); /* [Q] */
	void *made = NULL;

	if (agreed != 0)
		return agreed;
	if (proposed == 0) {
		made = pawl_os_reserve(bytes);
		if (made == NULL)
			pawl_die_("out of memory for what the process has once");
		proposed = pawl_address(made);
	}
	if (pawl_cas_release(word, 0, proposed)) /* [P] */
		return proposed;
	if (made != NULL)
		pawl_os_release(made, bytes);
	return pawl_load_acquire(word); /* [Q] */
}

/* Callback for one loaded object. *found: the process's root, 0 before the first copy. */
static int visit(struct dl_phdr_info *object, size_t size, void *found)
{
	uint64_t *root = found;
	unsigned i;

	(void)size;
	for (i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
		const struct note *note;

		if (segment->p_type != PT_NOTE || !is_loaded(object, segment))
			continue;
		note = find_note((const char *)(object->dlpi_addr + segment->p_vaddr),
				 segment->p_memsz, segment->p_align == 8 ? 8 : 4);
		if (note == NULL)
			continue;
		if (note->protocol != PAWL_PROTOCOL)
			refuse(note->protocol, object->dlpi_name);
		*root = agree((pawl_atomic64 *)((uintptr_t)&note->root +
						(uintptr_t)(intptr_t)note->root),
			      *root, sizeof(struct root));
	}
	return 0;
}

static struct root *find_root(void)
{
	uint64_t root = pawl_load_acquire(&pawl_copy_root); /* [Q] */

	if (root == 0) {
		dl_iterate_phdr(visit, &root);
		/* If the loader does not list this object, it still counts as a copy. */
		root = agree(&pawl_copy_root, root, sizeof(struct root));
	}
	return pawl_pointer(root);
}

void *pawl_os_part(enum pawl_part part, size_t bytes)
{
	return pawl_pointer(agree(&find_root()->parts[part], 0, bytes));
}

void pawl_os_meet_copies(void)
{
	(void)find_root();
}

/* Relaxed, here and below: all threads that fork store the same value, and the child has
 * one thread. */
void pawl_os_parts_fork(void)
{
	struct root *root = find_root();
	unsigned i;

	for (i = 0; i < PAWL_PARTS; i++)
		pawl_store_relaxed(&root->forked[i], 0);
}

bool pawl_os_part_forked(enum pawl_part part)
{
	pawl_atomic64 *forked = &find_root()->forked[part];
	bool first = pawl_load_relaxed(forked) == 0; /* Relaxed: as above */

	pawl_store_relaxed(forked, 1);
	return first;
}
