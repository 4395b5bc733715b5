"""Kernels on devices: the one that this processor plays, whose memory the host may not touch."""
import pickle
import unittest

import numpy as np

import broadloom as bl

TEXT = "kernel k { in x : f32[i, j]; in s : f32; out y[i, j] = exp(x * s) / sum(exp(x * s), j); out m = max(x, i, j) }"


def numbers(*shape):
    return np.sin(np.arange(np.prod(shape), dtype=np.float32)).reshape(shape)


class Other:
    """An array of another library, that tells where it lies."""

    def __init__(self, array, **changed):
        self.kept, self.told = array, {**array.__cuda_array_interface__, **changed}

    @property
    def __cuda_array_interface__(self):
        return self.told


class Devices(unittest.TestCase):
    def test_a_kernel_on_a_device_gives_arrays_of_the_device_with_the_same_bits(self):
        x, gpu = numbers(7, 100), bl.Device("played")
        y, m = bl.compile(TEXT, device="played")(gpu.to_device(x), 0.5)
        self.assertIsInstance(y, bl.DeviceArray)
        self.assertEqual(y.shape, (7, 100))
        self.assertEqual(y.dtype, np.float32)
        self.assertEqual(y.device, "played")
        wanted = bl.compile(TEXT)(x, 0.5)
        self.assertEqual(y.to_host().tobytes(), wanted.y.tobytes())
        self.assertEqual(m.to_host(), wanted.m)

    def test_results_go_into_arrays_of_the_device_that_are_given(self):
        x, gpu = numbers(7, 100), bl.Device("played")
        k = bl.compile(TEXT, device="played")
        y, there = gpu.to_device(np.zeros((7, 100), np.float32)), gpu.to_device(x)
        self.assertIs(k(there, 0.5, out={"y": y}).y, y)
        self.assertEqual(y.to_host().tobytes(), bl.compile(TEXT)(x, 0.5).y.tobytes())
        call = k.bind(x=there, s=0.25)
        self.assertEqual(call().y.to_host().tobytes(), bl.compile(TEXT)(x, 0.25).y.tobytes())

    def test_arrays_of_other_libraries_are_taken_as_they_lie(self):
        x = numbers(6, 10)
        there = bl.Device("played").to_device(x)
        every_second = Other(there, shape=(3, 10), strides=(80, 4))
        k = bl.compile("kernel k { in x : f32[i, j]; out s = sum(x, j) }", device="played")
        self.assertEqual(k(every_second).to_host().tobytes(), bl.compile("kernel k { in x : f32[i, j]; out s = sum(x, j) }")(x[::2]).tobytes())
        self.assertEqual(k(Other(there, strides=None)).shape, (6,))

    def test_what_does_not_lie_on_the_device_is_refused(self):
        k = bl.compile("kernel k { in x : f32[i]; out y = 2 * x }", device="played")
        with self.assertRaisesRegex(bl.DataError, "E0322.*input 'x' does not lie on the device 'played'"):
            k(np.zeros(3, np.float32))
        with self.assertRaisesRegex(bl.DTypeError, "E0203"):
            k(bl.Device("played").to_device(np.zeros(3)))
        with self.assertRaisesRegex(bl.CompileError, "E0505"):
            bl.Device("metal")
        with self.assertRaisesRegex(bl.CompileError, "E0506"):
            bl.compile("kernel k { in x : f32[i]; out y = 2 * x }", device="played", engine="interpreter")

    def test_arrays_come_and_go_by_dlpack_with_their_stream(self):
        x, gpu = numbers(7, 100), bl.Device("played")
        there = gpu.to_device(x)
        self.assertEqual(there.__dlpack_device__(), (12, 0))  # kDLExtDev; (2, n) is CUDA

        class Tensor:  # DLPack and nothing else
            asked = []

            def __dlpack_device__(self):
                return there.__dlpack_device__()

            def __dlpack__(self, *, stream):
                self.asked.append(stream)
                return there.__dlpack__(stream=stream)

        k = bl.compile("kernel k { in x : f32[i, j]; out s = sum(x, j) }", device="played")
        wanted = bl.compile("kernel k { in x : f32[i, j]; out s = sum(x, j) }")(x).tobytes()
        self.assertEqual(k(Tensor()).to_host().tobytes(), wanted)
        with gpu.on_stream(77):
            self.assertEqual(gpu.stream, 77)
            self.assertEqual(there.__cuda_array_interface__["stream"], 77)
            self.assertEqual(k(Tensor()).to_host().tobytes(), wanted)
            with gpu.on_stream(0):
                self.assertEqual(gpu.stream, 1)
            self.assertEqual(gpu.stream, 77)
        self.assertEqual(Tensor.asked, [1, 77])
        self.assertEqual(gpu.stream, 1)
        self.assertEqual(k(Other(there, stream=5)).to_host().tobytes(), wanted)  # waits for stream 5
        with self.assertRaisesRegex(bl.DTypeError, "E0203"):
            bl.compile("kernel k { in x : f64[i, j]; out s = sum(x, j) }", device="played")(Tensor())
        there.__dlpack__(stream=-1)  # which nobody takes

    def test_a_kernel_says_which_device_it_runs_on(self):
        self.assertEqual(bl.compile("kernel k { in x : f32[i]; out y = x }", device="played").device, "played")
        self.assertEqual(bl.compile("kernel k { in x : f32[i]; out y = x }").device, "")

    def test_an_interface_that_says_no_array_is_an_error(self):
        k = bl.compile("kernel k { in x : f32[i, j]; out s = sum(x, j) }", device="played")
        there = bl.Device("played").to_device(numbers(6, 10))
        for wrong in ({"strides": (4,)}, {"data": None}, {"typestr": None}, {"shape": 3}, {"mask": there}):
            with self.assertRaisesRegex(bl.DataError, "E0310"):
                k(Other(there, **wrong))
        other = Other(there)
        other.told = 7
        with self.assertRaisesRegex(bl.DataError, "E0310"):
            k(other)

    def test_gradients_run_on_the_device_and_are_not_checked_there(self):
        x = numbers(5)
        k = bl.compile("kernel k { in x : f32[i]; out s = sum(x * x) }", device="played")
        there = bl.Device("played").to_device(x)
        self.assertEqual(k.grad("x")(there).to_host().tolist(), (2 * x).tolist())
        with self.assertRaisesRegex(bl.CompileError, "E0506"):
            k.check(there)

    def test_parameters_of_a_kernel_of_a_device_are_not_frozen(self):
        k = bl.compile("kernel k { in x : f32[i]; param w : f32[i]; out y = x * w }", device="played")
        with self.assertRaisesRegex(bl.CompileError, "E0506"):
            k.freeze(w=np.ones(3, np.float32))

    def test_a_kernel_of_a_device_is_pickled_with_it(self):
        k = pickle.loads(pickle.dumps(bl.compile("kernel k { in x : f32[i]; out y = 2 * x }", device="played")))
        self.assertEqual(k(bl.Device("played").to_device(np.arange(3, dtype=np.float32))).to_host().tolist(), [0, 2, 4])
