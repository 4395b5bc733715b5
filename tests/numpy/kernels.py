"""Ten kernels that a user would write, against NumPy in f64.

Each kernel runs at several sizes and shapes, for inputs of several layouts, as native code on 1 and
2 threads and for AVX2. Every element is compared, and all runs on the same data must give the same
bytes.

    python3 tests/numpy/kernels.py BROADLOOM [--large] [KERNEL]...

Prints `ok - SENTENCE` or `not ok - SENTENCE: what` for each kernel, type and size; fails if one of
them does.

How far a result may be off: each kernel below says it in `slack`, from these facts. An operation
rounds once, by u = 2^-24 (f32) or 2^-53 (f64) of its result; a function is off by at most 2u. A sum
of n terms x is taken in f64 in some order of blocks of 4096 elements: it is off by at most 64 *
2^-53 * sum|x|, as docs/language.md says.
"""
import argparse
from concurrent import futures
import itertools
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
SUM = 64 * 2.0**-53  # of sum|x|
UNIT = {"f32": 2.0**-24, "f64": 2.0**-53}
TYPES = {"f32": np.float32, "f64": np.float64, "u8": np.uint8}


def wide(a):
    return a.astype(np.float64)


# ---- the kernels
# ----------------------------------------------------------------------------------- Each gives
# (inputs, want, slack) for a size and a random generator: arrays by name, the result in f64, and
# how far each element may be off.


def normal(rng, dtype, *shape):
    return (3 + 2 * rng.standard_normal(shape)).astype(TYPES[dtype])


def normalised(x, axes, epsilon, u):
    """(x - mean) / sqrt(var + epsilon), and its slack: the mean is rounded to the type of x, then u
    of each step."""
    m = x.mean(axes, keepdims=True)
    s = np.sqrt(x.var(axes, keepdims=True) + epsilon)
    z = (x - m) / s
    # A block of the variance subtracts its first element from the others, so the range is what is
    # squared.
    spread = (x.max(axes, keepdims=True) - x.min(axes, keepdims=True)) / s
    mean_slack = (u * np.abs(m) + SUM * np.abs(x).mean(axes, keepdims=True)) / s
    return z, 2 * mean_slack + np.abs(z) * (6 * u + SUM * spread**2 + mean_slack**2)


def standardise(rng, dtype, shape):
    x = normal(rng, dtype, *shape)
    z, slack = normalised(wide(x), 0, 0, UNIT[dtype])
    return {"x": x}, z, slack


def shares(s, s_slack, u):
    """softmax along the last axis of s, each element of which is off by s_slack: exp makes a
    relative slack of it."""
    distance = s - s.max(-1, keepdims=True)
    e = np.exp(distance)
    relative = 2 * s_slack + u * np.abs(distance) + 4 * u
    worst = (relative * e).sum(-1, keepdims=True) / e.sum(-1, keepdims=True)
    want = e / e.sum(-1, keepdims=True)
    # Below the least normal number digits are lost.
    return want, want * (relative + worst + SUM + 4 * u) + np.where(u > 2.0**-30, 2.0**-147, 0)


def softmax(rng, dtype, shape):
    x = normal(rng, dtype, *shape)
    want, slack = shares(wide(x), 0, UNIT[dtype])
    return {"x": x}, want, slack


def weighted(rng, dtype, x, axes, weights_shape):
    """normalised(x) * gain + bias, with the weights on axis 1."""
    gain, bias = normal(rng, dtype, *weights_shape), normal(rng, dtype, *weights_shape)
    u = UNIT[dtype]
    z, slack = normalised(wide(x), axes, 1e-5, u)
    lift = (...,) + (None,) * (x.ndim - 2) if len(axes) > 1 else (...,)
    g, b = wide(gain)[lift], wide(bias)[lift]
    want = z * g + b
    return gain, bias, want, slack * np.abs(g) + 2 * u * (np.abs(z * g) + np.abs(want))


def layernorm(rng, dtype, shape, weights=None):
    x = normal(rng, dtype, *shape)
    gain, bias, want, slack = weighted(rng, dtype, x, (1,), (weights or shape[1],))
    return {"x": x, "gain": gain, "bias": bias}, want, slack


def batch_norm(rng, dtype, shape, weights=None):
    x = normal(rng, dtype, *shape)
    gain, bias, want, slack = weighted(rng, dtype, x, (0, 2, 3), (weights or shape[1],))
    return {"x": x, "gain": gain, "bias": bias}, want, slack


def covariance(rng, dtype, shape):
    x = normal(rng, dtype, *shape)
    u = UNIT[dtype]
    w = wide(x)
    m = w.mean(0)
    d = w - m
    n = shape[0] - 1
    off = u * (np.abs(m) + np.abs(d)) + SUM * np.abs(w).mean(0)  # of a deviation
    product = np.abs(d).T @ np.abs(d)
    slack = np.abs(d).T @ off + off.T @ np.abs(d) + off.T @ off + (u + 2 * SUM) * product
    want = d.T @ d / n
    return {"x": x, "y": x.copy()}, want, slack / n + 2 * u * np.abs(want)


def histogram(rng, dtype, shape):
    if dtype == "u8":
        x = rng.integers(0, 256, shape).astype(np.uint8)
        edges = np.arange(0, 256, 15).astype(np.uint8)
    else:
        x = normal(rng, dtype, *shape)
        edges = np.linspace(-4, 10, 18).astype(TYPES[dtype])
    at = np.searchsorted(edges, x.ravel(), side="right") - 1
    want = np.bincount(at[(at >= 0) & (at < len(edges) - 1)], minlength=len(edges) - 1)
    return {"x": x, "low": edges[:-1].copy(), "high": edges[1:].copy()}, want, np.zeros(want.shape)


def cumulative_returns(rng, dtype, shape):
    r = (rng.standard_normal(shape) / np.sqrt(shape[0])).astype(TYPES[dtype])
    u = UNIT[dtype]
    growth = TYPES[dtype](1) + r  # rounded as the kernel rounds it
    product = np.cumprod(wide(growth), 0)
    days = np.arange(1, shape[0] + 1)[:, None]
    # Each product is off by 2^-53, here and there.
    return {"r": r}, product - 1, np.abs(product) * (2 * 2.0**-53 * days + u) + 2 * u * np.abs(product - 1)


def image_gamma(rng, dtype, shape, curves=None):
    image = rng.integers(0, 256, shape).astype(np.uint8)
    gamma = (0.4 + 2 * rng.random(curves or shape[2])).astype(np.float32)
    exact = 255 * (wide(image) / 255) ** wide(gamma)
    # A byte is right if it is one of the nearest, of which there are two at a tie: here within 255
    # * 8u.
    return {"image": image, "gamma": gamma}, exact, np.full(shape, 0.5 + 255 * 8 * UNIT["f32"])


def distance_matrix(rng, dtype, shape):
    rows, columns, dims = shape
    x, y = normal(rng, dtype, rows, dims), normal(rng, dtype, columns, dims)
    total = np.zeros((rows, columns))
    for k in range(dims):
        total += np.subtract.outer(wide(x)[:, k], wide(y)[:, k]) ** 2
    want = np.sqrt(total)
    return {"x": x, "y": y}, want, want * (5 * UNIT[dtype] + SUM)


def attention_scores(rng, dtype, shape):
    heads, queries, keys, depth = shape
    q, k = normal(rng, dtype, heads, queries, depth), normal(rng, dtype, heads, keys, depth)
    u = UNIT[dtype]
    s = wide(q) @ wide(k).transpose(0, 2, 1) / np.sqrt(depth)
    size = np.abs(wide(q)) @ np.abs(wide(k)).transpose(0, 2, 1) / np.sqrt(depth)
    want, slack = shares(s, size * (u + SUM) + 4 * u * np.abs(s), u)
    return {"q": q, "k": k}, want, slack


def table(n):
    """Shapes of about n elements: squarish and odd, a few long rows, many short ones, 4 rows of n,
    one row, one column."""
    side = max(2, int(n**0.5)) | 1
    return [(side, max(2, n // side)), (3, max(2, n // 3)), (max(2, n // 3), 3), (4, n), (n, 1)]


def rows(n):
    return [s for s in table(n)] + [(1, n)]


def pictures(n):
    if n < 100:
        return [(2, 5, 1, 1), (1, 2, 3, 2)]
    side = max(2, int((n / 6) ** 0.5)) | 1
    return [(2, 3, side, max(1, n // 6 // side)), (1, 3, 2, n // 6), (max(2, n // 48), 3, 4, 4), (2, max(2, n // 50), 5, 5)]


def images(n):
    side = max(1, int((n / 3) ** 0.5)) | 1
    return [(side, max(1, n // 3 // side), 3), (1, n, 1), (n // 4 + 1, 1, 4)]


def pairs(n):
    side = max(2, int(n**0.5)) | 1
    return [(side, max(1, n // side), 3), (3, max(1, n // 3), 5), (max(1, n // 7), 7, 2), (n, 1, 1)]


def heads(n):
    side = max(1, int((n / 3) ** 0.5)) | 1
    return [(3, side, max(1, n // 3 // side), 8), (1, 2, max(1, n // 2), 3), (max(1, n // 20), 4, 5, 16)]


def observations(n):
    return [(max(3, n // 3), 3), (max(3, n // 17), 17), (max(2, n), 1)] + ([] if n < 1000 else [(33, min(n // 33, 301))])


FLOATS = ["f32", "f64"]
KERNELS = {
    "standardise": (standardise, table, FLOATS),
    "softmax": (softmax, rows, FLOATS),
    "layernorm": (layernorm, rows, FLOATS),
    "batch_norm": (batch_norm, pictures, FLOATS),
    "covariance": (covariance, observations, FLOATS),
    "histogram": (histogram, rows, FLOATS + ["u8"]),
    "cumulative_returns": (cumulative_returns, rows, FLOATS),
    "image_gamma": (image_gamma, images, ["u8"]),
    "distance_matrix": (distance_matrix, pairs, FLOATS),
    "attention_scores": (attention_scores, heads, FLOATS),
}

# Those with weights, which may be a single one that is repeated.
STRETCHED = {"layernorm", "batch_norm", "image_gamma"}

# ---- layouts
# --------------------------------------------------------------------------------------- Each gives
# what is put into the file and the view that makes the array of it.


def reversed_dims(a):
    return a[(slice(None, None, -1),) * a.ndim], "[" + ", ".join(["::-1"] * a.ndim) + "]"


def stepped(a):
    steps = [2 + d % 2 for d in range(a.ndim)]
    # What lies between the elements is as large as they are, so that reading it shows.
    big = np.full([n * s for n, s in zip(a.shape, steps)], 77, a.dtype)
    big[tuple(slice(None, None, s) for s in steps)] = a
    return big, "[" + ", ".join("::%d" % s for s in steps) + "]"


def inside(a):
    big = np.full([n + 1 + d % 2 for d, n in enumerate(a.shape)], 77, a.dtype)
    big[tuple(slice(1 + d % 2, None) for d in range(a.ndim))] = a
    return big, "[" + ", ".join("%d:" % (1 + d % 2) for d in range(a.ndim)) + "]"


LAYOUTS = {
    "C": lambda a: (np.ascontiguousarray(a), ""),
    "F": lambda a: (np.asfortranarray(a), ""),
    "transposed": lambda a: (np.ascontiguousarray(a.T), ".T"),
    "reversed": reversed_dims,
    "stepped": stepped,
    "inside": inside,
}


def layouts_of(inputs, large):
    """All inputs in one layout, then each in another than its neighbours."""
    kinds = list(LAYOUTS)
    if large:
        kinds = ["C", "F", "reversed"]
    for kind in kinds:
        yield kind, {name: kind for name in inputs}
    if len(inputs) > 1:
        for first in (1, 3):
            cycle = itertools.islice(itertools.cycle(LAYOUTS), first, None)
            yield "mixed from " + list(LAYOUTS)[first], dict(zip(inputs, cycle))


# ---- running
# ---------------------------------------------------------------------------------------

ENGINES = [("1 thread", 1, {}), ("2 threads", 2, {}), ("AVX2", 2, {"BROADLOOM_TARGET": "x86-64-v3"})]


class Runner:
    def __init__(self, program, folder):
        self.program, self.folder, self.runs, self.elements = program, folder, 0, 0

    def run(self, text, sources, engine, threads, environment):
        out = os.path.join(self.folder, engine + ".npy")
        if os.path.exists(out):
            os.remove(out)  # what an earlier run left must not pass for a result
        output = text.split("out ")[1].split("=")[0].split("[")[0].strip()
        command = [self.program, "run", "-e", text, "--engine", "jit", "--threads", str(threads), "--out", output + "=" + out]
        for name, source in sources.items():
            command += ["--in", name + "=" + source]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
        self.runs += 1
        if done.returncode != 0:
            return None, "exit status %d: %s" % (done.returncode, done.stderr.strip().splitlines()[0][:200] if done.stderr.strip() else "")
        return np.load(out), None

    def check(self, text, inputs, want, slack, large):
        """What is wrong, one line for each layout and engine."""
        for kind, chosen in layouts_of(inputs, large):
            sources = {}
            for name, a in inputs.items():
                stored, view = LAYOUTS[chosen[name]](a)
                path = os.path.join(self.folder, name + ".npy")
                np.save(path, stored)
                sources[name] = path + view
            first = None
            with futures.ThreadPoolExecutor(1 if large else len(ENGINES)) as pool:
                results = list(pool.map(lambda engine: self.run(text, sources, *engine), ENGINES))
            for (engine, _, _), (got, error) in zip(ENGINES, results):
                place = "%s, %s, %s" % (" ".join("%s%s" % (n, list(a.shape)) for n, a in inputs.items()), kind, engine)
                error = error or compare(got, want, slack)
                if not error and first is not None and got.tobytes() != first.tobytes():
                    error = "other bytes than on 1 thread"
                if error:
                    yield place + ": " + error
                elif first is None:
                    first = got
                self.elements += want.size


def compare(got, want, slack):
    if got.shape != want.shape:
        return "shape %s, not %s" % (got.shape, want.shape)
    wrong = ~(np.abs(wide(got) - want) <= slack)  # a NaN is wrong, too
    if not wrong.any():
        return None
    at = np.unravel_index(np.argmax(wrong), wrong.shape)
    return "%d of %d elements are wrong, first %s: %r, not %r within %.3g" % (
        wrong.sum(), wrong.size, tuple(int(i) for i in at), float(got[at]), float(want[at]), float(slack[at]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("kernels", nargs="*", choices=[[], *KERNELS])
    parser.add_argument("--large", action="store_true", help="also 3*10^7 elements")
    options = parser.parse_args()
    failed = False
    for name in options.kernels or KERNELS:
        make, shapes, dtypes = KERNELS[name]
        with open(os.path.join(HERE, name + ".loom")) as file:
            original = file.read()
        sizes = [10, 1000, 100000] + ([30000000] if options.large else [])
        for dtype, size in itertools.product(dtypes, sizes):
            large = size > 1000000
            text = original if dtype == "u8" and name == "image_gamma" else original.replace("f32", dtype)
            wrong = []
            with tempfile.TemporaryDirectory() as folder:
                runner = Runner(options.program, folder)
                for k, shape in enumerate(shapes(size)[: 2 if large else None]):
                    rng = np.random.default_rng(1000 * k + size % 997)
                    inputs, want, slack = make(rng, dtype, shape)
                    wrong += runner.check(text, inputs, want, slack, large)
                    if name in STRETCHED:
                        inputs, want, slack = make(rng, dtype, shape, 1)
                        single = re.sub(r"(in (?:gain|bias|gamma) : \w+\[\w+)\]", r"\1=1]", text)
                        wrong += runner.check(single, inputs, want, slack, large)
            sentence = "%s of %s is right at %d elements (%d runs, %d elements compared)" % (
                name, dtype, size, runner.runs, runner.elements)
            print("not ok - %s: %s" % (sentence, wrong[0]) if wrong else "ok - " + sentence, flush=True)
            for line in wrong[1:20]:
                print("    " + line)
            if len(wrong) > 20:
                print("    and %d more" % (len(wrong) - 20))
            failed |= bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
