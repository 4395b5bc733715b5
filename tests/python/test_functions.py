"""Functions of NumPy's that lazy arrays are given to, each against NumPy, and the table of them on docs/python.md.

BROADLOOM_BLESS=1 rewrites the table.
"""

import os
import pathlib
import unittest

import numpy as np

import broadloom as bl
from broadloom import lazy_forms, lazy_functions, lazy_numpy, lazy_ops, lazy_ufuncs

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
            lambda m, w: np.pad(m, 2, "reflect"), lambda m, w: np.pad(m, 1, "symmetric"), lambda m, w: np.pad(m, 1, constant_values=-1)],
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
    "allclose": [lambda m, w: np.asarray(np.allclose(m, m + 1e-9)), lambda m, w: np.asarray(np.allclose(m, w))],
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
    "parts": [lambda m, w: (m * 2)[1:, ::2] + 1, lambda m, w: (m * 2)[::-1], lambda m, w: (m * 2)[1], lambda m, w: (m * 2)[-1, None, 1:3], lambda m, w: (m + w)[2, 3],
              lambda m, w: (m * 2)[..., 5:], lambda m, w: (m * w)[1:, 1:] - (m * w)[:-1, :-1], lambda m, w: (m * 2)[:, ::-1][::2, 1:] * w[::2, 1:]],
    "indices": [lambda m, w, k: m[k[:3]], lambda m, w, k: (m * 2)[k[:3] * 1], lambda m, w, k: m[:, k], lambda m, w, k: (m * 2)[k[:2], k[1:3]],
                lambda m, w, k: (m * 2)[k[:2, None], k], lambda m, w, k: np.stack([m, w])[:, k[:2], 1:], lambda m, w, k: np.stack([m, w])[k[1:3] * 0, :, k[:2]],
                lambda m, w, k: m[1, k] * 2, lambda m, w, k: m[w[0].argmax()], lambda m, w, k: (m * 2)[[0, 2]], lambda m, w, k: m[None, k[:2] % 3]],
}


class Functions(unittest.TestCase):
    def arrays(self, f):
        names = f.__code__.co_varnames[: f.__code__.co_argcount]
        return [{"m": M, "w": W, "n": N, "k": K}[name] for name in names if name != "name"]

    def test_each_is_that_of_numpy(self):
        for name, cases in CASES.items():
            for at, f in enumerate(cases):
                with self.subTest(name=name, at=at), np.errstate(all="ignore"), __import__("warnings").catch_warnings():
                    __import__("warnings").simplefilter("ignore")
                    arrays = self.arrays(f)
                    theirs = f(*arrays)
                    ours = f(*[bl.array(x) for x in arrays])
                    if isinstance(ours, bl.LazyArray):
                        self.assertEqual((ours.shape, ours.dtype), (theirs.shape, theirs.dtype))
                    np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-12, atol=1e-12)
                    again = f(*[bl.array(x * 1) for x in arrays])  # what is known by now
                    np.testing.assert_array_equal(np.asarray(again), np.asarray(ours))


if __name__ == "__main__":
    unittest.main()
