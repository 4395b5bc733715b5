"""The examples of README.md, docs/python.md and docs/coming_from.md, as doctest reads them. JAX,
torch and dask are among them: see test_with_jax.py."""

import doctest
import importlib.util
import pathlib
import re
import sys
import unittest

DOCS = pathlib.Path(__file__).parents[2] / "docs"
PAGES = [DOCS / "python.md", DOCS / "coming_from.md"]
README = DOCS.parent / "README.md"


class Page(unittest.TestCase):
    def test_the_examples_on_the_pages_do_what_they_say(self):
        for page, least in [(README, 1), *((page, 6) for page in PAGES)]:
            with self.subTest(page.name):
                self.run_page(page, least)

    def run_page(self, page, least):
        text = page.read_text(encoding="utf-8")
        runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
        names, said = {}, []
        blocks = list(re.finditer(r"^```pycon\n(.*?)^```$", text, re.M | re.S))
        self.assertGreaterEqual(len(blocks), least)
        for block in blocks:
            missing = [name for name in re.findall(r">>> import (torch|jax|dask|pandas|xarray)\b", block[1]) if importlib.util.find_spec(name) is None]
            if missing:
                print(f"SKIPPED: {missing[0]} is not installed, so its example on {page.name} is not run", file=sys.stderr, flush=True)
                continue
            line = text[: block.start(1)].count("\n")
            test = doctest.DocTestParser().get_doctest(block[1], names, page.name, str(page), line)
            runner.run(test, out=said.append, clear_globs=False)
            names = test.globs
        self.assertEqual(runner.summarize(verbose=False).failed, 0, "".join(said))

    def test_other_blocks_are_shell_commands(self):
        kinds = {kind for page in PAGES for kind in re.findall(r"^```(\w+)$", page.read_text(encoding="utf-8"), re.M)}
        self.assertEqual(kinds, {"pycon", "sh"})
