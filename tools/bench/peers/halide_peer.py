"""Halide: pipelines in its Python form, scheduled by hand; dims in NumPy's order, the last one
innermost."""
import halide as hl
import numpy as np

VERSION = getattr(hl, "__version__", "")
if not VERSION:
    from importlib.metadata import version

    VERSION = version("halide")

LANES = 16
x, y = hl.Var("x"), hl.Var("y")


def pipeline(function, result):
    """`call` fills the NumPy array `result` by `function`, compiled once."""
    target = hl.get_jit_target_from_environment()
    function.compile_jit(target)
    buffer = hl.Buffer(result)
    return lambda: function.realize(buffer)


def elementwise(expression):
    """One flat loop in parallel blocks of 64K elements, vectorised."""
    def build(i, o):
        inputs = [hl.Buffer(a.reshape(-1)) for a in i]
        result = hl.Func("result")
        result[x] = expression(*[b[x] for b in inputs])
        if o[0].size >= 1 << 18:
            outer = hl.Var("outer")
            result.split(x, outer, x, 1 << 16).parallel(outer)
        result.vectorize(x, min(LANES * 4, o[0].size) // o[0].dtype.itemsize)
        return pipeline(result, o[0].reshape(-1))

    return build


def by_rows(define):
    """A matrix, rows in parallel. `define(result, *buffers)` gives its values at x, y."""
    def build(i, o):
        inputs = [hl.Buffer(a) for a in i]
        result = hl.Func("result")
        result[x, y] = define(*inputs)
        outer = hl.Var("outer")
        result.split(y, outer, y, 16).parallel(outer).vectorize(x, LANES)
        return pipeline(result, o[0])

    return build


def gelu(v):
    return hl.f32(0.5) * v * (hl.f32(1) + hl.tanh(hl.f32(0.7978845608) * (v + hl.f32(0.044715) * v * v * v)))


def sum_rows(factor):
    def build(i, o):
        a = hl.Buffer(i[0])
        n = i[0].shape[1]
        lanes = LANES if n >= LANES else n
        k, lane = hl.RDom([(0, n // lanes)]), hl.Var("lane")
        parts, result = hl.Func("parts"), hl.Func("result")
        r = hl.RDom([(0, lanes)])
        parts[lane, y] = hl.f32(0)
        parts[lane, y] += a[k.x * lanes + lane, y]
        result[y] = hl.f32(0)
        result[y] += parts[r.x, y]
        final, outer = hl.Func("final"), hl.Var("outer")
        final[y] = result[y] * hl.f32(factor(n))
        final.split(y, outer, y, min(16, max(1, i[0].shape[0] // 16))).parallel(outer)
        result.compute_at(final, y)
        parts.compute_at(final, y).vectorize(lane)
        parts.update().vectorize(lane)
        return pipeline(final, o[0])

    return build


def sum_columns(weight):
    def build(i, o):
        a = hl.Buffer(i[0])
        col = hl.Buffer(i[1]) if weight else None
        rows = i[0].shape[0]
        k = hl.RDom([(0, rows)])
        result, outer = hl.Func("result"), hl.Var("outer")
        result[x] = hl.f32(0)
        result[x] += a[x, k.x] * col[k.x] if weight else a[x, k.x]
        final = hl.Func("final")
        final[x] = result[x]
        width = min(256, i[0].shape[1])
        final.split(x, outer, x, width).parallel(outer).vectorize(x, min(LANES, width))
        result.compute_at(final, outer).vectorize(x, min(LANES, width))
        result.update().reorder(x, k.x).vectorize(x, min(LANES, width)).unroll(x)
        return pipeline(final, o[0])

    return build


def softmax(i, o):
    a = hl.Buffer(i[0])
    n = i[0].shape[1]
    k, lane = hl.RDom([(0, n // LANES)]), hl.Var("lane")
    r = hl.RDom([(0, LANES)])
    tops, top, e, parts, total = (hl.Func(s) for s in ("tops", "top", "e", "parts", "total"))
    tops[lane, y] = hl.f32(-3e38)
    tops[lane, y] = hl.max(tops[lane, y], a[k.x * LANES + lane, y])
    top[y] = hl.f32(-3e38)
    top[y] = hl.max(top[y], tops[r.x, y])
    e[x, y] = hl.exp(a[x, y] - top[y])
    parts[lane, y] = hl.f32(0)
    parts[lane, y] += e[k.x * LANES + lane, y]
    total[y] = hl.f32(0)
    total[y] += parts[r.x, y]
    result, outer = hl.Func("result"), hl.Var("outer")
    result[x, y] = e[x, y] / total[y]
    result.split(y, outer, y, 16).parallel(outer).vectorize(x, LANES)
    for f in (tops, parts):
        f.compute_at(result, y).vectorize(lane)
        f.update().vectorize(lane)
    e.compute_at(result, y).vectorize(x, LANES)
    top.compute_at(result, y)
    total.compute_at(result, y)
    return pipeline(result, o[0])


def jacobi(a):
    return hl.f32(0.2) * (a[x + 1, y + 1] + a[x + 1, y] + a[x + 1, y + 2] + a[x, y + 1] + a[x + 2, y + 1])


def sobel(a):
    s = a[x + 2, y] - a[x, y] + 2 * (a[x + 2, y + 1] - a[x, y + 1]) + a[x + 2, y + 2] - a[x, y + 2]
    t = a[x, y + 2] - a[x, y] + 2 * (a[x + 1, y + 2] - a[x + 1, y]) + a[x + 2, y + 2] - a[x + 2, y]
    return hl.sqrt(s * s + t * t)


def strips(rows, stages, result, built, planes=False):
    """As Halide's own apps have it: strips of the result in parallel, a row of each stage at a
    time, kept for the strip."""
    outer, inner, c = hl.Var("outer"), hl.Var("inner"), hl.Var("c")
    result.split(y, outer, inner, rows).parallel(outer).vectorize(x, LANES)
    result.reorder(x, c, inner, outer) if planes else result.reorder(x, inner, outer)
    for stage in stages:
        stage.store_at(result, outer).compute_at(result, inner).vectorize(x, LANES)
    return pipeline(result, built)


def blur(i, o):
    a = hl.Buffer(i[0])
    across, result = hl.Func("across"), hl.Func("result")
    across[x, y] = (a[x, y] + a[x + 1, y] + a[x + 2, y]) * hl.f32(1 / 3)
    result[x, y] = (across[x, y] + across[x, y + 1] + across[x, y + 2]) * hl.f32(1 / 3)
    return strips(32, [across], result, o[0])


def gray_of(a):
    gray = hl.Func("gray")
    gray[x, y] = hl.f32(0.299) * a[x, y, 0] + hl.f32(0.587) * a[x, y, 1] + hl.f32(0.114) * a[x, y, 2]
    return gray


def unsharp(i, o):
    a, c = hl.Buffer(i[0]), hl.Var("c")
    gray, down, across, ratio, result = (hl.Func(s) for s in ("gray", "down", "across", "ratio", "result"))
    weights = [hl.f32(w) for w in (0.26596153, 0.21296533, 0.10934004, 0.035993979)]
    gray = gray_of(a)
    taps = lambda at: weights[0] * at(3) + sum((weights[k] * (at(3 - k) + at(3 + k)) for k in (1, 2, 3)), hl.f32(0))
    down[x, y] = taps(lambda k: gray[x, y + k])
    across[x, y] = taps(lambda k: down[x + k, y])
    ratio[x, y] = (2 * gray[x + 3, y + 3] - across[x, y]) / gray[x + 3, y + 3]
    result[x, y, c] = ratio[x, y] * a[x + 3, y + 3, c]
    return strips(32, [gray, down, ratio], result, o[0], planes=True)


def harris(i, o):
    gray = gray_of(hl.Buffer(i[0]))
    gx, gy, result = (hl.Func(s) for s in ("gx", "gy", "result"))
    gy[x, y] = hl.f32(1 / 12) * (gray[x, y + 2] - gray[x, y] + 2 * (gray[x + 1, y + 2] - gray[x + 1, y])
                                 + gray[x + 2, y + 2] - gray[x + 2, y])
    gx[x, y] = hl.f32(1 / 12) * (gray[x + 2, y] - gray[x, y] + 2 * (gray[x + 2, y + 1] - gray[x, y + 1])
                                 + gray[x + 2, y + 2] - gray[x, y + 2])

    def sums(f, g):
        return sum((f[x + u, y + v] * g[x + u, y + v] for v in range(3) for u in range(3)), hl.f32(0))

    xx, yy, xy = sums(gx, gx), sums(gy, gy), sums(gx, gy)
    result[x, y] = xx * yy - xy * xy - hl.f32(0.04) * (xx + yy) * (xx + yy)
    gx.compute_with(gy, x)
    return strips(32, [gx, gy], result, o[0])


def images(define):
    """Images of NHWC, rows in parallel. `define(c, x, y, n, *buffers)` gives the values; windows
    are unrolled by hand."""
    def build(i, o):
        inputs = [hl.Buffer(a) for a in i]
        c, n = hl.Var("c"), hl.Var("n")
        result = hl.Func("result")
        result[c, x, y, n] = define(c, x, y, n, *inputs)
        rows = hl.Var("rows")
        # The channels of a few columns at once, so that weights and what neighbours share stay in
        # registers.
        inner = hl.Var("inner")
        result.split(x, x, inner, 4).reorder(inner, c, x, y, n).vectorize(c, LANES).unroll(inner)
        result.fuse(y, n, rows).parallel(rows)
        return pipeline(result, o[0])

    return build


def depthwise(c, x, y, n, a, w):
    total = None
    for v in range(3):
        for u in range(3):
            term = a[c, x + u, y + v, n] * w[c, u, v]
            total = term if total is None else total + term
    return total


def max_pool(side):
    def define(c, x, y, n, a, cell):
        most = a[c, 2 * x, 2 * y, n]
        for v in range(side):
            for u in range(side):
                most = hl.max(most, a[c, 2 * x + u, 2 * y + v, n])
        return most

    return define


CASES = {
    "depthwise": images(depthwise), "max_pool": images(max_pool(2)), "max_pool_3": images(max_pool(3)),
    "jacobi": by_rows(jacobi), "sobel": by_rows(sobel),
    "blur": blur, "unsharp": unsharp, "harris": harris,
    "triad": elementwise(lambda a, b, c: a * b + c),
    "triad_i32": elementwise(lambda a, b, c: a * b + c),
    "map": elementwise(lambda a, b, c: hl.exp(-a * a) * hl.sin(b) + hl.sqrt(hl.abs(c))),
    "gelu": elementwise(gelu),
    "affine": by_rows(lambda a, col, row: a[x, y] * col[y] + row[x]),
    "add_transposed": by_rows(lambda a, b: a[x, y] + b[y, x]),
    "mean_rows": sum_rows(lambda n: 1 / n), "sum_rows": sum_rows(lambda n: 1),
    "sum_columns": sum_columns(False), "weighted_columns": sum_columns(True),
    "softmax": softmax,
}


def first(expression):
    def call(inputs, serial):
        a = hl.Buffer(inputs[0].reshape(-1))
        result = hl.Func("result")
        result[x] = expression(a[x], hl.f32(float(serial)))
        result.vectorize(x, LANES)
        out = np.empty_like(inputs[0])
        result.realize(hl.Buffer(out.reshape(-1)))
        return [out]

    return call


FIRST = {
    "first_map": first(lambda v, serial: v * 2 + serial),
    "first_exp": first(lambda v, serial: hl.exp(v) + serial),
}
