/* SPDX-License-Identifier: MIT */
/*
 * The installed memcached, with the given number of threads and as many clients over a
 * socket in the folder. A client gets 32 keys at once, eight times, and sets one. An
 * operation is a key.
 *
 * Clients take no locks. Every value must be one that was set for its key.
 */
#include "app.h"

#include <cstring>

#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static const int keys = 1000, at_once = 32, gets_per_set = 8;

static std::string key_of(unsigned n)
{
	return "key" + std::to_string(n % keys);
}

static std::string value_of(const std::string &key)
{
	return key + std::string(64, 'v');
}

static pid_t start(const std::string &socket, int threads)
{
	const std::string count = std::to_string(threads);
	const struct passwd *user = getpwuid(getuid());
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execlp("memcached", "memcached", "-s", socket.c_str(), "-t",
		       count.c_str(), "-u", user != nullptr ? user->pw_name : "nobody",
		       nullptr);
		std::perror("memcached");
		_exit(1);
	}
	return child;
}

class client
{
      public:
	explicit client(const std::string &socket_path)
	    : file(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0))
	{
		struct sockaddr_un address = {};

		address.sun_family = AF_UNIX;
		socket_path.copy(address.sun_path, sizeof(address.sun_path) - 1);
		connected = connect(file, reinterpret_cast<sockaddr *>(&address),
				    sizeof(address)) == 0;
	}

	~client()
	{
		close(file);
	}

	client(const client &) = delete;
	client &operator=(const client &) = delete;

	/* Sends a request, and returns the reply up to `last`. */
	const std::string &ask(const std::string &request, const char *last)
	{
		const std::size_t length = std::strlen(last);
		char part[16384];

		if (write(file, request.data(), request.size()) !=
		    static_cast<ssize_t>(request.size()))
			fail();
		answer.clear();
		while (answer.size() < length ||
		       answer.compare(answer.size() - length, length, last) != 0) {
			ssize_t got = read(file, part, sizeof(part));

			if (got <= 0)
				fail();
			answer.append(part, static_cast<std::size_t>(got));
		}
		return answer;
	}

	void set(const std::string &key)
	{
		const std::string value = value_of(key);

		if (ask("set " + key + " 0 0 " + std::to_string(value.size()) + "\r\n" +
				value + "\r\n",
			"\r\n") != "STORED\r\n")
			fail();
	}

	/* Consecutive keys. */
	void get(unsigned first)
	{
		std::string request = "get", expected;

		for (unsigned n = first; n < first + at_once; n++) {
			const std::string key = key_of(n), value = value_of(key);

			request += " " + key;
			expected += "VALUE " + key + " 0 " +
				    std::to_string(value.size()) + "\r\n" + value +
				    "\r\n";
		}
		if (ask(request + "\r\n", "END\r\n") != expected + "END\r\n")
			std::_Exit(STATUS_WRONG);
	}

	bool connected;

      private:
	[[noreturn]] static void fail()
	{
		std::perror("memcached");
		std::_Exit(1);
	}

	int file;
	std::string answer;
};

/* Terminates the server, so that its CPU time is accounted; a regular shutdown takes most
 * of a second. */
static void stop_server(pid_t server)
{
	kill(server, SIGKILL);
	waitpid(server, nullptr, 0);
}

int main(int argc, char **argv)
{
	const app app = parse(argc, argv);
	const std::string socket = app.folder + "/memcached-" + std::to_string(getpid());
	const pid_t server = start(socket, app.threads);

	while (!client(socket).connected) {
		if (waitpid(server, nullptr, WNOHANG) != 0)
			return 1; /* the server has printed the reason */
		usleep(1000);
	}
	client first(socket);
	for (unsigned n = 0; n < keys; n++)
		first.set(key_of(n));
	measure(app, [&](int thread, const std::atomic<bool> &stop) {
		client mine(socket);
		unsigned n = static_cast<unsigned>(thread) * 7919;
		unsigned long count = 0;

		do {
			for (int i = 0; i < gets_per_set; i++) {
				mine.get(n);
				n += 104729;
			}
			mine.set(key_of(n));
			count += at_once * gets_per_set + 1;
		} while (!stop);
		return count;
	});
	stop_server(server);
	unlink(socket.c_str());
	return 0;
}
