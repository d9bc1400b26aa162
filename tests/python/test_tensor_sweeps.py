"""Sweeps of tests/fixtures/sweeps.py: every function's forms, eager as real PyTorch recorded it, and compiled as eager.

In: sweeps.json.gz, or the file that THIRDBOOK_SWEEPS names (all programs: `make_fixtures.py --all-sweeps FILE`). Values are compared within float
tolerance, dtypes, shapes and types of errors exactly. Where Thirdbook differs from PyTorch on purpose, or not yet, DIFFERENT says why.
"""

from __future__ import annotations

import math
import os
import re
import unittest
import warnings

from tensor_fixtures import difference, error_difference, load, scope, torch

RECORDED = load(os.environ.get("THIRDBOOK_SWEEPS", "sweeps.json.gz"))["sweeps"]
# What Thirdbook does differently: (what the program contains, what the difference contains, why), as regular expressions.
DIFFERENT = (
    ("", r"^raised \w+: .*, wanted \w+: ", "two arguments are wrong, and another one is told of first"),
    (r"view\((dtype=)?torch\.", "raised TypeError", "a view as another dtype is not modelled"),
    ("max_norm", "raised NotImplementedError", "it would write the weights"),
    (r"expand\(3, 2\)", "", "PyTorch's own kernels look at less than all of an expanded tensor, or write it"),
    (r"torch\.(as_)?tensor\(\[\[\], \[1\]\]|torch\.(as_)?tensor\((1j|2\*\*63)", "raised", "data that PyTorch takes by accident, and complex numbers"),
    (r"zeros\(0|zeros\(2, 0", "raised", "an empty operand for which PyTorch leaves out its checks"),
    (r"roll\(", "gave", "a 0-d tensor"),
    ("out=", "raised RuntimeError: (Expected out tensor|result type)", "PyTorch converts before it computes"),
    ("_loss|_with_logits|Loss|GroupNorm|return_indices", "^(dtype|element|item)", "PyTorch's rounding of the last digit, or its choice among equal dtypes"),
    ("addbmm_", "raised RuntimeError: output with shape", "PyTorch grows the tensor"),
    ("adaptive|Adaptive|zeros|ones|empty|rand", "raised (TypeError|ValueError)", "sizes of a kind that Thirdbook refuses"),
    ("inv_ex|is_causal=True", "raised", "refused with a clear error"),
)
# Programs that PyTorch refuses and Thirdbook runs, at most so many of a group of the committed sweep.
LENIENT = {
    "unary": 10, "binary": 0, "ternary": 0, "reductions": 25, "shapes": 6, "creation": 1, "linear_algebra": 2, "functional": 7, "modules": 0,
}  # fmt: skip


def function_of(source: str):
    names = scope()
    *body, last = source.strip().split("\n")
    exec("def f():\n" + "".join(f"    {line}\n" for line in body) + f"    return ({last})\n", names)
    return names["f"]


def outcome(function) -> tuple:
    torch.manual_seed(0)
    try:
        return function(), None
    except Exception as raised:
        return None, raised


def from_recorded(got, raised, wanted: dict) -> str:
    """Why an outcome is not the recorded one; empty when it is."""
    if "e" in wanted:
        if raised is None:
            return f"gave {got!r}, wanted {wanted['e'][0]}: {wanted['e'][1]}"
        return error_difference(raised, wanted["e"])
    if raised is not None:
        return f"raised {type(raised).__name__}: {raised}"
    if "r" in wanted:
        return difference(tuple(got) if isinstance(got, tuple) else got, wanted["r"])
    return "" if str(got) == wanted["p"] else f"{got!s}, wanted {wanted['p']}"


def same_number(a, b) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= 1e-5 + 1.3e-6 * abs(b)
    return a == b


def from_eager(a, b) -> str:
    """Why b, compiled, is not a, eager."""
    if type(a) is not type(b):
        return f"a {type(a).__name__}, compiled a {type(b).__name__}"
    if isinstance(a, torch.Tensor):
        if (a.dtype, a.shape, a.requires_grad) != (b.dtype, b.shape, b.requires_grad):
            return f"{a.dtype} {a.shape}, compiled {b.dtype} {b.shape}"
        steps = [place for place, size in enumerate(a.shape) if size > 1] if a.numel() else []
        if any(a.stride(place) != b.stride(place) for place in steps):
            return f"strides {a.stride()}, compiled {b.stride()}"
        same = all(map(same_number, a.reshape(-1).tolist(), b.reshape(-1).tolist()))
        return "" if same else f"{a!r}, compiled {b!r}"
    if isinstance(a, (tuple, list)):
        return next(filter(None, map(from_eager, a, b)), "") if len(a) == len(b) else f"{len(a)} items, compiled {len(b)}"
    return "" if same_number(a, b) else f"{a!r}, compiled {b!r}"


def is_known(source: str, found: str) -> bool:
    return any(re.search(program, source, re.S) and re.search(difference, found, re.S) for program, difference, _ in DIFFERENT)


class Lenient(Exception):
    """The program gave a result where PyTorch raises, and the same compiled."""


def check(source: str, wanted: dict) -> str:
    function = function_of(source)
    got, raised = outcome(function)
    found = from_recorded(got, raised, wanted)
    lenient = raised is None and "e" in wanted
    if found and not lenient and not is_known(source, found):
        return found
    compiled_got, compiled_raised = outcome(torch.compile(function))
    if raised is not None or compiled_raised is not None:
        same = type(raised) is type(compiled_raised) and str(raised) == str(compiled_raised)
        return "" if same else f"eager {raised!r}, compiled {compiled_raised!r}"
    found = from_eager(got, compiled_got)
    if lenient and not found:
        raise Lenient
    return found


class Sweeps(unittest.TestCase):
    pass


def _add(group: str, cases: dict) -> None:
    def test(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            lenient = []
            for place, (source, wanted) in enumerate(cases.items()):
                if place % 100 == 0:
                    torch._dynamo.reset()
                with self.subTest(source):
                    try:
                        self.assertEqual("", check(source, wanted))
                    except Lenient:
                        lenient.append(source)
        if "THIRDBOOK_SWEEPS" not in os.environ:
            self.assertLessEqual(len(lenient), LENIENT[group], lenient)

    test.__doc__ = f"{len(cases)} programs: {group}"
    setattr(Sweeps, f"test_{group}", test)


for _group, _cases in RECORDED.items():
    _add(_group, _cases)

if __name__ == "__main__":
    unittest.main()
