"""Pickle, processes, signals, and the package in a process of its own."""

import copy
import multiprocessing
import os
import pickle
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
import time
import unittest

import numpy as np

import broadloom as bl

LONG = "kernel long { in x : f64[i]; in y : f64[j]; out z = sum(sin(x * y), j) }"


def work(kernel):
    return float(kernel(np.arange(100_000.0)).s)


class Processes(unittest.TestCase):
    def setUp(self):
        # A shell that starts the tests in the background has them ignore the signal.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)

    def test_importing_loads_no_more_than_is_used(self):
        code = ("import sys, numpy, broadloom as bl; bl.sums_at(numpy.array([0, 1]), 3) + bl.array(numpy.ones(3)); "
                "late = 'difflib html numpy.ma broadloom.records broadloom.lazy_lower'.split(); print([name for name in late if name in sys.modules])")
        self.assertEqual(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout, "[]\n")

    def test_kernels_are_pickled_by_their_text_and_options(self):
        k = bl.compile("def f(a) = a + 1\nkernel k { in x : f64[i]; out s = sum(f(x)); out z = x }", threads=1, engine="interpreter")
        other = pickle.loads(pickle.dumps(k))
        self.assertEqual((other.text, other.threads), (k.text, 1))
        self.assertEqual(other(np.ones(3)).s, 6)
        self.assertEqual(other.engine, "interpreter")
        self.assertIs(copy.copy(k), k)
        self.assertIs(copy.deepcopy([k])[0], k)
        results = pickle.loads(pickle.dumps(k(np.ones(3))))
        self.assertEqual((results.s, list(results.z)), (6, [1, 1, 1]))

    def test_gradients_are_pickled_with_their_cotangents(self):
        g = bl.compile("kernel k { in x : f64[i]; out l = sum(x * x) }").grad()
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(g))(np.ones(2)), [2, 2])

    def test_errors_are_pickled(self):
        with self.assertRaises(bl.SpecError) as caught:
            bl.compile("kernel k { out z = y }")
        error = pickle.loads(pickle.dumps(caught.exception))
        self.assertEqual((type(error), str(error)), (bl.SpecError, str(caught.exception)))

    def test_other_processes_compute_the_same_bits(self):
        kernel = bl.compile("kernel k { in x : f64[i]; out s = sum(sqrt(x)); out z = x }")
        want = work(kernel)
        for how in ("spawn", "fork"):
            with multiprocessing.get_context(how).Pool(2) as pool:
                self.assertEqual(pool.map_async(work, [kernel] * 3).get(60), [want] * 3, how)

    def interrupted(self, call, after=0.3):
        kill = threading.Timer(after, lambda: os.kill(os.getpid(), signal.SIGINT))
        kill.start()
        start = time.monotonic()
        try:
            call()
        finally:
            kill.join()
            self.assertLess(time.monotonic() - start, after + 5)  # a busy machine; alone some 30 ms

    def test_ctrl_c_stops_a_running_kernel(self):
        kernel, x = bl.compile(LONG), np.linspace(0, 1, 1 << 20)
        for call in (lambda: kernel(x, x), kernel.bind(x, x)):
            with self.assertRaises(KeyboardInterrupt):
                self.interrupted(call)
        np.testing.assert_array_equal(kernel(x[:1], x[:1]), [0])

    def test_a_handler_that_raises_nothing_makes_a_cancelled_error(self):
        kernel, x = bl.compile(LONG), np.linspace(0, 1, 1 << 20)
        seen = []
        before = signal.signal(signal.SIGINT, lambda *_: seen.append(1))
        try:
            with self.assertRaisesRegex(bl.CancelledError, "E0701"):
                self.interrupted(lambda: kernel(x, x))
        finally:
            signal.signal(signal.SIGINT, before)
        self.assertEqual(seen, [1])

    def test_ctrl_c_leaves_the_kernels_of_other_threads_alone(self):
        kernel, x = bl.compile(LONG), np.linspace(0, 1, 1 << 20)
        small, done = x[: 1 << 14], []
        thread = threading.Thread(target=lambda: done.append(kernel(small, small)))
        thread.start()
        with self.assertRaises(KeyboardInterrupt):
            self.interrupted(lambda: kernel(x, x), 0.1)
        thread.join()
        self.assertEqual(len(done), 1)

    def test_importing_is_quick_and_starts_no_compiler(self):
        script = "import numpy, time; t = time.perf_counter(); import broadloom; print(time.perf_counter() - t)"
        seconds = min(float(subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout)
                      for _ in range(3))
        self.assertLess(seconds, 1)  # some 30 ms on a machine that does nothing else

    def test_a_process_ends_cleanly_with_kernels_alive(self):
        script = ("import broadloom as bl, numpy as np\nk = bl.compile('kernel k { in x : f64[i]; out z = x }')\n"
                  "b = k.bind(np.ones(3)); r = b()\nimport sys; sys.kept = (k, b, r)")
        ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))

    def test_the_module_is_the_program_where_that_is_installed(self):
        ended = subprocess.run([sys.executable, "-m", "broadloom", "--version"], capture_output=True, text=True,
                               env={**os.environ, "BROADLOOM_PROGRAM": sys.executable})
        self.assertEqual((ended.returncode, ended.stdout[:6]), (0, "Python"))
        if shutil.which("broadloom", path=sysconfig.get_path("scripts")):
            return  # it is installed
        ended = subprocess.run([sys.executable, "-m", "broadloom"], capture_output=True, text=True,
                               env={**os.environ, "PATH": "", "BROADLOOM_PROGRAM": ""})
        self.assertEqual(ended.returncode, 1)
        self.assertIn("not installed", ended.stderr)
