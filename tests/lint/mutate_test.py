# SPDX-License-Identifier: MIT
"""scripts/mutate-orders: finds every order, judges, remembers, and refuses.

usage: mutate_test.py PAWL
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
PAWL = None


class Tree:
    """A copy of what the script needs, to be changed at will."""

    def __init__(self, folder):
        self.folder = folder
        for name in ("scripts", "include", "src", "backend", "sim"):
            shutil.copytree(os.path.join(ROOT, name), os.path.join(folder, name))
        os.mkdir(os.path.join(folder, "tests"))
        shutil.copytree(os.path.join(ROOT, "tests/mutants"),
                        os.path.join(folder, "tests/mutants"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def change(self, name, old, new):
        with open(self.path(name), encoding="utf-8") as file:
            text = file.read()
        assert old in text, old
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text.replace(old, new, 1))

    def run(self, *arguments, quick=True):
        return subprocess.run(
            [self.path("scripts/mutate-orders"), "--pawl", PAWL,
             *(["--quick"] if quick else []), *arguments],
            cwd=self.folder, text=True, capture_output=True)


class MutateOrders(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def setUp(self):
        folder = os.path.join(self.scratch.name, self.id())
        os.mkdir(folder)
        self.tree = Tree(folder)

    def test_all_orders_of_a_lock_are_rejected(self):
        done = self.tree.run("include/pawl/mcs.h")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        # Six orders have one step below, two acq_rel have two.
        self.assertEqual(done.stdout.count(": rejected: "), 10, done.stdout)
        self.assertRegex(done.stdout, r"include/pawl/mcs.h +10 +10 +0 +0\n")

    def test_an_order_that_nobody_needs_is_listed_until_it_is_argued(self):
        self.tree.change("include/pawl/ticket.h", "pawl_load_relaxed(&l->serving)",
                         "pawl_load_acquire(&l->serving)")
        key = ("include/pawl/ticket.h pawl_ticket_release_ "
               "load_acquire(&l->serving) -> relaxed")
        done = self.tree.run("include/pawl/ticket.h")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("pawl_ticket_release_ load_acquire(&l->serving) -> relaxed: PASSES", done.stdout)
        with open(self.tree.path("tests/mutants/survivors.txt"), "a") as file:
            print(f"{key}: for the test", file=file)
        done = self.tree.run("include/pawl/ticket.h")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("passes: for the test", done.stdout)

    def test_a_wrong_argument_is_found(self):
        with open(self.tree.path("tests/mutants/survivors.txt"), "a") as file:
            print("include/pawl/ticket.h pawl_ticket_release_ "
                  "store_release(&l->serving) -> relaxed: wrong", file=file)
            print("include/pawl/ticket.h pawl_ticket_release_ nothing -> relaxed: gone",
                  file=file)
        # What is argued is not run quickly.
        done = self.tree.run("include/pawl/ticket.h", quick=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("but survivors.txt says that it passes", done.stdout)
        self.assertIn("there is no such mutant: include/pawl/ticket.h", done.stdout)

    def test_outcomes_are_remembered_while_the_sources_are_the_same(self):
        results = self.tree.path("results.tsv")
        self.tree.run("include/pawl/tas.h", "--results", results)
        with open(results, encoding="utf-8") as file:
            first = file.read()
        self.assertEqual(first.count("\n"), 3)
        self.tree.run("include/pawl/tas.h", "--results", results)
        with open(results, encoding="utf-8") as file:
            self.assertEqual(file.read(), first)
        self.tree.change("include/pawl/tas.h", "/* SPDX", "/*  SPDX")
        self.tree.run("include/pawl/tas.h", "--results", results)
        with open(results, encoding="utf-8") as file:
            self.assertEqual(file.read().count("\n"), 6)

    def test_a_lock_that_is_wrong_as_it_is_shows_nothing(self):
        self.tree.change("include/pawl/tas.h", "pawl_store_release(", "pawl_store_relaxed(")
        done = self.tree.run("include/pawl/tas.h")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("tas: REJECTED AS IT IS: data race", done.stdout)
        self.assertNotIn(": rejected: ", done.stdout)

    def test_a_mutant_that_does_not_compile_is_no_rejection(self):
        self.tree.change("include/pawl/tas.h", "#endif", "#error\n#endif")
        done = self.tree.run("include/pawl/tas.h")
        self.assertEqual(done.returncode, 1)
        self.assertIn("REJECTED AS IT IS: does not compile", done.stdout)

    def test_bad_usage_is_one_line(self):
        for arguments, words in ((["nowhere.h"], "no such file"),
                                 (["src/os/linux.c"], "nothing that checks it"),
                                 (["--since", "nonsense"], "git knows no commit"),
                                 (["--pawl", "/nowhere", "include/pawl/tas.h"],
                                  "no such command")):
            done = self.tree.run(*arguments)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_help(self):
        done = self.tree.run("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("survivors.txt", done.stdout)


if __name__ == "__main__":
    PAWL = os.path.realpath(sys.argv.pop(1))
    unittest.main()
