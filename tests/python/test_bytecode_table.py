"""Each row of core/bytecode/opcodes.def against the running interpreter's own tables (dis, opcode)."""

import dis
import opcode
import unittest

from thirdbook import _core

# opcode_flag bits of core/bytecode/instruction.h.
CONST, NAME, NAME_SHIFT_1, NAME_SHIFT_2 = 1 << 1, 1 << 2, 1 << 3, 1 << 4
LOCAL, LOCAL_PAIR, CELL, JUMP, BACKWARD, END, NEVER = (1 << bit for bit in range(5, 12))

ROWS = {name: (number, caches, flags) for name, number, caches, flags in _core._opcode_table()}
IN_CODE = {name: row for name, row in ROWS.items() if not row[2] & NEVER}


class OpcodeTableTest(unittest.TestCase):
    def test_has_a_row_for_each_opcode_with_its_number(self) -> None:
        self.assertEqual({name: row[0] for name, row in ROWS.items()}, dict(dis.opmap))

    def test_only_rows_that_code_objects_never_hold_are_marked_never(self) -> None:
        never = {name for name, row in ROWS.items() if row[2] & NEVER}
        expected = {"CACHE", "RESERVED", "ENTER_EXECUTOR"}
        expected |= {name for name, number in dis.opmap.items() if number > 255}
        expected |= {name for name in dis.opmap if name.startswith("INSTRUMENTED_")}
        self.assertEqual(never, expected)

    def test_cache_sizes_are_the_interpreters(self) -> None:
        for name, (_, caches, _) in IN_CODE.items():
            with self.subTest(name):
                self.assertEqual(caches, opcode._inline_cache_entries.get(name, 0))

    def test_stack_effects_are_the_interpreters(self) -> None:
        for name, (number, _, flags) in IN_CODE.items():
            if name == "EXTENDED_ARG":
                continue
            for arg in (1, 2, 3, 4, 7, 8, 0x103) if number in dis.hasarg else (0,):
                if name in ("COPY", "SWAP") and arg < 2:
                    continue
                for jump in (False, True):
                    with self.subTest(name, arg=arg, jump=jump):
                        expected = dis.stack_effect(number, arg if number in dis.hasarg else None, jump=jump)
                        self.assertEqual(_core._stack_effect(number, arg, jump), expected)

    def test_jumps_are_the_interpreters(self) -> None:
        for name, (number, _, flags) in IN_CODE.items():
            with self.subTest(name):
                self.assertEqual(bool(flags & JUMP), number in dis.hasjump)
                if flags & JUMP:
                    self.assertEqual(bool(flags & BACKWARD), dis._is_backward_jump(number))

    def test_control_ends_where_it_should(self) -> None:
        ends = {name for name, row in IN_CODE.items() if row[2] & END}
        self.assertEqual(
            ends,
            {"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "RETURN_VALUE", "RAISE_VARARGS",
             "RERAISE", "INTERPRETER_EXIT"},
        )

    def test_arguments_mean_what_the_interpreter_says(self) -> None:
        for name, (number, _, flags) in IN_CODE.items():
            with self.subTest(name):
                self.assertEqual(bool(flags & CONST), number in dis.hasconst)
                self.assertEqual(bool(flags & (NAME | NAME_SHIFT_1 | NAME_SHIFT_2)), number in dis.hasname)
                slot = number in dis.haslocal or number in dis.hasfree
                self.assertEqual(bool(flags & (LOCAL | LOCAL_PAIR | CELL)), slot)

    def test_shifted_names_are_read_as_dis_reads_them(self) -> None:
        def sample(self) -> object:
            return super(int, self).first, self.second, third, fourth  # noqa: F821

        for instruction in dis.get_instructions(sample):
            flags = ROWS[instruction.opname][2]
            shift = 1 if flags & NAME_SHIFT_1 else 2 if flags & NAME_SHIFT_2 else 0
            if instruction.opcode in dis.hasname:
                with self.subTest(instruction.opname):
                    name = sample.__code__.co_names[instruction.arg >> shift]
                    self.assertIn(name, instruction.argrepr)


if __name__ == "__main__":
    unittest.main()
