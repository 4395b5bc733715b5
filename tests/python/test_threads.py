"""Many threads through what the package keeps between calls: the locks that guard it, and Python's
own where it has one."""

import pickle
import sys
import threading
import unittest

import numpy as np

import broadloom as bl
from broadloom import lazy_forms, lazy_lower


class Threads(unittest.TestCase):
    def setUp(self):
        self.addCleanup(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(1e-6)  # let them meet often

    def together(self, work, count=8):
        """Runs `work(k)` on so many threads, which begin at once."""
        begin, wrong = threading.Barrier(count), []

        def run(k):
            try:
                begin.wait()
                work(k)
            except BaseException as error:  # told by the main thread
                wrong.append(error)

        threads = [threading.Thread(target=run, args=(k,)) for k in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if wrong:
            raise wrong[0]

    def test_threads_call_one_kernel_with_more_layouts_than_it_remembers(self):
        k = bl.compile("kernel k { in x : f64[i, j]; in by : f64; out z = x * by; out s = sum(x, j) }", threads=1)
        rng = np.random.default_rng(1)
        arrays = [rng.normal(size=(2 + n % 5, 3 + n)) for n in range(20)]
        wanted = [(x * 2, k(x, 1).s) for x in arrays]

        def work(thread):
            for turn in range(40):
                n = (thread * 7 + turn) % len(arrays)
                x, (z, s) = arrays[n], wanted[n]
                made = k(x, 2)
                into = np.empty_like(x)
                self.assertIs(k(x, 2, out={"z": into}).z, into)
                for got in (made.z, into):
                    np.testing.assert_array_equal(got, z)
                self.assertEqual(made.s.tobytes(), s.tobytes())

        self.together(work)

    def test_what_is_remembered_stays_while_another_thread_compiles(self):
        for _ in range(3):
            k = bl.compile("kernel k { in x : f64[i]; out z = x * 3; out w = exp(x) }")
            first, others = np.arange(5.0), [np.ones(n) for n in range(6, 26)]
            k(first)
            made = []
            thread = threading.Thread(target=lambda: made.append(k(first)))  # finds the layouts, then compiles
            thread.start()
            while thread.is_alive():
                for x in others:
                    k(x)
            thread.join()
            np.testing.assert_array_equal(made[0].z, first * 3)
            self.assertEqual(made[0].w.shape, (5,))

    def test_threads_share_bound_calls_and_derive_kernels(self):
        k = bl.compile("kernel k { in x : f64[i]; param w : f64[i]; out l = sum(w * x ^ 2) }", threads=1)
        x, w = np.arange(40.0), np.linspace(0, 1, 40)
        bound, want = k.bind(x, w), k(x, w)

        def work(thread):
            self.assertEqual(bound(), want)
            frozen = k.freeze(w=w)
            self.assertEqual(frozen(x), want)
            self.assertEqual(frozen.refreeze(w=2 * w)(x), k(x, 2 * w))
            self.assertEqual(k.with_threads(1 + thread % 3)(x, w), want)
            np.testing.assert_array_equal(k.grad("x")(x, w), 2 * w * x)
            self.assertEqual(pickle.loads(pickle.dumps(frozen))(x), want)
            self.assertTrue(k.why() and k.show("plan"))
            with self.assertRaises(bl.ShapeError):
                k(x[:3], w)
            block = k.partial("i", 0, x, w)
            self.assertEqual(k.combine([block]), want)

        self.together(work)

    def test_threads_compile_lazy_arrays_beyond_what_is_kept(self):
        kept, lazy_lower._KEPT = lazy_lower._KEPT, 2
        self.addCleanup(setattr, lazy_lower, "_KEPT", kept)
        x = np.arange(6.0)
        makers = [lambda a: a + 1, lambda a: a * a, lambda a: np.exp(a), lambda a: a - a.sum(), lambda a: -a]

        def work(thread):
            for turn in range(10):
                make = makers[(thread + turn) % len(makers)]
                np.testing.assert_allclose(make(bl.array(x)).compute(), make(x), rtol=1e-15)

        self.together(work)
        self.assertLessEqual(len(lazy_lower._kernels), 2)

    def test_threads_record_while_what_is_known_is_forgotten(self):
        x = np.arange(6.0)

        def work(thread):
            for turn in range(200):
                if turn % 17 == thread:
                    lazy_forms.forget()
                z = bl.array(x) * (thread + 1.5) - bl.array(x).sum()
                np.testing.assert_array_equal(z.compute(), x * (thread + 1.5) - 15)

        self.together(work)

    def test_threads_trace_functions(self):
        def work(thread):
            for turn in range(10):
                @bl.kernel(name=f"k{thread}")
                def f(x: bl.f64["i"], by=thread + turn):
                    return x * by

                np.testing.assert_array_equal(f(np.ones(3)), np.full(3, thread + turn))

        self.together(work)
