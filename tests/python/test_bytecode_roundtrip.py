"""Code objects decoded and encoded again are the same: bytes, positions, handlers, variables, behaviour."""

import contextlib
import dis
import importlib.util
import types
import unittest
from collections.abc import Iterator
from typing import Any

from thirdbook import _core

MODULES = """
argparse ast asyncio.base_events bisect calendar codecs collections collections.abc configparser contextlib
copy copyreg csv dataclasses datetime decimal difflib dis doctest email.message email._header_value_parser
enum fnmatch fractions functools gettext glob heapq html.parser http.client importlib._bootstrap_external
inspect io ipaddress json.decoder json.encoder keyword linecache locale logging mimetypes numbers operator
optparse os pathlib pickle pickletools pkgutil platform posixpath pprint queue quopri random re._compiler
re._parser reprlib sched selectors shlex shutil statistics string string.templatelib stringprep tarfile
tempfile textwrap threading timeit tokenize traceback types typing unittest.case unittest.mock urllib.parse
uuid warnings weakref xml.etree.ElementTree zipfile zipimport
""".split()


def all_code(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from all_code(constant)


def module_code(name: str) -> types.CodeType | None:
    with contextlib.suppress(ImportError, AttributeError):
        spec = importlib.util.find_spec(name)
        return spec.loader.get_code(name) if spec and spec.loader else None
    return None


def without_prefixes(code: types.CodeType) -> list[tuple]:
    return [(i.opname, "" if i.opcode in dis.hasjump else i.argrepr, i.positions)
            for i in dis.get_instructions(code) if i.opname != "EXTENDED_ARG"]


def long_function(statements: int) -> str:
    """A source with more than 256 locals, constants, names and jumps over more than 65,536 bytes."""
    lines = ["def long(n):", "    total = 0", "    for i in range(n):", "        try:"]
    for k in range(statements):
        first, second = k * 1000 + 7, k * 1000 + 6
        lines.append(f"            v{k} = total + {first}; total = (v{k} if i % 2 else v{k} + {k}.5) - {second}")
    lines += ["        finally:", "            total += 1"]
    lines += ["    return total"]
    return "\n".join(lines)


class RoundTripTest(unittest.TestCase):
    def check(self, code: types.CodeType) -> types.CodeType:
        made = _core._make_code(code)
        if made.co_code != code.co_code:  # where CPython used a longer form than needed
            self.assertLess(len(made.co_code), len(code.co_code))
            self.assertEqual(without_prefixes(made), without_prefixes(code))
            self.assertEqual(_core._read_code(made)["regions"], _core._read_code(code)["regions"])
            return made
        self.assertEqual(list(made.co_positions()), list(code.co_positions()))
        self.assertEqual(list(made.co_lines()), list(code.co_lines()))
        self.assertEqual(dis._parse_exception_table(made), dis._parse_exception_table(code))
        self.assertEqual(_core._read_code(made)["locals"], _core._read_code(code)["locals"])
        self.assertEqual(made.co_stacksize, code.co_stacksize)
        self.assertEqual(made, code)
        return made

    def test_every_code_object_of_many_modules(self) -> None:
        count = 0
        for name in MODULES:
            top = module_code(name)
            if top is None:
                continue
            for code in all_code(top):
                count += 1
                with self.subTest(name, code=code.co_qualname, line=code.co_firstlineno):
                    self.check(code)
        self.assertGreater(count, 2000)

    def test_specialised_code_reads_as_it_was_compiled(self) -> None:
        namespace: dict[str, Any] = {}
        exec("def hot(n):\n    t = 0\n    for i in range(n):\n        t += i\n    return t\n", namespace)
        hot = namespace["hot"]
        before = _core._print_code(hot.__code__)
        for _ in range(100):
            hot(100)
        self.assertEqual(_core._print_code(hot.__code__), before)
        self.check(hot.__code__)

    def test_long_functions_need_wide_arguments(self) -> None:
        namespace: dict[str, Any] = {}
        exec(long_function(1500), namespace)
        code = namespace["long"].__code__
        self.assertGreater(len(code.co_code), 2 * 65_536)
        made = self.check(code)
        rebuilt = types.FunctionType(made, namespace)
        self.assertEqual(rebuilt(3), namespace["long"](3))

    def test_hidden_locals_of_class_bodies(self) -> None:
        source = "class C:\n    x = 1\n    y = [x for x in range(3)]\n    z = [lambda: x for x in range(2)]\n"
        top = compile(source, "t", "exec")
        kinds = [kind for code in all_code(top) for _, kind in _core._read_code(self.check(code))["locals"]]
        self.assertTrue(any(kind & 0x10 for kind in kinds))
        namespace: dict[str, Any] = {}
        exec(_core._make_code(top), namespace)
        self.assertEqual(namespace["C"].y, [0, 1, 2])

    def test_functions_made_anew_behave(self) -> None:
        import json.encoder
        import statistics
        import textwrap

        def use() -> list:
            data = {"a": [1, 2.5, None, True], "b": {"c": "x\n\"y"}, "d": []}
            out: list = [json.encoder.JSONEncoder(indent=1, sort_keys=True).encode(data)]
            out.append(textwrap.fill("the quick brown fox " * 9, 30, initial_indent="> "))
            out.append(statistics.quantiles([1, 5, 2, 8, 4], n=3))
            with contextlib.suppress(ValueError):
                out.append(json.encoder.JSONEncoder(allow_nan=False).encode([1.0, float("nan")]))
            return out

        expected = use()
        changed: list[tuple[types.FunctionType, types.CodeType]] = []
        for module in (json.encoder, textwrap, statistics):
            for owner in [module, *(v for v in vars(module).values() if isinstance(v, type))]:
                for value in list(vars(owner).values()):
                    if isinstance(value, types.FunctionType) and value.__module__ == module.__name__:
                        changed.append((value, value.__code__))
                        value.__code__ = _core._make_code(value.__code__)
        try:
            self.assertGreater(len(changed), 60)
            self.assertEqual(use(), expected)
        finally:
            for function, code in changed:
                function.__code__ = code

    def test_only_code_objects_are_taken(self) -> None:
        for function in (_core._make_code, _core._read_code, _core._print_code):
            with self.assertRaises(TypeError):
                function(3)


if __name__ == "__main__":
    unittest.main()
