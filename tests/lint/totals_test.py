#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""scripts/test-totals: a failure is never lost."""
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOTALS = os.path.join(ROOT, "scripts", "test-totals")


class TotalsTest(unittest.TestCase):
    def totals(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".log") as log:
            log.write(text)
            log.flush()
            done = subprocess.run([TOTALS, log.name], stdout=subprocess.PIPE, text=True)
        return done.returncode, done.stdout

    def test_cases_are_summed(self):
        self.assertEqual(self.totals(
            "1: [  PASSED  ] 28 test(s).\n"
            "1/2 Test #1: locks.tas ......   Passed    0.15 sec\n"
            "2: anything\n"
            "2/2 Test #2: headers.tas ....   Passed    0.15 sec\n"), (0, "29 passed, 0 failed\n"))

    def test_failed_cases_are_counted(self):
        self.assertEqual(self.totals(
            "1: [  PASSED  ] 28 test(s).\n"
            "1: [  FAILED  ] 2 test(s), listed below:\n"
            "1/1 Test #1: locks.tas ......***Failed    0.15 sec\n"), (1, "28 passed, 2 failed\n"))

    def test_groups_may_be_named(self):
        self.assertEqual(self.totals(
            "1: [  PASSED  ] 7 test(s).\n"
            "1: [  FAILED  ] leases' lives: 2 test(s), listed below:\n"
            "1/1 Test #1: lease ......***Failed    0.15 sec\n"), (1, "7 passed, 2 failed\n"))

    def test_a_crash_is_a_failure(self):
        self.assertEqual(self.totals(
            "1: [  PASSED  ] 28 test(s).\n"
            "1/1 Test #1: locks.tas ......***Exception: SegFault  0.15 sec\n"),
            (1, "28 passed, 1 failed\n"))

    def test_an_abort_is_a_failure(self):
        self.assertEqual(self.totals(
            "1/1 Test #1: a ......Subprocess aborted***Exception:   0.15 sec\n"),
            (1, "0 passed, 1 failed\n"))

    def test_a_timeout_is_a_failure(self):
        self.assertEqual(self.totals(
            "1/1 Test #1: locks.tas ......***Timeout 300.15 sec\n"), (1, "0 passed, 1 failed\n"))

    def test_not_run_is_a_failure(self):
        self.assertEqual(self.totals(
            "1/1 Test #1: locks.tas ......***Not Run   0.00 sec\n"), (1, "0 passed, 1 failed\n"))

    def test_unittest_is_understood(self):
        self.assertEqual(self.totals(
            "1: Ran 20 tests in 1.5s\n1: FAILED (failures=1, errors=2)\n"
            "1/1 Test #1: lint ......***Failed    0.15 sec\n"), (1, "17 passed, 3 failed\n"))

    def test_reasons_of_skipped_cases_are_counted(self):
        text = "".join(f"1: [ RUN      ] case_{i}\n1: {lock}: has no trylock\n"
                       f"1: [  SKIPPED ] case_{i}\n" for i, lock in enumerate(("clh", "tidex+park")))
        text += ("1: [ RUN      ] quiet\n1: [  SKIPPED ] quiet\n1: [ RUN      ] good\n"
                 "1: [       OK ] good\n1: [  PASSED  ] 1 test(s).\n"
                 "1: [  SKIPPED ] 3 test(s), listed below:\n1: [  SKIPPED ] quiet\n"
                 "1/2 Test #1: locks ......   Passed    0.15 sec\n"
                 "2: there is no clang\n2/2 Test #2: b ......***Skipped   0.15 sec\n")
        with tempfile.NamedTemporaryFile("w", suffix=".log") as log:
            log.write(text)
            log.flush()
            said = subprocess.run([TOTALS, "--summary", "x", log.name], stdout=subprocess.PIPE,
                                  text=True).stdout
        self.assertEqual(said, "x: 1 cases passed, 0 failed, 4 skipped\n"
                               "    2 skipped: has no trylock\n"
                               "    1 skipped: no reason given\n"
                               "    1 skipped: there is no clang\n")

    def test_skipped_is_neither(self):
        self.assertEqual(self.totals(
            "1/2 Test #1: a ......***Skipped   0.15 sec\n"
            "2/2 Test #2: b ......   Passed   0.15 sec\n"), (0, "1 passed, 0 failed\n"))

    def test_nothing_is_a_failure(self):
        self.assertEqual(self.totals("No tests were found!!!\n"), (1, "0 passed, 0 failed\n"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
