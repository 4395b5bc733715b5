"""Kernels traced from Python functions."""

import itertools
import pickle
import unittest

import numpy as np

import broadloom as bl


@bl.kernel
def softmax(x: bl.f32["i", "j"]):
    e = bl.exp(x - bl.max(x, "j"))
    return e / bl.sum(e, "j")


class Traces(unittest.TestCase):
    def setUp(self):
        self.x = np.random.default_rng(1).normal(size=(3, 4))

    def test_a_function_becomes_a_kernel(self):
        self.assertEqual(softmax.name, "softmax")
        x = self.x.astype("f4")
        e = np.exp(x - x.max(1, keepdims=True))
        np.testing.assert_allclose(softmax(x), e / e.sum(1, keepdims=True), rtol=1e-6)
        self.assertEqual(softmax.text, "kernel softmax {\n  in  x : f32[i, j]\n  let t0 = exp(x - max(x, j))\n"
                                       "  out result = t0 / sum(t0, j)\n}\n")

    def test_operators_mean_what_they_mean_in_numpy(self):
        def both(f, dtype=bl.f64):
            return bl.kernel(f)(self.x, 2.5), f(self.x, 2.5)

        for f in (lambda x, y: x + y * 2 - 1 / x, lambda x, y: -x ** 2 % y // 3, lambda x, y: (x > 0) & (x <= y) | ~(x != y),
                  lambda x, y: abs(x) + (1 - x) + (2 ** x) + (3 % x), lambda x, y: (x < 1) ^ (y == 2.5), lambda x, y: +x >= y):
            f.__annotations__ = {"x": bl.f64["i", "j"], "y": bl.f64}
            f.__name__ = "f"
            ours, theirs = both(f)
            np.testing.assert_allclose(ours, theirs, rtol=1e-14)

        def shifts(n: bl.i32["i"]):
            return ((n << 2) >> 1) | 1

        np.testing.assert_array_equal(bl.kernel(shifts)(np.arange(4, dtype="i4")), [1, 3, 5, 7])

    def test_numpys_functions_are_traced(self):
        def many(x: bl.f64["i", "j"]):
            y = np.where(np.logical_and(x > 0, x < 1), np.sqrt(np.abs(x)), np.arctan2(x, 2.0))
            return {"y": np.maximum(y, np.clip(x, -0.5, 0.5)) + np.float64(1), "s": np.sum(y, axis=1), "t": y.sum(),
                    "m": np.mean(y, axis=0), "v": np.var(y, axis=1, ddof=1), "c": np.cumsum(y, axis=1),
                    "a": np.argmax(y, axis=1), "r": np.add.reduce(y, axis=0), "q": np.maximum.accumulate(y, 1),
                    "n": np.any(x > 2), "f": y.astype("f4"), "g": y.max("j")}

        results = bl.kernel(many)(self.x)
        y = np.where((self.x > 0) & (self.x < 1), np.sqrt(np.abs(self.x)), np.arctan2(self.x, 2.0))
        want = {"y": np.maximum(y, np.clip(self.x, -0.5, 0.5)) + 1, "s": y.sum(1), "t": y.sum(), "m": y.mean(0),
                "v": y.var(1, ddof=1), "c": y.cumsum(1), "a": y.argmax(1), "r": y.sum(0), "q": np.maximum.accumulate(y, 1),
                "n": (self.x > 2).any(), "f": y.astype("f4"), "g": y.max(1)}
        for name, array in want.items():
            np.testing.assert_allclose(results[name], array, rtol=1e-6 if name == "f" else 1e-12, err_msg=name)
            self.assertEqual(results[name].dtype, array.dtype, name)

    def test_outputs_have_modes_axes_and_dtypes(self):
        @bl.kernel(name="demo", threads=1, accuracy="exact")
        def any_name(x: bl.f64["i", "j"], y: bl.f64["i"]):
            return {"b": bl.out(x * x * y, "broadcast"), "a": bl.out(x * y, "accumulate(sum)"),
                    "r": bl.out(x - y, "reduce(max)", axes="j", dtype=np.float32), "t": bl.out(x, axes=("j", "i")),
                    "p": bl.out(bl.scan("sum", x, "j", exclusive=True, init=1), add=True),
                    "e": x / bl.extent("j") + bl.iota("i", of=x)}

        x, y = np.random.default_rng(1).normal(size=(3, 4)), np.arange(3.0)
        results = any_name(x, y)
        self.assertEqual((any_name.name, any_name.threads), ("demo", 1))
        np.testing.assert_allclose(results.b, x * x * y[:, None])
        np.testing.assert_allclose(results.a, x.sum(1) * y)
        np.testing.assert_array_equal(results.r, (x - y[:, None]).max(0).astype("f4"))
        np.testing.assert_array_equal(results.t, x.T)
        np.testing.assert_allclose(results.p, 1 + x.cumsum(1) - x)
        np.testing.assert_allclose(results.e, x / 4 + y[:, None])

    def test_declarations_take_labels_extents_and_colons(self):
        def f(x: bl.f32[:, ":"], y: bl.f32[3]):
            return x + y

        np.testing.assert_array_equal(bl.kernel(f)(np.ones((2, 3), "f4"), np.ones(3, "f4")), np.full((2, 3), 2))
        with self.assertRaises(bl.ShapeError):
            bl.kernel(f)(np.ones((2, 4), "f4"), np.ones(4, "f4"))

    def test_labels_with_a_question_mark_may_be_1_and_are_then_repeated(self):
        @bl.kernel
        def f(x: bl.f64["i?", "j"], y: bl.f64["i", "j"]):
            return x * y

        self.assertIn("in  x : f64[i?, j]", f.text)
        y = np.arange(6.0).reshape(2, 3)
        np.testing.assert_array_equal(f(y[:1], y), y[:1] * y)
        np.testing.assert_array_equal(f(y, y), y * y)
        with self.assertRaises(bl.ShapeError):
            f(y, y[:1])

    def test_a_shape_may_be_that_of_several_inputs(self):
        @bl.kernel
        def f(x: bl.f64["i?", "j?"], y: bl.f64["i?", "j?"], w: bl.f64["i", "j"]):
            e = x + y * w
            return {"both": bl.sum(e, like=(x, y)), "one": e.sum(like=x), "list": bl.max(e, like=[x, y]),
                    "mode": bl.out(e, "reduce(sum)", like=(x, y)), "all": bl.out(1.0, "broadcast", like=(x, w)),
                    "n": bl.extent("i", of=(x, y)) + bl.sum(x * 0)}

        self.assertIn("sum(t0, like=(x, y))", f.text)
        self.assertIn("out mode = reduce(sum, like=(x, y)) t0", f.text)
        rng = np.random.default_rng(4)
        w = rng.normal(size=(3, 4))
        for of_x, of_y in (((3, 1), (1, 1)), ((1, 4), (3, 1)), ((1, 1), (1, 1)), ((3, 4), (1, 4))):
            x, y = rng.normal(size=of_x), rng.normal(size=of_y)
            made, e = f(x, y, w), x + y * w
            shape = np.broadcast_shapes(of_x, of_y)
            folded = tuple(d for d in range(2) if shape[d] == 1)
            np.testing.assert_allclose(made.both, e.sum(folded, keepdims=True), rtol=1e-12, atol=1e-14)
            np.testing.assert_array_equal(made.mode, made.both)
            np.testing.assert_array_equal(made.list, e.max(folded, keepdims=True))
            np.testing.assert_allclose(made.one, e.sum(tuple(d for d in range(2) if of_x[d] == 1), keepdims=True), rtol=1e-12, atol=1e-14)
            np.testing.assert_array_equal(made.all, np.ones((3, 4)))
            self.assertEqual(made.n, shape[0])

    def test_annotations_may_be_strings(self):
        axes = bl.f64["i"]

        def f(x: "axes", y: "bl.f64"):
            return (axes, x * y)[1]

        np.testing.assert_array_equal(bl.kernel(f)(np.ones(2), 3), [3, 3])

    def test_long_chains_and_loops_are_traced(self):
        @bl.kernel
        def f(x: bl.f64["i"]):
            y = x
            for k in range(2000):
                y = y * 0.5 + k
            return y

        want = np.ones(2)
        for k in range(2000):
            want = want * 0.5 + k
        np.testing.assert_array_equal(f(np.ones(2)), want)

    def test_parameters_with_defaults_are_constants(self):
        @bl.kernel
        def f(x: bl.f64["i"], /, by=3, *, y: bl.f64["i"], plus=1):
            return x * by + y + plus

        self.assertEqual([i.name for i in f.inputs], ["x", "y"])
        np.testing.assert_array_equal(f(np.ones(2), y=np.zeros(2)), [4, 4])

    def test_constants_keep_their_values(self):
        @bl.kernel
        def f(x: bl.f64["i"]):
            return {"a": x * 0.1, "b": x - 1e-300, "c": bl.where(x > 0, float("inf"), -float("inf")), "d": x + np.float32(0.1),
                    "e": x * -3, "z": bl.sum(x) * (1 - 2j), "f": bl.minimum(x, -0.0), "g": x + float("nan"), "h": bl.where(True, x, 7)}

        x = np.array([1.0, -2.0])
        r = f(x)
        np.testing.assert_array_equal(r.a, x * 0.1)
        np.testing.assert_array_equal(r.c, [np.inf, -np.inf])
        np.testing.assert_array_equal(r.d, x + np.float64(np.float32(0.1)))
        np.testing.assert_array_equal(r.e, x * -3)
        np.testing.assert_array_equal(r.z, -1 + 2j)
        self.assertTrue(np.signbit(r.f[0]))
        self.assertTrue(np.isnan(r.g).all())


    def test_complex_numbers_keep_the_signs_of_their_zeros(self):
        for real, imag in itertools.product((0.0, -0.0, 1.5, -1.5), repeat=2):
            @bl.kernel
            def f(x: bl.c128["i"]):
                return bl.where(bl.real(x) > 0, x, complex(real, imag))

            made = f(np.zeros(1, "D"))
            self.assertEqual((str(made.real[0]), str(made.imag[0])), (str(real), str(imag)))


class Mistakes(unittest.TestCase):
    def line_of(self, function, offset):
        return function.__code__.co_firstlineno + offset

    def refused(self, function, offset, code, words):
        with self.assertRaises(bl.Error) as caught:
            bl.kernel(function)
        error = caught.exception
        self.assertRegex(error.code, code, str(error))
        self.assertRegex(str(error), words)
        self.assertEqual(error.where.file, __file__)
        self.assertEqual(error.where.line, self.line_of(function, offset), str(error))

    def test_errors_point_into_the_users_source(self):
        def axis(x: bl.f32["i", "j"]):
            y = x + 1
            return y * np.exp(bl.sum(y, "k"))

        self.refused(axis, 2, "E0104", r'(?s)no axis.*bl.sum\(y, "k"\)')

        def dtype(x: bl.c64["i"]):
            y = x + 1
            z = bl.maximum(y, 2)
            return z * 3 + z

        self.refused(dtype, 2, "E0201", "complex")

    def test_errors_of_shapes_and_declarations_point_into_the_users_source(self):
        def expression(x: bl.f32["i", "j"], y: bl.f32["i"]):
            t = x + y
            return bl.sum(t, like=(x, t))

        self.refused(expression, 2, "E0003", r"(?s)like= takes inputs, and some of these are none.*like=\(x, t\).*like=\(x, y\)")

        def both(x: bl.f32["i", "j"], y: bl.f32["i"]):
            return x * bl.sum(x, "j", like=(x, y))

        self.refused(both, 1, "E0002", r'(?s)axes or like=, not both.*bl.sum\(x, "j"')

        def plain(x: bl.f32["i", "j"]):
            return bl.out(x, like=x)

        self.refused(plain, 1, "E0002", r'(?s)no.*bl.out\(e, "reduce\(sum\)"')

        def mode(x: bl.f32["i", "j"]):
            t = x + 1
            return {"a": t,
                    "b": bl.out(t, "redcue(sum)")}

        self.refused(mode, 3, "E0008|E0003|E0002", "redcue")

        def twice(x: bl.f32["i"],
                  y: bl.f32["i", "i"]):
            return x

        self.refused(twice, 1, "E0133", r'(?s)label \'i\' twice.*bl.f32\["i", "i"\]')

        def mixed(x: bl.f32["i?", ":"]):
            return x

        self.refused(mixed, 0, "E0012", "labelled and unlabelled")
        for wrong in ("?", "3?", "i??", "i?=1", "i=", "i, j", ":?"):
            with self.assertRaises(bl.SpecError) as caught:
                bl.f32[wrong]
            self.assertEqual((caught.exception.code, caught.exception.where.file), ("E0012", __file__), wrong)
            self.assertIn("'i?'", caught.exception.help)
            self.assertEqual(caught.exception.help.startswith("write bl.f32['i', 'j']: "), wrong == "i, j")

        def text(x: "bl.f32['?']"):
            return x

        self.refused(text, 0, "E0012", "is no dim")

    def test_a_branch_on_a_traced_value_is_refused(self):
        def branch(x: bl.f32["i"]):
            if x > 0:
                return x
            return -x

        self.refused(branch, 1, "E0002", "bl.where")

        def both(x: bl.f32["i"]):
            return x > 0 and x < 1

        self.refused(both, 1, "E0002", "bl.where")

    def test_what_cannot_be_traced_is_named(self):
        def median(x: bl.f32["i"]):
            return np.median(x)

        self.refused(median, 1, "E0008", r"(?s)numpy.median.*the order of elements is not known until they are there")

        def array(x: bl.f32["i"]):
            return x + np.ones(3)

        self.refused(array, 1, "E0002", "ndarray meets a traced value")

        for wrong in (lambda x: x[0.5], lambda x: x[None, [0]], lambda x: [a for a in x], lambda x: float(x), lambda x: len(x), lambda x: x + complex(0, float("inf")),
                      lambda x: x + "a", lambda x: np.add.at(x, 0, 1), lambda x: np.add.reduceat(x, [0]), lambda x: x[np.arange(2.0)], lambda x: x[[True, False]], lambda x: x[[]], lambda x: bl.exp(x, x),
                      lambda x: np.array(x), lambda x: np.asarray([x, x])):
            wrong.__annotations__ = {"x": bl.f32["i"]}
            with self.assertRaises(bl.SpecError):
                bl.kernel(wrong, name="f")

    def test_accumulators_and_functions_of_your_own_stand_beside_the_function(self):
        @bl.kernel(definitions="""
            accumulator damped(a; m) {
              init a = 0
              step a = 0.5 * a + m
            }
            accumulator weighted(s, n; x, w) {
              init s = 0, n = 0
              step s = s + x * w, n = n + w
              combine s = s + s_other, n = n + n_other
              result s / n
            }
            def lerp(a, b, t) = a + (b - a) * t
              derivative a = 3 * g""")
        def own(x: bl.f64["i", "j"], y: bl.f64["i"]):
            return {"d": bl.fold("damped", x, "j"), "w": bl.fold("weighted", (x, bl.iota("j")), -1), "s": bl.scan("damped", x, "j"), "l": bl.call("lerp", x, y, 0.25), "m": bl.out(x, "reduce(damped)", axes=["i"]),
                    "z": bl.fold("damped", x, 1)[1:] * 2}

        x, y = np.random.default_rng(1).normal(size=(3, 4)), np.arange(3.0)
        damped = np.zeros(x.shape)
        for j in range(x.shape[1]):
            damped[:, j] = x[:, j] + (0.5 * damped[:, j - 1] if j else 0)
        made = own(x, y)
        for ours, theirs in ((made.d, damped[:, -1]), (made.w, x @ np.arange(4) / 6), (made.s, damped), (made.l, x + (y[:, None] - x) * 0.25), (made.m, damped[:, -1]), (made.z, 2 * damped[1:, -1])):
            np.testing.assert_allclose(ours, theirs, 1e-12)
        np.testing.assert_array_equal(own.grad("x", of="l")(x, y, np.ones(x.shape)), np.full(x.shape, 3.0))
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(own))(x, y).l, made.l)
        for wrong in ("accumulator q(a; m) { init a = 0 }", "def f(a) = a + b", "def g(a) = a"):
            with self.assertRaises(bl.SpecError):
                @bl.kernel(definitions=wrong)
                def f(x: bl.f64["i"]):
                    return bl.call("f", x)

    def test_arguments_by_position_are_not_dropped(self):
        for call in (lambda x: np.sum(x, "i", "i1"), lambda x: x.mean(dtype=bool), lambda x: x.sum(dtype=">f8"), lambda x: np.cumsum(x, "i", np.float32), lambda x: np.min(x, "i", 3), lambda x: np.all(x, "i", 3),
                     lambda x: np.sum(x, axis=()), lambda x: np.linalg.norm(x, 1), lambda x: np.max(x, where=False)):
            call.__annotations__ = {"x": bl.f64["i"]}
            with self.assertRaises(bl.SpecError):
                bl.kernel(call, name="f")

        @bl.kernel
        def running(x: bl.f64["i"], n: bl.i32["i"]):
            return {"c": np.cumsum(x, axis=0), "m": np.cumsum(n, axis=0), "z": x * 2j, "b": (n > 0) ** 2}

        made = running(np.array([-0.0, -0.0, 1.0]), np.arange(3, dtype="i4"))
        np.testing.assert_array_equal(np.signbit(made.c), [True, True, False])
        self.assertEqual((made.m.tolist(), made.z.tolist(), made.b.dtype), ([0, 1, 3], [0, 0, 2j], np.int8))

        @bl.kernel
        def typed(x: bl.f64["i"]):
            return {"s": np.sum(x, "i", np.float32), "m": np.mean(x, dtype="f4"), "k": x.sum(dtype=np.int64)}

        self.assertEqual([(x.dtype, float(x)) for x in typed(np.array([1.5, 2.0]))], [(np.float32, 3.5), (np.float32, 1.75), (np.int64, 3)])

    def test_declarations_and_returns_are_checked(self):
        def undeclared(x, y: bl.f32):
            return x

        self.refused(undeclared, 0, "E0002", "'x' does not say what it is")

        def star(*x):
            return x

        self.refused(star, 0, "E0002", "x")

        def default(x: bl.f32 = 3):
            return x

        self.refused(default, 0, "E0002", "'x' has a default")

        def nothing(x: bl.f32):
            pass

        self.refused(nothing, 0, "E0002", "returns one expression, or a dict")
        with self.assertRaises(bl.SpecError):
            bl.f32[1.5]
        with self.assertRaises(bl.SpecError):
            bl.exp(np.ones(3))
