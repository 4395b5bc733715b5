"""Lazy arrays against NumPy."""

import itertools
import os
import unittest
import warnings

import numpy as np

import broadloom as bl
from broadloom import lazy_forms, lazy_lower, lazy_numpy, lazy_ops

DTYPES = "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 F D".split()
SHAPES = [(), (1,), (4,), (3, 1), (3, 4), (1, 4), (2, 3, 4), (2, 1, 1), (1, 3, 4), (4, 4), (3, 3), (2, 3, 1)]
EPS = {"e": 1e-3, "f": 1e-6, "d": 1e-14, "F": 1e-6, "D": 1e-14}  # by dtype.char


def some(rng, dtype, shape):
    """Small whole numbers, and for floats halves, so that nothing overflows."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.asarray(rng.random(shape) < 0.5)
    values = rng.integers(0 if dtype.kind == "u" else -5, 6, shape).astype(dtype)
    if dtype.kind == "c":
        return np.asarray(values + 1j * rng.integers(-3, 4, shape), dtype)
    if dtype.kind == "f":
        return np.asarray(values + rng.integers(0, 2, shape) / 2, dtype)
    return np.asarray(values)


def quietly(f, *args):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return f(*args)


class Lazy(unittest.TestCase):
    def same(self, ours, theirs, tolerance=0.0, what=""):
        ours, theirs = np.asarray(ours), np.asarray(theirs)
        self.assertEqual((ours.shape, ours.dtype), (theirs.shape, theirs.dtype), what)
        if tolerance == 0:
            np.testing.assert_array_equal(ours, theirs, err_msg=what)
        elif theirs.size:
            finite = np.abs(theirs[np.isfinite(theirs)])
            scale = float(finite.max()) if finite.size else 1.0
            np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * max(scale, 1e-300), err_msg=what)

    def both(self, f, *arrays, tolerance=0.0, what=""):
        """The same function of lazy arrays and of NumPy's: the same result, or an error from
        both."""
        try:
            theirs = quietly(f, *arrays)
        except (TypeError, ValueError, OverflowError) as error:
            with self.assertRaises((TypeError, ValueError, OverflowError), msg=f"{what}: NumPy says {error}"):
                quietly(f, *[bl.array(x) if isinstance(x, np.ndarray) else x for x in arrays])
            return
        ours = quietly(f, *[bl.array(x) if isinstance(x, np.ndarray) else x for x in arrays])
        self.assertIsInstance(ours, bl.LazyArray, what)
        self.assertEqual((ours.shape, ours.dtype), (np.shape(theirs), np.asarray(theirs).dtype), what)
        self.same(ours.compute(), theirs, tolerance, what)

    def test_operators_promote_as_numpy_does(self):
        rng = np.random.default_rng(1)
        ufuncs = [np.add, np.multiply, np.true_divide, np.less, np.maximum, np.bitwise_xor, np.floor_divide, np.logical_and]
        for a, b in itertools.product(DTYPES, DTYPES):
            x, y = some(rng, a, (3, 4)), some(rng, b, (4,))
            for ufunc in ufuncs:
                if "c" in (x.dtype.kind, y.dtype.kind) and ufunc in (np.less, np.maximum, np.floor_divide):
                    continue  # complex numbers have no order
                complex_ = np.result_type(x, y).kind == "c"
                self.both(ufunc, x, y, tolerance=1e-6 if complex_ and ufunc is np.true_divide else 0, what=f"{ufunc} {a} {b}")
            for number in (True, 3, 2.5, -1, 300):
                for ufunc in (np.add, np.multiply, np.less, np.equal):
                    if x.dtype.kind == "c" and ufunc is np.less:
                        continue
                    self.both(ufunc, x, number, what=f"{ufunc} {a} {number}")
                    self.both(ufunc, number, x, what=f"{ufunc} {number} {a}")

    def test_functions_of_one_argument_are_those_of_numpy(self):
        rng = np.random.default_rng(2)
        names = [name for name in lazy_ops.TEMPLATES if getattr(getattr(np, name, None), "nin", 0) == 1]
        self.assertGreater(len(names), 40)
        for name, dtype in itertools.product(names, DTYPES):
            x = some(rng, dtype, (3, 4))
            f = getattr(np, name)
            if name == "reciprocal" and x.dtype.kind in "biu":
                x = np.where(x == 0, 3, x).astype(x.dtype)  # NumPy leaves that of 0 open
            if lazy_ops.refused(name, self.loop(f, x.dtype)):
                with self.assertRaises(TypeError):
                    quietly(f, bl.array(x))
                continue
            loop = self.loop(f, x.dtype)
            self.both(f, x, tolerance=EPS.get(loop[-1].char, 0) if loop else 0, what=f"{name} {dtype}")

    def loop(self, f, dtype):
        try:
            return (*f.resolve_dtypes((dtype, None)),)
        except TypeError:
            return ()

    def test_bounds_beyond_the_type_and_rounded_truths_are_those_of_numpy(self):
        small = np.array([3, 250, 0], "u1")
        for low, high in ((-1, 2), (1, 300), (-5, None), (None, 999)):
            self.both(lambda x: np.clip(x, low, high), small, what=f"clip {low} {high}")
        self.both(np.round, np.array([True, False]), what="round of bool")
        self.both(np.round, small, what="round of u8")

    def test_folds_and_scans_of_all_dtypes_and_axes(self):
        rng = np.random.default_rng(3)
        for dtype, shape in itertools.product(DTYPES, [(3, 4), (2, 1, 4), (1, 1), (5,), ()]):
            x = some(rng, dtype, shape)
            tolerance = {"f2": 4e-3, "f4": 1e-5, "F": 1e-5}.get(dtype, 1e-12 if dtype in ("f8", "D") else 0)
            rank = len(shape)
            axes = [None, *range(-rank, rank), *itertools.combinations(range(rank), 2)]
            for name, axis, keepdims in itertools.product("sum prod min max any all mean var std".split(), axes, (False, True)):
                if x.dtype.kind == "c" and name in ("min", "max"):
                    continue
                whole = name in ("mean", "var", "std") and tolerance == 0
                self.both(lambda x: getattr(np, name)(x, axis=axis, keepdims=keepdims), x, tolerance=1e-13 if whole else tolerance,
                          what=f"{name} {dtype} {shape} {axis}")
            for name, axis in itertools.product(("argmin", "argmax", "cumsum", "cumprod"), [None, *range(rank)]):
                if x.dtype.kind == "c" and name.startswith("arg"):
                    continue
                self.both(lambda x: getattr(x, name)(axis=axis), x, tolerance=tolerance, what=f"{name} {dtype} {shape} {axis}")
        x = some(rng, "f4", (3, 4))
        self.both(lambda x: np.var(x, axis=1, ddof=1), x, tolerance=1e-6)
        self.both(lambda x: x.sum(axis=0, dtype="f8"), x)
        self.both(lambda x: np.maximum.accumulate(x, axis=1), x)
        self.both(lambda x: np.add.reduce(x), x)
        self.both(lambda x: np.ptp(x, axis=1), x)
        self.both(lambda x: np.linalg.norm(x, axis=1), x, tolerance=1e-6)

    def test_random_graphs_agree_with_numpy(self):
        count = int(os.environ.get("BROADLOOM_LAZY_GRAPHS", "600"))
        for seed in range(count):
            with self.subTest(seed=seed):
                self.random_graph(np.random.default_rng(seed))

    def random_graph(self, rng):
        # What is exact has the bits of NumPy; only that may go where a last bit makes a difference.
        pool = []  # lazy, NumPy's, exact, what it is
        for _ in range(int(rng.integers(2, 5))):
            x = some(rng, rng.choice(DTYPES), SHAPES[rng.integers(len(SHAPES))])
            if rng.random() < 0.3 and x.ndim > 1:
                x = np.asfortranarray(x) if rng.random() < 0.5 else x[..., ::-1]
            pool.append((bl.array(x), x, True, f"{x.dtype}{x.shape}"))
        for _ in range(int(rng.integers(1, 9))):
            made = quietly(self.step, rng, pool)
            if made is not None:
                pool.append(made)
        chosen = pool[-min(len(pool), int(rng.integers(1, 4))):]
        results = quietly(lambda: bl.compute(*[one[0] for one in chosen]))
        for result, (_, theirs, exact, what) in zip(results if len(chosen) > 1 else [results], chosen):
            theirs = np.asarray(theirs)
            loose = 0.05 if "float16" in what or theirs.dtype.char == "e" else 1e-4 if "float32" in what or "complex64" in what else 1e-9
            self.same(result, theirs, 0 if exact or theirs.dtype.kind in "biu" else loose, what)

    def step(self, rng, pool):
        def pick(good=lambda x: True):
            fitting = [one for one in pool[-6:] if good(one)]
            return fitting[rng.integers(len(fitting))] if fitting else None

        kind = rng.choice("binary binary unary number where fold fold scan view product cast clip part join index".split())
        real = lambda one: one[2] and np.asarray(one[1]).dtype.kind != "c"
        floats = lambda x: np.asarray(x).dtype.kind in "fc"
        if kind in ("binary", "number"):
            sharp = rng.random() < 0.4
            names = "less greater_equal equal floor_divide remainder maximum minimum logical_and bitwise_or".split() if sharp else \
                "add subtract multiply true_divide".split()
            f = getattr(np, str(rng.choice(names)))
            a, b = pick(real if sharp else lambda one: True), pick(real if sharp else lambda one: True)
            if a is None or b is None:
                return None
            if kind == "number":
                number = [2, 3, -1, 0.5, 2.25, True][rng.integers(6)]
                b = (number, number, True, repr(number))
            if rng.random() < 0.5:
                a, b = b, a
            f_, args = f, (a, b)
        elif kind == "unary":
            a = pick(real if (sharp := rng.random() < 0.3) else lambda one: True)
            f_, args = getattr(np, str(rng.choice(["floor", "rint", "sign", "logical_not"] if sharp else ["negative", "absolute", "square", "tanh"]))), (a,)
        elif kind == "where":
            f_, args = np.where, (pick(real), pick(), pick())
        elif kind == "clip":
            f_, args = lambda x: np.clip(x, 0, 3), (pick(real),)
        elif kind == "cast":
            a = pick(real)
            f_, args = lambda x, to=rng.choice(["i4", "f4", "f8", "i8"]): x.astype(to), (a,)
        elif kind in ("fold", "scan"):
            name = str(rng.choice("argmax argmin any all".split() if (sharp := rng.random() < 0.2) else
                                  "sum mean max min var prod".split() if kind == "fold" else ["cumsum"]))
            a = pick(real if sharp or name in ("max", "min") else lambda one: True)
            rank = np.ndim(a[1]) if a is not None else 0
            if a is None or (kind == "scan" and not rank):
                return None
            axis = None if (not rank or rng.random() < 0.3) and not (kind == "scan" and not sharp) else int(rng.integers(-rank, rank))
            options = {"keepdims": True} if kind == "fold" and not sharp and rng.random() < 0.5 else {}
            f_, args = lambda x: getattr(np, name)(x, axis=axis, **options), (a,)
            if np.size(a[1]) == 0 or (name == "prod" and np.size(a[1]) > 16):
                return None
        elif kind == "part":
            a = pick(lambda one: np.ndim(one[1]))
            begin, step = int(rng.integers(0, 2)), [1, 2, -1][rng.integers(3)]
            f_, args = lambda x: x[..., begin:][..., ::step], (a,)
        elif kind == "join":
            a = pick(lambda one: np.ndim(one[1]))
            f_, args = [lambda x: np.concatenate([x, x[:1]]), lambda x: np.stack([x, x], axis=-1), lambda x: np.roll(x, 1, axis=0)][int(rng.integers(3))], (a,)
        elif kind == "index":
            a = pick(lambda one: np.ndim(one[1]) and np.shape(one[1])[-1])
            f_, args = lambda x: np.take(x, np.array([0, -1, 0]), axis=-1), (a,)
        elif kind == "view":
            which = int(rng.integers(4))
            f_ = [lambda x: x.T, lambda x: x[..., None], lambda x: np.swapaxes(x, 0, -1), lambda x: x[None]][which]
            args = (pick(),)
        else:
            f_, args = [np.matmul, np.dot, np.multiply.outer][int(rng.integers(3))], (pick(), pick())
        if any(one is None for one in args):
            return None
        what = f"{kind}:{getattr(f_, '__name__', '?')}({', '.join(one[3] for one in args)})"
        try:
            theirs = f_(*[one[1] for one in args])
        except (TypeError, ValueError, OverflowError, IndexError):
            return None
        if np.ndim(theirs) > 5 or np.size(theirs) > 3000:
            return None
        with np.errstate(all="ignore"):
            sizes = np.abs(np.asarray(theirs).astype("D"))
        if not np.isfinite(sizes).all() or (sizes > 1e4).any():
            return None  # casts and NaNs beyond the types differ
        try:
            ours = f_(*[one[0] for one in args])
        except bl.Error as error:
            self.assertIn(error.code, ("E0201", "E0205", "E0008"), what)
            return None
        self.assertEqual((ours.shape, ours.dtype), (np.shape(theirs), np.asarray(theirs).dtype), what)
        exact = all(one[2] for one in args)
        if floats(theirs) and (kind in ("product", "scan") or (kind == "fold" and "m" != name[0]) or "mean" in what or "tanh" in what
                               or any(np.asarray(one[1]).dtype.kind == "c" for one in args)):
            exact = False
        if kind == "fold" and name == "mean":
            exact = False
        if any(not one[2] for one in args) and not floats(theirs):
            return None
        return ours, theirs, exact, what

    def test_products_are_those_of_numpy(self):
        rng = np.random.default_rng(4)
        a, b, c = (some(rng, "f8", shape) for shape in ((3, 4), (4, 5), (2, 3, 4)))
        v, w = some(rng, "f8", (4,)), some(rng, "f8", (3,))
        for f, args in [(np.matmul, (a, b)), (np.matmul, (c, b)), (np.matmul, (a, v)), (np.matmul, (w, a)), (np.matmul, (v, v)),
                        (np.dot, (a, b)), (np.dot, (c, b)), (np.inner, (a, v)), (np.outer, (v, w)), (np.vecdot, (c, v)),
                        (lambda a, b: np.tensordot(a, b, 1), (a, b)), (lambda a, b: np.tensordot(a, b, ([0], [1])), (a, c)),
                        (lambda a, b: np.einsum("ij,jk->ki", a, b), (a, b)), (lambda a: np.einsum("ij->j", a), (a,)),
                        (lambda a: np.einsum("ba", a), (a,)), (lambda a, b, v: np.einsum("ij,jk,j->ik", a, b, v), (a, b, v)),
                        (lambda a, b: (a * 2) @ (b + 1) - 1, (a, b)), (lambda a: (a + 1).T @ (a + 1), (a,)),
                        (lambda a: np.exp(a / 9) @ np.exp(a / 9).T @ a, (a,)), (lambda c: c @ c.mT, (c,)),
                        (lambda a, b: (a.sum(0, keepdims=True) * a) @ b, (a, b))]:
            self.both(f, *args, tolerance=1e-13)
        for dtype in DTYPES:
            self.both(np.matmul, some(rng, dtype, (3, 4)), some(rng, dtype, (4, 2)), tolerance=EPS.get(np.dtype(dtype).char, 0) * 4,
                      what=dtype)

    def test_dims_of_one_axis_may_be_two(self):
        x = np.random.default_rng(5).normal(size=(3, 3))
        for f in (lambda x: (x + x.T).sum(1), lambda x: x - (x + x.T).sum(1), lambda x: (x * x.T).sum(0)[:, None] + x,
                  lambda x: np.exp(x + x.T).cumsum(0) / x.sum(), lambda x: (x + x.sum(1)).T + x.sum(0, keepdims=True)):
            self.both(f, x, tolerance=1e-13)

        def again(x):  # each step leads rows into columns
            for _ in range(12):
                x = x / 2 + x.T.sum(1) / 8
            return x

        self.both(again, x, tolerance=1e-13)

    def test_long_chains_need_no_deep_stack(self):
        x = np.arange(4.0)
        z = bl.array(x)
        for _ in range(5000):
            z = z + 1
        np.testing.assert_array_equal(z.compute(), x + 5000)

    def test_nothing_is_copied_and_what_is_there_counts(self):
        x = np.arange(6.0).reshape(2, 3)
        z = bl.array(x)[:, ::2] * 2
        x[0, 0] = 10
        np.testing.assert_array_equal(z.compute(), [[20, 4], [6, 10]])
        self.assertIs(bl.array(x).compute(), x)
        self.assertTrue(np.shares_memory(np.asarray(bl.array(memoryview(x))), x))
        out = np.zeros((2, 2))
        self.assertIs(z.compute(out=out), out)
        np.testing.assert_array_equal(out, [[20, 4], [6, 10]])
        kept = np.zeros((2, 1))
        self.assertIs(z.sum(1, keepdims=True).compute(out=kept), kept)
        np.testing.assert_array_equal(kept, [[24], [16]])

    def test_one_structure_is_compiled_once(self):
        lazy_lower._kernels.clear()
        lazy_forms.forget()

        def scaled(x, by):
            return (bl.array(x) * by - bl.array(x).mean(axis=0)).kernel

        first = scaled(np.ones((3, 4)), 2.0)
        self.assertIs(scaled(np.ones((5, 7)).T, 3.0), first)  # other extents, strides and numbers
        self.assertEqual(len(lazy_lower._kernels), 1)
        for other in (np.ones((3, 1)), np.ones((3, 4), "f4"), np.ones((2, 3, 4))):
            self.assertIsNot(scaled(other, 2.0), first)
        self.assertEqual(len(lazy_lower._kernels), 4)
        a, b = np.ones(4), np.ones(4)
        self.assertIsNot((bl.array(a) + bl.array(b)).kernel, (bl.array(a) + bl.array(a)).kernel)

    def test_what_is_known_of_a_form_holds_of_no_other(self):
        """Each twice, the second time by what is known, among others that differ in little."""
        a, b, c = np.arange(1.0, 5), np.arange(4.0) - 1.5, np.arange(4.0)[::-1] / 3
        shared = lambda x, y, z: (x + 1) * (x + 1) if y is z else (lambda s: s * s)(x + 1)
        makers = [lambda x, y, z: x * y + 1, lambda x, y, z: x * x + 1, lambda x, y, z: x * y + x, lambda x, y, z: x * y + y, lambda x, y, z: y * x + y,
                  lambda x, y, z: (x + 1) * (x + 2), shared, lambda x, y, z: (x - y) / (y - x + 0.25), lambda x, y, z: (x - y) / (x - y + 0.25),
                  lambda x, y, z: x ** 2 + x ** 3, lambda x, y, z: x ** 2.5 + x ** 3.0, lambda x, y, z: x + True, lambda x, y, z: x > 2, lambda x, y, z: 2 > x,
                  lambda x, y, z: x / -0.0, lambda x, y, z: x / 0.0, lambda x, y, z: np.where(x > y, z, 0.5), lambda x, y, z: np.where(x > y, x, 0.25),
                  lambda x, y, z: np.clip(x, 1.5, 3.5), lambda x, y, z: np.clip(y, 0, 3), lambda x, y, z: x.sum(keepdims=True) - x, lambda x, y, z: x.sum() - x,
                  lambda x, y, z: np.sum(x, initial=2.0), lambda x, y, z: np.sum(x, initial=3.0), lambda x, y, z: x @ y + z @ x, lambda x, y, z: x @ y + x @ x,
                  lambda x, y, z: x.astype("f4") * 2, lambda x, y, z: x.astype("i4") * 2, lambda x, y, z: x.var(ddof=1), lambda x, y, z: x.var(ddof=0)]
        for _ in range(3):
            for x, y, z in ((a, b, c), (b, c, a), (a, a, b), (c, c, c), (a[:1], b, c), (a[:, None], b, c[:1])):
                for k, make in enumerate(makers):
                    if k in (24, 25) and len({x.shape, y.shape, z.shape}) > 1:
                        continue
                    lazy = {id(one): bl.array(one) for one in (x, y, z)}
                    self.same(quietly(make, *[lazy[id(one)] for one in (x, y, z)]).compute(), quietly(make, x, y, z), 1e-14, str(k))
        small = np.arange(4, dtype="u1")
        for _ in range(2):
            for number in (3, 300, -1, 3.0, 2**70):
                self.both(lambda x: x < number, small)
                self.both(lambda x: x + number if number != 2**70 else x + 1, small)
        many = sum([bl.array(a * k) for k in range(100)], bl.array(a))
        self.assertIsNone(many.leaves)  # more than are looked up
        np.testing.assert_array_equal((many + many).compute(), 2 * sum([a * k for k in range(100)], a))
        kept = bl.array(a) + 1
        lazy_forms.forget()
        np.testing.assert_array_equal((kept * (bl.array(a) + 1)).compute(), (a + 1) ** 2)

    def test_several_are_computed_by_one_kernel(self):
        lazy_lower._kernels.clear()
        lazy_forms.forget()
        x = np.random.default_rng(6).normal(size=(3, 4))
        e = np.exp(bl.array(x))
        s, m, same = bl.compute(e.sum(axis=1), e / e.max(), bl.array(x))
        np.testing.assert_allclose(s, np.exp(x).sum(1), rtol=1e-14)
        np.testing.assert_allclose(m, np.exp(x) / np.exp(x).max(), rtol=1e-14)
        self.assertIs(same, x)
        self.assertEqual(len(lazy_lower._kernels), 1)
        s2, none = bl.compute(e.sum(axis=1), e, out=(s, None))
        self.assertIs(s2, s)
        np.testing.assert_allclose(none, np.exp(x), rtol=1e-14)

    def test_functions_of_ours_take_lazy_arrays(self):
        x = np.random.default_rng(7).normal(size=(3, 4))
        z = bl.array(x)
        np.testing.assert_allclose(bl.sigmoid(z).compute(), 1 / (1 + np.exp(-x)), rtol=1e-14)
        np.testing.assert_array_equal(bl.relu(z).compute(), np.maximum(x, 0))
        np.testing.assert_allclose(bl.logsumexp(z, 1).compute(), np.log(np.exp(x).sum(1)), rtol=1e-13)
        np.testing.assert_allclose(bl.sum(z, 0, -1).compute(), x.sum(), rtol=1e-13)
        np.testing.assert_allclose(bl.clip(z, -1, 1).compute(), x.clip(-1, 1))
        np.testing.assert_array_equal(bl.where(z > 0, z, 0).compute(), np.where(x > 0, x, 0))
        with self.assertRaises(bl.SpecError):
            bl.fma(z, z, z)

    def test_slices_beside_an_index_are_those_of_numpy(self):
        x, k = np.arange(24.0).reshape(4, 6), np.array([2, 0, -1])
        for part in (np.s_[k, :3], np.s_[k, 1:], np.s_[:2, k], np.s_[k, ::-2], np.s_[1:, None, k], np.s_[[True, False, True, True], :2]):
            for of in (lambda x: x, lambda x: x + 0):
                self.same(of(bl.array(x))[part].compute(), x[part], 0, str(part))

    def test_logarithms_of_sums_of_powers_of_two_are_exact_where_the_sum_is_one(self):
        a, b = np.meshgrid([*np.arange(-4.0, 5), np.inf, -np.inf, np.nan], [*np.arange(-4.0, 5), np.inf, -np.inf, np.nan])
        for dtype in "efd":
            self.both(np.logaddexp2, a.astype(dtype), b.astype(dtype), tolerance=2.0 ** {"e": -11, "f": -23, "d": -51}[dtype], what=dtype)
        self.assertEqual(np.logaddexp2(bl.array(np.float32([-1, -2])), np.float32([-1, -2])).compute().tolist(), [0, -1])

    def test_folds_of_nothing_are_those_of_numpy(self):
        for shape, axis in itertools.product(((0,), (0, 4), (4, 0)), (None, 0, -1)):
            x = np.ones(shape, "i4")
            for f in (lambda x: np.min(x, axis=axis, initial=2.5), lambda x: x.max(axis=axis, initial=2, keepdims=True)):
                self.both(f, x, what=f"{shape} {axis}")
        self.both(np.average, np.ones(0))
        self.both(lambda x: np.average(x, axis=0, weights=[1, 2, 3, 4]), np.ones((4, 0)))

    def test_mistakes_say_what_to_do(self):
        z = bl.array(np.ones((3, 4)))
        for f, words in [(lambda: bool(z > 0), "np.where"), (lambda: np.sort(z), "compute"), (lambda: bl.array([[1], [2, 3]]), "NumPy"), (lambda: bl.array({1}), "__dlpack__"), (lambda: z[z > 0], "numpy.where"),
                         (lambda: list(z), "compute"),
                         (lambda: bl.array(np.array(["a"])), "astype"),
                         (lambda: z.compute(out=np.ones(3)), "numpy.empty"), (lambda: bl.compute(1), "bl.array"),
                         (lambda: bl.array(np.ma.array([1])), "filled"), 
                         (lambda: z.__setitem__(0, 1), "compute"), (lambda: np.where(z > 0), "compute"), (lambda: np.median(z), "compute"), (lambda: np.unique(z), "compute"),
                         (lambda: np.add(z, 1, where=z > 0), "compute(out"), (lambda: z[z + 0.5], "astype"), (lambda: np.linalg.solve(z, z), "compute"),
                         (lambda: bl.array(np.ones(3, "D")) < 1, "compute")]:
            with self.assertRaises(bl.Error) as caught:
                f()
            self.assertIn(words, caught.exception.help)
            self.assertEqual(os.path.basename(caught.exception.where.file), "test_lazy.py")
        for f, kind in [(lambda: z + np.ones((2, 2)), ValueError), (lambda: z.sum(axis=2), np.exceptions.AxisError),
                        (lambda: z.sum(axis=(0, 0)), ValueError), (lambda: z @ np.ones(3), ValueError), (lambda: z << 1, TypeError),
                        (lambda: bl.array(np.ones(3, "i1")) + 300, OverflowError), (lambda: z.transpose(0, 0), ValueError)]:
            with self.assertRaises(kind):
                f()
        self.assertRaises(bl.DataError, lambda: bl.array(np.ones((0, 3))).max(axis=0))

    def test_nothing_that_is_asked_for_is_dropped(self):
        x, b, zeros = np.arange(9.0).reshape(3, 3), np.array([True, False]), np.array([-0.0, -0.0, 1.0])
        self.both(lambda x: x - np.sum(x, axis=1, keepdims=1), x)
        self.both(lambda x, y: np.logical_xor(x, y), np.array([1, 2, 0]), np.array([2, 2, 0]))
        self.both(lambda b: b ** 2, b)
        if hasattr(np, "matvec"):  # from NumPy 2.2 on
            self.both(np.matvec, x, x[0])
            self.both(np.vecmat, x[0], x)
        self.both(lambda x: np.linalg.diagonal(x), np.arange(12.0).reshape(2, 2, 3))  # of the last dims
        np.testing.assert_array_equal(np.signbit(np.cumsum(bl.array(zeros)).compute()), [True, True, False])
        for f, kind in [(lambda: np.max(bl.array(b[:0])), ValueError), (lambda: np.sum(bl.array(x), out=x), bl.Error),
                        (lambda: np.add(bl.array(x), bl.array(x.astype("f4")), casting="no"), TypeError),
                        (lambda: bl.array(x).sum(odd=1), TypeError), (lambda: bl.array(x).sum(axis="i"), TypeError)]:
            with self.assertRaises(kind) as caught:
                f()
            self.assertIsInstance(caught.exception, bl.Error)

    def test_it_looks_like_an_array(self):
        x = np.arange(12.0).reshape(3, 4)
        z = bl.array(x)
        self.assertEqual(((z + 1).shape, z.ndim, z.size, len(z), z.nbytes, z.dtype), ((3, 4), 2, 12, 3, 96, x.dtype))
        self.assertEqual(repr(z + 1), "<broadloom.LazyArray f64[3, 4]>")
        self.assertEqual((float(z.sum()), int(z.max()), (z.sum() + 1).item()), (66.0, 11, 67.0))
        self.assertEqual((round(z.mean()), round(z.mean() + 0.26, 1)), (6, 5.8))
        self.assertEqual(np.asarray(z + 1, dtype="f4").dtype, np.dtype("f4"))
        if hasattr(np, "__array_namespace_info__"):
            xp = z.__array_namespace__()
            np.testing.assert_array_equal(xp.permute_dims(xp.expand_dims(z, axis=0), (2, 0, 1)).compute(), x[None].transpose(2, 0, 1))
        else:
            with self.assertRaisesRegex(ImportError, "NumPy 2.1"):
                z.__array_namespace__()
        np.testing.assert_array_equal((x - z).compute(), np.zeros((3, 4)))
        np.testing.assert_array_equal((np.float32(2) * z).compute(), 2 * x)
        np.testing.assert_array_equal(np.broadcast_to(z, (2, 3, 4)).sum(0).compute(), 2 * x)
        z2 = z
        z2 += 1
        np.testing.assert_array_equal(x, np.arange(12.0).reshape(3, 4))

    def test_every_function_that_is_recorded_is_one_of_numpys(self):
        for called in lazy_numpy.functions:
            self.assertIn(called, [getattr(module, called.__name__, None) for module in (np, np.linalg, np.lib.stride_tricks)])
