#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The lint of documents finds what it should, and what data/ says is what the page says."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import shutil
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LOADER = importlib.machinery.SourceFileLoader("lint_docs",
                                              os.path.join(ROOT, "scripts", "lint-docs"))
lint_docs = importlib.util.module_from_spec(importlib.util.spec_from_loader("lint_docs", LOADER))
LOADER.exec_module(lint_docs)


class DocumentsTest(unittest.TestCase):
    def setUp(self):
        self.tree = tempfile.mkdtemp()
        os.mkdir(os.path.join(self.tree, "scripts"))

    def tearDown(self):
        shutil.rmtree(self.tree)

    def write(self, name, text):
        path = os.path.join(self.tree, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)

    def lint(self):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            status = lint_docs.main(["--root", self.tree])
        self.assertEqual(status, 1 if said.getvalue() else 0)
        return said.getvalue()

    def test_the_tree_passes(self):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            lint_docs.main(["--root", ROOT])
        self.assertEqual(said.getvalue(), "")

    def test_columns(self):
        self.write("a.md", "x" * 100 + "\n| " + "x" * 200 + " |\n")
        self.assertEqual(self.lint(), "")
        self.write("a.md", "x" * 101 + "\n")
        self.assertIn("a.md:1: 101 columns", self.lint())

    def test_words(self):
        for text in ("Who waits sleeps.", "Whoever unlocks wakes it.", "It used to spin.",
                     "It is as it was."):
            self.write("a.md", text + "\n")
            self.assertIn("a.md:1: ", self.lint(), text)
        for text in ("The waiter, whose turn it is, sleeps.", "A flag is used to wake it.",
                     "For a reader who knows futexes.", "`who` prints users.",
                     "```\nwho | wc -l\n```"):
            self.write("a.md", text + "\n")
            self.assertEqual(self.lint(), "", text)

    def test_links(self):
        self.write("docs/a.md", "[b](b.md#part), [c](https://example.org/x)\n")
        self.assertIn("docs/a.md:1: b.md does not exist", self.lint())
        self.write("docs/b.md", "text\n")
        self.assertIn("docs/a.md:1: docs/b.md has no heading #part", self.lint())
        self.write("docs/b.md", "# A `part`\n\n## Part\n")
        self.assertEqual(self.lint(), "")
        self.write("docs/a.md", "[b](b.md#a-part), [here](#nowhere)\n")
        self.assertIn("docs/a.md:1: docs/a.md has no heading #nowhere", self.lint())

    def test_names(self):
        self.write("src/os/os.h", "int pawl_os_wait(void);\n")
        self.write("a.md", "`src/os/os.h`, `os.h`, `src/os`, `pawl_os_wait(word)`, `pawl_os_`\n")
        self.assertEqual(self.lint(), "")
        for name in ("src/os/linux.h", "linux.h", "pawl_os_wake"):
            self.write("a.md", f"`{name}`\n")
            self.assertIn(f"a.md:1: {name} does not exist", self.lint())

    def test_evaluation_follows_data(self):
        for folder in ("data", "docs"):
            shutil.copytree(os.path.join(ROOT, folder), os.path.join(self.tree, folder))
        shutil.copy(os.path.join(ROOT, "README.md"), self.tree)
        stale = "docs/evaluation.md: is not what scripts/gen-evaluation writes"
        self.assertNotIn(stale, self.lint())
        grid = os.path.join(self.tree, "data", "mutex-grid", "grid.txt")
        with open(grid) as file:
            text = file.read()
        self.assertIn(" 2.03 (1.74 to 2.07) ", text, "the grid has changed; adapt this test")
        self.write("data/mutex-grid/grid.txt",
                   text.replace(" 2.03 (1.74 to 2.07) ", " 2.04 (1.74 to 2.07) "))
        self.assertIn(stale, self.lint())

    def test_data_is_limited(self):
        for folder in ("data", "docs"):
            shutil.copytree(os.path.join(ROOT, folder), os.path.join(self.tree, folder))
        self.write("data/more.txt", "x\n" * 30000)
        self.assertIn("lines; 30000 are allowed", self.lint())


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
