# SPDX-License-Identifier: MIT
"""Results as the tools write them, and tests that make pages of them."""
import json

from command import CommandTest

CONTEXT = {"pawl": "0.1.0", "machine": "x86_64", "cpu": "A <b>CPU</b> & more", "cpus": 2,
           "kernel": "Linux 6.1", "compiler": "cc", "date": "2026-01-02T03:04:05Z", "load": 0.5,
           "command": ["pawl", "bench", "--locks", "a b", "it's"], "seed": 1,
           "noise": {"load_before": 0.5, "load_after": 0.5, "steal_percent": 0, "governor": None}}
SIMULATED = {"version": "0.1.0", "preset": "max", "machine": "m", "cpus": 512, "protocol": "mesi",
             "seed": 1, "runs": 3, "episodes": 10, "homes": "first-touch", "placement": "cores"}
TRIED = {"look": None, "verdict": {"kind": "undecided", "sentence": "Undecided."},
         "budget_s": 60, "spent_s": 1}


def result(lock, threads, median, **more):
    """As pawl bench writes it, of seven runs."""
    value = {"workload": "mutex", "lock": lock, "threads": threads, "cs": 1, "ncs": 0,
             "seconds": 0.5, "unit": "ops/s", "better": "more", "median": median,
             "interval": {"low": median, "high": median, "confidence": 0.98}, "spread": 0.01,
             "samples": [median * (1 + 0.01 * i) for i in range(-3, 4)],
             "median_ops_per_s": median, "fairness": 0.5, "cpu_ns_per_op": None,
             "context_switches_per_s": None, "steal_percent": 0, "figures": {}}
    value.update(more)
    return value


def simulated(lock, threads, median, misses=1, **more):
    """As pawl sim writes it."""
    value = {"workload": "mutex", "lock": lock, "threads": threads, "cs": 1, "ncs": 0,
             "machine": "m", "median_ops_per_s": median, "samples": [median] * 3, "fairness": 1,
             "per_episode": {"misses": misses, "invalidations": threads, "remote_misses": 0,
                             "rmw": 1}}
    value.update(more)
    return value


def spread(samples):
    return {"low": min(samples), "high": max(samples), "confidence": 0.96, "samples": samples}


def figure(samples):
    """As pawl try writes it."""
    return dict(spread(samples), median=sorted(samples)[len(samples) // 2])


def waits(p50):
    return {"p50": p50, "p99": 20 * p50, "p999": 400 * p50, "max": 8000 * p50}


class ReportTest(CommandTest):
    def file(self, results, name="r.json", tool="bench", context=CONTEXT):
        more = TRIED if tool == "try" else {}
        self.write(name, json.dumps({"schema": 1, "tool": tool, "context": context, **more,
                                     "results": results}))
        return name

    def assert_in(self, part, page):
        self.assertTrue(part in page, f"not on the page: {part}")

    def assert_not_in(self, part, page):
        self.assertTrue(part not in page, f"on the page: {part}")

    def page(self, *files):
        self.succeed("report", *files, "-o", "page.html")
        return self.read("page.html")
