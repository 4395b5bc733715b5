"""Tries a wheel that is installed beside NumPy, numba and JAX: `wheel.py WHEEL`. `./dev wheel` runs
it in a fresh venv.

numba and JAX have an LLVM of their own, and numba a oneTBB where one is installed: no order of
imports may make them clash.
"""

import os
import subprocess
import sys
import sysconfig
import zipfile

# What each library does once all of them are imported.
USES = {
    "numpy": ("import numpy as np", "assert abs(np.linalg.inv(np.eye(50) * 2)[7, 7] - 0.5) < 1e-15"),
    "numba": ("import numba", """
@numba.njit(parallel=True)
def total(x):
    s = 0.0
    for i in numba.prange(len(x)):
        s += x[i] ** 2
    return s
assert abs(total(np.arange(1e5)) - (np.arange(1e5) ** 2).sum()) < 1e3"""),
    "jax": ("import jax", """
x = jax.jit(lambda x: jax.numpy.exp(x).sum())(np.ones(1000, "f4"))
assert abs(float(x) - 1000 * np.e) < 0.1"""),
    "broadloom": ("import broadloom as bl", """
k = bl.compile("kernel k { in x : f64[i, j]; let e = exp(x - max(x, j)); out p = e / sum(e, j) }")
x = np.random.default_rng(1).normal(size=(2000, 300))
e = np.exp(x - x.max(1, keepdims=True))
assert np.allclose(k(x), e / e.sum(1, keepdims=True), rtol=1e-13) and k.engine == "jit"
try:
    bl.compile("kernel k { in x : f64[i]; out z = y }")
except bl.SpecError as error:
    assert "y" in error.message
else:
    raise AssertionError("no error came")
assert np.allclose((bl.array(x) * 2).sum(axis=0).compute(), x.sum(0) * 2)"""),
}


def runs(order) -> str:
    program = "\n".join(["import numpy as np"] * ("numpy" not in order[:1]) + [USES[name][0] for name in order] +
                        [USES[name][1] for name in order] + [USES[name][1].replace("total", "again") for name in reversed(order)])
    environment = {**os.environ, "BROADLOOM_CACHE": "0", "BROADLOOM_STRICT": "1"}
    environment.pop("LD_LIBRARY_PATH", None)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    return "" if done.returncode == 0 else f"exit status {done.returncode}\n{done.stderr}"


def says(*command) -> str:
    """What a command prints; it must end well."""
    environment = {**os.environ, "BROADLOOM_CACHE": "0", "BROADLOOM_STRICT": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    return done.stdout if done.returncode == 0 else f"exit status {done.returncode}\n{done.stdout}{done.stderr}"


def differs(said, wanted) -> str:
    return "" if said == wanted else f"it printed {said!r}, not {wanted!r}"


def main():
    wheel = sys.argv[1]
    failed = 0

    def verdict(sentence, wrong):
        nonlocal failed
        print(f"{'not ok' if wrong else 'ok'} - wheel: {sentence}" + (f"\n{wrong}" if wrong else ""), flush=True)
        failed += bool(wrong)

    size = os.path.getsize(wheel)
    verdict(f"{os.path.basename(wheel)} has {size / 1e6:.1f} MB, less than 60", "" if size < 60e6 else "it is larger")
    names = zipfile.ZipFile(wheel).namelist()
    verdict("it has oneTBB and no LLVM beside the extension", "" if any("libtbb" in name for name in names)
            and not any("libLLVM" in name for name in names) else "\n".join(names))
    stable = "-cp312-abi3-" if sys.version_info >= (3, 12) else f"-cp3{sys.version_info[1]}-cp3{sys.version_info[1]}-"
    verdict(f"its name has {stable}", differs(stable in wheel, True))
    line = "2 * 3 + 1"
    for name, program in (("broadloom", [os.path.join(sysconfig.get_path("scripts"), "broadloom")]),
                          ("python -m broadloom", [sys.executable, "-m", "broadloom"])):
        verdict(f"`{name} -c` is the program", differs(says(*program, "-c", line), "7\n"))
        run = says(*program, "run", "-e", "kernel k { in x : f32[i]; out z = sum(exp(x)) }", "--in", "x=zeros(3)", "--check")
        verdict(f"`{name} run` makes machine code", differs(run.splitlines()[:2], ["z: f32", "3.0"]))
    for order in (("numpy", "numba", "jax", "broadloom"), ("broadloom", "jax", "numba", "numpy"),
                  ("numba", "broadloom", "jax", "numpy"), ("jax", "broadloom", "numba", "numpy")):
        verdict(f"imported as {', '.join(order)}, each computes", runs(order))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
