"""The peers of broadloom-bench in one process: requests on standard input, answers on standard output.

One JSON object a line; ../peers.hpp says which. Each library has a module NAME_peer.py beside this file:

  VERSION   a string
  CASES     {key: build}, build(inputs, outputs) -> call. `call()` does the whole work and returns when it is done:
            None where it has filled `outputs` (NumPy arrays), else a list of arrays.
  FIRST     {key: call}, call(inputs, serial) compiles something new and runs it once; returns a list of arrays

Arrays lie in memory with huge pages, aligned to 2 MB, as those of the benchmark do.
"""
import importlib
import json
import mmap
import os
import sys
import time
import traceback

NAMES = ["numpy", "numexpr", "numba", "jax", "halide", "drjit"]


def aligned(elements, dtype):
    """A new one-dimensional array of zeros in huge pages."""
    import numpy

    page = 2 << 20
    count = max(elements * dtype.itemsize, 1)
    memory = mmap.mmap(-1, (count + 2 * page) // page * page, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_HUGEPAGE)
    raw = numpy.frombuffer(memory, dtype=numpy.uint8)
    start = -raw.ctypes.data % page if count >= page else -raw.ctypes.data % 64
    raw[:] = 0
    return raw[start : start + elements * dtype.itemsize].view(dtype)


def loaded(file):
    import numpy

    array = numpy.load(file)
    if array.dtype.kind == "V":  # bf16, which .npy files know as two bytes
        import ml_dtypes

        array = array.view(ml_dtypes.bfloat16)
    return array


def strided(file, strides):
    """The array of a file in new memory, with these strides (in elements)."""
    import numpy

    source = loaded(file)
    longest = max([n * s for n, s in zip(source.shape, strides)] + [source.size])
    memory = aligned(longest, source.dtype)
    view = numpy.lib.stride_tricks.as_strided(
        memory, source.shape, [s * source.itemsize for s in strides])
    view[...] = source
    return view


def difference(theirs, ours):
    """As bench::difference in ../run_case.hpp, a piece at a time."""
    import numpy

    theirs, ours = numpy.asarray(theirs), numpy.asarray(ours)
    if theirs.size != ours.size:
        return 1e30
    a, b, piece = theirs.reshape(-1), ours.reshape(-1), 1 << 22
    pieces = [slice(k, k + piece) for k in range(0, a.size, piece)]
    wide = [b[p].astype(numpy.float64) for p in pieces] if a.size <= 1 << 24 else None
    get = (lambda k: wide[k]) if wide else (lambda k: b[pieces[k]].astype(numpy.float64))
    size = (sum(float((get(k) ** 2).sum()) for k in range(len(pieces))) / max(b.size, 1)) ** 0.5
    worst = 0.0
    for k, p in enumerate(pieces):
        y = get(k)
        off = numpy.abs(a[p].astype(numpy.float64) - y)
        off /= numpy.maximum(numpy.abs(y), max(size, 1e-300))
        worst = max(worst, float(off.max(initial=0.0)))
        if numpy.isnan(off).any():
            return 1e30
    return min(worst, 1e30)


def message(error):
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]


class Driver:
    def __init__(self):
        self.modules, self.calls = {}, {}
        # Serials differ between runs too, as some libraries keep a cache on disk; below 2^24, to be exact in f32.
        self.serial = time.time_ns() // 1000 % 16000000

    def hello(self, _):
        missing = []
        for name in NAMES:
            try:
                self.modules[name] = importlib.import_module(name + "_peer")
            except Exception as error:  # whatever it is, the others go on, and the benchmark says so
                missing.append(f"{name}: {message(error)}")
        return {"peers": [f"{name} {m.VERSION}" for name, m in self.modules.items()],
                "missing": missing}

    def case(self, request):
        import numpy

        inputs = [strided(i["file"], i["strides"]) for i in request["inputs"]]
        expected = [loaded(file) for file in request["outputs"]]
        key, answers = request["case"], []
        for name, module in self.modules.items():
            table = module.FIRST if request["first"] else module.CASES
            if key not in table:
                continue
            answer = {"name": name}
            answers.append(answer)
            try:
                if request["first"]:
                    self.calls[name] = lambda f=table[key]: f(inputs, self.next_serial())
                    results = None  # the serial differs from ours, and so does the result
                    self.calls[name]()
                else:
                    outputs = [aligned(e.size, e.dtype).reshape(e.shape) for e in expected]
                    self.calls[name] = table[key](inputs, outputs)
                    results = self.calls[name]()
                    results = outputs if results is None else results
                error = 0.0
                for theirs, ours in zip(results or [], expected, strict=results is not None):
                    error = max(error, difference(theirs, ours))
                answer["error"] = error
                answer["status"] = "ok" if error <= request["tolerance"] else "wrong"
            except Exception as error:
                traceback.print_exc()
                answer["status"], answer["note"] = "failed", message(error)
        return {"peers": answers}

    def next_serial(self):
        self.serial += 1
        return self.serial

    def round(self, request):
        call, repeat = self.calls[request["round"]], request["repeat"]
        start = time.perf_counter()
        for _ in range(repeat):
            call()
        return {"seconds": (time.perf_counter() - start) / repeat}

    def drop(self, _):
        self.calls.clear()
        return {}


def main():
    # Libraries may print; what they print must not get in between the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    driver = Driver()
    for line in sys.stdin:
        request = json.loads(line)
        verb = next(v for v in ("hello", "case", "round", "drop") if v in request)
        try:
            answer = getattr(driver, verb)(request)
        except Exception as error:
            traceback.print_exc()
            answer = {"error": message(error)}
        answers.write(json.dumps(answer) + "\n")


main()
