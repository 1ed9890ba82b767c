#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pawl report: what it refuses, what is on the page, and what changed."""
import glob
import json
import os
import re

from command import ROOT, main
from results import CONTEXT, SIMULATED, ReportTest, figure, result, simulated, spread

HOSTILE = "<script>alert(1)</script>`touch owned`'\"\\"


class Help(ReportTest):
    def test_names_every_kind_of_file(self):
        """All that have a panel on the page."""
        said = " ".join(self.succeed("report", "--help").stdout.split())
        for kind in "pawl bench --json", "pawl sim --json", "--preset papers", \
                    "pawl try --json", "pawl profile --json":
            self.assertIn(kind, said)


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
        self.assert_refused(["report", "r.json"], "nothing to show")

    def test_what_does_not_fit_the_schema(self):
        """In one line that says where and why."""
        good = result("tas", 1, 1e6)
        for bad, why in ((dict(good, lock=7), "results[1].lock is not a string"),
                         ({"workload": "mutex"}, 'results[1] has no "lock"'),
                         (5, "results[1] is not an object"),
                         (dict(good, threads=0), "results[1].threads is less than 1"),
                         (dict(good, threads=1 << 40), "results[1].threads is more than"),
                         (dict(good, samples=[]), "results[1].samples is empty"),
                         (dict(good, samples=[1, "2"]), "results[1].samples[1] is not a number"),
                         (dict(good, figures={"a": "b"}), "results[1].figures.a is not a number"),
                         (dict(good, better="most"), "results[1].better is not one of the allowed values"),
                         (dict(good, seconds=0), "results[1].seconds is not more than 0"),
                         (dict(good, lock=""), "results[1].lock is too short"),
                         (dict(good, spreads={"figures": {"a\n": {}}}),
                          'results[1].spreads.figures.a? has no "low"')):
            self.file([result("mcs", 1, 1e6), bad])
            self.assert_refused(["report", "r.json"], f"'r.json' does not match the schema of "
                                f"'pawl bench --json': {why}", "write it again")
        self.file([])
        self.assert_refused(["report", "r.json"], "results is empty")
        for tool, command in (("sim", "sim"), ("profile", "profile"),
                              ("sim-papers", "sim --preset papers")):
            self.write("r.json", json.dumps({"schema": 1, "tool": tool}))
            self.assert_refused(["report", "r.json"], f"'pawl {command} --json'", "it has no")

    def test_results_of_one_kind_are_there_once(self):
        self.file([result("tas", 1, 1e6), result("tas", 1, 2e6)])
        self.assert_refused(["report", "r.json"], "'r.json': result 2 has the same lock")

    def test_page_that_cannot_be_written(self):
        self.file([result("tas", 1, 1e6)])
        self.assert_refused(["report", "r.json", "-o", "missing/page.html"],
                            "missing/page.html", "directory")
        self.assert_refused(["report", "r.json", "-o"], "--output needs a value")


class Papers(ReportTest):
    def test_published_against_simulated(self):
        claim = {"paper": "Recipro", "where": "Fig. 1a", "claim": "A <fast> lock", "machine": "m",
                 "relation": ">=", "expected": 1, "tolerance": 0, "simulated": 1.25, "holds": True,
                 "reason": None}
        failing = dict(claim, paper="TWA", where="Fig. 2", claim="another", simulated=0.5,
                       holds=False, reason="the store buffer")
        self.write("r.json", json.dumps({"schema": 1, "tool": "sim-papers",
                                         "context": {"version": "1", "runs": 1, "episodes": 1},
                                         "claims": [claim, failing, dict(claim, simulated=-1)]}))
        page = self.page("r.json")
        self.assertIn("<b>2 of 3</b> hold in simulation, 67&nbsp;%", page)
        self.assertIn("<td>A &lt;fast&gt; lock", page)
        self.assertIn(">no: the store buffer", page)
        self.assertEqual(page.count("<use href="), 3)
        self.assertIn('href="#f0"', page)


class Pages(ReportTest):
    def test_every_lock_and_number_is_on_the_page(self):
        page = self.page(self.file([result(lock, threads, speed * 1e6 / threads)
                                    for speed, lock in enumerate(("tas", "mutex", "pthread"), 1)
                                    for threads in (1, 2, 4)]))
        for lock in ("tas", "mutex", "pthread"):
            self.assert_in(f'<th scope="row">{lock}</th><td>4', page)
        self.assert_in("mutex, 1 step in, none out", page)
        self.assert_in("4 threads: <b>pthread</b> is first, 1.50 <small>(1.41 to 1.59)</small> times "
                       "as good as mutex.", page)
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
                                           figures={HOSTILE: 1}) for threads in (1, 2)],
                                   context=dict(CONTEXT, note=HOSTILE)))
        self.assertEqual(page.count("<script"), 1)  # our own
        self.assert_not_in("<b>CPU", page)
        self.assert_in("&lt;script&gt;", page)
        self.assertEqual(sorted(os.listdir(self.directory.name)), ["page.html", "r.json"])

    def test_page_needs_nothing_from_elsewhere(self):
        page = self.page(self.file([result("tas", threads, 1e6) for threads in (1, 2)]))
        self.assert_not_in("http", page.replace("http-equiv", ""))
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
        self.assert_in("Memory</b>, bytes, 2 threads. Less is better", page)
        self.assert_in("<b>per lock</b>, 2 threads", page)  # a figure that nobody has words for

    def test_simulated_misses_are_plotted(self):
        results = [simulated(lock, threads, 1e6, misses=threads, machine="intel-x5-2")
                   for lock in ("ticket", "mcs") for threads in (1, 2, 10)]
        page = self.page(self.file(results, tool="sim", context=SIMULATED))
        self.assert_in("mutex on simulated intel-x5-2", page)
        self.assert_in("<b>Misses</b>, an episode", page)
        self.assert_in("<b>Invalidations</b>, an episode", page)

    def test_trials_are_plotted_and_troubles_told(self):
        figures = {key: figure([0.5, 0.6, 0.7]) for key in (
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
        both = [dict(workload="try", lock=lock) for lock in ("glibc", "mutex")]
        for command in (["--", "--"], ["try", "--"], ["--", "pigz"], ["", ""]):
            self.page(self.file(both, tool="try", context=dict(CONTEXT, command=command)))
        for command in ([1], ["--", 1], [None, "--", "pigz"], "pigz", {}):
            self.file(both, tool="try", context=dict(CONTEXT, command=command))
            self.assert_refused(["report", "r.json"], "does not match the schema of 'pawl try --json'")

    def test_who_is_in_trouble_is_no_tie(self):
        """Though it was measured before: it is first in nothing, and worse than it was."""
        good = [dict(workload="try", lock=lock, wall_s=figure([s] * 6))
                for lock, s in (("glibc", 2), ("mutex", 1), ("tas", 1))]
        bad = good[:2] + [dict(good[2], trouble="exit status 3")]
        more = {"tool": "try", "context": dict(CONTEXT, command=["pawl", "try", "--", "pigz"])}
        page = self.page(self.file(good, **more))
        self.assert_in("<p>the first 2 are too close to rank", page)
        page = self.page(self.file(bad, **more))
        self.assert_in("<p><b>mutex</b> is first, 2.00", page)
        self.file(good, "good.json", **more)
        for files, status, words in ((("good.json", "r.json"), 1, "tas: exit status 3"),
                                     (("r.json", "good.json"), 0, "tas: no failure any more")):
            done = self.run_pawl("report", "--diff", *files)
            self.assertEqual(done.returncode, status)
            self.assertIn(words, done.stdout)

    def test_one_run_ranks_nothing(self):
        page = self.page(self.file([result("tas", 2, 1e6, samples=[1e6]),
                                    result("mcs", 2, 2e6, samples=[2e6])]))
        self.assert_in("2 threads: too few runs to rank; 6 of each are enough.", page)

    def test_numbers_that_are_missing_leave_gaps(self):
        page = self.page(self.file([result("tas", 1, 1e6, fairness=None),
                                    result("tas", 2, 1e6, fairness=None),
                                    result("mcs", 2, 1e6, samples=[1e300], fairness=None)]))
        self.assert_not_in("Fairness", page)
        self.assert_in('<th scope="row">mcs</th><td>2<td></tr>', page)

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
        base = SIMULATED if tool == "sim" else CONTEXT
        # Without a spread, fairness would count as not judged.
        for row in old + new:
            row["fairness"] = 1 if tool == "sim" else None
        self.file(old, "old.json", tool, base)
        self.file(new, "new.json", tool, dict(base, **context))
        return self.run_pawl("report", "--diff", "old.json", "new.json")

    def test_worse_is_told_and_fails(self):
        done = self.diff([result("tas", 1, 1e6), result("mcs", 2, 2e6)],
                         [result("tas", 1, 0.8e6), result("mcs", 2, 2e6)])
        self.assertEqual(done.returncode, 1)
        lines = done.stdout.split("\n")
        self.assertEqual(lines[0], "worse: mutex, 1 step in, none out, 1 thread, tas: Throughput "
                         "from 1 M ops/s to 800 k ops/s, 0.80 (0.75 to 0.85) times")
        self.assertEqual(lines[1], "1 worse, 0 better, 1 unchanged beyond noise")
        self.assertEqual(done.stderr, "")

    def test_better_is_told_and_does_not_fail(self):
        done = self.diff([result("tas", 1, 1e6)], [result("tas", 1, 1.2e6)])
        self.assertEqual(done.returncode, 0)
        self.assertTrue(done.stdout.startswith("better: mutex, 1 step in"))

    def test_less_may_be_better(self):
        for new, status in ((120, 1), (80, 0)):
            done = self.diff([result("load", 1, 100, unit="ns", better="less")],
                             [result("load", 1, new, unit="ns", better="less")])
            self.assertEqual(done.returncode, status)

    def test_nothing_changed_within_noise(self):
        done = self.diff([result("tas", 1, 1e6)], [result("tas", 1, 1.05e6)])
        self.assertEqual((done.returncode, done.stdout),
                         (0, "no change beyond noise, of 1 figures\n"))

    def test_tiny_changes_are_none_however_sure(self):
        done = self.diff([result("tas", 1, 1e6, samples=[1e6] * 7)],
                         [result("tas", 1, 1e6, samples=[0.99e6] * 7)])
        self.assertEqual(done.returncode, 0)
        self.assertIn("no change", done.stdout)

    def test_few_runs_are_not_judged(self):
        done = self.diff([result("tas", 1, 1e6, samples=[1e6] * 3)],
                         [result("tas", 1, 1e6, samples=[2e6] * 7)])
        self.assertEqual(done.returncode, 0)
        self.assertIn("not judged: 1 of 1", done.stderr)
        self.assertIn("--runs", done.stderr)

    def test_simulations_are_exact(self):
        def one(misses):
            return [simulated("mcs", 2, 1e6, misses=misses, samples=[1e6])]
        done = self.diff(one(4), one(5), tool="sim")
        self.assertEqual(done.returncode, 1)
        self.assertIn("mcs: Misses from 4 an episode to 5 an episode", done.stdout)
        self.assertEqual(self.diff(one(4), one(4), tool="sim").returncode, 0)

    def with_figures(self, cpu, hits, shards):
        """Seven runs, a percent apart."""
        runs = [1 + 0.01 * i for i in range(-3, 4)]
        return [result("tas", 1, 1e6, cpu_ns_per_op=cpu,
                       figures={"hit_percent": hits, "shards": shards},
                       spreads={"cpu_ns_per_op": spread([cpu * r for r in runs]),
                                "figures": {"hit_percent": spread([hits * r for r in runs]),
                                            "shards": spread([shards] * 7)}})]

    def test_all_figures_are_judged(self):
        old = self.with_figures(100, 50, 4)
        for new, status, words in (
                (self.with_figures(120, 50, 4), 1,
                 "worse: mutex, 1 step in, none out, 1 thread, tas: CPU time per operation from "
                 "100 ns to 120 ns, 1.20 (1.13 to 1.27) times\n1 worse, 0 better, 3 unchanged"),
                (self.with_figures(80, 50, 4), 0, "better: "),
                (self.with_figures(100, 40, 4), 1, "tas: Hits from 50 % to 40 %"),
                (self.with_figures(100, 60, 4), 0, "tas: Hits from 50 % to 60 %"),
                (self.with_figures(100, 50, 8), 0, "changed: mutex, 1 step in, none out, 1 thread, "
                 "tas: Copies from 4 to 8"),
                (self.with_figures(100, 50, 4), 0, "no change beyond noise, of 4 figures")):
            done = self.diff(old, new)
            self.assertEqual(done.returncode, status, done.stdout)
            self.assertIn(words, done.stdout)
            self.assertEqual(done.stderr, "")

    def test_small_differences_of_small_figures_are_none(self):
        done = self.diff(self.with_figures(2, 50, 4), self.with_figures(2.5, 50, 4))
        self.assertIn("no change", done.stdout)

    def test_figures_without_spread_are_not_judged(self):
        old, new = self.with_figures(100, 50, 4), self.with_figures(200, 50, 4)
        del old[0]["spreads"]
        done = self.diff(old, new)
        self.assertEqual(done.returncode, 0)
        self.assertIn("not judged: 3 of 4 figures", done.stderr)

    def test_page_of_what_changed(self):
        self.diff([result("tas", 1, 1e6), result("mcs", 1, 1e6), result("clh", 1, 1e6)],
                  [result("tas", 1, 0.5e6), result("mcs", 1, 2e6), result("clh", 1, 1.01e6)])
        done = self.run_pawl("report", "--diff", "old.json", "new.json", "-o", "d.html")
        self.assertEqual(done.returncode, 1)
        page = self.read("d.html")
        for part in ("Of 3 results, 1 became better, and 1 worse.", '<td class="worse">worse</td>',
                     ">0.50</td>", ">2.00</td>", 'class="pt close"', "the older file"):
            self.assert_in(part, page)

    def test_what_cannot_be_compared_is_told(self):
        done = self.diff([result("tas", 1, 1e6), result("mcs", 1, 1e6)],
                         [result("tas", 1, 1e6), result("tas", 2, 1e6), result("clh", 1, 1e6)],
                         cpu="another")
        self.assertEqual(done.returncode, 0)
        self.assertIn("1 results only in 'old.json', and 2 only in 'new.json'",
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


if __name__ == "__main__":
    main()
