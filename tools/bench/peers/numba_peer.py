"""numba: loops in Python, compiled with parallel and fastmath."""
import math

import numba
import numpy as np
from numba import njit, prange

VERSION = numba.__version__
fast = njit(parallel=True, fastmath=True)
one, half, two = np.float32(1), np.float32(0.5), np.float32(2)
root_half = np.float32(0.7071067811865476)


@fast
def triad(a, b, c, z):
    for k in prange(z.size):
        z[k] = a[k] * b[k] + c[k]


@fast
def map_(x, y, z, o):
    for k in prange(o.size):
        o[k] = math.exp(-x[k] * x[k]) * math.sin(y[k]) + math.sqrt(abs(z[k]))


@fast
def gelu(x, o):
    p, q = np.float32(0.7978845608028654), np.float32(0.044715)
    for k in prange(o.size):
        v = x[k]
        o[k] = half * v * (one + math.tanh(p * (v + q * v * v * v)))


@fast
def black_scholes(s, k, t, o):
    for n in prange(o.size):
        price = np.float32(5) + np.float32(25) * s[n]
        strike = one + np.float32(99) * k[n]
        term = np.float32(0.25) + np.float32(9.75) * t[n]
        width = np.float32(0.3) * math.sqrt(term)
        d1 = (math.log(price / strike) + np.float32(0.065) * term) / width
        first = half * math.erfc(-root_half * d1)
        second = half * math.erfc(-root_half * (d1 - width))
        o[n] = price * first - strike * math.exp(np.float32(-0.02) * term) * second


@fast
def affine(x, col, row, z):
    for i in prange(x.shape[0]):
        for j in range(x.shape[1]):
            z[i, j] = x[i, j] * col[i] + row[j]


@fast
def jacobi(x, y):
    for i in prange(y.shape[0]):
        for j in range(y.shape[1]):
            y[i, j] = np.float32(0.2) * (
                x[i + 1, j + 1] + x[i, j + 1] + x[i + 2, j + 1] + x[i + 1, j] + x[i + 1, j + 2])


@fast
def blur(x, y):
    third, rows = np.float32(1 / 3), 32
    for s in prange((y.shape[0] + rows - 1) // rows):
        first = s * rows
        end = min(first + rows, y.shape[0])
        h = np.empty((rows + 2, y.shape[1]), np.float32)
        for i in range(first, end + 2):
            for j in range(y.shape[1]):
                h[i - first, j] = (x[i, j] + x[i, j + 1] + x[i, j + 2]) * third
        for i in range(first, end):
            for j in range(y.shape[1]):
                y[i, j] = (h[i - first, j] + h[i - first + 1, j] + h[i - first + 2, j]) * third


@fast
def sobel(x, y):
    for i in prange(y.shape[0]):
        for j in range(y.shape[1]):
            a = (x[i, j + 2] - x[i, j] + two * (x[i + 1, j + 2] - x[i + 1, j])
                 + x[i + 2, j + 2] - x[i + 2, j])
            b = (x[i + 2, j] - x[i, j] + two * (x[i + 2, j + 1] - x[i, j + 1])
                 + x[i + 2, j + 2] - x[i, j + 2])
            y[i, j] = math.sqrt(a * a + b * b)


@fast
def depthwise(x, w, y):
    for n in prange(y.shape[0] * y.shape[1]):
        image, i = n // y.shape[1], n % y.shape[1]
        for j in range(y.shape[2]):
            for c in range(y.shape[3]):
                s = np.float32(0)
                for u in range(3):
                    for v in range(3):
                        s += x[image, i + u, j + v, c] * w[u, v, c]
                y[image, i, j, c] = s


@fast
def max_pool(x, cell, y):
    for n in prange(y.shape[0] * y.shape[1]):
        image, i = n // y.shape[1], n % y.shape[1]
        for j in range(y.shape[2]):
            for c in range(y.shape[3]):
                most = x[image, 2 * i, 2 * j, c]
                for a in range(cell.shape[0]):
                    for b in range(cell.shape[1]):
                        most = max(most, x[image, 2 * i + a, 2 * j + b, c])
                y[image, i, j, c] = most


@fast
def gather_rows(x, k, y):
    for i in prange(y.shape[0]):
        row = 7919 * np.int64(k[i]) % x.shape[0]
        for j in range(y.shape[1]):
            y[i, j] = x[row, j]


@fast
def total(x, o):
    s = 0.0
    for k in prange(x.size):
        s += x[k]
    o[()] = s


@fast
def distance(x, y, o):
    s = 0.0
    for k in prange(x.size):
        s += (x[k] - y[k]) * (x[k] - y[k])
    o[()] = s


@fast
def distances(x, y, o):
    for i in prange(x.shape[0]):
        for j in range(y.shape[0]):
            s = np.float32(0)
            for k in range(x.shape[1]):
                d = x[i, k] - y[j, k]
                s += d * d
            o[i, j] = s


@fast
def sum_rows(x, o):
    for i in prange(x.shape[0]):
        s = np.float32(0)
        for j in range(x.shape[1]):
            s += x[i, j]
        o[i] = s


@fast
def mean_rows(x, o):
    for i in prange(x.shape[0]):
        s = np.float32(0)
        for j in range(x.shape[1]):
            s += x[i, j]
        o[i] = s / np.float32(x.shape[1])


@fast
def few_columns(x, o):
    parts = np.zeros((64, x.shape[1]), np.float32)
    rows = (x.shape[0] + 63) // 64
    for p in prange(64):
        for i in range(p * rows, min((p + 1) * rows, x.shape[0])):
            for j in range(x.shape[1]):
                parts[p, j] += x[i, j]
    for j in range(x.shape[1]):
        o[j] = parts[:, j].sum()


@fast
def sum_columns(x, o):
    # A row of sums for each thread, and four rows of x at a time: so x is read as it lies, and each
    # sum once for four.
    threads = numba.get_num_threads()
    parts = np.zeros((threads, x.shape[1]), np.float32)
    rows = (x.shape[0] + threads - 1) // threads
    for p in prange(threads):
        part, end = parts[p], min((p + 1) * rows, x.shape[0])
        fours = p * rows + max(end - p * rows, 0) // 4 * 4
        for i in range(p * rows, fours, 4):
            for j in range(part.size):
                part[j] += (x[i, j] + x[i + 1, j]) + (x[i + 2, j] + x[i + 3, j])
        for i in range(fours, end):
            for j in range(part.size):
                part[j] += x[i, j]
    for j in range(x.shape[1]):
        s = np.float32(0)
        for p in range(threads):
            s += parts[p, j]
        o[j] = s


@fast
def weighted_columns(x, col, o):
    threads = numba.get_num_threads()
    parts = np.zeros((threads, x.shape[1]), np.float32)
    rows = (x.shape[0] + threads - 1) // threads
    for p in prange(threads):
        part, end = parts[p], min((p + 1) * rows, x.shape[0])
        fours = p * rows + max(end - p * rows, 0) // 4 * 4
        for i in range(p * rows, fours, 4):
            a, b, c, d = col[i], col[i + 1], col[i + 2], col[i + 3]
            for j in range(part.size):
                part[j] += (x[i, j] * a + x[i + 1, j] * b) + (x[i + 2, j] * c + x[i + 3, j] * d)
        for i in range(fours, end):
            for j in range(part.size):
                part[j] += x[i, j] * col[i]
    for j in range(x.shape[1]):
        s = np.float32(0)
        for p in range(threads):
            s += parts[p, j]
        o[j] = s


@fast
def add_transposed(a, b, z):
    n = a.shape[0] // 32
    for bi in prange(n):
        for bj in range(n):
            for i in range(bi * 32, bi * 32 + 32):
                for j in range(bj * 32, bj * 32 + 32):
                    z[i, j] = a[i, j] + b[j, i]


@fast
def scale(a, z):
    for i in prange(z.shape[0]):
        for j in range(z.shape[1]):
            z[i, j] = a[i, j] * two


@fast
def softmax(x, o):
    for i in prange(x.shape[0]):
        most = x[i, 0]
        for j in range(x.shape[1]):
            most = max(most, x[i, j])
        s = np.float32(0)
        for j in range(x.shape[1]):
            e = math.exp(x[i, j] - most)
            o[i, j] = e
            s += e
        r = one / s
        for j in range(x.shape[1]):
            o[i, j] *= r


@fast
def layernorm(x, scale, shift, o):
    n = np.float32(x.shape[1])
    for i in prange(x.shape[0]):
        s = np.float32(0)
        for j in range(x.shape[1]):
            s += x[i, j]
        mean = s / n
        v = np.float32(0)
        for j in range(x.shape[1]):
            v += (x[i, j] - mean) * (x[i, j] - mean)
        r = one / math.sqrt(v / n + np.float32(1e-5))
        for j in range(x.shape[1]):
            o[i, j] = (x[i, j] - mean) * r * scale[j] + shift[j]


@fast
def dx(d_y, row, o):
    for ij in prange(d_y.shape[0] * d_y.shape[1]):
        i, j = ij // d_y.shape[1], ij % d_y.shape[1]
        for k in range(d_y.shape[2]):
            o[i, j, k] = d_y[i, j, k] * row[0, j, 0]


@fast
def drow(x, d_y, o):
    for j in prange(x.shape[1]):
        s = np.float32(0)
        for i in range(x.shape[0]):
            for k in range(x.shape[2]):
                s += x[i, j, k] * d_y[i, j, k]
        o[0, j, 0] = s


@fast
def dx_drow(x, row, d_y, o, r):
    for j in prange(x.shape[1]):
        s = np.float32(0)
        for i in range(x.shape[0]):
            for k in range(x.shape[2]):
                s += x[i, j, k] * d_y[i, j, k]
                o[i, j, k] = d_y[i, j, k] * row[0, j, 0]
        r[0, j, 0] = s


@fast
def clip(a, b, z):
    for k in prange(z.size):
        v = np.float32(a[k]) * np.float32(1.5) + np.float32(b[k])
        z[k] = np.uint8(min(max(v, np.float32(0)), np.float32(255)))


@fast
def cumsum(x, z):
    pieces = 64
    n = (x.size + pieces - 1) // pieces
    totals = np.zeros(pieces + 1)
    for p in prange(pieces):
        s = 0.0
        for k in range(p * n, min((p + 1) * n, x.size)):
            s += x[k]
        totals[p + 1] = s
    for p in range(pieces):
        totals[p + 1] += totals[p]
    for p in prange(pieces):
        s = totals[p]
        for k in range(p * n, min((p + 1) * n, x.size)):
            s += x[k]
            z[k] = s


@fast
def image(x, centre, scale, z):
    for i in prange(x.shape[0]):
        for j in range(x.shape[1]):
            for c in range(3):
                z[i, j, c] = (np.float32(x[i, j, c]) - centre[c]) * scale[c]


@fast
def image_mean(x, o):
    parts = np.zeros((x.shape[0], 3))
    for i in prange(x.shape[0]):
        for j in range(x.shape[1]):
            for c in range(3):
                parts[i, c] += x[i, j, c]
    for c in range(3):
        o[c] = parts[:, c].sum() / (x.shape[0] * x.shape[1])


@fast
def permuted(x, y, z):
    for ab in prange(256):
        a, b = ab // 16, ab % 16
        for c in range(16):
            for d in range(16):
                for e in range(16):
                    for f in range(16):
                        z[a, b, c, d, e, f] = x[a, b, c, d, e, f] * two + y[c, f, a, b, e, d]


def on(function, *order):
    """A builder: the inputs in this order (all where none is given), then the outputs."""
    def build(i, o):
        args = [i[k] for k in order] if order else list(i)
        return lambda: function(*args, *o)

    return build


def columns(i, o):
    function = few_columns if i[0].shape[1] < 64 else sum_columns
    return lambda: function(i[0], o[0])


def first(body):
    """Compiles `body` with a new number in it."""
    def call(inputs, serial):
        scope = {"np": np, "math": math, "njit": njit, "prange": prange}
        exec(f"def f(x, o):\n    serial = np.float32({serial})\n{body}", scope)
        out = np.empty_like(inputs[0])
        njit(fastmath=True)(scope["f"])(inputs[0], out)
        return [out]

    return call


CASES = {
    "jacobi": on(jacobi), "blur": on(blur), "sobel": on(sobel), "depthwise": on(depthwise),
    "max_pool": on(max_pool), "max_pool_3": on(max_pool), "gather_rows": on(gather_rows),
    "triad": on(triad), "triad_i32": on(triad), "map": on(map_), "gelu": on(gelu),
    "black_scholes": on(black_scholes), "affine": on(affine), "sum": on(total),
    "distance": on(distance), "distances": on(distances), "sum_rows": on(sum_rows), "mean_rows": on(mean_rows),
    "sum_columns": columns, "weighted_columns": on(weighted_columns),
    "add_transposed": on(add_transposed), "scale": on(scale), "softmax": on(softmax),
    "layernorm": on(layernorm), "row_scale/x": on(dx, 2, 1), "row_scale/row": on(drow, 0, 2),
    "row_scale/x,row": on(dx_drow), "clip_u8": on(clip), "cumsum": on(cumsum),
    "image_scale": on(image), "image_bytes": on(image), "image_mean": on(image_mean),
    "permuted": on(permuted),
}
FIRST = {
    "first_map": first("    for k in range(x.size):\n        o[k] = x[k] * np.float32(2) + serial\n"),
    "first_exp": first("    for k in range(x.size):\n        o[k] = math.exp(x[k]) + serial\n"),
    "first_softmax": first("""
    for i in range(x.shape[0]):
        most = x[i].max()
        s = np.float32(0)
        for j in range(x.shape[1]):
            o[i, j] = math.exp(x[i, j] - most) + serial
            s += o[i, j]
        for j in range(x.shape[1]):
            o[i, j] /= s
"""),
}
