"""Windows, gathers and lets that are arrays on arrays of dask, along the axes that are cut. Named
so that it comes after test_processes.py."""

import unittest
import warnings

from test_with_dask import cluster, numbers  # it says where dask is not installed

import dask
import dask.array as da
import numpy as np
from distributed import Client

import broadloom as bl


def pieces(rng, n):
    """Chunks of n positions: some of one, some shorter than a halo, some empty."""
    chunks = []
    while sum(chunks) < n:
        chunks.append(int(min(rng.choice([0, 1, 1, 2, 3, 5, 8, 13]), n - sum(chunks))))
    return tuple(chunks)


class AlongWindows(unittest.TestCase):
    def setUp(self):
        self.enterContext(dask.config.set(scheduler="synchronous"))
        self.rng = np.random.default_rng(11)

    def same(self, text, *args, cut, tries=4, **named):
        """`cut` says along which dims each of the first inputs is cut, at random."""
        k = bl.compile(text)
        wanted = k(*args)
        wanted = tuple(wanted) if isinstance(wanted, bl.Results) else (wanted,)
        for _ in range(tries):
            given = list(args)
            for n, dims in cut.items():
                chunks = tuple(pieces(self.rng, extent) if d in dims else (extent,) for d, extent in enumerate(args[n].shape))
                given[n] = da.from_array(args[n], chunks=chunks)
            with self.subTest(text, chunks=[arg.chunks for arg in given if isinstance(arg, da.Array)]), warnings.catch_warnings():
                warnings.simplefilter("ignore", bl.dask.RechunkWarning)  # chunks of one position beside folds
                got = bl.dask.apply(k, *given)
                for a, b in zip(got if isinstance(got, tuple) else (got,), wanted):
                    self.assertEqual((a.shape, a.dtype), (b.shape, b.dtype))
                    made = a.compute()
                    self.assertEqual(made.shape, b.shape)
                    self.assertEqual(made.tobytes(), b.tobytes())

    def test_stencils_have_the_bits_of_one_call_for_any_chunks(self):
        x, y = numbers(60), numbers(41)
        self.same("kernel k { in x : f64[:]; out d = x[i + 1] - x[i] }", x, cut={0: [0]})
        self.same("kernel k { in x : f64[:]; out d = x[i + 7] - 2 * x[i + 3] + x[i] }", x, cut={0: [0]})
        self.same("kernel k { in x : f64[:]; out r = x[-i]; out s = x[59 - i] * x[i] }", x, cut={0: [0]})
        self.same("kernel k { in x : f64[:]; in y : f64[:]; out z = x[2*i + 1] * y[i + 3] - y[i] }", x, y, cut={0: [0], 1: [0]})
        self.same("kernel k { in x : f64[:]; in y : f64[:]; out z[i < 20] = x[i + 9] / y[2*i] }", x, y, cut={1: [0]})
        self.same("kernel k { in x : f64[a, b]; in y : f64[c, b]; out z = x[i + 1, b] * y[i, b] }", numbers(20, 6), numbers(19, 6), cut={0: [0, 1], 1: [0, 1]})

    def test_dtypes_of_all_kinds_have_halos(self):
        for dtype in ("f4", "i2", "u1", "c8", "?", "f8"):
            word = {"?": "bool", "i2": "i16", "u1": "u8", "c8": "c64", "f4": "f32", "f8": "f64"}[dtype]
            x = (numbers(50, 3) * 1e3).astype("c8" if dtype == "c8" else "f8")
            x = (x > 0) if dtype == "?" else np.nan_to_num(x % 100 if dtype != "c8" else x).astype(dtype)
            self.same(f"kernel k {{ in x : {word}[:, :]; out z = where(x[i + 2, c] == x[i, c], x[i + 1, c], x[i, c]) }}", x, cut={0: [0, 1]}, tries=2)

    def test_sums_of_taps_have_the_trees_of_the_whole(self):
        x, w = numbers(40, 30), numbers(3, 5)
        self.same("kernel k { in x : f64[:, :]; in w : f64[u, v]; out y = sum(x[p + u, q + v] * w, u, v) }", x, w, cut={0: [0, 1]})
        self.same("kernel k { in x : f64[:, :]; in w : f64[u, v]; out y = sum(x[p + 3*u, 2*q + v] * w, u, v) }", x, w, cut={0: [0, 1]})
        self.same("kernel k { in x : f64[:, :]; out y[p, q] = max(x[2*p + u, 2*q + v], u < 2, v < 2) }", x, cut={0: [0, 1]})
        self.same("kernel k { in x : f32[:, :, :]; in w : f32[u=3, c, o]; out y = sum(x[n, p + u, c] * w, u, c) }",
                  numbers(6, 20, 4).astype("f4"), numbers(3, 4, 5).astype("f4"), cut={0: [0, 1]})
        # As many positions as would let two dims be one in a block, and not in the whole.
        self.same("kernel k { in x : f64[:, :, :]; out y = sum(x[u, p + 3*v, w], u, v < 2, w) }", numbers(4, 30, 3), cut={0: [1]}, tries=8)

    def test_borders_stand_at_the_ends_of_the_whole(self):
        x, w = numbers(30, 20), numbers(3, 3)
        for mode in ("zero", "edge", "reflect", "wrap", "2.5"):
            self.same(f"kernel k {{ in x : f64[:, :]; in w : f64[u, v]; out y[p, q] = sum(pad(x, 0: (1, 1), 1: (2, 0), {mode})[p + u, q + v] * w, u, v) }}",
                      x, w, cut={0: [0, 1]}, tries=3)
        self.same("kernel k { in x : f64[:]; out y = pad(x, 0: (9, 40), reflect)[k] }", numbers(7), cut={0: [0]})
        self.same("kernel k { in x : f64[:]; out y = pad(x, 0: (9, 40), wrap)[k + 1] - pad(x, 0: (1, 49))[k] }", numbers(7), cut={0: [0]})

    def test_a_step_of_heat_exchanges_halos_along_both_axes(self):
        heat = bl.compile("kernel heat { in u : f64[:, :]; let p = pad(u, 0: (1, 1), 1: (1, 1), edge); "
                          "out v[i, j] = p[i + 1, j + 1] + 0.1 * (p[i, j + 1] + p[i + 2, j + 1] + p[i + 1, j] + p[i + 1, j + 2] - 4 * p[i + 1, j + 1]) }")
        u = numbers(24, 18)
        cut, whole = da.from_array(u, chunks=(7, 5)), u
        with warnings.catch_warnings():
            warnings.simplefilter("error", bl.dask.RechunkWarning)
            for _ in range(3):
                cut, whole = bl.dask.apply(heat, cut), heat(whole)
        self.assertEqual(cut.chunks, ((7, 7, 7, 3), (5, 5, 5, 3)))
        self.assertEqual(cut.compute().tobytes(), whole.tobytes())

    def test_a_task_is_given_its_halo_and_no_more(self):
        seen = []
        x = numbers(1000)

        def noted(block, block_info=None):
            seen.append(block_info[0]["array-location"][0])
            return block

        cut = da.from_array(x, chunks=100).map_blocks(noted, dtype=x.dtype, meta=np.empty(0))
        k = bl.compile("kernel k { in x : f64[:]; out d = pad(x, 0: (1, 1), reflect)[i + 2] - x[i] }")
        got = bl.dask.apply(k, cut)
        self.assertEqual(got.chunks, ((100,) * 10,))
        self.assertEqual(got.blocks[4].compute().tobytes(), k(x)[400:500].tobytes())
        self.assertEqual(sorted(seen), [(400, 500), (500, 600)])
        seen.clear()
        self.assertEqual(got.blocks[9].compute().tobytes(), k(x)[900:].tobytes())
        self.assertEqual(sorted(seen), [(900, 1000)])

    def test_lets_that_are_arrays_are_arrays_of_dask_in_between(self):
        self.same("kernel k { in x : f64[:]; let d = x[i + 1] - x[i]; out y = d[i + 1] - d[i] }", numbers(50), cut={0: [0]})
        self.same("kernel net { in x : f64[:, :, :]; in w : f64[u=3, v=3, c, o]; let h[i, j, o] = fmax(sum(x[i + u, j + v, c] * w, u, v, c), 0); "
                  "out y[i, j, o] = max(h[2*i + p, 2*j + q, o], p < 2, q < 2) }", numbers(22, 14, 4), numbers(3, 3, 4, 5), cut={0: [0, 1]})
        self.same("kernel net { in x : f32[:, :, :, :]; in w1 : f32[u=3, v=3, c, o]; in w2 : f32[u=3, v=3, o, p]; "
                  "let h[n, i, j, o] = fmax(sum(x[n, i + u, j + v, c] * w1, u, v, c), 0); let g[n, i, j, p] = fmax(sum(h[n, i + u, j + v, o] * w2, u, v, o), 0); "
                  "out y[n, p] = mean(mean(g, j), i) }", numbers(4, 12, 9, 3).astype("f4"), numbers(3, 3, 3, 4).astype("f4"), numbers(3, 3, 4, 2).astype("f4"),
                  cut={0: [0]})

    def test_lets_lie_as_they_do_in_one_call(self):
        text = "kernel k { in x : f64[:, :, :]; let h[c, i, j] = x[i + 1, j, c] * 1.5; out y[i, j] = sum(h[c, i + u, j + v], u < 3, v < 3, c) }"
        x = numbers(20, 18, 7)
        ((_, order),) = bl.compile(text)._lets([(x.shape, [0, 1, 2])])
        self.assertNotEqual(order, [0, 1, 2])
        self.same(text, x, cut={0: [0, 1]})
        k = bl.compile("kernel k { in x : f64[:, :]; let h[c, i] = x[i + 1, c] * 1.5; out y = sum(h, i); out z = max(h, i) }")
        with self.assertRaises(bl.SpecError) as caught:
            bl.dask.apply(k, da.from_array(numbers(50, 9), chunks=(10, 9)))
        self.assertIn("list the dims of the let in that order", caught.exception.help)

    def test_a_fold_of_a_let_with_windows_is_a_tree_of_blocks(self):
        k = bl.compile("kernel k { in x : f64[:]; let d[i] = x[i + 1] - x[i]; out s = sum(d * d, i); out m = mean(d, i); out v = var(d, i) }")
        x = numbers(3 * 4096 + 77)
        with warnings.catch_warnings():
            warnings.simplefilter("error", bl.dask.RechunkWarning)
            got = bl.dask.apply(k, da.from_array(x, chunks=4096))
        for a, b in zip(got, k(x)):
            self.assertEqual(a.compute(), b)

    def test_tables_are_whole_and_what_looks_them_up_is_cut(self):
        x, at, w = numbers(50), self.rng.integers(0, 50, 37), numbers(9, 4)
        self.same("kernel k { in x : f64[:]; in k : i64[:]; out y = x[k[i]] }", x, at, cut={1: [0]})
        self.same("kernel k { in x : f64[:]; in k : i64[:]; out y = x[wrap(k[i] + i)] - pad(x, 0: (3, 3), edge)[k[i] + 2] }", x, at, cut={1: [0]})
        self.same("kernel k { in t : f64[:, :]; in k : i64[:, :]; out y = sum(t[k[n, m], c], m) }", w, self.rng.integers(0, 9, (20, 3)), cut={0: [1], 1: [0]})
        k = bl.compile("kernel k { in x : f64[:]; in k : i64[:]; out y = x[k[i]] }")
        with self.assertRaises(bl.SpecError) as caught:
            bl.dask.apply(k, da.from_array(x, chunks=10), at)
        self.assertIn("reads at positions", caught.exception.message)
        self.assertIn("rechunk", caught.exception.help)
        with self.assertRaises(bl.DataError) as caught:
            bl.dask.apply(k, x, da.from_array(at + 20, chunks=10)).compute()
        self.assertEqual(caught.exception.code, "E0315")

    def test_histograms_of_integers_add_up_in_any_order(self):
        k, w = self.rng.integers(0, 9, 200), self.rng.integers(-2**62, 2**62, 200)
        bins = np.zeros(9, "i8")
        self.same("kernel k { in bins : i64[:]; in k : i64[:]; out h = sum(1, like=bins[k[i]]) }", bins, k, cut={1: [0]})
        self.same("kernel k { in bins : i64[:]; in k : i64[:]; in w : i64[:]; out h = sum(w[i], like=bins[k[i]]); out n = sum(1, like=bins[k[i]]) }",
                  bins, k, w, cut={1: [0], 2: [0]})
        self.same("kernel k { in bins : i64[:, :]; in k : i64[n, t]; in w : i64[n, c]; out h = sum(w, like=bins[k[n, t], c]) }",
                  np.zeros((9, 3), "i8"), k.reshape(40, 5), w[:120].reshape(40, 3), cut={1: [0, 1], 2: [0]})
        for text in ("in bins : f64[:]; in k : i64[:]; in w : f64[:]; out h = sum(w[i], like=bins[k[i]])",
                     "in bins : f64[:]; in k : i64[:]; in w : f64[:]; out h[k[i]] += w[i] + 0 * bins[i + 0]"):
            with self.subTest(text), self.assertRaises(bl.SpecError) as caught:  # of other numbers the order counts
                bl.dask.apply(bl.compile(f"kernel k {{ {text} }}"), np.zeros(9), da.from_array(k, chunks=30), np.ones(200))
            self.assertIn("in the order in which all of them stand", caught.exception.message)

    def test_positions_are_counted_from_the_first_block_on(self):
        x = numbers(20, 30)
        self.same("kernel k { in x : f64[i, j]; out lower = where(iota(j) <= iota(i), x, 0); out share = x / extent(j) }", x, cut={0: [0, 1]})
        self.same("kernel k { in x : f64[:]; out y = x[i + 1] * iota(i) + extent(i) }", x[0], cut={0: [0]})

    def test_gradients_through_windows_go_block_by_block(self):
        k = bl.compile("kernel k { in x : f64[:]; in w : f64[u]; out y = sum(x[i + u] * w, u) }").grad("x")
        x, w, d = numbers(40), numbers(3), numbers(38)
        wanted = k(x, w, d)
        for _ in range(4):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", bl.dask.RechunkWarning)
                got = bl.dask.apply(k, da.from_array(x, chunks=9), w, da.from_array(d, chunks=(pieces(self.rng, 38),)))
            self.assertEqual(got.compute().tobytes(), wanted.tobytes())

    def test_frozen_kernels_have_halos(self):
        k = bl.compile("kernel k { in x : f64[:]; param w : f64[u]; let h[i] = sum(x[i + u] * w, u); out y = h[i + 1] / h[i] }")
        x, w = numbers(40), np.array([1.0, 2.0, 1.0])
        got = bl.dask.apply(k.freeze(w=w), da.from_array(x, chunks=6))
        self.assertEqual(got.compute().tobytes(), k(x, w).tobytes())

    def test_empty_arrays_and_outputs_of_no_positions_are_one_block(self):
        self.same("kernel k { in x : f64[:]; out d[i < extent(x, 0) - 2] = x[i + 2] - x[i] }", numbers(2), cut={0: [0]}, tries=2)
        self.same("kernel k { in x : f64[:, :]; out d = x[i + 1, c] - x[i, c] }", numbers(9, 0), cut={0: [0]}, tries=2)
        self.same("kernel k { in x : f64[:, :]; out d = pad(x, 0: (2, 1))[i, c] }", numbers(0, 4), cut={0: [1]}, tries=2)

    def test_what_stays_out_says_what_to_do(self):
        x = da.zeros(100, chunks=10)
        for text, why, help in (
            ("in x : f64[:]; out s = sum(x[i + 1] - x[i], i)", "folds by 'sum' along it", "let d[i]"),
            ("in x : f64[:]; out d = x[i + 1] - x[i]; out s = sum(x[i + 1], i)", "folds by 'sum' along it", "let d[i]"),
            ("in x : f64[:]; out d = x[i + 1] - x[i]; out e = x[k + 1]", "output 'e' does not have it", "a kernel of its own"),
            ("in x : f64[:]; out c = scan(sum, x[i + 1] - x[i], i)", "scans by 'sum' along it", "let d[i]"),
            ("in x : f64[:]; in d : f64[:]; out g = sum(d[i] + 0 * x[k + 1], like=x[2*i + 1])", "", "rechunk"),
            ("in x : f64[:]; let h[t] = 0.5 * h[t - 1] + x[t] from 0; out y = h[t + 1] - h[t]", "step by step along it", "another axis"),
        ):
            with self.subTest(text), self.assertRaises(bl.SpecError) as caught:
                k = bl.compile(f"kernel k {{ {text} }}")
                bl.dask.apply(k, *[x] * len(k.inputs))
            self.assertEqual(caught.exception.code, "E0060")
            self.assertIn(why, caught.exception.message)
            self.assertIn(help, caught.exception.help)
        with self.assertRaises(bl.ShapeError) as caught:  # as of one call
            bl.dask.apply(bl.compile("kernel k { in x : f64[i]; out d = x[i + 1] - x[i] }"), x)
        self.assertEqual(caught.exception.code, "E0142")


    def test_any_engine_and_several_threads_have_the_same_bits(self):
        text = "kernel k { in x : f64[:, :]; in w : f64[u, v]; out y[p, q] = sum(pad(x, 0: (1, 1), 1: (1, 1), edge)[p + u, q + v] * w, u, v) }"
        x, w = numbers(40, 30), numbers(3, 3)
        wanted = bl.compile(text)(x, w).tobytes()
        for engine in ("jit", "interpreter"):
            k = bl.compile(text, engine=engine)
            self.assertEqual(bl.dask.apply(k, da.from_array(x, chunks=(7, 11)), w).compute(scheduler="threads", num_workers=4).tobytes(), wanted)
        with self.assertRaises(bl.SpecError) as caught:
            bl.dask.apply(bl.compile(text, engine="reference"), da.from_array(x, chunks=(7, 11)), w)
        self.assertIn("reference", caught.exception.message)


class OnClusters(unittest.TestCase):
    def test_workers_send_each_other_their_halos(self):
        k = bl.compile("kernel k { in x : f64[:, :]; in w : f64[u, v]; out y[i, j] = sum(pad(x, 0: (1, 1), 1: (1, 1), edge)[i + u, j + v] * w, u, v) }", threads=1)
        x, w = numbers(60, 40), numbers(3, 3)
        with cluster(2) as local, Client(local) as client:
            got = client.compute(bl.dask.apply(k, da.from_array(x, chunks=(13, 11)), w), sync=True)
        self.assertEqual(got.tobytes(), k(x, w).tobytes())

    def test_stages_are_taken_from_the_kernel_that_workers_are_sent(self):
        k = bl.compile("kernel k { in x : f64[:]; let d = x[i + 1] - x[i]; let e = x[i + 3] * x[i]; out y = d[i] * e[i]; out z = d[i + 1] }", threads=1)
        x = numbers(50)
        with cluster(1) as local, Client(local) as client:
            got = client.compute(bl.dask.apply(k, da.from_array(x, chunks=7)), sync=True)
        for a, b in zip(got, k(x)):
            self.assertEqual(a.tobytes(), b.tobytes())
