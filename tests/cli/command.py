# SPDX-License-Identifier: MIT
"""What the tests of the command share: each runs it in a directory of its own."""
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class CommandTest(unittest.TestCase):
    pawl = None  # its path; main() sets it

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="pawl-cli-")
        self.addCleanup(self.directory.cleanup)

    def path(self, name):
        return os.path.join(self.directory.name, name)

    def write(self, name, text, mode=0o644):
        with open(self.path(name), "w") as file:
            file.write(text)
        os.chmod(self.path(name), mode)
        return self.path(name)

    def read(self, name):
        with open(self.path(name)) as file:
            return file.read()

    def run_pawl(self, *words, **more):
        more.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run([self.pawl, *words], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=600,
                              cwd=self.directory.name, **more)

    def succeed(self, *words, **more):
        done = self.run_pawl(*words, **more)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        return done

    def assert_refused(self, words, *parts, status=2, **more):
        """One line that has all the parts in it, no result, no file."""
        before = sorted(os.listdir(self.directory.name))
        done = self.run_pawl(*words, **more)
        self.assertEqual(done.returncode, status, done.stderr + done.stdout)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)
        self.assertEqual(sorted(os.listdir(self.directory.name)), before)


def main():
    """usage: TEST PAWL [unittest's words]"""
    if len(sys.argv) < 2:
        sys.exit(f"usage: {sys.argv[0]} PAWL")
    CommandTest.pawl = os.path.abspath(sys.argv.pop(1))
    unittest.main()
