#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pawl try: what it refuses, and its verdicts on programs whose behaviour under
each lock is known, as they look at PAWL_LOCK."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from command import ROOT, CommandTest, main

# Takes a mutex, for whoever is not to be told that there is nothing to rank.
LOCKER = """#include <pthread.h>
int main(void)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	return pthread_mutex_lock(&m) + pthread_mutex_unlock(&m);
}
"""

# Scores 20 under mutex, 5 under mcs+park, and 10 otherwise.
SCORE = """#!/bin/sh
./locker
case $PAWL_LOCK in
mutex) score=20 ;; mcs+park) score=5 ;; *) score=10 ;;
esac
echo "ignore 7"; echo "score: $score points"
"""


SCHEMA = os.path.join(ROOT, "src", "cli", "schema", "try.schema.json")


def has_jsonschema(python):
    return subprocess.run([python, "-c", "import jsonschema"], stderr=subprocess.DEVNULL).returncode == 0


# The Python that has jsonschema need not be the first one; there may be none.
VALIDATING = next(filter(has_jsonschema, (sys.executable, "/usr/bin/python3")), None)

# Threads wait for a mutex that main holds, for as long as it says, after it is all but
# certain that they do; then prints a score as above.
WAITER = r"""#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
enum { THREADS = 8 };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static volatile int came;
static void *wait_for_it(void *unused)
{
	(void)unused;
	__atomic_fetch_add(&came, 1, __ATOMIC_SEQ_CST);
	pthread_mutex_lock(&m);
	pthread_mutex_unlock(&m);
	return NULL;
}
/* One more line in the file "starts"; how many there are. */
static int count(const char *lock)
{
	FILE *file = fopen("starts", "a+");
	int c, lines = 0;
	fprintf(file, "%s\n", lock);
	rewind(file);
	while ((c = fgetc(file)) != EOF)
		lines += c == '\n';
	fclose(file);
	return lines;
}
int main(int argc, char **argv)
{
	const char *lock = getenv("PAWL_LOCK") != NULL ? getenv("PAWL_LOCK") : "glibc";
	int i, lines = count(lock), score = 10;
	pthread_t threads[THREADS];
	pthread_mutex_lock(&m);
	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, wait_for_it, NULL);
	while (came < THREADS)
		usleep(1000);
	usleep(1000 * (unsigned)atoi(argv[1]));
	pthread_mutex_unlock(&m);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	/* Words of the form LOCK=SCORE, or LOCK=~ for one that is never the same. */
	for (i = 2; i < argc; i++)
		if (strncmp(argv[i], lock, strlen(lock)) == 0 && argv[i][strlen(lock)] == '=')
			score = argv[i][strlen(lock) + 1] == '~'
					? (lines / 3 % 2 == 0 ? 5 : 20)
					: atoi(argv[i] + strlen(lock) + 1);
	return printf("score: %d points\n", score) < 0;
}
"""


def has_interposer():
    return os.path.exists(os.path.join(os.path.dirname(CommandTest.pawl),
                                       "libpawl-pthread.so"))


class Refusals(CommandTest):
    def test_no_program(self):
        self.assert_refused(["try"], "no program given", "pawl try")
        self.assert_refused(["try", "--runs", "3", "--"], "no program given")

    def test_program_that_is_not_there(self):
        self.assert_refused(["try", "--", "no-such-program"], "'no-such-program'", "PATH")
        self.assert_refused(["try", "--", "./no-such-program"], "./no-such-program")

    def test_program_that_cannot_be_executed(self):
        self.write("data", "no program")
        self.assert_refused(["try", "--", "./data"], "./data", "chmod +x")
        self.assert_refused(["try", "--", "/tmp"], "/tmp", "not executable")

    def test_statically_linked_program(self):
        self.write("main.c", "int main(void) { return 0; }\n")
        subprocess.run(["cc", "-static", "-o", "static", "main.c"], check=True,
                       cwd=self.directory.name)
        self.assert_refused(["try", "--", "./static"], "statically linked", "dynamically")

    def test_program_that_ignores_ld_preload(self):
        shutil.copy("/bin/true", self.path("true"))
        os.chmod(self.path("true"), 0o4755)
        self.assert_refused(["try", "--", "./true"], "set-user-ID", "copy")

    def test_numbers_of_runs(self):
        for runs in ("0", "-1", "many", "1.5"):
            self.assert_refused(["try", "--runs", runs, "--", "true"], "--runs", "whole number")
        self.assert_refused(["try", "--runs", "1000000", "--", "true"], "--runs", "fewer")

    def test_locks(self):
        self.assert_refused(["try", "--locks", "mutexx", "--", "true"], "'mutexx'", "'mutex'")
        self.assert_refused(["try", "--locks", "clh+park", "--", "true"], "not offered",
                            "pawl run --list")
        self.assert_refused(["try", "--locks", "", "--", "true"], "--locks", "a,b,c")

    def test_metric(self):
        self.assert_refused(["try", "--metric", "(", "--", "true"], "--metric",
                            "regular expression")
        self.assert_refused(["try", "--less", "--", "true"], "--less", "--metric")

    def test_json_file_that_cannot_be_written(self):
        self.assert_refused(["try", "--json", "missing/r.json", "--", "true"], "missing/r.json",
                            "directory")

    def test_interposer_that_is_there_already(self):
        env = dict(os.environ, LD_PRELOAD="/nowhere/libpawl-pthread.so")
        done = self.run_pawl("try", "--", "true", env=env)
        self.assertEqual(done.returncode, 2)
        self.assertIn("unset it", done.stderr)

    def test_budgets(self):
        for budget in ("0", "-1s", "1h", "soon", "1e9", "nan", "s"):
            self.assert_refused(["try", "--budget", budget, "--", "true"], "--budget", "90s")

    def test_servers(self):
        self.assert_refused(["try", "--server", "x", "--", "true"], "remove 'true'")
        self.assert_refused(["try", "--server", "x"], "--load")
        self.assert_refused(["try", "--load", "x", "--", "true"], "--server")
        self.assert_refused(["try", "--ready", "1", "--", "true"], "--server")
        self.assert_refused(["try", "--server", "x", "--load", "y", "--ready", "("], "--ready",
                            "neither a port nor")
        self.assert_refused(["try", "--server", "x", "--load", "y", "--ready", "70000"],
                            "not a port")

    def test_option_of_the_program_is_not_ours(self):
        self.assert_refused(["try", "--runs", "0", "ls", "--locks"], "--runs")


class Trials(CommandTest):
    def setUp(self):
        super().setUp()
        if not has_interposer():
            self.skipTest("there is no interposer in sanitized builds")

    @classmethod
    def setUpClass(cls):
        cls.built = tempfile.TemporaryDirectory(prefix="pawl-cli-")
        cls.addClassCleanup(cls.built.cleanup)
        cls.build("locker", LOCKER)
        cls.build("waiter", WAITER)

    @classmethod
    def build(cls, name, source):
        subprocess.run(["cc", "-xc", "-", "-o", os.path.join(cls.built.name, name), "-pthread"],
                       input=source, text=True, check=True)

    def script(self, text):
        shutil.copy(os.path.join(self.built.name, "locker"), self.path("locker"))
        return self.write("program", text, 0o755)

    def root(self):
        root = json.loads(self.read("r.json"))
        self.assertEqual((root["schema"], root["tool"]), (1, "try"))
        if VALIDATING is not None:
            done = subprocess.run([VALIDATING, "-W", "ignore", "-m", "jsonschema", "-i",
                                   self.path("r.json"), SCHEMA], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
            self.assertEqual(done.returncode, 0, done.stdout)
        return root

    def results(self):
        return {result["lock"]: result for result in self.root()["results"]}

    def runs(self):
        return {lock: len(result["wall_s"]["samples"]) if "wall_s" in result else 0
                for lock, result in self.results().items()}

    def verdict(self, done):
        return done.stdout.rstrip("\n").split("\n")[-1]

    def test_the_best_by_a_metric(self):
        self.script(SCORE)
        done = self.succeed("try", "--runs", "6", "--metric", "score: ([0-9]+)", "--json",
                            "r.json", "--", "./program")
        self.assertIn("mutex is best", self.verdict(done))
        self.assertIn("its metric is 100.0 % higher than under glibc (100.0 to 100.0 %, 96 % "
                      "confidence)", self.verdict(done))
        self.assertTrue(self.verdict(done).endswith(
            "; to use it: pawl run --lock mutex -- ./program"))
        self.assertNotIn("told apart", self.verdict(done))
        self.assertRegex(done.stdout, r"mcs\+park .* 0\.500 .* worse\n")
        results = self.results()
        self.assertEqual(list(results), ["glibc", "mutex", "ttas+park", "mcs+park",
                                         "hapax+park"])
        self.assertEqual(results["mutex"]["metric"]["samples"], [20] * 6)
        self.assertEqual(results["glibc"]["metric"]["median"], 10)

    def test_less_may_be_better(self):
        self.script(SCORE)
        done = self.succeed("try", "--runs", "6", "--less", "--metric", "score: ([0-9]+)",
                            "--locks", "mutex,mcs+park", "--", "./program")
        self.assertIn("mcs+park is best", self.verdict(done))

    def test_those_as_good_as_the_best_are_named(self):
        self.script(SCORE)
        done = self.succeed("try", "--runs", "6", "--less", "--metric", "score: ([0-9]+)",
                            "--locks", "mcs+park,mutex,hapax+park", "--", "sh", "-c",
                            "PAWL_LOCK=$(echo $PAWL_LOCK | sed s/hapax/mcs/) ./program")
        self.assertIn("mcs+park is best", self.verdict(done))
        self.assertIn("; hapax+park cannot be told apart from it", self.verdict(done))

    def test_glibc_may_be_best(self):
        self.script(SCORE)
        done = self.succeed("try", "--runs", "6", "--less", "--metric", "score: ([0-9]+)",
                            "--locks", "mutex", "--", "./program")
        self.assertIn("glibc is best", self.verdict(done))
        done = self.succeed("try", "--runs", "6", "--less", "--metric", "score: ([0-9]+)",
                            "--locks", "mutex,hapax+park", "--", "./program")
        self.assertIn("No lock is better than glibc", self.verdict(done))
        self.assertIn("worse: mutex.", self.verdict(done))

    def test_no_difference_is_said(self):
        self.script("#!/bin/sh\n./locker; echo 42\n")
        done = self.succeed("try", "--runs", "6", "--metric", "[0-9]+", "--", "./program")
        self.assertIn("No difference", self.verdict(done))

    def test_who_takes_no_lock_is_not_ranked(self):
        """However much the figures differ: that is not the lock's doing."""
        self.build("scorer", """#include <stdio.h>
            #include <stdlib.h>
            int main(void) { return puts(getenv("PAWL_LOCK") != NULL ? "20" : "10") < 0; }
            """)
        done = self.succeed("try", "--runs", "6", "--metric", "[0-9]+", "--json", "r.json",
                            "--", os.path.join(self.built.name, "scorer"))
        self.assertIn("Nothing to rank: the program takes no lock", self.verdict(done))
        self.assertNotRegex(done.stdout, r"better|worse")
        self.assertEqual(self.results()["mutex"]["metric"]["samples"], [20] * 6)
        self.succeed("report", "r.json", "-o", "page.html")
        page = self.read("page.html")
        self.assertIn("<p>the program takes no lock that pawl replaces: "
                      "nothing to rank.</p>", page)

    def test_read_write_locks_count(self):
        self.build("reader", """#include <pthread.h>
            #include <stdio.h>
            #include <stdlib.h>
            int main(void)
            {
                static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
                int i;
                for (i = 0; i < 30; i++) {
                    pthread_rwlock_rdlock(&rw);
                    pthread_rwlock_unlock(&rw);
                }
                pthread_rwlock_wrlock(&rw);
                return puts(getenv("PAWL_LOCK") != NULL ? "20" : "10") < 0;
            }
            """)
        reader = os.path.join(self.built.name, "reader")
        words = ["try", "--runs", "6", "--metric", "[0-9]+", "--json", "r.json"]
        done = self.succeed(*words, "--", reader)
        self.assertIn("takes read-write locks 31 times, and had to wait for 0", done.stdout)
        self.assertIn("mutex+rwlock", self.results())
        result = self.results()["mutex"]
        self.assertEqual((result["acquisitions"], result["rwlock_acquisitions"],
                          result["rwlock_contended"]), (0, 31, 0))
        self.succeed("report", "r.json", "-o", "page.html")
        self.assertNotIn("nothing to rank", self.read("page.html"))
        done = self.succeed(*words, "--locks", "ttas+park+rwlock", "--", reader)
        self.assertIn("ttas+park+rwlock is best for this program", self.verdict(done))
        self.assertIn("pawl run --lock ttas+park --rwlock pawl -- /", self.verdict(done))
        self.assertEqual(list(self.results()), ["glibc", "ttas+park+rwlock"])
        done = self.succeed(*words, "--locks", "ttas+park", "--", reader)
        self.assertIn("pawl run --lock ttas+park --rwlock glibc -- /", self.verdict(done))
        # Whose they are is said: then no lock of ours is taken, and none is tried.
        env = {**os.environ, "PAWL_RWLOCK": "glibc"}
        done = self.succeed(*words, "--", reader, env=env)
        self.assertIn("Nothing to rank: the program takes no lock", self.verdict(done))
        self.assertNotIn("mutex+rwlock", self.results())

    def test_too_few_runs_rank_nothing(self):
        self.script(SCORE)
        done = self.succeed("try", "--runs", "2", "--metric", "score: ([0-9]+)", "--",
                            "./program")
        self.assertIn("--runs 6 or more", self.verdict(done))

    def test_every_run_is_in_the_json(self):
        self.succeed("try", "--runs", "3", "--locks", "ticket+park", "--json", "r.json", "--",
                     "true")
        results = self.results()
        self.assertEqual(list(results), ["glibc", "ticket+park"])
        for result in results.values():
            for key in ("wall_s", "cpu_s", "context_switches", "max_rss"):
                figure = result[key]
                self.assertEqual(len(figure["samples"]), 3)
                self.assertLessEqual(figure["low"], figure["median"])
                self.assertLessEqual(figure["median"], figure["high"])
            self.assertTrue(all(s > 0 for s in result["wall_s"]["samples"]))
        self.assertNotIn("metric", results["glibc"])
        self.assertIn("acquisitions", results["ticket+park"])
        self.assertEqual(self.root()["verdict"]["kind"], "takes no lock")

    def test_peak_memory_is_the_programs_own(self):
        self.succeed("try", "--runs", "1", "--locks", "mutex", "--json", "r.json", "--", "true")
        self.assertLess(self.results()["glibc"]["max_rss"]["median"], 4 << 20)
        self.succeed("try", "--runs", "1", "--locks", "mutex", "--json", "r.json", "--",
                     "python3", "-c", "b = bytearray(64 << 20)")
        self.assertGreater(self.results()["mutex"]["max_rss"]["median"], 64 << 20)

    def test_failure_under_a_lock_is_reported_and_not_ranked(self):
        self.script(SCORE + '[ "$PAWL_LOCK" != mutex ] || { echo "went wrong" >&2; exit 3; }\n'
                    '[ "$PAWL_LOCK" != hapax+park ] || kill -SEGV $$\n')
        done = self.run_pawl("try", "--runs", "6", "--metric", "score: ([0-9]+)", "--json",
                             "r.json", "--", "./program")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r'mutex +not ranked: exit status 3: "went wrong"\n')
        self.assertRegex(done.stdout, r"hapax\+park +not ranked: killed by signal 11 ")
        self.assertIn("No lock is better than glibc", self.verdict(done))
        self.assertIn("exit status 3", self.results()["mutex"]["trouble"])
        self.assertNotIn("metric", self.results()["mutex"])

    def test_failure_under_every_lock(self):
        self.script("#!/bin/sh\n[ -z \"$PAWL_LOCK\" ]\n")
        done = self.run_pawl("try", "--runs", "1", "--", "./program")
        self.assertEqual(done.returncode, 1)
        self.assertIn("Nothing to rank", self.verdict(done))

    def test_other_output_is_reported_if_asked(self):
        self.script(SCORE)
        self.succeed("try", "--runs", "1", "--", "./program")
        done = self.run_pawl("try", "--runs", "1", "--same-output", "--", "./program")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"mutex +not ranked: output differs from that under glibc\n")
        self.assertNotRegex(done.stdout, r"hapax\+park +not ranked")

    def test_output_that_always_differs_cannot_be_compared(self):
        self.script("#!/bin/sh\necho x >>count; wc -c <count\n")
        done = self.run_pawl("try", "--same-output", "--", "./program")
        self.assertEqual(done.returncode, 2)
        self.assertIn("remove --same-output", done.stderr)

    def test_program_that_fails_by_itself(self):
        done = self.run_pawl("try", "--", "sh", "-c", "echo no luck >&2; exit 4")
        self.assertEqual(done.returncode, 2)
        self.assertIn('exit status 4: "no luck"', done.stderr)

    def test_metric_that_is_not_in_the_output(self):
        for text in ("nothing", "score: none", "score: 0", "score: -3"):
            done = self.run_pawl("try", "--metric", "score: (.*)", "--", "echo", text)
            self.assertEqual(done.returncode, 2)
            self.assertIn("no number above 0", done.stderr)

    def is_alive(self, path):
        try:
            with open(path) as file:
                return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
        except FileNotFoundError:
            return False

    def test_program_that_hangs_under_a_lock_is_stopped_with_its_children(self):
        self.script('#!/bin/sh\n[ "$PAWL_LOCK" != mutex ] || { sleep 1000 & echo $! >child; '
                    'wait; }\n')
        done = self.run_pawl("try", "--runs", "1", "--locks", "mutex,hapax+park", "--",
                             "./program")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"mutex +not ranked: stopped after \d")
        child = "/proc/%s/stat" % self.read("child").strip()
        while self.is_alive(child):  # killed, but perhaps not dead yet
            time.sleep(0.01)

    def test_input_is_the_same_file_each_time(self):
        self.write("input", "x" * 1234)
        with open(self.path("input")) as file:
            self.succeed("try", "--runs", "2", "--locks", "mutex", "--metric", "[0-9]+",
                         "--json", "r.json", "--", "wc", "-c", stdin=file)
        for result in self.results().values():
            self.assertEqual(result["metric"]["samples"], [1234, 1234])

    def interrupt(self, starts, *options):
        """Sends SIGINT once the program was started so many times."""
        self.write("starts", "")
        self.script("#!/bin/sh\necho x >>starts\nsleep 0.01\n"
                    "[ $(wc -l <starts) -lt %d ] || sleep 1000\n" % starts)
        with subprocess.Popen([self.pawl, "try", "--runs", "1000", "--locks", "mutex", "--json",
                               "r.json", *options, "--", "./program"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              cwd=self.directory.name) as child:
            while self.read("starts").count("\n") < starts:
                time.sleep(0.01)
            child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=600)
        self.assertEqual(child.returncode, 130, err)
        return out, err

    def test_interrupt_reports_what_there_is(self):
        out, err = self.interrupt(20)  # 2 to warm up, 17 complete
        self.assertIn("interrupted", err)
        self.assertRegex(out, r"glibc  ")
        samples = [len(r["wall_s"]["samples"]) for r in self.results().values()]
        self.assertEqual(sum(samples), 17)

    def test_interrupt_while_warming_up_leaves_nothing(self):
        out, _ = self.interrupt(2)
        self.assertEqual(out, "")
        self.assertFalse(os.path.exists(self.path("r.json")))

    def starts(self):
        return self.read("starts").count("\n")

    def test_a_look_is_enough_for_a_program_that_never_waits(self):
        """It is not faster under a lock than under glibc, however busy the machine is."""
        self.script("#!/bin/sh\necho x >>starts; ./locker; [ -z \"$PAWL_LOCK\" ] || sleep 0.2\n")
        done = self.succeed("try", "--json", "r.json", "--", "./program")
        self.assertRegex(self.verdict(done),
                         r"^Locks do not matter here: the program spent 0\.00 % of its wall time "
                         r"waiting for them, and no lock could save more than 0\.00 %, where "
                         r"differences below [0-9.]+ % are not visible; leave it as it is\.$")
        self.assertEqual(self.root()["verdict"]["kind"], "locks do not matter")
        self.assertEqual(self.root()["look"]["acquisitions"], 1)
        self.assertLessEqual(self.starts(), 6)
        self.succeed("report", "r.json", "-o", "page.html")

    def test_the_look_counts_what_is_lost(self):
        waiter = os.path.join(self.built.name, "waiter")
        self.succeed("try", "--runs", "1", "--locks", "mutex", "--json", "r.json", "--", waiter,
                     "50")
        look = self.root()["look"]
        self.assertEqual((look["acquisitions"], look["contended"]), (9, 8))
        self.assertGreaterEqual(look["mutex_wait_s"], 0.3)  # most of 8 times 50 ms
        self.assertEqual(look["rwlock_wait_s"] + look["after_signal_wait_s"], 0)
        self.assertAlmostEqual(look["wall_share"], look["mutex_wait_s"] / look["wall_s"])

    def race(self, *scores, options=()):
        done = self.succeed("try", "--budget", "10m", "--metric", "score: ([0-9]+)", "--json",
                            "r.json", *options, "--",
                            os.path.join(self.built.name, "waiter"), "30", *scores)
        return self.verdict(done), self.runs()

    def test_it_ends_as_soon_as_it_is_decided(self):
        verdict, runs = self.race("mutex=20", "mcs+park=5")
        self.assertRegex(verdict, r"^mutex is best for this program: its metric is 100\.0 % higher "
                         r"than under glibc \(100\.0 to 100\.0 %, 95 % confidence\); to use it: "
                         r"pawl run --lock mutex -- \S+ 30 mutex=20 mcs\+park=5$")
        self.assertEqual(set(runs.values()), {8})
        dropped = {lock: result.get("dropped") for lock, result in self.results().items()}
        self.assertEqual(dropped, {"glibc": None, "mutex": None, "mcs+park": "worse",
                                   "ttas+park": "no better than glibc",
                                   "hapax+park": "no better than glibc"})

    def test_equals_end_it_too(self):
        verdict, runs = self.race("mutex=20", "hapax+park=20")
        self.assertIn("; hapax+park cannot be told apart from it; to use it", verdict)
        self.assertEqual(set(runs.values()), {8})
        verdict, runs = self.race()
        self.assertIn("No difference: ", verdict)
        self.assertEqual(set(runs.values()), {8})

    def test_who_is_dropped_is_not_run_again(self):
        verdict, runs = self.race("mutex=5", "hapax+park=~",
                                  options=["--locks", "mutex,hapax+park"])
        self.assertEqual(runs["mutex"], 8)
        self.assertGreater(runs["glibc"], 8)
        self.assertEqual(runs["hapax+park"], runs["glibc"])
        self.assertIn("worse: mutex.", verdict)

    def test_a_program_that_is_too_slow_for_the_budget(self):
        done = self.succeed("try", "--budget", "1s", "--less", "--metric", "score: ([0-9]+)",
                            "--json", "r.json", "--", os.path.join(self.built.name, "waiter"),
                            "600")
        self.assertRegex(self.verdict(done), r"^Undecided: locks may matter, as up to .* use "
                         r"--budget \d+[sm], or give the program less work\.$")
        self.assertEqual(self.starts(), 2)  # under glibc, and the look
        self.assertEqual(self.root()["verdict"]["kind"], "undecided")

    def test_mutexes_are_counted(self):
        done = self.succeed("try", "--runs", "1", "--locks", "mutex", "--", "pigz", "-c",
                            self.pawl)
        found = re.search(r"takes mutexes (\d+) times", done.stdout)
        self.assertGreater(int(found.group(1)), 10)

    def test_the_readme_says_what_works(self):
        """Its commands, as they stand there, with a file in place of FILE."""
        with open(os.path.join(ROOT, "README.md")) as file:
            commands = re.findall(r"^(pawl try .*)$", file.read(), re.M)
        self.assertGreaterEqual(len(commands), 2)
        self.assertTrue(any("--metric" in command for command in commands))
        with open(self.path("FILE"), "wb") as file:
            file.write(os.urandom(2000000) * 2)  # enough for two threads
        env = dict(os.environ, PATH=os.path.dirname(self.pawl) + ":" + os.environ["PATH"])
        for command in commands:
            done = subprocess.run(command, shell=True, env=env, cwd=self.directory.name,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  timeout=600)
            self.assertEqual(done.returncode, 0, command + ": " + done.stderr)
            self.assertRegex(self.verdict(done), "best|No difference|No lock|Locks do not")


if __name__ == "__main__":
    main()
