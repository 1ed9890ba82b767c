#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The library from a process that never heard of it: ctypes_test.py LIBRARY.

Loads it, locks, waits for another thread, times out, reads and writes; then
unloads it, while threads that used it still live, and loads it again.
"""
import _ctypes
import ctypes
import errno
import sys
import threading
import time
import unittest

PATH = sys.argv.pop()


class Mutex(ctypes.Structure):
    _fields_ = [("words", ctypes.c_uint64 * 2)]


class Cond(ctypes.Structure):
    _fields_ = [("words", ctypes.c_uint64)]


class RWLock(ctypes.Structure):
    _fields_ = [("words", ctypes.c_uint64 * 4)]


class Timespec(ctypes.Structure):
    _fields_ = [("tv_sec", ctypes.c_long), ("tv_nsec", ctypes.c_long)]


def load():
    library = ctypes.CDLL(PATH)
    for name in ("mutex_trylock", "rwlock_read_trylock", "rwlock_write_trylock"):
        getattr(library, "pawl_" + name).restype = ctypes.c_bool
    return library


class Library(unittest.TestCase):
    def setUp(self):
        self.pawl = load()

    def test_mutex_excludes(self):
        mutex, counts = Mutex(), [0]

        def work():
            for _ in range(2000):
                self.pawl.pawl_mutex_lock(ctypes.byref(mutex))
                seen = counts[0]
                counts[0] = seen + 1
                self.pawl.pawl_mutex_unlock(ctypes.byref(mutex))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(counts[0], 8000)
        # Free; what is left in due, unlocks count down.
        for _ in range(100000):
            if mutex.words[1] == 0:
                break
            self.pawl.pawl_mutex_lock(ctypes.byref(mutex))
            self.pawl.pawl_mutex_unlock(ctypes.byref(mutex))
        self.assertEqual(list(mutex.words), [0, 0])

    def test_held_mutex_refuses_and_times_out(self):
        mutex = Mutex()
        past = Timespec(0, 0)
        self.assertTrue(self.pawl.pawl_mutex_trylock(ctypes.byref(mutex)))
        self.assertFalse(self.pawl.pawl_mutex_trylock(ctypes.byref(mutex)))
        self.assertEqual(self.pawl.pawl_mutex_timedlock(
            ctypes.byref(mutex), time.CLOCK_REALTIME, ctypes.byref(past)), errno.ETIMEDOUT)
        self.pawl.pawl_mutex_unlock(ctypes.byref(mutex))

    def test_cond_wakes(self):
        mutex, cond, ready = Mutex(), Cond(), []

        def tell():
            self.pawl.pawl_mutex_lock(ctypes.byref(mutex))
            ready.append(True)
            self.pawl.pawl_cond_signal(ctypes.byref(cond))
            self.pawl.pawl_mutex_unlock(ctypes.byref(mutex))

        self.pawl.pawl_mutex_lock(ctypes.byref(mutex))
        thread = threading.Thread(target=tell)
        thread.start()
        while not ready:
            self.pawl.pawl_cond_wait(ctypes.byref(cond), ctypes.byref(mutex))
        self.pawl.pawl_mutex_unlock(ctypes.byref(mutex))
        thread.join()

    def test_rwlock_has_readers_or_a_writer(self):
        lock = RWLock()
        self.pawl.pawl_rwlock_read_lock(ctypes.byref(lock))
        self.assertTrue(self.pawl.pawl_rwlock_read_trylock(ctypes.byref(lock)))
        self.pawl.pawl_rwlock_read_unlock(ctypes.byref(lock))
        self.pawl.pawl_rwlock_read_unlock(ctypes.byref(lock))
        self.pawl.pawl_rwlock_write_lock(ctypes.byref(lock))
        self.pawl.pawl_rwlock_write_unlock(ctypes.byref(lock))

    def test_unloads_before_its_threads_are_gone(self):
        go, used = threading.Event(), threading.Event()
        mutex = Mutex()

        def outlive():
            self.pawl.pawl_mutex_lock(ctypes.byref(mutex))
            self.pawl.pawl_mutex_unlock(ctypes.byref(mutex))
            used.set()
            go.wait()

        for _ in range(3):
            go.clear(), used.clear()
            thread = threading.Thread(target=outlive)
            thread.start()
            used.wait()
            _ctypes.dlclose(self.pawl._handle)
            go.set()
            thread.join()
            self.pawl = load()


if __name__ == "__main__":
    unittest.main()
