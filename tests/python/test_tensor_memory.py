"""Memory and protocols of tensors: buffers both ways, NumPy, views that alias, life of storages, pickles, subclasses."""

from __future__ import annotations

import array
import copy
import gc
import pickle
import struct
import sys
import unittest
import weakref

from tensor_fixtures import torch

try:
    import numpy
except ImportError:
    numpy = None


class Buffers(unittest.TestCase):
    def test_memoryview_sees_the_tensor_s_memory(self):
        x = torch.arange(6, dtype=torch.int32).view(2, 3)
        view = memoryview(x)
        self.assertEqual((view.format, view.shape, view.strides, view.readonly), ("i", (2, 3), (12, 4), False))
        view[1, 2] = 50
        self.assertEqual(x.tolist(), [[0, 1, 2], [3, 4, 50]])

    def test_memoryview_keeps_memory_alive_after_the_tensor(self):
        view = memoryview(torch.full((1000,), 7.0))
        gc.collect()
        self.assertEqual(view[999], 7.0)

    def test_strided_buffer_of_a_transposed_tensor(self):
        view = memoryview(torch.arange(6.0).view(2, 3).T)
        self.assertEqual(view.tolist(), [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]])
        with self.assertRaises(BufferError):
            struct.unpack_from("f", torch.arange(6.0).view(2, 3).T)  # a consumer that asks for one piece

    def test_tensor_over_an_array_s_memory(self):
        source = array.array("d", [1.0, 2.0, 3.0])
        x = torch.from_numpy(source)
        x[1] = 20
        self.assertEqual(source[1], 20.0)
        self.assertEqual(x.dtype, torch.float64)
        with self.assertRaises(BufferError):
            source.append(4.0)  # exported memory cannot move
        del x
        source.append(4.0)

    def test_frombuffer_checks_its_arguments(self):
        data = bytearray(16)
        self.assertEqual(torch.frombuffer(data, dtype=torch.float32, offset=4, count=2).shape, (2,))
        for options in ({"offset": 17}, {"count": 5}, {"count": 0}, {"offset": 2}):
            with self.subTest(options), self.assertRaises(ValueError):
                torch.frombuffer(data, dtype=torch.float32, **options)
        with self.assertRaises(TypeError):
            torch.from_numpy([1, 2])
        with self.assertRaises(TypeError):
            torch.from_numpy(array.array("h", [1]))

    def test_references_are_given_back(self):
        source = bytearray(64)
        before = sys.getrefcount(source)
        for _ in range(100):
            torch.frombuffer(source, dtype=torch.uint8).sum()
            with self.assertRaises(ValueError):
                torch.frombuffer(source, dtype=torch.float64, count=50)
        gc.collect()
        self.assertEqual(sys.getrefcount(source), before)


@unittest.skipIf(numpy is None, "NumPy is not installed here")
class NumPy(unittest.TestCase):
    def test_arrays_share_memory_both_ways(self):
        a = numpy.arange(6.0).reshape(2, 3)
        x = torch.from_numpy(a)
        x[0, 0] = 9
        a[1, 1] = 8
        self.assertEqual((a[0, 0], x[1, 1].item()), (9.0, 8.0))
        b = torch.ones(3).numpy()
        self.assertEqual((b.dtype, b.tolist()), (numpy.dtype("float32"), [1.0, 1.0, 1.0]))
        y = torch.zeros(2, 2)
        y.numpy()[0, 1] = 5
        self.assertEqual(y[0, 1].item(), 5.0)
        self.assertTrue(numpy.shares_memory(numpy.asarray(y), y.numpy()))

    def test_strides_survive(self):
        a = numpy.arange(24, dtype=numpy.int64).reshape(2, 3, 4)[:, ::2].transpose(2, 0, 1)
        x = torch.from_numpy(a)
        self.assertEqual(x.tolist(), a.tolist())
        self.assertEqual([s * 8 for s in x.stride()], list(a.strides))
        with self.assertRaises(ValueError):
            torch.from_numpy(numpy.arange(3.0)[::-1])

    def test_every_dtype(self):
        for name in ("bool", "uint8", "int32", "int64", "float32", "float64"):
            x = torch.from_numpy(numpy.ones(2, dtype=name))
            self.assertEqual((str(x.dtype), str(x.numpy().dtype)), ("torch." + name, name))
        with self.assertRaises(TypeError):
            torch.from_numpy(numpy.ones(2, dtype=numpy.int16))
        with self.assertRaises(TypeError):
            torch.from_numpy(numpy.array(["a"]))

    def test_operands(self):
        x = torch.tensor([1.0, 2.0])
        a = numpy.array([10.0, 20.0])
        for made in (x + a, a + x, torch.add(x, a)):
            self.assertIsInstance(made, torch.Tensor)
            self.assertEqual((made.dtype, made.tolist()), (torch.float64, [11.0, 22.0]))
        self.assertEqual((x * numpy.float32(2)).tolist(), [2.0, 4.0])
        self.assertEqual((x * numpy.int64(2)).dtype, torch.float32)
        x += numpy.array([1.0, 1.0], dtype=numpy.float32)
        self.assertEqual(x.tolist(), [2.0, 3.0])
        self.assertEqual(torch.arange(5)[numpy.array([0, 4])].tolist(), [0, 4])
        self.assertEqual(torch.arange(5)[numpy.int64(2)].item(), 2)

    def test_construction_copies_and_keeps_the_dtype(self):
        a = numpy.ones(2)
        x = torch.tensor(a)
        x[0] = 5
        self.assertEqual((a[0], x.dtype), (1.0, torch.float64))
        self.assertEqual(torch.tensor([numpy.float32(1.5)]).dtype, torch.float32)
        self.assertEqual(torch.tensor([[1, 2], numpy.array([3, 4])]).tolist(), [[1, 2], [3, 4]])


class Identity(unittest.TestCase):
    def test_views_alias_their_base(self):
        x = torch.zeros(2, 3)
        for view in (x[0], x.T, x.view(3, 2), x.reshape(6), x.detach(), x.data, x[:, 1:], x.unsqueeze(0), torch.Tensor(x)):
            self.assertEqual(view.untyped_storage().data_ptr(), x.untyped_storage().data_ptr())
        for fresh in (x + 0, x.clone(), x.T.reshape(6), x[[0, 1]], x.T.contiguous(), torch.tensor(x)):
            self.assertNotEqual(fresh.untyped_storage().data_ptr(), x.untyped_storage().data_ptr())

    def test_same_object_where_nothing_changes(self):
        x = torch.ones(2)
        for same in (x.float(), x.to(torch.float32), x.cpu(), x.add_(1), x.requires_grad_(False), +x):
            self.assertIs(same, x)

    def test_weak_references_and_collection(self):
        x = torch.ones(2)
        x.me = x  # a cycle
        reference = weakref.ref(x)
        del x
        gc.collect()
        self.assertIsNone(reference())

    def test_subclasses(self):
        class Tagged(torch.Tensor):
            def twice(self):
                return self * 2

        x = torch.ones(2).as_subclass(Tagged) if hasattr(torch.Tensor, "as_subclass") else torch.Tensor._make_subclass(Tagged, torch.ones(2))
        self.assertEqual(x.twice().tolist(), [2.0, 2.0])
        self.assertIsInstance(torch.nn.Parameter(torch.ones(1)), torch.Tensor)

    def test_pickle_and_copy(self):
        x = torch.arange(6.0).view(2, 3).T
        for made in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), copy.copy(x)):
            self.assertTrue(torch.equal(made, x))
        self.assertNotEqual(copy.deepcopy(x).data_ptr(), x.data_ptr())
        self.assertEqual(copy.copy(x).data_ptr(), x.data_ptr())
        shared = [x, x]
        first, second = copy.deepcopy(shared)
        self.assertIs(first, second)
        for value in (torch.float32, torch.Size([2]), torch.device("cpu"), torch.zeros(0, 3), torch.relu):
            self.assertEqual(str(pickle.loads(pickle.dumps(value))), str(value))

    def test_no_references_leak(self):
        def step():
            x = torch.rand(4)
            y = torch.relu(x * 2 + 1).sum()
            x[0] = y
            x += 1
            try:
                x + torch.ones(3)
            except RuntimeError:
                pass
            try:
                torch.relu("a")
            except TypeError:
                pass
            return x.max(0), repr(x), x.tolist(), list(x)

        for _ in range(5):
            step()
        gc.collect()
        before = len(gc.get_objects())
        for _ in range(200):
            step()
        gc.collect()
        self.assertLess(len(gc.get_objects()) - before, 20)


class Alias(unittest.TestCase):
    def test_imports_as_programs_write_them(self):
        names: dict = {}
        exec(
            "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\nfrom torch import nn as nn2, Tensor\n"
            "from torch.nn import Linear, functional\nfrom torch.nn.parameter import Parameter\nfrom torch.utils.checkpoint import checkpoint\n"
            "from torch.func import functional_call\nimport torch.linalg\nimport torch.compiler\nimport torch._dynamo",
            names,
        )
        self.assertIs(names["nn"], names["nn2"])
        self.assertIs(names["F"], names["functional"])
        self.assertIs(names["Tensor"], torch.Tensor)

    def test_missing_names_say_whose_module_it_is(self):
        with self.assertRaisesRegex(AttributeError, "Thirdbook's torch alias and has no 'sofmax'; nearest: softmax"):
            torch.sofmax  # noqa: B018
        with self.assertRaisesRegex(AttributeError, "torch.nn.*Thirdbook's torch alias"):
            torch.nn.Lineer  # noqa: B018
        self.assertFalse(hasattr(torch, "cuda"))
        with self.assertRaises(ImportError):
            __import__("torch.optim")

    def test_backward_says_what_is_missing(self):
        with self.assertRaisesRegex(NotImplementedError, "automatic differentiation"):
            torch.ones(1, requires_grad=True).sum().backward()


if __name__ == "__main__":
    unittest.main()
