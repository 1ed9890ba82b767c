#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a real program with and without the interposer, and compares.

usage: programs.py PROGRAM LIBRARY FOLDER LOCK...

Exit status 0, 1 with a line that says what differs, or 77 with the reason why
it was skipped. FOLDER holds the helpers that were built. Servers listen on the
loopback interface only; every load is bounded.
"""

import glob
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

LIMIT = 600  # seconds after which a command counts as hung


def skip(why):
    print("skipped: " + why)
    sys.exit(77)


def need(program):
    path = shutil.which(program, path="/usr/bin:/bin:/usr/local/bin:/usr/sbin")
    return path or skip(program + " is not installed")


def environment(lock, library, others=()):
    env = dict(os.environ)
    for name in ("PAWL_LOCK", "PAWL_STATS", "PAWL_VERBOSE", "LD_PRELOAD"):
        env.pop(name, None)
    preloads = ([library] if lock else []) + list(others)
    if preloads:
        env["LD_PRELOAD"] = ":".join(preloads)
    if lock:
        env["PAWL_LOCK"] = lock
    return env


def output(command, env, **more):
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=LIMIT, **more)
    if done.returncode != 0:
        sys.exit("%s: status %d: %s" % (command[0], done.returncode, done.stdout[-500:]))
    return done.stdout


def compare(command, library, locks, others=(), **more):
    """The same output without the interposer, and with it under each lock."""
    plain = output(command, environment(None, library, others), **more)
    for lock in locks:
        if output(command, environment(lock, library, others), **more) != plain:
            sys.exit("%s under %s: the output differs" % (command[0], lock))


def sample(folder):
    """A file that compresses somewhat, always the same."""
    words = random.Random(1)
    path = os.path.join(folder, "sample")
    with open(path, "w") as file:
        for _ in range(400000):
            file.write("%x " % words.getrandbits(24 + words.randrange(8)))
    return path


def pigz(library, locks, helpers, tmp):
    compare([need("pigz"), "-p", "4", "-c", sample(tmp)], library, locks)


def zstd(library, locks, helpers, tmp):
    compare([need("zstd"), "-q", "-T4", "-c", sample(tmp)], library, locks)


def xz(library, locks, helpers, tmp):
    compare([need("xz"), "-T4", "-1", "--block-size=256KiB", "-c", sample(tmp)],
            library, locks)


def jemalloc(library, locks, helpers, tmp):
    """An allocator that locks, and is called while we look functions up."""
    found = glob.glob("/usr/lib/*/libjemalloc.so.2")
    if not found:
        skip("libjemalloc2 is not installed")
    compare([need("pigz"), "-p", "4", "-c", sample(tmp)], library, locks, found)
    compare([os.path.join(helpers, "preload_integrity"), "churn"], library, locks, found)


SQL = """
PRAGMA threads = 4;
PRAGMA cache_size = 100;
CREATE TABLE t (a INTEGER, b TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
INSERT INTO t SELECT (i * 7919) % 100003, hex(i * 31) FROM n;
CREATE INDEX i ON t (b, a);
SELECT count(*), sum(a) FROM t;
SELECT a, b FROM t ORDER BY b DESC, a LIMIT 50;
PRAGMA integrity_check;
"""


def sqlite3(library, locks, helpers, tmp):
    compare([need("sqlite3"), ":memory:"], library, locks, input=SQL.encode())


PYTHON = """
import queue, threading, hashlib
jobs, results = queue.Queue(8), []
lock, condition = threading.Lock(), threading.Condition()
def work():
    while True:
        job = jobs.get()
        if job is None:
            return
        digest = hashlib.sha256(b"%d" % job * 5000).hexdigest()
        with lock:
            results.append(digest)
        with condition:
            condition.notify_all()
threads = [threading.Thread(target=work) for _ in range(8)]
[t.start() for t in threads]
[jobs.put(i) for i in range(2000)]
with condition:
    condition.wait_for(lambda: len(results) == 2000, timeout=600)
[jobs.put(None) for _ in threads]
[t.join() for t in threads]
print(len(results), hashlib.sha256("".join(sorted(results)).encode()).hexdigest())
"""


def openssl(library, locks, helpers, tmp):
    """Its stores of algorithms and of errors are behind read-write locks: ours here."""
    os.environ["PAWL_RWLOCK"] = "pawl"
    program = need("openssl")
    compare([program, "dgst", "-sha512", sample(tmp)], library, locks)
    for lock in locks:
        output([program, "speed", "-multi", "2", "-seconds", "1", "sha256"],
               environment(lock, library))


def python3(library, locks, helpers, tmp):
    compare([need("python3"), "-c", PYTHON], library, locks)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def connect(port, server):
    for _ in range(200):
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=LIMIT)
        except OSError:
            if server.poll() is not None:
                sys.exit("the server ended with status %d" % server.returncode)
            time.sleep(0.05)
    sys.exit("the server does not answer")


def serve(command, lock, library, load, tmp):
    """Starts a server under a lock, loads it, and ends it in good order."""
    server = subprocess.Popen(command, env=environment(lock, library), cwd=tmp,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        load(server)
        server.terminate()
        if server.wait(30) not in (0, -15):
            sys.exit("the server ended with status %d" % server.returncode)
    finally:
        if server.poll() is None:
            server.kill()
            server.wait()


def memcached(library, locks, helpers, tmp):
    program = need("memcached")

    for lock in locks:
        port = free_port()
        errors = []

        def client(number, server):
            with connect(port, server) as s, s.makefile("rwb") as f:
                for i in range(600):
                    key, value = b"k%d" % (i % 50 + 50 * number), b"v%d.%d" % (number, i)
                    f.write(b"set %s 0 0 %d\r\n%s\r\nget %s\r\nincr n 1\r\n"
                            % (key, len(value), value, key))
                    f.flush()
                    answers = [f.readline() for _ in range(5)]
                    if answers[:4] != [b"STORED\r\n", b"VALUE %s 0 %d\r\n"
                                       % (key, len(value)), value + b"\r\n", b"END\r\n"]:
                        errors.append(answers)

        def load(server):
            with connect(port, server) as s, s.makefile("rwb") as f:
                f.write(b"set n 0 0 1\r\n0\r\n")
                f.flush()
                f.readline()
                threads = [threading.Thread(target=client, args=(i, server))
                           for i in range(8)]
                for t in threads:
                    t.start()
                for t in threads:
                    t.join()
                f.write(b"get n\r\n")
                f.flush()
                f.readline()
                if f.readline().strip() != b"4800" or errors:
                    sys.exit("memcached under %s: wrong answers %s" % (lock, errors[:1]))

        user = ["-u", "nobody"] if os.geteuid() == 0 else []
        serve([program, "-l", "127.0.0.1", "-p", str(port), "-U", "0", "-t", "4"] + user,
              lock, library, load, tmp)


def redis(library, locks, helpers, tmp):
    program, client = need("redis-server"), need("redis-cli")
    bench = need("redis-benchmark")

    for lock in locks:
        port = free_port()

        def load(server):
            connect(port, server).close()
            ours = ["-h", "127.0.0.1", "-p", str(port)]
            plain = environment(None, library)
            output([bench] + ours + ["-n", "1500", "-c", "8", "-q", "incr", "n"], plain)
            output([bench] + ours + ["-n", "1500", "-c", "8", "-q", "-P", "4",
                                     "-t", "set,get,lpush"], plain)
            if output([client] + ours + ["get", "n"], plain).strip() != b"1500":
                sys.exit("redis under %s: lost updates" % lock)

        serve([program, "--bind", "127.0.0.1", "--port", str(port), "--save", "",
               "--io-threads", "2", "--io-threads-do-reads", "yes"],
              lock, library, load, tmp)


def lmdb(library, locks, helpers, tmp):
    """Robust process-shared mutexes, shared with a process that has no pawl."""
    loader, dumper = need("mdb_load"), need("mdb_dump")
    text = "VERSION=3\nformat=print\ntype=btree\nmapsize=10485760\nHEADER=END\n"
    text += "".join(" key%06d\n value%d\n" % (i, i) for i in range(5000)) + "DATA=END\n"
    plain = None
    for lock in [None] + list(locks):
        folder = tempfile.mkdtemp(dir=tmp)
        env, other = environment(lock, library), environment(None, library)
        output([loader, folder], env, input=text.encode())
        output([loader, folder], other, input=text.encode())
        dump = output([dumper, folder], env)
        if plain is not None and dump != plain:
            sys.exit("lmdb under %s: the data differ" % lock)
        plain = dump


def leveldb(library, locks, helpers, tmp):
    program = os.path.join(helpers, "leveldb")
    if not os.path.exists(program):
        skip("libleveldb-dev is not installed")
    plain = output([program, tempfile.mkdtemp(dir=tmp), "4", "0", "20000"],
                   environment(None, library))
    for lock in locks:
        if output([program, tempfile.mkdtemp(dir=tmp), "4", "0", "20000"],
                  environment(lock, library)) != plain:
            sys.exit("leveldb under %s: the output differs" % lock)


PAGE = """<html><body><p id=x></p><script>
var x = 0; for (var i = 0; i < 1000; i++) x += i;
document.getElementById("x").textContent = x;
</script></body></html>
"""


def chromium(library, locks, helpers, tmp):
    """An allocator that locks while it gets ready, and, unless the system has no
    namespaces for everybody, a sandbox that looks into mutexes and filters calls."""
    program = need("chromium")
    ours = os.path.join(tmp, "libpawl-pthread.so")  # where anybody may read it
    shutil.copy(library, ours)
    page = os.path.join(tmp, "page.html")
    with open(page, "w") as file:
        file.write(PAGE)
    who = {"user": "nobody"} if os.geteuid() == 0 else {}

    def dump(lock, options):
        profile = tempfile.mkdtemp(dir=tmp)
        os.chmod(profile, 0o777)
        env = dict(environment(lock, ours), HOME=profile)
        done = subprocess.run([program, "--headless", "--disable-gpu", "--dump-dom",
                               "--user-data-dir=" + profile] + options + ["file://" + page],
                              env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              timeout=LIMIT, cwd=profile, start_new_session=True, **who)
        return done.stdout if done.returncode == 0 else b""

    ways = [way for way in ([], ["--no-sandbox"]) if b"499500" in dump(None, way)]
    if not ways:
        skip("chromium does not start here")
    for way in ways:
        for lock in locks:
            if b">499500<" not in dump(lock, way):
                sys.exit("chromium %s under %s does not show the page" % (way, lock))


def main():
    name, library, helpers, locks = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    with tempfile.TemporaryDirectory() as tmp:
        os.chmod(tmp, 0o755)
        globals()[name](library, locks, helpers, tmp)
    print("%s: the same under %s" % (name, ", ".join(locks)))


if __name__ == "__main__":
    main()
