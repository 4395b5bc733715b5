"""Kernels on arrays of dask, in this process and on clusters of processes. Named so that it comes
after test_processes.py."""

import importlib.util
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import warnings

for _library in ("dask", "distributed"):
    if importlib.util.find_spec(_library) is None:
        print(f"SKIPPED: {_library} is not installed for {sys.executable}, so nothing of bl.dask is tested", file=sys.stderr, flush=True)
        raise unittest.SkipTest(f"{_library} is not installed: pip install dask distributed")

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

import broadloom as bl


def numbers(*shape):
    rng = np.random.default_rng(7)
    return rng.normal(size=shape) * 10.0 ** rng.integers(-8, 8, shape)


def cluster(workers):
    return LocalCluster(n_workers=workers, processes=True, threads_per_worker=1, dashboard_address=None, silence_logs=50)


class OnBlocks(unittest.TestCase):
    def setUp(self):
        self.enterContext(dask.config.set(scheduler="synchronous"))

    def same(self, got, wanted):
        got = got if isinstance(got, tuple) else (got,)
        wanted = tuple(wanted) if isinstance(wanted, bl.Results) else (wanted,)
        for a, b in zip(got, wanted):
            self.assertEqual(a.shape, b.shape)
            self.assertEqual(a.dtype, b.dtype)
            np.testing.assert_array_equal(a.compute(), b)

    def quietly(self, *args, **kwargs):
        with warnings.catch_warnings():
            warnings.simplefilter("error", bl.dask.RechunkWarning)
            return bl.dask.apply(*args, **kwargs)

    def test_maps_go_block_by_block(self):
        k = bl.compile("kernel k { in x : f64[i, j]; in y : f64[i]; in s : f64; out z = x * y + s; out e = exp(x * 0 + 1) }")
        x, y = numbers(100, 70), numbers(100)
        self.same(self.quietly(k, da.from_array(x, chunks=(30, 20)), y, 2.0), k(x, y, 2.0))
        self.same(self.quietly(k, x, y=da.from_array(y, chunks=(17,)), s=2), k(x, y, 2.0))

    def test_gathers_and_windows_go_block_by_block_along_axes_that_they_do_not_move_along(self):
        table, word = numbers(50, 7), np.random.default_rng(3).integers(0, 50, (100, 5))
        lookup = bl.compile("kernel k { in table : f64[v, c]; in word : i64[n, t]; in w : f64[n, t]; out y[n, c] = sum(table[word[n, t], c] * w, t) }")
        w = numbers(100, 5)
        self.same(self.quietly(lookup, table, da.from_array(word, chunks=(30, 5)), w), lookup(table, word, w))
        self.same(self.quietly(lookup, da.from_array(table, chunks=(50, 7)), da.from_array(word, chunks=(17, 5)), w), lookup(table, word, w))
        blur = bl.compile("kernel k { in x : f64[i, j]; out y = x[i, p] + 2 * x[i, p + 1] + x[i, p + 2]; out w = pad(x, j: (1, 1), wrap)[i, q + 2] }")
        x = numbers(60, 40)
        self.same(self.quietly(blur, da.from_array(x, chunks=(16, 40))), blur(x))
        with self.assertRaises(bl.SpecError) as caught:  # the table is needed as a whole
            bl.dask.apply(lookup, da.from_array(table, chunks=(10, 7)), word, w)
        self.assertIn("reads at positions", str(caught.exception))
        self.assertTrue(caught.exception.help)

    def test_folds_of_folds_are_rounds_of_trees(self):
        k = bl.compile("kernel k { in x : f64[i, j]; in y : f64[i]; let d = x - mean(x, j); let s = sqrt(mean(d * d, j)); out skew = mean((d / s) ^ 3, j) * y; "
                       "out l = log(sum(exp((x - max(x, j)) / 1e8), j)); out n = sum(x / extent(j), j) }")
        x, y = numbers(6, 9 * 4096 + 77), numbers(6)
        for chunks in ((6, 4096), (3, 4 * 4096), (2, 8192)):
            with self.subTest(chunks):
                self.same(self.quietly(k, da.from_array(x, chunks=chunks), y), k(x, y))
        rows = bl.compile("kernel k { in x : f64[i, j]; out v = mean((x - mean(x, i)) ^ 2, i) }")
        x = numbers(1000, 6)
        self.same(self.quietly(rows, da.from_array(x, chunks=(256, 3))), rows(x))

    def test_outputs_that_have_the_folded_axis_are_made_block_by_block(self):
        softmax = bl.compile("kernel k { in x : f64[i, j]; in y : f64[i]; let e = exp((x - max(x, j)) / 1e8); out p = e / sum(e, j) * y; out m = max(x, j) }")
        standard = bl.compile("kernel k { in x : f64[i, j]; in w : f64[j]; let d = x - mean(x, j); out z[j, i] = d / sqrt(mean(d * d, j)) * w; out c = sum(x, i) * w }")
        x, y, w = numbers(6, 3 * 4096 + 77), numbers(6), numbers(3 * 4096 + 77)
        for chunks in ((6, 4096), (3, 8192)):
            with self.subTest(chunks):
                self.same(self.quietly(softmax, da.from_array(x, chunks=chunks), y), softmax(x, y))
        self.same(self.quietly(standard, da.from_array(x, chunks=(6, 4096)), w), standard(x, w))

    def test_scans_are_made_block_by_block(self):
        k = bl.compile("kernel k { in x : f64[i, j]; in y : f64[i]; let c = scan(sum, x, j); out total = c * y; out r = scan(logsumexp, x / 1e8, j, reverse); "
                       "out m = max(c, j); out n = scan(sum, x - mean(x, j), j, exclusive) + iota(j) }")
        x, y = numbers(6, 3 * 4096 + 77), numbers(6)
        for chunks in ((6, 4096), (3, 8192)):
            with self.subTest(chunks):
                self.same(self.quietly(k, da.from_array(x, chunks=chunks), y), k(x, y))
        columns = bl.compile("kernel k { in x : f64[i, j]; out c = scan(sum, x, i); out d = scan(max, x, i, reverse) }")
        x = numbers(10000, 6)
        self.same(self.quietly(columns, da.from_array(x, chunks=(4096, 3))), columns(x))
        with self.assertWarns(bl.dask.RechunkWarning):  # leaves of a scan have 4096 positions, whatever lies beside them
            self.same(bl.dask.apply(columns, da.from_array(x, chunks=(1000, 6))), columns(x))
        exact = bl.compile("kernel k { in n : i64[j]; out c = scan(sum, n, j); out m = scan(max, n, j, reverse) }")
        n = np.random.default_rng(3).integers(-9, 9, 1000)
        self.same(self.quietly(exact, da.from_array(n, chunks=70)), exact(n))

    def test_what_is_repeated_along_an_axis_is_not_put_together_of_blocks(self):
        k = bl.compile("kernel k { in x : f64[i=1, j]; in w : f64[i, j]; out z = x * 2; out y = x * w; out s = mean(w, i) + x }")
        x, w = numbers(1, 7), numbers(1000, 7)
        self.same(self.quietly(k, x, da.from_array(w, chunks=(256, 7))), k(x, w))

    def test_frozen_kernels_are_sent_with_their_values(self):
        k = bl.compile("kernel k { in x : f64[i, j]; param w : f64[j]; out s = sum(x * exp(w), j) }")
        x, w = numbers(100, 70), np.linspace(0, 1, 70)
        frozen = k.freeze(w=w)
        self.same(self.quietly(frozen, da.from_array(x, chunks=(30, 70))), k(x, w))
        self.assertRaises(bl.ArgumentError, bl.dask.apply, frozen, x, w)

    def test_what_folds_other_axes_than_those_that_are_cut_goes_block_by_block(self):
        k = bl.compile("kernel k { in x : f64[i, j]; let e = exp(x - max(x, j)); out p = e / sum(e, j); out m = mean(x, j) }")
        x = numbers(100, 300) * 1e-8
        self.same(self.quietly(k, da.from_array(x, chunks=(30, 300))), k(x))
        columns = bl.compile("kernel k { in x : f64[i, j]; out s = sum(x, i) }")
        with self.assertWarns(bl.dask.RechunkWarning):  # a column alone would have another tree
            got = bl.dask.apply(columns, da.from_array(numbers(5000, 7), chunks=(5000, 3)))
        self.same(got, columns(numbers(5000, 7)))

    def test_folds_are_trees_of_folds_of_blocks(self):
        k = bl.compile("kernel k { in x : f64[i, j]; in y : f64[i]; out s = sum(x, j) * y; out v = var(x, j); out a = argmin(x, j); out l = logsumexp(x / 1e8, j) }")
        x, y = numbers(6, 20 * 4096 + 77), numbers(6)
        for chunks in ((6, 4096), (3, 4 * 4096), (2, 8192), (6, 12288)):
            with self.subTest(chunks):
                self.same(self.quietly(k, da.from_array(x, chunks=chunks), y), k(x, y))

    def test_borders_elsewhere_are_moved_with_a_warning(self):
        k = bl.compile("kernel k { in x : f64[j]; out s = sum(x, j); out n = norm(x, j) }")
        x = numbers(50000)
        cut = da.from_array(x, chunks=5000)
        for call in (lambda: bl.dask.apply(k, cut), lambda: k(cut)):
            with self.assertWarns(bl.dask.RechunkWarning) as caught:
                got = call()
            self.same(got, k(x))
            self.assertEqual(caught.filename, __file__)  # at the line of the call
        with self.assertRaisesRegex(AttributeError, "bl.dask.apply"):
            bl.dask.map_overlap
        aligned = bl.dask.align(cut, 0)
        self.assertEqual(aligned.chunks[0][:2], (4096, 4096))
        self.same(self.quietly(k, aligned), k(x))
        self.assertEqual(bl.dask.align(da.zeros((3, 100000), chunks=(3, 20000)), -1).chunks[1][0], 16384)
        with self.assertWarns(bl.dask.RechunkWarning):  # shorter than a leaf
            self.same(bl.dask.apply(k, da.from_array(x[:3000], chunks=1000)), k(x[:3000]))
        exact = bl.compile("kernel k { in x : f64[j]; out m = max(x, j) }")
        self.same(self.quietly(exact, cut), exact(x))

    def test_files_are_read_in_chunks(self):
        x = numbers(100, 70)
        with tempfile.TemporaryDirectory() as folder:
            for array in (x, np.asfortranarray(x), x[0], np.float32(3)):
                path = os.path.join(folder, "x.npy")
                np.save(path, array)
                self.same(bl.dask.load_npy(path, 30), array)
                self.same(bl.dask.load_npy(path), array)

    def test_several_axes_are_folded_from_the_outermost_on(self):
        k = bl.compile("kernel k { in x : f64[i, j]; out s = sum(x); out m = max(x) }")
        x = numbers(100, 512)
        self.same(self.quietly(k, da.from_array(x, chunks=(16, 512))), k(x))
        with self.assertWarns(bl.dask.RechunkWarning):
            got = bl.dask.apply(k, da.from_array(x, chunks=(16, 100)))
        self.same(got, k(x))
        with self.assertRaises(bl.SpecError) as caught:  # rows of 500 have no common borders with leaves
            bl.dask.apply(k, da.from_array(numbers(100, 500), chunks=(16, 500)))
        self.assertIn("power of two", caught.exception.message)

    def test_gradients_of_blocks_are_those_of_the_whole(self):
        k = bl.compile("kernel k { in x : f64[n, p]; in t : f64[n]; in w : f64[p]; out l = sum((sum(x * w, p) - t) ^ 2) }").grad("w")
        x, t, w = numbers(5000, 4), numbers(5000), numbers(4)
        self.same(self.quietly(k, da.from_array(x, chunks=(1024, 4)), t, w, 1.0), k(x, t, w))

    def test_what_needs_neighbours_is_refused_and_says_why(self):
        x = da.zeros((8, 100), chunks=(8, 10))
        ordered = "accumulator f(a; x) { init a = 0. step a = 0.5 * a + x }\n"
        for body, why in (("out z = sum(x[i, k + 1] - x[i, k], k)", "it folds by 'sum'"), ("out z = scan(f, x, j)", "it scans by 'f'"),
                          ("out z = scan(f, x[i, k + 1], k)", "it scans by 'f'")):
            with self.assertRaises(bl.SpecError) as caught:
                bl.dask.apply(bl.compile(f"{ordered}kernel k {{ in x : f64[i, j]; {body} }}"), x)
            self.assertIn(why, caught.exception.message)
            self.assertTrue(caught.exception.help)

    def test_mistakes_in_dask_say_what_to_do(self):
        k = bl.compile("kernel k { in x : f64[i]; in y : f64[i]; out z = x * y }")
        x = da.zeros(100, chunks=10)
        self.assertRaises(bl.DTypeError, bl.dask.apply, k, x, x.astype("f4"))
        self.assertRaises(bl.ShapeError, bl.dask.apply, k, x, da.zeros(90, chunks=10))
        self.assertRaises(bl.ShapeError, bl.dask.apply, k, x, da.zeros((100, 2), chunks=10))
        self.assertRaises(bl.ShapeError, bl.dask.apply, k, x, np.zeros(90))
        self.assertRaises(bl.ShapeError, bl.dask.apply, k, x, np.zeros((1, 100)))
        self.assertRaises(bl.ShapeError, bl.dask.apply, k, x, x[x > 0])
        self.assertRaises(bl.ArgumentError, bl.dask.apply, k, x)
        self.assertRaises(bl.ArgumentError, bl.dask.apply, k, x, x, x)
        self.assertRaises(bl.ArgumentError, bl.dask.apply, k, x, q=x)


def slowly(part, folder):
    """The first worker that comes here says so, and lingers: the test kills it."""
    try:
        os.symlink(str(os.getpid()), os.path.join(folder, "first"))  # at once, or not at all
    except FileExistsError:
        return part
    time.sleep(60)
    return part


class OnClusters(unittest.TestCase):
    def test_one_two_and_four_workers_give_equal_bits(self):
        k = bl.compile("kernel k { in x : f64[i, j]; out s = sum(x, j); out v = var(x, j) }", threads=1)
        x = numbers(5, 16 * 4096 + 99)
        s, v = k(x)
        for workers in (1, 2, 4):
            with cluster(workers) as local, Client(local) as client:
                on = client.run(os.getpid)
                self.assertEqual(len(on), workers)
                self.assertNotIn(os.getpid(), on.values())
                got_s, got_v = client.compute(bl.dask.apply(k, da.from_array(x, chunks=(5, 4096))), sync=True)
                np.testing.assert_array_equal(got_s, s)
                np.testing.assert_array_equal(got_v, v)

    def test_a_worker_that_is_killed_costs_time_and_no_bits(self):
        k = bl.compile("kernel k { in x : f64[j]; out s = sum(x, j); out m = mean(x * x, j) }", threads=1)
        x = numbers(16 * 4096)
        with tempfile.TemporaryDirectory() as folder, cluster(2) as local, Client(local) as client:
            cut = da.from_array(x, chunks=4096).map_blocks(slowly, folder, dtype=x.dtype, meta=np.empty(0))
            future = client.compute(bl.dask.apply(k, cut))
            first = pathlib.Path(folder, "first")
            for _ in range(600):
                if first.is_symlink():
                    break
                time.sleep(0.1)
            os.kill(int(os.readlink(first)), signal.SIGKILL)
            s, m = client.gather(future, errors="raise")
        self.assertEqual((s, m), tuple(k(x)))

    def test_a_file_larger_than_the_memory_of_the_process_is_streamed(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.npy")
            rows, columns = 160 * 1024, 512  # 640 MB of f64
            file = np.lib.format.open_memmap(path, "w+", "f8", (rows, columns))
            for begin in range(0, rows, 8192):
                file[begin:begin + 8192] = np.sin(np.arange(begin, begin + 8192))[:, None] + np.arange(columns)
            del file
            program = """
import re, resource, sys
import numpy as np, dask, dask.array as da, broadloom as bl
k = bl.compile("kernel k { in x : f64[i, j]; out s = sum(x, i); out m = max(x, i) }", threads=1)
k(np.ones((300, 512)))
# What the process allocates; a file that is mapped to be read is no part of it.
now = int(re.search(r"VmData:\\s*(\\d+)", open("/proc/self/status").read())[1]) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (now + 200 * 2 ** 20,) * 2)
try:
    np.load(sys.argv[1])
except MemoryError:
    print("does not fit")
s, m = dask.compute(*bl.dask.apply(k, bl.dask.load_npy(sys.argv[1], (8192, 512))), scheduler="synchronous")
np.savez(sys.argv[2], s=s, m=m)
"""
            made = os.path.join(folder, "made.npz")
            done = subprocess.run([sys.executable, "-c", program, path, made], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (0, "does not fit\n"), done.stderr)
            k = bl.compile("kernel k { in x : f64[i, j]; out s = sum(x, i); out m = max(x, i) }")
            s, m = k(np.load(path, mmap_mode="r"))
            got = np.load(made)
            np.testing.assert_array_equal(got["s"], s)
            np.testing.assert_array_equal(got["m"], m)
