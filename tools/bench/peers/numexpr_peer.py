"""numexpr: elementwise expressions and whole sums; constants as f32, lest everything becomes
f64."""
import numexpr as ne
import numpy as np

VERSION = ne.__version__


def expression(names, text, **constants):
    def build(i, o):
        values = dict(zip(names, i)) | {k: np.float32(v) for k, v in constants.items()}
        ne.evaluate(text, values, out=o[0], casting="unsafe")  # compiles it
        return lambda: ne.evaluate(text, values, out=o[0], casting="unsafe")

    return build


def with_axes(names, text, axes, **constants):
    """Inputs seen as arrays of the common rank first."""
    def build(i, o):
        return expression(names, text, **constants)([f(x) for f, x in zip(axes, i)], o)

    return build


def whole(x):
    return x


def column(x):
    return x[:, None]


def total(names, text):
    def build(i, o):
        values = dict(zip(names, i))

        def call():
            o[0][...] = ne.evaluate(text, values)

        return call

    return build


triad = expression("abc", "a*b+c")
image = expression("xcs", "(x-c)*s")
CASES = {
    "triad": triad, "triad_i32": triad,
    "map": expression("xyz", "exp(-x*x)*sin(y)+sqrt(abs(z))"),
    "gelu": expression("x", "h*x*(u+tanh(p*(x+q*x*x*x)))", h=0.5, u=1, p=0.7978845608028654,
                       q=0.044715),
    "affine": with_axes("xcr", "x*c+r", (whole, column, whole)),
    "add_transposed": with_axes("ab", "a+b", (whole, np.transpose)),
    "scale": expression("a", "a*t", t=2),
    "row_scale/x": expression("xrd", "d*r"),
    "sum": total("x", "sum(x)"), "distance": total("xy", "sum((x-y)*(x-y))"),
    "image_scale": image,
    "permuted": with_axes("xy", "x*t+y", (whole, lambda y: np.transpose(y, (2, 3, 0, 5, 4, 1))),
                          t=2),
}
FIRST = {}
