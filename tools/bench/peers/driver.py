"""The peers of broadloom-bench in one process: requests on standard input, answers on standard
output.

One JSON object a line; ../peers.hpp says which. Each library has a module NAME_peer.py beside this
file:

  VERSION   a string
  CASES     {key: build}, build(inputs, outputs) -> call. `call()` does the whole work and returns when it is done:
            a list of arrays, or anything else where it has filled `outputs` (NumPy arrays).
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

NAMES = ["numpy", "numexpr", "numba", "jax", "halide", "drjit", "torch"]


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


class Expected:
    """Our result, to which those of all peers are compared as bench::difference does
    (../run_case.hpp)."""

    def __init__(self, file):
        import numpy

        array = loaded(file)
        self.shape, self.dtype, self.size = array.shape, array.dtype, array.size
        # Neighbouring f32 have an exact difference, so f32 is enough for f32.
        self.work = array.dtype if array.dtype == numpy.float32 else numpy.dtype(numpy.float64)
        self.ours = array.reshape(-1).astype(self.work)
        self.scale = numpy.abs(self.ours)
        square = numpy.dot(self.ours, self.ours) / max(self.size, 1)
        numpy.maximum(self.scale, max(square**0.5, 1e-30), out=self.scale)

    def difference(self, theirs):
        import numpy

        theirs = numpy.asarray(theirs).reshape(-1)
        if theirs.size != self.size:
            return 1e30
        off = theirs.astype(self.work, copy=False) - self.ours
        numpy.abs(off, out=off)
        off /= self.scale
        worst = float(off.max(initial=0.0))  # a NaN wins
        return worst if worst < 1e30 else 1e30


def message(error):
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]


class Driver:
    def __init__(self):
        self.modules, self.calls = {}, {}
        # Serials differ between runs too, as some libraries keep a cache on disk; below 2^24, to be
        # exact in f32.
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
        expected = [Expected(file) for file in request["outputs"]]
        key, answers = request["case"], []
        for name, module in self.modules.items():
            table = module.FIRST if request["first"] else module.CASES
            if key not in table:
                continue
            answer = {"name": name}
            answers.append(answer)
            error = 0.0
            try:
                if request["first"]:  # the serial differs from ours, and so does the result
                    self.calls[name] = lambda f=table[key]: f(inputs, self.next_serial())
                    self.calls[name]()
                else:
                    outputs = [aligned(e.size, e.dtype).reshape(e.shape) for e in expected]
                    self.calls[name] = table[key](inputs, outputs)
                    returned = self.calls[name]()
                    results = returned if isinstance(returned, list) else outputs
                    for theirs, ours in zip(results, expected, strict=True):
                        error = max(error, ours.difference(theirs))
                answer["error"] = error
                answer["status"] = "ok" if error <= request["tolerance"] else "wrong"
            except Exception as failure:
                traceback.print_exc()
                answer["status"], answer["note"] = "failed", message(failure)
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
