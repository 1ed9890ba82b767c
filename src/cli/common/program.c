/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "cli/common/program.h"

#include "cli/common/options.h"
#include "cli/common/output.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

/* Executes the program; if that fails, reports the error to the parent. */
static void become(const struct program *program, const sigset_t *mask, int report)
{
	if (program->dies_with_us)
		prctl(PR_SET_PDEATHSIG, (long)SIGKILL);
	if (setpgid(0, 0) == 0 && dup2(program->in, STDIN_FILENO) >= 0 &&
	    dup2(program->out, STDOUT_FILENO) >= 0 &&
	    dup2(program->err, STDERR_FILENO) >= 0 &&
	    sigprocmask(SIG_SETMASK, mask, NULL) == 0)
		execvpe(program->argv[0], program->argv, program->environment);
	if (write(report, &errno, sizeof(errno)) < 0)
		_exit(126);
	_exit(127);
}

/* By fork: with vfork, as posix_spawn uses it, this process's memory would count in the
 * program's peak. */
int program_start(const struct program *program, const struct held_signals *signals,
		  pid_t *child)
{
	int report[2]; /* closed by exec, or gets the error */
	int error = 0;

	if (pipe2(report, O_CLOEXEC) != 0)
		return errno;
	*child = fork();
	if (*child == 0)
		become(program, &signals->before, report[1]);
	if (*child < 0)
		error = errno;
	close(report[1]);
	if (*child > 0 && read(report[0], &error, sizeof(error)) > 0)
		waitpid(*child, NULL, 0);
	close(report[0]);
	return error;
}

void hold_signals(struct held_signals *signals)
{
	sigemptyset(&signals->held);
	sigaddset(&signals->held, SIGCHLD);
	sigaddset(&signals->held, SIGINT);
	sigaddset(&signals->held, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals->held, &signals->before);
}

void release_signals(const struct held_signals *signals)
{
	sigprocmask(SIG_SETMASK, &signals->before, NULL);
}

int await_signal(const struct held_signals *signals, double until)
{
	double left = until - now();
	struct timespec rest = {0};
	int signal_number;

	if (left > 0) {
		rest.tv_sec = (time_t)left;
		rest.tv_nsec = (long)(1e9 * (left - (double)rest.tv_sec));
	}
	signal_number = sigtimedwait(&signals->held, NULL, until == 0 ? NULL : &rest);
	if (signal_number < 0)
		return errno == EAGAIN ? 0 : SIGCHLD; /* EINTR: check again */
	return signal_number;
}

bool program_has_ended(pid_t child, double began, struct program_outcome *outcome)
{
	struct rusage usage;
	int status;

	if (wait4(child, &status, WNOHANG, &usage) == 0)
		return false;
	outcome->wall_s = now() - began;
	outcome->cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
	outcome->context_switches = (double)(usage.ru_nvcsw + usage.ru_nivcsw);
	outcome->max_rss = 1024 * (double)usage.ru_maxrss;
	outcome->code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
	outcome->end = WIFSIGNALED(status) ? ENDED_BY_SIGNAL : ENDED_BY_EXIT;
	return true;
}

bool run_program(const struct program *program, struct program_outcome *outcome)
{
	struct held_signals signals;
	enum program_end stopped = ENDED_BY_EXIT; /* not stopped */
	double began, until;
	pid_t child = 0;
	int error;

	hold_signals(&signals);
	began = now();
	until = program->limit > 0 ? began + program->limit : 0;
	error = program_start(program, &signals, &child);
	while (error == 0 && !program_has_ended(child, began, outcome)) {
		int signal_number = await_signal(&signals, until);

		if (signal_number == SIGCHLD)
			continue;
		stopped = signal_number == 0 ? ENDED_TOO_SLOW : ENDED_INTERRUPTED;
		until = 0;
		kill(-child, SIGKILL);
	}
	if (stopped != ENDED_BY_EXIT)
		outcome->end = stopped;
	release_signals(&signals);
	errno = error;
	return error == 0;
}

/* Stores the program's path in `path`, searched as by execvp. */
static bool find_program(const char *name, char *path, size_t size)
{
	const char *folders = getenv("PATH");
	size_t length;

	if (strchr(name, '/') != NULL) {
		snprintf(path, size, "%s", name);
		return access(path, F_OK) == 0;
	}
	if (folders == NULL)
		folders = "/bin:/usr/bin";
	for (;; folders += length + 1) {
		length = strcspn(folders, ":");
		snprintf(path, size, "%.*s%s%s", (int)length, folders,
			 length > 0 ? "/" : "", name);
		if (access(path, X_OK) == 0)
			return true;
		if (folders[length] == '\0')
			return false;
	}
}

/* Stores the name of its dynamic linker, "" if it has none; false if the file is not an
 * ELF program of our class. */
static bool find_linker(const char *path, char *linker, size_t size)
{
	FILE *file = fopen(path, "r");
	Elf64_Ehdr header;
	Elf64_Phdr part;
	bool is_ours;
	int i;

	is_ours = file != NULL && fread(&header, sizeof(header), 1, file) == 1 &&
		  memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
		  header.e_ident[EI_CLASS] == ELFCLASS64;
	linker[0] = '\0';
	for (i = 0; is_ours && i < header.e_phnum && linker[0] == '\0'; i++)
		if (fseek(file, (long)header.e_phoff + i * header.e_phentsize,
			  SEEK_SET) == 0 &&
		    fread(&part, sizeof(part), 1, file) == 1 &&
		    part.p_type == PT_INTERP &&
		    fseek(file, (long)part.p_offset, SEEK_SET) == 0 &&
		    fgets(linker, (int)size, file) == NULL)
			linker[0] = '\0';
	if (file != NULL)
		fclose(file);
	return is_ours;
}

static void refuse_linker(const char *path)
{
	char linker[PATH_MAX];

	if (!find_linker(path, linker, sizeof(linker)))
		return;
	if (linker[0] == '\0')
		refuse("'%s' is statically linked, so its mutexes cannot be replaced; "
		       "link it dynamically",
		       path);
	if (strstr(linker, "ld-musl") != NULL)
		refuse("'%s' is linked with musl, and only glibc's mutexes can be "
		       "replaced; link it with glibc",
		       path);
}

/* Replaces the path of a script by that of its interpreter; false if it is no script. */
static bool find_interpreter(char *path, size_t size)
{
	FILE *file = fopen(path, "r");
	char line[PATH_MAX];
	bool found = file != NULL && fgets(line, sizeof(line), file) != NULL &&
		     line[0] == '#' && line[1] == '!';
	char *name = line + 2;

	if (file != NULL)
		fclose(file);
	if (!found)
		return false;
	name += strspn(name, " \t");
	name[strcspn(name, " \t\n")] = '\0';
	snprintf(path, size, "%s", name);
	return true;
}

void refuse_if_deaf(const char *name)
{
	char path[PATH_MAX];
	struct stat there;

	if (!find_program(name, path, sizeof(path)) || stat(path, &there) != 0 ||
	    !S_ISREG(there.st_mode))
		return;
	if ((there.st_mode & (S_ISUID | S_ISGID)) != 0)
		refuse("'%s' is set-user-ID or set-group-ID, and the dynamic linker then "
		       "ignores LD_PRELOAD; use a copy without that bit",
		       path);
	refuse_linker(path);
	if (find_interpreter(path, sizeof(path)))
		refuse_linker(path);
}

void require_interposable(const char *name)
{
	char path[PATH_MAX];
	struct stat there;

	if (!find_program(name, path, sizeof(path)) || stat(path, &there) != 0)
		refuse("cannot find the program '%s'; give its path, or check PATH",
		       name);
	if (!S_ISREG(there.st_mode) || access(path, X_OK) != 0)
		refuse("'%s' is not executable; name another program, or use chmod +x",
		       path);
	refuse_if_deaf(name);
}

int memory_file(void)
{
	int file = memfd_create("pawl", MFD_CLOEXEC);

	if (file < 0)
		give_up("cannot create a file in memory: %s", strerror(errno));
	return file;
}

const char *map_file(int file, size_t *size)
{
	struct stat there;
	void *bytes;

	if (fstat(file, &there) != 0)
		give_up("cannot inspect a program's output: %s", strerror(errno));
	*size = (size_t)there.st_size;
	if (*size == 0)
		return NULL;
	bytes = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, file, 0);
	if (bytes == MAP_FAILED)
		give_up("cannot read a program's output: %s", strerror(errno));
	return bytes;
}

void unmap_file(const char *bytes, size_t size)
{
	if (size > 0)
		munmap((void *)(uintptr_t)bytes, size);
}

bool same_contents(int a, int b)
{
	size_t a_size, b_size;
	const char *a_bytes = map_file(a, &a_size), *b_bytes = map_file(b, &b_size);
	bool same = a_size == b_size &&
		    (a_size == 0 || memcmp(a_bytes, b_bytes, a_size) == 0);

	unmap_file(a_bytes, a_size);
	unmap_file(b_bytes, b_size);
	return same;
}

void last_line(int file, char *line, size_t room)
{
	size_t size, start, end, i;
	const char *text = map_file(file, &size);

	for (end = size; end > 0 && text[end - 1] == '\n';)
		end--;
	for (start = end; start > 0 && text[start - 1] != '\n';)
		start--;
	for (i = 0; start + i < end && i + 1 < room; i++)
		line[i] = (unsigned char)text[start + i] < ' ' ? ' ' : text[start + i];
	line[i] = '\0';
	unmap_file(text, size);
}
