#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pawl report as Chromium shows it: what is seen, what pointer and keys do."""
import os
import re
import unittest

import browser
from command import ROOT, main
from results import SIMULATED, ReportTest, figure, result, simulated, waits


# Texts of a plot that meet, or leave it; as [label, text, text].
COLLISIONS = """
const found = [];
for (const svg of document.querySelectorAll('svg.plot')) {
  const frame = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll('text')].map(
    t => [t.textContent.trim(), t.getBoundingClientRect()]).filter(t => t[0] !== '');
  texts.forEach(([a, r], i) => {
    if (r.left < frame.left - 1 || r.right > frame.right + 1 || r.top < frame.top - 1 ||
        r.bottom > frame.bottom + 1)
      found.push([svg.ariaLabel, a, 'leaves the plot']);
    for (const [b, s] of texts.slice(i + 1))
      if (Math.min(r.right, s.right) - Math.max(r.left, s.left) > 1 &&
          Math.min(r.bottom, s.bottom) - Math.max(r.top, s.top) > 3)
        found.push([svg.ariaLabel, a, b]);
  });
}
return found;
"""

# Plots in which nothing is drawn.
EMPTY = """
return [...document.querySelectorAll('svg.plot')].filter(svg => {
  const frame = svg.getBoundingClientRect();
  return ![...svg.querySelectorAll('use')].some(mark => {
    const r = mark.getBoundingClientRect();
    return r.width > 1 && r.left >= frame.left && r.right <= frame.right &&
           r.top >= frame.top && r.bottom <= frame.bottom &&
           getComputedStyle(mark).color !== getComputedStyle(document.body).backgroundColor;
  });
}).map(svg => svg.ariaLabel);
"""

SIZES = """
const root = document.documentElement;
return [root.scrollWidth, root.clientWidth, getComputedStyle(document.body).backgroundColor,
        getComputedStyle(document.querySelector('svg.plot text')).fill];
"""

LETTERS = """
return Math.min(...[...document.querySelectorAll('svg.plot text')].map(
  t => parseFloat(getComputedStyle(t).fontSize) *
       t.closest('svg').getBoundingClientRect().width / t.closest('svg').viewBox.baseVal.width));
"""


@unittest.skipUnless(browser.is_installed(), "chromium and chromium-driver are not installed")
class InChromium(ReportTest):
    """The page as people see it. PAWL_SHOTS=FOLDER keeps the pictures; PAWL_PAGE=FILE
    looks at that page instead."""

    @classmethod
    def setUpClass(cls):
        cls.browser = browser.Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def locks(self):
        """Every lock and every peer, fast and slow ones, and all that one page can hold."""
        with open(os.path.join(ROOT, "include", "pawl", "locks.def")) as file:
            names = re.findall(r"^PAWL_LOCK\((\w+),", file.read(), re.M)
        return [name.replace("_", "-") for name in names] + [
            "reciprocating-fair+park", "pthread", "pthread-adaptive", "nsync", "abseil",
            "tbb-queuing-mutex"]

    def everything(self):
        many = [result(lock, threads, 1e7 / (1 + (7 * i + 3 * threads) % 11) / threads,
                       fairness=1 / (1 + i), wait_ns=waits(10 + i))
                for i, lock in enumerate(self.locks()) for threads in (1, 2, 3, 4, 8, 64)]
        close = [result(lock, threads, 1e6 + i, ncs=250) for i, lock in enumerate(self.locks())
                 for threads in (1, 2)]
        collapsed = [result(lock, threads, 10 ** (2 + i % 6), cs=100)
                     for i, lock in enumerate(self.locks()) for threads in (1, 16)]
        own = [result(lock, 1, size, workload="footprint", unit="bytes", better="less",
                      cs=0, figures={"bytes_per_lock": size, "nothing": None})
               for lock, size in (("load", 8), ("cas", 16), ("fetch-add", 123456))]
        virtual = [simulated(lock, threads, 1e6 / threads, misses=threads * (i % 3),
                             machine="epyc-512")
                   for i, lock in enumerate(self.locks()) for threads in (1, 10, 100, 512)]
        tried = [dict(workload="try", lock=lock,
                      **{key: figure([v * (1 + (i + j) / 50) for j in range(7)])
                         for key, v in (("wall_s", 1.5), ("cpu_s", 2.25),
                                        ("context_switches", 1e4), ("max_rss", 5e7))})
                 for i, lock in enumerate(("glibc", "mutex", "ttas+park", "hapax+park"))]
        return [self.file(many + close + collapsed + own, "bench.json"),
                self.file(virtual, "sim.json", tool="sim", context=SIMULATED),
                self.file(tried, "try.json", tool="try")]

    def test_a_crowded_page_is_fit_to_be_seen(self):
        page = os.environ.get("PAWL_PAGE")
        if page is None:
            self.page(*self.everything())
            page = self.path("page.html")
        self.assert_fit(page)

    def test_a_page_like_that_of_the_demo_is_fit_to_be_seen(self):
        self.succeed("bench", "--quick", "--seconds", "0.01", "--json", "bench.json")
        self.succeed("sim", "--threads", "1,2,4,8,16,32", "--episodes", "200", "--runs", "1",
                     "--json", "sim.json")
        self.page("bench.json", "sim.json")
        self.assert_fit(self.path("page.html"))

    def assert_fit(self, page):
        with open(page) as file:
            figures = file.read().count("<figure>")
        colours = set()
        for width in (1280, 390):
            for scheme in ("light", "dark"):
                self.browser.open(os.path.abspath(page), width, scheme)
                scrolled, visible, paper, ink = self.browser.ask(SIZES)
                self.assertEqual((scrolled, visible), (width, width), "it scrolls sideways")
                colours.add((paper, ink))
                self.assertEqual(self.browser.ask(COLLISIONS), [])
                self.assertEqual(self.browser.ask(EMPTY), [])
                self.assertEqual(self.browser.ask(
                    "return document.querySelectorAll('figure > svg.plot').length"), figures)
                self.assertGreater(self.browser.ask(LETTERS), 9.5)
                if "PAWL_SHOTS" in os.environ:
                    name = os.path.join(os.environ["PAWL_SHOTS"], f"report-{width}-{scheme}")
                    self.browser.screenshot(name + ".png")
                    self.browser.screenshot(name + "-first.png", whole=False)
            self.browser.ask("document.querySelectorAll('details').forEach(d => d.open = true)")
            self.assertEqual(self.browser.ask(SIZES)[0], width, "a table makes it scroll")
        self.assertEqual(len(colours), 2, "light and dark look the same")
        self.assertEqual(self.browser.console(), [])

    def contended(self):
        """Three locks in two workloads; one that cannot be told from glibc's, one in trouble."""
        rows = [result(lock, threads, speed * 1e6 / threads, wait_ns=waits(10))
                for lock, speed in (("mutex", 4), ("mcs", 2), ("nsync", 1), ("pthread", 2))
                for threads in (1, 2)]
        rows += [result(lock, 2, size, workload="latency", unit="ns", better="less", cs=500)
                 for lock, size in (("mutex", 50), ("mcs", 200), ("nsync", 25), ("pthread", 100))]
        rows.append(result("hapax", 2, 1e6, trouble="two threads were inside"))
        self.page(self.file(rows))
        return self.path("page.html")

    def cells(self):
        return self.browser.ask("""
            return [...document.querySelectorAll('.matrix tbody tr')].map(row =>
              [...row.children].map(cell => [cell.textContent.trim(), cell.className]));""")

    def test_the_answer_comes_first(self):
        """The matrix and the sentences are on the first screen, at both widths."""
        page = self.contended()
        for width in (1280, 390):
            self.browser.open(page, width)
            top = self.browser.ask("return ['.matrix', '.answer', 'nav', '.panel'].map("
                                   "q => document.querySelector(q).getBoundingClientRect().top)")
            self.assertEqual(top, sorted(top))
            self.assertLess(top[1], 700)
        self.assertEqual(self.cells(), [
            [["mutex, 1 step in, none out 1 thread", ""], ["2.00", "pt good3"], ["1.00", "pt close"],
             ["", ""], ["1", "pt reference"], ["0.50", "pt bad3"]],
            [["mutex, 1 step in, none out 2 threads", ""], ["2.00", "pt good3"],
             ["1.00", "pt close"], ["\u00d7", "pt alone"], ["1", "pt reference"],
             ["0.50", "pt bad3"]],
            [["latency, 500 steps in, none out 2 threads", ""], ["2.00", "pt good3"],
             ["0.50", "pt bad3"], ["", ""], ["1", "pt reference"], ["4.00", "pt good4"]]])
        said = self.browser.ask(
            "return [...document.querySelectorAll('.answer li')].map(li => li.innerText)")
        self.assertEqual(said[0], "mutex is first, or cannot be told apart from the first, in 2 of "
                                  "3 rows.")
        self.assertTrue(said[1].startswith("mutex, the default, is 2.00 times as good as pthread "
                                           "(glibc) in the median row, from 2.00 ("), said[1])
        self.assertTrue(said[2].startswith("Each cell is the median of 7 runs in an interval that "
                                           "contains the true one with 98.4"), said[2])

    def tip(self):
        return self.browser.ask("return document.getElementById('tip').textContent")

    def test_values_under_the_pointer(self):
        for width in (1280, 390):
            self.browser.open(self.contended(), width)
            self.browser.point(".matrix td.good3")
            self.assertEqual(self.tip(), "mutex, mutex, 1 step in, none out, 1 thread: 4 M ops/s (3.88 M "
                             "to 4.12 M); 2.00 (1.88 to 2.12) times as good as pthread")
            self.browser.point(".matrix td.close")
            self.assertIn("not told apart from it", self.tip())
            self.browser.point(".plot g[data-lock=mcs] .pt", 6)  # near it is enough
            self.assertIn(self.tip().split(":")[0], ("mcs, 1 thread", "pthread, 1 thread"))
            self.assertIn("2 M ops/s (1.94 M to 2.06 M)", self.tip())
            self.browser.point("h1")
            self.assertEqual(self.tip(), "")

    def test_values_by_keyboard(self):
        self.browser.open(self.contended(), 1280)
        self.assertEqual(self.browser.ask(
            "return document.getElementById('tip').getAttribute('role')"), "status")
        self.browser.ask("document.querySelector('.box').focus()")
        seen = []
        for key in "ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp":
            self.browser.press(key)
            seen.append(self.tip().split(": ")[0])
        where = "mutex, 1 step in, none out, "
        self.assertEqual(seen, ["mutex, " + where + "1 thread", "mcs, " + where + "1 thread",
                                "mcs, " + where + "2 threads", "mutex, " + where + "2 threads",
                                "mutex, " + where + "1 thread"])
        self.browser.ask("document.querySelector('.panel .plot').focus()")
        seen = []
        for key in "ArrowRight", "ArrowRight", "ArrowDown":
            self.browser.press(key)
            seen.append(self.tip().split(": ")[0])
        self.assertEqual(len(set(seen)), 3)
        self.assertEqual(seen[1].split(",")[0], seen[0].split(",")[0])  # the same lock
        self.assertNotEqual(seen[2].split(",")[0], seen[0].split(",")[0])
        self.browser.press("Escape")
        self.assertEqual(self.tip(), "")

    def test_a_lock_is_followed_and_the_others_hidden(self):
        shown = """
            const all = [...document.querySelectorAll('[data-lock]')];
            const there = e => getComputedStyle(e).display !== 'none';
            const seen = e => there(e) && Number(getComputedStyle(e).opacity) > 0.5;
            const of = lock => all.filter(
              e => (e.dataset.lock === 'mcs') === lock && !e.matches('.close'));
            document.querySelectorAll('details').forEach(d => d.open = true);
            return [of(true).every(seen), of(false).some(seen), of(false).some(there)];"""
        for width in (1280, 390):
            self.browser.open(self.contended(), width)
            self.assertEqual(self.browser.ask(shown), [True, True, True])
            self.browser.click(".matrix th[data-lock=mcs] button")
            self.assertEqual(self.browser.ask(shown), [True, False, True])
            self.assertEqual(self.browser.ask("return document.querySelector('#picked span')"
                                              ".textContent"), "Following mcs.")
            self.browser.click("#only")
            self.assertEqual(self.browser.ask(shown), [True, False, False])
            self.assertEqual(self.browser.ask(SIZES)[:2], [width, width])
            self.browser.click("#clear")
            self.assertEqual(self.browser.ask(shown), [True, True, True])
            self.browser.click(".panel g[data-lock=mcs] text")  # a name in a plot does it, too
            self.assertEqual(self.browser.ask(shown), [True, False, True])
            self.browser.press("Escape")
            self.assertEqual(self.browser.ask(shown), [True, True, True])
        self.assertEqual(self.browser.console(), [])

    def test_a_lock_has_one_colour_on_the_whole_page(self):
        self.page(*self.everything())
        self.browser.open(self.path("page.html"), 1280)
        colours = self.browser.ask("""
            const colours = {};
            for (const part of document.querySelectorAll('.l, .matrix th[data-lock]')) {
              const own = part.style.cssText || part.querySelector('i').style.cssText;
              (colours[part.dataset.lock] ||= new Set()).add(own);
            }
            return Object.entries(colours).map(([lock, set]) => [lock, set.size]);""")
        self.assertGreater(len(colours), 20)
        self.assertEqual([lock for lock, count in colours if count != 1], [])
        twice = self.browser.ask("""
            return [...document.querySelectorAll('.plot')].filter(plot => {
              const names = [...plot.querySelectorAll('.l > text[text-anchor=start]')];
              const seen = names.map(text => text.parentNode.style.cssText);
              return new Set(seen).size < seen.length;
            }).length;""")
        self.assertEqual(twice, 0, "two lines of one plot have one colour")

    def test_the_button_switches_light_and_dark(self):
        page = self.contended()
        for scheme in "light", "dark":
            self.browser.open(page, 390, scheme)
            before = self.browser.ask(SIZES)[2:]
            self.browser.click("#theme")
            self.assertNotEqual(self.browser.ask(SIZES)[2:], before)
            self.browser.click("#theme")
            self.assertEqual(self.browser.ask(SIZES)[2:], before)

    def test_it_prints(self):
        self.page(*self.everything())
        self.browser.open(self.path("page.html"), 1280, "dark")
        pdf = self.browser.print()
        self.assertTrue(pdf.startswith(b"%PDF-"))
        self.assertGreater(len(pdf), 10000)

    def test_it_can_be_read_without_scripts(self):
        self.browser.devtools("Emulation.setScriptExecutionDisabled", value=True)
        self.addCleanup(self.browser.devtools, "Emulation.setScriptExecutionDisabled", value=False)
        self.browser.open(self.contended(), 390)
        self.assertEqual(self.browser.ask(SIZES)[:2], [390, 390])
        self.assertIn("2.00 (1.88 to 2.12) times as good as pthread", self.browser.ask(
            "return document.querySelector('.matrix td').title"))
        self.assertIn("mcs, 1 thread: 2 M ops/s", self.browser.ask(
            "return document.querySelector('.plot g[data-lock=mcs] title').textContent"))
        self.assertEqual(self.browser.ask("return getComputedStyle(document.getElementById("
                                          "'theme')).display"), "none")

    def test_a_page_of_what_changed_is_fit_to_be_seen(self):
        old = [result(lock, t, 1e6) for lock in self.locks() for t in (1, 2)]
        new = [result(lock, t, 1e6 * (1 + i % 3 / 2)) for i, lock in enumerate(self.locks())
               for t in (1, 2)]
        self.file(old, "old.json")
        self.file(new, "new.json")
        self.run_pawl("report", "--diff", "old.json", "new.json", "-o", "page.html")
        self.assert_fit(self.path("page.html"))

    def test_paper_is_white_also_for_those_who_like_it_dark(self):
        self.page(self.file([result("tas", threads, 1e6) for threads in (1, 2)]))
        self.browser.open(self.path("page.html"), 800, "dark", medium="print")
        self.assertEqual(self.browser.ask(SIZES)[2:], ["rgb(255, 255, 255)", "rgb(0, 0, 0)"])

    def test_lines_are_told_apart_by_more_than_colour(self):
        self.page(self.file([result(lock, threads, speed * 1e6)
                             for speed, lock in enumerate(("mutex", "tas", "ttas", "mcs", "clh",
                                                           "pthread"), 1)
                             for threads in (1, 2)]))
        self.browser.open(self.path("page.html"), 1280)
        marks, dashes, labels = self.browser.ask("""
            const svg = document.querySelector('svg.plot');
            const of = (query, get) => [...svg.querySelectorAll(query)].map(get);
            return [[...new Set(of('use', u => u.getAttribute('href')))],
                    of('path[stroke-dasharray]', p => p.getAttribute('stroke-dasharray')),
                    of('text', t => t.textContent.trim())];""")
        self.assertEqual(len(set(marks)), 6)
        self.assertGreaterEqual(len(dashes), 1)
        for lock in ("mutex", "tas", "ttas", "mcs", "clh", "pthread"):
            self.assertIn(lock, labels)


if __name__ == "__main__":
    main()
