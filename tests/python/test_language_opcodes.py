"""Every instruction that CPython's compiler can emit occurs in a program of these tests."""

import dis
import importlib
import os
import types
import unittest

from harness import Program

# Pseudo instructions that the compiler resolves, and those that only the interpreter itself makes.
NEVER_IN_CODE = frozenset(
    "ANNOTATIONS_PLACEHOLDER CACHE ENTER_EXECUTOR EXIT_INIT_CHECK INTERPRETER_EXIT JUMP JUMP_IF_FALSE JUMP_IF_TRUE JUMP_NO_INTERRUPT "
    "LOAD_CLOSURE POP_BLOCK RESERVED SETUP_CLEANUP SETUP_FINALLY SETUP_WITH STORE_FAST_MAYBE_NULL".split()
)
# At module level only, which is no frame that compile() traces.
MODULE_LEVEL = frozenset({"SETUP_ANNOTATIONS", "DELETE_NAME"})


def programs():
    """All Programs of the test files beside this one."""
    for file in sorted(os.listdir(os.path.dirname(os.path.abspath(__file__)))):
        if file.startswith(("test_ledger", "test_language", "test_bugs")) and file.endswith(".py") and file != os.path.basename(__file__):
            for value in vars(importlib.import_module(file[:-3])).values():
                if isinstance(value, type):
                    yield from (one for one in vars(value).values() if isinstance(one, Program))


def instructions(code):
    names = {instruction.opname for instruction in dis.get_instructions(code)}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= instructions(constant)
    return names


class OpcodesTest(unittest.TestCase):
    def test_every_instruction_occurs_in_a_program(self):
        seen = set()
        for program in programs():
            seen |= instructions(compile(program.source, "program.py", "exec"))
        wanted = {name for name in dis.opmap if not name.startswith("INSTRUMENTED_")} - NEVER_IN_CODE - MODULE_LEVEL
        self.assertEqual(sorted(wanted - seen), [])

    def test_no_two_programs_of_a_class_have_one_name_and_all_have_a_call(self):
        found = list(programs())
        self.assertGreater(len(found), 400)
        for program in found:
            self.assertTrue(program.name and program.call, program.listing())


if __name__ == "__main__":
    unittest.main()
