"""Folds block by block, from Python."""

import pickle
import unittest

import numpy as np

import broadloom as bl


class Blocks(unittest.TestCase):
    def setUp(self):
        rng = np.random.default_rng(5)
        self.x = rng.normal(size=20000) * 10.0 ** rng.integers(-8, 8, 20000)

    def test_blocks_have_the_bits_of_one_call(self):
        k = bl.compile("kernel k { in x : f64[j]; in y : f64; out v = var(x, j); out m = mean(x, j) * y; out a = argmax(x, j) }")
        whole = k(self.x, 2.0)
        self.assertEqual(k.unit("j", self.x, 2.0), 4096)
        self.assertEqual(k._unit("j", [(20000,), ()]), 4096)
        borders = [0, 4096, 3 * 4096, 20000]
        blocks = [k.partial("j", a, self.x[a:b].copy(), y=2.0) for a, b in zip(borders, borders[1:])]
        self.assertEqual([len(block.pieces) for block in blocks], [1, 2, 2])
        for got in (k.combine(blocks, y=2.0), k.combine(reversed(blocks), y=np.float64(2)),
                    k.combine([blocks[0], k.join(blocks[1:])], y=2),
                    k.combine(pickle.loads(pickle.dumps(blocks)), y=2.0)):
            self.assertEqual(got._asdict(), whole._asdict())

    def test_a_gradient_of_blocks_needs_no_cotangent_of_a_loss(self):
        k = bl.compile("kernel k { in x : f64[n, p]; in w : f64[p]; out l = sum((sum(x * w, p)) ^ 2) }").value_and_grad("w")
        x, w = self.x.reshape(10000, 2), self.x[:2]
        l, d_w = k(x, w)
        blocks = [k.partial("n", a, x[a:a + 8192], w) for a in (0, 8192)]
        got = k.combine(blocks, w=w)
        np.testing.assert_array_equal(got.d_w, d_w)
        np.testing.assert_array_equal(got.l, l)

    def test_folds_of_folds_go_in_rounds(self):
        k = bl.compile("kernel k { in x : f64[j]; in before : f64; let d = x - mean(x, j) * before; out s = mean(d ^ 3, j) / mean(d ^ 2, j) ^ 1.5; out m = max(x - mean(d, j), j) }")
        whole = k(self.x, 1.5)
        self.assertEqual(k.rounds("j"), 3)
        before = "j"
        for number in range(3):
            blocks = [k.partial(before, a, self.x[a:b].copy(), before=1.5) for a, b in ((0, 4096), (4096, 3 * 4096), (3 * 4096, 20000))]
            self.assertEqual([len(block.before) for block in blocks], [number] * 3)
            blocks = pickle.loads(pickle.dumps(blocks))
            before = k.join(blocks)
        self.assertEqual(k.combine(blocks, before=1.5)._asdict(), whole._asdict())
        with self.assertRaises(bl.ShapeError) as caught:
            k.combine([k.partial("j", 0, self.x, 1.5)], before=1.5)
        self.assertIn("round 1 of 3", caught.exception.message)
        self.assertRaises(bl.ShapeError, k.partial, before, 0, self.x, 1.5)  # there is no fourth
        self.assertRaises(bl.ArgumentError, k.partial, 3, 0, self.x, 1.5)
        self.assertRaises(bl.ShapeError, k.rounds, "q")

    def test_states_live_as_long_as_they_are_needed(self):
        k = bl.compile("kernel k { in x : f64[i, j]; out s = sum(x, j) }")
        before = bl._core._live_arrays()
        block = k.partial("j", 0, np.ones((3, 8192)))
        self.assertEqual(bl._core._live_arrays(), before + 1)
        both = k.join([block, k.partial("j", 8192, np.ones((3, 5)))])
        del block
        np.testing.assert_array_equal(k.combine([both]), [8197.0] * 3)
        del both
        self.assertEqual(bl._core._live_arrays(), before)

    def test_states_may_lie_at_any_address(self):
        k = bl.compile("kernel k { in x : f64[j]; out s = sum(x, j) }")
        block = k.partial("j", 0, self.x)
        odd = np.frombuffer(b"." + block.pieces[0].states[0].tobytes(), "f8", offset=1).reshape(())
        self.assertFalse(odd.flags.aligned)
        moved = block._replace(pieces=(block.pieces[0]._replace(states=(odd,)),))
        self.assertEqual(k.combine([moved]), k(self.x))

    def test_an_input_may_have_the_name_of_an_argument(self):
        k = bl.compile("kernel k { in axis : f64[j]; in offset : f64; out s = sum(axis, j) * offset }")
        block = k.partial("j", 0, axis=self.x, offset=2.0)
        self.assertEqual(k.combine([block], offset=2.0), k(self.x, 2.0))

    def test_mistakes_say_what_to_do(self):
        k = bl.compile("kernel k { in x : f64[j]; out s = sum(x, j) }")
        with self.assertRaises(bl.ShapeError) as caught:
            k.partial("j", 100, self.x[100:])
        self.assertEqual(caught.exception.code, "E0150")
        self.assertIn("4096", caught.exception.message)
        self.assertRaises(bl.ShapeError, k.unit, "q", self.x)
        self.assertRaises(bl.ShapeError, k.combine, [])
        self.assertRaises(bl.ArgumentError, k.combine, [3])
        self.assertRaises(bl.ArgumentError, k.combine, [bl.Partial("j", 0, "all", 1, ())])
        self.assertRaises(bl.ShapeError, k.combine, [bl.Partial("j", 0, 5, 4096, ())])
        self.assertRaises(bl.ArgumentError, k.combine, [k.partial("j", 0, self.x)], y=3)
        self.assertRaises(TypeError, k.combine, 3)
        with self.assertRaises(bl.SpecError) as caught:
            bl.compile("accumulator f(a; x) { init a = 0. step a = 0.5 * a + x }\nkernel k { in x : f64[j]; out y = scan(f, x, j) }").unit("j", self.x)
        self.assertIn("it scans by 'f' along it, which has no combine", caught.exception.message)

    def test_outputs_that_have_the_axis_are_given_block_by_block(self):
        k = bl.compile("kernel k { in x : f64[j]; in by : f64; let e = exp(x / 1e9 - max(x / 1e9, j)); out p = e / sum(e, j) * by; out m = max(x, j) }")
        whole, borders = k(self.x, 2.0), [0, 4096, 8192, 20000]
        parts, before = [self.x[a:b].copy() for a, b in zip(borders, borders[1:])], "j"
        for _ in range(k.rounds("j")):
            before = k.join([k.partial(before, a, part, 2.0) for a, part in zip(borders, parts)])
        made = [k.combine([before], x=part, by=2.0) for part in parts]
        self.assertEqual(np.concatenate([p for p, _ in made]).tobytes(), whole.p.tobytes())
        self.assertEqual({float(m) for _, m in made}, {float(whole.m)})
        self.assertRaises(bl.DataError, k.combine, [before], by=2.0)

    def test_scans_are_given_block_by_block(self):
        k = bl.compile("kernel k { in x : f64[j]; in offset : f64; let c = scan(sum, x, j); out total = c; out r = scan(var, x, j, reverse) * offset; "
                       "out m = c - mean(c, j); out n = scan(argmax, x, j, state=i) + iota(j) }")
        whole, borders = k(self.x, 2.0), [0, 4096, 3 * 4096, 20000]
        self.assertEqual(k.rounds("j"), 2)
        parts, before = [self.x[a:b].copy() for a, b in zip(borders, borders[1:])], "j"
        for _ in range(k.rounds("j")):
            before = k.join(pickle.loads(pickle.dumps([k.partial(before, a, part, 2.0) for a, part in zip(borders, parts)])))
        made = [k.combine([before], a, x=part, offset=2.0) for a, part in zip(borders, parts)]
        for name in ("total", "r", "m", "n"):
            self.assertEqual(np.concatenate([part[name] for part in made]).tobytes(), whole[name].tobytes())
        with self.assertRaises(bl.ShapeError) as caught:
            k.combine([before], x=parts[0], offset=2.0)
        self.assertIn("it is not said where their block begins", caught.exception.message)
        self.assertRaises(bl.ShapeError, k.combine, [before], 100, x=parts[0], offset=2.0)
        self.assertRaises(bl.ShapeError, k.combine, [before], 3 * 4096, x=parts[1], offset=2.0)
        self.assertRaises(bl.ArgumentError, k.combine, [before], "j", x=parts[0], offset=2.0)
        self.assertRaises(bl.ArgumentError, k.combine, [before], 0, 1, x=parts[0], offset=2.0)
