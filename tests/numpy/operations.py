"""The operations on elements, on Values (intervals.py): how types meet, and what each operation
gives."""
import numpy as np

import intervals as iv
from intervals import Value, cast, number, promote
from loom_text import Refused

KEPT = {"keep", "recompute"}


def both_weak(x, y):
    """A number meets any type, an extent floats only: of both comes what an extent is."""
    return "extent" if "extent" in (x.weak, y.weak) and x.weak and y.weak else x.weak and y.weak


class Operations:
    def __init__(self, accuracy):
        self.accuracy = accuracy

    def unary(self, op, v):
        if op == "!":
            truth = cast(v, "bool")
            return Value("bool", ~truth.lo, None, truth.sure, v.axes)
        if op == "~":
            return Value(v.dtype, ~v.lo, None, v.sure, v.axes, v.weak)
        if iv.is_float(v.dtype):
            return Value(v.dtype, -v.hi, -v.lo, v.sure, v.axes, v.weak)
        with np.errstate(all="ignore"):
            return Value(v.dtype, -v.lo, None, v.sure, v.axes, v.weak)

    def met(self, values, rule):
        """The common dtype of arguments, by NumPy 2's rules with weak numbers."""
        strong = [v for v in values if not v.weak]
        weak = [v for v in values if v.weak]
        dtype = None
        for v in strong or weak:
            dtype = v.dtype if dtype is None else promote(dtype, v.dtype)
        if strong:
            for v in weak:
                if iv.is_float(v.dtype) and not iv.is_float(dtype):
                    dtype = "f64"
                elif v.dtype == "i64" and dtype == "bool":
                    dtype = "i64"
                elif v.weak == "extent" and not iv.is_float(dtype):
                    dtype = promote(dtype, "i64")
        if dtype == "bool" and rule == "divide":
            dtype = "i8"
        if not iv.is_float(dtype):
            if rule == "true":
                dtype = "f64"
            if rule == "math":
                bits = 8 if dtype == "bool" else int(dtype[1:])
                dtype = "f16" if bits == 8 else "f32" if bits == 16 else "f64"
        return dtype

    def binary(self, op, x, y):
        if op in ("&&", "||"):
            a, b = cast(x, "bool"), cast(y, "bool")
            sure, axes = iv.joined(a, b)
            decisive = op == "||"
            settled = (a.sure & (a.lo == decisive)) | (b.sure & (b.lo == decisive))
            value = np.where(settled, decisive, (a.lo | b.lo) if decisive else (a.lo & b.lo))
            return Value("bool", value, None, settled | sure, axes)
        if op in iv.COMPARE:
            if not iv.is_float(x.dtype) and not iv.is_float(y.dtype):  # integers compare exactly
                return iv.compared(op, x, y)
            dtype = self.met([x, y], "plain")
            return iv.compared(op, cast(x, dtype), cast(y, dtype))
        rule = {"/": "true", "//": "divide", "%": "divide", "^": "divide", "fmod": "divide", "atan2": "math", "hypot": "math",
                "copysign": "math", "logaddexp": "math"}.get(op, "plain")
        dtype = self.met([x, y], rule)
        weak = both_weak(x, y)
        if dtype == "bool" and op in ("<<", ">>"):
            dtype = "i8"
        square = op == "^" and y.weak and y.lo.ndim == 0 and y.lo == 2
        x, y = cast(x, dtype), cast(y, dtype)
        computed = iv.compute_dtype(dtype)
        if square:
            result = self.squared(x, computed)
        elif dtype == "bool":
            f = {"+": np.logical_or, "*": np.logical_and, "|": np.logical_or, "&": np.logical_and, "xor": np.logical_xor,
                 "maximum": np.logical_or, "minimum": np.logical_and, "fmax": np.logical_or, "fmin": np.logical_and}.get(op)
            if f is None:
                raise Refused(op + " of bool")
            sure, axes = iv.joined(x, y)
            result = Value("bool", f(x.lo, y.lo), None, sure, axes)
        elif not iv.is_float(dtype):
            sure, axes = iv.joined(x, y)
            with np.errstate(all="ignore"):
                result = Value(dtype, iv.WHOLE_BINARY[op](x.lo, y.lo), None, sure, axes)
        else:
            result = self.float_binary(op, x, y, computed)
        result.dtype, result.weak = dtype, weak
        return result

    def float_binary(self, op, x, y, dtype):
        if op in iv.FLOAT_BINARY:
            return iv.corners(iv.FLOAT_BINARY[op], x, y, dtype)
        if op == "/":
            return iv.divided(x, y, dtype)
        if op == "^":
            return iv.power(x, y, dtype)
        exact = x.exact & y.exact
        sure, axes = iv.joined(x, y)
        with np.errstate(all="ignore"):
            if op in ("//", "%", "fmod"):
                a, b = (v.lo.astype(np.float32) if dtype == "f32" else v.lo for v in (x, y))
                f = {"//": np.floor_divide, "%": np.mod, "fmod": np.fmod}[op]
                r = f(a, b).astype(np.float64)
                # x // 0 is x / 0; x % 0 nan.
                r = np.where(y.lo == 0, x.lo / y.lo if op == "//" else np.nan, r)
                infinite = np.isinf(x.lo) | np.isinf(y.lo)
                return Value(dtype, r, None, sure & exact & ~infinite, axes)
            if op == "copysign":
                signed = np.copysign(x.lo, np.where(np.isnan(y.lo), 0, y.lo))
                return Value(dtype, signed, None, sure & exact & (y.lo != 0), axes)  # a rounded zero has lost its sign
            f = {"atan2": np.arctan2, "hypot": np.hypot, "logaddexp": np.logaddexp}[op]
            r = f(x.lo, y.lo)
            # logaddexp may cancel: then NumPy's own digits are few.
            room = 16 * 2.0**-53 * (np.abs(x.lo) + np.abs(y.lo) + 1) if op == "logaddexp" else 0
            wide = iv.widen(r, r, dtype, 5 if dtype == "f64" else 1.51, Value("bool", exact, None, sure & exact, axes), room)
        return Value(dtype, iv.rounded(wide.lo, dtype), iv.rounded(wide.hi, dtype), wide.sure, axes)

    def squared(self, x, dtype):
        if not iv.is_float(x.dtype):
            with np.errstate(all="ignore"):
                return Value(x.dtype, x.lo * x.lo, None, x.sure, x.axes)
        with np.errstate(all="ignore"):
            a, b = iv.rounded(x.lo * x.lo, dtype), iv.rounded(x.hi * x.hi, dtype)
            least = np.where((x.lo < 0) & (x.hi > 0), 0, np.minimum(a, b))
            return Value(x.dtype, least, np.maximum(a, b), x.sure, x.axes)

    def call(self, name, args):
        result = self.result_of(name, args)
        # What is made of numbers and extents alone is one of them; a cast or a test is not.
        if name != "where" and name not in iv.NUMPY and result.dtype != "bool" and args and all(a.weak for a in args):
            result.weak = "extent" if any(a.weak == "extent" for a in args) else True
        return result

    def result_of(self, name, args):
        if name in KEPT:
            return args[0]
        if name in iv.NUMPY:
            return cast(args[0], name, store=True)
        if name in ("c64", "c128"):
            raise Refused("complex numbers")
        if name == "where":
            dtype = self.met(args[1:], "plain")
            result = iv.chosen(cast(args[0], "bool"), cast(args[1], dtype), cast(args[2], dtype))
            result.weak = both_weak(args[1], args[2])
            return result
        if name == "fma":
            return self.fused(*args)
        if name == "clip":
            dtype = self.met(args, "plain")
            x, low, high = (cast(a, dtype) for a in args)
            return self.binary("minimum", self.binary("maximum", x, low), high)
        if name == "pow":
            return self.binary("^", *args)
        if len(args) == 2:
            return self.binary(name, *args)
        x = args[0]
        if name == "square":
            dtype = self.met([x], "divide")
            result = self.squared(cast(x, dtype), iv.compute_dtype(dtype))
            result.dtype = dtype
            return result
        if name == "reciprocal":
            return self.binary("/", number(1), x)
        if name == "relu":
            return self.binary("maximum", x, number(0))
        return self.function(name, x)

    def function(self, name, x):
        if name in ("abs", "sign", "floor", "ceil", "round", "trunc"):
            return self.stepped(name, x)
        if name in ("isnan", "isinf", "isfinite"):
            if not iv.is_float(x.dtype):
                return Value("bool", np.full(x.lo.shape, name == "isfinite"), None, True, x.axes)
            f = getattr(np, name)
            return Value("bool", f(x.lo), None, x.sure & (f(x.lo) == f(x.hi)) & (x.exact | np.isfinite(x.lo)), x.axes)
        if name != "sqrt" and name not in iv.SMOOTH:
            raise Refused("the function '%s'" % name)
        dtype = self.met([x], "math")
        x, computed = cast(x, dtype), iv.compute_dtype(dtype)
        if name == "sqrt":
            with np.errstate(all="ignore"):
                lo, hi = (iv.rounded(np.sqrt(a), computed) for a in (x.lo, x.hi))
            result = Value(computed, lo, hi, x.sure & (x.exact | ~np.isnan(lo)), x.axes)
        else:
            result = iv.smooth(name, x, computed, self.accuracy)
        result.dtype = dtype
        return result

    def fused(self, x, y, z):
        """x * y + z, rounded once: f64 has room for a product of f32, and of f64 it rounds the
        product, too."""
        dtype = self.met([x, y, z], "math")
        x, y, z = (cast(v, dtype) for v in (x, y, z))
        computed = iv.compute_dtype(dtype)
        product = iv.corners(np.multiply, x, y, "f64")
        total = iv.corners(np.add, product, z, "f64")
        room = 2.0**-52 * (np.maximum(np.abs(product.lo), np.abs(product.hi)) + np.maximum(np.abs(z.lo), np.abs(z.hi)))
        wide = iv.widen(total.lo, total.hi, "f64", 1, total, np.where(np.isfinite(room), room, 0))
        # Where only the product is too large for f64, the exact sum may not be.
        total.sure = total.sure & (np.isfinite(product.lo) | ~np.isfinite(x.lo) | ~np.isfinite(y.lo))
        return Value(dtype, iv.rounded(wide.lo, computed), iv.rounded(wide.hi, computed), total.sure, total.axes)

    def stepped(self, name, x):
        with np.errstate(all="ignore"):
            if not iv.is_float(x.dtype):
                value = {"abs": np.abs, "sign": np.sign}.get(name, lambda a: a)(x.lo) if x.dtype != "bool" else x.lo
                return Value(x.dtype, value, None, x.sure, x.axes, x.weak)
            if name == "abs":
                a, b = np.abs(x.lo), np.abs(x.hi)
                least = np.where((x.lo < 0) & (x.hi > 0), 0, np.minimum(a, b))
                return Value(x.dtype, least, np.maximum(a, b), x.sure, x.axes)
            if name == "sign":
                f = lambda a: np.where(a == 0, 0.0, np.sign(a))
            else:
                f = {"floor": np.floor, "ceil": np.ceil, "round": np.round, "trunc": np.trunc}[name]
            return Value(x.dtype, f(x.lo), f(x.hi), x.sure, x.axes)
