"""Traced kernels: slices, integers and None, of inputs and of what is computed, beside NumPy's."""

import itertools
import random
import unittest

import numpy as np

import broadloom as bl


def traced(f):
    f.__annotations__ = {"x": bl.f64["i"], "m": bl.f64["n", "c"], "v": bl.f64["c"]}
    return bl.kernel(f, name="f")


def random_slice(rng):
    if rng.random() < 0.35:
        return ":"
    return f"{rng.choice(['', '1', '2', '-3'])}:{rng.choice(['', '-1', '4', '-2'])}{rng.choice(['', '', ':2'])}"


def random_text(rng, depth):
    """An expression of m and v by what NumPy and traced values have."""
    if depth == 0:
        return rng.choice(["m", "v"])
    kind, a = rng.randrange(25), random_text(rng, depth - 1)
    axis, keep = rng.choice(["axis=0", "axis=-1"]), rng.choice(["", ", keepdims=True"])
    places = ", ".join(rng.choice([random_slice(rng), random_slice(rng), "None", "0", "-1", "..."]) for _ in range(rng.choice([1, 2, 2, 3])))
    one = [f"({a})[{places}]"] * 5 + [f"({a}).T", f"({a}).{rng.choice(['sum', 'mean', 'max'])}({axis}{keep})", f"({a}).sum()", f"np.{rng.choice(['exp', 'abs', 'sin'])}({a})",
                                      f"np.diff({a}, {axis})", f"np.cumsum({a}, {axis})", f"({a})[:, None]", f"np.flip({a})", f"np.pad({a}, 1)",
                                      f"np.stack([{a}, 2 * ({a})], {axis})", f"np.repeat({a}, 2, {axis})", f"np.tile({a}, 2)", f"({a})[[0, 1, 0]]", f"np.append({a}, {a}, {axis})"]
    if kind < len(one):
        return one[kind]
    b = random_text(rng, rng.randrange(depth))
    return f"np.where(({a}) > 0, {a}, {b})" if kind == 19 else f"({a}) {rng.choice('+-*')} ({b})"


class Slices(unittest.TestCase):
    def setUp(self):
        rng = np.random.default_rng(48)
        self.given = rng.normal(size=7), rng.normal(size=(5, 6)), rng.normal(size=6)

    def agree(self, *functions):
        for f in functions:
            made, want = traced(f), np.asarray(f(*self.given))
            got = made(*self.given)
            self.assertEqual(got.shape, want.shape, made.text)
            np.testing.assert_allclose(got, want, 1e-12, 1e-14, err_msg=made.text)

    def test_a_slice_of_an_input_and_of_a_computed_value_is_that_of_numpy(self):
        refused = 0
        for start, stop, step in itertools.product((None, 0, 1, 3, -1, -2, -4), (None, 0, 1, 5, -1, -2, -6), (None, 2, 3, -1, -2)):
            at = slice(start, stop, step)
            x = self.given[0]
            for f in (lambda x, m, v: x[at], lambda x, m, v: (x * 2)[at] + 1):
                try:
                    got = traced(f)(*self.given)
                except bl.ShapeError as error:  # how many there are is told by the length of x alone, or there are none
                    self.assertTrue("hangs on" in error.message or len(x[at]) == 0 or error.code == "E0144", (at, error.message))
                    refused += 1
                    continue
                np.testing.assert_array_equal(got, f(*self.given), err_msg=str(at))
        self.assertLess(refused, 210)

    def test_random_expressions_of_slices_and_dims_of_1_are_those_of_numpy(self):
        rng, g, counts = random.Random(48), np.random.default_rng(48), {"agree": 0, "refused": 0}
        given = {"m": g.normal(size=(5, 23)), "v": g.normal(size=23)}  # extents that meet have one name
        for _ in range(400):
            text = random_text(rng, rng.randrange(1, 5))
            try:
                want = np.asarray(eval(text, {"np": np}, given))
            except (ValueError, IndexError):
                continue
            f = eval(f"lambda m, v: {text}", {"np": np})
            f.__annotations__ = {"m": bl.f64["n", "c"], "v": bl.f64["c"]}
            if not want.size:
                continue
            try:
                got = bl.kernel(f, name="f")(**given)
            except bl.Error:
                counts["refused"] += 1
                continue
            self.assertEqual(got.shape, want.shape, text)
            np.testing.assert_allclose(got, want, 1e-9, 1e-9, err_msg=text)
            counts["agree"] += 1
        self.assertGreater(counts["agree"], 4 * counts["refused"], counts)

    def test_slices_that_leave_as_many_elements_meet(self):
        def differences(x, m, v):
            y = x * 2
            return y[1:] - y[:-1]

        self.agree(differences, lambda x, m, v: x[2:] - 2 * x[1:-1] + x[:-2], lambda x, m, v: x[::-1] + x, lambda x, m, v: x[1:4] * x[3:6], lambda x, m, v: x[-3:] - x[:3],
                   lambda x, m, v: 4 * m[1:-1, 1:-1] - m[:-2, 1:-1] - m[2:, 1:-1] - m[1:-1, :-2] - m[1:-1, 2:], lambda x, m, v: np.where(x[1:] > x[:-1], x[1:], 0.0),
                   lambda x, m, v: x[::2][1:] - x[::2][:-1], lambda x, m, v: x[:6:2] + x[1:7:2], lambda x, m, v: m[:, 1:] @ v[1:], lambda x, m, v: (m[:, 1:] * v[:-1]).sum(),
                   lambda x, m, v: np.cumsum(m[1:], axis=1), lambda x, m, v: np.dot(x[1:], x[:-1]), lambda x, m, v: np.diff(m * 2, axis=0), lambda x, m, v: np.diff(x, 2),
                   lambda x, m, v: np.flip(m, 1) + m, lambda x, m, v: np.diff(x > 0), lambda x, m, v: x[1:-1] / x[2:].sum(), lambda x, m, v: x[::2].sum() + x[1::2].sum())

    def test_borders_are_sliced_as_values_are(self):
        self.agree(lambda x, m, v: np.pad(x, 1)[2:] - np.pad(x, 1)[:-2] + x, lambda x, m, v: np.pad(x, (1, 2)), lambda x, m, v: np.exp(np.pad(x * 2, 1)), lambda x, m, v: np.pad(x[:3], 1)[::-1],
                   lambda x, m, v: np.pad(m, ((0, 0), (1, 1)), mode="edge")[:, 1:] - np.pad(m, ((0, 0), (1, 1)), mode="edge")[:, :-1], lambda x, m, v: np.pad(x[1:], 1)[1:-1] + x[1:],
                   lambda x, m, v: np.pad(np.pad(x, 1), 2, mode="edge"))

    def test_integers_leave_out_dims_of_computed_values_too(self):
        self.agree(lambda x, m, v: (m * 2)[1], lambda x, m, v: (m * v)[..., -1], lambda x, m, v: (m * 2)[-1, 2:], lambda x, m, v: x[1:][0], lambda x, m, v: (m * 2).T[0], lambda x, m, v: (m @ v)[1:])

    def test_none_lets_values_meet_by_places(self):
        self.agree(lambda x, m, v: x[:, None] - x[None, :], lambda x, m, v: (x[:, None] - x) * x, lambda x, m, v: np.sum(x[:, None] * x, axis=0), lambda x, m, v: x[None, :, None] * 2,
                   lambda x, m, v: m - m.mean(1)[:, None], lambda x, m, v: np.sqrt(((m[:, None] - m[None]) ** 2).sum(-1)), lambda x, m, v: (x[:, None] - x)[1:, :-1], lambda x, m, v: x[..., None] * v,
                   lambda x, m, v: m[:, None] * v, lambda x, m, v: (x[:, None] - x).T, lambda x, m, v: (x[:, None] - x) @ x, lambda x, m, v: x[:, None][:, 0], lambda x, m, v: (m @ v)[:, None] * v,
                   lambda x, m, v: (x[:, None] - x).sum(axis=0, keepdims=True) * x[:, None], lambda x, m, v: np.cumsum(x[:, None] - x, axis=0), lambda x, m, v: np.expand_dims(x, 1) * v,
                   lambda x, m, v: m[None].sum(), lambda x, m, v: x[:, None].max(keepdims=True), lambda x, m, v: m[:, None].sum(axis=0))

    def test_the_order_of_dims_stays_that_of_numpy_through_functions_folds_and_scans(self):
        self.agree(lambda x, m, v: np.exp(m.T), lambda x, m, v: np.exp(m.T).sum(axis=0), lambda x, m, v: np.cumsum(m.T, axis=0), lambda x, m, v: np.add.accumulate(m.T), lambda x, m, v: m.T * v[:, None],
                   lambda x, m, v: m.T.mean(axis=1), lambda x, m, v: np.sum(m.T[1:], axis=0))

    def test_functions_that_are_made_of_others_are_those_of_numpy(self):
        self.given[1][1, 2] = self.given[0][3] = np.nan
        self.agree(lambda x, m, v: np.count_nonzero(m > 0, axis=1), lambda x, m, v: np.ptp(v), lambda x, m, v: np.nansum(m, axis=0), lambda x, m, v: np.nanprod(x), lambda x, m, v: np.nanmax(m, axis=1),
                   lambda x, m, v: np.nanmin(x), lambda x, m, v: np.nanmean(m, axis=0), lambda x, m, v: np.isclose(m, m + 1e-9), lambda x, m, v: np.allclose(v, v), lambda x, m, v: np.nan_to_num(m),
                   lambda x, m, v: np.average(m, axis=1, weights=v), lambda x, m, v: np.average(v), lambda x, m, v: np.select([v > 1, v > 0], [v, 2 * v], -1), lambda x, m, v: np.ones_like(m) * 2,
                   lambda x, m, v: np.full_like(v, 3), lambda x, m, v: np.round(v, 2), lambda x, m, v: round(v * 1e3, -1) if not isinstance(v, np.ndarray) else np.round(v * 1e3, -1), lambda x, m, v: np.roll(m, 2, axis=1) + m,
                   lambda x, m, v: np.roll(v, -1) * v, lambda x, m, v: np.gradient(v), lambda x, m, v: np.gradient(m, axis=0), lambda x, m, v: np.trapezoid(v, dx=0.5), lambda x, m, v: np.tril(m), lambda x, m, v: np.triu(m, 1),
                   lambda x, m, v: np.sinc(v), lambda x, m, v: np.fliplr(m), lambda x, m, v: np.signbit(v), lambda x, m, v: np.heaviside(v, 0.5), lambda x, m, v: np.deg2rad(v), lambda x, m, v: np.multiply.outer(v, v),
                   lambda x, m, v: np.sum(m, where=m > 0), lambda x, m, v: np.mean(m, axis=1, where=m > 0), lambda x, m, v: np.max(v, initial=9.0), lambda x, m, v: v.dot(v), lambda x, m, v: m.swapaxes(0, 1),
                   lambda x, m, v: v.clip(0, 1), lambda x, m, v: v.cumsum(), lambda x, m, v: v.std(ddof=1), lambda x, m, v: m.transpose(1, 0), lambda x, m, v: (m @ m.T).trace(), lambda x, m, v: v.copy().round(1),
                   lambda x, m, v: np.vecdot(v, v), lambda x, m, v: (m @ m.T).diagonal(), lambda x, m, v: np.angle(v * 1j))

    def test_positions_that_are_computed_stand_where_numpy_has_them(self):
        @bl.kernel
        def f(m: bl.f64["n", "c"], k: bl.i64["k"]):
            return {"rows": m[k], "columns": m[:, k], "taken": np.take(m, k, axis=1), "next": m[bl.iota("p") + 1] - m[bl.iota("p")]}

        m, k = self.given[1], np.array([3, 1, 0])
        made = f(m, k)
        for ours, theirs in ((made.rows, m[k]), (made.columns, m[:, k]), (made.taken, m[:, k]), (made.next, np.diff(m, axis=0))):
            np.testing.assert_array_equal(ours, theirs)

    def test_a_slice_is_a_read_and_an_axis_whose_length_the_text_says(self):
        self.assertEqual(traced(lambda x, m, v: x[1:] - x[:-1]).text.split("\n")[4:6], ["  axis i_less_1 < extent(x, 0) - 1", "  out result[i_less_1] = x[i_less_1 + 1] - x[i_less_1 + 0]"])

        @bl.kernel
        def f(x: bl.f64["i"], w: bl.f64["i_less_1"]):
            return (x[1:] - x[:-1]) * w

        x = self.given[0]
        np.testing.assert_array_equal(f(x, x[1:]), np.diff(x) * x[1:])

    def test_what_would_hang_on_the_number_of_elements_says_what_to_write(self):
        for wrong, words in ((lambda x, m, v: x[1:] - x, "x[1:] - x[:-1]"), (lambda x, m, v: x[::2] + x[1::2], "as many"), (lambda x, m, v: x[-3:2], "from the end"), (lambda x, m, v: x[bl.extent("i"):], "bl.iota"),
                             (lambda x, m, v: x[::0], "step"), (lambda x, m, v: x[:, None] @ v, "None out"), (lambda x, m, v: x[:, None].sum(axis=1), "None out"), (lambda x, m, v: m[0, 0, 0], "each dim"),
                             (lambda x, m, v: x[1.5:], "bl.iota")):
            with self.assertRaises(bl.Error) as caught:
                traced(wrong)(*self.given)
            self.assertIn(words, f"{caught.exception.message} {caught.exception.help}")
        for wrong in (lambda u: (u * 2)[1:], lambda u: u[1:], lambda u: u[:, None] - u, lambda u: (u * 2)[:, None] * u):
            wrong.__annotations__ = {"u": bl.f64[":"]}
            with self.assertRaisesRegex(bl.Error, "labels"):
                bl.kernel(wrong, name="f")
        with self.assertRaisesRegex(bl.Error, "7 elements"):
            traced(lambda x, m, v: x[:9])(*self.given)

    def test_a_slice_of_a_dim_that_may_be_1_says_so(self):
        for dim, words in (("i?", "may be 1(.|\n)*declare it as 'i'"), (":", "has no label")):
            with self.assertRaisesRegex(bl.SpecError, words):
                @bl.kernel
                def f(x: bl.f64[dim]):
                    return x[1:]


if __name__ == "__main__":
    unittest.main()
