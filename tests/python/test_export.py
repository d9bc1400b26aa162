"""export: the file holds graph, state, result and ledger; running it gives what the function gives; the world stays as it was."""

import unittest

import thirdbook
from harness import EAGER_ONLY
from thirdbook import _export


def define(source):
    namespace = {"torch": thirdbook, "__name__": "program"}
    exec(compile(source, "program.py", "exec"), namespace)
    return namespace["fn"], namespace


class Export(unittest.TestCase):
    def setUp(self):
        if EAGER_ONLY:
            self.skipTest("needs compile")
        thirdbook.reset()
        self.x = thirdbook.arange(4.0)

    def test_file_computes_what_the_function_computes(self):
        fn, _ = define("w = torch.ones(4, 4)\ndef fn(x, k):\n    return (x @ w * k).relu(), [x + 1]\n")
        data = thirdbook.export(fn, self.x, 3)
        run = _export.load(data)
        expected = fn(self.x * 2, 3)
        arguments = [row for row in run.header["inputs"] if row["kind"] == "argument"]
        outputs = run(*[self.x * 2 if "dtype" in row else 3 for row in arguments])
        result = run.header["result"]["tuple"]
        self.assertEqual(outputs[result[0]["output"]].tolist(), expected[0].tolist())
        self.assertEqual(outputs[result[1]["list"][0]["output"]].tolist(), expected[1][0].tolist())

    def test_state_is_stored_as_it_was(self):
        fn, names = define("w = torch.arange(4.) + 1\ndef fn(x):\n    return x * w\n")
        run = _export.load(thirdbook.export(fn, self.x))
        names["w"].fill_(0)
        self.assertEqual(run(self.x)[0].tolist(), [0.0, 2.0, 6.0, 12.0])
        self.assertEqual([row["name"] for row in run.header["inputs"] if row["kind"] == "state"], ["G['w']"])

    def test_effects_are_rows_and_outputs_with_sources_and_nothing_changes(self):
        fn, names = define(
            "class Box: pass\nb, log, t = Box(), [], torch.zeros(4)\n"
            "def fn(x):\n    b.v = x * 2\n    log.append(x + 1)\n    log.append(5)\n    t.add_(x)\n    print('said')\n    return x - 1\n")
        header = _export.read_header(thirdbook.export(fn, self.x))
        self.assertEqual((vars(names["b"]), names["log"], names["t"].tolist()), ({}, [], [0.0] * 4))
        sources = [source for row in header["outputs"] for source in row["sources"]]
        self.assertEqual(sorted(sources), ["G['b'].v", "G['log'][0]", "G['t']"])
        self.assertIn("G['log']", [row["source"] for row in header["ledger"]])

    def test_modules_keep_their_parameters(self):
        layer = thirdbook.nn.Linear(4, 2)
        run = _export.load(thirdbook.export(layer, self.x))
        self.assertEqual(run(self.x)[0].tolist(), layer(self.x).tolist())

    def test_what_cannot_be_a_file_says_why(self):
        fn, _ = define("def fn(x):\n    y = x + 1\n    torch.graph_break()\n    return y\n")
        with self.assertRaises(thirdbook.Unsupported):
            thirdbook.export(fn, self.x)
        fn, _ = define("def fn(x):\n    return 5\n")
        with self.assertRaises(_export.ExportError):
            thirdbook.export(fn, self.x)
        with self.assertRaises(ValueError):
            _export.load(b"nonsense")
        fn, _ = define("def fn(x):\n    return x * 2\n")
        data = thirdbook.export(fn, self.x)
        for size in range(0, len(data), 7):
            with self.assertRaises((ValueError, RuntimeError)):
                _export.load(data[:size])


if __name__ == "__main__":
    unittest.main()
