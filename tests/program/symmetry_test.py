#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Executions that differ only in which thread is which are left out, and no others. Random
programs of two or three equal threads, and of threads that something tells apart, with and
without --no-symmetry: the same verdicts, and with what is said to be left out as many
executions; likewise the functions of the given sources.

usage: symmetry_test.py PAWL [PROGRAMS [SEED]] [SOURCE... -- FLAGS...]
"""
import random
import re
import subprocess
import sys
import tempfile

LOADS = ["relaxed", "acquire", "seq_cst"]
STORES = ["relaxed", "release", "seq_cst"]
UPDATES = ["relaxed", "acquire", "release", "acq_rel", "seq_cst"]
IN_A_FILE, WANTED = 15, 4

HEAD = """#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static atomic_int x, y, z;
static int plain, other;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_t threads[3];
struct job { int kind, result; };
"""


def order(kinds):
    return "memory_order_" + random.choice(kinds)


def operation():
    word = random.choice("xyz")
    return random.choice([
        lambda: f"r = r * 3 + atomic_load_explicit(&{word}, {order(LOADS)});",
        lambda: f"atomic_store_explicit(&{word}, {random.randint(1, 2)}, {order(STORES)});",
        lambda: f"r = r * 3 + atomic_fetch_add_explicit(&{word}, 1, {order(UPDATES)});",
        lambda: f"r = r * 3 + atomic_exchange_explicit(&{word}, 2, {order(UPDATES)});",
        lambda: (f"r = r * 2 + atomic_compare_exchange_strong_explicit(&{word}, &(int){{0}}, "
                 f"{random.randint(1, 3)}, {order(UPDATES)}, {order(['relaxed', 'acquire'])});"),
        lambda: ("pthread_mutex_lock(&mutex); r = r * 3 + plain++; "
                 "pthread_mutex_unlock(&mutex);"),
        lambda: f"while (atomic_exchange_explicit(&{word}, 1, memory_order_acquire) == 1) ; "
                f"atomic_store_explicit(&{word}, 0, memory_order_release);",
        lambda: f"if (r & 1) atomic_store_explicit(&{word}, r & 3, {order(STORES)});",
    ])()


TWISTS = {  # what tells threads apart: in the thread, between creations, between joins
    "": ("", "", ""),
    "self": ("if (r == 1 && pthread_self() == threads[0]) atomic_store(&z, 3);", "", ""),
    "argument": ("if (argument) r++;", "", ""),
    "event": ("", "atomic_fetch_add_explicit(&z, 1, memory_order_relaxed);", ""),
    "write": ("if (r == 1) r += other;", "other = i;", ""),
    "handle": ("if (r == 0) r += threads[1] != 0;", "", ""),
    "assertion": ("", "", "assert(atomic_load_explicit(&x, memory_order_relaxed) != wanted);"),
    "plain": ("if (r == 1) other = 1;", "", "assert(other != wanted);"),
    "results": ("return (void *)(long)(r & 1);", "", "(void)result; results = results * 2 + "
                "(result != NULL);"),
    "blocks": ("((struct job *)argument)->result = r & 1;", "", ""),
    "same blocks": ("r += ((struct job *)argument)->kind;", "", ""),
    "key": ("if (r == 1) { pthread_key_t k; pthread_key_create(&k, NULL); r += (int)k; }", "", ""),
    "detach": ("", "", "detach"),
}


def program(number):
    twist = random.choice(list(TWISTS) + 8 * [""])
    inside, between, joining = TWISTS[twist]
    n = random.choice([2, 2, 3])
    body = [operation() for _ in range(random.randint(1, 4 - (n == 3)))]
    body.insert(random.randint(0, len(body)), inside)
    argument = {"argument": "i ? &other : NULL", "blocks": "jobs[i]",
                "same blocks": "jobs[i]"}.get(twist, "NULL")
    gets = "&result" if twist == "results" else "NULL"
    joins = ""
    for i in range(n):
        join = f"\tpthread_join(threads[{i}], {gets});\n\t{joining}\n"
        joins += f"\tpthread_detach(threads[{i}]);\n" if joining == "detach" and i == 1 else \
            join.replace("detach", "")
    blocks = twist in ("blocks", "same blocks")
    looks = "results = results * 2 + jobs[i]->result, " if twist == "blocks" else ""
    text = f"""static int wanted_{number};
static void *thread_{number}(void *argument)
{{
	const int wanted = wanted_{number};
	int r = 0;
	(void)argument;
	{"	".join(line + chr(10) for line in body)}
	assert(r % 7 != wanted - 1 || wanted == 0);
	return NULL;
}}
static void run_{number}(int wanted)
{{
	int i, results = 0;
	void *result = NULL;
	struct job *jobs[3] = {{0}};
	wanted_{number} = wanted;
	(void)result, (void)jobs;
	for (i = 0; i < {n} && {int(blocks)}; i++)
		jobs[i] = calloc(1, sizeof(**jobs));
	for (i = 0; i < {n}; i++) {{
		pthread_create(&threads[i], NULL, thread_{number}, {argument});
		{between}
	}}
{joins}
	for (i = 0; i < {n} && {int(blocks)}; i++)
		{looks}free(jobs[i]);
	assert(results != wanted || wanted == 0);
	if (wanted != 0)
		assert((x + y * 2 + z) % 7 != wanted + 1);
}}
"""
    for wanted in range(WANTED):
        text += f"void check_{number}_{wanted}(void) {{ run_{number}({wanted}); }}\n"
    return text


def verdicts(pawl, library, options):
    said = subprocess.run([pawl, "check", "--program", library] + options,
                          capture_output=True, text=True, check=False)
    found = {m[1]: [m[3], int(m[2])] for m in re.finditer(
        r"^\S+ +(\S+) +\w+ +(\d+) +[\d.]+  (.*)$", said.stdout, re.M)}
    for name, more in re.findall(r"^(\S+): (\d+) more differ", said.stderr, re.M):
        found[name].append(int(more))
    if not found:
        sys.exit(said.stdout + said.stderr)
    return found


def compare(pawl, source, flags, models):
    """Returns how many were compared, of how many something was left out, and a failure."""
    flags = subprocess.run([pawl, "check", "--cflags"], capture_output=True, text=True,
                           check=True).stdout.split() + flags
    link = subprocess.run([pawl, "check", "--libs"], capture_output=True, text=True,
                          check=True).stdout.split()
    compared = reduced = failed = less = 0
    with tempfile.TemporaryDirectory() as folder:
        library = f"{folder}/symmetry.so"
        subprocess.run(["cc"] + flags + ["-w", "-c", source, "-o", f"{folder}/a.o"], check=True)
        subprocess.run(["cc"] + link + [f"{folder}/a.o", "-o", library], check=True)
        for model in models:
            few = verdicts(pawl, library, ["--model", model])
            every = verdicts(pawl, library, ["--model", model, "--no-symmetry"])
            for name, (verdict, count) in every.items():
                compared += 1
                more = few[name][2] if len(few[name]) > 2 else 0
                reduced += more > 0
                if verdict == "passed":
                    less += count - few[name][1]
                # Of a program that fails in two ways either may be met first.
                if (few[name][0] == "passed") != (verdict == "passed") or (
                        verdict == "passed" and few[name][1] + more != count):
                    print(f"{source}: {name}, {model}: {few[name]}, not {every[name]}")
                    failed = 1
    return compared, reduced, less, failed


def main():
    pawl, *rest = sys.argv[1:]
    programs, seed, sources, flags = 210, 19, [], []
    if "--" in rest:
        flags = rest[rest.index("--") + 1:]
        rest = rest[:rest.index("--")]
    for word in rest:
        if word.isdigit():
            programs, seed = (int(word), seed) if not sources and programs == 210 \
                else (programs, int(word))
        else:
            sources.append(word)
    random.seed(seed)
    totals = [0, 0, 0, 0]
    for first in range(0, programs, IN_A_FILE):
        text = HEAD + "".join(program(first + i) for i in range(IN_A_FILE))
        with tempfile.NamedTemporaryFile("w", suffix=".c", delete=False) as file:
            file.write(text)
        found = compare(pawl, file.name, [], [random.choice(["weak", "tso", "sc"])])
        totals = [a + b for a, b in zip(totals, found)]
        if not found[3]:
            subprocess.run(["rm", file.name], check=True)
    for source in sources:
        totals = [a + b for a, b in zip(totals, compare(pawl, source, flags, ["weak"]))]
    print("%d functions compared, in %d something was left out, %d executions in all" %
          tuple(totals[:3]))
    if totals[1] < totals[0] / 10:
        print("too few in which something was left out")
        totals[3] = 1
    sys.exit(totals[3] > 0)


main()
