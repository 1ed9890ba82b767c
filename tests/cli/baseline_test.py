#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pawl bench --save and --against: where baselines are kept, and what is said."""
import json
import os

from command import CommandTest, main

BENCH = ["bench", "--locks", "ticket,tas", "--threads", "1", "--seconds", "0.05", "--runs", "6"]


class Baselines(CommandTest):
    def setUp(self):
        super().setUp()
        self.env = {**os.environ, "XDG_DATA_HOME": self.path("data")}

    def bench(self, *options, status=0, words=BENCH, env=None):
        done = self.run_pawl(*words, *options, env=env or self.env)
        self.assertEqual(done.returncode, status, done.stderr + done.stdout)
        return done

    def file(self, name):
        return self.path(f"data/pawl/baselines/{name}.json")

    def spoil(self, name, times, context=()):
        """Makes its throughput another one, beyond noise, and leaves out what else may differ."""
        with open(self.file(name)) as file:
            root = json.load(file)
        for result in root["results"]:
            # On a busy machine a run may have done nothing, and is then no result.
            result["samples"] = [max(sample, 1) * times for sample in result["samples"]]
            result.pop("spreads", None)
            result.update(cpu_ns_per_op=None, context_switches_per_s=None, figures={})
        root["context"].update(context)
        with open(self.file(name), "w") as file:
            json.dump(root, file)

    def test_a_baseline_is_kept_and_compared_with(self):
        done = self.bench("--save", "first", "--json", "r.json")
        self.assertIn("baseline 'first' saved\n", done.stderr)
        with open(self.file("first")) as file:
            self.assertEqual(json.load(file), json.loads(self.read("r.json")))
        self.spoil("first", 1e-3)
        done = self.bench("--against", "first")
        self.assertRegex(done.stdout, r"\nSince baseline 'first':\nbetter: mutex, 1 step in, "
                         r"none out, 1 thread, (ticket|tas): Throughput from ")
        self.assertTrue(done.stdout.endswith("0 worse, 2 better, 0 unchanged beyond noise\n"))
        self.spoil("first", 1e6)
        done = self.bench("--against", "first", status=1)
        self.assertTrue(done.stdout.endswith("2 worse, 0 better, 0 unchanged beyond noise\n"))

    def test_it_says_the_same_as_report_diff(self):
        self.bench("--save", "first")
        self.spoil("first", 1e6)
        new = self.bench("--against", "first", "--json", "r.json", status=1).stdout
        diff = self.run_pawl("report", "--diff", self.file("first"), "r.json", env=self.env).stdout
        self.assertEqual(new.split("Since baseline 'first':\n")[1], diff)

    def test_overwriting_is_said(self):
        self.bench("--save", "first")
        self.spoil("first", 1e6, {"date": "2001-02-03T04:05:06Z"})
        done = self.bench("--save", "first", "--against", "first", status=1)
        self.assertIn("baseline 'first' saved, replacing that of 2001-02-03T04:05:06Z\n",
                      done.stderr)
        self.assertIn("2 worse", done.stdout)  # than what was there before
        self.assertEqual(os.listdir(self.path("data/pawl/baselines")), ["first.json"])

    def test_other_settings_and_machines_are_said(self):
        self.bench("--save", "first")
        self.spoil("first", 1e6, {"cpu": "Abacus"})
        done = self.bench("--against", "first", "--seconds", "0.06", "--runs", "7", status=1)
        self.assertIn("with another setting: --seconds 0.05 instead of 0.06", done.stderr)
        self.assertIn("with another setting: --runs 6 instead of 7", done.stderr)
        self.assertIn("different machines (cpu)", done.stderr)
        done = self.bench("--against", "first", "--locks", "ticket,mcs", status=1)
        self.assertIn("not compared: 1 results only in 'baseline first', and 1 only in "
                      "'this run'", done.stderr)
        done = self.bench("--against", "first", "--cs", "9", status=2)
        self.assertIn("'baseline first' and 'this run' have no result in common", done.stderr)

    def test_the_list(self):
        done = self.bench("--against", "help", words=["bench"])
        self.assertIn("no baselines in " + self.path("data/pawl/baselines"), done.stdout)
        self.bench("--save", "b")
        self.bench("--save", "a-1.2_x")
        lines = self.bench("--against", "help", words=["bench"]).stdout.splitlines()
        self.assertEqual([line.split()[0] for line in lines], ["a-1.2_x", "b"])
        self.assertIn("pawl bench --locks ticket,tas", lines[0])

    def test_names(self):
        for name in ("../x", "a/b", ".x", "-x", "_x", "a b", "x" * 65, "\u00fc"):
            self.assert_refused([*BENCH, f"--save={name}"], "not a valid name for a baseline", env=self.env)
            self.assert_refused([*BENCH, f"--against={name}"], "not a valid name for a baseline",
                                env=self.env)
        self.assert_refused([*BENCH, "--save", "help"], "another name", env=self.env)
        self.bench("--save", "first")
        self.assert_refused([*BENCH, "--against", "frist"], "unknown baseline 'frist'",
                            "did you mean 'first'", "--against help", env=self.env)

    def test_places(self):
        home = {**os.environ, "HOME": self.path("home"), "XDG_DATA_HOME": "relative"}
        self.bench("--save", "first", env=home)
        self.assertTrue(os.path.exists(self.path("home/.local/share/pawl/baselines/first.json")))
        self.write("file", "")
        self.assert_refused([*BENCH, "--save", "first"], "cannot write to", "XDG_DATA_HOME",
                            env={**os.environ, "XDG_DATA_HOME": self.path("file")})
        nowhere = {key: value for key, value in os.environ.items()
                   if key not in ("HOME", "XDG_DATA_HOME")}
        self.assert_refused([*BENCH, "--save", "first"], "set HOME or XDG_DATA_HOME", env=nowhere)

    def test_a_dry_run_saves_nothing(self):
        self.bench("--save", "first", "--dry-run")
        self.assertFalse(os.path.exists(self.file("first")))


if __name__ == "__main__":
    main()
