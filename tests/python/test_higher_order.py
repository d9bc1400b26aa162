"""cond, while_loop, scan, map, checkpoint: plain Python's results; effects inside once, or refused where the user asks."""

import unittest

import thirdbook
from harness import EAGER_ONLY
from thirdbook import _higher_order as higher


class HigherOrder(unittest.TestCase):
    def setUp(self):
        thirdbook.reset()
        self.x = thirdbook.arange(4.0)

    def test_results(self):
        self.assertEqual(higher.cond(self.x.sum() > 3, lambda v: v + 1, lambda v: v - 1, (self.x,)).tolist(), [1.0, 2.0, 3.0, 4.0])
        count, total = higher.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + i), (thirdbook.tensor(0), thirdbook.tensor(0)))
        self.assertEqual((count.item(), total.item()), (3, 3))
        carry, ys = higher.scan(lambda c, v: (c + v, c * v), thirdbook.tensor(0.0), self.x)
        self.assertEqual((carry.item(), ys.tolist()), (6.0, [0.0, 0.0, 2.0, 9.0]))
        self.assertEqual(higher.map(lambda v, k: v * k, self.x, 2).tolist(), [0.0, 2.0, 4.0, 6.0])
        with self.assertRaises(RuntimeError):
            higher.map(lambda v: v, self.x[:0])

    def test_L41_refused_effects_name_object_and_line_and_change_nothing(self):
        if EAGER_ONLY:
            self.skipTest("needs compile")
        source = "log = []\ndef body(x):\n    log.append(1)\n    return x * 2\ndef fn(x):\n    return checkpoint(body, x, use_reentrant=False) + 1\n"
        names = {"checkpoint": higher.checkpoint, "__name__": "program"}
        exec(compile(source, "program.py", "exec"), names)
        for function in (names["fn"], thirdbook.compile(names["fn"])):
            with thirdbook.config.patch(higher_order_effects="refuse"), self.assertRaises(thirdbook.SideEffectError) as caught:
                function(self.x)
            self.assertIn("G['log']", str(caught.exception))
            self.assertIn("program.py:3", str(caught.exception))
            self.assertEqual(names["log"], [])
        self.assertEqual(thirdbook.compile(names["fn"])(self.x).tolist(), [1.0, 3.0, 5.0, 7.0])
        self.assertEqual(names["log"], [1])


if __name__ == "__main__":
    unittest.main()
