"""Kernels that are made of kernels: with parameters built in, for fewer threads; and calls that are
checked."""

import copy
import multiprocessing
import pickle
import threading
import unittest

import numpy as np

import broadloom as bl

NORM = """
kernel norm {
  in    x : f64[n, c]
  param gain : f64[c]
  param middle : f64[c]
  param v : f64[c] >= 0
  param eps : f64
  out y = (x - middle) * (gain / sqrt(v + eps))
  out s = sum(x * gain, c)
}"""


def call(kernel, x):
    return [array.tobytes() for array in kernel(x)]


def in_a_thread(work):
    said = []
    thread = threading.Thread(target=lambda: said.append(work()))
    thread.start()
    thread.join()
    return said[0]


class Frozen(unittest.TestCase):
    def setUp(self):
        rng = np.random.default_rng(1)
        self.x = rng.normal(size=(5, 7))
        self.values = {"gain": rng.normal(size=7), "middle": rng.normal(size=7), "v": rng.random(7), "eps": 1e-5}
        self.whole = bl.compile(NORM)
        self.frozen = self.whole.freeze(self.values)
        self.want = [array.tobytes() for array in self.whole(self.x, **self.values)]

    def refused(self, code, wrong):
        with self.assertRaises(bl.Error) as caught:
            wrong()
        self.assertEqual(caught.exception.code, code)
        self.assertTrue(caught.exception.help)

    def test_calls_of_a_frozen_kernel_take_the_other_inputs_and_give_the_same_bits(self):
        self.assertEqual([i.role for i in self.whole.inputs], ["in"] + ["param"] * 4)
        self.assertEqual([i.name for i in self.frozen.inputs], ["x"])
        self.assertEqual(repr(self.frozen), "<broadloom.Kernel norm(x: f64[n, c]) -> y: f64[n, c], s: f64[n]>")
        self.assertNotIn("sqrt", self.frozen.text)
        for _ in range(2):
            self.assertEqual(call(self.frozen, self.x), self.want)
        self.assertEqual([array.tobytes() for array in self.frozen.bind(self.x)()], self.want)
        y = np.empty((5, 7))
        self.assertIs(self.frozen(self.x, out={"y": y}).y, y)
        self.assertEqual(y.tobytes(), self.want[0])
        self.frozen.prepare(self.x)
        self.assertEqual(self.frozen.engine, "jit")

    def test_what_is_frozen_is_copied_and_can_be_read(self):
        self.values["gain"][:] = 100
        self.assertEqual(call(self.frozen, self.x), self.want)
        read = self.frozen.frozen
        self.assertEqual(list(read), ["gain", "middle", "v", "eps"])
        self.assertEqual((read["eps"].shape, float(read["eps"])), ((), 1e-5))
        read["v"][:] = 100
        self.assertEqual(call(self.frozen, self.x), self.want)
        self.assertEqual(self.whole.frozen, {})

    def test_parameters_are_frozen_by_name_in_any_layout_and_one_after_the_other(self):
        values = dict(self.values, gain=np.repeat(self.values["gain"], 2)[::2], v=memoryview(self.values["v"]))
        some = self.whole.freeze({"gain": values.pop("gain")}, eps=values.pop("eps"))
        self.assertEqual([i.name for i in some.inputs], ["x", "middle", "v"])
        all = some.freeze(**values)
        self.assertEqual(call(all, self.x), self.want)
        self.assertEqual(sorted(all.frozen), sorted(self.values))
        self.assertEqual(call(pickle.loads(pickle.dumps(all)), self.x), self.want)

    def test_refreezing_gives_other_values_to_the_same_code(self):
        call(self.frozen, self.x)
        compiles = self.frozen.counters.compiles
        other = dict(self.values, gain=self.values["gain"] * 2)
        again = self.frozen.refreeze(other)
        self.assertEqual(call(again, self.x), [array.tobytes() for array in self.whole(self.x, **other)])
        self.assertEqual(call(self.frozen, self.x), self.want)
        self.assertEqual(again.counters.compiles, compiles)
        for kernel in (pickle.loads(pickle.dumps(again)), again):
            self.assertEqual(in_a_thread(lambda: call(kernel, self.x)), call(again, self.x))

    def test_frozen_kernels_are_pickled_with_their_values(self):
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            other = pickle.loads(pickle.dumps(self.frozen, protocol))
            self.assertEqual((other.text, repr(other)), (self.frozen.text, repr(self.frozen)))
            self.assertEqual(call(other, self.x), self.want)
        buffers = []
        sent = pickle.dumps(self.frozen, 5, buffer_callback=buffers.append)
        moved = [memoryview(b" " + bytes(buffer))[1:] for buffer in buffers]  # at any address
        self.assertEqual(call(pickle.loads(sent, buffers=moved), self.x), self.want)
        self.assertIs(copy.copy(self.frozen), self.frozen)
        self.assertIs(copy.deepcopy([self.frozen])[0], self.frozen)

    def test_other_processes_have_the_frozen_values(self):
        call(self.frozen, self.x)
        for how in ("spawn", "fork"):
            with multiprocessing.get_context(how).Pool(2) as pool:
                self.assertEqual(pool.starmap_async(call, [(self.frozen, self.x)] * 3).get(60), [self.want] * 3, how)

    def test_other_threads_have_the_frozen_values(self):
        for kernel in (self.frozen, self.whole.freeze(self.values), self.frozen.with_threads(1)):
            self.assertEqual(in_a_thread(lambda: call(kernel, self.x)), self.want)
            self.assertEqual(call(kernel, self.x), self.want)
        made = in_a_thread(lambda: self.whole.freeze(self.values))
        self.assertEqual([call(made, self.x), in_a_thread(lambda: call(made, self.x))], [self.want] * 2)

    def test_frozen_kernels_are_derived_as_a_whole_and_keep_their_values(self):
        text = "kernel k { in x : f64[i]; param w : f64[i]; param a : f64; out l = sum((x * exp(w) * a) ^ 2) }"
        whole, x, w = bl.compile(text), np.linspace(1, 2, 3), np.array([0.5, 0.0, -1.0])
        frozen = whole.freeze(w=w, a=2)
        for made, inputs in ((frozen.grad(), ["x", "d_l"]), (frozen.value_and_grad("x"), ["x", "d_l"])):
            self.assertEqual([i.name for i in made.inputs], inputs)
        want = whole.grad("x")(x, w, 2)
        np.testing.assert_allclose(frozen.grad()(x), want, rtol=1e-14)
        np.testing.assert_allclose(pickle.loads(pickle.dumps(frozen.grad()))(x), want, rtol=1e-14)
        np.testing.assert_allclose(in_a_thread(lambda: frozen.grad()(x)), want, rtol=1e-14)
        t = np.array([1.0, -1.0, 2.0])
        np.testing.assert_allclose(frozen.jvp()(x, t_x=t), want @ t, rtol=1e-14)
        np.testing.assert_allclose(frozen.grad("w")(x), whole.grad("w")(x, w, 2), rtol=1e-14)
        late = whole.grad("x").freeze(w=w, a=2)
        np.testing.assert_allclose(late(x), want, rtol=1e-14)
        for wrt in ({}, {"wrt": "x"}):
            self.assertEqual([(s.input, s.verdict) for s in frozen.check(x, **wrt).slopes], [("x", "agrees")])

    def test_blocks_of_data_go_to_frozen_kernels(self):
        text = "kernel k { in x : f64[j]; param w : f64; out s = sum(x * exp(w), j) }"
        x = np.sin(np.arange(10000.0))
        frozen = bl.compile(text).freeze(w=0.3)
        blocks = [frozen.partial("j", a, x[a:b]) for a, b in ((0, 4096), (4096, 10000))]
        self.assertEqual(frozen.combine(blocks), frozen(x))

    def test_traced_functions_declare_parameters(self):
        @bl.kernel
        def dense(x: bl.f32["n", "i"], w: bl.param(bl.f32["o", "i"]), b: bl.param(bl.f32["o"], ">= 0")):
            return bl.sum(x * w, "i") + bl.sqrt(b)

        self.assertIn("param w : f32[o, i]\n", dense.text)
        self.assertIn("param b : f32[o] >= 0\n", dense.text)
        x, w, b = np.ones((2, 3), "f4"), np.ones((4, 3), "f4"), np.full(4, 4, "f4")
        np.testing.assert_array_equal(dense.freeze({"w": w, "b": b})(x), np.full((2, 4), 5))
        self.refused("E0313", lambda: dense.freeze(b=-b))
        self.refused("E0002", lambda: bl.param("x"))

    def test_mistakes_are_told(self):
        k, values, x = self.whole, self.values, self.x
        self.refused("E0311", lambda: k.freeze(q=1))
        self.refused("E0311", lambda: k.freeze(x=x))
        self.refused("E0311", lambda: k.freeze({"v": values["v"]}, v=values["v"]))
        self.refused("E0311", lambda: self.frozen.freeze(v=values["v"]))
        self.refused("E0311", lambda: k.refreeze(values))
        self.refused("E0311", lambda: self.frozen.refreeze(v=values["v"]))
        self.refused("E0312", lambda: self.frozen(x, v=values["v"]))
        self.refused("E0313", lambda: k.freeze(v=-values["v"]))
        self.refused("E0313", lambda: k(x, **{**values, "v": -values["v"]}))
        self.refused("E0123", lambda: self.frozen.refreeze({**values, **{name: np.ones(3) for name in ("gain", "middle", "v")}}))
        self.refused("E0203", lambda: k.freeze(v=values["v"].astype("f4")))
        self.refused("E0308", lambda: k.freeze([values["v"]]))
        self.refused("E0308", lambda: self.frozen(x, values["v"]))
        self.refused("E0308", lambda: bl._restore("kernel k { in x : f32; out z = x }"))
        self.assertEqual(call(k.freeze().freeze(values), x), self.want)


class Threads(unittest.TestCase):
    def test_single_calls_run_on_fewer_threads_with_the_same_code_and_bits(self):
        k, x = bl.compile("kernel k { in x : f64[i, j]; out s = sum(sqrt(x), j); out z = x * 2 }", threads=3), np.ones((300, 700))
        want = call(k, x)
        alone = k.with_threads(1)
        self.assertEqual((k.threads, alone.threads, alone.with_threads(0).threads), (3, 1, 3))
        self.assertEqual([call(alone, x), call(alone.with_threads(2), x)], [want] * 2)
        self.assertEqual(alone.counters.compiles, k.counters.compiles)
        other = pickle.loads(pickle.dumps(alone))
        self.assertEqual((other.threads, other.with_threads(0).threads, call(other, x)), (1, 3, want))
        self.assertEqual(in_a_thread(lambda: call(alone, x)), want)
        self.assertEqual(in_a_thread(lambda: call(k.with_threads(2), x)), want)
        self.assertEqual(alone.grad().threads, 1)
        with self.assertRaisesRegex(bl.DataError, "E0321"):
            k.with_threads(-1)


class Checked(unittest.TestCase):
    ROOTS = "kernel roots {\n  in  x : f64[i, j]\n  out y = sum(1 + sqrt(x - 3), j)\n}"

    def test_a_checked_call_finds_the_operation_that_makes_a_nan(self):
        x = np.array([[4.0, 7.0], [12.0, 1.0]])
        k = bl.compile(self.ROOTS, debug=True)
        np.testing.assert_array_equal(k(x + 3), bl.compile(self.ROOTS)(x + 3))
        y = np.full(2, 5.0)
        for calls in (lambda: k(x), lambda: k(x, out=y), k.bind(x, out=y), lambda: in_a_thread(lambda: self.code_of(k, x)),
                      lambda: pickle.loads(pickle.dumps(k))(x), lambda: k.with_threads(1)(x)):
            with self.assertRaisesRegex(bl.DataError, r"E0319.*sqrt\(-2.0\) gives the first one") as caught:
                raise calls()
            self.assertEqual((caught.exception.where.line, caught.exception.where.column), (3, 19))
        np.testing.assert_array_equal(y, [5, 5])

    def code_of(self, kernel, x):
        try:
            return kernel(x)
        except bl.Error as error:
            return error

    def test_what_is_checked_is_chosen_by_name(self):
        x = np.array([[1.0, 0.0]])
        for debug, code in ((True, "E0320"), ("infinity", "E0320"), (["nan", "infinity"], "E0320"), ("nan", None), (False, None),
                            (("interpreter", "reference", "memory"), None), ((), None), ("all", "E0320")):
            k = bl.compile("kernel k { in x : f64[i, j]; out z = 1 / x }", debug=debug)
            made = self.code_of(k, x)
            self.assertEqual(getattr(made, "code", None), code, debug)
        for wrong in ("nans", ["nan", "x"], 3, [1]):
            with self.assertRaisesRegex(bl.ArgumentError, r"E0401(?s:.*)debug="):
                bl.compile(self.ROOTS, debug=wrong)

    def test_traced_and_frozen_kernels_are_checked_too(self):
        @bl.kernel(debug="nan")
        def logs(x: bl.f64["i"], w: bl.param(bl.f64["i"])):
            return bl.log(x) + w

        for k in (logs.freeze(w=np.ones(2)), logs.freeze(w=np.ones(2)).grad().jvp()):
            self.assertTrue(k.inputs)
        with self.assertRaisesRegex(bl.DataError, "E0319"):
            logs.freeze(w=np.ones(2))(np.array([1.0, -1.0]))
