# SPDX-License-Identifier: MIT
"""pawl profile: which lock, who waits, and who makes them wait.

usage: profile_test.py PAWL PROGRAMS PLUGIN [unittest's words]
"""
import gzip
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import browser  # noqa: E402
import command  # noqa: E402

PROGRAMS = PLUGIN = None


def program(name):
    return os.path.join(PROGRAMS, name)


def functions(stack):
    return [frame["function"] for frame in stack]


class ProfileTest(command.CommandTest):
    def profile(self, *words, options=(), status=0, **more):
        """The JSON of a run, and what was printed."""
        done = self.run_pawl("profile", "--json", self.path("p.json"), *options, "--", *words,
                             **more)
        self.assertEqual(done.returncode, status, done.stderr + done.stdout)
        with open(self.path("p.json")) as file:
            return json.load(file), done

    def row(self, profile, name, kind="mutex", where="locks"):
        found = [row for row in profile[where] if name in row["name"] and row["kind"] == kind]
        self.assertEqual(len(found), 1, [row["name"] for row in profile[where]])
        return found[0]


class Planted(ProfileTest):
    def test_waits_are_what_the_program_itself_measured(self):
        profile, done = self.profile(program("planted"))
        names = {"alpha": "alpha+0", "beta": "beta+0", "gamma": "initialised at make_gamma"}
        for line in done.stdout.splitlines():
            lock, waits, total, longest = line.split()
            row = self.row(profile, names[lock])
            self.assertAlmostEqual(row["wait_ns"], int(total), delta=0.1 * int(total))
            self.assertAlmostEqual(row["longest_ns"], int(longest), delta=0.1 * int(longest))
            self.assertEqual(row["waits"], int(waits))
            top = row["stacks"][0]
            self.assertGreater(top["wait_ns"], 0.9 * row["wait_ns"])
            self.assertEqual(functions(top["waiter"])[:3],
                             ["wait_" + lock, "waiter_side", "waiter"])
            self.assertEqual(functions(top["holder"])[:3],
                             ["hold_" + lock, "holder_side", "holder"])
            self.assertTrue(top["waiter"][0]["file"].endswith("planted.c"))
            self.assertGreater(top["waiter"][0]["line"], 0)
            self.assertGreaterEqual(row["acquisitions"], row["waits"])
            self.assertEqual(sum(count for _, count in row["histogram"]), row["waits"])
        self.assertEqual([row["name"].split("+")[0] for row in profile["locks"]][:2],
                         ["alpha", "beta"])
        total = sum(row["wait_ns"] for row in profile["locks"])
        self.assertAlmostEqual(1e9 * profile["timeline"][-1][1], total, delta=0.01 * total)
        self.assertRegex(done.stderr, r"wait_alpha \(planted\.c:\d+\) +hold_alpha \(planted\.c")

    def test_folded_stacks_and_pprof_say_the_same(self):
        profile, _ = self.profile(program("planted"), options=(
            "--folded", self.path("p.folded"), "--pprof", self.path("p.pb.gz")))
        alpha = self.row(profile, "alpha+0")
        folded = {}
        for line in self.read("p.folded").splitlines():
            stack, ns = line.rsplit(" ", 1)
            folded[stack] = int(ns)
        found = [ns for stack, ns in folded.items()
                 if re.search(r";waiter;waiter_side;wait_alpha;alpha\+0 ", stack)]
        self.assertAlmostEqual(sum(found), alpha["stacks"][0]["wait_ns"], delta=2)

        samples = read_pprof(self.path("p.pb.gz"))
        self.assertEqual(samples["types"],
                         [("contentions", "count"), ("delay", "nanoseconds")])
        found = [sample for sample in samples["samples"]
                 if sample["stack"][:3] == ["wait_alpha", "waiter_side", "waiter"]
                 and sample["labels"]["lock"].startswith("alpha+0")]
        self.assertEqual(len(found), 1)
        self.assertEqual(found[0]["values"], [round(alpha["stacks"][0]["waits"]),
                                              round(alpha["stacks"][0]["wait_ns"])])
        self.assertIn("hold_alpha", found[0]["labels"]["blocked by"])

    def test_pprof_itself_reads_it(self):
        go = shutil.which("go") or next(
            (path for path in ["/usr/lib/go-1.19/bin/go"] if os.path.exists(path)), None)
        if go is None:
            self.skipTest("no go tool pprof")
        self.profile(program("planted"), options=("--pprof", self.path("p.pb.gz")))
        done = subprocess.run([go, "tool", "pprof", "-top", self.path("p.pb.gz")],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=dict(os.environ, HOME=self.directory.name), timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Type: delay", done.stdout)
        self.assertRegex(done.stdout, r"\d+ms +\S+% .*wait_alpha")


# A decoder of protocol buffers, by the documentation of the wire format alone.

def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        else:
            raise ValueError(f"wire type {tag & 7}")
        yield tag >> 3, value


def packed(data):
    values, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def read_pprof(path):
    with gzip.open(path) as file:
        top = list(fields(file.read()))
    strings = [value.decode() for number, value in top if number == 6]
    assert strings[0] == ""
    messages = lambda wanted: [dict(fields(value)) for number, value in top if number == wanted]
    names = {message[1]: strings[message[2]] for message in messages(5)}
    places = {message[1]: names[dict(fields(message[4]))[1]] for message in messages(4)}
    samples = []
    for number, value in top:
        if number != 2:
            continue
        sample = {"labels": {}}
        for field, part in fields(value):
            if field == 1:
                sample["stack"] = [places[place] for place in packed(part)]
            elif field == 2:
                sample["values"] = packed(part)
            elif field == 3:
                label = dict(fields(part))
                sample["labels"][strings[label[1]]] = strings[label[2]]
        samples.append(sample)
    types = [(strings[message[1]], strings[message[2]]) for message in messages(1)]
    return {"types": types, "samples": samples}


class Kinds(ProfileTest):
    def test_spin_locks(self):
        profile, _ = self.profile(program("cases"), "spins")
        row = self.row(profile, "spin+0", "spin lock")
        self.assertEqual(row["waits"], 1)
        self.assertIn("wait_spin", functions(row["stacks"][0]["waiter"]))
        self.assertEqual(functions(row["stacks"][0]["holder"])[0], "spins")

    def test_read_write_locks(self):
        for whose in ("glibc", "pawl"):
            profile, _ = self.profile(program("cases"), "rwlocks",
                                      env=dict(os.environ, PAWL_RWLOCK=whose))
            row = self.row(profile, "shared+0", "read-write lock")
            self.assertEqual(row["waits"], 2)
            self.assertEqual({functions(pair["waiter"])[0] for pair in row["stacks"]},
                             {"read_shared", "write_shared"})
            for pair in row["stacks"]:
                self.assertEqual(functions(pair["holder"])[0], "rwlocks")

    def test_waits_for_signals_are_apart(self):
        profile, done = self.profile(program("cases"), "conds")
        row = self.row(profile, "cond+0", "condition variable", "conds")
        self.assertGreaterEqual(row["waits"], 1)
        self.assertGreater(row["wait_ns"], 2e6)
        self.assertEqual(functions(row["stacks"][0]["waiter"])[0], "wait_signal")
        self.assertIn("Waits for signals", done.stderr)
        self.assertFalse([row for row in profile["locks"] if "cond" in row["name"]])


class Life(ProfileTest):
    def assert_contended(self, profile, waits=1):
        row = self.row(profile, "first+0")
        self.assertEqual(row["waits"], waits)
        self.assertEqual(functions(row["stacks"][0]["waiter"])[0], "wait_first")
        self.assertEqual(functions(row["stacks"][0]["holder"])[:2], ["contend_with", "contend"])
        return row

    def test_forks_and_execs(self):
        profile, _ = self.profile(program("cases"), "forks")
        self.assert_contended(profile, 3)  # parent, child, and what the child became
        self.assertEqual(profile["processes"], 3)

    def test_two_first_calls_at_once_make_one_profile(self):
        profile, done = self.profile(program("at_once"),
                                     env=dict(os.environ, PAWL_VERBOSE="1"))
        self.assertEqual(profile["processes"], 1)
        self.assertEqual(self.row(profile, "mutex+0")["acquisitions"], 2 * 100 + 2)
        self.assertEqual(done.stderr.count("pthread mutexes are"), 1, done.stderr)

    def test_a_crash_keeps_what_was_seen(self):
        profile, done = self.profile(program("cases"), "crash", status=128 + signal.SIGSEGV)
        self.assert_contended(profile)
        self.assertIn("killed by signal 11", done.stderr)

    def test_a_kill_keeps_what_was_seen(self):
        profile, _ = self.profile(program("cases"), "killed", status=128 + signal.SIGKILL)
        self.assert_contended(profile)

    def test_without_symbols(self):
        stripped = self.path("stripped")
        subprocess.run(["strip", "-o", stripped, program("cases")], check=True)
        profile, _ = self.profile(stripped, "contend")
        row = self.row(profile, "stripped+0x")
        self.assertRegex(functions(row["stacks"][0]["waiter"])[0], r"^stripped\+0x[0-9a-f]+$")
        self.assertRegex(functions(row["stacks"][0]["holder"])[0], r"^stripped\+0x[0-9a-f]+$")

    def test_inlined_functions_are_frames(self):
        profile, _ = self.profile(program("cases"), "inlined")
        stack = self.row(profile, "first+0")["stacks"][0]["waiter"]
        self.assertEqual(functions(stack)[:2], ["take_inlined", "wait_inlined"])
        self.assertNotEqual(stack[0]["line"], stack[1]["line"])

    def test_separate_debug_information(self):
        stripped = self.path("cases")
        subprocess.run(["objcopy", "--only-keep-debug", program("cases"),
                        self.path("cases.debug")], check=True)
        subprocess.run(["objcopy", "--strip-all", "--add-gnu-debuglink=" + self.path("cases.debug"),
                        program("cases"), stripped], check=True)
        profile, _ = self.profile(stripped, "contend")
        row = self.assert_contended(profile)
        self.assertTrue(row["stacks"][0]["waiter"][0]["file"].endswith("cases.c"))

    def test_unloaded_libraries_keep_their_names(self):
        profile, _ = self.profile(program("cases"), "unload",
                                  env=dict(os.environ, CASES_PLUGIN=PLUGIN))
        row = self.row(profile, "plugged+0")
        self.assertEqual(functions(row["stacks"][0]["waiter"])[0], "wait_plugged")
        self.assertEqual(functions(row["stacks"][0]["holder"])[:2],
                         ["plugin_contends", "unload"])

    @unittest.skipUnless(os.uname().machine == "x86_64", "the code is x86-64's")
    def test_code_made_at_run_time_is_shown_as_such(self):
        profile, _ = self.profile(program("cases"), "generated")
        row = self.row(profile, "first+0")
        self.assertRegex(functions(row["stacks"][0]["waiter"])[0],
                         r"^\[generated at run time\] 0x[0-9a-f]+$")

    def test_ten_thousand_mutexes_are_one_row(self):
        profile, _ = self.profile(program("cases"), "mutexes")
        row = self.row(profile, "locks initialised at mutexes")
        self.assertGreater(row["locks"], 1000)
        self.assertEqual(set(profile["lost"].values()), {0})
        self.assertLess(len(profile["locks"]), 5)
        self.assertEqual(functions(row["stacks"][0]["waiter"])[0], "take_many")
        self.assertEqual(functions(row["stacks"][0]["holder"])[0], "mutexes")

    def test_two_thousand_threads(self):
        profile, _ = self.profile(program("cases"), "threads")
        row = self.row(profile, "first+0")
        self.assertGreaterEqual(row["waits"], 2000)
        self.assertEqual(set(profile["lost"].values()), {0})
        self.assertEqual(functions(row["stacks"][0]["waiter"])[0], "arrive")

    def test_what_finds_no_room_is_said(self):
        profile, done = self.profile(program("cases"), "too-many")
        self.assertGreater(profile["lost"]["locks"], 0)
        self.assertGreater(profile["lost"]["held"], 0)
        self.assertEqual(profile["lost"]["threads"], 0)
        self.assertRegex(done.stderr, r"\d+ times there was no room for more locks: waits or")
        self.assertRegex(done.stderr, r"\d+ times there was no room for more locks held by a thread")
        self.assertNotIn("threads at a time", done.stderr)

    def test_locks_that_another_thread_lets_go_of(self):
        profile, _ = self.profile(program("cases"), "handed")
        self.assert_contended(profile)


class Unseen(ProfileTest):
    """It never says that nobody waited when it could not see."""
    def test_locks_of_libpawl(self):
        _, done = self.profile(program("unseen"), "pawl")
        self.assertIn("No thread waited for a pthread lock.", done.stderr)
        self.assertRegex(done.stderr, r"In \d+ of \d+ samples a thread slept on a futex")
        self.assertNotIn("Nobody", done.stderr)

    def test_waits_for_signals_alone(self):
        """Java's monitors are made of these."""
        _, done = self.profile(program("unseen"), "cond")
        self.assertIn("No thread waited for a pthread lock.", done.stderr)
        self.assertIn("Waits for signals", done.stderr)
        self.assertNotIn("futex", done.stderr)

    def test_a_join_is_no_wait_for_a_lock(self):
        _, done = self.profile(program("unseen"), "join")
        self.assertIn("No thread waited for a pthread lock.", done.stderr)
        self.assertNotIn("futex", done.stderr)

    def test_a_static_program_that_a_shell_starts(self):
        source = self.write("static.c", "int main(void) { return 0; }\n")
        subprocess.run(["cc", "-static", "-o", self.path("static"), source], check=True)
        _, done = self.profile("sh", "-c", "exec " + self.path("static"))
        self.assertIn("No process called a pthread lock function", done.stderr)
        self.assertNotIn("Nobody", done.stderr)


class Command(ProfileTest):
    def test_statically_linked_programs_are_refused(self):
        source = self.write("static.c", "int main(void) { return 0; }\n")
        subprocess.run(["cc", "-static", "-o", self.path("static"), source], check=True)
        self.assert_refused(["profile", "--", self.path("static")], "statically linked")

    def test_bad_input_is_one_line(self):
        self.assert_refused(["profile"], "no program given")
        self.assert_refused(["profile", "--signal", "KILL", "--", "true"], "USR2")
        self.assert_refused(["profile", "--folded", "/nowhere/x", "--", "true"], "/nowhere/x")

    def test_exit_status_is_the_programs(self):
        self.profile("sh", "-c", "exit 7", status=7)
        self.assertEqual(self.run_pawl("profile", "--", "/nowhere/at-all").returncode, 127)

    def server(self, *options):
        process = subprocess.Popen([self.pawl, "profile", *options, "--", program("cases"),
                                    "server"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, cwd=self.directory.name)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def test_a_signal_prints_what_there_is(self):
        process = self.server("--signal", "USR2")
        process.send_signal(signal.SIGUSR2)
        while "first+0" not in process.stderr.readline():
            pass
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=600)
        self.assertEqual(process.returncode, 128 + signal.SIGINT)
        self.assertIn("first+0", err)

    def test_an_interrupt_ends_the_program_and_prints(self):
        process = self.server("--live")
        while "after" not in process.stderr.readline():
            pass
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=600)
        self.assertEqual(process.returncode, 128 + signal.SIGINT)
        self.assertIn("first+0", err)
        self.assertNotIn("\033", err)  # not a terminal

    def test_a_terminal_shows_one_table_over_the_other(self):
        terminal, end = pty.openpty()
        process = subprocess.Popen([self.pawl, "top", "--", program("cases"), "server"],
                                   stdout=subprocess.DEVNULL, stderr=end,
                                   cwd=self.directory.name)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        text = ""
        while not re.search(r"(\033\[H\033\[Jafter \d+ s:\r\n[^\033]*first\+0[^\033]*){2}", text):
            text += os.read(terminal, 4096).decode()
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=600), 128 + signal.SIGINT)
        os.close(end)
        os.close(terminal)

    def test_a_reader_that_goes_away_loses_nothing(self):
        """As with 2>&1 | head -3: the files are written, and the folder is gone."""
        for _ in range(3):
            folder = self.path("tmp")
            os.makedirs(folder, exist_ok=True)
            process = subprocess.Popen(
                [self.pawl, "profile", "--live", "--json", "p.json", "--", program("cases"),
                 "contend"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                cwd=self.directory.name, env=dict(os.environ, TMPDIR=folder))
            process.stderr.close()
            before = set(os.listdir("/dev/shm"))
            self.assertEqual(process.wait(timeout=600), 0)
            self.assertEqual([name for name in os.listdir("/dev/shm")
                              if name.startswith("pawl-") and name not in before], [])
            self.assertEqual(os.listdir(folder), [])
            with open(self.path("p.json")) as file:
                self.assertTrue(json.load(file)["locks"])
            os.unlink(self.path("p.json"))

    def test_a_hangup_leaves_nothing_behind(self):
        for number in signal.SIGHUP, signal.SIGQUIT:
            process = self.server()
            folders = [os.path.join("/dev/shm", name) for name in os.listdir("/dev/shm")
                       if name.startswith("pawl-")]
            process.send_signal(number)
            process.communicate(timeout=600)
            self.assertEqual(process.returncode, 128 + number)
            mine = [folder for folder in folders if os.path.exists(folder) and
                    any(name.startswith(f"{process.pid}") for name in os.listdir(folder))]
            self.assertEqual(mine, [])

    def test_leaves_nothing_behind(self):
        folder = self.path("tmp")
        os.mkdir(folder)
        self.profile(program("cases"), "contend", env=dict(os.environ, TMPDIR=folder))
        self.assertEqual(os.listdir(folder), [])


# Boxes of the page: no one leaves its parent's, and children are below their parents.
BOXES = """
const found = [];
for (const span of document.querySelectorAll('.flames span')) {
  const r = span.getBoundingClientRect();
  const calls = span.parentElement.parentElement;
  const owner = calls.className === 'calls' ? calls.previousElementSibling : null;
  if (r.width < 1 || r.height < 5)
    found.push([span.textContent, 'is not to be seen']);
  if (!owner) continue;
  const o = owner.getBoundingClientRect();
  if (r.left < o.left - 1 || r.right > o.right + 1 || r.top < o.bottom - 1)
    found.push([span.textContent, owner.textContent]);
}
return found;
"""

FACTS = """
const texts = id => [...document.querySelectorAll('#by-' + id + ' span')].map(s => s.textContent);
const heights = id => [...document.querySelectorAll('#' + id + ' i')].map(
  i => i.getBoundingClientRect().height);
const root = document.documentElement;
return {waiter: texts('waiter'), holder: texts('holder'), histogram: heights('histogram'),
        timeline: heights('timeline'), wide: root.scrollWidth > root.clientWidth,
        bars: [...document.querySelectorAll('.bars i')].map(i => i.getBoundingClientRect().width)};
"""


@unittest.skipUnless(browser.is_installed(), "chromium and chromium-driver are not installed")
class InChromium(ProfileTest):
    def test_the_page_shows_waiters_holders_lengths_and_times(self):
        self.profile(program("planted"))
        done = self.succeed("report", "p.json", "-o", "page.html")
        self.assertIn("1 panel from 1 file", done.stdout)
        window = browser.Browser()
        self.addCleanup(window.close)
        for width, scheme in ((1280, "light"), (390, "dark")):
            window.open(self.path("page.html"), width, scheme)
            facts = window.ask(FACTS)
            self.assertEqual(window.ask(BOXES), [])
            self.assertEqual(window.console(), [])
            self.assertFalse(facts["wide"])
            self.assertEqual(len(facts["bars"]), 3)
            self.assertEqual(facts["bars"], sorted(facts["bars"], reverse=True))
            for lock in ("alpha", "beta", "gamma"):
                self.assertIn("wait_" + lock, facts["waiter"])
                self.assertIn("hold_" + lock, facts["holder"])
            self.assertGreater(max(facts["histogram"]), 50)
            self.assertGreater(max(facts["timeline"]), 50)
            if "PAWL_SHOTS" in os.environ:
                window.screenshot(os.path.join(os.environ["PAWL_SHOTS"],
                                               f"profile-{width}-{scheme}.png"))

    def test_names_are_nothing_but_text(self):
        profile, _ = self.profile(program("cases"), "contend")
        profile["locks"][0]["name"] = "<script>alert(1)</script>"
        profile["locks"][0]["stacks"][0]["waiter"][0]["function"] = "</span><img src=x>"
        self.write("p.json", json.dumps(profile))
        self.succeed("report", "p.json", "-o", "page.html")
        self.assertNotIn("<script>alert", self.read("page.html"))
        self.assertNotIn("<img", self.read("page.html"))


class Order(ProfileTest):
    def test_a_circle_is_reported_although_nobody_deadlocked(self):
        profile, done = self.profile(program("cases"), "abba", options=("--order",))
        self.assertEqual(len(profile["cycles"]), 1)
        ends = profile["cycles"][0]
        self.assertEqual(len(ends), 2)
        self.assertEqual({(end["first"][:5], end["second"][:5]) for end in ends},
                         {("first", "secon"), ("secon", "first")})
        for end in ends:
            self.assertEqual(functions(end["first_at"]), ["nest"])
            taker = "take_ab" if end["first"].startswith("first") else "take_ba"
            self.assertEqual(functions(end["second_at"])[:2], ["nest", taker])
        self.assertIn("can deadlock", done.stderr)

    def test_behind_a_common_lock_it_is_none(self):
        profile, done = self.profile(program("cases"), "gated", options=("--order",))
        self.assertEqual(profile["cycles"], [])
        self.assertIn("No lock order cycle", done.stderr)

    def test_a_deadlock_is_explained(self):
        process = subprocess.Popen(
            [self.pawl, "profile", "--on-hang", "0.3", "--", program("cases"), "deadlock"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.directory.name)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        text = ""
        while text.count("it holds") < 2:
            line = process.stderr.readline()
            self.assertTrue(line, text)
            text += line
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=600)
        self.assertIn("2 threads still waited for a lock at the end", err)
        circle = re.search(r"deadlock: thread (\d+) waits for thread (\d+) waits for "
                           r"thread (\d+)\n", text)
        self.assertTrue(circle, text)
        self.assertEqual(circle.group(1), circle.group(3))
        self.assertRegex(text, r"waits for second\+0 .*which thread \d+ took at lock_ba")
        self.assertRegex(text, r"waits for first\+0 .*which thread \d+ took at lock_ab")
        self.assertRegex(text, r"it holds first\+0 .*taken at lock_ab")


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    command.CommandTest.pawl = os.path.abspath(sys.argv.pop(1))
    PROGRAMS = sys.argv.pop(1)
    PLUGIN = sys.argv.pop(1)
    unittest.main()
