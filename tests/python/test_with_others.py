"""Arrays of other packages: lists, pandas, xarray and dask, where these are installed."""

import importlib.util
import unittest

import numpy as np

import broadloom as bl

TWO = bl.compile("kernel two { in x : f64[i, j]; in y : f64[j]; out z = x * y; out s = sum(x * y, j); out t = sum(x) }")
ONE = bl.compile("kernel one { in x : f32[i]; in by : f64; out z = x * by }")


def needs(package):
    return unittest.skipUnless(importlib.util.find_spec(package), f"{package} is not installed")


class Others(unittest.TestCase):
    def setUp(self):
        rng = np.random.default_rng(5)
        self.x, self.y = rng.normal(size=(3, 4)), rng.normal(size=4)

    def test_lists_and_numbers_are_taken(self):
        np.testing.assert_array_equal(ONE([1, 2, 3], 2), np.array([2, 4, 6], "f4"))
        np.testing.assert_array_equal(ONE((1.5, 2), by=2), np.array([3, 4], "f4"))
        np.testing.assert_array_equal(TWO([[1, 2], [3, 4]], [1.0, 2]).s, [5, 11])
        np.testing.assert_array_equal((bl.array([1, 2, 3]) + [1, 2, 3]).compute(), [2, 4, 6])
        self.assertEqual((bl.array(2.5) * 2).item(), 5)
        for wrong in (lambda: ONE([[1], [2, 3]], 1), lambda: ONE(["a"], 1), lambda: ONE([1, 2], [1]), lambda: ONE([1j], 1), lambda: ONE(object(), 1), lambda: ONE([1], 1, 2),
                      lambda: bl.array([[1], [2, 3]]), lambda: bl.array(["a"]), lambda: bl.array(object()), lambda: bl.array({1})):
            self.assertRaises(bl.Error, wrong)

    def test_lazy_arrays_are_computed(self):
        np.testing.assert_array_equal(TWO(bl.array(self.x) * 2, bl.array(self.y)).z, self.x * 2 * self.y)

    @needs("pandas")
    def test_tables_of_pandas_give_tables_with_their_index(self):
        import pandas as pd

        x, y = pd.DataFrame(self.x, index=list("abc"), columns=list("pqrs")), pd.Series(self.y, index=list("pqrs"))
        z, s, t = TWO(x, y)
        pd.testing.assert_frame_equal(z, x * y)
        pd.testing.assert_series_equal(s, pd.Series((self.x * self.y).sum(1), index=x.index, name="s"), check_exact=False)
        self.assertAlmostEqual(float(t), self.x.sum())
        self.assertEqual(type(ONE(pd.Series([1, 2], dtype="f4"), 2)), pd.Series)
        np.testing.assert_array_equal(ONE(pd.Index([1, 2], dtype="f4"), 2), np.array([2, 4], "f4"))
        pairs = bl.compile("kernel pairs { in a : f64[i]; in b : f64[i]; out s = a + b }")
        table = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
        pd.testing.assert_series_equal(pairs(**table), table.a + table.b, check_names=False)
        with self.assertRaises(bl.ShapeError) as caught:
            pairs(table)
        self.assertEqual(caught.exception.help, "it is declared as a : f64[i]; k(**table) passes the columns by their names")
        for made in (x * bl.array(self.y), bl.array(self.y) * x, y * bl.array(self.y), np.add(x, bl.array(self.y)) - bl.array(self.y)):
            self.assertIsInstance(made, bl.LazyArray)
        np.testing.assert_array_equal((x * bl.array(self.y)).compute(), self.x * self.y)
        np.testing.assert_array_equal((bl.array(x) + y).compute(), self.x + self.y)
        for wrong in (lambda: TWO(x, y.set_axis(list("pqrt"))), lambda: TWO(x, x), lambda: TWO(x.astype("f4"), y), lambda: ONE(pd.Series(["a"]), 1)):
            self.assertRaises(bl.Error, wrong)

    @needs("xarray")
    def test_dims_of_xarray_become_labels_and_coordinates_come_back(self):
        import xarray as xr

        coords = {"i": [10, 20, 30], "j": list("pqrs"), "far": ("j", [1, 2, 3, 4])}
        x, y = xr.DataArray(self.x, coords, ("i", "j")), xr.DataArray(self.y, {"j": list("pqrs")}, ("j",))
        for given in (x, x.transpose("j", "i")):  # dims that are called as the labels may come in any order
            z, s, t = TWO(given, y)
            xr.testing.assert_identical(z, (x * y).rename("z"))
            self.assertEqual((s.dims, list(s.i.values), t.dims), (("i",), [10, 20, 30], ()))
        z = TWO(x.rename(i="time", j="place"), self.y).z
        self.assertEqual((z.dims, list(z.time.values)), (("time", "place"), [10, 20, 30]))
        np.testing.assert_array_equal((bl.array(x) + y).compute(), self.x + self.y)
        for wrong in (lambda: TWO(x, y.assign_coords(j=list("pqrt"))), lambda: TWO(x, y.rename(j="k")), lambda: TWO(x[0], y), lambda: TWO(x.astype("f4"), y)):
            self.assertRaises(bl.Error, wrong)

    @needs("dask")
    def test_arrays_of_dask_go_to_dask(self):
        import dask.array as da

        x = da.from_array(self.x, chunks=(2, 4))
        z, s, t = TWO(x, self.y)
        self.assertIsInstance(z, da.Array)
        np.testing.assert_array_equal(z.compute(), self.x * self.y)
        np.testing.assert_array_equal(TWO(self.x, y=da.from_array(self.y))[1].compute(), TWO(self.x, self.y).s)
        np.testing.assert_array_equal((bl.array(x) + 1).compute(), self.x + 1)
        if importlib.util.find_spec("xarray"):
            import xarray as xr

            z = TWO(xr.DataArray(x, {"i": [1, 2, 3]}, ("i", "j")), self.y)[0]
            self.assertIsInstance(z.data, da.Array)
            np.testing.assert_array_equal(z.sel(i=2).values, self.x[1] * self.y)


if __name__ == "__main__":
    unittest.main()
