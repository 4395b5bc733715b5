"""Traced kernels: values side by side, on each other, in other shapes and at elements of others,
beside NumPy's."""

import unittest

import numpy as np

import broadloom as bl

DECLARED = {"x": bl.f64["i"], "y": bl.f64["i"], "m": bl.f64["n", "c"], "q": bl.f64["n", "h=8"], "r": bl.f64["o=3", "i"], "t": bl.f64["a", "b", "d"], "w": bl.f64["u=3"], "f": bl.f32["i"], "n": bl.i64["c"],
            "k": bl.i64["k"], "kk": bl.i64["n", "e"], "px": bl.f64["p"], "py": bl.f64["p"], "z": bl.c128["c"]}


def traced(f):
    f.__annotations__ = {name: DECLARED[name] for name in f.__code__.co_varnames[: f.__code__.co_argcount]}
    return bl.kernel(f, name="f")


class Joins(unittest.TestCase):
    def setUp(self):
        rng = np.random.default_rng(4)
        draw = lambda *shape: rng.normal(size=shape)
        self.given = {"x": draw(7), "y": draw(7), "m": draw(5, 6), "q": draw(5, 8), "r": draw(3, 7), "t": draw(2, 3, 4), "w": draw(3), "f": draw(7).astype("f4"), "n": np.arange(6) * 3 - 7,
                      "k": np.array([3, 1, 0]), "kk": rng.integers(0, 6, (5, 2)), "px": np.sort(draw(4)), "py": draw(4), "z": draw(6) + 1j * draw(6)}

    def agree(self, *functions):
        for f in functions:
            made = traced(f)
            given = [self.given[name] for name in f.__annotations__]
            got, want = made(*given), np.asarray(f(*given))
            self.assertEqual((got.shape, got.dtype), (want.shape, want.dtype), made.text)
            tolerance = 1e-6 if "f" in f.__annotations__ else 1e-12
            np.testing.assert_allclose(got, want, tolerance, tolerance / 100, err_msg=made.text)

    def refused(self, *rows):
        for f, words in rows:
            with self.assertRaises(bl.Error) as caught:
                traced(f)(*[self.given[name] for name in f.__annotations__])
            self.assertIn(words, f"{caught.exception.message} {caught.exception.help}")

    def test_values_lie_on_each_other_and_side_by_side(self):
        self.agree(lambda x, y: np.stack([x, y]), lambda x, y: np.stack([x, y], axis=1), lambda m: np.stack([m, 2 * m], axis=-1), lambda m: np.stack([m, 2 * m], axis=1).sum(axis=1), lambda x: np.stack([x.sum(), x.max()]),
                   lambda x, f: np.stack([x, f]), lambda x, y: np.stack([x[1:], y[:-1]]), lambda x, y: np.stack([np.stack([x, y]), np.stack([y, x])]), lambda m: np.stack([m.T, 2 * m.T]), lambda x, y: np.vstack([x, y]),
                   lambda m: np.vstack([m, 2 * m]), lambda x, y: np.hstack([x, y]), lambda m: np.hstack([m, m]), lambda x, y: np.column_stack([x, y]), lambda x, y: np.append(x, y), lambda x, y: np.concatenate([x, y]) + np.concatenate([y, x]),
                   lambda x, f: np.concatenate([x, f]), lambda x, y: np.stack([x, y])[0] - x, lambda x, y: np.stack([x, y]) @ np.stack([x, y]).T, lambda x: np.concatenate([x[-2:], x[:-2]]), lambda x, y: np.concatenate([x, y, x])[1:] * 2)

    def test_elements_are_repeated(self):
        self.agree(lambda x: np.tile(x, 3), lambda m: np.tile(m, (2, 3)), lambda m: np.tile(m, 2), lambda x: np.repeat(x, 3), lambda m: np.repeat(m, 2, axis=0), lambda x, y: np.repeat(2 * x, 2) + y.repeat(2), lambda x: np.repeat(x, 2)[::2],
                   lambda x: np.repeat(x, 2)[1:] - np.repeat(x, 2)[:-1], lambda x, y: np.repeat(np.stack([x, y]), 2, axis=0), lambda x, w: np.kron(x, w), lambda w, x: np.kron(w, x), lambda w: np.kron(w, w), lambda r, w: np.kron(r, np.stack([w, w])))

    def test_shapes_are_others_where_all_extents_but_one_are_declared(self):
        self.agree(lambda q: q.reshape(-1, 2, 4), lambda q: (2 * q).reshape(-1, 4, 2).sum(axis=2), lambda q: q.reshape(-1), lambda q: q.T.ravel(), lambda q: q.flatten() * 2, lambda q: q.reshape(-1, 4), lambda q: q.reshape(4, -1),
                   lambda q: q.T.reshape(2, 4, -1), lambda x: x.reshape(-1, 1), lambda x: x.reshape(1, -1) * x.reshape(-1, 1), lambda x: x[:, None].reshape(-1), lambda r: r.reshape(-1), lambda w: np.kron(w, w).reshape(3, 3),
                   lambda w: np.tile(w, 2).reshape(2, 3), lambda q: q.reshape(-1, 2, 4)[:, 1] * 2, lambda x: np.squeeze(x[:, None, None]), lambda m: np.squeeze(m.sum(axis=1, keepdims=True), axis=1), lambda q: q[1:].reshape(-1, 2, 4))
        self.assertIn("q[n, 4*h_len_2 + h_len_4]", traced(lambda q: q.reshape(-1, 2, 4)).text)  # a window, no copy

    def test_elements_are_read_at_others(self):
        self.agree(lambda m, kk: np.take_along_axis(m, kk, axis=1), lambda m, kk: np.take_along_axis(m.T, kk.T, axis=0), lambda x, k: np.take_along_axis(x, k, axis=0), lambda m: np.take_along_axis(m, np.argmax(m, axis=1, keepdims=True), axis=1),
                   lambda x: x[[0, 2, -1]], lambda m: m[:, [0, 1, 0]], lambda t: t[0, :, [1, 2]], lambda t: t[:, [1, 0], 1], lambda m: np.take(m, np.array([1, 1]), axis=1), lambda x, px, py: np.interp(x, px, py), lambda m, px, py: np.interp(m, px, py),
                   lambda px, py: np.interp(px, px, py), lambda x, px, py: np.interp(x[1:], px, py, left=0, right=9), lambda f, px, py: np.interp(f, px, py))

    def test_neighbours_are_weighed(self):
        for mode in ("full", "same", "valid"):
            self.agree(lambda x, w: np.convolve(x, w, mode), lambda x: np.convolve(x, [1, 2, 4, 5], mode), lambda n: np.convolve([1, 2], n, mode), lambda x, w: np.correlate(x, w, mode), lambda z: np.correlate(z, [1, 2j, 1], mode), lambda x, w: np.convolve(w, x, mode))
        short = traced(lambda x, w: np.convolve(x, w, "same"))
        for n in (1, 2):  # where NumPy turns around which is the longer one
            with self.assertRaisesRegex(bl.ShapeError, "i_from_3"):
                short(np.ones(n), np.ones(3))

    def test_formulas_are_those_of_lazy_arrays(self):
        self.given["m"][1, 2] = self.given["f"][3] = np.nan
        self.agree(lambda m: np.nanstd(m, axis=1), lambda m: np.nanvar(m), lambda m: np.nanmean(m, axis=0, keepdims=True), lambda f: np.nanmean(f), lambda m: np.nanargmax(m, axis=1), lambda f: np.nancumsum(f), lambda z: np.isreal(z), lambda z: np.iscomplex(z),
                   lambda x: np.isposinf(x), lambda z: np.angle(z), lambda x: np.polyval([1, 2, 3], x), lambda f: np.polyval([1.5, 2], f), lambda x, y: np.polyval([x.sum(), 2.0], y), lambda y, x: np.trapezoid(y, x), lambda m, n: np.trapezoid(m, n), lambda n: np.round(n, 1),
                   lambda x: np.piecewise(x, [x < 0, x > 1], [lambda t: -t, 3, 7]), lambda x: np.gradient(x, 0.5), lambda m: np.gradient(m, 2, axis=1), lambda f: np.gradient(f), lambda f: np.nan_to_num(f, nan=2), lambda x: np.diff(x, prepend=0, append=1.0), lambda n: np.heaviside(n, 0.5),
                   lambda f: np.heaviside(f, 1), lambda x: np.ldexp(x, 3), lambda x: np.frexp(x)[0], lambda x: np.frexp(x)[1], lambda f: np.modf(f)[1], lambda n: np.gcd(n, 12), lambda n: np.lcm(n, 12), lambda f: np.nextafter(f, 10), lambda x: np.spacing(x), lambda n: np.bitwise_count(n),
                   lambda x, y: np.logaddexp2(x, y), lambda n: np.fabs(n), lambda n: np.deg2rad(n), lambda f: np.degrees(f), lambda n: np.float_power(n, 2), lambda x: np.ediff1d(x), lambda z: np.float_power(z, 2))

    def test_gradients_go_through_what_is_side_by_side_and_in_other_shapes(self):
        f = traced(lambda x, q: {"s": (np.stack([x, 2 * x]) ** 2).sum(), "r": (np.repeat(x, 2)[1:] * np.tile(x, 2)[:-1].sum()).sum(), "c": (np.convolve(x, [1.0, 2, 1]) ** 2).sum(), "p": (q.reshape(-1, 2, 4) ** 2).sum(axis=1).prod()})
        self.assertTrue(f.check(self.given["x"], self.given["q"] + 3, wrt=["x", "q"]))

    def test_what_hangs_on_extents_or_data_says_what_to_use(self):
        self.refused((lambda m: m.reshape(-1), "declare all but one"), (lambda x: x.reshape(2, -1), "bl.iota"), (lambda x: x.reshape(7), "-1"), (lambda x: x.reshape(bl.extent("i")), "-1"), (lambda q: q.reshape(-1, -1), "one dim"), (lambda x, y: np.kron(x, y), "declare"),
                     (lambda x, y: np.convolve(x, y), "list of numbers"), (lambda x: np.tile(x, (2, 1)), "np.stack"), (lambda x, k: np.repeat(x, k), "x[k]"), (lambda x: np.tile(x, 2) + x, "other lengths"), (lambda x, y: np.concatenate([x, y]) + x, "other lengths"),
                     (lambda x: np.repeat(x, 2) + x, "other lengths"), (lambda x: np.polyval(x, x), "one by one"), (lambda x, m: np.stack([x, m]), "np.concatenate"), (lambda m: np.squeeze(m, 0), "x[0]"), (lambda n: np.round(n, -1), "divide"), (lambda x: np.diff(x, prepend=x), "np.concatenate"),
                     (lambda x, kk: np.take_along_axis(x, kk, 0), "as many dims"), (lambda x: np.sort(x), "order of elements"), (lambda x: np.gradient(x, x), "one step"))


if __name__ == "__main__":
    unittest.main()
