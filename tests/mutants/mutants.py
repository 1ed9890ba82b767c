# SPDX-License-Identifier: MIT
"""Builds mutants of what pawl check runs, checks them, and remembers the outcomes.

A lock is compiled once as it is; of a mutant only the objects that depend on the changed
file are compiled. An outcome is found again by a digest of everything that it depends on:
the checker's binary, all sources that it or a mutant may be made of, the compiler, the
changed text and the options. A changed byte anywhere makes every outcome unknown.
"""
import glob
import hashlib
import os
import re
import resource
import signal
import subprocess
import tempfile
import threading

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.realpath(os.path.join(HERE, "../.."))
BUILD = os.path.join(HERE, "build.sh")
ROW = re.compile(r"^(\S+) +(\S+) +(\d+) +(\d+) +\w+ +\d+ +[\d.]+  (.+)$")
ADMITTED = "as the registry declares"
# Most mutants fail in some of so many executions at random, within a hundredth of a second.
AT_RANDOM = ["--random", "1000"]
NOT_SEEN = "no failure seen"
SOURCES = ("include", "backend", "src", "sim", "tests/mutants")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def compiler():
    return os.environ.get("CC", "cc")


def digest(pawl):
    """A digest of the checker, of every source, and of what compiles them."""
    sums = hashlib.sha256()
    with open(pawl, "rb") as file:
        sums.update(file.read())
    for folder in SOURCES:
        for where, folders, names in os.walk(os.path.join(ROOT, folder)):
            folders.sort()
            for name in sorted(names):
                if name.endswith((".c", ".h", ".def", ".sh", ".py")):
                    sums.update(os.path.relpath(os.path.join(where, name), ROOT).encode())
                    with open(os.path.join(where, name), "rb") as file:
                        sums.update(hashlib.sha256(file.read()).digest())
    sums.update(subprocess.run([compiler(), "--version"], stdout=subprocess.PIPE).stdout)
    sums.update(os.confstr("CS_GNU_LIBC_VERSION").encode())
    return sums.hexdigest()


class Outcomes:
    """Outcomes of earlier runs, in one file for each digest; only the last few are kept."""

    KEPT = 4

    def __init__(self, folder, pawl):
        self.known = {}
        if folder is None:
            self.path = None
            return
        os.makedirs(folder, exist_ok=True)
        self.path = os.path.join(folder, digest(pawl))
        if os.path.exists(self.path):
            self.known = dict(line.split("\t", 1) for line in read(self.path).splitlines())
        older = sorted(glob.glob(os.path.join(glob.escape(folder), "*")), key=os.path.getmtime)
        for path in older[:-self.KEPT]:
            if path != self.path:
                os.remove(path)

    def get(self, question, ask):
        """The outcome of a question, a tuple of strings; asks only if it is not known."""
        key = hashlib.sha256("\0".join(question).encode()).hexdigest()
        if key not in self.known:
            self.known[key] = ask()
            if self.path is not None:
                with open(self.path, "a", encoding="utf-8") as file:
                    file.write(f"{key}\t{self.known[key]}\n")
        return self.known[key]


class Broken(Exception):
    """A mutant that cannot be built or checked, and why."""


class Lock:
    """What build.sh builds, as it is, and of it mutants."""

    def __init__(self, name):
        self.id = name
        self.name = None  # as pawl check --load knows it
        self.scratch = tempfile.TemporaryDirectory()
        self.overlay = os.path.join(self.scratch.name, "overlay")
        self.kept = os.path.join(self.scratch.name, "kept")
        self.library = os.path.join(self.scratch.name, "lock.so")
        self.compiling = threading.Lock()
        self.number = 0
        self.mutants = {}  # by file and text: the library, or why there is none
        self.depends = {}  # object: the sources that it was compiled from

    def canonical(self, path):
        """A path below include/pawl, or backend's pawl, as pawl/X; one of src as src/X."""
        path = os.path.normpath(path)
        for start, instead in ((f"{self.overlay}/pawl/", "pawl/"),
                               (f"{self.overlay}/src/", "src/"), (f"{self.overlay}/", "src/"),
                               (f"{ROOT}/include/pawl/", "pawl/"),
                               (f"{ROOT}/backend/sim/pawl/", "pawl/"),
                               (f"{ROOT}/src/", "src/")):
            if path.startswith(start):
                return instead + path[len(start):]
        return path

    def build(self):
        """Builds it as it is, if that was not done."""
        with self.compiling:
            if self.name is not None:
                return
            os.makedirs(self.overlay)
            os.makedirs(self.kept)
            done = subprocess.run([BUILD, self.id, self.overlay, self.library], text=True,
                                  capture_output=True,
                                  env=dict(os.environ, PAWL_LOCK_KEEP=self.kept))
            if done.returncode != 0:
                raise Broken("does not compile: " + " ".join(done.stderr.split("\n")[:2]))
            for path in glob.glob(os.path.join(self.kept, "*.d")):
                found = read(path).replace("\\\n", " ").split(":", 1)[1].split()
                self.depends[path[:-2] + ".o"] = {self.canonical(name) for name in found}
            self.name = done.stdout.strip()

    def mutate(self, path, text):
        """Builds it with the text in place of a file's, once, and returns the library."""
        self.build()
        with self.compiling:
            if (path, text) not in self.mutants:
                try:
                    self.mutants[path, text] = self.compile(path, text)
                except Broken as broken:
                    self.mutants[path, text] = broken
            library = self.mutants[path, text]
        if isinstance(library, Broken):
            raise library
        return library

    def compile(self, path, text):
        name = self.canonical(os.path.join(ROOT, path))
        place = os.path.join(self.overlay, name)
        # Scenarios include some sources, as <shared/shared.c>; build.sh copies the others.
        if name.startswith("src/") and name.endswith(".c") and not os.path.exists(place):
            place = os.path.join(self.overlay, name[len("src/"):])
        self.number += 1
        folder = os.path.join(self.scratch.name, str(self.number))
        os.makedirs(folder)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        before = read(place) if os.path.exists(place) else None
        with open(place, "w", encoding="utf-8") as file:
            file.write(text)
        try:
            return self.link(folder, name)
        finally:
            if before is None:
                os.remove(place)
            else:
                with open(place, "w", encoding="utf-8") as file:
                    file.write(before)

    def link(self, folder, changed):
        objects, compiled = [], False
        for kept, sources in sorted(self.depends.items()):
            if changed not in sources:
                objects.append(kept)
                continue
            compiled = True
            command = read(kept[:-2] + ".command").splitlines()
            command[-1] = os.path.join(folder, os.path.basename(kept))
            objects.append(command[-1])
            run_compiler(command)
        if not compiled:
            raise Broken(f"no object of {self.id} depends on {changed}")
        library = os.path.join(folder, "lock.so")
        run_compiler([compiler(), "-shared", "-Wl,-Bsymbolic", "-o", library, *objects])
        return library


def run_compiler(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Broken("does not compile: " + " ".join(done.stderr.split("\n")[:2]))


def check(pawl, library, name, options, seconds, number=0):
    """Runs pawl check on a library, or on one of the mutants in it. Yields scenario, threads and verdict of each case of one lock that is not passed, and
    a last one (None, None, why) if the checker failed. `seconds` are of CPU time: a case that
    takes longer is no rejection, however busy the machine is."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    command = [pawl, "check", "--jobs", "1", "--load", library, name, *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          preexec_fn=limit,
                          env=dict(os.environ, PAWL_MUTANT=str(number))) as process:
        try:
            for line in process.stdout:
                row = ROW.match(line)
                if row and row[1] == name and row[5] != "passed" and \
                        not row[5].endswith(ADMITTED):
                    yield row[2], row[3], row[5]
            status = process.wait()
            if status in (-signal.SIGXCPU, -signal.SIGKILL):
                yield None, None, f"no verdict within {seconds} s of CPU time"
            elif status not in (0, 1):
                yield None, None, f"ended with {status}"
        finally:
            process.kill()


def search(pawl, library, name, options, seconds, number=0):
    """As check, but looks at some executions at random before it explores them all."""
    for scenario, threads, verdict in check(pawl, library, name, [*options, *AT_RANDOM], seconds,
                                            number):
        if scenario is not None and verdict != NOT_SEEN:
            yield scenario, threads, verdict
    yield from check(pawl, library, name, options, seconds, number)
