"""Kernels as functions of torch. Named so that it comes after test_processes.py, as
test_with_jax.py is."""

import importlib.util
import sys
import unittest

if importlib.util.find_spec("torch") is None:
    print("SKIPPED: torch is not installed for " + sys.executable + ", so nothing of bl.torch is tested", file=sys.stderr, flush=True)
    raise unittest.SkipTest("torch is not installed: pip install torch")

import numpy as np
import torch

import broadloom as bl

import digits


class InTorch(unittest.TestCase):
    def test_training_in_torch_on_the_digits_goes_as_it_does_natively(self):
        x, labels, digit = digits.load()
        kernel = bl.compile(digits.LOSS)
        loss, native = bl.torch.function(kernel), kernel.value_and_grad(["w", "b"])
        ours = {"w": np.zeros((10, 64), "f4"), "b": np.zeros(10, "f4")}
        theirs = {name: torch.zeros(value.shape, requires_grad=True) for name, value in ours.items()}
        descent = torch.optim.SGD(theirs.values(), lr=0.5)
        first = None
        for epoch in range(4):
            for fold in range(4):
                part, label = x[fold::5], labels[fold::5]
                l, d_w, d_b = native(part, label, digit, ours["w"], ours["b"])
                descent.zero_grad()
                in_torch = loss(torch.from_numpy(part), torch.from_numpy(label), torch.from_numpy(digit), theirs["w"], theirs["b"])
                in_torch.backward()
                np.testing.assert_array_equal(in_torch.detach().numpy(), l)
                np.testing.assert_array_equal(theirs["w"].grad.numpy(), d_w)
                np.testing.assert_array_equal(theirs["b"].grad.numpy(), d_b)
                ours = {"w": ours["w"] - np.float32(0.5) * d_w, "b": ours["b"] - np.float32(0.5) * d_b}
                with torch.no_grad():  # by an fma or not: the optimiser is torch's
                    torch.testing.assert_close(theirs["w"] - 0.5 * theirs["w"].grad, torch.from_numpy(ours["w"]), rtol=1e-6, atol=1e-7)
                    for name in ours:
                        theirs[name].copy_(torch.from_numpy(ours[name]))
                first = float(l) if first is None else first
        self.assertLess(float(l), first / 4)
        right = ((x[4::5] @ ours["w"].T + ours["b"]).argmax(1) == labels[4::5]).mean()
        self.assertGreater(right, 0.9)

    def test_gradients_are_those_of_torch(self):
        k = bl.compile("kernel k { in x : f64[i, j]; in n : i64[i]; in y : f64[i]; in s : f64; out z = x * exp(y) * s; "
                       "out t = sum(x * x, j) + n; out c = n + 1 }")
        ours = bl.torch.function(k)
        rng = np.random.default_rng(1)
        n = torch.tensor([1, 2])

        def theirs(x, n, y, s):
            return x * torch.exp(y)[:, None] * s, (x * x).sum(1) + n, n + 1

        def run(f, values):
            x, y, s = (torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in values)
            z, t, c = f(x, n, y, s)
            self.assertFalse(c.requires_grad)
            return [z, t, c, *torch.autograd.grad(torch.sin(z).sum() + (t ** 2).sum(), (x, y, s))]

        values = rng.normal(size=(2, 3)), rng.normal(size=2), 2.0
        for a, b in zip(run(ours, values), run(theirs, values)):
            torch.testing.assert_close(a, b, rtol=1e-12, atol=0)
        x = torch.tensor(values[0], requires_grad=True)
        y = torch.tensor(values[1], requires_grad=True)
        bl.torch.function(k, wrt="y")(x, n, y, 1)[0].sum().backward()
        self.assertIsNone(x.grad)
        torch.testing.assert_close(y.grad, (x.detach() * torch.exp(y.detach())[:, None]).sum(1), rtol=1e-12, atol=0)
        self.assertTrue(torch.autograd.gradcheck(lambda x, y: ours(x, n, y, 2.0)[:2], (x, y)))

    def test_what_the_function_saves_its_gradient_in_torch_is_given(self):
        k = bl.compile("kernel k { in x : f64[i, j]; in n : i64[i]; in y : f64[i]; let e = exp(x - max(x, j)); out p = e / sum(e, j) * y; out s = sum(sqrt(1 + x * x), j); "
                       "out c = n + 1 }")
        rng = np.random.default_rng(5)
        n = torch.arange(4)
        values = [rng.normal(size=(4, 33)), rng.normal(size=4)]

        def asked(f):
            x, y = (torch.tensor(value, requires_grad=True) for value in values)
            p, s, c = f(x, n, y)
            return torch.autograd.grad((p ** 2).sum() + (s ** 3).sum(), (x, y))

        plain, called = asked(bl.torch.function(k)), []
        forward = bl.torch._Call.forward
        try:
            bl.torch._Call.forward = staticmethod(lambda operation, *tensors: (called.append((operation.kernel, len(tensors))), forward(operation, *tensors))[1])
            f = bl.torch.function(k, policy="save")
            f(torch.tensor(values[0]), n, torch.tensor(values[1]))
            self.assertEqual([(kernel.name, count) for kernel, count in called], [("k", 3)])  # nothing is saved where nothing is derived
            called.clear()
            saved = asked(f)
        finally:
            bl.torch._Call.forward = forward
        (saver, _), (back, given) = called
        names = [o.name for o in saver.outputs if o.name.startswith("saved_")]
        self.assertTrue(names)
        self.assertEqual([i.name for i in back.inputs], ["x", "n", "y", "d_p", "d_s", *names])
        self.assertEqual(given, len(back.inputs))
        self.assertNotIn("exp(", back.text)
        for made in (saved, asked(bl.torch.function(k, policy="recompute"))):
            for a, b in zip(made, plain):
                self.assertEqual(a.numpy().tobytes(), b.numpy().tobytes())
        # Of one output alone, by one input alone, and where only some inputs move.
        for f in (bl.torch.function(k, policy="save"), bl.torch.function(k, wrt="x", policy="save")):
            x, y = torch.tensor(values[0], requires_grad=True), torch.tensor(values[1])
            p, s, c = f(x, n, y)
            d_x, = torch.autograd.grad(s.sum(), x, retain_graph=True)
            torch.testing.assert_close(d_x, x.detach() / torch.sqrt(1 + x.detach() ** 2))
            want, = torch.autograd.grad(p.sum() + s.sum(), x)
            x = torch.tensor(values[0], requires_grad=True)
            p, s, c = bl.torch.function(k)(x, n, y)
            self.assertEqual(want.numpy().tobytes(), torch.autograd.grad(p.sum() + s.sum(), x)[0].numpy().tobytes())

    def test_what_is_saved_is_derived_in_turn(self):
        k = bl.torch.function(bl.compile("kernel k { in x : f64[i]; in a : f64; out s = sum(exp(sin(x)) * a, i) }"), policy="save")
        x = torch.tensor([1.0, 2.0, -0.5], dtype=torch.float64, requires_grad=True)
        a = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
        self.assertTrue(torch.autograd.gradcheck(k, (x, a)))
        self.assertTrue(torch.autograd.gradgradcheck(k, (x, a)))
        hessian = torch.func.hessian(lambda x: (torch.exp(torch.sin(x)) * a.detach()).sum())(x.detach())
        torch.testing.assert_close(torch.func.hessian(lambda x: k(x, a.detach()))(x.detach()), hessian)
        torch.testing.assert_close(torch.func.jacrev(torch.func.grad(lambda x: k(x, a.detach())))(x.detach()), hessian)
        torch.testing.assert_close(torch.func.jvp(k, (x.detach(), a.detach()), (x.detach(), a.detach() * 0))[1],
                                   (torch.exp(torch.sin(x)) * torch.cos(x) * x * a).sum().detach())
        rows = torch.stack([x.detach(), 2 * x.detach()])
        torch.testing.assert_close(torch.vmap(torch.func.grad(lambda x: k(x, a.detach())))(rows), 3 * torch.exp(torch.sin(rows)) * torch.cos(rows))

    def test_derivatives_of_derivatives_go_through_the_kernel_of_the_gradient(self):
        k = bl.torch.function(bl.compile("kernel k { in x : f64[i]; in a : f64; out s = sum(a * x ^ 4 + sin(x), i) }"))
        x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
        a = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
        d_x, = torch.autograd.grad(k(x, a), x, create_graph=True)
        d_xx, d_xa = torch.autograd.grad(d_x.sum(), (x, a), create_graph=True)
        torch.testing.assert_close(d_xx, 36 * x ** 2 - torch.sin(x))
        torch.testing.assert_close(d_xa, (4 * x ** 3).sum())
        torch.testing.assert_close(torch.autograd.grad(d_xx.sum(), x)[0], 72 * x - torch.cos(x))
        self.assertTrue(torch.autograd.gradgradcheck(k, (x, a)))

    def test_directional_derivatives_in_torch_are_those_of_the_kernel(self):
        k = bl.compile("kernel k { in x : f64[i, j]; in n : i64[i]; in y : f64[i]; out z = x * exp(y) + n; out c = n + 1; out s = sum(x ^ 3, j) }")
        ours = bl.torch.function(k)
        rng = np.random.default_rng(2)
        x, t_x = (torch.tensor(rng.normal(size=(2, 3))) for _ in range(2))
        y, t_y = (torch.tensor(rng.normal(size=2)) for _ in range(2))
        n = torch.tensor([1, 2])

        def f(x, y):
            z, c, s = ours(x, n, y)
            return z, s

        def theirs(x, y):
            return x * torch.exp(y)[:, None] + n[:, None], (x ** 3).sum(1)

        for a, b in zip(torch.func.jvp(f, (x, y), (t_x, t_y)), torch.func.jvp(theirs, (x, y), (t_x, t_y))):
            for one, other in zip(a, b):
                torch.testing.assert_close(one, other, rtol=1e-12, atol=0)
        along = k.jvp("y", of=["z", "s"])
        z, s = torch.func.jvp(lambda y: f(x, y), (y,), (t_y,))[1]
        made = along(x, n, y, t_y=t_y)
        self.assertEqual(z.numpy().tobytes(), made.t_z.tobytes())
        self.assertEqual(s.abs().sum(), 0)
        with torch.autograd.forward_ad.dual_level():
            z, c, s = ours(torch.autograd.forward_ad.make_dual(x, t_x), n, y)
            self.assertIsNone(torch.autograd.forward_ad.unpack_dual(c).tangent)
            torch.testing.assert_close(torch.autograd.forward_ad.unpack_dual(s).tangent, 3 * (x ** 2 * t_x).sum(1))
        self.assertTrue(torch.autograd.gradcheck(lambda x, y: f(x.requires_grad_(), y), (x, y.requires_grad_()), check_forward_ad=True))

    def test_hessians_of_torch_go_forward_over_reverse_and_the_other_way(self):
        k = bl.torch.function(bl.compile("kernel k { in x : f64[i]; in a : f64; out s = sum(a * x ^ 4 + sin(x), i) }"))
        x, a = torch.tensor([1.0, 2.0, -0.5], dtype=torch.float64), torch.tensor(3.0, dtype=torch.float64)
        want = torch.diag(36 * x ** 2 - torch.sin(x))
        t = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
        grad, jvp = torch.func.grad, torch.func.jvp
        torch.testing.assert_close(jvp(grad(lambda x: k(x, a)), (x,), (t,))[1], want @ t)
        torch.testing.assert_close(grad(lambda x: jvp(lambda x: k(x, a), (x,), (t,))[1])(x), want @ t)
        torch.testing.assert_close(torch.func.hessian(lambda x: k(x, a))(x), want)
        torch.testing.assert_close(torch.func.jacfwd(lambda x: k(x, a))(x), grad(lambda x: k(x, a))(x))

    def test_frozen_kernels_are_called_in_torch_with_their_values(self):
        frozen = bl.compile("kernel k { in x : f64[i]; param w : f64[i]; out s = sum(w * x ^ 2) }").freeze(w=np.array([1.0, 2.0]))
        f, x = bl.torch.function(frozen), torch.tensor([3.0, 4.0], dtype=torch.float64)
        torch.testing.assert_close(torch.func.grad(f)(x), torch.tensor([6.0, 16.0], dtype=torch.float64))
        torch.testing.assert_close(torch.func.jvp(f, (x,), (x,))[1], torch.tensor(82.0, dtype=torch.float64))

    def test_transforms_of_torch_take_kernels(self):
        k = bl.torch.function(bl.compile("kernel k { in x : f64[i]; in y : f64[i]; out s = sum(x ^ 3 * y, i) }"))
        x, y = torch.rand(5, 3, dtype=torch.float64), torch.rand(3, dtype=torch.float64)
        torch.testing.assert_close(torch.func.grad(k)(x[0], y), 3 * x[0] ** 2 * y)
        torch.testing.assert_close(torch.vmap(k, (0, None))(x, y), (x ** 3 * y).sum(1))
        torch.testing.assert_close(torch.vmap(torch.func.grad(k), (0, None))(x, y), 3 * x ** 2 * y)

    def test_complex_gradients_follow_torchs_convention(self):
        k = bl.torch.function(bl.compile("kernel k { in z : c128[i]; out w = z * z * z }"))
        slopes = []
        for f in (k, lambda z: z * z * z):
            z = torch.tensor([1 + 2j, -0.5j], dtype=torch.complex128, requires_grad=True)
            w = f(z.conj())  # which torch does not carry out before somebody reads it
            ((w.abs() ** 2).sum() + w.imag.sum()).backward()
            slopes.append(z.grad)
        torch.testing.assert_close(*slopes)

    def test_memory_is_shared_both_ways_and_strides_are_kept(self):
        k = bl.compile("kernel k { in x : f32[i, j]; out z = x * 2 }")
        f = bl.torch.function(k)
        x = torch.arange(12, dtype=torch.float32).reshape(3, 4)
        torch.testing.assert_close(f(x.T), 2 * x.T)
        torch.testing.assert_close(f(x[::2, 1::2]), 2 * x[::2, 1::2])
        lent = bl._core._live_arrays()
        z = f(x)
        self.assertEqual(bl._core._live_arrays(), lent + 1)
        del z
        self.assertEqual(bl._core._live_arrays(), lent)
        self.assertEqual(bl.torch._lent(x).__array_interface__["data"][0], x.data_ptr())

    def test_every_dtype_goes_both_ways(self):
        for word in "bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 c64 c128".split():
            if word == "bf16" and importlib.util.find_spec("ml_dtypes") is None:
                continue
            with self.subTest(word):
                f = bl.torch.function(bl.compile(f"kernel k {{ in x : {word}[i]; out y : {word} = x }}"))
                x = torch.tensor([0, 1, 1, 0]).to(bl.torch._DTYPES[word])
                self.assertEqual(f(x).dtype, x.dtype)
                self.assertTrue(np.array_equal(bl.torch._lent(f(x)), bl.torch._lent(x)))

    def test_mistakes_in_torch_say_what_to_do(self):
        k = bl.torch.function(bl.compile("kernel k { in x : f64[i]; in y : f64[i]; out z = x * y }"))
        x = torch.ones(3, dtype=torch.float64)
        for wrong in (torch.ones(3), np.ones(3), [1.0], x.to("meta"), x.to_sparse()):
            with self.assertRaises(bl.DTypeError) as caught:
                k(x, wrong)
            self.assertTrue(caught.exception.help, wrong)
        self.assertRaises(bl.ArgumentError, k, x)
        self.assertRaises(bl.ShapeError, k, x, torch.ones(4, dtype=torch.float64))
        n = bl.torch.function(bl.compile("kernel k { in x : i8; out z = x }"))
        for wrong in (300, 2.5):
            self.assertRaises(bl.DTypeError, n, wrong)
        real, whole = bl.compile("kernel k { in x : f32; out z = x }"), bl.compile("kernel k { in n : i32; out z = n }")
        self.assertRaises(bl.ArgumentError, bl.torch.function, real, wrt="q")
        self.assertRaises(bl.ArgumentError, bl.torch.function, whole, wrt="n")
        with self.assertRaises(bl.ArgumentError) as caught:
            bl.torch.function(real, policy="recompte")
        self.assertIn("did you mean 'recompute'?", caught.exception.help)
        self.assertRaises(bl.SpecError, bl.torch.function, bl.compile("kernel k { in x : f32[i]; out z += x }"))
        changed = torch.ones(3, dtype=torch.float64, requires_grad=True)
        z = k(changed, x)
        with torch.no_grad():
            changed.add_(1)
        self.assertRaises(RuntimeError, z.sum().backward)  # torch's own: what the gradient needs has changed
