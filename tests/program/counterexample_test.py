#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pawl check --program: how a failing execution is shown, and that it is a short one."""
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "cli"))
import browser  # noqa: E402
from command import ROOT, CommandTest, main  # noqa: E402

HEAD = """\
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#define R memory_order_relaxed
static atomic_int data, flag;
"""
START = """\
int main(void)
{
	pthread_t t;
	pthread_create(&t, 0, other, 0);
"""
# Line 8 writes, line 9 announces it too weakly.
MESSAGE = HEAD + """\
static void *other(void *p)
{
	atomic_store_explicit(&data, 42, R);
	atomic_store_explicit(&flag, 1, R);
	return p;
}
""" + START + """\
	if (atomic_load_explicit(&flag, memory_order_acquire))
		assert(atomic_load_explicit(&data, R) == 42);
	pthread_join(t, 0);
	return 0;
}
"""
# Fails at any of three looks; the search meets the last one first.
THREE_LOOKS = HEAD + """\
static void *other(void *p)
{
	atomic_store(&data, 1);
	return p;
}
""" + START + """\
	assert(atomic_load(&data) == 0);
	assert(atomic_load(&data) == 0);
	assert(atomic_load(&data) == 0);
	return 0;
}
"""
# The flag orders the data through fences.
FENCES = HEAD + """\
static void *other(void *p)
{
	atomic_store_explicit(&data, 42, R);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&flag, 1, R);
	return p;
}
""" + START + """\
	int seen = atomic_load_explicit(&flag, R);
	atomic_thread_fence(memory_order_acquire);
	assert(!seen || atomic_load_explicit(&data, R) < 42);
	pthread_join(t, 0);
	return 0;
}
"""
# An update is lost between a load and a store; no weak memory is needed for it.
LOST = HEAD + """\
static void *other(void *p)
{
	atomic_store(&data, atomic_load(&data) + 1);
	return p;
}
""" + START + """\
	atomic_store(&data, atomic_load(&data) + 1);
	pthread_join(t, 0);
	assert(atomic_load(&data) == 2);
	return 0;
}
"""


class CounterexampleTest(CommandTest):
    def failing(self, source, *words):
        """What a failed check of this program printed."""
        self.write("p.c", source)
        done = self.run_pawl("check", "--program", "p.c", *words)
        self.assertEqual(done.returncode, 1, done.stderr + done.stdout)
        return done.stdout

    def trace(self, out):
        """Its lines: (indentation, text)."""
        lines = out[out.index("  thread 0"):out.index("repeat it")].rstrip().split("\n")
        return [(len(line) - len(line.lstrip()), line.strip()) for line in lines]


class Columns(CounterexampleTest):
    def test_a_thread_is_a_column(self):
        lines = self.trace(self.failing(MESSAGE))
        head = re.match(r"thread 0 +thread 1$", lines[0][1])
        self.assertTrue(head, lines)
        right = lines[0][0] + lines[0][1].index("thread 1")
        texts = [text for _, text in lines[1:]]
        self.assertEqual(texts, [
            "p.c:15  creates thread 1",
            "begins",
            "p.c:8  store relaxed  data = 42",
            "p.c:9  store relaxed  flag = 1",
            "p.c:16  load acquire  flag: 1",
            "from thread 1, p.c:9",
            "p.c:17  load relaxed  data: 0  (initial)  [old: 1 later]",
            "p.c:17  HERE"])
        for at, text in lines[1:]:
            own = text in ("begins", texts[2], texts[3])
            self.assertEqual(at >= right, own, text)

    def test_the_broken_queue(self):
        done = self.run_pawl("check", "--program",
                             os.path.join(ROOT, "examples", "checking", "spsc.c"),
                             "--", "-DBROKEN")
        texts = [text for _, text in self.trace(done.stdout)]
        self.assertEqual(texts[-5:], [
            "spsc.c:24  write slots", "spsc.c:25  store relaxed  tail = 1",
            "spsc.c:33  load acquire  tail: 1", "from thread 1, spsc.c:25",
            "spsc.c:35  HERE: read slots"])

    def test_what_interleaving_explains_has_no_old_values(self):
        out = self.failing(LOST)
        self.assertNotIn("[old", out)
        texts = [text for _, text in self.trace(out)]
        self.assertEqual([text for text in texts if "data: 0" in text],
                         ["p.c:15  load seq_cst  data: 0  (initial)",
                          "p.c:8  load seq_cst  data: 0  (initial)"])


class Shortest(CounterexampleTest):
    def test_the_first_look_fails(self):
        texts = [text for _, text in self.trace(self.failing(THREE_LOOKS))]
        self.assertEqual(texts[1:], [
            "p.c:14  creates thread 1", "begins", "p.c:8  store seq_cst  data = 1",
            "p.c:15  load seq_cst  data: 1", "from thread 1, p.c:8", "p.c:15  HERE"])

    def test_the_token_repeats_what_is_shown(self):
        for source in (MESSAGE, THREE_LOOKS, LOST):
            for model in ("weak", "tso", "sc"):
                self.write("p.c", source)
                done = self.run_pawl("check", "--program", "p.c", "--model", model)
                if "passed" in done.stdout:
                    self.assertIs(source, MESSAGE)
                    continue
                token = re.search(r"--replay (\S+)", done.stdout).group(1)
                again = self.failing(source, "--replay", token)
                self.assertEqual(self.trace(again), self.trace(done.stdout))


class Pages(CounterexampleTest):
    def test_page_asks_nobody_and_escapes(self):
        self.failing(FENCES, "--html", "page.html")
        page = self.read("page.html")
        self.assertNotRegex(page, r"https?:|<script|src=|@import")
        self.assertIn("!seen || atomic_load_explicit(&amp;data, R) &lt; 42", page)
        self.assertEqual(page.count("</svg>"), 2)  # the arrows' heads, and one execution

    def test_page_of_what_passes(self):
        self.write("p.c", "int main(void) { return 0; }\n")
        self.succeed("check", "--program", "p.c", "--html", "page.html")
        self.assertIn("All checks passed.", self.read("page.html"))

    def test_page_that_cannot_be_written(self):
        self.write("p.c", MESSAGE)
        self.assert_refused(["check", "--program", "p.c", "--html", "missing/page.html"],
                            "--html", "missing/page.html", "directory")


@unittest.skipUnless(browser.is_installed(), "chromium and chromium-driver are not installed")
@unittest.skipUnless(os.environ.get("PAWL_BROWSER", "1") == "1", "not in sanitized builds")
class InChromium(CounterexampleTest):
    """The page as people see it."""

    @classmethod
    def setUpClass(cls):
        cls.browser = browser.Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def look(self, source, scheme="light"):
        self.failing(source, "--html", "page.html")
        self.browser.open(self.path("page.html"), 1200, scheme)
        self.assertEqual(self.browser.console(), [])

    def boxes(self):
        """For each step the lines in it, and its sides."""
        return self.browser.ask("""
            return [...document.querySelectorAll('.step')].map(step => {
                const box = step.querySelector('rect').getBoundingClientRect();
                return {lines: [...step.querySelectorAll('text')].map(t => t.textContent),
                        left: box.left, right: box.right, top: box.top, bottom: box.bottom,
                        fails: step.classList.contains('fails')};
            })""")

    def arrows(self):
        """For each its kind, and the steps that it leads from and to."""
        found = self.browser.ask("""
            return [...document.querySelectorAll('.arrow')].map(arrow => {
                const at = arrow.getScreenCTM(), n = arrow.getTotalLength();
                const a = arrow.getPointAtLength(0).matrixTransform(at);
                const b = arrow.getPointAtLength(n).matrixTransform(at);
                return {kind: arrow.classList.contains('order') ? 'order' : 'value',
                        ends: [[a.x, a.y], [b.x, b.y]]};
            })""")
        boxes = self.boxes()

        def touched(x, y):
            return [" ".join(box["lines"][:2]) for box in boxes
                    if box["top"] < y < box["bottom"] and
                    min(abs(box["left"] - x), abs(box["right"] - x)) < 1]
        return [(arrow["kind"], *(touched(*end)[0] for end in arrow["ends"]))
                for arrow in found]

    def test_lanes_boxes_and_arrows(self):
        self.look(MESSAGE)
        self.assertEqual(self.browser.ask(
            "return [...document.querySelectorAll('.lane text')].map(t => t.textContent)"),
            ["thread 0", "thread 1"])
        boxes = self.boxes()
        self.assertEqual(len({box["left"] for box in boxes}), 2)
        self.assertEqual([box["lines"] for box in boxes if box["fails"]], [["p.c:17", "HERE"]])
        self.assertIn(["p.c:16", "load acquire  flag: 1", "from thread 1, p.c:9"],
                      [box["lines"] for box in boxes])
        self.assertEqual(self.arrows(), [
            ("order", "p.c:15 creates thread 1", "begins"),
            ("value", "p.c:9 store relaxed  flag = 1", "p.c:16 load acquire  flag: 1")])

    def test_fences_synchronise(self):
        self.look(FENCES)
        self.assertIn(("order", "p.c:10 store relaxed  flag = 1", "p.c:18 acquire fence"),
                      self.arrows())

    def test_text_is_visible_inside_its_box_in_light_and_dark(self):
        for scheme in ("light", "dark"):
            self.look(MESSAGE, scheme)
            bad = self.browser.ask("""
                const paper = getComputedStyle(document.body).backgroundColor;
                return [...document.querySelectorAll('.step text')].filter(text => {
                    const box = text.parentNode.querySelector('rect').getBoundingClientRect();
                    const own = text.getBoundingClientRect();
                    return own.width === 0 || own.right > box.right || own.left < box.left ||
                           own.bottom > box.bottom || own.top < box.top ||
                           getComputedStyle(text).fill === paper;
                }).map(text => text.textContent)""")
            self.assertEqual(bad, [], scheme)
        colours = set()
        for scheme in ("light", "dark"):
            self.browser.open(self.path("page.html"), 1200, scheme)
            colours.add(self.browser.ask(
                "return getComputedStyle(document.body).backgroundColor"))
        self.assertEqual(len(colours), 2)


if __name__ == "__main__":
    main()
