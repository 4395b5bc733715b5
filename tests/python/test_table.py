"""Every function of NumPy's that is recorded or traced, against NumPy: dtypes x shapes x every
keyword and position of its arguments.

What NumPy gives must come, in value, dtype, shape and sign of zero; where it raises, an error of
ours that is of that class, too; or the call is refused by a code that says so. Calls are drawn so
that each function meets each dtype, each pair of dtypes, each shape, and each value of each option
in each way that it can be given. BROADLOOM_TABLE=N draws N times as many.
"""

import inspect
import itertools
import operator
import os
import re
import unittest
import unittest.mock
import warnings

import numpy as np

import broadloom as bl
from broadloom import _core, formulas, functions, lazy_calls, lazy_lower, lazy_numpy, lazy_ops, numpy_calls, trace_functions, trace_joins, trace_numpy, trace_shapes

TIMES = int(os.environ.get("BROADLOOM_TABLE", "1"))
DTYPES = "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 F D".split()
SHAPES = ["()", "(0,)", "(1,)", "(4,)", "(3, 4)", "(4, 4)", "(0, 3)", "(1, 3)", "(2, 1, 3)", "stepped", "turned", "reversed"]
NUMBERS = (True, 3, -1, 0, 2, 2.5, 0.5, -0.0, float("nan"), 300, 2**40, 1j)
EPS = {"e": 4e-3, "f": 2e-6, "d": 1e-13, "F": 4e-6, "D": 1e-13}
# What is refused, and by which codes: functions, options, dtypes that are not there.
REFUSED = {"E0008", "E0021", "E0201", "E0203", "E0205", "E0103", "E0101"}
# NumPy leaves the order of zeros open, and what products of matrices begin at; its roots of -0.
# differ by dtype.
ANY_ZERO = set("maximum minimum fmax fmin clip max min amax amin power pow dot inner tensordot matmul vecdot matvec vecmat einsum logaddexp".split())
MASK = np.array([True, False, True, True])
# Values for each option; what is no such value is among them.
OPTIONS = {
    "axis": [None, 0, -1, 1, 2, 7, -5, (0,), (1, 0), (0, 0), (), True, 1.0, "i", np.int64(0), [0]],
    "axis1": [0, -1, 5, "i"], "axis2": [1, 0, -1, 7], "source": [0, -1, (0,), 4], "destination": [-1, 0, (0,), 9],
    "keepdims": [True, False, 1, 0, np.True_, "yes", 2.0],
    "dtype": [None, "f4", np.float64, float, int, "i1", bool, np.dtype("i2"), "D", ">f8", "f2", "foo", "M8[s]", 7],
    "out": [None, np.zeros((3, 4))], "where": [True, False, np.True_, MASK, 1],
    "initial": [None, 0, 2.5, -0.0, True], "ddof": [0, 1, -1, True, 1.5, 9, "a"], "correction": [0, 1, 2.5], "mean": [None, 0.0],
    "casting": ["same_kind", "no", "safe", "unsafe", "equiv", "odd"], "order": ["K", "C", "F", "A", "odd", None, 2],
    "subok": [True, False, 1], "signature": [None, "dd->d"], "axes": [0, 1, 2, 3, ([0], [0]), ([-1], [0]), "i", -1, (1, 0)],
    "decimals": [0, 1, -1, 1.0, "a"], "ord": [None, 2, 1, np.inf, "fro", -2, "odd"], "copy": [True, False, None, 1],
    "device": [None, "cpu", "gpu"], "shape": [None, (4,), (2, 2), (-1,), 12, (5, 7), "a"], "offset": [0, 1, -1, 9, "a"],
    "optimize": [False, True], "include_initial": [False, True], "a_min": [None, 0, -1, 300, 1.5], "a_max": [None, 2, -200, 300, 2.5],
    "min": [None, 0, 1.5], "max": [None, 3, 300], "kwargs": [], "k": [1, -2, 0, "a"], "start": [0, 1, 5, "a"], "writeable": [False, True],
    "window_shape": [1, 2, (1, 1), (2,), 9, "a"],
}
GIVEN = {"moveaxis": (0, -1), "swapaxes": (0, -1), "expand_dims": (0,), "astype": ("f4",), "broadcast_to": ((5, 3, 4),), "reshape": ((-1,),), "rollaxis": (0,),
         "sliding_window_view": (1, 0),
         "ndarray.astype": ("f4",)}


def plain(rng, dtype, shape):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.asarray(rng.random(shape) < 0.5)
    values = np.asarray(rng.integers(0 if dtype.kind == "u" else -5, 6, shape))
    if dtype.kind in "fc":
        values = values / 2
        zero = rng.random(shape) < 0.25
        values = np.where(zero, np.where(rng.random(shape) < 0.5, 0.0, -0.0), values)
    if dtype.kind == "c":
        values = values + 1j * rng.integers(-3, 4, shape)
    return np.asarray(values.astype(dtype))


def some(rng, dtype, shape):
    """Small numbers, among them zeros of both signs."""
    if shape == "stepped":
        return plain(rng, dtype, (6, 8))[::2, ::2]
    if shape == "turned":
        return plain(rng, dtype, (4, 3)).T
    if shape == "reversed":
        return plain(rng, dtype, (3, 4))[::-1, ::-1]
    return plain(rng, dtype, eval(shape))


def quietly(f, *args):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return f(*args)


class Case:
    """A function, its arguments, and what NumPy says."""

    def __init__(self, name, f, *args):
        self.name, self.f, self.args = name, f, args
        self.error = self.result = None
        try:
            self.result = quietly(f, *args)
        except Exception as error:
            self.error = error

    def __str__(self):
        return f"{self.name} of " + ", ".join(
            f"{x.dtype}{list(x.shape)}" if isinstance(x, np.ndarray) else repr(x) for x in self.args)


def public(error) -> tuple:
    """The classes that a user may catch it by."""
    return tuple(c for c in type(error).__mro__ if c in (np.exceptions.AxisError, TypeError, ValueError, IndexError, OverflowError))


def differs(ours, theirs, tolerance, any_zero) -> str:
    """What is wrong with a result, or ""."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if (ours.dtype, ours.shape) != (theirs.dtype, theirs.shape):
        return f"{ours.dtype}{ours.shape} for {theirs.dtype}{theirs.shape}"
    if ours.dtype.kind in "fc":
        wide = "D" if ours.dtype.kind == "c" else "d"
        a, b = ours.astype(wide), theirs.astype(wide)
        with np.errstate(all="ignore"):
            scale = np.abs(b[np.isfinite(b)]).max(initial=1.0)
            near = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= tolerance * scale)
        if near.all() and not any_zero and ours.dtype.kind == "f":
            near = (a != b) | (b != 0) | (np.signbit(a) == np.signbit(b))
    else:
        near = ours == theirs
    return "" if np.all(near) else f"{ours!r} for {theirs!r}"


class Lazy(unittest.TestCase):
    """The cases of one kind, computed many at a time."""

    @classmethod
    def setUpClass(cls):
        """Notes when a lazy array is asked, and says which engine runs."""
        cls.engine = ["auto"]
        compiled = _core._compile
        mock = unittest.mock.Mock(wraps=_core)
        mock._compile = lambda text, name, threads, target, _, debug, file: compiled(text, name, threads, target, cls.engine[0], debug, file)
        patch = unittest.mock.patch.object(lazy_lower, "_core", mock)
        patch.start()
        cls.addClassCleanup(patch.stop)
        cls.asked = []
        cls.kept = {name: getattr(bl.LazyArray, name) for name in ("__array_ufunc__", "__array_function__")}
        for name, called in cls.kept.items():
            setattr(bl.LazyArray, name, lambda *args, called=called, **options: (cls.asked.append(1), called(*args, **options))[1])

    @classmethod
    def tearDownClass(cls):
        for name, called in cls.kept.items():
            setattr(bl.LazyArray, name, called)

    def setUp(self):
        self.rng = np.random.default_rng(16)
        self.found, self.waiting, self.dims = [], [], 0

    def tearDown(self):
        self.compute()
        self.assertEqual(self.found, [], f"{len(self.found)} differences:\n" + "\n".join(self.found[:60]))

    def array(self, shapes=SHAPES, dtypes=DTYPES):
        return some(self.rng, self.rng.choice(dtypes), self.rng.choice(shapes))

    def add(self, name, f, *args, of=lambda x: x, taken=False):
        """Compares f of these arrays, which are made lazy, and then are what `of` makes of them;
        `taken`: it may not be refused."""
        if name.startswith("reciprocal"):  # NumPy leaves that of an integer 0 open
            args = [np.where(x == 0, np.ones((), x.dtype), x) if x.dtype.kind in "biu" else x for x in args]
        case = Case(name, f, *[np.asarray(of(x)) if isinstance(x, np.ndarray) else x for x in args])
        lazy = [of(bl.array(x)) for x in args]
        self.asked.clear()
        try:
            ours = quietly(f, *lazy)
        except bl.Error as error:
            if isinstance(error, bl.InternalError):
                self.found.append(f"{case}: {error}")
            elif case.error is not None:
                if not isinstance(error, public(case.error)) and (error.code not in REFUSED or error.message.startswith("NumPy: ")):
                    self.found.append(f"{case}: {type(error).__name__} for {case.error!r}")
            elif error.code not in REFUSED or (taken and not any(x.dtype.kind == "c" for x in args)):
                self.found.append(f"{case}: {error}")
            return
        except Exception as error:  # NumPy looks at some arguments before it asks
            if case.error is None or self.asked or type(error) is not type(case.error):
                self.found.append(f"{case}: {error!r} for {case.error!r}")
            return
        if case.error is not None:
            if "negative integer powers" not in str(case.error):  # which only the elements tell: they have a value
                self.found.append(f"{case}: {ours!r} for {case.error!r}")
            return
        if not isinstance(ours, bl.LazyArray):
            if np.asarray(ours).shape != np.asarray(case.result).shape or np.asarray(ours).dtype != np.asarray(case.result).dtype:
                self.found.append(f"{case}: {ours!r} for {case.result!r}")
            return
        theirs = np.asarray(case.result)
        if (ours.dtype, ours.shape) != (theirs.dtype, theirs.shape):
            self.found.append(f"{case}: {ours!r} for {theirs.dtype}{theirs.shape}")
            return
        self.waiting.append((case, ours, theirs))
        self.dims += theirs.ndim + sum(x.ndim for x in case.args)
        if self.dims > 48:  # a kernel has 64 axes at most
            self.compute()

    def compute(self):
        waiting, self.waiting, self.dims = self.waiting, [], 0
        if not waiting:
            return
        # Most by the interpreter, which has the bits of native code and begins sooner.
        self.engine[0] = "auto" if self.rng.random() < 0.1 else "interpreter"
        results = bl.compute(*[ours for _, ours, _ in waiting])
        for (case, _, theirs), result in zip(waiting, (results,) if len(waiting) == 1 else results):
            wrong = differs(result, theirs, EPS.get(theirs.dtype.char, 0),
                            not ANY_ZERO.isdisjoint(re.split(r"\W", case.name)))
            if wrong:
                self.found.append(f"{case}: {wrong} from {[x.tolist() if isinstance(x, np.ndarray) else x for x in case.args]}")



    # --- the calls --------------------------------------------------------------------------------

    def test_ufuncs_of_all_pairs_of_dtypes_are_those_of_numpy(self):
        for name in UFUNCS:
            ufunc = getattr(np, name)
            with self.subTest(name):
                if ufunc.nin == 1:
                    for dtype, shape in itertools.product(DTYPES, SHAPES if TIMES > 1 else SHAPES[::4]):
                        self.add(name, ufunc, some(self.rng, dtype, shape), taken=True)
                    for number in NUMBERS[:3]:
                        self.add(name + "(0-d)", ufunc, np.asarray(number))
                    continue
                for a, b in itertools.product(DTYPES, DTYPES):
                    shapes = PAIRS if TIMES > 1 else [PAIRS[self.rng.integers(len(PAIRS))]]
                    for one, other in shapes:
                        self.add(name, ufunc, some(self.rng, a, one), some(self.rng, b, other), taken=True)
                for a, number in itertools.product(DTYPES, NUMBERS):
                    if "power" in name and a in "FD" and abs(number) > 100:
                        continue  # it overflows by other steps
                    x = some(self.rng, a, "(4,)")
                    self.add(name, lambda x: ufunc(x, number), x) if self.rng.random() < 0.5 or TIMES > 1 else None
                    self.add(name, lambda x: ufunc(number, x), x) if self.rng.random() < 0.5 or TIMES > 1 else None

    def test_options_of_ufuncs_are_taken_or_refused(self):
        for name in UFUNCS:
            ufunc = getattr(np, name)
            for how in ways("ufunc", ufunc.nin):
                self.add(f"{name}({how})", lambda *xs: ufunc(*xs, *how.args, **how.options), *self.arrays(ufunc.nin))

    def test_reductions_scans_and_outer_products_of_ufuncs_are_those_of_numpy(self):
        for name, method in itertools.product([*lazy_ops.REDUCING, "subtract", "bitwise_or"], ("reduce", "accumulate")):
            called = getattr(getattr(np, name), method)
            self.every(f"{name}.{method}", called, f"ufunc.{method}")
        for name in UFUNCS:
            ufunc = getattr(np, name)
            if ufunc.nin == 2:
                for how in [How((), {}), *ways("ufunc.outer", 2)[:: 1 if TIMES > 1 else 4]]:
                    self.add(f"{name}.outer({how})", lambda x, y: ufunc.outer(x, y, **how.options),
                             *self.arrays(2, ["(4,)", "()", "(0, 3)", "stepped"]))

    def test_every_function_is_that_of_numpy(self):
        for called in lazy_numpy.functions:
            row = lazy_numpy.functions[called]
            if called.__name__ not in TESTED_ELSEWHERE and not isinstance(row, lazy_calls.Composed) and "at_once" not in getattr(row, "__qualname__", ""):
                self.every(called.__name__, called, called)

    def test_every_method_is_that_of_numpy(self):
        for name in "sum prod min max any all mean var std argmin argmax cumsum cumprod round dot swapaxes squeeze".split():
            of = f"ndarray.{name}" if f"ndarray.{name}" in numpy_calls._SIGNATURES else getattr(np, name)
            self.every("." + name, lambda x, *args, **options: getattr(x, name)(*args, **options), of)
        self.every(".astype", lambda x, *args, **options: x.astype(*args, **options), "ndarray.astype")
        for low, high in itertools.product((None, 0, 1.5, -300), (None, 2, 0.5, 300)):
            self.add(".clip", lambda x: x.clip(low, high), self.array())
            self.add(".clip", lambda x: x.clip(min=low, max=high), self.array())
            self.add(".clip", lambda x: x.clip(low), self.array())
        for axes in ((), (None,), (0, 1), (1, 0), ((1, 0),), (0, 0), (-1, 0), (5,), ("i",), ([1, 0],)):
            for of in (lambda x: x, np.logical_not):
                self.add(f".transpose({axes})", lambda x: x.transpose(*axes), self.array(["(3, 4)", "stepped"]), of=of)
        for get in (lambda x: x.T, lambda x: x.mT, lambda x: x.real, lambda x: x.conj(), lambda x: x.conjugate(), lambda x: x.shape,
                    lambda x: x.size, lambda x: len(x), lambda x: x.item(), float, int, complex, lambda x: range(7)[x]):
            for shape in SHAPES:
                self.add("attribute", get, self.array([shape]))
                self.add("attribute", get, self.array([shape]), of=np.logical_not)

    def test_operators_are_those_of_numpy(self):
        for f in (operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow, operator.and_,
                  operator.or_, operator.xor, operator.lshift, operator.rshift, operator.matmul, operator.lt, operator.le, operator.gt,
                  operator.ge, operator.eq, operator.ne, divmod):
            for dtype in DTYPES:
                self.add(f.__name__, f, some(self.rng, dtype, "(4,)"), self.array(["(4,)", "(3, 4)", "()", "(0, 3)"]))
                for number in NUMBERS if TIMES > 1 or f is operator.pow else [NUMBERS[self.rng.integers(len(NUMBERS))]]:
                    if f is operator.pow and dtype in "FD" and abs(number) > 100:
                        continue
                    self.add(f.__name__, lambda x: f(x, number), some(self.rng, dtype, "(4,)"))
                    self.add(f.__name__, lambda x: f(number, x), some(self.rng, dtype, "(4,)"))
        for f in (operator.neg, operator.pos, operator.invert, abs):
            for dtype in DTYPES:
                self.add(f.__name__, f, some(self.rng, dtype, "(4,)"))

    def test_products_are_those_of_numpy(self):
        shapes = [(), (3,), (4,), (0,), (1,), (3, 4), (4, 3), (4, 4), (1, 4), (2, 3, 4), (2, 4, 1), (0, 4), (3, 0), (1, 3, 3)]
        products = [getattr(np, name) for name in ("matmul", "vecdot", "matvec", "vecmat", "dot", "inner") if hasattr(np, name)]
        for f, a, b in itertools.product(products, shapes, shapes):
            dtypes = self.rng.choice(DTYPES, 2)
            self.add(f.__name__, f, plain(self.rng, dtypes[0], a), plain(self.rng, dtypes[1], b))
        for f, a, b in itertools.product(products, DTYPES, DTYPES if TIMES > 1 else DTYPES[::3]):
            self.add(f.__name__, f, plain(self.rng, a, (3, 3)), plain(self.rng, b, (3,)))
        texts = ("ij,jk->ik ij,jk ij,ij->j ij->ji ij-> i,j->ij ij,j ij,kj->ik ij,jk->k ii->i ij,jk->ij ij,jk->iz i,j-> ijk,jk->i "
                 "...j,j ij,ij,ij")
        for text in texts.split():
            for _ in range(8):
                arrays = [self.array(["(4, 4)", "(1, 3)", "(3, 4)", "(0, 3)", "(4,)"]) for _ in text.split("->")[0].split(",")]
                self.add(f"einsum({text})", lambda *xs: np.einsum(text, *xs), *arrays)
        for options in ({"optimize": True}, {"dtype": "f8"}, {"order": "F"}, {"casting": "no"}, {"out": np.zeros((4, 4))}, {"odd": 1}):
            self.add(f"einsum({options})", lambda x, y: np.einsum("ij,jk->ik", x, y, **options), *self.arrays(2, ["(4, 4)"]))

    def test_parts_of_arrays_are_those_of_numpy(self):
        for index in (0, -1, 5, None, ..., (), (0, 0), (0, 0, 0), slice(None), slice(0, 4), slice(1, None), (slice(None), None), (..., 0),
                      (..., ...), (None, ..., None), 1.5, "i", [0], True, np.int64(0), (0, "i"), np.array([0]), slice(None, None, -1)):
            for shape in SHAPES:
                self.add(f"part({index})", lambda x: x[index], self.array([shape]))
                self.add(f"part({index})", lambda x: x[index], self.array([shape]), of=np.logical_not)

    # --- how they are drawn -----------------------------------------------------------------------

    def arrays(self, count, shapes=SHAPES[3:]):
        """So many that fit, mostly."""
        first = self.rng.choice(shapes)
        return [self.array([first if self.rng.random() < 0.7 else self.rng.choice(shapes)]) for _ in range(count)]

    def every(self, name, called, signature):
        """A function of all dtypes, of all shapes, and with each value of each option in each
        way."""
        count = ARRAYS.get(name, 1)
        given = GIVEN.get(name.lstrip("."), ())
        views = called in VIEWS

        def add(how, arrays, taken=False):
            f = lambda *xs: called(*xs, *how.args, **how.options)
            self.add(f"{name}({how})", f, *arrays, taken=taken)
            if views:  # of what is computed, too
                self.add(f"{name}({how})", f, *arrays, of=np.logical_not)

        for _ in range(TIMES):
            for dtype in DTYPES:
                taken = not name.startswith(("subtract.", "bitwise_or.")) and called not in (np.imag, np.outer, np.reshape, np.ravel)  # of reals, of matrices, in another order
                shapes = ["(4,)", "()"] if "cum" in name and not given else SHAPES
                add(How(given, {}), [some(self.rng, dtype, self.rng.choice(shapes)), *self.arrays(count - 1)], taken)
            for shape in SHAPES:
                add(How(given, {}), [some(self.rng, self.rng.choice(DTYPES), shape), *self.arrays(count - 1)])
            for how in ways(signature, count, given):
                if name[0] == "." and any(one is numpy_calls.NOTHING for one in how.args):
                    continue  # methods have other defaults
                for _ in range(2):
                    add(how, self.arrays(count, SHAPES))


class Traced(unittest.TestCase):
    """Kernels of many outputs, each a call."""

    def setUp(self):
        self.rng = np.random.default_rng(17)
        self.found = []

    def tearDown(self):
        self.assertEqual(self.found, [], f"{len(self.found)} differences:\n" + "\n".join(self.found[:60]))

    def compare(self, dtypes, calls):
        """Traces calls, by their names, for arrays of these dtypes, and compares them with NumPy's.
        What may be refused is so as it is traced."""
        declared = {f"x{k}": getattr(bl, {"bool": "bool_"}.get(lazy_ops.word_of(np.dtype(d)), lazy_ops.word_of(np.dtype(d))))["i", "j"]
                    for k, d in enumerate(dtypes)}

        def kernel(returned):
            body = "lambda " + ", ".join(declared) + ": returned(" + ", ".join(declared) + ")"
            f = eval(body, {"returned": returned})
            f.__annotations__ = declared
            return bl.kernel(f, name="f")

        kept = {}
        for name, f in calls.items():
            case = Case(name, f, *[plain(self.rng, d, (3, 4)) for d in dtypes])
            try:
                quietly(kernel, f)
            except bl.Error as error:
                if case.error is None and error.code not in REFUSED | {"E0104", "E0002", "E0009"}:
                    self.found.append(f"{case}: {error}")
                continue
            except Exception as error:
                if case.error is None or type(error) is not type(case.error):
                    self.found.append(f"{case}: {error!r} for {case.error!r}")
                continue
            if case.error is not None:
                if "negative integer powers" not in str(case.error):
                    self.found.append(f"{case}: is traced, for {case.error!r}")
                continue
            kept[f"y{len(kept)}"] = (name, f)
        if not kept:
            return 0
        whole = quietly(kernel, lambda *xs: {word: f(*xs) for word, (_, f) in kept.items()})
        for shape in ("(3, 4)", "turned", "(4, 4)", "(1, 3)"):
            arrays = [some(self.rng, d, shape) for d in dtypes]
            made = whole(*arrays)
            made = made._asdict() if len(kept) > 1 else {"y0": made}
            for word, (name, f) in kept.items():
                case = Case(name, f, *arrays)
                wrong = "negative integer powers" not in str(case.error) and differs(
                    made[word], case.result, EPS.get(np.asarray(case.result).dtype.char, 0), not ANY_ZERO.isdisjoint(re.split(r"\W", name)))
                if wrong:
                    self.found.append(f"{case}: {wrong} from {[x.tolist() for x in arrays]}")
        return len(kept)

    def test_functions_of_pairs_of_dtypes_are_those_of_numpy(self):
        names = [name for name in {**lazy_ops.TEMPLATES, **trace_numpy._SPELLED, **dict.fromkeys(functions.ELEMENTWISE)}
                 if isinstance(getattr(np, name, None), np.ufunc)]
        self.assertGreater(len(names), 60)
        numbers = {f"{name} {number}": (lambda x, y, f=f, number=number: f(x, number)) for name, f, number in itertools.product(
            ("add", "multiply", "less", "power", "maximum", "divide"), [None], (2, -1, 2.5, True, 2j, np.float32(1.5)))}
        for key in list(numbers):
            numbers[key] = (lambda x, y, ufunc=getattr(np, key.split()[0]), number=eval(key.split()[1], {"np": np}): ufunc(x, number))
        taken = 0
        for k, (a, b) in enumerate(itertools.product(DTYPES, DTYPES)):
            if TIMES == 1 and k % 6 != (k // 14) % 6:
                continue
            calls = {name: (lambda x, y, f=getattr(np, name): f(x, y) if f.nin == 2 else f(x)) for name in names
                     if name != "reciprocal" or np.dtype(a).kind in "fc"}
            taken += self.compare((a, b), {**calls, **numbers})
        self.assertGreater(taken, 1500)

    def test_options_are_taken_or_refused(self):
        for called in trace_numpy._numpy_functions():
            if called in (np.dot, np.inner, np.einsum, np.pad, np.concatenate):  # whether extents fit is told by a call
                continue
            if called in (np.diff, np.flip, np.expand_dims) or any(called.__name__ in names.split() for names, _, _ in (*formulas.ROWS, *trace_functions.ROWS, *trace_joins.ROWS, *trace_shapes.ROWS)):  # see test_traces_slices.py
                continue
            calls, count = {}, ARRAYS.get(called.__name__, 1)
            for how in ways(called, count):
                if re.search(r"'i'|\[0\]", str(how)):
                    continue  # which axes of kernels are, too
                calls[f"{called.__name__}({how})"] = lambda *xs, how=how: called(*xs, *how.args, **how.options)
            self.compare([self.rng.choice(DTYPES) for _ in range(count)], calls)
        for name, method in itertools.product(lazy_ops.REDUCING, ("reduce", "accumulate")):
            called = getattr(getattr(np, name), method)
            self.compare([self.rng.choice(DTYPES)], {f"{name}.{method}({how})": lambda x, how=how: called(x, *how.args, **how.options)
                                                     for how in ways(f"ufunc.{method}", 1) if not re.search(r"'i'|\[0\]", str(how))})
        for name in ("add", "less", "exp", "logical_xor", "conjugate"):
            ufunc = getattr(np, name)
            self.compare([self.rng.choice(DTYPES) for _ in range(ufunc.nin)], {
                f"{name}({how})": lambda *xs, how=how: ufunc(*xs, *how.args, **how.options) for how in ways("ufunc", ufunc.nin)})

    def test_folds_of_all_dtypes_are_those_of_numpy(self):
        for dtype in DTYPES:
            calls = {f"{name} {axis}": lambda x, name=name, axis=axis: getattr(np, name)(x, axis=axis) for name, axis in itertools.product(
                "sum prod min max any all mean var std argmin argmax cumsum cumprod".split(), (None, 0, -1))}
            self.compare([dtype], {**calls, "zeros": lambda x: np.cumsum(x * -0.0, axis=1), "clip": lambda x: np.clip(x, 1, None)})


class WrongCalls(unittest.TestCase):
    def test_each_is_an_error_of_ours(self):
        """Values that are no such thing, by position and by name, for all that the package has."""
        x, w = np.ones((2, 3)), np.ones(3)
        k = bl.compile("kernel k { in x : f64[i, j]; param w : f64[j]; out z = x * w; out s = sum(x * w) }")
        values = [None, 1, -1, 2.5, "a", b"b", [1], {"a": 1}, {1}, object(), w, 1j, 2**70, "\ud800"]
        names = "threads debug engine target wrt of name out relaxed accuracy policy graph whole seconds odd".split()
        methods = [name for name in vars(bl.Kernel) if not name.startswith("_") and callable(getattr(k, name))]
        self.assertGreater(len(methods), 15)
        called = [bl.compile, k, k.bind(x, w), k(x, w).__getitem__, bl.set_log_level, bl.array, bl.compute, (bl.array(x) + 1).compute, bl.kernel,
                  bl.param, lambda *args, **_: bl.f32[args], bl.f32, bl.scan, bl.extent, bl.iota, bl.out, bl.fold, bl.bench,
                  *[getattr(k, name) for name in methods], bl.exp, bl.where, bl.logical_not, bl.sum, bl.argmax]
        found, count = [], 0
        for f in called:
            for args, options in [*[((), {name: value}) for name, value in itertools.product(names, values)], *[((value,), {}) for value in values],
                                  *itertools.product(itertools.product(values[:7], values), [{}]),
                                  *[((x, w), {name: value}) for name, value in itertools.product(names, values)]]:
                count += 1
                try:
                    f(*args, **options)
                except bl.Error:
                    pass
                except Exception as error:
                    found.append(f"{f}(*{args}, **{options}): {error!r}")
        self.assertGreater(count, 15000)
        self.assertEqual(found, [], f"{len(found)} of {count}:\n" + "\n".join(found[:40]))


class How:
    """Arguments behind the arrays, by position and by name."""

    def __init__(self, args, options):
        self.args, self.options = args, options

    def __str__(self):
        return ", ".join([*map(repr, self.args), *(f"{name}={value!r}" for name, value in self.options.items())])


def ways(of, arrays, given=()):
    """Each value of each parameter behind the arrays, by its name and by its position."""
    signature = numpy_calls._SIGNATURES[of] if isinstance(of, str) else numpy_calls.signature_of(of)
    parameters = list(signature.parameters.values())
    parameters = parameters[1:] if parameters[0].kind == inspect.Parameter.VAR_POSITIONAL else parameters[arrays:]
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    made = [How((*given, *[None] * 12), {}), How(given, {"odd": 1})]
    for p in parameters:
        for value in OPTIONS[p.name]:  # an option that NumPy adds is to be added there
            k = places.index(p) if p in places else len(given)
            if p in places:
                before = [given[j] if j < len(given) else one.default for j, one in enumerate(places[:k])]
                made.append(How((*before, value, *given[k + 1:]), {}))
            if p.kind != p.POSITIONAL_ONLY:
                others = {one.name: v for one, v in zip(places[k + 1:], given[k + 1:])}
                made.append(How(given[:k], {**others, p.name: value}))
    return made


TESTED_ELSEWHERE = "einsum result_type tril_indices_from triu_indices_from diag_indices_from common_type can_cast may_share_memory shares_memory einsum_path".split()
ARRAYS = {"where": 3, "dot": 2, "inner": 2, "outer": 2, "tensordot": 2, ".dot": 2}
VIEWS = [called for called, row in lazy_numpy.functions.items() if "of_view" in getattr(row, "__qualname__", "")]
UFUNCS = [name for name in lazy_ops.TEMPLATES if isinstance(getattr(np, name, None), np.ufunc)]
PAIRS = [("(3, 4)", "(3, 4)"), ("(3, 4)", "()"), ("(4,)", "(3, 4)"), ("(1, 3)", "(0, 3)"), ("(1,)", "stepped"), ("turned", "reversed"),
         ("(2, 1, 3)", "(4, 1)"), ("(3, 4)", "(4, 4)"), ("()", "()")]
