#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pawl check --program: how a failing execution is shown, and that it is a short one."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "cli"))
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


if __name__ == "__main__":
    main()
