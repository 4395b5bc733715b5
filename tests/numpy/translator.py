"""Tests spec_to_numpy.py against a program: what is right passes, and one wrong element is seen.

    python3 tests/numpy/translator.py BROADLOOM
"""
import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

import spec_to_numpy

# A sentence, the kernel, its inputs, and how many of the elements must be decided, of 100.
CASES = [
    ("arithmetic and functions of floats", "in x : f32[i, j]; in y : f32[j]; out a = exp(x * y) / (1 + abs(sin(y))) - tanh(x)",
     {"x": (17, 33), "y": (33,)}, 100),
    ("operands of other layouts and orders", "order c; in x : f64[:, :]; in y : f64[:]; in t : f64[:, :] axes(1, 0); out a = x * y + t",
     {"x": (5, 7), "y": (5,), "t": (7, 5)}, 100),
    ("integers that wrap, divide by zero and shift too far",
     "in x : i8[i]; in y : i8[i]; out a = x * y - (x // y) % 7; out b = (x << y) + (x >> y); out c = x ^ y; out d = u16(f32(x)) + u8(y)",
     {"x": (500,), "y": (500,)}, 100),
    ("folds along rows, columns and all", "in x : f32[i, j]; out a = x / sum(x, j); out b = var(x, i); out c = norm(x); out d = argmax(x, j);"
     "out e = logsumexp(x, j); out f = min(x, i); out g = any(x > 2.5, j); out h = std(x, j, correction=1); out p = prod(x, j)",
     {"x": (40, 300)}, 99),
    ("modes", "in x : f64[i, j]; in y : f64[i]; out a = accumulate(sum) x * x * y; out r = reduce(max) x - y; out b[j, i] = broadcast x * y;"
     "out s[] = reduce(sum) x * y; out l = broadcast(like=x) y; out n = sum(x, like=y)", {"x": (30, 50), "y": (30,)}, 100),
    ("scans", "in x : f32[i, j]; out a = scan(sum, x, j); out b = scan(max, x, i, reverse); out c = scan(sum, x, j, exclusive, init=10);"
     "out d = scan(mean, x, j); out e = scan(prod, 1 + x / 1000, i)", {"x": (60, 70)}, 99),
    ("an accumulator of the user's", "in x : f64[i, j]; out a = damped(x, j); out b = scan(damped, x, i, reverse); out c = damped(x, i, init=3)",
     {"x": (20, 90)}, 100),
    ("types, choices and positions", "in x : i16[i]; in y : f16[i]; out a = x + y; out b = where(iota(i) % 3 == 0, x, 2 * y); out c : bf16 = y / 3;"
     "out d = extent(i) * x; out e = x / 4; out f = x > y && y != 0", {"x": (200,), "y": (200,)}, 100),
    ("windows", "in x : f64[:, :]; in w : f64[u, v]; out a = sum(x[i + u, 2*j - v + 2] * w, u, v); out b = x[-k, 3] - x[k, -1];"
     "out c = x[p, p + 4]; out d = scan(max, x[3*q + 1, m], m)", {"x": (20, 24), "w": (3, 2)}, 99),
    ("lets that are read at positions, on axes of their own", "in x : f64[:, :]; in w : f64[u, v]; let q = x[i + 1, j] - x[i, j];"
     "let s[j, i] = sum(q[i + u, 2*j + v] * w, u, v); out a = q[i + 1, j] + q[i, j + 2]; out b = q; out c[l, k] = s[k, -l] * s[k, l];"
     "out d = scan(sum, s[m, 2], m)", {"x": (20, 24), "w": (3, 2)}, 99),
    ("lets of inputs without labels, in their dtype", "order c; in x : f16[:, :]; in y : f32[:]; let q = x * x / 3; let t = sum(x * y, 1);"
     "let n = argmax(x, 1); out a = q[i + 1, j + 1] - q[i, j]; out b = t[i] * t[-i]; out c = n[k + 1] - n[k]", {"x": (12, 12), "y": (12,)}, 99),
    ("lets with listed dims beside labels", "in x : f32[i, j]; let h[j, i] = x * 3; let g[i, j] = h * h; let m[j] = max(g, i);"
     "out a = g[i, 0] + m[-1]; out b = sum(h[b, a] * h[b, a + 1], a); out c = broadcast(like=x) m; out d = iota(j) * g", {"x": (9, 14)}, 99),
    ("gathers", "in x : f64[:, :]; in k : i8[n]; out a = x[wrap(k[n]), j] - x[clip(2*k[n] + 1), j]; out b = sum(x[wrap(k[n] + r), wrap(k[r])], r);"
     "out c = x[wrap(k[wrap(k[n])]), 3] * k", {"x": (20, 24), "k": (30,)}, 99),
    ("padded windows", "in x : f64[:, :]; in w : f64[u, v]; in z : i16[k]; out a = sum(pad(x, 0: (1, 1), 1: (1, 0), edge)[i + u, j + v] * w, u, v);"
     "out b = pad(x, 0: (3, 45), wrap)[2*p, 3] - pad(pad(x, 0: (2, 0)), 1: (0, 50), reflect)[-1, q]; out c = pad(z, k: (7, 2), reflect)[m] + pad(z, k: (4, 5), -3)[m]",
     {"x": (20, 24), "w": (3, 2), "z": (5,)}, 99),
    ("lets that are padded", "in x : f32[:, :]; let q[i, j] = exp(x[i, j] / 4); out a = pad(q, 0: (1, 1), edge)[m + 1, n] - pad(q, 0: (2, 0), 7)[m, n];"
     "out b = sum(pad(q, 0: (1, 1), 1: (1, 1))[r + 2, s + 1], s)", {"x": (9, 8)}, 99),
]
ACCUMULATOR = "accumulator damped(a; m) { init a = 0; step a = 0.5 * a + m }\n"
TYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i8": np.int8, "i16": np.int16}


def data(rng, dtype, shape):
    if dtype[0] == "i":
        return rng.integers(-120, 120, shape).astype(TYPES[dtype])
    return (3 * rng.standard_normal(shape)).astype(TYPES[dtype])


def checked(folder):
    """The exit status, and the share of elements that were decided."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        status = spec_to_numpy.check_folder(folder)
    lines = said.getvalue()
    right = sum(int(n) for n in re.findall(r"(\d+) elements are right", lines))
    undecided = sum(int(n) for n in re.findall(r"(\d+) are undecided", lines))
    return status, 100 * right / max(right + undecided, 1), lines


def trial(program, body, shapes, share, folder):
    """What is wrong, or nothing."""
    text = ACCUMULATOR + "kernel k {\n" + body.replace(";", "\n") + "\n}\n"
    with open(os.path.join(folder, "kernel.loom"), "w") as file:
        file.write(text)
    rng = np.random.default_rng(1)
    command = [program, "run", os.path.join(folder, "kernel.loom")]
    for name, shape in shapes.items():
        np.save(os.path.join(folder, name + ".npy"), data(rng, re.search("in %s : (\\w+)" % name, body)[1], shape))
        command += ["--in", "%s=%s" % (name, os.path.join(folder, name + ".npy"))]
    outputs = re.findall(r"out (\w+)", body)
    for name in outputs:
        command += ["--out", "%s=%s" % (name, os.path.join(folder, name + ".npy"))]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return done.stderr
    status, decided, lines = checked(folder)
    if status or "refused" in lines or decided < share:
        return "status %d, %.1f of 100 elements decided\n%s" % (status, decided, lines)
    for name in outputs:  # one element of each becomes wrong in turn
        path = os.path.join(folder, name + ".npy")
        right = np.load(path)
        wrong = right.copy().reshape(-1)
        at = wrong.size // 2
        bits = wrong.view("u%d" % wrong.itemsize)
        bits[at] ^= 1 if wrong.dtype.kind in "biu" else 1 << (wrong.itemsize * 8 - 12)
        np.save(path, wrong.reshape(right.shape))
        if checked(folder)[0] != 1 and share == 100:
            return "a wrong element of %s is not seen" % name
        np.save(path, right)
    return None


def main(program):
    failed = False
    for sentence, body, shapes, share in CASES:
        with tempfile.TemporaryDirectory() as folder:
            error = trial(program, body, shapes, share, folder)
        print("not ok - %s: %s" % (sentence, error) if error else "ok - the translation computes " + sentence, flush=True)
        failed |= bool(error)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
