"""Kernels in notebooks."""

import html.parser
import unittest

import numpy as np

import broadloom as bl
from broadloom import notebook

TEXT = "# kernel no { }\nkernel one { in x : f64[i]; out z = x + 1 }\nkernel two { in x : f64[i]; out z = x < 2 ? x : 0 }\n"


class Shell:
    """What `%load_ext` and a cell need of IPython."""

    def __init__(self):
        self.magics, self.user_ns = {}, {}

    def register_magic_function(self, function, kind, name):
        self.magics[kind, name] = function


class Balanced(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.said, self.pages = [], "", []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.pages += [value for name, value in attrs if name == "srcdoc"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.said += data


class Notebooks(unittest.TestCase):
    def test_a_kernel_is_shown_with_its_text_its_loops_and_its_graph(self):
        k = bl.compile(TEXT, "two")
        for _ in range(2):  # before a call and after it
            page = Balanced()
            page.feed(k._repr_html_())
            self.assertEqual(page.open, [])
            for words in ("broadloom.Kernel two(x: f64[i]) -> z: f64[i]", k.text, k.show("loop")):
                self.assertIn(words, page.said)
            self.assertEqual(page.pages, [k.show("graph", graph="html")])
            k(np.ones(3))

    def test_a_cell_of_kernels_gives_each_its_name(self):
        shell = Shell()
        bl.load_ipython_extension(shell)
        magic = shell.magics["cell", "loom"]
        self.assertEqual(magic("", TEXT).name, "two")
        self.assertEqual(sorted(shell.user_ns), ["one", "two"])
        np.testing.assert_array_equal(shell.user_ns["one"](np.ones(3)), [2, 2, 2])
        self.assertEqual(magic("one --threads 1 --engine interpreter", TEXT).engine, "interpreter")
        self.assertEqual(shell.user_ns["one"].threads, 1)
        with self.assertRaisesRegex(bl.DataError, "E0319"):
            magic("--debug", "kernel roots { in x : f64[i]; out z = sqrt(x) }")(-np.ones(1))
        for line, cell, kind in (("", "kernel k {", bl.SpecError), ("", "", bl.SpecError), ("three", TEXT, bl.Error),
                                 ("--thread x", TEXT, bl.ArgumentError), ("--engine none", TEXT, bl.ArgumentError)):
            with self.assertRaises(kind):
                notebook.loom(line, cell, {})
