"""Tensors that belong to a device. Without one (here) their elements stay in memory, and every graph runs on the CPU with the same results; the
device itself is tested in a browser (tests/web/browser/webgpu_python.test.ts)."""

import unittest

import thirdbook
from harness import EAGER_ONLY
from thirdbook import _device_choice, _gpu


class Belonging(unittest.TestCase):
    def test_results_belong_to_the_device_of_their_operands(self):
        x = thirdbook.arange(6.0, device="webgpu").reshape(2, 3)
        self.assertEqual([str(t.device) for t in (x, x * 2, x.sum(), x[0], x.t(), x.to(thirdbook.int32))], ["webgpu"] * 6)
        self.assertEqual(str((thirdbook.ones(3) + x).device), "webgpu")
        self.assertEqual(str(thirdbook.tensor([1.0], device=thirdbook.device("webgpu")).device), "webgpu")
        self.assertEqual(repr(x[0]), "tensor([0., 1., 2.], device='webgpu')")

    def test_to_and_cpu_copy_only_from_one_device_to_the_other(self):
        x = thirdbook.arange(3.0)
        there = x.to("webgpu")
        self.assertIs(there.to("webgpu"), there)
        self.assertIs(x.cpu(), x)
        back = there.cpu()
        there.add_(1)
        self.assertEqual((x.tolist(), back.tolist(), there.tolist()), ([0.0, 1.0, 2.0], [0.0, 1.0, 2.0], [1.0, 2.0, 3.0]))
        self.assertEqual((str(there.device), str(x.to(there).device)), ("webgpu", "webgpu"))
        both = x.to("webgpu", thirdbook.float64)
        self.assertEqual((both.dtype, str(both.device)), (thirdbook.float64, "webgpu"))
        with self.assertRaises(StopIteration) as finished:  # its elements are in memory: nothing to wait for
            there.cpu_async().send(None)
        self.assertEqual(finished.exception.value.tolist(), [1.0, 2.0, 3.0])

    def test_a_module_takes_parameters_and_buffers_along(self):
        model = thirdbook.nn.BatchNorm1d(2)
        model.to("webgpu")
        self.assertEqual({str(t.device) for t in model.state_dict().values()}, {"webgpu"})
        self.assertEqual({str(t.device) for t in model.cpu().state_dict().values()}, {"cpu"})

    def test_strides_go_along(self):
        x = thirdbook.arange(6.0).reshape(2, 3).t()
        self.assertEqual((x.to("webgpu").stride(), x.to("webgpu").tolist()), (x.stride(), x.tolist()))


class Choice(unittest.TestCase):
    COSTS = _device_choice.Costs(cpu_product=1e-10, cpu_element=1e-9, gpu_start=1e-3, gpu_byte=1e-10, gpu_product=1e-12, gpu_element=1e-11)

    def test_large_work_with_few_bytes_gains_and_small_work_does_not(self):
        faster = _device_choice.faster
        self.assertTrue(faster(self.COSTS, 1024**3, 0, 3 * 4 * 1024**2))
        self.assertFalse(faster(self.COSTS, 64**3, 0, 3 * 4 * 64**2))
        self.assertFalse(faster(self.COSTS, 0, 1e6, 8e6))
        self.assertTrue(faster(self.COSTS, 0, 50e6, 8e6))

    def test_nothing_gains_where_there_is_no_gpu(self):
        self.assertFalse(_device_choice.faster(_device_choice.NEVER, 1e12, 1e12, 0))


class Compiled(unittest.TestCase):
    def setUp(self):
        if EAGER_ONLY:
            self.skipTest("needs compile")
        thirdbook.reset()

    def test_a_function_sees_the_device_as_eager_does(self):
        x = thirdbook.arange(3.0, device="webgpu")

        def fn():
            y = x * 2
            return str(y.device), str((y + 1).sum().device), y.tolist()

        compiled = thirdbook.compile(fn)
        self.assertEqual([compiled(), compiled()], [fn(), fn()])

    def test_another_device_is_another_compilation(self):
        @thirdbook.compile
        def fn(x):
            return (x + 1).device.type

        self.assertEqual([fn(thirdbook.ones(2)), fn(thirdbook.ones(2, device="webgpu")), fn(thirdbook.ones(2))], ["cpu", "webgpu", "cpu"])
        self.assertEqual(thirdbook.report()["counters"]["compilations"], 2)

    def test_a_tensor_made_on_another_device_is_a_break_with_the_result_of_eager(self):
        for make in ("torch.zeros(2, device='webgpu')", "torch.tensor([0.0, 0.0], device='webgpu')"):
            thirdbook.reset()
            names = {"torch": thirdbook}
            exec(compile(f"def fn(x):\n    return x + 1, {make}\n", "program.py", "exec"), names)
            plus, made = thirdbook.compile(names["fn"])(thirdbook.ones(2))
            self.assertEqual((plus.tolist(), made.tolist(), str(made.device)), ([2.0, 2.0], [0.0, 0.0], "webgpu"))
            reasons = [row["reason"] for one in thirdbook.report()["compilations"] for row in one["breaks"]]
            self.assertEqual(reasons, ["a tensor is made on another device than the CPU"])

    def test_without_a_device_the_cpu_runs_the_graph_with_its_effects_and_the_log_says_why(self):
        log = []

        @thirdbook.compile(backend="webgpu")
        def fn(x):
            log.append(x.shape[0])
            return x * 3

        _gpu._last_fault = None
        with self.assertLogs("thirdbook", "WARNING") as logged:
            self.assertEqual([fn(thirdbook.ones(2)).tolist(), fn(thirdbook.ones(2)).tolist()], [[3.0, 3.0], [3.0, 3.0]])
        self.assertEqual(logged.output, [f"WARNING:thirdbook:WebGPU: the CPU runs it instead: {_gpu.NOT_INSTALLED}"])
        self.assertEqual((log, _gpu.last_fault()), ([2, 2], _gpu.NOT_INSTALLED))
        self.assertEqual(thirdbook.report()["counters"]["fallbacks"], 2)
        self.assertEqual(_gpu.counters(), {})

    def test_a_graph_for_wasm_never_asks_for_the_device(self):
        fn = thirdbook.compile(lambda x: x + 1, backend="wasm")
        _gpu._last_fault = None
        self.assertEqual(fn(thirdbook.ones(2, device="webgpu")).tolist(), [2.0, 2.0])
        self.assertIs(_gpu.last_fault(), None)


if __name__ == "__main__":
    unittest.main()
