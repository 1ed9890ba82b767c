#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rounds of waiting loops that are left out lose nothing and invent nothing. Random programs
of two threads that lock by loops, with orders of all kinds, once as they are and once with
failed rounds counted in a variable, so that they are kept, up to three: the same outcomes.

usage: rounds_test.py PAWL
"""
import random
import subprocess
import sys
import tempfile

LOADS = ["relaxed", "acquire", "seq_cst"]
STORES = ["relaxed", "release", "seq_cst"]
UPDATES = ["relaxed", "acquire", "release", "acq_rel", "seq_cst"]
PROGRAMS, IN_A_FILE, OUTCOMES = 30, 2, 16

HEAD = """#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x, y, z;
static int r[4];
static _Thread_local volatile int rounds;
"""


def order(kinds):
    return "memory_order_" + random.choice(kinds)


def attempt():
    """A condition that is true while x is not ours."""
    expected = "atomic_compare_exchange_strong_explicit(&x, &(int){0}, 1, %s, %s)"
    return random.choice([
        lambda: f"atomic_exchange_explicit(&x, 1, {order(UPDATES)}) != 0",
        lambda: f"atomic_fetch_or_explicit(&x, 1, {order(UPDATES)}) != 0",
        lambda: "!" + expected % (order(UPDATES), order(["relaxed", "acquire"])),
        lambda: (f"atomic_load_explicit(&x, {order(LOADS)}) != 0 || "
                 f"atomic_exchange_explicit(&x, 1, {order(UPDATES)}) != 0"),
        lambda: (f"atomic_load_explicit(&x, {order(LOADS)}) != 0 || "
                 "!" + expected % (order(UPDATES), order(["relaxed", "acquire"]))),
    ])()


def operations(registers, n):
    lines = []
    for _ in range(n):
        word = random.choice("yz")
        if registers and random.random() < 0.7:
            lines.append(f"r[{registers.pop()}] = "
                         f"atomic_load_explicit(&{word}, {order(LOADS)}) != 0;")
        else:
            lines.append(f"atomic_store_explicit(&{word}, 1, {order(STORES)});")
    return lines


def bodies(number):
    """Both threads, as they are and counted."""
    registers = [3, 2, 1, 0]
    threads = []
    for t in range(2):
        mine = [registers.pop(), registers.pop()]
        before, inside, after = (operations(mine, random.randint(n // 2, n)) for n in (1, 2, 3))
        condition = attempt()
        unlock = f"atomic_store_explicit(&x, 0, {order(STORES)});"
        threads.append((before, condition, inside + [unlock] + after))
    text = ""
    for form in ("plain", "counted"):
        for t, (before, condition, rest) in enumerate(threads):
            loop = [f"while ({condition})", "\t;"]
            if form == "counted":
                loop = [f"while ({condition})", "\tif (++rounds > 3)", "\t\treturn &r;"]
            lines = before + loop + rest + ["return arg;"]
            text += (f"static void *{form}_{number}_{t}(void *arg)\n{{\n" +
                     "".join(f"\t{line}\n" for line in lines) + "}\n")
        text += f"""static void {form}_{number}(int outcome)
{{
	pthread_t threads[2];
	void *gave_up[2];
	pthread_create(&threads[0], NULL, {form}_{number}_0, NULL);
	pthread_create(&threads[1], NULL, {form}_{number}_1, NULL);
	pthread_join(threads[0], &gave_up[0]);
	pthread_join(threads[1], &gave_up[1]);
	if (!gave_up[0] && !gave_up[1])
		assert(r[0] + 2 * r[1] + 4 * r[2] + 8 * r[3] != outcome);
}}
"""
        for outcome in range(OUTCOMES):
            text += (f"void check_{form}_{number}_{outcome}(void) "
                     f"{{ {form}_{number}({outcome}); }}\n")
    return text


def verdicts(pawl, text):
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/rounds.c", "w") as file:
            file.write(text)
        said = subprocess.run([pawl, "check", "--program", f"{folder}/rounds.c"],
                              capture_output=True, text=True, check=False)
    found = {}
    for line in said.stdout.splitlines():
        words = line.split(None, 5)
        if len(words) == 6 and words[1].startswith("check_"):
            found[words[1][6:]] = (words[5], int(words[3]))
    if not found:
        sys.exit(said.stdout + said.stderr)
    return found


def main():
    random.seed(19)
    failed = False
    outcomes = less = 0
    for first in range(0, PROGRAMS, IN_A_FILE):
        numbers = range(first, first + IN_A_FILE)
        text = HEAD + "".join(bodies(number) for number in numbers)
        found = verdicts(sys.argv[1], text)
        for number in numbers:
            seen = {}
            for form in ("plain", "counted"):
                all_of = [found[f"{form}_{number}_{k}"] for k in range(OUTCOMES)]
                bad = {verdict for verdict, _ in all_of} - {"passed", "assertion"}
                if bad:
                    print(f"program {number}, {form}: {bad}\n{text}")
                    failed = True
                seen[form] = {k for k in range(OUTCOMES) if all_of[k][0] == "assertion"}
                count = max(n for _, n in all_of)
                less += count if form == "counted" else -count
            outcomes += len(seen["plain"])
            if seen["plain"] != seen["counted"]:
                print(f"program {number}: {seen}\n{text}")
                failed = True
    if less <= 0:
        print("no round was left out")
        failed = True
    print(f"{PROGRAMS} programs, {outcomes} outcomes, {less} executions less")
    sys.exit(failed)


main()
