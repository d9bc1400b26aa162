"""L41–L46, B07: higher-order calls, restore-afterwards scopes, policy, sites, the ledger as data, verify mode."""

import ast
import contextlib
import io
import json
import logging
import os
import re
import unittest
import warnings

import thirdbook
from harness import EAGER_ONLY, Program, ProgramCase, World, check_same


class HigherOrder(ProgramCase):
    row = "L41"

    checkpoint_of_a_pure_function = Program(
        """
        from torch.utils.checkpoint import checkpoint
        def body(x, k): return (x * k).relu()
        def fn(x): return checkpoint(body, x, 2, use_reentrant=False) + 1
        """
    )
    checkpoint_with_closure_reads = Program(
        """
        from torch.utils.checkpoint import checkpoint
        class Box: k = 3
        b = Box()
        def fn(x):
            n = len([1, 2])
            return checkpoint(lambda v: v * b.k + n, x, use_reentrant=False)
        """,
        steps=(2, "b.k = 4", 1),
    )
    checkpoint_with_effects_has_them_once = Program(
        """
        from torch.utils.checkpoint import checkpoint
        log = []
        class Box: n = 0
        b = Box()
        def body(x):
            log.append(len(log))
            b.n += 1
            return x * b.n
        def fn(x):
            log.append("before")
            y = checkpoint(body, x, use_reentrant=False)
            log.append("after")
            return y + len(log)
        """,
        breaks=None,
    )
    cond_with_effects_runs_one_branch = Program(
        """
        from torch import cond
        log = []
        def yes(v):
            log.append("yes")
            return v * 2
        def no(v):
            log.append("no")
            return v - 1
        def fn(x): return cond(x.sum() > 3, yes, no, (x,))
        """,
        call="fn(x * (i % 2))",
        breaks=None,
    )
    cond_on_a_python_value_and_on_a_tensor = Program(
        """
        from torch import cond
        def fn(x, flag):
            a = cond(flag, lambda v: v * 2, lambda v: v - 1, (x,))
            return a + cond(x.sum() > 3, lambda v: v + 10, lambda v: v - 10, (x,))
        """,
        call="fn(x * (i % 2), i > 1)",
        steps=4,
        breaks=None,
    )


class Restored(ProgramCase):
    row = "L42"

    functional_call_leaves_nothing_behind = Program(
        """
        from torch.func import functional_call
        m = torch.nn.Linear(4, 4)
        with torch.no_grad():
            m.weight.copy_(torch.ones(4, 4))
            m.bias.fill_(0.5)
        weight = m.weight
        def fn(x):
            with torch.no_grad():
                y = functional_call(m, {"weight": torch.ones(4, 4) * 2, "bias": torch.zeros(4)}, (x,))
                return y, m(x)
        """,
        expect="m.weight is weight and weight.sum().item() == 16",
    )
    functional_call_with_state_in_forward = Program(
        """
        from torch.func import functional_call
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.k, self.calls = torch.nn.Parameter(torch.ones(4)), 0
            def forward(self, x):
                self.calls += 1
                return x * self.k
        m = Net()
        def fn(x):
            with torch.no_grad():
                return functional_call(m, {"k": torch.ones(4) * 5}, (x,)), m(x)
        """,
        expect="m.calls == 6",
    )
    functional_call_that_raises = Program(
        """
        from torch.func import functional_call
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.k = torch.nn.Parameter(torch.ones(4))
            def forward(self, x): raise ValueError("v")
        m = Net()
        def fn(x):
            with torch.no_grad():
                try:
                    functional_call(m, {"k": torch.zeros(4)}, (x,))
                except ValueError:
                    pass
                return x + m.k
        """,
        breaks=None,
    )
    attribute_swapped_and_put_back = Program(
        """
        import contextlib
        from unittest import mock
        class Box: v = 1
        b, table = Box(), {"a": 1}
        @contextlib.contextmanager
        def swapped(obj, name, value):
            old = getattr(obj, name)
            setattr(obj, name, value)
            try:
                yield
            finally:
                setattr(obj, name, old)
        def fn(x):
            with swapped(Box, "v", 5):
                y = x * b.v
            with mock.patch.dict(table, {"b": 2}):
                z = y + len(table)
            return z * b.v + len(table)
        """,
        breaks=None,
    )


SOURCE = """
def helper(items, v):
    items.append(v)
class Box:
    pass
b, log, n = Box(), [], 0
def fn(x):
    global n
    n += 1
    b.value = n
    helper(log, n)
    helper(log, n + 1)
    return x * 2
"""


class CompiledCase(unittest.TestCase):
    def setUp(self):
        if EAGER_ONLY:
            self.skipTest("needs compile")
        thirdbook.reset()

    def world(self, source=SOURCE, **options):
        namespace = {"torch": thirdbook, "__name__": "program"}
        exec(compile(source, "program.py", "exec"), namespace)
        namespace["compiled"] = thirdbook.compile(namespace["fn"], **options)
        return namespace


class Policy(CompiledCase):
    def called_with(self, policy):
        namespace = self.world()
        with thirdbook.config.patch(side_effect_replay_policy=policy):
            namespace["compiled"](thirdbook.ones(2))
        return namespace

    def test_L43_silent_says_nothing(self):
        out = io.StringIO()
        with warnings.catch_warnings(record=True) as warned, contextlib.redirect_stderr(out):
            warnings.simplefilter("always")
            self.called_with("silent")
        self.assertEqual((warned, out.getvalue()), ([], ""))

    def test_L43_log_names_sources(self):
        with self.assertLogs("thirdbook", logging.INFO) as logs:
            namespace = self.called_with("log")
        text = "\n".join(logs.output)
        for word in ("G['n']", "G['log']", "program.py"):
            self.assertIn(word, text)
        self.assertEqual(namespace["log"], [1, 2])

    def test_L43_warn_names_source_and_line(self):
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            namespace = self.called_with("warn")
        text = "\n".join(str(w.message) for w in warned)
        for word in ("G['n']", "G['b'].value", "program.py:9", "program.py:10"):
            self.assertIn(word, text)
        self.assertEqual(namespace["n"], 1)

    def test_L43_error_refuses_and_changes_nothing(self):
        namespace = self.world()
        with thirdbook.config.patch(side_effect_replay_policy="error"):
            with self.assertRaises(RuntimeError) as caught:
                namespace["compiled"](thirdbook.ones(2))
        self.assertIn("program.py:9", str(caught.exception))
        self.assertEqual((namespace["n"], namespace["log"]), (0, []))

    def test_L43_replay_switched_off_leaves_the_world(self):
        namespace = self.world()
        with thirdbook.config.patch(replay_side_effects=False):
            result = namespace["compiled"](thirdbook.ones(2))
        self.assertEqual(result.tolist(), [2.0, 2.0])
        self.assertEqual((namespace["n"], namespace["log"], vars(namespace["b"])), (0, [], {}))

    def test_L43_policies_hold_with_fullgraph(self):
        for policy in ("silent", "log", "warn"):
            namespace = self.world(fullgraph=True)
            with thirdbook.config.patch(side_effect_replay_policy=policy), warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                namespace["compiled"](thirdbook.ones(2))
            self.assertEqual((namespace["n"], namespace["log"]), (1, [1, 2]), policy)
            self.assertEqual(any("G['n']" in str(w.message) for w in warned), policy == "warn")
        namespace = self.world(fullgraph=True)
        with thirdbook.config.patch(side_effect_replay_policy="error"):
            with self.assertRaises(RuntimeError) as caught:
                namespace["compiled"](thirdbook.ones(2))
        self.assertIn("program.py:9", str(caught.exception))
        self.assertEqual((namespace["n"], namespace["log"]), (0, []))

    def test_L43_a_break_under_fullgraph_has_replayed_nothing_under_any_policy(self):
        source = SOURCE.replace("    return x * 2", "    torch.graph_break()\n    return x * 2")
        for policy in ("silent", "log", "warn", "error"):
            namespace = self.world(source, fullgraph=True)
            with thirdbook.config.patch(side_effect_replay_policy=policy), self.assertRaises(Exception):
                namespace["compiled"](thirdbook.ones(2))
            self.assertEqual((namespace["n"], namespace["log"]), (0, []), policy)

    def test_L43_unknown_policy_is_refused(self):
        with self.assertRaises(ValueError):
            with thirdbook.config.patch(side_effect_replay_policy="loud"):
                pass


class Data(CompiledCase):
    def ledger(self, source=SOURCE):
        namespace = self.world(source)
        report = thirdbook.explain(namespace["fn"])(thirdbook.ones(2)).report
        json.dumps(report)
        return [entry for one in report["compilations"] for entry in one["ledger"]]

    def test_L44_every_place_that_wrote_is_known_once(self):
        sites = [{(s["file"], s["line"]) for s in e["sites"]} for e in self.ledger() if e["source"] == "G['log']"]
        lines = set().union(*sites)
        self.assertIn(("program.py", 3), lines)
        for entry in self.ledger():
            keys = [tuple(sorted(site.items())) for site in entry["sites"]]
            self.assertEqual(len(keys), len(set(keys)), entry)

    def test_L44_a_place_that_inlined_calls_reach_often_is_named_once(self):
        source = """
def write(items, v):
    items.append(v)
def both(items, v):
    write(items, v)
    items.extend([v])
log = []
def fn(x):
    for v in range(3):
        both(log, v)
    write(log, 9)
    return x
"""
        rows = [entry for entry in self.ledger(source) if entry["source"] == "G['log']"]
        self.assertEqual(len(rows), 1)
        self.assertEqual([site["line"] for site in rows[0]["sites"]], [3, 6])

    def source(self, *place):
        path = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), *place)
        if not os.path.exists(path):
            self.skipTest("a page has no " + "/".join(place))
        return open(path, encoding="utf-8")

    def test_L45_texts_of_graph_breaks_are_those_of_their_table(self):
        with self.source("core", "interpret", "breaks.def") as file:
            table = file.read()
        quoted = r'"(?:[^"\\\\]|\\\\.)*"'
        rows = re.findall(rf"^TB_BREAK\(\w+,((?:\s*{quoted},?)+)\)", table, re.M)
        self.assertEqual(len(rows), table.count("\nTB_BREAK("))
        found = {}
        for row in rows:
            code, _title, *texts = [ast.literal_eval(f"({part.strip()})") for part in re.split(rf"(?<=\"),", row)]
            found[code] = tuple(texts)
        from thirdbook._break_texts import TEXTS
        self.assertEqual(found, TEXTS)

    def test_L45_one_definition_of_an_entry(self):
        """The kinds of core/ledger/mutations.def are those of the schema, from which the types of TypeScript are made."""
        with self.source("core", "ledger", "mutations.def") as file:
            kinds = re.findall(r'^TB_MUTATION\(\w+, +"([\w-]+)"', file.read(), re.M)
        with self.source("web", "report", "schema.json") as file:
            schema = json.load(file)["$defs"]
        entry = schema["Mutation"]
        kind = entry["properties"]["kind"]
        allowed = kind["enum"] if "enum" in kind else schema[kind["$ref"].rsplit("/", 1)[1]]["enum"]
        self.assertEqual(sorted(kinds), sorted(allowed))
        for row in self.ledger():
            self.assertLessEqual(set(row), set(entry["properties"]))
            self.assertLessEqual(set(entry["required"]), set(row))

    def test_L44_sites_have_columns(self):
        entry = next(e for e in self.ledger() if e["source"].startswith("G['b']"))
        site = entry["sites"][0]
        line = SOURCE.splitlines()[site["line"] - 1]
        self.assertIn("b.value", line[site["col"]:site["endCol"]])

    def test_L45_entries_have_kind_operation_and_values(self):
        entries = self.ledger()
        self.assertEqual([e["order"] for e in entries], sorted(e["order"] for e in entries))
        kinds = {e["source"]: e["kind"] for e in entries}
        self.assertEqual(kinds["G['n']"], "global")
        self.assertEqual(kinds["G['log']"], "value-existing")
        self.assertTrue(any(k == "attribute-existing" for k in kinds.values()))
        for entry in entries:
            self.assertIn(entry["kind"], ("value-existing", "value-new", "attribute-existing", "attribute-new", "cell", "global",
                                          "effect"))
            self.assertTrue(entry["operation"] and entry["after"])

    def test_L45_effects_and_cells_are_entries(self):
        source = """
def make():
    k = 0
    def fn(x):
        nonlocal k
        k += 1
        print("k is", k)
        return x + k
    return fn
fn = make()
"""
        kinds = [e["kind"] for e in self.ledger(source)]
        self.assertIn("cell", kinds)
        self.assertIn("effect", kinds)

    def test_B06_entries_of_one_source_chain_before_to_after(self):
        source = """
class Box: pass
b = Box()
b.v = 5
def fn(x):
    b.v = 6
    b.v = 7
    b.v = 8
    return x + 1
"""
        entries = [e for e in self.ledger(source) if e["source"].startswith("G['b']")]
        self.assertEqual(entries[-1]["after"], "8")
        known = [e for e in entries if "before" in e]
        self.assertEqual([e["before"] for e in known][:1], ["5"])
        for earlier, later in zip(known, known[1:]):
            self.assertEqual(later["before"], earlier["after"])

    def test_B06_containers_and_cells_say_what_they_held(self):
        source = """
from collections import deque, OrderedDict
class Loud(list):
    def __iter__(self):
        raise AssertionError("asked")
    __repr__ = __len__ = __iter__
l, e, d, s, q, o, u = [1, "a", 2.5, object()], [], {"k": 1}, {3, 1, 2}, deque([4]), OrderedDict(b=1, a=2), Loud([7])
long, text = list(range(100)), ["x" * 100]
def make():
    k = 5
    def fn(x):
        nonlocal k
        k += 1
        for items in (l, e, q, u, long, text):
            items.append(0)
        d["n"] = 2
        s.add(9)
        o["c"] = 3
        return x + 1
    return fn
fn = make()
"""
        entries = self.ledger(source)
        before = {e["source"]: e["before"] for e in entries if e["kind"] == "value-existing"}
        self.assertEqual(
            [before[f"G['{name}']"] for name in ("l", "e", "d", "s", "q", "o", "u", "text")],
            ["[1, 'a', 2.5, <object>]", "[]", "{'k': 1}", "{1, 2, 3}", "[4]", "{'b': 1, 'a': 2}", "[7]", "[<str>]"],
        )
        self.assertRegex(before["G['long']"], r"^\[0, 1, 2, .*, \.\.\.\]$")
        self.assertLess(len(before["G['long']"]), 200)
        self.assertEqual([e["before"] for e in entries if e["kind"] == "cell"], ["5"])

    def test_B03_orders_of_different_objects_interleave_as_written(self):
        source = """
a, b = [], {}
def fn(x):
    a.append(1)
    b["k"] = 2
    a.append(3)
    b["l"] = 4
    return x + 1
"""
        namespace = self.world(source)
        namespace["compiled"](thirdbook.ones(2))
        self.assertEqual((namespace["a"], namespace["b"]), ([1, 3], {"k": 2, "l": 4}))
        orders = [(e["order"], e["source"]) for e in self.ledger(source)]
        self.assertEqual(orders, sorted(orders, key=lambda pair: pair[0]))

    def test_L45_settlement_at_a_break_is_named(self):
        source = """
log = []
def fn(x):
    log.append(1)
    torch.graph_break()
    log.append(2)
    return x + 1
"""
        settled = [e["settledAt"] for e in self.ledger(source) if e["source"] == "G['log']"]
        self.assertEqual(len(settled), 2)
        self.assertIn("break", settled[0])
        self.assertIn("5", settled[0])

    def test_L06_entries_of_objects_that_do_not_escape_are_absent(self):
        source = """
class Temp: pass
def fn(x):
    t = Temp()
    t.v = [1]
    t.v.append(2)
    return x * len(t.v)
"""
        self.assertEqual(self.ledger(source), [])

    def test_L46_a_restarted_trace_records_each_write_once(self):
        source = """
log = []
def fn(x):
    log.append(1)
    for n in range(3):
        log.append(n)
        if n == 1:
            torch.graph_break()
    log.append(9)
    return x + 1
"""
        namespace = self.world(source)
        namespace["compiled"](thirdbook.ones(2))
        self.assertEqual(namespace["log"], [1, 0, 1, 2, 9])


class Verify(CompiledCase):
    row = "B07"

    def test_B07_agreeing_runs_pass_and_leave_one_set_of_effects(self):
        namespace = self.world(verify=True)
        for _ in range(3):
            namespace["compiled"](thirdbook.ones(2))
        self.assertEqual((namespace["n"], namespace["log"]), (3, [1, 2, 2, 3, 3, 4]))

    def test_B07_a_difference_is_reported_with_its_source(self):
        def wrong(graph, *_rest):
            def run(*inputs):
                return [thirdbook.ones(2) * 77]
            return run
        namespace = self.world(verify=True, backend=wrong)
        with self.assertRaises(Exception) as caught:
            namespace["compiled"](thirdbook.ones(2))
        self.assertIn("77", str(caught.exception))
        self.assertIn("plain Python: tensor([2., 2.])", str(caught.exception))

    def test_B07_a_difference_in_an_effect_names_source_line_and_both_values(self):
        source = SOURCE.replace("b.value = n", "b.value = x * 3").replace("return x * 2", "return n")

        def wrong(_graph, *_rest):
            return lambda *inputs: [thirdbook.ones(2) * 77]
        namespace = self.world(source, verify=True, backend=wrong)
        with self.assertRaises(Exception) as caught:
            namespace["compiled"](thirdbook.ones(2))
        for word in ("G['b'].value", "program.py:10", "tensor([3., 3.])", "tensor([77., 77.])"):
            self.assertIn(word, str(caught.exception))

    def test_B07_objects_that_cannot_be_copied_are_named(self):
        source = """
import threading
lock = threading.Lock()
log = []
def fn(x):
    log.append(lock.locked())
    return x + 1
"""
        namespace = self.world(source, verify=True)
        out = io.StringIO()
        with warnings.catch_warnings(record=True) as warned, contextlib.redirect_stderr(out):
            warnings.simplefilter("always")
            namespace["compiled"](thirdbook.ones(2))
        self.assertEqual(namespace["log"], [False])
        self.assertIn("lock", out.getvalue() + "".join(str(w.message) for w in warned))


class EveryProgramVerifies(unittest.TestCase):
    def test_B07_programs_with_effects_verify(self):
        """Programs of other rows run the same under `verify=True`."""
        import test_ledger_containers
        import test_ledger_scopes
        if EAGER_ONLY:
            self.skipTest("needs compile")
        for case in (test_ledger_containers.Lists, test_ledger_containers.Dicts, test_ledger_scopes.Globals):
            for name, program in vars(case).items():
                if isinstance(program, Program):
                    with self.subTest(name):
                        options = {**program.options, "verify": True}
                        check_same(self, Program(program.source, call=program.call, steps=program.steps, modules=program.modules,
                                                 raises=program.raises, options=options))


if __name__ == "__main__":
    unittest.main()
