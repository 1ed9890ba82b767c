#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pawl bench over all workloads: its JSON against the schema, its progress on a
terminal, and what an interrupt leaves. usage: workloads_test.py PAWL"""
import copy
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess

import jsonschema

import command

SCHEMA = os.path.join(command.ROOT, "src", "cli", "schema", "bench.schema.json")
DOCUMENT = os.path.join(command.ROOT, "docs", "bench.md")


def validator():
    with open(SCHEMA) as file:
        schema = json.load(file)
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


class WorkloadsTest(command.CommandTest):
    def load(self, name="r.json"):
        """The result, which must be valid."""
        result = json.loads(self.read(name))
        validator().validate(result)
        return result

    def names(self, option):
        text = self.succeed("bench", option, "help").stdout
        return re.findall(r"^(\S+)", text, re.M)

    def some_subjects(self):
        """Three locks, and every variant that some workload has."""
        plan = self.succeed("bench", "--workload", "all", "--dry-run").stdout
        there = " ".join(re.findall(r"^locks: (.*)", plan, re.M)).split()
        locks = json.loads(self.succeed("list", "--json").stdout)["locks"]
        others = {lock["name"] for lock in locks} - {"ticket", "mutex", "hapax"}
        return ",".join(dict.fromkeys(name for name in there if name not in others))

    def test_result_of_all_workloads_is_valid(self):
        names = self.names("--workload")
        if os.environ.get("PAWL_TSAN"):
            names.remove("footprint")  # TSan cannot follow so many locks
        self.succeed("bench", "--workload", ",".join(names), "--quick", "--threads", "2",
                     "--locks", self.some_subjects(), "--seconds", "0.01", "--runs", "2",
                     "--json", "r.json")
        result = self.load()
        self.assertEqual(list(dict.fromkeys(row["workload"] for row in result["results"])),
                         names)
        for row in result["results"]:
            self.assertEqual(len(row["samples"]), 2)
            self.assertEqual(row["interval"]["low"], min(row["samples"]))
            self.assertEqual(row["interval"]["high"], max(row["samples"]))
            self.assertEqual(row["interval"]["confidence"], 0.5)
        self.succeed("report", "r.json", "-o", "r.html")

    def test_stores_have_slots_for_all_threads(self):
        if os.environ.get("PAWL_TSAN"):
            self.skipTest("TSan cannot follow so many threads")
        self.succeed("bench", "--workload", "idalloc,pool", "--locks", "thread,mutex", "--threads",
                     "3000", "--seconds", "0.01", "--runs", "1")

    def test_schema_rejects_what_is_not_complete(self):
        self.succeed("bench", "--locks", "ticket", "--threads", "1", "--seconds", "0.01",
                     "--runs", "1", "--json", "r.json")
        result = self.load()
        for path in ("context", "results"), ("noise", "context"), ("samples", "results"):
            spoilt = copy.deepcopy(result)
            at = {"context": spoilt["context"], "results": spoilt["results"][0]}
            del (spoilt if path[0] in spoilt else at[path[1]])[path[0]]
            self.assertFalse(validator().is_valid(spoilt), path)

    def test_figures_of_a_workload_are_in_table_and_result(self):
        done = self.succeed("bench", "--workload", "atomic-cas", "--quick", "--locks",
                            "ticket", "--threads", "1", "--seconds", "0.01", "--json",
                            "r.json")
        self.assertIn("failures_per_op", done.stdout)
        self.assertEqual(self.load()["results"][0]["figures"], {"failures_per_op": 0.0})

    def test_queue_has_producers_and_room_as_asked_for(self):
        done = self.succeed("bench", "--workload", "queue", "--locks", "mutex", "--threads",
                            "2,4", "--producers", "3", "--capacity", "2", "--seconds",
                            "0.01", "--runs", "1", "--json", "r.json")
        row, = self.load()["results"]  # two threads are too few
        self.assertEqual((row["threads"], row["producers"], row["capacity"]), (4, 3, 2))
        self.assertEqual(row["ncs"], 200)
        self.assertGreater(row["wait_ns"]["max"], 0)
        self.assertEqual(sorted(row["figures"]), ["cpu_ns_per_job", "switches_per_job"])
        self.assertIn("switches_per_job", done.stdout)
        done = self.succeed("bench", "--workload", "queue", "--producers", "4", "--threads",
                            "4,5", "--dry-run")
        self.assertIn("threads: 5\n", done.stdout)
        done = self.succeed("bench", "--capacity", "4", "--dry-run")
        self.assertIn("--workload queue", done.stderr)

    def test_share_of_writes_is_as_asked_for(self):
        done = self.succeed("bench", "--workload", "rwlock", "--locks", "mutex", "--threads",
                            "2", "--writes", "0,0.1,50,100", "--seconds", "0.05", "--runs",
                            "1", "--json", "r.json")
        rows = self.load()["results"]
        self.assertEqual([row["writes_percent"] for row in rows], [0, 0.1, 50, 100])
        rates = [(row["figures"]["reads_per_s"], row["figures"]["writes_per_s"])
                 for row in rows]
        self.assertEqual((rates[0][1], rates[3][0]), (0, 0))
        self.assertGreater(rates[1][0], 100 * rates[1][1])
        self.assertGreater(3 * rates[2][1], rates[2][0])
        self.assertGreater(3 * rates[2][0], rates[2][1])
        for share in "0 %", "0.1 %", "50 %", "100 %":
            self.assertIn(f"rwlock, 2 threads, writes {share}\n", done.stdout)
        self.assertIn("rwlock, 1 step in, none out, 0.1 % writes",
                      self.read_report("r.json"))

    def read_report(self, name):
        self.succeed("report", name, "-o", "r.html")
        return self.read("r.html")

    def test_writes_refuses_what_is_no_share(self):
        for wrong in "101", "-1", "x", "0.00001", "nan", "1,,2":
            self.assert_refused(["bench", "--workload", "rwlock", "--writes", wrong],
                                "--writes")
        done = self.succeed("bench", "--writes", "5", "--dry-run")
        self.assertIn("--workload rwlock", done.stderr)

    def test_lone_thread_is_the_one_that_counts(self):
        done = self.succeed("bench", "--workload", "lone", "--locks", "mutex", "--threads",
                            "1,3", "--seconds", "0.05", "--runs", "1", "--json", "r.json")
        rows = self.load()["results"]
        self.assertEqual([(row["workload"], row["threads"]) for row in rows],
                         [("lone-writer", 3), ("lone-reader", 3)])
        for row in rows:
            self.assertGreater(row["figures"]["longest_wait_ms"], 0)
            self.assertGreater(row["figures"]["others_per_s"], 0)
            self.assertIsNone(row["fairness"])
        self.assertIn("longest_wait_ms", done.stdout)

    def state_and_parent(self, pid):
        """Of a process; it is as good as gone if nobody has asked how it ended."""
        try:
            with open(f"/proc/{pid}/stat") as file:
                state, parent = file.read().rpartition(")")[2].split()[:2]
        except OSError:
            return "Z", 0
        return state, int(parent)

    def busy_children(self, parent):
        return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
                if self.state_and_parent(pid) == ("R", parent)]

    def test_other_processes_run_beside_and_end_with_the_command(self):
        bench = subprocess.Popen(
            [self.pawl, "bench", "--locks", "ticket", "--threads", "1", "--beside", "3",
             "--seconds", "1000", "--runs", "1"], stderr=subprocess.DEVNULL)
        while len(self.busy_children(bench.pid)) < 3:
            self.assertIsNone(bench.poll())
        beside = self.busy_children(bench.pid)
        self.assertEqual(len(beside), 3)
        bench.kill()  # so that it cannot see to them
        bench.wait()
        for pid in beside:  # ends, unless they live on
            while self.state_and_parent(pid)[0] != "Z":
                os.sched_yield()

    def test_setting_is_in_context_and_in_every_row(self):
        done = self.succeed("bench", "--workload", "mutex,queue", "--locks", "mutex",
                            "--threads", "2", "--beside", "1", "--seconds", "0.01",
                            "--runs", "1", "--json", "r.json")
        self.assertIn("queue, 2 threads, beside 1", done.stdout)
        result = self.load()
        for at in [result["context"], *result["results"]]:
            self.assertEqual((at["beside"], at["quota_percent"]), (1, None))

    def groups(self):
        """Control groups that a command made, and left."""
        return [name for _, folders, _ in os.walk("/sys/fs/cgroup") for name in folders
                if name.startswith("pawl-bench-")]

    def test_quota_limits_what_is_measured_or_says_why_not(self):
        words = ["bench", "--workload", "mutex", "--locks", "ticket", "--threads", "1",
                 "--quota", "20", "--seconds", "1", "--runs", "1", "--quick"]
        done = self.run_pawl(*words, "--json", "r.json")
        self.assertEqual(self.groups(), [])
        if done.returncode == 2:
            self.assertRegex(done.stderr, r"\A.*--quota: .*\(.*\); .*systemd-run.*\n\Z")
            return
        self.assertEqual(done.returncode, 0, done.stderr)
        row, = self.load()["results"]
        self.assertEqual(row["quota_percent"], 20)
        # CPU time of all operations over the time that they took, plus a period
        self.assertLess(row["cpu_ns_per_op"] * row["median"] / 1e9, 0.5)

    def test_quota_is_refused_where_groups_cannot_be_written(self):
        nobody = 65534 if os.geteuid() == 0 else None
        try:
            done = subprocess.run([self.pawl, "bench", "--quota", "20", "--dry-run"],
                                  user=nobody, capture_output=True, text=True)
        except PermissionError:
            self.skipTest("nobody but root may run this build")
        if nobody or done.returncode != 0:
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr, r"\A.*--quota: .*\(.*\); .*systemd-run.*\n\Z")

    def test_preset_mutex_has_a_line_for_every_cell_and_ends_with_the_worst(self):
        done = self.succeed("bench", "--preset", "mutex", "--locks", "mutex,pthread",
                            "--threads", "1,2", "--seconds", "0.01", "--runs", "1",
                            "--json", "r.json")
        cells = [(cs, ncs, threads) for cs in (1, 100) for ncs in (0, 250, 2500)
                 for threads in (1, 2)]
        lines = re.findall(r"^ +(\d+) +(\d+) +(\d+) +[\d.]+ +([\d.]+) \(.* to .*\) pthread",
                           done.stdout, re.M)
        self.assertEqual([tuple(map(int, line[:3])) for line in lines], cells)
        least = min(lines, key=lambda line: float(line[3]))
        worst = re.findall(r"^(worst:|      ) cs .*", done.stdout, re.M)
        self.assertEqual(len(worst), 5)
        self.assertRegex(done.stdout, r"(?m)^worst: cs \d+, ncs \d+, \d threads?: "
                         + re.escape(least[3]))
        rows = self.load()["results"]
        self.assertEqual([(row["cs"], row["ncs"], row["threads"]) for row in rows[::2]],
                         cells)
        for row in rows:  # all that the lines are made of
            self.assertGreater(row["wait_ns"]["max"], 0)
            self.assertGreater(row["cpu_ns_per_op"], 0)
        self.succeed("report", "r.json", "-o", "r.html")

    def test_preset_mutex_refuses_what_it_does_not_compare(self):
        self.assert_refused(["bench", "--preset", "mutex", "--workload", "queue"],
                            "remove --workload")
        self.assert_refused(["bench", "--preset", "mutex", "--locks", "mutex"],
                            "name two or more")
        self.assert_refused(["bench", "--preset", "mutx"], "'mutx'", "oversubscribe or mutex")
        plan = self.succeed("bench", "--preset", "mutex", "--cs", "7", "--dry-run").stdout
        self.assertEqual(re.findall(r"cs (\d+), ncs (\d+)", plan),
                         [("7", "0"), ("7", "250"), ("7", "2500")])
        self.assertIn("threads: 1 2 4 8 16 64\n", plan)
        self.assertRegex(plan, "locks: mutex pthread")

    def test_less_is_better_where_the_workload_says_so(self):
        done = self.succeed("bench", "--workload", "latency", "--quick", "--locks",
                            "ticket,mutex", "--seconds", "0.02", "--json", "r.json")
        rows = self.load()["results"]
        least = min(row["median"] for row in rows)
        best = "|".join(row["lock"] for row in rows if row["median"] == least)
        self.assertEqual([row["better"] for row in rows], ["less", "less"])
        self.assertRegex(done.stdout, f"latency, 2 threads: ({best}) (first|leads)")

    def test_document_lists_every_workload(self):
        with open(DOCUMENT) as file:
            listed = re.findall(r"^\| `([a-z0-9-]+)` \|", file.read(), re.M)
        self.assertEqual(sorted(listed),
                         sorted(self.names("--workload") + self.names("--app")))

    def test_short_runs_show_no_progress(self):
        done = self.succeed("bench", "--locks", "ticket", "--threads", "1", "--quick",
                            "--seconds", "0.01")
        self.assertNotIn("left", done.stderr)

    def test_progress_is_plain_lines_where_there_is_no_terminal(self):
        done = self.succeed("bench", "--locks", "ticket", "--threads", "1", "--quick",
                            "--runs", "12", "--seconds", "0.2")
        self.assertRegex(done.stderr, r"(?m)^  0 %, 3 s left  run 1 of 12: mutex, ticket")
        self.assertNotIn("\r", done.stderr)
        self.assertLessEqual(done.stderr.count("left"), 11)

    def on_terminal(self, *words, interrupt_at=None):
        """Runs it on a terminal; interrupts it when that text appears. Returns the exit
        status and what the terminal got. The terminal controls nobody and stays open:
        one that hangs up drops what was not read yet."""
        terminal, end = pty.openpty()
        child = subprocess.Popen([self.pawl, *words], stdin=end, stdout=end, stderr=end,
                                 cwd=self.directory.name)
        text, ended = b"", False
        while not ended or select.select([terminal], [], [], 0)[0]:
            ended = ended or child.poll() is not None
            if select.select([terminal], [], [], 0.05)[0]:
                text += os.read(terminal, 4096)
            if interrupt_at and interrupt_at.encode() in text:
                child.send_signal(signal.SIGINT)
                interrupt_at = None
        os.close(end)
        os.close(terminal)
        return child.returncode, text.decode()

    def test_progress_is_a_bar_on_a_terminal(self):
        status, text = self.on_terminal("bench", "--locks", "ticket", "--threads", "1",
                                        "--quick", "--runs", "12", "--seconds", "0.2")
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r"\r\x1b\[K\[\.{20}\]   0 %, 3 s left  run 1 of 12")
        self.assertRegex(text, r"\r\x1b\[K\[#{10}\.{10}\]  50 %, \d+ s left  run 7 of 12")

    def test_interrupt_writes_what_all_workloads_gave_so_far(self):
        status, text = self.on_terminal(
            "bench", "--workload", "ring,multiwait,mutex", "--locks", "load,ticket",
            "--threads", "2", "--seconds", "0.1", "--runs", "10", "--json", "r.json",
            interrupt_at="mutex, ticket")
        self.assertEqual(status, 130, text)
        self.assertIn("interrupted", text)
        rows = self.load()["results"]
        self.assertEqual([row["workload"] for row in rows[:2]], ["ring", "multiwait"])
        self.assertEqual([len(row["samples"]) for row in rows[:2]], [10, 10])
        if len(rows) > 2:
            self.assertLess(len(rows[2]["samples"]), 10)

    def has_apps(self):
        """Sanitized builds have none."""
        there = os.path.exists(os.path.join(os.path.dirname(self.pawl), "pawl-apps"))
        if not there:
            self.assert_refused(["bench", "--app", "throw"], "not built", "sanitizers")
        return there

    def test_apps_run_under_locks_and_under_glibc(self):
        if not self.has_apps():
            return
        done = self.succeed("bench", "--app", "throw,stdatomic", "--locks", "mutex,glibc",
                            "--quick", "--threads", "2", "--runs", "2", "--seconds", "0.05",
                            "--json", "r.json", env={"TMPDIR": self.directory.name})
        rows = self.load()["results"]
        self.assertEqual([(row["workload"], row["lock"]) for row in rows],
                         [(app, lock)
                          for app in ("throw", "stdatomic-exchange", "stdatomic-cas")
                          for lock in ("mutex", "glibc")])
        for row in rows:
            self.assertGreater(row["median"], 0)
            self.assertGreater(row["figures"]["peak_mib"], 0)
        self.assertIn("times glibc", done.stdout)
        self.assertEqual(os.listdir(self.directory.name), ["r.json"])

    def test_every_app_that_was_built_runs(self):
        if not self.has_apps():
            return
        built = os.listdir(os.path.join(os.path.dirname(self.pawl), "pawl-apps"))
        apps = [app for app in self.names("--app") if app.split("-")[0] in built]
        self.assertEqual({app.split("-")[0] for app in apps}, set(built))
        self.succeed("bench", "--app", ",".join(apps), "--locks", "glibc,mutex", "--quick",
                     "--threads", "3", "--runs", "1", "--seconds", "0.02", "--json",
                     "r.json", env={"TMPDIR": self.directory.name})
        rows = self.load()["results"]
        self.assertEqual([(row["workload"], row["lock"]) for row in rows],
                         [(app, lock) for app in apps for lock in ("glibc", "mutex")])
        for row in rows:
            for figure in "wall_s", "cpu_ns_per_op", "switches_per_op":
                self.assertGreater(row["figures"][figure], 0)
        self.assertEqual(os.listdir(self.directory.name), ["r.json"])

    def run_with_app(self, *lines):
        """The command with an app of these lines, under no lock of ours."""
        folder = os.path.join(self.directory.name, "bin")
        program = os.path.join(folder, "pawl-apps", "throw")
        os.makedirs(os.path.dirname(program))
        shutil.copy(self.pawl, folder)
        with open(program, "w") as file:
            file.write("\n".join(("#!/bin/sh", *lines, "")))
        os.chmod(program, 0o755)
        return subprocess.run(
            [os.path.join(folder, os.path.basename(self.pawl)), "bench", "--app", "throw",
             "--locks", "glibc", "--quick", "--threads", "1"], capture_output=True, text=True)

    def test_app_that_finds_its_data_wrong_is_not_ranked(self):
        done = self.run_with_app("exit 3")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("EXCLUSION VIOLATED by 'glibc'", done.stderr)

    def test_app_that_does_not_say_what_it_did_is_not_ranked(self):
        done = self.run_with_app("echo 1000 1")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("'throw' under 'glibc' failed", done.stderr)

    def test_app_refuses_what_it_cannot_have(self):
        if not self.has_apps():
            return
        self.assert_refused(["bench", "--app", "trow"], "'trow'", "'throw'", "--app help")
        self.assert_refused(["bench", "--app", "throw", "--locks", "hemlock-ah"],
                            "not offered", "pawl run --list")
        self.assert_refused(["bench", "--app", "throw", "--locks", "pthread"], "'pthread'")

    def test_interrupt_writes_what_apps_gave_so_far(self):
        if not self.has_apps():
            return
        os.environ["TMPDIR"] = self.directory.name
        self.addCleanup(os.environ.pop, "TMPDIR")
        status, text = self.on_terminal(
            "bench", "--app", "throw", "--locks", "glibc", "--threads", "2",
            "--seconds", "0.1", "--runs", "1000", "--json", "r.json",
            interrupt_at="run 4 of")
        self.assertEqual(status, 130, text)
        self.assertIn(len(self.load()["results"][0]["samples"]), range(3, 1000))
        self.assertEqual(os.listdir(self.directory.name), ["r.json"])


if __name__ == "__main__":
    command.main()
