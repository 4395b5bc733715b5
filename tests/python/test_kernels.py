"""Kernels from text: compiling, calling, errors, what they tell."""

import ast
import pathlib
import tempfile
import threading
import timeit
import unittest

import numpy as np

import broadloom as bl

TWO = "kernel two { in x : f64[i, j]; in y : f64[i]; out z = x * y; out s = sum(x, j) }"


class Calls(unittest.TestCase):
    def setUp(self):
        self.x, self.y = np.arange(6.0).reshape(2, 3), np.array([1.0, 2.0])
        self.z, self.s = self.x * self.y[:, None], self.x.sum(1)
        self.kernel = bl.compile(TWO)

    def check(self, results):
        np.testing.assert_array_equal(results.z, self.z)
        np.testing.assert_array_equal(results.s, self.s)

    def test_arguments_go_by_position_or_by_name(self):
        k, x, y = self.kernel, self.x, self.y
        for _ in range(2):
            for results in (k(x, y), k(x=x, y=y), k(y=y, x=x), k(x, y=y), k(x, **{"".join(["", "y"]): y})):
                self.check(results)

    def test_several_results_have_attributes_names_positions_and_unpack(self):
        results = self.kernel(self.x, self.y)
        z, s = results
        self.assertIs(results.z, z)
        self.assertIs(results["s"], s)
        self.assertIs(results[0], z)
        self.assertIs(results[-1], s)
        self.assertEqual(results[:1], (z,))
        self.assertEqual((len(results), list(results._asdict())), (2, ["z", "s"]))
        self.assertIn("z=array", repr(results))
        self.assertIn("s", dir(results))
        with self.assertRaisesRegex(AttributeError, "did you mean 's'"):
            results.ss
        with self.assertRaisesRegex(bl.ArgumentError, "E0304"):
            results["sum"]
        with self.assertRaises(IndexError):
            results[2]

    def test_names_of_other_packages_bring_those_of_this_one(self):
        for name, words in {"float64": "use bl.f64", "uint8": "use bl.u8", "jit": "use bl.kernel", "grad": r"k.grad\(..\)", "vmap": r"k.batch\(\)",
                            "zeros": "NumPy's arrays", "asarray": "use bl.array", "version": "bl.__version__", "comput": "did you mean 'compute'",
                            "softmax": "e = bl.exp", "numpy": "NumPy's functions"}.items():
            with self.subTest(name), self.assertRaisesRegex(AttributeError, f"has no attribute '{name}'; .*{words}"):
                getattr(bl, name)
        self.assertFalse(hasattr(bl, "__path_of_nothing__"))
        with self.assertRaisesRegex(bl.SpecError, r"(?s)bl.sum of no traced value.*bl.sum\(bl.array\(x\)\)"):
            bl.sum(np.ones(3))

    def test_outputs_are_given_as_an_array_a_tuple_a_dict_or_results(self):
        k, x, y = self.kernel, self.x, self.y
        z, s = np.zeros((2, 3)), np.zeros(2)
        for out in ((z, s), [z, s], {"s": s, "z": z}, k.bind(x, y, out=(z, s)).result):
            z[:] = s[:] = -1
            results = k(x, y, out=out)
            self.assertIs(results.z, z)
            self.assertIs(results.s, s)
            self.check(results)
        for out in ((z, None), {"z": z}):
            results = k(x, y, out=out)
            self.assertIs(results.z, z)
            self.check(results)
        self.check(k(x, y, out=None))

    def test_bound_calls_repeat(self):
        x, z, s = self.x.copy(), np.zeros((2, 3)), np.zeros(2)
        bound = self.kernel.bind(x, y=self.y, out=(z, s))
        for _ in range(3):
            x += 1
            results = bound()
            self.assertIs(results.z, z)
            np.testing.assert_array_equal(z, x * self.y[:, None])
        one = bl.compile("kernel k { in x : f64[i]; in f : f64; out z = f * x }")
        bound = one.bind(np.arange(3.0), 2)
        self.assertIs(bound(), bound())
        np.testing.assert_array_equal(bound(), [0, 2, 4])
        with self.assertRaisesRegex(bl.ArgumentError, "takes no arguments"):
            bound(1)

    def test_an_integer_that_no_float_is_near_is_an_error_of_ours(self):
        for dtype in ("f16", "bf16", "f32", "f64", "c64", "c128"):
            k = bl.compile("kernel k { in x : %s; out y = x * 2 }" % dtype)
            for number in (10**400, -(10**5000)):
                with self.assertRaisesRegex(bl.DTypeError, "an integer is too large for input 'x'") as caught:
                    k(number)
                self.assertEqual(caught.exception.code, "E0202")

    def test_wrong_arguments_are_argument_errors(self):
        k, x, y = self.kernel, self.x, self.y
        slopes = bl.compile("kernel k { in x : f64[i]; out y = x * x }").grad("x")
        for wrong, words in ((lambda: k(), "'x' is not given"), (lambda: k(x), "'y' is not given"),
                             (lambda: slopes(x), "d_y is how much a loss changes with each element of 'y', all ones for its sum"),
                             (lambda: k(x, y, y), "takes 2 inputs, 3 were given"),
                             (lambda: bl.compile("kernel k { in x : f64; out y = x }")(1, 2), "takes 1 input, 2 were given"),
                             (lambda: k(x, x=x), "given twice"),
                             (lambda: k(x, yy=y), "no input called 'yy'(?s:.*)did you mean 'y'"),
                             (lambda: k(x, y, out=x), "one array for 2 outputs"),
                             (lambda: k(x, y, out=(x,)), "1 arrays for 2 outputs"),
                             (lambda: k(x, y, out={"zz": x}), "no output called 'zz'(?s:.*)did you mean 'z'"),
                             (lambda: k.show("lop"), "did you mean 'loop'"), (lambda: k.show(graph="dott"), "did you mean 'dot'"),
                             (lambda: bl.compile(TWO, engine="jitt"), "did you mean 'jit'"),
                             (lambda: bl.compile(TWO, threads=-1), "threads"),
                             (lambda: bl.iota("i").sum(by=1), r"sum: Expr\.sum\(\) got an unexpected keyword argument 'by'"),
                             (lambda: bl.iota("i").astype(), r"astype: Expr\.astype\(\) missing 1")):
            with self.assertRaisesRegex(bl.ArgumentError, words) as caught:
                wrong()
            self.assertIsInstance(caught.exception, TypeError)
            self.assertTrue(caught.exception.help)

    def test_kernels_that_were_not_compiled_are_no_crash(self):
        for type in (bl.Kernel, bl.Bound, bl.Results):
            with self.assertRaises(TypeError):
                type()
        with self.assertRaises(TypeError):
            bl.Kernel.__new__(bl.Kernel)(1)
        with self.assertRaises(TypeError):
            bl.Bound.__new__(bl.Bound)()
        with self.assertRaises(TypeError):
            self.kernel(self.x, **{1: self.y})

    def test_many_threads_call_one_kernel(self):
        kernel = bl.compile("kernel k { in x : f64[i]; out s = sum(sqrt(x)) ; out z = x + 1 }")
        arrays = [np.arange(float(n)) for n in (10, 5000, 200_000)]
        want = [kernel(x).s for x in arrays]
        wrong = []

        def work():
            for _ in range(50):
                for x, s in zip(arrays, want):
                    results = kernel(x)
                    if results.s != s or results.z[-1] != x[-1] + 1:
                        wrong.append(results)

        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_other_threads_of_python_run_while_a_kernel_does(self):
        kernel = bl.compile("kernel k { in x : f64[i]; in y : f64[j]; out z = sum(sin(x * y), j) }", threads=1)
        x = np.ones(4000)
        kernel(x, x)
        thread = threading.Thread(target=lambda: kernel(x, x))
        counted = 0
        thread.start()
        while thread.is_alive():
            counted += 1
        self.assertGreater(counted, 100)

    def test_a_repeated_call_is_quick(self):
        kernel = bl.compile("kernel k { in x : f32[i]; in y : f32[i]; out z = x * y + 1 }")
        x = np.ones(16, "f4")
        seconds = min(timeit.repeat(lambda: kernel(x, x), number=1000, repeat=20)) / 1000
        bound = min(timeit.repeat(kernel.bind(x, x), number=1000, repeat=20)) / 1000
        # Some 400 and 50 ns on a machine that does nothing else.
        self.assertLess(seconds, 5e-6)
        self.assertLess(bound, 2e-6)


class Compiling(unittest.TestCase):
    def test_texts_with_several_kernels_are_chosen_from(self):
        text = "kernel a { in x : f32; out z = x }\nkernel b { in x : f32; out z = 2 * x }"
        self.assertEqual(bl.compile(text, "b")(3), 6)
        self.assertEqual(bl.compile(text, name="a").name, "a")
        with self.assertRaisesRegex(bl.SpecError, "E0010"):
            bl.compile(text)
        with self.assertRaisesRegex(bl.SpecError, "E0010"):
            bl.compile(text, "c")

    def test_a_path_is_read_and_named_in_errors(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "a.loom"
            path.write_text("kernel a {\n  in x : f32\n  out z = expp(x)\n}\n")
            with self.assertRaises(bl.SpecError) as caught:
                bl.compile(path)
        error = caught.exception
        self.assertEqual((error.code, error.where.file, error.where.line, error.where.column), ("E0008", str(path), 3, 11))
        self.assertEqual(error.where.text, "  out z = expp(x)")
        self.assertIn("did you mean 'exp'", error.help)
        self.assertIn("^~~~", str(error))
        self.assertIsInstance(error, ValueError)

    def test_every_class_of_error_is_one_of_pythons_too(self):
        for ours, python in ((bl.SpecError, ValueError), (bl.ShapeError, ValueError), (bl.DTypeError, TypeError),
                             (bl.DataError, ValueError), (bl.ArgumentError, TypeError), (bl.CompileError, RuntimeError),
                             (bl.CancelledError, RuntimeError), (bl.InternalError, RuntimeError)):
            self.assertTrue(issubclass(ours, bl.Error) and issubclass(ours, python))
        with self.assertRaisesRegex(bl.CompileError, "E0503"):
            bl.compile(TWO, target="z80")(np.ones((1, 1)), np.ones(1))
        with self.assertRaisesRegex(bl.DataError, "E0307"):
            bl.compile("kernel k { in x : f64[i]; out m = max(x) }")(np.ones(0))
        with self.assertRaisesRegex(bl.DTypeError, "E0201"):
            bl.compile("kernel k { in x : c64[i]; out m = max(x) }")
        with self.assertRaises(TypeError):
            bl.compile(3)
        with self.assertRaises(bl.SpecError):
            bl.compile("kernel \0")

    def test_what_is_no_text_is_an_argument_error_that_says_what_to_write(self):
        for text, word in ((b"kernel k { }", "bytes"), (None, "NoneType"), ("samples/softmax.loom", "pathlib.Path")):
            with self.assertRaisesRegex(bl.ArgumentError, word):
                bl.compile(text)

    def test_words_that_are_no_utf8_are_errors_of_ours(self):
        k, half = bl.compile(TWO), "\udcff"
        for wrong in (lambda: bl.compile(half), lambda: bl.compile(TWO, half), lambda: k(**{half: 1}), lambda: k.grad(half),
                      lambda: k.grad([half]), lambda: k(np.ones((2, 3)), np.ones(2))[half],
                      lambda: k(np.ones((2, 3)), np.ones(2), out={half: 1}), lambda: k(np.ones((2, 3)), np.ones(2), out={1: 1})):
            with self.assertRaises(bl.Error):
                wrong()

    def test_engines_agree_to_the_bit(self):
        x = np.random.default_rng(1).normal(size=(37, 53))
        y = x[:, 0].copy()
        want = bl.compile(TWO, threads=1)(x, y)
        for options in ({"engine": "interpreter"}, {"target": "x86-64-v3"}, {"threads": 3}, {"engine": "jit"}, {"engine": "tiered"}):
            for name, array in bl.compile(TWO, **options)(x, y)._asdict().items():
                np.testing.assert_array_equal(array, want[name])
        np.testing.assert_allclose(bl.compile(TWO, engine="reference")(x, y).s, want.s, rtol=1e-14)

    def test_a_tiered_kernel_begins_in_the_interpreter(self):
        k = bl.compile("kernel k { in x : f64[i]; out z = x * 0.3828125 }", engine="tiered", threads=1)
        x = np.arange(5.)
        first, engine = k(x), k.engine
        np.testing.assert_array_equal(k(x), first)
        self.assertEqual((engine, k.engine, k.counters.interpreted, k.counters.compiles), ("interpreter", "jit", 1, 1))

    def test_counters_tell_of_the_calls_of_all_threads(self):
        k = bl.compile("kernel k { in x : f64[i]; out z = x * 0.6328125 }", engine="interpreter")
        caller = threading.Thread(target=k, args=(np.ones(3),))
        caller.start()
        caller.join()
        k(np.ones(3))
        self.assertEqual(k.counters.interpreted, 2)

    def test_a_kernel_tells_what_it_is(self):
        k = bl.compile(TWO, threads=2)
        self.assertEqual(repr(k), "<broadloom.Kernel two(x: f64[i, j], y: f64[i]) -> z: f64[i, j], s: f64[i]>")
        self.assertEqual([(i.name, i.dtype, i.axes, i.extents) for i in k.inputs],
                         [("x", "f64", ("i", "j"), (None, None)), ("y", "f64", ("i",), (None,))])
        self.assertEqual([(o.name, o.dtype, o.axes, o.mode, o.add) for o in k.outputs],
                         [("z", "f64", ("i", "j"), "plain", False), ("s", "f64", ("i",), "plain", False)])
        self.assertEqual(k.inputs[0].where.line, 1)
        self.assertEqual((k.name, k.threads), ("two", 2))
        self.assertEqual(bl.compile(k.text).text, k.text)
        k(np.ones((2, 3)), np.ones(2))
        self.assertEqual((k.engine, k.counters.interpreted), ("jit", 0))

    def test_stages_and_decisions_are_shown(self):
        k = bl.compile(TWO)
        for stage in ("spec", "folded", "axes", "graph", "call", "plan", "loop", "block", "llvm", "asm", "why"):
            self.assertTrue(k.show(stage), stage)
        self.assertIn("vector for j", k.show())
        self.assertIn("<svg", k.show("graph", graph="html"))
        self.assertIn("digraph", k.show("graph", graph="dot"))
        self.assertTrue(k.show("why", json=True).startswith("["))
        decisions = k.why()
        self.assertIn("vector", {d.topic for d in decisions})
        self.assertTrue(all(d.code and d.text for d in decisions))

    def test_preparing_compiles_ahead(self):
        k = bl.compile("kernel k { in x : f64[i]; out z = x * 1.25 + 3 }")
        k.prepare(np.ones(3))
        self.assertEqual(k.counters.patterns, 1)
        k(np.ones(5))
        self.assertEqual(k.counters.patterns, 1)


class Gradients(unittest.TestCase):
    def test_gradients_are_kernels(self):
        k = bl.compile("kernel k { in x : f64[i, j]; in y : f64[i]; out z = x * exp(y) }")
        g = k.grad("y")
        self.assertEqual(repr(g), "<broadloom.Kernel k_grad(x: f64[i, j], y: f64[i], d_z: f64[i, j]) -> d_y: f64[i]>")
        x, y, d_z = np.arange(6.0).reshape(2, 3), np.array([0.5, 1]), np.ones((2, 3))
        np.testing.assert_allclose(g(x, y, d_z), (x * np.exp(y)[:, None]).sum(1))
        both = k.grad()
        self.assertEqual([o.name for o in both.outputs], ["d_x", "d_y"])
        self.assertEqual([o.name for o in k.value_and_grad(["x"]).outputs], ["z", "d_x"])
        again = g.grad("y", of="d_y", policy="recompute")
        np.testing.assert_allclose(again(x, y, d_z, np.ones(2)), (x * np.exp(y)[:, None]).sum(1))

    def test_what_the_forward_kernel_saves_the_gradient_does_not_compute_again(self):
        k = bl.compile("kernel k { in x : f64[i, j]; in y : f64[i]; let e = exp(x - max(x, j)); out p = e / sum(e, j) * y; out s = sum(sqrt(1 + x * x), j) }")
        forward, back = k.saving_forward(["x", "y"]), k.grad(["x", "y"], policy="save")
        saved = [o.name for o in forward.outputs[2:]]
        self.assertGreater(len(saved), 0)
        self.assertEqual([i.name for i in back.inputs], ["x", "y", "d_p", "d_s", *saved])
        self.assertIn("exp(", k.grad(["x", "y"]).text)
        for computed in ("exp(", "sqrt(", "max("):
            self.assertNotIn(computed, back.text)
        rng = np.random.default_rng(6)
        x, y, d_p, d_s = rng.normal(size=(5, 70)), rng.normal(size=5), rng.normal(size=(5, 70)), rng.normal(size=5)
        r = forward(x, y)._asdict()
        p, s = k(x, y)
        self.assertEqual((r.pop("p").tobytes(), r.pop("s").tobytes()), (p.tobytes(), s.tobytes()))
        made = back(x, y, d_p, d_s, **r)
        for policy in ("auto", "recompute"):
            want = k.grad(["x", "y"], policy=policy)(x, y, d_p, d_s)
            self.assertEqual((made.d_x.tobytes(), made.d_y.tobytes()), (want.d_x.tobytes(), want.d_y.tobytes()))
        # The arrays that are passed are what is read.
        r[saved[0]] = np.full_like(r[saved[0]], np.nan)
        self.assertTrue(np.isnan(back(x, y, d_p, d_s, **r).d_x).any())
        # Of one output by one input, of a frozen kernel, and of a loss.
        self.assertLess(len(k.saving_forward("x", of="s").outputs), len(forward.outputs))
        loss = bl.compile("kernel loss { in x : f64[i]; param w : f64[i]; out l = sum(sin(x * w)) }")
        w = rng.normal(size=5)
        for of, args in ((loss, (w,)), (loss.freeze(w=w), ())):
            forward, back = of.saving_forward("x"), of.grad("x", policy="save")
            kept = forward(y, *args)._asdict()
            self.assertEqual(kept.pop("l"), of(y, *args))
            self.assertEqual(back(y, *args, **kept).tobytes(), of.grad("x")(y, *args).tobytes())

    def test_policies_are_checked(self):
        k = bl.compile("kernel k { in x : f64[i]; out z = exp(x) }")
        with self.assertRaises(bl.ArgumentError) as caught:
            k.grad("x", policy="sav")
        self.assertEqual(caught.exception.code, "E0401")
        self.assertIn("did you mean 'save'?", caught.exception.help)
        for both in (lambda: k.value_and_grad("x", policy="save"), lambda: k.grad("x", value=True, policy="save")):
            with self.assertRaises(bl.ArgumentError) as caught:
                both()
            self.assertIn("saving_forward", caught.exception.help)
        loop = bl.compile("kernel k { in x : f64[t]; let s[t] = x + exp(-s[t - 1]); out y = s[-1] }")
        x, kept = np.linspace(0, 1, 7), loop.saving_forward("x")(np.linspace(0, 1, 7))._asdict()
        kept.pop("y")
        self.assertEqual(loop.grad("x", policy="save")(x, 1.0, **kept).tobytes(), loop.grad("x")(x, 1.0).tobytes())
        for wrong, code in ((lambda: k.saving_forward("q"), "E0003"), (lambda: k.saving_forward(3), "E0401"), (lambda: k.saving_forward("x", of="q"), "E0003")):
            with self.assertRaises(bl.Error) as caught:
                wrong()
            self.assertEqual(caught.exception.code, code)

    def test_sums_are_carried_along_loops_over_time_where_that_is_asked_for(self):
        k = bl.compile("kernel k { in x : f64[t]; in a : f64; let s[t] = x + a * s[t - 1]; out y = s[-1] }")
        x, a = np.arange(5.0), 0.5
        expected = sum(n * a ** (n - 1) * x[4 - n] for n in range(1, 5))
        for g in (k.grad("a"), k.grad("a", carry=True)):
            np.testing.assert_allclose(g(x, a, 1.0), expected)
        self.assertIn("s_a[t + 1]", k.grad("a", carry=True).text)
        self.assertNotIn("s_a[t + 1]", k.grad("a").text)
        self.assertIn("s_a[t + 1]", k.value_and_grad("a", carry=True).text)

    def test_the_cotangent_of_a_loss_is_1_where_it_is_left_out(self):
        loss = bl.compile("kernel loss { in x : f32[i]; in w : f32[i]; out l = sum((x * w) ^ 2) }")
        x, w = np.arange(4, dtype="f4"), np.full(4, 2, "f4")
        l, d_w = loss.value_and_grad("w")(x, w)
        self.assertEqual(l, (x * w).dot(x * w))
        np.testing.assert_array_equal(d_w, 2 * x * x * w)
        np.testing.assert_array_equal(loss.grad("w")(x, w, d_l=3), 6 * x * x * w)

    def test_directional_derivatives_are_kernels(self):
        k = bl.compile("kernel k { in x : f64[i, j]; in y : f64[i]; in n : i64; out z = x * exp(y); out s = sum(x * x, j) }")
        along = k.jvp()
        self.assertEqual(repr(along), "<broadloom.Kernel k_jvp(x: f64[i, j], y: f64[i], n: i64, t_x: f64[i, j], t_y: f64[i]) "
                                      "-> t_z: f64[i, j], t_s: f64[i]>")
        rng = np.random.default_rng(3)
        x, y, t_x, t_y = rng.normal(size=(2, 3)), rng.normal(size=2), rng.normal(size=(2, 3)), rng.normal(size=2)
        moved = along(x, y, 1, t_x=t_x, t_y=t_y)
        np.testing.assert_allclose(moved.t_z, (t_x + x * t_y[:, None]) * np.exp(y)[:, None], rtol=1e-13)
        np.testing.assert_allclose(moved.t_s, 2 * (x * t_x).sum(1), rtol=1e-13)
        both = k.jvp("y", of="z", value=True)
        self.assertEqual([o.name for o in both.outputs], ["z", "s", "t_z"])
        # The product with weights is that of the gradient with the tangent.
        w = rng.normal(size=(2, 3))
        d_y = k.grad("y", of="z")(x, y, 1, d_z=w)
        np.testing.assert_allclose((w * both(x, y, 1, t_y=t_y).t_z).sum(), (d_y * t_y).sum(), rtol=1e-12)
        for wrong, code in ((lambda: k.jvp("n"), "E0603"), (lambda: k.jvp("q"), "E0003"), (lambda: k.jvp(["x", "x"]), "E0608"), (lambda: k.jvp(3), "E0401")):
            with self.assertRaises(bl.Error) as caught:
                wrong()
            self.assertEqual(caught.exception.code, code)

    def test_jacobians_and_batches(self):
        k = bl.compile("kernel k { in x : f64[i]; in w : f64[j, i]; in n : i64; out y = sin(sum(w * x, i)) * n; out l = sum(exp(x)) }")
        x, w = np.array([0.5, -1.0]), np.array([[1.0, 2.0], [3.0, -1.0], [0.0, 1.0]])
        slope = np.cos(w @ x)[:, None] * 3
        np.testing.assert_allclose(k.jacobian("y", "x")(x, w, 3), slope * w, rtol=1e-14)
        by_w = k.jacobian("y", wrt="w")(x, w, 3)
        np.testing.assert_allclose(by_w, np.einsum("j,jk,i->jki", slope[:, 0], np.eye(3), x), rtol=1e-14)
        np.testing.assert_allclose(k.hessian("l", "x")(x, w, 3), np.diag(np.exp(x)), rtol=1e-14)
        many = k.batch("x", axis="b")
        self.assertEqual(repr(many), "<broadloom.Kernel k_batch(x: f64[b, i], w: f64[j, i], n: i64) -> y: f64[b, j], l: f64[b]>")
        xs = np.array([[0.5, -1.0], [2.0, 0.25]])
        both = many(xs, w, 3)
        for b in range(2):
            one = k(xs[b], w, 3)
            np.testing.assert_array_equal(both["y"][b], one["y"])
            np.testing.assert_array_equal(both["l"][b], one["l"])
        for wrong, code in ((lambda: k.jacobian("y", "n"), "E0603"), (lambda: k.hessian("y", "x"), "E0609"), (lambda: k.batch("q"), "E0003"),
                            (lambda: k.batch(axis="i"), "E0061")):
            with self.assertRaises(bl.Error) as caught:
                wrong()
            self.assertEqual(caught.exception.code, code)

    def test_adding_gradients_add(self):
        loss = bl.compile("kernel loss { in x : f64[i]; out l = sum(x ^ 2) }")
        d_x = np.ones(3)
        loss.grad("x", add=True)(np.arange(3.0), out=d_x)
        np.testing.assert_array_equal(d_x, [1, 3, 5])

    def test_what_has_no_gradient_is_an_error(self):
        k = bl.compile("kernel k { in x : f64[i]; in n : i64[i]; out z = x * n }")
        self.assertEqual([o.name for o in k.grad().outputs], ["d_x"])
        for wrong, code in ((lambda: k.grad("n"), "E0603"), (lambda: k.grad("y"), "E0003"), (lambda: k.grad(3), "E0401"),
                            (lambda: k.grad(["x", "x"]), "E0608"), (lambda: k.grad("x", of=["z", "z"]), "E0608"),
                            (lambda: k.grad([1]), "E0401"), (lambda: k.grad("x", policy="sav"), "E0401")):
            with self.assertRaises(bl.Error) as caught:
                wrong()
            self.assertEqual(caught.exception.code, code)

    def test_gradients_are_checked_against_slopes(self):
        k = bl.compile("kernel k { in x : f64[i]; in seed : f64[i]; out z = sin(x) * seed }")
        x = np.linspace(0, 1, 5)
        found = k.check(x, seed=x, wrt="x", tolerance=1e-5)
        self.assertTrue(found)
        self.assertEqual([(s.output, s.input, s.verdict) for s in found.slopes], [("z", "x", "agrees")])
        self.assertIn("agrees", str(found))
        wrong = bl.compile("def f(a) = a * a\n  derivative a = 3 * g\nkernel k { in x : f64[i]; out z = f(x) }")
        self.assertFalse(wrong.check(x))
        with self.assertRaises(bl.ArgumentError):
            k.check(x, seed=x, tolerence=1)


class Stubs(unittest.TestCase):
    def names(self, body):
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                yield node.name
            elif isinstance(node, ast.AnnAssign):
                yield node.target.id
            elif isinstance(node, ast.ImportFrom):
                yield from (name.asname for name in node.names if name.asname)

    def test_the_stubs_name_what_there_is(self):
        folder = pathlib.Path(bl.__file__).parent
        self.assertTrue((folder / "py.typed").exists())
        told = {name for name in self.names(ast.parse((folder / "__init__.pyi").read_text()).body) if name[:1] != "_" or name == "__version__"}
        modules = {"errors", "expr", "functions", "records", "trace", "os", "annotations", "ELEMENTWISE", "FOLDS", "atexit",
                   *[path.stem for kind in ("lazy*.py", "trace_*.py", "formulas*.py") for path in folder.glob(kind)], "notebook", "numpy_calls", "timing", "others", "telling"}
        self.assertEqual(told, {name for name in dir(bl) if not name.startswith("_")} - modules | {"__version__"})
        core = ast.parse((folder / "_core.pyi").read_text()).body
        for node in core:
            if isinstance(node, ast.ClassDef):
                for name in self.names(node.body):
                    self.assertTrue(hasattr(getattr(bl._core, node.name), name), (node.name, name))
                public = {name for name in dir(getattr(bl._core, node.name)) if not name.startswith("_")}
                self.assertEqual(public - set(self.names(node.body)), set())
            elif isinstance(node, ast.FunctionDef):
                self.assertTrue(hasattr(bl._core, node.name), node.name)
        for thing in (bl.Kernel, bl.Bound, bl.Results, bl.compile, bl.kernel, bl.Kernel.grad, bl.Kernel.show, bl.exp, bl.sum, bl.out):
            self.assertTrue(thing.__doc__, thing)
