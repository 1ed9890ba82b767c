#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pawl report: what it refuses, what is on the page, and how Chromium shows it."""
import glob
import json
import os
import re
import unittest

import browser
from command import ROOT, CommandTest, main

CONTEXT = {"pawl": "0.1.0", "machine": "x86_64", "cpu": "A <b>CPU</b> & more", "cpus": 2,
           "kernel": "Linux 6.1", "date": "2026-01-02T03:04:05Z", "load": 0.5,
           "command": ["pawl", "bench", "--locks", "a b", "it's"]}
HOSTILE = "<script>alert(1)</script>`touch owned`'\"\\"


def result(lock, threads, median, **more):
    value = {"workload": "mutex", "lock": lock, "threads": threads, "cs": 1, "ncs": 0,
             "unit": "ops/s", "better": "more", "fairness": 0.5,
             "samples": [median * (1 + 0.01 * i) for i in range(-3, 4)]}
    value.update(more)
    return value


def waits(p50):
    return {"p50": p50, "p99": 20 * p50, "p999": 400 * p50, "max": 8000 * p50}


class ReportTest(CommandTest):
    def file(self, results, name="r.json", tool="bench", context=CONTEXT):
        self.write(name, json.dumps({"schema": 1, "tool": tool, "context": context,
                                     "results": results}))
        return name

    def assert_in(self, part, page):
        self.assertTrue(part in page, f"not on the page: {part}")

    def assert_not_in(self, part, page):
        self.assertTrue(part not in page, f"on the page: {part}")

    def page(self, *files):
        self.succeed("report", *files, "-o", "page.html")
        return self.read("page.html")


class Refusals(ReportTest):
    def test_no_file(self):
        self.assert_refused(["report"], "no file given", "pawl report FILE.json")

    def test_file_that_is_not_there(self):
        self.assert_refused(["report", "missing.json"], "missing.json", "--json")

    def test_file_that_is_not_json(self):
        self.write("r.json", "{\n oops")
        self.assert_refused(["report", "r.json"], "'r.json' is not JSON", "line 2")

    def test_files_of_others(self):
        self.write("r.json", "{}")
        self.assert_refused(["report", "r.json"], "'r.json'", "schema")
        self.write("r.json", '{"schema": 2, "tool": "bench", "results": []}')
        self.assert_refused(["report", "r.json"], "this version of pawl")
        self.write("r.json", '{"schema": 1, "results": [{"verdict": "passed"}]}')
        self.assert_refused(["report", "r.json"], "nothing in it to show")

    def test_file_without_results(self):
        self.file([])
        self.assert_refused(["report", "r.json"], "'r.json' has no results")

    def test_results_that_make_no_sense(self):
        for bad in ({"lock": 7, "workload": "mutex"}, {"workload": "mutex"}, {"lock": "tas"}, 5,
                    {"lock": "tas", "workload": "mutex", "threads": -1},
                    {"lock": "tas", "workload": "mutex", "threads": 1 << 40},
                    {"lock": "tas", "workload": "mutex", "trouble": 3},
                    result("tas", 1, 2e6)):
            self.file([result("tas", 1, 1e6), bad])
            self.assert_refused(["report", "r.json"], "'r.json': result 2")

    def test_page_that_cannot_be_written(self):
        self.file([result("tas", 1, 1e6)])
        self.assert_refused(["report", "r.json", "-o", "missing/page.html"],
                            "missing/page.html", "directory")
        self.assert_refused(["report", "r.json", "-o"], "--output needs a value")

    def test_options_that_exclude_each_other(self):
        self.assert_refused(["report", "--diff", "a", "b", "-o", "c"], "--output")


class Pages(ReportTest):
    def test_every_lock_and_number_is_on_the_page(self):
        page = self.page(self.file([result(lock, threads, speed * 1e6 / threads)
                                    for speed, lock in enumerate(("tas", "mutex", "pthread"), 1)
                                    for threads in (1, 2, 4)]))
        for lock in ("tas", "mutex", "pthread"):
            self.assert_in(f'<th scope="row">{lock}</th><td>4', page)
        self.assert_in("mutex, cs 1, ncs 0", page)
        self.assert_in("4 threads: <b>pthread</b> is first, 1.50 <small>(1.41 to 1.59)</small> times "
                       "mutex.", page)
        self.assertEqual(page.count("<figure>"), 3)  # over threads, rows, fairness

    def test_what_is_too_close_is_not_ranked(self):
        page = self.page(self.file([result("tas", 2, 1.00e6), result("mcs", 2, 1.01e6),
                                    result("pthread", 2, 0.5e6)]))
        self.assert_in("the first 2 are too close to rank; <b>mcs</b> is 2.02 ", page)
        page = self.page(self.file([result("tas", 2, 1.00e6), result("mcs", 2, 1.01e6)]))
        self.assert_in("2 threads: the first 2 are too close to rank.", page)

    def test_properties_context_and_command_are_on_the_page(self):
        page = self.page(self.file([result("tas", 1, 1e6)]))
        self.assert_in("reciprocating-fair", page)
        self.assert_in("overtaken once", page)
        self.assert_in("Linux 6.1", page)
        self.assert_in("pawl bench --locks 'a b' 'it&#39;\\&#39;&#39;s'", page)

    def test_nothing_is_taken_for_markup_or_run(self):
        page = self.page(self.file([result(HOSTILE, threads, 1e6, workload=HOSTILE,
                                           unit=HOSTILE) for threads in (1, 2)],
                                   context=dict(CONTEXT, note=HOSTILE)))
        self.assert_not_in("<script", page)
        self.assert_not_in("<b>CPU", page)
        self.assert_in("&lt;script&gt;", page)
        self.assertEqual(sorted(os.listdir(self.directory.name)), ["page.html", "r.json"])

    def test_page_needs_nothing_from_elsewhere(self):
        page = self.page(self.file([result("tas", threads, 1e6) for threads in (1, 2)]))
        links = re.findall(r"(?:src|href)=[\"']([^\"']*)", page)
        self.assertTrue(all(link.startswith(("#", "data:")) for link in links), links)
        self.assert_not_in("url(", page)
        self.assert_not_in("@import", page)

    def test_colours_are_the_pages_own(self):
        page = self.page(self.file([result(lock, threads, 1e6) for threads in (1, 2)
                                    for lock in ("tas", "pthread")]))
        drawing = page[page.index("<svg class"):]
        for colour in ("rgb(", "'white'", "\"black\"", "'black'"):
            self.assert_not_in(colour, drawing)
        self.assert_in("var(--s2)", drawing)

    def test_other_workloads_have_their_own_figures(self):
        page = self.page(self.file([result(lock, 2, 100, workload="footprint", unit="bytes",
                                           better="less", figures={"per_lock": size})
                                    for lock, size in (("load", 8), ("cas", 16))]))
        self.assert_in("Result</b>, bytes, 2 threads. Less is better", page)
        self.assert_in("<b>per lock</b>, 2 threads", page)

    def test_simulated_misses_are_plotted(self):
        results = [dict(result(lock, threads, 1e6), machine="intel-x5-2",
                        per_episode={"misses": threads, "invalidations": threads,
                                     "remote_misses": 0, "rmw": 1})
                   for lock in ("ticket", "mcs") for threads in (1, 2, 10)]
        page = self.page(self.file(results, tool="sim", context={"machine": "intel-x5-2"}))
        self.assert_in("mutex on simulated intel-x5-2", page)
        self.assert_in("<b>Misses</b>, per episode", page)
        self.assert_in("<b>Invalidations</b>, per episode", page)

    def test_trials_are_plotted_and_troubles_told(self):
        figures = {key: {"samples": [0.5, 0.6, 0.7]} for key in (
            "wall_s", "cpu_s", "context_switches", "max_rss")}
        page = self.page(self.file(
            [dict(workload="try", lock="glibc", **figures),
             dict(workload="try", lock="mutex", **figures),
             dict(workload="try", lock="tas", trouble="exit status 3: \"<oops>\"")],
            tool="try", context=dict(CONTEXT, command=["pawl", "try", "--", "pigz", "-c"])))
        self.assert_in("try: pigz", page)
        self.assert_in("Not ranked: <b>tas</b>, exit status 3: &quot;&lt;oops&gt;&quot;", page)
        for title in ("Wall time", "CPU time", "Context switches", "Peak memory"):
            self.assertEqual(page.count(f"<figcaption><b>{title}</b>"), 1)

    def test_command_of_whatever_words(self):
        for command in ([1], ["--"], ["--", 1], [None, "--", "pigz"], "pigz", {}):
            self.page(self.file([dict(workload="try", lock="glibc")], tool="try",
                                context=dict(CONTEXT, command=command)))

    def test_who_is_in_trouble_is_no_tie(self):
        """Though it was measured before: it is first in nothing, and worse than it was."""
        good = [dict(workload="try", lock=lock, wall_s={"samples": [s] * 6})
                for lock, s in (("glibc", 2), ("mutex", 1), ("tas", 1))]
        bad = good[:2] + [dict(good[2], trouble="exit status 3")]
        more = {"tool": "try", "context": {"command": ["pawl", "try", "--", "pigz"]}}
        page = self.page(self.file(good, **more))
        self.assert_in("<p>the first 2 are too close to rank", page)
        page = self.page(self.file(bad, **more))
        self.assert_in("<p><b>mutex</b> is first, 0.50", page)
        self.file(good, "good.json", **more)
        for files, status, words in ((("good.json", "r.json"), 1, "tas: exit status 3"),
                                     (("r.json", "good.json"), 0, "tas: no more trouble")):
            done = self.run_pawl("report", "--diff", *files)
            self.assertEqual(done.returncode, status)
            self.assertIn(words, done.stdout)

    def test_one_run_ranks_nothing(self):
        page = self.page(self.file([result("tas", 2, 1e6, samples=[1e6]),
                                    result("mcs", 2, 2e6, samples=[2e6])]))
        self.assert_in("2 threads: too few runs to rank; 5 of each are enough.", page)

    def test_numbers_that_are_missing_leave_gaps(self):
        page = self.page(self.file([result("tas", 1, 1e6, fairness=None),
                                    result("tas", 2, 1e6, fairness=None),
                                    result("mcs", 2, 1e6, samples=[], fairness=None)]))
        self.assert_not_in("Fairness", page)
        self.assert_in('<th scope="row">mcs</th><td>2<td>', page)

    def test_odd_numbers_are_plotted(self):
        """Zeros, one sample, equal samples, and a range of many decades."""
        self.page(self.file([result("tas", 1, 0), result("tas", 2, 0)]))
        self.page(self.file([result("tas", threads, 1e6, samples=[5]) for threads in (1, 2)]))
        self.page(self.file([result("tas", 1, 1e16, samples=[1e16, 1e16 + 2])]))
        self.page(self.file([result("100 %s", 1, 1e6), result("tas", 1, 1e6)]))
        self.page(self.file([result("tas", 1, 5e-324), result("mcs", 1, 1e308)]))
        self.page(self.file([result("tas", 1, 1), result("tas", 1000000, 1)]))
        self.page(self.file([result("tas", 1, 1e-3), result("mcs", 1, 1e12),
                             result("tas", 7, 1e-3), result("mcs", 7, 1e12)]))

    def test_published_files_are_understood(self):
        for file in glob.glob(os.path.join(ROOT, "data", "2*", "*.json")):
            self.assert_in("<svg", self.page(file))


class Differences(ReportTest):
    def diff(self, old, new, tool="bench", **context):
        self.file(old, "old.json", tool)
        self.file(new, "new.json", tool, dict(CONTEXT, **context))
        return self.run_pawl("report", "--diff", "old.json", "new.json")

    def test_worse_is_told_and_fails(self):
        done = self.diff([result("tas", 1, 1e6), result("mcs", 2, 2e6)],
                         [result("tas", 1, 0.8e6), result("mcs", 2, 2e6)])
        self.assertEqual(done.returncode, 1)
        lines = done.stdout.split("\n")
        self.assertEqual(lines[0], "worse: mutex, cs 1, ncs 0, 1 thread, tas: Throughput in ops/s, "
                         "from 1 M to 800 k, 0.80 (0.75 to 0.85) times")
        self.assertEqual(lines[1], "1 worse, 0 better, 1 unchanged beyond noise")
        self.assertEqual(done.stderr, "")

    def test_better_is_told_and_does_not_fail(self):
        done = self.diff([result("tas", 1, 1e6)], [result("tas", 1, 1.2e6)])
        self.assertEqual(done.returncode, 0)
        self.assertTrue(done.stdout.startswith("better: mutex, cs 1"))

    def test_less_may_be_better(self):
        for new, status in ((120, 1), (80, 0)):
            done = self.diff([result("load", 1, 100, unit="ns", better="less")],
                             [result("load", 1, new, unit="ns", better="less")])
            self.assertEqual(done.returncode, status)

    def test_nothing_changed_within_noise(self):
        done = self.diff([result("tas", 1, 1e6)], [result("tas", 1, 1.05e6)])
        self.assertEqual((done.returncode, done.stdout),
                         (0, "nothing changed beyond noise, of 1 figures\n"))

    def test_tiny_changes_are_none_however_sure(self):
        done = self.diff([result("tas", 1, 1e6, samples=[1e6] * 7)],
                         [result("tas", 1, 1e6, samples=[0.99e6] * 7)])
        self.assertEqual(done.returncode, 0)
        self.assertIn("nothing changed", done.stdout)

    def test_few_runs_are_not_judged(self):
        done = self.diff([result("tas", 1, 1e6, samples=[1e6] * 3)],
                         [result("tas", 1, 1e6, samples=[2e6] * 7)])
        self.assertEqual(done.returncode, 0)
        self.assertIn("not judged: 1 of 1", done.stderr)
        self.assertIn("--runs", done.stderr)

    def test_simulations_are_exact(self):
        def simulated(misses):
            return [dict(result("mcs", 2, 1e6, samples=[1e6]), machine="m",
                         per_episode={"misses": misses, "invalidations": 5})]
        done = self.diff(simulated(4), simulated(5), tool="sim")
        self.assertEqual(done.returncode, 1)
        self.assertIn("mcs: misses per episode, from 4 to 5", done.stdout)
        self.assertEqual(self.diff(simulated(4), simulated(4), tool="sim").returncode, 0)

    def test_what_cannot_be_compared_is_told(self):
        done = self.diff([result("tas", 1, 1e6), result("mcs", 1, 1e6)],
                         [result("tas", 1, 1e6), result("tas", 2, 1e6), result("clh", 1, 1e6)],
                         cpu="another")
        self.assertEqual(done.returncode, 0)
        self.assertIn("1 results that only 'old.json' has, and 2 that only 'new.json'",
                      done.stderr)
        self.assertIn("different machines", done.stderr)

    def test_files_without_anything_in_common(self):
        self.file([result("tas", 1, 1e6)], "old.json")
        self.file([result("tas", 1, 1e6, cs=5)], "new.json")
        self.assert_refused(["report", "--diff", "old.json", "new.json"], "no result in common",
                            "same command")

    def test_files_are_two(self):
        self.assert_refused(["report", "--diff", "old.json"], "not 1", "OLD.json NEW.json")
        self.assert_refused(["report", "--diff", "a", "b", "c"], "not 3")


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
@unittest.skipUnless(os.environ.get("PAWL_BROWSER", "1") == "1", "not in sanitized builds")
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
                      cs=None, figures={"bytes_per_lock": size, "nothing": None})
               for lock, size in (("load", 8), ("cas", 16), ("fetch-add", 123456))]
        simulated = [dict(result(lock, threads, 1e6 / threads), machine="epyc-512",
                          per_episode={"misses": threads * (i % 3), "invalidations": threads,
                                       "remote_misses": 0, "rmw": 1})
                     for i, lock in enumerate(self.locks()) for threads in (1, 10, 100, 512)]
        tried = [dict(workload="try", lock=lock,
                      **{key: {"samples": [v * (1 + (i + j) / 50) for j in range(7)]}
                         for key, v in (("wall_s", 1.5), ("cpu_s", 2.25),
                                        ("context_switches", 1e4), ("max_rss", 5e7))})
                 for i, lock in enumerate(("glibc", "mutex", "ttas+park", "hapax+park"))]
        return [self.file(many + close + collapsed + own, "bench.json"),
                self.file(simulated, "sim.json", tool="sim", context={"machine": "epyc-512"}),
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
                    self.browser.screenshot(os.path.join(
                        os.environ["PAWL_SHOTS"], f"report-{width}-{scheme}.png"))
            self.browser.ask("document.querySelectorAll('details').forEach(d => d.open = true)")
            self.assertEqual(self.browser.ask(SIZES)[0], width, "a table makes it scroll")
        self.assertEqual(len(colours), 2, "light and dark look the same")
        self.assertEqual(self.browser.console(), [])

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
