#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ctrl-C in the simulators: what there is so far is printed and written, and it is
said that this is not all."""
import json
import os
import signal
import subprocess
import time

from command import CommandTest, main


class Interrupts(CommandTest):
    def interrupt(self, words, file, part):
        """Sends SIGINT when `part` is in what was written to "out" or "err"."""
        with open(self.path("out"), "w") as out, open(self.path("err"), "w") as err:
            child = subprocess.Popen([self.pawl, *words, "--json", "r.json"], stdout=out,
                                     stderr=err, cwd=self.directory.name)
            while part not in self.read(file):
                self.assertIsNone(child.poll(), self.read("err"))
                time.sleep(0.01)
            child.send_signal(signal.SIGINT)
            self.assertEqual(child.wait(timeout=600), 130, self.read("err"))
        return self.read("out"), self.read("err"), json.loads(self.read("r.json"))

    def test_check_tells_what_passed_and_what_was_cut_short(self):
        """Only the command gets the signal, not the processes that it started."""
        for jobs in ("1", "2"):
            with self.subTest(jobs=jobs):
                # The first and others of these cases take seconds.
                out, err, root = self.interrupt(["check", "--full", "lease", "--jobs", jobs],
                                                "out", "passed\n")
                verdicts = [result["verdict"] for result in root["results"]]
                self.assertRegex(err, rf"interrupted; of \d+ cases, {len(verdicts)} were started")
                self.assertEqual(out.count("limit reached: stopped after"),
                                 verdicts.count("limit reached"))
                self.assertGreaterEqual(verdicts.count("limit reached"), 1)
                self.assertLessEqual(verdicts.count("limit reached"), int(jobs))
                self.assertGreaterEqual(verdicts.count("passed"), 1)
                self.assertTrue(root["interrupted"])
                self.assertEqual(set(verdicts), {"passed", "limit reached"})

    def test_check_by_executions_stops_too(self):
        _, err, root = self.interrupt(["check", "--scenario", "sections", "--threads", "5",
                                       "--episodes", "4", "ticket"], "err", "runs,")
        self.assertIn("interrupted; of 1 cases, 1 were started", err)
        self.assertEqual([r["verdict"] for r in root["results"]], ["limit reached"])

    def test_sim_reports_whole_runs(self):
        for jobs, begun in ("1", ["ticket"]), ("2", ["ticket", "mcs"]):
            with self.subTest(jobs=jobs):
                # Progress is shown when the second run begins, or later.
                out, err, root = self.interrupt(
                    ["sim", "--locks", "ticket,mcs", "--threads", "4", "--episodes", "2000",
                     "--runs", "1000000", "--jobs", jobs], "err", "%")
                self.assertIn("interrupted", err)
                self.assertRegex(out, r"ticket +[0-9.]+ ")
                self.assertTrue(root["context"]["interrupted"])
                results = [r["lock"] for r in root["results"]]
                self.assertEqual(results, begun[:len(results)])
                for result in root["results"]:
                    self.assertGreater(len(result["samples"]), 0)
                    self.assertTrue(all(s > 0 for s in result["samples"]))

    def test_sim_stops_within_a_run(self):
        """A run without end: nothing is left of it, and no file. Only the command gets the
        signal, once the processes that it starts simulate."""
        for jobs in 1, 2:
            with self.subTest(jobs=jobs):
                child = subprocess.Popen(
                    [self.pawl, "sim", "--locks", "ticket", "--threads", "4", "--jobs",
                     str(jobs), "--episodes", "1000000000", "--json", "r.json"],
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                    cwd=self.directory.name)
                self.assertIn("runs of", child.stderr.readline())
                while len(self.read(f"/proc/{child.pid}/task/{child.pid}/children").split()
                          ) < jobs - 1:
                    time.sleep(0.01)
                child.send_signal(signal.SIGINT)
                out, _ = child.communicate(timeout=600)
                self.assertEqual(child.returncode, 130)
                self.assertEqual(out, "")
                self.assertFalse(os.path.exists(self.path("r.json")))


class BrokenPipes(CommandTest):
    def test_a_reader_that_goes_away_does_not_lose_the_file(self):
        """As with `pawl ... --json FILE | head -1`."""
        for words in (["list"], ["check", "ticket"], ["sim", "--locks", "ticket", "--runs", "1"],
                      ["bench", "--locks", "ticket", "--threads", "1", "--seconds", "0.01",
                       "--runs", "2"]):
            with self.subTest(words=words):
                child = subprocess.Popen([self.pawl, *words, "--json", "r.json"],
                                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                         cwd=self.directory.name)
                child.stdout.close()
                self.assertIn(child.wait(timeout=600), (0, 128 + signal.SIGPIPE))
                self.assertTrue(json.loads(self.read("r.json")))
                self.assertEqual(os.listdir(self.directory.name), ["r.json"])
                os.unlink(self.path("r.json"))

    def test_without_a_file_it_ends_at_once(self):
        out, into = os.pipe()
        os.close(out)  # before it starts: it could write all before a later close
        done = subprocess.run([self.pawl, "list"], stdout=into, stderr=subprocess.PIPE)
        os.close(into)
        self.assertEqual(done.returncode, -signal.SIGPIPE)
        self.assertEqual(done.stderr, b"")


if __name__ == "__main__":
    main()
