#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The table of parking forms in docs/choose.md has every lock, and what it spells compiles.
Links from there lead to files that exist. usage: parking_forms.py COMPILER ROOT"""
import os
import re
import subprocess
import sys

compiler, root = sys.argv[1:]
with open(os.path.join(root, "docs", "choose.md")) as file:
    text = file.read()
with open(os.path.join(root, "include", "pawl", "locks.def")) as file:
    locks = {name.replace("_", "-") for name in re.findall(r"^PAWL_LOCK\((\w+),", file.read(), re.M)}

rows = re.findall(r"^\| `([\w-]+)` \| `struct (\w+)`[^|]*\| `(\w+)` \| `(\w+)` \|$", text, re.M)
listed = {row[0] for row in rows}
if listed != locks:
    sys.exit(f"not in both, locks.def and the table: {sorted(listed ^ locks)}")
program = "#include <pawl/pawl.h>\n" + "".join(
    f"void use_{kind}(struct {kind} *l) {{ {lock}(l); {unlock}(l); }}\n"
    for _, kind, lock, unlock in rows)
subprocess.run([compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                "-I" + os.path.join(root, "include"),
                "-I" + os.path.join(root, "backend", "native"), "-x", "c", "-"],
               input=program, text=True, check=True)

missing = [link for link in re.findall(r"\]\(([^)#]+)", text)
           if not os.path.exists(os.path.join(root, "docs", link))]
if missing:
    sys.exit(f"links to nothing: {missing}")
print(f"{len(rows)} forms, all links lead somewhere")
