"""Kernels as functions of JAX. Named so that it comes after test_processes.py: JAX has threads, and what forks should have none."""

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
        self.assertRaises(bl.ArgumentError, bl.jax.function, bl.compile("kernel k { in x : f32; out z = x }"), wrt="q")
        self.assertRaises(bl.SpecError, bl.jax.function, bl.compile("kernel k { in x : f32[i]; out z += x }"))
