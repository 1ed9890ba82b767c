#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Usage: codegen.py C.s CXX.s

Compares the functions pair_X of two listings: C++ must not have more instructions,
but for one, with which to reach a context that is part of an object.
"""
import collections
import re
import sys


def functions(path):
    found, name = {}, None
    for line in open(path):
        start = re.match(r"(pair_\w+):", line)
        if start:
            name = start.group(1)
            found[name] = collections.Counter()
        elif name and re.match(r"\s*\.size\s+" + re.escape(name) + r"\b", line):
            name = None
        elif name:
            code = re.sub(r"\s*(#|//).*", "", line).strip()
            if code and not code.startswith(".") and not code.endswith(":"):
                found[name][code.split()[0]] += 1
    return found


c, cxx = functions(sys.argv[1]), functions(sys.argv[2])
worse = [name for name in c if sum(cxx[name].values()) > sum(c[name].values()) + 1]
for name in worse:
    print(f"{name}: C++ has {dict(cxx[name] - c[name])} more, "
          f"{dict(c[name] - cxx[name])} less", file=sys.stderr)
if c.keys() != cxx.keys() or len(c) < 20:
    sys.exit("the listings do not have the same functions")
if worse:
    sys.exit(f"{len(worse)} of {len(c)} differ")
print(f"{len(c)} sections are the same")
