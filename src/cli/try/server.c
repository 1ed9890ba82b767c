/* SPDX-License-Identifier: MIT */
/*
 * A server and its load: the server is started, and stopped after its load has run. No
 * process of either is left behind: those that leave the process group are reparented to
 * this process and found among its children.
 */
#define _GNU_SOURCE
#include "cli/try/try.h"

#include "cli/common/options.h"
#include "cli/common/output.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const double look_every = 0.01; /* seconds between two checks */
static const double settling = 0.5;    /* without --ready: time to start */
static const double term_s = 5;	       /* until SIGKILL */
static const double term_interrupted_s = 1;
static const double port_s = 10; /* until its port is free again */

/* The condition for a ready server. */
static struct {
	const char *text; /* NULL: not given */
	int port;	  /* 0: a pattern */
	regex_t pattern;
	double limit; /* in seconds */
} ready;

/* A running server. */
struct server {
	struct held_signals signals;
	pid_t group;
	int said; /* its output */
	bool has_ended, is_interrupted;
	struct program_outcome outcome;
	char *trouble;
	size_t room;
};

/* The port. */

static struct sockaddr_in loopback(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons((uint16_t)ready.port)};

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return address;
}

static int open_socket(void)
{
	int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (file < 0)
		give_up("cannot create a socket: %s", strerror(errno));
	return file;
}

static bool port_answers(void)
{
	struct sockaddr_in address = loopback();
	int file = open_socket();
	bool answers = connect(file, (struct sockaddr *)&address, sizeof(address)) == 0;

	close(file);
	return answers;
}

/* As for a server that sets SO_REUSEADDR: connections in TIME_WAIT do not count. */
static bool port_is_free(void)
{
	struct sockaddr_in address = loopback();
	int file = open_socket(), yes = 1;
	bool is_free;

	setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	is_free = bind(file, (struct sockaddr *)&address, sizeof(address)) == 0 &&
		  listen(file, 1) == 0;
	close(file);
	return is_free;
}

static bool is_number(const char *text)
{
	return *text != '\0' && text[strspn(text, "0123456789")] == '\0';
}

void check_ready(const char *text, double limit)
{
	char why[128];
	int error;

	ready.text = text;
	ready.limit = limit;
	/* Orphans of the server are reparented to us, and found at the end. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L) != 0)
		give_up("cannot become the parent of orphaned processes: %s",
			strerror(errno));
	if (text == NULL)
		return;
	if (!is_number(text)) {
		error = regcomp(&ready.pattern, text, REG_EXTENDED | REG_NEWLINE);
		if (error == 0)
			return;
		regerror(error, &ready.pattern, why, sizeof(why));
		refuse("--ready: '%s' is neither a port nor an extended regular "
		       "expression: %s",
		       text, why);
	}
	ready.port = strlen(text) > 5 ? 0 : atoi(text);
	if (ready.port < 1 || ready.port > UINT16_MAX)
		refuse("--ready: '%s' is not a port from 1 to %d", text, UINT16_MAX);
	if (!port_is_free())
		refuse("--ready: port %d is already in use; stop the program that uses "
		       "it, or choose another port",
		       ready.port);
}

/* Processes. */

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

/* Reaps the server's processes that have ended; false if all have. */
static bool reap(struct server *server)
{
	struct rusage usage;
	pid_t pid;
	int status;

	while ((pid = wait4(-server->group, &status, WNOHANG, &usage)) > 0) {
		struct program_outcome *sum = &server->outcome;

		sum->cpu_s += seconds(usage.ru_utime) + seconds(usage.ru_stime);
		sum->context_switches += (double)(usage.ru_nvcsw + usage.ru_nivcsw);
		if (1024 * (double)usage.ru_maxrss > sum->max_rss)
			sum->max_rss = 1024 * (double)usage.ru_maxrss;
		if (pid != server->group)
			continue;
		server->has_ended = true;
		sum->end = WIFSIGNALED(status) ? ENDED_BY_SIGNAL : ENDED_BY_EXIT;
		sum->code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
	}
	return pid == 0 || kill(-server->group, 0) == 0;
}

/* Waits for the next event, until `until` (0: forever); true after the timeout. */
static bool pause_until(struct server *server, double until)
{
	int signal_number = await_signal(&server->signals, until);

	if (signal_number == SIGINT || signal_number == SIGTERM)
		server->is_interrupted = true;
	return signal_number == 0;
}

/* Kills remaining children: daemons, and their children. */
static void end_orphans(void)
{
	char path[64], list[4096], *rest, *word;
	ssize_t length;
	int file;

	snprintf(path, sizeof(path), "/proc/self/task/%ld/children", (long)getpid());
	do {
		file = open(path, O_RDONLY | O_CLOEXEC);
		length = file < 0 ? 0 : read(file, list, sizeof(list) - 1);
		list[length < 0 ? 0 : length] = '\0';
		if (file >= 0)
			close(file);
		for (rest = list; (word = strsep(&rest, " ")) != NULL;)
			if (*word != '\0')
				kill(atoi(word), SIGKILL);
		while (waitpid(-1, NULL, length > 0 ? 0 : WNOHANG) > 0)
			;
	} while (length > 0);
}

static void stop(struct server *server)
{
	double until = now() + (server->is_interrupted ? term_interrupted_s : term_s);

	kill(-server->group, SIGTERM);
	while (reap(server) && now() < until) {
		bool was_interrupted = server->is_interrupted;

		pause_until(server, now() + look_every);
		if (server->is_interrupted && !was_interrupted)
			break;
	}
	kill(-server->group, SIGKILL);
	while (reap(server))
		pause_until(server, now() + look_every);
	end_orphans();
}

/* Failures. */

/* "the server WHEN: exit status 3: "its last line"" */
static void describe_server(struct server *server, const char *when)
{
	const struct program_outcome *outcome = &server->outcome;
	char how[80] = "", words[120];

	if (server->has_ended && outcome->end == ENDED_BY_SIGNAL)
		snprintf(how, sizeof(how), ": killed by signal %d (%s)", outcome->code,
			 strsignal(outcome->code));
	else if (server->has_ended)
		snprintf(how, sizeof(how), ": exit status %d%s", outcome->code,
			 outcome->code == 0 ? " (keep it in the foreground)" : "");
	last_line(server->said, words, sizeof(words));
	snprintf(server->trouble, server->room, "the server %s%s%s%s%s", when, how,
		 *words != '\0' ? ": \"" : "", words, *words != '\0' ? "\"" : "");
}

static bool has_printed_it(const struct server *server)
{
	size_t size;
	const char *text = map_file(server->said, &size);
	regmatch_t all = {.rm_so = 0, .rm_eo = (regoff_t)size};
	bool found = text != NULL && size <= INT_MAX &&
		     regexec(&ready.pattern, text, 1, &all, REG_STARTEND) == 0;

	unmap_file(text, size);
	return found;
}

static bool is_ready(const struct server *server, double began)
{
	if (ready.text == NULL)
		return now() >= began + settling;
	return ready.port != 0 ? port_answers() : has_printed_it(server);
}

/* False if the server failed, or we were interrupted. */
static bool await_ready(struct server *server)
{
	double began = now();
	char when[128];

	while (!server->is_interrupted) {
		reap(server);
		if (server->has_ended) {
			describe_server(server, "ended before it was ready");
			return false;
		}
		if (is_ready(server, began))
			return true;
		if (now() > began + ready.limit) {
			if (ready.port != 0)
				snprintf(when, sizeof(when),
					 "was not ready after %.0f s: nothing answers at "
					 "port %d",
					 ready.limit, ready.port);
			else
				snprintf(when, sizeof(when),
					 "was not ready after %.0f s: it has not printed "
					 "'%.40s'",
					 ready.limit, ready.text);
			describe_server(server, when);
			return false;
		}
		pause_until(server, now() + look_every);
	}
	return false;
}

static int start(const char *command, const struct server_run *run, int out, int err,
		 char **environment, struct server *server, pid_t *child)
{
	char *words[] = {(char[]){"sh"}, (char[]){"-c"}, (char *)(uintptr_t)command,
			 NULL};
	struct program program = {.argv = words,
				  .environment = environment != NULL ? environment
								     : environ,
				  .in = run->null,
				  .out = out,
				  .err = err,
				  .dies_with_us = true};

	return program_start(&program, &server->signals, child);
}

static void run_load(const struct server_run *run, struct server *server,
		     struct program_outcome *outcome)
{
	double began = now(), until = run->limit > 0 ? began + run->limit : 0;
	bool is_late = false;
	pid_t child;
	int error = start(run->load, run, run->out, run->err, NULL, server, &child);

	if (error != 0)
		give_up("cannot run 'sh': %s", strerror(error));
	while (!program_has_ended(child, began, outcome)) {
		is_late |= pause_until(server, until);
		reap(server);
		if (!is_late && !server->is_interrupted && !server->has_ended)
			continue;
		until = 0;
		kill(-child, SIGKILL);
		if (server->has_ended && *server->trouble == '\0')
			describe_server(server, "ended during the load");
	}
	kill(-child, SIGKILL); /* the rest of its group */
	if (is_late)
		outcome->end = ENDED_TOO_SLOW;
}

/* The next server needs the port. */
static void await_port(struct server *server)
{
	double until = now() + port_s;

	while (ready.port != 0 && !server->is_interrupted && !port_is_free()) {
		if (now() > until)
			give_up("port %d is still in use %.0f s after the server was "
				"stopped",
				ready.port, port_s);
		pause_until(server, now() + look_every);
	}
}

bool run_server(const struct server_run *run, struct program_outcome *load,
		struct program_outcome *costs, char *trouble, size_t room)
{
	struct server server = {.said = memory_file(), .trouble = trouble, .room = room};
	int error;

	hold_signals(&server.signals);
	error = start(run->server, run, server.said, server.said, run->environment,
		      &server, &server.group);
	if (error != 0)
		give_up("cannot run 'sh': %s", strerror(error));
	if (await_ready(&server))
		run_load(run, &server, load);
	stop(&server);
	await_port(&server);
	release_signals(&server.signals);
	close(server.said);
	*costs = server.outcome;
	return !server.is_interrupted;
}
