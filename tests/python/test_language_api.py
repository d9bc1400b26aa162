"""What users of the API rely on: fullgraph, disable, graph_break, is_compiling, reset, counters, explain, limits, backends."""

import logging
import unittest
import warnings

import thirdbook
from harness import EAGER_ONLY


def define(source, name="fn"):
    namespace = {"torch": thirdbook, "__name__": "program"}
    exec(compile(source, "program.py", "exec"), namespace)
    return namespace[name], namespace


class Api(unittest.TestCase):
    def setUp(self):
        if EAGER_ONLY:
            self.skipTest("needs compile")
        thirdbook.reset()
        self.x = thirdbook.arange(4.0)

    def test_fullgraph_raises_unsupported_with_reason_and_users_line(self):
        fn, _ = define("def fn(x):\n    y = x + 1\n    torch.graph_break()\n    return y\n")
        with self.assertRaises(thirdbook.Unsupported) as caught:
            thirdbook.compile(fn, fullgraph=True)(self.x)
        text = str(caught.exception)
        self.assertIn("program.py", text)
        self.assertIn("3", text)

    def test_fullgraph_that_raises_has_changed_nothing(self):
        fn, names = define("log = []\ndef fn(x):\n    log.append(1)\n    torch.graph_break()\n    return x\n")
        with self.assertRaises(thirdbook.Unsupported):
            thirdbook.compile(fn, fullgraph=True)(self.x)
        self.assertEqual(names["log"], [])

    def test_fullgraph_of_a_whole_function_is_one_graph(self):
        fn, _ = define("log = []\ndef fn(x):\n    log.append(1)\n    return (x * 2).sum()\n")
        self.assertEqual(thirdbook.compile(fn, fullgraph=True)(self.x).item(), 12.0)
        self.assertEqual(thirdbook.counters["graphs"], 1)
        self.assertEqual(thirdbook.counters["breaks"], 0)

    def test_disable_keeps_a_function_out_of_the_trace(self):
        fn, names = define(
            "seen = []\n@torch.disable\ndef quiet(x):\n    seen.append(torch.is_compiling())\n    return x + 1\n"
            "def fn(x):\n    return quiet(x * 2) * 3\n")
        result = thirdbook.compile(fn)(self.x)
        self.assertEqual(result.tolist(), [3.0, 9.0, 15.0, 21.0])
        self.assertEqual(names["seen"], [False])
        self.assertGreaterEqual(thirdbook.counters["breaks"], 1)

    def test_is_compiling_is_true_only_while_tracing(self):
        fn, _ = define("def fn(x):\n    return x * (2 if torch.is_compiling() else 3)\n")
        self.assertEqual(fn(self.x).tolist(), [0.0, 3.0, 6.0, 9.0])
        self.assertEqual(thirdbook.compile(fn)(self.x).tolist(), [0.0, 2.0, 4.0, 6.0])
        self.assertFalse(thirdbook.is_compiling())

    def test_counters_tell_hits_recompiles_and_replays(self):
        fn, _ = define("log = []\ndef fn(x, flag):\n    log.append(1)\n    return x + 1 if flag else x - 1\n")
        compiled = thirdbook.compile(fn)
        for flag in (True, True, False, True, False):
            compiled(self.x, flag)
        counters = dict(thirdbook.counters)
        self.assertEqual(counters["compilations"], 2)
        self.assertEqual(counters["recompiles"], 1)
        self.assertEqual(counters["cacheHits"], 3)
        self.assertEqual(counters["replays"], 5)

    def test_reset_forgets_everything(self):
        fn, _ = define("def fn(x):\n    return x + 1\n")
        compiled = thirdbook.compile(fn)
        compiled(self.x)
        thirdbook.reset()
        self.assertEqual(set(dict(thirdbook.counters).values()), {0})
        compiled(self.x)
        self.assertEqual(thirdbook.counters["compilations"], 1)

    def test_explain_reports_breaks_with_line_and_hint(self):
        fn, _ = define("def fn(x):\n    y = x + 1\n    torch.graph_break()\n    return y * 2\n")
        report = thirdbook.explain(fn)(self.x).report
        breaks = [b for one in report["compilations"] for b in one["breaks"]]
        self.assertEqual(len(breaks), 1)
        self.assertEqual((breaks[0]["file"], breaks[0]["line"]), ("program.py", 3))
        self.assertTrue(breaks[0]["reason"] and breaks[0]["explanation"] and breaks[0]["hint"])

    def test_explain_reports_guards_with_sources(self):
        fn, _ = define("k = 2\nclass Box: v = 3\nb = Box()\ndef fn(x):\n    return x * k if b.v == 3 else x\n")
        report = thirdbook.explain(fn)(self.x).report
        sources = " ".join(g["source"] for g in report["compilations"][0]["guards"])
        for source in ("L['x']", "G['k']", "G['b']"):
            self.assertIn(source, sources)

    def test_a_guard_costs_the_steps_that_it_adds_and_stages_are_timed(self):
        fn, _ = define("class Box: v = 3\nb = Box()\ndef fn(x):\n    return x * 2 if b.v == 3 else x\n")
        (compilation,) = thirdbook.explain(fn)(self.x).report["compilations"]
        costs = {g["text"]: g["cost"] for g in compilation["guards"]}
        self.assertEqual(costs["L['x']: float32[4]"], 2)  # reach it, look at it
        self.assertEqual(costs["type(G['b']) is Box"], costs["L['x']: float32[4]"] + 2)  # through a dict, by a name
        self.assertTrue(all(cost >= 1 for cost in costs.values()), costs)
        self.assertEqual(set(compilation["timings"]), {"trace", "emit", "graph"})
        self.assertGreater(compilation["timings"]["trace"], 0)

    def test_a_fact_that_was_not_used_is_not_guarded(self):
        fn, names = define("k, unused = 2, 5\ndef fn(x, y):\n    return x * k\n")
        compiled = thirdbook.compile(fn)
        compiled(self.x, 1)
        names["unused"] = "changed"
        compiled(self.x, "another type")
        self.assertEqual(thirdbook.counters["compilations"], 1)

    def test_recompile_says_which_guard_failed_and_why(self):
        fn, names = define("mode = 'a'\ndef fn(x):\n    return x + 1 if mode == 'a' else x - 1\n")
        compiled = thirdbook.compile(fn)
        compiled(self.x)
        names["mode"] = "b"
        compiled(self.x)
        trigger = thirdbook.report()["compilations"][1]["trigger"]
        for word in ("mode", "'a'", "'b'"):
            self.assertIn(word, trigger)

    def test_recompile_limit_runs_eagerly_with_one_warning_that_names_the_guard(self):
        fn, names = define("mode = 0\ndef fn(x):\n    for _ in range(mode):\n        x = x + 1\n    return x\n")
        compiled = thirdbook.compile(fn)
        with thirdbook.config.patch(recompile_limit=3), warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            logging.disable(logging.NOTSET)
            for mode in range(8):
                names["mode"] = mode
                expected = fn(self.x).tolist()
                self.assertEqual(compiled(self.x).tolist(), expected)
            self.assertLessEqual(thirdbook.counters["compilations"], 4)
        texts = [str(w.message) for w in warned if "mode" in str(w.message)]
        self.assertEqual(len(texts), 1, [str(w.message) for w in warned])

    def test_config_patch_puts_the_old_value_back(self):
        old = thirdbook.config.recompile_limit
        with self.assertRaises(ZeroDivisionError):
            with thirdbook.config.patch(recompile_limit=old + 5):
                self.assertEqual(thirdbook.config.recompile_limit, old + 5)
                raise ZeroDivisionError
        self.assertEqual(thirdbook.config.recompile_limit, old)
        with self.assertRaises(AttributeError):
            thirdbook.config.no_such_option = 1

    def test_every_backend_gives_the_same(self):
        for backend in ("auto", "eager", "reference"):
            with self.subTest(backend):
                fn, names = define("log = []\ndef fn(x):\n    log.append(1)\n    return (x * 2).relu().sum()\n")
                self.assertEqual(thirdbook.compile(fn, backend=backend)(self.x).item(), 12.0)
                self.assertEqual(names["log"], [1])

    def test_wrong_backend_is_refused_by_name(self):
        with self.assertRaises((ValueError, RuntimeError)) as caught:
            thirdbook.compile(lambda x: x, backend="wsam")
        self.assertIn("wsam", str(caught.exception))

    def test_compile_as_decorator_with_arguments_and_of_a_module(self):
        @thirdbook.compile(fullgraph=True)
        def double(x):
            return x * 2

        self.assertEqual(double(self.x).tolist(), [0.0, 2.0, 4.0, 6.0])
        layer = thirdbook.nn.ReLU()
        self.assertEqual(thirdbook.compile(layer)(self.x - 2).tolist(), [0.0, 0.0, 0.0, 1.0])

    def test_compile_of_a_wrong_object_is_a_type_error(self):
        for wrong in (5, "text", [1]):
            with self.subTest(wrong), self.assertRaises(TypeError):
                thirdbook.compile(wrong, backend="eager")(self.x)

    def test_compiling_twice_is_compiling_once(self):
        fn, _ = define("def fn(x):\n    return x + 1\n")
        twice = thirdbook.compile(thirdbook.compile(fn))
        self.assertEqual(twice(self.x).tolist(), [1.0, 2.0, 3.0, 4.0])
        self.assertEqual(thirdbook.counters["compilations"], 1)

    def test_builtins_and_bound_methods_can_be_compiled(self):
        class Box:
            def __init__(self):
                self.n = 0

            def add(self, x):
                self.n += 1
                return x + self.n

        box = Box()
        bound = thirdbook.compile(box.add)
        bound(self.x)
        self.assertEqual(bound(self.x).tolist(), [2.0, 3.0, 4.0, 5.0])
        self.assertEqual(thirdbook.compile(len)([1, 2]), 2)

    def test_report_is_plain_data(self):
        import json
        fn, _ = define("log = []\ndef fn(x):\n    log.append(x)\n    return x + 1\n")
        thirdbook.compile(fn)(self.x)
        report = thirdbook.report()
        self.assertEqual(json.loads(json.dumps(report)), report)
        self.assertEqual(report["compilations"][0]["function"], "fn")


if __name__ == "__main__":
    unittest.main()
