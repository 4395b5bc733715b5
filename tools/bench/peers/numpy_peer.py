"""NumPy, with preallocated outputs and temporaries."""
import numpy as np

VERSION = np.__version__
f32 = np.float32


def like(x, count=1):
    return [np.empty(x.shape, x.dtype) for _ in range(count)]


def triad(i, o):
    a, b, c = i

    def call():
        np.multiply(a, b, out=o[0])
        np.add(o[0], c, out=o[0])

    return call


def map_(i, o):
    x, y, z = i
    (t,) = like(x)

    def call():
        np.multiply(x, x, out=t)
        np.negative(t, out=t)
        np.exp(t, out=t)
        np.sin(y, out=o[0])
        np.multiply(t, o[0], out=o[0])
        np.abs(z, out=t)
        np.sqrt(t, out=t)
        np.add(o[0], t, out=o[0])

    return call


def gelu(i, o):
    (x,) = i
    (t,) = like(x)

    def call():
        np.multiply(x, x, out=t)
        np.multiply(t, x, out=t)
        np.multiply(t, f32(0.044715), out=t)
        np.add(t, x, out=t)
        np.multiply(t, f32(0.7978845608028654), out=t)
        np.tanh(t, out=t)
        np.add(t, f32(1), out=t)
        np.multiply(t, x, out=t)
        np.multiply(t, f32(0.5), out=o[0])

    return call


def affine(i, o):
    x, col, row = i

    def call():
        np.multiply(x, col[:, None], out=o[0])
        np.add(o[0], row, out=o[0])

    return call


def fold(function, axis):
    def build(i, o):
        return lambda: function(i[0], axis=axis, out=o[0])

    return build


def distance(i, o):
    x, y = i
    (t,) = like(x)

    def call():
        np.subtract(x, y, out=t)
        o[0][...] = np.dot(t, t)

    return call


def weighted_columns(i, o):
    x, col = i
    return lambda: np.matmul(col, x, out=o[0])


def product(i, o):
    a, b = i
    return lambda: np.matmul(a, b, out=o[0])


def product_rows(i, o):
    a, b = i
    return lambda: np.matmul(a, b.T, out=o[0])


def distances(i, o):
    x, y = i
    t, z = np.empty_like(x), o[0]
    u = np.empty_like(y)

    def call():
        np.matmul(x, y.T, out=z)
        np.multiply(z, f32(-2), out=z)
        np.multiply(x, x, out=t)
        np.add(z, t.sum(1)[:, None], out=z)
        np.multiply(y, y, out=u)
        np.add(z, u.sum(1), out=z)

    return call


def add_transposed(i, o):
    a, b = i
    return lambda: np.add(a, b.T, out=o[0])


def softmax(i, o):
    (x,) = i

    def call():
        np.subtract(x, x.max(axis=1, keepdims=True), out=o[0])
        np.exp(o[0], out=o[0])
        np.divide(o[0], o[0].sum(axis=1, keepdims=True), out=o[0])

    return call


def layernorm(i, o):
    x, scale, shift = i
    (t,) = like(x)

    def call():
        np.subtract(x, x.mean(axis=1, keepdims=True), out=o[0])
        np.multiply(o[0], o[0], out=t)
        np.divide(o[0], np.sqrt(t.mean(axis=1, keepdims=True) + f32(1e-5)), out=o[0])
        np.multiply(o[0], scale, out=o[0])
        np.add(o[0], shift, out=o[0])

    return call


def drow(x, d_y):
    return np.einsum("ijk,ijk->j", x, d_y).reshape(1, -1, 1)


def clip(i, o):
    a, b = i
    t = np.empty(a.shape, f32)

    def call():
        np.multiply(a, f32(1.5), out=t, dtype=f32)
        np.add(t, b, out=t)
        np.clip(t, f32(0), f32(255), out=t)
        o[0][...] = t

    return call


def image(i, o):
    x, centre, scale = i

    def call():
        np.subtract(x, centre, out=o[0], dtype=f32)
        np.multiply(o[0], scale, out=o[0])

    return call


def permuted(i, o):
    x, y = i
    turned = np.transpose(y, (2, 3, 0, 5, 4, 1))  # y has c, f, a, b, e, d

    def call():
        np.multiply(x, f32(2), out=o[0])
        np.add(o[0], turned, out=o[0])

    return call


def dx(i, o):
    return lambda: np.multiply(i[2], i[1], out=o[0])


def drow_only(i, o):
    def call():
        o[0][...] = drow(i[0], i[2])

    return call


def dx_and_drow(i, o):
    def call():
        np.multiply(i[2], i[1], out=o[0])
        o[1][...] = drow(i[0], i[2])

    return call


def jacobi(i, o):
    x, y = i[0], o[0]

    def call():
        np.add(x[1:-1, 1:-1], x[:-2, 1:-1], out=y)
        for part in (x[2:, 1:-1], x[1:-1, :-2], x[1:-1, 2:]):
            np.add(y, part, out=y)
        np.multiply(y, f32(0.2), out=y)

    return call


def sobel(i, o):
    x, y = i[0], o[0]
    a, b, t = np.empty_like(y), np.empty_like(y), np.empty_like(y)

    def side(out, plus, minus):
        np.subtract(plus[1], minus[1], out=out)
        np.multiply(out, f32(2), out=out)
        for k in (0, 2):
            np.subtract(plus[k], minus[k], out=t)
            np.add(out, t, out=out)
        np.multiply(out, out, out=out)

    def call():
        side(a, (x[:-2, 2:], x[1:-1, 2:], x[2:, 2:]), (x[:-2, :-2], x[1:-1, :-2], x[2:, :-2]))
        side(b, (x[2:, :-2], x[2:, 1:-1], x[2:, 2:]), (x[:-2, :-2], x[:-2, 1:-1], x[:-2, 2:]))
        np.add(a, b, out=y)
        np.sqrt(y, out=y)

    return call


def gather_rows(i, o):
    x, k = i
    at = 7919 * k.astype(np.int64)
    return lambda: np.take(x, at, axis=0, mode="wrap", out=o[0])


CASES = {
    "gather_rows": gather_rows,
    "jacobi": jacobi, "sobel": sobel,
    "triad": triad, "triad_i32": triad, "triad_f16": triad, "triad_bf16": triad, "map": map_,
    "gelu": gelu, "affine": affine, "sum": fold(np.sum, None), "mean_rows": fold(np.mean, 1),
    "sum_rows": fold(np.sum, 1), "sum_columns": fold(np.sum, 0), "distance": distance,
    "weighted_columns": weighted_columns, "add_transposed": add_transposed,
    "product": product, "product_f64": product, "product_f32": product,
    "product_rows": product_rows, "distances": distances,
    "scale": lambda i, o: lambda: np.multiply(i[0], f32(2), out=o[0]),
    "softmax": softmax, "layernorm": layernorm, "row_scale/x": dx, "row_scale/row": drow_only,
    "row_scale/x,row": dx_and_drow, "clip_u8": clip,
    "cumsum": lambda i, o: lambda: np.cumsum(i[0], out=o[0]),
    "image_scale": image, "image_bytes": image, "image_mean": fold(np.mean, (0, 1)),
    "permuted": permuted,
}
FIRST = {}  # it compiles nothing
