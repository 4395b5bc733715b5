"""The pictures of docs/gallery.md are what its kernels compute, and each of them has its section,
its picture and its times."""

import importlib.util
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).parents[2]


def load():
    spec = importlib.util.spec_from_file_location("gallery", ROOT / "tests" / "docs" / "gallery.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Gallery(unittest.TestCase):
    def test_the_pictures_of_the_gallery_are_what_its_kernels_compute(self):
        self.assertEqual(load().different(), [])

    def test_another_picture_is_told(self):
        gallery = load()
        made = gallery.png(gallery.shaded([[0, 1], [2, 3]]))
        self.assertTrue(gallery.same(made, made))
        self.assertFalse(gallery.same(made, gallery.png(gallery.shaded([[0, 1], [3, 2]]))))

    def test_each_kernel_of_the_gallery_has_a_picture_a_listing_and_times(self):
        text = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
        kernels = re.findall(r"^# (\w+)\.loom$", text, re.M)
        self.assertEqual(len(kernels), 12)
        for section in text.split("\n## ")[1:]:
            with self.subTest(section.splitlines()[0]):
                name, = re.findall(r"^# (\w+)\.loom$", section, re.M)
                self.assertEqual(re.findall(r"\]\(gallery/(\w+)\.(?:png|svg)\)", section), [name])
                listing, = re.findall(r"^```console\n(.*?)^```$", section, re.M | re.S)
                self.assertGreater(len(listing.splitlines()), 2)
                row, = re.findall(rf"^\| {name} \|.*\| ([\d.e+]+) ms \|", text, re.M)
                self.assertGreater(float(row), 0)
        files = {path.name for path in (ROOT / "docs" / "gallery").iterdir()}
        self.assertEqual(files, set(re.findall(r"\]\(gallery/(\w+\.\w+)\)", text)))


if __name__ == "__main__":
    unittest.main()
