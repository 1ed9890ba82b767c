/* SPDX-License-Identifier: MIT */
/*
 * pawl profile: contended locks, their waiters and holders. Runs the program under the
 * interposer, which writes into files of a temporary folder; everything else, such as
 * finding names, is done here.
 */
#define _GNU_SOURCE
#include "cli/profile/profile.h"

#include "cli/commands.h"
#include "cli/common/interpose.h"
#include "cli/common/options.h"
#include "cli/common/output.h"
#include "cli/common/program.h"
#include "preload/offer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

/* Exit statuses as of a shell. */
enum { CANNOT_EXECUTE = 126, NOT_FOUND = 127, ENDED_BY = 128 };

enum { POLL_MS = 100, MOMENTS = 600 };

struct request {
	char **command;
	const char *json, *folded_path, *pprof_path;
	FILE *folded, *pprof;
	int signal; /* prints the table; 0: none */
	bool order, live;
	double hang_s; /* 0: does not detect hangs */
};

static char folder[64];

/* Creates the folder for the interposer's sparse files: in memory if there is room. */
static void make_folder(void)
{
	static const char *const in[] = {"/dev/shm", NULL, "/tmp"};
	const size_t enough = 16 * sizeof(struct profile_file);
	size_t i;

	for (i = 0; i < sizeof(in) / sizeof(in[0]); i++) {
		const char *parent = in[i] != NULL ? in[i] : getenv("TMPDIR");
		struct statvfs there;

		if (parent == NULL || strlen(parent) > sizeof(folder) - 20 ||
		    statvfs(parent, &there) != 0 ||
		    (uint64_t)there.f_bavail * there.f_frsize < enough)
			continue;
		snprintf(folder, sizeof(folder), "%s/pawl-XXXXXX", parent);
		if (mkdtemp(folder) != NULL)
			return;
	}
	give_up("no room for a profile in /dev/shm, TMPDIR or /tmp; it needs %zu MB",
		enough >> 20);
}

static void remove_folder(void)
{
	DIR *list = opendir(folder);
	struct dirent *entry;

	while (list != NULL && (entry = readdir(list)) != NULL)
		unlinkat(dirfd(list), entry->d_name, 0);
	if (list != NULL)
		closedir(list);
	rmdir(folder);
}

/* "USR2" or "SIGUSR2". */
static void parse_signal(const char *option, const char *name, void *into)
{
	static const struct {
		const char *name;
		int number;
	} signals[] = {{"USR1", SIGUSR1},
		       {"USR2", SIGUSR2},
		       {"HUP", SIGHUP},
		       {"QUIT", SIGQUIT},
		       {"WINCH", SIGWINCH}};
	size_t i;

	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (strcmp(name, signals[i].name) == 0 ||
		    (strncmp(name, "SIG", 3) == 0 &&
		     strcmp(name + 3, signals[i].name) == 0)) {
			*(int *)into = signals[i].number;
			return;
		}
	refuse("--%s: '%s' is not one of USR1, USR2, HUP, QUIT and WINCH", option, name);
}

static FILE *open_file(const char *option, const char *path)
{
	FILE *file = path != NULL ? fopen(path, "we") : NULL;

	if (path != NULL && file == NULL)
		refuse("--%s: cannot write '%s': %s", option, path, strerror(errno));
	return file;
}

static void close_file(const char *option, const char *path, FILE *file)
{
	if (file != NULL && fclose(file) != 0)
		give_up("--%s: cannot write '%s': %s", option, path, strerror(errno));
}

/* Recorded while the program runs. The timeline: when it is full, every second point is
 * dropped and the interval doubles. */
struct timeline {
	struct moment moments[MOMENTS];
	size_t count, every, skipped;
	struct unseen unseen;
};

static double waited_so_far(void)
{
	DIR *list = opendir(folder);
	struct dirent *entry;
	double ns = 0;

	while (list != NULL && (entry = readdir(list)) != NULL) {
		int file = openat(dirfd(list), entry->d_name, O_RDONLY | O_CLOEXEC);
		pawl_atomic64 part = PAWL_ZERO;

		if (file < 0)
			continue;
		if (pread(file, &part, sizeof(part),
			  offsetof(struct profile_file, wait_ns)) == sizeof(part))
			ns += (double)pawl_load_relaxed(&part); /* Relaxed: a snapshot */
		close(file);
	}
	if (list != NULL)
		closedir(list);
	return ns;
}

static void add_moment(struct timeline *timeline, double s)
{
	size_t i;

	if (timeline->every == 0)
		timeline->every = 1;
	if (++timeline->skipped < timeline->every)
		return;
	timeline->skipped = 0;
	if (timeline->count == MOMENTS) {
		for (i = 0; i < MOMENTS / 2; i++)
			timeline->moments[i] = timeline->moments[2 * i + 1];
		timeline->count = MOMENTS / 2;
		timeline->every *= 2;
	}
	timeline->moments[timeline->count++] = (struct moment){
		.s = s, .wait_s = 1e-9 * waited_so_far()};
}

static struct profile take_profile(const struct request *request,
				   struct timeline *timeline, double began)
{
	size_t count;
	const struct profile_file **files = read_files(folder, &count);
	struct profile profile = make_profile(files, count);

	profile.command = request->command;
	profile.wall_s = now() - began;
	profile.moments = timeline->moments;
	profile.moment_count = timeline->count;
	profile.ordered = request->order;
	count_threads(&profile, files, count);
	profile.unseen = timeline->unseen;
	if (request->order)
		find_cycles(&profile, files, count);
	free_files(files, count);
	return profile;
}

static void show(const struct request *request, struct timeline *timeline, double began)
{
	struct profile profile = take_profile(request, timeline, began);

	print_profile(stderr, &profile);
	free_profile(&profile);
}

static void write_all(const struct request *request, struct timeline *timeline,
		      double began)
{
	struct profile profile = take_profile(request, timeline, began);

	if (request->folded != NULL)
		write_folded(request->folded, &profile);
	if (request->pprof != NULL)
		write_pprof(request->pprof, &profile);
	close_file("folded", request->folded_path, request->folded);
	close_file("pprof", request->pprof_path, request->pprof);
	if (request->json != NULL)
		write_result_file(profile_json(&profile));
	print_profile(stderr, &profile);
	free_profile(&profile);
}

/* The signals that this process waits for; blocked, so that none is lost. */
static sigset_t awaited(const struct request *request)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	if (request->signal != 0)
		sigaddset(&set, request->signal);
	return set;
}

static pid_t start_program(const struct request *request, const sigset_t *mask)
{
	char **environment;
	pid_t child;

	if (setenv("PAWL_PROFILE", folder, 1) != 0 ||
	    setenv("PAWL_PROFILE_MODE",
		   request->order ? (request->hang_s > 0 ? "order,hang" : "order")
				  : (request->hang_s > 0 ? "hang" : ""),
		   1) != 0 ||
	    unsetenv("PAWL_STATS") != 0)
		give_up("cannot set PAWL_PROFILE: %s", strerror(errno));
	environment = interposed_environment(OFFER_DEFAULT);
	child = fork();
	if (child < 0)
		give_up("cannot start a process: %s", strerror(errno));
	if (child == 0) {
		sigprocmask(SIG_SETMASK, mask, NULL);
		execvpe(request->command[0], request->command, environment);
		fprintf(stderr, "pawl: cannot run '%s': %s\n", request->command[0],
			strerror(errno));
		_exit(errno == ENOENT ? NOT_FOUND : CANNOT_EXECUTE);
	}
	free_environment(environment);
	return child;
}

/* Reports a hang, once for each. */
static void look_for_hang(const struct request *request)
{
	static double moved;
	static bool told;
	size_t count;
	const struct profile_file **files = read_files(folder, &count);

	if (moved == 0 || !nothing_moved(files, count)) {
		moved = now();
		told = false;
	} else if (!told && now() - moved >= request->hang_s) {
		print_hang(stderr, files, count, now() - moved);
		told = true;
	}
	free_files(files, count);
}

static void show_live(const struct request *request, struct timeline *timeline,
		      double began)
{
	struct profile profile = take_profile(request, timeline, began);

	print_live(stderr, &profile);
	free_profile(&profile);
}

/* Every tenth of a second. */
static void tick(const struct request *request, pid_t child, struct timeline *timeline,
		 double began)
{
	static double looked;

	add_moment(timeline, now() - began);
	look_for_unseen(&timeline->unseen, folder, child);
	if (now() - looked < 1 &&
	    (request->hang_s == 0 || now() - looked < request->hang_s / 4))
		return;
	looked = now();
	if (request->hang_s > 0)
		look_for_hang(request);
	if (request->live)
		show_live(request, timeline, began);
}

/* Waits for the program's end; returns its status as a shell does. The terminal signals
 * the program itself; a signal sent to us is forwarded. */
static int attend(const struct request *request, pid_t child, const sigset_t *signals,
		  struct timeline *timeline, double began)
{
	const struct timespec poll = {.tv_nsec = POLL_MS * 1000000L};
	siginfo_t info;
	int status;

	while (waitpid(child, &status, WNOHANG) == 0) {
		int number = sigtimedwait(signals, &info, &poll);

		if (number == request->signal && number > 0)
			show(request, timeline, began);
		else if (number == SIGTERM ||
			 (number > 0 && number != SIGCHLD && info.si_code <= 0))
			kill(child, number);
		else if (number < 0)
			tick(request, child, timeline, began);
	}
	return WIFSIGNALED(status) ? ENDED_BY + WTERMSIG(status) : WEXITSTATUS(status);
}

static int run(const struct request *request)
{
	sigset_t signals = awaited(request), mask;
	struct timeline *timeline = allocate(sizeof(*timeline));
	double began;
	pid_t child;
	int status;

	survive_broken_pipes();
	make_folder();
	atexit(remove_folder);
	sigprocmask(SIG_BLOCK, &signals, &mask);
	began = now();
	child = start_program(request, &mask);
	status = attend(request, child, &signals, timeline, began);
	timeline->skipped = timeline->every;
	add_moment(timeline, now() - began);
	if (status > ENDED_BY)
		fprintf(stderr,
			"pawl: the program was killed by signal %d (%s); this is the "
			"profile until then\n",
			status - ENDED_BY, strsignal(status - ENDED_BY));
	write_all(request, timeline, began);
	free(timeline);
	return status;
}

static int profile_with(int argc, char **argv, bool live)
{
	struct request request = {.live = live};
	const struct option_spec options[] = {
		{"json", "[FILE]", "write the whole profile as JSON", parse_output,
		 &request.json},
		{"folded", "FILE", "write stacks for flame graphs", parse_text,
		 &request.folded_path},
		{"pprof", "FILE", "write a profile for pprof", parse_text,
		 &request.pprof_path},
		{"signal", "NAME",
		 "also print the profile so far when pawl gets this signal", parse_signal,
		 &request.signal},
		{"order", NULL, "report lock order cycles", parse_flag, &request.order},
		{"on-hang", "SECONDS",
		 "print waiters and holders when no lock was taken for so long",
		 parse_seconds, &request.hang_s},
		{"live", NULL, "show the table once a second", parse_flag, &request.live},
		{.name = NULL},
	};
	const struct usage usage = {
		.command = live ? "top" : "profile",
		.operands = "-- PROGRAM [ARGUMENT...]",
		.about = "Runs a program, and prints the locks that its threads wait "
			 "for, the stacks of the\n"
			 "waiters, and those of the holders. The profile goes to stderr "
			 "when the program ends.",
		.options = options,
	};
	int program = program_at(&usage, argc, argv);

	parse_options(&usage, program < argc ? program : argc, argv);
	if (program >= argc)
		refuse("no program given: pawl %s [OPTION...] -- PROGRAM [ARGUMENT...]",
		       usage.command);
	request.command = argv + program;
	refuse_if_deaf(argv[program]);
	if (request.json != NULL)
		open_result_file("json", request.json);
	request.folded = open_file("folded", request.folded_path);
	request.pprof = open_file("pprof", request.pprof_path);
	return run(&request);
}

int profile_main(int argc, char **argv)
{
	return profile_with(argc, argv, false);
}

int top_main(int argc, char **argv)
{
	return profile_with(argc, argv, true);
}
