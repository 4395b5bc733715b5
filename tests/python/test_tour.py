"""docs/tour.ipynb: its cells run in order and print what it says.

With BROADLOOM_BLESS=1 it is written anew, with what they print now. Of cells with the tag `varies`
only that they run is tested.
"""

import ast
import contextlib
import io
import json
import os
import pathlib
import unittest

import broadloom as bl

TOUR = pathlib.Path(__file__).parents[2] / "docs" / "tour.ipynb"


class Shell:
    """Of IPython what the cells need: a namespace, magics, and that the value of a last expression
    is shown."""

    def __init__(self):
        self.user_ns, self.magics = {"__name__": "__main__"}, {}

    def register_magic_function(self, function, kind, name):
        self.magics[kind, name] = function

    def run(self, source: str, name: str):
        """What is printed, and the text of the value that is shown, or None."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            value = self._value(source, name)
        return printed.getvalue(), None if value is None else repr(value)

    def _value(self, source, name):
        if source.startswith("%%"):
            first, _, cell = source.partition("\n")
            magic, _, line = first[2:].partition(" ")
            return self.magics["cell", magic](line, cell)
        lines = source.split("\n")
        for k, line in enumerate(lines):
            if line.startswith("%load_ext "):
                __import__(line.split()[1]).load_ipython_extension(self)
                lines[k] = ""
        body = ast.parse("\n".join(lines), name)
        last = body.body.pop() if isinstance(body.body[-1], ast.Expr) else None
        exec(compile(body, name, "exec"), self.user_ns)
        return last and eval(compile(ast.Expression(last.value), name, "eval"), self.user_ns)


def outputs_of(printed, value, count):
    outputs = [{"name": "stdout", "output_type": "stream", "text": printed.splitlines(True)}] if printed else []
    if value is not None:
        outputs.append({"data": {"text/plain": value.splitlines(True)}, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
    return outputs


class Tour(unittest.TestCase):
    def test_the_cells_of_the_tour_print_what_it_says(self):
        book = json.loads(TOUR.read_text(encoding="utf-8"))
        cells = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
        self.assertEqual((book["nbformat"], len(cells)), (4, 10))
        self.assertEqual(len({cell["id"] for cell in book["cells"]}), len(book["cells"]))
        shell = Shell()
        for count, cell in enumerate(cells, 1):
            with self.subTest(cell=count):
                made = outputs_of(*shell.run("".join(cell["source"]), f"<cell {count}>"), count)
                if os.environ.get("BROADLOOM_BLESS") == "1":
                    cell.update(outputs=made, execution_count=count)
                elif "varies" not in cell["metadata"].get("tags", []):
                    self.assertEqual((cell["outputs"], cell["execution_count"]), (made, count))
        self.assertIs(type(shell.user_ns["frozen"]), bl.Kernel)
        if os.environ.get("BROADLOOM_BLESS") == "1":
            TOUR.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    def test_what_is_shown_in_the_tour_leads_to_pages_that_are_there(self):
        book = json.loads(TOUR.read_text(encoding="utf-8"))
        text = "".join("".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "markdown")
        links = [part.split(")")[0] for part in text.split("](")[1:]]
        self.assertGreater(len(links), 5)
        for link in links:
            page, _, heading = link.partition("#")
            headings = [line.lstrip("# ").lower().replace(" ", "-").replace("'", "").replace(",", "")
                        for line in (TOUR.parent / page).read_text(encoding="utf-8").splitlines() if line.startswith("#")]
            self.assertTrue(not heading or heading in headings, link)
