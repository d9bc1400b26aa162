"""Reads the fixtures that real PyTorch wrote (tests/fixtures/make_fixtures.py) and compares results with them."""

from __future__ import annotations

import gzip
import json
import math
import os
import sys
from pathlib import Path

import thirdbook

FIXTURES = Path(os.environ.get("THIRDBOOK_FIXTURES", Path(__file__).resolve().parent.parent / "fixtures"))
sys.path.insert(0, str(FIXTURES))

import encoding  # noqa: E402

thirdbook.install_torch_alias()
import torch  # noqa: E402

# Relative and absolute tolerance, as torch.testing.assert_close has them.
TOLERANCE = {"f4": (1.3e-6, 1e-5), "f8": (1e-7, 1e-7)}


def load(name: str) -> dict:
    with gzip.open(FIXTURES / name) as packed:
        return json.loads(packed.read())


def _close(got, wanted, rtol: float, atol: float) -> bool:
    wanted = float(wanted)
    if math.isnan(wanted) or math.isnan(got):
        return math.isnan(wanted) and math.isnan(got)
    if math.isinf(wanted) or math.isinf(got):
        return wanted == got
    return abs(got - wanted) <= atol + rtol * abs(wanted)


def difference(got, wanted, scale: float = 1.0) -> str:
    """Why a result is not the recorded one; empty when it is."""
    if isinstance(wanted, dict) and "t" in wanted:
        if not isinstance(got, torch.Tensor):
            return f"got {type(got).__name__} {got!r}, wanted a tensor"
        name = encoding.SHORT.get(str(got.dtype)[6:])
        if name != wanted["t"]:
            return f"dtype {got.dtype}, wanted {encoding.LONG[wanted['t']]}"
        if list(got.shape) != wanted["s"]:
            return f"shape {list(got.shape)}, wanted {wanted['s']}"
        numbers = wanted.get("v")
        if numbers is None:
            numbers = encoding.encode_tensor(torch, encoding.decode(torch, wanted).contiguous())["v"]
        values = got.reshape(-1).tolist()
        rtol, atol = TOLERANCE.get(name, (0.0, 0.0))
        for place, (a, b) in enumerate(zip(values, numbers, strict=True)):
            if not _close(float(a), b, rtol * scale, atol * scale):
                return f"element {place}: {a}, wanted {b}"
        return ""
    if isinstance(wanted, dict) and "f" in wanted:
        return "" if isinstance(got, float) and _close(got, wanted["f"], 1e-6, 1e-6) else f"{got!r}, wanted {wanted['f']}"
    if isinstance(wanted, dict) and "d" in wanted:
        return "" if str(got) == "torch." + wanted["d"] else f"{got!r}, wanted {wanted['d']}"
    if isinstance(wanted, dict) and "k" in wanted:
        wanted = {"l": list(wanted["k"].values())}
        got = tuple(got.values())
    if isinstance(wanted, dict) and "l" in wanted:
        if not isinstance(got, tuple):
            return f"got {type(got).__name__}, wanted a tuple"
        wanted = wanted["l"]
    elif isinstance(wanted, list) and not isinstance(got, list):
        return f"got {type(got).__name__}, wanted a list"
    if isinstance(wanted, list):
        if len(got) != len(wanted):
            return f"{len(got)} items, wanted {len(wanted)}"
        for place, (a, b) in enumerate(zip(got, wanted)):
            found = difference(a, b, scale)
            if found:
                return f"item {place}: {found}"
        return ""
    return "" if type(got) is type(wanted) and got == wanted else f"{got!r}, wanted {wanted!r}"


def error_difference(raised: BaseException, wanted: list) -> str:
    """Whether the exception is of the recorded type."""
    if type(raised).__name__ == wanted[0]:
        return ""
    return f"raised {type(raised).__name__}: {raised}, wanted {wanted[0]}: {wanted[1]}"


def scope() -> dict:
    """The names that a program sees."""
    return {"torch": torch, "nn": torch.nn, "F": torch.nn.functional}


