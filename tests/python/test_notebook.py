"""Kernels in notebooks."""

import html.parser
import inspect
import pydoc
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

    def test_a_lazy_array_is_shown_with_its_kernel_and_an_input_with_its_values(self):
        x = bl.array(np.array([1.5, 2]))
        for lazy, words in ((x < 2, (x < 2).kernel.text), (x, "1.5")):
            page = Balanced()
            page.feed(lazy._repr_html_())
            self.assertEqual(page.open, [])
            self.assertIn(repr(lazy)[1:-1], page.said)
            self.assertIn(words, page.said)
            self.assertLess(len(lazy._repr_html_()), 1000)

    def test_help_and_signatures_of_kernels_say_dtypes_and_axes(self):
        k = bl.compile("kernel k { in x : f64[i, j]; param w : f32[3]; in by : i64; out z = x * by; out s = sum(w) }")
        self.assertEqual(str(inspect.signature(k)), "(x: f64[i, j], w: f32[j=3], by: i64, *, out=None) -> (z: f64[i, j], s: f32)")
        inspect.signature(k).bind(1, 2, by=3)
        shown = pydoc.render_doc(k, renderer=pydoc.plaintext)
        for words in (str(inspect.signature(k)), "w : f32[j=3], a parameter", "z : f64[i, j]", k.text.split("\n")[1]):
            self.assertIn(words, shown)
        example = next(line for line in shown.split("\n") if "= k(" in line).strip(" |")
        names = {"np": np, "k": k}
        exec(example, names)
        self.assertEqual((names["z"].shape, names["s"]), ((3, 3), 3))
        self.assertIn("A compiled kernel", bl.Kernel.__doc__)
        self.assertIn("grad", pydoc.render_doc(bl.Kernel, renderer=pydoc.plaintext))

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
                notebook.loom(bl.compile, line, cell, {})
