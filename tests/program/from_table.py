#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every row of tests/litmus/table.h that C11 can express, as a plain C11 program with
words of 1, 2 and 8 bytes: same outcomes, as many executions as the header-level checker.

usage: from_table.py PAWL TABLE.h
"""
import re
import subprocess
import sys
import tempfile

PREAMBLE = """#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
static atomic_uchar x; static atomic_ushort y; static atomic_ullong z;
static int r[16];
static void run(void *(**bodies)(void *), int n)
{
	pthread_t t[4]; int i;
	for (i = 0; i < n; i++) pthread_create(&t[i], NULL, bodies[i], NULL);
	for (i = 0; i < n; i++) pthread_join(t[i], NULL);
}
"""
ORDERS = {"": "relaxed", "rlx": "relaxed", "acq": "acquire", "rel": "release",
          "ar": "acq_rel", "sc": "seq_cst"}


def rows(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    pattern = (r'\{\s*"([^"]*)",\s*MODEL_(\w+),\s*\{((?:"[^"]*",?\s*)+)\},\s*"([^"]*)",'
               r'\s*((?:"[^"]*"\s*)+),\s*(\d+),?\s*\}')
    for m in re.finditer(pattern, text):
        name, model, threads, final, outcomes, count = m.groups()
        yield (name, model.lower(), re.findall(r'"([^"]*)"', threads), final,
               "".join(re.findall(r'"([^"]*)"', outcomes)).split(), int(count))


def operation(text, register):
    words = text.split()
    what, _, order = words[0].partition(".")
    order = "memory_order_" + ORDERS[order]
    if what == "W":
        return f"atomic_store_explicit(&{words[1]}, {words[2]}, {order});", False
    if what == "R":
        return f"r[{register}] = (int)atomic_load_explicit(&{words[1]}, {order});", True
    if what == "A":
        return (f"r[{register}] = (int)atomic_fetch_add_explicit(&{words[1]}, "
                f"{words[2]}, {order});", True)
    return f"atomic_thread_fence({order});", False


def program(number, threads, final, outcomes):
    lines, register = [], 0
    for t, text in enumerate(threads):
        body = ""
        for part in text.split(";"):
            line, reads = operation(part, register)
            register += reads
            body += line + " "
        lines.append(f"static void *t{number}_{t}(void *u) {{ {body}return u; }}")
    allowed = " ".join(outcomes)
    names = ", ".join(f"t{number}_{t}" for t in range(len(threads)))
    lines.append(f"void check_{number}(void)\n{{\n\tvoid *(*b[])(void *) = {{{names}}};\n"
                 f"\tchar o[16] = {{0}}; int i, n = 0;\n\trun(b, {len(threads)});\n"
                 f"\tfor (i = 0; i < {register}; i++) o[n++] = (char)('0' + r[i]);")
    for word in final:
        lines.append(f"\to[n++] = (char)('0' + (int)atomic_load_explicit(&{word}, "
                     f"memory_order_relaxed));")
    lines.append(f'\tassert(strstr("{allowed}", o) != NULL);\n}}\n')
    return "\n".join(lines)


def main():
    pawl, table = sys.argv[1:]
    wanted = {"weak": [], "tso": [], "sc": []}
    for name, model, threads, final, outcomes, count in rows(open(table).read()):
        if not re.search(r"F\.(light|heavy)", " ".join(threads)):
            wanted[model].append((name, threads, final, outcomes, count))
    failed = compared = 0
    for model, tests in wanted.items():
        with tempfile.NamedTemporaryFile("w", suffix=".c") as source:
            source.write(PREAMBLE)
            for number, (_, threads, final, outcomes, _) in enumerate(tests):
                source.write(program(number, threads, final, outcomes))
            source.flush()
            out = subprocess.run([pawl, "check", "--program", source.name, "--model",
                                  model], capture_output=True, text=True)
        found = {int(m[1]): (int(m[2]), m[3]) for m in re.finditer(
            r"check_(\d+) +\w+ +(\d+) +[\d.]+  (.*)", out.stdout)}
        for number, (name, *_, count) in enumerate(tests):
            compared += 1
            if found.get(number) != (count, "passed"):
                failed += 1
                print(f"{name} ({model}): {found.get(number)}, not {count} passed")
                print(out.stderr if not found else "", end="")
    print(f"{compared} programs compared, {failed} differ")
    return 1 if failed or compared < 60 else 0


sys.exit(main())
