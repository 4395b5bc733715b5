"""Traced kernels: products, orders of axes, windows, borders, and kernels of any dtype."""

import unittest

import numpy as np

import broadloom as bl


class Axes(unittest.TestCase):
    def setUp(self):
        rng = np.random.default_rng(8)
        self.x, self.y, self.z, self.v = rng.normal(size=(3, 4)), rng.normal(size=(4, 5)), rng.normal(size=(5, 2)), rng.normal(size=4)

    def test_products_are_sums_along_axes_that_meet(self):
        for f in (lambda x, y, z, v: x @ y, lambda x, y, z, v: (x * 2) @ y @ z, lambda x, y, z, v: x @ x.T, lambda x, y, z, v: x.T @ x, lambda x, y, z, v: x @ v,
                  lambda x, y, z, v: v @ y, lambda x, y, z, v: v @ v, lambda x, y, z, v: np.matmul(np.exp(x), y + 1) - 1, lambda x, y, z, v: np.dot(x, v), lambda x, y, z, v: np.inner(x, v),
                  lambda x, y, z, v: np.outer(v, v), lambda x, y, z, v: (x @ y).T, lambda x, y, z, v: np.exp(x @ y).T @ x, lambda x, y, z, v: np.einsum("ij,jk->ki", x, y),
                  lambda x, y, z, v: np.einsum("ij,jk,kl", x, y, z), lambda x, y, z, v: np.einsum("ij->j", x), lambda x, y, z, v: np.einsum("ij,j", x, v),
                  lambda x, y, z, v: np.einsum("ij,kj->ik", x, x + 1), lambda x, y, z, v: np.einsum("ii->i", x @ x.T), lambda x, y, z, v: np.einsum("ii", x @ x.T),
                  lambda x, y, z, v: np.transpose(x), lambda x, y, z, v: np.swapaxes(x * 2, 0, 1), lambda x, y, z, v: np.moveaxis(x, 0, -1), lambda x, y, z, v: np.sum(x.T, axis=0)):
            f.__annotations__ = {"x": bl.f64["i", "k"], "y": bl.f64["k", "j"], "z": bl.f64["j", "m"], "v": bl.f64["k"]}
            made = bl.kernel(f, name="f")
            np.testing.assert_allclose(made(self.x, self.y, self.z, self.v), f(self.x, self.y, self.z, self.v), 1e-12, err_msg=made.text)

    def test_where_labels_meet_that_are_others_the_second_is_read_at_those_of_the_first(self):
        @bl.kernel
        def f(x: bl.f64["i", "j"], y: bl.f64["i", "j"]):
            return {"z": x @ y, "w": (x @ y) @ (y @ x)}

        x, y = self.x[:, :3], self.x[:, 1:]
        np.testing.assert_allclose(f(x, y).z, x @ y, 1e-12)
        np.testing.assert_allclose(f(x, y).w, (x @ y) @ (y @ x), 1e-12)

    def test_the_order_of_the_axes_of_computed_values_is_that_of_numpy(self):
        """Not the one in which the kernel names them first."""
        @bl.kernel
        def f(y: bl.f64["k", "j"], v: bl.f64["k"], x: bl.f64["i", "k"]):
            long = v * x
            for _ in range(3000):
                long = long * 1.0
            return {"z": (x * 2) @ y, "w": (v * x) @ (y + 1), "t": (x + v).T, "l": long @ y}

        x, y, v = self.x, self.y, self.v
        made = f(y, v, x)
        for ours, theirs in ((made.z, x * 2 @ y), (made.w, (v * x) @ (y + 1)), (made.t, (x + v).T), (made.l, (v * x) @ y)):
            np.testing.assert_allclose(ours, theirs, 1e-12)

    def test_dims_of_a_declared_extent_come_in_the_order_of_their_declaration(self):
        """Also where an input before has their axes in another order."""
        x, w = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(4, 3)
        for c in ("c", "c=3"):
            for f in (lambda x, w: x @ w.T, lambda x, w: w.T.sum(axis=0), lambda x, w: w.sum(axis=0), lambda x, w: np.vecdot(w, x[0]), lambda x, w: np.inner(x, w)):
                f.__annotations__ = {"x": bl.f64["n", c], "w": bl.f64["a", c]}
                made = bl.kernel(f, name="f")
                np.testing.assert_array_equal(made(x, w), f(x, w), err_msg=made.text)

    def test_a_dim_of_1_says_no_extent_where_another_input_does(self):
        @bl.kernel
        def f(x: bl.f64["i=1", "j=3"], y: bl.f64["i", "j=3"]):
            return (x + y).ravel()

        y = np.arange(12.0).reshape(4, 3)
        np.testing.assert_array_equal(f(y[:1], y), (y[:1] + y).ravel())

        @bl.kernel
        def g(x: bl.f64["i=1", "j=3"]):
            return {"s": np.squeeze(x), "r": np.roll(x, 7, axis=0), "p": np.pad(x, ((2, 1), (0, 0)))[2:-1], "c": np.convolve(x[0], [1, 2])}

        for made, theirs in zip(g(y[:1]), (y[0], y[:1], y[:1], np.convolve(y[0], [1, 2]))):
            np.testing.assert_array_equal(made, theirs)

    def test_products_and_casts_have_the_dtypes_of_numpy(self):
        x, y, b = np.full((2, 3), 100, "i1"), np.full((3, 2), 3, "u1"), np.array([True, False, True])
        for f in (lambda x, y, b: x @ x.T, lambda x, y, b: x @ y, lambda x, y, b: b @ b, lambda x, y, b: np.inner(x, x), lambda x, y, b: np.vdot(y, y), lambda x, y, b: np.vecdot(x, x),
                  lambda x, y, b: np.einsum("ij->j", x), lambda x, y, b: x.astype("i8"), lambda x, y, b: x.astype("u8"), lambda x, y, b: x.sum(dtype="i8"), lambda x, y, b: np.full_like(x, 3, dtype="i8"),
                  lambda x, y, b: np.conjugate(b), lambda x, y, b: b.conj() * 1, lambda x, y, b: np.reciprocal(x // 50), lambda x, y, b: np.reciprocal(y - 2), lambda x, y, b: np.reciprocal(x - 101),
                  lambda x, y, b: x.sum(axis=0, where=b), lambda x, y, b: x.max(axis=1, initial=101, where=b), lambda x, y, b: np.copy(x),
                  lambda x, y, b: np.triu(x > 3, 1), lambda x, y, b: np.tril(x), lambda x, y, b: x.min(axis=0, initial=5, where=b)):
            f.__annotations__ = {"x": bl.i8["i", "k=3"], "y": bl.u8["k=3", "j"], "b": bl.bool_["k=3"]}
            made = bl.kernel(f, name="f")
            ours, theirs = made(x, y, b), f(x, y, b)
            self.assertEqual(ours.dtype, theirs.dtype, made.text)
            np.testing.assert_array_equal(ours, theirs, err_msg=made.text)

    def test_methods_say_what_they_take(self):
        methods = "astype clip copy cumprod cumsum diagonal dot flatten ravel repeat reshape round squeeze sum swapaxes take trace transpose".split()
        for name in methods:
            def f(x: bl.f64["i", "j=4"]):
                return getattr(x, name)(odd=2)

            for call in (lambda: bl.kernel(f), lambda: getattr(bl.array(np.ones((2, 2))), name)(odd=2)):
                with self.assertRaisesRegex(bl.ArgumentError, rf"{name}: (.|\n)*it takes \((?!self)", msg=name):
                    call()

    def test_what_is_no_product_or_triangle_of_matrices_is_an_error_of_ours(self):
        for f, words in ((lambda x: np.outer(x, x), "numpy.outer of other than vectors"), (lambda x: np.triu(x[0]), "a triangle of less than two dims")):
            f.__annotations__ = {"x": bl.f64["i", "j"]}
            with self.assertRaisesRegex(bl.SpecError, words):
                bl.kernel(f, name="f")

    def test_a_mistake_in_what_a_function_is_made_of_is_told(self):
        for f in (lambda z: np.spacing(z.max()), lambda z: np.nextafter(np.ptp(z), 0)):
            f.__annotations__ = {"z": bl.c128["i"]}
            with self.assertRaisesRegex(bl.DTypeError, "'max' is not defined for complex"):
                bl.kernel(f, name="f")

    def test_windows_are_read_at_sums_of_axes(self):
        @bl.kernel
        def f(x: bl.f64["n", "j"], w: bl.f64["u"]):
            i, u = bl.iota("i"), bl.iota("u")
            return {"d": bl.out(x[i + 1] - x[i], axes=["i", "j"]), "c": bl.out(bl.sum(x[2 * bl.iota("m") + u, ...] * w, "u"), axes=["m", "j"]), "first": x[0], "last": x[-1, ...]}

        x, w = np.arange(28.0).reshape(7, 4) ** 2, np.array([1.0, 2, 1])
        made = f(x, w)
        np.testing.assert_array_equal(made.first, x[0])
        np.testing.assert_array_equal(made.last, x[-1])
        np.testing.assert_array_equal(made.d, np.diff(x, axis=0))
        np.testing.assert_array_equal(made.c, np.array([x[2 * m:2 * m + 3].T @ w for m in range(3)]))

    def test_borders_and_arrays_side_by_side_lie_in_memory(self):
        @bl.kernel
        def f(x: bl.f64["n", "m"], y: bl.f64["k", "m"]):
            i, j = bl.iota("i"), bl.iota("j")
            p, q = np.pad(x, 1, "edge"), np.pad(x * 2, ((0, 0), (2, 1)), constant_values=7)
            both = np.concatenate([x, y * 2], axis=0)
            return {"mean": (p[i, j + 1] + p[i + 2, j + 1] + p[i + 1, j] + p[i + 1, j + 2]) / 4, "q": bl.out(q["n", "r"], axes=["n", "r"]),
                    "both": both, "total": both.sum(), "wide": np.concatenate([x, x.T.T], axis="m")}

        y = self.x[:2] + 1
        made, p = f(self.x, y), np.pad(self.x, 1, "edge")
        np.testing.assert_allclose(made.mean, (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]) / 4, 1e-14)
        np.testing.assert_array_equal(made.q, np.pad(self.x * 2, ((0, 0), (2, 1)), constant_values=7))
        np.testing.assert_array_equal(made.both, np.concatenate([self.x, y * 2]))
        np.testing.assert_array_equal(made.wide, np.concatenate([self.x, self.x], axis=1))
        np.testing.assert_allclose(made.total, self.x.sum() + 2 * y.sum(), 1e-13)
        for wrong in (lambda x: np.pad(x, 1, "symmetric")["i"], lambda x: np.pad(x, (1, 2, 3))["i"], lambda x: np.pad(x, -1)["i"], lambda x: np.concatenate([x], axis=1)):
            wrong.__annotations__ = {"x": bl.f64["n"]}
            with self.assertRaises(bl.Error):
                bl.kernel(wrong, name="f")

    def test_folds_keep_dims_for_what_meets_others_by_name(self):
        @bl.kernel
        def f(x: bl.f64["i", "j"]):
            e = np.exp(x - np.max(x, axis=-1, keepdims=True))
            return {"p": e / e.sum("j", keepdims=True), "r": x / np.add.reduce(x, axis=1, keepdims=True)}

        e = np.exp(self.x - self.x.max(1, keepdims=True))
        np.testing.assert_allclose(f(self.x).p, e / e.sum(1, keepdims=True), 1e-14)
        np.testing.assert_allclose(f(self.x).r, self.x / self.x.sum(1, keepdims=True), 1e-14)

        @bl.kernel
        def g(x: bl.f64["i", "j"]):
            return {"s": np.sum(x, axis=1, keepdims=True), "m": 2 * x.mean(axis=0, keepdims=True), "a": np.max(x, keepdims=True)}

        np.testing.assert_allclose(g(self.x).s, self.x.sum(1, keepdims=True), 1e-14)
        np.testing.assert_allclose(g(self.x).m, 2 * self.x.mean(0, keepdims=True), 1e-14)
        np.testing.assert_array_equal(g(self.x).a, self.x.max(keepdims=True))
        with self.assertRaisesRegex(bl.SpecError, "keepdims"):
            @bl.kernel
            def h(x: bl.f64[":", ":"]):
                return np.sum(x, axis=1, keepdims=True)

    def test_one_function_is_a_kernel_for_each_dtype(self):
        @bl.kernel(threads=1)
        def f(x: bl.Float["i"], by: bl.Float, n: bl.i64):
            return x * by + n

        for dtype in ("f2", "f4", "f8"):
            made = f(np.arange(3, dtype=dtype), 2, 1)
            self.assertEqual((made.dtype, made.tolist()), (np.result_type(dtype, np.int64), [1, 3, 5]))
        self.assertEqual(sorted(f.kernels), ["f16", "f32", "f64"])
        self.assertIs(f[bl.f32], f[np.float32])
        self.assertEqual((f[bl.f32].inputs[0].dtype, f[bl.f32].threads), ("f32", 1))
        self.assertIn("Float[i]", repr(f))
        for wrong in (lambda: f(np.arange(3), 2, 1), lambda: f(1, 2, 3), lambda: f[bl.i32], lambda: f(np.ones(3), np.float32(2), 1), lambda: f(np.ones(3)), lambda: f(np.array(["a"]), 1, 1)):
            self.assertRaises(bl.Error, wrong)

    def test_positions_are_integers_and_no_conditions(self):
        x, m, k = np.array([1.0, -1.0, 2.0]), np.array([True, False, True]), np.array([2, 0], "u1")
        for wrong, kind, words in ((lambda x, m, k: x[m], bl.SpecError, "bl.where"), (lambda x, m, k: x[x > 0], bl.SpecError, "bl.where"),
                                   (lambda x, m, k: x[k * 0.5], bl.DTypeError, "astype"), (lambda x, m, k: (x + 1)[m], bl.SpecError, "bl.where")):
            wrong.__annotations__ = {"x": bl.f64["i"], "m": bl.bool_["i"], "k": bl.u8["j"]}
            with self.assertRaises(kind) as caught:
                bl.kernel(wrong, name="f")
            self.assertIn(words, caught.exception.help)

        @bl.kernel
        def f(x: bl.f64["i"], m: bl.bool_["j"], k: bl.u8["j"]):
            return x[k] + x[m.astype("i8") + 1]

        np.testing.assert_array_equal(f(x, m[:2], k), x[k] + x[m[:2].astype("i8") + 1])

    def test_what_arrays_of_numpy_have_and_traced_values_have_not_says_what_to_write(self):
        for wrong, kind, words in ((lambda x: x.shape, AttributeError, "bl.extent"), (lambda x: x.reshape(-1), bl.SpecError, "declare all but one"), (lambda x: sum(x), bl.SpecError, "bl.sum"),
                                   (lambda x: x.argsort(), AttributeError, "NumPy"), (lambda x: x.foo, AttributeError, "no 'foo'"),
                                   (lambda x: x.__setitem__(0, 1), bl.SpecError, "bl.where"), (lambda x: np.cross(x, x), bl.SpecError, "bl.array(x)")):
            wrong.__annotations__ = {"x": bl.f64["i", "j"]}
            with self.assertRaises(kind) as caught:
                bl.kernel(wrong, name="f")
            self.assertIn(words, str(caught.exception))

    def test_mistakes_about_axes_are_errors_of_ours(self):
        for wrong in (lambda x, y: x @ x, lambda x, y: x @ 2, lambda x, y: np.einsum("ijk", x), lambda x, y: np.einsum("ij,jk", x), lambda x, y: np.einsum("...", x),
                      lambda x, y: np.swapaxes(x, 0, 2), lambda x, y: np.transpose(x, (0, 0)), lambda x, y: y[1:], lambda x, y: x[0, 1, 2], lambda x, y: x.std(axis=0, odd=1)):
            wrong.__annotations__ = {"x": bl.f64["i", "j"], "y": bl.f64[":", ":"]}
            with self.assertRaises(bl.Error, msg=wrong.__code__.co_firstlineno):
                bl.kernel(wrong, name="f")(np.ones((2, 3)), np.ones((2, 3)))


if __name__ == "__main__":
    unittest.main()
