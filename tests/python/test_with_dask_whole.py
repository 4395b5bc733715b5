"""Loops over time and joins on arrays of dask, along the axes that are cut. Named so that it comes
after test_processes.py."""

import unittest
import warnings

from test_with_dask import cluster, numbers  # it says where dask is not installed
from test_with_dask_windows import pieces

import dask
import dask.array as da
import numpy as np
from distributed import Client

import broadloom as bl

HEAT = ("let u[t < 6, i, j] = pad(u, 1: (1, 1), 2: (1, 1), edge)[t - 1, i + 1, j + 1] + 0.1 * (pad(u, 1: (1, 1), 2: (1, 1), edge)[t - 1, i, j + 1]"
        " + pad(u, 1: (1, 1), 2: (1, 1), edge)[t - 1, i + 2, j + 1] - pad(u, 1: (1, 1), 2: (1, 1), edge)[t - 1, i + 1, j]"
        " - pad(u, 1: (1, 1), 2: (1, 1), edge)[t - 1, i + 1, j + 2]) from u0")


class Whole(unittest.TestCase):
    def setUp(self):
        self.enterContext(dask.config.set(scheduler="synchronous"))
        self.rng = np.random.default_rng(12)

    def same(self, text, *args, cut, tries=3, chunks=None):
        """`cut` says along which dims each of the first inputs is cut, at random or as `chunks`
        say."""
        k = bl.compile(text)
        wanted = k(*args)
        wanted = tuple(wanted) if isinstance(wanted, bl.Results) else (wanted,)
        for _ in range(tries):
            given = list(args)
            for n, dims in cut.items():
                of = tuple((chunks or pieces(self.rng, extent)) if d in dims else (extent,) for d, extent in enumerate(args[n].shape))
                given[n] = da.from_array(args[n], chunks=of)
            with self.subTest(text, chunks=[arg.chunks for arg in given if isinstance(arg, da.Array)]), warnings.catch_warnings():
                warnings.simplefilter("ignore", bl.dask.RechunkWarning)
                got = bl.dask.apply(k, *given)
                for a, b in zip(got if isinstance(got, tuple) else (got,), wanted):
                    self.assertEqual((a.shape, a.dtype), (b.shape, b.dtype))
                    made = a.compute()
                    self.assertEqual(made.tobytes(), b.tobytes())


class Loops(Whole):
    def test_loops_over_time_go_block_by_block_in_space(self):
        u = numbers(40)
        self.same("kernel k { in u0 : f64[:]; let u[t < 5, i] = u[t - 1, i] / 2 + pad(u, 1: (1, 1), reflect)[t - 1, i] / 4 from u0; out y[i] = u[-1, i]; "
                  "out z[t, i] = u }", u, cut={0: [0]})
        self.same("kernel k { in u0 : f64[:]; in v0 : f64[:]; let u[t < 4, i] = u[t - 1, i] + 0.1 * v[t - 1, i] from u0\n"
                  "let v[t < 4, i] = v[t - 1, i] - pad(u, 1: (2, 0))[t, i] from v0\nout a[i] = u[-1, i]; out b[i] = v[-1, i] }", u, numbers(40)[::-1].copy(),
                  cut={0: [0], 1: [0]})
        self.same(f"kernel k {{ in u0 : f64[:, :]; {HEAT}; out y[i, j] = u[-1, i, j] }}", numbers(20, 18), cut={0: [0, 1]})
        self.same("kernel k { in x : f32[t, n, c]; in w : f32[c, d]; let h[t, n, d] = 0.5 * h[t - 1, n, d] + sum(x * w, c); out y[n, d] = h[-1, n, d] }",
                  numbers(6, 30, 4).astype("f4"), numbers(4, 3).astype("f4"), cut={0: [1]})

    def drawn(self):
        """A loop of one or two lets over steps that go either way, with lags, borders, taps and a
        let before and behind."""
        pick = lambda *of: of[self.rng.integers(len(of))]
        back = pick("-", "-", "+")
        steps = int(self.rng.integers(1, 7))

        def read(let, now=False):
            before, after = int(self.rng.integers(0, 3)), int(self.rng.integers(0, 3))
            mode = pick("", ", edge", ", reflect", ", 2.5")
            at = "t" if now else f"t {back} {pick(1, 1, 2)}"
            if not before + after:
                return f"{let}[{at}, i]"
            return f"pad({let}, 1: ({before}, {after}){mode})[{at}, i + {self.rng.integers(0, before + after + 1)}]"

        tap = f"sum(pad(u, 1: (1, 1), edge)[t {back} 1, i + q] * w, q)"
        u = " + ".join([read("u") + " * 0.5", pick(read("u"), tap, "v[t, i]" if back == "?" else read("v")), pick("x[t, i]", "x[t, i] * g[i]", "0.25")])
        v = " - ".join([read("v"), pick(read("u", now=True), read("u"))])
        behind = pick("u[t, i]", "u[t, i] + v[t, i]", "u[t, i] * x[t, i]")
        return ("kernel k { in x : f64[t, i]; in u0 : f64[:]; in w : f64[q=3]; "
                f"let g[i] = u0[i] * 1.5; let u[t < {steps}, i] = {u} from {pick('u0', 'g', '0.5')}; let v[t < {steps}, i] = {v} from {pick('g', '1')}; "
                f"out a[t, i] = {behind}; out b[i] = u[{pick(0, -1)}, i] + pad(g, 0: (1, 1))[i + {pick(0, 1, 2)}] }}"), steps

    def test_random_loops_have_the_bits_of_one_call(self):
        done = 0
        for _ in range(60):
            text, steps = self.drawn()
            n = int(self.rng.integers(8, 60))
            try:
                bl.compile(text)(numbers(steps, n), numbers(n), numbers(3))
            except bl.Error:  # some extent does not fit
                continue
            done += 1
            self.same(text, numbers(steps, n), numbers(n), numbers(3), cut={0: [1], 1: [0]}, tries=2)
        self.assertGreater(done, 20)

    def test_a_block_is_given_as_much_as_its_steps_reach_and_no_more(self):
        seen = []
        x = numbers(1000)

        def noted(block, block_info=None):
            seen.append(block_info[0]["array-location"][0])
            return block

        k = bl.compile("kernel k { in u0 : f64[:]; let u[t < 30, i] = pad(u, 1: (1, 1))[t - 1, i + 2] from u0; out y[i] = u[-1, i] }")
        cut = da.from_array(x, chunks=100).map_blocks(noted, dtype=x.dtype, meta=np.empty(0))
        got = bl.dask.apply(k, cut)
        self.assertEqual(got.chunks, ((100,) * 10,))
        self.assertEqual(got.blocks[4].compute().tobytes(), k(x)[400:500].tobytes())
        self.assertEqual(sorted(seen), [(400, 500), (500, 600)])

    def test_blocks_shorter_than_their_halos_are_told(self):
        k = bl.compile("kernel k { in u0 : f64[:]; let u[t < 300, i] = pad(u, 1: (1, 1))[t - 1, i + 2] from u0; out y[i] = u[-1, i] }")
        x = numbers(1000)
        with self.assertWarns(bl.dask.RechunkWarning) as caught:
            got = bl.dask.apply(k, da.from_array(x, chunks=50))
        self.assertIn("use larger chunks", str(caught.warning))
        self.assertEqual(got.compute().tobytes(), k(x).tobytes())
        with warnings.catch_warnings():
            warnings.simplefilter("error", bl.dask.RechunkWarning)
            bl.dask.apply(k, da.from_array(x, chunks=500))

    def test_gradients_of_loops_say_why_or_have_the_bits_of_one_call(self):
        k = bl.compile("kernel k { in u0 : f64[:]; let u[t < 4, i] = u[t - 1, i] / 2 + pad(u, 1: (1, 1))[t - 1, i] / 4 from u0; out y[i] = u[-1, i]^2 }").grad("u0")
        x, d = numbers(60), numbers(60)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", bl.dask.RechunkWarning)
                got = bl.dask.apply(k, da.from_array(x, chunks=13), da.from_array(d, chunks=13)).compute()
        except bl.SpecError as error:
            self.assertEqual(error.code, "E0060")
        else:
            self.assertEqual(got.tobytes(), k(x, d).tobytes())

    def test_what_stays_out_says_why(self):
        x = da.from_array(numbers(60), chunks=10)
        start = "in u0 : f64[:]; let u[t < 3, i] = u[t - 1, i] * 0.5 from u0; "
        for text, why in (
            (start + "out y[i] = u[-1, i] * iota(i)", "numbers its positions"),
            (start + "out y[i] = u[-1, -i]", "does not move position by position"),
            (start + "out y[i] = pad(u, 1: (1, 1), wrap)[-1, i]", "wraps around"),
            (start + "out y[i] = u[-1, i] - max(u[-1, k], k)", "all of 'u' is read at once"),
            (start + "out s = sum(u[-1, i], i)", "no output has it"),
        ):
            with self.subTest(text), self.assertRaises(bl.SpecError) as caught:
                bl.dask.apply(bl.compile(f"kernel k {{ {text} }}"), x)
            self.assertEqual(caught.exception.code, "E0060")
            self.assertIn(why, caught.exception.message)
            self.assertIn("rechunk", caught.exception.help)

    def test_folds_in_another_order_than_in_one_call_are_refused(self):
        k = bl.compile("kernel k { in x : f64[:, :, :]; let h[t < 2, p] = 0.5 * h[t - 1, p] + sum(x[u, p + 3*v, w], u, v < 2, w); out y[p] = h[-1, p] }")
        x = numbers(4, 30, 3)
        self.assertEqual(bl.dask.apply(k, da.from_array(x, chunks=(4, 15, 3))).compute().tobytes(), k(x).tobytes())
        with self.assertRaises(bl.SpecError) as caught, warnings.catch_warnings():
            warnings.simplefilter("ignore", bl.dask.RechunkWarning)
            bl.dask.apply(k, da.from_array(x, chunks=(4, 3, 3)))
        self.assertIn("in another order", caught.exception.message)


class Joins(Whole):
    def test_arrays_are_put_one_behind_the_other_along_the_axis_that_is_cut(self):
        x, y = numbers(30), numbers(17)
        self.same("kernel k { in x : f64[:]; in y : f64[:]; let z[i] = concat(i, x[i], y[i] * 2, x[i + 1] - x[i]); out d = z[i + 1] - z[i] }", x, y,
                  cut={0: [0], 1: [0]})
        self.same("kernel k { in x : f64[:]; in y : f64[:]; out z[i] = concat(i, x[i], y[i]) }", x, y, cut={0: [0], 1: [0]})
        self.same("kernel k { in x : f64[:, :]; in y : f64[:, :]; let z[i, c] = concat(c, x[i, c], exp(y[i, c])); "
                  "out s = sum(z[i + u, c], c, u < 2) }", (numbers(20, 3) % 2), numbers(20, 2) % 2, cut={0: [0], 1: [0]})

    def test_arrays_are_stacked(self):
        x, y = numbers(30), numbers(30)
        self.same("kernel k { in x : f64[i]; in y : f64[i]; let z[k, i] = stack(k, x, y); out d = z[k, j + 1] - z[k, j] }", x, y, cut={0: [0], 1: [0]})
        self.same("kernel k { in x : f64[i]; in y : f64[i]; let z[i, k] = stack(k, x, y); out s = sum(z, k); out m = max(z, i) }", x, y,
                  cut={0: [0], 1: [0]})

    def test_parts_lie_at_positions(self):
        x, y = numbers(30), numbers(30)
        self.same("kernel k { in x : f64[n]; in y : f64[n]; out z[2*i] = x[i]; out z[2*i + 1] = y[i] * 2 }", x, y, cut={0: [0], 1: [0]})
        self.same("kernel k { in x : f64[:, :]; in y : f64[:, :]; out z[i, j] = x[i, j]; out z[i, j + extent(x, 1)] = y[i, j]; "
                  "out z[i + extent(x, 0), j < extent(x, 1) + extent(y, 1)] = x[i, 0] * 0 }", numbers(11, 4), numbers(11, 5), cut={0: [0, 1], 1: [0]})

    def test_sums_of_what_lies_in_another_array_are_refused(self):
        k = bl.compile("kernel k { in x : f64[:, :]; let a[i, j] = x[i, j + 1] * 2; let z[i, r] = concat(r, a[i, r], x[i, r]); out s = sum(a, i, j); out d = z[i, r + 1] }")
        x = numbers(20, 6)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", bl.dask.RechunkWarning)
                got = bl.dask.apply(k, da.from_array(x, chunks=(5, 6)))
        except bl.SpecError as error:
            self.assertEqual(error.code, "E0060")
        else:
            for a, b in zip(got, k(x)):
                self.assertEqual(a.compute().tobytes(), b.tobytes())


class OnClusters(unittest.TestCase):
    def test_workers_send_each_other_what_loops_reach(self):
        k = bl.compile(f"kernel k {{ in u0 : f64[:, :]; {HEAT}; out y[i, j] = u[-1, i, j] }}", threads=1)
        u = numbers(60, 40)
        with cluster(2) as local, Client(local) as client:
            got = client.compute(bl.dask.apply(k, da.from_array(u, chunks=(25, 20))), sync=True)
        self.assertEqual(got.tobytes(), k(u).tobytes())
