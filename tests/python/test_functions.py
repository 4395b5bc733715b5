"""Functions of NumPy's that lazy arrays are given to, each against NumPy, and the table of them on
docs/python.md.

BROADLOOM_BLESS=1 rewrites the table.
"""

import os
import pathlib
import unittest
import warnings

import numpy as np

import broadloom as bl
from broadloom import lazy_numpy, lazy_ops, lazy_ufuncs

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "python.md"
M = np.arange(12.0).reshape(3, 4) / 4 - 1
W = np.sin(np.arange(12.0)).reshape(3, 4)
N = np.array([[1.0, np.nan, -2.0, 0.0], [np.nan] * 4, [3.0, 4.0, np.inf, -0.0]])
V = np.array([3.0, -1.0, 2.5, 0.0, 1.0])
K = np.array([2, 0, -1, 1])
B = M > 0.3
CASES = {  # by the name of the function: what is computed of lazy arrays
    "concatenate": [lambda m, w: np.concatenate([m * 2, w]), lambda m, w: np.concatenate([m, w.sum(1, keepdims=True), m], axis=1),
                    lambda m, w: np.concatenate([m, w], axis=None), lambda m, w: np.concatenate([m.T, w.T], axis=-1) + 1],
    "stack": [lambda m, w: np.stack([m + 1, w]), lambda m, w: np.stack([m, w, m], axis=-1), lambda m, w: np.stack([m.sum(), w.max()])],
    "vstack": [lambda m, w: np.vstack([m[0] * 2, w])], "hstack": [lambda m, w: np.hstack([m, w]), lambda m, w: np.hstack([m[0] + 1, w[1]])],
    "dstack": [lambda m, w: np.dstack([m, w * 2])], "column_stack": [lambda m, w: np.column_stack([m[:, 0] * 2, w])],
    "append": [lambda m, w: np.append(m * 2, w, axis=0), lambda m, w: np.append(m, w)],
    "tile": [lambda m, w: np.tile(m + 1, 2), lambda m, w: np.tile(m, (2, 1, 3)), lambda m, w: np.tile(m[0] * 2, (2, 2))],
    "repeat": [lambda m, w: np.repeat(m * 2, 3, axis=1), lambda m, w: np.repeat(m[0], [1, 0, 2, 1]), lambda m, w: np.repeat(m + 1, 2)],
    "delete": [lambda m, w: np.delete(m * 2, 1, axis=1), lambda m, w: np.delete(m, [0, 2], axis=0)],
    "roll": [lambda m, w: np.roll(m * 2, 1, axis=1), lambda m, w: np.roll(m, (1, -2), axis=(0, 1)), lambda m, w: np.roll(m + 1, 5), lambda m, w: np.roll(m[0], 2)],
    "pad": [lambda m, w: np.pad(m * 2, 1), lambda m, w: np.pad(m, ((1, 0), (0, 2)), "edge"), lambda m, w: np.pad(m + 1, 2, "wrap"),
            lambda m, w: np.pad(m, 2, "reflect"), lambda m, w: np.pad(m, 1, "symmetric"), lambda m, w: np.pad(m, 1, constant_values=-1),
            lambda m, w: np.pad(m[:0], 1), lambda m, w: np.pad(m[:, :0] * 2, ((0, 1), (2, 1)), constant_values=3)],
    "diff": [lambda m, w: np.diff(m * w), lambda m, w: np.diff(m * w, n=2, axis=0), lambda m, w: np.diff(w, prepend=0), lambda m, w: np.diff(m > w),
             lambda m, w: np.diff(w * 2, axis=1, append=m)],
    "split": [lambda m, w: np.split(m * 2, 2, axis=1)[1], lambda m, w: np.split(m, [1], axis=0)[1] * 2],
    "array_split": [lambda m, w: np.array_split(m * 2, 3, axis=1)[0]], "hsplit": [lambda m, w: np.hsplit(m * 2, 2)[1]],
    "vsplit": [lambda m, w: np.vsplit(m * 2, 3)[1]], "dsplit": [lambda m, w: np.dsplit(np.stack([m, w], axis=-1), 2)[1]],
    "convolve": [lambda m, w: np.convolve(m[0] * 2, w[1]), lambda m, w: np.convolve(m[:, 0] + 1, w[1], "same"),
                 lambda m, w: np.convolve(m[0], w[:, 0], "valid"), lambda m, w: np.convolve(m[0], w[:2, 0] * 2, "same"),
                 lambda m, w: np.convolve(m[:2, 0], w[0], "same")],
    "correlate": [lambda m, w: np.correlate(m[0] * 2, w[:, 0]), lambda m, w: np.correlate(m[0], w[:, 0] + 1, "full"), lambda m, w: np.correlate(m[0], w[:, 0], "same"),
        lambda m, w: np.correlate(m[:, 0], w[0], "full"), lambda m, w: np.correlate(m[0], w[:2, 0], "same"), lambda m, w: np.correlate(m[:, 0], w[0]),
                  lambda m, w: np.correlate(m[:2, 0], w[0], "same"), lambda m, w: np.correlate(m[:, 0], w[0], "same")],
    "take": [lambda m, w, k: np.take(m * 2, k, axis=1), lambda m, w, k: np.take(m[0], k + 9, mode="wrap"),
             lambda m, w, k: np.take(m, k * 9, axis=0, mode="clip"), lambda m, w, k: np.take(m, k.reshape(2, 2) * 1, axis=1)],
    "take_along_axis": [lambda m, w, k: np.take_along_axis(m * 2, k[:3, None], axis=1), lambda m, w, k: np.take_along_axis(m, k[None, :] * 0 + 1, axis=0)],
    "tril": [lambda m, w: np.tril(m * 2), lambda m, w: np.tril(m, -1), lambda m, w: np.tril(np.stack([m, w]), 1)],
    "triu": [lambda m, w: np.triu(m * 2), lambda m, w: np.triu(m, 2)],
    "diag": [lambda m, w: np.diag(m * 2), lambda m, w: np.diag(m[0] * 2), lambda m, w: np.diag(m[0], 2), lambda m, w: np.diag(m[0], -1)],
    "diagflat": [lambda m, w: np.diagflat(m[:2, :2] * 2)],
    "trace": [lambda m, w: np.trace(m * w), lambda m, w: np.trace(m, 1), lambda m, w: np.trace(np.stack([m, w]), axis1=1, axis2=2)],
    "meshgrid": [lambda m, w: np.meshgrid(m[0] * 2, w[:, 0])[0], lambda m, w: np.meshgrid(m[0], w[:, 0], indexing="ij")[1] * 2,
                 lambda m, w: np.meshgrid(m[0] * 2, w[:, 0], sparse=True)[1] + 1],
    "broadcast_arrays": [lambda m, w: np.broadcast_arrays(m * 2, w[0] + 1)[1], lambda m, w: np.broadcast_arrays(m[:, :1] * 2, w[0])[0]],
    "broadcast_to": [lambda m, w: np.broadcast_to(m.sum(0), (2, 4)) * 2, lambda m, w: np.broadcast_to(m[:, :1] * 2, (3, 4))],
    "select": [lambda m, w: np.select([m > 0.5, w > 0], [m, w * 2], -1.0), lambda m, w: np.select([m > 0, m > w], [1, 2])],
    "piecewise": [lambda m, w: np.piecewise(m * 2, [m * 2 < 0, m * 2 > 1], [lambda x: -x, 3.0, lambda x: x * x]), lambda m, w: np.piecewise(m, [m > 0], [1])],
    "choose": [lambda m, w, k: np.choose(abs(k) % 2, [m, w * 2]), lambda m, w, k: np.choose(k + 3, [m[0], w[0], m[1]], mode="wrap"),
               lambda m, w, k: np.choose(k * 3, [m[0], w[0]], mode="clip")],
    "isclose": [lambda m, w: np.isclose(m, m + 1e-9), lambda m, w: np.isclose(m, w, atol=0.5), lambda n: np.isclose(n, n * 1), lambda n: np.isclose(n, n * 1, equal_nan=True)],
    "allclose": [lambda m, w: np.allclose(m, m + 1e-9), lambda m, w: np.allclose(m, w)],
    "nan_to_num": [lambda n: np.nan_to_num(n * 1), lambda n: np.nan_to_num(n, nan=7.0, posinf=1.0, neginf=-1.0)],
    **{name: [lambda n, name=name: getattr(np, name)(n * 1), lambda n, name=name: getattr(np, name)(n, axis=1), lambda m, w, name=name: getattr(np, name)(m, axis=0)]
       for name in "nansum nanprod nanmin nanmax nanmean nanvar nanstd".split()},
    **{name: [lambda n, name=name: getattr(np, name)(n * 1, axis=1)] for name in ("nancumsum", "nancumprod")},
    "average": [lambda m, w: np.average(m * 2, axis=1), lambda m, w: np.average(m, weights=w + 2), lambda m, w: np.average(m, axis=1, weights=w[0] + 3)],
    "cov": [lambda m, w: np.cov(m * w), lambda m, w: np.cov(m * w, rowvar=False, ddof=0), lambda m, w: np.cov(w[0], bias=True)],
    "corrcoef": [lambda m, w: np.corrcoef(m * w), lambda m, w: np.corrcoef(w, rowvar=False)],
    "kron": [lambda m, w: np.kron(m[:2] * 2, w), lambda m, w: np.kron(m[0], w)],
    "cross": [lambda m, w: np.cross(m[:, :3] * 2, w[:, 1:])], "polyval": [lambda m, w: np.polyval([2.0, -1.0, 3], m * 2), lambda m, w: np.polyval(m[0], w)],
    "vander": [lambda m, w: np.vander(m[0] * 2), lambda m, w: np.vander(m[0], 3, increasing=True), lambda m, w, k: np.vander(k * 1)],
    "searchsorted": [lambda m, w: np.searchsorted(m[0] * 2, w), lambda m, w: np.searchsorted(m[0], m * 1, side="right"), lambda n: np.searchsorted(V[:1], n)],
    "digitize": [lambda m, w: np.digitize(w * 2, np.array([-1.0, 0.0, 1.5])), lambda m, w: np.digitize(m, np.array([-1.0, 0.0, 1.5]), right=True)],
    "isin": [lambda m, w, k: np.isin(k * 1, [0, 2]), lambda m, w, k: np.isin(k, k[:2] + 1, invert=True)],
    "sinc": [lambda m, w: np.sinc(m * 2), lambda m, w: np.sinc(w)], "fix": [lambda m, w: np.fix(m * 3)],
    "round": [lambda m, w: np.round(w * 9, 1), lambda m, w: np.round(w * 999, -2), lambda m, w, k: np.round(k * 1, 2)],
    "around": [lambda m, w: np.around(w, decimals=3)],
    "atleast_1d": [lambda m, w: np.atleast_1d(m.sum())], "atleast_2d": [lambda m, w: np.atleast_2d(m[0] * 2)], "atleast_3d": [lambda m, w: np.atleast_3d(m * 2), lambda m, w: np.atleast_3d(m[0] * 2)],
    "rot90": [lambda m, w: np.rot90(m * 2), lambda m, w: np.rot90(m * 2, -1)], "flipud": [lambda m, w: np.flipud(m * 2)], "fliplr": [lambda m, w: np.fliplr(m * 2)],
    "rollaxis": [lambda m, w: np.rollaxis(m * 2, 1)], "flip": [lambda m, w: np.flip(m * 2), lambda m, w: np.flip(m * 2, 0)],
    "diagonal": [lambda m, w: np.diagonal(m * 2, 1)],
    "sliding_window_view": [lambda m, w: np.lib.stride_tricks.sliding_window_view(m * 2, (2, 2)).sum((2, 3)),
                            lambda m, w: np.lib.stride_tricks.sliding_window_view(m, 3, axis=1).max(-1)],
    "reshape": [lambda m, w: np.reshape(m * 2, (4, 3)), lambda m, w: (m * 2).sum(0).reshape(2, 2), lambda m, w: np.reshape(m * 2, -1), lambda m, w: np.reshape(m * 2, (1, 3, 1, 4))],
    "ravel": [lambda m, w: np.ravel(m * 2) + 1],
    "sum": [lambda m, w: np.sum(m * 2, initial=3), lambda m, w: np.sum(m, axis=1, where=w > 0, initial=1.0), lambda m, w: np.sum(m, 0, where=B[0]), lambda m, w, k: np.sum(k, initial=2)],
    "prod": [lambda m, w: np.prod(m * 2, axis=0, where=w > 0), lambda m, w: np.prod(w, initial=2)],
    "min": [lambda m, w: np.min(m * 2, axis=1, initial=0.25), lambda m, w: np.min(m, where=w > 0, initial=9)],
    "max": [lambda m, w: np.max(m, axis=1, where=w > 0, initial=-9.0)], "amax": [lambda m, w: np.amax(m, initial=0.5)],
    "any": [lambda m, w: np.any(m > 1, axis=1, where=w > 0)], "all": [lambda m, w: np.all(m < 1, where=w > 0)],
    "mean": [lambda m, w: np.mean(m * 2, axis=1, where=w > -0.9), lambda m, w: np.mean(m, where=w[0] > 0, keepdims=True)],
    "divmod": [lambda m, w: np.divmod(m * 2, 0.75)[0], lambda m, w: divmod(m * 2, 0.75)[1]],
    "modf": [lambda m, w: np.modf(m * 3)[0], lambda m, w: np.modf(m * -3)[1], lambda n: np.modf(n)[0]],
    "logaddexp2": [lambda m, w: np.logaddexp2(m, w * 3), lambda n: np.logaddexp2(n, 1.0)],
    "matvec": [lambda m, w: np.matvec(m * 2, w[0])], "vecmat": [lambda m, w: np.vecmat(w[:, 0], m * 2)], "vecdot": [lambda m, w: np.vecdot(m, w * 2)],
    "einsum": [lambda m, w: np.einsum("ij,kj->ik", m * 2, w), lambda m, w: np.einsum("...j,j", m, w[0]), lambda m, w: np.einsum("ii->i", m[:, :3] * 2),
               lambda m, w: np.einsum("ii", w[:, :3] * 2), lambda m, w: np.einsum("ij,...j->...i", m, w)],
    "angle": [lambda m, w: np.angle(m + 1j * w), lambda m, w: np.angle(m)], "array_equal": [lambda m, w: np.array_equal(m, m * 1),
                                                                                      lambda m, w: np.array_equal(m, w[0])],
    "copy": [lambda m, w: np.copy(m) * 2], "ediff1d": [lambda m, w: np.ediff1d(m * w)], "isneginf": [lambda n: np.isneginf(n)], "isposinf": [lambda n: np.isposinf(n)],
    "isreal": [lambda m, w: np.isreal(m + 1j * (w > 0)), lambda m, w: np.isreal(m)], "iscomplex": [lambda m, w: np.iscomplex(m + 1j * (w > 0)), lambda n: np.iscomplex(n)],
    "trapezoid": [lambda m, w: np.trapezoid(m * 2), lambda m, w: np.trapezoid(m, w[0]), lambda m, w: np.trapezoid(m, axis=0, dx=0.5)],
    "vdot": [lambda m, w: np.vdot(m + 1j * w, w * 2)], "unstack": [lambda m, w: np.unstack(m * 2)[1], lambda m, w: np.unstack(m, axis=1)[3] * 2],
    "parts": [lambda m, w: (m * 2)[1:, ::2] + 1, lambda m, w: (m * 2)[::-1], lambda m, w: (m * 2)[1], lambda m, w: (m * 2)[-1, None, 1:3], lambda m, w: (m + w)[2, 3],
              lambda m, w: (m * 2)[..., 5:], lambda m, w: (m * w)[1:, 1:] - (m * w)[:-1, :-1], lambda m, w: (m * 2)[:, ::-1][::2, 1:] * w[::2, 1:]],
    "indices": [lambda m, w, k: m[k[:3]], lambda m, w, k: (m * 2)[k[:3] * 1], lambda m, w, k: m[:, k], lambda m, w, k: (m * 2)[k[:2], k[1:3]],
                lambda m, w, k: (m * 2)[k[:2, None], k], lambda m, w, k: np.stack([m, w])[:, k[:2], 1:], lambda m, w, k: np.stack([m, w])[k[1:3] * 0, :, k[:2]],
                lambda m, w, k: m[1, k] * 2, lambda m, w, k: m[w[0].argmax()], lambda m, w, k: (m * 2)[[0, 2]], lambda m, w, k: m[None, k[:2] % 3]],
}


LATER = ("matvec", "vecmat", "unstack")  # than NumPy 2.0


class Functions(unittest.TestCase):
    def arrays(self, f):
        names = f.__code__.co_varnames[: f.__code__.co_argcount]
        return [{"m": M, "w": W, "n": N, "k": K}[name] for name in names if name != "name"]

    def test_each_is_that_of_numpy(self):
        for name, cases in CASES.items():
            if name in LATER and not hasattr(np, name):
                continue
            for at, f in enumerate(cases):
                with self.subTest(name=name, at=at), np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    arrays = self.arrays(f)
                    theirs = np.asarray(f(*arrays))
                    ours = f(*[bl.array(x) for x in arrays])
                    self.assertIsInstance(ours, bl.LazyArray)
                    self.assertEqual((ours.shape, ours.dtype), (theirs.shape, theirs.dtype))
                    np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-12, atol=1e-12)
                    again = f(*[bl.array(x * 1) for x in arrays])  # what is known by now
                    np.testing.assert_array_equal(np.asarray(again), np.asarray(ours))

    def test_random_parts_are_those_of_numpy(self):
        for seed in range(150):
            rng = np.random.default_rng(seed)
            shape = tuple(rng.integers(1, 6, rng.integers(1, 4)).tolist())
            x = rng.normal(size=shape)
            entries = []
            for n in shape:
                begin, end = sorted(rng.integers(0, n + 1, 2).tolist())
                entries.append([int(rng.integers(-n, n)), rng.integers(-n, n, 1), slice(None), slice(begin, end, int(rng.integers(1, 3))),
                                slice(None, None, -int(rng.integers(1, 3))), rng.integers(0, n, 3)][rng.integers(6)])
            if rng.random() < 0.3:
                entries.insert(int(rng.integers(len(entries) + 1)), None)
            entries = tuple(entries[: len(entries) - (rng.random() < 0.3)])
            lazy = tuple([bl.array(e) if isinstance(e, np.ndarray) and rng.random() < 0.5 else e for e in entries])
            theirs = (x * 2)[entries]
            ours = ((bl.array(x) * 2)[lazy] * 3).compute()
            self.assertEqual(ours.shape, theirs.shape, f"{seed}: {entries} of {shape}")
            np.testing.assert_array_equal(ours, theirs * 3, f"{seed}: {entries} of {shape}")

    def test_random_numbers_are_those_of_philox(self):
        def words(seed, counter):
            key, c = [seed & 0xFFFFFFFF, seed >> 32], [counter & 0xFFFFFFFF, counter >> 32, 0, 0]
            for _ in range(10):
                a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
                c = [(b >> 32) ^ c[1] ^ key[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ key[1], a & 0xFFFFFFFF]
                key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
            return c

        seed, counters = 2**63 + 77, np.arange(6).reshape(2, 3) * 2**31
        made = np.array([[words(seed, int(k)) for k in row] for row in counters])
        lazy = bl.array(counters)
        np.testing.assert_array_equal(bl.random_bits(seed, lazy).compute(), made[..., 0].astype("u4"))
        uniform = ((made[..., 0] >> 5) * 2.0**26 + (made[..., 1] >> 6)) / 2.0**53
        np.testing.assert_array_equal(bl.random(seed, lazy + 0).compute(), uniform)

        @bl.kernel
        def traced(seed: bl.u64, k: bl.i64["i", "j"]):
            return {"u": bl.random(seed, k), "n": bl.normal(seed, k)}

        for threads in (1, 2):
            got = traced.with_threads(threads)(seed, counters)
            np.testing.assert_array_equal(got.u, uniform)
            np.testing.assert_array_equal(got.n, bl.normal(seed, lazy).compute(threads=threads))
        many = bl.normal(5, bl.array(np.arange(100000))).compute()
        self.assertLess(abs(many.mean()) + abs(many.std() - 1), 0.02)
        self.assertRaises(bl.DTypeError, lambda: bl.random(0.5, lazy))

    def test_traced_arrays_are_read_at_computed_positions(self):
        @bl.kernel
        def f(x: bl.f64["a", "j"], k: bl.i64["i"]):
            y = x * 2
            return {"rows": bl.out(x[k + 1, :], axes=["i", "j"]), "of_let": bl.out(y[(k + 1) % 3, "j"], axes=["i", "j"]), "row": x[-1, "j"],
                    "near": bl.out(x["p + 1", "j"] - x["p", "j"], axes=["p", "j"])}

        got = f(M, K[1:])
        for ours, theirs in zip(got, (M[K[1:] + 1], (M * 2)[(K[1:] + 1) % 3], M[-1], np.diff(M, axis=0))):
            np.testing.assert_array_equal(ours, theirs)

        @bl.kernel
        def counts(bins: bl.i64[":"], k: bl.i64["i"]):
            return bl.sum(1, like=bins[k + 1])

        np.testing.assert_array_equal(counts(np.zeros(5, int), K), np.bincount(K + 1, minlength=5))
        for bad in (1.5, True, slice(1.5), [0.5]):
            with self.assertRaises(bl.SpecError):
                @bl.kernel
                def g(x: bl.f64["i"]):
                    return x[bad]

    def test_positions_outside_are_errors_and_sums_at_positions_those_of_bincount(self):
        lazy = bl.array(M) * 2
        with self.assertRaises(bl.DataError) as caught:
            lazy[bl.array(np.array([0, 3]))].compute()
        self.assertEqual(caught.exception.code, "E0315")
        for wrong in (lambda: lazy[[5]], lambda: lazy[np.array([-4])], lambda: lazy[0, 0, bl.array(K)], lambda: np.take(lazy, 9, axis=0)):
            self.assertRaises(IndexError, wrong)
        k = np.array([2, 0, 2, 4])
        np.testing.assert_array_equal(bl.sums_at(bl.array(k), 6).compute(), np.bincount(k, minlength=6))
        np.testing.assert_array_equal(bl.sums_at(bl.array(k) + 1, 6, bl.array(W[0]) * 2).compute(), np.bincount(k + 1, W[0] * 2, minlength=6))
        self.assertRaises(bl.DTypeError, lambda: bl.sums_at(bl.array(M), 3))
        self.assertRaises(bl.DataError, lambda: bl.sums_at(bl.array(k), 3).compute())

    def test_out_of_ufuncs_is_written_at_once(self):
        into, x = np.zeros((3, 4)), M.copy()
        self.assertIs(np.add(bl.array(M), 1, out=into), into)
        np.testing.assert_array_equal(into, M + 1)
        np.multiply(bl.array(M), 2, out=into, where=bl.array(B))
        np.testing.assert_array_equal(into, np.where(B, M * 2, M + 1))
        x += bl.array(W)
        np.testing.assert_array_equal(x, M + W)
        for wrong in (lambda: np.add(bl.array(M), 1, out=np.zeros((3, 4), int)), lambda: np.add(bl.array(M), 1, out=np.zeros(4)),
                      lambda: np.sum(bl.array(M), axis=0, out=np.zeros((3, 4))), lambda: bl.array(M).sum(out=[0])):
            self.assertRaises((TypeError, ValueError), wrong)

    def test_out_of_functions_and_methods_is_written_each_time(self):
        for into, call in ((np.zeros(4), lambda x, out: np.sum(x, axis=0, out=out)), (np.zeros(3), lambda x, out: x.mean(1, out=out)),
                           (np.zeros((3, 4)), lambda x, out: np.clip(x, 0, 1, out=out)), (np.zeros((2, 4)), lambda x, out: np.take(x, [0, 1], axis=0, out=out)),
                           (np.zeros(4), lambda x, out: np.add.reduce(x, out=(out,))), (np.zeros((6, 4)), lambda x, out: np.concatenate([x, x], out=out))):
            for _ in range(2):
                into[...] = 7
                self.assertIs(call(bl.array(M), into), into)
                np.testing.assert_allclose(into, call(M, np.zeros_like(into)), 1e-14)
        whole, rest = np.zeros((3, 4)), np.zeros((3, 4))
        np.divmod(bl.array(M), 0.75, out=(whole, rest))
        np.testing.assert_array_equal([whole, rest], np.divmod(M, 0.75))

    def test_conditions_that_are_there_choose_elements(self):
        rows, x = np.array([True, False, True]), np.stack([M, W])
        for lazy, plain in ((bl.array(M), M), (bl.array(M) * 2, M * 2)):
            for index in (B, rows, (rows, 1), (slice(None), M[0] > -0.9), (rows, None), (..., M[1] > 0), [True, False, True]):
                np.testing.assert_array_equal(lazy[index].compute(), plain[index])
        np.testing.assert_array_equal((bl.array(x) + 1)[:, B].compute(), (x + 1)[:, B])
        for wrong in (np.ones(4, bool), np.ones((3, 4, 1), bool), (B, 0)):
            self.assertRaises(IndexError, lambda: bl.array(M)[wrong])
        self.assertRaises(bl.SpecError, lambda: bl.array(M)[bl.array(M) > 0])

    def test_assignments_in_place_make_other_arrays(self):
        first = z = bl.array(M)
        z += 1
        z *= bl.array(W)
        z **= 2
        np.testing.assert_allclose(z.compute(), ((M + 1) * W) ** 2, 1e-14)
        self.assertIs(first.compute(), M)
        n = bl.array(K)
        n //= 2
        self.assertEqual(n.dtype, K.dtype)
        for wrong in (lambda: n.__itruediv__(2), lambda: n.__iadd__(np.ones((2, 4), int))):
            self.assertRaises((TypeError, ValueError), wrong)

    def test_methods_are_those_of_arrays(self):
        for lazy, plain in ((bl.array(M), M), (bl.array(M) * 2, M * 2)):
            for call in (lambda x: x.flatten(), lambda x: x.copy(), lambda x: x.flat[3:], lambda x: x.view(), lambda x: x.take([1, 0], axis=1), lambda x: x.repeat(2, 0),
                         lambda x: x.diagonal(1), lambda x: x.round(1), lambda x: x.compress([True, False, True], 0), lambda x: x.reshape(2, -1), lambda x: x.ravel()):
                np.testing.assert_array_equal(np.asarray(call(lazy)), call(plain))
            self.assertEqual(f"{lazy.sum():.3f}", f"{plain.sum():.3f}")
            self.assertEqual((lazy.tobytes(), lazy.item(1), f"{lazy}"), (plain.tobytes(), plain.item(1), repr(lazy)))
        self.assertEqual(bl.array(M).strides, M.strides)
        np.testing.assert_array_equal(bl.array(M).view("i8").compute(), M.view("i8"))
        kept, x = bl.array(M.copy()), M.copy()
        copied = bl.array(x).copy()
        x[0, 0] = 5
        np.testing.assert_array_equal(copied.compute(), M)
        for wrong in (lambda: (kept * 2).strides, lambda: (kept * 2).view("i8")):
            self.assertRaises(bl.SpecError, wrong)
        with self.assertRaisesRegex(AttributeError, "compute"):
            kept.argsort

    def test_what_is_asked_about_shapes_and_dtypes_looks_at_no_element(self):
        for lazy in (bl.array(M[:, :3]), bl.array(M[:, :3]) * 2):
            for call in (lambda x: np.tril_indices_from(x), lambda x: np.triu_indices_from(x, 1), lambda x: np.diag_indices_from(x), lambda x: np.common_type(x),
                         lambda x: np.can_cast(x, "c16"), lambda x: np.einsum_path("ij,jk->ik", x, x)[0]):
                self.assertEqual(str(call(lazy)), str(call(M[:, :3])))
        self.assertTrue(np.may_share_memory(bl.array(M), M) and not np.shares_memory(bl.array(M) + 1, M))

    def test_what_prints_saves_or_writes_computes_at_once(self):
        x, lazy = np.zeros((3, 4)), bl.array(M) * 2
        self.assertEqual(np.array2string(lazy), np.array2string(M * 2))
        np.copyto(x, lazy, where=lazy > 0)
        np.testing.assert_array_equal(x, np.where(M > 0, M * 2, 0))
        np.put(x, [0, 5], lazy[0])
        np.testing.assert_array_equal(x.flat[[0, 5]], M[0, :2] * 2)
        with self.assertRaises(bl.SpecError):
            np.copyto(lazy, x)

    def test_sums_at_positions_and_random_numbers_have_gradients_of_their_kernels(self):
        """What is recorded is a kernel like others: it is derived."""
        k = bl.array(np.array([2, 0, 2]))
        kernel = bl.sums_at(k, 4, bl.array(W[0, :3]) * 2).kernel
        self.assertTrue(kernel.check(np.zeros(4), np.array([2, 0, 2]), W[0, :3], 2.0, wrt=[kernel.inputs[2].name]))

    def test_the_page_says_which_functions_are_recorded(self):
        dispatched = type(np.sum)
        ufuncs = sorted({f.__name__ for f in vars(np).values() if isinstance(f, np.ufunc)})
        others = sorted({name for name, f in vars(np).items() if isinstance(f, dispatched) and f.__name__ == name})
        has_ufunc = lambda f: f.__name__ in lazy_ops.TEMPLATES or f in lazy_ufuncs.MADE or f.signature is not None
        lines = ["| | recorded | not |", "| --- | --- | --- |"]
        for what, names, is_recorded in (("ufuncs", ufuncs, has_ufunc), ("other functions", others, lambda f: f in lazy_numpy.functions)):
            taken = [name for name in names if is_recorded(getattr(np, name))]
            left = [name for name in names if name not in taken]
            lines.append(f"| {what} | {len(taken)} of {len(names)}: " + " ".join(f"`{name}`" for name in taken) + " | " + " ".join(f"`{name}`" for name in left) + " |")
        begin, end = "<!-- functions of lazy arrays, written by tests/python/test_functions.py -->\n", "<!-- end of the functions -->\n"
        page = PAGE.read_text()
        before, rest = page.split(begin)
        shown, after = rest.split(end)
        made = "\n".join(lines) + "\n"
        if os.environ.get("BROADLOOM_BLESS") == "1":
            PAGE.write_text(before + begin + made + end + after)
        elif np.__version__.startswith("2.4."):  # others have other functions
            self.assertEqual(shown, made, "BROADLOOM_BLESS=1 rewrites the table")
        self.assertGreater(made.count("`"), 400)


if __name__ == "__main__":
    unittest.main()
