"""Kernels as functions of JAX. Named so that it comes after test_processes.py: JAX has threads, and
what forks should have none."""

import importlib.util
import sys
import unittest

if importlib.util.find_spec("jax") is None:
    print("SKIPPED: jax is not installed for " + sys.executable + ", so nothing of bl.jax is tested", file=sys.stderr, flush=True)
    raise unittest.SkipTest("jax is not installed: pip install jax")

import jax
import jax.numpy as jnp
import numpy as np

import broadloom as bl

import digits


class InJax(unittest.TestCase):
    def test_training_on_the_digits_goes_as_it_does_natively(self):
        x, labels, digit = digits.load()
        kernel = bl.compile(digits.LOSS)
        loss = bl.jax.function(kernel, wrt=("w", "b"))
        slope = jax.jit(jax.value_and_grad(lambda p, x, label: loss(x, label, digit, p["w"], p["b"])))
        native = kernel.value_and_grad(["w", "b"])
        ours = {"w": np.zeros((10, 64), "f4"), "b": np.zeros(10, "f4")}
        theirs = {name: jnp.asarray(value) for name, value in ours.items()}
        first = None
        for epoch in range(4):
            for fold in range(4):
                part, label = x[fold::5], labels[fold::5]
                l, d_w, d_b = native(part, label, digit, ours["w"], ours["b"])
                ours = {"w": ours["w"] - np.float32(0.5) * d_w, "b": ours["b"] - np.float32(0.5) * d_b}
                in_jax, d = slope(theirs, part, label)
                theirs = jax.tree.map(lambda p, g: p - 0.5 * g, theirs, d)
                np.testing.assert_allclose(float(in_jax), float(l), rtol=1e-5)
                first = float(l) if first is None else first
        np.testing.assert_allclose(theirs["w"], ours["w"], atol=1e-5)
        self.assertLess(float(l), first / 4)
        right = ((x[4::5] @ ours["w"].T + ours["b"]).argmax(1) == labels[4::5]).mean()
        self.assertGreater(right, 0.9)

    def test_gradients_are_those_of_jax(self):
        with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
            k = bl.compile("kernel k { in x : f64[i, j]; in n : i64[i]; in y : f64[i]; in s : f64; out z = x * exp(y) * s; "
                           "out t = sum(x * x, j) + n; out c = n + 1 }")
            ours = bl.jax.function(k)
            rng = np.random.default_rng(1)
            x, y, n = rng.normal(size=(2, 3)), rng.normal(size=2), np.array([1, 2])

            def theirs(x, n, y, s):
                return x * jnp.exp(y)[:, None] * s, (x * x).sum(1) + n, n + 1

            def total(f):
                return lambda x, y, s: (jnp.sin(f(x, n, y, s)[0]).sum() + (f(x, n, y, s)[1] ** 2).sum())

            for a, b in zip(ours(x, n, y, 2.0), theirs(x, n, y, 2.0)):
                np.testing.assert_allclose(a, b, rtol=1e-13)
            for wrap in (lambda f: f, jax.jit):
                for a, b in zip(wrap(jax.grad(total(ours), (0, 1, 2)))(x, y, 2.0), jax.grad(total(theirs), (0, 1, 2))(x, y, 2.0)):
                    np.testing.assert_allclose(a, b, rtol=1e-12)
            many = jax.vmap(lambda y: ours(x, n, y, 2.0)[0])(rng.normal(size=(4, 2)))
            self.assertEqual(many.shape, (4, 2, 3))
            only = bl.jax.function(k, wrt="y")
            d_x, d_y = jax.grad(lambda x, y: only(x, n, y, 1.0)[0].sum(), (0, 1))(x, y)
            self.assertFalse(np.any(d_x))
            np.testing.assert_allclose(d_y, (x * np.exp(y)[:, None]).sum(1), rtol=1e-13)

    def x64(self):
        return jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64()

    def test_what_the_function_saves_its_gradient_in_jax_is_given(self):
        k = bl.compile("kernel k { in x : f32[i, j]; in n : i32[i]; in y : f32[i]; let e = exp(x - max(x, j)); out p = e / sum(e, j) * y; out c = n + 1 }")
        rng = np.random.default_rng(5)
        x, y, n = rng.normal(size=(4, 33)).astype("f4"), rng.normal(size=4).astype("f4"), np.arange(4, dtype="i4")
        asked = jax.grad(lambda f, x, y: (f(x, n, y)[0] ** 2).sum(), (1, 2))
        plain = asked(bl.jax.function(k), x, y)
        for policy in ("save", "recompute"):
            f = bl.jax.function(k, policy=policy)
            for wrap in (lambda f: f, jax.jit):
                for a, b in zip(wrap(lambda x, y: asked(f, x, y))(x, y), plain):
                    np.testing.assert_array_equal(a, b)
        calls = []
        saving = bl.jax._call
        try:
            bl.jax._call = lambda kernel, args: (calls.append((kernel, len(args))), saving(kernel, args))[1]
            f = bl.jax.function(k, policy="save")
            f(x, n, y)
            self.assertEqual([(kernel.name, count) for kernel, count in calls], [("k", 3)])  # nothing is saved where nothing is derived
            calls.clear()
            asked(f, x, y)
        finally:
            bl.jax._call = saving
        (forward, _), (back, given) = calls
        saved = [o.name for o in forward.outputs if o.name.startswith("saved_")]
        self.assertTrue(saved)
        self.assertEqual([i.name for i in back.inputs], ["x", "n", "y", "d_p", *saved])
        self.assertEqual(given, len(back.inputs))
        self.assertNotIn("exp(", back.text)
        with self.x64():  # derived in turn
            k = bl.compile("kernel k { in x : f64[i]; out s = sum(exp(sin(x))) }")
            x = np.array([0.5, -1.0, 2.0])
            want = jax.hessian(lambda x: jnp.exp(jnp.sin(x)).sum())(x)
            for policy in ("auto", "save"):
                np.testing.assert_allclose(jax.hessian(bl.jax.function(k, policy=policy))(x), want, rtol=1e-12, atol=1e-14)

    def test_forward_derivatives_are_those_of_jax(self):
        def theirs(x, n, y, s):
            return x * jnp.exp(y)[:, None] * s, (x ** 3).sum(1) + n, n + 1

        for word, ulps in (("f32", 1e-5), ("f64", 1e-13)):
            with self.subTest(word), self.x64():
                k = bl.compile(f"kernel k {{ in x : {word}[i, j]; in n : i64[i]; in y : {word}[i]; in s : {word}; out z = x * exp(y) * s; "
                               f"out t : {word} = sum(x ^ 3, j) + {word}(n); out c = n + 1 }}")
                f = bl.jax.function(k, forward=True)
                rng = np.random.default_rng(2)
                x, y, t_x, t_y = (jnp.asarray(rng.normal(size=shape), word.replace("f", "float")) for shape in ((2, 3), (2,), (2, 3), (2,)))
                n, s = jnp.array([1, 2]), jnp.asarray(2.0, x.dtype)
                typed = lambda *args: tuple(out.astype(x.dtype) for out in theirs(*args)[:2])  # the i64 would make f32 f64
                for wrap in (lambda f: f, jax.jit):
                    ours = lambda x, y, s: f(x, n, y, s)[:2]
                    both = [wrap(lambda *t: jax.jvp(g, (x, y, s), t))(t_x, t_y, s) for g in (ours, lambda x, y, s: typed(x, n, y, s))]
                    for a, b in zip(jax.tree.leaves(both[0]), jax.tree.leaves(both[1])):
                        self.assertEqual(a.dtype, x.dtype)
                        np.testing.assert_allclose(a, b, rtol=ulps)
                    for by in (0, 1, 2):
                        both = [wrap(jax.jacfwd(g, by))(x, y, s) for g in (ours, lambda x, y, s: typed(x, n, y, s))]
                        for a, b in zip(*both):
                            np.testing.assert_allclose(a, b, rtol=ulps, atol=ulps)
                # The very bits of the kernel's own directional derivative, of what moves alone.
                along = k.jvp("y", of=["z", "t"])
                made = jax.jvp(lambda y: f(x, n, y, s), (y,), (t_y,))[1]
                np.testing.assert_array_equal(made[0], along(x, n, y, s, t_y=t_y).t_z)
                self.assertFalse(np.any(made[1]))
                self.assertEqual(made[2].dtype, jax.dtypes.float0)
                # Derivatives of derivatives.
                twice = lambda g: jax.jacfwd(jax.jacfwd(lambda x: g(x, n, y, s)[1]))(x)
                np.testing.assert_allclose(twice(f), twice(typed), rtol=ulps, atol=ulps)
                only = bl.jax.function(k, wrt="y", forward=True)
                self.assertFalse(np.any(jax.jvp(lambda x: only(x, n, y, s)[0], (x,), (t_x,))[1]))
                np.testing.assert_allclose(jax.vmap(lambda y: jax.jvp(lambda y: f(x, n, y, s)[0], (y,), (t_y,))[1])(jnp.stack([y, y])),
                                           jnp.stack([made[0], made[0]]))

    def test_forward_derivatives_of_complex_numbers_follow_jaxs_convention(self):
        k = bl.jax.function(bl.compile("kernel k { in z : c64[i]; out w = z * z * conj(z) }"), forward=True)
        z, t = np.array([1 + 2j, -0.5j], "c8"), np.array([0.5 - 1j, 2], "c8")
        np.testing.assert_allclose(jax.jvp(k, (z,), (t,))[1], jax.jvp(lambda z: z * z * jnp.conj(z), (z,), (t,))[1], rtol=1e-5)

    def test_a_function_for_gradients_has_no_forward_mode_and_the_other_way(self):
        k = bl.compile("kernel k { in x : f32[i]; out s = sum(x ^ 2) }")
        x = np.ones(3, "f4")
        self.assertRaises(TypeError, jax.jvp, bl.jax.function(k), (x,), (x,))
        with self.assertRaises(Exception):
            jax.grad(bl.jax.function(k, forward=True))(x)

    def test_frozen_kernels_are_called_in_jax_with_their_values(self):
        frozen = bl.compile("kernel k { in x : f32[i]; param w : f32[i]; out s = sum(w * x ^ 2) }").freeze(w=np.array([1, 2], "f4"))
        f = bl.jax.function(frozen)
        np.testing.assert_array_equal(jax.jit(jax.grad(f))(np.array([3, 4], "f4")), [6, 16])

    def test_complex_gradients_follow_jaxs_convention(self):
        k = bl.jax.function(bl.compile("kernel k { in z : c64[i]; out w = z * z * z }"))
        z = np.array([1 + 2j, -0.5j], "c8")

        def total(f):
            return lambda z: (jnp.abs(f(z)) ** 2).sum() + f(z).imag.sum()

        np.testing.assert_allclose(jax.grad(total(k))(z), jax.grad(total(lambda z: z * z * z))(z), rtol=1e-5)

    def test_mistakes_say_what_to_do(self):
        k = bl.jax.function(bl.compile("kernel k { in x : f64[i]; in y : f64[i]; out z = x * y }"))
        with self.assertRaises(bl.DTypeError) as caught:
            k(np.ones(3), np.ones(3))
        self.assertIn("jax_enable_x64", caught.exception.help)
        self.assertRaises(bl.ArgumentError, k, np.ones(3))
        f = bl.jax.function(bl.compile("kernel k { in x : f32[i]; in y : f32[i]; out z = x * y }"))
        self.assertRaises(bl.ShapeError, f, np.ones(3, "f4"), np.ones(4, "f4"))
        real = bl.compile("kernel k { in x : f32; out z = x }")
        self.assertRaises(bl.ArgumentError, bl.jax.function, real, wrt="q")
        with self.assertRaises(bl.ArgumentError) as caught:
            bl.jax.function(real, policy="svae")
        self.assertIn("did you mean 'save'?", caught.exception.help)
        self.assertRaises(bl.ArgumentError, bl.jax.function, real, policy="save", forward=True)
        self.assertRaises(bl.ArgumentError, bl.jax.function, real, policy=3)
        self.assertRaises(bl.SpecError, bl.jax.function, bl.compile("kernel k { in x : f32[i]; out z += x }"))
