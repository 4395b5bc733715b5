"""Daemon threads that are at work as Python ends: the process ends with 0, as it does where they
work with NumPy."""

import os
import subprocess
import sys
import unittest

BEGIN = """
import logging, sys, threading, time
import numpy as np
import broadloom as bl
k = bl.compile("kernel k { in x : f64[i]; out z = exp(x) }", threads=%d)
x = np.ones(%d)
number = iter(range(1 << 30))
begun = threading.Event()
def again():
    while True:
        try:
            work()
        except bl.Error:
            pass
        begun.set()
"""
END = """
for _ in range(2):
    threading.Thread(target=again, daemon=True).start()
begun.wait()
time.sleep(%s)
"""
COMPILE = 'bl.compile(f"kernel k {{ in x : f64[i]; out z = exp(x) + {next(number)} }}")(x)'


class Ends(unittest.TestCase):
    def all_end_well(self, work, points=1 << 20, threads=2, before="", log=None):
        script = BEGIN % (threads, points) + before + f"\ndef work():\n    {work}\n" + END
        environment = {**os.environ, "BROADLOOM_CACHE": "0", "BROADLOOM_LOG": log or "off"}
        if not log:
            del environment["BROADLOOM_LOG"]
        for process in range(6):
            ended = subprocess.run([sys.executable, "-c", script % (0.01 * process)], capture_output=True, text=True,
                                   env=environment, timeout=120)
            self.assertEqual((ended.returncode, "terminate" in ended.stderr), (0, False), ended.stderr)

    def test_a_process_ends_well_while_daemon_threads_call_kernels(self):
        self.all_end_well("k(x)")
        self.all_end_well("k(x)", threads=1)
        self.all_end_well("k(x)", points=5000)

    def test_a_process_ends_well_while_daemon_threads_call_bound_kernels(self):
        self.all_end_well("b()", before="b = k.bind(x)")

    def test_a_process_ends_well_while_daemon_threads_compute_lazy_arrays(self):
        self.all_end_well("(bl.array(x) * 2 + next(number)).compute()")

    def test_a_process_ends_well_while_daemon_threads_compile(self):
        self.all_end_well(COMPILE, points=10)

    def test_a_process_ends_well_while_daemon_threads_send_messages(self):
        debug = "logging.getLogger('broadloom').setLevel(10); logging.getLogger('broadloom').addHandler(logging.NullHandler())"
        self.all_end_well(COMPILE, points=10, before=f"{debug}\nbl.set_log_level('debug')")
        self.all_end_well(COMPILE, points=10, log="debug")

    def test_a_process_ends_well_while_daemon_threads_meet_errors(self):
        self.all_end_well("k(x, x)")
        self.all_end_well("bl.compile('kernel k { out z = y }')")

    def test_a_process_ends_well_while_daemon_threads_fold_blocks(self):
        self.all_end_well("s.combine([s.partial('i', 0, x)])", before='s = bl.compile("kernel s { in x : f64[i]; out t = sum(x) }")')
