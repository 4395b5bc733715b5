"""mypy and pyright read the code on docs/python.md, by the stubs of the package. Tests are skipped
where they are not installed.

Type checkers take no `x: bl.f32["i", "j"]` as a type: parameters are declared as the page says for
them, by `Annotated[bl.Expr, bl.f32["i", "j"]]`.
"""

import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import typing
import unittest

import numpy as np

import broadloom as bl

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "python.md"
DECLARED = re.compile(r'(\w+): ((?:bl\.param\()?bl\.\w+(?:\[[^\]]*\])?(?:, "[^"]*")?\)?)')


def code_of_the_page() -> str:
    made = ["from typing import Annotated"]
    for block in re.findall(r"^```pycon\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S):
        lines = [line[4:] for line in block.split("\n") if line.startswith((">>> ", "... "))]
        if "Traceback" in block or any("da." in line or "import torch" in line or "import pandas" in line for line in lines):
            continue  # mistakes, and what other packages say of their own
        made += [re.sub(r"(def \w+\()(.*)(\):)", lambda m: m[1] + DECLARED.sub(r"\1: Annotated[bl.Expr, \2]", m[2]) + m[3], line).replace("# doctest", "# ")
                 for line in lines]
    return "\n".join(line for line in made if "norms(" not in line and "rows." not in line) + "\n"


class Types(unittest.TestCase):
    def check(self, command, folder):
        done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, cwd=folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def with_page(self, check):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "page.py").write_text(code_of_the_page())
            check(folder, str(pathlib.Path(bl.__file__).parents[1]))

    @unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy is not installed")
    def test_mypy_accepts_the_code_of_the_page(self):
        def check(folder, package):
            (pathlib.Path(folder) / "mypy.ini").write_text(f"[mypy]\nmypy_path = {package}\nfollow_imports = silent\n")
            self.check(["mypy", "page.py"], folder)

        self.with_page(check)

    @unittest.skipUnless(importlib.util.find_spec("pyright"), "pyright is not installed")
    def test_pyright_accepts_the_code_of_the_page(self):
        def check(folder, package):
            (pathlib.Path(folder) / "pyrightconfig.json").write_text(json.dumps({
                "extraPaths": [package], "include": ["page.py"], "pythonPlatform": "Linux", "reportPossiblyUnboundVariable": False, "reportUnusedExpression": False}))
            self.check(["pyright", "-p", ".", "--pythonpath", sys.executable], folder)

        self.with_page(check)

    def test_annotated_declares_an_input(self):
        @bl.kernel
        def f(x: typing.Annotated[bl.Expr, bl.f64["i", "j"]], by: typing.Annotated[bl.Expr, bl.f64]):
            return bl.sum(x, "j") * by

        np.testing.assert_array_equal(f(np.ones((2, 3)), 2), [6, 6])
        with self.assertRaises(bl.SpecError):
            @bl.kernel
            def g(x: typing.Annotated[bl.Expr, "i"]):
                return x


if __name__ == "__main__":
    unittest.main()
