"""bl.bench."""

import time
import unittest
import xml.dom.minidom

import numpy as np

import broadloom as bl


class Benchmarks(unittest.TestCase):
    def test_times_are_those_of_calls(self):
        slow = bl.bench(time.sleep, 0.004, seconds=0.1)
        self.assertTrue(0.004 <= slow.median < 0.02)
        self.assertEqual(slow.name, "sleep")
        self.assertGreaterEqual(len(slow.times), 5)
        self.assertLessEqual(slow.percentile(10), slow.median)
        self.assertIsNone(slow.roofline)
        quick = bl.bench(lambda: None, seconds=0.02)
        self.assertLess(quick.median, 1e-5)
        self.assertGreater(quick.calls, 10)

    def test_a_kernel_is_held_against_its_roofline(self):
        k = bl.compile("kernel saxpy { in x : f64[i]; in a : f64; out z = a * x + 1 }", threads=1)
        x, z = np.ones(1 << 20), np.empty(1 << 20)
        for found in (bl.bench(k, x, a=2.0, seconds=0.1), bl.bench(k, x, a=2.0, out=z, seconds=0.1)):
            self.assertEqual(found.bytes, 2 * 8 << 20)
            self.assertAlmostEqual(found.bandwidth * found.median, found.bytes)
            self.assertGreater(found.roofline, 0)
        self.assertEqual(z[7], 3)
        interpreted = bl.compile("kernel k { in x : f64[i]; out z = x }", engine="interpreter")
        self.assertIsNone(bl.bench(interpreted, x[:10], seconds=0.01).roofline)

    def test_a_table_has_a_row_for_each(self):
        k = bl.compile("kernel twice { in x : f64[i]; out z = 2 * x }")
        x = np.ones(1000)
        table = bl.bench(k, x, seconds=0.02).beside(bl.bench(np.multiply, 2, x, seconds=0.02, name="<NumPy>"))
        head, ours, theirs = str(table).splitlines()
        self.assertEqual(head.split()[:4], ["name", "median", "p10", "p90"])
        self.assertTrue(ours.startswith("twice ") and theirs.startswith("<NumPy> "))
        self.assertIn("1.00", str(table))
        page = xml.dom.minidom.parseString(table._repr_html_())
        self.assertEqual(len(page.getElementsByTagName("svg")), 2)
        self.assertEqual(len(page.getElementsByTagName("tr")), 3)
        self.assertEqual(str(bl.bench(k, x, seconds=0.01)).count("\n"), 1)

    def test_a_bench_of_no_time_is_a_mistake(self):
        self.assertRaises(bl.ArgumentError, bl.bench, time.sleep, 0, seconds=0)
