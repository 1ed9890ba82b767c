#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""scripts/check: every outcome of ctest is counted, and no failure is lost."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LOADER = importlib.machinery.SourceFileLoader("check", os.path.join(ROOT, "scripts", "check"))
check = importlib.util.module_from_spec(importlib.util.spec_from_loader("check", LOADER))
LOADER.exec_module(check)


def counts(verdict, output):
    result = check.Result("release", "a", verdict, 1.0, output)
    return result.passed, result.failed, result.skipped


def say(results):
    """The report on some results, and whether all is well."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        well = check.report(results)
    return well, said.getvalue()


class Cases(unittest.TestCase):
    def test_cases_are_summed_over_groups(self):
        self.assertEqual(counts("passed", "[  PASSED  ] 28 test(s).\n[  PASSED  ] 2 test(s).\n"),
                         (30, 0, 0))

    def test_a_test_without_cases_counts_as_one(self):
        self.assertEqual(counts("passed", "anything\n"), (1, 0, 0))

    def test_failed_cases_are_counted(self):
        self.assertEqual(counts("failed", "[  PASSED  ] 28 test(s).\n"
                                          "[  FAILED  ] 2 test(s), listed below:\n"), (28, 2, 0))

    def test_groups_may_be_named(self):
        self.assertEqual(counts("failed", "[  PASSED  ] 7 test(s).\n"
                                          "[  FAILED  ] leases' lives: 2 test(s), listed below:\n"),
                         (7, 2, 0))

    def test_a_crash_after_passed_cases_is_a_failure(self):
        self.assertEqual(counts("exception: segfault", "[  PASSED  ] 28 test(s).\n"), (28, 1, 0))

    def test_unittest_is_understood(self):
        self.assertEqual(counts("failed", "Ran 20 tests in 1.5s\n"
                                          "FAILED (failures=1, errors=2)\n"), (17, 3, 0))

    def test_skipped_is_neither(self):
        self.assertEqual(counts("skipped", "there is no clang\n"), (0, 0, 1))

    def test_only_skipped_cases_are_no_passed_test(self):
        self.assertEqual(counts("passed", "[  PASSED  ] 0 test(s).\n"
                                          "[  SKIPPED ] 3 test(s), listed below:\n"), (0, 0, 3))

    def test_reasons_of_skipped_cases_leave_out_the_lock(self):
        output = "".join(f"[ RUN      ] case_{i}\n{lock}: has no trylock\n[  SKIPPED ] case_{i}\n"
                         for i, lock in enumerate(("clh", "tidex+park")))
        output += "[ RUN      ] quiet\n[  SKIPPED ] quiet\n[ RUN      ] good\n[       OK ] good\n"
        result = check.Result("release", "a", "passed", 1.0, output)
        self.assertEqual(list(result.reasons()), ["has no trylock"] * 2 + ["no reason given"])


class Report(unittest.TestCase):
    def test_ends_with_the_plain_total(self):
        well, said = say([check.Result("release", "a", "passed", 1.0, "")])
        self.assertTrue(well)
        self.assertEqual(said.splitlines()[-1], "1 passed, 0 failed")

    def test_nothing_is_a_failure(self):
        self.assertEqual(say([])[0], False)

    def test_a_failure_comes_first_with_its_command(self):
        results = [check.Result("release", f"good{i}", "passed", float(i), "") for i in range(20)]
        results.append(check.Result("tsan", "preload.mcs+park", "timeout", 1.0, "it hung\n"))
        well, said = say(results)
        self.assertFalse(well)
        self.assertLess(said.index("it hung"), said.index("slowest tests"))
        self.assertIn(r"repeat: setarch -R ctest --test-dir build/tsan "
                      r"-R '^preload\.mcs\+park$' --output-on-failure", said)
        self.assertEqual(said.splitlines()[-1], "20 passed, 1 failed")

    def test_ten_slowest(self):
        results = [check.Result("release", f"t{i}", "passed", float(i), "") for i in range(20)]
        said = say(results)[1]
        self.assertIn("t10\n", said)
        self.assertNotIn("t9\n", said)


TESTS = r"""
cmake_minimum_required(VERSION 3.25)
project(some NONE)
enable_testing()
add_test(NAME good COMMAND echo "[  PASSED  ] 3 test(s).")
add_test(NAME bad COMMAND false)
add_test(NAME skips COMMAND sh -c "echo no clang; exit 77")
set_tests_properties(skips PROPERTIES SKIP_RETURN_CODE 77)
add_test(NAME says_so COMMAND echo "skipped: no clang")
set_tests_properties(says_so PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: ")
add_test(NAME hangs COMMAND sleep 60)
set_tests_properties(hangs PROPERTIES TIMEOUT 1)
add_test(NAME crashes COMMAND sh -c "kill -SEGV \$\$")
add_test(NAME missing COMMAND ${CMAKE_BINARY_DIR}/missing)
add_test(NAME setup COMMAND false)
set_tests_properties(setup PROPERTIES FIXTURES_SETUP s LABELS full)
add_test(NAME needs COMMAND true)
set_tests_properties(needs PROPERTIES FIXTURES_REQUIRED s)
"""


class WithCtest(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        with open(os.path.join(self.scratch.name, "CMakeLists.txt"), "w") as file:
            file.write(TESTS)
        self.preset = check.Preset("release")
        self.preset.directory = os.path.join(self.scratch.name, "build")
        subprocess.run(["cmake", "-S", self.scratch.name, "-B", self.preset.directory],
                       check=True, stdout=subprocess.DEVNULL)
        self.state, check.STATE = check.STATE, self.scratch.name

    def tearDown(self):
        check.STATE = self.state
        self.scratch.cleanup()

    def run_some(self, *names):
        tests = self.preset.tests()
        with contextlib.redirect_stderr(io.StringIO()):
            self.preset.run(tests, names or list(tests))
        return {result.name: result for result in self.preset.results}

    def test_every_outcome(self):
        results = self.run_some()
        self.assertEqual({name: (result.passed, result.failed, result.skipped)
                          for name, result in results.items()},
                         {"good": (3, 0, 0), "bad": (0, 1, 0), "skips": (0, 0, 1),
                          "says_so": (0, 0, 1), "hangs": (0, 1, 0), "crashes": (0, 1, 0),
                          "missing": (0, 1, 0), "setup": (0, 1, 0), "needs": (0, 1, 0)})
        self.assertIn("timeout", results["hangs"].verdict)

    def test_only_those_that_are_named(self):
        self.assertEqual(set(self.run_some("good", "skips", "crashes")),
                         {"good", "skips", "crashes"})
        self.assertEqual(self.preset.tests()["setup"][1], ["full"])

    def test_a_test_without_an_outcome_has_failed(self):
        missing = check.read_junit("release", os.path.join(self.scratch.name, "none"), ["a", "b"])
        self.assertEqual([(result.name, result.failed) for result in missing],
                         [("a", 1), ("b", 1)])

    def test_outcomes_are_taken_over_on_the_same_tree_only(self):
        self.run_some("good", "bad")
        with contextlib.redirect_stdout(io.StringIO()):
            check.store(self.preset.results, "this tree", "check")
        taken = check.taken_over("this tree")
        self.assertEqual({(result.name, result.passed, result.failed) for result in taken},
                         {("good", 3, 0), ("bad", 0, 1)})
        self.assertEqual(check.taken_over("another tree"), [])
        self.assertEqual(check.taken_over(None), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
