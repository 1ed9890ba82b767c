#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pawl try with a server and a load: what is measured, what goes wrong, and that
nothing is left behind."""
import json
import os
import signal
import socket
import subprocess
import time

from command import CommandTest, main

# Notes its process in "pids"; answers who connects with a score: 20 under mutex, else 10.
# Words say what goes wrong.
SERVER = """import os, signal, socket, sys, time
words = sys.argv[2:]
with open("pids", "a") as file:
    file.write("%d\\n" % os.getpid())
if "dies" in words or os.environ.get("PAWL_LOCK", "glibc") + "=dies" in words:
    sys.exit("no luck")
if "mute" in words:
    time.sleep(1000)
if "stubborn" in words:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
else:
    signal.signal(signal.SIGTERM, lambda *unused: sys.exit(0))
if "parent" in words and os.fork() == 0:
    os.setsid()
    with open("pids", "a") as file:
        file.write("%d\\n" % os.getpid())
    time.sleep(1000)
listening = socket.socket()
listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listening.bind(("127.0.0.1", int(sys.argv[1])))
listening.listen(5)
print("now ready", flush=True)
while True:
    connection = listening.accept()[0]
    connection.sendall(b"20" if os.environ.get("PAWL_LOCK") == "mutex" else b"10")
    if "fragile" in words and connection.recv(1) == b"x":
        os._exit(7)
    connection.close()
"""

LOAD = """import os, socket, sys, time
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
score = connection.recv(9).decode()
open("loads", "a").write("x")
if "break" in sys.argv:
    connection.sendall(b"x")
    time.sleep(1000)
if "hang" in sys.argv:
    time.sleep(1000)
print("score:", score)
"""


class Servers(CommandTest):
    def setUp(self):
        super().setUp()
        if not os.path.exists(os.path.join(os.path.dirname(self.pawl), "libpawl-pthread.so")):
            self.skipTest("there is no interposer in sanitized builds")
        self.write("server.py", SERVER)
        self.write("load.py", LOAD)
        self.write("pids", "")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = str(free.getsockname()[1])
        self.addCleanup(self.assert_nothing_is_left)

    def words(self, *options, server="", load=""):
        return ["try", *options, "--json", "r.json",
                "--server", f"python3 server.py {self.port} {server}",
                "--load", f"python3 load.py {self.port} {load}"]

    def pids(self):
        return self.read("pids").split()

    def is_alive(self, pid):
        try:
            with open(f"/proc/{pid}/stat") as file:
                return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
        except FileNotFoundError:
            return False

    def assert_nothing_is_left(self):
        if os.path.exists(self.path("pids")):
            self.assertEqual([pid for pid in self.pids() if self.is_alive(pid)], [])

    def assert_fails(self, words, *parts):
        done = self.run_pawl(*words)
        self.assertEqual(done.returncode, 2, done.stderr + done.stdout)
        self.assertEqual(done.stdout, "")
        for part in parts:
            self.assertIn(part, done.stderr.split("\n")[-2])
        self.assert_nothing_is_left()
        return done

    def test_the_server_is_tried_and_the_load_measured(self):
        for ready in (self.port, "now r"):
            self.write("pids", "")
            done = self.succeed(*self.words("--runs", "6", "--locks", "mutex", "--ready", ready,
                                            "--metric", "score: ([0-9]+)"))
            verdict = done.stdout.rstrip("\n").split("\n")[-1]
            self.assertIn("mutex is best for this program: its metric is 100.0 % higher", verdict)
            self.assertTrue(verdict.rstrip().endswith(
                f"pawl run --lock mutex -- python3 server.py {self.port}"), verdict)
            self.assertEqual(len(self.pids()), 1 + 1 + 2 * 6)  # warm-up, look, rounds
            root = json.loads(self.read("r.json"))
            self.assertGreater(root["look"]["acquisitions"], 0)  # the server's own
            self.assert_nothing_is_left()

    def test_a_server_that_dies(self):
        self.assert_fails(self.words("--ready", self.port, server="dies"),
                          "the server ended before it was ready: exit status 1: \"no luck\"")

    def test_a_server_that_is_never_ready(self):
        self.assert_fails(self.words("--ready", self.port, "--budget", "1s", server="mute"),
                          "was not ready after 1 s: nothing answers at port " + self.port)
        # What it did print is quoted, as far as it got to that: on a busy machine, later.
        for seconds in (1, 10, 100):
            done = self.assert_fails(self.words("--ready", "never", "--budget", f"{seconds}s"),
                                     f"was not ready after {seconds} s: it has not printed 'never'")
            if "now ready" in done.stderr:
                return
        self.fail("what the server printed is not quoted")

    def test_a_server_that_dies_of_its_load(self):
        self.assert_fails(self.words("--ready", self.port, server="fragile", load="break"),
                          "the server ended during the load: exit status 7")

    def test_a_load_that_fails(self):
        self.assert_fails(self.words("--ready", self.port, load="; echo no way >&2; exit 5"),
                          "the load: exit status 5: \"no way\"")

    def test_a_server_that_does_not_want_to_stop(self):
        self.assert_fails(self.words("--ready", self.port, server="stubborn", load="; exit 5"),
                          "exit status 5")

    def test_a_server_that_leaves_a_child_in_another_session(self):
        self.assert_fails(self.words("--ready", self.port, server="parent", load="; exit 5"),
                          "exit status 5")
        self.assertEqual(len(self.pids()), 2)

    def test_a_lock_under_which_the_server_dies_is_not_ranked(self):
        done = self.run_pawl(*self.words("--runs", "1", "--locks", "hapax+park,mutex", "--ready",
                                         self.port, server="mutex=dies"))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stdout, r"mutex +not ranked: the server ended before it was ready: ")
        self.assertNotRegex(done.stdout, r"hapax\+park +not ranked")

    def test_a_port_that_is_in_use(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen(1)
            port = str(other.getsockname()[1])
            self.assert_refused(["try", "--server", "x", "--load", "y", "--ready", port],
                                f"port {port} is already in use")

    def interrupt(self, loads, how):
        self.write("loads", "")
        words = self.words("--runs", "100", "--locks", "mutex", "--ready", self.port,
                           load=f"$(test $(wc -c <loads) -lt {loads} || echo hang)")
        with subprocess.Popen([self.pawl, *words], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, cwd=self.directory.name) as child:
            while len(self.read("loads")) <= loads:
                self.assertIsNone(child.poll())
                time.sleep(0.01)
            child.send_signal(how)
            out, err = child.communicate(timeout=600)
        self.assertEqual(child.returncode, 130, err)
        self.assert_nothing_is_left()
        return out

    def test_interrupt_stops_server_and_load(self):
        self.assertEqual(self.interrupt(0, signal.SIGINT), "")
        self.assertIn("glibc  ", self.interrupt(5, signal.SIGTERM))


if __name__ == "__main__":
    main()
