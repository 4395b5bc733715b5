"""What kernels take and give: element types, layouts, protocols, memory."""

import array
import ctypes
import gc
import unittest
import warnings

import numpy as np

import broadloom as bl
from broadloom import _core

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

NUMPY = {
    "bool": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u16": np.uint16,
    "u32": np.uint32, "u64": np.uint64, "f16": np.float16, "f32": np.float32, "f64": np.float64, "c64": np.complex64,
    "c128": np.complex128,
}
same = bl.compile("kernel same { in x : f64[i, j]; out z = x }")
double = bl.compile("kernel double { in x : f64[i]; out z = 2 * x }")


class Interface:
    """Has `__array_interface__` and nothing else."""

    def __init__(self, array):
        self.array = array
        self.__array_interface__ = array.__array_interface__


class Tensor:
    """A tensor of another library: DLPack and nothing else."""

    def __init__(self, array, device=(1, 0)):
        self.array, self.device = array, device

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device


class OnGpu:
    __cuda_array_interface__ = {"shape": (3,), "typestr": "<f8", "data": (0, False), "version": 3}


class Arrays(unittest.TestCase):
    def test_every_dtype_goes_in_and_comes_out(self):
        for word, dtype in NUMPY.items():
            kernel = bl.compile(f"kernel k {{ in x : {word}[i]; out z = x }}")
            x = np.array([0, 1, 1, 0, 1]).astype(dtype)
            z = kernel(x)
            self.assertEqual(z.dtype, np.dtype(dtype), word)
            np.testing.assert_array_equal(z, x)

    def test_long_long_is_an_i64(self):
        kernel = bl.compile("kernel k { in x : i64[i]; in y : u64[i]; out z = x }")
        np.testing.assert_array_equal(kernel(np.arange(3, dtype="q"), np.arange(3, dtype="Q")), [0, 1, 2])

    @unittest.skipIf(ml_dtypes is None, "ml_dtypes is not installed")
    def test_bfloat16_is_that_of_ml_dtypes(self):
        kernel = bl.compile("kernel k { in x : bf16[i]; out z : bf16 = x * 3 }")
        x = np.array([1, 2.5, -3], dtype=ml_dtypes.bfloat16)
        z = kernel(x)
        self.assertEqual(z.dtype, x.dtype)
        np.testing.assert_array_equal(z.astype("f4"), [3, 7.5, -9])
        out = np.zeros(3, dtype=ml_dtypes.bfloat16)
        self.assertIs(kernel(x, out=out), out)
        np.testing.assert_array_equal(out, z)

    def test_views_of_any_strides_are_read_as_they_lie(self):
        x = np.arange(24.0).reshape(4, 6)
        views = [x.T, x[::-1], x[:, ::-2], x[1:3, 2:5], np.broadcast_to(x[0], (3, 6)), np.broadcast_to(x[:, :1], (4, 5)),
                 np.asfortranarray(x), x[:0], x[:, :0], x[1:2, ::3], np.lib.stride_tricks.sliding_window_view(x[0], 3)]
        for view in views:
            np.testing.assert_array_equal(same(view), view)

    def test_outputs_may_be_views(self):
        x = np.arange(6.0).reshape(2, 3)
        for make in (lambda: np.zeros((2, 3)), lambda: np.zeros((3, 2)).T, lambda: np.zeros((4, 6))[::-2, ::2]):
            out = make()
            self.assertIs(same(x, out=out), out)
            np.testing.assert_array_equal(out, x)

    def test_results_lie_as_the_inputs_do(self):
        x = np.asfortranarray(np.ones((3, 5)))
        for _ in range(2):  # the second call goes by what the first one has noted
            self.assertTrue(same(x).flags.f_contiguous)
            self.assertTrue(same(x.copy("C")).flags.c_contiguous)

    def test_results_own_aligned_memory_that_can_be_written(self):
        for size in (1, 16, 1 << 20):
            for _ in range(2):
                z = double(np.ones(size))
                self.assertEqual(z.ctypes.data % 64, 0)
                self.assertTrue(z.flags.writeable and z.flags.aligned)
                z += 1
                np.testing.assert_array_equal(z, np.full(size, 3.0))

    def test_empty_arrays_are_fine(self):
        for _ in range(2):
            self.assertEqual(double(np.ones(0)).shape, (0,))
        total = bl.compile("kernel k { in x : f64[i, j]; out s = sum(x, j); out t = sum(x) }")
        for _ in range(2):
            s, t = total(np.ones((3, 0)))
            np.testing.assert_array_equal(s, np.zeros(3))
            self.assertEqual(t, 0)

    def test_read_only_inputs_are_read_and_read_only_outputs_refused(self):
        x = np.arange(3.0)
        x.flags.writeable = False
        np.testing.assert_array_equal(double(x), [0, 2, 4])
        with self.assertRaises(bl.DataError) as caught:
            double(x.copy(), out=x)
        self.assertEqual(caught.exception.code, "E0309")
        np.testing.assert_array_equal(x, [0, 1, 2])

    def test_what_exports_a_buffer_is_taken(self):
        np.testing.assert_array_equal(double(array.array("d", [1, 2])), [2, 4])
        np.testing.assert_array_equal(double(memoryview(np.arange(4.0))[::-1]), [6, 4, 2, 0])
        np.testing.assert_array_equal(double((ctypes.c_double * 2)(1, 2)), [2, 4])
        bytes_in = bl.compile("kernel k { in x : u8[i]; out z = x + 1 }")
        np.testing.assert_array_equal(bytes_in(b"ab"), [98, 99])
        out = bytearray(2)
        self.assertIs(bytes_in(b"ab", out=out), out)
        self.assertEqual(out, b"bc")
        with self.assertRaises(bl.DataError):
            bytes_in(b"ab", out=b"cd")

    def test_array_interface_and_dlpack_are_taken_without_a_copy(self):
        x = np.arange(3.0)
        for kind in (Interface, Tensor):
            np.testing.assert_array_equal(double(kind(x)), [0, 2, 4])
            out = np.zeros(3)
            wrapped = kind(out)
            self.assertIs(double(x, out=wrapped), wrapped)
            np.testing.assert_array_equal(out, [0, 2, 4])

    def test_read_only_memory_is_not_written_by_dlpack(self):
        class Both(bytes):  # like jax's arrays, whose DLPack does not say that they never change
            def __dlpack__(self, **options):
                return np.frombuffer(bytearray(8), "u1").__dlpack__(**options)

            def __dlpack_device__(self):
                return (1, 0)

        frozen = np.arange(3.0)
        frozen.flags.writeable = False
        with self.assertRaises(bl.Error):
            double(np.ones(3), out=Tensor(frozen))
        np.testing.assert_array_equal(frozen, [0, 1, 2])
        with self.assertRaisesRegex(bl.DataError, "E0309"):
            bl.compile("kernel k { in x : u8[i]; out z = x }")(np.ones(8, "u1"), out=Both(8))

    def test_every_dtype_comes_by_dlpack(self):
        for word, dtype in NUMPY.items():
            kernel = bl.compile(f"kernel k {{ in x : {word}[i, j]; out z = x }}")
            x = np.array([[0, 1, 1], [0, 1, 0]]).astype(dtype).T
            np.testing.assert_array_equal(kernel(Tensor(x)), x)

    def test_memory_of_devices_is_refused(self):
        for other in (Tensor(np.arange(3.0), device=(2, 0)), OnGpu()):
            with self.assertRaisesRegex(bl.DTypeError, "E0203.*(device|GPU)"):
                double(other)

    def test_subclasses_of_arrays_are_arrays_but_masks_are_not_dropped(self):
        np.testing.assert_array_equal(same(np.matrix([[1.0, 2.0]])), [[1, 2]])
        with self.assertRaisesRegex(bl.DTypeError, "masked"):
            double(np.ma.masked_array([1.0, 2.0], [True, False]))

    def test_inputs_of_no_dims_take_numbers(self):
        for word, value, want in (("f32", 2, 2.0), ("f64", 1.5, 1.5), ("i8", -128, -128), ("u64", 2**64 - 1, 2**64 - 1),
                                  ("bool", True, True), ("c64", 1 + 2j, 1 + 2j), ("c128", 3, 3), ("f16", 0.5, 0.5),
                                  ("i64", False, 0), ("f64", np.float64(7), 7), ("f64", np.array(7.0), 7)):
            self.assertEqual(bl.compile(f"kernel k {{ in x : {word}; out z = x }}")(value), want)
        for word, value in (("i8", 128), ("u8", -1), ("u64", 2**64), ("i64", 2**63), ("i32", 1.5), ("f64", 1j), ("bool", 1),
                            ("f32", np.float64(1)), ("f32", "1"), ("f32", None)):
            with self.assertRaises(bl.DTypeError, msg=(word, value)):
                bl.compile(f"kernel k {{ in x : {word}; out z = x }}")(value)

    def test_results_of_no_dims_are_arrays_of_no_dims(self):
        z = bl.compile("kernel k { in x : f64[i]; out s = sum(x) }")(np.ones(3))
        self.assertEqual((z.shape, float(z)), ((), 3.0))

    def test_inputs_that_overlap_an_output_are_as_if_copied_before(self):
        x = np.arange(6.0)
        double(x[:-1], out=x[1:])
        np.testing.assert_array_equal(x, [0, 0, 2, 4, 6, 8])

    def test_adding_outputs_add_to_what_is_given_and_else_to_zeros(self):
        add = bl.compile("kernel k { in x : f64[i]; out z += x }")
        out = np.ones(3)
        add(np.arange(3.0), out=out)
        np.testing.assert_array_equal(out, [1, 2, 3])
        for _ in range(3):  # memory that was used before comes back
            np.testing.assert_array_equal(add(np.arange(3.0)), [0, 1, 2])

    def test_nothing_is_copied_or_kept(self):
        before = _core._live_arrays()
        x = np.ones(1 << 18)
        results = [double(x) for _ in range(5)]
        self.assertEqual(_core._live_arrays(), before + 5)
        part = results[0][10:20]  # keeps the memory of the whole
        del results
        self.assertEqual(_core._live_arrays(), before + 1)
        np.testing.assert_array_equal(part, np.full(10, 2.0))
        del part
        self.assertEqual(_core._live_arrays(), before)

    def test_calls_leave_no_references(self):
        import sys

        x, out = np.ones(64), np.ones(64)
        kernel = bl.compile("kernel k { in x : f64[i]; in y : f64; out z = x * y }")
        two = bl.compile("kernel k { in x : f64[i]; out z = x; out s = sum(x) }")
        word = "y"

        def all_ways():
            kernel(x, 1.0)
            kernel(x=x, y=2.0, out=out)
            kernel.bind(x, y=2.0)()
            kernel.bind(x, y=2.0, out=out)()
            dict(two(x)._asdict())
            two(x, out={"z": out})
            kernel(Tensor(x), 1.0)
            kernel(memoryview(x), 1.0)
            for wrong in (lambda: kernel(x), lambda: kernel(x, "1"), lambda: kernel(x, y=1, z=2), lambda: kernel(x, 1, out=x[1:]),
                          lambda: kernel(x, 1, out=(out, out)), lambda: kernel(Tensor(x[::2].astype("f4")), 1)):
                with self.assertRaises(bl.Error):
                    wrong()

        all_ways()
        gc.collect()
        before = [sys.getrefcount(o) for o in (x, out, kernel, two, word)], _core._live_arrays()
        for _ in range(20):
            all_ways()
        gc.collect()
        after = [sys.getrefcount(o) for o in (x, out, kernel, two, word)], _core._live_arrays()
        self.assertEqual(before, after)

    def test_cycles_through_bound_calls_are_collected(self):
        class Tagged(np.ndarray):
            pass

        before = _core._live_arrays()
        x = np.ones(8).view(Tagged)
        x.tag = double.bind(x)
        x.tag()
        self.assertEqual(_core._live_arrays(), before + 1)
        del x
        gc.collect()
        self.assertEqual(_core._live_arrays(), before)


class WrongArrays(unittest.TestCase):
    def refuses(self, argument, code, words, error=bl.DTypeError):
        with self.assertRaises(error) as caught:
            double(argument)
        self.assertEqual(caught.exception.code, code)
        self.assertRegex(str(caught.exception), words)
        self.assertTrue(caught.exception.help)

    def test_another_dtype_is_named_in_numpys_words_and_ours(self):
        self.refuses(np.arange(3), "E0203", r"'x' is f64 \(numpy.float64\), the argument is an array of int64 \(i64\)")

    def test_objects_strings_and_records_are_refused(self):
        for wrong in (np.array([1, "a"], dtype=object), np.array(["a"]), np.zeros(2, dtype=[("a", "f8")]),
                      np.array(["2020-01-01"], dtype="M8[D]"), np.zeros(2, dtype=np.longdouble)):
            self.refuses(wrong, "E0203", "an array of")

    def test_byte_swapped_arrays_are_refused(self):
        self.refuses(np.arange(3.0).astype(">f8"), "E0203", "other byte order")

    def test_arrays_that_are_not_aligned_are_copied_with_one_line(self):
        """As those that workers of dask send: parts of a message. Records have steps that are no
        multiple of their members."""
        begin = np.frombuffer(bytearray(81), "u1")[1:].view("f8").reshape(2, 5)
        begin[...] = np.arange(10.0).reshape(2, 5)
        records = np.zeros(3, dtype=[("a", "f8"), ("b", "u1")])
        records["a"] = 1, 2, 3
        whole = bl.compile("kernel whole { in unaligned : f64[:, :]; param w : f64[:]; out z = unaligned * 2; out s = sum(unaligned) }")
        with self.assertLogs("broadloom", "WARNING") as said:
            for x in (begin, begin.T, begin[:, ::-2], begin[:0]):
                made = whole(x, np.ones(1))
                np.testing.assert_array_equal(made.z, x * 2)
                np.testing.assert_array_equal(made.s, x.sum())
            np.testing.assert_array_equal(whole(begin, records["a"][:1]).z, begin * 2)
        self.assertEqual(len(said.output), 1)
        self.assertIn("input 'unaligned' does not lie at multiples of its 8-byte elements, and each call copies it", said.output[0])
        np.testing.assert_array_equal(double(records["a"]), [2, 4, 6])
        np.testing.assert_array_equal(bl.array(records["a"]).sum().compute(), 6)
        np.testing.assert_array_equal(whole.freeze(w=records["a"][1:])(begin).z, begin * 2)

    def test_outputs_and_what_is_bound_must_be_aligned(self):
        for wrong, words in ((np.frombuffer(bytearray(17), "u1")[1:].view("f8"), "no multiple of 8 bytes"),
                             (np.zeros(2, dtype=[("a", "f8"), ("b", "u1")])["a"], "steps by 9 bytes")):
            for call in (lambda: double(np.ones(2), out=wrong), lambda: double.bind(wrong), lambda: double.bind(np.ones(2), out=wrong)):
                with self.assertRaisesRegex(bl.DataError, words) as caught:
                    call()
                self.assertEqual(caught.exception.code, "E0310")

    def test_what_is_no_array_is_refused(self):
        for wrong in ([object()], (None,), "text", {}, None, object(), 1.0, lambda: 1, np.float64, int):
            self.refuses(wrong, "E0203", "is of class|array of object")

    def test_other_shapes_are_named_with_their_sizes(self):
        kernel = bl.compile("kernel k { in x : f64[i]; in y : f64[i]; out z = x + y }")
        with self.assertRaisesRegex(bl.ShapeError, r"(?s)E0102.*axis 'i' of 'x' has 3 elements, axis 'i' of 'y' has 4"):
            kernel(np.ones(3), np.ones(4))
        with self.assertRaisesRegex(bl.ShapeError, "E0101.*'y' has 1 dim, the array given has 2"):
            kernel(np.ones(3), np.ones((3, 1)))
        with self.assertRaisesRegex(bl.ShapeError, "E0120"):
            kernel(np.ones(3), np.ones(3), out=np.ones(4))
        with self.assertRaisesRegex(bl.ShapeError, "E0110"):
            kernel(np.ones(3), np.ones((1,) * 20))

    def test_protocols_that_raise_are_no_crash(self):
        class Bad:
            def __init__(self, error):
                self.error = error

            def __dlpack_device__(self):
                raise self.error

            def __dlpack__(self, **options):
                raise self.error

        for error in (ValueError("no"), KeyboardInterrupt(), MemoryError()):
            with self.assertRaises(type(error)):
                double(Bad(error))

        class Odd:
            __array_interface__ = {"shape": "no"}

        class Half:
            def __dlpack__(self, **options):
                return 7

        for odd in (Odd(), Half()):
            with self.assertRaises(bl.DTypeError):
                double(odd)

    def test_memory_that_a_call_reads_cannot_be_resized(self):
        memory = bytearray(8)
        bound = bl.compile("kernel k { in x : u8[i]; out z = x }").bind(memory)
        with self.assertRaises(BufferError):
            memory.append(1)
        del bound
        memory.append(1)
        x = np.ones(8)
        bound = double.bind(x)
        with self.assertRaises(ValueError):
            x.resize(1 << 20)
        np.testing.assert_array_equal(bound(), np.full(8, 2.0))


class RandomCalls(unittest.TestCase):
    def test_ten_thousand_calls_with_random_arguments_end_in_a_result_or_an_error_of_ours(self):
        random = np.random.default_rng(1)
        kernels = [bl.compile(text) for text in (
            "kernel a { in x : f32[i, j]; in y : f32[i]; out z = x * y; out s = sum(x, j) }",
            "kernel b { in x : i64[:, :]; in y : i64[:]; out z = x + y }",
            "kernel c { in x : c64[i]; in y : f64; out z += x * y }")]
        words = ["x", "y", "out", "z", "xx", "s"]
        dtypes = ["f4", "f8", "i8", "c8", "u1", "O", ">f4", "U3", "?", "f2", "M8[s]"]

        right = {"a": ["f4", "f4"], "b": ["i8", "i8"], "c": ["c8", "f8"]}
        ranks = {"a": [2, 1], "b": [2, 1], "c": [1, 0]}

        def argument(kernel, position):
            kind = random.integers(12)
            if kind > 5 and position < 2:
                return np.ones((2,) * ranks[kernel.name][position], right[kernel.name][position])
            if kind == 0:
                return [None, 1, 2.5, "a", [1], {}, (), object, 10**30, float("nan"), True, b"1234"][random.integers(12)]
            shape = tuple(random.integers(0, 4, random.integers(0, 4)))
            made = np.zeros(shape, dtypes[min(int(random.exponential(2)), len(dtypes) - 1)])
            if kind == 1 and made.ndim:
                made = made[::-1]
            if kind == 2:
                made = made.T
            if kind == 3:
                made.flags.writeable = False
            if kind == 4 and made.ndim:
                made = np.broadcast_to(made[:1], made.shape)
            if kind == 5:
                return (made, made)
            if kind == 6:
                return {"z": made}
            return made

        results = 0
        for _ in range(10_000):
            kernel = kernels[random.integers(3)]
            count = random.choice(4, p=[0.1, 0.2, 0.6, 0.1])
            args = [argument(kernel, k) for k in range(count)]
            named = {words[random.integers(len(words))]: argument(kernel, k + 1) for k in range(max(0, random.integers(-2, 3)))}
            try:
                (kernel if random.integers(8) else kernel.bind)(*args, **named)
                results += 1
            except bl.Error as error:
                self.assertRegex(error.code, "^E0[0-9]{3}$")
                self.assertTrue(error.message and error.help)
        self.assertGreater(results, 500)
