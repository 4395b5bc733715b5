"""Functions of NumPy's that lazy arrays make of others, with random arguments: shapes, also empty
ones, dtypes, NaN, axes from either end.

NumPy's result must come, in value, dtype and shape; where it raises, an error of ours; or a refusal
by its code. BROADLOOM_COMPOSED=N draws N times as often.
"""

import itertools
import os
import traceback
import unittest
import warnings

import numpy as np

import broadloom as bl
from broadloom import formulas_bits, lazy_calls, lazy_numpy

TIMES = int(os.environ.get("BROADLOOM_COMPOSED", "1"))
DTYPES = "? i1 i4 i8 u1 u4 f2 f4 f8 D".split()
EPS = {"e": 1e-2, "f": 1e-4, "d": 1e-11, "F": 1e-4, "D": 1e-11}
REFUSED = {"E0008", "E0021", "E0201", "E0205", "E0206", "E0102", "E0103", "E0101", "E0307"}


class Draw:
    """Arguments of one call."""

    def __init__(self, rng):
        self.rng = rng

    def pick(self, *values):
        return values[self.rng.integers(len(values))]

    def shape(self, low=0, high=3):
        return tuple([int(self.pick(0, 1, 1, 2, 3, 4, 4)) for _ in range(self.rng.integers(low, high + 1))])

    def array(self, low=0, high=3, dtypes=DTYPES, shape=None):
        shape = self.shape(low, high) if shape is None else shape
        dtype = np.dtype(str(self.rng.choice(dtypes)))
        if dtype.kind == "b":
            return np.asarray(self.rng.random(shape) < 0.5)
        values = np.asarray(self.rng.integers(0 if dtype.kind == "u" else -4, 5, shape))
        if dtype.kind in "fc":
            values = np.where(self.rng.random(shape) < 0.1, self.pick(np.nan, np.inf, -0.0), values / 2)
        return np.asarray((values + 1j * self.rng.integers(-2, 3, shape) if dtype.kind == "c" else values).astype(dtype))

    def like(self, x, dtypes=DTYPES):
        return self.array(dtypes=dtypes, shape=x.shape)

    def axis(self, x, none=True):
        axes = [*range(-x.ndim, x.ndim)]
        return self.pick(*axes, *[None] * none) if axes or none else 0

    def index(self, n, shape):
        return self.rng.integers(-n, max(n, 1), shape) if n else np.zeros(shape, int)


REAL, INTS, FLOATS = [d for d in DTYPES if d != "D"], ["i1", "i4", "i8", "u1", "u4"], ["f2", "f4", "f8"]


def along(**options):
    """Arguments: an array, an axis and options."""
    def draw(d):
        x = d.array()
        how = {name: d.pick(*values) for name, values in options.items()}
        return (x,), {**how, "axis": d.axis(x)} if d.rng.random() < 0.7 else how

    return draw


def one(*values, low=0, high=3, dtypes=DTYPES):
    """Arguments: an array and another one, if there is one."""
    return lambda d: ((d.array(low, high, dtypes), *([d.pick(*values)] if values else [])), {})


def two(dtypes=DTYPES, low=0, high=3, **options):
    def draw(d):
        x = d.array(low, high, dtypes)
        y = d.like(x, dtypes) if d.rng.random() < 0.6 else d.array(low, high, dtypes)
        return (x, y), {name: d.pick(*values) for name, values in options.items() if d.rng.random() < 0.6}

    return draw


def several(axis=False):
    def draw(d):
        x = d.array()
        arrays = [x, *[d.like(x) if d.rng.random() < 0.9 else d.array() for _ in range(d.rng.integers(0, 3))]]
        return (arrays,), {"axis": d.axis(x, False)} if axis and d.rng.random() < 0.7 else {}

    return draw


def taken(d):
    x = d.array(1)
    axis = d.axis(x)
    n = x.size if axis is None else x.shape[axis]
    return (x, d.index(n, d.shape(0, 2))), {"axis": axis, "mode": d.pick("raise", "wrap", "clip") if n else "raise"}  # NumPy goes on for ever


def taken_along(d):
    x = d.array(1)
    axis = d.axis(x, False)
    shape = [n if k != axis % x.ndim else 2 for k, n in enumerate(x.shape)]
    return (x, d.index(x.shape[axis], shape)), {"axis": axis}


def averaged(d):
    x = d.array(1, dtypes=REAL)
    axis = d.axis(x)
    shape = x.shape if axis is None or d.rng.random() < 0.5 else (x.shape[axis],)
    return (x,), {"axis": axis, "weights": d.pick(None, np.abs(d.array(shape=shape, dtypes=["i4", "f4", "f8"])) + 1), "keepdims": d.pick(False, True)}


def selected(d):
    x = d.array()
    return ([d.like(x, ["?"]) for _ in range(2)], [d.like(x), d.like(x)], d.pick(0, -1.5, True)), {}


def padded(d):
    x = d.array(0)
    mode = d.pick("constant", "edge", "wrap", "reflect", "symmetric")
    return (x, d.pick(0, 1, 2, (1, 2), [(1, 0)] * max(x.ndim, 1)), mode), {"constant_values": d.pick(0, 3)} if mode == "constant" else {}


def moments(**options):
    return lambda d: ((d.array(1, 2),), {name: d.pick(*values) for name, values in options.items() if d.rng.random() < 0.5})


def text_of_product(d):
    letters = "abc"
    words = ["".join(d.rng.choice([*letters], d.rng.integers(1, 4))) for _ in range(d.rng.integers(1, 4))]
    extents = {c: int(d.pick(1, 2, 3, 3)) for c in letters}
    result = "".join(dict.fromkeys(d.rng.permutation([c for c in letters if any(c in w for w in words)])[: d.rng.integers(0, 4)]))
    return words, extents, result


def by_text(d):
    words, extents, result = text_of_product(d)
    dots = d.rng.random() < 0.3
    arrays = [np.nan_to_num(d.array(shape=(*(2, 3)[: 2 * dots], *[extents[c] for c in w]), dtypes=["i4", "f8", "D"]), posinf=1) for w in words]
    text = ",".join("..." * dots + w for w in words)
    return (text + ("" if d.rng.random() < 0.3 else "->" + "..." * dots + result), *arrays), {"optimize": d.pick(False, True, "greedy")}


def by_lists(d):
    words, extents, result = text_of_product(d)
    args = [one for w in words for one in (d.array(shape=[extents[c] for c in w], dtypes=["i4", "f8"]), [ord(c) - 97 for c in w])]
    return (*args, *[[ord(c) - 97 for c in result]] * (d.rng.random() < 0.7)), {}


FINITE = [d for d in DTYPES if d[0] not in "fD"]


def matrices(d):
    n, m, k = [int(d.pick(1, 2, 3)) for _ in range(3)]
    return (d.array(shape=(n, m), dtypes=FINITE), d.array(shape=(m, k), dtypes=FINITE)), {}


CALLS = {
    "concatenate": several(True), "stack": several(True), "vstack": several(), "hstack": several(), "dstack": several(), "column_stack": several(),
    "tile": one(0, 1, 2, (2, 1), (1, 2, 2), ()), "repeat": along(repeats=(0, 1, 2)), "roll": along(shift=(0, 1, -2, 7)), "diff": lambda d: ((x := d.array(1),), {
        "n": d.pick(0, 1, 2), "axis": d.axis(x, False), **({"prepend": 2} if d.rng.random() < 0.3 else {})}), "ediff1d": one(),
    "delete": along(obj=(0, -1, [0], slice(0, 2))), "append": lambda d: ((x := d.array(), d.like(x)), {"axis": d.axis(x)}), "pad": padded,
    "take": taken, "take_along_axis": taken_along, "tril": one(0, 1, -2, low=1), "triu": one(0, 1, -2, low=1), "diag": one(0, 1, -2, low=1, high=2),
    "diagflat": one(0, 1, -1), "trace": one(0, 1, -1, low=2), "convolve": two(low=1, high=1, mode=("full", "same", "valid")),
    "correlate": two(low=1, high=1, mode=("full", "same", "valid")), "meshgrid": lambda d: ([d.array(0, 1) for _ in range(d.rng.integers(1, 4))], {
        "indexing": d.pick("xy", "ij"), "sparse": d.pick(False, True)}), "broadcast_arrays": two(), "select": selected,
    "piecewise": lambda d: ((x := d.array(), [d.like(x, ["?"])], [lambda v: v + 1, 2][: d.pick(1, 2)]), {}),
    "choose": lambda d: ((x := d.array(dtypes=["i4", "i8"]) % 2, [d.like(x), d.array(0, 1)]), {"mode": d.pick("raise", "wrap", "clip")}),
    "isclose": two(REAL, rtol=(0, 0.1), atol=(0, 1), equal_nan=(True, False)), "allclose": two(REAL, equal_nan=(True, False)),
    "nan_to_num": lambda d: ((d.array(dtypes=REAL),), {"nan": d.pick(0.0, 2)}), "array_equal": two(equal_nan=(True, False)),
    **dict.fromkeys("nansum nanprod nanmin nanmax nanmean".split(), along(keepdims=(True, False))),
    **dict.fromkeys("nanvar nanstd".split(), along(keepdims=(True, False), ddof=(0, 1))), "nancumsum": along(), "nancumprod": along(),
    "average": averaged, "cov": moments(rowvar=(True, False), bias=(True, False), ddof=(0, 1)), "corrcoef": moments(rowvar=(True, False)),
    "kron": two(low=0, high=2), "cross": lambda d: ((x := d.array(shape=(*d.shape(0, 1), 3)), d.like(x)), {}), "polyval": lambda d: ((d.array(1, 1), d.array()), {}),
    "vander": lambda d: ((d.array(1, 1),), {"N": d.pick(None, 0, 1, 3), "increasing": d.pick(True, False)}),
    "searchsorted": lambda d: ((np.sort(d.array(1, 1, REAL)), d.array(dtypes=REAL)), {"side": d.pick("left", "right")}),
    "digitize": lambda d: ((d.array(dtypes=REAL), [-1.0, 0.5, 0.5, 2][:: d.pick(1, -1)]), {"right": d.pick(True, False)}),
    "isin": lambda d: ((d.array(dtypes=REAL), d.array(dtypes=REAL)), {"invert": d.pick(True, False)}), "sinc": one(dtypes=REAL), "fix": one(dtypes=REAL),
    "round": one(0, 1, -1, 2), "around": one(0, 1, -1), "trapezoid": lambda d: ((x := d.array(1, dtypes=REAL),), {"axis": d.axis(x, False), "dx": d.pick(1.0, 0.5)}),
    "angle": one(), "copy": one(), "isneginf": one(dtypes=REAL), "isposinf": one(dtypes=REAL), "isreal": one(), "iscomplex": one(),
    "vdot": two(high=2), "unstack": lambda d: ((x := d.array(1),), {"axis": d.axis(x, False)}), "atleast_1d": one(), "atleast_2d": one(), "atleast_3d": one(),
    **dict.fromkeys(("split", "array_split"), lambda d: ((x := d.array(1), d.pick(1, 2, [1], [1, 2])), {"axis": d.axis(x, False)})),
    "hsplit": one(1, 2, [1], low=1), "vsplit": one(1, 2, [1], low=2), "dsplit": one(1, 2, [1], low=3),
    "interp": lambda d: ((d.array(dtypes=REAL), np.sort(d.array(shape=(4,), dtypes=INTS) + np.arange(4) * 16), d.array(shape=(4,))), {
        "left": d.pick(None, -7.0), "right": d.pick(None, 9)}), "unwrap": lambda d: ((x := d.array(1, dtypes=["i4", "i8", "f4", "f8"]),), {
            "axis": d.axis(x, False), **({"period": d.pick(3, 4, 2.5)} if d.rng.random() < 0.5 else {})}),
    "gradient": lambda d: ((x := d.array(1, 2, ["i4", "f4", "f8"]), *d.pick((), (0.5,))), {"edge_order": d.pick(1, 2), "axis": d.axis(x)}),
    "linspace": lambda d: ((d.array(0, 1, ["i4", "i8"], shape := d.pick((), (3,))) / 2, d.array(0, 1, ["i4", "u1"], shape)), {
        "num": d.pick(0, 1, 2, 5), "endpoint": d.pick(True, False), "axis": d.pick(0, -1), "dtype": d.pick(None, "f4", int)}),
    "histogram": lambda d: ((x := d.array(dtypes=REAL), d.pick(4, 7, [-2.0, 0, 0.5, 3])), {"range": (-3, d.pick(3, 2.5)), **({
        "weights": d.like(x, ["i4", "f8"])} if d.rng.random() < 0.3 else {}), "density": d.pick(False, None, x.size > 8)}),
    "nanargmin": along(keepdims=(True, False)), "nanargmax": along(), "polyadd": two(low=1, high=1), "polysub": two(low=1, high=1),
    "polyder": lambda d: ((d.array(1, 1, ["i4", "f8", "D"]),), {"m": d.pick(0, 1, 2)}), "polyint": lambda d: ((d.array(1, 1, ["i4", "f8"]),), {"m": d.pick(0, 1, 2)}),
    "block": lambda d: (([[x := d.array(1, 2), d.like(x)], [d.like(x), d.like(x)]],), {}), "resize": one(3, (2, 2), (0,)),
    "insert": lambda d: ((x := d.array(1), d.pick([0], [0, 1], [-1]), d.pick(2, 3.5)), {"axis": d.axis(x)}),
    "full_like": lambda d: ((x := d.array(), d.array(0, 0, ["u1"])), {"dtype": d.pick(None, "f4")}), "array_equiv": two(),
    "compress": lambda d: (([True, False, True][: min((x := d.array(1)).shape)], x), {"axis": d.axis(x)}),
    "extract": lambda d: (([True, False][: (x := d.array()).size], x), {}), "ix_": lambda d: ([d.index(3, (d.pick(1, 2),)) for _ in range(d.pick(1, 2, 3))], {}),
    "apply_over_axes": lambda d: ((np.sum, x := d.array(1), [d.axis(x, False)]), {}),
    "linalg.matmul": matrices, "linalg.tensordot": lambda d: (matrices(d)[0], {"axes": 1}), "linalg.multi_dot": lambda d: (([*(m := matrices(d)[0]), m[1].T],), {}),
    "linalg.outer": lambda d: ((d.array(1, 1, FINITE), d.array(1, 1, FINITE)), {}), "linalg.trace": one(low=2, dtypes=FINITE),
    "linalg.vecdot": lambda d: ((x := d.array(1, dtypes=FINITE), d.like(x, FINITE)), {"axis": -d.pick(*range(1, x.ndim + 1))}),
    "linalg.cross": lambda d: ((x := d.array(shape=(2, 3)), d.like(x)), {}), "linalg.matrix_power": lambda d: ((d.array(shape=(3, 3), dtypes=["i4", "i8"]), d.pick(0, 1, 2, 5)), {}),
    "linalg.norm": lambda d: ((x := d.array(1, dtypes=["f4", "f8", "D"]),), {"ord": d.pick(None, 0, 1, 2, 3, -1, 0.5, np.inf, -np.inf), "axis": d.axis(x, False), "keepdims": d.pick(True, False)}),
    "linalg.matrix_norm": lambda d: ((d.array(2, dtypes=["f4", "f8", "D"]),), {"ord": d.pick("fro", 1, -1, np.inf, -np.inf), "keepdims": d.pick(True, False)}),
    "einsum": lambda d: by_text(d) if d.rng.random() < 0.6 else by_lists(d),
}


def lazy(x):
    """With each array wrapped."""
    return bl.array(x) if isinstance(x, np.ndarray) else type(x)([lazy(one) for one in x]) if type(x) in (list, tuple) else x


def quietly(f, *args, **options):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return f(*args, **options)


def numbers(rng, dtype, n=60):
    """Numbers of all sizes, the ends of the dtype among them."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random(n) < 0.5
    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        x = np.where(rng.random(n) < 0.5, rng.integers(ends.min, ends.max, n, dtype, True), rng.integers(0, 100, n).astype(dtype)).astype(dtype)
        x[:3] = 0, ends.max, ends.min
        return x
    ends = np.finfo(dtype)
    x = rng.integers(0, 2 ** (8 * dtype.itemsize) - 1, n, f"u{dtype.itemsize}").view(dtype)
    x = np.where(rng.random(n) < 0.6, x, np.ldexp(rng.choice([1.0, -0.5, 1.5], n), rng.integers(-1074, 1023, n)).astype(dtype)).astype(dtype)
    x[:9] = 0, -0.0, np.inf, -np.inf, np.nan, ends.max, -ends.max, ends.smallest_subnormal, ends.tiny
    return x


# What NumPy 2.0 has not, or has otherwise: cov of no elements, sinc(0) of f16.
LATER = ("unstack", "cov", "corrcoef", "sinc")


class Composed(unittest.TestCase):
    def case(self, name, draw, rng):
        """The mistake in one call, or "", and whether it was recorded."""
        args, options = draw(Draw(rng))
        called = getattr(np.linalg, name[7:]) if name.startswith("linalg.") else getattr(np, name)
        try:
            theirs = quietly(called, *args, **options)
        except Exception as error:
            theirs = error
        told = f"{name}(*{args!r}, **{options!r})"
        try:
            ours = quietly(called, *lazy(args), **{key: lazy(value) for key, value in options.items()})
        except bl.Error as error:
            if isinstance(theirs, Exception) and not isinstance(error, bl.InternalError):
                return "", False
            return ("", False) if error.code in REFUSED else (f"{told}: {error}", False)
        except Exception as error:
            return ("" if type(error) is type(theirs) else f"{told}: {error!r} for {theirs!r}"), False
        if isinstance(theirs, Exception):
            return "" if name in ("nanargmin", "nanargmax") else f"{told}: {ours!r} for {theirs!r}", False  # which only the elements tell
        several = isinstance(theirs, (tuple, list))
        if several and len(theirs) != len(ours):
            return f"{told}: {len(ours)} for {len(theirs)}", True
        for mine, other in zip(ours, theirs) if several else [(ours, theirs)]:
            wrong = self.differs(mine, np.asarray(other))
            if wrong:
                return f"{told}: {wrong}", True
        return "", True

    def differs(self, ours, theirs):
        if (ours.dtype, ours.shape) != (theirs.dtype, theirs.shape):
            return f"{ours!r} for {theirs.dtype}{list(theirs.shape)}"
        try:
            made = np.asarray(ours)
        except Exception as error:
            return f"compute: {error!r}"
        eps = EPS.get(theirs.dtype.char, 0)
        if eps == 0:
            return "" if np.array_equal(made, theirs) else f"{made!r} for {theirs!r}"
        with np.errstate(all="ignore"):
            if theirs.dtype.kind == "c":
                near = ~np.isfinite(theirs) | (np.abs(made - theirs) <= eps * (1 + np.abs(theirs)))
            else:
                near = np.isclose(made.astype("f8"), theirs.astype("f8"), eps, eps, equal_nan=True)
        return "" if near.all() else f"{made!r} for {theirs!r}"

    def test_calls_with_random_arguments_are_those_of_numpy(self):
        found, refused = [], []
        for name, draw in CALLS.items():
            if name in LATER and not hasattr(np, "unstack"):
                continue
            rng, recorded = np.random.default_rng(sum(map(ord, name))), 0
            for _ in range(25 * TIMES):
                wrong, is_recorded = self.case(name, draw, rng)
                recorded += is_recorded
                found += [wrong] * bool(wrong)
            if recorded < 8 * TIMES:
                refused.append(f"{name}: {recorded} of {25 * TIMES} recorded")
        self.assertEqual(found + refused, [], f"{len(found)} differences:\n" + "\n".join([*found[: 60 * TIMES], *refused]))

    def test_calls_with_arguments_of_all_kinds_end_in_a_result_or_an_error_of_ours(self):
        """Errors before NumPy asks lazy arrays may be NumPy's own."""
        rng, inside = np.random.default_rng(6), os.sep + "broadloom" + os.sep
        values = [lambda: bl.array(np.ones((2, 3))), lambda: bl.array(np.arange(3)), lambda: bl.array(np.ones((2, 2))), lambda: bl.array(np.array(2.0)), lambda: None, lambda: 1,
                  lambda: -1, lambda: 2.5, lambda: "a", lambda: b"b", lambda: [1], lambda: (0, 1), object, lambda: 1j, lambda: [[1], [2, 3]]]
        options = "axis out dtype k n keepdims where initial mode odd indices order".split()
        methods = [name for name in dir(bl.LazyArray) if not name.startswith("_") and callable(getattr(bl.LazyArray, name))]
        ufuncs = [f for f in vars(np).values() if isinstance(f, np.ufunc)]
        functions = [f for f in lazy_numpy.functions if not f.__name__.startswith("save") and f is not np.common_type]
        self.assertGreater(len(methods), 35)
        found = []
        for f in [*methods, *ufuncs, *functions] * 8 * TIMES:
            args = [bl.array(np.ones((2, 3))), *[values[rng.integers(len(values))]() for _ in range(rng.integers(0, 3))]]
            how = {str(rng.choice(options)): values[rng.integers(len(values))]()} if rng.random() < 0.4 else {}
            try:
                quietly(getattr(args[0], f) if isinstance(f, str) else f, *args[isinstance(f, str):], **how)
            except bl.Error as error:
                found += [f"{f}: {error}"] * isinstance(error, bl.InternalError)
            except Exception as error:
                if isinstance(f, str) or any(inside in frame.filename for frame in traceback.extract_tb(error.__traceback__)):
                    found.append(f"{f}(*{args}, **{how}): {error!r}")
        self.assertEqual(found, [], "\n".join(found[:40]))

    def test_ufuncs_that_are_made_of_others_have_the_bits_of_numpys(self):
        rng = np.random.default_rng(3)
        for ufunc in formulas_bits.MADE:
            for k, dtypes in enumerate(itertools.product("? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8".split(), repeat=ufunc.nin)):
                args = [quietly(numbers, rng, dtype) for dtype in dtypes]
                if ufunc is np.ldexp:
                    args[1] = args[1] % 100 - 50 if args[1].dtype.kind == "i" else args[1]
                if ufunc.nin == 2 and k % 5 == 0:
                    args[k % 2] = 3 if k % 3 else 2.5
                try:
                    theirs = quietly(ufunc, *args)
                except TypeError:
                    self.assertRaises(TypeError, lambda: quietly(ufunc, *lazy(args)))
                    continue
                ours = quietly(ufunc, *lazy(args))
                for mine, other in zip(ours, theirs) if ufunc.nout > 1 else [(ours, theirs)]:
                    told = f"{ufunc.__name__} {dtypes}"
                    self.assertEqual((mine.dtype, mine.shape), (other.dtype, other.shape), told)
                    if ufunc is getattr(np, "logaddexp2"):
                        eps = 4 * np.finfo(other.dtype).eps
                        np.testing.assert_allclose(quietly(np.asarray, mine), other, eps, eps, err_msg=told)
                        continue
                    made = quietly(np.asarray, mine)
                    np.testing.assert_array_equal(made, other, told)
                    if other.dtype.kind == "f":
                        np.testing.assert_array_equal(np.signbit(made)[other == other], np.signbit(other)[other == other], told)

    def test_each_function_that_is_made_of_others_is_drawn(self):
        rows = {"linalg." * called.__module__.endswith("linalg") + called.__name__ for called, row in lazy_numpy.functions.items()
                if isinstance(row, lazy_calls.Composed)}
        self.assertEqual(rows - CALLS.keys(), set())


if __name__ == "__main__":
    unittest.main()
