"""What NumPy's functions are in lazy arrays: the dtypes of operands and result, by NumPy itself,
and the text of each operation.

An operation is computed in the dtypes of the loop that NumPy would run, operands cast to them; its
text is a template in which {0}, {1} stand for the operands.
"""

from __future__ import annotations

import numpy as np

_BINARY = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//", "remainder": "%", "power": "^",
    "float_power": "^", "equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=",
    "logical_and": "&&", "logical_or": "||", "bitwise_and": "&", "bitwise_or": "|", "left_shift": "<<", "right_shift": ">>",
}
_CALLS = {
    1: {"absolute": "abs", "fabs": "abs", "rint": "round", "conjugate": "conj", "arcsin": "asin", "arccos": "acos",
        "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
        **{name: name for name in "sign floor ceil trunc sqrt square exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh "
                                  "cbrt isnan isinf isfinite".split()}},
    2: {"bitwise_xor": "xor", "arctan2": "atan2",
        **{name: name for name in "maximum minimum fmax fmin copysign hypot fmod logaddexp".split()}},
}
TEMPLATES = {
    **{name: f"({{0}} {word} {{1}})" for name, word in _BINARY.items()},
    **{name: f"{word}({{0}})" for name, word in _CALLS[1].items()},
    **{name: f"{word}({{0}}, {{1}})" for name, word in _CALLS[2].items()},
    "negative": "(-{0})", "positive": "{0}", "invert": "(~{0})", "logical_not": "(!{0})", "logical_xor": "xor(!{0}, !{1})",
    "reciprocal": "(1 / {0})", "signbit": "(copysign(1, {0}) < 0)",
    "deg2rad": "({0} * (pi / 180))", "radians": "({0} * (pi / 180))", "rad2deg": "({0} * (180 / pi))", "degrees": "({0} * (180 / pi))",
}
# NumPy has none of these; their dtypes are those of exp.
OURS = "rsqrt sigmoid softplus silu gelu gelu_tanh erf erfc lgamma digamma".split()
TEMPLATES.update({name: f"{name}({{0}})" for name in [*OURS, "real", "imag"]})
# Of a seed and a counter.
RANDOM = {"random": "f8", "normal": "f8", "random_bits": "u4"}
TEMPLATES.update({name: f"{name}({{0}}, {{1}})" for name in RANDOM})

_COMPLEX = {
    "add", "subtract", "multiply", "divide", "power", "float_power", "equal", "not_equal", "logical_and", "logical_or",
    "logical_not", "logical_xor", "negative", "positive", "absolute", "sign", "conjugate", "square", "reciprocal", "isnan",
    "isinf", "isfinite", "exp", "log", "sqrt", "sin", "cos", "tanh",
}
COMPARISONS = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}
_TRUTHS = COMPARISONS | {"logical_and", "logical_or", "logical_not", "logical_xor", "isnan", "isinf", "isfinite", "signbit"}
_BOOL = {"maximum": "({0} | {1})", "fmax": "({0} | {1})", "minimum": "({0} & {1})", "fmin": "({0} & {1})", "absolute": "{0}",
         "floor": "{0}", "ceil": "{0}", "trunc": "{0}"}
RECIPROCAL = "where(abs({0}) == 1, {0}, 0)"  # of integers
_EXACT = {"negative", "positive", "absolute", "fabs", "maximum", "minimum", "fmax", "fmin", "copysign", "sign", "floor", "ceil",
          "trunc", "rint"}

BOOL = np.dtype(bool)
_WORDS = {"bool": "bool", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16",
          "uint32": "u32", "uint64": "u64", "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
          "complex64": "c64", "complex128": "c128"}
_WORD_OF = {}


def word_of(dtype) -> str:
    """The language's word for a dtype of NumPy, or ""."""
    word = _WORD_OF.get(dtype)
    if word is None:
        word = _WORD_OF[dtype] = _WORDS.get(dtype.name, "") if dtype.isnative else ""
    return word


def is_half(dtype) -> bool:
    return word_of(dtype) in ("f16", "bf16")


def real_of(dtype) -> np.dtype:
    return np.dtype("f4") if dtype.char == "F" else np.dtype("f8") if dtype.char == "D" else dtype


def loop_of(ufunc, kinds, casting="same_kind", dtype=None) -> tuple:
    """The dtypes of the operands in NumPy's loop, and of the result. Kinds are dtypes, or int,
    float and complex for what is weak."""
    how = {} if dtype is None else {"signature": (*[None] * len(kinds), np.dtype(dtype))}
    found = ufunc.resolve_dtypes((*kinds, None), casting=casting, **how)
    return found[:-1], found[-1]


def refused(name: str, loop: tuple) -> str:
    """Why an operation on operands of these dtypes cannot be recorded, or ""."""
    if name not in TEMPLATES:
        return f"numpy.{name} cannot be recorded"
    for dtype in loop:
        if not word_of(dtype):
            return f"numpy.{name} of {dtype} cannot be recorded"
        if dtype.kind == "c" and name not in _COMPLEX:
            return f"numpy.{name} of complex numbers cannot be recorded"
    return ""


def template(name: str, loop: tuple, dtype) -> tuple:
    """The text of an operation, and the word of the dtype that it is to be cast to, or ""."""
    text = TEMPLATES[name]
    if loop[0] == BOOL and name in _BOOL:
        return _BOOL[name], ""
    if name in _TRUTHS or name in RANDOM:
        return text, ""
    if name == "conjugate" and loop[0].kind != "c":
        return "{0}", ""
    if name == "reciprocal" and loop[0].kind in "iu":
        return RECIPROCAL, ""
    natural = loop[0]
    if name == "divide" and natural.kind in "iub":
        natural = np.dtype("f8")
    elif name in ("absolute", "real", "imag"):
        natural = real_of(natural)
    # What NumPy rounds to 16 bits after each operation stays wider in the language until it is
    # cast.
    if natural != dtype or (is_half(dtype) and name not in _EXACT):
        return text, word_of(dtype)
    return text, ""


# --- folds ----------------------------------------------------------------------------------------

# Ufuncs by which NumPy folds, and the fold of each.
REDUCING = {"add": "sum", "multiply": "prod", "minimum": "min", "maximum": "max", "logical_and": "all", "logical_or": "any",
            "logaddexp": "logsumexp"}


def fold_dtypes(name: str, dtype, asked) -> tuple:
    """The dtype to cast to before the fold, and that of the result; None where there is no such
    fold."""
    kind = dtype.kind
    if name in ("sum", "prod"):
        result = np.dtype(asked) if asked is not None else \
            np.dtype("i8") if kind in "bi" else np.dtype("u8") if kind == "u" else dtype
        return result, result
    if name in ("min", "max", "argmin", "argmax"):
        if kind == "c":
            return None
        inner = np.dtype("u1") if kind == "b" and name.startswith("arg") else dtype
        return inner, np.dtype(np.intp) if name.startswith("arg") else dtype
    if name in ("any", "all"):
        return dtype, BOOL
    if name == "logsumexp" and kind == "c":
        return None
    inner = np.dtype(asked) if asked is not None else np.dtype("f8") if kind in "biu" else dtype
    return inner, inner if name in ("mean", "logsumexp") else real_of(inner)


def fold_text(name: str, inner, result) -> tuple:
    """The word of the accumulator and the cast around it, or ""."""
    if inner == BOOL and name in ("min", "max"):
        return {"min": "all", "max": "any"}[name], ""
    natural = inner
    if name in ("sum", "prod"):  # integers are folded in 64 bits
        natural = np.dtype("i8") if inner.kind in "bi" else np.dtype("u8") if inner.kind == "u" else inner
    elif name in ("any", "all", "argmin", "argmax"):
        natural = result
    elif name in ("var", "std", "norm"):
        natural = real_of(inner)
    return name, "" if natural == result else word_of(result)


def fold_of_one(name: str, correction: int) -> str:
    """The text of a fold of a single element {0}, where no axis is left to fold along. Sums begin
    at 0, which makes 0 of -0."""
    if name in ("sum", "mean"):
        return "({0} + 0)"
    if name in ("any", "all"):
        return "({0} != 0)"
    if name in ("argmin", "argmax"):
        return "i64(({0} != {0}) && false)"
    if name in ("var", "std"):
        zero = "abs({0} - {0})"
        return zero if correction < 1 else f"({zero} / 0)"
    return "abs({0})" if name == "norm" else "{0}"
