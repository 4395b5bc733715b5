"""The namespace of the array API standard. `tests/python/array_api_share.py` runs the standard's
own tests on it."""

import unittest

import numpy as np

import broadloom as bl

if not hasattr(np, "__array_namespace_info__"):
    raise unittest.SkipTest("the namespace needs NumPy 2.1")
xp = bl.array_api


class ArrayApi(unittest.TestCase):
    def test_lazy_arrays_name_their_namespace(self):
        self.assertIs(bl.array(np.ones(3)).__array_namespace__(), xp)
        self.assertIs(bl.array(np.ones(3)).__array_namespace__(api_version="2023.12"), xp)
        with self.assertRaises(bl.ArgumentError):
            bl.array(np.ones(3)).__array_namespace__(api_version="1999.12")
        self.assertIs(xp.__array_namespace_info__().capabilities()["boolean indexing"], False)

    def test_code_for_the_standard_is_recorded_as_one_kernel(self):
        def softmax(x):
            xp = x.__array_namespace__()
            e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
            return e / xp.sum(e, axis=-1, keepdims=True) + xp.zeros_like(x)

        x = np.random.default_rng(1).normal(size=(3, 4))
        made = softmax(xp.asarray(x))
        e = np.exp(x - x.max(1, keepdims=True))
        np.testing.assert_allclose(made.compute(), e / e.sum(1, keepdims=True), 1e-14)
        self.assertIn("exp(", made.kernel.text)

    def test_what_makes_arrays_makes_lazy_ones(self):
        x = xp.asarray([[1, 2], [3, 4]], dtype=xp.float32)
        for made, want in ((xp.arange(3), np.arange(3)), (xp.full((2,), 7), np.full(2, 7)), (xp.eye(2), np.eye(2)), (xp.ones_like(x), np.ones((2, 2), "f4")),
                           (xp.linspace(0, 1, 3), np.linspace(0, 1, 3)), (xp.asarray(x, dtype=xp.int8), np.array([[1, 2], [3, 4]], "i1")), (xp.from_dlpack(np.ones(2)), np.ones(2)),
                           (xp.meshgrid(xp.arange(2), xp.arange(3))[1], np.meshgrid(np.arange(2), np.arange(3))[1]), (xp.fft.fftfreq(4), np.fft.fftfreq(4))):
            self.assertIsInstance(made, bl.LazyArray)
            np.testing.assert_array_equal(made.compute(), want)
            self.assertEqual(made.dtype, want.dtype)
        self.assertEqual((xp.finfo(x).bits, xp.iinfo(xp.int8).max), (32, 127))
        np.testing.assert_array_equal(np.from_dlpack(x + 1), x.compute() + 1)

    def test_what_is_not_recorded_is_done_at_once(self):
        v = np.array([3.0, 1.0, 1.0, 2.0])
        x = xp.asarray(v) * 1
        for made, want in ((xp.sort(x, descending=True), np.sort(v)[::-1]), (xp.argsort(x), np.argsort(v, stable=True)), (xp.argsort(x, descending=True), [0, 3, 1, 2]),
                           (xp.unique_values(x), [1, 2, 3]), (xp.unique_counts(x).counts, [2, 1, 1]), (xp.nonzero(x > 1)[0], [0, 3]), (xp.linalg.inv(xp.eye(2) * 2), np.eye(2) / 2),
                           (xp.acos(x * 1j), np.arccos(v * 1j)), (xp.var(x, correction=0.5), np.var(v, correction=0.5)), (xp.fft.fft(x), np.fft.fft(v))):
            self.assertIsInstance(made, bl.LazyArray)
            np.testing.assert_allclose(made.compute(), want, 1e-14)
        for wrong in (lambda: xp.sort(x, axis=2), lambda: xp.sum(x, axis=2), lambda: xp.linalg.inv(x), lambda: xp.add(x, xp.asarray([1, 2]))):
            self.assertRaises(bl.Error, wrong)


if __name__ == "__main__":
    unittest.main()
